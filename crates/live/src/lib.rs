//! Real code under control: who runs next, what is watched, what is reported.
//!
//! Nothing here touches a real program: `rt`, the library inside of an instrumented program, tells
//! what each thread is about to do ([`Op`]), asks a [`Strategy`] who may, and passes on what
//! happened. So all of it can be tested with programs that are only data ([`testing`]).

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
