//! Syntax tree to program: states become control points, transitions become edges.

use std::collections::{BTreeSet, HashMap};

use weakspot_core::{self as core, BinOp, Edge, Fence, PointId, Program, RegId, Span, UnOp};

use super::syntax::{Expr, ExprKind, File, Instr, Name, Op, Thread, Transition};
use crate::{Diagnostic, Parsed};

/// Compiles a Trencher program. Memory is unbounded and starts at 0, and so do all registers. If
/// the threads have final states, the combination of all of them is the program's only forbidden
/// one: Trencher asks whether it can be reached.
pub fn compile(file: &File) -> Result<Parsed, Diagnostic> {
    let mut warnings = Vec::new();
    if file.threads.is_empty() {
        return Err(Diagnostic::new(
            Span::new(0, 0),
            "a program without threads",
            "expected `thread`",
        ));
    }
    if let Some(size) = &file.memory_size {
        warnings.push(
            Diagnostic::new(size.at.0, "`memory_size` has no effect", "")
                .help("every address exists here and starts at 0"),
        );
    }
    check_names(file)?;
    check_goals(file)?;
    let mut parsed = Parsed {
        program: Program {
            threads: Vec::new(),
            locs: Vec::new(),
            wides: Vec::new(),
            undeclared: core::Undeclared::Zero,
            observed: Vec::new(),
            condition: None,
            forbidden: Vec::new(),
        },
        names: core::Names::default(),
        transactions: core::Transactions::default(),
        warnings,
        of_machine: None,
        too_strong: None,
    };
    let mut goal = Vec::new();
    for t in &file.threads {
        goal.push(add_thread(t, &mut parsed));
    }
    if goal.iter().all(Option::is_some) {
        parsed.program.forbidden.push(goal);
    }
    Ok(parsed)
}

fn check_names(file: &File) -> Result<(), Diagnostic> {
    let mut seen = BTreeSet::new();
    for t in &file.threads {
        if !seen.insert(&t.name.text) {
            let message = format!("a second thread `{}`", t.name.text);
            return Err(Diagnostic::new(t.name.at.0, message, "expected a new name"));
        }
    }
    Ok(())
}

/// The goal is all final states together, so a thread without one would silently make it
/// unreachable.
fn check_goals(file: &File) -> Result<(), Diagnostic> {
    let Some(with) = file.threads.iter().find(|t| t.goal.is_some()) else { return Ok(()) };
    match file.threads.iter().find(|t| t.goal.is_none()) {
        None => Ok(()),
        Some(without) => {
            let message = format!("thread `{}` has no final state", without.name.text);
            let expected = format!("expected `final` as in thread `{}`", with.name.text);
            Err(Diagnostic::new(without.name.at.0, message, expected).help(
                "the goal is that all threads are in their final states; name a state for each \
                 thread or for none",
            ))
        }
    }
}

/// Adds a thread; the result is the control point of its final state.
fn add_thread(t: &Thread, parsed: &mut Parsed) -> Option<PointId> {
    let mut states = Numbered::default();
    let mut regs = Numbered::default();
    let entry = PointId::new(states.number(&t.initial.text));
    let goal = t.goal.as_ref().map(|g| PointId::new(states.number(&g.text)));
    let mut points = vec![core::Point::default(); states.names.len()];
    for tr in &t.transitions {
        let (from, to) = (states.number(&tr.from.text), states.number(&tr.to.text));
        points.resize(states.names.len(), core::Point::default());
        let instr = instruction(&tr.instr, &mut regs);
        points[from].edges.push(Edge { instr, to: PointId::new(to), span: tr.at.0 });
    }
    warn_about_states(t, &mut parsed.warnings);
    warn_about_registers(t, &mut parsed.warnings);
    parsed.program.threads.push(core::Thread { regs: vec![0; regs.names.len()], entry, points });
    parsed.names.threads.push(t.name.text.clone());
    parsed.names.regs.push(regs.names);
    parsed.names.points.push(states.names);
    goal
}

/// Names in the order of their first use.
#[derive(Default)]
struct Numbered {
    names: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Numbered {
    fn number(&mut self, name: &str) -> usize {
        if let Some(&n) = self.numbers.get(name) {
            return n;
        }
        let n = self.names.len();
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), n);
        n
    }
}

fn instruction(i: &Instr, regs: &mut Numbered) -> core::Instr {
    match i {
        Instr::Read { reg, addr } => {
            let reg = RegId::new(regs.number(&reg.text));
            core::Instr::Load { reg, addr: expression(addr, regs) }
        }
        Instr::Write { value, addr } => {
            let value = expression(value, regs);
            core::Instr::Store { addr: expression(addr, regs), value }
        }
        Instr::Local { reg, value } => {
            let reg = RegId::new(regs.number(&reg.text));
            core::Instr::Assign { reg, value: expression(value, regs) }
        }
        Instr::Check(e) => core::Instr::Assume(expression(e, regs)),
        Instr::Noop => core::Instr::Nop,
        Instr::Mfence => core::Instr::Fence(Fence::Full),
        Instr::Lock => core::Instr::Lock,
        Instr::Unlock => core::Instr::Unlock,
    }
}

fn expression(e: &Expr, regs: &mut Numbered) -> core::Expr {
    match &e.kind {
        ExprKind::Int(value) => core::Expr::Const(*value),
        ExprKind::Reg(name) => core::Expr::Reg(RegId::new(regs.number(name))),
        ExprKind::Not(inner) => core::Expr::unary(UnOp::Not, expression(inner, regs)),
        ExprKind::Binary(op, left, right) => {
            let left = expression(left, regs);
            core::Expr::binary(operator(*op), left, expression(right, regs))
        }
        ExprKind::Power(base, exponent) => {
            let base = expression(base, regs);
            let factors = std::iter::repeat_n(base, *exponent as usize);
            factors
                .reduce(|product, factor| core::Expr::binary(BinOp::Mul, product, factor))
                .unwrap_or(core::Expr::Const(1))
        }
    }
}

fn operator(op: Op) -> BinOp {
    match op {
        Op::Eq => BinOp::Eq,
        Op::Ne => BinOp::Ne,
        Op::Lt => BinOp::Lt,
        Op::Le => BinOp::Le,
        Op::Gt => BinOp::Gt,
        Op::Ge => BinOp::Ge,
        Op::And => BinOp::And,
        Op::Or => BinOp::Or,
        Op::Add => BinOp::Add,
        Op::Sub => BinOp::Sub,
        Op::Mul => BinOp::Mul,
        Op::Div => BinOp::Div,
        Op::Rem => BinOp::Rem,
        Op::BitAnd => BinOp::BitAnd,
    }
}

/// An initial state without a way out or a final state without a way in is almost always a slip.
fn warn_about_states(t: &Thread, warnings: &mut Vec<Diagnostic>) {
    if t.transitions.is_empty() {
        return;
    }
    let leaves = |state: &Name, tr: &Transition| tr.from.text == state.text;
    let enters = |state: &Name, tr: &Transition| tr.to.text == state.text;
    if !t.transitions.iter().any(|tr| leaves(&t.initial, tr)) {
        let message = format!("no transition leaves the initial state `{}`", t.initial.text);
        warnings.push(Diagnostic::new(t.initial.at.0, message, ""));
    }
    if let Some(goal) = &t.goal
        && goal.text != t.initial.text
        && !t.transitions.iter().any(|tr| enters(goal, tr))
    {
        let message = format!("no transition enters the final state `{}`", goal.text);
        warnings.push(Diagnostic::new(goal.at.0, message, ""));
    }
}

/// A register that is never assigned is the constant 0, which is almost always a slip.
fn warn_about_registers(t: &Thread, warnings: &mut Vec<Diagnostic>) {
    // Those that are assigned, and later those that were reported.
    let mut known = BTreeSet::new();
    for tr in &t.transitions {
        if let Instr::Read { reg, .. } | Instr::Local { reg, .. } = &tr.instr {
            known.insert(reg.text.as_str());
        }
    }
    for tr in &t.transitions {
        let operands: &[&Expr] = match &tr.instr {
            Instr::Read { addr, .. } => &[addr],
            Instr::Write { value, addr } => &[value, addr],
            Instr::Local { value: e, .. } | Instr::Check(e) => &[e],
            _ => &[],
        };
        for e in operands {
            for_each_register(e, &mut |name, span| {
                if known.insert(name) {
                    let message =
                        format!("register `{name}` of thread `{}` is never assigned", t.name.text);
                    warnings.push(Diagnostic::new(span, message, "").help("it is always 0"));
                }
            });
        }
    }
}

fn for_each_register<'e>(e: &'e Expr, visit: &mut impl FnMut(&'e str, Span)) {
    match &e.kind {
        ExprKind::Int(_) => {}
        ExprKind::Reg(name) => visit(name, e.at.0),
        ExprKind::Not(inner) | ExprKind::Power(inner, _) => for_each_register(inner, visit),
        ExprKind::Binary(_, left, right) => {
            for_each_register(left, visit);
            for_each_register(right, visit);
        }
    }
}
