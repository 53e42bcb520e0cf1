//! Syntax tree to text.

use std::fmt::Write;

use super::syntax::{Expr, ExprKind, File, Instr};

/// The program as Trencher would read it: one transition per line, comments gone.
#[must_use]
pub fn print(file: &File) -> String {
    let mut out = String::new();
    if let Some(size) = &file.memory_size {
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(out, "memory_size {}\n", size.cells);
    }
    for (i, thread) in file.threads.iter().enumerate() {
        if i > 0 {
            out.push('\n');
        }
        let _ = writeln!(out, "thread {}", thread.name.text);
        let _ = writeln!(out, "initial {}", thread.initial.text);
        if let Some(goal) = &thread.goal {
            let _ = writeln!(out, "final {}", goal.text);
        }
        for t in &thread.transitions {
            let _ = write!(out, "transition {} {} ", t.from.text, t.to.text);
            instr(&mut out, &t.instr);
            out.push('\n');
        }
        out.push_str("end\n");
    }
    out
}

fn instr(out: &mut String, i: &Instr) {
    match i {
        Instr::Read { reg, addr } => operands(out, &format!("read {}", reg.text), &[addr]),
        Instr::Write { value, addr } => operands(out, "write", &[value, addr]),
        Instr::Local { reg, value } => operands(out, &format!("local {}", reg.text), &[value]),
        Instr::Check(e) => operands(out, "check", &[e]),
        Instr::Noop => out.push_str("noop"),
        Instr::Mfence => out.push_str("mfence"),
        Instr::Lock => out.push_str("lock"),
        Instr::Unlock => out.push_str("unlock"),
    }
}

fn operands(out: &mut String, head: &str, exprs: &[&Expr]) {
    out.push_str(head);
    for e in exprs {
        out.push(' ');
        expr(out, e);
    }
}

fn expr(out: &mut String, e: &Expr) {
    match &e.kind {
        ExprKind::Int(value) => {
            let _ = write!(out, "{value}");
        }
        ExprKind::Reg(name) => out.push_str(name),
        ExprKind::Not(inner) => operands(out, "!", &[inner]),
        ExprKind::Binary(op, left, right) => operands(out, op.symbol(), &[left, right]),
        ExprKind::Power(base, exponent) => {
            operands(out, "^", &[base]);
            let _ = write!(out, " {exponent}");
        }
    }
}
