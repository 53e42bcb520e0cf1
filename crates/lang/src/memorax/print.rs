//! Syntax tree to text.

use std::fmt::Write;

use super::syntax::{
    BoolExpr, BoolKind, Decl, Expr, ExprKind, FenceKind, File, Place, PlaceKind, Process, Stmt,
    StmtKind, WriteKind,
};

/// The program as Memorax would read it, one statement per line. Macros stay expanded.
#[must_use]
pub fn print(file: &File) -> String {
    let mut out = String::from("forbidden\n");
    let rows: Vec<String> = file
        .forbidden
        .iter()
        .map(|row| {
            let labels: Vec<&str> =
                row.labels.iter().map(|l| l.as_ref().map_or("*", |l| &l.text)).collect();
            format!("  {}", labels.join(" "))
        })
        .collect();
    out.push_str(&rows.join(";\n"));
    out.push('\n');
    if !file.predicates.is_empty() {
        let predicates: Vec<String> =
            file.predicates.iter().map(|b| format!("  {}", bool_expr(b))).collect();
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(out, "predicates\n{}", predicates.join(";\n"));
    }
    section(&mut out, "data", &file.data);
    for p in &file.processes {
        process(&mut out, p);
    }
    out
}

fn process(out: &mut String, p: &Process) {
    match p.copies {
        1 => out.push_str("\nprocess\n"),
        n => {
            let _ = writeln!(out, "\nprocess({n})");
        }
    }
    section(out, "data", &p.data);
    section(out, "registers", &p.registers);
    out.push_str("text\n");
    statements(out, &p.text, 1);
    out.push('\n');
}

fn section(out: &mut String, title: &str, decls: &[Decl]) {
    if decls.is_empty() {
        return;
    }
    let _ = writeln!(out, "{title}");
    for d in decls {
        let init = d.init.map_or("*".to_owned(), |value| value.to_string());
        let _ = write!(out, "  {} = {init}", d.name.text);
        if let Some((low, high)) = d.domain {
            let _ = write!(out, " : [{low}:{high}]");
        }
        out.push('\n');
    }
}

/// Statements separated by `;`, without a line break after the last.
fn statements(out: &mut String, list: &[Stmt], indent: usize) {
    for (i, s) in list.iter().enumerate() {
        if i > 0 {
            out.push_str(";\n");
        }
        out.push_str(&"  ".repeat(indent));
        statement(out, s, indent);
    }
}

fn statement(out: &mut String, s: &Stmt, indent: usize) {
    if let Some(label) = &s.label {
        let _ = write!(out, "{}: ", label.text);
    }
    let (kind, read) = match &s.kind {
        StmtKind::SyncRead(read) => (&**read, "syncrd"),
        kind => (kind, "read"),
    };
    let _ = match kind {
        // What is synchronized is a read, and no other statement.
        StmtKind::Nop | StmtKind::SyncRead(_) => write!(out, "nop"),
        StmtKind::Assign { reg, value } => write!(out, "{} := {}", reg.text, expr(value)),
        StmtKind::Assume(b) => write!(out, "assume: {}", bool_expr(b)),
        StmtKind::ReadAssert { place: p, value } => {
            write!(out, "{read}: {} = {}", place(p), expr(value))
        }
        StmtKind::ReadAssign { reg, place: p } => {
            write!(out, "{read}: {} := {}", reg.text, place(p))
        }
        StmtKind::Write { kind, place: p, value } => {
            let word = match kind {
                WriteKind::Plain => "write",
                WriteKind::Locked => "locked write",
                WriteKind::StoreLocked => "slocked write",
                WriteKind::Sync => "syncwr",
            };
            write!(out, "{word}: {} := {}", place(p), expr(value))
        }
        StmtKind::Cas { place: p, old, new } => {
            write!(out, "cas({}, {}, {})", place(p), expr(old), expr(new))
        }
        StmtKind::Fence(FenceKind::Full) => write!(out, "fence"),
        StmtKind::Fence(FenceKind::StoreStore) => write!(out, "ssfence"),
        StmtKind::Fence(FenceKind::LoadLoad) => write!(out, "llfence"),
        StmtKind::Goto(label) => write!(out, "goto {}", label.text),
        StmtKind::If { cond, then, otherwise } => {
            let _ = write!(out, "if {} then ", bool_expr(cond));
            statement(out, then, indent);
            if let Some(otherwise) = otherwise {
                out.push_str(" else ");
                statement(out, otherwise, indent);
            }
            Ok(())
        }
        StmtKind::While { cond, body } => {
            let _ = write!(out, "while {} do ", bool_expr(cond));
            statement(out, body, indent);
            Ok(())
        }
        StmtKind::Either(list) => branches(out, "either ", list, indent),
        StmtKind::Locked(list) => branches(out, "locked ", list, indent),
        StmtKind::Block(list) => branches(out, "", std::slice::from_ref(list), indent),
    };
}

fn branches(
    out: &mut String,
    word: &str,
    list: &[Vec<Stmt>],
    indent: usize,
) -> Result<(), std::fmt::Error> {
    writeln!(out, "{word}{{")?;
    for (i, branch) in list.iter().enumerate() {
        if i > 0 {
            write!(out, "\n{}or\n", "  ".repeat(indent))?;
        }
        statements(out, branch, indent + 1);
    }
    write!(out, "\n{}}}", "  ".repeat(indent))
}

fn place(p: &Place) -> String {
    match &p.kind {
        PlaceKind::Global(name) => name.clone(),
        PlaceKind::Own(name) => format!("{name}[my]"),
        PlaceKind::Other(name, process) => format!("{name}[{process}]"),
        PlaceKind::Pointer(e) => format!("[{}]", expr(e)),
    }
}

fn expr(e: &Expr) -> String {
    let operand = |e: &Expr| match e.kind {
        ExprKind::Add(..) | ExprKind::Sub(..) => format!("({})", expr(e)),
        _ => expr(e),
    };
    match &e.kind {
        ExprKind::Int(value) => value.to_string(),
        ExprKind::Reg(name) => name.clone(),
        ExprKind::Neg(inner) => format!("-{}", operand(inner)),
        ExprKind::Add(left, right) => format!("{} + {}", expr(left), operand(right)),
        ExprKind::Sub(left, right) => format!("{} - {}", expr(left), operand(right)),
    }
}

fn bool_expr(b: &BoolExpr) -> String {
    let bracketed = |b: &BoolExpr| format!("[{}]", bool_expr(b));
    let below_and = |b: &BoolExpr| match b.kind {
        BoolKind::Or(..) => bracketed(b),
        _ => bool_expr(b),
    };
    match &b.kind {
        BoolKind::Const(value) => value.to_string(),
        BoolKind::Compare(c, left, right) => {
            format!("{} {} {}", expr(left), c.symbol(), expr(right))
        }
        BoolKind::Not(inner) => match inner.kind {
            BoolKind::Const(_) | BoolKind::Compare(..) => format!("not {}", bool_expr(inner)),
            _ => format!("not {}", bracketed(inner)),
        },
        BoolKind::And(left, right) => {
            let right = match right.kind {
                BoolKind::And(..) => bracketed(right),
                _ => below_and(right),
            };
            format!("{} && {right}", below_and(left))
        }
        BoolKind::Or(left, right) => {
            let right = match right.kind {
                BoolKind::Or(..) => bracketed(right),
                _ => bool_expr(right),
            };
            format!("{} || {right}", bool_expr(left))
        }
    }
}
