//! What a state does: the machine on rows, with counters in canonical form.
//!
//! Steps that no other thread can tell are taken at once, so that threads are met only before an
//! access to memory, at their end, and at points that the question names. Under TSO and PSO a
//! store that becomes pending is such a step, too.

use weakspot_core::machine::{Failure, FailureKind, Step};
use weakspot_core::{
    Drain, Edge, Expr, Fence, Instr, Limit, LocId, Model, Observable, PointId, Program, RegId,
    ThreadId, Value,
};

use super::classes::{Clash, Classes, Slot};
use super::numbers::{largest, plain_parts};
use super::rows::{BARRIER, Layout, Row};

/// The machine of a program whose counters are abstracted.
pub(super) struct Machine<'p> {
    pub(super) program: &'p Program,
    model: Model,
    classes: &'p Classes,
    pub(super) layout: Layout,
    /// Per thread and point whether the question names it.
    named: Vec<Vec<bool>>,
    /// Per thread how many stores may be pending.
    room: Vec<usize>,
    /// Plain values beyond this size are taken to grow.
    large: Value,
}

/// A state that another one leads to, and how.
pub(super) struct Successor {
    pub(super) row: Row,
    pub(super) steps: Vec<Step>,
    /// An assertion that the last step fails. The row is then the one before it.
    pub(super) failure: Option<Failure>,
}

/// Why a search ends before its time.
#[derive(Debug)]
pub(super) enum Stop {
    Limit(Limit),
    /// The classes do not fit.
    Clash(Clash),
    /// A value grows that is not taken for a counter.
    Grows(Slot),
    /// Too much stands for one state, or what is done has no meaning.
    GiveUp,
}

/// How many steps in a row are taken at once.
const MOST_QUIET: usize = 64;

enum Taken {
    Next,
    Blocked,
    Failed(FailureKind),
}

impl<'p> Machine<'p> {
    pub(super) fn new(
        program: &'p Program,
        model: Model,
        classes: &'p Classes,
        gap: Value,
        most_pending: usize,
    ) -> Machine<'p> {
        let named = |t: usize| {
            let mut named = vec![false; program.threads[t].points.len()];
            program.forbidden.iter().filter_map(|row| row[t]).for_each(|p| named[p.index()] = true);
            named
        };
        let room = |t: usize| {
            let edges = program.threads[t].points.iter().flat_map(|p| &p.edges);
            let stores = edges.filter(|e| matches!(e.instr, Instr::Store { .. })).count();
            (2 * stores + 4).min(most_pending)
        };
        let threads = 0..program.threads.len();
        Machine {
            program,
            model,
            classes,
            layout: Layout::new(program, classes, gap),
            named: threads.clone().map(named).collect(),
            room: threads.map(room).collect(),
            large: largest(program).saturating_mul(2).saturating_add(64),
        }
    }

    /// The initial states, after what threads do before anybody can tell.
    pub(super) fn start(&self, init: &[Value]) -> Result<Vec<Successor>, Stop> {
        let row = self.layout.initial(self.program, init);
        let mut all = vec![Successor { row, steps: Vec::new(), failure: None }];
        for t in 0..self.layout.threads {
            let mut next = Vec::new();
            for from in all {
                match from.failure {
                    Some(_) => next.push(from),
                    None => self.run(from.row, from.steps, t, &mut next)?,
                }
            }
            all = next;
        }
        Ok(all)
    }

    /// Everything that `row` leads to.
    pub(super) fn successors(&self, row: &Row, out: &mut Vec<Successor>) -> Result<(), Stop> {
        out.clear();
        let owner = self.layout.lock(row);
        for t in (0..self.layout.threads).filter(|&t| owner.is_none_or(|o| o == t)) {
            for edge in 0..self.edges(row, t).len() {
                self.take(row, &[], t, edge, &mut |next, steps, failure| match failure {
                    None => self.run(next, steps, t, out),
                    Some(_) => {
                        out.push(Successor { row: next, steps, failure });
                        Ok(())
                    }
                })?;
            }
            for at in self.next_commits(row, t) {
                let entry = &self.layout.pending(row, t)[3 * at..3 * at + 3];
                let (loc, value) = (entry[1] as usize, entry[2]);
                let mut next = row.clone();
                self.layout.remove_pending(&mut next, t, at);
                while self.layout.pending(&next, t).get(1) == Some(&BARRIER) {
                    self.layout.remove_pending(&mut next, t, 0);
                }
                *self.layout.memory_mut(&mut next, loc) = value;
                let addr = self.program.locs[loc].addr;
                let step = Step::Commit { thread: ThreadId::new(t), addr };
                self.run(next, vec![step], t, out)?;
            }
        }
        Ok(())
    }

    /// Whether all threads have ended and nothing is pending.
    pub(super) fn is_final(&self, row: &Row) -> bool {
        !self.layout.has_pending(row)
            && (0..self.layout.threads).all(|t| self.edges(row, t).is_empty())
    }

    /// The states that stand for a final one when the condition is looked at.
    pub(super) fn ends(&self, row: &Row, prop: &Expr) -> Result<Vec<Row>, Stop> {
        let class = |r: RegId| match self.program.observed[r.index()].what {
            Observable::Reg(t, r) => {
                self.layout.class_of_reg(t.index(), self.layout.point(row, t.index()), r)
            }
            Observable::Loc(l) => self.layout.class_of_loc(l.index()),
        };
        let moves = self.moves_of(None, prop, &self.observe(row), &class)?;
        self.layout.spread(row, &moves.bases, moves.amount).ok_or(Stop::GiveUp)
    }

    /// The projection of a state to what the program observes.
    pub(super) fn observe(&self, row: &Row) -> Vec<Value> {
        let value = |what| match what {
            Observable::Reg(t, r) => self.layout.regs(row, ThreadId::index(t))[r.index()],
            Observable::Loc(l) => self.layout.memory(row)[LocId::index(l)],
        };
        self.program.observed.iter().map(|o| o.view.apply(value(o.what))).collect()
    }

    fn edges(&self, row: &Row, t: usize) -> &'p [Edge] {
        &self.program.threads[t].points[self.layout.point(row, t)].edges
    }

    /// Runs thread `t` on to where it is met.
    fn run(
        &self,
        row: Row,
        steps: Vec<Step>,
        t: usize,
        out: &mut Vec<Successor>,
    ) -> Result<(), Stop> {
        let upto = steps.len() + MOST_QUIET;
        let mut todo = vec![(row, steps)];
        while let Some((mut row, steps)) = todo.pop() {
            self.layout.forget(&mut row, t);
            let mut goes_on = false;
            if steps.len() < upto && !self.is_met(&row, t) {
                for edge in 0..self.edges(&row, t).len() {
                    self.take(&row, &steps, t, edge, &mut |next, steps, failure| {
                        goes_on = true;
                        match failure {
                            None => todo.push((next, steps)),
                            Some(_) => out.push(Successor { row: next, steps, failure }),
                        }
                        Ok(())
                    })?;
                }
            }
            if !goes_on {
                self.sort_pending(&mut row, t);
                self.layout.canonical(&mut row);
                out.push(Successor { row, steps, failure: None });
            }
            if todo.len() + out.len() > 10_000 {
                return Err(Stop::GiveUp);
            }
        }
        Ok(())
    }

    /// Whether others may tell what thread `t` does next, or where it is.
    fn is_met(&self, row: &Row, t: usize) -> bool {
        let point = self.layout.point(row, t);
        let edges = self.edges(row, t);
        self.named[t][point] || edges.is_empty() || edges.iter().any(|e| self.is_seen(row, t, e))
    }

    fn is_seen(&self, row: &Row, t: usize, edge: &Edge) -> bool {
        let pending = self.layout.pending(row, t);
        match &edge.instr {
            Instr::Nop
            | Instr::Assign { .. }
            | Instr::Choose { .. }
            | Instr::Assume(_)
            | Instr::Assert(_)
            | Instr::Fence(Fence::StoreStore) => false,
            Instr::Store { .. } => self.model == Model::Sc,
            Instr::Fence(Fence::Full) => !pending.is_empty(),
            // Also of a location to which an own store is pending: that may reach memory before, and
            // be overwritten there.
            Instr::Load { .. } | Instr::Update { .. } | Instr::Lock | Instr::Unlock => true,
        }
    }

    /// Takes an edge of thread `t` in all ways, and hands on where each leads.
    fn take(
        &self,
        row: &Row,
        steps: &[Step],
        t: usize,
        edge: usize,
        found: &mut dyn FnMut(Row, Vec<Step>, Option<Failure>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let Edge { instr, to, span } = &self.edges(row, t)[edge];
        let thread = ThreadId::new(t);
        let (low, high) = match instr {
            Instr::Choose { low, high, .. } => (*low, *high),
            _ => (0, 0),
        };
        for choice in low..=high {
            for mut next in self.representatives(row, t, instr, *to, choice)? {
                let taken = self.execute(&mut next, t, instr, *to, choice)?;
                let mut steps = steps.to_vec();
                steps.push(Step::Execute { thread, edge: edge as u32, choice });
                match taken {
                    Taken::Blocked => {}
                    Taken::Next => {
                        self.layout.set_point(&mut next, t, to.index());
                        found(next, steps, None)?;
                    }
                    Taken::Failed(FailureKind::Assertion) => {
                        let kind = FailureKind::Assertion;
                        found(next, steps, Some(Failure { thread, span: *span, kind }))?;
                    }
                    // That may be so for the abstraction only: others say what is wrong.
                    Taken::Failed(_) => return Err(Stop::GiveUp),
                }
            }
        }
        Ok(())
    }

    /// The states that stand for `row` in a step.
    fn representatives(
        &self,
        row: &Row,
        t: usize,
        instr: &Instr,
        to: PointId,
        choice: Value,
    ) -> Result<Vec<Row>, Stop> {
        if self.moves(row, t, instr, to, choice)?.amount == 0 {
            return Ok(vec![row.clone()]);
        }
        let mut row = row.clone();
        self.layout.forget(&mut row, t);
        self.layout.canonical(&mut row);
        let moves = self.moves(&row, t, instr, to, choice)?;
        self.layout.spread(&row, &moves.bases, moves.amount).ok_or(Stop::GiveUp)
    }

    /// By how much a step moves counters, and which.
    fn moves(
        &self,
        row: &Row,
        t: usize,
        instr: &Instr,
        to: PointId,
        choice: Value,
    ) -> Result<Moves, Stop> {
        let class = |r: RegId| self.layout.class_of_reg(t, self.layout.point(row, t), r);
        let written = |r: &RegId| self.layout.class_of_reg(t, to.index(), *r);
        let regs = self.layout.regs(row, t);
        match instr {
            Instr::Nop | Instr::Fence(_) | Instr::Lock | Instr::Unlock | Instr::Load { .. } => {
                Ok(Moves { amount: 0, bases: Vec::new() })
            }
            Instr::Choose { reg, .. } => {
                self.moves_of(written(reg), &Expr::Const(choice), regs, &class)
            }
            Instr::Assign { reg, value } => self.moves_of(written(reg), value, regs, &class),
            Instr::Assume(e) | Instr::Assert(e) => self.moves_of(None, e, regs, &class),
            Instr::Store { addr, value } => {
                let to = self.loc(row, t, addr).and_then(|l| self.layout.class_of_loc(l));
                self.moves_of(to, value, regs, &class)
            }
            Instr::Update { reg, addr, value } => {
                let mut regs = regs.to_vec();
                let loc = self.loc(row, t, addr);
                if let Some(loc) = loc {
                    regs[reg.index()] = self.layout.memory(row)[loc];
                }
                let to = loc.and_then(|l| self.layout.class_of_loc(l));
                let class = |r: RegId| if r == *reg { to } else { class(r) };
                self.moves_of(to, value, &regs, &class)
            }
        }
    }

    fn moves_of(
        &self,
        to: Option<usize>,
        value: &Expr,
        regs: &[Value],
        class: &dyn Fn(RegId) -> Option<usize>,
    ) -> Result<Moves, Stop> {
        let mut bases: Vec<(usize, Vec<Value>)> = Vec::new();
        let mut add = |class: usize, base: Option<Value>| {
            let at = bases.iter().position(|(c, _)| *c == class).unwrap_or_else(|| {
                bases.push((class, if self.layout.has_zero(class) { vec![0] } else { vec![] }));
                bases.len() - 1
            });
            bases[at].1.extend(base);
        };
        to.into_iter().for_each(|class| add(class, None));
        value.for_each_reg(&mut |r| {
            class(r).into_iter().for_each(|class| add(class, Some(regs[r.index()])));
        });
        let amount = if bases.is_empty() { 0 } else { plain_parts(value, regs, class) };
        match Value::try_from(amount) {
            Ok(amount) if amount <= MOST_MOVED => Ok(Moves { amount, bases }),
            _ => Err(Stop::GiveUp),
        }
    }

    /// The location at an address.
    fn loc(&self, row: &Row, t: usize, addr: &Expr) -> Option<usize> {
        let addr = addr.eval(self.layout.regs(row, t)).ok()?;
        self.program.loc_at(addr).map(|l| l.index())
    }

    /// What the machine of the definition does, but for the control point.
    fn execute(
        &self,
        row: &mut Row,
        t: usize,
        instr: &Instr,
        to: PointId,
        choice: Value,
    ) -> Result<Taken, Stop> {
        let layout = &self.layout;
        macro_rules! eval {
            ($e:expr) => {
                match $e.eval(layout.regs(row, t)) {
                    Ok(value) => value,
                    Err(_) => return Ok(Taken::Failed(FailureKind::DivisionByZero)),
                }
            };
        }
        macro_rules! loc {
            ($addr:expr) => {{
                let addr = eval!($addr);
                match self.program.loc_at(addr) {
                    Some(loc) => loc.index(),
                    None => return Ok(Taken::Failed(FailureKind::BadAddress(addr))),
                }
            }};
        }
        let is_drained = layout.pending(row, t).is_empty();
        match instr {
            Instr::Nop => {}
            Instr::Assign { reg, value } => {
                let value = eval!(value);
                if let Some(slot) = self.classes.reg(t, to.index(), *reg) {
                    self.grows(slot, value)?;
                }
                *layout.reg_mut(row, t, *reg) = value;
            }
            Instr::Choose { reg, .. } => *layout.reg_mut(row, t, *reg) = choice,
            Instr::Assume(e) => {
                if eval!(e) == 0 {
                    return Ok(Taken::Blocked);
                }
            }
            Instr::Assert(e) => {
                if eval!(e) == 0 {
                    return Ok(Taken::Failed(FailureKind::Assertion));
                }
            }
            Instr::Load { reg, addr } => {
                let loc = loc!(addr);
                self.same(t, to, *reg, loc)?;
                let mut own = layout.pending(row, t).chunks_exact(3).rev();
                let own = own.find(|e| e[1] == loc as Value).map(|e| e[2]);
                let value = own.unwrap_or(layout.memory(row)[loc]);
                *layout.reg_mut(row, t, *reg) = value;
            }
            Instr::Store { addr, value } => {
                let loc = loc!(addr);
                let slot = |r| self.classes.reg(t, layout.point(row, t), r);
                self.flows(value, &slot, loc)?;
                let value = eval!(value);
                if let Some(failure) = self.stored(loc, value)? {
                    return Ok(failure);
                }
                if self.model == Model::Sc {
                    *layout.memory_mut(row, loc) = value;
                } else {
                    let entries = layout.pending(row, t).len() / 3;
                    if entries >= self.room[t] {
                        let thread = ThreadId::new(t);
                        let limit = Limit::Buffer { thread, entries, unbounded: false };
                        return Err(Stop::Limit(limit));
                    }
                    layout.push_pending(row, t, loc as Value, value);
                }
            }
            Instr::Update { reg, addr, value } => {
                let loc = loc!(addr);
                self.same(t, to, *reg, loc)?;
                let of_loc = self.classes.loc(loc);
                let slot = |r| match r == *reg {
                    true => Some(of_loc),
                    false => self.classes.reg(t, layout.point(row, t), r),
                };
                self.flows(value, &slot, loc)?;
                if !self.update_may_run(row, t, loc) {
                    return Ok(Taken::Blocked);
                }
                *layout.reg_mut(row, t, *reg) = layout.memory(row)[loc];
                let value = eval!(value);
                if let Some(failure) = self.stored(loc, value)? {
                    return Ok(failure);
                }
                *layout.memory_mut(row, loc) = value;
            }
            Instr::Fence(Fence::Full) => {
                if !is_drained {
                    return Ok(Taken::Blocked);
                }
            }
            Instr::Fence(Fence::StoreStore) => {
                if matches!(self.model, Model::Pso(_)) && !is_drained {
                    layout.push_pending(row, t, BARRIER, 0);
                }
            }
            Instr::Lock => {
                if layout.lock(row).is_some() || !is_drained {
                    return Ok(Taken::Blocked);
                }
                layout.set_lock(row, Some(t));
            }
            Instr::Unlock => {
                if layout.lock(row) != Some(t) || !is_drained {
                    return Ok(Taken::Blocked);
                }
                layout.set_lock(row, None);
            }
        }
        Ok(Taken::Next)
    }

    fn same(&self, t: usize, to: PointId, reg: RegId, loc: usize) -> Result<(), Stop> {
        let (reg, loc) = (self.classes.reg(t, to.index(), reg), self.classes.loc(loc));
        self.classes.same(reg, loc).map_err(Stop::Clash)
    }

    fn flows(
        &self,
        value: &Expr,
        slot: &dyn Fn(RegId) -> Option<Slot>,
        loc: usize,
    ) -> Result<(), Stop> {
        let to = Some(self.classes.loc(loc));
        let kind = self.classes.kind(value, slot);
        kind.and_then(|kind| self.classes.flows(kind, to)).map_err(Stop::Clash)
    }

    /// Whether `value` may be stored at `loc`.
    fn stored(&self, loc: usize, value: Value) -> Result<Option<Taken>, Stop> {
        self.grows(self.classes.loc(loc), value)?;
        Ok(match self.program.locs[loc].range {
            Some((low, high)) if !(low..=high).contains(&value) => {
                Some(Taken::Failed(FailureKind::OutOfRange(value)))
            }
            _ => None,
        })
    }

    fn grows(&self, slot: Slot, value: Value) -> Result<(), Stop> {
        match value.unsigned_abs() > self.large.unsigned_abs() && self.classes.is_idle(slot) {
            true => Err(Stop::Grows(slot)),
            false => Ok(()),
        }
    }

    fn update_may_run(&self, row: &Row, t: usize, loc: usize) -> bool {
        let mut pending = self.layout.pending(row, t).chunks_exact(3);
        match self.model {
            Model::Pso(Drain::Own) => !pending.any(|e| e[1] == BARRIER || e[1] == loc as Value),
            Model::Sc | Model::Tso | Model::Pso(Drain::All) => pending.len() == 0,
        }
    }

    /// Which pending stores of a thread may reach memory next.
    fn next_commits(&self, row: &Row, t: usize) -> Vec<usize> {
        let pending = self.layout.pending(row, t);
        let mut next: Vec<usize> = Vec::new();
        for (i, entry) in pending.chunks_exact(3).enumerate() {
            if entry[1] == BARRIER {
                break;
            }
            if next.iter().all(|&other| pending[3 * other + 1] != entry[1]) {
                next.push(i);
            }
            if self.model == Model::Tso {
                break;
            }
        }
        next
    }

    /// Under PSO the order of stores to different locations does not matter between fences.
    fn sort_pending(&self, row: &mut Row, t: usize) {
        if !matches!(self.model, Model::Pso(_)) {
            return;
        }
        let mut entries: Vec<[Value; 3]> =
            self.layout.pending(row, t).chunks_exact(3).map(|e| [e[0], e[1], e[2]]).collect();
        for part in entries.split_mut(|e| e[1] == BARRIER) {
            part.sort_by_key(|e| e[1]);
        }
        let sorted = entries.as_flattened();
        let n = sorted.len();
        if n > 0 {
            self.layout.pending_mut(row, t).copy_from_slice(&sorted[..n]);
        }
    }
}

/// By how much a step moves counters at most, and per class beside which values.
struct Moves {
    amount: Value,
    bases: Vec<(usize, Vec<Value>)>,
}

/// Steps that move counters by more are not followed.
const MOST_MOVED: Value = 1 << 16;
