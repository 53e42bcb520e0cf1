//! Real code under control: who runs next, what is watched, what is reported.
//!
//! Nothing here touches a real program: `rt`, the library inside of an instrumented program, tells
//! what each thread is about to do ([`Op`]), asks a [`Strategy`] who may, and passes on what
//! happened. So all of it can be tested with programs that are only data.

mod advice;
mod op;
mod strategy;
mod watch;

pub use advice::preventing;
pub use op::{Agent, Op, OpKind};
pub use strategy::{Choice, Ended, Next, Strategy};
pub use watch::{Extra, Finding, Order, Step, Watch};
