//! The workshop in which instructions are made into edges: registers and what is known about
//! them, operands, addresses, loads and stores. What each instruction does is in
//! [`instructions`](super::instructions).
//!
//! A core register holds the whole register of a family as a bit pattern that is not negative
//! in X86 (32 bits, zero-extended) and all 64 bits in X86_64. Locations hold bit patterns that
//! are not negative as well, so that a load needs no further edge.

use weakspot_core::{BinOp, Expr, Instr, RegId, Span, Value};

use super::ast::{Instruction, Mem, Operand};
use super::flags::{self, Flags};
use super::mentions::is_att;
use super::registers::{Family, Part, Register};
use crate::Diagnostic;
use crate::litmus::arch::Arch;
use crate::litmus::ast::Symbol;
use crate::litmus::fold::{Folder, Known, binary};
use crate::litmus::layout::{Access, Layout, does_not_fit, pattern};
use crate::litmus::types::bytes_of;
use crate::suggest::did_you_mean;

/// What is collected over all threads.
#[derive(Default)]
pub(super) struct Notes {
    pub(super) accesses: Vec<Access>,
    pub(super) warnings: Vec<Diagnostic>,
    /// Kinds of warnings that have been given.
    said: Vec<&'static str>,
}

impl Notes {
    /// Warns, once for each kind.
    pub(super) fn warn_once(&mut self, kind: &'static str, span: Span, message: &str) {
        if !self.said.contains(&kind) {
            self.said.push(kind);
            self.warnings.push(Diagnostic::new(span, message, ""));
        }
    }
}

/// What a core register stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Register(Family),
    Flag(Flags),
    /// Holds a value within one instruction.
    Scratch,
    /// Holds the old carry flag within one instruction.
    CarryIn,
}

/// The workshop of one thread.
pub(super) struct Lower<'a> {
    pub(super) arch: Arch,
    pub(super) layout: &'a Layout,
    pub(super) notes: &'a mut Notes,
    pub(super) slots: Vec<Slot>,
    pub(super) folder: Folder,
    /// The edges of the current instruction.
    pub(super) steps: Vec<Instr>,
    /// The flags that are read after the current instruction.
    pub(super) live: Flags,
}

/// An operand with its part in the instruction.
#[derive(Clone, Debug)]
pub(super) enum Val<'a> {
    Reg(Register, Span),
    Number(i128, Span),
    Address(Value, Span),
    Mem(MemOp<'a>),
}

/// A memory operand.
#[derive(Clone, Debug)]
pub(super) enum MemOp<'a> {
    Full(&'a Mem),
    /// A location named without brackets.
    Bare(&'a Symbol),
}

/// A resolved memory operand.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) addr: Expr,
    pub(super) bytes: u8,
}

pub(super) type Lowering<T> = Result<T, Diagnostic>;

impl<'a> Lower<'a> {
    /// The workshop of a thread that has these registers with these initial values.
    pub(super) fn new(
        arch: Arch,
        layout: &'a Layout,
        regs: &[(Family, Value)],
        notes: &'a mut Notes,
    ) -> Lower<'a> {
        let slots = regs.iter().map(|(family, _)| Slot::Register(*family)).collect();
        let folder = Folder(regs.iter().map(|(_, v)| Known::Const(*v)).collect());
        Lower { arch, layout, notes, slots, folder, steps: Vec::new(), live: 0 }
    }

    /// The core register of `slot`, made if need be.
    pub(super) fn slot(&mut self, slot: Slot) -> RegId {
        if let Some(i) = self.slots.iter().position(|s| *s == slot) {
            return RegId::new(i);
        }
        self.slots.push(slot);
        self.folder.0.push(match slot {
            Slot::Flag(_) | Slot::CarryIn => Known::Bits(1),
            _ => Known::Bits(64),
        });
        RegId::new(self.slots.len() - 1)
    }

    pub(super) fn scratch(&mut self) -> RegId {
        self.slot(Slot::Scratch)
    }

    /// Forgets what is known about all registers but those that `keep` says never change.
    pub(super) fn forget(&mut self, keep: impl Fn(Family) -> bool) {
        let whole = if self.arch == Arch::X86 { 32 } else { 64 };
        for (slot, known) in self.slots.iter().zip(&mut self.folder.0) {
            match slot {
                Slot::Register(family) if keep(*family) => {}
                Slot::Register(_) => *known = Known::Bits(whole),
                Slot::Flag(_) | Slot::CarryIn => *known = Known::Bits(1),
                Slot::Scratch => *known = Known::Bits(64),
            }
        }
    }

    /// The value of a register, as a number that is not negative unless it has 64 bits.
    pub(super) fn read(&mut self, reg: Register) -> Expr {
        let id = self.slot(Slot::Register(reg.family));
        let mut e = self.folder.reg(id);
        if reg.part == Part::High {
            e = binary(BinOp::Shr, e, Expr::Const(8));
        }
        self.folder.zero_extend(e, reg.part.bits())
    }

    /// `reg := value`, where the value has the width of the register.
    pub(super) fn write(&mut self, reg: Register, value: Expr) {
        let id = self.slot(Slot::Register(reg.family));
        let (shift, keep) = match reg.part {
            Part::Quad | Part::Dword => return self.assign(id, value),
            Part::Word => (0, !0xffff),
            Part::Low => (0, !0xff),
            Part::High => (8, !0xff00),
        };
        let whole = if self.arch == Arch::X86 { 0xffff_ffff } else { -1 };
        let rest = binary(BinOp::BitAnd, self.folder.reg(id), Expr::Const(keep & whole));
        let placed = binary(BinOp::Shl, value, Expr::Const(shift));
        self.assign(id, binary(BinOp::BitOr, rest, placed));
    }

    pub(super) fn assign(&mut self, id: RegId, value: Expr) {
        let known = self.folder.known(&value);
        if value != Expr::Reg(id) {
            self.steps.push(Instr::Assign { reg: id, value });
        }
        self.learn(id, known);
    }

    pub(super) fn learn(&mut self, id: RegId, known: Known) {
        if let Some(k) = self.folder.0.get_mut(id.index()) {
            *k = known;
        }
    }

    /// The value of a flag.
    pub(super) fn flag(&mut self, flag: Flags) -> Expr {
        let id = self.slot(Slot::Flag(flag));
        self.folder.reg(id)
    }

    /// Whether a condition holds now.
    pub(super) fn condition(&mut self, cond: super::mnemonics::Cond) -> Expr {
        for flag in flags::ALL {
            if flags::needs(cond) & flag != 0 {
                self.slot(Slot::Flag(flag));
            }
        }
        let slots = &self.slots;
        let folder = &self.folder;
        flags::holds(cond, |flag| match slots.iter().position(|s| *s == Slot::Flag(flag)) {
            Some(i) => folder.reg(RegId::new(i)),
            None => Expr::Const(0),
        })
    }

    /// Writes the flags among `which` that are read later.
    pub(super) fn set_flags(&mut self, which: Flags, value: impl Fn(&Folder, Flags) -> Expr) {
        for flag in flags::ALL {
            if which & self.live & flag != 0 {
                let e = value(&self.folder, flag);
                let id = self.slot(Slot::Flag(flag));
                self.assign(id, e);
            }
        }
    }

    /// The number or address as bits of the given width.
    pub(super) fn immediate(&self, n: i128, bytes: u8, span: Span) -> Lowering<Expr> {
        match pattern(n, bytes * 8) {
            Some(v) => Ok(Expr::Const(v)),
            None => Err(does_not_fit(bytes * 8, "this instruction", span)),
        }
    }

    /// Where a memory operand points, and how many bytes it takes.
    pub(super) fn target(&mut self, m: &MemOp<'a>, bytes: Option<u8>) -> Lowering<Target> {
        let addr = self.address(m)?;
        let cell = match &addr {
            Expr::Const(a) => Some((self.known_cell(*a, m)?, *a)),
            _ => None,
        };
        self.notes.accesses.push(Access { cell, width: bytes, span: m.span() });
        let own = cell.map_or(self.arch.word(), |(c, _)| self.layout.cells[c].width);
        let bytes = bytes.unwrap_or(own);
        let addr = match cell {
            Some((_, addr)) => Expr::Const(self.layout.bytes.place(addr, bytes)),
            None => binary(BinOp::Add, addr, Expr::Const(self.layout.bytes.computed(bytes))),
        };
        Ok(Target { addr, bytes })
    }

    /// The location at a known address.
    fn known_cell(&self, addr: Value, m: &MemOp<'_>) -> Lowering<usize> {
        let refused = match self.layout.find(addr) {
            Some(cell) => return Ok(cell),
            None => Diagnostic::new(
                m.span(),
                match m {
                    MemOp::Full(Mem {
                        base: Some(r), symbol: None, index: None, disp: 0, ..
                    }) => {
                        format!("`{}` holds no address here", r.name(self.arch))
                    }
                    MemOp::Full(Mem { base: None, symbol: None, index: None, .. }) => {
                        format!("there is no location at the address {addr}")
                    }
                    _ => "there is no location at this address".to_owned(),
                },
                "expected the address of a location",
            ),
        };
        Err(match m {
            MemOp::Full(Mem { base: Some(_), .. }) => refused
                .help("a register is set to an address in the initial state, such as `0:EAX=x`"),
            MemOp::Full(Mem { symbol: Some(s), .. }) => {
                let length = if self.layout.is_array(s) { "a longer" } else { "an" };
                refused.help(format!(
                    "declare `{0}` in the initial state as {length} array, such as `int {0}[8];`",
                    s.name
                ))
            }
            _ => refused,
        })
    }

    /// The address of a memory operand.
    pub(super) fn address(&mut self, m: &MemOp<'_>) -> Lowering<Expr> {
        let m = match m {
            MemOp::Bare(symbol) => return Ok(Expr::Const(self.layout.address(symbol)?)),
            MemOp::Full(m) => m,
        };
        let mut fixed = m.disp;
        if let Some(symbol) = &m.symbol {
            fixed = fixed.wrapping_add(self.layout.address(symbol)?);
        }
        let mut sum = match m.base {
            Some(base) => self.read(base),
            None => Expr::Const(0),
        };
        if let Some((index, scale)) = m.index {
            let scaled = binary(BinOp::Mul, self.read(index), Expr::Const(i64::from(scale)));
            sum = binary(BinOp::Add, sum, scaled);
        }
        sum = binary(BinOp::Add, sum, Expr::Const(fixed));
        if self.arch == Arch::X86 {
            sum = self.folder.zero_extend(sum, 32);
        }
        Ok(sum)
    }

    /// Loads into a scratch register; the value.
    pub(super) fn load(&mut self, from: &Target) -> Expr {
        let id = self.scratch();
        self.steps.push(Instr::Load { reg: id, addr: from.addr.clone() });
        self.learn(id, Known::Bits(from.bytes * 8));
        self.folder.zero_extend(Expr::Reg(id), from.bytes * 8)
    }

    /// Loads into a register, at the width of the register.
    pub(super) fn load_to(&mut self, reg: Register, from: &Target) {
        if !matches!(reg.part, Part::Quad | Part::Dword) {
            let value = self.load(from);
            return self.write(reg, value);
        }
        let id = self.slot(Slot::Register(reg.family));
        self.steps.push(Instr::Load { reg: id, addr: from.addr.clone() });
        self.learn(id, Known::Bits(from.bytes * 8));
    }

    pub(super) fn store(&mut self, to: &Target, value: Expr) {
        let value = self.folder.zero_extend(value, to.bytes * 8);
        self.steps.push(Instr::Store { addr: to.addr.clone(), value });
    }

    /// The value of an operand of `bytes` bytes; loads it if it is in memory.
    pub(super) fn value(&mut self, v: &Val<'a>, bytes: Option<u8>) -> Lowering<Expr> {
        match v {
            Val::Reg(reg, _) => Ok(self.read(*reg)),
            Val::Number(n, span) => self.immediate(*n, bytes.unwrap_or(self.arch.word()), *span),
            Val::Address(a, span) => {
                self.immediate(i128::from(*a), bytes.unwrap_or(self.arch.word()), *span)
            }
            Val::Mem(m) => {
                let target = self.target(m, bytes)?;
                Ok(self.load(&target))
            }
        }
    }

    /// The operands, destination first.
    pub(super) fn operands(&mut self, instr: &'a Instruction) -> Lowering<Vec<Val<'a>>> {
        let att = is_att(self.arch, instr);
        let mut vals = Vec::new();
        for operand in &instr.operands {
            vals.push(self.operand(operand, att, instr)?);
        }
        if att {
            vals.reverse();
        }
        Ok(vals)
    }

    fn operand(
        &mut self,
        operand: &'a Operand,
        att: bool,
        instr: &Instruction,
    ) -> Lowering<Val<'a>> {
        Ok(match operand {
            Operand::Reg { reg, place, .. } if reg.is_general() => Val::Reg(*reg, place.0),
            Operand::Reg { reg, place, .. }
                if reg.is_xmm() && ["movntdqa", "movq", "movd"].contains(&&*instr.mnemonic) =>
            {
                Val::Reg(*reg, place.0)
            }
            Operand::Reg { reg, place, .. } => {
                let refused = Diagnostic::new(
                    place.0,
                    format!("`{}` cannot be an operand", reg.name(self.arch)),
                    "expected a general-purpose register",
                );
                return Err(match reg.is_xmm() {
                    true => refused.help("of SSE there are only `movntdqa`, `movq` and `movd`"),
                    false => refused,
                });
            }
            Operand::Number { value, place, .. } => Val::Number(*value, place.0),
            Operand::Address(s) => Val::Address(self.layout.address(s)?, s.place.0),
            Operand::Mem(m) => Val::Mem(MemOp::Full(m)),
            Operand::Name(s) if !self.layout.knows(&s.name) => return Err(self.unknown(s)),
            Operand::Name(s) if att || instr.operands.len() == 1 => Val::Mem(MemOp::Bare(s)),
            Operand::Name(s) => {
                let message = format!("`{0}` without brackets is the address of `{0}`", s.name);
                self.notes.warn_once("bare", s.place.0, &message);
                Val::Address(self.layout.address(s)?, s.place.0)
            }
        })
    }

    /// The error about a bare name that is neither a register nor a location.
    fn unknown(&self, s: &Symbol) -> Diagnostic {
        let diagnostic = Diagnostic::new(
            s.place.0,
            format!("unknown register `{}`", s.name),
            "expected an operand",
        );
        let registers = Register::all_names(self.arch);
        let known = registers.iter().map(String::as_str).chain(self.layout.names());
        let general =
            diagnostic.help(format!("the memory at a location is written `[{}]`", s.name));
        did_you_mean(general, &s.name, known)
    }

    /// The width in bytes that the suffix, the registers or the operands of an instruction give
    /// it. Registers of another width are made to fit the suffix.
    pub(super) fn width(
        &mut self,
        suffix: Option<u8>,
        vals: &mut [Val<'a>],
    ) -> Lowering<Option<u8>> {
        let mut bytes = suffix;
        if self.arch == Arch::X86 && suffix == Some(8) {
            let span = vals.first().map(Val::span).unwrap_or_default();
            self.notes.warn_once(
                "q",
                span,
                "X86 has no 64-bit accesses; the suffix `q` is read as `l`",
            );
            bytes = Some(4);
        }
        for v in vals.iter_mut() {
            match v {
                Val::Reg(reg, span) => {
                    let own = reg.part.bits() / 8;
                    match bytes {
                        None => bytes = Some(own),
                        Some(b) if b == own => {}
                        Some(b) if reg.is_xmm() => *reg = reg.resized(b),
                        Some(b) if suffix.is_some() && reg.part != Part::High => {
                            let narrow = reg.resized(b);
                            let message = format!(
                                "`{}` is not {} wide; the suffix makes it `{}`",
                                reg.name(self.arch),
                                bytes_of(b),
                                narrow.name(self.arch)
                            );
                            self.notes.warn_once("suffix", *span, &message);
                            *reg = narrow;
                        }
                        Some(b) => {
                            return Err(Diagnostic::new(
                                *span,
                                format!("`{}` is not {} wide", reg.name(self.arch), bytes_of(b)),
                                "expected operands of one width",
                            ));
                        }
                    }
                }
                Val::Mem(MemOp::Full(Mem { size: Some(size), place, .. })) => match bytes {
                    None => bytes = Some(*size),
                    Some(b) if b == *size => {}
                    Some(b) => {
                        return Err(Diagnostic::new(
                            place.0,
                            wrong_width(*size, b),
                            "expected operands of one width",
                        ));
                    }
                },
                _ => {}
            }
        }
        Ok(bytes)
    }
}

pub(super) fn wrong_width(found: u8, wanted: u8) -> String {
    format!("this operand has {}, but the instruction takes {wanted}", bytes_of(found))
}

impl Val<'_> {
    pub(super) fn span(&self) -> Span {
        match self {
            Val::Reg(_, span) | Val::Number(_, span) | Val::Address(_, span) => *span,
            Val::Mem(m) => m.span(),
        }
    }
}

impl MemOp<'_> {
    fn span(&self) -> Span {
        match self {
            MemOp::Full(m) => m.place.0,
            MemOp::Bare(s) => s.place.0,
        }
    }
}
