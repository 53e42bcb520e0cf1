//! The syntax tree of instructions.

use crate::At;
use crate::litmus::ast::{Number, Symbol};

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The mnemonic with its suffixes, in lower case.
    pub mnemonic: String,
    /// The operands.
    pub operands: Vec<Operand>,
    /// The whole of it.
    pub place: At,
}

/// An operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A register, by its number.
    Reg(u8, At),
    /// A number.
    Number(Number, At),
    /// Memory, `8(x5)`.
    Mem {
        /// What is added to the register.
        offset: i64,
        /// The register.
        base: u8,
        /// The whole operand.
        place: At,
    },
    /// A label, a location or the bits of a fence.
    Name(Symbol),
}

impl Operand {
    /// Where the operand stands.
    #[must_use]
    pub fn place(&self) -> At {
        match self {
            Operand::Reg(_, place) | Operand::Number(_, place) | Operand::Mem { place, .. } => {
                *place
            }
            Operand::Name(s) => s.place,
        }
    }
}
