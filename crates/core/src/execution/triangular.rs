//! Triangular races (Owens, "Reasoning about the Implementation of Concurrency Abstractions on
//! x86-TSO", ECOOP 2010): a thread stores to one place and, without a fence in between, loads
//! from another one, which a second thread then stores to while the first store may still be
//! pending.
//!
//! Said here of runs under TSO: a load is answered by memory while its thread has stores in its
//! buffer, and before the last of these has reached memory, another thread writes to the loaded
//! location. Then the two writes reached memory in an order that the load contradicts: it came
//! before the one and, in its thread, after the other. `docs/how/attacks.md` says why it is enough to
//! look at runs in which nothing else is delayed.

use std::collections::VecDeque;

use crate::machine::{Entry, Machine, Outcome, Schedule, State, Step};
use crate::{Instr, Model, Program, ThreadId, Value};

/// The three accesses, by the steps of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TriangularRace {
    /// The step that issues the store that is pending.
    pub store: usize,
    /// The load of the same thread.
    pub load: usize,
    /// The step with which the other thread's store, or update, writes to memory.
    pub write: usize,
}

/// The first triangular race of a run under TSO; `Err` with the step that the machine refuses.
pub fn triangular_race(program: &Program, run: &Schedule) -> Result<Option<TriangularRace>, usize> {
    let machine = Machine { program, model: Model::Tso };
    let mut state = machine.initial_state(&run.init);
    let mut watch = Watch::new(program);
    for (i, &step) in run.steps.iter().enumerate() {
        let Outcome::Next(next) = machine.take(&state, step) else { return Err(i) };
        if let Some(race) = watch.sees(program, &state, step, i) {
            return Ok(Some(race));
        }
        state = next;
    }
    Ok(None)
}

/// What has to be remembered of a run: per thread its pending stores and the loads since.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Watch {
    threads: Vec<Watched>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Watched {
    /// The steps that issued what is in the buffer.
    stores: VecDeque<usize>,
    loads: Vec<Load>,
}

/// A load that memory answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Load {
    addr: Value,
    /// How many stores before it are pending.
    ahead: usize,
    /// Its own step and that of the last of those stores.
    step: usize,
    store: usize,
}

impl Watch {
    pub(crate) fn new(program: &Program) -> Watch {
        Watch { threads: vec![Watched::default(); program.threads.len()] }
    }

    /// Step number `i` is taken in `state`, which allows it.
    pub(crate) fn sees(
        &mut self,
        program: &Program,
        state: &State,
        step: Step,
        i: usize,
    ) -> Option<TriangularRace> {
        match step {
            Step::Commit { thread, addr } => {
                let race = self.writes(program, thread, addr, i);
                let own = &mut self.threads[thread.index()];
                own.stores.pop_front();
                own.loads.iter_mut().for_each(|load| load.ahead -= 1);
                own.loads.retain(|load| load.ahead > 0);
                race
            }
            Step::Execute { thread, edge, .. } => {
                let local = &state.threads[thread.index()];
                let addr = |e: &crate::Expr| e.eval(&local.regs).ok();
                match &program.edge(thread, local.point, edge as usize).instr {
                    Instr::Update { addr: a, .. } => self.writes(program, thread, addr(a)?, i),
                    Instr::Store { .. } => {
                        self.threads[thread.index()].stores.push_back(i);
                        None
                    }
                    Instr::Load { addr: a, .. } => {
                        let addr = addr(a)?;
                        let forwarded = |addr: Value| {
                            local.buffer.iter().any(|e| {
                                matches!(e, Entry::Store { addr: to, .. }
                                    if program.addresses_overlap(*to, addr))
                            })
                        };
                        let own = &mut self.threads[thread.index()];
                        let &store = own.stores.back()?;
                        // Of a wide place, memory may answer a part.
                        let wide = program.wide_at(addr).map_or(&[][..], |wide| &wide.cells);
                        let parts = wide.iter().map(|part| program.locs[part.loc.index()].addr);
                        let whole = wide.is_empty().then_some(addr);
                        for addr in parts.chain(whole).filter(|&addr| !forwarded(addr)) {
                            let load = Load { addr, ahead: own.stores.len(), step: i, store };
                            if !own.loads.contains(&load) {
                                own.loads.push(load);
                            }
                        }
                        None
                    }
                    _ => None,
                }
            }
        }
    }

    /// `thread` writes to memory at `addr`.
    fn writes(
        &self,
        program: &Program,
        thread: ThreadId,
        addr: Value,
        i: usize,
    ) -> Option<TriangularRace> {
        let others = self.threads.iter().enumerate().filter(|(t, _)| *t != thread.index());
        others
            .flat_map(|(_, watched)| &watched.loads)
            .find(|load| program.addresses_overlap(load.addr, addr))
            .map(|load| TriangularRace { store: load.store, load: load.step, write: i })
    }
}
