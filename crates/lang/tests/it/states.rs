//! The states that the machine of the core crate reaches, with buffers that are bounded so that
//! programs with loops have finitely many.

use std::collections::HashSet;

use weakspot_core::machine::{Machine, Outcome, State};
use weakspot_core::{Model, Program};

/// No buffer grows longer than this, which is enough for programs of the size of these tests.
const BUFFER: usize = 4;

/// The states that can be reached.
pub(crate) fn states(program: &Program, model: Model) -> HashSet<State> {
    let machine = Machine { program, model };
    let mut open = machine.initial_states();
    let mut seen: HashSet<State> = open.iter().cloned().collect();
    while let Some(state) = open.pop() {
        for step in machine.steps(&state) {
            let next = match machine.take(&state, step) {
                Outcome::Next(next) => next,
                Outcome::Blocked => continue,
                Outcome::Failed(failure) => panic!("{failure:?}"),
            };
            let fits = next.threads.iter().all(|local| local.buffer.len() <= BUFFER);
            if fits && seen.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    seen
}
