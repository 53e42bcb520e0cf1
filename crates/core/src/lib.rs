//! What things mean: programs, events and executions, the SC, TSO and PSO machines and axioms,
//! verdicts, and the checker of their evidence. Everything else in weakspot stands on this crate,
//! and this crate stands on nothing of ours.

mod choices;
mod course;
mod diagnostic;
mod evidence;
mod execution;
pub mod history;
mod ids;
mod limits;
mod log;
mod log_values;
pub mod machine;
mod model;
mod outcomes;
mod program;
pub mod serial;
pub mod testing;
pub mod transactional;

pub use choices::{Agent, Choices, TokenError};
pub use course::{Course, Met, Sample, SharedLine};
pub use diagnostic::Diagnostic;
pub use evidence::abstraction::Abstraction;
pub use evidence::certified::{Certification, Certified, Claim, Effort, FenceClaim, TxnClaim};
pub use evidence::fence_proof::{Clause, FenceCosts, FencesClaimed};
pub use evidence::lrat::{LratError, LratStep, lrat};
pub use evidence::omission::Omission;
pub use evidence::verdict::{Evidence, Limit, LostProcess, Verdict, Violation};
pub use evidence::{certify, fence_proof, monitors, reference, why_not};
pub use execution::delayed_source::DelayedSource;
pub use execution::event::{Event, Execution, Op, Trace};
pub use execution::log_cells::LogCells;
pub use execution::overlapping::Overlapping;
pub use execution::overtaking::{DelayedCommit, DelayedRun, DelayedValue, End, Known, Overtaking};
pub use execution::record::{Recording, record};
pub use execution::triangular::{TriangularRace, triangular_race};
pub use execution::{axioms, cycle};
pub use history::recorded::{
    History, HistoryModel, INITIAL, LoggedOp, OpKind, OpNames, SaidFrom, Times,
};
pub use history::write_table::{WriteTable, Written};
pub use history::{
    Derivation, HistoryCycle, HistoryEdge, HistoryEvidence, HistoryStep, HistoryWay, Rule, Why,
    Within, initial_write, initial_write_var,
};
pub use ids::{EventId, LocId, PointId, RegId, ThreadId};
pub use limits::{Limits, Progress, Silent, Snapshot};
pub use log::{Bytes, LogBatch, LogEvent, LogKind, LogLoc, LogTables, LogValue};
pub use log_values::{LogValues, NotSc};
pub use model::{Drain, Model};
pub use outcomes::{Factor, OutcomeSet};
pub use program::expr::{BinOp, DivisionByZero, Expr, UnOp};
pub use program::fences::{FencePlaces, Goal, PlaceEdge, PlacedFence, same_program};
pub use program::memory::Memory;
pub use program::source::{Names, Span, Unsigned};
pub use program::transactions::{Open, Part, Transactions, TxnMark, is_event};
pub use program::wide::{Wide, WideCell};
pub use program::{
    Condition, Edge, Fence, Instr, Location, Observable, Observed, Point, Program, Quantifier,
    Thread, Undeclared, Value, View,
};
pub use serial::{TxnEvent, TxnKind};
pub use transactional::{TxnEvidence, TxnHistory, TxnModel};
