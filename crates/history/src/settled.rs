//! Is a history linearizable that is still being written? In memory that does not grow with it, and
//! without a window: what ended before everything that is still to come began is settled.
//!
//! Operations are put into the blocks of `linearizable.rs`, with f the earliest end and s the latest
//! beginning of each. Say that whatever comes from now on begins after the time m. What comes to a
//! block then makes s(B) > m. So if f(B) < m, and there is another block C with f(C) < m and s(C) >
//! f(B), nothing may come to B any more: C would have to come before it and after it. B is *closed*. Blocks that
//! are closed take effect, in the order of `linearizable.rs`, and are forgotten; those that are not
//! have f(B) ≥ m or f(B) ≥ s(C), so none of them has to come before one that is closed. A block that is
//! not closed may begin to take effect if all others have to come behind it, so that what is only read
//! does not fill the memory. Of a chain of updates all is settled that stands before something that ended
//! before m.
//!
//! For m the earliest of the last ends of the threads is taken, of those that did something lately. An
//! operation that begins before m all the same, a value that is not known any more, times that touch,
//! or too much that is not settled: then nothing is known, and the windows have to say what they can.
//! Nobody has to believe any of this: each operation that takes effect is told to [`LinearStream`],
//! which checks it.
//!
//! Cost: that of sorting, and linear in what is kept each time that has doubled.

use std::collections::HashMap;

use weakspot_core::history::LinearStream;
use weakspot_core::{LoggedOp, OpKind, SaidFrom, Value};

/// So many operations are kept at least before any are settled.
const LEAST: usize = 1 << 10;

/// A history on its way to be settled.
#[derive(Debug)]
pub(crate) struct Settled {
    checker: LinearStream,
    vars: Vec<Var>,
    /// Per thread how many operations had arrived when its last one did, and when that ended.
    threads: Vec<Option<(u64, i64)>>,
    arrived: u64,
    /// What comes begins after this.
    mark: i64,
    /// How many operations are kept, and how many before some are settled next.
    kept: usize,
    next: usize,
    /// The least and the most that are kept.
    least: usize,
    most: usize,
    /// Whether nothing is known.
    is_lost: bool,
}

#[derive(Debug, Default)]
struct Var {
    initial: Value,
    blocks: Vec<Block>,
    /// Whether the first block has begun to take effect.
    has_begun: bool,
    /// Which block and place wrote a value.
    places: HashMap<Value, (usize, usize)>,
    /// What reads values that nobody has written yet.
    waiting: HashMap<Value, Vec<LoggedOp>>,
    /// The latest beginning in blocks that are forgotten.
    latest: i64,
}

/// A write, the reads of it, and the updates that go on from it.
#[derive(Debug)]
struct Block {
    places: Vec<Place>,
    start: i64,
    end: i64,
}

/// A value with what wrote and read it.
#[derive(Debug)]
struct Place {
    value: Value,
    /// `None` if it is the initial value, or has taken effect.
    write: Option<LoggedOp>,
    reads: Vec<LoggedOp>,
    end: i64,
}

impl Settled {
    /// Of a history of which at most so many operations are kept.
    pub(crate) fn new(most: usize) -> Settled {
        Settled {
            checker: LinearStream::default(),
            vars: Vec::new(),
            threads: Vec::new(),
            arrived: 0,
            mark: i64::MIN,
            kept: 0,
            next: LEAST,
            least: LEAST,
            most: most.max(2 * LEAST),
            is_lost: false,
        }
    }

    /// Adds an operation; `initial` has the initial values of all variables so far.
    pub(crate) fn add(&mut self, op: LoggedOp, initial: &[Value]) {
        if self.is_lost {
            return;
        }
        let thread = op.thread as usize;
        if self.threads.len() <= thread {
            self.threads.resize(thread + 1, None);
        }
        self.arrived += 1;
        self.threads[thread] = Some((self.arrived, op.times.end));
        let is_late = op.times.start <= self.mark && self.mark > i64::MIN;
        let by_value = !matches!(op.from, Some(SaidFrom::Op(..)));
        if is_late || !by_value || self.checker.arrive(&op).is_err() {
            return self.lose();
        }
        if op.kind == OpKind::Fence {
            if self.checker.take_effect(&op, 0).is_err() {
                self.lose();
            }
            return;
        }
        while self.vars.len() <= op.var as usize {
            let value = initial.get(self.vars.len()).copied().unwrap_or(0);
            self.vars.push(Var::new(value));
        }
        self.kept += 1;
        if self.vars[op.var as usize].add(op).is_none() {
            return self.lose();
        }
        if self.kept >= self.next {
            self.settle(false);
        }
    }

    /// Whether all of the history, which has ended, is linearizable; `None` if nothing is known.
    pub(crate) fn finish(&mut self) -> Option<()> {
        if !self.is_lost {
            self.settle(true);
        }
        let is_waiting = self.vars.iter().any(|var| !var.waiting.is_empty());
        (!self.is_lost && !is_waiting && self.checker.finish().is_ok()).then_some(())
    }

    fn lose(&mut self) {
        *self = Settled { is_lost: true, ..Settled::new(0) };
    }

    /// Lets take effect what can.
    fn settle(&mut self, at_end: bool) {
        let lately = self.arrived.saturating_sub(self.most as u64);
        let ends =
            self.threads.iter().flatten().filter(|(at, _)| *at > lately).map(|&(_, end)| end);
        self.mark = match at_end {
            true => i64::MAX,
            false => self.mark.max(ends.min().unwrap_or(i64::MIN)),
        };
        for var in &mut self.vars {
            match var.settle(self.mark, at_end, &mut self.checker) {
                Some(done) => self.kept -= done,
                None => return self.lose(),
            }
        }
        self.next = (2 * self.kept).max(self.least + 2 * self.vars.len()).min(self.most);
        if self.kept >= self.most {
            self.lose();
        }
    }
}

impl Var {
    fn new(initial: Value) -> Var {
        let first = Place { value: initial, write: None, reads: Vec::new(), end: i64::MIN };
        Var {
            initial,
            blocks: vec![Block { places: vec![first], start: i64::MIN, end: i64::MIN }],
            has_begun: true,
            places: HashMap::from([(initial, (0, 0))]),
            waiting: HashMap::new(),
            latest: i64::MIN,
        }
    }

    /// Puts an operation into its block, and those that have waited for it; `None` if it has none.
    fn add(&mut self, op: LoggedOp) -> Option<()> {
        let mut todo = vec![op];
        while let Some(op) = todo.pop() {
            let (block, place) = match op.read() {
                None => (self.blocks.len(), 0),
                Some(read) => match self.places.get(&read) {
                    None => {
                        self.waiting.entry(read).or_default().push(op);
                        continue;
                    }
                    Some(&(block, place)) => (block, place + usize::from(op.writes())),
                },
            };
            if op.writes() {
                // Nobody writes a value twice, or updates one twice.
                let is_new = self.places.insert(op.value, (block, place)).is_none();
                let is_next = self.blocks.get(block).is_none_or(|b| b.places.len() == place);
                if !is_new || !is_next {
                    return None;
                }
                if block == self.blocks.len() {
                    let (start, end) = (i64::MIN, i64::MAX);
                    self.blocks.push(Block { places: Vec::new(), start, end });
                }
                let new =
                    Place { value: op.value, write: Some(op), reads: Vec::new(), end: i64::MAX };
                self.blocks[block].places.push(new);
                todo.extend(self.waiting.remove(&op.value).unwrap_or_default());
            } else {
                self.blocks[block].places[place].reads.push(op);
            }
            let block = &mut self.blocks[block];
            block.start = block.start.max(op.times.start);
            block.end = block.end.min(op.times.end);
            block.places[place].end = block.places[place].end.min(op.times.end);
        }
        Some(())
    }

    /// Lets take effect what can, since all that comes begins after the mark, and says how many
    /// operations that were; `None` if one of them could not.
    fn settle(&mut self, mark: i64, at_end: bool, checker: &mut LinearStream) -> Option<usize> {
        let mut effects = Effects { checker, initial: self.initial, done: 0 };
        // The two blocks that begin last of those of which something has ended.
        let (mut last, mut second) = (usize::MAX, usize::MAX);
        let start =
            |block: usize, blocks: &[Block]| blocks.get(block).map_or(i64::MIN, |b| b.start);
        for (i, block) in self.blocks.iter().enumerate().filter(|(_, b)| b.end < mark) {
            if last == usize::MAX || block.start > start(last, &self.blocks) {
                (second, last) = (last, i);
            } else if second == usize::MAX || block.start > start(second, &self.blocks) {
                second = i;
            }
        }
        let is_closed = |i: usize, block: &Block| {
            let other = start(if i == last { second } else { last }, &self.blocks);
            at_end || block.end < mark && block.start <= mark && other.max(self.latest) > block.end
        };
        let mut closed: Vec<bool> =
            self.blocks.iter().enumerate().map(|(i, block)| is_closed(i, block)).collect();
        if self.has_begun && !closed[0] {
            // The others have to wait for it.
            closed.fill(false);
        }
        let (mut gone, mut left) = (Vec::new(), Vec::new());
        let first = self.has_begun.then_some(0);
        for ((i, block), closed) in
            std::mem::take(&mut self.blocks).into_iter().enumerate().zip(closed)
        {
            match closed {
                true if Some(i) == first => {
                    self.latest = self.latest.max(block.start);
                    self.has_begun = false;
                    effects.all(block)?;
                }
                true => gone.push(block),
                false => left.push(block),
            }
        }
        gone.sort_by_key(|block| (block.end.min(block.start), block.end < block.start));
        for block in gone {
            self.latest = self.latest.max(block.start);
            effects.all(block)?;
        }
        self.blocks = left;
        if !self.has_begun {
            self.begin(mark);
        }
        if self.has_begun
            && let Some(block) = self.blocks.first_mut()
        {
            effects.some(block, mark)?;
        }
        self.places.clear();
        for (i, block) in self.blocks.iter().enumerate() {
            self.places.extend(block.places.iter().enumerate().map(|(j, p)| (p.value, (i, j))));
        }
        Some(effects.done)
    }

    /// Puts a block first that all others have to come behind, if there is one.
    fn begin(&mut self, mark: i64) {
        let Some(first) = (0..self.blocks.len()).min_by_key(|&i| self.blocks[i].end) else {
            return;
        };
        let end = self.blocks[first].end;
        let mut others = self.blocks.iter().enumerate().filter(|&(i, _)| i != first);
        if end < mark && others.all(|(_, other)| other.start > end) {
            self.blocks.swap(0, first);
            self.has_begun = true;
        }
    }
}

/// What takes effect.
struct Effects<'a> {
    checker: &'a mut LinearStream,
    initial: Value,
    done: usize,
}

impl Effects<'_> {
    fn one(&mut self, op: &LoggedOp) -> Option<()> {
        self.done += 1;
        self.checker.take_effect(op, self.initial).ok()
    }

    /// All of a block.
    fn all(&mut self, block: Block) -> Option<()> {
        block.places.into_iter().try_for_each(|place| self.place(place))
    }

    fn place(&mut self, mut place: Place) -> Option<()> {
        place.write.iter().try_for_each(|write| self.one(write))?;
        place.reads.sort_by_key(|read| read.times.start);
        place.reads.iter().try_for_each(|read| self.one(read))
    }

    /// What of a block comes before all that comes to it after the mark.
    fn some(&mut self, block: &mut Block, mark: i64) -> Option<()> {
        let behind = block.places.iter().rposition(|place| place.end < mark).unwrap_or(0);
        for place in block.places.drain(..behind) {
            self.place(place)?;
        }
        let Some(place) = block.places.first_mut() else { return Some(()) };
        if let Some(write) = place.write.take_if(|write| write.times.start <= mark) {
            self.one(&write)?;
        }
        if place.write.is_none() {
            place.reads.sort_by_key(|read| read.times.start);
            let count = place.reads.partition_point(|read| read.times.start <= mark);
            place.reads.drain(..count).try_for_each(|read| self.one(&read))?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use weakspot_core::testing::{
        OpsSize, OpsSource, Rng, mutate_ops, scaled, show_ops, timed_ops,
    };
    use weakspot_core::{History, HistoryModel, Limits, Silent, Times, Verdict};

    use super::*;
    use crate::{Complete, Method, check};

    /// The operations in the order in which they ended, or in any that keeps that of each thread.
    fn logged(rng: &mut Rng, ops: &History) -> Vec<LoggedOp> {
        let mut log: Vec<u32> = (0..ops.len() as u32).collect();
        let slack = [1, 1, 60][rng.below(3)];
        // Of each thread what comes later has to stay behind.
        let mut last = vec![i64::MIN; ops.threads()];
        let key: Vec<i64> = (0..ops.len() as u32)
            .map(|op| {
                let last = &mut last[ops.thread_of(op)];
                *last = (ops.times(op).end + rng.below(slack) as i64).max(*last);
                *last
            })
            .collect();
        log.sort_by_key(|&op| key[op as usize]);
        let value = |from: Option<u32>| from.map_or(0, |w| i64::from(w) + 1);
        let one = |(line, &op): (usize, &u32)| LoggedOp {
            thread: ops.thread_of(op) as u32,
            kind: ops.kind(op),
            var: ops.var(op),
            value: if ops.writes(op) { value(Some(op)) } else { value(ops.from(op)) },
            old: if ops.kind(op) == OpKind::Update { value(ops.from(op)) } else { 0 },
            from: None,
            line: line as u32 + 1,
            column: 1,
            times: ops.times(op),
        };
        log.iter().enumerate().map(one).collect()
    }

    /// Short histories, settled as often as can be.
    #[test]
    fn as_defined() {
        let size = OpsSize { threads: 4, vars: 2, ops: 30, fences: 8, updates: 3 };
        let (mut held, mut known, mut violated, mut early) = (0, 0, 0, 0);
        for seed in 0..scaled(40_000) as u64 {
            let rng = &mut Rng::new(seed);
            let (overlap, changes) = (rng.below(6), [0, 0, 1, 2][rng.below(4)]);
            let size = OpsSize { updates: [0, 1, 3][rng.below(3)], ..size };
            let mut ops = timed_ops(rng, size, OpsSource::Sc, overlap);
            mutate_ops(rng, &mut ops, changes);
            let method = Method { complete: Complete::Auto, saturate: true };
            let answer = check(&ops, HistoryModel::Lin, method, &Limits::UNLIMITED, &mut Silent);
            let holds = answer.expect("evidence").verdict == Verdict::Holds;
            let mut settled = Settled { least: 1, next: 1, ..Settled::new(1_000) };
            let log = logged(rng, &ops);
            // All threads are there from the start.
            let times = Times { start: -1_000_000, end: -1_000_000 };
            for thread in 0..ops.threads() as u32 {
                settled.add(LoggedOp { thread, kind: OpKind::Fence, var: 0, times, ..log[0] }, &[]);
            }
            for op in log {
                settled.add(op, &[0, 0]);
            }
            early += usize::from(!settled.is_lost && settled.kept < ops.len() / 2);
            let is_known = settled.finish().is_some();
            assert!(holds || !is_known, "seed {seed}\n{}", show_ops(&ops));
            held += usize::from(holds);
            known += usize::from(is_known);
            violated += usize::from(!holds);
        }
        assert_eq!(known, held);
        assert!(violated > scaled(5_000) && early > scaled(10_000), "{violated} {early}");
    }
}
