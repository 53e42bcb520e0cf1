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
//! Of all rows that differ only in the places of interchangeable threads one is searched: the one
//! whose threads are in the order of what they look like from outside. Threads that look the same
//! but differ in what they know of others may still be told apart; that costs states, never
//! answers.

use weakspot_core::{BinOp, Expr, Instr, PointId, Program, Thread, UnOp, Value};

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
}

impl Symmetry {
    /// The symmetry of `program`.
    pub(crate) fn of(program: &Program) -> Symmetry {
        let mut classes: Vec<Class> = Vec::new();
        'threads: for t in 0..program.threads.len() {
            for class in &mut classes {
                if let Some(swap) = Swap::of(program, class.members[0], t)
                    && class.join(t, &swap)
                {
                    continue 'threads;
                }
            }
            classes.push(Class { members: vec![t], ids: Vec::new(), addrs: vec![Vec::new()] });
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
        let fits = self.ids.first().copied() == id && self.addrs[0] == own;
        let fresh = self.addrs.iter().flatten().all(|a| !others.contains(a))
            && self.ids.iter().all(|&v| Some(v) != other);
        if !(first || fits && fresh) {
            return false;
        }
        if first {
            self.ids = id.into_iter().collect();
            self.addrs[0] = own;
        }
        self.members.push(t);
        self.ids.extend(other);
        self.addrs.push(others);
        true
    }
}

/// A swap of two threads that maps the program to itself.
struct Swap {
    /// Values that change places.
    values: Vec<(Value, Value)>,
    /// Addresses that change places.
    addrs: Vec<(Value, Value)>,
}

impl Swap {
    /// The swap of threads `a` and `b`, if there is one.
    fn of(program: &Program, a: usize, b: usize) -> Option<Swap> {
        let mut swap = Swap { values: Vec::new(), addrs: Vec::new() };
        swap.pair_threads(&program.threads[a], &program.threads[b])?;
        swap.values.retain(|(x, y)| x != y);
        swap.addrs.retain(|(x, y)| x != y);
        swap.values.sort_unstable();
        swap.values.dedup();
        if has_pointers(program) {
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
            && swap.is_equivariant(program)
            && swap.keeps(program, a, b);
        good.then_some(swap)
    }

    fn value(&self, v: Value) -> Value {
        swapped(&self.values, v)
    }

    /// Notes the constants in which two threads differ; `None` if they differ in more.
    fn pair_threads(&mut self, a: &Thread, b: &Thread) -> Option<()> {
        let same =
            a.entry == b.entry && a.points.len() == b.points.len() && a.regs.len() == b.regs.len();
        if !same {
            return None;
        }
        self.values.extend(a.regs.iter().copied().zip(b.regs.iter().copied()));
        for (p, q) in a.points.iter().zip(&b.points) {
            if p.edges.len() != q.edges.len() {
                return None;
            }
            for (e, f) in p.edges.iter().zip(&q.edges) {
                if e.to != f.to {
                    return None;
                }
                self.pair_instrs(&e.instr, &f.instr)?;
            }
        }
        Some(())
    }

    fn pair_instrs(&mut self, a: &Instr, b: &Instr) -> Option<()> {
        match (a, b) {
            (Instr::Assign { reg: r, value: v }, Instr::Assign { reg: s, value: w }) if r == s => {
                self.pair_exprs(v, w)
            }
            (Instr::Assume(v), Instr::Assume(w)) | (Instr::Assert(v), Instr::Assert(w)) => {
                self.pair_exprs(v, w)
            }
            (Instr::Load { reg: r, addr: x }, Instr::Load { reg: s, addr: y }) if r == s => {
                self.pair_addrs(x, y)
            }
            (Instr::Store { addr: x, value: v }, Instr::Store { addr: y, value: w }) => {
                self.pair_addrs(x, y)?;
                self.pair_exprs(v, w)
            }
            (
                Instr::Update { reg: r, addr: x, value: v },
                Instr::Update { reg: s, addr: y, value: w },
            ) if r == s => {
                self.pair_addrs(x, y)?;
                self.pair_exprs(v, w)
            }
            _ => (a == b).then_some(()),
        }
    }

    fn pair_addrs(&mut self, a: &Expr, b: &Expr) -> Option<()> {
        match (a, b) {
            (Expr::Const(x), Expr::Const(y)) => self.addrs.push((*x, *y)),
            _ => return (a == b).then_some(()),
        }
        Some(())
    }

    fn pair_exprs(&mut self, a: &Expr, b: &Expr) -> Option<()> {
        match (a, b) {
            (Expr::Const(x), Expr::Const(y)) => self.values.push((*x, *y)),
            (Expr::Unary(o, x), Expr::Unary(p, y)) if o == p => self.pair_exprs(x, y)?,
            (Expr::Binary(o, w, x), Expr::Binary(p, y, z)) if o == p => {
                self.pair_exprs(w, y)?;
                self.pair_exprs(x, z)?;
            }
            (Expr::Select(x), Expr::Select(y)) => {
                self.pair_exprs(&x.0, &y.0)?;
                self.pair_exprs(&x.1, &y.1)?;
                self.pair_exprs(&x.2, &y.2)?;
            }
            _ => return (a == b).then_some(()),
        }
        Some(())
    }

    /// Whether what the program computes does not depend on which of the swapped numbers it meets:
    /// they are only copied and compared for equality.
    fn is_equivariant(&self, program: &Program) -> bool {
        let instrs = || program.threads.iter().flat_map(|t| &t.points).flat_map(|p| &p.edges);
        let plain_addr = |e: &Expr| match e {
            Expr::Const(_) => true,
            Expr::Reg(_) => self.swaps_pointers(),
            e => Indexed::of(e).is_some_and(|cells| self.swaps_cells(&cells)),
        };
        let swaps = !self.values.is_empty();
        instrs().all(|edge| match &edge.instr {
            Instr::Assign { value, .. } => !swaps || self.copies(value),
            Instr::Assume(e) | Instr::Assert(e) => !swaps || self.decides(e),
            Instr::Choose { low, high, .. } => self
                .values
                .iter()
                .all(|&(x, y)| (low..=high).contains(&&x) == (low..=high).contains(&&y)),
            Instr::Load { addr, .. } => self.is_nothing() || plain_addr(addr),
            Instr::Store { addr, value } | Instr::Update { addr, value, .. } => {
                (self.is_nothing() || plain_addr(addr)) && (!swaps || self.copies(value))
            }
            Instr::Nop | Instr::Fence(_) | Instr::Lock | Instr::Unlock => true,
        })
    }

    /// Whether the cell of a number, with addresses swapped, is the cell of the swapped number, for
    /// all numbers: those that have a cell, those that are swapped, and all others.
    fn swaps_cells(&self, cells: &Indexed) -> bool {
        let moved =
            |v: Value| swapped(&self.addrs, cells.of_value(v)) == cells.of_value(self.value(v));
        let ids = self.values.iter().flat_map(|&(x, y)| [x, y]);
        cells.numbers().chain(ids).all(moved)
            && swapped(&self.addrs, cells.outside) == cells.outside
    }

    /// Whether numbers and addresses are swapped alike.
    fn swaps_pointers(&self) -> bool {
        let mut all = self.values.iter().chain(&self.addrs).flat_map(|&(x, y)| [x, y]);
        all.all(|v| self.value(v) == swapped(&self.addrs, v))
    }

    fn is_nothing(&self) -> bool {
        self.values.is_empty() && self.addrs.is_empty()
    }

    fn moves(&self, v: Value) -> bool {
        self.value(v) != v
    }

    /// The value of the expression, with numbers swapped, is its value on swapped numbers.
    fn copies(&self, e: &Expr) -> bool {
        match e {
            Expr::Const(_) | Expr::Reg(_) => true,
            Expr::Select(parts) => {
                self.decides(&parts.0) && self.copies(&parts.1) && self.copies(&parts.2)
            }
            // 0 or 1.
            _ => self.decides(e) && !self.moves(0) && !self.moves(1),
        }
    }

    /// Whether the expression is true does not change when numbers are swapped.
    fn decides(&self, e: &Expr) -> bool {
        match e {
            Expr::Unary(UnOp::Not, e) => self.decides(e),
            Expr::Binary(BinOp::And | BinOp::Or, l, r) => self.decides(l) && self.decides(r),
            Expr::Binary(BinOp::Eq | BinOp::Ne, l, r) => self.copies(l) && self.copies(r),
            Expr::Const(_) | Expr::Reg(_) => !self.moves(0),
            _ => false,
        }
    }

    /// Whether the swap maps everything in the program to what is there.
    fn keeps(&self, program: &Program, a: usize, b: usize) -> bool {
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
            .all(|t| self.thread(&program.threads[t]) == without_spans(&program.threads[place(t)]));
        let mut locs: Vec<_> = program.locs.clone();
        for loc in &mut locs {
            loc.addr = swapped(&self.addrs, loc.addr);
            loc.init.iter_mut().for_each(|v| *v = self.value(*v));
            loc.init.sort_unstable();
        }
        locs.sort_by_key(|l| l.addr);
        let mut expected = program.locs.clone();
        expected.iter_mut().for_each(|l| l.init.sort_unstable());
        let ranges = program.locs.iter().filter_map(|l| l.range).all(|(low, high)| {
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
        threads && locs == expected && ranges && zero && forbidden
    }

    /// The code of a thread with everything swapped, without places in the source.
    fn thread(&self, thread: &Thread) -> Thread {
        let mut thread = without_spans(thread);
        thread.regs.iter_mut().for_each(|v| *v = self.value(*v));
        for edge in thread.points.iter_mut().flat_map(|p| &mut p.edges) {
            match &mut edge.instr {
                Instr::Assign { value, .. } | Instr::Assume(value) | Instr::Assert(value) => {
                    map_constants(value, &|v| self.value(v));
                }
                Instr::Load { addr, .. } => self.swap_address(addr),
                Instr::Store { addr, value } | Instr::Update { addr, value, .. } => {
                    self.swap_address(addr);
                    map_constants(value, &|v| self.value(v));
                }
                _ => {}
            }
        }
        thread
    }

    /// Computed addresses stay: what they are computed from is swapped.
    fn swap_address(&self, addr: &mut Expr) {
        if let Expr::Const(addr) = addr {
            *addr = swapped(&self.addrs, *addr);
        }
    }
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

/// The address of a cell of an array, as front ends write it for `a[r]`: `base + r` if r is in
/// `first..end`, else `outside`.
struct Indexed {
    base: Value,
    first: Value,
    end: Value,
    outside: Value,
}

/// Longer arrays are not looked at cell by cell.
const MOST_CELLS: Value = 4096;

impl Indexed {
    fn of(e: &Expr) -> Option<Indexed> {
        let Expr::Select(parts) = e else { return None };
        let (Expr::Binary(BinOp::And, low, high), cell, Expr::Const(outside)) = &**parts else {
            return None;
        };
        match (&**low, &**high, cell) {
            (
                Expr::Binary(BinOp::Ge, r, first),
                Expr::Binary(BinOp::Lt, s, end),
                Expr::Binary(BinOp::Add, base, q),
            ) => match (&**r, &**first, &**s, &**end, &**base, &**q) {
                (
                    Expr::Reg(r),
                    &Expr::Const(first),
                    Expr::Reg(s),
                    &Expr::Const(end),
                    &Expr::Const(base),
                    Expr::Reg(q),
                ) if r == s && r == q && end.checked_sub(first)? <= MOST_CELLS => {
                    Some(Indexed { base, first, end, outside: *outside })
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The numbers that have a cell.
    fn numbers(&self) -> std::ops::Range<Value> {
        self.first..self.end
    }

    fn of_value(&self, v: Value) -> Value {
        if self.numbers().contains(&v) { self.base.wrapping_add(v) } else { self.outside }
    }
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

#[cfg(test)]
pub(crate) mod tests {
    use weakspot_core::testing::{Rng, Size, random_program};
    use weakspot_core::{Location, RegId, Undeclared};

    use super::*;

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
        program.threads.truncate(1);
        let thread = program.threads[0].clone();
        let copies = 2 + rng.below(2);
        program.threads = (0..copies as Value)
            .map(|t| {
                let mut copy = thread.clone();
                for edge in copy.points.iter_mut().flat_map(|p| &mut p.edges) {
                    let first = if points { 20 } else { 10 };
                    let own = |v| if numbered && v == 2 { first + t } else { v };
                    let at = |v| if private && v == 1 { 20 + t } else { v };
                    let to = |addr: &mut Expr| match addr {
                        Expr::Const(0) if indexes && !thread.regs.is_empty() => {
                            *addr = cell(RegId(0), 10, 10..10 + copies as Value, 0);
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
        program.undeclared = Undeclared::Fault;
        program.observed.clear();
        // Somewhere in the middle with all threads, or with two of them.
        let points = thread.points.len();
        let p = Some(PointId::new(rng.below(points)));
        program.forbidden = vec![vec![p; copies]];
        program
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
        let with_ids = |s| classes(s).iter().any(|c| !c.ids.is_empty());
        let pointing = (0..2_000).filter(|&s| has_pointers(&copies(s)) && with_ids(s)).count();
        assert!(pointing > 10, "{pointing} of 2,000 pass on pointers");
    }
}
