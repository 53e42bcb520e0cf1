//! The syntax tree of instructions.

use super::registers::Register;
use crate::At;
use crate::litmus::ast::{Frame, Number, Symbol, Table};

/// A test whose code is x86.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) frame: &'a Frame,
    pub(super) table: &'a Table<Instruction>,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Where the `lock` prefix stands, if there is one.
    pub lock: Option<At>,
    /// The mnemonic with its suffix, in lower case.
    pub mnemonic: String,
    /// Where the mnemonic stands.
    pub mnemonic_place: At,
    /// The operands, in the order of the source.
    pub operands: Vec<Operand>,
    /// From the prefix to the last operand.
    pub place: At,
}

/// An operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A register.
    Reg {
        /// Which one.
        reg: Register,
        /// It was written with a `%`.
        percent: bool,
        /// Where it stands.
        place: At,
    },
    /// A number.
    Number {
        /// The number.
        value: Number,
        /// It was written with a `$`.
        dollar: bool,
        /// Where it stands.
        place: At,
    },
    /// The address of a location, `$x` or `offset x`.
    Address(Symbol),
    /// A memory operand.
    Mem(Mem),
    /// A bare name: the target of a jump, or a location.
    Name(Symbol),
}

/// A memory operand: symbol + displacement + base + index * scale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mem {
    /// How it was written.
    pub style: MemStyle,
    /// Bytes, where a `DWORD PTR` or the like says so.
    pub size: Option<u8>,
    /// The location.
    pub symbol: Option<Symbol>,
    /// The displacement.
    pub disp: i64,
    /// The base register.
    pub base: Option<Register>,
    /// The index register and its factor.
    pub index: Option<(Register, u8)>,
    /// Some register in it was written with a `%`.
    pub percent: bool,
    /// The whole operand.
    pub place: At,
}

/// The two ways to write a memory operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemStyle {
    /// `[x]`.
    Brackets,
    /// `(x)`.
    Parens,
}

impl Operand {
    /// Where the operand stands.
    #[must_use]
    pub fn place(&self) -> At {
        match self {
            Operand::Reg { place, .. } | Operand::Number { place, .. } => *place,
            Operand::Address(s) | Operand::Name(s) => s.place,
            Operand::Mem(m) => m.place,
        }
    }
}
