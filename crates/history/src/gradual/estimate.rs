//! When did each operation happen? A guess for histories of many threads, whose runs are hard to
//! find by looking at what can be done next: an operation comes after everything that program order
//! and reads-from put before it, and before everything that they put after it, so its place in a
//! run of n operations is somewhere between the number of the former and n less the number of the
//! latter. The middle is the guess.
//!
//! Counts are sums of clocks, one number per thread. A clock is kept only until the last read of
//! the write that it belongs to, so that memory is that of the threads and of what is under way.
//! Cost: operations times threads, of the simplest kind of work.

use weakspot_core::{History, Limit};
use weakspot_sat::Meter;

use crate::gradual::chains::{Chains, walk};
use crate::graph::explain::Ppo;
use crate::graph::extra::Extra;

/// Per operation twice its likely place in a run; `None` if program order and reads-from are
/// cyclic.
pub(crate) fn estimate(ops: &History, meter: &mut Meter<'_>) -> Result<Option<Vec<u32>>, Limit> {
    let chains = Chains::new(ops, Ppo::Full);
    let mut order = Vec::with_capacity(ops.len());
    let walked = walk(&chains, &Extra::new(ops.len()), |op| {
        order.push(op);
        meter.work(1, || 0)
    })?;
    if walked.is_err() {
        return Ok(None);
    }
    let external = |op: u32| ops.from(op).filter(|&w| chains.thread(w) != chains.thread(op));
    // Per write how many operations of other threads read it.
    let mut readers = vec![0u32; ops.len()];
    for op in 0..ops.len() as u32 {
        if let Some(w) = external(op) {
            readers[w as usize] += 1;
        }
    }
    let mut places = vec![0; ops.len()];
    let k = ops.threads();
    let mut rows = Rows::new(k, ops.len());
    let mut left = readers.clone();
    for &op in &order {
        let thread = chains.thread(op);
        meter.work(1 + k as u64 / 32, || rows.bytes() + 24 * ops.len() as u64)?;
        if let Some(w) = external(op) {
            rows.join(thread, w);
            left[w as usize] -= 1;
            if left[w as usize] == 0 {
                rows.drop(w);
            }
        }
        places[op as usize] = rows.count(thread);
        if readers[op as usize] > 0 {
            rows.keep(op, thread);
        }
    }
    let mut rows = Rows::new(k, ops.len());
    for &op in order.iter().rev() {
        let thread = chains.thread(op);
        meter.work(1 + k as u64 / 32, || rows.bytes() + 24 * ops.len() as u64)?;
        if readers[op as usize] > 0 {
            rows.join(thread, op);
            rows.drop(op);
        }
        places[op as usize] += ops.len() as u32 - rows.count(thread);
        if let Some(w) = external(op) {
            rows.keep(w, thread);
        }
    }
    Ok(Some(places))
}

/// The clocks of threads, and of some operations.
struct Rows {
    threads: usize,
    /// Per thread its clock, then those that are kept.
    rows: Vec<u32>,
    /// Per thread the sum of its clock.
    sums: Vec<u32>,
    row_of: Vec<u32>,
    free: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Rows {
    fn new(threads: usize, ops: usize) -> Rows {
        Rows {
            threads,
            rows: vec![0; threads * threads],
            sums: vec![0; threads],
            row_of: vec![NONE; ops],
            free: Vec::new(),
        }
    }

    /// One more operation of a thread; how many there are in its clock.
    fn count(&mut self, thread: usize) -> u32 {
        self.rows[thread * self.threads + thread] += 1;
        self.sums[thread] += 1;
        self.sums[thread]
    }

    fn join(&mut self, thread: usize, op: u32) {
        let (threads, rows) = self.rows.split_at_mut(self.threads * self.threads);
        let at = self.row_of[op as usize] as usize * self.threads;
        let own = &mut threads[thread * self.threads..][..self.threads];
        let mut sum = 0;
        for (to, &from) in own.iter_mut().zip(&rows[at..at + self.threads]) {
            *to = from.max(*to);
            sum += *to;
        }
        self.sums[thread] = sum;
    }

    /// Keeps the clock of a thread for an operation, besides what is kept for it already.
    fn keep(&mut self, op: u32, thread: usize) {
        let k = self.threads;
        let own = thread * k..(thread + 1) * k;
        if self.row_of[op as usize] != NONE {
            let (threads, rows) = self.rows.split_at_mut(k * k);
            let at = self.row_of[op as usize] as usize * k;
            for (to, &from) in rows[at..at + k].iter_mut().zip(&threads[own]) {
                *to = from.max(*to);
            }
            return;
        }
        self.row_of[op as usize] = match self.free.pop() {
            Some(row) => {
                self.rows.copy_within(own, (k + row as usize) * k);
                row
            }
            None => {
                self.rows.extend_from_within(own);
                (self.rows.len() / k - k - 1) as u32
            }
        };
    }

    fn drop(&mut self, op: u32) {
        self.free.push(self.row_of[op as usize]);
        self.row_of[op as usize] = NONE;
    }

    fn bytes(&self) -> u64 {
        4 * (self.rows.capacity() + self.row_of.capacity()) as u64
    }
}
