//! The integration tests, one binary of them:
//! - `evidence`: the checks of cycles and orders against the definition, and what the monitors give
//!   against both;
//! - `inherited`: cycles through a transaction that is still open, a chain of others, and back:
//!   each is related to the next only by the thread, a lock, or the start or end of a thread;
//! - `journal`: cycles in logs that are not read again: what is told about them is what reading
//!   again says;
//! - `logs`: from logs to events of transactions: transactions, locations that overlap, threads,
//!   fences;
//! - `memory`: what the monitors remember does not grow with the length of an execution, whatever
//!   its shape;
//! - `online`: the online monitors against the definition, on random executions;
//! - `traces`: what is said about traces against the definitions, by all stages, with all evidence
//!   checked;
//! - `whole`: traces in which one access is several events: what is said about them is never wrong.

mod evidence;
mod inherited;
mod journal;
mod logs;
mod memory;
mod online;
mod traces;
mod whole;

/// References allocate a lot: this makes them faster by a third.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
