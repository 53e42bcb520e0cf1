//! Real code under control: who runs next, what is watched, what is reported.
//!
//! Nothing here touches a real program: `rt`, the library inside of an instrumented program, tells
//! what each thread is about to do ([`Op`]), asks a [`Strategy`] who may, and passes on what
//! happened. So all of it can be tested with programs that are only data ([`testing`]).
//!
//! # The files
//!
//! `op.rs` says what a step is and which conflict, `strategy.rs` is the question who runs next; in `strategy/` are the
//! answers: `bounded.rs`, `dpor.rs` (with `dpor/order.rs`, what happens before what, `dpor/wakeup.rs`, what is to be
//! explored, and `dpor/whole.rs`, all of it for several workers, who get parts as `dpor/part.rs` writes them), `rf.rs` (with
//! `rf/execution.rs`, an execution as a graph, `rf/linear.rs`, is there an order of a part of it, and `rf/level.rs`, what an
//! execution leads to), `random.rs`, `pct.rs`, `replay.rs` for the tokens of `token.rs`; `plan.rs` has their names, `share.rs`
//! hands out parts to several workers, `closed.rs` says who never goes on, whatever others do. `watch.rs` makes events of
//! steps and keeps what monitors find; `watch/class.rs` are the monitors for a whole class of executions, `watch/races.rs`
//! finds data races with vector clocks, `watch/profile.rs` counts preemptions and sees which lines are interleaved,
//! `watch/added.rs` are the fences that a program is looked at as if it had, `watch/advice.rs` those that would prevent a
//! finding, `watch/late.rs` the stores that were late in buffers. `formats.rs` says which arguments of `printf` and `scanf`
//! are memory; `wire.rs` are the configuration and the messages of the runtime library, `x86.rs` the instructions that
//! update memory. `testing.rs` are programs that are only data, with all their executions by brute force.

pub mod formats;
mod op;
mod step;
mod strategy;
pub mod testing;
mod watch;
pub mod wire;
pub mod x86;

pub use op::{BEYOND_MEMORY, Op, OpKind, waits};
pub use step::{Order, Step};
pub use strategy::bounded::{Bounded, BoundedWhole};
pub use strategy::closed::closed;
pub use strategy::dpor::{Dpor, DporWhole};
pub use strategy::pct::Pct;
pub use strategy::plan::Plan;
pub use strategy::random::Random;
pub use strategy::replay::Replay;
pub use strategy::rf::Rf;
pub use strategy::share::{Parts, Whole};
pub use strategy::{Choice, Diverged, Ended, Next, Strategy};
pub use watch::added::Extra;
pub use watch::advice::preventing;
pub use watch::compiled::{Compiled, compiled};
pub use watch::late::{Reaches, late, reaches};
pub use watch::profile::{Contact, Profile};
pub use watch::races::{Race, Racer, Races, Rules, Sync, What};
pub use watch::{Finding, Transactions, Watch};
pub use weakspot_core::{Agent, Choices, TokenError};
