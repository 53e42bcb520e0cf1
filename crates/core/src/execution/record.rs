//! From a run of the machine to the [`Execution`] that it is an instance of: which write each
//! read took its value from, and in which order writes reached memory.

use crate::machine::{Entry, Machine, Schedule, State, Step};
use crate::{Event, EventId, Execution, Instr, LocId, Op, PointId, Value};

/// A recorded run.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The state in which it ended.
    pub end: State,
    /// Its events, in the order in which they were issued.
    pub execution: Execution,
    /// For each step of the schedule the event that it issued, or, for a commit, the store
    /// that it completed. `None` for steps that memory does not see.
    pub event_of: Vec<Option<EventId>>,
}

/// Replays `schedule` on the machine. `Err` is the index of the first step that the machine does
/// not allow.
pub fn record(machine: Machine<'_>, schedule: &Schedule) -> Result<Recording, usize> {
    let program = machine.program;
    let mut state = machine.initial_state(&schedule.init);
    let wides = program.wides.iter().map(|wide| wide.addr);
    let mut locs: Vec<Value> = program.locs.iter().map(|l| l.addr).chain(wides).collect();
    let mut execution = Execution::empty(program);
    // Beside each machine buffer, the events of its stores in the order in which they were issued.
    let mut pending: Vec<Vec<(Value, EventId)>> = vec![Vec::new(); program.threads.len()];
    let mut event_of = Vec::with_capacity(schedule.steps.len());
    let loc_id = |addr: Value, locs: &mut Vec<Value>, execution: &mut Execution| {
        LocId::new(locs.iter().position(|&a| a == addr).unwrap_or_else(|| {
            locs.push(addr);
            execution.coherence.push(Vec::new());
            locs.len() - 1
        }))
    };

    for (i, &step) in schedule.steps.iter().enumerate() {
        let before = Before::of(machine, &state, step).ok_or(i)?;
        if machine.advance(&mut state, step) != Ok(true) {
            return Err(i);
        }
        match step {
            Step::Commit { thread, addr } => {
                let queue = &mut pending[thread.index()];
                let at = queue.iter().position(|&(a, _)| a == addr).ok_or(i)?;
                let (_, event) = queue.remove(at);
                execution.reaches_memory(event);
                event_of.push(Some(event));
            }
            Step::Execute { thread, edge, .. } => {
                let after = &state.threads[thread.index()];
                let id = EventId::new(execution.events.len());
                let mut reached = false;
                let op = match &program.edge(thread, before.point, edge as usize).instr {
                    Instr::Load { reg, addr } => {
                        let addr = addr.eval(&before.regs).map_err(|_| i)?;
                        let loc = loc_id(addr, &mut locs, &mut execution);
                        Some(Op::Read { loc, value: after.regs[reg.index()] })
                    }
                    Instr::Store { addr, value } => {
                        let addr = addr.eval(&before.regs).map_err(|_| i)?;
                        let value = value.eval(&before.regs).map_err(|_| i)?;
                        let loc = loc_id(addr, &mut locs, &mut execution);
                        if after.buffer.last() == Some(&Entry::Store { addr, value })
                            && after.buffer.len() > before.buffered
                        {
                            pending[thread.index()].push((addr, id));
                        } else {
                            reached = true;
                        }
                        Some(Op::Write { loc, value })
                    }
                    Instr::Update { addr, .. } => {
                        let addr = addr.eval(&before.regs).map_err(|_| i)?;
                        let loc = loc_id(addr, &mut locs, &mut execution);
                        reached = true;
                        let new = program.content(&state.memory, addr).unwrap_or(0);
                        Some(Op::Update { loc, old: before.old.unwrap_or(0), new })
                    }
                    Instr::Fence(f) => Some(Op::Fence(*f)),
                    Instr::Lock => Some(Op::Lock),
                    Instr::Unlock => Some(Op::Unlock),
                    Instr::Nop
                    | Instr::Assign { .. }
                    | Instr::Choose { .. }
                    | Instr::Assume(_)
                    | Instr::Assert(_) => None,
                };
                event_of.push(op.map(|op| {
                    issue(&mut execution, Event { thread, op }, &pending[thread.index()]);
                    if reached {
                        execution.reaches_memory(id);
                    }
                    id
                }));
            }
        }
    }
    Ok(Recording { end: state, execution, event_of })
}

/// What has to be known of the state before a step. To keep all of it takes a copy of buffers for each step, which
/// may hold thousands of stores.
struct Before {
    point: PointId,
    regs: Vec<Value>,
    buffered: usize,
    /// The content of the place that an update changes.
    old: Option<Value>,
}

impl Before {
    /// `None` if there is no such thread.
    fn of(machine: Machine<'_>, state: &State, step: Step) -> Option<Before> {
        let (Step::Commit { thread, .. } | Step::Execute { thread, .. }) = step;
        let local = state.threads.get(thread.index())?;
        let (regs, buffered) = (local.regs.clone(), local.buffer.len());
        let old = old_content(machine, state, step);
        Some(Before { point: local.point, regs, buffered, old })
    }
}

/// What an update finds.
fn old_content(machine: Machine<'_>, state: &State, step: Step) -> Option<Value> {
    let Step::Execute { thread, edge, .. } = step else { return None };
    let local = state.threads.get(thread.index())?;
    let edges =
        &machine.program.threads.get(thread.index())?.points.get(local.point.index())?.edges;
    let Instr::Update { addr, .. } = &edges.get(edge as usize)?.instr else { return None };
    machine.program.content(&state.memory, addr.eval(&local.regs).ok()?)
}

/// Adds an event. A read takes each cell from the newest of the thread's pending stores that covers
/// it, else from the last write in memory.
fn issue(execution: &mut Execution, event: Event, pending: &[(Value, EventId)]) {
    let source = |cell: LocId| {
        let covers = |e: EventId| {
            let loc = execution.events[e.index()].op.loc();
            loc.is_some_and(|loc| loc == cell || execution.cells(loc).contains(&cell))
        };
        let own = pending.iter().rev().map(|&(_, e)| e).find(|&e| covers(e));
        own.or_else(|| execution.coherence[cell.index()].last().copied())
    };
    let id = EventId::new(execution.events.len());
    let wide = event.op.loc().filter(|loc| execution.wides.contains_key(loc));
    let read = event.op.read().map(|(loc, _)| loc);
    let from = read.filter(|_| wide.is_none()).and_then(source);
    let parts: Vec<_> = match (read, wide) {
        (Some(_), Some(wide)) => {
            execution.cells(wide).into_iter().map(|cell| (cell, source(cell))).collect()
        }
        _ => Vec::new(),
    };
    if read.is_some() && wide.is_some() {
        execution.wide_reads.insert(id, parts);
    }
    execution.events.push(event);
    execution.reads_from.push(from);
}
