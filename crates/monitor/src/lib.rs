//! Questions about a stream: could TSO or PSO have broken this SC execution, and where?
//!
//! [`Monitor`] is the fast engine, one call per event or per batch of events. [`reference`] is what
//! it has to say, by definition. [`witness`](witness()) makes of a report the run that shows it.
//! [`Sober`] is another monitor for TSO, which warns on more executions.

mod cells;
mod engine;
mod mixed;
mod monitor;
pub mod reference;
mod run;
pub mod sober;
mod tally;
#[cfg(test)]
mod test_logs;
mod witness;

pub use monitor::{Monitor, Refused};
pub use reference::{Form, Report};
pub use sober::Sober;
pub use witness::witness;
