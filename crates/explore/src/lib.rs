//! Questions about a program: which final states can it reach under SC, TSO and PSO?

mod attack;
mod block;
mod dual;
mod explicit;
mod fence;
pub mod hitting;
mod holds;
mod independence;
mod intern;
mod lazy;
mod live;
mod local;
mod memory;
mod meter;
mod outcomes;
mod overtakings;
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
mod transactions;
mod triangular;
mod walk;
mod write_order;

pub use dual::dual_reach;
pub use fence::{FenceQuestion, Fences, fenced, fences, misses_goal};
pub use lazy::{At, Emulation, First, Lazily, Queries, extend, reach_lazily};
pub use meter::Meter;
pub use outcomes::{Judgement, Outcomes, Strategy, outcomes};
pub use overtakings::{Overtaken, Overtakings, delayed_run, overtakings, plainer_run};
pub use reach::{Algorithm, NoAnswer, Reach, reach};
pub use robust::{Decide, Reordered, Robust, robust};
pub use transactions::{
    AddedFence, FencedProgram, SerialBy, Serializable, fence_program, serializable,
};
pub use triangular::{TriangularRaceFree, triangular_race_free};
