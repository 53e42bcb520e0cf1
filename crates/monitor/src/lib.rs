//! Questions about a stream: could TSO or PSO have broken this SC execution, and where?
//!
//! [`Monitor`] is the fast engine, one call per event or per batch of events. [`mod@reference`] is what
//! it has to say, by definition. [`witness`](witness()) makes of a report the run that shows it.
//! [`Watch`] does all of it for one log.
//!
//! ```
//! use weakspot_core::{LogEvent, LogKind, Model};
//! use weakspot_monitor::{Form, Monitor};
//!
//! // Thread 0 stores to x and reads y, then thread 1 stores to y and reads x.
//! let (x, y) = (0, 1);
//! let mut monitor = Monitor::new(&[Model::Tso], Form::All);
//! for (thread, kind, location) in [
//!     (0, LogKind::Write, x),
//!     (0, LogKind::Read, y),
//!     (1, LogKind::Write, y),
//!     (1, LogKind::Read, x),
//! ] {
//!     monitor.event(&LogEvent::new(thread, kind, location)).expect("an SC execution");
//! }
//! // Under TSO the read of x may come before the store to x reaches memory.
//! let reports = monitor.reports(Model::Tso);
//! assert_eq!(reports.len(), 1);
//! assert_eq!((reports[0].store.loc, reports[0].access.thread), (x, 1));
//! ```
//!
//! # The files
//!
//! `engine.rs` is the fast path of both monitors, `reference.rs` the definition that it is compared
//! with, `sober.rs` the second TSO monitor, `watch.rs` all of it for one log. It knows nothing of
//! programs.

mod engine;
mod monitor;
mod overlapping;
#[cfg(test)]
mod reference_tests;
mod run;
mod sober;
mod tally;
#[cfg(test)]
mod test_logs;
mod watch;
mod witness;

pub use engine::Refused;
pub use monitor::Monitor;
pub use overlapping::report_overlapping;
pub use reference::{Form, Report};
pub use sober::{Definition, Sober};
pub use watch::{Algorithm, Findings, Shown, Watch, show};
pub use weakspot_core::monitors as reference;
pub use witness::witness;
