//! A ring buffer for one producer and one consumer, as in Lamport's "Specifying concurrent program
//! modules" (1983).

use std::cell::UnsafeCell;
use std::sync::atomic::{
    AtomicUsize, Ordering,
    Ordering::{Acquire, Relaxed, Release},
};

const SIZE: usize = 2;

/// The buffer. `publish` and `look` are the orders in which positions are stored and loaded.
#[derive(Debug)]
pub struct Ring {
    values: [UnsafeCell<u32>; SIZE],
    head: AtomicUsize,
    tail: AtomicUsize,
    publish: Ordering,
    look: Ordering,
}

// SAFETY: a cell is written by the producer while it is free, and read by the consumer while it is
// not; the positions say which, and hand it over.
unsafe impl Sync for Ring {}

impl Ring {
    /// With release and acquire.
    #[must_use]
    pub fn ordered() -> Ring {
        Ring::new(Release, Acquire)
    }

    /// With relaxed positions: wrong under PSO.
    #[must_use]
    pub fn relaxed() -> Ring {
        Ring::new(Relaxed, Relaxed)
    }

    fn new(publish: Ordering, look: Ordering) -> Ring {
        let values = [const { UnsafeCell::new(0) }; SIZE];
        Ring { values, head: AtomicUsize::new(0), tail: AtomicUsize::new(0), publish, look }
    }

    /// Appends a value unless the buffer is full. For the producer only.
    pub fn push(&self, value: u32) -> bool {
        let tail = self.tail.load(Relaxed);
        if tail - self.head.load(self.look) == SIZE {
            return false;
        }
        // SAFETY: the cell is free, and there is one producer.
        unsafe { *self.values[tail % SIZE].get() = value };
        self.tail.store(tail + 1, self.publish);
        true
    }

    /// Takes the oldest value. For the consumer only.
    pub fn pop(&self) -> Option<u32> {
        let head = self.head.load(Relaxed);
        if self.tail.load(self.look) == head {
            return None;
        }
        // SAFETY: the cell is filled, and there is one consumer.
        let value = unsafe { *self.values[head % SIZE].get() };
        self.head.store(head + 1, self.publish);
        Some(value)
    }
}
