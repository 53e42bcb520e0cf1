//! Threads in C as text.

use weakspot_core::UnOp;

use super::ast::{Expr, ExprKind, Function, Stmt, StmtKind, Type};
use super::parse::sign;
use crate::litmus::print::put;

/// The threads, each with an empty line before it.
pub(in crate::litmus) fn functions(functions: &[Function]) -> String {
    let mut out = String::new();
    for f in functions {
        let params: Vec<String> =
            f.params.iter().map(|(t, n)| format!("{}{}", ctype(t), n.text)).collect();
        put(&mut out, format_args!("\nP{}({})\n{{\n", f.head.id, params.join(", ")));
        stmts(&mut out, &f.body, 1);
        out.push_str("}\n");
    }
    out.push('\n');
    out
}

/// The type and what separates it from a name.
fn ctype(t: &Type) -> String {
    format!("{} {}", t.name, "*".repeat(t.stars as usize))
}

fn stmts(out: &mut String, list: &[Stmt], depth: usize) {
    list.iter().for_each(|s| stmt(out, s, depth));
}

fn block(out: &mut String, list: &[Stmt], depth: usize) {
    out.push_str("{\n");
    stmts(out, list, depth + 1);
    put(out, format_args!("{}}}", "\t".repeat(depth)));
}

fn stmt(out: &mut String, s: &Stmt, depth: usize) {
    out.push_str(&"\t".repeat(depth));
    match &s.kind {
        StmtKind::Declare(t, vars) => {
            let list: Vec<String> = vars
                .iter()
                .map(|(name, value)| match value {
                    Some(value) => format!("{} = {}", name.text, expr(value)),
                    None => name.text.clone(),
                })
                .collect();
            let separator = format!(", {}", "*".repeat(t.stars as usize));
            put(out, format_args!("{}{};", ctype(t), list.join(&separator)));
        }
        StmtKind::Assign(to, None, value) => {
            put(out, format_args!("{} = {};", expr(to), expr(value)));
        }
        StmtKind::Assign(to, Some(op), value) => {
            put(out, format_args!("{} {}= {};", expr(to), sign(*op).0, expr(value)));
        }
        StmtKind::Do(call) => put(out, format_args!("{};", expr(call))),
        StmtKind::If(cond, yes, no) => {
            put(out, format_args!("if ({}) ", expr(cond)));
            block(out, yes, depth);
            if let Some(no) = no {
                out.push_str(" else ");
                block(out, no, depth);
            }
        }
        StmtKind::While(cond, body) => {
            put(out, format_args!("while ({}) ", expr(cond)));
            block(out, body, depth);
        }
        StmtKind::DoWhile(body, cond) => {
            out.push_str("do ");
            block(out, body, depth);
            put(out, format_args!(" while ({});", expr(cond)));
        }
        StmtKind::Block(inner) => block(out, inner, depth),
        StmtKind::Break => out.push_str("break;"),
        StmtKind::Continue => out.push_str("continue;"),
        StmtKind::Return => out.push_str("return;"),
        StmtKind::Empty => out.push(';'),
    }
    out.push('\n');
}

fn expr(e: &Expr) -> String {
    match &e.kind {
        ExprKind::Number(n) => n.to_string(),
        ExprKind::Name(name) => name.clone(),
        ExprKind::Deref(inner) => format!("*{}", operand(inner)),
        ExprKind::AddressOf(inner) => format!("&{}", operand(inner)),
        ExprKind::Index(parts) => format!("{}[{}]", operand(&parts.0), expr(&parts.1)),
        ExprKind::Cast(t, inner) => format!("({}){}", ctype(t).trim_end(), operand(inner)),
        ExprKind::Unary(op, inner) => {
            let sign = match op {
                UnOp::Not => "!",
                UnOp::BitNot => "~",
                _ => "-",
            };
            format!("{sign}{}", operand(inner))
        }
        ExprKind::Binary(op, parts) => {
            let (sign, level) = sign(*op);
            let tight = |e: &Expr, right: bool| match &e.kind {
                ExprKind::Binary(inner, _) => {
                    let own = super::parse::sign(*inner).1;
                    own > level || (own == level && !right)
                }
                ExprKind::Select(_) => false,
                _ => true,
            };
            let side = |e: &Expr, right| {
                if tight(e, right) { expr(e) } else { format!("({})", expr(e)) }
            };
            format!("{} {sign} {}", side(&parts.0, false), side(&parts.1, true))
        }
        ExprKind::Select(parts) => {
            let (cond, yes, no) = &**parts;
            let cond = match cond.kind {
                ExprKind::Select(_) => format!("({})", expr(cond)),
                _ => expr(cond),
            };
            format!("{cond} ? {} : {}", expr(yes), expr(no))
        }
        ExprKind::Call(name, args) => {
            format!("{}({})", name.text, args.iter().map(expr).collect::<Vec<_>>().join(", "))
        }
    }
}

/// An expression that binds as tightly as can be.
fn operand(e: &Expr) -> String {
    match e.kind {
        ExprKind::Name(_) | ExprKind::Call(..) | ExprKind::Index(_) => expr(e),
        ExprKind::Number(n) if n >= 0 => expr(e),
        _ => format!("({})", expr(e)),
    }
}
