//! Real code under control: who runs next, what is watched, what is reported.
//!
//! Nothing here touches a real program: `rt`, the library inside of an instrumented program, tells
//! what each thread is about to do ([`Op`]), asks a [`Strategy`] who may, and passes on what
//! happened. So all of it can be tested with programs that are only data ([`testing`]).
//!
//! # The files
//!
//! `op.rs` says what a step is and which conflict, `strategy.rs` is the question who runs next,
//! `share.rs` hands out parts of what is to be explored to several workers, `plan.rs` the names of
//! the answers: `bounded.rs`, `dpor.rs` (with `dpor/order.rs`, what happens before what,
//! `dpor/wakeup.rs`, what is to be explored, and `dpor/whole.rs`, all of it for several workers,
//! who get parts as `dpor/part.rs` writes them), `rf.rs` (with `rf/execution.rs`, an execution as a
//! graph, `rf/linear.rs`, is there an order of a part of it, and `rf/level.rs`, what an execution
//! leads to), `random.rs`, `pct.rs`, `replay.rs` for the tokens of `token.rs`. `watch.rs` makes
//! events of steps and keeps what monitors find; `races.rs` finds data races with vector clocks,
//! and `races/counts.rs` says whether the order of counted references can be told; `formats.rs`
//! says which arguments of `printf` and `scanf` are memory; `class.rs` are the monitors for a whole
//! class of executions, `profile.rs` counts preemptions and sees which lines are interleaved,
//! `added.rs` the fences that a program is looked at as if it had, `advice.rs` those that would
//! prevent a finding, `late.rs` the stores that were late in buffers; `closed.rs` who never goes
//! on, whatever others do; `wire.rs` are the configuration and the messages of the runtime library,
//! `x86.rs` the instructions that update memory. `testing.rs` are programs that are only data, with
//! all their executions by brute force.

mod added;
mod advice;
mod bounded;
mod class;
mod closed;
mod compiled;
mod dpor;
pub mod formats;
mod late;
mod op;
mod overlap;
mod pct;
mod plan;
mod profile;
mod races;
mod random;
mod replay;
mod rf;
mod share;
mod step;
mod strategy;
pub mod testing;
mod token;
mod watch;
pub mod wire;
pub mod x86;

pub use added::Extra;
pub use advice::preventing;
pub use bounded::{Bounded, BoundedWhole};
pub use closed::closed;
pub use compiled::{Compiled, compiled};
pub use dpor::{Dpor, DporWhole};
pub use late::late;
pub use op::{Agent, Op, OpKind, waits};
pub use pct::Pct;
pub use plan::Plan;
pub use profile::{Contact, Profile};
pub use races::{Race, Racer, Races, Rules, Sync};
pub use random::Random;
pub use replay::Replay;
pub use rf::Rf;
pub use share::{Parts, Whole};
pub use step::{Order, Step};
pub use strategy::{Choice, Diverged, Ended, Next, Strategy};
pub use token::{Choices, TokenError};
pub use watch::{Finding, Transactions, Watch};
