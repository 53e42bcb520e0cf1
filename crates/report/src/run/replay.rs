//! A run taken apart: what each step did, and when each access took effect.

use weakspot_core::cycle::{Arc, Link, sc_cycle};
use weakspot_core::machine::{Failure, Machine, Outcome, Schedule, State, Step};
use weakspot_core::{
    Edge, EventId, Execution, Fence, Instr, Model, Program, RegId, ThreadId, Value, record,
};

/// A run of a program, step by step.
pub(crate) struct Replay<'a> {
    pub(crate) machine: Machine<'a>,
    /// The state before the first step.
    pub(crate) start: State,
    /// The state after the last step that was possible.
    pub(crate) end: State,
    /// The steps that were possible.
    pub(crate) steps: Vec<Taken<'a>>,
    /// The events of these steps, and how they are related. Stores that are still buffered at the
    /// end stand last in the coherence order, which is where they go when the buffers drain.
    pub(crate) execution: Execution,
    /// For each event the step that issued it.
    pub(crate) step_of: Vec<usize>,
    /// How the run ended.
    pub(crate) stop: Stop<'a>,
}

/// One step.
pub(crate) struct Taken<'a> {
    pub(crate) thread: ThreadId,
    /// The instruction; for a commit that of the store.
    pub(crate) edge: &'a Edge,
    pub(crate) did: Did,
}

/// What a step did.
#[derive(Clone, Copy)]
pub(crate) enum Did {
    /// Nothing that memory sees; perhaps it set a register.
    Local(Option<(RegId, Value)>),
    /// Read `value`, from the buffered store of step `own` or else from memory.
    Load {
        addr: Value,
        value: Value,
        own: Option<usize>,
    },
    /// Stored `value`, which reached memory with step `commit`; `None` if it never did.
    Store {
        addr: Value,
        value: Value,
        commit: Option<usize>,
    },
    /// Read `old` and stored `new` at once.
    Update {
        addr: Value,
        old: Value,
        new: Value,
    },
    Fence(Fence),
    Lock,
    Unlock,
    /// The store of an earlier step reached memory.
    Commit {
        store: usize,
    },
}

/// How a run ended.
pub(crate) enum Stop<'a> {
    /// All steps were taken.
    End,
    /// The next step fails.
    Failed(Failure, &'a Edge),
    /// The machine does not allow the step with this number.
    Impossible(usize),
}

impl<'a> Replay<'a> {
    /// Replays `schedule`; `None` if it does not give each location an initial value.
    pub(crate) fn of(
        program: &'a Program,
        model: Model,
        schedule: &Schedule,
    ) -> Option<Replay<'a>> {
        if schedule.init.len() != program.locs.len() {
            return None;
        }
        let machine = Machine { program, model };
        let start = machine.initial_state(&schedule.init);
        let mut state = start.clone();
        let mut steps: Vec<Taken<'a>> = Vec::new();
        let mut pending: Vec<Vec<(Value, usize)>> = vec![Vec::new(); program.threads.len()];
        let mut stop = Stop::End;
        for (i, &step) in schedule.steps.iter().enumerate() {
            let next = match machine.take(&state, step) {
                Outcome::Next(next) => next,
                Outcome::Blocked => {
                    stop = Stop::Impossible(i);
                    break;
                }
                Outcome::Failed(failure) => {
                    stop = match edge_of(program, &state, step) {
                        Some(edge) => Stop::Failed(failure, edge),
                        None => Stop::Impossible(i),
                    };
                    break;
                }
            };
            match take_apart(program, &mut pending, &mut steps, &state, &next, step) {
                Some(taken) => steps.push(taken),
                None => {
                    stop = Stop::Impossible(i);
                    break;
                }
            }
            state = next;
        }
        let possible = Schedule {
            init: schedule.init.clone(),
            steps: schedule.steps.iter().take(steps.len()).copied().collect(),
        };
        let recording = record(machine, &possible).ok()?;
        let mut step_of = vec![0; recording.execution.events.len()];
        for (i, event) in recording.event_of.iter().enumerate() {
            if let Some(event) = event
                && !matches!(steps[i].did, Did::Commit { .. })
            {
                step_of[event.index()] = i;
            }
        }
        let mut execution = recording.execution;
        let mut buffered: Vec<(usize, EventId)> = (recording.event_of.iter().enumerate())
            .filter(|(i, _)| matches!(steps[*i].did, Did::Store { commit: None, .. }))
            .filter_map(|(i, event)| Some((i, (*event)?)))
            .collect();
        // Nobody else's stores can go to memory while a thread holds the lock.
        buffered.sort_by_key(|&(i, _)| state.lock != Some(steps[i].thread));
        for (_, event) in buffered {
            execution.reaches_memory(event);
        }
        Some(Replay { machine, start, end: state, steps, execution, step_of, stop })
    }

    /// The step with which an access took effect in memory, never for a store that did not.
    fn effect(&self, step: usize) -> usize {
        match self.steps[step].did {
            Did::Store { commit, .. } => commit.unwrap_or(usize::MAX),
            _ => step,
        }
    }

    /// The first later access of its thread that took effect in memory before the store of this step.
    pub(crate) fn overtaker(&self, store: usize) -> Option<usize> {
        let until = self.effect(store);
        let thread = self.steps[store].thread;
        (store + 1..until.min(self.steps.len())).find(|&i| {
            self.steps[i].thread == thread
                && match self.steps[i].did {
                    Did::Load { own, .. } => own.is_none(),
                    Did::Store { .. } | Did::Update { .. } => self.effect(i) < until,
                    _ => false,
                }
        })
    }

    /// A plainest cycle that shows that SC does not allow the run, beginning with two accesses that
    /// took effect in the wrong order.
    pub(crate) fn cycle(&self) -> Option<Vec<Arc>> {
        let mut cycle = sc_cycle(&self.execution)?;
        let first = cycle.iter().position(|arc| self.goes_back(arc)).unwrap_or(0);
        cycle.rotate_left(first);
        Some(cycle)
    }

    /// Whether program order goes against time here: the store of the first event was issued first
    /// and reached memory last.
    fn goes_back(&self, arc: &Arc) -> bool {
        let (first, second) = (self.step_of[arc.from.index()], self.step_of[arc.to.index()]);
        arc.link == Link::Po && self.effect(first) > self.effect(second)
    }

    /// The instruction of an event, and the step that issued it.
    pub(crate) fn issued(&self, event: EventId) -> (usize, &Taken<'a>) {
        let step = self.step_of[event.index()];
        (step, &self.steps[step])
    }
}

fn take_apart<'a>(
    program: &'a Program,
    pending: &mut [Vec<(Value, usize)>],
    steps: &mut [Taken<'a>],
    before: &State,
    after: &State,
    step: Step,
) -> Option<Taken<'a>> {
    let now = steps.len();
    let (thread, edge) = match step {
        Step::Execute { thread, .. } => (thread, edge_of(program, before, step)?),
        Step::Commit { thread, addr } => {
            let queue = &mut pending[thread.index()];
            let (_, store) = queue.remove(queue.iter().position(|&(a, _)| a == addr)?);
            if let Did::Store { commit, .. } = &mut steps[store].did {
                *commit = Some(now);
            }
            return Some(Taken { thread, edge: steps[store].edge, did: Did::Commit { store } });
        }
    };
    let (was, is) = (&before.threads[thread.index()], &after.threads[thread.index()]);
    let did = match &edge.instr {
        Instr::Nop | Instr::Assume(_) | Instr::Assert(_) => Did::Local(None),
        Instr::Assign { reg, .. } | Instr::Choose { reg, .. } => {
            Did::Local(Some((*reg, is.regs[reg.index()])))
        }
        Instr::Load { reg, addr } => {
            let addr = addr.eval(&was.regs).ok()?;
            let own = forwarded(program, &pending[thread.index()], addr);
            Did::Load { addr, value: is.regs[reg.index()], own }
        }
        Instr::Store { addr, value } => {
            let (addr, value) = (addr.eval(&was.regs).ok()?, value.eval(&was.regs).ok()?);
            let buffered = is.buffer.len() > was.buffer.len();
            if buffered {
                pending[thread.index()].push((addr, now));
            }
            Did::Store { addr, value, commit: (!buffered).then_some(now) }
        }
        Instr::Update { addr, .. } => {
            let addr = addr.eval(&was.regs).ok()?;
            let old = program.content(&before.memory, addr).unwrap_or(0);
            Did::Update { addr, old, new: program.content(&after.memory, addr)? }
        }
        Instr::Fence(fence) => Did::Fence(*fence),
        Instr::Lock => Did::Lock,
        Instr::Unlock => Did::Unlock,
    };
    Some(Taken { thread, edge, did })
}

/// The newest of the pending stores that a load of `addr` reads, if it needs nothing of memory.
fn forwarded(program: &Program, pending: &[(Value, usize)], addr: Value) -> Option<usize> {
    let newest = |addr: Value| {
        let covers = |&&(to, _): &&(Value, usize)| program.addresses_overlap(to, addr);
        pending.iter().rev().find(covers).map(|&(_, step)| step)
    };
    match program.wide_at(addr) {
        None => newest(addr),
        Some(wide) => {
            let cells = wide.cells.iter().map(|part| newest(program.address(part.loc)?));
            cells.collect::<Option<Vec<_>>>()?.into_iter().max()
        }
    }
}

/// The edge that a step takes, if there is one.
fn edge_of<'a>(program: &'a Program, state: &State, step: Step) -> Option<&'a Edge> {
    let Step::Execute { thread, edge, .. } = step else { return None };
    let point = state.threads.get(thread.index())?.point;
    program.threads.get(thread.index())?.points.get(point.index())?.edges.get(edge as usize)
}
