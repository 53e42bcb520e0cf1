//! When things happen in the executions that a trace stands for: a graph of what comes before what
//! in all of them, and what it adds to that when a conflict goes one way.
//!
//! There are three notions of what a trace stands for ([`TraceMode`]), and for each such a graph:
//! - exact: the order of the trace; commits come after their writes, in their order, and before the
//!   next fence of the thread;
//! - predictive: the same with the order of each thread only, and with what the directed ties say;
//! - literal: the directed ties, without commits.
//!
//! Conflicts with directions are possible together iff the graph with what they add has no cycle.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};

use super::ties::{Tie, Trace};
use super::{TraceMode, TxnKind};

/// What comes before what.
#[derive(Clone, Debug)]
pub struct TraceOrder<'a> {
    /// The trace.
    pub trace: &'a Trace<'a>,
    /// How many nodes there are. The first are the events; commits follow.
    pub nodes: usize,
    /// What comes before what in all that the trace stands for.
    pub edges: Vec<(usize, usize)>,
    /// Directed ties of a write and a later read of its own thread's buffer (predictive only): the
    /// write is committed before the own one, or before the read.
    pub choices: Vec<(usize, usize)>,
    /// Per write its commit; other events themselves.
    commits: Vec<usize>,
}

impl<'a> TraceOrder<'a> {
    /// The graph. Its size is linear in the trace, but for the number of threads.
    #[must_use]
    pub fn new(trace: &'a Trace<'a>) -> TraceOrder<'a> {
        let n = trace.events.len();
        let mut order = TraceOrder {
            trace,
            nodes: n,
            edges: Vec::new(),
            choices: Vec::new(),
            commits: (0..n).collect(),
        };
        if trace.mode == TraceMode::Literal {
            order.edges = trace.directed();
            return order;
        }
        order.commits();
        if trace.mode.is_exact() {
            order.edges.extend((1..n).map(|at| (at - 1, at)));
            return order;
        }
        let mut last = vec![None; trace.threads];
        for (at, e) in trace.events.iter().enumerate() {
            order.edges.extend(last[e.thread as usize].replace(at).map(|before| (before, at)));
        }
        order.directed();
        order
    }

    /// Commits and what they come before and after.
    fn commits(&mut self) {
        let mut last = vec![None; self.trace.threads];
        for (at, e) in self.trace.events.iter().enumerate() {
            let last = &mut last[e.thread as usize];
            if e.kind == TxnKind::Write {
                let commit = self.nodes;
                self.nodes += 1;
                self.commits[at] = commit;
                self.edges.push((at, commit));
                self.edges.extend(last.replace(commit).map(|before| (before, commit)));
            } else if e.kind.drains() {
                self.edges.extend(last.take().map(|before| (before, at)));
            }
        }
    }

    /// What directed ties between threads say.
    fn directed(&mut self) {
        let mut known = HashSet::new();
        for (from, to) in self.trace.directed() {
            let (e, f) = (&self.trace.events[from], &self.trace.events[to]);
            if e.thread == f.thread {
                continue;
            }
            match self.trace.own(to) {
                None => self.edges.extend(self.demands(from, to)),
                Some(own) => {
                    let before_own = from < own && self.trace.tie(from, own) == Some(Tie::Directed);
                    if !before_own && known.insert((from, own)) {
                        self.choices.push((from, to));
                    }
                }
            }
        }
    }

    /// The commit of a write; any other event itself.
    #[must_use]
    pub fn commit(&self, event: usize) -> usize {
        self.commits[event]
    }

    /// What has to come before what for two events of different threads to conflict in this order.
    pub fn demands(&self, from: usize, to: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let read_from = !self.trace.writes(from);
        let own = match self.trace.mode {
            TraceMode::Literal => None,
            _ => self.trace.own(from).filter(|_| read_from),
        };
        let (before, after) = (self.commits[from], self.commits[to]);
        [Some((before, after)), own.map(|own| (self.commits[own], after))].into_iter().flatten()
    }

    /// What has to come before what for a read to find its own write overwritten by this one.
    #[must_use]
    pub fn overwrites(&self, write: usize, read: usize) -> [(usize, usize); 2] {
        let own = self.trace.own(read).unwrap_or(read);
        [(self.commits[own], self.commits[write]), (self.commits[write], read)]
    }

    /// What the two sides of a choice demand.
    #[must_use]
    pub fn choice(&self, (write, read): (usize, usize)) -> [(usize, usize); 2] {
        let own = self.trace.own(read).unwrap_or(read);
        [(self.commits[write], self.commits[own]), (self.commits[write], read)]
    }

    /// An order of all nodes that respects the graph and these edges, if there is one. Commits come
    /// as early as possible.
    #[must_use]
    pub fn sorted(&self, more: &[(usize, usize)]) -> Option<Vec<usize>> {
        let mut ranks: Vec<usize> = (0..self.nodes).map(|node| 2 * node).collect();
        for (at, &commit) in self.commits.iter().enumerate() {
            if commit != at {
                ranks[commit] = 2 * at + 1;
            }
        }
        sorted(&ranks, self.edges.iter().chain(more).copied())
    }
}

/// An order of nodes, of which there are as many as ranks, that respects the edges, if there is one.
/// Nodes of lower rank come first where nothing else decides; no two have the same.
#[must_use]
pub(super) fn sorted(
    ranks: &[usize],
    edges: impl Iterator<Item = (usize, usize)>,
) -> Option<Vec<usize>> {
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); ranks.len()];
    let mut incoming = vec![0usize; ranks.len()];
    for (from, to) in edges {
        next[from].push(to);
        incoming[to] += 1;
    }
    let first = |node: usize| Reverse((ranks[node], node));
    let free = (0..ranks.len()).filter(|&node| incoming[node] == 0).map(first);
    let mut free: BinaryHeap<Reverse<(usize, usize)>> = free.collect();
    let mut order = Vec::with_capacity(ranks.len());
    while let Some(Reverse((_, node))) = free.pop() {
        order.push(node);
        for &to in &next[node] {
            incoming[to] -= 1;
            if incoming[to] == 0 {
                free.push(first(to));
            }
        }
    }
    (order.len() == ranks.len()).then_some(order)
}

/// Whether a graph with so many nodes and these edges has a cycle.
#[must_use]
pub(super) fn is_cyclic(nodes: usize, edges: impl Iterator<Item = (usize, usize)>) -> bool {
    sorted(&(0..nodes).collect::<Vec<usize>>(), edges).is_none()
}

/// Undirected ties between transactions whose events are given, in the order of the trace, each with a direction, that are enough for all
/// cycles: `(from, to)` of events. They are given to a function, some at a time, until it returns
/// false.
///
/// If a transaction leads to another by two writes, or two reads, of a variable, the earlier one
/// demands less, and so does the later one if it is led to. So there are at most three for each two
/// transactions and variable.
pub fn each_open_tie(
    trace: &Trace<'_>,
    events: &[usize],
    each: &mut impl FnMut(&[(usize, usize)]) -> bool,
) {
    let mut ties = Vec::new();
    for accesses in accesses(trace, events) {
        for (at, one) in accesses.iter().enumerate() {
            ties.clear();
            // What comes after this is settled.
            let end = trace.drain(one.last());
            let others = accesses[at + 1..].iter().take_while(|other| other.first() < end);
            for other in others.filter(|other| other.thread != one.thread) {
                one.open(other, trace, &mut ties);
                other.open(one, trace, &mut ties);
            }
            if !each(&ties) {
                return;
            }
        }
    }
}

/// All of what [`each_open_tie`] gives.
#[must_use]
pub fn open_ties(trace: &Trace<'_>, events: &[usize]) -> Vec<(usize, usize)> {
    let mut all = Vec::new();
    each_open_tie(trace, events, &mut |ties| {
        all.extend(ties);
        true
    });
    all
}

/// How a transaction accesses a variable: the first and last write, and read.
struct Access {
    thread: u32,
    writes: Option<(usize, usize)>,
    reads: Option<(usize, usize)>,
}

impl Access {
    fn first(&self) -> usize {
        let first = |span: Option<(usize, usize)>| span.map_or(usize::MAX, |(first, _)| first);
        first(self.writes).min(first(self.reads))
    }

    fn last(&self) -> usize {
        let last = |span: Option<(usize, usize)>| span.map_or(0, |(_, last)| last);
        last(self.writes).max(last(self.reads))
    }

    /// How this one may lead to the other.
    fn open(&self, to: &Access, trace: &Trace<'_>, ties: &mut Vec<(usize, usize)>) {
        for (from, to) in
            [(self.writes, to.writes), (self.writes, to.reads), (self.reads, to.writes)]
        {
            let (Some((from, _)), Some((_, to))) = (from, to) else { continue };
            if trace.tie(from.min(to), from.max(to)) == Some(Tie::Undirected) {
                ties.push((from, to));
            }
        }
    }
}

/// Per variable the transactions that access it, by their first access.
fn accesses(trace: &Trace<'_>, events: &[usize]) -> impl Iterator<Item = Vec<Access>> + use<> {
    let mut vars: BTreeMap<u32, Vec<Access>> = BTreeMap::new();
    let mut places = HashMap::new();
    for &at in events {
        let e = &trace.events[at];
        if !e.kind.is_access() {
            continue;
        }
        let of_var = vars.entry(e.var).or_default();
        let place = *places.entry((e.var, e.txn)).or_insert_with(|| {
            of_var.push(Access { thread: e.thread, writes: None, reads: None });
            of_var.len() - 1
        });
        let access = &mut of_var[place];
        let span = if trace.writes(at) { &mut access.writes } else { &mut access.reads };
        *span = Some((span.map_or(at, |(first, _)| first), at));
    }
    vars.into_values()
}
