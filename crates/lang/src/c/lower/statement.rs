//! Statements.

use std::collections::HashMap;

use weakspot_core::{BinOp, Expr, Fence, Instr, Value};

use super::{Around, Lower, Lowering};
use crate::Diagnostic;
use crate::c::ast::{self, ExprKind, Stmt, StmtKind};
use crate::c::parse::ELSEWHERE;
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
            StmtKind::Assembly(template) => self.assembly(template, stmt)?,
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
            _ => {
                self.value(e)?;
            }
        }
        Ok(())
    }

    fn give_back(&mut self, e: Option<&ast::Expr>) -> Lowering<()> {
        let Some(frame) = self.frames.last() else { return Ok(()) };
        let (behind, result) = (frame.behind, frame.result.clone());
        match (e, result) {
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
    fn case(&self, value: Option<Value>) -> Option<usize> {
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
            let case = ty.machine().view().apply(case);
            let same = Expr::binary(BinOp::Eq, value.clone(), Expr::Const(case));
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

    /// Instructions of assembly that are fences, or nothing to memory.
    fn assembly(&mut self, template: &str, stmt: &Stmt) -> Lowering<()> {
        let refused = |line: &str| {
            let message = format!("the instruction `{line}` is not supported here");
            let expected = "expected `mfence`, `sfence`, `lfence` or `pause`";
            Err(Diagnostic::new(stmt.at, message, expected).help(ELSEWHERE))
        };
        // `lock` may stand alone, as an instruction before the one that it is for.
        let template = template.replace(',', ", ");
        let lines = template.split(['\n', ';']).map(str::trim).filter(|line| !line.is_empty());
        let mut locked = false;
        for line in lines {
            if line == "lock" {
                locked = true;
                continue;
            }
            let line = if std::mem::take(&mut locked) { &format!("lock {line}") } else { line };
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                ["mfence"] => self.fence(Fence::Full),
                ["sfence"] => self.fence(Fence::StoreStore),
                ["lfence" | "pause" | "nop"] | ["rep", "nop"] => self.instr(Instr::Nop),
                // The idiom for a fence that is faster than `mfence`.
                ["lock", "addl" | "addq" | "orl" | "orq", "$0,", at] if at.contains("sp)") => {
                    self.fence(Fence::Full);
                }
                _ => return refused(line),
            }
        }
        if locked { refused("lock") } else { Ok(()) }
    }
}

/// The name of a case in the `switch` that ends at a point.
fn case_name(switch: usize, value: Option<Value>) -> String {
    match value {
        Some(value) => format!("case {switch} {value}"),
        None => format!("default {switch}"),
    }
}

/// The cases of a `switch`, but not those of another one inside.
fn find_cases(stmt: &Stmt, cases: &mut Vec<Option<Value>>) {
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
