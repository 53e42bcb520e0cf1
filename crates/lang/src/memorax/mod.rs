//! Memorax's `.rmm` programs: processes with structured code over shared variables and registers,
//! and combinations of labels that must not be reached. `docs/reference/trencher-and-memorax.md` says what
//! is accepted and what it means.

mod build;
mod compile;
mod expressions;
mod layout;
mod lexer;
mod locked;
mod macros;
mod parse;
mod print;
mod statements;
mod syntax;
#[cfg(test)]
mod tests;

pub use compile::compile;
pub use parse::parse;
pub use print::print;
pub use syntax::{
    BoolExpr, BoolKind, Comparison, Decl, Expr, ExprKind, FenceKind, File, Forbidden, Place,
    PlaceKind, Process, Stmt, StmtKind, WriteKind,
};
