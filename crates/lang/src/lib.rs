//! Text to [`Program`] and back, for the four input languages. Each language is a module with a
//! syntax tree, a parser (text to tree), a compiler (tree to program) and a printer (tree to text).

pub mod litmus;
pub mod memorax;
mod suggest;
#[cfg(test)]
mod test_support;
pub mod trencher;
pub mod weak;

pub use weakspot_core::Diagnostic;
use weakspot_core::{Names, Program};

/// A program with the names of its parts and what the user should be told about it.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// What the engines see.
    pub program: Program,
    /// What people see.
    pub names: Names,
    /// Things that were accepted but may surprise.
    pub warnings: Vec<Diagnostic>,
}
