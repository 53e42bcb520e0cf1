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
//!
//! # The files
//!
//! Each room is a way to look at a program, and `mod.rs` says which; a file imports only from what
//! stands above it in this list, or in its own room:
//! - `answer.rs`, `meter.rs`, `team.rs`, `keep.rs`, `storage.rs`, `flow.rs`, `liveness.rs`, `memory.rs`,
//!   `intern.rs`: what all of them need;
//! - `sc/`: its SC runs, as packed rows, with reductions; `moves.rs` has the sleep sets;
//!   `packed/outbox.rs` says where successors go (own table, other threads), `spread.rs` that they
//!   go to other processes, as `wire.rs` packs them; `kept.rs` keeps a search and goes on with it;
//! - `buffers/`: the machine with its store buffers, and all final states; `roles.rs` says which
//!   locations are shared at all, `alike.rs` which threads do the same;
//! - `abstraction/`: counters that grow for ever, by their order and small gaps;
//! - `robust/`: is anything done that SC does not do? One pending store, attacks, triangular races,
//!   and the runs that show it;
//! - `tso/`: everything that a program asks under TSO or PSO without all contents of its buffers:
//!   lazy, dual (under PSO with a queue per thread and address), runs with late stores that are tried,
//!   and the portfolio that races them (`reach.rs` at the root says who answers);
//! - `fence/`: the cheapest fences; `lang/src/patch.rs` writes them into the text;
//! - `transactions/`: are all executions serializable?
//! - `monitored/`: some executions, each run through the monitors of `monitor`.

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
mod storage;
mod team;
mod transactions;
mod tso;

pub use answer::{NoAnswer, Reach};
pub use buffers::outcomes::{Judgement, Outcomes, Strategy, outcomes, outcomes_kept};
pub use buffers::shown::{FinalState, final_states, reason};
pub use fence::{FenceQuestion, Fences, fenced, fences, hitting, misses_goal};
pub use keep::Keep;
pub use meter::Meter;
pub use monitored::{Interleavings, Monitored, Seen, Which, interleavings, monitored};
pub use reach::{Algorithm, reach, reach_kept, reach_together, reach_with_storage};
pub use robust::overtakings::{Overtaken, Overtakings, overtakings, plainer_run};
pub use robust::triangular::{TriangularRaceFree, triangular_race_free};
pub use robust::{
    Decide, Reordered, Robust, robust, robust_kept, robust_together, robust_with_storage,
};
pub use storage::{Scratch, Storage};
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
