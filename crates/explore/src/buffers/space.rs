//! What both searches share: the threads' local state spaces over one table of memories.

use rustc_hash::FxHashMap;
use weakspot_core::machine::{Failure, FailureKind, Step};
use weakspot_core::{Limit, Model, Observable, PointId, Program, ThreadId, Value};

use crate::buffers::block::{BlockRuns, run_block};
use crate::buffers::local::{Locals, Move};
use crate::memory::Memories;
use crate::meter::Meter;

/// A program on a model, with everything that was found out about its threads.
pub(crate) struct Space<'p> {
    pub(crate) program: &'p Program,
    pub(crate) model: Model,
    pub(crate) threads: Vec<Locals<'p>>,
    pub(crate) mems: Memories,
    /// The first assertion that failed.
    pub(crate) assertion: Option<FailedAssertion>,
    blocks: FxHashMap<(u32, u32, u32, u32), std::rc::Rc<BlockRuns>>,
    block_bytes: usize,
    /// How many entries a buffer may hold.
    buffer: usize,
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

/// A move with the steps of the machine that it stands for.
#[derive(Clone, Debug)]
pub(crate) struct Taken {
    pub(crate) mem: u32,
    pub(crate) next: u32,
    pub(crate) steps: Vec<Step>,
}

impl<'p> Space<'p> {
    pub(crate) fn new(program: &'p Program, model: Model, buffer: usize) -> Space<'p> {
        let threads = (0..program.threads.len())
            .map(|t| Locals::new(program, model, ThreadId::new(t), buffer))
            .collect();
        Space {
            program,
            model,
            threads,
            mems: Memories::new(program),
            assertion: None,
            blocks: FxHashMap::default(),
            block_bytes: 0,
            buffer,
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
                    let seen = self.mems.read(mem, loc);
                    match self.threads[t].after_access(local, edge, loc, seen, &self.mems) {
                        Ok((_, next)) => {
                            visit(Effect::Local(next));
                            continue;
                        }
                        Err(kind) => (kind, edge),
                    }
                }
                Move::Write { loc, value, next, .. } => {
                    visit(self.wrote(mem, loc, value, next));
                    continue;
                }
                Move::Update { loc, edge } => {
                    let seen = self.mems.read(mem, loc);
                    match self.threads[t].after_access(local, edge, loc, seen, &self.mems) {
                        Ok((stored, next)) => {
                            visit(self.wrote(mem, loc, stored, next));
                            continue;
                        }
                        Err(kind) => (kind, edge),
                    }
                }
                Move::Block { edge } => {
                    let runs = self.block(t, local, edge, mem, meter)?;
                    for &(after, next, _) in &runs.exits {
                        visit(match after == mem {
                            true => Effect::Local(next),
                            false => Effect::Memory(after, next),
                        });
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
    /// that were not run before are left out; a run that was found does not need them.
    pub(crate) fn moves_with_steps(&mut self, t: usize, local: u32, mem: u32) -> Vec<Taken> {
        let thread = ThreadId::new(t);
        let execute = |edge| vec![Step::Execute { thread, edge, choice: 0 }];
        let mut found = Vec::new();
        for i in self.threads[t].moves(local, &mut self.mems) {
            match self.threads[t].get(i) {
                Move::Silent { next, step } => found.push(Taken { mem, next, steps: vec![step] }),
                Move::Write { loc, value, next, step } => {
                    let mem = self.mems.write(mem, loc, value);
                    found.push(Taken { mem, next, steps: vec![step] });
                }
                Move::Read { loc, edge } => {
                    let seen = self.mems.read(mem, loc);
                    let after = self.threads[t].after_access(local, edge, loc, seen, &self.mems);
                    if let Ok((_, next)) = after {
                        found.push(Taken { mem, next, steps: execute(edge) });
                    }
                }
                Move::Update { loc, edge } => {
                    let seen = self.mems.read(mem, loc);
                    let after = self.threads[t].after_access(local, edge, loc, seen, &self.mems);
                    if let Ok((stored, next)) = after {
                        let mem = self.mems.write(mem, loc, stored);
                        found.push(Taken { mem, next, steps: execute(edge) });
                    }
                }
                Move::Block { edge } => {
                    if let Some(runs) = self.blocks.get(&(t as u32, local, edge, mem)) {
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
    ) -> Result<std::rc::Rc<BlockRuns>, Stop> {
        let key = (t as u32, local, edge, mem);
        if let Some(runs) = self.blocks.get(&key) {
            return Ok(runs.clone());
        }
        let locals = &mut self.threads[t];
        let runs = run_block(locals, &mut self.mems, self.model, (local, edge), mem, meter)
            .map_err(Stop::Limit)?;
        let steps = runs.exits.iter().map(|(_, _, s)| s.len() + 2);
        self.block_bytes += (8 + steps.sum::<usize>()) * size_of::<Step>();
        let runs = std::rc::Rc::new(runs);
        self.blocks.insert(key, runs.clone());
        Ok(runs)
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
            let runs = self.blocks.get(&(t as u32, local, edge, mem))?;
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
        self.mems.bytes() + self.threads.iter().map(Locals::bytes).sum::<usize>() + self.block_bytes
    }

    /// The columns of the outcome that belong to thread `t`, or to memory for `None`.
    pub(crate) fn columns(&self, t: Option<usize>) -> Vec<usize> {
        let belongs = |what| match what {
            Observable::Reg(thread, _) => Some(ThreadId::index(thread)) == t,
            Observable::Loc(_) => t.is_none(),
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
                Observable::Loc(_) => 0,
            }
        };
        columns.iter().map(value).collect()
    }

    /// The observed values of these columns in memory `mem`.
    pub(crate) fn observe_memory(&self, columns: &[usize], mem: u32) -> Vec<Value> {
        let value = |&c: &usize| {
            let observed = self.program.observed[c];
            match observed.what {
                Observable::Loc(l) => observed.view.apply(self.mems.read(mem, l.0)),
                Observable::Reg(..) => 0,
            }
        };
        columns.iter().map(value).collect()
    }

    fn wrote(&mut self, mem: u32, loc: u32, value: Value, next: u32) -> Effect {
        match self.mems.read(mem, loc) == value {
            true => Effect::Local(next),
            false => Effect::Memory(self.mems.write(mem, loc, value), next),
        }
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
