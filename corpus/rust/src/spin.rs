//! A lock that spins.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{
    AtomicBool, Ordering,
    Ordering::{Acquire, Relaxed, Release},
};

/// A value behind a lock. `free` is the order of the store that frees it.
#[derive(Debug)]
pub struct Spin<T> {
    taken: AtomicBool,
    free: Ordering,
    value: UnsafeCell<T>,
}

// SAFETY: who has the lock has the value alone.
unsafe impl<T: Send> Sync for Spin<T> {}

impl<T> Spin<T> {
    /// Freed by a release store.
    pub fn new(value: T) -> Spin<T> {
        Spin { taken: AtomicBool::new(false), free: Release, value: UnsafeCell::new(value) }
    }

    /// Freed by a relaxed store, which is wrong under PSO.
    pub fn relaxed(value: T) -> Spin<T> {
        Spin { free: Relaxed, ..Spin::new(value) }
    }

    /// Waits for the lock.
    pub fn lock(&self) -> Guard<'_, T> {
        while self.taken.swap(true, Acquire) {
            while self.taken.load(Relaxed) {
                std::hint::spin_loop();
            }
        }
        Guard(self)
    }

    /// The value, when nobody shares it any more.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

/// The lock, taken.
#[derive(Debug)]
pub struct Guard<'a, T>(&'a Spin<T>);

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the lock is taken.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is taken.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        self.0.taken.store(false, self.0.free);
    }
}
