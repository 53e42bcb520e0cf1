//! Store buffers that are executed for real (`under=tso`, `under=pso`).
//!
//! A thread sees memory with its own stores, others see it without them until they leave the
//! buffer, in steps of their own ([`Agent::queue`]). The program's stores are instructions that
//! write to memory, so memory is made to look as the thread that runs sees it: before it goes on, its
//! stores are *shown* in memory, and when it stops they are *hidden* again. Between the two, memory
//! is what has left the buffers.
//!
//! Under PSO a store leaves as soon as those before it do that touch bytes of it, or that a fence
//! between stores has put before it. There is a queue for each place that a thread stores to.
//!
//! Fences, atomic updates, locks and starts of threads wait for the buffer of their thread, and a join
//! for that of the other one. A sequentially consistent store is an update: it waits, and is
//! in memory at once. The last thread alone needs no buffer.
//!
//! Cost: a switch copies what is in the buffers of both threads.

use weakspot_live::{Agent, Next, Op, OpKind};

use crate::access::plain::Order;
use crate::runtime::Runtime;
use crate::schedule::threads::happened;

/// The largest number of a queue: later ones share it.
const LAST_QUEUE: usize = 0x7fff;

/// The buffer of a thread.
#[derive(Default)]
pub struct Buffer {
    stores: Vec<Store>,
    /// The places that were stored to, by the number of their queue.
    queues: Vec<(usize, u32)>,
    /// How many fences between stores there were.
    epoch: u32,
}

/// A store that only its thread sees.
struct Store {
    op: Op,
    pc: usize,
    order: Order,
    queue: u16,
    epoch: u32,
    new: Bytes,
    /// What is hidden by it while it is shown.
    old: Bytes,
}

/// Some bytes, in place if there are few.
enum Bytes {
    Few([u8; 16]),
    Many(Vec<u8>),
}

impl Bytes {
    unsafe fn read(op: Op) -> Bytes {
        let (from, len) = (op.addr as *const u8, op.len as usize);
        if len > 16 {
            return Bytes::Many(core::slice::from_raw_parts(from, len).to_vec());
        }
        let mut few = [0; 16];
        from.copy_to_nonoverlapping(few.as_mut_ptr(), len);
        Bytes::Few(few)
    }

    unsafe fn write(&self, op: Op) {
        let from = match self {
            Bytes::Few(few) => few.as_ptr(),
            Bytes::Many(many) => many.as_ptr(),
        };
        from.copy_to_nonoverlapping(op.addr as *mut u8, op.len as usize);
    }
}

impl Buffer {
    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.stores.is_empty()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.stores.clear();
        self.queues.clear();
        self.epoch = 0;
    }

    /// Stores from now on leave after those before.
    pub fn fence(&mut self) {
        self.epoch += 1;
    }

    /// The current thread is about to store.
    pub unsafe fn push(&mut self, op: Op, pc: usize, order: Order, by_place: bool) {
        let place = (op.addr as usize, op.len);
        let queue = if by_place {
            let known = self.queues.iter().position(|q| *q == place);
            known.unwrap_or_else(|| {
                self.queues.push(place);
                self.queues.len() - 1
            })
        } else {
            0
        };
        let queue = queue.min(LAST_QUEUE) as u16;
        let (epoch, old) = (self.epoch, Bytes::read(op));
        self.stores.push(Store { op, pc, order, queue, epoch, new: Bytes::Few([0; 16]), old });
    }

    /// It has.
    pub unsafe fn settle(&mut self) {
        if let Some(last) = self.stores.last_mut() {
            last.new = Bytes::read(last.op);
        }
    }

    /// It will not, after all.
    pub fn pop(&mut self) {
        self.stores.pop();
    }

    /// Lets memory look as the thread sees it.
    pub unsafe fn show(&mut self) {
        for store in &mut self.stores {
            store.old = Bytes::read(store.op);
            store.new.write(store.op);
        }
    }

    /// Lets memory look as it is.
    pub unsafe fn hide(&mut self) {
        for store in self.stores.iter().rev() {
            store.old.write(store.op);
        }
    }

    /// What the queues are about to do.
    fn next(&self, thread: usize, out: &mut Vec<Next>) {
        let from = out.len();
        for (i, store) in self.stores.iter().enumerate() {
            let agent = Agent::queue(thread as u16, store.queue);
            if out[from..].iter().any(|n| n.agent == agent) {
                continue;
            }
            let before = &self.stores[..i];
            let waits = before.iter().any(|b| b.epoch < store.epoch || overlap(b.op, store.op));
            let op = Op { kind: OpKind::Commit, ..store.op };
            out.push(Next { agent, op, enabled: !waits, idle: false });
        }
        out[from..].sort_unstable_by_key(|n| n.agent);
    }
}

fn overlap(a: Op, b: Op) -> bool {
    a.addr < b.addr + u64::from(b.len) && b.addr < a.addr + u64::from(a.len)
}

/// Appends what the queues of all threads are about to do.
pub unsafe fn next(rt: *mut Runtime, out: &mut Vec<Next>) {
    let count = (*rt).count;
    let from = out.len();
    for (t, thread) in (&(*rt).threads)[..count].iter().enumerate() {
        thread.buffer.next(t, out);
    }
    // Queues are numbered before threads.
    out[from..].sort_unstable_by_key(|n| n.agent);
}

/// A queue lets its first store go. No buffer may be shown.
pub unsafe fn commit(rt: *mut Runtime, agent: Agent) {
    let t = agent.of() as usize;
    let stores = &mut (&mut (*rt).threads)[t].buffer.stores;
    let mine = |s: &Store| s.queue == agent.queue_number();
    let Some(at) = stores.iter().position(mine) else { return };
    let Store { op, pc, order, new, .. } = stores.remove(at);
    new.write(op);
    let op = Op { kind: OpKind::Commit, ..op };
    happened(rt, t, op, order, pc, None, None);
}

/// Whether nothing is in any of them.
pub unsafe fn all_empty(rt: *const Runtime) -> bool {
    (&(*rt).threads)[..(*rt).count].iter().all(|thread| thread.buffer.is_empty())
}

/// Everything leaves, when that does not matter any more. No buffer may be shown.
pub unsafe fn empty(rt: *mut Runtime) {
    let count = (*rt).count;
    for thread in &mut (&mut (*rt).threads)[..count] {
        for store in thread.buffer.stores.drain(..) {
            store.new.write(store.op);
        }
    }
}
