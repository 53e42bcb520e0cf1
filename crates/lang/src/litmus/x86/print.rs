//! Instructions as text.

use super::ast::{Instruction, Mem, MemStyle, Operand};
use super::registers::Register;
use crate::litmus::arch::Arch;
use crate::litmus::print::{put, symbol};

/// An instruction as text, upper case in X86 and lower case in X86_64.
pub(in crate::litmus) fn instruction(arch: Arch, i: &Instruction) -> String {
    let mut out = String::new();
    if i.lock.is_some() {
        out.push_str("lock ");
    }
    out.push_str(&i.mnemonic);
    if arch == Arch::X86 {
        out.make_ascii_uppercase();
    }
    for (n, o) in i.operands.iter().enumerate() {
        out.push(if n == 0 { ' ' } else { ',' });
        out.push_str(&operand(arch, o));
    }
    out
}

fn operand(arch: Arch, o: &Operand) -> String {
    match o {
        Operand::Reg { reg, percent, .. } => register(arch, *reg, *percent),
        Operand::Number { value, dollar, .. } => {
            format!("{}{value}", if *dollar { "$" } else { "" })
        }
        Operand::Address(s) => format!("${}", symbol(s)),
        Operand::Name(s) => symbol(s),
        Operand::Mem(m) => mem(arch, m),
    }
}

fn register(arch: Arch, reg: Register, percent: bool) -> String {
    format!("{}{}", if percent { "%" } else { "" }, reg.name(arch))
}

fn mem(arch: Arch, m: &Mem) -> String {
    let size = match m.size {
        Some(1) => "BYTE PTR ",
        Some(2) => "WORD PTR ",
        Some(4) => "DWORD PTR ",
        Some(_) => "QWORD PTR ",
        None => "",
    };
    let reg = |r: &Register| register(arch, *r, m.percent);
    match m.style {
        MemStyle::Brackets => {
            let mut terms: Vec<String> = Vec::new();
            terms.extend(m.symbol.as_ref().map(symbol));
            terms.extend(m.base.as_ref().map(reg));
            terms.extend(m.index.as_ref().map(|(r, scale)| format!("{}*{scale}", reg(r))));
            let mut sum = terms.join("+");
            if m.disp != 0 || terms.is_empty() {
                let plus = if terms.is_empty() || m.disp < 0 { "" } else { "+" };
                put(&mut sum, format_args!("{plus}{}", m.disp));
            }
            format!("{size}[{sum}]")
        }
        MemStyle::Parens => {
            let registers = match (&m.base, &m.index) {
                (None, None) => None,
                (Some(base), None) => Some(reg(base)),
                (base, Some((index, scale))) => {
                    let base = base.as_ref().map(reg).unwrap_or_default();
                    Some(format!("{base},{},{scale}", reg(index)))
                }
            };
            let mut front = m.symbol.as_ref().map(symbol).unwrap_or_default();
            if m.disp != 0 || (front.is_empty() && registers.is_none()) {
                let plus = if front.is_empty() || m.disp < 0 { "" } else { "+" };
                put(&mut front, format_args!("{plus}{}", m.disp));
            }
            match registers {
                Some(registers) => format!("{size}{front}({registers})"),
                None => format!("{size}({front})"),
            }
        }
    }
}
