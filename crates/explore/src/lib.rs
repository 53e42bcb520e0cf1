//! Questions about a program: which final states can it reach under SC, TSO and PSO?

mod answer;
mod buffers;
mod eval;
mod fence;
mod flow;
mod intern;
mod liveness;
mod memory;
mod meter;
mod monitored;
mod reach;
mod robust;
mod sc;
mod transactions;
mod tso;

pub use answer::{NoAnswer, Reach};
pub use buffers::outcomes::{Judgement, Outcomes, Strategy, outcomes};
pub use fence::{FenceQuestion, Fences, fenced, fences, hitting, misses_goal};
pub use meter::Meter;
pub use monitored::{Interleavings, Monitored, Seen, Which, interleavings, monitored};
pub use reach::{Algorithm, reach};
pub use robust::overtakings::{Overtaken, Overtakings, delayed_run, overtakings, plainer_run};
pub use robust::triangular::{TriangularRaceFree, triangular_race_free};
pub use robust::{Decide, Reordered, Robust, robust};
pub use transactions::{
    AddedFence, FencedProgram, SerialBy, Serializable, fence_program, serializable,
};
pub use tso::dual::dual_reach;
pub use tso::lazy::{At, Emulation, First, Lazily, Queries, extend, reach_lazily};
