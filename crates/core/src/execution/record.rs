//! From a run of the machine to the [`Execution`] that it is an instance of: which write each
//! read took its value from, and in which order writes reached memory.

use crate::machine::{Entry, Machine, Outcome, Schedule, State, Step};
use crate::{Event, EventId, Execution, History, Instr, LocId, Op, Value};

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
    let mut locs: Vec<Value> = program.locs.iter().map(|l| l.addr).collect();
    let mut events: Vec<Event> = Vec::new();
    let mut reads_from: Vec<Option<EventId>> = Vec::new();
    let mut coherence: Vec<Vec<EventId>> = vec![Vec::new(); locs.len()];
    // Beside each machine buffer, the events of its stores in the order in which they were issued.
    let mut pending: Vec<Vec<(Value, EventId)>> = vec![Vec::new(); program.threads.len()];
    let mut event_of = Vec::with_capacity(schedule.steps.len());
    let loc_id = |addr: Value, locs: &mut Vec<Value>, coherence: &mut Vec<Vec<EventId>>| {
        LocId::new(locs.iter().position(|&a| a == addr).unwrap_or_else(|| {
            locs.push(addr);
            coherence.push(Vec::new());
            locs.len() - 1
        }))
    };

    for (i, &step) in schedule.steps.iter().enumerate() {
        let next = match machine.take(&state, step) {
            Outcome::Next(next) => next,
            Outcome::Blocked | Outcome::Failed(_) => return Err(i),
        };
        match step {
            Step::Commit { thread, addr } => {
                let queue = &mut pending[thread.index()];
                let at = queue.iter().position(|&(a, _)| a == addr).ok_or(i)?;
                let (_, event) = queue.remove(at);
                let loc = loc_id(addr, &mut locs, &mut coherence);
                coherence[loc.index()].push(event);
                event_of.push(Some(event));
            }
            Step::Execute { thread, edge, .. } => {
                let before = &state.threads[thread.index()];
                let after = &next.threads[thread.index()];
                let id = EventId::new(events.len());
                let mut from = None;
                let op = match &program.edge(thread, before.point, edge as usize).instr {
                    Instr::Load { reg, addr } => {
                        let addr = addr.eval(&before.regs).map_err(|_| i)?;
                        let loc = loc_id(addr, &mut locs, &mut coherence);
                        let own = pending[thread.index()].iter().rev().find(|&&(a, _)| a == addr);
                        from =
                            own.map(|&(_, e)| e).or_else(|| coherence[loc.index()].last().copied());
                        Some(Op::Read { loc, value: after.regs[reg.index()] })
                    }
                    Instr::Store { addr, value } => {
                        let addr = addr.eval(&before.regs).map_err(|_| i)?;
                        let value = value.eval(&before.regs).map_err(|_| i)?;
                        let loc = loc_id(addr, &mut locs, &mut coherence);
                        if after.buffer.last() == Some(&Entry::Store { addr, value })
                            && after.buffer.len() > before.buffer.len()
                        {
                            pending[thread.index()].push((addr, id));
                        } else {
                            coherence[loc.index()].push(id);
                        }
                        Some(Op::Write { loc, value })
                    }
                    Instr::Update { addr, .. } => {
                        let addr = addr.eval(&before.regs).map_err(|_| i)?;
                        let loc = loc_id(addr, &mut locs, &mut coherence);
                        from = coherence[loc.index()].last().copied();
                        coherence[loc.index()].push(id);
                        let old = state.memory.get(&addr).copied().unwrap_or(0);
                        Some(Op::Update { loc, old, new: next.memory[&addr] })
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
                    events.push(Event { thread, op });
                    reads_from.push(from);
                    id
                }));
            }
        }
        state = next;
    }
    let execution = Execution { history: History { events, reads_from }, coherence };
    Ok(Recording { end: state, execution, event_of })
}
