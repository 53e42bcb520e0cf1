//! Help for the tests of the languages: programs as short text, trees without spans, and broken
//! versions of good texts.

use weakspot_core::{BinOp, Expr, Fence, Instr, Names, Program, UnOp};

use crate::{Diagnostic, Parsed};

/// A program as lines of the form `thread: point -> point: instruction`. Unnamed points are
/// numbered, and lines of threads that are alike are not merged.
pub(crate) fn show(parsed: &Parsed) -> String {
    let Parsed { program, names, .. } = parsed;
    let mut lines = Vec::new();
    for (l, loc) in program.locs.iter().enumerate() {
        let range = loc.range.map_or(String::new(), |(low, high)| format!(" in {low}..={high}"));
        lines.push(format!("[{}] {} = {:?}{range}", loc.addr, names.locs[l], loc.init));
    }
    for (t, thread) in program.threads.iter().enumerate() {
        let entry = point(names, t, thread.entry.index());
        let regs: Vec<String> =
            names.regs[t].iter().zip(&thread.regs).map(|(n, v)| format!(" {n}={v}")).collect();
        lines.push(format!("{} at {entry}{}", names.threads[t], regs.concat()));
        for (p, from) in thread.points.iter().enumerate() {
            for edge in &from.edges {
                let (from, to) = (point(names, t, p), point(names, t, edge.to.index()));
                lines.push(format!("  {from} -> {to}: {}", instr(&names.regs[t], &edge.instr)));
            }
        }
    }
    for combination in &program.forbidden {
        let row: Vec<String> = combination
            .iter()
            .enumerate()
            .map(|(t, p)| p.map_or("*".to_owned(), |p| point(names, t, p.index())))
            .collect();
        lines.push(format!("forbidden {}", row.join(" ")));
    }
    lines.join("\n")
}

fn point(names: &Names, thread: usize, point: usize) -> String {
    match names.points[thread][point].as_str() {
        "" => point.to_string(),
        name => name.to_owned(),
    }
}

fn instr(regs: &[String], i: &Instr) -> String {
    let e = |e: &Expr| expr(regs, e);
    match i {
        Instr::Nop => "nop".to_owned(),
        Instr::Assign { reg, value } => format!("{} := {}", regs[reg.index()], e(value)),
        Instr::Choose { reg, low, high } => format!("{} := {low}..={high}", regs[reg.index()]),
        Instr::Assume(c) => format!("assume {}", e(c)),
        Instr::Assert(c) => format!("assert {}", e(c)),
        Instr::Load { reg, addr } => format!("{} := mem[{}]", regs[reg.index()], e(addr)),
        Instr::Store { addr, value } => format!("mem[{}] := {}", e(addr), e(value)),
        Instr::Update { reg, addr, value } => {
            format!("{} := mem[{}] := {}", regs[reg.index()], e(addr), e(value))
        }
        Instr::Fence(Fence::Full) => "fence".to_owned(),
        Instr::Fence(Fence::StoreStore) => "ssfence".to_owned(),
        Instr::Lock => "lock".to_owned(),
        Instr::Unlock => "unlock".to_owned(),
    }
}

fn expr(regs: &[String], e: &Expr) -> String {
    match e {
        Expr::Const(v) => v.to_string(),
        Expr::Reg(r) => regs[r.index()].clone(),
        Expr::Unary(op, e) => {
            let symbol = match op {
                UnOp::Neg => "-",
                UnOp::Not => "!",
                _ => "?",
            };
            format!("{symbol}{}", expr(regs, e))
        }
        Expr::Binary(op, l, r) => {
            let symbol = match op {
                BinOp::Add => "+",
                BinOp::Sub => "-",
                BinOp::Mul => "*",
                BinOp::Div => "/",
                BinOp::Rem => "%",
                BinOp::BitAnd => "&",
                BinOp::Eq => "==",
                BinOp::Ne => "!=",
                BinOp::Lt => "<",
                BinOp::Le => "<=",
                BinOp::Gt => ">",
                BinOp::Ge => ">=",
                BinOp::And => "&&",
                BinOp::Or => "||",
                _ => "?",
            };
            format!("({} {symbol} {})", expr(regs, l), expr(regs, r))
        }
        Expr::Select(parts) => {
            let (c, t, f) = &**parts;
            format!("({} ? {} : {})", expr(regs, c), expr(regs, t), expr(regs, f))
        }
    }
}

/// Where a diagnostic points, what it says, and its hint.
pub(crate) fn place_and_message(text: &str, d: &Diagnostic) -> String {
    let (line, column) = d.span.line_column(text);
    let quoted = &text[d.span.start as usize..d.span.end as usize];
    let help = d.help.as_ref().map_or(String::new(), |h| format!(" ({h})"));
    format!("{line}:{column} `{quoted}` {}{help}", d.message)
}

/// The debug output of a tree, spans blanked out.
pub(crate) fn without_spans(tree: &impl std::fmt::Debug) -> String {
    let printed = format!("{tree:?}");
    let mut parts = printed.split("Span { ");
    let mut out = parts.next().unwrap_or("").to_owned();
    for part in parts {
        out.push_str(part.split_once('}').map_or("", |(_, rest)| rest));
    }
    out
}

/// Calls `check` with thousands of broken versions of `texts`: bytes deleted, doubled, replaced
/// and moved. Deterministic.
pub(crate) fn for_each_mutation(texts: &[&str], rounds: usize, mut check: impl FnMut(&str)) {
    let mut seed: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut random = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below.max(1) as u64) as usize
    };
    for text in texts {
        for _ in 0..rounds {
            let mut bytes = text.as_bytes().to_vec();
            for _ in 0..=random(3) {
                let start = random(bytes.len());
                let end = (start + 1 + random(12)).min(bytes.len());
                match random(5) {
                    0 => drop(bytes.drain(start..end)),
                    1 => {
                        let copy = bytes[start..end].to_vec();
                        bytes.splice(start..start, copy);
                    }
                    2 => {
                        let piece: Vec<u8> = bytes.drain(start..end).collect();
                        let at = random(bytes.len() + 1);
                        bytes.splice(at..at, piece);
                    }
                    3 if start < bytes.len() => bytes[start] = random(256) as u8,
                    _ if start < bytes.len() => {
                        let symbols = b" \n;:=[](){}*$#/&|<>!-+,09aZ";
                        bytes[start] = symbols[random(symbols.len())];
                    }
                    _ => {}
                }
            }
            check(&String::from_utf8_lossy(&bytes));
        }
    }
}

/// A span that can be shown: inside the text and at character boundaries.
pub(crate) fn assert_in_text(text: &str, d: &Diagnostic) {
    let (start, end) = (d.span.start as usize, d.span.end as usize);
    assert!(start <= end && text.get(start..end).is_some(), "{d:?} in {text:?}");
    assert!(!d.message.is_empty());
}

/// The edges of a program stay within its points and registers.
pub(crate) fn assert_well_formed(program: &Program, names: &Names) {
    assert_eq!(program.threads.len(), names.threads.len());
    assert_eq!(program.locs.len(), names.locs.len());
    assert!(program.locs.is_sorted_by(|a, b| a.addr < b.addr));
    for (t, thread) in program.threads.iter().enumerate() {
        assert_eq!(thread.regs.len(), names.regs[t].len());
        assert_eq!(thread.points.len(), names.points[t].len());
        assert!(thread.entry.index() < thread.points.len());
        let mut values = thread.regs.clone();
        for edge in thread.points.iter().flat_map(|p| &p.edges) {
            assert!(edge.to.index() < thread.points.len());
            // Evaluation panics on a register that does not exist; overflow wraps.
            match &edge.instr {
                Instr::Assign { reg, value } => {
                    values[reg.index()] = value.eval(&values).unwrap_or(0);
                }
                Instr::Assume(e) | Instr::Assert(e) => {
                    let _ = e.eval(&values);
                }
                Instr::Load { reg, addr } => {
                    values[reg.index()] = addr.eval(&values).unwrap_or(0);
                }
                Instr::Store { addr, value } => {
                    let _ = addr.eval(&values);
                    let _ = value.eval(&values);
                }
                Instr::Update { reg, addr, value } => {
                    values[reg.index()] = addr.eval(&values).unwrap_or(0);
                    let _ = value.eval(&values);
                }
                Instr::Choose { reg, low, high } => {
                    assert!(low <= high);
                    values[reg.index()] = *low;
                }
                Instr::Nop | Instr::Fence(_) | Instr::Lock | Instr::Unlock => {}
            }
        }
    }
    for row in &program.forbidden {
        assert_eq!(row.len(), program.threads.len());
        for (t, p) in row.iter().enumerate() {
            assert!(p.is_none_or(|p| p.index() < program.threads[t].points.len()));
        }
    }
}
