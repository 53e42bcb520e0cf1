//! The three notions of serializable traces by brute force: all executions, or all directions of
//! undirected ties.

use std::collections::BTreeSet;

use super::execution::{Paired, pair, serializable};
use super::order::is_cyclic;
use super::schedules::{scheduled, schedules};
use super::ties::{Tie, Trace};
use super::{Conflicts, TraceMode, TraceOrder, TxnEvent};

/// Whether all executions, or whatever else the trace stands for, are serializable; by all
/// directions that undirected ties may have together. There are exponentially many.
#[must_use]
pub fn serializable_by_orientations(trace: &Trace<'_>) -> bool {
    orientations(trace).iter().all(|edges| !has_cycle(trace, edges))
}

/// All directions that undirected ties may have together, each with the directed ties.
#[must_use]
pub fn orientations(trace: &Trace<'_>) -> BTreeSet<Vec<(usize, usize)>> {
    let (directed, undirected) = (trace.all(Tie::Directed), trace.all(Tie::Undirected));
    let mut found = BTreeSet::new();
    for bits in 0..1u64 << undirected.len() {
        let turned = |(at, &(e, f)): (usize, &(usize, usize))| match bits >> at & 1 {
            0 => (e, f),
            _ => (f, e),
        };
        let mut edges: Vec<(usize, usize)> = undirected.iter().enumerate().map(turned).collect();
        edges.extend(&directed);
        edges.sort_unstable();
        if is_valid(trace, &edges) {
            found.insert(edges);
        }
    }
    found
}

/// Whether these tie directions are jointly realisable.
fn is_valid(trace: &Trace<'_>, edges: &[(usize, usize)]) -> bool {
    if trace.mode == TraceMode::Literal {
        return !is_cyclic(trace.events.len(), edges.iter().copied());
    }
    let order = TraceOrder::new(trace);
    let mut more = Vec::new();
    for &(from, to) in edges {
        if trace.events[from].thread == trace.events[to].thread {
            continue;
        }
        // A write that comes before the own one need not come before the read.
        let hidden = trace.own(to).is_some_and(|own| edges.contains(&(from, own)));
        if !hidden {
            more.extend(order.demands(from, to));
        }
    }
    order.sorted(&more).is_some()
}

fn has_cycle(trace: &Trace<'_>, edges: &[(usize, usize)]) -> bool {
    let mut txns: Vec<u32> = trace.events.iter().map(|e| e.txn).collect();
    txns.sort_unstable();
    txns.dedup();
    let node = |event: usize| txns.partition_point(|&txn| txn < trace.events[event].txn);
    // A read comes before what its thread reads later if another write comes between its own and it.
    let is_overwritten = |read: usize| {
        let between = |own: usize, write: usize| {
            edges.contains(&(own, write)) && edges.contains(&(write, read))
        };
        let thread = trace.events[read].thread;
        let writes = |&at: &usize| trace.writes(at) && trace.events[at].thread != thread;
        let mut others = (0..trace.events.len()).filter(writes);
        trace.own(read).is_some_and(|own| others.any(|write| between(own, write)))
    };
    let sometimes = trace.all(Tie::Sometimes);
    let now = sometimes.iter().filter(|&&(read, _)| is_overwritten(read));
    let edges = edges.iter().chain(now).map(|&(from, to)| (node(from), node(to)));
    is_cyclic(txns.len(), edges.filter(|(from, to)| from != to))
}

/// All executions in which the threads of a trace do the same and directed ties have the same
/// direction, given to a function until it returns false. There are exponentially many.
pub fn predicted(trace: &Trace<'_>, each: &mut dyn FnMut(&[TxnEvent]) -> bool) {
    let directed = trace.all(Tie::Directed);
    let thread = |event: usize| trace.events[event].thread;
    schedules(trace.events, &mut |steps| {
        let last = |event: usize| steps.iter().rposition(|&step| step == event).unwrap_or(0);
        // When others may notice an event for the last time.
        let noticed = |event: usize| last(event).max(trace.own(event).map_or(0, last));
        let keeps = |&(e, f): &(usize, usize)| thread(e) == thread(f) || noticed(e) < noticed(f);
        !directed.iter().all(keeps) || each(&scheduled(trace.events, steps))
    });
}

/// Whether all executions in which the threads of a trace do the same and directed ties have the
/// same direction are serializable.
#[must_use]
pub fn predicted_serializable(trace: &Trace<'_>) -> bool {
    let mut all = true;
    predicted(trace, &mut |events| {
        let relation = Conflicts::Tso(trace.mode.buffered_reads());
        let is_good = |execution: Paired<'_>| serializable(&execution, relation);
        all = pair(events).is_ok_and(is_good);
        all
    });
    all
}
