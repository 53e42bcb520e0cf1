//! Where a thread may go first: points at which others cannot tell what it does next.
//!
//! A point is *quiet* if
//! * all its edges only read and write registers, or put a store or a store-store fence into a buffer;
//! * one of them can always be taken: it waits for nothing, or two of them wait for a condition and
//!   its opposite;
//! * no forbidden combination names it, and no way over quiet points leads back to it.
//!
//! **Claim.** If a thread stands at a quiet point, and the lock is free or its own, then it is enough to
//! follow the steps of this thread's code: a state that is bad is reached with one of them first, if it is
//! reached at all. (*Bad* is a forbidden combination of points, a failure, or a final state.)
//!
//! *Proof*, by the length of a shortest run to something bad, and then by how many quiet points the
//! thread has ahead of it. (1) If the thread executes something in the run, the first such step is from the
//! quiet point. It depends on nothing but the thread's registers, which nobody changes before it, and
//! nobody before it depends on it: others do not look into registers and buffers, and commits take older
//! stores, also past a barrier behind them. So it can be taken first, and the rest of the run is
//! shorter. (2) If not, take any step of it that can be taken. If that is a failure, it is bad. If
//! not, the run is possible after it, for the same reasons. Where it ends is not final, because the
//! thread has not ended; it may be a failure of another thread, or a combination that does not name
//! this one. The run is as long as before, and fewer quiet points are ahead. ∎

use crate::{BinOp, Expr, Instr, Model, PointId, Program, Thread, UnOp};

/// Per thread and point whether it is quiet.
pub(crate) fn quiet_points(program: &Program, model: Model) -> Vec<Vec<bool>> {
    let of_thread = |(t, thread): (usize, &Thread)| {
        let is_named = |p: usize| program.forbidden.iter().any(|c| c[t] == Some(PointId::new(p)));
        let points = thread.points.iter().enumerate();
        let candidates: Vec<bool> = points
            .map(|(p, point)| {
                !is_named(p)
                    && point.edges.iter().all(|edge| is_unseen(&edge.instr, model))
                    && goes_on(point.edges.iter().map(|edge| &edge.instr))
            })
            .collect();
        without_circles(thread, &candidates)
    };
    program.threads.iter().enumerate().map(of_thread).collect()
}

/// The same points, but for some, so that no way leads from one of them to itself: a point is taken out
/// where a walk in depth comes back to it.
fn without_circles(thread: &Thread, candidates: &[bool]) -> Vec<bool> {
    let mut left = candidates.to_vec();
    // Whether the walk has come to a point, and whether it has gone back from it.
    let (mut met, mut done) = (vec![false; left.len()], vec![false; left.len()]);
    for start in 0..left.len() {
        if !candidates[start] || std::mem::replace(&mut met[start], true) {
            continue;
        }
        let mut way = vec![(start, 0)];
        while let Some((point, next)) = way.last_mut() {
            let Some(edge) = thread.points[*point].edges.get(*next) else {
                done[*point] = true;
                way.pop();
                continue;
            };
            *next += 1;
            let to = edge.to.index();
            if candidates[to] && !std::mem::replace(&mut met[to], true) {
                way.push((to, 0));
            } else if candidates[to] && !done[to] {
                left[to] = false;
            }
        }
    }
    left
}

fn is_unseen(instr: &Instr, model: Model) -> bool {
    match instr {
        Instr::Nop | Instr::Assign { .. } | Instr::Assume(_) | Instr::Assert(_) => true,
        Instr::Choose { low, high, .. } => low <= high,
        Instr::Fence(fence) => *fence == crate::Fence::StoreStore,
        Instr::Store { .. } => model != Model::Sc,
        Instr::Load { .. } | Instr::Update { .. } | Instr::Lock | Instr::Unlock => false,
    }
}

/// Whether one of these instructions, which no other thread sees, can always be taken.
fn goes_on<'a>(instrs: impl Iterator<Item = &'a Instr> + Clone) -> bool {
    let mut tests = instrs.clone().filter_map(|instr| match instr {
        Instr::Assume(test) => Some(test),
        _ => None,
    });
    let waits_for_nothing = instrs.clone().any(|instr| !matches!(instr, Instr::Assume(_)));
    waits_for_nothing
        || match (tests.next(), tests.next()) {
            (Some(a), Some(b)) => are_opposite(a, b),
            _ => false,
        }
}

fn are_opposite(a: &Expr, b: &Expr) -> bool {
    use BinOp::{Eq, Ge, Gt, Le, Lt, Ne};
    match (a, b) {
        (Expr::Unary(UnOp::Not, e), other) | (other, Expr::Unary(UnOp::Not, e))
            if **e == *other =>
        {
            true
        }
        (Expr::Binary(f, left, right), Expr::Binary(g, l, r)) => {
            let swapped = [(Eq, Ne), (Lt, Ge), (Le, Gt)];
            let ops = swapped.contains(&(*f, *g)) || swapped.contains(&(*g, *f));
            ops && left == l && right == r
        }
        _ => false,
    }
}
