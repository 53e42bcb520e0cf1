//! What is outside of the program: time, chance, files, the kernel.
//!
//! `clock.rs` makes time and chance the same in each execution, `blocking.rs` is about calls that wait
//! for somebody, `handlers.rs` about what the kernel is told of signals, `kernel.rs` about calls that
//! leave something which putting memory back does not put back, `descriptors.rs` about files that are
//! open, `stdio.rs` about files of libc that are locked, `streams.rs` about those over pipes, `kept.rs` about what is there once for all threads.

pub mod blocking;
pub mod clock;
pub mod descriptors;
pub mod handlers;
pub mod kept;
pub mod kernel;
pub mod stdio;
pub mod streams;
