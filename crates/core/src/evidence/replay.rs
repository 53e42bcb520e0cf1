//! Runs of the machine, step by step.

use crate::evidence::rejected::Rejected;
use crate::machine::{Machine, Schedule, State};

/// The state in which a run ends, if the machine allows each of its steps.
pub fn replay(machine: Machine<'_>, schedule: &Schedule) -> Result<State, Rejected> {
    let locs = &machine.program.locs;
    let allowed = schedule.init.len() == locs.len()
        && locs.iter().zip(&schedule.init).all(|(l, v)| l.init.contains(v));
    if !allowed {
        return Err(Rejected::Start);
    }
    let mut state = machine.initial_state(&schedule.init);
    for (i, &step) in schedule.steps.iter().enumerate() {
        if machine.advance(&mut state, step) != Ok(true) {
            return Err(Rejected::Step(i));
        }
    }
    Ok(state)
}
