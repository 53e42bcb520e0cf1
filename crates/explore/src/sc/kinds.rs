//! Which registers and locations may hold the same values? Those between which values are copied, or
//! that are compared for equality, are of one kind. A program may give numbers to its threads and count as well:
//! as long as numbers and counts are of different kinds, a 2 that is a number and a 2 that is a count
//! are told apart by where they are (`symmetry.rs`).
//!
//! Kinds are the classes of the least equivalence in which both ends of a copy and both sides of a comparison
//! are equivalent (a union-find). A pointer leads to what it can hold: the constants of its kind, if
//! nothing that is computed comes to be of that kind. Programs that compute addresses otherwise, choose
//! values, or have memory that is not declared or that overlaps have one kind. Cost: about linear, times the
//! rounds until no pointer leads anywhere new.

use weakspot_core::{BinOp, Expr, Instr, Program, Undeclared, Value};

use crate::sc::cells::Indexed;

/// A kind of values, by its number.
pub(super) type Kind = usize;

/// What a constant stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    /// An address.
    Address,
    /// A value of this kind; of none if it is computed with, or only looked at whether it is 0.
    Value(Option<Kind>),
}

/// The kinds of a program.
pub(super) struct Kinds {
    /// Per thread and register.
    regs: Vec<Vec<Kind>>,
    /// Per declared address, in rising order.
    locs: Vec<(Value, Kind)>,
    /// The kind of all undeclared addresses.
    undeclared: Option<Kind>,
    /// Per kind all values that it can have, if nothing is computed that comes to be of it.
    constants: Vec<Option<Vec<Value>>>,
}

impl Kinds {
    pub(super) fn of(program: &Program) -> Kinds {
        Inference::new(program).and_then(Inference::kinds).unwrap_or_else(|| Kinds::one(program))
    }

    /// Everything is of one kind.
    fn one(program: &Program) -> Kinds {
        Kinds {
            regs: program.threads.iter().map(|t| vec![0; t.regs.len()]).collect(),
            locs: program.locs.iter().map(|l| (l.addr, 0)).collect(),
            undeclared: Some(0),
            constants: vec![None],
        }
    }

    pub(super) fn count(&self) -> usize {
        self.constants.len()
    }

    /// The kind of a register.
    pub(super) fn reg(&self, thread: usize, reg: usize) -> Kind {
        self.regs[thread][reg]
    }

    /// The kind of what is at an address.
    pub(super) fn at(&self, addr: Value) -> Option<Kind> {
        match self.locs.binary_search_by_key(&addr, |&(addr, _)| addr) {
            Ok(i) => Some(self.locs[i].1),
            Err(_) => self.undeclared,
        }
    }

    /// The kind of what is stored at a computed address.
    pub(super) fn stored(&self, thread: usize, addr: &Expr) -> Option<Kind> {
        let found = match addr {
            Expr::Const(addr) => self.at(*addr),
            Expr::Reg(reg) => {
                let all = self.constants(self.reg(thread, reg.index()));
                all.and_then(|all| all.iter().find_map(|&addr| self.at(addr)))
            }
            addr => Indexed::of(addr)
                .and_then(|cells| cells.numbers().find_map(|v| self.at(cells.of_value(v)))),
        };
        found.or(self.undeclared)
    }

    /// All values that a kind can have, if that is known.
    pub(super) fn constants(&self, kind: Kind) -> Option<&[Value]> {
        self.constants[kind].as_deref()
    }

    /// The kind of two expressions that are compared.
    pub(super) fn compared(&self, thread: usize, l: &Expr, r: &Expr) -> Option<Kind> {
        self.of_expr(thread, l).or_else(|| self.of_expr(thread, r))
    }

    fn of_expr(&self, thread: usize, e: &Expr) -> Option<Kind> {
        match e {
            Expr::Reg(reg) => Some(self.reg(thread, reg.index())),
            Expr::Select(parts) => {
                self.of_expr(thread, &parts.1).or_else(|| self.of_expr(thread, &parts.2))
            }
            _ => None,
        }
    }
}

/// Visits the constants of an instruction, but for those in computed addresses.
pub(super) fn each_constant(
    kinds: &Kinds,
    thread: usize,
    instr: &mut Instr,
    visit: &mut dyn FnMut(&mut Value, Context),
) {
    let mut walk = Walk { kinds, thread, visit };
    match instr {
        Instr::Assign { reg, value } => walk.value(value, Some(kinds.reg(thread, reg.index()))),
        Instr::Assume(e) | Instr::Assert(e) => walk.value(e, None),
        Instr::Load { addr, .. } => walk.address(addr),
        Instr::Store { addr, value } => {
            let kind = kinds.stored(thread, addr);
            walk.address(addr);
            walk.value(value, kind);
        }
        Instr::Update { reg, addr, value } => {
            walk.address(addr);
            walk.value(value, Some(kinds.reg(thread, reg.index())));
        }
        Instr::Choose { .. } | Instr::Nop | Instr::Fence(_) | Instr::Lock | Instr::Unlock => {}
    }
}

struct Walk<'w> {
    kinds: &'w Kinds,
    thread: usize,
    visit: &'w mut dyn FnMut(&mut Value, Context),
}

impl Walk<'_> {
    fn address(&mut self, addr: &mut Expr) {
        if let Expr::Const(addr) = addr {
            (self.visit)(addr, Context::Address);
        }
    }

    fn value(&mut self, e: &mut Expr, kind: Option<Kind>) {
        match e {
            Expr::Const(v) => (self.visit)(v, Context::Value(kind)),
            Expr::Reg(_) => {}
            Expr::Select(parts) => {
                self.value(&mut parts.0, None);
                self.value(&mut parts.1, kind);
                self.value(&mut parts.2, kind);
            }
            Expr::Binary(BinOp::Eq | BinOp::Ne, l, r) => {
                let kind = self.kinds.compared(self.thread, l, r);
                self.value(l, kind);
                self.value(r, kind);
            }
            Expr::Unary(_, e) => self.value(e, None),
            Expr::Binary(_, l, r) => {
                self.value(l, None);
                self.value(r, None);
            }
        }
    }
}

/// Kinds that are being found. Places for values have numbers: registers, then locations, then
/// one per comparison.
struct Inference<'p> {
    program: &'p Program,
    /// Per thread the number of its first register; at last that of the first location.
    starts: Vec<usize>,
    /// The union-find.
    parent: Vec<usize>,
    /// Constants that come to places, and places to which something computed comes.
    constants: Vec<(usize, Value)>,
    computed: Vec<usize>,
    /// Pointers, and what is loaded or stored through them.
    pointers: Vec<(usize, usize)>,
}

impl<'p> Inference<'p> {
    /// Everything but where pointers lead; `None` if there is to be one kind.
    fn new(program: &'p Program) -> Option<Inference<'p>> {
        if program.undeclared == Undeclared::Zero || !program.wides.is_empty() {
            return None;
        }
        let mut starts = vec![0];
        for thread in &program.threads {
            starts.push(starts[starts.len() - 1] + thread.regs.len());
        }
        let count = starts[program.threads.len()] + program.locs.len();
        let (constants, computed, pointers) = (Vec::new(), Vec::new(), Vec::new());
        let parent = (0..count).collect();
        let mut found = Inference { program, starts, parent, constants, computed, pointers };
        for (i, loc) in program.locs.iter().enumerate() {
            let place = found.starts[program.threads.len()] + i;
            found.constants.extend(loc.init.iter().map(|&v| (place, v)));
        }
        for (t, thread) in program.threads.iter().enumerate() {
            for (reg, &v) in thread.regs.iter().enumerate() {
                found.constants.push((found.starts[t] + reg, v));
            }
            for edge in thread.points.iter().flat_map(|p| &p.edges) {
                found.instr(t, &edge.instr)?;
            }
        }
        Some(found)
    }

    fn instr(&mut self, t: usize, instr: &Instr) -> Option<()> {
        match instr {
            Instr::Assign { reg, value } => self.flow(t, value, self.starts[t] + reg.index()),
            Instr::Assume(e) | Instr::Assert(e) => self.look(t, e),
            Instr::Load { reg, addr } => self.access(t, addr, self.starts[t] + reg.index())?,
            Instr::Store { addr, value } => {
                let stored = self.fresh();
                self.flow(t, value, stored);
                self.access(t, addr, stored)?;
            }
            Instr::Update { reg, addr, value } => {
                let place = self.starts[t] + reg.index();
                self.flow(t, value, place);
                self.access(t, addr, place)?;
            }
            Instr::Choose { .. } => return None,
            Instr::Nop | Instr::Fence(_) | Instr::Lock | Instr::Unlock => {}
        }
        Some(())
    }

    fn fresh(&mut self) -> usize {
        self.parent.push(self.parent.len());
        self.parent.len() - 1
    }

    fn root(&self, mut place: usize) -> usize {
        while self.parent[place] != place {
            place = self.parent[place];
        }
        place
    }

    fn join(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        // The smaller number stays, so that kinds do not depend on anything else.
        self.parent[a.max(b)] = a.min(b);
        a != b
    }

    /// The value of an expression comes to a place.
    fn flow(&mut self, t: usize, e: &Expr, place: usize) {
        match e {
            Expr::Const(v) => self.constants.push((place, *v)),
            Expr::Reg(reg) => {
                self.join(self.starts[t] + reg.index(), place);
            }
            Expr::Select(parts) => {
                self.look(t, &parts.0);
                self.flow(t, &parts.1, place);
                self.flow(t, &parts.2, place);
            }
            e => {
                self.computed.push(place);
                self.look(t, e);
            }
        }
    }

    /// An expression is computed with.
    fn look(&mut self, t: usize, e: &Expr) {
        match e {
            Expr::Const(_) | Expr::Reg(_) => {}
            Expr::Unary(_, e) => self.look(t, e),
            Expr::Binary(BinOp::Eq | BinOp::Ne, l, r) => {
                let place = self.fresh();
                self.flow(t, l, place);
                self.flow(t, r, place);
            }
            Expr::Binary(_, l, r) => {
                self.look(t, l);
                self.look(t, r);
            }
            Expr::Select(parts) => {
                self.look(t, &parts.0);
                self.look(t, &parts.1);
                self.look(t, &parts.2);
            }
        }
    }

    /// What is at an address is of one kind with a place.
    fn access(&mut self, t: usize, addr: &Expr, place: usize) -> Option<()> {
        match addr {
            Expr::Const(addr) => {
                self.at(*addr, place);
            }
            Expr::Reg(reg) => self.pointers.push((self.starts[t] + reg.index(), place)),
            addr => {
                let cells = Indexed::of(addr)?;
                let all = cells.numbers().map(|v| cells.of_value(v)).chain([cells.outside]);
                all.for_each(|addr| {
                    self.at(addr, place);
                });
            }
        }
        Some(())
    }

    /// Joins what is at an address, if something is, with a place; whether that is new.
    fn at(&mut self, addr: Value, place: usize) -> bool {
        let found = self.program.locs.binary_search_by_key(&addr, |loc| loc.addr);
        let first = self.starts[self.program.threads.len()];
        found.is_ok_and(|i| self.join(first + i, place))
    }

    /// Follows pointers until they lead nowhere new; `None` if one may lead anywhere.
    fn kinds(mut self) -> Option<Kinds> {
        let mut again = true;
        while std::mem::take(&mut again) {
            for i in 0..self.pointers.len() {
                let (pointer, place) = self.pointers[i];
                let kind = self.root(pointer);
                if self.computed.iter().any(|&place| self.root(place) == kind) {
                    return None;
                }
                for j in 0..self.constants.len() {
                    let (of, addr) = self.constants[j];
                    if self.root(of) == self.root(pointer) {
                        again |= self.at(addr, place);
                    }
                }
            }
        }
        Some(self.numbered())
    }

    fn numbered(self) -> Kinds {
        let mut number = vec![usize::MAX; self.parent.len()];
        let mut count = 0;
        for (place, number) in number.iter_mut().enumerate() {
            if self.parent[place] == place {
                *number = count;
                count += 1;
            }
        }
        let kind = |place: usize| number[self.root(place)];
        let mut constants: Vec<Option<Vec<Value>>> = vec![Some(Vec::new()); count];
        for &(place, v) in &self.constants {
            constants[kind(place)].iter_mut().for_each(|all| all.push(v));
        }
        self.computed.iter().for_each(|&place| constants[kind(place)] = None);
        let first = self.starts[self.program.threads.len()];
        let threads = self.program.threads.iter().enumerate();
        let locs = self.program.locs.iter().enumerate();
        Kinds {
            regs: threads
                .map(|(t, th)| (0..th.regs.len()).map(|reg| kind(self.starts[t] + reg)).collect())
                .collect(),
            locs: locs.map(|(i, loc)| (loc.addr, kind(first + i))).collect(),
            undeclared: None,
            constants,
        }
    }
}
