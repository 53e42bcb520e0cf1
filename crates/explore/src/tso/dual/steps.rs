//! The steps of a thread from one of its local states, for the graphs of [`graph`](super::graph).

use rustc_hash::FxHashSet;
use weakspot_core::machine::{FailureKind, Step};
use weakspot_core::{Drain, Edge, Fence, Instr, Model, PointId, RegId, ThreadId, Value};

use crate::eval::eval;
use crate::meter::Meter;

use super::graph::{
    Arc, Atomic, Drains, Graphs, Item, Label, Moment, NoGraphs, Reads, What, Writes,
};

/// A place inside of an atomic block.
struct Inside {
    point: PointId,
    regs: Vec<Value>,
    /// What was read of the memory before the block.
    reads: Reads,
    writes: Writes,
    steps: Vec<Step>,
}

impl<'p> Graphs<'p> {
    fn edge(&self, t: u32, q: u32, i: u32) -> &'p Edge {
        &self.code(t as usize).points[self.point(t as usize, q).index()].edges[i as usize]
    }

    /// Adds everything that thread `t` can do in local state `q`.
    pub(super) fn explore(&mut self, t: u32, q: u32) -> Result<(), NoGraphs> {
        let point = self.point(t as usize, q);
        let mut regs = self.regs(t as usize, q).to_vec();
        for (i, edge) in self.code(t as usize).points[point.index()].edges.iter().enumerate() {
            let i = i as u32;
            if let Instr::Choose { low, high, .. } = edge.instr {
                // Empty if the bounds are the wrong way round.
                let choices = usize::try_from(i128::from(high) - i128::from(low) + 1);
                self.spend(choices.unwrap_or(if low <= high { usize::MAX } else { 0 }))?;
            }
            if let Err(kind) = self.explore_edge(t, q, i, edge, &mut regs) {
                self.fails(t, q, point, i, (Vec::new(), Drains::Nothing), kind);
            }
        }
        Ok(())
    }

    /// Adds edge `i`, and leaves `regs` as they are.
    fn explore_edge(
        &mut self,
        t: u32,
        q: u32,
        i: u32,
        edge: &Edge,
        regs: &mut [Value],
    ) -> Result<(), FailureKind> {
        match &edge.instr {
            Instr::Fence(Fence::StoreStore) if matches!(self.model, Model::Pso(_)) => {
                let to = self.local(t, edge.to, regs);
                let step = execute(t, i, 0);
                self.arc(Arc { thread: t, from: q, to, label: Label::Barrier, step });
            }
            Instr::Nop | Instr::Fence(Fence::StoreStore) => self.silent(t, q, i, 0, regs),
            Instr::Assign { reg, value } => {
                let value = eval(value, regs)?;
                let old = std::mem::replace(&mut regs[reg.index()], value);
                self.silent(t, q, i, 0, regs);
                regs[reg.index()] = old;
            }
            Instr::Choose { reg, low, high } => {
                let old = regs[reg.index()];
                for choice in *low..=*high {
                    regs[reg.index()] = choice;
                    self.silent(t, q, i, choice, regs);
                    if !self.looks_at(t, edge.to, *reg) {
                        break;
                    }
                }
                regs[reg.index()] = old;
            }
            Instr::Assume(e) => {
                if eval(e, regs)? != 0 {
                    self.silent(t, q, i, 0, regs);
                }
            }
            Instr::Assert(e) => {
                if eval(e, regs)? == 0 {
                    return Err(FailureKind::Assertion);
                }
                self.silent(t, q, i, 0, regs);
            }
            Instr::Load { reg, addr } => {
                let loc = self.location(eval(addr, regs)?)?;
                match self.looks_at(t, edge.to, *reg) {
                    true => self.accesses(t, q, i, loc),
                    false => self.silent(t, q, i, 0, regs),
                }
            }
            Instr::Store { addr, value } => {
                let (addr, value) = (eval(addr, regs)?, eval(value, regs)?);
                let loc = self.location(addr)?;
                self.mems.check(loc, value)?;
                let item = self.stored(t, q, i, loc, value);
                let to = self.local(t, edge.to, regs);
                let step = execute(t, i, 0);
                self.arc(Arc { thread: t, from: q, to, label: Label::Store(item), step });
            }
            Instr::Update { addr, .. } => {
                let loc = self.location(eval(addr, regs)?)?;
                self.accesses(t, q, i, loc);
            }
            Instr::Fence(Fence::Full) => {
                let to = self.local(t, edge.to, regs);
                let steps = vec![execute(t, i, 0)];
                self.atomic(
                    t,
                    q,
                    to,
                    Atomic { reads: Vec::new(), writes: Vec::new(), drains: Drains::All, steps },
                );
            }
            Instr::Lock => self.run_later(t, q, i),
            // The lock is held only inside of blocks, which are one step.
            Instr::Unlock => {}
        }
        Ok(())
    }

    fn accesses(&mut self, t: u32, q: u32, i: u32, loc: u32) {
        for item in self.seen_by(loc, (t, q, i, false)) {
            self.access(t, q, i, item);
        }
    }

    /// The load or update on edge `i`, when it sees `item`.
    pub(super) fn access(&mut self, t: u32, q: u32, i: u32, item: Item) {
        let edge = self.edge(t, q, i);
        let mut regs = self.regs(t as usize, q).to_vec();
        let step = execute(t, i, 0);
        match &edge.instr {
            Instr::Load { reg, .. } => {
                regs[reg.index()] = self.value(item);
                let to = self.local(t, edge.to, &regs);
                self.arc(Arc { thread: t, from: q, to, label: Label::Load(item), step });
            }
            Instr::Update { reg, value, .. } => {
                regs[reg.index()] = self.value(item);
                let mut looks = self.looks_at(t, edge.to, *reg);
                value.for_each_reg(&mut |r| looks |= r == *reg);
                let reads = if looks { vec![item] } else { Vec::new() };
                let drains = match self.model {
                    Model::Pso(Drain::Own) => Drains::Own(self.loc(item)),
                    _ => Drains::All,
                };
                let new = eval(value, &regs);
                let new = new.and_then(|v| self.mems.check(self.loc(item), v).map(|()| v));
                match new {
                    Ok(v) => {
                        // To write what is there is to write nothing; a compare-and-swap that
                        // fails does that.
                        let writes = match looks && v == self.value(item) {
                            true => Vec::new(),
                            false => vec![self.stored(t, q, i, self.loc(item), v)],
                        };
                        let to = self.local(t, edge.to, &regs);
                        self.atomic(t, q, to, Atomic { reads, writes, drains, steps: vec![step] });
                    }
                    Err(kind) => {
                        let point = self.point(t as usize, q);
                        self.fails(t, q, point, i, (reads, drains), kind);
                    }
                }
            }
            _ => {}
        }
    }

    /// Adds all ways through the atomic block that edge `i` opens.
    pub(super) fn block(
        &mut self,
        t: u32,
        q: u32,
        i: u32,
        meter: &mut Meter<'_>,
    ) -> Result<(), NoGraphs> {
        let regs = self.regs(t as usize, q).to_vec();
        let point = self.edge(t, q, i).to;
        let steps = vec![execute(t, i, 0)];
        let regs = self.masked(t, point, &regs);
        let mut todo = vec![Inside { point, regs, reads: Vec::new(), writes: Vec::new(), steps }];
        let mut seen = FxHashSet::default();
        while let Some(at) = todo.pop() {
            self.spend(1)?;
            let entries = (todo.len() + seen.len()) * (at.regs.len() + at.steps.len() * 3 + 12) * 8;
            meter
                .work(|| (todo.len() as u64, self.bytes() + entries as u64))
                .map_err(NoGraphs::Limit)?;
            let key = (at.point, at.regs.clone(), at.reads.clone(), at.writes.clone());
            if !seen.insert(key) {
                continue;
            }
            self.note_inside(t, q, &at);
            for (e, edge) in self.code(t as usize).points[at.point.index()].edges.iter().enumerate()
            {
                let e = e as u32;
                if let Instr::Choose { low, high, .. } = edge.instr {
                    let choices = usize::try_from(i128::from(high) - i128::from(low) + 1);
                    self.spend(choices.unwrap_or(if low <= high { usize::MAX } else { 0 }))?;
                }
                if let Err(kind) = self.inside((t, q, i), &at, e, edge, &mut todo) {
                    self.fails_inside(t, q, &at, e, at.reads.clone(), kind);
                }
            }
        }
        Ok(())
    }

    /// Takes edge `e` inside of a block.
    fn inside(
        &mut self,
        (t, q, lock): (u32, u32, u32),
        at: &Inside,
        e: u32,
        edge: &Edge,
        todo: &mut Vec<Inside>,
    ) -> Result<(), FailureKind> {
        let with = |reg: &RegId, value| {
            let mut regs = at.regs.clone();
            regs[reg.index()] = value;
            regs
        };
        let mut go = |this: &Self, regs: &[Value], (reads, writes): (Reads, Writes), choice| {
            let mut steps = at.steps.clone();
            steps.push(execute(t, e, choice));
            if let Instr::Store { addr, .. } = &edge.instr
                && let Ok(addr) = addr.eval(&at.regs)
            {
                steps.push(Step::Commit { thread: ThreadId(t), addr });
            }
            let regs = this.masked(t, edge.to, regs);
            todo.push(Inside { point: edge.to, regs, reads, writes, steps });
        };
        let same = || (at.reads.clone(), at.writes.clone());
        match &edge.instr {
            Instr::Nop | Instr::Fence(_) => go(self, &at.regs, same(), 0),
            Instr::Assign { reg, value } => go(self, &with(reg, eval(value, &at.regs)?), same(), 0),
            Instr::Choose { reg, low, high } => {
                for choice in *low..=*high {
                    go(self, &with(reg, choice), same(), choice);
                }
            }
            Instr::Assume(c) => {
                if eval(c, &at.regs)? != 0 {
                    go(self, &at.regs, same(), 0);
                }
            }
            Instr::Assert(c) => {
                if eval(c, &at.regs)? == 0 {
                    return Err(FailureKind::Assertion);
                }
                go(self, &at.regs, same(), 0);
            }
            Instr::Load { reg, addr } => {
                let loc = self.location(eval(addr, &at.regs)?)?;
                if !self.looks_at(t, edge.to, *reg) {
                    go(self, &at.regs, same(), 0);
                    return Ok(());
                }
                for (value, reads) in self.read_inside(at, loc, (t, q, lock)) {
                    go(self, &with(reg, value), (reads, at.writes.clone()), 0);
                }
            }
            Instr::Store { addr, value } => {
                let (addr, value) = (eval(addr, &at.regs)?, eval(value, &at.regs)?);
                let loc = self.location(addr)?;
                self.mems.check(loc, value)?;
                let writes = self.written(&at.writes, loc, value);
                go(self, &at.regs, (at.reads.clone(), writes), 0);
            }
            Instr::Update { reg, addr, value } => {
                let loc = self.location(eval(addr, &at.regs)?)?;
                for (old, reads) in self.read_inside(at, loc, (t, q, lock)) {
                    let regs = with(reg, old);
                    let new = eval(value, &regs);
                    match new.and_then(|v| self.mems.check(loc, v).map(|()| v)) {
                        Ok(new) => {
                            let writes = self.written(&at.writes, loc, new);
                            go(self, &regs, (reads, writes), 0);
                        }
                        Err(kind) => self.fails_inside(t, q, at, e, reads, kind),
                    }
                }
            }
            // The lock is not re-entrant: the thread waits for itself for ever.
            Instr::Lock => {}
            Instr::Unlock => {
                let mut steps = at.steps.clone();
                steps.push(execute(t, e, 0));
                let (reads, mut writes) = same();
                writes.retain(|w| !reads.contains(w));
                for &item in &writes {
                    self.stored(t, q, lock, self.loc(item), self.value(item));
                }
                let to = self.local(t, edge.to, &at.regs);
                self.atomic(t, q, to, Atomic { reads, writes, drains: Drains::All, steps });
            }
        }
        Ok(())
    }

    fn fails_inside(
        &mut self,
        t: u32,
        q: u32,
        at: &Inside,
        e: u32,
        reads: Reads,
        kind: FailureKind,
    ) {
        let mut steps = at.steps.clone();
        steps.push(execute(t, e, 0));
        let what = What::Fails(at.point, e, kind.into());
        let (thread, writes) = (t as usize, at.writes.clone());
        self.moment(Moment { thread, from: q, reads, writes, drains: Drains::All, steps, what });
    }

    /// What a load inside of a block may see, each with the reads of the block after it.
    fn read_inside(
        &mut self,
        at: &Inside,
        loc: u32,
        (t, q, lock): (u32, u32, u32),
    ) -> Vec<(Value, Reads)> {
        let known = at.writes.iter().chain(&at.reads).find(|&&i| self.loc(i) == loc);
        if let Some(&item) = known {
            return vec![(self.value(item), at.reads.clone())];
        }
        let seen = self.seen_by(loc, (t, q, lock, true));
        let with = |item| {
            let mut reads = at.reads.clone();
            reads.push(item);
            reads.sort_unstable();
            reads
        };
        seen.into_iter().map(|item| (self.value(item), with(item))).collect()
    }

    fn written(&mut self, writes: &[Item], loc: u32, value: Value) -> Writes {
        let item = self.item(loc, value);
        let mut writes: Writes = writes.iter().copied().filter(|&i| self.loc(i) != loc).collect();
        writes.push(item);
        writes.sort_unstable();
        writes
    }

    /// Notes what the questions can be about inside of a block.
    fn note_inside(&mut self, t: u32, q: u32, at: &Inside) {
        let (t, program) = (t as usize, self.program);
        let mut note = |what| {
            let (reads, writes, steps) = (at.reads.clone(), at.writes.clone(), at.steps.clone());
            let drains = Drains::All;
            self.moment(Moment { thread: t, from: q, reads, writes, drains, steps, what });
        };
        if program.forbidden.iter().any(|c| c.get(t) == Some(&Some(at.point))) {
            note(What::Inside(at.point));
        }
        if program.threads[t].points[at.point.index()].edges.is_empty() {
            note(What::Ended(at.regs.clone()));
        }
    }

    fn looks_at(&self, t: u32, point: PointId, reg: RegId) -> bool {
        self.threads[t as usize].live[point.index()][reg.index()]
    }

    fn silent(&mut self, t: u32, q: u32, i: u32, choice: Value, regs: &[Value]) {
        let to = self.local(t, self.edge(t, q, i).to, regs);
        let step = execute(t, i, choice);
        self.arc(Arc { thread: t, from: q, to, label: Label::Silent, step });
    }

    fn fails(
        &mut self,
        t: u32,
        q: u32,
        point: PointId,
        i: u32,
        (reads, drains): (Reads, Drains),
        kind: FailureKind,
    ) {
        self.moment(Moment {
            thread: t as usize,
            from: q,
            reads,
            writes: Vec::new(),
            drains,
            steps: vec![execute(t, i, 0)],
            what: What::Fails(point, i, kind.into()),
        });
    }
}

fn execute(t: u32, edge: u32, choice: Value) -> Step {
    Step::Execute { thread: ThreadId(t), edge, choice }
}
