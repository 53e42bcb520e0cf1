//! Questions about a program: which final states can it reach under SC, TSO and PSO?

mod attack;
mod block;
mod dual;
mod explicit;
mod holds;
mod independence;
mod intern;
mod lazy;
mod live;
mod local;
mod memory;
mod meter;
mod outcomes;
mod packed;
mod pending;
mod plain_pending;
mod portfolio;
mod product;
mod reach;
mod robust;
mod sc;
mod schedule;
mod space;
mod symmetry;
mod threads;
mod tidy;
mod triangular;
mod walk;
mod write_order;

pub use dual::dual_reach;
pub use lazy::{At, Emulation, First, Lazily, Queries, extend, reach_lazily};
pub use outcomes::{Judgement, Outcomes, Strategy, outcomes};
pub use reach::{Algorithm, NoAnswer, Reach, reach};
pub use robust::{Decide, Reordered, Robust, robust};
pub use triangular::{TriangularRaceFree, triangular_race_free};
