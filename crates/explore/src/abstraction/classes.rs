//! Which registers and locations are counters, and which of them belong together.
//!
//! A register counts anew whenever it is written: front ends use the same ones for different
//! things. At first each of these and each location is a class of its own, and all are taken for counters.
//! What the program does with them joins classes and shows which are none: those that are
//! addresses, factors, results of comparisons. Of the rest those matter that a loop moves and that
//! are in memory; others become counters when a search sees them grow.

use weakspot_core::{
    Abstraction, BinOp, Edge, Expr, Instr, LocId, Observable, Program, RegId, Thread, ThreadId,
    UnOp, Value,
};

use crate::flow::in_loop;
use crate::liveness::live_registers;

/// A location, or a register from where it is written to where it is read for the last time, by
/// number.
pub(super) type Slot = u32;

/// What an expression gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A number that has nothing to do with counters.
    Pure,
    /// A number that depends on how counters compare.
    Compared,
    /// A counter of the class with this slot.
    Counter(Slot),
    /// A difference of two counters, moved by a plain number.
    Difference(Slot),
}

/// Why a program does not fit its classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clash {
    /// These two belong together.
    Join(Slot, Slot),
    /// Such a thing is done with this one that it is no counter.
    Plain(Slot),
    /// This one is combined or compared with plain numbers.
    Zero(Slot),
}

/// The classes.
#[derive(Clone, Debug)]
pub(super) struct Classes {
    /// A slot of the same class, or itself: the slot that stands for the class.
    parent: Vec<Slot>,
    state: Vec<Is>,
    /// Whether 0 has a place among the values.
    zero: Vec<bool>,
    /// Per thread, point and register its slot, if it matters there.
    regs: Vec<Vec<Vec<Option<Slot>>>>,
    /// The first location.
    first_loc: Slot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Is {
    Counter,
    /// Not taken for a counter, though it could be one.
    Idle,
    /// No counter.
    Plain,
}

impl Classes {
    /// The classes of a program, if counters that may grow for ever are among them.
    pub(super) fn new(program: &Program) -> Option<Classes> {
        // Most programs have none, and that is soon seen.
        let inside: Vec<Vec<bool>> = program.threads.iter().map(in_loop).collect();
        if !program.threads.iter().zip(&inside).any(|(thread, inside)| moves_in(thread, inside)) {
            return None;
        }
        let (regs, first_loc) = registers(program);
        let slots = first_loc as usize + program.locs.len();
        let mut classes = Classes {
            parent: (0..slots as Slot).collect(),
            state: vec![Is::Counter; slots],
            zero: vec![false; slots],
            regs,
            first_loc,
        };
        for (l, loc) in program.locs.iter().enumerate() {
            if loc.range.is_some() {
                classes.mend(Clash::Plain(classes.loc(l)));
            }
        }
        classes.settle(program);
        let moved = classes.moved_in_loops(program, &inside);
        let in_memory = classes.in_memory(program);
        for slot in 0..slots as Slot {
            let is_wanted = moved.contains(&slot) && in_memory.contains(&slot);
            if classes.state[slot as usize] == Is::Counter && !is_wanted {
                classes.state[slot as usize] = Is::Idle;
            }
        }
        classes.zero.fill(false);
        classes.settle(program);
        let is_counter = (0..slots as Slot).any(|slot| classes.class(slot).is_some());
        is_counter.then_some(classes)
    }

    /// The slot of a register at a point, if it matters there.
    pub(super) fn reg(&self, thread: usize, point: usize, reg: RegId) -> Option<Slot> {
        self.regs[thread][point][reg.index()]
    }

    pub(super) fn loc(&self, loc: usize) -> Slot {
        self.first_loc + loc as Slot
    }

    /// The class of a slot, if it is one of counters.
    pub(super) fn class(&self, slot: Slot) -> Option<Slot> {
        let root = self.root(slot);
        (self.state[root as usize] == Is::Counter).then_some(root)
    }

    pub(super) fn has_zero(&self, class: Slot) -> bool {
        self.zero[class as usize]
    }

    /// Whether a slot is not taken for a counter, though it could be one.
    pub(super) fn is_idle(&self, slot: Slot) -> bool {
        self.state[self.root(slot) as usize] == Is::Idle
    }

    /// Makes a slot a counter.
    pub(super) fn wake(&mut self, slot: Slot) {
        let root = self.root(slot) as usize;
        self.state[root] = Is::Counter;
    }

    /// Takes a clash out of the way.
    pub(super) fn mend(&mut self, clash: Clash) {
        match clash {
            Clash::Join(a, b) => {
                let (a, b) = (self.root(a), self.root(b));
                if a == b {
                    return;
                }
                let (a, b) = (a.min(b), a.max(b));
                let (x, y) = (self.state[a as usize], self.state[b as usize]);
                self.parent[b as usize] = a;
                self.zero[a as usize] |= self.zero[b as usize];
                self.state[a as usize] = match (x, y) {
                    (Is::Plain, _) | (_, Is::Plain) => Is::Plain,
                    (Is::Counter, _) | (_, Is::Counter) => Is::Counter,
                    (Is::Idle, Is::Idle) => Is::Idle,
                };
            }
            Clash::Plain(slot) => {
                let root = self.root(slot) as usize;
                self.state[root] = Is::Plain;
            }
            Clash::Zero(slot) => {
                let root = self.root(slot) as usize;
                self.zero[root] = true;
            }
        }
    }

    /// Changes the classes until the program fits them, as far as that can be told without running
    /// it.
    pub(super) fn settle(&mut self, program: &Program) {
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for (t, thread) in program.threads.iter().enumerate() {
                for (p, point) in thread.points.iter().enumerate() {
                    for edge in &point.edges {
                        while let Err(clash) = self.fits(program, t, p, edge) {
                            self.mend(clash);
                            changed = true;
                        }
                    }
                }
            }
            while let Err(clash) = self.condition_fits(program) {
                self.mend(clash);
                changed = true;
            }
        }
    }

    /// What is kept of the values.
    pub(super) fn abstraction(&self, program: &Program, gap: Value) -> Abstraction {
        let mut roots: Vec<Slot> =
            (0..self.parent.len() as Slot).filter_map(|slot| self.class(slot)).collect();
        roots.sort_unstable();
        roots.dedup();
        let number = |slot| {
            let root = self.class(slot)?;
            roots.binary_search(&root).ok().map(|i| i as u32)
        };
        let at_point = |regs: &Vec<Option<Slot>>| {
            regs.iter().map(|slot| slot.and_then(number)).collect::<Vec<_>>()
        };
        let of_thread = |points: &Vec<Vec<Option<Slot>>>| points.iter().map(at_point).collect();
        Abstraction {
            regs: self.regs.iter().map(of_thread).collect(),
            locs: (0..program.locs.len()).map(|l| number(self.loc(l))).collect(),
            zero: roots.iter().map(|&root| self.has_zero(root)).collect(),
            gap,
        }
    }

    fn root(&self, mut slot: Slot) -> Slot {
        while self.parent[slot as usize] != slot {
            slot = self.parent[slot as usize];
        }
        slot
    }

    fn fits(&self, program: &Program, t: usize, p: usize, edge: &Edge) -> Result<(), Clash> {
        let slot = |r: RegId| self.reg(t, p, r);
        let to = |r: &RegId| self.reg(t, edge.to.index(), *r);
        let at = |addr| fixed(program, addr).map(|loc| self.loc(loc.index()));
        match &edge.instr {
            Instr::Nop | Instr::Fence(_) | Instr::Lock | Instr::Unlock => {}
            Instr::Assign { reg, value } => self.flows(self.kind(value, &slot)?, to(reg))?,
            Instr::Choose { reg, .. } => self.flows(Kind::Pure, to(reg))?,
            Instr::Assume(e) | Instr::Assert(e) => {
                self.truth(self.kind(e, &slot)?)?;
            }
            Instr::Load { reg, addr } => {
                self.address(addr, &slot)?;
                at(addr).map_or(Ok(()), |loc| self.same(to(reg), loc))?;
            }
            Instr::Store { addr, value } => {
                self.address(addr, &slot)?;
                let kind = self.kind(value, &slot)?;
                self.flows(kind, at(addr))?;
            }
            Instr::Update { reg, addr, value } => {
                self.address(addr, &slot)?;
                // What is stored sees the value that was just read.
                if let Some(loc) = at(addr) {
                    self.same(to(reg), loc)?;
                    let slot = |r: RegId| if r == *reg { Some(loc) } else { slot(r) };
                    self.flows(self.kind(value, &slot)?, Some(loc))?;
                }
            }
        }
        Ok(())
    }

    fn condition_fits(&self, program: &Program) -> Result<(), Clash> {
        let Some(condition) = &program.condition else { return Ok(()) };
        // Wherever a thread may end, a register that is observed is one and the same.
        let ends = |t: ThreadId| {
            let points = &program.threads[t.index()].points;
            (0..points.len()).filter(|&p| points[p].edges.is_empty())
        };
        let slot = |what| match what {
            Observable::Reg(t, r) => ends(t).find_map(|p| self.reg(t.index(), p, r)),
            Observable::Loc(l) => Some(self.loc(LocId::index(l))),
        };
        for observed in &program.observed {
            let Some(seen) = slot(observed.what) else { continue };
            if let Observable::Reg(t, r) = observed.what {
                ends(t).try_for_each(|p| self.same(self.reg(t.index(), p, r), seen))?;
            }
            if !observed.view.is_whole() && self.class(seen).is_some() {
                return Err(Clash::Plain(seen));
            }
        }
        let prop = self.kind(&condition.prop, &|r| slot(program.observed[r.index()].what))?;
        self.truth(prop).map(|_| ())
    }

    /// Two places between which values go as they are.
    pub(super) fn same(&self, a: Option<Slot>, b: Slot) -> Result<(), Clash> {
        match a {
            Some(a) if self.class(a) != self.class(b) => Err(Clash::Join(a, b)),
            _ => Ok(()),
        }
    }

    /// A value of some kind goes to a place, if that matters.
    pub(super) fn flows(&self, kind: Kind, to: Option<Slot>) -> Result<(), Clash> {
        let Some(to) = to else { return Ok(()) };
        match (kind, self.class(to)) {
            (Kind::Pure, Some(class)) if self.has_zero(class) => Ok(()),
            (Kind::Pure, Some(class)) => Err(Clash::Zero(class)),
            (Kind::Counter(from), class) if class == Some(from) => Ok(()),
            (Kind::Counter(from), _) => Err(Clash::Join(from, to)),
            (Kind::Pure | Kind::Compared, None) => Ok(()),
            (Kind::Compared, Some(class)) => Err(Clash::Plain(class)),
            (Kind::Difference(class), _) => Err(Clash::Plain(class)),
        }
    }

    fn address(&self, addr: &Expr, slot: &dyn Fn(RegId) -> Option<Slot>) -> Result<(), Clash> {
        let kind = self.kind(addr, slot)?;
        let mut meets = None;
        addr.for_each_reg(&mut |r| meets = meets.or(slot(r).and_then(|slot| self.class(slot))));
        match (kind, meets) {
            (Kind::Pure, _) | (_, None) => Ok(()),
            (_, Some(class)) => Err(Clash::Plain(class)),
        }
    }

    fn truth(&self, kind: Kind) -> Result<Kind, Clash> {
        self.compare(kind, Kind::Pure)
    }

    fn compare(&self, left: Kind, right: Kind) -> Result<Kind, Clash> {
        match (left, right) {
            (Kind::Pure, Kind::Pure) => Ok(Kind::Pure),
            (Kind::Pure | Kind::Compared, Kind::Pure | Kind::Compared) => Ok(Kind::Compared),
            (Kind::Counter(a), Kind::Counter(b)) if a == b => Ok(Kind::Compared),
            (Kind::Counter(a), Kind::Counter(b)) => Err(Clash::Join(a, b)),
            (Kind::Counter(a), Kind::Pure) | (Kind::Pure, Kind::Counter(a)) => {
                match self.has_zero(a) {
                    true => Ok(Kind::Compared),
                    false => Err(Clash::Zero(a)),
                }
            }
            (Kind::Difference(_), Kind::Pure) | (Kind::Pure, Kind::Difference(_)) => {
                Ok(Kind::Compared)
            }
            (Kind::Counter(a) | Kind::Difference(a), _)
            | (_, Kind::Counter(a) | Kind::Difference(a)) => Err(Clash::Plain(a)),
        }
    }

    pub(super) fn kind(
        &self,
        e: &Expr,
        slot: &dyn Fn(RegId) -> Option<Slot>,
    ) -> Result<Kind, Clash> {
        use Kind::{Compared, Counter, Difference, Pure};
        Ok(match e {
            Expr::Const(_) => Pure,
            Expr::Reg(r) => slot(*r).and_then(|slot| self.class(slot)).map_or(Pure, Counter),
            Expr::Unary(UnOp::Not, e) => self.truth(self.kind(e, slot)?)?,
            Expr::Unary(_, e) => match self.kind(e, slot)? {
                kind @ (Pure | Compared) => kind,
                Counter(a) | Difference(a) => return Err(Clash::Plain(a)),
            },
            Expr::Binary(op, l, r) => match (op, self.kind(l, slot)?, self.kind(r, slot)?) {
                (BinOp::And | BinOp::Or, l, r) => match (self.truth(l)?, self.truth(r)?) {
                    (Pure, Pure) => Pure,
                    _ => Compared,
                },
                (
                    BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge,
                    left,
                    right,
                ) => self.compare(left, right)?,
                (_, Pure, Pure) => Pure,
                (_, Pure | Compared, Pure | Compared) => Compared,
                (BinOp::Add | BinOp::Sub, kind @ (Counter(_) | Difference(_)), Pure)
                | (BinOp::Add, Pure, kind @ (Counter(_) | Difference(_))) => kind,
                (BinOp::Sub, Counter(a), Counter(b)) if a == b => Difference(a),
                (BinOp::Sub, Counter(a), Counter(b)) => return Err(Clash::Join(a, b)),
                // Of a counter and what it is moved by, the second is plain.
                (_, _, Counter(a) | Difference(a)) | (_, Counter(a) | Difference(a), _) => {
                    return Err(Clash::Plain(a));
                }
            },
            Expr::Select(parts) => {
                let (c, yes, no) = &**parts;
                let test = self.truth(self.kind(c, slot)?)?;
                match (self.kind(yes, slot)?, self.kind(no, slot)?) {
                    (Pure, Pure) => test,
                    (Pure | Compared, Pure | Compared) => Compared,
                    (Counter(a), Counter(b)) if a == b => Counter(a),
                    (Counter(a), Counter(b)) => return Err(Clash::Join(a, b)),
                    (Counter(a), Pure) | (Pure, Counter(a)) => match self.has_zero(a) {
                        true => Counter(a),
                        false => return Err(Clash::Zero(a)),
                    },
                    (Counter(a) | Difference(a), _) | (_, Counter(a) | Difference(a)) => {
                        return Err(Clash::Plain(a));
                    }
                }
            }
        })
    }

    /// The classes of locations, and of what is loaded or stored at addresses that are computed.
    fn in_memory(&self, program: &Program) -> Vec<Slot> {
        let mut found: Vec<Slot> =
            (0..program.locs.len()).map(|l| self.root(self.loc(l))).collect();
        for (t, thread) in program.threads.iter().enumerate() {
            for (p, point) in thread.points.iter().enumerate() {
                for edge in &point.edges {
                    match &edge.instr {
                        Instr::Load { reg, .. } | Instr::Update { reg, .. } => {
                            let slot = self.reg(t, edge.to.index(), *reg);
                            found.extend(slot.map(|slot| self.root(slot)));
                        }
                        Instr::Store { value, .. } => {
                            if let Ok(Kind::Counter(class)) =
                                self.kind(value, &|r| self.reg(t, p, r))
                            {
                                found.push(class);
                            }
                        }
                        _ => {}
                    }
                }
            }
        }
        found
    }

    /// The classes whose values move in loops.
    fn moved_in_loops(&self, program: &Program, inside: &[Vec<bool>]) -> Vec<Slot> {
        let mut moved = Vec::new();
        for (t, thread) in program.threads.iter().enumerate() {
            for (p, point) in thread.points.iter().enumerate().filter(|(p, _)| inside[t][*p]) {
                for edge in &point.edges {
                    let own = match &edge.instr {
                        Instr::Update { reg, addr, .. } => fixed(program, addr)
                            .map(|loc| self.loc(loc.index()))
                            .or(self.reg(t, edge.to.index(), *reg))
                            .map(|slot| (*reg, slot)),
                        _ => None,
                    };
                    let slot = |r: RegId| match own {
                        Some((reg, slot)) if reg == r => Some(slot),
                        _ => self.reg(t, p, r),
                    };
                    if let Instr::Assign { value, .. }
                    | Instr::Store { value, .. }
                    | Instr::Update { value, .. } = &edge.instr
                        && let Ok(Kind::Counter(class)) = self.kind(value, &slot)
                        && moves(value)
                    {
                        moved.push(class);
                    }
                }
            }
        }
        moved
    }
}

/// The slots of registers, and how many there are: one for each part of the code in which a
/// register keeps a value that matters.
fn registers(program: &Program) -> (Vec<Vec<Vec<Option<Slot>>>>, Slot) {
    let mut all = Vec::new();
    let mut next = 0;
    for (t, thread) in program.threads.iter().enumerate() {
        let live = live_registers(program, ThreadId::new(t));
        let mut slots = vec![vec![None; thread.regs.len()]; thread.points.len()];
        // Both ways: what comes before and what comes after a point.
        let mut near: Vec<Vec<(usize, Option<RegId>)>> = vec![Vec::new(); thread.points.len()];
        for (p, point) in thread.points.iter().enumerate() {
            for edge in &point.edges {
                let written = match &edge.instr {
                    Instr::Assign { reg, .. }
                    | Instr::Choose { reg, .. }
                    | Instr::Load { reg, .. }
                    | Instr::Update { reg, .. } => Some(*reg),
                    _ => None,
                };
                near[p].push((edge.to.index(), written));
                near[edge.to.index()].push((p, written));
            }
        }
        for r in 0..thread.regs.len() {
            for start in 0..thread.points.len() {
                if !live[start][r] || slots[start][r].is_some() {
                    continue;
                }
                let mut todo = vec![start];
                slots[start][r] = Some(next);
                while let Some(p) = todo.pop() {
                    for &(q, written) in &near[p] {
                        let goes_on = live[q][r] && written != Some(RegId::new(r));
                        if goes_on && slots[q][r].is_none() {
                            slots[q][r] = Some(next);
                            todo.push(q);
                        }
                    }
                }
                next += 1;
            }
        }
        all.push(slots);
    }
    (all, next)
}

/// Whether a value is moved at one of the points.
fn moves_in(thread: &Thread, inside: &[bool]) -> bool {
    let points = thread.points.iter().zip(inside).filter(|(_, inside)| **inside);
    points.flat_map(|(point, _)| &point.edges).any(|edge| match &edge.instr {
        Instr::Assign { value, .. } | Instr::Store { value, .. } | Instr::Update { value, .. } => {
            moves(value)
        }
        _ => false,
    })
}

/// Whether a sum or difference is in an expression.
fn moves(e: &Expr) -> bool {
    match e {
        Expr::Const(_) | Expr::Reg(_) => false,
        Expr::Unary(_, e) => moves(e),
        Expr::Binary(op, l, r) => matches!(op, BinOp::Add | BinOp::Sub) || moves(l) || moves(r),
        Expr::Select(parts) => moves(&parts.0) || moves(&parts.1) || moves(&parts.2),
    }
}

/// The location at an address that is the same in each run.
fn fixed(program: &Program, addr: &Expr) -> Option<LocId> {
    let mut regs = false;
    addr.for_each_reg(&mut |_| regs = true);
    (!regs).then(|| addr.eval(&[]).ok()).flatten().and_then(|addr| program.loc_at(addr))
}
