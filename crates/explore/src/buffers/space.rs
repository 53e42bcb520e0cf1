//! What both searches share: the threads' local state spaces over one table of memories.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use weakspot_core::machine::{Entry, Failure, FailureKind, Machine, Schedule, Step};
use weakspot_core::{Limit, Limits, Model, Observable, PointId, Program, Silent, ThreadId, Value};

use crate::buffers::alike::Alike;
use crate::buffers::block::{BlockRuns, run_block};
use crate::buffers::local::{Locals, Move};
use crate::buffers::roles::{Role, Roles};
use crate::intern::table_bytes;
use crate::keep::{In, NotKept, Out};
use crate::memory::{Memories, Sample};
use crate::meter::Meter;

/// What a block is run in: the thread, its local state, the edge, and memory.
type BlockKey = (u32, u32, u32, u32);

/// A program on a model, with everything that was found out about its threads.
pub(crate) struct Space<'p> {
    pub(crate) program: &'p Program,
    pub(crate) model: Model,
    /// Per thread its local states. For threads that are alike those of the first are used.
    pub(crate) threads: Vec<Locals<'p>>,
    pub(crate) alike: Alike,
    roles: Rc<Roles>,
    pub(crate) mems: Memories,
    /// The first assertion that failed.
    pub(crate) assertion: Option<FailedAssertion>,
    blocks: FxHashMap<BlockKey, Rc<BlockRuns>>,
    block_bytes: usize,
    /// How many entries a buffer may hold.
    buffer: usize,
    /// Whether blocks may have been run by a search that this one goes on with.
    resumed: bool,
}

/// An assertion that fails, and where the search met it.
#[derive(Clone, Debug)]
pub(crate) struct FailedAssertion {
    pub(crate) failure: Failure,
    pub(crate) thread: usize,
    pub(crate) local: u32,
    pub(crate) mem: u32,
    /// From there to the failing step: that step alone, or the way through a block.
    pub(crate) steps: Vec<Step>,
}

/// Why a search ends without an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// A limit was reached.
    Limit(Limit),
    /// The program is wrong: it does what has no meaning.
    Fault(Failure),
    /// The work that was allowed is done; the other search may do better.
    OutOfWork,
}

/// When a search may end before it has seen everything.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Until {
    /// After this much work: local states here, states in the explicit search.
    pub(crate) work: u64,
    /// At the first forbidden combination of control points or failed assertion.
    pub(crate) violation: bool,
}

impl Until {
    /// Whether it matters which control points are reached together.
    pub(crate) fn points_count(self, program: &Program) -> bool {
        self.violation && !program.forbidden.is_empty()
    }
}

/// How a search ended.
pub(crate) enum Ended {
    /// Everything was searched.
    Complete,
    /// It took more than the given amount of work.
    OutOfWork,
    /// It had to stop.
    Stopped(Stop),
}

/// Where one step of a thread leads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Effect {
    /// Another local state; memory stays as it is.
    Local(u32),
    /// Another local state and another memory.
    Memory(u32, u32),
}

impl Effect {
    fn to(before: u32, after: u32, next: u32) -> Effect {
        match after == before {
            true => Effect::Local(next),
            false => Effect::Memory(after, next),
        }
    }
}

/// A move with the steps of the machine that it stands for.
#[derive(Clone, Debug)]
pub(crate) struct Taken {
    pub(crate) mem: u32,
    pub(crate) next: u32,
    pub(crate) steps: Vec<Step>,
}

impl<'p> Space<'p> {
    /// The space for a search for forbidden control points if `points_count`, else for others.
    pub(crate) fn new(
        program: &'p Program,
        model: Model,
        buffer: usize,
        points_count: bool,
    ) -> Space<'p> {
        let roles = Rc::new(Roles::of(program));
        // Points that are asked for may tell threads apart.
        let alike = match points_count {
            true => Alike::none(program),
            false => Alike::of(program, &roles),
        };
        let locals = |t| {
            let roles = roles.clone();
            Locals::new(program, model, ThreadId::new(t), buffer, roles, points_count)
        };
        let threads = (0..program.threads.len()).map(locals).collect();
        Space {
            program,
            model,
            threads,
            alike,
            mems: Memories::sampling(program, &roles.sampled()),
            roles,
            assertion: None,
            blocks: FxHashMap::default(),
            block_bytes: 0,
            buffer,
            resumed: false,
        }
    }

    /// The memories in which the program may start.
    pub(crate) fn initial_memories(&mut self, meter: &mut Meter<'_>) -> Result<Vec<u32>, Stop> {
        let mut limit = None;
        let all = self.mems.initial(self.program, &mut |bytes| {
            limit = meter.work(|| (0, bytes as u64)).err();
            limit.is_none()
        });
        limit.map_or(Ok(all), |limit| Err(Stop::Limit(limit)))
    }

    /// Calls `visit` with the effect of each move of thread `t` in `local` when memory is `mem`.
    /// Failed assertions are noted; anything worse ends the search.
    pub(crate) fn effects(
        &mut self,
        t: usize,
        local: u32,
        mem: u32,
        meter: &mut Meter<'_>,
        visit: &mut impl FnMut(Effect),
    ) -> Result<(), Stop> {
        for i in self.threads[t].moves(local, &mut self.mems) {
            let (kind, edge) = match self.threads[t].get(i) {
                Move::Silent { next, .. } => {
                    visit(Effect::Local(next));
                    continue;
                }
                Move::Read { loc, edge } => {
                    let Some(after) = self.looked(mem, loc) else { continue };
                    let seen = self.mems.read(mem, loc);
                    match self.threads[t].after_access(local, edge, loc, seen, &self.mems) {
                        Ok((_, next)) => {
                            visit(Effect::to(mem, after, next));
                            continue;
                        }
                        Err(kind) => (kind, edge),
                    }
                }
                Move::Write { loc, value, next, .. } => {
                    for after in self.wrote(mem, loc, value).into_iter().flatten() {
                        visit(Effect::to(mem, after, next));
                    }
                    continue;
                }
                Move::Update { loc, edge } => match self.updated(t, (local, mem), edge, loc) {
                    Ok(all) => {
                        for (after, next) in all.into_iter().flatten() {
                            visit(Effect::to(mem, after, next));
                        }
                        continue;
                    }
                    Err(kind) => (kind, edge),
                },
                Move::Block { edge } => {
                    let runs = self.block(t, local, edge, mem, meter)?;
                    for &(after, next, _) in &runs.exits {
                        visit(Effect::to(mem, after, next));
                    }
                    if let Some((failure, steps)) = &runs.failure {
                        self.failed(failure.clone(), (t, local, mem), steps.clone())?;
                    }
                    continue;
                }
                Move::Fail { edge, kind } => (kind, edge),
            };
            let failure = self.threads[t].failure(local, edge, kind);
            let step = Step::Execute { thread: ThreadId::new(t), edge, choice: 0 };
            self.failed(failure, (t, local, mem), vec![step])?;
        }
        Ok(())
    }

    /// What [`Space::effects`] visits, with steps: for the reconstruction of runs. Atomic blocks
    /// that were not run before are left out; a run that was found does not need them. A search that went on
    /// from where it was kept may have run them earlier.
    pub(crate) fn moves_with_steps(&mut self, t: usize, local: u32, mem: u32) -> Vec<Taken> {
        let thread = ThreadId::new(t);
        let execute = |edge| vec![Step::Execute { thread, edge, choice: 0 }];
        let mut found = Vec::new();
        for i in self.threads[t].moves(local, &mut self.mems) {
            match self.threads[t].get(i) {
                Move::Silent { next, step } => found.push(Taken { mem, next, steps: vec![step] }),
                Move::Write { loc, value, next, step } => {
                    for mem in self.wrote(mem, loc, value).into_iter().flatten() {
                        found.push(Taken { mem, next, steps: vec![step] });
                    }
                }
                Move::Read { loc, edge } => {
                    let Some(after) = self.looked(mem, loc) else { continue };
                    let seen = self.mems.read(mem, loc);
                    let read = self.threads[t].after_access(local, edge, loc, seen, &self.mems);
                    if let Ok((_, next)) = read {
                        found.push(Taken { mem: after, next, steps: execute(edge) });
                    }
                }
                Move::Update { loc, edge } => {
                    let all = self.updated(t, (local, mem), edge, loc).unwrap_or_default();
                    for (mem, next) in all.into_iter().flatten() {
                        found.push(Taken { mem, next, steps: execute(edge) });
                    }
                }
                Move::Block { edge } => {
                    if let Some(runs) = self.block_again(t, local, edge, mem) {
                        found.extend(runs.exits.iter().map(|(mem, next, steps)| Taken {
                            mem: *mem,
                            next: *next,
                            steps: steps.clone(),
                        }));
                    }
                }
                Move::Fail { .. } => {}
            }
        }
        found
    }

    /// The ways through a block, computed once per local state and memory.
    pub(crate) fn block(
        &mut self,
        t: usize,
        local: u32,
        edge: u32,
        mem: u32,
        meter: &mut Meter<'_>,
    ) -> Result<Rc<BlockRuns>, Stop> {
        let key = (t as u32, local, edge, mem);
        if let Some(runs) = self.blocks.get(&key) {
            return Ok(runs.clone());
        }
        let locals = &mut self.threads[t];
        let runs = run_block(locals, &mut self.mems, self.model, (local, edge), mem, meter)
            .map_err(Stop::Limit)?;
        self.block_bytes += runs.bytes();
        let runs = Rc::new(runs);
        self.blocks.insert(key, runs.clone());
        Ok(runs)
    }

    /// The ways through a block that was run before, perhaps by the search that this one goes on with.
    fn block_again(&mut self, t: usize, local: u32, edge: u32, mem: u32) -> Option<Rc<BlockRuns>> {
        if !self.resumed {
            return self.blocks.get(&(t as u32, local, edge, mem)).cloned();
        }
        let mut silent = Silent;
        let mut meter = Meter::new(Limits::UNLIMITED, &mut silent);
        self.block(t, local, edge, mem, &mut meter).ok()
    }

    /// Writes what the numbers of memories and local states stand for, and the assertion that failed.
    pub(crate) fn keep(&self, out: &mut Out<'_>) {
        self.mems.keep(out);
        self.threads.iter().for_each(|locals| locals.keep(out));
        let failed = self.assertion.iter();
        let failed = failed.flat_map(|a| [a.thread as u32, a.local, a.mem]).collect::<Vec<_>>();
        out.all(&failed, |out, n| out.number(n.into()));
    }

    /// Reads this.
    pub(crate) fn resume(
        &mut self,
        from: &mut In<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<(), NotKept> {
        self.resumed = true;
        self.mems.resume(from)?;
        let places = self.mems.places();
        self.threads.iter_mut().try_for_each(|locals| locals.resume(from, places))?;
        match from.all(|from| from.at_most(u32::MAX))?[..] {
            [] => Ok(()),
            [t, local, mem] if self.stands_for(t as usize, local) && self.is_memory(mem) => {
                // It fails there once more.
                match self.effects(t as usize, local, mem, meter, &mut |_| {}) {
                    Err(Stop::Limit(limit)) => Err(NotKept::Limit(limit)),
                    Ok(()) if self.assertion.is_some() => Ok(()),
                    _ => Err(NotKept::Damaged),
                }
            }
            _ => Err(NotKept::Damaged),
        }
    }

    /// Whether a number is that of a local state of thread `t`.
    pub(crate) fn stands_for(&self, t: usize, local: u32) -> bool {
        self.alike.first.get(t).is_some_and(|&t| (local as usize) < self.threads[t].len())
    }

    /// Whether a number is that of a memory.
    pub(crate) fn is_memory(&self, mem: u32) -> bool {
        (mem as usize) < self.mems.len()
    }

    /// The steps by which thread `t` in `local` enters a block and gets to `point` inside of it.
    /// Only blocks that were run before count.
    pub(crate) fn way_inside(
        &mut self,
        t: usize,
        local: u32,
        mem: u32,
        point: PointId,
    ) -> Option<Vec<Step>> {
        self.threads[t].moves(local, &mut self.mems).find_map(|i| {
            let Move::Block { edge } = self.threads[t].get(i) else { return None };
            let runs = self.block_again(t, local, edge, mem)?;
            runs.points.iter().find(|(p, _)| *p == point).map(|(_, steps)| steps.clone())
        })
    }

    /// The limit that was met, if some buffer was full.
    pub(crate) fn buffer_limit(&self) -> Option<Limit> {
        let full = self.threads.iter().filter(|t| t.was_full).max_by_key(|t| t.unbounded)?;
        let unbounded = full.unbounded;
        Some(Limit::Buffer { thread: full.thread, entries: self.buffer, unbounded })
    }

    pub(crate) fn bytes(&self) -> usize {
        let threads = self.threads.iter().map(Locals::bytes).sum::<usize>();
        let blocks =
            table_bytes(self.blocks.capacity(), size_of::<BlockKey>() + size_of::<usize>());
        self.mems.bytes() + threads + blocks + self.block_bytes
    }

    /// The columns of the outcome that belong to thread `t`, or to memory for `None`.
    pub(crate) fn columns(&self, t: Option<usize>) -> Vec<usize> {
        let belongs = |what| match what {
            Observable::Reg(thread, _) => Some(ThreadId::index(thread)) == t,
            Observable::Loc(l) => match self.roles.role(l.0) {
                Role::Own(_) => t.is_some_and(|t| self.roles.own[t].contains(&l)),
                _ => t.is_none(),
            },
        };
        let observed = self.program.observed.iter().enumerate();
        observed.filter(|(_, o)| belongs(o.what)).map(|(i, _)| i).collect()
    }

    /// The observed values of these columns, given the registers of their thread.
    pub(crate) fn observe_regs(&self, columns: &[usize], regs: &[Value]) -> Vec<Value> {
        let value = |&c: &usize| {
            let observed = self.program.observed[c];
            match observed.what {
                Observable::Reg(_, r) => observed.view.apply(regs[r.index()]),
                Observable::Loc(l) => match self.roles.role(l.0) {
                    // Its cells stand behind the registers.
                    Role::Own(cell) => {
                        let own = self.roles.own.iter().find(|own| own.get(cell) == Some(&l));
                        let cells = own.map_or(0, Vec::len);
                        observed.view.apply(regs[regs.len() - cells + cell])
                    }
                    _ => 0,
                },
            }
        };
        columns.iter().map(value).collect()
    }

    /// The observed values of these columns in memory `mem`.
    pub(crate) fn observe_memory(&self, columns: &[usize], mem: u32) -> Vec<Value> {
        let value = |&c: &usize| {
            let observed = self.program.observed[c];
            match observed.what {
                Observable::Loc(l) => observed.view.apply(match self.roles.role(l.0) {
                    Role::Unread(value) => value,
                    _ => self.mems.read(mem, l.0),
                }),
                Observable::Reg(..) => 0,
            }
        };
        columns.iter().map(value).collect()
    }

    /// The memory after a read of `loc`; `None` if what is there is not to be read.
    fn looked(&mut self, mem: u32, loc: u32) -> Option<u32> {
        match self.mems.sample(mem, loc) {
            None | Some(Sample::Seen) => Some(mem),
            Some(Sample::Fresh) => {
                let value = self.mems.read(mem, loc);
                Some(self.mems.put_sample(mem, loc, value, Sample::Seen))
            }
            Some(Sample::Lost) => None,
        }
    }

    /// The memories after a write of `value` to `loc`: if the location is sampled, the value may
    /// be lost at once, or has to be looked at.
    fn wrote(&mut self, mem: u32, loc: u32, value: Value) -> [Option<u32>; 2] {
        let same = self.mems.read(mem, loc) == value;
        match self.mems.sample(mem, loc) {
            None if same => [Some(mem), None],
            None => [Some(self.mems.write(mem, loc, value)), None],
            Some(Sample::Seen | Sample::Fresh) if same => [Some(mem), None],
            Some(Sample::Fresh) => [None, None],
            Some(Sample::Seen) => {
                [Some(self.mems.put_sample(mem, loc, value, Sample::Fresh)), None]
            }
            Some(Sample::Lost) => {
                [Some(mem), Some(self.mems.put_sample(mem, loc, value, Sample::Fresh))]
            }
        }
    }

    /// Where the update of `loc` on `edge` leads: memories with local states.
    fn updated(
        &mut self,
        t: usize,
        (local, mem): (u32, u32),
        edge: u32,
        loc: u32,
    ) -> Result<[Option<(u32, u32)>; 2], FailureKind> {
        let reads = self.threads[t].update_reads(&self.threads[t].edges(local)[edge as usize]);
        let mem = match reads {
            true => match self.looked(mem, loc) {
                Some(mem) => mem,
                None => return Ok([None, None]),
            },
            false => mem,
        };
        let seen = self.mems.read(mem, loc);
        let (stored, next) = self.threads[t].after_access(local, edge, loc, seen, &self.mems)?;
        let mut after = self.wrote(mem, loc, stored);
        // Nothing comes between the read and the write, so the value gets lost right here.
        if reads && after != [Some(mem), None] && self.mems.sample(mem, loc).is_some() {
            after[1] = Some(self.mems.put_sample(mem, loc, 0, Sample::Lost));
        }
        Ok(after.map(|mem| mem.map(|mem| (mem, next))))
    }

    /// Whether a final state may have this memory: nothing that is observed was lost.
    pub(crate) fn may_be_final(&self, mem: u32) -> bool {
        self.program.observed.iter().all(|o| match o.what {
            Observable::Loc(l) => self.mems.sample(mem, l.0) != Some(Sample::Lost),
            Observable::Reg(..) => true,
        })
    }

    /// `run` with the commits of stores that the search does without. They are done as soon as
    /// may be: nobody looks at them, and what waits for them waits for what is before them.
    pub(crate) fn with_quiet_commits(&self, run: Schedule) -> Schedule {
        if self.model == Model::Sc || !self.roles.has_quiet() {
            return run;
        }
        let machine = Machine { program: self.program, model: self.model };
        let is_quiet =
            |addr| self.program.loc_at(addr).is_some_and(|loc| self.roles.is_quiet(loc.0));
        let mut state = machine.initial_state(&run.init);
        let mut steps = Vec::with_capacity(run.steps.len());
        for step in run.steps {
            let thread = match step {
                Step::Commit { addr, .. } if is_quiet(addr) => continue,
                Step::Execute { thread, .. } | Step::Commit { thread, .. } => thread,
            };
            steps.push(step);
            // The last step may be the one that fails.
            if machine.advance(&mut state, step) != Ok(true) {
                break;
            }
            loop {
                let buffer = &state.threads[thread.index()].buffer;
                let quiet = buffer.iter().find_map(|entry| match *entry {
                    Entry::Store { addr, .. } if is_quiet(addr) => Some(addr),
                    _ => None,
                });
                let Some(addr) = quiet else { break };
                let step = Step::Commit { thread, addr };
                if machine.advance(&mut state, step) != Ok(true) {
                    break;
                }
                steps.push(step);
            }
        }
        Schedule { init: run.init, steps }
    }

    fn failed(
        &mut self,
        failure: Failure,
        (thread, local, mem): (usize, u32, u32),
        steps: Vec<Step>,
    ) -> Result<(), Stop> {
        if failure.kind != FailureKind::Assertion {
            return Err(Stop::Fault(failure));
        }
        self.assertion.get_or_insert(FailedAssertion { failure, thread, local, mem, steps });
        Ok(())
    }
}
