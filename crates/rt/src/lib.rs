//! The library inside of an instrumented program: its threads are coroutines of one thread of the
//! system, its memory is put back after each execution, and everything that threads may notice of
//! each other is announced to a [`Strategy`](weakspot_live::Strategy) that says who goes on.
//!
//! Without `WEAKSPOT_RUN` in the environment it does nothing.
//!
//! What the `unsafe` in here relies on, wherever nothing else is said:
//! - There is one thread of the system. So the `Runtime`, which is reached
//!   through a raw pointer, is never used at the same time by two; references to parts of it end
//!   before coroutines are switched.
//! - Functions that stand in for one of libc get what the caller would have given to that one; where
//!   the program breaks that rule it crashes here as it would have there, and that is reported.
//! - The runtime and all that it owns is in the arena, which the program does not know.

mod access;
mod config;
mod entry;
mod execution;
mod memory;
mod report;
mod runtime;
mod schedule;
mod sync;
mod sys;
mod world;

#[global_allocator]
static ARENA: memory::arena::Arena = memory::arena::Arena;
