//! A thread while it is made: an automaton whose steps also start threads and allocate memory.

use weakspot_core::{Expr, Instr, RegId, Span, Value};

use super::naming::Label;
use super::types::Type;

/// A thread.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    /// The steps that may be taken from each point; the thread starts at the first.
    pub(super) points: Vec<Vec<Step>>,
    /// The registers.
    pub(super) regs: Vec<RegName>,
    /// What the registers start with; 0 where nothing is said.
    pub(super) initial: Vec<Value>,
}

/// What is known of a register beside its value.
#[derive(Clone, Debug)]
pub(super) struct RegName {
    pub(super) label: Label,
    /// It holds numbers of 64 bits without a sign.
    pub(super) is_unsigned: bool,
}

impl RegName {
    /// One of a name that no program has.
    pub(super) fn hidden(name: &str) -> RegName {
        RegName { label: Label::only(name.to_owned()), is_unsigned: false }
    }
}

/// A step.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) op: Op,
    pub(super) to: usize,
    pub(super) span: Span,
}

/// What is done.
#[derive(Clone, Debug)]
pub(super) enum Op {
    Do(Instr),
    /// Starts a thread with a function and its argument; its number goes to an address.
    Create {
        handle: Expr,
        function: Expr,
        arg: Expr,
    },
    /// Waits for the end of the thread whose number is at an address, and takes its result.
    Join {
        handle: Expr,
        result: Option<RegId>,
    },
    /// `reg :=` the address of new memory for so many of a type, or for one with so many elements in the
    /// array that it ends with.
    Allocate {
        reg: RegId,
        ty: Type,
        count: Expr,
    },
    /// The thread ends with a result.
    Finish(Expr),
}

impl Op {
    /// The expressions that it computes.
    pub(super) fn each_expr<'a>(&'a self, visit: &mut impl FnMut(&'a Expr)) {
        match self {
            Op::Do(instr) => match instr {
                Instr::Assign { value: e, .. }
                | Instr::Assume(e)
                | Instr::Assert(e)
                | Instr::Load { addr: e, .. } => visit(e),
                Instr::Store { addr, value } | Instr::Update { addr, value, .. } => {
                    visit(addr);
                    visit(value);
                }
                Instr::Nop
                | Instr::Choose { .. }
                | Instr::Fence(_)
                | Instr::Lock
                | Instr::Unlock => {}
            },
            Op::Create { handle, function, arg } => {
                visit(handle);
                visit(function);
                visit(arg);
            }
            Op::Join { handle: e, .. } | Op::Allocate { count: e, .. } | Op::Finish(e) => visit(e),
        }
    }

    /// The register that it changes.
    pub(super) fn changes(&self) -> Option<RegId> {
        match self {
            Op::Do(
                Instr::Assign { reg, .. }
                | Instr::Choose { reg, .. }
                | Instr::Load { reg, .. }
                | Instr::Update { reg, .. },
            )
            | Op::Allocate { reg, .. } => Some(*reg),
            Op::Join { result, .. } => *result,
            _ => None,
        }
    }
}

/// For each point, whether the value of each register may still be used.
pub(super) fn live(points: &[Vec<Step>], regs: usize) -> Vec<Vec<bool>> {
    let mut live = vec![vec![false; regs]; points.len()];
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); points.len()];
    for (p, steps) in points.iter().enumerate() {
        for step in steps {
            before[step.to].push(p);
        }
    }
    let mut todo: Vec<usize> = (0..points.len()).collect();
    while let Some(p) = todo.pop() {
        let mut now = vec![false; regs];
        for step in &points[p] {
            let changed = step.op.changes();
            for (r, l) in live[step.to].iter().enumerate() {
                now[r] |= *l && changed != Some(RegId::new(r));
            }
            step.op.each_expr(&mut |e| e.for_each_reg(&mut |r| now[r.index()] = true));
            // The new value of an update sees the old value, which is none of before.
            if let Op::Do(Instr::Update { reg, addr, .. }) = &step.op {
                let mut used = live[step.to][reg.index()] && changed != Some(*reg);
                addr.for_each_reg(&mut |r| used |= r == *reg);
                let others = points[p].iter().any(|other| {
                    let mut found = false;
                    if !std::ptr::eq(other, step) {
                        other.op.each_expr(&mut |e| e.for_each_reg(&mut |r| found |= r == *reg));
                        found |= live[other.to][reg.index()] && other.op.changes() != Some(*reg);
                    }
                    found
                });
                now[reg.index()] = used || others;
            }
        }
        if now != live[p] {
            live[p] = now;
            todo.extend(&before[p]);
        }
    }
    live
}
