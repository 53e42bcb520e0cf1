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

use crate::buffers::space::Space;
use crate::buffers::write_order::WriteOrder;

/// Steps in one epoch, that is, between two writes.
type InEpoch = (usize, Vec<Step>);

/// An epoch and a local state of one thread.
type At = (usize, u32);

/// A run that ends in a final state with `outcome`, if the search found one.
pub(crate) fn run_to(search: &mut WriteOrder<'_>, outcome: &[Value]) -> Option<Schedule> {
    let node = search.node_with(outcome)?;
    let columns: Vec<Vec<usize>> =
        (0..search.sets.len()).map(|t| search.space.columns(Some(t))).collect();
    run_to_node(search, node, &|space, t, local| {
        let locals = &space.threads[t];
        let row = space.observe_regs(&columns[t], locals.regs(local));
        locals.is_final(local) && columns[t].iter().zip(row).all(|(&c, v)| outcome[c] == v)
    })
}

/// A run that ends in the violation at which the search stopped: in a forbidden state, or with
/// the step that fails an assertion.
pub(crate) fn run_to_violation(search: &mut WriteOrder<'_>) -> Option<Schedule> {
    if let Some((node, combination, within)) = search.forbidden {
        let wanted = search.space.program.forbidden[combination].clone();
        let mem = search.nodes.get(node)[0];
        let mut steps = Vec::new();
        let mut entry = None;
        if let Some(t) = within {
            let set = search.sets[t].sets.get(search.nodes.get(node)[t + 1]).to_vec();
            let mut way = |local| search.space.way_inside(t, local, mem, wanted[t]?);
            let (local, way) = set.into_iter().find_map(|l| Some((l, way(l)?)))?;
            (entry, steps) = (Some(local), way);
        }
        let mut run = run_to_node(search, node, &|space, t, local| match within == Some(t) {
            true => entry == Some(local),
            false => wanted[t].is_none_or(|p| space.threads[t].point(local) == p),
        })?;
        run.steps.extend(steps);
        return Some(run);
    }
    let failed = search.space.assertion.clone()?;
    let node = (0..search.nodes.len() as u32).find(|&id| {
        let node = search.nodes.get(id);
        let set = search.sets[failed.thread].sets.get(node[failed.thread + 1]);
        node[0] == failed.mem && set.binary_search(&failed.local).is_ok()
    })?;
    let mut run =
        run_to_node(search, node, &|_, t, local| t != failed.thread || local == failed.local)?;
    run.steps.extend(failed.steps);
    Some(run)
}

/// A run to `node` in which each thread ends in a local state that `wanted` accepts.
fn run_to_node(
    search: &mut WriteOrder<'_>,
    node: u32,
    wanted: &dyn Fn(&Space<'_>, usize, u32) -> bool,
) -> Option<Schedule> {
    let mut path = vec![node];
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
        .map(|t| thread_path(&mut search.space, t, &mems, &writers, wanted))
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

/// The steps of thread `t` along this order of writes, to a local state that `wanted` accepts.
fn thread_path(
    space: &mut Space<'_>,
    t: usize,
    mems: &[u32],
    writers: &[usize],
    wanted: &dyn Fn(&Space<'_>, usize, u32) -> bool,
) -> Option<Vec<InEpoch>> {
    let start = (0, space.threads[t].initial());
    let mut best: FxHashMap<At, u64> = FxHashMap::default();
    let mut came: FxHashMap<At, (At, Vec<Step>)> = FxHashMap::default();
    let mut todo = BinaryHeap::from([Reverse((0, start))]);
    best.insert(start, 0);
    while let Some(Reverse((cost, at))) = todo.pop() {
        if cost > best[&at] {
            continue;
        }
        let (epoch, local) = at;
        if epoch + 1 == mems.len() && wanted(space, t, local) {
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
