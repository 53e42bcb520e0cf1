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

use weakspot_core::{HistoryEvidence, INITIAL, Limit, OpKind, Within};

use crate::chains::{Chains, walk};
use crate::explain::Explain;
use crate::extra::Extra;
use crate::meter::Meter;
use crate::sat::Lit;
use crate::saturate::Orders;
use crate::store::Readers;
use crate::walk::{Link, LinkKind};

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
    search: Search,
    work: u64,
}

/// The edges that hold anyway, by where they start and by where they end.
struct Fixed {
    out_starts: Vec<u32>,
    out: Vec<(u32, LinkKind)>,
    in_starts: Vec<u32>,
    into: Vec<u32>,
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

const NONE: u32 = u32::MAX;

impl<'a> Order<'a> {
    /// An order that respects what holds anyway; the evidence, if there is none.
    pub(crate) fn new(
        orders: &'a Orders<'a>,
        meter: &mut Meter<'_>,
    ) -> Result<Result<Order<'a>, HistoryEvidence>, Limit> {
        let chains = &orders.chains;
        let ops = chains.ops;
        meter.room(150 * ops.len() as u64 + 32 * orders.extra.len() as u64)?;
        let readers = Readers::new(ops);
        let more = overtaken(orders, &readers, meter)?;
        let extra = more.as_ref().unwrap_or(&orders.extra);
        let fixed = Fixed::new(chains, extra);
        let Some(order) = first_order(chains, &readers, &fixed) else {
            let cycle = match walk(chains, extra, |_| Ok(()))? {
                Err(cycle) => cycle,
                Ok(()) => Vec::new(),
            };
            let explain = Explain::strong(ops, chains.ppo, extra);
            return Ok(Err(explain.cycle(Within::Global, &cycle)));
        };
        let mut place = vec![0; order.len()];
        for (at, &op) in order.iter().enumerate() {
            place[op as usize] = at as u32;
        }
        let n = ops.len();
        let search = Search {
            round: 0,
            after: vec![0; n],
            before: vec![0; n],
            via: vec![(NONE, NONE); n],
            forwards: Vec::new(),
            backwards: Vec::new(),
        };
        Ok(Ok(Order {
            chains,
            extra: &orders.extra,
            more,
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
            search,
            work: 0,
        }))
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
        search.round += 1;
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
        // Reached by fewer chosen edges than what is behind it in the queue.
        search.round += 1;
        search.via[from as usize] = (NONE, NONE);
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

    /// Pairs of writes that the order must not keep as it is: one that is read, and one between it
    /// and the read; and whether the second is nearer to the first. At most `most` for each.
    pub(crate) fn violations(&mut self, most: usize) -> Vec<(u32, u32, bool)> {
        let ops = self.chains.ops;
        let mut found = Vec::new();
        let mut next_write = vec![NONE; ops.len()];
        let mut next_of = vec![NONE; ops.vars()];
        self.work += ops.len() as u64;
        for &op in self.order.iter().rev().filter(|&&op| ops.writes(op)) {
            let next = &mut next_of[ops.var(op) as usize];
            next_write[op as usize] = std::mem::replace(next, op);
            let reads = self.readers.of(op as usize).map(|r| self.place[r as usize]);
            let last = reads.max().unwrap_or(0);
            let mut next = next_write[op as usize];
            for _ in 0..most {
                let Some(&at) = self.place.get(next as usize).filter(|&&at| at < last) else {
                    break;
                };
                let nearer = at - self.place[op as usize] < last - at;
                found.push((op, next, nearer));
                next = next_write[next as usize];
            }
        }
        found
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
        search.round += 1;
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
        let n = self.order.len();
        let fixed = self.fixed.into.len() * 16;
        let more = self.more.as_ref().map_or(0, Extra::bytes);
        (n * 130 + fixed + self.edges.len() * 24 + self.pairs.len() * 24) as u64 + more
    }
}

/// Derived edges from reads to what overwrites, as far as saturation was not asked to find them.
fn overtaken(
    orders: &Orders<'_>,
    readers: &Readers,
    meter: &mut Meter<'_>,
) -> Result<Option<Extra>, Limit> {
    let ops = orders.chains.ops;
    let mut found = Vec::new();
    for var in 0..ops.vars() as u32 {
        let mut writes: Vec<Vec<u32>> = vec![Vec::new(); ops.threads()];
        orders.writes_to(var).for_each(|w| writes[orders.chains.thread(w)].push(w));
        writes.retain(|writes| !writes.is_empty());
        for &w in writes.iter().flatten() {
            meter.work(writes.len() as u64, || 12 * found.len() as u64)?;
            for others in &writes {
                // What is before in a thread comes first there.
                let count = others.partition_point(|&a| a != w && orders.has_before(a, w));
                let Some(&last) = others[..count].last() else { continue };
                let late = |&r: &u32| r != w && !orders.has_before(r, w);
                found.extend(readers.of(last as usize).filter(late).map(|r| (r, w)));
            }
        }
    }
    if found.is_empty() {
        return Ok(None);
    }
    let mut extra = Extra::new(ops.len());
    extra.append(&orders.extra);
    for (r, w) in found {
        extra.push(r, w, r);
    }
    Ok(Some(extra))
}

impl Fixed {
    fn new(chains: &Chains<'_>, extra: &Extra) -> Fixed {
        let ops = chains.ops;
        let mut edges: Vec<(u32, u32, LinkKind)> = Vec::new();
        // Per chain of writes its last one since the thread's last barrier.
        let mut open = vec![NONE; chains.len()];
        let mut opened: Vec<usize> = Vec::new();
        for thread in 0..ops.threads() {
            for op in ops.of_thread(thread) {
                let next = chains.next(op);
                if next != NONE {
                    edges.push((op, next, LinkKind::Po));
                }
                if let Some(w) = chains.reads_from(op) {
                    edges.push((w, op, LinkKind::Rf));
                }
                if !chains.ppo.is_relaxed() {
                    continue;
                }
                match ops.kind(op) {
                    OpKind::Read => {}
                    OpKind::Write => {
                        let before = chains.main_before(op);
                        edges.extend(before.map(|before| (before, op, LinkKind::Po)));
                        open[chains.of(op)] = op;
                        opened.push(chains.of(op));
                    }
                    OpKind::Update | OpKind::Fence => {
                        for chain in opened.drain(..) {
                            let w = std::mem::replace(&mut open[chain], NONE);
                            edges.extend((w != NONE).then_some((w, op, LinkKind::Po)));
                        }
                    }
                }
            }
            opened.drain(..).for_each(|chain| open[chain] = NONE);
        }
        for (index, edge) in extra.iter().enumerate() {
            edges.push((edge.from, edge.to, LinkKind::Extra(index as u32)));
        }
        let (out_starts, out) = by(ops.len(), &edges, |&(from, to, kind)| (from, (to, kind)));
        let (in_starts, into) = by(ops.len(), &edges, |&(from, to, _)| (to, from));
        Fixed { out_starts, out, in_starts, into }
    }

    fn leaving(&self, op: u32) -> &[(u32, LinkKind)] {
        let op = op as usize;
        &self.out[self.out_starts[op] as usize..self.out_starts[op + 1] as usize]
    }

    fn leading_to(&self, op: u32) -> &[u32] {
        let op = op as usize;
        &self.into[self.in_starts[op] as usize..self.in_starts[op + 1] as usize]
    }

    fn kind(&self, from: u32, to: u32) -> LinkKind {
        let found = self.leaving(from).iter().find(|&&(next, _)| next == to);
        found.map_or(LinkKind::Po, |&(_, kind)| kind)
    }
}

/// Lists edges by one of their ends.
fn by<T: Copy>(
    count: usize,
    edges: &[(u32, u32, LinkKind)],
    key: impl Fn(&(u32, u32, LinkKind)) -> (u32, T),
) -> (Vec<u32>, Vec<T>) {
    let mut starts = vec![0; count + 1];
    let Some(first) = edges.first() else { return (starts, Vec::new()) };
    edges.iter().for_each(|edge| starts[key(edge).0 as usize + 1] += 1);
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    let mut next = starts.clone();
    let mut list = vec![key(first).1; edges.len()];
    for edge in edges {
        let (at, value) = key(edge);
        list[next[at as usize] as usize] = value;
        next[at as usize] += 1;
    }
    (starts, list)
}

/// Everything in an order that respects the fixed edges, if there is one. Reads come as early as
/// possible, and writes, as far as possible, after the reads of what they overwrite.
fn first_order(chains: &Chains<'_>, readers: &Readers, fixed: &Fixed) -> Option<Vec<u32>> {
    let ops = chains.ops;
    let n = ops.len();
    let mut missing: Vec<u32> = (0..n).map(|op| fixed.leading_to(op as u32).len() as u32).collect();
    // Per variable the last write, and how many reads of it are still to come.
    let mut current = vec![INITIAL; ops.vars()];
    let mut awaited: Vec<u32> =
        (0..ops.vars()).map(|var| readers.of(n + var).count() as u32).collect();
    let is_counted = |r: u32| {
        let w = ops.from(r).map_or(n + ops.var(r) as usize, |w| w as usize);
        readers.of(w).any(|reader| reader == r)
    };
    let mut order = Vec::with_capacity(n);
    // Operations that can come next; writes that had better wait, per variable; and all of these.
    let mut ready: Vec<u32> = (0..n as u32).rev().filter(|&op| missing[op as usize] == 0).collect();
    let mut late: Vec<Vec<u32>> = vec![Vec::new(); ops.vars()];
    let mut all_late: Vec<u32> = Vec::new();
    let (mut done, mut listed) = (vec![false; n], vec![false; n]);
    loop {
        let (op, forced) = match ready.pop() {
            Some(op) => (op, false),
            None => match all_late.pop() {
                Some(op) => (op, true),
                None => break,
            },
        };
        if done[op as usize] {
            continue;
        }
        let kind = ops.kind(op);
        let var = ops.var(op) as usize;
        let reads_now = ops.reads(op) && ops.from(op).unwrap_or(INITIAL) == current[var];
        if ops.writes(op) && !forced && awaited[var] > u32::from(reads_now) {
            late[var].push(op);
            if !std::mem::replace(&mut listed[op as usize], true) {
                all_late.push(op);
            }
            continue;
        }
        done[op as usize] = true;
        order.push(op);
        if kind != OpKind::Fence {
            if reads_now && is_counted(op) {
                awaited[var] = awaited[var].saturating_sub(1);
            }
            if ops.writes(op) {
                current[var] = op;
                let to_come = readers.of(op as usize).filter(|&r| !done[r as usize]);
                awaited[var] = to_come.count() as u32;
            }
            if awaited[var] <= 1 {
                ready.append(&mut late[var]);
            }
        }
        for &(to, _) in fixed.leaving(op) {
            missing[to as usize] -= 1;
            if missing[to as usize] == 0 {
                ready.push(to);
            }
        }
    }
    (order.len() == n).then_some(order)
}
