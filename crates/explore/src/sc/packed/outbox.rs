//! Where successors go, and how a level ends: the only difference between one worker, several workers
//! of one process and those of several processes.
//!
//! [`Alone`] and [`Mail`] are here; [`spread`](crate::sc::spread) has the one for processes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};

use super::shard::{Shard, States};
use super::shared::Shared;
use super::system::{Successors, System};

/// Where a worker's successors go, and how a level ends.
pub(crate) trait Outbox<S: System, H = Shard> {
    /// Whether every state belongs to this worker.
    const ALONE: bool = false;

    /// How many workers there are in all, and which one this is. The name of a state is its number in
    /// its shard times the former, plus the latter.
    fn place(&self) -> (u32, u32);

    /// Takes the successors of a state: into `own` those that belong to this worker.
    fn sort(
        &mut self,
        shared: &Shared<'_, S>,
        tables: &S::Tables,
        fresh: &Successors,
        own: &mut Successors,
    );

    /// Sends what waits for others if it is much, and inserts what they have sent.
    fn exchange(&mut self, shared: &Shared<'_, S>, shard: &mut H);

    /// This worker has expanded so many states in this level, and no more will follow.
    fn end_level(&mut self, shared: &Shared<'_, S>, shard: &mut H, expanded: u64);

    /// Whether there is another level, once all workers have ended this one and everything that was
    /// sent is inserted; `None` if this takes longer.
    fn goes_on(&mut self, shared: &Shared<'_, S>, shard: &mut H) -> Option<bool>;

    /// Whether there is more to do in the level that all workers have ended, because one of them was stopped in the
    /// middle of it.
    fn stays(&self) -> bool {
        false
    }

    /// The bytes that wait here.
    fn bytes(&self) -> usize {
        0
    }
}

/// One worker, who has all states, until there are many.
pub(super) struct Alone {
    /// With how many states the search goes on in another way.
    pub(super) large: u32,
}

impl<S: System, H: States> Outbox<S, H> for Alone {
    const ALONE: bool = true;

    fn place(&self) -> (u32, u32) {
        (1, 0)
    }

    fn sort(&mut self, _: &Shared<'_, S>, _: &S::Tables, _: &Successors, _: &mut Successors) {}

    fn exchange(&mut self, _: &Shared<'_, S>, _: &mut H) {}

    fn end_level(&mut self, _: &Shared<'_, S>, _: &mut H, _: u64) {}

    fn goes_on(&mut self, shared: &Shared<'_, S>, shard: &mut H) -> Option<bool> {
        Some(shard.has_more() && shard.len() < self.large && !shared.is_stopped())
    }
}

/// What the workers of one process send each other by.
pub(super) struct Post {
    boxes: Vec<Mutex<Successors>>,
    barrier: Barrier,
    more: AtomicBool,
}

impl Post {
    pub(super) fn new(workers: u32) -> Post {
        Post {
            boxes: (0..workers).map(|_| Mutex::default()).collect(),
            barrier: Barrier::new(workers as usize),
            more: AtomicBool::new(false),
        }
    }
}

/// One of several workers of one process.
pub(super) struct Mail<'m> {
    post: &'m Post,
    index: u32,
    /// Per worker what waits for it.
    out: Vec<Successors>,
}

/// Rows sent to another worker at a time.
const PARCEL: usize = 2048;

impl Mail<'_> {
    pub(super) fn new(post: &Post, index: u32) -> Mail<'_> {
        Mail { post, index, out: post.boxes.iter().map(|_| Successors::default()).collect() }
    }

    /// Sends what waits for other workers, where it is at least `least` rows.
    fn send(&mut self, least: usize) {
        for (to, out) in self.out.iter_mut().enumerate() {
            if out.len() >= least {
                let mut mail = self.post.boxes[to].lock().unwrap_or_else(PoisonError::into_inner);
                for (row, parent, asleep) in out.each() {
                    mail.push_of(parent, row, asleep);
                }
                drop(mail);
                out.clear();
            }
        }
    }

    /// Inserts what others have sent.
    fn collect(&mut self, shard: &mut impl States) {
        let mail = &self.post.boxes[self.index as usize];
        let mut mail = mail.lock().unwrap_or_else(PoisonError::into_inner);
        let batch = std::mem::take(&mut *mail);
        drop(mail);
        shard.insert(&batch);
    }
}

impl<S: System, H: States> Outbox<S, H> for Mail<'_> {
    fn place(&self) -> (u32, u32) {
        (self.out.len() as u32, self.index)
    }

    fn sort(&mut self, _: &Shared<'_, S>, _: &S::Tables, fresh: &Successors, own: &mut Successors) {
        let workers = self.out.len() as u32;
        for (row, parent, asleep) in fresh.each() {
            let to = owner(row, workers);
            let out = if to == self.index { &mut *own } else { &mut self.out[to as usize] };
            out.push_of(parent, row, asleep);
        }
    }

    fn exchange(&mut self, _: &Shared<'_, S>, shard: &mut H) {
        self.send(PARCEL);
        self.collect(shard);
    }

    fn end_level(&mut self, _: &Shared<'_, S>, _: &mut H, _: u64) {
        self.send(1);
    }

    fn goes_on(&mut self, shared: &Shared<'_, S>, shard: &mut H) -> Option<bool> {
        let Post { barrier, more, .. } = self.post;
        barrier.wait();
        self.collect(shard);
        if shard.has_more() && !shared.is_stopped() {
            more.store(true, Ordering::Relaxed);
        }
        barrier.wait();
        let goes_on = more.load(Ordering::Relaxed);
        if barrier.wait().is_leader() {
            more.store(false, Ordering::Relaxed);
        }
        if goes_on {
            // Nobody may ask for more before the leader has cleared the flag.
            barrier.wait();
        }
        Some(goes_on)
    }
}

/// The worker that a row belongs to. Fields that are 0 do not count, so that rows may grow.
pub(crate) fn owner(row: &[u32], workers: u32) -> u32 {
    let mut h = 0u64;
    for (i, &field) in row.iter().enumerate() {
        h ^= (u64::from(field) << 32 | (i as u64 + 1))
            .wrapping_mul(if field == 0 { 0 } else { 0x9e37_79b9_7f4a_7c15 })
            .rotate_left(23)
            .wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    among(h, workers)
}

/// The worker that a hash stands for: by its middle bits, never those that tables index with.
pub(crate) fn among(hash: u64, workers: u32) -> u32 {
    ((((hash >> 20) & 0xffff_ffff) * u64::from(workers)) >> 32) as u32
}
