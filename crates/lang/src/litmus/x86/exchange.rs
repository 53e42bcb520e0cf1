//! `xchg`, `cmpxchg` and `xadd`: memory changes places with a register.

use weakspot_core::{BinOp, Expr, Instr, Span};

use super::ast::Instruction;
use super::flags::{EVERY, Sum, SumKind};
use super::instructions::{Flow, lock_needs_memory, wrong_operand};
use super::lower::{Lower, Lowering, Slot, Target, Val};
use super::mnemonics::{Decoded, Op};
use super::registers::{Family, Part, Register};
use crate::litmus::arch::Arch;
use crate::litmus::fold::{Known, binary, mentions, select};

impl<'a> Lower<'a> {
    /// `xchg`, `cmpxchg` and `xadd`, whose memory operand may stand on either side.
    pub(super) fn exchange(
        &mut self,
        instr: &'a Instruction,
        d: Decoded,
        dst: Val<'a>,
        src: Val<'a>,
        lock: Option<Span>,
    ) -> Lowering<Flow> {
        let (dst, src) = match src {
            Val::Mem(_) => (src, dst),
            _ => (dst, src),
        };
        let mut vals = [dst, src];
        let bytes = self.width(d.suffix, &mut vals)?;
        let [dst, src] = vals;
        let Val::Reg(reg, _) = src else {
            return Err(wrong_operand(&src, "a register"));
        };
        match &dst {
            Val::Reg(other, _) if lock.is_none() => {
                self.exchange_registers(d.op, *other, reg);
                Ok(Flow::Next)
            }
            Val::Mem(m) => {
                let to = self.target(m, bytes)?;
                match d.op {
                    Op::Cmpxchg => Ok(self.compare_exchange(reg, &to, lock.is_some())),
                    Op::Xadd => {
                        self.swap(reg, &to, lock.is_some(), true);
                        Ok(Flow::Next)
                    }
                    op => {
                        self.swap(reg, &to, op == Op::Xchg, false);
                        Ok(Flow::Next)
                    }
                }
            }
            _ => Err(match lock {
                Some(lock) => lock_needs_memory(lock),
                None => wrong_operand(&dst, &format!("a memory operand of `{}`", instr.mnemonic)),
            }),
        }
    }

    /// Swaps a register with memory; with `add` the sum of both goes to memory.
    fn swap(&mut self, reg: Register, to: &Target, locked: bool, add: bool) {
        let own = self.read(reg);
        let id = self.slot(Slot::Register(reg.family));
        // If what goes to memory does not depend on the register, the register can take the old
        // value in the same step.
        let direct = matches!(reg.part, Part::Quad | Part::Dword) && !mentions(&own, id);
        let (old_id, old) = if direct && locked {
            self.learn(id, Known::Bits(to.bytes * 8));
            (id, self.folder.zero_extend(Expr::Reg(id), to.bytes * 8))
        } else {
            self.prepare(to)
        };
        let new = if add { binary(BinOp::Add, old.clone(), own.clone()) } else { own.clone() };
        let new = self.folder.zero_extend(new, to.bytes * 8);
        if locked {
            let (addr, value) = (to.addr.clone(), new.clone());
            self.steps.push(Instr::Update { reg: old_id, addr, value });
        } else {
            self.steps.push(Instr::Load { reg: old_id, addr: to.addr.clone() });
            self.store(to, new.clone());
        }
        if add {
            let sum = Sum {
                bits: to.bytes * 8,
                kind: SumKind::Add,
                a: old.clone(),
                b: own,
                carry: None,
                result: new,
            };
            self.set_flags(EVERY, |f, flag| sum.flag(f, flag));
        }
        self.write(reg, old);
    }

    fn exchange_registers(&mut self, op: Op, dst: Register, src: Register) {
        let (a, b) = (self.read(dst), self.read(src));
        let bits = dst.part.bits();
        let scratch = self.scratch();
        match op {
            Op::Cmpxchg => {
                let acc = Register { family: Family::Ax, part: Part::low(bits / 8) };
                let own = self.read(acc);
                self.set_difference(bits, own.clone(), a.clone());
                let equal = binary(BinOp::Eq, own, a.clone());
                self.assign(scratch, equal);
                let equal = self.folder.reg(scratch);
                // On success the accumulator stays as it is, so that it is still right if it is
                // the source as well.
                let kept = self.read(Register::whole(self.arch, Family::Ax));
                // On failure the destination is not written, not even its upper half.
                let clears = self.arch == Arch::X86_64 && dst.part == Part::Dword;
                let whole = self.read(Register::whole(self.arch, dst.family));
                let unchanged =
                    if clears && self.folder.bits(&whole) > 32 { whole } else { a.clone() };
                self.write_failed(acc, kept, equal.clone(), a);
                self.write(dst, select(equal, b, unchanged));
            }
            Op::Xadd => {
                let result =
                    self.folder.zero_extend(binary(BinOp::Add, a.clone(), b.clone()), bits);
                let sum = Sum {
                    bits,
                    kind: SumKind::Add,
                    a: a.clone(),
                    b,
                    carry: None,
                    result: result.clone(),
                };
                self.set_flags(EVERY, |f, flag| sum.flag(f, flag));
                self.assign(scratch, result);
                let result = self.folder.reg(scratch);
                self.write(src, a);
                self.write(dst, result);
            }
            _ if dst == src => {
                if self.arch == Arch::X86_64 && dst.part == Part::Dword {
                    self.write(dst, a);
                }
            }
            _ => {
                self.assign(scratch, a);
                let old = self.folder.reg(scratch);
                self.write(dst, b);
                self.write(src, old);
            }
        }
    }

    /// The flags of `a - b`.
    fn set_difference(&mut self, bits: u8, a: Expr, b: Expr) {
        let result = self.folder.zero_extend(binary(BinOp::Sub, a.clone(), b.clone()), bits);
        let sum = Sum { bits, kind: SumKind::Sub, a, b, carry: None, result };
        self.set_flags(EVERY, |f, flag| sum.flag(f, flag));
    }

    /// If the accumulator equals memory, the register goes to memory; else memory goes to the
    /// accumulator.
    fn compare_exchange(&mut self, reg: Register, to: &Target, locked: bool) -> Flow {
        let bits = to.bytes * 8;
        let acc = Register { family: Family::Ax, part: Part::low(to.bytes) };
        let acc_id = self.slot(Slot::Register(Family::Ax));
        let (own, new) = (self.read(acc), self.read(reg));
        let whole = matches!(acc.part, Part::Quad | Part::Dword);
        // A known accumulator can take the old value in the same step. If it has upper bits that
        // a success would have to keep, it cannot.
        let direct = whole
            && locked
            && !mentions(&own, acc_id)
            && !mentions(&new, acc_id)
            && self.folder.reg(acc_id) == own;
        let (old_id, old) = if direct {
            self.learn(acc_id, Known::Bits(to.bytes * 8));
            (acc_id, self.folder.zero_extend(Expr::Reg(acc_id), bits))
        } else {
            self.prepare(to)
        };
        let equal = binary(BinOp::Eq, own.clone(), old.clone());
        if !locked {
            self.steps.push(Instr::Load { reg: old_id, addr: to.addr.clone() });
            self.set_difference(bits, own, old.clone());
            let before = std::mem::take(&mut self.steps);
            self.store(to, new);
            let yes = std::mem::take(&mut self.steps);
            let success = self.folder.0.clone();
            self.write(acc, old);
            let no = std::mem::replace(&mut self.steps, before);
            for (known, other) in self.folder.0.iter_mut().zip(success) {
                *known = known.or(other);
            }
            return Flow::Either { cond: equal, yes, no };
        }
        let value = select(equal.clone(), new, Expr::Reg(old_id));
        self.steps.push(Instr::Update { reg: old_id, addr: to.addr.clone(), value });
        self.set_difference(bits, own, old.clone());
        if direct {
            self.write(acc, old);
        } else {
            let kept = self.folder.reg(acc_id);
            self.write_failed(acc, kept, equal, old);
        }
        Flow::Next
    }

    /// The accumulator takes the old value. If that was equal, it has it already, but a success
    /// must also leave the upper half alone, which a plain write of 32 bits would clear.
    fn write_failed(&mut self, acc: Register, kept: Expr, equal: Expr, old: Expr) {
        let clears = self.arch == Arch::X86_64 && acc.part == Part::Dword;
        if clears && self.folder.bits(&kept) > 32 {
            self.write(acc, select(equal, kept, old));
        } else {
            self.write(acc, old);
        }
    }
}
