//! P_k: a program whose threads jump backwards at most k times each, so that it has no cycles.
//!
//! Theorem 4 of the lazy TSO reachability paper bounds the length of computations. Here only
//! backward jumps are counted: what has no cycle stays as it is, and a smaller k does as much.
//! A thread becomes k + 1 copies of itself, one after the other. Edges that close a cycle (by a
//! depth-first search) lead to the next copy, from the last copy to a point called the cut, where
//! the thread is stuck. If no thread can reach its cut then P_k does all that P does.

use std::collections::BTreeSet;

use weakspot_core::{Edge, Expr, Instr, PointId, Program, Span, Thread, ThreadId};

use crate::tso::lazy::emulation::{Emulation, Growing};

/// P_k, and for each thread that had to be unrolled its cut.
pub(crate) struct Unrolled {
    pub(crate) emulation: Emulation,
    pub(crate) cuts: Vec<(ThreadId, PointId)>,
}

/// Unrolls `program`; k is `backward`.
pub(crate) fn unroll(program: &Program, backward: usize) -> Unrolled {
    let mut emulation = Emulation::of(program);
    let mut cuts = Vec::new();
    for (t, thread) in program.threads.iter().enumerate() {
        let closing = closing_edges(thread);
        if !closing.is_empty() {
            let id = ThreadId::new(t);
            cuts.push((id, unroll_thread(&mut emulation, id, thread, &closing, backward)));
        }
    }
    Unrolled { emulation, cuts }
}

/// The edges that lead back to a point on the path of a depth-first search.
fn closing_edges(thread: &Thread) -> BTreeSet<(PointId, usize)> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        OnPath,
        Done,
    }
    let mut marks = vec![Mark::New; thread.points.len()];
    let mut closing = BTreeSet::new();
    let mut path = vec![(thread.entry, 0)];
    marks[thread.entry.index()] = Mark::OnPath;
    while let Some((point, edge)) = path.last_mut() {
        let Some(Edge { to, .. }) = thread.points[point.index()].edges.get(*edge) else {
            marks[point.index()] = Mark::Done;
            path.pop();
            continue;
        };
        let at = (*point, *edge);
        *edge += 1;
        match marks[to.index()] {
            Mark::New => {
                marks[to.index()] = Mark::OnPath;
                path.push((*to, 0));
            }
            Mark::OnPath => {
                closing.insert(at);
            }
            Mark::Done => {}
        }
    }
    closing
}

/// Replaces a thread by its copies and gives its cut.
fn unroll_thread(
    emulation: &mut Emulation,
    id: ThreadId,
    thread: &Thread,
    closing: &BTreeSet<(PointId, usize)>,
    backward: usize,
) -> PointId {
    let forbidden = std::mem::take(&mut emulation.program.forbidden);
    let mut growing = emulation.grow(id);
    growing.clear();
    let points = thread.points.len();
    for _ in 0..points * (backward + 1) {
        growing.point();
    }
    // A point without edges is the same in all copies.
    let copy_of = |copy: usize, p: PointId| match thread.points[p.index()].edges.is_empty() {
        true => p,
        false => PointId::new(copy * points + p.index()),
    };
    let stuck = |growing: &mut Growing<'_>| {
        let (point, nowhere) = (growing.point(), growing.point());
        let instr = Instr::Assume(Expr::Const(0));
        growing.edge(point, Edge { instr, to: nowhere, span: Span::default() }, None);
        point
    };
    let cut = stuck(&mut growing);
    for copy in 0..=backward {
        for (p, point) in thread.points.iter().enumerate() {
            for (i, edge) in point.edges.iter().enumerate() {
                let p = PointId::new(p);
                let to = match closing.contains(&(p, i)) {
                    false => copy_of(copy, edge.to),
                    true if copy < backward => copy_of(copy + 1, edge.to),
                    true => cut,
                };
                growing.edge(copy_of(copy, p), Edge { to, ..edge.clone() }, Some(i as u32));
            }
        }
    }
    // To stand at a forbidden point in any copy, a thread steps aside to one point for all copies.
    let mut aside: Vec<Option<PointId>> = vec![None; points];
    let mut forbidden = forbidden;
    for combination in &mut forbidden {
        let Some(p) = combination[id.index()] else { continue };
        if thread.points[p.index()].edges.is_empty() {
            continue;
        }
        let to = *aside[p.index()].get_or_insert_with(|| {
            let to = stuck(&mut growing);
            for copy in 0..=backward {
                let edge = Edge { instr: Instr::Nop, to, span: Span::default() };
                growing.edge(copy_of(copy, p), edge, None);
            }
            to
        });
        combination[id.index()] = Some(to);
    }
    emulation.program.forbidden = forbidden;
    cut
}
