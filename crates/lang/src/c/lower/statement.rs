//! Statements.

use std::collections::HashMap;

use weakspot_core::{BinOp, Expr, RegId, Value};

use super::{Around, Lower, Lowering, Typed};
use crate::Diagnostic;
use crate::c::ast::{self, ExprKind, Stmt, StmtKind};
use crate::c::types::{Type, TypeKind};

impl Lower<'_> {
    pub(super) fn statement(&mut self, stmt: &Stmt) -> Lowering<()> {
        self.span = stmt.at;
        self.used = self.base;
        match &stmt.kind {
            StmtKind::Declare(variables) => {
                for variable in variables {
                    self.used = self.base;
                    let place = self.declare(variable)?;
                    let is_known = variable.is_static || self.is_frozen(variable);
                    if let (Some(init), false) = (&variable.init, is_known) {
                        self.initialise(place, init)?;
                    }
                }
            }
            StmtKind::Do(e) => self.effect(e)?,
            StmtKind::If(e, yes, no) => {
                let (then, otherwise, behind) =
                    (self.new_point(), self.new_point(), self.new_point());
                self.branch(e, then, otherwise)?;
                self.resume(then);
                self.scoped(yes)?;
                self.go_to(behind);
                self.resume(otherwise);
                if let Some(no) = no {
                    self.scoped(no)?;
                }
                self.go_to(behind);
                self.resume(behind);
            }
            StmtKind::While(e, body) => self.repeat(Some(e), body, None, true)?,
            StmtKind::DoWhile(body, e) => self.repeat(Some(e), body, None, false)?,
            StmtKind::For { first, condition, step, body } => {
                self.scopes.push(HashMap::new());
                if let Some(first) = first {
                    self.statement(first)?;
                }
                self.span = stmt.at;
                self.repeat(condition.as_ref(), body, step.as_ref(), true)?;
                self.scopes.pop();
            }
            StmtKind::Block(block) => {
                self.scopes.push(HashMap::new());
                for stmt in &block.stmts {
                    self.statement(stmt)?;
                }
                self.scopes.pop();
            }
            StmtKind::Switch(e, body) => self.switch(e, body)?,
            // Cases elsewhere are those of a `switch` that knows them.
            StmtKind::Case(value) => match self.case(*value) {
                Some(point) => {
                    self.go_to(point);
                    self.resume(point);
                }
                None => return Err(Diagnostic::new(stmt.at, "`case` outside of `switch`", "")),
            },
            StmtKind::Label(name) => {
                let point = self.label(name);
                if let Some(frame) = self.frames.last_mut() {
                    frame.labels.insert(name.clone(), (point, None));
                }
                self.go_to(point);
                self.resume(point);
            }
            StmtKind::Goto(name) => {
                let point = self.label(name);
                self.leave(point);
            }
            StmtKind::Break => match self.around.last() {
                Some(Around { breaks, .. }) => self.leave(*breaks),
                None => return Err(Diagnostic::new(stmt.at, "`break` outside of a loop", "")),
            },
            StmtKind::Continue => {
                match self.around.iter().rev().find_map(|around| around.continues) {
                    Some(point) => self.leave(point),
                    None => {
                        return Err(Diagnostic::new(stmt.at, "`continue` outside of a loop", ""));
                    }
                }
            }
            StmtKind::Return(e) => self.give_back(e.as_ref())?,
            StmtKind::Assembly(assembly) => self.assembly(assembly, stmt)?,
            StmtKind::Empty => {}
        }
        Ok(())
    }

    /// A statement that is a branch or the body of a loop.
    fn scoped(&mut self, stmt: &Stmt) -> Lowering<()> {
        self.scopes.push(HashMap::new());
        let done = self.statement(stmt);
        self.scopes.pop();
        done
    }

    /// A condition of a statement, which is a text of its own.
    fn branch(&mut self, e: &ast::Expr, yes: usize, no: usize) -> Lowering<()> {
        self.span = e.at;
        self.used = self.base;
        self.condition(e, yes, no)
    }

    /// A loop; `early` if its condition comes before its body.
    fn repeat(
        &mut self,
        condition: Option<&ast::Expr>,
        body: &Stmt,
        step: Option<&ast::Expr>,
        early: bool,
    ) -> Lowering<()> {
        let (test, inside, next, behind) =
            (self.new_point(), self.new_point(), self.new_point(), self.new_point());
        self.go_to(if early { test } else { inside });
        self.resume(test);
        match condition {
            Some(e) => self.branch(e, inside, behind)?,
            None => self.go_to(inside),
        }
        self.resume(inside);
        self.around.push(Around { breaks: behind, continues: Some(next) });
        self.scoped(body)?;
        self.around.pop();
        self.go_to(next);
        self.resume(next);
        if let Some(e) = step {
            self.span = e.at;
            self.used = self.base;
            self.effect(e)?;
        }
        self.go_to(test);
        self.resume(behind);
        Ok(())
    }

    /// An expression whose value is not used.
    pub(super) fn effect(&mut self, e: &ast::Expr) -> Lowering<()> {
        match &e.kind {
            ExprKind::Step { target, by, .. } => {
                self.stepped(target, *by, false)?;
            }
            ExprKind::Cast(ty, inner) if ty.kind == TypeKind::Void => self.effect(inner)?,
            ExprKind::Comma(both) => {
                self.effect(&both.0)?;
                self.effect(&both.1)?;
            }
            ExprKind::Call(..) | ExprKind::Assign(..) => {
                self.any_value(None, e)?;
            }
            _ => {
                self.value(e)?;
            }
        }
        Ok(())
    }

    /// `({ ... })`: the value of its last statement.
    pub(super) fn statements(&mut self, block: &ast::Block) -> Lowering<Typed> {
        let reg = self.temp();
        let (base, used, span) = (self.base, self.used, self.span);
        self.base = used;
        self.scopes.push(HashMap::new());
        let done = self.last_value(block, reg);
        self.scopes.pop();
        (self.base, self.used, self.span) = (base, used, span);
        done
    }

    fn last_value(&mut self, block: &ast::Block, reg: RegId) -> Lowering<Typed> {
        let nothing = (Expr::Const(0), Type::VOID);
        let Some((last, first)) = block.stmts.split_last() else { return Ok(nothing) };
        first.iter().try_for_each(|stmt| self.statement(stmt))?;
        let StmtKind::Do(e) = &last.kind else {
            self.statement(last)?;
            return Ok(nothing);
        };
        (self.span, self.used) = (last.at, self.base);
        let (value, ty) = self.value(e)?;
        self.assign(reg, value);
        Ok((Expr::Reg(reg), ty))
    }

    fn give_back(&mut self, e: Option<&ast::Expr>) -> Lowering<()> {
        let Some(frame) = self.frames.last() else { return Ok(()) };
        let (behind, result, parts) = (frame.behind, frame.result.clone(), frame.parts.clone());
        match (e, result) {
            (Some(e), None) if !parts.is_empty() => {
                let (_, values) = self.struct_value(e)?;
                self.assign_parts(&parts, values);
            }
            (Some(e), Some((reg, ty))) => {
                let (value, from) = self.value_for(Some((reg, &ty)), e)?;
                let value = self.converted(value, &from, &ty);
                self.assign(reg, value);
            }
            (Some(e), None) => self.effect(e)?,
            (None, _) => {}
        }
        self.leave(behind);
        Ok(())
    }

    fn label(&mut self, name: &str) -> usize {
        let known = self.frames.last().and_then(|f| f.labels.get(name)).map(|(p, _)| *p);
        known.unwrap_or_else(|| {
            let point = self.new_point();
            let jump = Some(self.span);
            if let Some(frame) = self.frames.last_mut() {
                frame.labels.insert(name.to_owned(), (point, jump));
            }
            point
        })
    }

    /// The point of a case of the innermost `switch`, which is a label that no name can have.
    fn case(&self, value: Option<ast::Case>) -> Option<usize> {
        let name = case_name(self.around.last()?.breaks, value);
        Some(self.frames.last()?.labels.get(&name)?.0)
    }

    fn switch(&mut self, e: &ast::Expr, body: &Stmt) -> Lowering<()> {
        self.span = e.at;
        let (value, from) = self.value(e)?;
        let ty = Type::of_machine(from.machine().common(Type::INT.machine()));
        let value = self.converted(value, &from, &ty);
        let behind = self.new_point();
        let mut cases = Vec::new();
        find_cases(body, &mut cases);
        let mut default = behind;
        for case in cases {
            let point = self.new_point();
            if let Some(frame) = self.frames.last_mut() {
                frame.labels.insert(case_name(behind, case), (point, None));
            }
            let Some(case) = case else {
                default = point;
                continue;
            };
            let next = self.new_point();
            let compared = |op, n: Value| {
                let n = Expr::Const(ty.machine().view().apply(n));
                self.combined(op, (value.clone(), ty.clone()), (n, ty.clone())).0
            };
            let same = match case {
                (one, last) if one == last => compared(BinOp::Eq, one),
                (first, last) => {
                    Expr::binary(BinOp::And, compared(BinOp::Ge, first), compared(BinOp::Le, last))
                }
            };
            self.fork(crate::litmus::c::folded(same), point, next);
            self.resume(next);
        }
        self.leave(default);
        self.around.push(Around { breaks: behind, continues: None });
        self.scoped(body)?;
        self.around.pop();
        self.go_to(behind);
        self.resume(behind);
        Ok(())
    }
}

/// The name of a case in the `switch` that ends at a point.
fn case_name(switch: usize, value: Option<ast::Case>) -> String {
    match value {
        Some((first, last)) => format!("case {switch} {first} {last}"),
        None => format!("default {switch}"),
    }
}

/// The cases of a `switch`, but not those of another one inside.
fn find_cases(stmt: &Stmt, cases: &mut Vec<Option<ast::Case>>) {
    match &stmt.kind {
        StmtKind::Case(value) => cases.push(*value),
        StmtKind::Block(block) => block.stmts.iter().for_each(|s| find_cases(s, cases)),
        StmtKind::If(_, yes, no) => {
            find_cases(yes, cases);
            if let Some(no) = no {
                find_cases(no, cases);
            }
        }
        _ => {}
    }
}
