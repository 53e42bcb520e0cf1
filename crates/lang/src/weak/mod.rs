//! The `.weak` language: a small language for concurrent algorithms, described in
//! `docs/reference/weak-language.md`. [`parse`] turns text into a syntax tree, [`compile`] the tree into a
//! program, and [`print()`] the tree into text in canonical form.

mod automaton;
mod compile;
mod flow;
mod lexer;
mod lower;
mod operand;
mod operators;
mod parser;
mod print;
mod question;
mod scope;
mod statement;
pub mod syntax;
#[cfg(test)]
mod tests;

pub use compile::compile;
pub use parser::parse;
pub use print::print;
pub use syntax::File;
