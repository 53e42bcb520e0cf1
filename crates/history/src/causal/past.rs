//! What is in the past of a thread's operations, one after the other, and the last write to a
//! variable in it by each thread. That is looked up for the variables that are asked about only:
//! with many threads most writes never matter to a thread.

use std::ops::Range;

use weakspot_core::{History, INITIAL, OpKind};

use crate::graph::clocks::Clocks;
use crate::graph::writes::Writes;

/// The past of one operation after the other.
pub(crate) struct Past<'a> {
    ops: &'a History,
    clocks: &'a Clocks,
    relaxed: bool,
    threads: usize,
    /// Per thread everything (with relaxed program order: every write) before this is in the past.
    pub(crate) bounds: Vec<u32>,
    writes: Writes,
    /// Per writer of a variable how many of its writes are in the past, when the variable was
    /// asked about last.
    seen: Vec<u32>,
    /// Per variable whether it was asked about, and those that were.
    is_asked: Vec<bool>,
    asked: Vec<u32>,
    /// The row of the last write of the own thread that was looked at.
    own_row: u32,
    own_write: u32,
    /// With relaxed program order: the end of the last fence or update of the own thread.
    own_bound: u32,
    work: u64,
}

impl<'a> Past<'a> {
    pub(crate) fn new(ops: &'a History, clocks: &'a Clocks, relaxed: bool) -> Past<'a> {
        let threads = ops.threads();
        let bounds = (0..threads).map(|t| ops.of_thread(t).start).collect();
        let writes = Writes::new(ops);
        Past {
            ops,
            clocks,
            relaxed,
            threads,
            bounds,
            seen: vec![0; writes.all().len()],
            writes,
            is_asked: vec![false; ops.vars()],
            asked: Vec::new(),
            own_row: u32::MAX,
            own_write: INITIAL,
            own_bound: 0,
            work: 0,
        }
    }

    /// Back to an empty past.
    pub(crate) fn reset(&mut self) {
        for (t, bound) in self.bounds.iter_mut().enumerate() {
            *bound = self.ops.of_thread(t).start;
        }
        for var in self.asked.drain(..) {
            self.is_asked[var as usize] = false;
            self.seen[self.writes.numbers(var)].fill(0);
        }
        self.work += self.threads as u64;
        self.own_row = u32::MAX;
        self.own_write = INITIAL;
        self.own_bound = 0;
    }

    /// The next operation of the thread that this is about: if it reads, its past is complete
    /// then. `entered` hears of the operations of each thread that are new in it.
    pub(crate) fn step(&mut self, thread: usize, op: u32, entered: &mut impl FnMut(Range<u32>)) {
        let ops = self.ops;
        let kind = ops.kind(op);
        if kind == OpKind::Write {
            self.own_write = op;
            return;
        }
        if let Some(w) = ops.from(op)
            && !(self.relaxed && ops.thread_of(w) == thread)
        {
            self.add(w, entered);
        }
        let waits = matches!(kind, OpKind::Fence | OpKind::Update);
        if self.relaxed {
            self.advance(thread, self.own_bound, entered);
        }
        if waits || !self.relaxed {
            if self.own_write != INITIAL && self.clocks.row_id(self.own_write) != self.own_row {
                self.own_row = self.clocks.row_id(self.own_write);
                self.join(self.own_write, thread, entered);
            }
            self.advance(thread, op, entered);
        }
        if waits {
            self.own_bound = op + 1;
        }
        if kind == OpKind::Update {
            self.join(op, thread, entered);
            self.own_write = op;
        }
    }

    /// Adds a write and what comes before it.
    pub(crate) fn add(&mut self, w: u32, entered: &mut impl FnMut(Range<u32>)) {
        let other = self.ops.thread_of(w);
        if self.bounds[other] <= w {
            self.join(w, other, entered);
            self.advance(other, w + 1, entered);
        }
    }

    fn join(&mut self, w: u32, of: usize, entered: &mut impl FnMut(Range<u32>)) {
        let clocks = self.clocks;
        for (thread, &to) in clocks.row(w).iter().enumerate() {
            if thread != of && self.bounds[thread] < to {
                self.advance(thread, to, entered);
            }
        }
    }

    fn advance(&mut self, thread: usize, to: u32, entered: &mut impl FnMut(Range<u32>)) {
        if self.bounds[thread] < to {
            self.work += 1;
            entered(std::mem::replace(&mut self.bounds[thread], to)..to);
        }
    }

    /// The threads with writes to the variable in the past, and the last one of each.
    pub(crate) fn last(&mut self, var: u32) -> impl Iterator<Item = (usize, u32)> + '_ {
        if !std::mem::replace(&mut self.is_asked[var as usize], true) {
            self.asked.push(var);
        }
        let numbers = self.writes.numbers(var);
        self.work += numbers.len() as u64 / 8;
        let Past { writes, seen, bounds, .. } = self;
        let writers = writes.writers(var).iter().zip(&mut seen[numbers]);
        writers.filter_map(|(writer, seen)| {
            let thread = writer.thread as usize;
            let writes = writes.of(writer);
            while writes.get(*seen as usize).is_some_and(|&w| w < bounds[thread]) {
                *seen += 1;
            }
            seen.checked_sub(1).map(|at| (thread, writes[at as usize]))
        })
    }

    /// How much was looked at in all.
    pub(crate) fn work(&self) -> u64 {
        self.work
    }

    pub(crate) fn bytes(&self) -> u64 {
        let own = self.bounds.len() + self.seen.len() + self.is_asked.len();
        self.writes.bytes() + 4 * own as u64
    }
}
