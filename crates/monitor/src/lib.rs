//! Questions about a stream: could TSO or PSO have broken this SC execution, and where?
//!
//! [`Monitor`] is the fast engine, one call per event or per batch of events.

mod engine;
mod mixed;
mod monitor;
mod run;
mod tally;

pub use monitor::{Form, Monitor, Refused};
