//! Where robustness says too little about control points: inside of atomic blocks.
//!
//! A robust program reaches the same states with empty buffers under SC and TSO, and buffers can
//! be emptied without moving a thread, so that the same control points are reached together. But
//! not while a thread is inside of an atomic block: then the buffers of others cannot be emptied.
//! One thread may be inside, having read the old value of x, while another has its store to x
//! still in its buffer and stands behind it. Under SC that store would have been there for the
//! block to read, or would have had to wait for its end. Their traces are the same; that they
//! stood there together is not part of a trace.
//!
//! Nothing else is lost. If only the points of the thread inside matter (or an assertion in it),
//! or those of others that have nothing in their buffers there, then let the others stop before
//! their first store that is still pending: nobody has seen anything of what came after it. All
//! buffers are empty when the block begins, so SC gets there, too, and then runs the same block.
//!
//! That is so under TSO. Under PSO what came after the pending store may have been seen, and a
//! block that fails an assertion for that reason does not come to its end, where robustness would
//! have noticed. Under PSO nothing can be said about the inside of blocks.

use weakspot_core::{Fence, Instr, Program, Thread};

/// Whether some forbidden combination has one thread inside of an atomic block and another at a
/// point where its buffer may hold stores.
pub(crate) fn can_hide_a_combination(program: &Program) -> bool {
    if program.forbidden.is_empty() {
        return false;
    }
    let ways: Vec<Vec<Ways>> = program.threads.iter().map(ways).collect();
    program.forbidden.iter().any(|combination| {
        let at = |want: fn(&Ways) -> bool| {
            let ways = &ways;
            combination.iter().enumerate().filter_map(move |(t, point)| {
                point.is_some_and(|p| want(&ways[t][p.index()])).then_some(t)
            })
        };
        at(|w| w.inside).any(|a| at(|w| w.pending).any(|b| a != b))
    })
}

/// Whether a forbidden combination or an assertion is about a point inside of an atomic block.
pub(crate) fn asks_about_the_inside(program: &Program) -> bool {
    program.threads.iter().enumerate().any(|(t, thread)| {
        let forbidden = |p| program.forbidden.iter().any(|c| c[t].is_some_and(|q| q.index() == p));
        let asserts =
            |p: usize| thread.points[p].edges.iter().any(|e| matches!(e.instr, Instr::Assert(_)));
        let ways = ways(thread);
        (0..ways.len()).any(|p| ways[p].inside && (forbidden(p) || asserts(p)))
    })
}

/// How a thread may stand at a point.
#[derive(Clone, Copy, Default)]
struct Ways {
    /// Inside of an atomic block.
    inside: bool,
    /// Outside of one, with stores in its buffer.
    pending: bool,
}

/// What a thread may have with it, per control point, by following its edges from the entry.
fn ways(thread: &Thread) -> Vec<Ways> {
    let mut ways = vec![Ways::default(); thread.points.len()];
    let mut seen = vec![[[false; 2]; 2]; thread.points.len()];
    let mut todo = vec![(thread.entry, false, false)];
    while let Some((point, inside, pending)) = todo.pop() {
        let seen = &mut seen[point.index()][usize::from(inside)][usize::from(pending)];
        if std::mem::replace(seen, true) {
            continue;
        }
        let way = &mut ways[point.index()];
        way.inside |= inside;
        way.pending |= pending && !inside;
        for edge in &thread.points[point.index()].edges {
            todo.push(match edge.instr {
                Instr::Store { .. } => (edge.to, inside, true),
                Instr::Update { .. } | Instr::Fence(Fence::Full) => (edge.to, inside, false),
                Instr::Lock => (edge.to, true, false),
                Instr::Unlock => (edge.to, false, false),
                _ => (edge.to, inside, pending),
            });
        }
    }
    ways
}
