//! Questions about transactions: is an execution, or a trace of one, serializable under SC and TSO?
//!
//! # The files
//!
//! `online.rs` are the monitors for executions, one call per event, on the graph of `graph.rs`;
//! `online/sc.rs` is the path of those without commits, `graph/compact.rs` keeps the graph small.
//! `trace.rs` goes through the stages for traces: `runs.rs` tries executions, `groups.rs` says
//! between which transactions there may be cycles at all, `points.rs` which ones have a point in
//! time each, `part.rs` what a cycle is, `chains.rs` searches them, `cycles.rs` asks SAT;
//! `acyclic.rs` is the graph that says which directions are possible together; `tidy.rs` and
//! `shortest.rs` make what was found easy to read. For logs, `core/src/serial/log.rs` makes events
//! of transactions from those of a log, `follow.rs` is all of it for one log, with the passes that
//! check cycles and orders (`core/src/serial/stream.rs`) and find out what they are about,
//! `journal.rs` the notes that stand in for these passes when the log is a pipe; `fenced.rs` adds
//! fences.

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
