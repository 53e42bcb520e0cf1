//! An order of memory that grows by choices between writes: what engines use that complete the
//! store order.
//!
//! A choice puts a write before another one to the same variable, and with it whatever reads the
//! first before the second. Chosen orders are edges of a graph, on top of those that hold anyway,
//! and an order of all operations respects all edges (Pearce and Kelly, "A dynamic topological
//! sort algorithm for directed acyclic graphs", 2007): an edge that agrees with it costs nothing,
//! any other one a search of the operations between its ends, which finds the cycle if there is
//! one. To withdraw edges changes nothing about the order.
//!
//! When all reads see the last write before them in this order, it is a witness: choices are
//! needed only where they do not.

use std::collections::VecDeque;

use weakspot_core::{HistoryEvidence, Limit, Within};
use weakspot_sat::Lit;

use crate::gradual::chains::{Chains, walk};
use crate::gradual::saturate::Orders;
use crate::graph::explain::Explain;
use crate::graph::extra::Extra;
use crate::graph::store::Readers;
use crate::graph::walk::{Link, LinkKind};
use weakspot_sat::Meter;

mod fixed;
mod overwritten;

use fixed::{Fixed, first_order, overtaken};

/// The order, and why it is so.
pub(crate) struct Order<'a> {
    pub(crate) chains: &'a Chains<'a>,
    /// The derived edges, and those that they lack: from reads to what overwrites.
    extra: &'a Extra,
    more: Option<Extra>,
    readers: Readers,
    fixed: Fixed,
    /// The writes that a positive literal orders.
    pairs: Vec<(u32, u32)>,
    /// Per operation the variables about it.
    about: Vec<Vec<u32>>,
    /// The choices that were made, with the number of edges before each.
    chosen: Vec<(Lit, usize)>,
    is_chosen: Vec<bool>,
    edges: Vec<Edge>,
    /// Per operation the chosen edges that start and end there.
    out: Vec<Vec<u32>>,
    into: Vec<Vec<u32>>,
    /// All operations in order, and where each is.
    order: Vec<u32>,
    place: Vec<u32>,
    /// Per variable its writes in order, and per write where it is among them.
    stores: Vec<Vec<u32>>,
    rank: Vec<u32>,
    /// How much of the order was looked at, and which writes in there have to be looked at again:
    /// their reads may not see them.
    looked_at: usize,
    suspects: Vec<u32>,
    search: Search,
    work: u64,
    /// The bytes of what this is built on.
    below: u64,
}

#[derive(Clone, Copy)]
struct Edge {
    from: u32,
    to: u32,
    lit: Lit,
}

/// What was reached by which search.
struct Search {
    round: u32,
    /// Per operation the round in which it was reached, forwards and backwards.
    after: Vec<u32>,
    before: Vec<u32>,
    /// Per operation by which edge it was reached: from where, and the chosen edge if it was one.
    via: Vec<(u32, u32)>,
    forwards: Vec<u32>,
    backwards: Vec<u32>,
}

impl Search {
    /// Nothing was reached yet.
    fn next_round(&mut self) {
        if self.round == u32::MAX {
            self.after.fill(0);
            self.before.fill(0);
            self.round = 0;
        }
        self.round += 1;
    }
}

const NONE: u32 = u32::MAX;

/// The evidence that what holds anyway is cyclic.
fn cyclic(chains: &Chains<'_>, extra: &Extra) -> Result<HistoryEvidence, Limit> {
    let cycle = walk(chains, extra, |_| Ok(()))?.err().unwrap_or_default();
    Ok(Explain::strong(chains.ops, chains.ppo, extra).cycle(Within::Global, &cycle))
}

impl<'a> Order<'a> {
    /// An order that respects what holds anyway; the evidence, if there is none.
    pub(crate) fn new(
        orders: &'a Orders<'a>,
        meter: &mut Meter<'_>,
    ) -> Result<Result<Order<'a>, HistoryEvidence>, Limit> {
        let chains = &orders.chains;
        let ops = chains.ops;
        let below = orders.bytes();
        meter.room(below + 150 * ops.len() as u64 + 32 * orders.extra.len() as u64)?;
        let readers = Readers::new(ops);
        let more = overtaken(orders, &readers, meter)?;
        let extra = more.as_ref().unwrap_or(&orders.extra);
        let fixed = Fixed::new(chains, extra);
        let Some(order) = first_order(chains, &readers, &fixed) else {
            return Ok(Err(cyclic(chains, extra)?));
        };
        drop(readers);
        let order = Order::with(chains, &orders.extra, fixed, order, below);
        Ok(Ok(Order { more, ..order }))
    }

    /// The order that these guesses give; the evidence, if there is no order at all.
    pub(crate) fn guessed(
        chains: &'a Chains<'a>,
        extra: &'a Extra,
        guesses: &[u32],
        meter: &mut Meter<'_>,
    ) -> Result<Result<Order<'a>, HistoryEvidence>, Limit> {
        let below = chains.bytes() + extra.bytes();
        meter.room(below + 160 * guesses.len() as u64 + 32 * extra.len() as u64)?;
        let fixed = Fixed::new(chains, extra);
        let Some(order) = fixed.by_guesses(guesses) else { return Ok(Err(cyclic(chains, extra)?)) };
        Ok(Ok(Order::with(chains, extra, fixed, order, below)))
    }

    fn with(
        chains: &'a Chains<'a>,
        extra: &'a Extra,
        fixed: Fixed,
        order: Vec<u32>,
        below: u64,
    ) -> Order<'a> {
        let readers = Readers::new(chains.ops);
        let mut place = vec![0; order.len()];
        for (at, &op) in order.iter().enumerate() {
            place[op as usize] = at as u32;
        }
        let n = order.len();
        let mut stores = vec![Vec::new(); chains.ops.vars()];
        let mut rank = vec![0; n];
        for &op in order.iter().filter(|&&op| chains.ops.writes(op)) {
            let list: &mut Vec<u32> = &mut stores[chains.ops.var(op) as usize];
            rank[op as usize] = list.len() as u32;
            list.push(op);
        }
        let search = Search {
            round: 0,
            after: vec![0; n],
            before: vec![0; n],
            via: vec![(NONE, NONE); n],
            forwards: Vec::new(),
            backwards: Vec::new(),
        };
        Order {
            chains,
            extra,
            more: None,
            readers,
            fixed,
            pairs: Vec::new(),
            about: vec![Vec::new(); n],
            chosen: Vec::new(),
            is_chosen: Vec::new(),
            edges: Vec::new(),
            out: vec![Vec::new(); n],
            into: vec![Vec::new(); n],
            order,
            place,
            stores,
            rank,
            looked_at: 0,
            suspects: Vec::new(),
            search,
            work: 0,
            below,
        }
    }

    /// The operations in order.
    pub(crate) fn into_run(self) -> Vec<u32> {
        self.order
    }

    pub(crate) fn pairs(&self) -> &[(u32, u32)] {
        &self.pairs
    }

    /// A variable for the order of two writes to one variable.
    pub(crate) fn add_pair(&mut self, a: u32, b: u32) {
        let var = self.pairs.len() as u32;
        self.pairs.push((a, b));
        self.is_chosen.push(false);
        self.about[a as usize].push(var);
        self.about[b as usize].push(var);
    }

    /// The writes in the order that a literal gives them.
    fn ordered(&self, lit: Lit) -> (u32, u32) {
        let (a, b) = self.pairs[lit.var()];
        if lit.is_positive() { (a, b) } else { (b, a) }
    }

    /// Whether one operation comes before another for now.
    pub(crate) fn is_before(&self, a: u32, b: u32) -> bool {
        self.place[a as usize] < self.place[b as usize]
    }

    /// The place of the later one of two operations.
    pub(crate) fn later(&self, a: u32, b: u32) -> u32 {
        self.place[a as usize].max(self.place[b as usize])
    }

    /// Makes a choice, and collects other ones that it leaves no choice about. If it closes a
    /// cycle, gives the clause: the negations of the choices on the cycle.
    pub(crate) fn choose(
        &mut self,
        lit: Lit,
        mut implied: Option<&mut Vec<Lit>>,
    ) -> Result<(), Vec<Lit>> {
        let (a, b) = self.ordered(lit);
        self.chosen.push((lit, self.edges.len()));
        self.is_chosen[lit.var()] = true;
        let sources: Vec<u32> =
            std::iter::once(a).chain(self.readers.of(a as usize).filter(|&r| r != b)).collect();
        for from in sources {
            if !self.connect(from, b, implied.as_deref_mut()) {
                let mut clause = self.path(b, &[from], self.edges.len());
                clause.push(!lit);
                clause.sort_unstable();
                clause.dedup();
                return Err(clause);
            }
            let index = self.edges.len() as u32;
            self.edges.push(Edge { from, to: b, lit });
            self.out[from as usize].push(index);
            self.into[b as usize].push(index);
        }
        Ok(())
    }

    /// Withdraws all choices but the first `count`.
    pub(crate) fn retract(&mut self, count: usize) {
        while self.chosen.len() > count {
            if let Some((lit, edges)) = self.chosen.pop() {
                self.is_chosen[lit.var()] = false;
                for edge in self.edges.drain(edges..).rev() {
                    self.out[edge.from as usize].pop();
                    self.into[edge.to as usize].pop();
                }
            }
        }
    }

    /// Why the first `count` choices imply another one: the clause.
    pub(crate) fn explain(&mut self, lit: Lit, count: usize) -> Vec<Lit> {
        let (a, b) = self.ordered(lit);
        let edges = self.chosen.get(count).map_or(self.edges.len(), |&(_, edges)| edges);
        let ends: Vec<u32> =
            std::iter::once(b).chain(self.readers.of(b as usize).filter(|&r| r != a)).collect();
        let mut clause = self.path(a, &ends, edges);
        clause.sort_unstable();
        clause.dedup();
        clause.insert(0, lit);
        clause
    }

    /// Makes the order agree with a new edge; false if that closes a cycle.
    fn connect(&mut self, from: u32, to: u32, implied: Option<&mut Vec<Lit>>) -> bool {
        self.work += 1;
        let (low, high) = (self.place[to as usize], self.place[from as usize]);
        if high < low {
            return true;
        }
        let search = &mut self.search;
        search.next_round();
        search.forwards.clear();
        search.forwards.push(to);
        search.after[to as usize] = search.round;
        let mut at = 0;
        while let Some(&op) = search.forwards.get(at) {
            at += 1;
            let fixed = self.fixed.leaving(op).iter().map(|&(next, _)| next);
            let chosen = self.out[op as usize].iter().map(|&edge| self.edges[edge as usize].to);
            for next in fixed.chain(chosen) {
                if next == from {
                    return false;
                }
                self.work += 1;
                if self.place[next as usize] < high && search.after[next as usize] != search.round {
                    search.after[next as usize] = search.round;
                    search.forwards.push(next);
                }
            }
        }
        search.backwards.clear();
        search.backwards.push(from);
        search.before[from as usize] = search.round;
        let mut at = 0;
        while let Some(&op) = search.backwards.get(at) {
            at += 1;
            let fixed = self.fixed.leading_to(op).iter().copied();
            let chosen = self.into[op as usize].iter().map(|&edge| self.edges[edge as usize].from);
            for next in fixed.chain(chosen) {
                self.work += 1;
                if self.place[next as usize] > low && search.before[next as usize] != search.round {
                    search.before[next as usize] = search.round;
                    search.backwards.push(next);
                }
            }
        }
        if let Some(implied) = implied {
            self.imply(implied);
        }
        self.reorder();
        true
    }

    /// Whether a choice closes no cycle.
    pub(crate) fn is_possible(&mut self, lit: Lit) -> bool {
        let (a, b) = self.ordered(lit);
        let place = |op: u32| self.place[op as usize];
        let low = place(b);
        let reads = self.readers.of(a as usize).filter(|&r| r != b);
        let late: Vec<u32> = reads.chain([a]).filter(|&op| place(op) > low).collect();
        let Some(high) = late.iter().map(|&op| place(op)).max() else { return true };
        let search = &mut self.search;
        search.next_round();
        late.iter().for_each(|&op| search.before[op as usize] = search.round);
        search.forwards.clear();
        search.forwards.push(b);
        search.after[b as usize] = search.round;
        let mut at = 0;
        while let Some(&op) = search.forwards.get(at) {
            at += 1;
            let fixed = self.fixed.leaving(op).iter().map(|&(next, _)| next);
            let chosen = self.out[op as usize].iter().map(|&edge| self.edges[edge as usize].to);
            for next in fixed.chain(chosen) {
                self.work += 1;
                if search.before[next as usize] == search.round {
                    return false;
                }
                if self.place[next as usize] < high && search.after[next as usize] != search.round {
                    search.after[next as usize] = search.round;
                    search.forwards.push(next);
                }
            }
        }
        true
    }

    /// What was found backwards now comes before what was found forwards, in the same places.
    fn reorder(&mut self) {
        let Search { forwards, backwards, .. } = &mut self.search;
        let place = &mut self.place;
        forwards.sort_unstable_by_key(|&op| place[op as usize]);
        backwards.sort_unstable_by_key(|&op| place[op as usize]);
        let mut places: Vec<u32> =
            backwards.iter().chain(forwards.iter()).map(|&op| place[op as usize]).collect();
        places.sort_unstable();
        for (&op, at) in backwards.iter().chain(forwards.iter()).zip(places) {
            place[op as usize] = at;
            self.order[at as usize] = op;
        }
        self.look_again();
    }

    /// A write that comes before another one, or before what reads it, now that everything found
    /// backwards comes before everything found forwards.
    fn imply(&mut self, implied: &mut Vec<Lit>) {
        let Search { after, round, .. } = &self.search;
        let is_after = |op: u32| after[op as usize] == *round;
        for &a in &self.search.backwards {
            for &var in &self.about[a as usize] {
                if self.is_chosen[var as usize] {
                    continue;
                }
                self.work += 1;
                let pair = self.pairs[var as usize];
                let b = if pair.0 == a { pair.1 } else { pair.0 };
                if is_after(b) || self.readers.of(b as usize).any(|r| r != a && is_after(r)) {
                    implied.push(Lit::new(var, pair.0 == a));
                }
            }
        }
    }

    /// The negations of the choices on a path by the first `edges` chosen edges, as few as
    /// possible.
    fn path(&mut self, from: u32, ends: &[u32], edges: usize) -> Vec<Lit> {
        let last = ends.iter().map(|&end| self.place[end as usize]).max().unwrap_or(0);
        let search = &mut self.search;
        search.next_round();
        // What is in front was reached by no more chosen edges than what is behind it.
        let mut queue = VecDeque::from([(from, NONE, NONE)]);
        let mut end = from;
        while let Some((op, before, edge)) = queue.pop_front() {
            self.work += 1;
            if search.after[op as usize] == search.round {
                continue;
            }
            search.after[op as usize] = search.round;
            search.via[op as usize] = (before, edge);
            if ends.contains(&op) {
                end = op;
                break;
            }
            let is_near = |op: u32| self.place[op as usize] <= last;
            for &index in self.out[op as usize].iter().filter(|&&index| (index as usize) < edges) {
                let to = self.edges[index as usize].to;
                if is_near(to) && search.after[to as usize] != search.round {
                    queue.push_back((to, op, index));
                }
            }
            for &(to, _) in self.fixed.leaving(op) {
                if is_near(to) && search.after[to as usize] != search.round {
                    queue.push_front((to, op, NONE));
                }
            }
        }
        let mut lits = Vec::new();
        while end != from {
            let (before, edge) = search.via[end as usize];
            lits.extend(self.edges.get(edge as usize).map(|edge| !edge.lit));
            end = before;
        }
        lits
    }

    /// A cycle of these choices and what holds anyway, short if the choices are few.
    pub(crate) fn cycle(&mut self, choices: &[Lit]) -> Vec<Link> {
        self.retract(0);
        for &lit in choices {
            let (a, b) = self.ordered(lit);
            self.chosen.push((lit, self.edges.len()));
            for from in std::iter::once(a).chain(self.readers.of(a as usize).filter(|&r| r != b)) {
                let index = self.edges.len() as u32;
                self.edges.push(Edge { from, to: b, lit });
                self.out[from as usize].push(index);
                self.into[b as usize].push(index);
            }
        }
        let mut best: Option<Vec<Link>> = None;
        for &lit in choices {
            let cycle = self.cycle_through(self.ordered(lit).1);
            if best.as_ref().is_none_or(|best| cycle.len() < best.len()) && !cycle.is_empty() {
                best = Some(cycle);
            }
        }
        self.retract(0);
        best.unwrap_or_default()
    }

    /// A shortest cycle through an operation.
    fn cycle_through(&mut self, start: u32) -> Vec<Link> {
        let search = &mut self.search;
        search.next_round();
        let mut queue = VecDeque::from([start]);
        while let Some(op) = queue.pop_front() {
            self.work += 1;
            let fixed = self.fixed.leaving(op).iter().map(|&(to, _)| (to, NONE));
            let chosen = self.out[op as usize].iter();
            let chosen = chosen.map(|&index| (self.edges[index as usize].to, index));
            for (to, edge) in fixed.chain(chosen) {
                if search.after[to as usize] != search.round {
                    search.after[to as usize] = search.round;
                    search.via[to as usize] = (op, edge);
                    queue.push_back(to);
                }
            }
            if search.after[start as usize] == search.round {
                break;
            }
        }
        let search = &self.search;
        if search.after[start as usize] != search.round {
            return Vec::new();
        }
        let mut links = Vec::new();
        let mut to = start;
        loop {
            let (from, edge) = search.via[to as usize];
            let kind = match self.edges.get(edge as usize) {
                Some(edge) if self.ordered(edge.lit) == (edge.from, edge.to) => {
                    LinkKind::Chosen(edge.lit)
                }
                Some(edge) => LinkKind::Overtaken(edge.lit),
                None => self.fixed.kind(from, to),
            };
            links.push(Link { from, to, kind });
            to = from;
            if to == start {
                break;
            }
        }
        links.reverse();
        links
    }

    /// The derived edges.
    pub(crate) fn extra(&self) -> &Extra {
        self.more.as_ref().unwrap_or(self.extra)
    }

    pub(crate) fn take_work(&mut self) -> u64 {
        std::mem::take(&mut self.work)
    }

    pub(crate) fn bytes(&self) -> u64 {
        let more = self.more.as_ref().map_or(0, Extra::bytes);
        let choices = 24 * (self.edges.len() + self.pairs.len()) as u64;
        self.below + 130 * self.order.len() as u64 + self.fixed.bytes() + more + choices
    }
}
