//! A part of a history: some of its operations, with program order and reads-from among them.
//! Leaving operations out takes edges away from every relation and adds none, as long as no read
//! stays without the write that it reads. So what contradicts a model in a part does so in the
//! whole, by the same evidence.

use std::collections::HashSet;

use weakspot_core::{
    History, HistoryCycle, HistoryEdge, HistoryEvidence, INITIAL, OpKind, Rule, initial_write,
    initial_write_var,
};

/// Some operations of a history, as a history of their own.
pub(crate) struct Part {
    /// The operations by their numbers in the whole.
    pub(crate) kept: Vec<u32>,
    /// Operations, threads and variables are numbered anew.
    pub(crate) ops: History,
    /// Per thread, and per variable, its number in the whole.
    pub(crate) threads: Vec<usize>,
    pub(crate) vars: Vec<u32>,
}

/// These operations with those that they read, and so on, in rising order.
pub(crate) fn closed<Sources: IntoIterator<Item = u32>>(
    mut todo: Vec<u32>,
    sources: impl Fn(u32) -> Sources,
) -> Vec<u32> {
    let mut all: HashSet<u32> = HashSet::new();
    while let Some(op) = todo.pop() {
        if all.insert(op) {
            todo.extend(sources(op));
        }
    }
    let mut all: Vec<u32> = all.into_iter().collect();
    all.sort_unstable();
    all
}

/// The operations that the evidence of a contradiction speaks of.
pub(crate) fn mentioned(evidence: &HistoryEvidence) -> Vec<u32> {
    let cycles = match evidence {
        HistoryEvidence::Cycle(cycle) => std::slice::from_ref(cycle),
        HistoryEvidence::Refuted { conflicts, .. } => conflicts,
        _ => &[],
    };
    let mut some = Vec::new();
    for cycle in cycles {
        for derivation in &cycle.derivations {
            some.extend(derivation.path.iter().flat_map(|edge| [edge.from, edge.to]));
            if let Rule::Overtaken { read } = derivation.rule {
                some.push(read);
            }
        }
        some.extend(cycle.edges.iter().flat_map(|edge| [edge.from, edge.to]));
    }
    some.retain(|&node| initial_write_var(node).is_none());
    some
}

impl Part {
    /// The part with these operations. They are in rising order, and [`closed`].
    pub(crate) fn new(ops: &History, kept: Vec<u32>) -> Part {
        let accessed = kept.iter().filter(|&&op| ops.kind(op) != OpKind::Fence);
        let mut vars: Vec<u32> = accessed.map(|&op| ops.var(op)).collect();
        vars.sort_unstable();
        vars.dedup();
        let mut threads = Vec::new();
        let mut part = History::new();
        for &op in &kept {
            let thread = ops.thread_of(op);
            if threads.last() != Some(&thread) {
                threads.push(thread);
                part.thread();
            }
            let from = ops.from(op).and_then(|w| kept.binary_search(&w).ok());
            let var = vars.binary_search(&ops.var(op)).unwrap_or(0);
            part.push(ops.kind(op), var as u32, from.map_or(INITIAL, |w| w as u32));
        }
        part.set_times(kept.iter().map(|&op| ops.times(op)).collect());
        Part { kept, ops: part, threads, vars }
    }

    /// The evidence of a contradiction in terms of the whole; runs stay as they are.
    pub(crate) fn evidence(&self, evidence: HistoryEvidence) -> HistoryEvidence {
        match evidence {
            HistoryEvidence::Cycle(cycle) => HistoryEvidence::Cycle(self.cycle(cycle)),
            HistoryEvidence::Refuted { mut pairs, conflicts, proof } => {
                for (a, b) in &mut pairs {
                    (*a, *b) = (self.node(*a), self.node(*b));
                }
                let conflicts = conflicts.into_iter().map(|cycle| self.cycle(cycle)).collect();
                HistoryEvidence::Refuted { pairs, conflicts, proof }
            }
            other => other,
        }
    }

    fn node(&self, node: u32) -> u32 {
        match initial_write_var(node) {
            Some(var) => initial_write(self.vars[var as usize]),
            None => self.kept[node as usize],
        }
    }

    fn cycle(&self, mut cycle: HistoryCycle) -> HistoryCycle {
        for derivation in &mut cycle.derivations {
            if let Rule::Overtaken { read } = &mut derivation.rule {
                *read = self.node(*read);
            }
            self.edges(&mut derivation.path);
        }
        self.edges(&mut cycle.edges);
        cycle
    }

    fn edges(&self, edges: &mut [HistoryEdge]) {
        for edge in edges {
            (edge.from, edge.to) = (self.node(edge.from), self.node(edge.to));
        }
    }
}
