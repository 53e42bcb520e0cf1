//! SC executions of a program, made in place: a state is a few words, so that it can be put aside
//! and taken up again by copying, and what happens is written down as the events of a log.
//!
//! Threads are met only where others may notice what they do next: before accesses and fences.
//! Steps that memory does not see follow the one before at once, and an atomic block is one step; a
//! block that cannot get to its end is not begun. Where a thread has a choice of its own, that is
//! made as soon as it is met.
//!
//! *Waiting in loops.* A thread that comes back to a local state from which it has moved since
//! memory last changed would only do the same again. It does not go on until memory changes.

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::hash::Hasher;
use weakspot_core::machine::{Failure, FailureKind, Step};
use weakspot_core::{
    Expr, Fence, Instr, LocId, LogEvent, LogKind, PlaceEdge, PointId, Program, ThreadId,
    Undeclared, Value,
};

use crate::flow::in_loop;

/// A program with an execution of it in the making.
pub(super) struct Runner<'p> {
    program: &'p Program,
    /// Where the words of each thread begin: status, point, since when it waits, registers.
    bases: Vec<usize>,
    /// Where memory begins.
    memory: usize,
    words: Vec<Value>,
    /// Which location an address is.
    locs: FxHashMap<Value, u32>,
    /// Per thread and point the number of its first edge.
    sites: Vec<Vec<u32>>,
    /// All edges by their numbers.
    edges: Vec<PlaceEdge>,
    /// Per thread and point whether the thread may come back to it.
    in_loop: Vec<Vec<bool>>,
    lock: Option<usize>,
    /// How often memory has changed.
    version: u32,
    /// From which local states threads have moved, and at which version.
    moved: Vec<(u32, u32, u64)>,
    /// Some thread had to wait in a loop.
    pub(super) waited: bool,
    /// Whether threads wait in loops at all.
    pub(super) waits: bool,
    /// The steps of the execution.
    pub(super) steps: Vec<Step>,
    /// Its events.
    pub(super) events: Vec<LogEvent>,
    /// For each event its step.
    pub(super) step_of: Vec<u32>,
}

/// What can happen next.
#[derive(Clone, Debug)]
pub(super) enum Move {
    /// A thread takes an edge of its own choice, with a value.
    Choice(usize, u32, Value),
    /// A thread goes on to its next access.
    Stay(usize),
    /// A thread does what others may notice.
    Act(usize, u32),
    /// A thread does an atomic block, by these edges and values.
    Block(usize, Vec<(u32, Value)>),
}

/// A state that was put aside.
#[derive(Clone, Debug, Default)]
pub(super) struct Saved {
    words: Vec<Value>,
    version: u32,
    moved: usize,
    steps: usize,
    events: usize,
}

// The words of a thread.
const STATUS: usize = 0;
const POINT: usize = 1;
const WAITS: usize = 2;
const REGS: usize = 3;

// The status of a thread.
/// Steps that memory does not see may come next.
const UNSETTLED: Value = 0;
/// An access or the like comes next.
const READY: Value = 1;
/// It has come to its end or is stuck.
const STUCK: Value = 2;

/// How many steps a block may take.
const BLOCK: usize = 10_000;

impl<'p> Runner<'p> {
    pub(super) fn new(program: &'p Program) -> Runner<'p> {
        let (mut bases, mut at) = (Vec::new(), 0);
        let (mut sites, mut edges) = (Vec::new(), Vec::new());
        for (t, thread) in program.threads.iter().enumerate() {
            bases.push(at);
            at += REGS + thread.regs.len();
            let mut firsts = Vec::new();
            for (p, point) in thread.points.iter().enumerate() {
                firsts.push(edges.len() as u32);
                let (thread, point_id) = (ThreadId::new(t), PointId::new(p));
                let place = |edge| PlaceEdge { thread, point: point_id, edge };
                edges.extend((0..point.edges.len()).map(place));
            }
            sites.push(firsts);
        }
        let wides = program.wides.iter().map(|wide| wide.addr);
        let locs = program.locs.iter().map(|l| l.addr).chain(wides).zip(0..).collect();
        let in_loop = program.threads.iter().map(in_loop).collect();
        Runner {
            program,
            bases,
            memory: at,
            words: Vec::new(),
            locs,
            sites,
            edges,
            in_loop,
            lock: None,
            version: 0,
            moved: Vec::new(),
            waited: false,
            waits: true,
            steps: Vec::new(),
            events: Vec::new(),
            step_of: Vec::new(),
        }
    }

    /// Begins an execution in which memory starts with these values.
    pub(super) fn start(&mut self, init: &[Value]) {
        self.words.clear();
        for thread in &self.program.threads {
            self.words.extend([UNSETTLED, Value::from(thread.entry.0), 0]);
            self.words.extend(&thread.regs);
        }
        self.words.extend(init);
        self.version = 1;
        self.moved.clear();
        self.truncate(0, 0);
    }

    /// The edge that an event's [`site`](LogEvent::site) stands for.
    pub(super) fn edge(&self, site: u32) -> Option<PlaceEdge> {
        self.edges.get((site as usize).checked_sub(1)?).copied()
    }

    /// The words of the state: equal for states with the same future.
    pub(super) fn words(&self) -> &[Value] {
        &self.words
    }

    pub(super) fn save(&self, saved: &mut Saved) {
        saved.words.clone_from(&self.words);
        saved.version = self.version;
        saved.moved = self.moved.len();
        saved.steps = self.steps.len();
        saved.events = self.events.len();
    }

    /// Goes back to a state of this execution.
    pub(super) fn restore(&mut self, saved: &Saved) {
        self.words.clone_from(&saved.words);
        self.version = saved.version;
        self.moved.truncate(saved.moved);
        self.truncate(saved.steps, saved.events);
    }

    fn truncate(&mut self, steps: usize, events: usize) {
        self.steps.truncate(steps);
        self.events.truncate(events);
        self.step_of.truncate(events);
    }

    /// Collects all that can happen next: the choices of one thread, or the moves of all that can
    /// go on. Takes at most `most` steps that memory does not see; true if that was not enough.
    pub(super) fn moves(&mut self, most: usize, moves: &mut Vec<Move>) -> Result<bool, Failure> {
        moves.clear();
        for t in 0..self.bases.len() {
            if self.words[self.bases[t] + STATUS] == UNSETTLED {
                if self.settle(t, most, moves)? {
                    return Ok(true);
                }
                if !moves.is_empty() {
                    return Ok(false);
                }
            }
        }
        for t in 0..self.bases.len() {
            let base = self.bases[t];
            if self.words[base + STATUS] != READY
                || self.words[base + WAITS] == Value::from(self.version)
            {
                continue;
            }
            let edges = self.edges_at(t);
            for (e, edge) in edges.iter().enumerate() {
                match edge.instr {
                    Instr::Lock => {
                        let paths = self.block_paths(t, e as u32)?;
                        moves.extend(paths.into_iter().map(|path| Move::Block(t, path)));
                    }
                    Instr::Load { .. }
                    | Instr::Store { .. }
                    | Instr::Update { .. }
                    | Instr::Fence(_) => moves.push(Move::Act(t, e as u32)),
                    _ => {}
                }
            }
        }
        Ok(false)
    }

    /// Takes a move.
    pub(super) fn take(&mut self, taken: &Move) -> Result<(), Failure> {
        match *taken {
            Move::Choice(t, edge, choice) => {
                self.step(t, edge, choice)?;
            }
            Move::Stay(t) => self.words[self.bases[t] + STATUS] = READY,
            Move::Act(t, edge) => {
                self.note_move(t);
                self.step(t, edge, 0)?;
                self.unsettle(t);
            }
            Move::Block(t, ref path) => {
                self.note_move(t);
                for &(edge, choice) in path {
                    self.step(t, edge, choice)?;
                }
                self.unsettle(t);
            }
        }
        Ok(())
    }

    fn unsettle(&mut self, t: usize) {
        self.words[self.bases[t] + STATUS] = UNSETTLED;
        self.words[self.bases[t] + WAITS] = 0;
    }

    /// Remembers from where `t` moves, if it may come back.
    fn note_move(&mut self, t: usize) {
        if self.waits && self.in_loop[t][self.point(t)] {
            self.moved.push((t as u32, self.version, self.local_hash(t)));
        }
    }

    /// Whether `t` has moved from where it stands since memory last changed.
    fn is_back(&self, t: usize) -> bool {
        if !self.waits || !self.in_loop[t][self.point(t)] {
            return false;
        }
        let mut since = self.moved.iter().rev().take_while(|m| m.1 == self.version);
        let own = (t as u32, self.version, self.local_hash(t));
        since.any(|&m| m == own)
    }

    fn local_hash(&self, t: usize) -> u64 {
        let base = self.bases[t];
        let mut hash = FxHasher::default();
        hash.write_i64(self.words[base + POINT]);
        for &v in &self.words[base + REGS..base + REGS + self.regs(t)] {
            hash.write_i64(v);
        }
        hash.finish()
    }

    fn regs(&self, t: usize) -> usize {
        self.program.threads[t].regs.len()
    }

    fn point(&self, t: usize) -> usize {
        self.words[self.bases[t] + POINT] as usize
    }

    fn edges_at(&self, t: usize) -> &'p [weakspot_core::Edge] {
        &self.program.threads[t].points[self.point(t)].edges
    }

    /// Takes the steps of `t` that memory does not see, up to where it has a choice, which goes to
    /// `moves`. True if there were more than `most`.
    fn settle(&mut self, t: usize, most: usize, moves: &mut Vec<Move>) -> Result<bool, Failure> {
        let base = self.bases[t];
        // A thread that goes round in a circle without an access is stuck.
        let (mut before, mut until) = (Vec::new(), 16);
        for count in 0.. {
            if self.steps.len() >= most {
                return Ok(true);
            }
            let local = base..base + REGS + self.regs(t);
            if count == until {
                before = self.words[local].to_vec();
                until *= 2;
            } else if !before.is_empty() && before == self.words[local] {
                break;
            }
            let (mut acts, mut single) = (false, None);
            let edges = self.edges_at(t);
            for (e, edge) in edges.iter().enumerate() {
                let e = e as u32;
                match &edge.instr {
                    Instr::Load { .. }
                    | Instr::Store { .. }
                    | Instr::Update { .. }
                    | Instr::Fence(_)
                    | Instr::Lock
                    | Instr::Unlock => acts = true,
                    Instr::Choose { low, high, .. } => {
                        for value in *low..=*high {
                            note_choice(t, e, value, &mut single, moves);
                        }
                    }
                    Instr::Assume(test) | Instr::Assert(test) => {
                        if self.eval(t, test).map_err(|kind| self.failure(t, e, kind))? != 0 {
                            note_choice(t, e, 0, &mut single, moves);
                        }
                    }
                    Instr::Nop | Instr::Assign { .. } => note_choice(t, e, 0, &mut single, moves),
                }
            }
            match (single, acts) {
                (None, false) => break,
                (None, true) => {
                    self.words[base + STATUS] = READY;
                    if self.is_back(t) {
                        self.words[base + WAITS] = Value::from(self.version);
                        self.waited = true;
                    }
                    return Ok(false);
                }
                (Some((e, value)), false) if moves.is_empty() => {
                    self.step(t, e, value)?;
                }
                (Some((e, value)), _) => {
                    moves.insert(0, Move::Choice(t, e, value));
                    if acts {
                        moves.push(Move::Stay(t));
                    }
                    return Ok(false);
                }
            }
        }
        self.words[base + STATUS] = STUCK;
        Ok(false)
    }

    /// The ways through the atomic block that `t` would enter by `lock`, to its end.
    fn block_paths(&mut self, t: usize, lock: u32) -> Result<Vec<Vec<(u32, Value)>>, Failure> {
        let mut start = Saved::default();
        self.save(&mut start);
        self.step(t, lock, 0)?;
        let mut todo = vec![(self.words.clone(), vec![(lock, 0)])];
        let mut seen: FxHashSet<Vec<Value>> = FxHashSet::default();
        let mut paths = Vec::new();
        while let Some((words, path)) = todo.pop() {
            if path.len() > BLOCK {
                continue;
            }
            self.words.clone_from(&words);
            for (e, edge) in self.edges_at(t).iter().enumerate().rev() {
                let choices = match edge.instr {
                    Instr::Choose { low, high, .. } => low..=high,
                    _ => 0..=0,
                };
                for choice in choices.rev() {
                    self.words.clone_from(&words);
                    self.lock = Some(t);
                    if self.step(t, e as u32, choice)? {
                        let path = [&path[..], &[(e as u32, choice)]].concat();
                        if self.lock.is_none() {
                            paths.push(path);
                        } else if seen.insert(self.words.clone()) {
                            todo.push((self.words.clone(), path));
                        }
                    }
                }
            }
        }
        self.lock = None;
        self.restore(&start);
        Ok(paths)
    }

    /// Takes one step of the SC machine; false if it is blocked. An assertion that fails blocks.
    fn step(&mut self, t: usize, edge: u32, choice: Value) -> Result<bool, Failure> {
        let at = self.point(t);
        let taken = &self.program.threads[t].points[at].edges[edge as usize];
        let site = self.sites[t][at] + edge + 1;
        let done = self.execute(t, &taken.instr, choice, site);
        if !done.map_err(|kind| self.failure(t, edge, kind))? {
            return Ok(false);
        }
        self.words[self.bases[t] + POINT] = Value::from(taken.to.0);
        self.steps.push(Step::Execute { thread: ThreadId::new(t), edge, choice });
        Ok(true)
    }

    fn execute(
        &mut self,
        t: usize,
        instr: &Instr,
        choice: Value,
        site: u32,
    ) -> Result<bool, FailureKind> {
        let regs = self.bases[t] + REGS;
        match instr {
            Instr::Nop => {}
            Instr::Assign { reg, value } => {
                self.words[regs + reg.index()] = self.eval(t, value)?;
            }
            Instr::Choose { reg, .. } => self.words[regs + reg.index()] = choice,
            Instr::Assume(test) | Instr::Assert(test) => return Ok(self.eval(t, test)? != 0),
            Instr::Load { reg, addr } => {
                let addr = self.eval(t, addr)?;
                let loc = self.loc(addr)?;
                self.words[regs + reg.index()] = self.read(loc);
                self.event(t, LogKind::Read, loc, site);
            }
            Instr::Store { addr, value } => {
                let (addr, value) = (self.eval(t, addr)?, self.eval(t, value)?);
                let loc = self.loc(addr)?;
                self.store(loc, value)?;
                self.event(t, LogKind::Write, loc, site);
            }
            Instr::Update { reg, addr, value } => {
                let addr = self.eval(t, addr)?;
                let loc = self.loc(addr)?;
                self.words[regs + reg.index()] = self.read(loc);
                let value = self.eval(t, value)?;
                self.store(loc, value)?;
                self.event(t, LogKind::Update, loc, site);
            }
            Instr::Fence(Fence::Full) => self.event(t, LogKind::Fence, 0, site),
            Instr::Fence(Fence::StoreStore) => self.event(t, LogKind::StoreFence, 0, site),
            // Both ends of a block wait for the stores of the thread.
            Instr::Lock if self.lock.is_none() => {
                self.lock = Some(t);
                self.event(t, LogKind::Fence, 0, site);
            }
            Instr::Unlock if self.lock == Some(t) => {
                self.lock = None;
                self.event(t, LogKind::Fence, 0, site);
            }
            Instr::Lock | Instr::Unlock => return Ok(false),
        }
        Ok(true)
    }

    fn event(&mut self, t: usize, kind: LogKind, loc: u32, site: u32) {
        self.events.push(LogEvent { site, ..LogEvent::new(t as u16, kind, loc) });
        self.step_of.push(self.steps.len() as u32);
    }

    fn eval(&self, t: usize, e: &Expr) -> Result<Value, FailureKind> {
        let regs = self.bases[t] + REGS;
        match e {
            Expr::Const(v) => Ok(*v),
            e => e.eval(&self.words[regs..]).map_err(|_| FailureKind::DivisionByZero),
        }
    }

    fn loc(&mut self, addr: Value) -> Result<u32, FailureKind> {
        let next = self.locs.len() as u32;
        let loc = match (self.locs.get(&addr), self.program.undeclared) {
            (Some(&loc), _) => loc,
            (None, Undeclared::Fault) => return Err(FailureKind::BadAddress(addr)),
            (None, Undeclared::Zero) => {
                self.locs.insert(addr, next);
                next
            }
        };
        let needed = self.memory + loc as usize + 1;
        if self.words.len() < needed && self.program.wides.is_empty() {
            self.words.resize(needed, 0);
        }
        Ok(loc)
    }

    fn read(&self, loc: u32) -> Value {
        match self.program.wide(LocId(loc)) {
            None => self.words[self.memory + loc as usize],
            Some(wide) => wide.join(|cell| self.words[self.memory + cell.index()]),
        }
    }

    fn store(&mut self, loc: u32, value: Value) -> Result<(), FailureKind> {
        let program = self.program;
        if let Some(wide) = program.wide(LocId(loc)) {
            return wide.split(value).try_for_each(|(cell, part)| self.store(cell.0, part));
        }
        if let Some((low, high)) = self.program.locs.get(loc as usize).and_then(|l| l.range)
            && !(low..=high).contains(&value)
        {
            return Err(FailureKind::OutOfRange(value));
        }
        let cell = &mut self.words[self.memory + loc as usize];
        if *cell != value {
            *cell = value;
            self.version += 1;
        }
        Ok(())
    }

    fn failure(&self, t: usize, edge: u32, kind: FailureKind) -> Failure {
        let span = self.edges_at(t).get(edge as usize).map(|e| e.span).unwrap_or_default();
        Failure { thread: ThreadId::new(t), span, kind }
    }
}

impl Move {
    /// Who moves.
    pub(super) fn thread(&self) -> usize {
        match *self {
            Move::Choice(t, ..) | Move::Stay(t) | Move::Act(t, _) | Move::Block(t, _) => t,
        }
    }

    /// Whether others could move instead.
    pub(super) fn is_scheduled(&self) -> bool {
        matches!(self, Move::Act(..) | Move::Block(..))
    }
}

/// Keeps the first choice aside: mostly there is no other.
fn note_choice(
    t: usize,
    edge: u32,
    value: Value,
    single: &mut Option<(u32, Value)>,
    moves: &mut Vec<Move>,
) {
    match single {
        None => *single = Some((edge, value)),
        Some(_) => moves.push(Move::Choice(t, edge, value)),
    }
}
