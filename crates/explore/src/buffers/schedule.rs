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

use crate::buffers::alike;
use crate::buffers::space::Space;
use crate::buffers::write_order::WriteOrder;

/// Steps in one epoch, that is, between two writes.
type InEpoch = (usize, Vec<Step>);

/// An epoch and a local state of one thread.
type At = (usize, u32);

/// A run that ends in a final state with `outcome`, if the search found one.
pub(crate) fn run_to(search: &mut WriteOrder<'_>, outcome: &[Value]) -> Option<Schedule> {
    let (node, who) = search.node_with(outcome)?;
    let columns: Vec<Vec<usize>> =
        (0..search.sets.len()).map(|t| search.space.columns(Some(t))).collect();
    run_to_node(search, node, &who, &|space, t, local| {
        let first = space.alike.first[t];
        let locals = &space.threads[first];
        let row = space.observe_regs(&columns[first], locals.regs(local));
        locals.is_final(local) && columns[t].iter().zip(row).all(|(&c, v)| outcome[c] == v)
    })
    .map(|run| search.space.with_quiet_commits(run))
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
        let who: Vec<usize> = (0..search.sets.len()).collect();
        let mut run =
            run_to_node(search, node, &who, &|space, t, local| match within == Some(t) {
                true => entry == Some(local),
                false => wanted[t].is_none_or(|p| space.threads[t].point(local) == p),
            })?;
        run.steps.extend(steps);
        return Some(search.space.with_quiet_commits(run));
    }
    let failed = search.space.assertion.clone()?;
    let alike = &search.space.alike;
    let (node, place) = (0..search.nodes.len() as u32).find_map(|id| {
        let node = search.nodes.get(id);
        let stands = |&t: &usize| {
            let sets = &search.sets[failed.thread].sets;
            alike.first[t] == failed.thread
                && sets.get(node[t + 1]).binary_search(&failed.local).is_ok()
        };
        let place = (0..alike.first.len()).filter(|_| node[0] == failed.mem).find(stands)?;
        Some((id, place))
    })?;
    let who: Vec<usize> = (0..search.sets.len()).collect();
    let mut run =
        run_to_node(search, node, &who, &|_, t, local| t != place || local == failed.local)?;
    run.steps.extend(failed.steps.into_iter().map(|step| alike::by(place, step)));
    Some(search.space.with_quiet_commits(run))
}

/// A run to `node`, at whose places the threads `who` stand, in which each thread ends in a local
/// state that `wanted` accepts.
fn run_to_node(
    search: &mut WriteOrder<'_>,
    node: u32,
    who: &[usize],
    wanted: &dyn Fn(&Space<'_>, usize, u32) -> bool,
) -> Option<Schedule> {
    let mut path = vec![node];
    let mut writers = Vec::new();
    let mut who = who.to_vec();
    loop {
        let node = path[path.len() - 1];
        let (from, place) = search.parents[node as usize];
        let mut before = vec![0; who.len()];
        for (place, &thread) in who.iter().enumerate() {
            before[search.place_before(node, place)] = thread;
        }
        who = before;
        if from == node {
            break;
        }
        path.push(from);
        writers.push(who.get(place as usize).copied());
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
        let writer = writers.get(epoch).copied().flatten();
        let others = (0..threads.len()).filter(|&t| Some(t) != writer);
        for t in others.chain(writer) {
            let own = threads[t].iter().filter(|(e, _)| *e == epoch);
            steps.extend(own.flat_map(|(_, steps)| steps).map(|&step| alike::by(t, step)));
        }
    }
    let init = search.space.mems.declared(mems[0]).to_vec();
    Some(Schedule { init, steps })
}

/// The steps of thread `t` along this order of writes, to a local state that `wanted` accepts.
fn thread_path(
    space: &mut Space<'_>,
    t: usize,
    mems: &[u32],
    writers: &[Option<usize>],
    wanted: &dyn Fn(&Space<'_>, usize, u32) -> bool,
) -> Option<Vec<InEpoch>> {
    let first = space.alike.first[t];
    let start = (0, space.threads[first].initial());
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
        let pending = !space.threads[first].buffer(local).is_empty();
        let mut go = |to: At, steps: Vec<Step>, price: u64| {
            let cost = cost + price;
            if best.get(&to).is_none_or(|&known| cost < known) {
                best.insert(to, cost);
                came.insert(to, (at, steps));
                todo.push(Reverse((cost, to)));
            }
        };
        let own_turn = writers.get(epoch) == Some(&Some(t));
        if epoch + 1 < mems.len() && !own_turn {
            go((epoch + 1, local), Vec::new(), 1 + 4 * u64::from(pending));
        }
        for taken in space.moves_with_steps(first, local, mems[epoch]) {
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
