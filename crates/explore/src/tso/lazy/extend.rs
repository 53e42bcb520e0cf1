//! The extension R ⊕ σ: one thread gets a copy of the path σ on which its stores stay in auxiliary
//! registers, so that SC runs of the result can delay them past the accesses of σ.
//!
//! Follows section 3 and appendix B of the lazy TSO reachability paper. σ = inst1 ... instn starts
//! with a store and ends with a load; q_i is the control point of the copy after inst_i. Three
//! places where the paper's text cannot be taken literally, and one that is left out:
//!
//! - the exit that flushes and fences after a load inst_i returns to where inst_i leads. The paper
//!   says to where it starts, which would do the load twice;
//! - an instruction that leaves σ in place of inst_(i+1) leaves the copy from q_i, not q_(i+1);
//! - on a cycle inst1 may be such an instruction; then it enters the copy again, so that it is
//!   removed everywhere;
//! - all instructions that leave from one q_i share the stores that come before them.
//!
//! Under PSO a store to another address overtakes inst1, too: σ may end with one, and in the copy
//! such a store is done at once. Only stores to the address of inst1 are remembered behind it, and
//! all that follow a store-store fence. Where addresses are computed, a store that does not go
//! where the witness had it go leaves the copy. In the place of "store, then fence", which would
//! ask for other stores to be in memory as well, the exit after an access has an update: under
//! the reading of PSO in which an update waits for the stores to its own address only, that is a
//! store that cannot be late.
//!
//! Auxiliary registers that mean nothing along σ are used again. The result is larger by the
//! length of σ times the number of its stores, at most.

use weakspot_core::{BinOp, Edge, Expr, Fence, Instr, PointId, RegId, Span, ThreadId};

use crate::liveness::live_registers;
use crate::tso::lazy::emulation::{At, Emulation, Growing};

/// What becomes of inst1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// It is removed, and exits make up for it: no robustness witness follows σ any more.
    Removed,
    /// It stays, and the copy has no exit but its end: section 5. Smaller, and has the witness
    /// along σ still.
    Kept,
}

/// R ⊕ σ for a path `sigma` of `thread`, under TSO. `None` if that is not a path from a store to a
/// load without fences, updates and atomic blocks.
#[must_use]
pub fn extend(r: &Emulation, thread: ThreadId, sigma: &[At], first: First) -> Option<Emulation> {
    extension(r, thread, sigma, Order::Tso(first))
}

/// R ⊕ σ under PSO, where updates wait for the stores to their own address only. `meets` says of
/// each instruction of `sigma` whether it is a store to the address of the first one. `None` if
/// `sigma` is not a path from a store to an access that can overtake it.
#[must_use]
pub fn extend_pso(
    r: &Emulation,
    thread: ThreadId,
    sigma: &[At],
    meets: &[bool],
) -> Option<Emulation> {
    (meets.len() == sigma.len()).then_some(())?;
    extension(r, thread, sigma, Order::Pso(meets))
}

/// What can overtake a store, and with that what the copy is like.
#[derive(Clone, Copy)]
enum Order<'a> {
    Tso(First),
    /// Per instruction of σ whether it is a store to the address of the first.
    Pso(&'a [bool]),
}

fn extension(r: &Emulation, thread: ThreadId, sigma: &[At], order: Order<'_>) -> Option<Emulation> {
    let path: Vec<(Edge, Option<u32>)> = sigma
        .iter()
        .map(|&at| r.edge(thread, at).map(|(edge, takes)| (edge.clone(), takes)))
        .collect::<Option<_>>()?;
    is_legal(sigma, &path, order).then_some(())?;
    let stores = path.iter().filter(|(e, _)| matches!(e.instr, Instr::Store { .. })).count();
    let mut free = free_registers(r, thread, sigma, &path, 2 * stores + 1);
    let mut extended = r.clone();
    let growing = extended.grow(thread);
    let scratch = free.pop()?;
    let most = match order {
        Order::Tso(_) => free.iter().max(),
        Order::Pso(_) => free.iter().chain([&scratch]).max(),
    };
    let enough = most.map_or(0, |r| r.index() + 1);
    let regs = &mut growing.thread.regs;
    regs.resize(regs.len().max(enough), 0);
    let entry = sigma[0].point;
    let mut copy = Copying { growing, free, scratch, held: Vec::new(), first: sigma[0], entry };

    let mut q = sigma[0].point;
    for (i, (edge, takes)) in path.iter().enumerate() {
        let next = copy.growing.point();
        let fenced = copy.held.contains(&Held::Barrier);
        let access = match (&edge.instr, order) {
            (Instr::Store { addr, .. } | Instr::Update { addr, .. }, Order::Pso(meets))
                if i > 0 && !fenced =>
            {
                let here = copy.branch((q, addr), sigma[i], (edge, *takes), meets[i])?;
                match meets[i] {
                    true => copy.store_later(here, (edge, *takes), next),
                    false => copy.growing.edge(here, Edge { to: next, ..edge.clone() }, *takes),
                }
                !meets[i]
            }
            (Instr::Store { addr, .. }, _) => {
                if i == 0 && !matches!(order, Order::Tso(First::Kept)) {
                    let middle = copy.growing.point();
                    copy.entry = middle;
                    let (store, value) = copy.remember(edge)?;
                    copy.growing.replace(sigma[0], store.addr_edge(addr.clone(), middle), *takes);
                    copy.growing.edge(middle, store.value_edge(value, next), None);
                } else {
                    copy.store_later(q, (edge, *takes), next);
                }
                i == 0
            }
            (Instr::Fence(Fence::StoreStore), Order::Pso(_)) => {
                copy.held.push(Held::Barrier);
                let nothing = Edge { instr: Instr::Nop, to: next, span: edge.span };
                copy.growing.edge(q, nothing, *takes);
                false
            }
            (instr, _) => {
                copy.follow(q, edge, *takes, next);
                matches!(instr, Instr::Load { .. })
            }
        };
        q = next;
        if !matches!(order, Order::Tso(First::Kept)) && i + 1 < path.len() {
            if access {
                copy.first_is_done(q, edge.to, order);
            }
            copy.leave(r, thread, q, sigma[i + 1]);
        }
    }
    let (last, _) = path.last()?;
    copy.store_all(q, last.to);
    Some(extended)
}

fn is_legal(sigma: &[At], path: &[(Edge, Option<u32>)], order: Order<'_>) -> bool {
    let instr = |i: usize| path.get(i).map(|(e, _)| &e.instr);
    let connected = path.iter().zip(sigma.iter().skip(1)).all(|((e, _), next)| e.to == next.point);
    let first_fence = path.iter().position(|(e, _)| e.instr == Instr::Fence(Fence::StoreStore));
    let pso = matches!(order, Order::Pso(_));
    let fenced = |i: usize| pso && first_fence.is_some_and(|f| f < i);
    let passes = |i: usize| match &path[i].0.instr {
        Instr::Fence(Fence::Full) | Instr::Lock | Instr::Unlock => false,
        Instr::Update { .. } => pso && !fenced(i),
        _ => true,
    };
    let meets = |i: usize| matches!(order, Order::Pso(meets) if meets[i]);
    let overtakes = |i: usize| match &path[i].0.instr {
        Instr::Load { .. } => true,
        Instr::Store { .. } | Instr::Update { .. } => pso && !fenced(i) && !meets(i),
        _ => false,
    };
    let stores_meet =
        (1..path.len()).all(|i| !meets(i) || matches!(instr(i), Some(Instr::Store { .. })));
    connected
        && path.len() > 1
        && matches!(instr(0), Some(Instr::Store { .. }))
        && overtakes(path.len() - 1)
        && (0..path.len()).all(passes)
        && stores_meet
}

/// Auxiliary registers for the copy: those of the emulation whose values mean nothing along σ,
/// then new ones. The registers of the original program are never taken.
fn free_registers(
    r: &Emulation,
    thread: ThreadId,
    sigma: &[At],
    path: &[(Edge, Option<u32>)],
    count: usize,
) -> Vec<RegId> {
    let live = live_registers(&r.program, thread);
    let regs = r.program.threads[thread.index()].regs.len();
    let points = sigma.iter().map(|at| at.point).chain(path.last().map(|(e, _)| e.to));
    let mut used = vec![false; regs];
    for point in points {
        for (used, &live) in used.iter_mut().zip(&live[point.index()]) {
            *used |= live;
        }
    }
    for (edge, _) in path {
        if let Instr::Assign { reg, .. }
        | Instr::Load { reg, .. }
        | Instr::Update { reg, .. }
        | Instr::Choose { reg, .. } = edge.instr
        {
            used[reg.index()] = true;
        }
    }
    let old = r.original_regs(thread);
    let free = (old..regs).filter(|&i| !used[i]).chain(regs..);
    free.take(count).map(RegId::new).collect()
}

/// The copy of σ in the making.
struct Copying<'a> {
    growing: Growing<'a>,
    /// Auxiliary registers not yet used.
    free: Vec<RegId>,
    /// One for values that nobody looks at.
    scratch: RegId,
    /// The stores along σ so far that have not been done.
    held: Vec<Held>,
    /// Where inst1 stood.
    first: At,
    /// Where the copy begins.
    entry: PointId,
}

/// What waits behind inst1, or inst1 itself.
#[derive(Clone, Copy, PartialEq)]
enum Held {
    Store(Buffered),
    /// A store-store fence under PSO.
    Barrier,
}

/// A store of σ and the auxiliary registers that remember it.
#[derive(Clone, Copy, PartialEq)]
struct Buffered {
    addr: RegId,
    value: RegId,
    span: Span,
}

impl Buffered {
    fn addr_edge(&self, addr: Expr, to: PointId) -> Edge {
        Edge { instr: Instr::Assign { reg: self.addr, value: addr }, to, span: self.span }
    }

    fn value_edge(&self, value: Expr, to: PointId) -> Edge {
        Edge { instr: Instr::Assign { reg: self.value, value }, to, span: self.span }
    }

    fn store_edge(&self, to: PointId) -> Edge {
        let instr = Instr::Store { addr: Expr::Reg(self.addr), value: Expr::Reg(self.value) };
        Edge { instr, to, span: self.span }
    }
}

impl Copying<'_> {
    /// One more store, and what it stores.
    fn remember(&mut self, edge: &Edge) -> Option<(Buffered, Expr)> {
        let Instr::Store { value, .. } = &edge.instr else { return None };
        let mut next = || self.free.remove(0);
        let store = Buffered { addr: next(), value: next(), span: edge.span };
        self.held.push(Held::Store(store));
        Some((store, value.clone()))
    }

    /// A store of σ that is remembered, from `from` to `to`.
    fn store_later(&mut self, from: PointId, (edge, takes): (&Edge, Option<u32>), to: PointId) {
        if let Instr::Store { addr, .. } = &edge.instr
            && let Some((store, value)) = self.remember(edge)
        {
            let middle = self.growing.point();
            self.growing.edge(from, store.addr_edge(addr.clone(), middle), takes);
            self.growing.edge(middle, store.value_edge(value, to), None);
        }
    }

    /// A write to `addr` at `from`, which on σ goes to the address of inst1 or not, as `meets`
    /// says: the point from which it goes on so. Otherwise the copy is left.
    fn branch(
        &mut self,
        (from, addr): (PointId, &Expr),
        at: At,
        (edge, takes): (&Edge, Option<u32>),
        meets: bool,
    ) -> Option<PointId> {
        let Some(&Held::Store(first)) = self.held.first() else { return None };
        let (here, other) = (self.growing.point(), self.growing.point());
        let mut test = |op, to| {
            let instr = Instr::Assume(Expr::binary(op, Expr::Reg(first.addr), addr.clone()));
            self.growing.edge(from, Edge { instr, to, span: edge.span }, None);
        };
        let (same, different) = if meets { (here, other) } else { (other, here) };
        test(BinOp::Eq, same);
        test(BinOp::Ne, different);
        let stored = self.growing.point();
        self.store_all(other, stored);
        self.outside(stored, at, edge, takes);
        Some(here)
    }

    /// An instruction of σ that is not a store, from `from` to `to`.
    fn follow(&mut self, from: PointId, edge: &Edge, takes: Option<u32>, to: PointId) {
        let mut from = from;
        let Edge { instr, span, .. } = edge;
        if let Instr::Load { reg, addr } = instr {
            // The latest buffered store to the address is looked at first.
            for held in self.held.clone().iter().rev() {
                let Held::Store(store) = held else { continue };
                let (found, other) = (self.growing.point(), self.growing.point());
                let test =
                    |op| Instr::Assume(Expr::binary(op, Expr::Reg(store.addr), addr.clone()));
                let edge = |instr, to| Edge { instr, to, span: *span };
                self.growing.edge(from, edge(test(BinOp::Eq), found), None);
                self.growing.edge(from, edge(test(BinOp::Ne), other), None);
                let forward = Instr::Assign { reg: *reg, value: Expr::Reg(store.value) };
                self.growing.edge(found, edge(forward, to), takes);
                from = other;
            }
        }
        self.growing.edge(from, Edge { instr: instr.clone(), to, span: *span }, takes);
    }

    /// The buffered stores in their order, from `from` to `to`. There is at least one.
    fn store_all(&mut self, from: PointId, to: PointId) {
        self.store_from(0, from, to);
    }

    fn store_from(&mut self, first: usize, from: PointId, to: PointId) {
        let mut from = from;
        for j in first..self.held.len() {
            let next = if j + 1 == self.held.len() { to } else { self.growing.point() };
            let edge = match self.held[j] {
                Held::Store(store) => store.store_edge(next),
                Held::Barrier => {
                    let instr = Instr::Fence(Fence::StoreStore);
                    Edge { instr, to: next, span: Span::default() }
                }
            };
            self.growing.edge(from, edge, None);
            from = next;
        }
    }

    /// The first store reaches memory here, the others go on to be delayed, and the thread is back
    /// in its own code at `to`.
    fn first_is_done(&mut self, from: PointId, to: PointId, order: Order<'_>) {
        let Some(&Held::Store(first)) = self.held.first() else { return };
        let done = if self.held.len() == 1 { to } else { self.growing.point() };
        let Buffered { addr, value, span } = first;
        match order {
            Order::Tso(_) => {
                let fence = self.growing.point();
                self.growing.edge(from, first.store_edge(fence), None);
                let instr = Instr::Fence(Fence::Full);
                self.growing.edge(fence, Edge { instr, to: done, span }, None);
            }
            Order::Pso(_) => {
                let (addr, value) = (Expr::Reg(addr), Expr::Reg(value));
                let instr = Instr::Update { reg: self.scratch, addr, value };
                self.growing.edge(from, Edge { instr, to: done, span }, None);
            }
        }
        self.store_from(1, done, to);
    }

    /// The exits from `from` for all instructions that could be taken in place of the one at
    /// `next`, which goes on along σ.
    fn leave(&mut self, r: &Emulation, thread: ThreadId, from: PointId, next: At) {
        let edges = &r.program.threads[thread.index()].points[next.point.index()].edges;
        if edges.len() < 2 {
            return;
        }
        let stored = self.growing.point();
        self.store_all(from, stored);
        for i in (0..edges.len()).filter(|&i| i != next.edge) {
            let at = At { point: next.point, edge: i };
            let Some((edge, takes)) = r.edge(thread, at) else { continue };
            self.outside(stored, at, edge, takes);
        }
    }

    /// An instruction of R outside of the copy, from `from`. inst1 enters the copy again.
    fn outside(&mut self, from: PointId, at: At, edge: &Edge, takes: Option<u32>) {
        let edge = match (&edge.instr, self.held.first()) {
            (Instr::Store { addr, .. }, Some(Held::Store(first))) if at == self.first => {
                first.addr_edge(addr.clone(), self.entry)
            }
            _ => edge.clone(),
        };
        self.growing.edge(from, edge, takes);
    }
}
