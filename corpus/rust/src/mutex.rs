//! Mutual exclusion of two threads without atomic updates.

use std::sync::atomic::{
    AtomicBool, AtomicUsize, Ordering,
    Ordering::{Relaxed, Release, SeqCst},
    fence,
};

/// Dekker's algorithm, all accesses sequentially consistent.
#[derive(Debug, Default)]
pub struct Dekker {
    flag: [AtomicBool; 2],
    turn: AtomicUsize,
}

impl Dekker {
    /// Waits until thread `me`, 0 or 1, is alone.
    pub fn lock(&self, me: usize) {
        self.flag[me].store(true, SeqCst);
        while self.flag[1 - me].load(SeqCst) {
            if self.turn.load(SeqCst) != me {
                self.flag[me].store(false, SeqCst);
                while self.turn.load(SeqCst) != me {
                    std::hint::spin_loop();
                }
                self.flag[me].store(true, SeqCst);
            }
        }
    }

    /// Lets the other thread in.
    pub fn unlock(&self, me: usize) {
        self.turn.store(1 - me, SeqCst);
        self.flag[me].store(false, SeqCst);
    }
}

/// Peterson's algorithm, all accesses relaxed.
#[derive(Debug, Default)]
pub struct Peterson {
    flag: [AtomicBool; 2],
    turn: AtomicUsize,
}

/// Whether [`Peterson`] has the fences that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fences {
    /// All of them.
    All,
    /// None; it does not work then under TSO and PSO.
    None,
}

impl Fences {
    fn fence(self, order: Ordering) {
        if self == Fences::All {
            fence(order);
        }
    }
}

impl Peterson {
    /// Waits until thread `me`, 0 or 1, is alone.
    pub fn lock(&self, me: usize, fences: Fences) {
        self.flag[me].store(true, Relaxed);
        fences.fence(Release);
        self.turn.store(1 - me, Relaxed);
        fences.fence(SeqCst);
        while self.flag[1 - me].load(Relaxed) && self.turn.load(Relaxed) != me {
            std::hint::spin_loop();
        }
    }

    /// Lets the other thread in.
    pub fn unlock(&self, me: usize, fences: Fences) {
        fences.fence(Release);
        self.flag[me].store(false, Relaxed);
    }
}
