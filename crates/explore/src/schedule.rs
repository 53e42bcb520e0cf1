//! From a final state found by the order of writes to a run of the machine that ends in it.
//!
//! The nodes on the way give the order of writes. Along it each thread is on its own: a shortest
//! path through (number of writes so far, local state), where it is free to stay put while others
//! write. A path costs what it leaves in the buffer: each step taken and each write of another
//! thread waited for while stores are pending, so that the run shows only delays that it needs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;
use weakspot_core::Value;
use weakspot_core::machine::{Schedule, Step};

use crate::write_order::WriteOrder;

/// Steps in one epoch, that is, between two writes.
type InEpoch = (usize, Vec<Step>);

/// An epoch and a local state of one thread.
type At = (usize, u32);

/// A run that ends in a final state with `outcome`, if the search found one.
pub(crate) fn run_to(search: &mut WriteOrder<'_>, outcome: &[Value]) -> Option<Schedule> {
    let mut path = vec![search.node_with(outcome)?];
    let mut writers = Vec::new();
    loop {
        let node = path[path.len() - 1];
        let (from, thread) = search.parents[node as usize];
        if from == node {
            break;
        }
        path.push(from);
        writers.push(thread as usize);
    }
    path.reverse();
    writers.reverse();
    let mems: Vec<u32> = path.iter().map(|&node| search.nodes.get(node)[0]).collect();
    let threads: Vec<Vec<InEpoch>> = (0..search.sets.len())
        .map(|t| thread_path(search, t, &mems, &writers, outcome))
        .collect::<Option<_>>()?;
    let mut steps = Vec::new();
    for epoch in 0..mems.len() {
        // The thread that writes next goes last, so that its write ends the epoch.
        let writer = writers.get(epoch).copied();
        let others = (0..threads.len()).filter(|&t| Some(t) != writer);
        for t in others.chain(writer) {
            let own = threads[t].iter().filter(|(e, _)| *e == epoch);
            steps.extend(own.flat_map(|(_, steps)| steps));
        }
    }
    Some(Schedule { init: search.space.mems.declared(mems[0]).to_vec(), steps })
}

/// The steps of thread `t` along this order of writes, to a final state that has its part of
/// `outcome`.
fn thread_path(
    search: &mut WriteOrder<'_>,
    t: usize,
    mems: &[u32],
    writers: &[usize],
    outcome: &[Value],
) -> Option<Vec<InEpoch>> {
    let columns = search.space.columns(Some(t));
    let wanted: Vec<Value> = columns.iter().map(|&c| outcome[c]).collect();
    let start = (0, search.space.threads[t].initial());
    let mut best: FxHashMap<At, u64> = FxHashMap::default();
    let mut came: FxHashMap<At, (At, Vec<Step>)> = FxHashMap::default();
    let mut todo = BinaryHeap::from([Reverse((0, start))]);
    best.insert(start, 0);
    while let Some(Reverse((cost, at))) = todo.pop() {
        if cost > best[&at] {
            continue;
        }
        let (epoch, local) = at;
        let space = &mut search.space;
        if epoch + 1 == mems.len()
            && space.threads[t].is_final(local)
            && space.observe_regs(&columns, space.threads[t].regs(local)) == wanted
        {
            let mut path = Vec::new();
            let mut at = at;
            while let Some((from, steps)) = came.remove(&at) {
                path.push((from.0, steps));
                at = from;
            }
            path.reverse();
            return Some(path);
        }
        let pending = !space.threads[t].buffer(local).is_empty();
        let mut go = |to: At, steps: Vec<Step>, price: u64| {
            let cost = cost + price;
            if best.get(&to).is_none_or(|&known| cost < known) {
                best.insert(to, cost);
                came.insert(to, (at, steps));
                todo.push(Reverse((cost, to)));
            }
        };
        let own_turn = writers.get(epoch) == Some(&t);
        if epoch + 1 < mems.len() && !own_turn {
            go((epoch + 1, local), Vec::new(), 1 + 4 * u64::from(pending));
        }
        for taken in space.moves_with_steps(t, local, mems[epoch]) {
            let commit = matches!(taken.steps[..], [Step::Commit { .. }]);
            let price = 1 + 64 * u64::from(pending && !commit);
            if taken.mem == mems[epoch] {
                go((epoch, taken.next), taken.steps, price);
            } else if own_turn && taken.mem == mems[epoch + 1] {
                go((epoch + 1, taken.next), taken.steps, price);
            }
        }
    }
    None
}
