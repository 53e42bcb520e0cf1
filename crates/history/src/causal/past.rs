//! What is in the past of a thread's operations, one after the other, and the last write to each
//! variable in it by each thread.

use weakspot_core::{History, INITIAL, OpKind};

use crate::graph::clocks::Clocks;

/// The past of one operation after the other.
pub(crate) struct Past<'a> {
    ops: &'a History,
    clocks: &'a Clocks,
    relaxed: bool,
    threads: usize,
    /// Per thread everything (with relaxed program order: every write) before this is in the past.
    pub(crate) bounds: Vec<u32>,
    /// Per variable and thread the last write in the past, or [`INITIAL`] for none.
    last: Vec<u32>,
    /// Which entries of `last` there are.
    found: Vec<usize>,
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
        let last = vec![INITIAL; threads * ops.vars()];
        Past {
            ops,
            clocks,
            relaxed,
            threads,
            bounds,
            last,
            found: Vec::new(),
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
        // Most entries are empty if there are many threads.
        for cell in self.found.drain(..) {
            self.last[cell] = INITIAL;
        }
        self.work += self.threads as u64;
        self.own_row = u32::MAX;
        self.own_write = INITIAL;
        self.own_bound = 0;
    }

    /// The next operation of the thread that this is about: if it reads, its past is complete
    /// then. `entered` hears of each write that is new in it.
    pub(crate) fn step(&mut self, thread: usize, op: u32, entered: &mut impl FnMut(u32)) {
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
    pub(crate) fn add(&mut self, w: u32, entered: &mut impl FnMut(u32)) {
        let other = self.ops.thread_of(w);
        if self.bounds[other] <= w {
            self.join(w, other, entered);
            self.advance(other, w + 1, entered);
        }
    }

    fn join(&mut self, w: u32, of: usize, entered: &mut impl FnMut(u32)) {
        let clocks = self.clocks;
        for (thread, &to) in clocks.row(w).iter().enumerate() {
            if thread != of && self.bounds[thread] < to {
                self.advance(thread, to, entered);
            }
        }
    }

    fn advance(&mut self, thread: usize, to: u32, entered: &mut impl FnMut(u32)) {
        self.work += u64::from(to.saturating_sub(self.bounds[thread]));
        for op in self.bounds[thread]..to {
            if self.ops.writes(op) {
                let cell = self.ops.var(op) as usize * self.threads + thread;
                if self.last[cell] == INITIAL {
                    self.found.push(cell);
                }
                self.last[cell] = op;
                entered(op);
            }
        }
        self.bounds[thread] = self.bounds[thread].max(to);
    }

    /// Per thread the last write to the variable in the past.
    pub(crate) fn last(&self, var: u32) -> &[u32] {
        let at = var as usize * self.threads;
        &self.last[at..at + self.threads]
    }

    /// How many operations it has looked at in all.
    pub(crate) fn work(&self) -> u64 {
        self.work
    }

    pub(crate) fn bytes(&self) -> u64 {
        (4 * (self.last.capacity() + self.bounds.capacity()) + 8 * self.found.capacity()) as u64
    }
}
