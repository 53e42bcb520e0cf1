//! Where litmus tests come from, by cycles. Where histories come from: random clients on an atomic memory, on TSO and PSO machines, on
//! simulated cache coherence protocols with or without bugs, and on the CPU that this runs on.
//!
//! # The files
//!
//! `client.rs` says what CPUs do, `source.rs` who runs it; `machines.rs` are the machines,
//! `simulate.rs` the simulation of protocols with a file for each below it, `hardware.rs` this CPU,
//! `bug.rs` the bugs; `order.rs` checks that the order in which operations took effect explains
//! what was read.

mod bug;
mod client;
mod cycle;
mod generate;
mod hardware;
mod machines;
mod order;
mod recorded;
mod simulate;
mod source;
mod transactions;

pub use bug::Bug;
pub use client::{Client, ClientError};
pub use cycle::{Com, Cycle, CycleError, CycleSyntax, Dir, Edge, Event, FenceKind, critical};
pub use generate::{GenError, generate};
pub use hardware::{Layout, MOST_THREADS, record};
pub use order::{Breach, explains};
pub use recorded::Recorded;
pub use source::{Run, Source};
pub use transactions::transactions;
