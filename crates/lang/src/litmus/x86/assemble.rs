//! A test as text for the GNU assembler, so that a real CPU can run its instructions.
//!
//! Every instance of a test has a block of memory of its own, in which each variable begins a cache
//! line. A register that the thread does not use holds the address of the block, and a second one
//! helps where an address is an operand. Memory lies below 4 GiB, so that the addresses of an X86
//! test fit its registers.

use weakspot_core::{LocId, Span, Value};

use super::ast::{Instruction, Mem, Source};
use super::compile::{Prepared, prepare};
use super::lower::{Lower, Lowering, MemOp, Notes, Val};
use super::mnemonics::{Alu, Base, Bit, Cond, Decoded, Op, Shift, Unary};
use super::registers::{Family, Part, Register};
use super::thread::{self, column, effects};
use crate::Diagnostic;
use crate::litmus::arch::Arch;
use crate::litmus::ast::{Frame, Symbol, Table};
use crate::litmus::layout::Layout;

/// Variables are so many bytes apart: a line of the cache.
const LINE: usize = 64;

/// A test for the assembler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assembly {
    /// The threads, in the order of the program.
    pub threads: Vec<AssemblyThread>,
    /// The locations of the test, by rising address.
    pub memory: Vec<Placed>,
    /// The bytes of a block of memory.
    pub bytes: usize,
}

/// The instructions of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssemblyThread {
    /// Lines of AT&T syntax for 64-bit mode, which end at their last line and touch no stack.
    pub lines: Vec<String>,
    /// The register that holds the address of the block of memory, such as `%r15`.
    pub base: String,
    /// A register that the thread does not use.
    pub scratch: String,
    /// The registers of the thread's core program that are registers of the CPU, in its order, each
    /// with its first value.
    pub regs: Vec<(String, Value)>,
}

/// A location in a block of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Which one it is in the core program.
    pub loc: LocId,
    /// Its address in the core program.
    pub addr: Value,
    /// Where it begins in the block.
    pub offset: usize,
    /// Its bytes.
    pub width: u8,
    /// What it holds first.
    pub init: Value,
}

/// The instructions of a test that compiles. What no CPU runs as the models have it is refused.
pub(in crate::litmus) fn assemble(
    frame: &Frame,
    table: &Table<Instruction>,
) -> Result<Assembly, Diagnostic> {
    let test = Source { frame, table };
    let Prepared { layout, threads, .. } = prepare(test)?;
    let (memory, bytes) = place(&layout);
    let mut assembled = Vec::new();
    for (index, regs) in threads.regs.iter().enumerate() {
        assembled.push(thread(test, index, regs, &layout, &memory)?);
    }
    Ok(Assembly { threads: assembled, memory, bytes })
}

/// Where locations lie in a block, and its size.
fn place(layout: &Layout) -> (Vec<Placed>, usize) {
    let mut memory: Vec<Placed> = Vec::new();
    let mut next = 0;
    for (cell, &loc) in layout.cells.iter().zip(&layout.bytes.elements) {
        // The elements of an array follow one another as they do in the program.
        let offset = match memory.last() {
            Some(last) if last.addr + Value::from(cell.stride) == cell.addr && cell.stride > 0 => {
                last.offset + usize::from(cell.stride)
            }
            _ => next,
        };
        // Accesses may reach up to 8 bytes beyond the end.
        next = (offset + usize::from(cell.width) + 8).next_multiple_of(LINE);
        let init = layout.start(cell);
        memory.push(Placed { loc, addr: cell.addr, offset, width: cell.width, init });
    }
    (memory, next.max(LINE))
}

fn thread(
    test: Source<'_>,
    index: usize,
    regs: &[(Family, Value)],
    layout: &Layout,
    memory: &[Placed],
) -> Lowering<AssemblyThread> {
    let column = column(test, index);
    let effects = effects(test, &column)?;
    let head = &test.table.threads[index];
    let refuse = |what: &str| {
        let message = format!("P{} {what}, so that it cannot be run on this CPU", head.id);
        Err(Diagnostic::new(head.place.0, message, ""))
    };
    if regs.iter().any(|(family, _)| *family == Family::Sp) {
        return refuse("uses the stack pointer");
    }
    if regs.iter().any(|(family, _)| matches!(family, Family::Xmm(_))) {
        return refuse("uses registers of SSE");
    }
    // `ah` and its like cannot stand beside the registers that X86_64 has added.
    let high = column
        .instrs
        .iter()
        .flat_map(|(i, _)| &i.operands)
        .any(|o| matches!(o, super::ast::Operand::Reg { reg, .. } if reg.part == Part::High));
    let named = [Family::Bp, Family::Di, Family::Si, Family::Dx, Family::Cx, Family::Bx];
    let added = (8..16).rev().map(Family::R).filter(|_| !high);
    let mut free = added.chain(named).filter(|f| regs.iter().all(|(used, _)| used != f));
    let (Some(base), Some(scratch)) = (free.next(), free.next()) else {
        return refuse("leaves no two registers free");
    };
    let whole = |family| Register { family, part: Part::Quad };
    let mut notes = Notes::default();
    let mut a = Assembler {
        lower: Lower::new(test.frame.arch, layout, regs, &mut notes),
        memory,
        base: whole(base),
        scratch: whole(scratch),
        taken: false,
        lines: Vec::new(),
    };
    let label = |at: usize| format!(".Lthread{index}_{at}");
    let changed = thread::changed(&column);
    for (i, (instr, decoded)) in column.instrs.iter().enumerate() {
        if column.labels.values().any(|at| *at == i) {
            a.lower.forget(|family| !changed.contains(&family));
        }
        a.lines.push(format!("{}:", label(i)));
        match decoded.op {
            Op::Jump | Op::Branch(_) | Op::Ret => {
                let to = effects[i].next[0].unwrap_or(i + 1);
                let jump = match decoded.op {
                    Op::Branch(cond) => format!("j{}", condition(cond)),
                    _ => "jmp".to_owned(),
                };
                a.lines.push(format!("{jump} {}", label(to)));
            }
            _ => a.instruction(instr, *decoded)?,
        }
        // What is known about registers decides how wide some accesses are.
        a.lower.instruction(instr, *decoded)?;
        a.lower.steps.clear();
    }
    a.lines.push(format!("{}:", label(column.instrs.len())));
    let lines = a.lines;
    let general = regs.iter().filter(|(family, _)| whole(*family).is_general());
    let regs = general.map(|(family, value)| (percent(whole(*family)), *value)).collect();
    let (base, scratch) = (percent(whole(base)), percent(whole(scratch)));
    Ok(AssemblyThread { lines, base, scratch, regs })
}

struct Assembler<'a> {
    lower: Lower<'a>,
    memory: &'a [Placed],
    base: Register,
    scratch: Register,
    /// The current instruction uses it.
    taken: bool,
    lines: Vec<String>,
}

impl<'a> Assembler<'a> {
    fn instruction(&mut self, instr: &'a Instruction, d: Decoded) -> Lowering<()> {
        let refuse = |why: &str| {
            let message = format!("`{}` cannot be run on this CPU", instr.mnemonic);
            Err(Diagnostic::new(instr.place.0, message, why))
        };
        self.taken = false;
        let mut vals = self.lower.operands(instr)?;
        let text = match (d.op, vals.as_mut_slice()) {
            (Op::Nop, _) if instr.mnemonic.starts_with("leave") => "nop".to_owned(),
            (Op::LongNop, _) => "nop".to_owned(),
            (Op::Mfence | Op::Sfence | Op::Lfence | Op::Nop, _) => instr.mnemonic.clone(),
            (Op::Cache, [Val::Mem(m)]) => format!("{} {}", instr.mnemonic, self.mem(m)?),
            (Op::MovNt, _) => return refuse("its store is weaker than TSO, which it is judged by"),
            (Op::UnlockedXchg, _) => return refuse("only simulators have it"),
            (Op::Set(cond), [dst]) => {
                format!("set{} {}", condition(cond), self.operand(dst, Some(1))?)
            }
            (Op::Unary(op), [_]) => {
                let bytes = self.width(d.suffix, &mut vals)?;
                let dst = self.operand(&vals[0], bytes)?;
                format!("{}{} {dst}", unary(op), letter(bytes))
            }
            (Op::Shift(op), [_] | [_, _]) => {
                let count = if vals.len() > 1 { vals.pop() } else { None };
                let bytes = self.width(d.suffix, &mut vals)?;
                let dst = self.operand(&vals[0], bytes)?;
                let count = match count {
                    Some(Val::Reg(..)) => "%cl".to_owned(),
                    Some(Val::Number(n, _)) => format!("${n}"),
                    _ => "$1".to_owned(),
                };
                format!("{}{} {count},{dst}", shift(op), letter(bytes))
            }
            (op, [dst, src]) => {
                let swap = match op {
                    Op::Xchg | Op::Cmpxchg | Op::Xadd => matches!(src, Val::Mem(_)),
                    Op::Cmov(_) => matches!(dst, Val::Mem(_)),
                    _ => false,
                };
                let (dst, src) = if swap { (src, dst) } else { (dst, src) };
                let two = [dst.clone(), src.clone()];
                match self.two(d, two)? {
                    Some(text) => text,
                    None => return refuse("it means something else there"),
                }
            }
            _ => return refuse("its operands are none that a CPU takes"),
        };
        let lock = if instr.lock.is_some() { "lock " } else { "" };
        self.lines.push(format!("{lock}{text}"));
        Ok(())
    }

    /// An instruction with two operands, the destination first; `None` if a CPU does something else.
    fn two(&mut self, d: Decoded, [dst, src]: [Val<'a>; 2]) -> Lowering<Option<String>> {
        match d.op {
            Op::Extend { signed, from } => {
                let mut dsts = [dst];
                let to = self.width(d.suffix, &mut dsts)?;
                let mut srcs = [src];
                let from = self.width(from, &mut srcs)?;
                let [dst, src] = [&dsts[0], &srcs[0]];
                let src = self.operand(src, from)?;
                if let (false, Some(4), Val::Reg(reg, _)) = (signed, from, dst) {
                    // A move of 32 bits clears the rest.
                    return Ok(Some(format!("movl {src},{}", percent(reg.resized(4)))));
                }
                let kind = if signed { "s" } else { "z" };
                let dst = self.operand(dst, to)?;
                Ok(Some(format!("mov{kind}{}{} {src},{dst}", letter(from), letter(to))))
            }
            Op::Lea => {
                let mut dsts = [dst];
                let bytes = self.width(d.suffix, &mut dsts)?;
                let src = match &src {
                    Val::Mem(m) => self.mem(m)?,
                    Val::Address(addr, span) => self.at(*addr, *span)?,
                    _ => return Ok(None),
                };
                let dst = self.operand(&dsts[0], bytes)?;
                Ok(Some(format!("lea{} {src},{dst}", letter(bytes))))
            }
            Op::Bit(op) => {
                let mut dsts = [dst];
                let bytes = self.width(d.suffix, &mut dsts)?;
                let [dst] = dsts;
                let src = match (&src, &dst) {
                    (Val::Number(n, _), _) => format!("${n}"),
                    (Val::Reg(reg, _), Val::Reg(..)) => percent(reg.resized(bytes.unwrap_or(8))),
                    // With a register, the CPU reaches bits outside of the operand.
                    _ => return Ok(None),
                };
                let dst = self.operand(&dst, bytes)?;
                Ok(Some(format!("{}{} {src},{dst}", bit(op), letter(bytes))))
            }
            op => {
                let name = match op {
                    Op::Mov => "mov",
                    Op::Cmp => "cmp",
                    Op::Test => "test",
                    Op::Alu(op) => alu(op),
                    Op::Xchg => "xchg",
                    Op::Cmpxchg => "cmpxchg",
                    Op::Xadd => "xadd",
                    Op::Cmov(_) => "cmov",
                    _ => return Ok(None),
                };
                let mut vals = [dst, src];
                let bytes = self.width(d.suffix, &mut vals)?;
                let [dst, src] = vals;
                if let (Op::Mov, Val::Reg(..), Val::Number(n, _), Some(8)) = (op, &dst, &src, bytes)
                {
                    return Ok(Some(format!(
                        "movabsq ${},{}",
                        *n as i64,
                        self.operand(&dst, bytes)?
                    )));
                }
                let src = self.operand(&src, bytes)?;
                let dst = self.operand(&dst, bytes)?;
                let ending = match op {
                    Op::Cmov(cond) => condition(cond),
                    _ => letter(bytes).to_owned(),
                };
                Ok(Some(format!("{name}{ending} {src},{dst}")))
            }
        }
    }

    /// How wide an instruction with these operands is.
    fn width(&mut self, suffix: Option<u8>, vals: &mut [Val<'a>]) -> Lowering<Option<u8>> {
        if let Some(bytes) = self.lower.width(suffix, vals)? {
            return Ok(Some(bytes));
        }
        for val in vals.iter() {
            if let Val::Mem(m) = val {
                return Ok(Some(self.lower.target(m, None)?.bytes));
            }
        }
        Ok(None)
    }

    fn operand(&mut self, val: &Val<'a>, bytes: Option<u8>) -> Lowering<String> {
        let bytes = bytes.unwrap_or(self.lower.arch.word());
        match val {
            Val::Reg(reg, _) => Ok(percent(*reg)),
            Val::Mem(m) => self.mem(m),
            Val::Number(n, span) => {
                // As the CPU extends it.
                let n = match bytes {
                    1 => i64::from(*n as i8),
                    2 => i64::from(*n as i16),
                    4 => i64::from(*n as i32),
                    _ => *n as i64,
                };
                match i32::try_from(n) {
                    Ok(n) => Ok(format!("${n}")),
                    // No instruction but `mov` to a register takes a number of 64 bits.
                    Err(_) => {
                        let scratch = self.take_scratch(*span)?;
                        self.lines.push(format!("movabsq ${n},{}", percent(scratch)));
                        Ok(percent(scratch))
                    }
                }
            }
            Val::Address(addr, span) => {
                let at = self.at(*addr, *span)?;
                let scratch = self.take_scratch(*span)?;
                self.lines.push(format!("leaq {at},{}", percent(scratch)));
                Ok(percent(scratch.resized(bytes)))
            }
        }
    }

    /// The register that the thread does not use, for one operand of an instruction.
    fn take_scratch(&mut self, span: Span) -> Lowering<Register> {
        match std::mem::replace(&mut self.taken, true) {
            false => Ok(self.scratch),
            true => Err(Diagnostic::new(
                span,
                "this instruction has too many addresses to be run on this CPU",
                "expected an operand without the address of a location",
            )),
        }
    }

    /// The place of a location in the block of memory.
    fn at(&self, addr: Value, span: Span) -> Lowering<String> {
        match self.memory.iter().find(|placed| placed.addr == addr) {
            Some(placed) => Ok(format!("{}({})", placed.offset, percent(self.base))),
            None => Err(Diagnostic::new(span, "there is no location here", "")),
        }
    }

    fn offset(&self, symbol: &Symbol) -> Lowering<i64> {
        let cell = self.lower.layout.cell(symbol)?;
        Ok(self.memory.get(cell).map_or(0, |placed| placed.offset as i64))
    }

    fn mem(&mut self, m: &MemOp<'a>) -> Lowering<String> {
        let base = percent(self.base);
        let m: &Mem = match m {
            MemOp::Bare(symbol) => return Ok(format!("{}({base})", self.offset(symbol)?)),
            MemOp::Full(m) => m,
        };
        // Addresses relative to the next instruction are those of a location.
        let of = m.base.filter(|r| r.family != Family::Ip);
        let Some(symbol) = &m.symbol else {
            return match (of, m.index) {
                (None, None) => Err(Diagnostic::new(
                    m.place.0,
                    "a number is no address on this CPU",
                    "expected a location or a register that holds the address of one",
                )),
                (of, index) => {
                    let of = of.map(percent).unwrap_or_default();
                    Ok(format!("{}({of}{})", m.disp, indexed(index)))
                }
            };
        };
        let disp = self.offset(symbol)?.wrapping_add(m.disp);
        let narrow = of.iter().chain(m.index.iter().map(|(r, _)| r)).any(|r| r.part == Part::Dword);
        let bytes = if narrow { 4 } else { 8 };
        let base = percent(self.base.resized(bytes));
        match (of, m.index) {
            (None, index) => Ok(format!("{disp}({base}{})", indexed(index))),
            (Some(of), None) => Ok(format!("{disp}({base},{},1)", percent(of))),
            (Some(of), index) => {
                let scratch = percent(self.take_scratch(m.place.0)?.resized(bytes));
                let of = percent(of);
                let suffix = letter(Some(bytes));
                self.lines.push(format!("lea{suffix} {disp}({base},{of},1),{scratch}"));
                Ok(format!("({scratch}{})", indexed(index)))
            }
        }
    }
}

fn percent(reg: Register) -> String {
    format!("%{}", reg.name(Arch::X86_64))
}

fn indexed(index: Option<(Register, u8)>) -> String {
    index.map(|(reg, scale)| format!(",{},{scale}", percent(reg))).unwrap_or_default()
}

/// The suffix for so many bytes.
fn letter(bytes: Option<u8>) -> &'static str {
    match bytes {
        Some(1) => "b",
        Some(2) => "w",
        Some(4) => "l",
        Some(_) => "q",
        None => "",
    }
}

fn condition(Cond { base, negated }: Cond) -> String {
    let base = match base {
        Base::Overflow => "o",
        Base::Below => "b",
        Base::Equal => "e",
        Base::BelowOrEqual => "be",
        Base::Sign => "s",
        Base::Parity => "p",
        Base::Less => "l",
        Base::LessOrEqual => "le",
    };
    format!("{}{base}", if negated { "n" } else { "" })
}

fn alu(op: Alu) -> &'static str {
    match op {
        Alu::Add => "add",
        Alu::Adc => "adc",
        Alu::Sub => "sub",
        Alu::Sbb => "sbb",
        Alu::And => "and",
        Alu::Or => "or",
        Alu::Xor => "xor",
    }
}

fn unary(op: Unary) -> &'static str {
    match op {
        Unary::Inc => "inc",
        Unary::Dec => "dec",
        Unary::Neg => "neg",
        Unary::Not => "not",
    }
}

fn shift(op: Shift) -> &'static str {
    match op {
        Shift::Left => "shl",
        Shift::Right => "shr",
        Shift::Arithmetic => "sar",
    }
}

fn bit(op: Bit) -> &'static str {
    match op {
        Bit::Keep => "bt",
        Bit::Set => "bts",
        Bit::Reset => "btr",
        Bit::Flip => "btc",
    }
}
