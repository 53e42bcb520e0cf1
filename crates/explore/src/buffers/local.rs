//! The state space of one thread: its local states (control point, live registers, store buffer)
//! interned, and what it can do in each, decoded once.
//!
//! A local state is a row of words: the point, the registers, then two words per buffer entry
//! (location and value). Under PSO, entries between two barriers are kept sorted by location,
//! because the order of stores to different locations means nothing there. Stores that overlap keep
//! their order.
//!
//! Locations that only this thread accesses are registers behind those that it has anyway, and
//! stores that nobody looks at are not kept at all (see [`Role`]). Where a thread has nothing to do
//! but what is its own business, nothing of its buffer is committed before it has done that: commits
//! lose nothing by waiting, see docs/how/outcomes.md.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use weakspot_core::machine::{Failure, FailureKind, Step};
use weakspot_core::{Drain, Edge, Fence, Instr, Model, PointId, Program, Thread, ThreadId, Value};

use crate::buffers::roles::{Role, Roles, update_reads};
use crate::eval::eval;
use crate::flow::in_loop;
use crate::intern::Interner;
use crate::keep::{In, NotKept, Out};
use crate::liveness::live_with_cells;
use crate::memory::Memories;

/// What a thread can do in a local state.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Move {
    /// A step that neither reads nor changes memory.
    Silent { next: u32, step: Step },
    /// A load from memory; see [`Locals::after_access`].
    Read { loc: u32, edge: u32 },
    /// A store to memory: a commit, or a store under SC.
    Write { loc: u32, value: Value, next: u32, step: Step },
    /// An atomic update; see [`Locals::after_access`].
    Update { loc: u32, edge: u32 },
    /// An atomic block begins; see [`block`](crate::buffers::block).
    Block { edge: u32 },
    /// The step fails.
    Fail { edge: u32, kind: FailureKind },
}

/// By local state, edge and value seen: the value stored and the next local state.
type Accesses = FxHashMap<(u32, u32, Value), Result<(Value, u32), FailureKind>>;

/// The local states of one thread.
#[derive(Debug)]
pub(crate) struct Locals<'p> {
    pub(crate) thread: ThreadId,
    pub(crate) code: &'p Thread,
    model: Model,
    /// The initial registers, with the locations of its own behind them.
    start: Vec<Value>,
    pub(crate) roles: Rc<Roles>,
    live: Vec<Vec<bool>>,
    /// Points from which the thread goes on before anything of its buffer is committed.
    runs_ahead: Vec<bool>,
    states: Interner<Value>,
    /// Per local state the range of its moves in `moves`, or `UNKNOWN`.
    ranges: Vec<(u32, u32)>,
    moves: Vec<Move>,
    accesses: Accesses,
    /// How many stores the buffer may hold, if the thread stores in a loop.
    buffer_limit: Option<usize>,
    /// The buffer was full once.
    pub(crate) was_full: bool,
    /// A loop was found that fills the buffer for ever; see [`Locals::look_for_growth`].
    pub(crate) unbounded: bool,
    scratch: Vec<Value>,
}

const UNKNOWN: (u32, u32) = (u32::MAX, u32::MAX);
const BARRIER: Value = -1;

impl<'p> Locals<'p> {
    pub(crate) fn new(
        program: &'p Program,
        model: Model,
        thread: ThreadId,
        limit: usize,
        roles: Rc<Roles>,
        points_count: bool,
    ) -> Self {
        let code = &program.threads[thread.index()];
        let cells = &roles.own[thread.index()];
        let own = cells.iter().map(|l| program.locs[l.index()].init[0]);
        let start = code.regs.iter().copied().chain(own).collect();
        let role = |instr: &Instr| match instr {
            Instr::Load { addr, .. } | Instr::Store { addr, .. } | Instr::Update { addr, .. } => {
                // The address of a cell of one's own depends on registers that never change.
                let addr = addr.eval(&code.regs).ok()?;
                program.loc_at(addr).map(|loc| roles.role(loc.0))
            }
            _ => None,
        };
        let live = live_with_cells(program, thread, cells, |instr| match role(instr) {
            Some(Role::Own(cell)) => Some(cell),
            _ => None,
        });
        let runs_ahead = match points_count {
            true => vec![false; code.points.len()],
            false => runs_ahead(code, model, &live, &role),
        };
        Locals {
            thread,
            code,
            model,
            start,
            live,
            runs_ahead,
            roles,
            states: Interner::new(),
            ranges: Vec::new(),
            moves: Vec::new(),
            accesses: FxHashMap::default(),
            buffer_limit: (model != Model::Sc && stores_in_a_loop(code)).then_some(limit),
            was_full: false,
            unbounded: false,
            scratch: Vec::new(),
        }
    }

    /// How many local states there are.
    pub(crate) fn len(&self) -> usize {
        self.states.len()
    }

    /// Writes what the numbers of local states stand for.
    pub(crate) fn keep(&self, out: &mut Out<'_>) {
        self.states.keep(out, Out::value);
        out.number(u64::from(self.was_full));
        out.number(u64::from(self.unbounded));
    }

    /// Reads this: those of the same thread have the same numbers then. `places`: how many places have a number.
    pub(crate) fn resume(&mut self, from: &mut In<'_>, places: usize) -> Result<(), NotKept> {
        let (points, fixed) = (self.code.points.len(), 1 + self.start.len());
        let is_place = |&v: &Value| v == BARRIER || usize::try_from(v).is_ok_and(|p| p < places);
        let is_good = |row: &[Value]| {
            let Some((own, buffer)) = row.split_at_checked(fixed) else { return false };
            usize::try_from(own[0]).is_ok_and(|point| point < points)
                && buffer.len().is_multiple_of(2)
                && buffer.iter().step_by(2).all(is_place)
        };
        self.states.resume(from, In::value, is_good)?;
        self.ranges = vec![UNKNOWN; self.states.len()];
        self.was_full = from.at_most(1)? == 1;
        self.unbounded = from.at_most(1)? == 1;
        Ok(())
    }

    pub(crate) fn initial(&mut self) -> u32 {
        let start = std::mem::take(&mut self.start);
        let id = self.intern(self.code.entry, &start, &[]);
        self.start = start;
        id
    }

    /// The local state at `point` with these registers and buffer words.
    pub(crate) fn intern(&mut self, point: PointId, regs: &[Value], buffer: &[Value]) -> u32 {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        scratch.push(Value::from(point.0));
        let live = &self.live[point.index()];
        scratch.extend(regs.iter().zip(live).map(|(&v, &live)| if live { v } else { 0 }));
        scratch.extend_from_slice(buffer);
        let (id, new) = self.states.insert(&scratch);
        if new {
            self.ranges.push(UNKNOWN);
        }
        self.scratch = scratch;
        id
    }

    pub(crate) fn point(&self, local: u32) -> PointId {
        PointId(self.states.get(local)[0] as u32)
    }

    /// The registers, and behind them the locations of its own.
    pub(crate) fn regs(&self, local: u32) -> &[Value] {
        &self.states.get(local)[1..=self.start.len()]
    }

    pub(crate) fn buffer(&self, local: u32) -> &[Value] {
        &self.states.get(local)[1 + self.start.len()..]
    }

    /// What `loc` is for.
    pub(crate) fn role(&self, loc: u32) -> Role {
        self.roles.role(loc)
    }

    /// Where in [`Locals::regs`] a location of its own is.
    pub(crate) fn cell(&self, cell: usize) -> usize {
        self.code.regs.len() + cell
    }

    /// Whether an update on `edge` looks at what its location holds.
    pub(crate) fn update_reads(&self, edge: &Edge) -> bool {
        match &edge.instr {
            Instr::Update { reg, value, .. } => {
                update_reads(*reg, value, self.live[edge.to.index()][reg.index()])
            }
            _ => false,
        }
    }

    /// Whether the thread, in `local`, only runs ahead: others need not look at it there.
    pub(crate) fn is_passing(&mut self, local: u32, mems: &mut Memories) -> bool {
        let range = self.moves(local, mems);
        self.runs_ahead[self.point(local).index()]
            && !range.is_empty()
            && range
                .into_iter()
                .all(|i| matches!(self.get(i), Move::Silent { step: Step::Execute { .. }, .. }))
    }

    pub(crate) fn edges(&self, local: u32) -> &'p [Edge] {
        &self.code.points[self.point(local).index()].edges
    }

    /// The thread has terminated and its buffer has drained.
    pub(crate) fn is_final(&self, local: u32) -> bool {
        self.buffer(local).is_empty() && self.edges(local).is_empty()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.states.bytes()
            + self.moves.capacity() * size_of::<Move>()
            + self.ranges.capacity() * 8
            + self.accesses.capacity() * 48
    }

    pub(crate) fn failure(&self, local: u32, edge: u32, kind: FailureKind) -> Failure {
        let span = self.edges(local)[edge as usize].span;
        Failure { thread: self.thread, span, kind }
    }

    /// The range of the moves of `local`, to be read with [`Locals::get`].
    pub(crate) fn moves(&mut self, local: u32, mems: &mut Memories) -> std::ops::Range<u32> {
        if self.ranges[local as usize] == UNKNOWN {
            let mut found = Vec::new();
            self.decode(local, mems, &mut found);
            let start = self.moves.len() as u32;
            self.moves.extend(found);
            self.ranges[local as usize] = (start, self.moves.len() as u32);
        }
        let (start, end) = self.ranges[local as usize];
        start..end
    }

    pub(crate) fn get(&self, index: u32) -> Move {
        self.moves[index as usize]
    }

    /// Takes a `Read` or `Update` move when memory holds `seen`: the value stored (for a read,
    /// `seen` again) and the next local state.
    pub(crate) fn after_access(
        &mut self,
        local: u32,
        edge: u32,
        loc: u32,
        seen: Value,
        mems: &Memories,
    ) -> Result<(Value, u32), FailureKind> {
        let key = (local, edge, seen);
        if let Some(&known) = self.accesses.get(&key) {
            return known;
        }
        let edges = self.edges(local);
        let edge = &edges[edge as usize];
        let mut regs = self.regs(local).to_vec();
        let stored = match &edge.instr {
            Instr::Load { reg, .. } => {
                regs[reg.index()] = mems.load(self.buffer(local), loc, seen);
                Ok(seen)
            }
            Instr::Update { reg, value, .. } => {
                regs[reg.index()] = seen;
                eval(value, &regs).and_then(|new| mems.check(loc, new).map(|()| new))
            }
            _ => unreachable!("only loads and updates read memory"),
        };
        let result = stored.map(|stored| {
            let buffer = self.buffer(local).to_vec();
            (stored, self.intern(edge.to, &regs, &buffer))
        });
        self.accesses.insert(key, result);
        result
    }

    /// Looks among `set`, local states that the thread can be in while memory is `mem`, for proof
    /// that the buffer can grow for ever: a run of stores, loads and local steps from one state to
    /// another with the same point, the same registers and the same newest value buffered for
    /// each location, but more stores. What was done once can then be done again.
    pub(crate) fn look_for_growth(&mut self, set: &[u32], mem: u32, mems: &mut Memories) {
        for &start in set.iter().take(64) {
            let mut seen = vec![start];
            let mut known = FxHashSet::from_iter([start]);
            let mut next = 0;
            // The search is an explanation, not the answer: it may give up.
            while next < seen.len().min(1_000) {
                let local = seen[next];
                next += 1;
                for i in self.moves(local, mems) {
                    let to = match self.get(i) {
                        Move::Silent { next, .. } => Some(next),
                        Move::Read { loc, edge } => {
                            let seen = mems.read(mem, loc);
                            self.after_access(local, edge, loc, seen, mems).ok().map(|(_, to)| to)
                        }
                        _ => None,
                    };
                    if let Some(to) = to.filter(|&to| known.insert(to)) {
                        if self.looks_like(start, to, mems) {
                            self.unbounded = true;
                            return;
                        }
                        seen.push(to);
                    }
                }
            }
        }
    }

    /// Same point, same registers, same newest stores, and `b` has more stores buffered.
    fn looks_like(&self, a: u32, b: u32, mems: &Memories) -> bool {
        let (small, large) = (self.buffer(a), self.buffer(b));
        self.point(a) == self.point(b)
            && self.regs(a) == self.regs(b)
            && small.len() < large.len()
            && large.iter().step_by(2).filter(|&&loc| loc != BARRIER).all(|&loc| {
                let newest = |buffer| mems.forwarded(buffer, loc as u32);
                newest(small) == newest(large)
            })
    }

    fn decode(&mut self, local: u32, mems: &mut Memories, found: &mut Vec<Move>) {
        let regs = self.regs(local).to_vec();
        let buffer = self.buffer(local).to_vec();
        let point = self.point(local);
        let runs_ahead = self.runs_ahead[point.index()];
        if !runs_ahead {
            self.commits(point, &regs, &buffer, mems, found);
        }
        for (i, edge) in self.edges(local).iter().enumerate() {
            let i = i as u32;
            if let Err(kind) = self.decode_edge(i, edge, &regs, &buffer, mems, found) {
                found.push(Move::Fail { edge: i, kind });
            }
        }
        // The buffer may be full.
        if runs_ahead && found.is_empty() {
            self.commits(point, &regs, &buffer, mems, found);
        }
    }

    fn commits(
        &mut self,
        point: PointId,
        regs: &[Value],
        buffer: &[Value],
        mems: &Memories,
        found: &mut Vec<Move>,
    ) {
        let mut i = 0;
        while i < buffer.len() && buffer[i] != BARRIER {
            let (loc, value) = (buffer[i] as u32, buffer[i + 1]);
            let oldest = match mems.has_wides() {
                true => (0..i).step_by(2).all(|j| !mems.overlap(buffer[j] as u32, loc)),
                // They are sorted.
                false => i == 0 || buffer[i - 2] != buffer[i],
            };
            if oldest {
                let mut rest: Vec<Value> = [&buffer[..i], &buffer[i + 2..]].concat();
                while rest.first() == Some(&BARRIER) {
                    rest.drain(..2);
                }
                let next = self.intern(point, regs, &rest);
                let step = Step::Commit { thread: self.thread, addr: mems.addr(loc) };
                found.push(Move::Write { loc, value, next, step });
            }
            if self.model == Model::Tso {
                return;
            }
            i += 2;
        }
    }

    fn decode_edge(
        &mut self,
        i: u32,
        edge: &Edge,
        regs: &[Value],
        buffer: &[Value],
        mems: &mut Memories,
        found: &mut Vec<Move>,
    ) -> Result<(), FailureKind> {
        let thread = self.thread;
        let mut silent = |this: &mut Self, regs: &[Value], buffer: &[Value], choice| {
            let next = this.intern(edge.to, regs, buffer);
            found.push(Move::Silent { next, step: Step::Execute { thread, edge: i, choice } });
        };
        let with = |reg: &weakspot_core::RegId, value| {
            let mut regs = regs.to_vec();
            regs[reg.index()] = value;
            regs
        };
        match &edge.instr {
            Instr::Nop => silent(self, regs, buffer, 0),
            Instr::Assign { reg, value } => {
                let regs = with(reg, eval(value, regs)?);
                silent(self, &regs, buffer, 0);
            }
            Instr::Choose { reg, low, high } => {
                for choice in *low..=*high {
                    silent(self, &with(reg, choice), buffer, choice);
                }
            }
            Instr::Assume(e) => {
                if eval(e, regs)? != 0 {
                    silent(self, regs, buffer, 0);
                }
            }
            Instr::Assert(e) => {
                if eval(e, regs)? == 0 {
                    return Err(FailureKind::Assertion);
                }
                silent(self, regs, buffer, 0);
            }
            Instr::Load { reg, addr } => {
                let loc = mems.loc(eval(addr, regs)?)?;
                match (self.role(loc), mems.forwarded(buffer, loc)) {
                    // Nobody will look at what is loaded.
                    _ if !self.live[edge.to.index()][reg.index()] => silent(self, regs, buffer, 0),
                    (Role::Own(cell), _) => {
                        silent(self, &with(reg, regs[self.cell(cell)]), buffer, 0);
                    }
                    (_, Some(value)) => silent(self, &with(reg, value), buffer, 0),
                    (_, None) => found.push(Move::Read { loc, edge: i }),
                }
            }
            Instr::Store { addr, value } => {
                let value = eval(value, regs);
                let loc = mems.loc(eval(addr, regs)?)?;
                let value = value?;
                mems.check(loc, value)?;
                if let Role::Own(cell) = self.role(loc) {
                    let mut regs = regs.to_vec();
                    regs[self.cell(cell)] = value;
                    silent(self, &regs, buffer, 0);
                } else if let Role::Unread(_) = self.role(loc) {
                    silent(self, regs, buffer, 0);
                } else if self.model == Model::Sc {
                    let next = self.intern(edge.to, regs, buffer);
                    let step = Step::Execute { thread, edge: i, choice: 0 };
                    found.push(Move::Write { loc, value, next, step });
                } else if self.buffer_limit.is_some_and(|limit| buffer.len() / 2 >= limit) {
                    self.was_full = true;
                } else {
                    let buffer = self.pushed(buffer, loc, value, mems);
                    silent(self, regs, &buffer, 0);
                }
            }
            Instr::Update { reg, addr, value } => {
                let loc = mems.loc(eval(addr, regs)?)?;
                let may_run = match self.model {
                    Model::Pso(Drain::Own) => buffer
                        .iter()
                        .step_by(2)
                        .all(|&entry| entry != BARRIER && !mems.overlap(entry as u32, loc)),
                    _ => buffer.is_empty(),
                };
                match self.role(loc) {
                    _ if !may_run => {}
                    Role::Own(cell) => {
                        let cell = self.cell(cell);
                        let mut regs = with(reg, regs[cell]);
                        regs[cell] = eval(value, &regs)?;
                        mems.check(loc, regs[cell])?;
                        silent(self, &regs, buffer, 0);
                    }
                    Role::Unread(_) => {
                        // What depends on the old value cannot fail here.
                        if !self.update_reads(edge) {
                            mems.check(loc, eval(value, regs)?)?;
                        }
                        silent(self, regs, buffer, 0);
                    }
                    Role::Shared | Role::Sampled => found.push(Move::Update { loc, edge: i }),
                }
            }
            Instr::Fence(Fence::Full) => {
                if buffer.is_empty() {
                    silent(self, regs, buffer, 0);
                }
            }
            Instr::Fence(Fence::StoreStore) => {
                let pso = matches!(self.model, Model::Pso(_));
                let last = buffer.len().checked_sub(2).map(|i| buffer[i]);
                if pso && last.is_some_and(|entry| entry != BARRIER) {
                    silent(self, regs, &[buffer, &[BARRIER, 0]].concat(), 0);
                } else {
                    silent(self, regs, buffer, 0);
                }
            }
            Instr::Lock => {
                if buffer.is_empty() {
                    found.push(Move::Block { edge: i });
                }
            }
            // Only reached outside of a block, where the lock is not held.
            Instr::Unlock => {}
        }
        Ok(())
    }

    /// `buffer` with a store at its end, in the order that is kept for the model.
    fn pushed(&self, buffer: &[Value], loc: u32, value: Value, mems: &Memories) -> Vec<Value> {
        let mut at = buffer.len();
        if matches!(self.model, Model::Pso(_)) {
            let passes =
                |entry: Value| entry > Value::from(loc) && !mems.overlap(entry as u32, loc);
            while at > 0 && passes(buffer[at - 2]) {
                at -= 2;
            }
        }
        [&buffer[..at], &[Value::from(loc), value], &buffer[at..]].concat()
    }
}

/// Per point whether all that a thread can do there is its own business and prevents none of its
/// commits: it may then do that before them. Not in loops, where it might do so for ever.
fn runs_ahead(
    code: &Thread,
    model: Model,
    live: &[Vec<bool>],
    role: &dyn Fn(&Instr) -> Option<Role>,
) -> Vec<bool> {
    let loops = in_loop(code);
    let own = |instr: &Instr| matches!(role(instr), Some(Role::Own(_)));
    let unread = |instr: &Instr| matches!(role(instr), Some(Role::Unread(_)));
    let own_business = |edge: &Edge| match &edge.instr {
        Instr::Nop | Instr::Assign { .. } | Instr::Choose { .. } => true,
        Instr::Assume(_) | Instr::Assert(_) | Instr::Fence(Fence::StoreStore) => true,
        Instr::Store { .. } => model != Model::Sc || own(&edge.instr) || unread(&edge.instr),
        Instr::Load { reg, .. } => !live[edge.to.index()][reg.index()] || own(&edge.instr),
        _ => false,
    };
    let points = code.points.iter().zip(loops);
    points.map(|(point, in_loop)| !in_loop && point.edges.iter().all(own_business)).collect()
}

/// The newest value that a buffer holds for `loc`.
pub(crate) fn newest(buffer: &[Value], loc: u32) -> Option<Value> {
    buffer.chunks_exact(2).rev().find(|e| e[0] == Value::from(loc)).map(|e| e[1])
}

/// Whether some store lies on a cycle of the control flow, or between two, so that a buffer could
/// grow for ever. A full fence or update on every such cycle would keep it finite; the search
/// finds that out.
pub(crate) fn stores_in_a_loop(code: &Thread) -> bool {
    // Points that cannot be on a cycle go: those without a way in, then those without a way out.
    let n = code.points.len();
    let mut forward: Vec<Vec<usize>> = vec![Vec::new(); n];
    let mut backward: Vec<Vec<usize>> = vec![Vec::new(); n];
    for (p, point) in code.points.iter().enumerate() {
        for edge in &point.edges {
            forward[p].push(edge.to.index());
            backward[edge.to.index()].push(p);
        }
    }
    let mut gone = vec![false; n];
    for (next, before) in [(&forward, &backward), (&backward, &forward)] {
        let mut count: Vec<usize> =
            before.iter().map(|b| b.iter().filter(|&&p| !gone[p]).count()).collect();
        let mut todo: Vec<usize> = (0..n).filter(|&p| !gone[p] && count[p] == 0).collect();
        while let Some(p) = todo.pop() {
            gone[p] = true;
            for &q in next[p].iter().filter(|&&q| !gone[q]) {
                count[q] -= 1;
                if count[q] == 0 {
                    todo.push(q);
                }
            }
        }
    }
    code.points.iter().enumerate().any(|(p, point)| {
        let mut stores = point.edges.iter().filter(|e| matches!(e.instr, Instr::Store { .. }));
        !gone[p] && stores.any(|e| !gone[e.to.index()])
    })
}
