//! Walks through the tree.

use super::ast::{Expr, ExprKind, Init, Stmt, StmtKind};

/// Calls `visit` for each expression in a statement, the outer ones first.
pub(super) fn each_expr<'a>(stmt: &'a Stmt, visit: &mut dyn FnMut(&'a Expr)) {
    each_whole_expr(stmt, &mut |e| inside(e, visit));
}

/// Calls `visit` for each statement in these, the outer ones first.
pub(super) fn each_statement<'a>(stmts: &'a [Stmt], visit: &mut dyn FnMut(&'a Stmt)) {
    for stmt in stmts {
        visit(stmt);
        let one = std::slice::from_ref::<Stmt>;
        match &stmt.kind {
            StmtKind::If(_, yes, no) => {
                each_statement(one(yes), visit);
                if let Some(no) = no {
                    each_statement(one(no), visit);
                }
            }
            StmtKind::While(_, body) | StmtKind::DoWhile(body, _) | StmtKind::Switch(_, body) => {
                each_statement(one(body), visit);
            }
            StmtKind::For { first, body, .. } => {
                if let Some(first) = first {
                    each_statement(one(first), visit);
                }
                each_statement(one(body), visit);
            }
            StmtKind::Block(block) => each_statement(&block.stmts, visit),
            _ => {}
        }
    }
}

/// Calls `visit` for each expression of a statement that is not part of another one.
pub(super) fn each_whole_expr<'a>(stmt: &'a Stmt, visit: &mut dyn FnMut(&'a Expr)) {
    each_statement(std::slice::from_ref(stmt), &mut |stmt| match &stmt.kind {
        StmtKind::Declare(variables) => {
            for init in variables.iter().filter_map(|v| v.init.as_ref()) {
                in_init(init, visit);
            }
        }
        StmtKind::Do(e)
        | StmtKind::Return(Some(e))
        | StmtKind::If(e, ..)
        | StmtKind::While(e, _)
        | StmtKind::DoWhile(_, e)
        | StmtKind::Switch(e, _) => visit(e),
        StmtKind::Assembly(all) => {
            all.outputs.iter().chain(&all.inputs).for_each(|operand| visit(&operand.value));
        }
        StmtKind::For { condition, step, .. } => condition.iter().chain(step).for_each(&mut *visit),
        _ => {}
    });
}

/// Calls `visit` for each value in what a variable starts with.
pub(super) fn in_init<'a>(init: &'a Init, visit: &mut dyn FnMut(&'a Expr)) {
    match init {
        Init::Value(e) => visit(e),
        Init::List(items, _) => items.iter().for_each(|(_, item)| in_init(item, visit)),
    }
}

pub(super) fn inside<'a>(e: &'a Expr, visit: &mut dyn FnMut(&'a Expr)) {
    visit(e);
    parts(e, &mut |part| inside(part, visit));
}

/// Calls `visit` for each operand of an expression.
pub(super) fn parts<'a>(e: &'a Expr, visit: &mut dyn FnMut(&'a Expr)) {
    match &e.kind {
        ExprKind::Number(..) | ExprKind::Text(_) | ExprKind::Name(_) | ExprKind::SizeOfType(_) => {}
        ExprKind::Literal(_, _, init) => in_init(init, visit),
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
        ExprKind::Statements(block, _) => {
            block.stmts.iter().for_each(|stmt| each_whole_expr(stmt, visit));
        }
        ExprKind::Select(all) => {
            visit(&all.0);
            visit(&all.1);
            visit(&all.2);
        }
    }
}

/// Whether an expression may name a place in memory.
pub(super) fn is_place(e: &Expr) -> bool {
    matches!(
        e.kind,
        ExprKind::Name(_) | ExprKind::Member(..) | ExprKind::Index(_) | ExprKind::Deref(_)
    )
}

/// Whether the struct of which a member is named is in memory.
pub(super) fn is_in_memory(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Member(inner, _) => is_in_memory(inner),
        ExprKind::Literal(..) => true,
        _ => is_place(e),
    }
}
