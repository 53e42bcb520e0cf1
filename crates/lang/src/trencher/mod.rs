//! Trencher's `.txt` programs: threads as automata over registers and one unbounded memory, in
//! prefix notation. `docs/reference/trencher-and-memorax.md` says what is accepted and what it means.

mod compile;
mod parse;
mod print;
mod syntax;
#[cfg(test)]
mod tests;
mod words;

pub use compile::compile;
pub use parse::parse;
pub use print::print;
pub use syntax::{Expr, ExprKind, File, Instr, MemorySize, Op, Thread, Transition};
