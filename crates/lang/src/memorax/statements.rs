//! Statements to edges.
//!
//! A statement that cannot happen now waits: Memorax gives it no transition. Where only registers
//! decide, that is an `Assume`. Where memory decides, the value is read into a scratch register
//! and looked at, and a wrong value leads back to before the read.

use std::collections::BTreeMap;

use weakspot_core::{BinOp, Expr as Core, Fence, Instr, PointId, RegId, Span, UnOp, Value};

use super::build::{Act, Automaton};
use super::layout::{Domain, Layout, Target};
use super::syntax::{
    BoolExpr, BoolKind, Comparison, Expr, ExprKind, FenceKind, Name, Place, Stmt, StmtKind,
    WriteKind,
};
use crate::Diagnostic;
use crate::balanced::balanced;

/// What to put in place of registers.
pub(super) type Env = BTreeMap<RegId, Core>;

/// One process on its way to becoming an automaton.
pub(super) struct Builder<'a, 'f> {
    /// The memory and the other processes.
    pub(super) layout: &'a Layout<'f>,
    /// Which process this is.
    pub(super) pid: usize,
    /// What there is so far.
    pub(super) automaton: Automaton,
    /// Warnings about what may surprise.
    pub(super) warnings: Vec<Diagnostic>,
}

/// A statement without parts.
#[derive(Clone, Copy)]
pub(super) enum Simple<'f> {
    /// `nop`.
    Nop,
    /// `$r := e`.
    Assign(&'f Name, &'f Expr),
    /// `assume: b`.
    Assume(&'f BoolExpr),
    /// `read: x = e`.
    ReadAssert(&'f Place, &'f Expr),
    /// `read: $r := x`.
    ReadAssign(&'f Name, &'f Place),
    /// `write: x := e`.
    Write(&'f Place, &'f Expr),
    /// A fence.
    Fence(FenceKind),
}

/// What a simple statement needs and does, in this order.
#[derive(Default)]
pub(super) struct Piece {
    /// What has to hold of the registers.
    pub(super) before: Vec<Core>,
    /// What is done to memory.
    pub(super) access: Option<Access>,
    /// What has to hold of the value read.
    pub(super) after: Vec<Core>,
    /// The register that is written, and its value.
    pub(super) assign: Option<(RegId, Core)>,
    /// The fence that is executed.
    pub(super) fence: Option<Fence>,
}

/// An access to memory.
pub(super) enum Access {
    /// Reads into the scratch register of the piece.
    Load {
        /// From where.
        addr: Core,
    },
    /// Writes.
    Store {
        /// To where.
        addr: Core,
        /// What.
        value: Core,
    },
}

impl<'f> Builder<'_, 'f> {
    /// A sequence of statements between two points.
    pub(super) fn sequence(
        &mut self,
        list: &'f [Stmt],
        from: PointId,
        to: PointId,
    ) -> Result<(), Diagnostic> {
        let mut here = from;
        for (i, s) in list.iter().enumerate() {
            let next = if i + 1 == list.len() { to } else { self.automaton.point() };
            self.statement(s, here, next)?;
            here = next;
        }
        Ok(())
    }

    fn statement(&mut self, s: &'f Stmt, from: PointId, to: PointId) -> Result<(), Diagnostic> {
        if let Some(label) = &s.label {
            self.automaton.label(label, from)?;
        }
        match &s.kind {
            StmtKind::Goto(label) => self.automaton.goto(from, label, s.at.0),
            StmtKind::Block(list) => self.sequence(list, from, to)?,
            StmtKind::If { cond, then, otherwise } => {
                let yes = self.branch(cond, true, from, None)?;
                self.statement(then, yes, to)?;
                match otherwise {
                    None => {
                        self.branch(cond, false, from, Some(to))?;
                    }
                    Some(otherwise) => {
                        let no = self.branch(cond, false, from, None)?;
                        self.statement(otherwise, no, to)?;
                    }
                }
            }
            StmtKind::While { cond, body } => {
                let inside = self.branch(cond, true, from, None)?;
                self.statement(body, inside, from)?;
                self.branch(cond, false, from, Some(to))?;
            }
            StmtKind::Either(branches) => {
                for list in branches {
                    let mut start = from;
                    if list.first().is_some_and(returns_to_start) {
                        start = self.automaton.point();
                        self.automaton.edge(from, Instr::Nop, start, s.at.0);
                    }
                    self.sequence(list, start, to)?;
                }
            }
            StmtKind::Write { kind: WriteKind::Locked | WriteKind::Sync, .. }
            | StmtKind::Cas { .. }
            | StmtKind::Locked(_) => self.locked(s, from, to)?,
            // What the process has written before is in memory, and so is what is read.
            StmtKind::SyncRead(read) => {
                let mut steps = vec![Act::Do(Instr::Fence(Fence::Full))];
                if let Some(simple) = simple(read) {
                    steps.extend(self.simple_steps(simple, s.at.0)?);
                }
                self.automaton.chain(from, steps, to, s.at.0);
            }
            StmtKind::Write { kind: WriteKind::StoreLocked, place, value } => {
                let mut steps = self.simple_steps(Simple::Write(place, value), s.at.0)?;
                steps.push(Act::Do(Instr::Fence(Fence::StoreStore)));
                self.automaton.chain(from, steps, to, s.at.0);
            }
            _ => {
                if let Some(simple) = simple(&s.kind) {
                    let steps = self.simple_steps(simple, s.at.0)?;
                    self.automaton.chain(from, steps, to, s.at.0);
                }
            }
        }
        Ok(())
    }

    /// An edge from `from` that is open if the condition is `wanted`; the result is its target.
    fn branch(
        &mut self,
        cond: &'f BoolExpr,
        wanted: bool,
        from: PointId,
        to: Option<PointId>,
    ) -> Result<PointId, Diagnostic> {
        let to = to.unwrap_or_else(|| self.automaton.point());
        let holds = self.bool_expr(cond, &Env::new())?;
        let assumed = if wanted { holds } else { holds.negate() };
        self.automaton.edge(from, Instr::Assume(assumed), to, cond.at.0);
        Ok(to)
    }

    fn simple_steps(&mut self, simple: Simple<'f>, span: Span) -> Result<Vec<Act>, Diagnostic> {
        let tmp = match simple {
            Simple::ReadAssert(..) => self.automaton.scratch(0),
            Simple::ReadAssign(reg, _) => {
                // The register itself, unless its old value must survive a value that does not fit.
                let into = self.register(reg)?;
                match self.piece(simple, span, &Env::new(), into)?.after.is_empty() {
                    true => into,
                    false => self.automaton.scratch(0),
                }
            }
            _ => RegId::new(0),
        };
        let piece = self.piece(simple, span, &Env::new(), tmp)?;
        let mut steps = Vec::from_iter(check_all(piece.before));
        steps.extend(piece.access.map(|access| Act::Do(access.instr(tmp))));
        steps.extend(check_all(piece.after));
        steps.extend(piece.assign.and_then(|(reg, value)| assign(reg, value)).map(Act::Do));
        steps.extend(piece.fence.map(|f| Act::Do(Instr::Fence(f))));
        Ok(steps)
    }

    /// What a simple statement needs and does. What it reads goes to `tmp`.
    pub(super) fn piece(
        &mut self,
        simple: Simple<'f>,
        span: Span,
        env: &Env,
        tmp: RegId,
    ) -> Result<Piece, Diagnostic> {
        let mut piece = Piece::default();
        match simple {
            Simple::Nop | Simple::Fence(FenceKind::LoadLoad) => {}
            Simple::Fence(FenceKind::Full) => piece.fence = Some(Fence::Full),
            Simple::Fence(FenceKind::StoreStore) => piece.fence = Some(Fence::StoreStore),
            Simple::Assume(b) => piece.before.push(self.bool_expr(b, env)?),
            Simple::Assign(reg, value) => {
                let (number, decl) = self.layout.register(&reg.text, reg.at.0, self.pid)?;
                let lowered = self.expr(value, env)?;
                let range = self.layout.range(value, self.pid)?;
                match fit(range, decl.domain) {
                    Fit::Always => {}
                    Fit::Sometimes => piece.before.push(within(&lowered, decl.domain)),
                    Fit::Never => {
                        self.never(span, "assignment", &reg.text, decl.domain);
                        piece.before.push(within(&lowered, decl.domain));
                    }
                }
                piece.assign = Some((RegId::new(number), lowered));
            }
            Simple::ReadAssert(place, value) => {
                let (target, addr) = self.address(place, env, &mut piece)?;
                let range = self.layout.range(value, self.pid)?;
                let domains = self.layout.domains(&target);
                if domains.iter().all(|(_, d)| matches!(fit(range, *d), Fit::Never)) {
                    let domain = domains.first().and_then(|(_, d)| *d);
                    self.never(span, "read", "the variable", domain);
                }
                let value = self.expr(value, env)?;
                piece.access = Some(Access::Load { addr });
                piece.after.push(Core::binary(BinOp::Eq, Core::Reg(tmp), value));
            }
            Simple::ReadAssign(reg, place) => {
                let (number, decl) = self.layout.register(&reg.text, reg.at.0, self.pid)?;
                let (target, addr) = self.address(place, env, &mut piece)?;
                let domains = self.layout.domains(&target);
                let fits =
                    |d: Domain| fit(d.map(|(l, h)| (i128::from(l), i128::from(h))), decl.domain);
                if !domains.iter().all(|(_, d)| matches!(fits(*d), Fit::Always)) {
                    piece.after.push(within(&Core::Reg(tmp), decl.domain));
                }
                if domains.iter().all(|(_, d)| matches!(fits(*d), Fit::Never)) {
                    self.never(span, "read", &reg.text, decl.domain);
                }
                piece.access = Some(Access::Load { addr });
                piece.assign = Some((RegId::new(number), Core::Reg(tmp)));
            }
            Simple::Write(place, value) => {
                let (target, addr) = self.address(place, env, &mut piece)?;
                let range = self.layout.range(value, self.pid)?;
                let domains = self.layout.domains(&target);
                let lowered = self.expr(value, env)?;
                if !domains.iter().all(|(_, d)| matches!(fit(range, *d), Fit::Always)) {
                    piece.before.push(fits_one(&addr, &lowered, &domains));
                }
                if domains.iter().all(|(_, d)| matches!(fit(range, *d), Fit::Never)) {
                    let domain = domains.first().and_then(|(_, d)| *d);
                    self.never(span, "write", "the variable", domain);
                }
                piece.access = Some(Access::Store { addr, value: lowered });
            }
        }
        Ok(piece)
    }

    /// What a place stands for and its address; a pointer has to be in bounds.
    fn address(
        &self,
        place: &'f Place,
        env: &Env,
        piece: &mut Piece,
    ) -> Result<(Target<'f>, Core), Diagnostic> {
        let target = self.layout.target(place, self.pid)?;
        let addr = match &target {
            Target::Fixed { addr, .. } => Core::Const(*addr),
            Target::Pointer { pointer, safe, .. } => {
                let addr = self.expr(pointer, env)?;
                if !safe {
                    let last = Value::try_from(self.layout.globals.len()).unwrap_or(0) - 1;
                    piece.before.push(within(&addr, Some((0, last))));
                }
                addr
            }
        };
        Ok((target, addr))
    }

    pub(super) fn register(&self, reg: &Name) -> Result<RegId, Diagnostic> {
        let (number, _) = self.layout.register(&reg.text, reg.at.0, self.pid)?;
        Ok(RegId::new(number))
    }

    fn never(&mut self, span: Span, what: &str, whose: &str, domain: Domain) {
        let bounds = domain.map_or(String::new(), |(low, high)| format!(" [{low}:{high}]"));
        let message = format!("this {what} never happens");
        self.warnings.push(
            Diagnostic::new(span, message, "")
                .help(format!("its value always lies outside of the domain{bounds} of {whose}")),
        );
    }

    /// An arithmetic expression with registers replaced as `env` says.
    pub(super) fn expr(&self, e: &Expr, env: &Env) -> Result<Core, Diagnostic> {
        Ok(match &e.kind {
            ExprKind::Int(value) => Core::Const(*value),
            ExprKind::Reg(name) => {
                let (number, _) = self.layout.register(name, e.at.0, self.pid)?;
                let reg = RegId::new(number);
                env.get(&reg).cloned().unwrap_or(Core::Reg(reg))
            }
            ExprKind::Neg(inner) => Core::unary(UnOp::Neg, self.expr(inner, env)?),
            ExprKind::Add(l, r) => Core::binary(BinOp::Add, self.expr(l, env)?, self.expr(r, env)?),
            ExprKind::Sub(l, r) => Core::binary(BinOp::Sub, self.expr(l, env)?, self.expr(r, env)?),
        })
    }

    fn bool_expr(&self, b: &BoolExpr, env: &Env) -> Result<Core, Diagnostic> {
        let both = |op, l: &BoolExpr, r: &BoolExpr| {
            Ok(Core::binary(op, self.bool_expr(l, env)?, self.bool_expr(r, env)?))
        };
        match &b.kind {
            BoolKind::Const(value) => Ok(Core::Const(i64::from(*value))),
            BoolKind::Compare(c, l, r) => {
                let op = match c {
                    Comparison::Eq => BinOp::Eq,
                    Comparison::Ne => BinOp::Ne,
                    Comparison::Lt => BinOp::Lt,
                    Comparison::Gt => BinOp::Gt,
                    Comparison::Le => BinOp::Le,
                    Comparison::Ge => BinOp::Ge,
                };
                Ok(Core::binary(op, self.expr(l, env)?, self.expr(r, env)?))
            }
            BoolKind::Not(inner) => Ok(self.bool_expr(inner, env)?.negate()),
            BoolKind::And(l, r) => both(BinOp::And, l, r),
            BoolKind::Or(l, r) => both(BinOp::Or, l, r),
        }
    }
}

impl Access {
    /// The access as an instruction.
    pub(super) fn instr(self, tmp: RegId) -> Instr {
        match self {
            Access::Load { addr } => Instr::Load { reg: tmp, addr },
            Access::Store { addr, value } => Instr::Store { addr, value },
        }
    }
}

/// `reg := value`, if that is not what it already is.
pub(super) fn assign(reg: RegId, value: Core) -> Option<Instr> {
    (value != Core::Reg(reg)).then_some(Instr::Assign { reg, value })
}

/// A statement without parts as what it is.
pub(super) fn simple(kind: &StmtKind) -> Option<Simple<'_>> {
    Some(match kind {
        StmtKind::Nop => Simple::Nop,
        StmtKind::Assign { reg, value } => Simple::Assign(reg, value),
        StmtKind::Assume(b) => Simple::Assume(b),
        StmtKind::ReadAssert { place, value } => Simple::ReadAssert(place, value),
        StmtKind::ReadAssign { reg, place } => Simple::ReadAssign(reg, place),
        StmtKind::Write { place, value, .. } => Simple::Write(place, value),
        StmtKind::Fence(kind) => Simple::Fence(*kind),
        _ => return None,
    })
}

/// A branch of `either` that can come back to its start needs a start of its own, because from
/// the common one the other branches are open too.
fn returns_to_start(first: &Stmt) -> bool {
    first.label.is_some()
        || match &first.kind {
            StmtKind::While { .. } => true,
            StmtKind::Block(list) => list.first().is_some_and(returns_to_start),
            _ => false,
        }
}

enum Fit {
    Always,
    Sometimes,
    Never,
}

/// Whether values of a range lie in a domain.
fn fit(range: Option<(i128, i128)>, domain: Domain) -> Fit {
    let Some((low, high)) = domain else { return Fit::Always };
    let Some((least, greatest)) = range else { return Fit::Sometimes };
    let (low, high) = (i128::from(low), i128::from(high));
    if low <= least && greatest <= high {
        Fit::Always
    } else if greatest < low || high < least {
        Fit::Never
    } else {
        Fit::Sometimes
    }
}

/// That a value lies in a domain.
fn within(value: &Core, domain: Domain) -> Core {
    let compare = |op, bound| Core::binary(op, value.clone(), Core::Const(bound));
    match domain {
        None => Core::Const(1),
        Some((low, high)) if low == high => compare(BinOp::Eq, low),
        Some((low, high)) => {
            Core::binary(BinOp::And, compare(BinOp::Ge, low), compare(BinOp::Le, high))
        }
    }
}

/// That a value fits the variable at `addr`, which is one of those given. Neighbours with the same
/// domain are taken together.
fn fits_one(addr: &Core, value: &Core, domains: &[(Value, Domain)]) -> Core {
    let mut runs: Vec<(Value, Value, Domain)> = Vec::new();
    for &(at, domain) in domains {
        match runs.last_mut() {
            Some((_, last, same)) if *same == domain && *last + 1 == at => *last = at,
            _ => runs.push((at, at, domain)),
        }
    }
    if let [(_, _, domain)] = runs[..] {
        return within(value, domain);
    }
    let run = |(first, last, domain)| {
        Core::binary(BinOp::And, within(addr, Some((first, last))), within(value, domain))
    };
    balanced(BinOp::Or, runs.into_iter().map(run).collect(), 0)
}

/// A step that checks all of the conditions, if there are any.
pub(super) fn check_all(conditions: Vec<Core>) -> Option<Act> {
    (!conditions.is_empty()).then(|| Act::Check(balanced(BinOp::And, conditions, 1)))
}
