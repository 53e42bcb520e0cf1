//! What each instruction does, as edges of the core program. Those that compute and those that
//! exchange have files of their own.

use weakspot_core::{BinOp, Expr, Fence, Instr, Span};

use super::ast::Instruction;
use super::flags::{EVERY, Sum, SumKind};
use super::lower::{Lower, Lowering, MemOp, Val, wrong_width};
use super::mnemonics::{Cond, Decoded, Op};
use crate::Diagnostic;
use crate::litmus::fold::{binary, select};
use crate::litmus::types::bytes_of;

/// How a thread goes on after the steps of an instruction.
pub(super) enum Flow {
    /// To the next instruction.
    Next,
    /// To the label, if the condition holds; without a condition always.
    Jump(Option<Expr>),
    /// First these steps if the condition holds, those if not; then to the next instruction.
    Either { cond: Expr, yes: Vec<Instr>, no: Vec<Instr> },
    /// To the end of the thread.
    End,
}

impl<'a> Lower<'a> {
    /// Compiles an instruction into [`Lower::steps`].
    pub(super) fn instruction(&mut self, instr: &'a Instruction, d: Decoded) -> Lowering<Flow> {
        if let Some(lock) = instr.lock
            && !d.op.can_lock()
        {
            return Err(Diagnostic::new(
                lock.0,
                format!("`lock` cannot stand before `{}`", instr.mnemonic),
                "expected an instruction that reads and writes memory",
            ));
        }
        match d.op {
            Op::Nop => return Ok(Flow::Next),
            Op::Jump => return Ok(Flow::Jump(None)),
            Op::Branch(c) => {
                let cond = self.condition(c);
                return Ok(Flow::Jump(Some(cond)));
            }
            Op::Mfence => return Ok(self.fence(Fence::Full)),
            Op::Sfence => return Ok(self.fence(Fence::StoreStore)),
            Op::Lfence => return Ok(Flow::Next),
            _ => {}
        }
        let mut vals = self.operands(instr)?;
        let lock = instr.lock.map(|p| p.0);
        match d.op {
            Op::LongNop => match vals.as_slice() {
                [] | [Val::Mem(_)] => {}
                [other, ..] => return Err(wrong_operand(other, "a memory operand or nothing")),
            },
            Op::Ret => match vals.as_slice() {
                [] | [Val::Number(..)] => return Ok(Flow::End),
                [other, ..] => return Err(wrong_operand(other, "a number or nothing")),
            },
            Op::Cache => self.cache(instr, &vals)?,
            Op::Unary(op) => self.unary(op, d.suffix, &mut vals, lock)?,
            Op::Set(c) => self.set(c, &mut vals)?,
            Op::Shift(op) => self.shift(op, d.suffix, vals)?,
            _ => {
                let [dst, src] = vals.as_slice() else { return Ok(Flow::Next) };
                let (dst, src) = (dst.clone(), src.clone());
                if let (Val::Mem(_), Val::Mem(_)) = (&dst, &src) {
                    return Err(Diagnostic::new(
                        src.span(),
                        format!("`{}` cannot have two operands in memory", instr.mnemonic),
                        "expected a register or a number",
                    ));
                }
                return self.two(instr, d, dst, src, lock);
            }
        }
        Ok(Flow::Next)
    }

    fn fence(&mut self, fence: Fence) -> Flow {
        self.steps.push(Instr::Fence(fence));
        Flow::Next
    }

    /// Instructions with two operands.
    fn two(
        &mut self,
        instr: &'a Instruction,
        d: Decoded,
        dst: Val<'a>,
        src: Val<'a>,
        lock: Option<Span>,
    ) -> Lowering<Flow> {
        if matches!(d.op, Op::Xchg | Op::UnlockedXchg | Op::Cmpxchg | Op::Xadd) {
            return self.exchange(instr, d, dst, src, lock);
        }
        // A conditional move cannot store: where memory is, there is the source.
        let (dst, src) = match (d.op, &dst) {
            (Op::Cmov(_), Val::Mem(_)) => (src, dst),
            (Op::MovNt, Val::Reg(..)) => (src, dst),
            (Op::LoadNt, Val::Mem(_)) => (src, dst),
            _ => (dst, src),
        };
        if let Val::Number(_, span) | Val::Address(_, span) = &dst {
            let found = match &dst {
                Val::Number(n, _) => {
                    format!("`{n}` cannot be the destination of `{}`", instr.mnemonic)
                }
                _ => format!("an address cannot be the destination of `{}`", instr.mnemonic),
            };
            return Err(Diagnostic::new(*span, found, "expected a register or a memory operand")
                .help("memory is written `[x]` or, with the source first, `(x)`"));
        }
        if let Some(lock) = lock
            && !matches!(dst, Val::Mem(_))
        {
            return Err(lock_needs_memory(lock));
        }
        match d.op {
            Op::Mov => self.mov(d, dst, src)?,
            Op::MovNt => {
                self.notes.warn_once(
                    "movnti",
                    instr.place.0,
                    "`movnti` is taken for a plain store; on hardware it is weaker",
                );
                if !matches!((&dst, &src), (Val::Mem(_), Val::Reg(..))) {
                    return Err(wrong_operand(&src, "a register and a memory operand"));
                }
                self.mov(d, dst, src)?;
            }
            Op::LoadNt => {
                let message = "`movntdqa` is taken for a plain load of at most 8 bytes";
                self.notes.warn_once("movntdqa", instr.place.0, message);
                match (dst, src) {
                    (Val::Reg(reg, _), Val::Mem(m)) if reg.is_xmm() => {
                        let from = self.target(&m, None)?;
                        self.load_to(reg, &from);
                    }
                    (dst, Val::Mem(_)) => {
                        return Err(wrong_operand(&dst, "a register such as `%xmm0`"));
                    }
                    (_, src) => return Err(wrong_operand(&src, "a memory operand")),
                }
            }
            Op::Extend { signed, from } => self.extend(signed, from, d.suffix, dst, src)?,
            Op::Lea => self.lea(d.suffix, dst, &src)?,
            Op::Alu(op) => self.alu(op, d.suffix, dst, src, lock.is_some())?,
            Op::Cmp | Op::Test => self.compare(d, dst, src)?,
            Op::Bit(op) => self.bit(op, d.suffix, dst, &src, lock.is_some())?,
            Op::Cmov(c) => self.cmov(c, d.suffix, dst, src)?,
            _ => {}
        }
        Ok(Flow::Next)
    }

    fn mov(&mut self, d: Decoded, dst: Val<'a>, src: Val<'a>) -> Lowering<()> {
        let mut vals = [dst, src];
        let bytes = self.width(d.suffix, &mut vals)?;
        let [dst, src] = vals;
        match (dst, src) {
            (Val::Reg(reg, _), Val::Mem(m)) => {
                let from = self.target(&m, bytes)?;
                self.load_to(reg, &from);
            }
            (Val::Reg(reg, _), src) => {
                let value = self.value(&src, bytes)?;
                self.write(reg, value);
            }
            (Val::Mem(m), src) => {
                let to = self.target(&m, bytes)?;
                let value = self.value(&src, Some(to.bytes))?;
                self.store(&to, value);
            }
            _ => {}
        }
        Ok(())
    }

    fn extend(
        &mut self,
        signed: bool,
        from: Option<u8>,
        to: Option<u8>,
        dst: Val<'a>,
        src: Val<'a>,
    ) -> Lowering<()> {
        let mut dsts = [dst];
        let wide = self.width(to, &mut dsts)?;
        let [dst] = dsts;
        let mut srcs = [src];
        let narrow = self.width(from, &mut srcs)?;
        let [src] = srcs;
        let Val::Reg(reg, _) = dst else { return Err(wrong_operand(&dst, "a register")) };
        let wide = wide.unwrap_or(self.arch.word());
        let (value, narrow) = match &src {
            Val::Mem(m) => {
                let target = self.target(m, narrow)?;
                (self.load(&target), target.bytes)
            }
            Val::Reg(..) => (self.value(&src, narrow)?, narrow.unwrap_or(wide)),
            _ => return Err(wrong_operand(&src, "a register or a memory operand")),
        };
        if narrow >= wide {
            return Err(Diagnostic::new(
                src.span(),
                format!("this operand has {}, the destination only {wide}", bytes_of(narrow)),
                "expected a narrower operand, such as `byte ptr [x]`",
            ));
        }
        let value = if signed {
            let extended = self.folder.sign_extend(value, narrow * 8);
            self.folder.zero_extend(extended, wide * 8)
        } else {
            value
        };
        self.write(reg, value);
        Ok(())
    }

    fn lea(&mut self, suffix: Option<u8>, dst: Val<'a>, src: &Val<'a>) -> Lowering<()> {
        let mut dsts = [dst];
        self.width(suffix, &mut dsts)?;
        let [Val::Reg(reg, _)] = dsts else { return Err(wrong_operand(&dsts[0], "a register")) };
        let addr = match src {
            Val::Mem(m) => self.address(m)?,
            Val::Address(a, _) => Expr::Const(*a),
            other => return Err(wrong_operand(other, "a memory operand")),
        };
        let value = self.folder.zero_extend(addr, reg.part.bits());
        self.write(reg, value);
        Ok(())
    }

    fn compare(&mut self, d: Decoded, dst: Val<'a>, src: Val<'a>) -> Lowering<()> {
        let mut vals = [dst, src];
        let mut bytes = self.width(d.suffix, &mut vals)?;
        let [dst, src] = vals;
        // The width of a location counts if nothing else gives one.
        let a = match &dst {
            Val::Mem(m) => {
                let target = self.target(m, bytes)?;
                bytes = Some(target.bytes);
                self.load(&target)
            }
            other => self.value(other, bytes)?,
        };
        let b = self.value(&src, bytes)?;
        let bits = bytes.unwrap_or(self.arch.word()) * 8;
        let (kind, bin) = match d.op {
            Op::Cmp => (SumKind::Sub, BinOp::Sub),
            _ => (SumKind::Logic, BinOp::BitAnd),
        };
        let result = self.folder.zero_extend(binary(bin, a.clone(), b.clone()), bits);
        let sum = Sum { bits, kind, a, b, carry: None, result };
        self.set_flags(EVERY, |f, flag| sum.flag(f, flag));
        Ok(())
    }

    fn cmov(&mut self, cond: Cond, suffix: Option<u8>, dst: Val<'a>, src: Val<'a>) -> Lowering<()> {
        let mut vals = [dst, src];
        let bytes = self.width(suffix, &mut vals)?;
        let [Val::Reg(reg, _), src] = vals else {
            return Err(wrong_operand(&vals[0], "a register"));
        };
        if matches!(src, Val::Number(..) | Val::Address(..)) {
            return Err(wrong_operand(&src, "a register or a memory operand"));
        }
        // The processor loads whether the condition holds or not.
        let value = self.value(&src, bytes)?;
        let cond = self.condition(cond);
        let old = self.read(reg);
        self.write(reg, select(cond, value, old));
        Ok(())
    }

    fn set(&mut self, cond: Cond, vals: &mut [Val<'a>]) -> Lowering<()> {
        if let Some(bytes @ 2..) = self.width(None, vals)? {
            let span = vals.first().map(Val::span).unwrap_or_default();
            return Err(Diagnostic::new(
                span,
                wrong_width(bytes, 1),
                "expected a register such as `AL`, or a memory operand",
            ));
        }
        let value = self.condition(cond);
        match &*vals {
            [Val::Reg(reg, _)] => self.write(*reg, value),
            [Val::Mem(m)] => {
                let to = self.target(m, Some(1))?;
                self.store(&to, value);
            }
            [other, ..] => return Err(wrong_operand(other, "a register or a memory operand")),
            [] => {}
        }
        Ok(())
    }

    fn cache(&mut self, instr: &Instruction, vals: &[Val<'a>]) -> Lowering<()> {
        self.notes.warn_once(
            "cache",
            instr.place.0,
            &format!("`{}` has no effect on what these models allow", instr.mnemonic),
        );
        match vals {
            [Val::Mem(m)] => self.address(m).map(|_| ()),
            [other, ..] => Err(wrong_operand(other, "a memory operand")),
            [] => Ok(()),
        }
    }
}

pub(super) fn lock_needs_memory(lock: Span) -> Diagnostic {
    Diagnostic::new(
        lock,
        "`lock` needs an instruction that writes to memory",
        "expected a destination in memory, such as `[x]`",
    )
}

pub(super) fn wrong_operand(found: &Val<'_>, expected: &str) -> Diagnostic {
    let what = match found {
        Val::Reg(..) => "a register",
        Val::Number(..) => "a number",
        Val::Address(..) => "an address",
        Val::Mem(MemOp::Full(_) | MemOp::Bare(_)) => "a memory operand",
    };
    Diagnostic::new(
        found.span(),
        format!("{what} cannot be this operand"),
        format!("expected {expected}"),
    )
}
