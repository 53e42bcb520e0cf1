//! Which transactions come before which in every commit order: a graph that is only added to, its
//! sorting, and short cycles.

use std::collections::HashMap;

use weakspot_core::transactional::BEGINNING;
use weakspot_core::{Limit, TxnHistory};

use super::Meter;

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
    pub(super) fn sort(&self, meter: &mut Meter<'_>) -> Result<Result<Vec<u32>, Vec<Edge>>, Limit> {
        let out = Outgoing::new(self, |_| true);
        let (order, incoming) = self.sorted(&out, meter)?;
        let all = (0..self.history.txns() as u32).filter(|&t| self.history.committed(t)).count();
        if order.len() == all {
            return Ok(Ok(order));
        }
        self.short_cycle(&out, &incoming, meter).map(Err)
    }

    /// The same without the cycle.
    pub(super) fn order(&self, meter: &mut Meter<'_>) -> Result<Option<Vec<u32>>, Limit> {
        let (order, _) = self.sorted(&Outgoing::new(self, |_| true), meter)?;
        let all = (0..self.history.txns() as u32).filter(|&t| self.history.committed(t)).count();
        Ok((order.len() == all).then_some(order))
    }

    /// Those before which nothing on a cycle comes, in order; and for each transaction how many
    /// edges lead to it from the others.
    fn sorted(&self, out: &Outgoing, meter: &mut Meter<'_>) -> Result<(Vec<u32>, Vec<u32>), Limit> {
        let n = self.history.txns();
        let mut incoming = vec![0u32; n];
        for edge in &self.edges {
            incoming[edge.to as usize] += 1;
        }
        let mut order: Vec<u32> = (0..n as u32)
            .filter(|&t| self.history.committed(t) && incoming[t as usize] == 0)
            .collect();
        let mut next = 0;
        while let Some(&txn) = order.get(next) {
            next += 1;
            let edges = out.of(txn);
            meter.step(1 + edges.len() as u64)?;
            for &edge in edges {
                let to = self.edges[edge as usize].to;
                incoming[to as usize] -= 1;
                if incoming[to as usize] == 0 {
                    order.push(to);
                }
            }
        }
        Ok((order, incoming))
    }

    /// A short cycle among what could not be sorted. Looks breadth first from one transaction after
    /// the other, those of small components first, until it has looked at enough edges.
    fn short_cycle(
        &self,
        out: &Outgoing,
        incoming: &[u32],
        meter: &mut Meter<'_>,
    ) -> Result<Vec<Edge>, Limit> {
        const ENOUGH: u64 = 1_000_000;
        let mut components = Components::new(self, out, incoming, meter)?;
        components.cyclic.sort_by_key(Vec::len);
        let mut best: Vec<Edge> = Vec::new();
        let mut from = vec![(u32::MAX, u32::MAX); incoming.len()];
        let until = meter.work + ENOUGH;
        for &start in components.cyclic.iter().flatten() {
            if best.len() == 2 || !best.is_empty() && meter.work > until {
                break;
            }
            match self.cycle_through(start, out, &components.of, &mut from, best.len(), meter) {
                Ok(found) => best = found.unwrap_or(best),
                // One that is longer than it could be is one.
                Err(_) if !best.is_empty() => break,
                Err(limit) => return Err(limit),
            }
        }
        Ok(best)
    }

    /// A cycle through a transaction within its component, of fewer than `most` edges unless that
    /// is 0. `from` says for each transaction who was looked from, and by which edge it was found.
    fn cycle_through(
        &self,
        start: u32,
        out: &Outgoing,
        component: &[u32],
        from: &mut [(u32, u32)],
        most: usize,
        meter: &mut Meter<'_>,
    ) -> Result<Option<Vec<Edge>>, Limit> {
        let mut level = vec![start];
        let mut length = 1;
        while !level.is_empty() && (most == 0 || length < most) {
            let mut next = Vec::new();
            for &txn in &level {
                meter.step(1 + out.of(txn).len() as u64)?;
                for &number in out.of(txn) {
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
                        assert_eq!(cycle.len(), length);
                        return Ok(Some(cycle));
                    }
                    let is_inside = component[to as usize] == component[start as usize];
                    if is_inside && from[to as usize].0 != start {
                        from[to as usize] = (start, number);
                        next.push(to);
                    }
                }
            }
            length += 1;
            level = next;
        }
        Ok(None)
    }

    /// The edges of a shortest path along edges that are wanted, if there is one.
    pub(super) fn path(
        &self,
        out: &Outgoing,
        from: u32,
        to: u32,
        wanted: impl Fn(&Edge) -> bool,
        meter: &mut Meter<'_>,
    ) -> Result<Option<Vec<Edge>>, Limit> {
        let mut found: HashMap<u32, u32> = HashMap::new();
        let mut queue = vec![from];
        let mut next = 0;
        while let Some(&txn) = queue.get(next).filter(|_| !found.contains_key(&to)) {
            next += 1;
            meter.step(1 + out.of(txn).len() as u64)?;
            for &number in out.of(txn) {
                let edge = &self.edges[number as usize];
                if edge.to != from && wanted(edge) && !found.contains_key(&edge.to) {
                    found.insert(edge.to, number);
                    queue.push(edge.to);
                }
            }
        }
        let mut path = Vec::new();
        let mut at = to;
        while at != from {
            let Some(&number) = found.get(&at) else { return Ok(None) };
            path.push(self.edges[number as usize]);
            at = self.edges[number as usize].from;
        }
        path.reverse();
        Ok(Some(path))
    }
}

/// Transactions from each of which every other one of the same component can be reached.
struct Components {
    /// The component of each transaction that was looked at.
    of: Vec<u32>,
    /// Those of more than one transaction.
    cyclic: Vec<Vec<u32>>,
}

impl Components {
    /// Of the transactions to which edges lead from others that were not sorted (Tarjan's
    /// algorithm, without recursion).
    fn new(
        graph: &Graph<'_>,
        out: &Outgoing,
        incoming: &[u32],
        meter: &mut Meter<'_>,
    ) -> Result<Components, Limit> {
        const NONE: u32 = u32::MAX;
        let n = incoming.len();
        let mut components = Components { of: vec![NONE; n], cyclic: Vec::new() };
        let mut count = 0;
        // When a transaction was found, and the first one that was found of those it leads to.
        let mut found = vec![NONE; n];
        let mut lowest = vec![NONE; n];
        let mut time = 0;
        let mut open: Vec<u32> = Vec::new();
        // Where the search is: a transaction, and which of its edges is the next one.
        let mut path: Vec<(u32, usize)> = Vec::new();
        for start in (0..n as u32).filter(|&t| incoming[t as usize] > 0) {
            if found[start as usize] == NONE {
                path.push((start, 0));
            }
            while let Some((txn, next)) = path.last_mut() {
                let at = *txn as usize;
                if found[at] == NONE {
                    found[at] = time;
                    lowest[at] = time;
                    time += 1;
                    open.push(*txn);
                }
                meter.step(1)?;
                if let Some(&number) = out.of(*txn).get(*next) {
                    *next += 1;
                    let to = graph.edges[number as usize].to;
                    if found[to as usize] == NONE {
                        path.push((to, 0));
                    } else if components.of[to as usize] == NONE {
                        lowest[at] = lowest[at].min(found[to as usize]);
                    }
                    continue;
                }
                let first = *txn;
                path.pop();
                if let Some(&(before, _)) = path.last() {
                    lowest[before as usize] = lowest[before as usize].min(lowest[at]);
                }
                if lowest[at] == found[at] {
                    let begin = open.iter().rposition(|&t| t == first).unwrap_or(0);
                    let members = open.split_off(begin);
                    for &member in &members {
                        components.of[member as usize] = count;
                    }
                    count += 1;
                    if members.len() > 1 {
                        components.cyclic.push(members);
                    }
                }
            }
        }
        Ok(components)
    }
}
