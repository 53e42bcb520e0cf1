//! What threads do with each other: pthreads, C11, futexes, guards of C++,
//! functions of other checkers.

pub mod barriers;
pub mod c11;
pub mod futex;
mod initial;
pub mod keys;
mod late;
pub mod locks;
pub mod misuse;
pub mod mutex;
pub mod pthread;
pub mod queues;
pub mod rwlocks;
mod statics;
pub mod unwind;
pub mod unwinding;
pub mod verifier;
pub mod waits;
pub mod words;
