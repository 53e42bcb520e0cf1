//! What threads do with each other: pthreads, C11, futexes.

pub mod c11;
pub mod futex;
pub mod keys;
pub mod locks;
pub mod pthread;
pub mod queues;
pub mod unwind;
pub mod unwinding;
pub mod waits;
