//! Questions about a stream: could TSO or PSO have broken this SC execution, and where?
//!
//! [`Monitor`] is the fast engine, one call per event or per batch of events. [`mod@reference`] is what
//! it has to say, by definition. [`witness`](witness()) makes of a report the run that shows it.
//! [`Watch`] does all of it for one log.

mod cells;
mod engine;
mod monitor;
#[cfg(test)]
mod reference_tests;
mod run;
mod sober;
mod tally;
#[cfg(test)]
mod test_logs;
mod values;
mod watch;
mod witness;

pub use engine::Refused;
pub use monitor::Monitor;
pub use reference::{Form, Report};
pub use sober::{Definition, Sober};
pub use values::Values;
pub use watch::{Algorithm, Findings, Shown, Watch, show};
pub use weakspot_core::monitors as reference;
pub use witness::witness;
