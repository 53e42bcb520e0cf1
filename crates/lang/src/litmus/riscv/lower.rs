//! The workshop in which instructions are made into edges. A core register holds the 64 bits of a
//! register, locations hold numbers that are not negative.

use weakspot_core::{BinOp, Expr, Fence, Instr, RegId, Value};

use super::ast::{Instruction, Operand};
use super::mnemonics::{Alu, Amo, Op, Test};
use crate::Diagnostic;
use crate::litmus::fold::{Folder, Known, binary, select};
use crate::litmus::layout::{Access, Layout, pattern};

pub(super) type Lowering<T> = Result<T, Diagnostic>;

/// What is collected over all threads.
#[derive(Default)]
pub(super) struct Notes {
    pub(super) accesses: Vec<Access>,
}

pub(super) struct Lower<'a, 'n> {
    pub(super) layout: &'a Layout,
    pub(super) notes: &'n mut Notes,
    /// The registers that the core registers stand for.
    pub(super) regs: Vec<u8>,
    pub(super) folder: Folder,
    /// The edges of the current instruction.
    pub(super) steps: Vec<Instr>,
}

/// A resolved memory operand.
pub(super) struct Target {
    pub(super) addr: Expr,
    /// The address itself, of which there is one for accesses of all widths.
    pub(super) raw: Expr,
    bytes: u8,
}

impl Lower<'_, '_> {
    fn read(&self, reg: u8) -> Expr {
        match self.regs.iter().position(|r| *r == reg) {
            Some(i) if reg != 0 => self.folder.reg(RegId::new(i)),
            _ => Expr::Const(0),
        }
    }

    fn write(&mut self, reg: u8, value: Expr) {
        let Some(i) = self.regs.iter().position(|r| *r == reg).filter(|_| reg != 0) else { return };
        let id = RegId::new(i);
        let known = self.folder.known(&value);
        if value != Expr::Reg(id) {
            self.steps.push(Instr::Assign { reg: id, value });
        }
        self.folder.0[i] = known;
    }

    /// The value of the operand `n`.
    pub(super) fn operand(&self, instr: &Instruction, n: usize) -> Expr {
        match instr.operands.get(n) {
            Some(Operand::Reg(reg, _)) => self.read(*reg),
            Some(Operand::Number(n, _)) => Expr::Const(pattern(*n, 64).unwrap_or(0)),
            _ => Expr::Const(0),
        }
    }

    /// Writes the register that is the first operand.
    pub(super) fn write_operand(&mut self, instr: &Instruction, value: Expr) {
        if let Some(Operand::Reg(reg, _)) = instr.operands.first() {
            self.write(*reg, value);
        }
    }

    /// A register for a value within an instruction.
    fn scratch(&mut self) -> RegId {
        if self.folder.0.len() <= self.regs.len() {
            self.folder.0.push(Known::Bits(64));
        }
        let id = RegId::new(self.regs.len());
        self.folder.0[id.index()] = Known::Bits(64);
        id
    }

    /// The register that keeps an address which is computed, and what to put there; nothing for one that is known.
    pub(super) fn keep_address(&mut self, address: &Expr) -> Option<(RegId, Expr)> {
        if matches!(address, Expr::Const(_)) {
            return None;
        }
        self.scratch();
        let id = RegId::new(self.regs.len() + 1);
        self.folder.0.resize(self.regs.len() + 2, Known::Bits(64));
        Some((id, address.clone()))
    }

    /// Where the memory operand of an instruction points.
    pub(super) fn target(&mut self, instr: &Instruction, bytes: u8) -> Lowering<Target> {
        let Some(Operand::Mem { offset, base, place }) = instr.operands.last() else {
            return Err(Diagnostic::new(instr.place.0, "no memory operand", ""));
        };
        let addr = binary(BinOp::Add, self.read(*base), Expr::Const(*offset));
        let cell = match &addr {
            Expr::Const(a) => match self.layout.find(*a) {
                Some(cell) => Some((cell, *a)),
                None => {
                    return Err(Diagnostic::new(
                        place.0,
                        "there is no location at this address",
                        "expected the address of a location",
                    )
                    .help("a register is set to an address in the initial state: `0:x5=x`"));
                }
            },
            _ => None,
        };
        self.notes.accesses.push(Access { cell, width: Some(bytes), span: place.0 });
        let raw = addr.clone();
        let addr = match cell {
            Some((_, addr)) => Expr::Const(self.layout.bytes.place(addr, bytes)),
            None => binary(BinOp::Add, addr, Expr::Const(self.layout.bytes.computed(bytes))),
        };
        Ok(Target { addr, raw, bytes })
    }

    pub(super) fn store(&mut self, to: &Target, value: Expr) {
        let value = self.folder.zero_extend(value, to.bytes * 8);
        self.steps.push(Instr::Store { addr: to.addr.clone(), value });
    }

    /// Loads into the first operand.
    pub(super) fn load(&mut self, instr: &Instruction, bytes: u8, signed: bool) -> Lowering<()> {
        let target = self.target(instr, bytes)?;
        let to = match instr.operands.first() {
            Some(Operand::Reg(reg, _)) if *reg != 0 => {
                self.regs.iter().position(|r| r == reg).map(RegId::new)
            }
            _ => None,
        };
        let reg = match to {
            Some(reg) => reg,
            None => self.scratch(),
        };
        self.steps.push(Instr::Load { reg, addr: target.addr });
        self.folder.0[reg.index()] = Known::Bits(bytes * 8);
        if signed && to.is_some() && bytes < 8 {
            let value = self.folder.sign_extend(Expr::Reg(reg), bytes * 8);
            self.write_operand(instr, value);
        }
        Ok(())
    }

    /// An instruction that leads to the next one.
    pub(super) fn instruction(&mut self, instr: &Instruction, op: Op) -> Lowering<()> {
        match op {
            Op::Load { bytes, signed, order } => {
                if order.release {
                    self.steps.push(Instr::Fence(Fence::Full));
                }
                self.load(instr, bytes, signed)?;
            }
            Op::Store { bytes, order } => {
                let target = self.target(instr, bytes)?;
                if order.release {
                    self.steps.push(Instr::Fence(Fence::StoreStore));
                }
                let value = self.operand(instr, 0);
                self.store(&target, value);
                if order.acquire {
                    self.steps.push(Instr::Fence(Fence::Full));
                }
            }
            Op::Compute { alu, word, .. } => {
                let (l, r) = (self.operand(instr, 1), self.operand(instr, 2));
                let value = self.compute(alu, l, r, word);
                self.write_operand(instr, value);
            }
            Op::Unary { alu, with, flipped, word } => {
                let (mut l, mut r) = (self.operand(instr, 1), Expr::Const(with));
                if flipped {
                    (l, r) = (r, l);
                }
                let value = self.compute(alu, l, r, word);
                self.write_operand(instr, value);
            }
            Op::Set => {
                let value = self.operand(instr, 1);
                self.write_operand(instr, value);
            }
            Op::Upper => {
                let value = binary(BinOp::Shl, self.operand(instr, 1), Expr::Const(12));
                let value = self.folder.sign_extend(value, 32);
                self.write_operand(instr, value);
            }
            Op::Address => {
                if let Some(Operand::Name(symbol)) = instr.operands.get(1) {
                    let address = self.layout.address(symbol)?;
                    self.write_operand(instr, Expr::Const(address));
                }
            }
            Op::Fence => self.steps.push(fence(instr)),
            Op::FenceTso => self.steps.push(Instr::Fence(Fence::StoreStore)),
            Op::Amo { combine, bytes } => self.amo(instr, combine, bytes)?,
            Op::Nop | Op::Branch(_) | Op::Jump | Op::Reserve { .. } | Op::Conditional { .. } => {}
        }
        Ok(())
    }

    fn compute(&self, alu: Alu, l: Expr, r: Expr, word: bool) -> Expr {
        let op = match alu {
            Alu::Plain(op) => op,
            Alu::LessUnsigned => return less_unsigned(BinOp::Lt, l, r),
        };
        let shift = matches!(op, BinOp::Shl | BinOp::Shr | BinOp::Sar);
        let l = match (word, op) {
            (true, BinOp::Shr) => self.folder.zero_extend(l, 32),
            (true, BinOp::Sar) => self.folder.sign_extend(l, 32),
            _ => l,
        };
        let r = if shift && word { binary(BinOp::BitAnd, r, Expr::Const(31)) } else { r };
        let value = binary(op, l, r);
        if word { self.folder.sign_extend(value, 32) } else { value }
    }

    /// Whether a branch is taken.
    pub(super) fn test(&self, instr: &Instruction, test: Test) -> Expr {
        let l = self.operand(instr, 0);
        let r = if test.zero { Expr::Const(0) } else { self.operand(instr, 1) };
        let (l, r) = if test.swapped { (r, l) } else { (l, r) };
        match test.unsigned {
            true => less_unsigned(test.compare, l, r),
            false => binary(test.compare, l, r),
        }
    }

    fn amo(&mut self, instr: &Instruction, combine: Amo, bytes: u8) -> Lowering<()> {
        let target = self.target(instr, bytes)?;
        let operand = self.operand(instr, 1);
        let reg = self.scratch();
        self.folder.0[reg.index()] = Known::Bits(bytes * 8);
        let old = self.folder.sign_extend(Expr::Reg(reg), bytes * 8);
        let operand = self.folder.sign_extend(operand, bytes * 8);
        let chosen = |less: Expr| select(less, old.clone(), operand.clone());
        let pair = || (old.clone(), operand.clone());
        let value = match combine {
            Amo::Swap => operand.clone(),
            Amo::With(op) => binary(op, old.clone(), operand.clone()),
            Amo::Min => chosen(binary(BinOp::Lt, pair().0, pair().1)),
            Amo::Max => chosen(binary(BinOp::Gt, pair().0, pair().1)),
            Amo::MinUnsigned => chosen(less_unsigned(BinOp::Lt, pair().0, pair().1)),
            Amo::MaxUnsigned => chosen(less_unsigned(BinOp::Gt, pair().0, pair().1)),
        };
        let value = self.folder.zero_extend(value, bytes * 8);
        self.steps.push(Instr::Update { reg, addr: target.addr, value });
        self.write_operand(instr, old);
        Ok(())
    }
}

/// A fence by its bits: which earlier accesses are kept before which later ones.
fn fence(instr: &Instruction) -> Instr {
    let has = |n: usize, bit: char| match instr.operands.get(n) {
        Some(Operand::Name(bits)) => bits.name.contains(bit),
        _ => true,
    };
    match (has(0, 'w'), has(1, 'r'), has(1, 'w')) {
        (true, true, _) => Instr::Fence(Fence::Full),
        (true, false, true) => Instr::Fence(Fence::StoreStore),
        _ => Instr::Nop,
    }
}

/// Unsigned numbers compare as signed ones with their first bit flipped.
fn less_unsigned(op: BinOp, l: Expr, r: Expr) -> Expr {
    let flip = |e| binary(BinOp::BitXor, e, Expr::Const(Value::MIN));
    binary(op, flip(l), flip(r))
}
