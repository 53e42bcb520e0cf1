//! What comes before each write, as one number per thread: everything of that thread with a
//! smaller number. Writes of a thread between two reads that tell nothing new share one row, so
//! that there are at most as many rows as reads, and as writes.
//!
//! With relaxed program order the rows speak of writes only: every write of the thread with a
//! smaller number comes before.

use weakspot_core::{History, Limit, OpKind};
use weakspot_sat::Meter;

use crate::graph::extra::Extra;
use crate::graph::walk::{Link, Walk};

/// The clocks of all writes.
pub(crate) struct Clocks {
    threads: usize,
    rows: Vec<u32>,
    /// Per write its row. The entry of its own thread means nothing.
    row_of: Vec<u32>,
}

impl Clocks {
    /// The clocks of program order, reads-from and derived edges between writes, or a cycle of
    /// them.
    pub(crate) fn new(
        ops: &History,
        relaxed: bool,
        extra: &Extra,
        meter: &mut Meter<'_>,
    ) -> Result<Result<Clocks, Vec<Link>>, Limit> {
        let k = ops.threads();
        // What is taken at once, here and by whoever then looks at the past of each thread.
        let fixed = 4 * (k as u64) * (2 * k + ops.vars()) as u64 + extra.bytes();
        meter.room(fixed)?;
        let starts: Vec<u32> = (0..k).map(|t| ops.of_thread(t).start).collect();
        // Per thread what comes before its next write, and before its next read if that is less.
        let mut of_writes: Vec<u32> = (0..k).flat_map(|_| starts.iter().copied()).collect();
        let mut of_reads = if relaxed { of_writes.clone() } else { Vec::new() };
        // Whether the thread's clock is more than its last row, and which one that is.
        let mut is_new = vec![true; k];
        let mut last_row = vec![0; k];
        let mut clocks = Clocks { threads: k, rows: Vec::new(), row_of: vec![0; ops.len()] };
        let walked = Walk { ops, relaxed, overtake: false, extra }.run(|op| {
            let thread = ops.thread_of(op);
            let own = thread * k..(thread + 1) * k;
            meter.work(1, || clocks.bytes() + extra.bytes())?;
            if let Some(w) = ops.from(op) {
                let other = ops.thread_of(w);
                let target = if relaxed { &mut of_reads } else { &mut of_writes };
                if other != thread && target[own.clone()][other] <= w {
                    meter.work(k as u64, || clocks.bytes() + extra.bytes())?;
                    is_new[thread] |= clocks.join(w, other, &mut of_writes[own.clone()]);
                    if relaxed {
                        clocks.join(w, other, &mut of_reads[own.clone()]);
                    }
                }
            }
            if extra.leads_to(op) {
                for (_, edge) in extra.leading_to(op) {
                    let other = ops.thread_of(edge.from);
                    if of_writes[own.clone()][other] <= edge.from && other != thread {
                        let own = own.clone();
                        is_new[thread] |= clocks.join(edge.from, other, &mut of_writes[own]);
                    }
                }
            }
            let kind = ops.kind(op);
            if matches!(kind, OpKind::Write | OpKind::Update) {
                if std::mem::take(&mut is_new[thread]) {
                    if clocks.rows.len() + k > clocks.rows.capacity() {
                        // The rows are about to be twice as many, and to be copied.
                        meter.room(fixed + 3 * clocks.bytes())?;
                    }
                    last_row[thread] = (clocks.rows.len() / k) as u32;
                    clocks.rows.extend_from_slice(&of_writes[own.clone()]);
                }
                clocks.row_of[op as usize] = last_row[thread];
            }
            if relaxed && matches!(kind, OpKind::Fence | OpKind::Update) {
                of_writes[own.clone()][thread] = op + 1;
                of_reads[own.clone()].copy_from_slice(&of_writes[own]);
            }
            Ok(())
        })?;
        Ok(walked.map(|()| clocks))
    }

    /// What comes before a write in each thread, but its own.
    pub(crate) fn row(&self, w: u32) -> &[u32] {
        let row = self.row_id(w) as usize * self.threads;
        &self.rows[row..row + self.threads]
    }

    /// Equal numbers, equal rows.
    pub(crate) fn row_id(&self, w: u32) -> u32 {
        self.row_of[w as usize]
    }

    /// Whether an operation comes before a write.
    pub(crate) fn has_before(&self, ops: &History, op: u32, w: u32) -> bool {
        let thread = ops.thread_of(op);
        match ops.of_thread(thread).contains(&w) {
            true => op < w,
            false => op < self.row(w)[thread],
        }
    }

    /// Adds a write of thread `other` and what comes before it; whether that was anything new.
    fn join(&self, w: u32, other: usize, to: &mut [u32]) -> bool {
        let mut changed = false;
        for (i, (to, &from)) in to.iter_mut().zip(self.row(w)).enumerate() {
            let from = if i == other { from.max(w + 1) } else { from };
            changed |= *to < from;
            *to = from.max(*to);
        }
        changed
    }

    pub(crate) fn bytes(&self) -> u64 {
        4 * (self.rows.capacity() + self.row_of.capacity()) as u64
    }
}
