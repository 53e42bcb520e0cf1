//! Tests of the whole language: text in, programs, messages or text out.

mod compiled;
mod corpus;
mod messages;
mod mutations;
mod printed;

use super::{compile, parse};
use crate::{Diagnostic, Parsed};
use weakspot_core::{Expr, Fence, Instr, Quantifier};

/// The language page, whose examples are programs.
const PAGE: &str = include_str!("../../../../../docs/weak-language.md");

/// The programs in the language page.
fn page_examples() -> Vec<&'static str> {
    let blocks = PAGE.split("```weak\n").skip(1);
    blocks.filter_map(|block| block.split("```").next()).collect()
}

fn read(text: &str) -> Result<Parsed, Diagnostic> {
    compile(&parse(text)?)
}

/// A compiled program as text: the points that edges leave from, with their labels, and what is
/// asked.
fn show(parsed: &Parsed) -> String {
    let (program, names) = (&parsed.program, &parsed.names);
    let mut out = String::new();
    for (t, thread) in program.threads.iter().enumerate() {
        let regs = &names.regs[t];
        let inits: Vec<String> =
            regs.iter().zip(&thread.regs).map(|(name, init)| format!("{name}={init}")).collect();
        out += &format!("{}({})\n", names.threads[t], inits.join(" "));
        for (p, point) in thread.points.iter().enumerate() {
            let label = &names.points[t][p];
            let label = if label.is_empty() { String::new() } else { format!("({label})") };
            if point.edges.is_empty() {
                out += &format!("  {p}{label} end\n");
            }
            for edge in &point.edges {
                let shown = instr(&edge.instr, regs);
                out += &format!("  {p}{label} -> {}: {shown}\n", edge.to.index());
            }
        }
    }
    if let Some(condition) = &program.condition {
        let word = match condition.quantifier {
            Quantifier::Exists => "exists",
            Quantifier::NotExists => "never",
            Quantifier::Forall => "forall",
        };
        out += &format!("{word} {}\n", expr(&condition.prop, &names.observed));
    }
    if !names.observed.is_empty() {
        out += &format!("observed {}\n", names.observed.join(" "));
    }
    for combination in &program.forbidden {
        let points: Vec<String> = combination
            .iter()
            .map(|p| p.map_or("*".to_owned(), |p| p.index().to_string()))
            .collect();
        out += &format!("forbidden {}\n", points.join(" "));
    }
    out
}

fn instr(instr: &Instr, regs: &[String]) -> String {
    let e = |e: &Expr| expr(e, regs);
    match instr {
        Instr::Nop => "nop".to_owned(),
        Instr::Assign { reg, value } => format!("{} := {}", regs[reg.index()], e(value)),
        Instr::Choose { reg, low, high } => format!("{} := {low}..{high}", regs[reg.index()]),
        Instr::Assume(cond) => format!("assume {}", e(cond)),
        Instr::Assert(cond) => format!("assert {}", e(cond)),
        Instr::Load { reg, addr } => format!("{} := [{}]", regs[reg.index()], e(addr)),
        Instr::Store { addr, value } => format!("[{}] := {}", e(addr), e(value)),
        Instr::Update { reg, addr, value } => {
            format!("{} := [{}] := {}", regs[reg.index()], e(addr), e(value))
        }
        Instr::Fence(Fence::Full) => "fence".to_owned(),
        Instr::Fence(Fence::StoreStore) => "fence.ss".to_owned(),
        Instr::Lock => "lock".to_owned(),
        Instr::Unlock => "unlock".to_owned(),
    }
}

fn expr(e: &Expr, regs: &[String]) -> String {
    match e {
        Expr::Const(value) => value.to_string(),
        Expr::Reg(reg) => regs[reg.index()].clone(),
        Expr::Unary(op, operand) => format!("{op:?}({})", expr(operand, regs)),
        Expr::Binary(op, left, right) => {
            format!("({} {op:?} {})", expr(left, regs), expr(right, regs))
        }
        Expr::Select(parts) => {
            let (c, y, n) = &**parts;
            format!("({} ? {} : {})", expr(c, regs), expr(y, regs), expr(n, regs))
        }
    }
}
