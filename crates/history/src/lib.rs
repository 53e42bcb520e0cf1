//! Questions about a recorded history: which of the models from causal to sequential consistency
//! does it satisfy?
//!
//! # The files
//!
//! `causal/` decides the causal models with the clocks and graphs of `graph/`: `clocks.rs` has what
//! comes before each write, `past.rs` the past of a thread's reads, `memory.rs` what CM demands,
//! `convergent_memory.rs` and `weak.rs` CCM and wCCM on top of it with the partial store order of
//! `store.rs`; `walk.rs` finds cycles, `explain.rs` makes evidence of them. `classify.rs` asks
//! about several models and takes over what one answer says about another, `minimise.rs` finds a
//! smallest part that violates a model. `ways.rs` tries which write was read, where a value was
//! written more than once. `open.rs` counts the pairs of writes that partial store orders leave
//! open. `coherent.rs` decides coherence, block by block, and `linearizable.rs` linearizability
//! with the same blocks; `clock.rs` makes real time a part of a history, for what blocks do not
//! say. `follow.rs` checks a history while it is written, in the windows of `window.rs`, whose head
//! says why their violations are those of the whole; `settled.rs` says of linearizability that it
//! holds, `kept.rs` keeps logs with times for what neither says.
//!
//! `transactions/` is about transactions of databases (docs/reference/database-transactions.md):
//! `weak.rs` adds what read committed, read atomic and causal consistency ask of commit orders to
//! the graph of `graph.rs`, `serial.rs` saturates and searches for serializability, `explain.rs`
//! makes evidence of cycles.
//!
//! For SC, TSO and PSO (docs/how/gradual.md), `check.rs` goes through the stages in `gradual/`:
//! `chains.rs` are the orders that hold from the start, `greedy.rs` the run that learns,
//! `estimate.rs` the guess for histories of many threads, `saturate.rs` what follows in every
//! witness, `part.rs` a piece of a history around the place where a run was stuck, `search.rs`,
//! `enumerate.rs` and `sat.rs` the completions, `crates/sat` the solver with its proofs, `order.rs`
//! the graph that both extend, `refuted.rs` the evidence by cases, `linear.rs` that of a run.

mod answer;
mod causal;
mod check;
mod classify;
mod clock;
mod coherent;
mod follow;
mod gradual;
mod graph;
mod kept;
mod linearizable;
mod minimise;
mod open;
mod settled;
mod transactions;
mod ways;
mod window;

pub use answer::{Answer, Complete, DecidedBy, Method};
pub use check::check;
pub use classify::{Classified, Defect, classify};
pub use follow::{Broken, Following, Stopped};
pub use minimise::{Minimal, Shown, minimal_part, minimise};
pub use open::{Pairs, open_pairs};
pub use transactions::{TxnAnswer, TxnClassified, classify_transactions};
pub use ways::{Chosen, classify_open};
pub use weakspot_sat::Meter;
pub use window::{Excerpt, Refused, RefusedWhy, Window};
