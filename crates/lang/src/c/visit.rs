//! Walks through the tree.

use super::ast::{Expr, ExprKind, Init, Stmt, StmtKind};

/// Calls `visit` for each expression in a statement, the outer ones first.
pub(super) fn each_expr<'a>(stmt: &'a Stmt, visit: &mut dyn FnMut(&'a Expr)) {
    match &stmt.kind {
        StmtKind::Declare(variables) => {
            for init in variables.iter().filter_map(|v| v.init.as_ref()) {
                in_init(init, visit);
            }
        }
        StmtKind::Do(e) | StmtKind::Return(Some(e)) => inside(e, visit),
        StmtKind::If(e, yes, no) => {
            inside(e, visit);
            each_expr(yes, visit);
            if let Some(no) = no {
                each_expr(no, visit);
            }
        }
        StmtKind::While(e, body) | StmtKind::DoWhile(body, e) | StmtKind::Switch(e, body) => {
            inside(e, visit);
            each_expr(body, visit);
        }
        StmtKind::For { first, condition, step, body } => {
            if let Some(first) = first {
                each_expr(first, visit);
            }
            for e in condition.iter().chain(step) {
                inside(e, visit);
            }
            each_expr(body, visit);
        }
        StmtKind::Block(block) => block.stmts.iter().for_each(|s| each_expr(s, visit)),
        _ => {}
    }
}

fn in_init<'a>(init: &'a Init, visit: &mut dyn FnMut(&'a Expr)) {
    match init {
        Init::Value(e) => inside(e, visit),
        Init::List(items, _) => items.iter().for_each(|(_, item)| in_init(item, visit)),
    }
}

fn inside<'a>(e: &'a Expr, visit: &mut dyn FnMut(&'a Expr)) {
    visit(e);
    parts(e, &mut |part| inside(part, visit));
}

/// Calls `visit` for each operand of an expression.
pub(super) fn parts<'a>(e: &'a Expr, visit: &mut dyn FnMut(&'a Expr)) {
    match &e.kind {
        ExprKind::Number(..) | ExprKind::Text | ExprKind::Name(_) | ExprKind::SizeOfType(_) => {}
        ExprKind::Call(f, args) => {
            visit(f);
            args.iter().for_each(visit);
        }
        ExprKind::Member(e, _)
        | ExprKind::Deref(e)
        | ExprKind::AddressOf(e)
        | ExprKind::Cast(_, e)
        | ExprKind::Unary(_, e)
        | ExprKind::Step { target: e, .. }
        | ExprKind::SizeOf(e) => visit(e),
        ExprKind::Index(both)
        | ExprKind::Binary(_, both)
        | ExprKind::Assign(_, both)
        | ExprKind::Comma(both) => {
            visit(&both.0);
            visit(&both.1);
        }
        ExprKind::Select(all) => {
            visit(&all.0);
            visit(&all.1);
            visit(&all.2);
        }
    }
}
