//! The extension R ⊕ σ: one thread gets a copy of the path σ on which its stores stay in auxiliary
//! registers, so that SC runs of the result can delay them past the loads of σ.
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

/// R ⊕ σ for a path `sigma` of `thread`. `None` if that is not a path from a store to a load
/// without fences, updates and atomic blocks.
#[must_use]
pub fn extend(r: &Emulation, thread: ThreadId, sigma: &[At], first: First) -> Option<Emulation> {
    let path: Vec<(Edge, Option<u32>)> = sigma
        .iter()
        .map(|&at| r.edge(thread, at).map(|(edge, takes)| (edge.clone(), takes)))
        .collect::<Option<_>>()?;
    is_legal(sigma, &path).then_some(())?;
    let stores = path.iter().filter(|(e, _)| matches!(e.instr, Instr::Store { .. })).count();
    let free = free_registers(r, thread, sigma, &path, 2 * stores);
    let mut extended = r.clone();
    let growing = extended.grow(thread);
    let enough = free.iter().map(|r| r.index() + 1).max().unwrap_or(0);
    let regs = &mut growing.thread.regs;
    regs.resize(regs.len().max(enough), 0);
    let mut copy = Copying { growing, free, buffered: Vec::new() };

    let mut q = sigma[0].point;
    let mut entry = q;
    for (i, (edge, takes)) in path.iter().enumerate() {
        let next = copy.growing.point();
        if let Instr::Store { addr, value } = &edge.instr {
            let middle = copy.growing.point();
            let remember = copy.remember(edge.span);
            let addr = remember.addr_edge(addr.clone(), middle);
            if i == 0 {
                entry = middle;
            }
            match (i, first) {
                (0, First::Removed) => copy.growing.replace(sigma[0], addr, *takes),
                _ => copy.growing.edge(q, addr, *takes),
            }
            copy.growing.edge(middle, remember.value_edge(value.clone(), next), None);
        } else {
            copy.follow(q, edge, *takes, next);
        }
        q = next;
        if first == First::Removed && i + 1 < path.len() {
            if i == 0 || matches!(edge.instr, Instr::Load { .. }) {
                copy.flush_and_fence(q, edge.to);
            }
            copy.leave(r, thread, q, sigma[i + 1], (sigma[0], entry));
        }
    }
    let (last, _) = path.last()?;
    copy.store_all(q, last.to);
    Some(extended)
}

fn is_legal(sigma: &[At], path: &[(Edge, Option<u32>)]) -> bool {
    let instr = |i: usize| path.get(i).map(|(e, _)| &e.instr);
    let connected = path.iter().zip(sigma.iter().skip(1)).all(|((e, _), next)| e.to == next.point);
    let passes = |(e, _): &(Edge, Option<u32>)| {
        !matches!(
            e.instr,
            Instr::Update { .. } | Instr::Fence(Fence::Full) | Instr::Lock | Instr::Unlock
        )
    };
    connected
        && matches!(instr(0), Some(Instr::Store { .. }))
        && matches!(path.last().map(|(e, _)| &e.instr), Some(Instr::Load { .. }))
        && path.iter().all(passes)
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
        if let Instr::Assign { reg, .. } | Instr::Load { reg, .. } | Instr::Choose { reg, .. } =
            edge.instr
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
    /// The stores along σ so far.
    buffered: Vec<Buffered>,
}

/// A store of σ and the auxiliary registers that remember it.
#[derive(Clone, Copy)]
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
    /// One more store.
    fn remember(&mut self, span: Span) -> Buffered {
        let mut next = || self.free.remove(0);
        let store = Buffered { addr: next(), value: next(), span };
        self.buffered.push(store);
        store
    }

    /// An instruction of σ that is not a store, from `from` to `to`.
    fn follow(&mut self, from: PointId, edge: &Edge, takes: Option<u32>, to: PointId) {
        let mut from = from;
        let Edge { instr, span, .. } = edge;
        if let Instr::Load { reg, addr } = instr {
            // The latest buffered store to the address is looked at first.
            for store in self.buffered.clone().iter().rev() {
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
        for j in first..self.buffered.len() {
            let next = if j + 1 == self.buffered.len() { to } else { self.growing.point() };
            self.growing.edge(from, self.buffered[j].store_edge(next), None);
            from = next;
        }
    }

    /// The first store reaches memory here, the others go on to be delayed, and the thread is back
    /// in its own code at `to`.
    fn flush_and_fence(&mut self, from: PointId, to: PointId) {
        let first = self.buffered[0];
        let fence = self.growing.point();
        let fenced = if self.buffered.len() == 1 { to } else { self.growing.point() };
        self.growing.edge(from, first.store_edge(fence), None);
        let instr = Instr::Fence(Fence::Full);
        self.growing.edge(fence, Edge { instr, to: fenced, span: first.span }, None);
        self.store_from(1, fenced, to);
    }

    /// The exits from `from` for all instructions that could be taken in place of the one at
    /// `next`, which goes on along σ. inst1 stood at `first`; the copy now begins at `entry`.
    fn leave(
        &mut self,
        r: &Emulation,
        thread: ThreadId,
        from: PointId,
        next: At,
        (first, entry): (At, PointId),
    ) {
        let edges = &r.program.threads[thread.index()].points[next.point.index()].edges;
        if edges.len() < 2 {
            return;
        }
        let stored = self.growing.point();
        self.store_all(from, stored);
        for i in (0..edges.len()).filter(|&i| i != next.edge) {
            let at = At { point: next.point, edge: i };
            let Some((edge, takes)) = r.edge(thread, at) else { continue };
            let edge = match &edge.instr {
                Instr::Store { addr, .. } if at == first => {
                    self.buffered[0].addr_edge(addr.clone(), entry)
                }
                _ => edge.clone(),
            };
            self.growing.edge(stored, edge, takes);
        }
    }
}
