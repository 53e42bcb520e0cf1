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

use weakspot_core::Model;
use weakspot_live::{Agent, Next, OpKind, Order};

use crate::Runtime;
use crate::entry::guest::{Area, Bytes};
use crate::execution::monitors::Event;
use crate::memory::errors::{MemoryError, Use};

/// The largest number of a queue: later ones share it.
const LAST_QUEUE: usize = 0x7fff;

/// The buffer of a thread.
#[derive(Default)]
pub struct Buffer {
    stores: Vec<Store>,
    /// The places that were stored to, by the number of their queue.
    queues: Vec<Area>,
    /// How many fences between stores there were.
    epoch: u32,
}

/// A store that only its thread sees.
struct Store {
    area: Area,
    pc: usize,
    order: Order,
    queue: u16,
    epoch: u32,
    /// Whether it leaves before anybody else goes on.
    at_once: bool,
    /// What it writes, once that is known.
    new: Option<Bytes>,
    /// What is hidden by it while it is shown.
    old: Bytes,
    /// It frees the block that begins there, and writes nothing.
    frees: Option<usize>,
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

    /// The current thread is about to store; with a queue for each place, or one for all.
    fn push(&mut self, area: Area, pc: usize, order: Order, by_place: bool, at_once: bool) {
        let queue = if by_place {
            let known = self.queues.iter().position(|q| *q == area);
            known.unwrap_or_else(|| {
                self.queues.push(area);
                self.queues.len() - 1
            })
        } else {
            0
        };
        let queue = queue.min(LAST_QUEUE) as u16;
        let (epoch, old) = (self.epoch, area.copy());
        let frees = None;
        self.stores.push(Store { area, pc, order, queue, epoch, at_once, new: None, old, frees });
    }

    /// Whether there are stores to these bytes in it.
    fn touches(&self, area: Area) -> bool {
        self.stores.iter().any(|store| store.area.overlaps(area))
    }

    /// The current thread has done its last store: what it wrote is in memory.
    pub fn settle(&mut self) {
        if let Some(last) = self.stores.last_mut() {
            last.new = Some(last.area.copy());
        }
    }

    /// The current thread will not do the store that it was about to do.
    pub fn pop(&mut self) {
        self.stores.pop();
    }

    /// Lets memory look as the thread sees it.
    pub fn show(&mut self) {
        for store in self.stores.iter_mut().filter(|store| store.frees.is_none()) {
            store.old = store.area.copy();
            store.write();
        }
    }

    /// Undoes the buffered stores that [`show`](Self::show) made visible, so that memory is real again.
    pub fn hide(&mut self) {
        for store in self.stores.iter().rev().filter(|store| store.frees.is_none()) {
            store.area.restore(&store.old);
        }
    }

    /// All stores leave. The buffer may not be shown.
    pub fn empty(&mut self) {
        self.stores.drain(..).for_each(|store| store.write());
    }

    /// What the queues are about to do.
    pub fn next(&self, thread: usize, out: &mut Vec<Next>) {
        let from = out.len();
        for (i, store) in self.stores.iter().enumerate() {
            let agent = Agent::queue(thread as u16, store.queue);
            if out[from..].iter().any(|n| n.agent == agent) {
                continue;
            }
            let before = &self.stores[..i];
            let waits = before.iter().any(|b| b.epoch < store.epoch || b.area.overlaps(store.area));
            let kind = if store.frees.is_some() { OpKind::Free } else { OpKind::Commit };
            let op = store.area.op(kind);
            out.push(Next {
                agent,
                op,
                enabled: !waits,
                idle: false,
                varies: false,
                again: false,
                undone: 0,
            });
        }
        out[from..].sort_unstable_by_key(|n| n.agent);
    }
}

impl Store {
    fn write(&self) {
        if let Some(new) = &self.new {
            self.area.restore(new);
        }
    }
}

impl Runtime {
    /// A store of the current thread that has its turn goes into its buffer, if there are buffers
    /// now. Whether it does.
    pub fn buffer(&mut self, area: Area, order: Order, pc: usize) -> bool {
        let buffered = self.stores_are_buffered();
        if buffered {
            let by_place = self.config.under != Model::Tso;
            let at_once = self.is_on_time(pc);
            self.threads.me_mut().buffer.push(area, pc, order, by_place, at_once);
        }
        buffered
    }

    /// What a store of the current thread is for the strategy: one that is in memory before anybody
    /// else goes on takes effect there like an update.
    pub fn store_kind(&self, pc: usize) -> OpKind {
        let at_once = self.stores_are_buffered() && self.is_on_time(pc);
        if at_once { OpKind::Update } else { OpKind::Write }
    }

    /// Whether a store is none of those that may wait: then it leaves at once, unless one waits
    /// before it.
    fn is_on_time(&self, pc: usize) -> bool {
        let delayed = &self.scheduler.delayed;
        // One that leaves at once is gone when this one has its turn.
        let gone = self.threads.me().buffer.stores.iter().all(|store| store.at_once);
        !delayed.is_empty() && gone && !delayed.contains(&pc)
    }

    /// The queue whose store leaves before anybody else goes on, if there is one.
    pub fn leaves_at_once(&self) -> Option<Agent> {
        let store = self.threads.me().buffer.stores.last().filter(|store| store.at_once)?;
        Some(Agent::queue(self.threads.current() as u16, store.queue))
    }

    /// What it is for the strategy that the current thread frees bytes: with buffers a store into one.
    pub fn free_kind(&self, pc: usize) -> OpKind {
        let waits = self.stores_are_buffered() && !self.is_on_time(pc);
        if waits { OpKind::Write } else { OpKind::Free }
    }

    /// Bytes of a block that the current thread frees: others can use it until that leaves the buffer.
    pub fn buffer_free(&mut self, area: Area, block: usize, pc: usize) {
        self.buffer(area, Order::Plain, pc);
        if let Some(last) = self.threads.me_mut().buffer.stores.last_mut() {
            last.frees = Some(block);
        }
    }

    /// Whether the current thread has stores to these bytes in its buffer.
    pub fn has_buffered(&self, area: Area) -> bool {
        self.threads.me().buffer.touches(area)
    }

    /// Whether stores go into buffers: not if there is nobody who could notice.
    pub fn stores_are_buffered(&self) -> bool {
        // The harness of a test has no steps in a schedule, and so none of its buffer either.
        let harness = self.config.harness && self.threads.current() == 0;
        self.scheduler.buffered() && !self.threads.alone() && !harness
    }

    /// A queue lets its first store go. No buffer may be shown. What is wrong with that, and where the
    /// store was.
    pub fn commit(&mut self, agent: Agent) -> Option<(MemoryError, usize)> {
        let t = usize::from(agent.of());
        let stores = &mut self.threads.get_mut(t).buffer.stores;
        let first = |s: &Store| s.queue == agent.queue_number();
        let at = stores.iter().position(first)?;
        let store = stores.remove(at);
        let error = match store.frees {
            Some(block) => {
                self.heap.gone(block);
                None
            }
            None => self.memory_error(t, store.area, Use::Commit),
        };
        if let Some(error) = error {
            return Some((error, store.pc));
        }
        store.write();
        let op = store.area.op(OpKind::Commit);
        self.record_of(t, Event::new(op, store.order, store.pc));
        None
    }
}
