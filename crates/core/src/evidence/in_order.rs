//! Programs in which no access can overtake a store, whatever the values: robust at a glance, also where states are
//! infinitely many.
//!
//! While a store waits in its buffer, its thread does nothing that others could notice but accesses to the same location,
//! under TSO also stores, which wait behind it. So each run does what the run of SC does in which these accesses happen
//! when the store reaches memory: a load among them reads its thread's own last store in both. `docs/how/robustness.md`
//! has the proof.

use std::collections::HashSet;

use crate::{Drain, Expr, Fence, Instr, Model, PointId, Program, Thread};

/// Whether that is so, by the text alone. A program of which it is not said may be robust as well.
#[must_use]
pub fn keeps_order(program: &Program, model: Model) -> bool {
    let in_order = |thread: &Thread| {
        thread.points.iter().flat_map(|p| &p.edges).all(|edge| match &edge.instr {
            Instr::Lock => false,
            Instr::Store { addr, .. } => !is_overtaken(thread, edge.to, addr, model),
            _ => true,
        })
    };
    model == Model::Sc || program.wides.is_empty() && program.threads.iter().all(in_order)
}

/// Whether some access can overtake a store to `addr` behind which the thread goes on at `next`.
fn is_overtaken(thread: &Thread, next: PointId, addr: &Expr, model: Model) -> bool {
    // Registers change; only constants stay the same address.
    let same = |other: &Expr| matches!(addr, Expr::Const(_)) && addr == other;
    // Points, and whether a store-store fence is behind the store there.
    let mut open = vec![(next, false)];
    let mut seen: HashSet<(PointId, bool)> = open.iter().copied().collect();
    while let Some((at, fenced)) = open.pop() {
        for edge in &thread.points[at.index()].edges {
            let mut fenced = fenced;
            match &edge.instr {
                Instr::Fence(Fence::Full) => continue,
                Instr::Fence(Fence::StoreStore) => fenced = true,
                // It waits for all stores of its thread, or for those to its location.
                Instr::Update { addr, .. } if model != Model::Pso(Drain::Own) || same(addr) => {
                    continue;
                }
                Instr::Update { .. } | Instr::Lock => return true,
                Instr::Load { addr, .. } if !same(addr) => return true,
                Instr::Store { addr, .. } if !same(addr) => {
                    if model != Model::Tso && !fenced {
                        return true;
                    }
                }
                _ => {}
            }
            if seen.insert((edge.to, fenced)) {
                open.push((edge.to, fenced));
            }
        }
    }
    false
}
