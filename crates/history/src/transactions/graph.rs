//! Which transactions come before which in every commit order: a graph that is only added to, its
//! sorting, and short cycles.

use weakspot_core::TxnHistory;
use weakspot_core::transactional::BEGINNING;

/// A transaction comes before another one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) why: EdgeWhy,
    /// Edges that follow from others follow from those of rounds before theirs.
    pub(super) round: u32,
}

/// Why: what is needed to find the reason again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EdgeWhy {
    Session,
    Reads(u32),
    Versions(u32, u32),
    /// This read is of `to`, and its transaction sees `from`.
    Older(u32),
    /// This read is of something that `to` overwrites.
    Overwrites(u32),
}

/// Edges between the committed transactions of a history.
pub(super) struct Graph<'a> {
    pub(super) history: &'a TxnHistory,
    pub(super) edges: Vec<Edge>,
}

/// The edges by where they start.
pub(super) struct Outgoing {
    starts: Vec<u32>,
    edges: Vec<u32>,
}

impl Outgoing {
    /// Of the edges that are wanted.
    pub(super) fn new(graph: &Graph<'_>, wanted: impl Fn(&Edge) -> bool) -> Outgoing {
        let n = graph.history.txns();
        let mut starts = vec![0u32; n + 1];
        for edge in graph.edges.iter().filter(|e| wanted(e)) {
            starts[edge.from as usize + 1] += 1;
        }
        for t in 0..n {
            starts[t + 1] += starts[t];
        }
        let mut next = starts.clone();
        let mut edges = vec![0; starts[n] as usize];
        for (i, edge) in graph.edges.iter().enumerate().filter(|(_, e)| wanted(e)) {
            let next = &mut next[edge.from as usize];
            edges[*next as usize] = i as u32;
            *next += 1;
        }
        Outgoing { starts, edges }
    }

    /// The numbers of the edges that start here.
    pub(super) fn of(&self, txn: u32) -> &[u32] {
        let txn = txn as usize;
        &self.edges[self.starts[txn] as usize..self.starts[txn + 1] as usize]
    }
}

impl<'a> Graph<'a> {
    /// With the edges of sessions and reads.
    pub(super) fn new(history: &'a TxnHistory) -> Graph<'a> {
        let mut graph = Graph { history, edges: Vec::new() };
        for session in 0..history.sessions() {
            let mut last = None;
            for txn in history.of_session(session).filter(|&t| history.committed(t)) {
                if let Some(last) = last.replace(txn) {
                    graph.add(last, txn, EdgeWhy::Session, 0);
                }
                let mut before = None;
                for op in history.of_txn(txn) {
                    let source = history.source(op).filter(|&s| s != BEGINNING);
                    // The same one again is no news.
                    if let Some(source) = source.filter(|_| source != before) {
                        graph.add(source, txn, EdgeWhy::Reads(op), 0);
                        before = Some(source);
                    }
                }
            }
        }
        graph
    }

    pub(super) fn add(&mut self, from: u32, to: u32, why: EdgeWhy, round: u32) {
        self.edges.push(Edge { from, to, why, round });
    }

    /// Adds what lists say about the order of versions: appends that nobody read are the last.
    pub(super) fn add_versions(&mut self, versions: &[Vec<u32>]) {
        let history = self.history;
        if versions.is_empty() {
            return;
        }
        let mut is_read = vec![false; history.len()];
        for list in versions {
            for &write in list {
                is_read[write as usize] = true;
            }
            for pair in list.windows(2) {
                self.add_version(pair[0], pair[1]);
            }
        }
        for txn in (0..history.txns() as u32).filter(|&t| history.committed(t)) {
            for op in history.of_txn(txn).filter(|&op| history.writes(op)) {
                let last = versions[history.var(op) as usize].last();
                if let Some(&last) = last.filter(|_| !is_read[op as usize]) {
                    self.add_version(last, op);
                }
            }
        }
    }

    fn add_version(&mut self, first: u32, second: u32) {
        let (from, to) = (self.history.txn_of(first), self.history.txn_of(second));
        if from != to {
            self.add(from, to, EdgeWhy::Versions(first, second), 0);
        }
    }

    /// The committed transactions in an order that all edges agree with, or edges that make a
    /// short cycle.
    pub(super) fn sort(&self) -> Result<Vec<u32>, Vec<Edge>> {
        let out = Outgoing::new(self, |_| true);
        let n = self.history.txns();
        let mut incoming = vec![0u32; n];
        for edge in &self.edges {
            incoming[edge.to as usize] += 1;
        }
        let committed = |t: &u32| self.history.committed(*t);
        let mut order: Vec<u32> =
            (0..n as u32).filter(committed).filter(|&t| incoming[t as usize] == 0).collect();
        let mut next = 0;
        while let Some(&txn) = order.get(next) {
            next += 1;
            for &edge in out.of(txn) {
                let to = self.edges[edge as usize].to;
                incoming[to as usize] -= 1;
                if incoming[to as usize] == 0 {
                    order.push(to);
                }
            }
        }
        let all = (0..n as u32).filter(committed).count();
        if order.len() == all { Ok(order) } else { Err(self.short_cycle(&out, &incoming)) }
    }

    /// A short cycle among what could not be sorted: breadth first from some transactions.
    fn short_cycle(&self, out: &Outgoing, incoming: &[u32]) -> Vec<Edge> {
        const ENOUGH: u64 = 1_000_000;
        let mut best: Option<Vec<Edge>> = None;
        let mut work = 0;
        let mut from = vec![(u32::MAX, u32::MAX); incoming.len()];
        for start in (0..incoming.len() as u32).filter(|&t| incoming[t as usize] > 0) {
            if best.as_ref().is_some_and(|best| best.len() == 2 || work > ENOUGH) {
                break;
            }
            let most = best.as_ref().map_or(usize::MAX, Vec::len);
            let cycle = self.cycle_through(start, out, incoming, &mut from, most, &mut work);
            if let Some(cycle) = cycle {
                best = Some(cycle);
            }
        }
        best.unwrap_or_default()
    }

    /// A cycle of fewer than `most` edges through a transaction. `from` says for each transaction
    /// who was looked from, and by which edge it was found.
    fn cycle_through(
        &self,
        start: u32,
        out: &Outgoing,
        incoming: &[u32],
        from: &mut [(u32, u32)],
        most: usize,
        work: &mut u64,
    ) -> Option<Vec<Edge>> {
        let mut level = vec![start];
        for depth in 1..most {
            let mut next = Vec::new();
            for &txn in &level {
                for &number in out.of(txn) {
                    *work += 1;
                    let to = self.edges[number as usize].to;
                    if to == start {
                        let mut cycle = vec![self.edges[number as usize]];
                        let mut at = txn;
                        while at != start {
                            let edge = self.edges[from[at as usize].1 as usize];
                            cycle.push(edge);
                            at = edge.from;
                        }
                        cycle.reverse();
                        debug_assert_eq!(cycle.len(), depth);
                        return Some(cycle);
                    }
                    if incoming[to as usize] > 0 && from[to as usize].0 != start {
                        from[to as usize] = (start, number);
                        next.push(to);
                    }
                }
            }
            if next.is_empty() {
                return None;
            }
            level = next;
        }
        None
    }

    /// The edges of a shortest path along edges that are wanted, if there is one.
    pub(super) fn path(
        &self,
        from: u32,
        to: u32,
        wanted: impl Fn(&Edge) -> bool,
    ) -> Option<Vec<Edge>> {
        let out = Outgoing::new(self, wanted);
        let mut found = vec![u32::MAX; self.history.txns()];
        let mut queue = vec![from];
        let mut next = 0;
        while let Some(&txn) = queue.get(next) {
            next += 1;
            for &number in out.of(txn) {
                let end = self.edges[number as usize].to;
                if found[end as usize] == u32::MAX && end != from {
                    found[end as usize] = number;
                    queue.push(end);
                }
            }
            if found[to as usize] != u32::MAX {
                break;
            }
        }
        let mut path = Vec::new();
        let mut at = to;
        while at != from {
            let number = found[at as usize];
            if number == u32::MAX {
                return None;
            }
            path.push(self.edges[number as usize]);
            at = self.edges[number as usize].from;
        }
        path.reverse();
        Some(path)
    }
}
