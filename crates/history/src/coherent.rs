//! Is a history coherent, that is, sequentially consistent for each variable by itself?
//!
//! With known writes that is easy. A write and the reads of it stand together in every order of the
//! operations on a variable: the write, then its reads, then the next write. An update stands
//! directly behind the reads of the write that it reads, so that a write, the update of it, the
//! update of that, and so on are one *block* with an order of its own. A history is coherent exactly
//! if no write has two updates, no thread goes back within a block, and the program order between
//! different blocks of a variable, of which the one of the initial value is the first, has no cycle.
//!
//! Time and memory are linear, but for the sorting of blocks by variable.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use weakspot_core::{
    Derivation, History, HistoryCycle, HistoryEdge, HistoryEvidence, HistoryModel, Limit, OpKind,
    Rule, Verdict, Why, Within, initial_write, initial_write_var,
};
use weakspot_sat::Meter;

use crate::answer::{Answer, DecidedBy};
use crate::gradual::linear::linear;

/// No operation, block or pair. It has the number of an initial write, and is never compared with
/// one.
pub(crate) const NONE: u32 = u32::MAX;

/// From how many blocks of a cycle a shorter one is looked for, and how many operations are looked at for that, per
/// operation of the variable.
const STARTS: usize = 256;
const FOLLOWED: usize = 16;

/// Whether the history is coherent.
pub(crate) fn coherent(ops: &History, meter: &mut Meter<'_>) -> Answer {
    let (verdict, evidence) = match decide(ops, meter) {
        Ok(Ok(order)) => (Verdict::Holds, Some(linear(ops, HistoryModel::Sc, order))),
        Ok(Err(cycle)) => (Verdict::Violated, Some(HistoryEvidence::Cycle(cycle))),
        Err(limit) => (Verdict::Unknown(limit), None),
    };
    Answer { verdict, evidence: evidence.map(Arc::new), decided_by: DecidedBy::Location }
}

/// The operations, variable by variable, in an order that explains them, or why there is none.
fn decide(ops: &History, meter: &mut Meter<'_>) -> Result<Result<Vec<u32>, HistoryCycle>, Limit> {
    let memory = 40 * ops.len() as u64;
    meter.work(ops.len() as u64, || memory)?;
    let blocks = match Blocks::new(ops, Within::Local) {
        Ok(blocks) => blocks,
        Err(cycle) => return Ok(Err(cycle)),
    };
    meter.work(ops.len() as u64, || memory)?;
    let between = match Between::new(&blocks) {
        Ok(between) => between,
        Err(cycle) => return Ok(Err(cycle)),
    };
    meter.work(ops.len() as u64, || memory)?;
    Ok(between.sorted().map(|sorted| blocks.operations(sorted)))
}

/// The blocks of a history. That of the initial value of variable x has number x.
pub(crate) struct Blocks<'a> {
    ops: &'a History,
    /// The relation that cycles are in: program order on one variable, or all of it and real time.
    within: Within,
    /// Per block its first write, perhaps an initial one.
    pub(crate) heads: Vec<u32>,
    /// Per node, see [`Blocks::node`], the update that reads the write.
    update: Vec<u32>,
    /// Per node the block of the write.
    block: Vec<u32>,
    /// Per node how many writes of its block are before it.
    place: Vec<u32>,
}

impl<'a> Blocks<'a> {
    pub(crate) fn new(ops: &'a History, within: Within) -> Result<Blocks<'a>, HistoryCycle> {
        let nodes = ops.len() + ops.vars();
        let mut blocks = Blocks {
            ops,
            within,
            heads: (0..ops.vars() as u32).map(initial_write).collect(),
            update: vec![NONE; nodes],
            block: vec![NONE; nodes],
            place: vec![0; nodes],
        };
        let updates = (0..ops.len() as u32).filter(|&op| ops.kind(op) == OpKind::Update);
        for u in updates.clone() {
            let node = blocks.node(blocks.written_or_read(ops.from(u), u));
            match blocks.update[node] {
                NONE => blocks.update[node] = u,
                other => return Err(blocks.two_updates(other, u)),
            }
        }
        blocks.heads.extend((0..ops.len() as u32).filter(|&op| ops.kind(op) == OpKind::Write));
        for number in 0..blocks.heads.len() {
            let (mut w, mut place) = (blocks.heads[number], 0);
            loop {
                let node = blocks.node(w);
                (blocks.block[node], blocks.place[node]) = (number as u32, place);
                if blocks.update[node] == NONE {
                    break;
                }
                (w, place) = (blocks.update[node], place + 1);
            }
        }
        // An update that no block has reads, over other updates, from itself.
        for u in updates {
            if blocks.block[u as usize] == NONE {
                return Err(blocks.updates_in_a_circle(u));
            }
        }
        Ok(blocks)
    }

    /// Operations are nodes, and initial writes come behind them.
    fn node(&self, w: u32) -> usize {
        initial_write_var(w).map_or(w as usize, |x| self.ops.len() + x as usize)
    }

    fn written_or_read(&self, from: Option<u32>, op: u32) -> u32 {
        from.unwrap_or_else(|| initial_write(self.ops.var(op)))
    }

    /// The write of an operation, or the one that it reads.
    pub(crate) fn write(&self, op: u32) -> u32 {
        match self.ops.writes(op) {
            true => op,
            false => self.written_or_read(self.ops.from(op), op),
        }
    }

    pub(crate) fn block_of(&self, op: u32) -> u32 {
        self.block[self.node(self.write(op))]
    }

    /// Where in its block an operation is.
    pub(crate) fn place_of(&self, op: u32) -> (u32, bool) {
        (self.place[self.node(self.write(op))], !self.ops.writes(op))
    }

    fn two_updates(&self, a: u32, b: u32) -> HistoryCycle {
        let w = self.written_or_read(self.ops.from(a), a);
        let mut found = Found::new(self.within);
        for (read, to) in [(a, b), (b, a)] {
            let path = vec![HistoryEdge { from: w, to, why: Why::Rf }];
            let why = found.derive(Rule::Overtaken { read }, path);
            found.edges.push(HistoryEdge { from: read, to, why });
        }
        found.cycle()
    }

    fn updates_in_a_circle(&self, u: u32) -> HistoryCycle {
        let source = |u: u32| self.written_or_read(self.ops.from(u), u);
        // As often as there are operations: then it is on the circle, and not on the way to it.
        let on_it = (0..self.ops.len()).fold(u, |u, _| source(u));
        let mut found = Found::new(self.within);
        let mut to = on_it;
        loop {
            let from = source(to);
            found.edges.push(HistoryEdge { from, to, why: Why::Rf });
            to = from;
            if to == on_it {
                found.edges.reverse();
                return found.cycle();
            }
        }
    }

    /// The variable of a block.
    pub(crate) fn var(&self, block: u32) -> u32 {
        let head = self.heads[block as usize];
        initial_write_var(head).unwrap_or_else(|| self.ops.var(head))
    }

    /// The operations of the blocks, which come in this order.
    fn operations(&self, mut sorted: Vec<u32>) -> Vec<u32> {
        let ops = self.ops;
        sorted.sort_by_key(|&block| self.var(block));
        let mut first = vec![NONE; self.block.len()];
        let mut next = vec![NONE; ops.len()];
        for r in (0..ops.len() as u32).rev().filter(|&r| ops.kind(r) == OpKind::Read) {
            next[r as usize] = std::mem::replace(&mut first[self.node(self.write(r))], r);
        }
        let mut order = Vec::with_capacity(ops.len());
        for block in sorted {
            let mut w = self.heads[block as usize];
            loop {
                if initial_write_var(w).is_none() {
                    order.push(w);
                }
                let mut r = first[self.node(w)];
                while r != NONE {
                    order.push(r);
                    r = next[r as usize];
                }
                match self.update[self.node(w)] {
                    NONE => break,
                    update => w = update,
                }
            }
        }
        order
    }

    /// The cycle through these pairs of operations, each in program order or in real time, where the second of a pair
    /// is in the block of the first of the next pair. The first of the next pair may also be an
    /// initial write.
    pub(crate) fn cycle(&self, pairs: &[(u32, u32)]) -> HistoryCycle {
        let mut found = Found::new(self.within);
        for (i, &(a, b)) in pairs.iter().enumerate() {
            let leaves = self.write_of_node(pairs[(i + 1) % pairs.len()].0);
            let start = self.write_of_node(a);
            let mut path = Vec::new();
            if start != a {
                path.push(HistoryEdge { from: start, to: a, why: Why::Rf });
            }
            path.push(HistoryEdge { from: a, to: b, why: self.why(a, b) });
            let mut arrives = self.write(b);
            if arrives != b {
                let why = found.derive(Rule::Older, std::mem::take(&mut path));
                path.push(HistoryEdge { from: start, to: arrives, why });
            }
            let place = |w: u32| self.place[self.node(w)];
            // What comes before an update of another block comes before all of that block.
            while place(arrives) > place(leaves) {
                let why = found.derive(Rule::Older, std::mem::take(&mut path));
                arrives = self.written_or_read(self.ops.from(arrives), arrives);
                path.push(HistoryEdge { from: start, to: arrives, why });
            }
            found.edges.append(&mut path);
            while arrives != leaves {
                let next = self.update[self.node(arrives)];
                found.edges.push(HistoryEdge { from: arrives, to: next, why: Why::Rf });
                arrives = next;
            }
        }
        found.cycle()
    }

    /// A cycle of fewer pairs, each of operations of one thread on the variable of the cycle, if there is one through
    /// a block of it.
    fn shorter(&self, mut best: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
        let ops = self.ops;
        let var = ops.var(best[0].1);
        let is_here = |&op: &u32| ops.kind(op) != OpKind::Fence && ops.var(op) == var;
        let of: Vec<Vec<u32>> =
            (0..ops.threads()).map(|t| ops.of_thread(t).filter(is_here).collect()).collect();
        // Where each thread comes to each block first.
        let mut first: Vec<(u32, usize, usize)> = Vec::new();
        for (t, of) in of.iter().enumerate() {
            first.extend(of.iter().enumerate().map(|(at, &op)| (self.block_of(op), t, at)));
        }
        first.sort_unstable();
        first.dedup_by_key(|&mut (block, t, _)| (block, t));
        let threads_of = |block: u32| {
            let start = first.partition_point(|&(other, ..)| other < block);
            first[start..].iter().take_while(move |&&(other, ..)| other == block)
        };
        let starts: Vec<u32> = best.iter().take(STARTS).map(|&(a, _)| self.block_of(a)).collect();
        let mut budget = FOLLOWED * first.len();
        for start in starts {
            // The pair by which each block was found, and from where on all of a thread was.
            let mut by: HashMap<u32, (u32, u32)> = HashMap::new();
            let mut done: Vec<usize> = of.iter().map(Vec::len).collect();
            let comes_back: Vec<Option<usize>> =
                of.iter().map(|of| of.iter().rposition(|&op| self.block_of(op) == start)).collect();
            let mut todo = VecDeque::from([start]);
            let mut closing = None;
            'search: while let Some(block) = todo.pop_front() {
                if budget == 0 || best.len() == 2 {
                    break;
                }
                for &(_, t, at) in threads_of(block) {
                    if let Some(back) = comes_back[t].filter(|&back| block != start && back > at) {
                        closing = Some((of[t][at], of[t][back]));
                        break 'search;
                    }
                    for &op in of[t].iter().take(done[t]).skip(at + 1) {
                        budget = budget.saturating_sub(1);
                        let to = self.block_of(op);
                        if to != start && !by.contains_key(&to) {
                            by.insert(to, (of[t][at], op));
                            todo.push_back(to);
                        }
                    }
                    done[t] = done[t].min(at);
                }
            }
            let Some(closing) = closing else { continue };
            let mut cycle = vec![closing];
            while let Some(&pair) = by.get(&self.block_of(cycle[cycle.len() - 1].0)) {
                cycle.push(pair);
            }
            if cycle.len() < best.len() {
                cycle.reverse();
                best = cycle;
            }
        }
        best
    }

    /// Why two operations are ordered.
    fn why(&self, a: u32, b: u32) -> Why {
        let same_thread = || self.ops.thread_of(a) == self.ops.thread_of(b);
        match self.within == Within::Local || initial_write_var(a).is_some() || same_thread() {
            true => Why::Po,
            false => Why::Rt,
        }
    }

    fn write_of_node(&self, node: u32) -> u32 {
        if initial_write_var(node).is_some() { node } else { self.write(node) }
    }
}

/// A cycle that is being written down.
struct Found {
    within: Within,
    derivations: Vec<Derivation>,
    edges: Vec<HistoryEdge>,
}

impl Found {
    fn new(within: Within) -> Found {
        Found { within, derivations: Vec::new(), edges: Vec::new() }
    }

    fn derive(&mut self, rule: Rule, path: Vec<HistoryEdge>) -> Why {
        self.derivations.push(Derivation { rule, within: self.within, path });
        Why::Derived(self.derivations.len() as u32 - 1)
    }

    fn cycle(self) -> HistoryCycle {
        let Found { within, derivations, edges } = self;
        HistoryCycle { derivations, within, edges }
    }
}

/// The program order between blocks: of each thread and variable, from each operation to the next
/// one in another block.
struct Between<'a> {
    blocks: &'a Blocks<'a>,
    pairs: Vec<(u32, u32)>,
    /// Per block the first of the pairs that leave it; per pair the next one.
    first: Vec<u32>,
    next: Vec<u32>,
    /// Per block how many pairs lead to it.
    leading: Vec<u32>,
}

impl<'a> Between<'a> {
    /// Fails if a thread goes back in a block, or to the initial value.
    fn new(blocks: &'a Blocks<'a>) -> Result<Between<'a>, HistoryCycle> {
        let ops = blocks.ops;
        let count = blocks.heads.len();
        let mut between = Between {
            blocks,
            pairs: Vec::new(),
            first: vec![NONE; count],
            next: Vec::new(),
            leading: vec![0; count],
        };
        let mut last = vec![NONE; ops.vars()];
        for thread in 0..ops.threads() {
            let range = ops.of_thread(thread);
            for b in range.clone().filter(|&op| ops.kind(op) != OpKind::Fence) {
                let a = std::mem::replace(&mut last[ops.var(b) as usize], b);
                // What is left of the threads before is older than the start.
                if a == NONE || a < range.start {
                    continue;
                }
                let (from, to) = (blocks.block_of(a), blocks.block_of(b));
                if from == to {
                    if blocks.place_of(a) > blocks.place_of(b) {
                        return Err(blocks.cycle(&[(a, b)]));
                    }
                } else if (to as usize) < ops.vars() {
                    // To be before the initial value is to be before oneself.
                    return Err(blocks.cycle(&[(a, b), (initial_write(to), blocks.write(a))]));
                } else {
                    between.add(a, b, from, to);
                }
            }
        }
        Ok(between)
    }

    fn add(&mut self, a: u32, b: u32, from: u32, to: u32) {
        let first = std::mem::replace(&mut self.first[from as usize], self.pairs.len() as u32);
        self.next.push(first);
        self.pairs.push((a, b));
        self.leading[to as usize] += 1;
    }

    /// Where the pairs that leave a block lead, and the numbers of these pairs.
    fn leaving(&self, block: u32) -> impl Iterator<Item = (u32, u32)> {
        let pair = |number: u32| (number != NONE).then_some(number);
        std::iter::successors(pair(self.first[block as usize]), move |&at| {
            pair(self.next[at as usize])
        })
        .map(|at| (self.blocks.block_of(self.pairs[at as usize].1), at))
    }

    /// The blocks in an order that respects the pairs, those of initial values first.
    fn sorted(&self) -> Result<Vec<u32>, HistoryCycle> {
        let count = self.first.len();
        let mut left = self.leading.clone();
        let mut sorted: Vec<u32> =
            (0..count as u32).filter(|&block| left[block as usize] == 0).collect();
        let mut at = 0;
        while let Some(&block) = sorted.get(at) {
            at += 1;
            for (to, _) in self.leaving(block) {
                left[to as usize] -= 1;
                if left[to as usize] == 0 {
                    sorted.push(to);
                }
            }
        }
        if sorted.len() == count {
            return Ok(sorted);
        }
        Err(self.blocks.cycle(&self.short_cycle(&left)))
    }

    /// A short cycle among the blocks to which something is left that leads.
    fn short_cycle(&self, left: &[u32]) -> Vec<(u32, u32)> {
        let is_left = |block: u32| left[block as usize] > 0;
        let from = |pair: u32| self.blocks.block_of(self.pairs[pair as usize].0);
        // Of each block a pair that leads to it.
        let mut by: Vec<u32> = vec![NONE; left.len()];
        for block in (0..left.len() as u32).filter(|&block| is_left(block)) {
            for (to, pair) in self.leaving(block) {
                by[to as usize] = pair;
            }
        }
        // Back from one of them for as many steps as there are blocks: then it is on a cycle.
        let any = (0..left.len() as u32).find(|&block| is_left(block)).unwrap_or(0);
        let on_it = (0..left.len()).fold(any, |block, _| from(by[block as usize]));
        let mut cycle = vec![by[on_it as usize]];
        while from(cycle[cycle.len() - 1]) != on_it {
            cycle.push(by[from(cycle[cycle.len() - 1]) as usize]);
        }
        let pairs = cycle.iter().rev().map(|&pair| self.pairs[pair as usize]).collect();
        self.blocks.shorter(pairs)
    }
}
