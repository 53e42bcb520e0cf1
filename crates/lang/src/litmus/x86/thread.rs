//! A column of instructions to a thread of the core program: one control point before each
//! instruction, one after the last, and more inside of instructions that take several steps.

use std::collections::{BTreeMap, HashSet};

use weakspot_core::{Edge, Expr, Instr, Point, PointId, Span, Thread, Value};

use super::ast::{Instruction, Operand, Source};
use super::flags::{self, Effect};
use super::instructions::Flow;
use super::lower::{Lower, Lowering, Notes, Slot};
use super::mnemonics::{Decoded, Op, decode};
use super::registers::{Family, Register};
use crate::Diagnostic;
use crate::litmus::arch::Arch;
use crate::litmus::ast::Symbol;
use crate::litmus::layout::Layout;
use crate::suggest::did_you_mean;

/// A compiled thread and the names of its parts.
pub(super) struct Compiled {
    pub(super) thread: Thread,
    pub(super) regs: Vec<String>,
    pub(super) points: Vec<String>,
}

impl Compiled {
    /// The names of the points of `thread`, which is this one with perhaps more points.
    pub(super) fn point_names(&self, thread: &Thread) -> Vec<String> {
        let mut names = self.points.clone();
        names.resize(thread.points.len(), String::new());
        names
    }
}

/// The instructions of a column, and where its labels stand.
pub(super) struct Column<'a> {
    pub(super) instrs: Vec<(&'a Instruction, Decoded)>,
    /// The labels, with the index of the instruction that follows.
    pub(super) labels: BTreeMap<&'a str, usize>,
}

/// Compiles the column `index` of `test`. `regs` are the registers that the thread has and their
/// initial values.
pub(super) fn compile(
    test: Source<'_>,
    index: usize,
    regs: &[(Family, Value)],
    layout: &Layout,
    notes: &mut Notes,
) -> Lowering<Compiled> {
    let column = column(test, index);
    let effects = effects(test, &column)?;
    let live = flags::live_after(&effects);
    let mut lower = Lower::new(test.frame.arch, layout, regs, notes);
    let count = column.instrs.len();
    let mut points: Vec<Point> = vec![Point::default(); count + 1];
    let changed = changed(&column);
    let labelled: HashSet<usize> = column.labels.values().copied().collect();
    for (i, (instr, decoded)) in column.instrs.iter().enumerate() {
        if labelled.contains(&i) {
            lower.forget(|family| !changed.contains(&family));
        }
        lower.live = live[i];
        let flow = lower.instruction(instr, *decoded)?;
        let steps = std::mem::take(&mut lower.steps);
        let span = instr.place.0;
        let next = PointId::new(i + 1);
        let here = PointId::new(i);
        match flow {
            Flow::Next => chain(&mut points, here, steps, next, span),
            Flow::End => chain(&mut points, here, steps, PointId::new(count), span),
            Flow::Jump(cond) => {
                let to = effects[i].next[0].map_or(next, PointId::new);
                match cond {
                    None => edge(&mut points, here, Instr::Nop, to, span),
                    Some(cond) => {
                        edge(&mut points, here, Instr::Assume(cond.clone()), to, span);
                        edge(
                            &mut points,
                            here,
                            Instr::Assume(crate::litmus::fold::not(cond)),
                            next,
                            span,
                        );
                    }
                }
            }
            Flow::Either { cond, yes, no } => {
                let fork = new_point(&mut points);
                chain(&mut points, here, steps, fork, span);
                branch(&mut points, fork, cond.clone(), yes, next, span);
                branch(&mut points, fork, crate::litmus::fold::not(cond), no, next, span);
            }
        }
    }
    let names = lower.slots.iter().map(|s| slot_name(test.frame.arch, *s)).collect();
    let mut values: Vec<Value> = regs.iter().map(|(_, v)| *v).collect();
    values.resize(lower.slots.len(), 0);
    let mut point_names = vec![String::new(); points.len()];
    for cell_label in labels_in_order(test, index) {
        if let Some(at) = column.labels.get(cell_label)
            && let Some(name) = point_names.get_mut(*at)
        {
            if !name.is_empty() {
                name.push(',');
            }
            name.push_str(cell_label);
        }
    }
    Ok(Compiled {
        thread: Thread { regs: values, entry: PointId::new(0), points },
        regs: names,
        points: point_names,
    })
}

/// The registers that the column `index` mentions.
pub(super) fn families(test: Source<'_>, index: usize) -> Vec<Family> {
    let mut found = Vec::new();
    for (instr, decoded) in column(test, index).instrs {
        if decoded.op == Op::LongNop {
            continue;
        }
        for operand in &instr.operands {
            match operand {
                Operand::Reg { reg, .. } => found.push(reg.family),
                Operand::Mem(m) => {
                    found.extend(m.base.map(|r| r.family));
                    found.extend(m.index.map(|(r, _)| r.family));
                }
                _ => {}
            }
        }
        if decoded.op == Op::Cmpxchg {
            found.push(Family::Ax);
        }
    }
    found
}

pub(super) fn column<'a>(test: Source<'a>, index: usize) -> Column<'a> {
    let mut column = Column { instrs: Vec::new(), labels: BTreeMap::new() };
    for cell in test.table.rows.iter().filter_map(|row| row.get(index)) {
        for label in &cell.labels {
            column.labels.entry(&label.text).or_insert(column.instrs.len());
        }
        if let Some(instr) = &cell.instr
            && let Some(decoded) = decode(&instr.mnemonic)
        {
            column.instrs.push((instr, decoded));
        }
    }
    column
}

fn labels_in_order<'a>(test: Source<'a>, index: usize) -> impl Iterator<Item = &'a str> {
    let cells = test.table.rows.iter().filter_map(move |row| row.get(index));
    cells.flat_map(|cell| cell.labels.iter().map(|l| l.text.as_str()))
}

/// What each instruction does to the flags and where it leads; a jump leads to its label first.
pub(super) fn effects(test: Source<'_>, column: &Column<'_>) -> Lowering<Vec<Effect>> {
    let count = column.instrs.len();
    let mut effects = Vec::with_capacity(count);
    for (i, (instr, decoded)) in column.instrs.iter().enumerate() {
        let (reads, kills) = flags::effect(decoded.op, instr);
        let next = match (decoded.op, instr.operands.first()) {
            (Op::Jump, Some(Operand::Name(s))) => [Some(label(test, column, s)?), None],
            (Op::Branch(_), Some(Operand::Name(s))) => [Some(label(test, column, s)?), Some(i + 1)],
            (Op::Ret, _) => [Some(count), None],
            _ => [Some(i + 1), None],
        };
        effects.push(Effect { reads, kills, next });
    }
    Ok(effects)
}

/// The index of the instruction after a label.
fn label(test: Source<'_>, column: &Column<'_>, s: &Symbol) -> Lowering<usize> {
    if let Some(at) = column.labels.get(s.name.as_str()) {
        return Ok(*at);
    }
    let elsewhere = (0..test.table.threads.len())
        .find(|other| labels_in_order(test, *other).any(|l| l == s.name))
        .and_then(|other| test.table.threads.get(other));
    let diagnostic = Diagnostic::new(
        s.place.0,
        match elsewhere {
            Some(head) => {
                format!("the label `{}` stands in another column, that of P{}", s.name, head.id)
            }
            None => format!("undefined label `{}`", s.name),
        },
        "expected a label of this column",
    );
    Err(match elsewhere {
        Some(_) => diagnostic,
        None => did_you_mean(diagnostic, &s.name, column.labels.keys().copied()),
    })
}

/// The registers that the code may write: all that occur outside of addresses.
pub(super) fn changed(column: &Column<'_>) -> HashSet<Family> {
    let mut changed = HashSet::new();
    for (instr, decoded) in &column.instrs {
        for operand in &instr.operands {
            if let Operand::Reg { reg, .. } = operand {
                changed.insert(reg.family);
            }
        }
        if decoded.op == Op::Cmpxchg {
            changed.insert(Family::Ax);
        }
    }
    changed
}

fn slot_name(arch: Arch, slot: Slot) -> String {
    match slot {
        Slot::Register(family) => Register::whole(arch, family).name(arch),
        Slot::Flag(flag) => flags::name(flag).to_owned(),
        Slot::Scratch => "scratch".to_owned(),
        Slot::CarryIn => "carry in".to_owned(),
    }
}

fn new_point(points: &mut Vec<Point>) -> PointId {
    points.push(Point::default());
    PointId::new(points.len() - 1)
}

fn edge(points: &mut [Point], from: PointId, instr: Instr, to: PointId, span: Span) {
    if let Some(point) = points.get_mut(from.index()) {
        point.edges.push(Edge { instr, to, span });
    }
}

/// `steps` one after another between two points; without steps, nothing is done in one.
fn chain(points: &mut Vec<Point>, from: PointId, steps: Vec<Instr>, to: PointId, span: Span) {
    let steps = if steps.is_empty() { vec![Instr::Nop] } else { steps };
    let last = steps.len() - 1;
    let mut at = from;
    for (i, step) in steps.into_iter().enumerate() {
        let next = if i == last { to } else { new_point(points) };
        edge(points, at, step, next, span);
        at = next;
    }
}

/// If `cond` holds, `steps`.
fn branch(
    points: &mut Vec<Point>,
    from: PointId,
    cond: Expr,
    steps: Vec<Instr>,
    to: PointId,
    span: Span,
) {
    if steps.is_empty() {
        return edge(points, from, Instr::Assume(cond), to, span);
    }
    let inside = new_point(points);
    edge(points, from, Instr::Assume(cond), inside, span);
    chain(points, inside, steps, to, span);
}
