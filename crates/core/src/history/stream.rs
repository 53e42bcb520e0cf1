//! Checks that a history is linearizable while it is written, in memory that does not grow with it: for
//! each variable somebody tells, operation by operation, in which order those on it took effect.
//!
//! An operation takes effect at the latest beginning of those up to it in the order of its variable. It
//! is refused if it had ended by then, or if it reads something else than was last written. So each
//! order explains the operations on its variable and keeps real time. Times order the operations of
//! each thread, too, none of which may touch the next, and so there is an order of all of them
//! (Herlihy and Wing, 1990): sort them by these points in time.

use crate::evidence::rejected::Rejected;
use crate::{LoggedOp, OpKind, Value};

/// A history whose operations arrive and, later, take effect.
#[derive(Clone, Debug, Default)]
pub struct LinearStream {
    /// Per thread when its last operation ended.
    ended: Vec<Option<i64>>,
    /// Per variable what it holds, and the latest beginning of an operation that took effect.
    memory: Vec<Option<(Value, i64)>>,
    arrived: Sum,
    done: Sum,
}

/// How many operations, and a sum of something that hardly any two of them have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    count: u64,
    sum: u64,
}

impl Sum {
    fn add(&mut self, op: &LoggedOp) {
        let parts = [
            u64::from(op.thread) << 32 | u64::from(op.var),
            u64::from(op.line) << 32 | u64::from(op.column),
            op.value as u64,
            op.old as u64,
            op.times.start as u64,
            op.times.end as u64,
            op.kind as u64,
        ];
        let mixed = parts.into_iter().fold(0u64, |hash, part| {
            (hash.rotate_left(25) ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        });
        self.count += 1;
        self.sum = self.sum.wrapping_add(mixed);
    }
}

impl LinearStream {
    /// Takes note of an operation, in the order of its thread.
    ///
    /// # Errors
    /// When it touches the one before it, so that times do not say which was first.
    pub fn arrive(&mut self, op: &LoggedOp) -> Result<(), Rejected> {
        let thread = op.thread as usize;
        if self.ended.len() <= thread {
            self.ended.resize(thread + 1, None);
        }
        let at = self.arrived.count as usize;
        self.arrived.add(op);
        if op.times.end < op.times.start {
            return Err(Rejected::HistoryStep(at, "the operation ends before it begins"));
        }
        match self.ended[thread].replace(op.times.end) {
            Some(ended) if op.times.start <= ended => {
                Err(Rejected::HistoryStep(at, "the thread's last operation had not ended"))
            }
            _ => Ok(()),
        }
    }

    /// The operation takes effect next among those on its variable, whose initial value this is.
    ///
    /// # Errors
    /// If the operation cannot take effect here.
    pub fn take_effect(&mut self, op: &LoggedOp, initial: Value) -> Result<(), Rejected> {
        let at = self.done.count as usize;
        self.done.add(op);
        if op.kind == OpKind::Fence {
            return Ok(());
        }
        let var = op.var as usize;
        if self.memory.len() <= var {
            self.memory.resize(var + 1, None);
        }
        let (value, now) = self.memory[var].get_or_insert((initial, i64::MIN));
        *now = (*now).max(op.times.start);
        if *now > op.times.end {
            return Err(Rejected::HistoryStep(at, "it had ended before another one began"));
        }
        if op.read().is_some_and(|read| read != *value) {
            return Err(Rejected::HistoryStep(at, "memory holds another value"));
        }
        if op.writes() {
            *value = op.value;
        }
        Ok(())
    }

    /// Whether all operations that arrived have taken effect, and no others.
    ///
    /// # Errors
    /// When not.
    pub fn finish(&self) -> Result<(), Rejected> {
        if self.arrived == self.done { Ok(()) } else { Err(Rejected::NotFinal) }
    }
}
