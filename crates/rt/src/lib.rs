//! The library inside of an instrumented program: its threads are coroutines of one thread of the
//! system, its memory is put back after each execution, and everything that threads may notice of
//! each other is announced to a [`Strategy`](weakspot_live::Strategy) that says who goes on.
//!
//! Without `WEAKSPOT_RUN` in the environment it does nothing.
//!
//! Rooms: `entry` is how calls of the program come in; `access` announces its loads and stores,
//! `sync` what threads do with each other, `world` what they do with the kernel; `schedule` lets one
//! thread after the other run; `memory` is put back after each execution; `execution` goes from the
//! first execution to the last. `runtime.rs` says who may switch to another thread, and why no
//! reference lives across that.
//!
//! What the `unsafe` in here relies on, besides what each block says:
//! - There is one thread of the system while the program is under control.
//! - Functions that stand in for one of libc get what the caller would have given to that one
//!   (`entry/guest.rs`); where the program breaks that rule it crashes here as it would have there,
//!   and that is reported as its crash.
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
