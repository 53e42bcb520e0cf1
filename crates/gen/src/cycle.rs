//! Litmus tests from cycles: a cycle of steps between accesses, by the names that users of diy7
//! know, to a test whose condition holds if the cycle is an execution.

mod all;
mod edge;
mod events;
mod name;
mod text;

pub use all::critical;
pub use edge::{Com, Dir, Edge, FenceKind};
pub use events::{Cycle, CycleError, Event};
pub use text::CycleSyntax;
