//! Executions of TSO and their conflict graphs.

mod conflict;

use std::collections::{BTreeMap, VecDeque};

pub use conflict::{Conflicts, conflict};

use super::{BufferedReads, TxnEvent, TxnKind};

/// An execution, with each write paired with its commit.
#[derive(Clone, Debug)]
pub struct Paired<'a> {
    /// The events.
    pub events: &'a [TxnEvent],
    /// Per write its commit, per commit its write; for other events themselves.
    pairs: Vec<usize>,
}

impl Paired<'_> {
    /// The commit of a write.
    #[must_use]
    pub fn commit_of(&self, write: usize) -> Option<usize> {
        (self.events[write].kind == TxnKind::Write).then(|| self.pairs[write])
    }

    /// The write that a commit belongs to; any other event itself.
    #[must_use]
    pub fn issue_of(&self, event: usize) -> usize {
        match self.events[event].kind {
            TxnKind::Commit => self.pairs[event],
            _ => event,
        }
    }
}

/// Why a sequence of events is no execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadExecution {
    /// This commit is not of the oldest store in the buffer: variable or transaction differ, or
    /// the buffer is empty.
    Commit(usize),
    /// This fence or update happens while stores are in the buffer.
    NotEmpty(usize),
    /// This write is never committed.
    Pending(usize),
}

/// Pairs writes with their commits, if the events are a complete execution of TSO.
pub fn pair(events: &[TxnEvent]) -> Result<Paired<'_>, BadExecution> {
    let mut pairs: Vec<usize> = (0..events.len()).collect();
    let mut buffers: BTreeMap<u32, VecDeque<usize>> = BTreeMap::new();
    for (at, event) in events.iter().enumerate() {
        let buffer = buffers.entry(event.thread).or_default();
        match event.kind {
            TxnKind::Read => {}
            TxnKind::Write => buffer.push_back(at),
            TxnKind::Update | TxnKind::Fence if buffer.is_empty() => {}
            TxnKind::Update | TxnKind::Fence => return Err(BadExecution::NotEmpty(at)),
            TxnKind::Commit => {
                let fits = |w: &usize| (events[*w].var, events[*w].txn) == (event.var, event.txn);
                let w = buffer.pop_front().filter(fits).ok_or(BadExecution::Commit(at))?;
                (pairs[w], pairs[at]) = (at, w);
            }
        }
    }
    let pending = buffers.values().filter_map(|buffer| buffer.front()).min();
    match pending {
        Some(&w) => Err(BadExecution::Pending(w)),
        None => Ok(Paired { events, pairs }),
    }
}

/// An execution of SC, which has no commits. Only [`Conflicts::Sc`] makes sense on it.
#[must_use]
pub fn without_commits(events: &[TxnEvent]) -> Paired<'_> {
    Paired { events, pairs: (0..events.len()).collect() }
}

/// The last write of a read's thread to its variable before it.
#[must_use]
pub fn own_write(events: &[TxnEvent], read: usize) -> Option<usize> {
    let r = &events[read];
    events[..read].iter().rposition(|e| {
        e.thread == r.thread && e.var == r.var && matches!(e.kind, TxnKind::Write | TxnKind::Update)
    })
}

/// Whether a read counts as one of the buffer: the thread wrote the variable, with no fence or update
/// of it in between, and if the reading is exact, no other thread's value is in memory instead.
#[must_use]
pub fn is_buffered(execution: &Paired<'_>, reads: BufferedReads, read: usize) -> bool {
    let (events, thread) = (execution.events, execution.events[read].thread);
    let Some(own) = own_write(events, read) else { return false };
    if events[own..read].iter().any(|e| e.thread == thread && e.kind.drains()) {
        return false;
    }
    match (reads, execution.commit_of(own)) {
        (BufferedReads::Exact, Some(commit)) if commit < read => {
            let overwrites = |e: &TxnEvent| {
                e.thread != thread
                    && e.var == events[read].var
                    && matches!(e.kind, TxnKind::Commit | TxnKind::Update)
            };
            !events[commit..read].iter().any(overwrites)
        }
        _ => true,
    }
}

/// The conflict graph has transactions for nodes and an edge for each two events of different ones
/// that conflict. A cycle of it, as such pairs of events: the second of each pair and the first of
/// the next belong to one transaction.
#[must_use]
pub fn conflict_cycle(execution: &Paired<'_>, relation: Conflicts) -> Option<Vec<(usize, usize)>> {
    conflict_cycle_before(execution, relation, execution.events.len())
}

/// The same among the first `count` events.
#[must_use]
pub(crate) fn conflict_cycle_before(
    execution: &Paired<'_>,
    relation: Conflicts,
    count: usize,
) -> Option<Vec<(usize, usize)>> {
    let txn = |event: usize| execution.events[event].txn;
    cycle(execution, relation, &txn, count)
}

/// Whether an execution is serializable: its conflict graph has no cycle.
#[must_use]
pub fn serializable(execution: &Paired<'_>, relation: Conflicts) -> bool {
    conflict_cycle(execution, relation).is_none()
}

/// Whether an execution of TSO is one of SC but for the order of events that do not conflict: there
/// is no cycle if each write and its commit are one node.
#[must_use]
pub fn sc_equivalent(execution: &Paired<'_>) -> bool {
    let node = |event: usize| execution.issue_of(event) as u32;
    cycle(execution, Conflicts::TsoPo, &node, execution.events.len()).is_none()
}

/// An order of the transactions that respects all conflicts.
#[must_use]
pub fn serial_order(execution: &Paired<'_>, relation: Conflicts) -> Option<Vec<u32>> {
    let mut left: Vec<u32> = execution.events.iter().map(|e| e.txn).collect();
    left.sort_unstable();
    left.dedup();
    let txn = |event: usize| execution.events[event].txn;
    let edges = edges(execution, relation, &txn, execution.events.len());
    let mut order = Vec::new();
    while !left.is_empty() {
        let free = |txn: &u32| {
            !edges.keys().any(|(from, to)| to == txn && from != txn && left.contains(from))
        };
        let at = left.iter().position(free)?;
        order.push(left.remove(at));
    }
    Some(order)
}

/// The edges of the quotient between the first `count` events, each with two events that make it.
fn edges(
    execution: &Paired<'_>,
    relation: Conflicts,
    node: &dyn Fn(usize) -> u32,
    count: usize,
) -> BTreeMap<(u32, u32), (usize, usize)> {
    let mut edges = BTreeMap::new();
    for second in 0..count {
        for first in 0..second {
            if node(first) != node(second) && conflict(execution, relation, first, second) {
                edges.entry((node(first), node(second))).or_insert((first, second));
            }
        }
    }
    edges
}

/// A shortest cycle of the quotient.
fn cycle(
    execution: &Paired<'_>,
    relation: Conflicts,
    node: &dyn Fn(usize) -> u32,
    count: usize,
) -> Option<Vec<(usize, usize)>> {
    let edges = edges(execution, relation, node, count);
    let mut best: Option<Vec<(usize, usize)>> = None;
    let mut starts: Vec<u32> = edges.keys().map(|&(start, _)| start).collect();
    starts.dedup();
    for start in starts {
        // Breadth-first, with the edge by which each node was reached.
        let mut reached: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
        let mut queue = VecDeque::from([start]);
        while let Some(at) = queue.pop_front() {
            for &(from, to) in edges.range((at, 0)..=(at, u32::MAX)).map(|(edge, _)| edge) {
                reached.entry(to).or_insert_with(|| {
                    queue.push_back(to);
                    (from, to)
                });
            }
        }
        let mut path = Vec::new();
        let mut at = start;
        while let Some(&edge) = reached.get(&at) {
            path.push(edges[&edge]);
            at = edge.0;
            if at == start {
                path.reverse();
                if best.as_ref().is_none_or(|best| path.len() < best.len()) {
                    best = Some(path);
                }
                break;
            }
        }
    }
    best
}
