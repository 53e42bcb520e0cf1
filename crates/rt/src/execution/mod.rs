//! Executions from the first to the last.
//!
//! `start.rs` is the keeper and its worker, `signals.rs` what they say to each other while both run,
//! `watchdog.rs` how the one looks after the other. `exploration.rs` counts, `monitors.rs` passes on
//! what happened. `ends.rs` are the ways in which an execution ends, `exits.rs` what the program has
//! registered for its end, `crashes.rs` signals, `panics.rs` what a program in Rust says before it
//! fails.

pub mod crashes;
pub mod ends;
pub mod exceptions;
pub mod exits;
pub mod exploration;
pub mod monitors;
pub mod panics;
pub mod parts;
mod races;
pub mod signals;
pub mod start;
pub mod watchdog;
