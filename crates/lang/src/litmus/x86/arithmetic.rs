//! Instructions that compute a new value for their destination and set flags by it.

use weakspot_core::{BinOp, Expr, Instr, RegId, Span, UnOp};

use super::flags::{self, CARRY, EVERY, Flags, OVERFLOW, PARITY, SIGN, Sum, SumKind, ZERO};
use super::instructions::{lock_needs_memory, wrong_operand};
use super::lower::{Lower, Lowering, Slot, Target, Val};
use super::mnemonics::{Alu, Bit, Shift, Unary};
use super::registers::{Family, Part, Register};
use crate::litmus::fold::{Folder, Known, binary, select};

impl<'a> Lower<'a> {
    pub(super) fn alu(
        &mut self,
        op: Alu,
        suffix: Option<u8>,
        dst: Val<'a>,
        src: Val<'a>,
        locked: bool,
    ) -> Lowering<()> {
        let mut vals = [dst, src];
        let bytes = self.width(suffix, &mut vals)?;
        let [dst, src] = vals;
        let carry = match op {
            Alu::Adc | Alu::Sbb => Some(self.carry_in()),
            _ => None,
        };
        self.update(&dst, bytes, locked, |lower, a, bytes| {
            let b = lower.value(&src, Some(bytes))?;
            let (kind, bin) = match op {
                Alu::Add | Alu::Adc => (SumKind::Add, BinOp::Add),
                Alu::Sub | Alu::Sbb => (SumKind::Sub, BinOp::Sub),
                Alu::And => (SumKind::Logic, BinOp::BitAnd),
                Alu::Or => (SumKind::Logic, BinOp::BitOr),
                Alu::Xor => (SumKind::Logic, BinOp::BitXor),
            };
            let mut result = binary(bin, a.clone(), b.clone());
            if let Some(carry) = &carry {
                result = binary(bin, result, carry.clone());
            }
            let result = lower.folder.zero_extend(result, bytes * 8);
            let sum = Sum { bits: bytes * 8, kind, a, b, carry, result: result.clone() };
            Ok((result, Effects::Sum(sum, EVERY)))
        })
    }

    /// The carry flag as it is now, even when the instruction then writes it.
    fn carry_in(&mut self) -> Expr {
        let carry = self.flag(CARRY);
        if self.live & CARRY == 0 || matches!(carry, Expr::Const(_)) {
            return carry;
        }
        let saved = self.slot(Slot::CarryIn);
        self.assign(saved, carry);
        Expr::Reg(saved)
    }

    pub(super) fn unary(
        &mut self,
        op: Unary,
        suffix: Option<u8>,
        vals: &mut [Val<'a>],
        lock: Option<Span>,
    ) -> Lowering<()> {
        let bytes = self.width(suffix, vals)?;
        let [dst] = &*vals else { return Ok(()) };
        if let Some(lock) = lock
            && !matches!(dst, Val::Mem(_))
        {
            return Err(lock_needs_memory(lock));
        }
        self.update(dst, bytes, lock.is_some(), |lower, a, bytes| {
            let (zero, one) = (Expr::Const(0), Expr::Const(1));
            let (kind, a, b, result, which) = match op {
                Unary::Inc => (
                    SumKind::Add,
                    a.clone(),
                    one.clone(),
                    binary(BinOp::Add, a, one),
                    EVERY & !CARRY,
                ),
                Unary::Dec => (
                    SumKind::Sub,
                    a.clone(),
                    one.clone(),
                    binary(BinOp::Sub, a, one),
                    EVERY & !CARRY,
                ),
                Unary::Neg => {
                    (SumKind::Sub, zero.clone(), a.clone(), binary(BinOp::Sub, zero, a), EVERY)
                }
                Unary::Not => {
                    let flipped = match a {
                        Expr::Const(v) => Expr::Const(!v),
                        a => Expr::unary(UnOp::BitNot, a),
                    };
                    return Ok((lower.folder.zero_extend(flipped, bytes * 8), Effects::None));
                }
            };
            let result = lower.folder.zero_extend(result, bytes * 8);
            let sum = Sum { bits: bytes * 8, kind, a, b, carry: None, result: result.clone() };
            Ok((result, Effects::Sum(sum, which)))
        })
    }

    pub(super) fn shift(
        &mut self,
        op: Shift,
        suffix: Option<u8>,
        mut vals: Vec<Val<'a>>,
    ) -> Lowering<()> {
        let count = if vals.len() > 1 { vals.pop() } else { None };
        let bytes = self.width(suffix, &mut vals)?;
        let Some(dst) = vals.first() else { return Ok(()) };
        let count = match count {
            None => Expr::Const(1),
            Some(Val::Number(n @ 0..256, _)) => Expr::Const(n as i64),
            Some(Val::Reg(reg @ Register { family: Family::Cx, part: Part::Low }, _)) => {
                self.read(reg)
            }
            Some(other) => return Err(wrong_operand(&other, "a number or `cl`")),
        };
        self.update(dst, bytes, false, |lower, a, bytes| {
            let bits = bytes * 8;
            let mask = Expr::Const(if bytes == 8 { 63 } else { 31 });
            let count = binary(BinOp::BitAnd, count.clone(), mask);
            let wide = match op {
                Shift::Left => binary(BinOp::Shl, a.clone(), count.clone()),
                Shift::Right => binary(BinOp::Shr, a.clone(), count.clone()),
                Shift::Arithmetic => {
                    binary(BinOp::Sar, lower.folder.sign_extend(a.clone(), bits), count.clone())
                }
            };
            let result = lower.folder.zero_extend(wide, bits);
            Ok((result.clone(), Effects::Shift { op, bits, a, count, result }))
        })
    }

    pub(super) fn bit(
        &mut self,
        op: Bit,
        suffix: Option<u8>,
        dst: Val<'a>,
        src: &Val<'a>,
        locked: bool,
    ) -> Lowering<()> {
        let mut dsts = [dst];
        let bytes = self.width(suffix, &mut dsts)?;
        let [dst] = dsts;
        let index = match src {
            Val::Number(n @ 0..256, _) => Expr::Const(*n as i64),
            Val::Reg(reg, _) => self.read(*reg),
            other => return Err(wrong_operand(other, "a register or the number of a bit")),
        };
        if op == Bit::Keep {
            let (a, bytes) = match &dst {
                Val::Mem(m) => {
                    let target = self.target(m, bytes)?;
                    (self.load(&target), target.bytes)
                }
                other => (self.value(other, bytes)?, bytes.unwrap_or(self.arch.word())),
            };
            let bit = bit_of(a, &in_word(index, bytes));
            self.set_flags(CARRY, |_, _| bit.clone());
            return Ok(());
        }
        self.update(&dst, bytes, locked, |_, a, bytes| {
            let index = in_word(index.clone(), bytes);
            let one = binary(BinOp::Shl, Expr::Const(1), index.clone());
            let clear = match &one {
                Expr::Const(v) => Expr::Const(!v),
                e => Expr::unary(UnOp::BitNot, e.clone()),
            };
            let result = match op {
                Bit::Set | Bit::Keep => binary(BinOp::BitOr, a.clone(), one),
                Bit::Flip => binary(BinOp::BitXor, a.clone(), one),
                Bit::Reset => binary(BinOp::BitAnd, a.clone(), clear),
            };
            Ok((result, Effects::Carry(bit_of(a, &index))))
        })
    }

    /// `dst := f(dst)`, with the flags that follow from it: one atomic step if `locked`, else,
    /// in memory, a load and a store.
    fn update(
        &mut self,
        dst: &Val<'a>,
        bytes: Option<u8>,
        locked: bool,
        f: impl FnOnce(&mut Self, Expr, u8) -> Lowering<(Expr, Effects)>,
    ) -> Lowering<()> {
        match dst {
            Val::Reg(reg, _) => {
                let a = self.read(*reg);
                let (result, effects) = f(self, a, reg.part.bits() / 8)?;
                self.apply(&effects);
                self.write(*reg, result);
            }
            Val::Mem(m) => {
                let to = self.target(m, bytes)?;
                if locked {
                    let (id, old) = self.prepare(&to);
                    let (value, effects) = f(self, old, to.bytes)?;
                    self.steps.push(Instr::Update { reg: id, addr: to.addr.clone(), value });
                    self.apply(&effects);
                } else {
                    let old = self.load(&to);
                    let (value, effects) = f(self, old, to.bytes)?;
                    self.store(&to, value);
                    self.apply(&effects);
                }
            }
            other => return Err(wrong_operand(other, "a register or a memory operand")),
        }
        Ok(())
    }

    /// A scratch register for the old value of an atomic update, and that value.
    pub(super) fn prepare(&mut self, to: &Target) -> (RegId, Expr) {
        let id = self.scratch();
        self.learn(id, Known::Bits(to.bytes * 8));
        (id, self.folder.zero_extend(Expr::Reg(id), to.bytes * 8))
    }

    fn apply(&mut self, effects: &Effects) {
        match effects {
            Effects::None => {}
            Effects::Carry(bit) => self.set_flags(CARRY, |_, _| bit.clone()),
            Effects::Sum(sum, which) => self.set_flags(*which, |f, flag| sum.flag(f, flag)),
            Effects::Shift { op, bits, a, count, result } => {
                if *count == Expr::Const(0) {
                    return;
                }
                let maybe = !matches!(count, Expr::Const(_));
                for flag in flags::ALL {
                    let new = shift_flag(&self.folder, flag, *op, *bits, a, count, result);
                    let old =
                        if maybe && self.live & flag != 0 { Some(self.flag(flag)) } else { None };
                    self.set_flags(flag, |_, _| match &old {
                        Some(old) => {
                            let none = binary(BinOp::Eq, count.clone(), Expr::Const(0));
                            select(none, old.clone(), new.clone())
                        }
                        None => new.clone(),
                    });
                }
            }
        }
    }
}

/// What an update does to the flags.
enum Effects {
    None,
    Carry(Expr),
    Sum(Sum, Flags),
    Shift { op: Shift, bits: u8, a: Expr, count: Expr, result: Expr },
}

/// The index of a bit within an operand of `bytes` bytes.
fn in_word(index: Expr, bytes: u8) -> Expr {
    binary(BinOp::BitAnd, index, Expr::Const(i64::from(bytes) * 8 - 1))
}

fn bit_of(a: Expr, index: &Expr) -> Expr {
    binary(BinOp::BitAnd, binary(BinOp::Shr, a, index.clone()), Expr::Const(1))
}

/// The value that a shift by `count`, which is not 0, gives to a flag. The overflow flag is
/// defined for shifts by one only; for others we take the same.
fn shift_flag(
    f: &Folder,
    flag: Flags,
    op: Shift,
    bits: u8,
    a: &Expr,
    count: &Expr,
    result: &Expr,
) -> Expr {
    let all = |flag| shift_flag(f, flag, op, bits, a, count, result);
    let minus = |l: Expr, r: Expr| binary(BinOp::Sub, l, r);
    match (flag, op) {
        (ZERO, _) => binary(BinOp::Eq, result.clone(), Expr::Const(0)),
        (SIGN, _) => flags::sign(result.clone(), bits),
        (PARITY, _) => flags::parity(result.clone()),
        (CARRY, Shift::Left) => {
            let last = minus(Expr::Const(i64::from(bits)), count.clone());
            let gone = binary(BinOp::Lt, last.clone(), Expr::Const(0));
            select(gone, Expr::Const(0), bit_of(a.clone(), &last))
        }
        (CARRY, Shift::Right) => bit_of(a.clone(), &minus(count.clone(), Expr::Const(1))),
        (CARRY, Shift::Arithmetic) => {
            bit_of(f.sign_extend(a.clone(), bits), &minus(count.clone(), Expr::Const(1)))
        }
        (OVERFLOW, Shift::Left) => binary(BinOp::BitXor, all(SIGN), all(CARRY)),
        (OVERFLOW, Shift::Right) => flags::sign(a.clone(), bits),
        (OVERFLOW, Shift::Arithmetic) => Expr::Const(0),
        _ => binary(BinOp::BitXor, all(SIGN), all(OVERFLOW)),
    }
}
