//! A SAT solver that knows of theories and proves what it says, and the meter that keeps it, and the
//! engines that use it, within limits.

mod cdcl;
mod clauses;
mod heap;
mod meter;
mod proof;

pub use cdcl::{NoTheory, Solver, Theory};
pub use meter::Meter;
pub use proof::{Lit, Proof, Refutation};
