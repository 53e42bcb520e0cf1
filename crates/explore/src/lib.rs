//! Questions about a program: which final states can it reach under SC, TSO and PSO, is it robust,
//! does it stay out of bad states, which fences does it need?
//!
//! Every answer carries evidence that the checker of `weakspot_core` has accepted. Limits hold for
//! a question, from [`Limits::begin`](weakspot_core::Limits::begin) to its answer.
//!
//! ```
//! use weakspot_core::{Limits, Model, Silent, Verdict};
//! use weakspot_explore::{Decide, robust};
//!
//! // Store buffering: under TSO both threads may read 0.
//! let text = "shared x = 0, y = 0
//!     thread p { var r; x = 1; r = y }
//!     thread q { var s; y = 1; s = x }";
//! let parsed = weakspot_lang::parse(weakspot_lang::Format::Weak, text).expect("a program");
//! let ask = |model| {
//!     robust(&parsed.program, model, Decide::Pending, &Limits::UNLIMITED, &mut Silent)
//! };
//! let answer = ask(Model::Tso).expect("the program does nothing without meaning");
//! assert_eq!(answer.verdict, Verdict::Violated);
//! // The store of x is overtaken by the load of y.
//! let reordered = answer.reordered.expect("what is reordered");
//! assert!(reordered.store < reordered.access);
//! ```

mod abstraction;
mod answer;
mod buffers;
mod eval;
mod fence;
mod flow;
mod intern;
mod keep;
mod liveness;
mod memory;
mod meter;
mod monitored;
mod reach;
mod robust;
mod sc;
mod team;
mod transactions;
mod tso;

pub use answer::{NoAnswer, Reach};
pub use buffers::outcomes::{Judgement, Outcomes, Strategy, outcomes};
pub use fence::{FenceQuestion, Fences, fenced, fences, hitting, misses_goal};
pub use keep::Keep;
pub use meter::Meter;
pub use monitored::{Interleavings, Monitored, Seen, Which, interleavings, monitored};
pub use reach::{Algorithm, reach, reach_kept, reach_together};
pub use robust::overtakings::{Overtaken, Overtakings, delayed_run, overtakings, plainer_run};
pub use robust::triangular::{TriangularRaceFree, triangular_race_free};
pub use robust::{Decide, Reordered, Robust, robust, robust_kept, robust_together};
pub use team::{Link, Team};
pub use transactions::{
    AddedFence, FencedProgram, SerialBy, Serializable, fence_program, serializable,
};
pub use tso::dual::dual_reach;
pub use tso::lazy::{At, Emulation, First, Lazily, Queries, extend, extend_pso, reach_lazily};

/// References allocate a lot: this makes them faster by a third.
#[cfg(test)]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
