//! What things mean: programs, events and executions, the SC, TSO and PSO machines and axioms,
//! verdicts, and the checker of their evidence. Everything else in weakspot stands on this crate,
//! and this crate stands on nothing of ours.

pub mod axioms;
mod certified;
pub mod certify;
pub mod cycle;
mod delayed;
mod diagnostic;
mod event;
mod expr;
pub mod fence_proof;
mod fences;
pub mod history;
mod ids;
mod limits;
mod log;
mod lrat;
pub mod machine;
mod model;
mod ops;
mod outcomes;
mod overtaking;
mod program;
mod record;
pub mod reference;
mod relation;
pub mod serial;
mod source;
pub mod testing;
mod transactions;
mod triangular;
mod verdict;
mod write_table;

pub use certified::{Certification, Certified, Claim, Effort, FenceClaim, TxnClaim};
pub use diagnostic::Diagnostic;
pub use event::{Event, Execution, History, Op, Trace};
pub use expr::{BinOp, DivisionByZero, Expr, UnOp};
pub use fence_proof::{Clause, FenceCosts};
pub use fences::{FencePlaces, Goal, PlaceEdge, PlacedFence, same_program};
pub use history::{
    Derivation, HistoryCycle, HistoryEdge, HistoryEvidence, HistoryStep, Rule, Why, Within,
    initial_write, initial_write_var,
};
pub use ids::{EventId, LocId, PointId, RegId, ThreadId};
pub use limits::{Limits, Progress, Silent, Snapshot};
pub use log::{Bytes, LogBatch, LogEvent, LogKind, LogLoc, LogTables, LogValue};
pub use lrat::{LratError, LratStep, lrat};
pub use model::{Drain, Model};
pub use ops::{HistoryModel, INITIAL, LoggedOp, OpKind, OpNames, Ops, SaidFrom};
pub use outcomes::{Factor, OutcomeSet};
pub use overtaking::{DelayedCommit, DelayedRun, End, Overtaking};
pub use program::{
    Condition, Edge, Fence, Instr, Location, Observable, Observed, Point, Program, Quantifier,
    Thread, Undeclared, Value, View,
};
pub use record::{Recording, record};
pub use serial::{TxnEvent, TxnKind};
pub use source::{Names, Span};
pub use transactions::{Open, Part, Transactions, TxnMark, is_event};
pub use triangular::{TriangularRace, triangular_race};
pub use verdict::{Evidence, Limit, Verdict, Violation};
pub use write_table::{WriteTable, Written};
