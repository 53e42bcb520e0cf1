//! A column of instructions to a thread of the core program.
//!
//! A pair of `lr` and `sc` succeeds in one step: at `lr` the thread may stop all others, and goes on
//! to `sc` without touching memory in between; where it does not get there, the run counts for
//! nothing. Or it does not stop them, and `sc` fails. So every `sc` may fail, and one that succeeds
//! is in memory at once.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use weakspot_core::{BinOp, Edge, Expr, Fence, Instr, Point, PointId, RegId, Span, Thread, Value};

use super::ast::{Instruction, Operand};
use super::lower::{Lower, Lowering, Notes, Target};
use super::mnemonics::{Op, decode};
use super::registers;
use crate::Diagnostic;
use crate::litmus::ast::{Symbol, Table};
use crate::litmus::fold::{Folder, Known, binary, not};
use crate::litmus::layout::Layout;
use crate::suggest::did_you_mean;

/// A compiled thread and the names of its parts.
pub(super) struct Compiled {
    pub(super) thread: Thread,
    pub(super) regs: Vec<String>,
    pub(super) points: Vec<String>,
}

/// The instructions of a column, and where its labels stand.
struct Column<'a> {
    instrs: Vec<(&'a Instruction, Op)>,
    labels: BTreeMap<&'a str, usize>,
}

/// The registers that the column `index` mentions.
pub(super) fn mentioned(table: &Table<Instruction>, index: usize) -> Vec<u8> {
    let mut found = Vec::new();
    for (instr, _) in column(table, index).instrs {
        for operand in &instr.operands {
            match operand {
                Operand::Reg(reg, _) | Operand::Mem { base: reg, .. } => found.push(*reg),
                _ => {}
            }
        }
    }
    found
}

fn column(table: &Table<Instruction>, index: usize) -> Column<'_> {
    let mut column = Column { instrs: Vec::new(), labels: BTreeMap::new() };
    for cell in table.rows.iter().filter_map(|row| row.get(index)) {
        for label in &cell.labels {
            column.labels.entry(&label.text).or_insert(column.instrs.len());
        }
        if let Some(instr) = &cell.instr
            && let Some(op) = decode(&instr.mnemonic)
        {
            column.instrs.push((instr, op));
        }
    }
    column
}

/// Compiles the column `index`. `regs` are its registers with their initial values.
pub(super) fn compile(
    table: &Table<Instruction>,
    index: usize,
    regs: &[(u8, Value)],
    layout: &Layout,
    notes: &mut Notes,
) -> Lowering<Compiled> {
    let column = column(table, index);
    let count = column.instrs.len();
    let lower = Lower {
        layout,
        notes,
        regs: regs.iter().map(|(r, _)| *r).collect(),
        folder: Folder(regs.iter().map(|(_, v)| Known::Const(*v)).collect()),
        steps: Vec::new(),
    };
    let mut build = Build {
        lower,
        changed: changed(&column),
        column,
        points: vec![Point::default(); count + 1],
        reserved: HashMap::new(),
        open: VecDeque::new(),
        addresses: HashMap::new(),
    };
    let labelled: HashSet<usize> = build.column.labels.values().copied().collect();
    for i in 0..count {
        if labelled.contains(&i) {
            build.forget();
        }
        build.instruction(i)?;
    }
    build.reserved_code()?;
    let Build { lower, points, column, .. } = build;
    let mut names = vec![String::new(); points.len()];
    for (label, at) in &column.labels {
        if let Some(name) = names.get_mut(*at) {
            let comma = if name.is_empty() { "" } else { "," };
            *name = format!("{name}{comma}{label}");
        }
    }
    let mut values: Vec<Value> = regs.iter().map(|(_, v)| *v).collect();
    values.resize(lower.folder.0.len(), 0);
    let mut reg_names: Vec<String> = regs.iter().map(|(r, _)| registers::name(*r)).collect();
    reg_names.resize(values.len(), "scratch".to_owned());
    let thread = Thread { regs: values, entry: PointId::new(0), points };
    Ok(Compiled { thread, regs: reg_names, points: names })
}

/// The registers that the code may write.
fn changed(column: &Column<'_>) -> HashSet<u8> {
    let writes =
        column.instrs.iter().filter_map(|(instr, op)| match (op, instr.operands.first()) {
            (Op::Store { .. } | Op::Branch(_), _) => None,
            (_, Some(Operand::Reg(reg, _))) => Some(*reg),
            _ => None,
        });
    writes.collect()
}

struct Build<'a, 'n> {
    lower: Lower<'a, 'n>,
    column: Column<'a>,
    changed: HashSet<u8>,
    points: Vec<Point>,
    /// The points of code between an `lr` that has stopped the others and its `sc`: by the
    /// instruction and the `lr`.
    reserved: HashMap<(usize, usize), PointId>,
    /// Those of them that have no edges yet.
    open: VecDeque<(usize, usize)>,
    /// What each `lr` has reserved, as it is known where its `sc` is.
    addresses: HashMap<usize, Expr>,
}

impl Build<'_, '_> {
    /// Forgets what is known about registers that change.
    fn forget(&mut self) {
        for (reg, known) in self.lower.regs.iter().zip(&mut self.lower.folder.0) {
            if self.changed.contains(reg) {
                *known = Known::Bits(64);
            }
        }
    }

    fn new_point(&mut self) -> PointId {
        self.points.push(Point::default());
        PointId::new(self.points.len() - 1)
    }

    fn edge(&mut self, from: PointId, instr: Instr, to: PointId, span: Span) {
        self.points[from.index()].edges.push(Edge { instr, to, span });
    }

    fn chain(&mut self, from: PointId, steps: Vec<Instr>, to: PointId, span: Span) {
        let steps = if steps.is_empty() { vec![Instr::Nop] } else { steps };
        let last = steps.len() - 1;
        let mut at = from;
        for (i, step) in steps.into_iter().enumerate() {
            let next = if i == last { to } else { self.new_point() };
            self.edge(at, step, next, span);
            at = next;
        }
    }

    /// The instruction `i`, outside of reservations.
    fn instruction(&mut self, i: usize) -> Lowering<()> {
        let (instr, op) = self.column.instrs[i];
        let (here, next, span) = (PointId::new(i), PointId::new(i + 1), instr.place.0);
        match op {
            Op::Branch(_) | Op::Jump => self.jump(i, here, |_, to| PointId::new(to))?,
            Op::Reserve { bytes, order } => {
                let address = self.lower.target(instr, bytes)?.raw;
                let keeps = self.lower.keep_address(&address);
                self.addresses
                    .insert(i, keeps.as_ref().map_or(address, |(reg, _)| Expr::Reg(*reg)));
                // The `sc` will fail.
                self.lower.load(instr, bytes, true)?;
                let steps = std::mem::take(&mut self.lower.steps);
                let fence = order.release.then_some(Instr::Fence(Fence::Full));
                self.chain(here, fence.into_iter().chain(steps.clone()).collect(), next, span);
                // The `sc` will succeed.
                let inside = self.new_point();
                self.edge(here, Instr::Lock, inside, span);
                let to = self.reserved_point(i + 1, i);
                let keeps = keeps.map(|(reg, value)| Instr::Assign { reg, value });
                self.chain(inside, keeps.into_iter().chain(steps).collect(), to, span);
            }
            Op::Conditional { .. } => {
                self.lower.write_operand(instr, Expr::Const(1));
                let steps = std::mem::take(&mut self.lower.steps);
                self.chain(here, steps, next, span);
                // Runs in which it succeeds come here as well.
                self.forget();
            }
            _ => {
                self.lower.instruction(instr, op)?;
                let steps = std::mem::take(&mut self.lower.steps);
                self.chain(here, steps, next, span);
            }
        }
        Ok(())
    }

    /// A branch or jump; `point` says where the instruction of a number begins.
    fn jump(
        &mut self,
        i: usize,
        here: PointId,
        point: impl Fn(&mut Self, usize) -> PointId,
    ) -> Lowering<()> {
        let (instr, op) = self.column.instrs[i];
        let span = instr.place.0;
        let Some(Operand::Name(label)) = instr.operands.last() else { return Ok(()) };
        let target = self.label(label)?;
        let to = point(self, target);
        let Op::Branch(test) = op else {
            self.edge(here, Instr::Nop, to, span);
            return Ok(());
        };
        let cond = self.lower.test(instr, test);
        let next = point(self, i + 1);
        self.edge(here, Instr::Assume(cond.clone()), to, span);
        self.edge(here, Instr::Assume(not(cond)), next, span);
        Ok(())
    }

    fn label(&self, s: &Symbol) -> Lowering<usize> {
        self.column.labels.get(s.name.as_str()).copied().ok_or_else(|| {
            let message = format!("undefined label `{}`", s.name);
            let refused = Diagnostic::new(s.place.0, message, "expected a label of this column");
            did_you_mean(refused, &s.name, self.column.labels.keys().copied())
        })
    }

    fn reserved_point(&mut self, i: usize, lr: usize) -> PointId {
        if let Some(point) = self.reserved.get(&(i, lr)) {
            return *point;
        }
        let point = self.new_point();
        self.reserved.insert((i, lr), point);
        self.open.push_back((i, lr));
        point
    }

    /// The code between each `lr` and its `sc`.
    fn reserved_code(&mut self) -> Lowering<()> {
        while let Some((i, lr)) = self.open.pop_front() {
            self.forget();
            let here = self.reserved[&(i, lr)];
            let Some(&(instr, op)) = self.column.instrs.get(i) else {
                self.dead_end(here, Span::default());
                continue;
            };
            let span = instr.place.0;
            match op {
                Op::Branch(_) | Op::Jump => {
                    self.jump(i, here, |b, to| b.reserved_point(to, lr))?;
                }
                Op::Conditional { bytes, .. } => self.success(i, lr, bytes, here)?,
                _ if op.is_memory() => {
                    let is_conditional =
                        |(_, op): &(&Instruction, Op)| matches!(op, Op::Conditional { .. });
                    let reserves = matches!(op, Op::Reserve { .. });
                    if !reserves && self.column.instrs[i..].iter().any(is_conditional) {
                        return Err(Diagnostic::new(
                            span,
                            format!("`{}` between `lr` and `sc` is not supported", instr.mnemonic),
                            "expected instructions on registers and branches",
                        ));
                    }
                    self.dead_end(here, span);
                }
                _ => {
                    self.lower.instruction(instr, op)?;
                    let steps = std::mem::take(&mut self.lower.steps);
                    let to = self.reserved_point(i + 1, lr);
                    self.chain(here, steps, to, span);
                }
            }
        }
        Ok(())
    }

    /// An `sc` that stores.
    fn success(&mut self, i: usize, lr: usize, bytes: u8, here: PointId) -> Lowering<()> {
        let (instr, _) = self.column.instrs[i];
        let (_, reserve) = self.column.instrs[lr];
        let span = instr.place.0;
        if !matches!(reserve, Op::Reserve { bytes: reserved, .. } if reserved == bytes) {
            self.dead_end(here, span);
            return Ok(());
        }
        let reserved = self.addresses[&lr].clone();
        let target: Target = self.lower.target(instr, bytes)?;
        let equal = binary(BinOp::Eq, target.raw.clone(), reserved);
        let value = self.lower.operand(instr, 1);
        self.lower.steps.push(Instr::Assume(equal));
        self.lower.store(&target, value);
        self.lower.write_operand(instr, Expr::Const(0));
        self.lower.steps.push(Instr::Unlock);
        let steps = std::mem::take(&mut self.lower.steps);
        self.chain(here, steps, PointId::new(i + 1), span);
        Ok(())
    }

    /// A place that no run that counts comes to.
    fn dead_end(&mut self, here: PointId, span: Span) {
        let end = PointId::new(self.column.instrs.len());
        self.edge(here, Instr::Assume(Expr::Const(0)), end, span);
    }
}

/// The number of the core register of a register.
pub(super) fn core_register(regs: &[(u8, Value)], reg: u8) -> RegId {
    RegId::new(regs.iter().position(|(r, _)| *r == reg).unwrap_or(0))
}
