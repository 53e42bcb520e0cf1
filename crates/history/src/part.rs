//! A part of a history: some of its operations, with program order and reads-from among them.
//! Leaving operations out takes edges away from every relation and adds none, as long as no read
//! stays without the write that it reads. So what contradicts a model in a part does so in the
//! whole, by the same evidence.

use weakspot_core::{HistoryCycle, HistoryEdge, HistoryEvidence, Ops, Rule, initial_write_var};

/// Some operations of a history, as a history of their own.
pub(crate) struct Part {
    pub(crate) ops: Ops,
    /// Per operation its number in the whole.
    whole: Vec<u32>,
}

impl Part {
    /// The part with these operations, and with the writes that they read.
    pub(crate) fn new(ops: &Ops, some: impl IntoIterator<Item = u32>) -> Part {
        let mut keep: Vec<u32> = some.into_iter().collect();
        keep.sort_unstable();
        keep.dedup();
        // A source may be an update, which reads something itself.
        let mut new = keep.clone();
        while !new.is_empty() {
            new = new.iter().filter_map(|&op| ops.from(op)).collect();
            new.sort_unstable();
            new.dedup();
            new.retain(|op| keep.binary_search(op).is_err());
            keep.extend(&new);
            keep.sort_unstable();
        }
        let mut part = Ops::new();
        let mut rest = keep.iter().copied().peekable();
        for thread in 0..ops.threads() {
            part.thread();
            while let Some(op) = rest.next_if(|&op| op < ops.of_thread(thread).end) {
                let from = ops.from(op).and_then(|w| keep.binary_search(&w).ok());
                part.push(
                    ops.kind(op),
                    ops.var(op),
                    from.map_or(weakspot_core::INITIAL, |w| w as u32),
                );
            }
        }
        Part { ops: part, whole: keep }
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
            Some(_) => node,
            None => self.whole[node as usize],
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
