//! A run taken apart: what each step did, and when each access took effect.

use weakspot_core::cycle::{Arc, Link, sc_cycle};
use weakspot_core::machine::{Failure, Machine, Schedule, State, Step};
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
        // Whether the state is that after the last step which was possible.
        let mut is_whole = true;
        for (i, &step) in schedule.steps.iter().enumerate() {
            let Some(before) = Before::of(program, &state, step) else {
                stop = Stop::Impossible(i);
                break;
            };
            match machine.advance(&mut state, step) {
                Ok(true) => {}
                Ok(false) => {
                    stop = Stop::Impossible(i);
                    break;
                }
                Err(failure) => {
                    stop = match before.edge {
                        Some(edge) => Stop::Failed(failure, edge),
                        None => Stop::Impossible(i),
                    };
                    is_whole = false;
                    break;
                }
            }
            match take_apart(program, &mut pending, &mut steps, (before, &state), step) {
                Some(taken) => steps.push(taken),
                None => {
                    stop = Stop::Impossible(i);
                    is_whole = false;
                    break;
                }
            }
        }
        let possible = Schedule {
            init: schedule.init.clone(),
            steps: schedule.steps.iter().take(steps.len()).copied().collect(),
        };
        let recording = record(machine, &possible).ok()?;
        if !is_whole {
            state = recording.end;
        }
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

    /// For each store that was overtaken, the first later access of its thread that took effect in memory
    /// before it. One pass from the end: of the stores of a thread only those are candidates which took effect
    /// before all that were issued between.
    pub(crate) fn overtakers(&self) -> Vec<(usize, usize)> {
        let threads = self.machine.program.threads.len();
        let mut next_at_once: Vec<Option<usize>> = vec![None; threads];
        let mut next_stores: Vec<Vec<usize>> = vec![Vec::new(); threads];
        let mut found = Vec::new();
        for (i, taken) in self.steps.iter().enumerate().rev() {
            let thread = taken.thread.index();
            match taken.did {
                Did::Load { own: None, .. } | Did::Update { .. } => next_at_once[thread] = Some(i),
                Did::Store { .. } => {
                    let until = self.effect(i);
                    let stores = &mut next_stores[thread];
                    while stores.last().is_some_and(|&later| self.effect(later) >= until) {
                        stores.pop();
                    }
                    let at_once = next_at_once[thread].filter(|&at| at < until);
                    let first = [at_once, stores.last().copied()].into_iter().flatten().min();
                    found.extend(first.map(|first| (i, first)));
                    stores.push(i);
                }
                _ => {}
            }
        }
        found.reverse();
        found
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

/// What has to be known of the state before a step. To keep all of it takes a copy of buffers for each step.
struct Before<'a> {
    /// The edge that the step takes, if there is one.
    edge: Option<&'a Edge>,
    regs: Vec<Value>,
    /// How many entries the buffer has.
    buffered: usize,
    /// The content of the place that an update changes.
    old: Option<Value>,
}

impl<'a> Before<'a> {
    /// `None` if there is no such thread.
    fn of(program: &'a Program, state: &State, step: Step) -> Option<Before<'a>> {
        let (Step::Execute { thread, .. } | Step::Commit { thread, .. }) = step;
        let local = state.threads.get(thread.index())?;
        let edge = edge_of(program, state, step);
        let old = match edge.map(|edge| &edge.instr) {
            Some(Instr::Update { addr, .. }) => {
                let addr = addr.eval(&local.regs).ok();
                addr.and_then(|addr| program.content(&state.memory, addr))
            }
            _ => None,
        };
        Some(Before { edge, regs: local.regs.clone(), buffered: local.buffer.len(), old })
    }
}

fn take_apart<'a>(
    program: &'a Program,
    pending: &mut [Vec<(Value, usize)>],
    steps: &mut [Taken<'a>],
    (was, after): (Before<'a>, &State),
    step: Step,
) -> Option<Taken<'a>> {
    let now = steps.len();
    let (thread, edge) = match step {
        Step::Execute { thread, .. } => (thread, was.edge?),
        Step::Commit { thread, addr } => {
            let queue = &mut pending[thread.index()];
            let (_, store) = queue.remove(queue.iter().position(|&(a, _)| a == addr)?);
            if let Did::Store { commit, .. } = &mut steps[store].did {
                *commit = Some(now);
            }
            return Some(Taken { thread, edge: steps[store].edge, did: Did::Commit { store } });
        }
    };
    let is = &after.threads[thread.index()];
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
            let buffered = is.buffer.len() > was.buffered;
            if buffered {
                pending[thread.index()].push((addr, now));
            }
            Did::Store { addr, value, commit: (!buffered).then_some(now) }
        }
        Instr::Update { addr, .. } => {
            let addr = addr.eval(&was.regs).ok()?;
            Did::Update {
                addr,
                old: was.old.unwrap_or(0),
                new: program.content(&after.memory, addr)?,
            }
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
