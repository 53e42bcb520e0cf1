//! The three notions of serializable traces by brute force: all executions, or all directions of
//! undirected ties.

use std::collections::BTreeSet;

use super::execution::{Paired, pair, serializable};
use super::order::sorted;
use super::ties::{Tie, Trace};
use super::{Conflicts, TraceMode, TraceOrder, TxnEvent, TxnKind};

/// Whether all executions, or whatever else the trace stands for, are serializable; by all
/// directions that undirected ties may have together. There are exponentially many.
#[must_use]
pub fn serializable_by_orientations(trace: &Trace<'_>, mode: TraceMode) -> bool {
    orientations(trace, mode).iter().all(|edges| !is_cyclic(trace, edges))
}

/// All directions that undirected ties may have together, each with the directed ties.
#[must_use]
pub fn orientations(trace: &Trace<'_>, mode: TraceMode) -> BTreeSet<Vec<(usize, usize)>> {
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
        if is_valid(trace, mode, &edges) {
            found.insert(edges);
        }
    }
    found
}

/// Whether these directions of all ties are possible together.
fn is_valid(trace: &Trace<'_>, mode: TraceMode, edges: &[(usize, usize)]) -> bool {
    if mode == TraceMode::Literal {
        return sorted(trace.events.len(), edges.iter().copied()).is_some();
    }
    let order = TraceOrder::new(trace, mode);
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

fn is_cyclic(trace: &Trace<'_>, edges: &[(usize, usize)]) -> bool {
    let mut txns: Vec<u32> = trace.events.iter().map(|e| e.txn).collect();
    txns.sort_unstable();
    txns.dedup();
    let node = |event: usize| txns.partition_point(|&txn| txn < trace.events[event].txn);
    let edges = edges.iter().map(|&(from, to)| (node(from), node(to)));
    sorted(txns.len(), edges.filter(|(from, to)| from != to)).is_none()
}

/// All executions in which the threads of a trace do the same and directed ties have the same
/// direction, given to a function until it returns false. There are exponentially many.
pub fn predicted(trace: &Trace<'_>, each: &mut dyn FnMut(&[TxnEvent]) -> bool) {
    let mut threads: Vec<Vec<usize>> = vec![Vec::new(); trace.threads];
    for (at, e) in trace.events.iter().enumerate() {
        threads[e.thread as usize].push(at);
    }
    let directed = trace.all(Tie::Directed);
    let buffers = vec![Vec::new(); trace.threads];
    let mut run = Run { trace, threads, buffers, directed, steps: Vec::new() };
    run.go_on(each);
}

struct Run<'a> {
    trace: &'a Trace<'a>,
    /// Per thread what it has not done, and what is in its buffer.
    threads: Vec<Vec<usize>>,
    buffers: Vec<Vec<usize>>,
    directed: Vec<(usize, usize)>,
    /// Events, and writes a second time when they are committed.
    steps: Vec<usize>,
}

impl Run<'_> {
    fn go_on(&mut self, each: &mut dyn FnMut(&[TxnEvent]) -> bool) -> bool {
        let mut is_end = true;
        for thread in 0..self.threads.len() {
            if let Some(&next) = self.threads[thread].first() {
                is_end = false;
                let kind = self.trace.events[next].kind;
                if !kind.drains() || self.buffers[thread].is_empty() {
                    self.threads[thread].remove(0);
                    let is_write = kind == TxnKind::Write;
                    self.buffers[thread].extend(is_write.then_some(next));
                    self.steps.push(next);
                    let go_on = self.go_on(each);
                    self.steps.pop();
                    if is_write {
                        self.buffers[thread].pop();
                    }
                    self.threads[thread].insert(0, next);
                    if !go_on {
                        return false;
                    }
                }
            }
            if let Some(&oldest) = self.buffers[thread].first() {
                is_end = false;
                self.buffers[thread].remove(0);
                self.steps.push(oldest);
                let go_on = self.go_on(each);
                self.steps.pop();
                self.buffers[thread].insert(0, oldest);
                if !go_on {
                    return false;
                }
            }
        }
        !(is_end && self.keeps_directed()) || each(&self.events())
    }

    fn events(&self) -> Vec<TxnEvent> {
        let event = |(at, &step): (usize, &usize)| {
            let event = self.trace.events[step];
            match self.steps[..at].contains(&step) {
                true => TxnEvent { kind: TxnKind::Commit, ..event },
                false => event,
            }
        };
        self.steps.iter().enumerate().map(event).collect()
    }

    /// When others may notice an event for the last time.
    fn noticed(&self, event: usize) -> usize {
        let last = |event: usize| self.steps.iter().rposition(|&step| step == event).unwrap_or(0);
        last(event).max(self.trace.own(event).map_or(0, last))
    }

    fn keeps_directed(&self) -> bool {
        let thread = |event: usize| self.trace.events[event].thread;
        let keeps =
            |&(e, f): &(usize, usize)| thread(e) == thread(f) || self.noticed(e) < self.noticed(f);
        self.directed.iter().all(keeps)
    }
}

/// Whether all executions in which the threads of a trace do the same and directed ties have the
/// same direction are serializable.
#[must_use]
pub fn predicted_serializable(trace: &Trace<'_>) -> bool {
    let mut all = true;
    predicted(trace, &mut |events| {
        let is_good = |execution: Paired<'_>| serializable(&execution, Conflicts::Tso);
        all = pair(events).is_ok_and(is_good);
        all
    });
    all
}
