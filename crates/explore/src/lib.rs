//! Questions about a program: which final states can it reach under SC, TSO and PSO?

mod block;
mod explicit;
mod fence;
mod intern;
mod live;
mod local;
mod memory;
mod meter;
mod outcomes;
mod packed;
mod plain_pending;
mod reach;
mod robust;
mod sc;
mod schedule;
mod space;
mod threads;
mod write_order;

pub use fence::{FenceQuestion, Fences, fenced, fences, misses_goal};
pub use outcomes::{Judgement, Outcomes, Strategy, outcomes};
pub use reach::{Algorithm, NoAnswer, Reach, reach};
pub use robust::{Decide, Reordered, Robust, robust};
