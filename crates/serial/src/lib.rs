//! Questions about transactions: is an execution, or a trace of one, serializable under SC and TSO?

mod acyclic;
mod chains;
mod cycles;
mod graph;
mod groups;
mod online;
mod part;
mod runs;
mod trace;

pub use online::{Online, Refused};
pub use trace::{TraceAnswer, TraceMethod, TraceStage, check_trace};
