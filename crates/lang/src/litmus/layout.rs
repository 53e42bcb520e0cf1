//! Memory: which locations there are, where they lie, how wide they are, what they hold first.
//!
//! Every location has an address of its own, a page apart from the next; the elements of an
//! array follow one another. What accesses of different widths share is worked out in
//! [`bytes`](super::bytes).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use weakspot_core::{Span, UnOp, Value, View};

use super::ast::{CType, Frame, InitValue, Number, Symbol, Target, Term};
use super::bytes::{self, Bytes};
use super::types::{bytes_of, type_of};
use crate::Diagnostic;

/// No round number: what a test computes should not look like an address by chance.
const BASE: Value = 0x3a5c_7000;
const PAGE: Value = 0x1000;
/// Addresses stay positive as 32-bit numbers.
const TOP: Value = 0x7000_0000;
const LONGEST_ARRAY: u32 = 4096;
/// Every cell is part of every state; no search gets anywhere near this many.
const MOST_CELLS: usize = 1 << 16;

/// The memory of a test.
pub(super) struct Layout {
    word: u8,
    variables: BTreeMap<String, Variable>,
    /// The locations, by rising address.
    pub(super) cells: Vec<MemCell>,
    /// The locations whose addresses may get into computed ones.
    taken: BTreeSet<String>,
    /// The memory of the core program; nothing before [`Layout::settle`].
    pub(super) bytes: Bytes,
}

struct Variable {
    first: usize,
    length: u32,
    is_array: bool,
}

/// A location.
pub(super) struct MemCell {
    pub(super) name: String,
    pub(super) addr: Value,
    /// The bytes between it and the next element of its array, if it is in one.
    pub(super) stride: u8,
    /// Bytes and sign, if they were declared.
    declared: Option<(u8, bool)>,
    /// It holds, or is declared to hold, an address.
    pointer: bool,
    /// Its bytes.
    pub(super) width: u8,
    /// The first value as it was written.
    init: Option<(Number, Span)>,
}

/// An access that the code makes.
pub(super) struct Access {
    /// The location in which it begins and its address, if that is known.
    pub(super) cell: Option<(usize, Value)>,
    /// Its bytes, unless they are those of the location.
    pub(super) width: Option<u8>,
    pub(super) span: Span,
}

impl Layout {
    /// The memory of a test, before anything is known about the accesses to it: `symbols` are all
    /// mentions of locations, in the order of the source, `taken` the names of those whose addresses
    /// may get into computed ones.
    pub(super) fn new<'a>(
        frame: &'a Frame,
        symbols: &[&'a Symbol],
        taken: BTreeSet<String>,
    ) -> Result<Layout, Diagnostic> {
        let word = frame.arch.word();
        let mut layout = Layout {
            word,
            variables: BTreeMap::new(),
            cells: Vec::new(),
            taken,
            bytes: Bytes::default(),
        };
        let mut types: HashMap<&str, (u8, bool)> = HashMap::new();
        let mut lengths: HashMap<&str, u32> = HashMap::new();
        let mut pointers: BTreeSet<&str> = BTreeSet::new();
        for (symbol, t, listed) in declarations(frame) {
            let declared = type_of(t, word);
            // What `locations` says about a type counts only if nothing else does.
            if *types.entry(&symbol.name).or_insert(declared) != declared && !listed {
                return Err(declared_twice(symbol, "type"));
            }
            if t.pointer {
                pointers.insert(symbol.name.as_str());
            }
        }
        for item in &frame.init {
            let Target::Array(s) = &item.target else { continue };
            let length = s.index.unwrap_or(1);
            if *lengths.entry(&s.name).or_insert(length) != length {
                return Err(declared_twice(s, "length"));
            }
        }
        let mut next = BASE;
        for &symbol in symbols {
            if layout.variables.contains_key(&symbol.name) {
                continue;
            }
            let array = lengths.get(symbol.name.as_str()).copied();
            let length = array.unwrap_or(1);
            let declared = types.get(symbol.name.as_str()).copied();
            let stride = declared.map_or(4, |(bytes, _)| bytes);
            let pages = (Value::from(length) * Value::from(stride) + PAGE - 1) / PAGE;
            let cells = layout.cells.len() + length as usize;
            if length == 0
                || length > LONGEST_ARRAY
                || cells > MOST_CELLS
                || next + pages * PAGE > TOP
            {
                return Err(too_large(symbol, length));
            }
            let first = layout.cells.len();
            layout
                .variables
                .insert(symbol.name.clone(), Variable { first, length, is_array: array.is_some() });
            for i in 0..length {
                let name = match array {
                    Some(_) => format!("{}[{i}]", symbol.name),
                    None => symbol.name.clone(),
                };
                layout.cells.push(MemCell {
                    name,
                    addr: next + Value::from(i) * Value::from(stride),
                    stride: if array.is_some() { stride } else { 0 },
                    declared: declared.or(array.map(|_| (stride, true))),
                    pointer: pointers.contains(symbol.name.as_str()),
                    width: word,
                    init: None,
                });
            }
            next += pages.max(1) * PAGE;
        }
        layout.initialise(frame)?;
        Ok(layout)
    }

    /// Says what a location is, if the initial state does not.
    pub(super) fn declare(&mut self, name: &str, width: u8, signed: bool) {
        let Some(variable) = self.variables.get(name) else { return };
        let range = variable.first..variable.first + variable.length as usize;
        for cell in self.cells.get_mut(range).into_iter().flatten() {
            cell.declared = cell.declared.or(Some((width, signed)));
        }
    }

    /// The location that a symbol names.
    pub(super) fn cell(&self, symbol: &Symbol) -> Result<usize, Diagnostic> {
        let Some(variable) = self.variables.get(&symbol.name) else {
            return Err(Diagnostic::new(
                symbol.place.0,
                format!("unknown location `{}`", symbol.name),
                "",
            ));
        };
        let index = symbol.index.unwrap_or(0);
        if index >= variable.length {
            let message = if variable.is_array {
                format!("`{}` has only {} elements", symbol.name, variable.length)
            } else {
                format!("`{}` is not declared as an array", symbol.name)
            };
            return Err(Diagnostic::new(symbol.place.0, message, "").help(format!(
                "declare it in the initial state, such as `int {}[{}];`",
                symbol.name,
                index + 1
            )));
        }
        Ok(variable.first + index as usize)
    }

    /// All locations of a symbol: the elements of an array that is named without an index.
    pub(super) fn cells_of(&self, symbol: &Symbol) -> Result<Vec<usize>, Diagnostic> {
        let first = self.cell(symbol)?;
        match self.variables.get(&symbol.name) {
            Some(v) if v.is_array && symbol.index.is_none() => {
                Ok((first..first + v.length as usize).collect())
            }
            _ => Ok(vec![first]),
        }
    }

    /// Whether a symbol without an index stands for an array.
    pub(super) fn is_array(&self, symbol: &Symbol) -> bool {
        symbol.index.is_none() && self.variables.get(&symbol.name).is_some_and(|v| v.is_array)
    }

    /// Whether the test has a location of this name.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.variables.contains_key(name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(String::as_str)
    }

    /// The address of a symbol.
    pub(super) fn address(&self, symbol: &Symbol) -> Result<Value, Diagnostic> {
        Ok(self.cells[self.cell(symbol)?].addr)
    }

    /// The location in which the byte at `addr` lies.
    pub(super) fn find(&self, addr: Value) -> Option<usize> {
        let after = self.cells.partition_point(|c| c.addr <= addr);
        let before = self.cells.get(after.checked_sub(1)?)?;
        let width = Value::from(if before.stride > 0 { before.stride } else { 8 });
        (addr - before.addr < width).then_some(after - 1)
    }

    /// Takes the accesses into account: fixes the widths of the locations and cuts memory where
    /// accesses overlap. Tells where accesses leave the location in which they begin.
    pub(super) fn settle(&mut self, accesses: &[Access]) -> Result<Vec<Diagnostic>, Diagnostic> {
        let word = self.word;
        let computed = accesses.iter().filter(|a| a.cell.is_none());
        let anywhere: BTreeSet<u8> = computed.map(|a| a.width.unwrap_or(word)).collect();
        let mut by_cell: Vec<Vec<(&Access, Value)>> =
            self.cells.iter().map(|_| Vec::new()).collect();
        for access in accesses {
            if let Some((cell, addr)) = access.cell
                && let Some(of_cell) = by_cell.get_mut(cell)
            {
                of_cell.push((access, addr));
            }
        }
        for (cell, accesses) in self.cells.iter_mut().zip(&by_cell) {
            let ends = accesses.iter().filter_map(|(a, addr)| Some((a.width?, addr - cell.addr)));
            let ends = ends.map(|(width, from)| (Value::from(width) + from).min(8) as u8);
            let widest = ends.max().map(u8::next_power_of_two).or(anywhere.last().copied());
            cell.width = match (cell.declared, word) {
                (Some((bytes, _)), _) => bytes,
                (None, 4) => 4,
                (None, _) => widest.unwrap_or(8),
            };
            if cell.declared.is_none()
                && let Some((n, _)) = cell.init
                && pattern(n, cell.width * 8).is_none()
            {
                cell.width = 8;
            }
            if let Some((n, span)) = cell.init
                && pattern(n, cell.width * 8).is_none()
            {
                return Err(does_not_fit(cell.width * 8, &format!("`{}`", cell.name), span));
            }
        }
        let mut variables: Vec<(&String, &Variable)> = self.variables.iter().collect();
        variables.sort_by_key(|(_, v)| v.first);
        let mut warnings = Vec::new();
        let mut in_bytes = Vec::new();
        for (name, variable) in variables {
            let range = variable.first..variable.first + variable.length as usize;
            let element = |cell: &MemCell| bytes::Element {
                name: cell.name.clone(),
                addr: cell.addr,
                width: cell.width,
                init: self.start(cell),
            };
            let last = &self.cells[range.end - 1];
            let end = last.addr + Value::from(last.width);
            let mut known = BTreeSet::new();
            for (cell, accesses) in self.cells[range.clone()].iter().zip(&by_cell[range.clone()]) {
                for (access, addr) in accesses {
                    let width = access.width.unwrap_or(cell.width);
                    known.insert((*addr, width));
                    if addr + Value::from(width) > end {
                        warnings.push(beyond(cell, access.span));
                    }
                }
            }
            let taken = self.taken.contains(name);
            in_bytes.push(bytes::Variable {
                elements: self.cells[range].iter().map(element).collect(),
                accesses: known,
                anywhere: if taken { anywhere.clone() } else { BTreeSet::new() },
            });
        }
        self.bytes = Bytes::new(&in_bytes);
        Ok(warnings)
    }

    /// The first value of a location; call [`Layout::settle`] before.
    pub(super) fn start(&self, cell: &MemCell) -> Value {
        cell.init.and_then(|(n, _)| pattern(n, cell.width * 8)).unwrap_or(0)
    }

    /// Records what the initial state says about memory.
    fn initialise(&mut self, frame: &Frame) -> Result<(), Diagnostic> {
        for item in &frame.init {
            let (Target::Loc(symbol) | Target::Array(symbol)) = &item.target else { continue };
            let Some(value) = &item.value else { continue };
            let first = match &item.target {
                Target::Array(s) => self.cell(&Symbol { index: None, ..s.clone() })?,
                _ => self.cell(symbol)?,
            };
            let values = match value {
                InitValue::List(values, _) => values.as_slice(),
                single => std::slice::from_ref(single),
            };
            for (i, value) in values.iter().enumerate() {
                let number = match value {
                    InitValue::Number(n, _) => *n,
                    InitValue::Address(s) => Number::from(self.address(s)?),
                    InitValue::List(_, _) => 0,
                };
                let word = self.word;
                let Some(cell) = self.cells.get_mut(first + i) else { continue };
                let span = value.place().0;
                if cell.init.is_some_and(|(n, _)| n != number) {
                    return Err(Diagnostic::new(
                        span,
                        format!("`{}` already has another initial value", cell.name),
                        "",
                    ));
                }
                // What holds an address is a pointer, whether it says so or not.
                if matches!(value, InitValue::Address(_)) {
                    cell.pointer = true;
                    cell.declared = cell.declared.or(Some((word, false)));
                }
                cell.init = Some((number, span));
            }
        }
        Ok(())
    }
}

impl MemCell {
    /// Whether it was declared or initialised as a pointer.
    pub(super) fn holds_address(&self) -> bool {
        self.pointer
    }

    /// How its value is shown.
    pub(super) fn view(&self) -> View {
        let signed = self.declared.is_none_or(|(_, signed)| signed);
        view_of(self.width, signed)
    }
}

/// How a value of `bytes` bytes is shown.
pub(super) fn view_of(bytes: u8, signed: bool) -> View {
    match (bytes, signed) {
        (8, true) => View::Full,
        (_, true) => View::Signed(bytes * 8),
        (_, false) => View::Unsigned(bytes * 8),
    }
}

/// The bits of `n` in a field of `bits` bits, if it fits there with or without a sign.
pub(super) fn pattern(n: Number, bits: u8) -> Option<Value> {
    let fits = n >= -(1 << (bits - 1)) && n < (1 << bits);
    fits.then(|| UnOp::ZeroExtend(bits).apply(n as Value))
}

/// The error that the number at `span` is too wide for `what`. The mark shows the number as it was
/// typed, which may be in another base.
pub(super) fn does_not_fit(bits: u8, what: &str, span: Span) -> Diagnostic {
    Diagnostic::new(
        span,
        format!("this number does not fit in the {bits} bits of {what}"),
        format!("expected a number of at most {bits} bits"),
    )
}

fn too_large(symbol: &Symbol, length: u32) -> Diagnostic {
    let name = &symbol.name;
    let message = match length {
        0 => format!("the array `{name}` has no elements"),
        1..=LONGEST_ARRAY => "too much memory".to_owned(),
        _ => format!("the array `{name}` is too long"),
    };
    let expected =
        format!("expected at most {LONGEST_ARRAY} elements, and {MOST_CELLS} cells in all");
    Diagnostic::new(symbol.place.0, message, expected)
}

fn declared_twice(symbol: &Symbol, what: &str) -> Diagnostic {
    let message = format!("`{}` already has another {what}", symbol.name);
    Diagnostic::new(symbol.place.0, message, "expected the same as before, or nothing")
}

/// The warning that an access is not within the location in which it begins.
fn beyond(cell: &MemCell, span: Span) -> Diagnostic {
    let bytes = bytes_of(cell.width);
    Diagnostic::new(
        span,
        format!("this access reaches beyond `{}`, which has {bytes}", cell.name),
        "memory behind it starts as 0",
    )
}

/// The locations with a type, first from the initial state, then from `locations`, and whether
/// it is from there.
fn declarations(frame: &Frame) -> impl Iterator<Item = (&Symbol, &CType, bool)> {
    let init = frame.init.iter().filter_map(|item| match &item.target {
        Target::Loc(s) | Target::Array(s) => Some((s, item.ctype.as_ref()?, false)),
        Target::Reg(_) => None,
    });
    let listed = frame.locations.iter().filter_map(|l| match &l.what {
        Term::Name(s) | Term::Content(s) | Term::Address(s) => Some((s, l.ctype.as_ref()?, true)),
        _ => None,
    });
    init.chain(listed)
}
