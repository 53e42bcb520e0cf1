//! Threads that are copies of each other may change places.
//!
//! Two threads are interchangeable if swapping them maps the program to itself: each has the code
//! of the other once the number that each goes by (as in Lamport's mutex, where thread 3 stores 3)
//! and the locations that belong to each (as in `flag[3]`) are swapped as well. That this is so is
//! checked on the whole program, see [`Swap`]; a program in which such numbers are computed with
//! keeps its threads apart, and so does one in which addresses are computed, but for the cells of an
//! array that threads have by their numbers (as in `next[pred]`, see [`Indexed`]) and for pointers that
//! are only passed on (as the nodes of a queue lock): there a number is the address of its cell.
//!
//! Numbers and other values are told apart by where they are: `kinds.rs` says which registers and
//! locations may hold the same values, so that a counter that is 2 does not change when the threads
//! that go by 1 and 2 do.
//!
//! Of all rows that differ only in the places of interchangeable threads one is searched: the one
//! whose threads are in the order of what they look like from outside. Threads that look the same
//! but differ in what they know of others may still be told apart; that costs states, never
//! answers.

use weakspot_core::{BinOp, Expr, Instr, PointId, Program, Thread, UnOp, Value};

use crate::sc::cells::Indexed;
use crate::sc::kinds::{Context, Kind, Kinds, each_constant};

/// The classes of interchangeable threads, those with at least two members.
#[derive(Clone, Debug, Default)]
pub(crate) struct Symmetry {
    pub(super) classes: Vec<Class>,
}

/// Interchangeable threads.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    pub(crate) members: Vec<usize>,
    /// The number that each member goes by, if they do.
    pub(crate) ids: Vec<Value>,
    /// The addresses that belong to each member, in the same order for all.
    pub(super) addrs: Vec<Vec<Value>>,
    /// Where no numbers of threads are.
    plain: Plain,
}

/// The registers of each thread and the declared addresses that hold no numbers of threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Plain {
    regs: Vec<Vec<bool>>,
    addrs: Vec<Value>,
}

impl Symmetry {
    /// The symmetry of `program`.
    pub(crate) fn of(program: &Program) -> Symmetry {
        let kinds = Kinds::of(program);
        let mut classes: Vec<Class> = Vec::new();
        'threads: for t in 0..program.threads.len() {
            for class in &mut classes {
                if let Some(swap) = Swap::of(program, &kinds, class.members[0], t)
                    && class.join(t, &swap)
                {
                    continue 'threads;
                }
            }
            let (ids, addrs, plain) = (Vec::new(), vec![Vec::new()], Plain::default());
            classes.push(Class { members: vec![t], ids, addrs, plain });
        }
        classes.retain(|c| c.members.len() > 1);
        Symmetry { classes }
    }

    /// Whether no thread before `t` is interchangeable with it.
    pub(crate) fn is_first(&self, t: usize) -> bool {
        self.classes.iter().all(|c| !c.members.contains(&t) || c.members[0] == t)
    }
}

impl Class {
    /// Whether a register of a thread may hold the number of a member.
    pub(crate) fn has_number(&self, thread: usize, reg: usize) -> bool {
        !self.plain.regs[thread][reg]
    }

    /// Whether the location at an address may hold the number of a member.
    pub(crate) fn holds_number(&self, addr: Value) -> bool {
        self.plain.addrs.binary_search(&addr).is_err()
    }

    /// Adds thread `t`, which changes places with the first member by `swap`; false if the others
    /// go by something else.
    fn join(&mut self, t: usize, swap: &Swap) -> bool {
        let own: Vec<Value> = swap.addrs.iter().map(|&(a, _)| a).collect();
        let others: Vec<Value> = swap.addrs.iter().map(|&(_, b)| b).collect();
        let (id, other) = match swap.values[..] {
            [] => (None, None),
            [(a, b)] => (Some(a), Some(b)),
            _ => return false,
        };
        let first = self.members.len() == 1;
        let fits =
            self.ids.first().copied() == id && self.addrs[0] == own && self.plain == swap.plain();
        let fresh = self.addrs.iter().flatten().all(|a| !others.contains(a))
            && self.ids.iter().all(|&v| Some(v) != other);
        if !(first || fits && fresh) {
            return false;
        }
        if first {
            self.ids = id.into_iter().collect();
            self.addrs[0] = own;
            self.plain = swap.plain();
        }
        self.members.push(t);
        self.ids.extend(other);
        self.addrs.push(others);
        true
    }
}

/// A swap of two threads that maps the program to itself.
struct Swap<'p> {
    program: &'p Program,
    kinds: &'p Kinds,
    /// The kinds of values among which numbers are.
    swapping: Vec<bool>,
    /// Values that change places, where there are numbers.
    values: Vec<(Value, Value)>,
    /// Addresses that change places.
    addrs: Vec<(Value, Value)>,
}

impl<'p> Swap<'p> {
    /// The swap of threads `a` and `b`, if there is one.
    fn of(program: &'p Program, kinds: &'p Kinds, a: usize, b: usize) -> Option<Swap<'p>> {
        let swapping = vec![false; kinds.count()];
        let (values, addrs) = (Vec::new(), Vec::new());
        let mut swap = Swap { program, kinds, swapping, values, addrs };
        swap.pair_threads(a, b)?;
        swap.values.retain(|(x, y)| x != y);
        swap.addrs.retain(|(x, y)| x != y);
        swap.values.sort_unstable();
        swap.values.dedup();
        if swap.has_pointers() {
            swap.addrs.extend_from_slice(&swap.values);
        }
        swap.addrs.sort_unstable();
        swap.addrs.dedup();
        let one_to_one = |pairs: &[(Value, Value)]| {
            let mut all: Vec<Value> = pairs.iter().flat_map(|&(x, y)| [x, y]).collect();
            all.sort_unstable();
            all.windows(2).all(|w| w[0] != w[1])
        };
        // Where both threads mention both numbers, each pair is met from both sides.
        let once = |pairs: &mut Vec<(Value, Value)>| {
            let all = pairs.clone();
            pairs.retain(|&(x, y)| x < y || !all.contains(&(y, x)));
        };
        if swap.values.iter().any(|&(x, y)| swap.values.contains(&(y, x))) {
            once(&mut swap.values);
        }
        once(&mut swap.addrs);
        let good = one_to_one(&swap.values)
            && one_to_one(&swap.addrs)
            && swap.is_equivariant()
            && swap.keeps(a, b);
        good.then_some(swap)
    }

    /// What a value among those of a kind becomes.
    fn value(&self, kind: Option<Kind>, v: Value) -> Value {
        match kind {
            Some(kind) if self.swapping[kind] => swapped(&self.values, v),
            _ => v,
        }
    }

    fn swaps(&self, kind: Option<Kind>) -> bool {
        kind.is_some_and(|kind| self.swapping[kind])
    }

    fn plain(&self) -> Plain {
        let Swap { program, kinds, .. } = self;
        let of_thread = |(t, thread): (usize, &Thread)| {
            (0..thread.regs.len()).map(|reg| !self.swapping[kinds.reg(t, reg)]).collect()
        };
        let addrs = program.locs.iter().map(|loc| loc.addr);
        Plain {
            regs: program.threads.iter().enumerate().map(of_thread).collect(),
            addrs: addrs.filter(|&a| !self.swaps(kinds.at(a))).collect(),
        }
    }

    /// Notes the constants in which two threads differ; `None` if they differ in more.
    fn pair_threads(&mut self, a: usize, b: usize) -> Option<()> {
        let Swap { program, kinds, .. } = *self;
        let (first, second) = (&program.threads[a], &program.threads[b]);
        let same = first.entry == second.entry
            && first.points.len() == second.points.len()
            && first.regs.len() == second.regs.len();
        if !same {
            return None;
        }
        for (reg, (&x, &y)) in first.regs.iter().zip(&second.regs).enumerate() {
            self.pair(Context::Value(Some(kinds.reg(a, reg))), x, y)?;
        }
        let constants = |t: usize| {
            let mut all = Vec::new();
            let mut thread = program.threads[t].clone();
            for edge in thread.points.iter_mut().flat_map(|p| &mut p.edges) {
                each_constant(kinds, t, &mut edge.instr, &mut |v, context| all.push((*v, context)));
            }
            all
        };
        let (of_first, of_second) = (constants(a), constants(b));
        if of_first.len() != of_second.len() {
            return None;
        }
        for ((x, context), (y, _)) in of_first.into_iter().zip(of_second) {
            self.pair(context, x, y)?;
        }
        Some(())
    }

    fn pair(&mut self, context: Context, x: Value, y: Value) -> Option<()> {
        match context {
            Context::Address => self.addrs.push((x, y)),
            _ if x == y => {}
            Context::Value(Some(kind)) => {
                self.swapping[kind] = true;
                self.values.push((x, y));
            }
            Context::Value(None) => return None,
        }
        Some(())
    }

    /// Whether what the program computes does not depend on which of the swapped numbers it meets:
    /// they are only copied and compared for equality.
    fn is_equivariant(&self) -> bool {
        let kinds = self.kinds;
        let plain_addr = |t: usize, e: &Expr| match e {
            Expr::Const(_) => true,
            Expr::Reg(reg) => match self.swapping[kinds.reg(t, reg.index())] {
                true => self.swaps_pointers(),
                // Nothing that such a pointer can point to moves.
                false => {
                    let all = kinds.constants(kinds.reg(t, reg.index()));
                    let stays = |&v: &Value| swapped(&self.addrs, v) == v;
                    self.addrs.is_empty() || all.is_some_and(|all| all.iter().all(stays))
                }
            },
            e => Indexed::of(e).is_some_and(|cells| {
                self.swaps_cells(&cells, Some(kinds.reg(t, cells.reg.index())))
            }),
        };
        let threads = self.program.threads.iter().enumerate();
        let mut edges = threads.flat_map(|(t, th)| {
            th.points.iter().flat_map(move |p| p.edges.iter().map(move |e| (t, e)))
        });
        edges.all(|(t, edge)| match &edge.instr {
            Instr::Assign { reg, value } => self.copies(t, value, Some(kinds.reg(t, reg.index()))),
            Instr::Assume(e) | Instr::Assert(e) => self.decides(t, e),
            Instr::Choose { reg, low, high } => {
                !self.swapping[kinds.reg(t, reg.index())]
                    || (self.values.iter())
                        .all(|&(x, y)| (low..=high).contains(&&x) == (low..=high).contains(&&y))
            }
            Instr::Load { addr, .. } => self.is_nothing() || plain_addr(t, addr),
            Instr::Store { addr, value } => {
                (self.is_nothing() || plain_addr(t, addr))
                    && self.copies(t, value, kinds.stored(t, addr))
            }
            Instr::Update { reg, addr, value } => {
                (self.is_nothing() || plain_addr(t, addr))
                    && self.copies(t, value, Some(kinds.reg(t, reg.index())))
            }
            Instr::Nop | Instr::Fence(_) | Instr::Lock | Instr::Unlock => true,
        })
    }

    /// Whether the cell of a number, with addresses swapped, is the cell of the swapped number, for
    /// all numbers: those that have a cell, those that are swapped, and all others.
    fn swaps_cells(&self, cells: &Indexed, kind: Option<Kind>) -> bool {
        let moved = |v: Value| {
            swapped(&self.addrs, cells.of_value(v)) == cells.of_value(self.value(kind, v))
        };
        let ids = self.values.iter().flat_map(|&(x, y)| [x, y]);
        cells.numbers().chain(ids).all(moved)
            && swapped(&self.addrs, cells.outside) == cells.outside
    }

    /// Whether numbers and addresses are swapped alike.
    fn swaps_pointers(&self) -> bool {
        let mut all = self.values.iter().chain(&self.addrs).flat_map(|&(x, y)| [x, y]);
        all.all(|v| swapped(&self.values, v) == swapped(&self.addrs, v))
    }

    fn is_nothing(&self) -> bool {
        self.values.is_empty() && self.addrs.is_empty()
    }

    /// Whether 0 or 1 is the number of a thread that changes places.
    fn moves(&self, v: Value) -> bool {
        swapped(&self.values, v) != v
    }

    /// The value of the expression, with numbers swapped, is its value on swapped numbers, where
    /// values of this kind are expected.
    fn copies(&self, t: usize, e: &Expr, kind: Option<Kind>) -> bool {
        if !self.swaps(kind) {
            return self.is_same(t, e);
        }
        match e {
            Expr::Const(_) => true,
            Expr::Reg(reg) => self.swapping[self.kinds.reg(t, reg.index())],
            Expr::Select(parts) => {
                self.decides(t, &parts.0)
                    && self.copies(t, &parts.1, kind)
                    && self.copies(t, &parts.2, kind)
            }
            // 0 or 1.
            _ => is_truth(e) && self.decides(t, e) && !self.moves(0) && !self.moves(1),
        }
    }

    /// The value of the expression is the same on swapped numbers: it is computed from others.
    fn is_same(&self, t: usize, e: &Expr) -> bool {
        match e {
            Expr::Const(_) => true,
            Expr::Reg(reg) => !self.swapping[self.kinds.reg(t, reg.index())],
            Expr::Select(parts) => {
                self.decides(t, &parts.0) && self.is_same(t, &parts.1) && self.is_same(t, &parts.2)
            }
            _ if is_truth(e) => self.decides(t, e),
            Expr::Unary(_, e) => self.is_same(t, e),
            Expr::Binary(_, l, r) => self.is_same(t, l) && self.is_same(t, r),
        }
    }

    /// Whether the expression is true does not change when numbers are swapped.
    fn decides(&self, t: usize, e: &Expr) -> bool {
        match e {
            Expr::Unary(UnOp::Not, e) => self.decides(t, e),
            Expr::Binary(BinOp::And | BinOp::Or, l, r) => self.decides(t, l) && self.decides(t, r),
            Expr::Binary(BinOp::Eq | BinOp::Ne, l, r) => {
                let kind = self.kinds.compared(t, l, r);
                self.copies(t, l, kind) && self.copies(t, r, kind)
            }
            Expr::Reg(reg) if self.swapping[self.kinds.reg(t, reg.index())] => !self.moves(0),
            e => self.is_same(t, e),
        }
    }

    /// Whether the swap maps everything in the program to what is there.
    fn keeps(&self, a: usize, b: usize) -> bool {
        let Swap { program, kinds, .. } = self;
        let place = |t: usize| {
            if t == a {
                b
            } else if t == b {
                a
            } else {
                t
            }
        };
        let threads = (0..program.threads.len())
            .all(|t| self.thread(t) == without_spans(&program.threads[place(t)]));
        let mut locs: Vec<_> = program.locs.clone();
        for loc in &mut locs {
            let kind = kinds.at(loc.addr);
            loc.addr = swapped(&self.addrs, loc.addr);
            loc.init.iter_mut().for_each(|v| *v = self.value(kind, *v));
            loc.init.sort_unstable();
        }
        locs.sort_by_key(|l| l.addr);
        let mut expected = program.locs.clone();
        expected.iter_mut().for_each(|l| l.init.sort_unstable());
        let with_numbers = program.locs.iter().filter(|loc| self.swaps(kinds.at(loc.addr)));
        let ranges = with_numbers.filter_map(|l| l.range).all(|(low, high)| {
            let inside = |v: Value| (low..=high).contains(&v);
            self.values.iter().all(|&(x, y)| inside(x) == inside(y))
        });
        // Addresses that are not declared start at 0.
        let zero = program.undeclared == weakspot_core::Undeclared::Fault || !self.moves(0);
        let forbidden = program.forbidden.iter().all(|combination| {
            let swapped: Vec<Option<PointId>> =
                (0..combination.len()).map(|t| combination[place(t)]).collect();
            program.forbidden.contains(&swapped)
        });
        threads && locs == expected && ranges && zero && forbidden && self.keeps_kinds(&place)
    }

    /// Whether numbers go to where numbers are.
    fn keeps_kinds(&self, place: &dyn Fn(usize) -> usize) -> bool {
        let Swap { program, kinds, .. } = self;
        let regs = program.threads.iter().enumerate().all(|(t, thread)| {
            let swaps = |t: usize, reg: usize| self.swapping[kinds.reg(t, reg)];
            (0..thread.regs.len()).all(|reg| swaps(t, reg) == swaps(place(t), reg))
        });
        let locs = program.locs.iter().all(|loc| {
            let to = swapped(&self.addrs, loc.addr);
            self.swaps(kinds.at(loc.addr)) == self.swaps(kinds.at(to))
        });
        regs && locs
    }

    /// The code of a thread with everything swapped, without places in the source.
    fn thread(&self, t: usize) -> Thread {
        let mut thread = without_spans(&self.program.threads[t]);
        for (reg, v) in thread.regs.iter_mut().enumerate() {
            *v = self.value(Some(self.kinds.reg(t, reg)), *v);
        }
        for edge in thread.points.iter_mut().flat_map(|p| &mut p.edges) {
            // Computed addresses stay: what they are computed from is swapped.
            each_constant(self.kinds, t, &mut edge.instr, &mut |v, context| match context {
                Context::Address => *v = swapped(&self.addrs, *v),
                Context::Value(kind) => *v = self.value(kind, *v),
            });
        }
        thread
    }

    /// Whether some address is what a register holds that may be a number.
    fn has_pointers(&self) -> bool {
        let threads = self.program.threads.iter().enumerate();
        let mut edges = threads.flat_map(|(t, th)| {
            th.points.iter().flat_map(move |p| p.edges.iter().map(move |e| (t, e)))
        });
        edges.any(|(t, edge)| match &edge.instr {
            Instr::Load { addr: Expr::Reg(reg), .. }
            | Instr::Store { addr: Expr::Reg(reg), .. }
            | Instr::Update { addr: Expr::Reg(reg), .. } => {
                self.swapping[self.kinds.reg(t, reg.index())]
            }
            _ => false,
        })
    }
}

/// Whether an expression is 0 or 1, whatever is in registers.
fn is_truth(e: &Expr) -> bool {
    matches!(
        e,
        Expr::Unary(UnOp::Not, _)
            | Expr::Binary(BinOp::And | BinOp::Or | BinOp::Eq | BinOp::Ne, ..)
    )
}

fn swapped(pairs: &[(Value, Value)], v: Value) -> Value {
    pairs
        .iter()
        .find_map(|&(x, y)| {
            if v == x {
                Some(y)
            } else if v == y {
                Some(x)
            } else {
                None
            }
        })
        .unwrap_or(v)
}

fn without_spans(thread: &Thread) -> Thread {
    let mut thread = thread.clone();
    for edge in thread.points.iter_mut().flat_map(|p| &mut p.edges) {
        edge.span = weakspot_core::Span::default();
    }
    thread
}

#[cfg(test)]
pub(crate) mod tests {
    use weakspot_core::testing::{Rng, Size, random_program};
    use weakspot_core::{Edge, Location, Point, RegId, Span, Undeclared};

    use super::*;

    fn map_constants(e: &mut Expr, map: &dyn Fn(Value) -> Value) {
        match e {
            Expr::Const(v) => *v = map(*v),
            Expr::Reg(_) => {}
            Expr::Unary(_, e) => map_constants(e, map),
            Expr::Binary(_, l, r) => {
                map_constants(l, map);
                map_constants(r, map);
            }
            Expr::Select(parts) => {
                map_constants(&mut parts.0, map);
                map_constants(&mut parts.1, map);
                map_constants(&mut parts.2, map);
            }
        }
    }

    /// The address of the cell with the number in `reg`.
    fn cell(reg: RegId, base: Value, numbers: std::ops::Range<Value>, outside: Value) -> Expr {
        let compared = |op, v| Expr::binary(op, Expr::Reg(reg), Expr::Const(v));
        let has_one = Expr::binary(
            BinOp::And,
            compared(BinOp::Ge, numbers.start),
            compared(BinOp::Lt, numbers.end),
        );
        let there = Expr::binary(BinOp::Add, Expr::Const(base), Expr::Reg(reg));
        Expr::select(has_one, there, Expr::Const(outside))
    }

    /// A random program whose threads are copies of each other: each may go by a number of its
    /// own, and have a location of its own.
    pub(crate) fn copies(seed: u64) -> Program {
        let mut rng = Rng::new(seed);
        let size = Size { threads: 2, instrs: 4, total: 8, locs: 2, loops: rng.one_in(2) };
        let mut program = random_program(&mut rng, size);
        let (numbered, private) = (rng.one_in(2), rng.one_in(2));
        // Some look at the location of the thread whose number is in a register.
        let indexes = numbered && private && Rng::new(!seed).one_in(2);
        // Some pass on pointers: their number is the address of their location.
        let points = numbered && private && !indexes && Rng::new(seed ^ !0 << 32).one_in(2);
        // Some count their threads from 0 on.
        let first = match () {
            () if points => 20,
            () if Rng::new(seed ^ 1 << 41).one_in(4) => 0,
            () => 10,
        };
        program.threads.truncate(1);
        let thread = program.threads[0].clone();
        let copies = 2 + rng.below(2);
        program.threads = (0..copies as Value)
            .map(|t| {
                let mut copy = thread.clone();
                for edge in copy.points.iter_mut().flat_map(|p| &mut p.edges) {
                    let own = |v| if numbered && v == 2 { first + t } else { v };
                    let at = |v| if private && v == 1 { 20 + t } else { v };
                    let to = |addr: &mut Expr| match addr {
                        Expr::Const(0) if indexes && !thread.regs.is_empty() => {
                            *addr = cell(RegId(0), 20 - first, first..first + copies as Value, 0);
                        }
                        Expr::Const(0) if points && !thread.regs.is_empty() => {
                            *addr = Expr::Reg(RegId(0));
                        }
                        addr => map_constants(addr, &at),
                    };
                    match &mut edge.instr {
                        Instr::Load { addr, .. } => to(addr),
                        Instr::Store { addr, value } | Instr::Update { addr, value, .. } => {
                            to(addr);
                            map_constants(value, &own);
                        }
                        Instr::Assign { value, .. } | Instr::Assume(value) => {
                            map_constants(value, &own);
                        }
                        _ => {}
                    }
                }
                copy
            })
            .collect();
        let init = |addr| Location { addr, init: vec![0], range: None };
        program.locs = [0, 1, 20, 21, 22].map(init).to_vec();
        if numbered && Rng::new(seed ^ 1 << 40).one_in(2) {
            count(&mut program, first - 1, rng.below(6) as Value);
        }
        program.undeclared = Undeclared::Fault;
        program.observed.clear();
        // Somewhere in the middle with all threads, or with two of them.
        let points = thread.points.len();
        let p = Some(PointId::new(rng.below(points)));
        program.forbidden = vec![vec![p; copies]];
        program
    }

    /// Whether some address is what a register holds.
    fn has_pointers(program: &Program) -> bool {
        let mut edges = program.threads.iter().flat_map(|t| &t.points).flat_map(|p| &p.edges);
        edges.any(|edge| match &edge.instr {
            Instr::Load { addr, .. } | Instr::Store { addr, .. } | Instr::Update { addr, .. } => {
                matches!(addr, Expr::Reg(_))
            }
            _ => false,
        })
    }

    /// Lets each thread first count what is at address 30 up, from the value before the first number of
    /// a thread on: counts are numbers of threads, too. It is wrong to count further than `most`.
    fn count(program: &mut Program, from: Value, most: Value) {
        program.locs.push(Location { addr: 30, init: vec![from], range: None });
        for thread in &mut program.threads {
            let counted = RegId::new(thread.regs.len());
            thread.regs.push(0);
            let value = |op, v| Expr::binary(op, Expr::Reg(counted), Expr::Const(v));
            let more = value(BinOp::Add, 1);
            let instrs = [
                Instr::Load { reg: counted, addr: Expr::Const(30) },
                Instr::Assert(value(BinOp::Ne, from + most)),
                Instr::Store { addr: Expr::Const(30), value: more },
            ];
            let first = thread.points.len();
            for (i, instr) in instrs.into_iter().enumerate() {
                let to = if i == 2 { thread.entry } else { PointId::new(first + i + 1) };
                let edge = Edge { instr, to, span: Span::default() };
                thread.points.push(Point { edges: vec![edge] });
            }
            thread.entry = PointId::new(first);
        }
    }

    #[test]
    fn copies_are_recognised() {
        let classes = |seed| Symmetry::of(&copies(seed)).classes;
        let found = (0..500).filter(|&s| !classes(s).is_empty()).count();
        // Some compute addresses from what they read, and have locations of their own.
        assert!(found > 350, "{found} of 500");
        let numbered = (0..500).filter(|&s| classes(s).iter().any(|c| !c.ids.is_empty())).count();
        assert!(numbered > 50, "{numbered} of 500 go by numbers");
        let indexes = |seed: u64| {
            let program = copies(seed);
            let edges = program.threads.iter().flat_map(|t| &t.points).flat_map(|p| &p.edges);
            edges.map(|e| &e.instr).any(|instr| match instr {
                Instr::Load { addr, .. } | Instr::Store { addr, .. } => Indexed::of(addr).is_some(),
                _ => false,
            })
        };
        let indexed = (0..500).filter(|&s| indexes(s) && !classes(s).is_empty()).count();
        assert!(indexed > 10, "{indexed} of 500 have cells by numbers");
        let counts = |s| copies(s).locs.len() > 5 && classes(s).iter().any(|c| !c.ids.is_empty());
        let counting = (0..500).filter(|&s| counts(s)).count();
        assert!(counting > 25, "{counting} of 500 count and go by numbers");
        let with_ids = |s| classes(s).iter().any(|c| !c.ids.is_empty());
        let pointing = (0..2_000).filter(|&s| has_pointers(&copies(s)) && with_ids(s)).count();
        assert!(pointing > 10, "{pointing} of 2,000 pass on pointers");
    }
}
