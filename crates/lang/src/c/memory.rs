//! The memory of a program. Every number and pointer is a cell of its own, whose address tells
//! its width and sign as well: an access that would see only a part of a cell, or more than one,
//! finds nothing there and is a fault.

use std::collections::{BTreeMap, HashMap, HashSet};

use weakspot_core::{BinOp, Expr, Location, Value};

use super::ast::ObjectId;
use super::naming::{Label, distinct};
use super::types::{Struct, Type, TypeKind, round_up};
use crate::Diagnostic;
use crate::litmus::c::folded;

/// The address of the first object; far from the numbers that programs compute with.
const FIRST: Value = 0x1000_0000;

/// Bytes between objects, so that an index behind an array meets no other.
const GAP: Value = 64;

/// Cells that a program may have.
const MOST_CELLS: usize = 10_000;

/// Where texts are, each at its place in the program: nothing can be read there.
pub(super) const TEXTS: Value = 1 << 50;

/// Where functions are, which cannot be read either.
pub(super) const FUNCTIONS: Value = 1 << 51;
/// From one function to the next: the lower bits are free for marks, as compilers leave them.
pub(super) const FUNCTION_SIZE: Value = 1 << 12;

/// The distance between the addresses of cells of different kinds.
const KIND: Value = 1 << 40;

#[derive(Debug)]
pub(super) struct Memory {
    cells: BTreeMap<Value, Cell>,
    next: Value,
    /// What the objects are called.
    labels: Vec<Label>,
    /// Variables outside of functions, by their names.
    pub(super) globals: HashMap<String, (Value, Type)>,
    /// Static variables of functions.
    pub(super) statics: HashMap<ObjectId, Value>,
    /// Tables that nobody changes.
    pub(super) frozen: HashSet<ObjectId>,
}

#[derive(Debug)]
struct Cell {
    init: Value,
    /// The number of the object, and which part of it this is.
    object: usize,
    part: String,
    /// It is declared to hold numbers of 64 bits without a sign.
    is_unsigned: bool,
    /// It is never changed.
    is_frozen: bool,
}

impl Cell {
    fn new(object: usize, part: String, is_unsigned: bool) -> Cell {
        Cell { init: 0, object, part, is_unsigned, is_frozen: false }
    }
}

impl Memory {
    pub(super) fn new(frozen: HashSet<ObjectId>) -> Memory {
        Memory {
            cells: BTreeMap::new(),
            next: FIRST,
            labels: Vec::new(),
            globals: HashMap::new(),
            statics: HashMap::new(),
            frozen,
        }
    }

    /// Memory for a value of a type; its address.
    pub(super) fn allocate(
        &mut self,
        ty: &Type,
        label: Label,
        structs: &[Struct],
    ) -> Result<Value, Diagnostic> {
        self.labels.push(label);
        self.extend(ty, "", structs)
    }

    /// Memory for a part of the last object.
    fn extend(&mut self, ty: &Type, part: &str, structs: &[Struct]) -> Result<Value, Diagnostic> {
        let (base, object) = (self.next, self.labels.len() - 1);
        self.next = round_up(base.saturating_add(ty.size(structs)), GAP) + GAP;
        ty.each_scalar(structs, (base, part), &mut |addr, part, ty| {
            // Which thread a `pthread_t` is is known when the program is made.
            if ty.kind != TypeKind::Thread {
                let cell = Cell::new(object, part.to_owned(), ty.is_unsigned_64());
                self.cells.insert(addr + kind(ty), cell);
            }
        });
        if self.cells.len() > MOST_CELLS {
            let message = format!("more than {MOST_CELLS} variables and elements of arrays");
            let at = self.labels[object].at;
            return Err(Diagnostic::new(at, message, "").help(super::parse::ELSEWHERE));
        }
        Ok(base)
    }

    /// Memory for a struct that ends with an array of `count` elements; its address.
    pub(super) fn allocate_with_tail(
        &mut self,
        ty: &Type,
        count: Value,
        label: Label,
        structs: &[Struct],
    ) -> Result<Value, Diagnostic> {
        let base = self.allocate(ty, label, structs)?;
        if let Some((offset, member, of)) = ty.tail(structs) {
            self.next = base + offset;
            let all = Type::plain(TypeKind::Array(of.clone().into(), count));
            self.extend(&all, &format!(".{member}"), structs)?;
        }
        Ok(base)
    }

    /// A cell that the program does not name.
    pub(super) fn hidden(&mut self, number: usize, name: String) -> Value {
        let addr = 8 * KIND + number as Value;
        self.labels.push(Label::only(name));
        let object = self.labels.len() - 1;
        self.cells.insert(addr, Cell::new(object, String::new(), false));
        addr
    }

    /// Nobody changes the cells of an object.
    pub(super) fn freeze(&mut self, addr: Value, ty: &Type, structs: &[Struct]) {
        ty.each_scalar(structs, (addr, ""), &mut |addr, _, ty| {
            if let Some(cell) = self.cells.get_mut(&(addr + kind(ty))) {
                cell.is_frozen = true;
            }
        });
    }

    /// The value of a cell that nobody changes.
    pub(super) fn frozen(&self, cell: Value) -> Option<Value> {
        self.cells.get(&cell).filter(|c| c.is_frozen).map(|c| c.init)
    }

    /// The value that a cell starts with.
    pub(super) fn get(&self, cell: Value) -> Option<Value> {
        self.cells.get(&cell).map(|c| c.init)
    }

    /// Changes the value that a cell starts with; whether there is one.
    pub(super) fn set(&mut self, cell: Value, value: Value) -> bool {
        self.cells.get_mut(&cell).map(|c| c.init = value).is_some()
    }

    /// The locations of the program, their names, and which of them hold numbers without a sign.
    pub(super) fn locations(self, text: &str) -> (Vec<Location>, Vec<String>, Vec<bool>) {
        let names = distinct(&self.labels.iter().collect::<Vec<_>>(), text);
        let mut all = (Vec::new(), Vec::new(), Vec::new());
        for (addr, cell) in self.cells {
            all.0.push(Location { addr, init: vec![cell.init], range: None });
            all.1.push(format!("{}{}", names[cell.object], cell.part));
            all.2.push(cell.is_unsigned);
        }
        all
    }
}

/// The cell of a type at a byte.
pub(super) fn cell(addr: Expr, ty: &Type) -> Expr {
    match kind(ty) {
        0 => addr,
        kind => folded(Expr::binary(BinOp::Add, addr, Expr::Const(kind))),
    }
}

fn kind(ty: &Type) -> Value {
    ty.cell_kind() * KIND
}
