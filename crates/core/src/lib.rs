//! What things mean: programs, events and executions, the SC, TSO and PSO machines and axioms,
//! verdicts, and the checker of their evidence. Everything else in weakspot stands on this crate,
//! and this crate stands on nothing of ours.

mod expr;
mod ids;
mod program;
mod source;

pub use expr::{BinOp, DivisionByZero, Expr, UnOp};
pub use ids::{EventId, LocId, PointId, RegId, ThreadId};
pub use program::{
    Condition, Edge, Fence, Instr, Location, Observable, Observed, Point, Program, Quantifier,
    Thread, Undeclared, Value, View,
};
pub use source::{Names, Span};
