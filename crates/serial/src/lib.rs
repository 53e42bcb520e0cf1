//! Questions about transactions: is an execution, or a trace of one, serializable under SC and TSO?

mod acyclic;
mod chains;
mod cycles;
mod execution;
mod fenced;
mod follow;
mod graph;
mod groups;
mod journal;
mod online;
mod part;
mod points;
mod runs;
mod shortest;
mod tidy;
mod touched;
mod trace;
mod whole;

pub use execution::{
    CycleEvents, ExecutionAnswer, ExecutionEvidence, NoAnswer, Pass, Replay, check_execution,
    sc_equivalent,
};
pub use fenced::{Fenced, fence_transactions};
pub use follow::{Explain, Extents, Follow, Ordered, Stop};
pub use journal::NotedCycle;
pub use online::{Online, Peak, Refused};
pub use touched::{Extent, Touched, TouchedEvents};
pub use trace::{NoTraceAnswer, TraceAnswer, TraceMethod, TraceStage, check_trace};
pub use weakspot_core::serial::{BadEvent, BadLog, Cut, TxnReader};
pub use whole::check_whole_trace;
