//! Programs in a small part of C: threads of pthreads, atomics of C11 and of the compilers, data of
//! static storage. What a statement does is that of the machine: the instructions that compilers
//! make of it on x86 and SPARC, in the order of the text, not what C11 promises.

pub(crate) mod ast;
mod compile;
mod draft;
mod frozen;
mod headers;
mod list;
mod lower;
mod memory;
mod naming;
mod parse;
mod preprocess;
mod setting;
mod specialise;
#[cfg(test)]
mod tests;
mod tidy;
mod token;
mod types;
mod visit;

use crate::Diagnostic;
pub(crate) use compile::compile;
pub use setting::{COptions, Setting};

/// The syntax tree of a text.
pub(crate) fn parse(text: &str, setting: &Setting) -> Result<ast::Unit, Diagnostic> {
    parse::unit(preprocess::preprocess(text, setting)?)
}
