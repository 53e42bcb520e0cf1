//! The flags. Instead of the flags of the machine we keep, in hidden registers, the truth values
//! that conditions are made of, and only those that a later instruction can read: most tests
//! need one, many none.

use weakspot_core::{BinOp, Expr, Value};

use super::ast::{Instruction, Operand};
use super::mnemonics::{Alu, Base, Cond, Op, Unary};
use crate::litmus::fold::{Folder, binary, not};

/// A set of flags.
pub(super) type Flags = u8;

/// The zero flag: equal.
pub(super) const ZERO: Flags = 1;
/// Sign unlike overflow: less, as signed numbers.
pub(super) const LESS: Flags = 2;
/// The carry flag: below, as unsigned numbers.
pub(super) const CARRY: Flags = 4;
/// The sign flag.
pub(super) const SIGN: Flags = 8;
/// The overflow flag.
pub(super) const OVERFLOW: Flags = 16;
/// The parity flag.
pub(super) const PARITY: Flags = 32;
/// Each of them. The carry comes last because the others may be computed from the old carry.
pub(super) const ALL: [Flags; 6] = [ZERO, LESS, SIGN, OVERFLOW, PARITY, CARRY];

/// All of them, as a set.
pub(super) const EVERY: Flags = ZERO | LESS | CARRY | SIGN | OVERFLOW | PARITY;

/// What the hidden register of a flag is called.
pub(super) fn name(flag: Flags) -> &'static str {
    match flag {
        ZERO => "zf",
        LESS => "sf!=of",
        CARRY => "cf",
        SIGN => "sf",
        OVERFLOW => "of",
        _ => "pf",
    }
}

/// The flags that a condition reads.
pub(super) fn needs(cond: Cond) -> Flags {
    match cond.base {
        Base::Overflow => OVERFLOW,
        Base::Below => CARRY,
        Base::Equal => ZERO,
        Base::BelowOrEqual => CARRY | ZERO,
        Base::Sign => SIGN,
        Base::Parity => PARITY,
        Base::Less => LESS,
        Base::LessOrEqual => LESS | ZERO,
    }
}

/// Whether a condition holds, given the value of each flag.
pub(super) fn holds(cond: Cond, flag: impl Fn(Flags) -> Expr) -> Expr {
    let plain = match cond.base {
        Base::Overflow => flag(OVERFLOW),
        Base::Below => flag(CARRY),
        Base::Equal => flag(ZERO),
        Base::BelowOrEqual => either(flag(CARRY), flag(ZERO)),
        Base::Sign => flag(SIGN),
        Base::Parity => flag(PARITY),
        Base::Less => flag(LESS),
        Base::LessOrEqual => either(flag(LESS), flag(ZERO)),
    };
    if cond.negated { not(plain) } else { plain }
}

fn either(l: Expr, r: Expr) -> Expr {
    binary(BinOp::BitOr, l, r)
}

/// What an instruction does to the flags.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Effect {
    /// Flags that it may read.
    pub(super) reads: Flags,
    /// Flags that it always overwrites.
    pub(super) kills: Flags,
    /// Where it may go on.
    pub(super) next: [Option<usize>; 2],
}

/// What `op` reads and surely writes.
pub(super) fn effect(op: Op, instr: &Instruction) -> (Flags, Flags) {
    match op {
        Op::Alu(Alu::Adc | Alu::Sbb) => (CARRY, EVERY),
        Op::Alu(_) | Op::Cmp | Op::Test | Op::Cmpxchg | Op::Xadd => (0, EVERY),
        Op::Unary(Unary::Inc | Unary::Dec) => (0, EVERY & !CARRY),
        Op::Unary(Unary::Neg) => (0, EVERY),
        // A shift by a register may be a shift by nothing, which keeps the flags.
        Op::Shift(_) => (0, if shifts(instr) { EVERY } else { 0 }),
        Op::Bit(_) => (0, CARRY),
        Op::Cmov(c) | Op::Set(c) | Op::Branch(c) => (needs(c), 0),
        _ => (0, 0),
    }
}

/// Whether a shift surely moves a bit.
fn shifts(instr: &Instruction) -> bool {
    let moves = |o: &Operand| matches!(o, Operand::Number { value, .. } if value & 31 != 0);
    instr.operands.len() == 1 || instr.operands.iter().any(moves)
}

/// For each instruction the flags that are read after it.
pub(super) fn live_after(effects: &[Effect]) -> Vec<Flags> {
    let mut before = vec![0; effects.len() + 1];
    let mut after = vec![0; effects.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for (i, e) in effects.iter().enumerate().rev() {
            after[i] = e.next.iter().flatten().fold(0, |all, n| all | before[*n]);
            let now = e.reads | (after[i] & !e.kills);
            changed |= now != before[i];
            before[i] = now;
        }
    }
    after
}

/// A computation that sets flags, on operands of `bits` bits that are not negative.
pub(super) struct Sum {
    pub(super) bits: u8,
    pub(super) kind: SumKind,
    pub(super) a: Expr,
    pub(super) b: Expr,
    /// The carry that goes in, for `adc` and `sbb`.
    pub(super) carry: Option<Expr>,
    pub(super) result: Expr,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SumKind {
    Add,
    Sub,
    /// Bitwise: no carry and no overflow.
    Logic,
}

impl Sum {
    /// The value that the computation gives to a flag.
    pub(super) fn flag(&self, f: &Folder, flag: Flags) -> Expr {
        let zero = || Expr::Const(0);
        match (flag, self.kind) {
            (ZERO, SumKind::Sub) if self.carry.is_none() => {
                binary(BinOp::Eq, self.a.clone(), self.b.clone())
            }
            (CARRY | OVERFLOW, SumKind::Logic) => zero(),
            (LESS, SumKind::Logic) => self.sign(self.result.clone()),
            (LESS, SumKind::Sub) if self.carry.is_none() => {
                binary(BinOp::Lt, self.signed(f, &self.a), self.signed(f, &self.b))
            }
            (LESS, _) => binary(BinOp::Ne, self.flag(f, SIGN), self.flag(f, OVERFLOW)),
            (CARRY, SumKind::Sub) => {
                let below = self.below(self.a.clone(), self.b.clone());
                self.with_carry(below, &self.a, &self.b)
            }
            (CARRY, SumKind::Add) => {
                let below = self.below(self.result.clone(), self.a.clone());
                self.with_carry(below, &self.result, &self.a)
            }
            (OVERFLOW, kind) => {
                let mixed = |l: &Expr, r: &Expr| binary(BinOp::BitXor, l.clone(), r.clone());
                let other = if kind == SumKind::Add { &self.result } else { &self.a };
                let both =
                    binary(BinOp::BitAnd, mixed(&self.a, &self.result), mixed(&self.b, other));
                self.sign(both)
            }
            (SIGN, _) => self.sign(self.result.clone()),
            (PARITY, _) => parity(self.result.clone()),
            (_, _) => binary(BinOp::Eq, self.result.clone(), zero()),
        }
    }

    /// `below`, or the sides are equal and a carry went in.
    fn with_carry(&self, below: Expr, l: &Expr, r: &Expr) -> Expr {
        match &self.carry {
            None => below,
            Some(carry) => {
                let equal = binary(BinOp::Eq, l.clone(), r.clone());
                either(below, binary(BinOp::BitAnd, equal, carry.clone()))
            }
        }
    }

    fn sign(&self, e: Expr) -> Expr {
        sign(e, self.bits)
    }

    fn signed(&self, f: &Folder, e: &Expr) -> Expr {
        f.sign_extend(e.clone(), self.bits)
    }

    /// Comparison of unsigned numbers.
    fn below(&self, l: Expr, r: Expr) -> Expr {
        if self.bits < 64 {
            return binary(BinOp::Lt, l, r);
        }
        let flip = |e| binary(BinOp::BitXor, e, Expr::Const(Value::MIN));
        binary(BinOp::Lt, flip(l), flip(r))
    }
}

/// The top bit of a number of `bits` bits that is not negative.
pub(super) fn sign(e: Expr, bits: u8) -> Expr {
    if bits >= 64 {
        return binary(BinOp::Lt, e, Expr::Const(0));
    }
    binary(BinOp::Shr, e, Expr::Const(Value::from(bits) - 1))
}

/// Whether the low byte has an even number of ones.
pub(super) fn parity(e: Expr) -> Expr {
    let upper = binary(BinOp::Shr, e.clone(), Expr::Const(4));
    let nibble = binary(BinOp::BitAnd, binary(BinOp::BitXor, e, upper), Expr::Const(15));
    // Bit n of the constant says whether n has an odd number of ones.
    let odd = binary(BinOp::Shr, Expr::Const(0x6996), nibble);
    not(binary(BinOp::BitAnd, odd, Expr::Const(1)))
}
