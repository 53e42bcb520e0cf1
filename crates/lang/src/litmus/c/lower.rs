//! Statements to the automaton of a thread.

use std::collections::HashMap;

use weakspot_core::{Edge, Expr, Instr, Point, PointId, RegId, Span, Value};

use super::ast::{self, ExprKind, Stmt, StmtKind};
use super::types::Ty;
use crate::litmus::fold::not;
use crate::litmus::layout::Layout;
use crate::{Diagnostic, Name};

pub(super) type Lowering<T> = Result<T, Diagnostic>;

/// A register: a local variable, or one for values within a statement.
pub(super) struct Var {
    pub(super) name: String,
    pub(super) ty: Ty,
    pub(super) is_local: bool,
}

/// The workshop of one thread.
pub(super) struct Lower<'a> {
    pub(super) layout: &'a Layout,
    pub(super) vars: Vec<Var>,
    /// The locations that the thread is given: their addresses, and their types as pointers.
    pub(super) params: HashMap<&'a str, (Value, Ty)>,
    points: Vec<Point>,
    /// Where the next step begins; a point without edges.
    at: PointId,
    /// The text that steps are attributed to.
    span: Span,
    /// How many registers for values within a statement are in use.
    scratch: usize,
    loops: Vec<Loop>,
    /// Where `return` stands.
    returns: Vec<PointId>,
}

/// A loop that is being lowered: where `continue` and `break` stand.
#[derive(Default)]
struct Loop {
    continues: Vec<PointId>,
    breaks: Vec<PointId>,
}

impl<'a> Lower<'a> {
    pub(super) fn new(
        layout: &'a Layout,
        params: HashMap<&'a str, (Value, Ty)>,
        vars: Vec<Var>,
    ) -> Lower<'a> {
        Lower {
            layout,
            vars,
            params,
            points: vec![Point::default()],
            at: PointId::new(0),
            span: Span::default(),
            scratch: 0,
            loops: Vec::new(),
            returns: Vec::new(),
        }
    }

    /// The points of the thread.
    pub(super) fn body(&mut self, body: &'a [Stmt]) -> Lowering<Vec<Point>> {
        self.stmts(body)?;
        let end = self.at;
        for from in std::mem::take(&mut self.returns) {
            self.edge(from, Instr::Nop, end);
        }
        Ok(std::mem::take(&mut self.points))
    }

    pub(super) fn local(&self, name: &str) -> Option<RegId> {
        self.vars.iter().position(|v| v.is_local && v.name == name).map(RegId::new)
    }

    pub(super) fn type_of(&self, reg: RegId) -> Ty {
        self.vars.get(reg.index()).map_or(Ty::INT, |v| v.ty)
    }

    /// A register for a value within the statement.
    pub(super) fn temp(&mut self) -> RegId {
        let mut free = self.vars.iter().enumerate().filter(|(_, v)| !v.is_local).map(|(i, _)| i);
        let found = free.nth(self.scratch);
        self.scratch += 1;
        RegId::new(found.unwrap_or_else(|| {
            let name = format!("value {}", self.scratch);
            self.vars.push(Var { name, ty: Ty::INT, is_local: false });
            self.vars.len() - 1
        }))
    }

    pub(super) fn new_point(&mut self) -> PointId {
        self.points.push(Point::default());
        PointId::new(self.points.len() - 1)
    }

    fn edge(&mut self, from: PointId, instr: Instr, to: PointId) {
        let span = self.span;
        if let Some(point) = self.points.get_mut(from.index()) {
            point.edges.push(Edge { instr, to, span });
        }
    }

    /// Does `instr` and goes on behind it.
    pub(super) fn step(&mut self, instr: Instr) {
        let to = self.new_point();
        self.edge(self.at, instr, to);
        self.at = to;
    }

    pub(super) fn go_to(&mut self, to: PointId) {
        self.edge(self.at, Instr::Nop, to);
    }

    /// Goes on at `point`.
    pub(super) fn resume(&mut self, point: PointId) {
        self.at = point;
    }

    /// Goes to `yes` or to `no`.
    pub(super) fn fork(&mut self, cond: Expr, yes: PointId, no: PointId) {
        match cond {
            Expr::Const(0) => self.go_to(no),
            Expr::Const(_) => self.go_to(yes),
            cond => {
                self.edge(self.at, Instr::Assume(cond.clone()), yes);
                self.edge(self.at, Instr::Assume(not(cond)), no);
            }
        }
    }

    pub(super) fn assign(&mut self, reg: RegId, value: Expr) {
        if value != Expr::Reg(reg) {
            self.step(Instr::Assign { reg, value });
        }
    }

    fn stmts(&mut self, stmts: &'a [Stmt]) -> Lowering<()> {
        stmts.iter().try_for_each(|s| self.stmt(s))
    }

    fn stmt(&mut self, stmt: &'a Stmt) -> Lowering<()> {
        self.span = stmt.place.0;
        self.scratch = 0;
        match &stmt.kind {
            StmtKind::Declare(_, vars) => {
                for (name, value) in vars {
                    if let Some(value) = value {
                        self.set_local(name, value)?;
                    }
                }
            }
            StmtKind::Assign(to, None, value) => match &to.kind {
                ExprKind::Name(name) if self.local(name).is_some() => {
                    self.set_local(&Name { text: name.clone(), at: to.place }, value)?;
                }
                _ => {
                    let (value, from) = self.value(value)?;
                    self.write(to, value, from)?;
                }
            },
            StmtKind::Assign(to, Some(op), value) => {
                let place = to.place;
                let kind = ExprKind::Binary(*op, Box::new((to.clone(), value.clone())));
                let (value, from) = self.value(&ast::Expr { kind, place })?;
                self.write(to, value, from)?;
            }
            StmtKind::Do(call) => {
                let loads = matches!(call.kind, ExprKind::Call(..) | ExprKind::Cast(..));
                self.value(call)?;
                if !loads {
                    return Err(Diagnostic::new(
                        call.place.0,
                        "this computes a value and does nothing with it",
                        "expected an assignment or a call",
                    ));
                }
            }
            StmtKind::If(cond, yes, no) => {
                let (y, n) = (self.new_point(), self.new_point());
                self.condition(cond, y, n)?;
                self.at = y;
                self.stmts(yes)?;
                let end_of_yes = self.at;
                self.at = n;
                self.stmts(no.as_deref().unwrap_or_default())?;
                self.edge(end_of_yes, Instr::Nop, self.at);
            }
            StmtKind::While(cond, body) => {
                let head = self.at;
                let (inside, behind) = (self.new_point(), self.new_point());
                self.condition(cond, inside, behind)?;
                self.at = inside;
                self.loops.push(Loop::default());
                self.stmts(body)?;
                self.go_to(head);
                self.end_loop(head, behind);
            }
            StmtKind::DoWhile(body, cond) => {
                let head = self.at;
                self.loops.push(Loop::default());
                self.stmts(body)?;
                self.span = stmt.place.0;
                self.scratch = 0;
                let test = self.at;
                let behind = self.new_point();
                self.condition(cond, head, behind)?;
                self.end_loop(test, behind);
            }
            StmtKind::Block(inner) => self.stmts(inner)?,
            StmtKind::Break | StmtKind::Continue => {
                let at = self.at;
                let is_break = stmt.kind == StmtKind::Break;
                let Some(inner) = self.loops.last_mut() else {
                    let what = if is_break { "break" } else { "continue" };
                    let message = format!("`{what}` outside of a loop");
                    return Err(Diagnostic::new(stmt.place.0, message, ""));
                };
                if is_break { &mut inner.breaks } else { &mut inner.continues }.push(at);
                self.at = self.new_point();
            }
            StmtKind::Return => {
                self.returns.push(self.at);
                self.at = self.new_point();
            }
            StmtKind::Empty => {}
        }
        Ok(())
    }

    fn end_loop(&mut self, again: PointId, behind: PointId) {
        let Loop { continues, breaks } = self.loops.pop().unwrap_or_default();
        for from in continues {
            self.edge(from, Instr::Nop, again);
        }
        for from in breaks {
            self.edge(from, Instr::Nop, behind);
        }
        self.at = behind;
    }

    fn set_local(&mut self, name: &Name, value: &'a ast::Expr) -> Lowering<()> {
        let Some(reg) = self.local(&name.text) else { return Ok(()) };
        let to = self.type_of(reg);
        let (value, from) = self.value_for(Some(reg), value)?;
        self.assign(reg, to.convert(value, from));
        Ok(())
    }
}
