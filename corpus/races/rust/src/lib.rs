//! What the tests share.

use std::cell::UnsafeCell;

/// A cell that threads share without asking anybody.
pub struct Raw<T>(UnsafeCell<T>);

// SAFETY: it is not; that is what the tests are about.
unsafe impl<T> Sync for Raw<T> {}

impl<T: Copy> Raw<T> {
    pub const fn new(value: T) -> Raw<T> {
        Raw(UnsafeCell::new(value))
    }

    #[inline(always)]
    pub fn get(&self) -> T {
        unsafe { *self.0.get() }
    }

    #[inline(always)]
    pub fn set(&self, value: T) {
        unsafe { *self.0.get() = value }
    }
}
