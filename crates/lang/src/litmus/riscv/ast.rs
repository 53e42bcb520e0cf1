//! The syntax tree of instructions.

use crate::At;

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The whole of it.
    pub place: At,
}
