//! Stores that wait in buffers: what they publish is there to be read when they leave.

use crate::Op;
use crate::step::Order;

use super::clock::Clock;

/// A store in a buffer.
#[derive(Debug)]
pub(super) struct Waiting {
    thread: u16,
    op: Op,
    pub(super) order: Order,
    /// What who reads it can learn.
    pub(super) known: Clock,
}

/// Those of all threads, oldest first.
#[derive(Debug, Default)]
pub(super) struct Buffers(Vec<Waiting>);

impl Buffers {
    /// All are empty.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// A thread stores.
    pub(super) fn push(&mut self, thread: u16, op: Op, order: Order, known: Clock) {
        self.0.push(Waiting { thread, op, order, known });
    }

    /// A store to these bytes leaves: the oldest of its thread.
    pub(super) fn leave(&mut self, thread: u16, op: Op) -> Option<Waiting> {
        let leaves = |w: &Waiting| w.thread == thread && (w.op.addr, w.op.len) == (op.addr, op.len);
        let at = self.0.iter().position(leaves)?;
        Some(self.0.remove(at))
    }

    /// Whether a thread reads all of these bytes from a store of its own.
    pub(super) fn hold(&self, thread: u16, op: Op) -> bool {
        let end = |op: Op| op.addr.saturating_add(op.len.into());
        self.0.iter().any(|w| w.thread == thread && w.op.addr <= op.addr && end(op) <= end(w.op))
    }
}
