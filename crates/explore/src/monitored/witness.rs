//! From a report about an SC execution of a program to a run of the machine under the model that SC
//! does not have: the same steps, but the store reaches memory only after the access.

use weakspot_core::machine::{Machine, Outcome, Schedule, State, Step};
use weakspot_core::{Instr, Model, Program, ThreadId};

use crate::robust::overtakings::delayed_run;

/// How many steps are tried to get to the end of a block.
const MOST: usize = 10_000;

/// The run for the SC run `sc`, whose last step is the access and whose step `store` is the store
/// that it overtakes.
pub(super) fn run(
    program: &Program,
    model: Model,
    sc: &Schedule,
    store: usize,
) -> Option<Schedule> {
    let Some(lock) = open_lock(program, sc) else {
        return delayed_run(program, model, sc, store);
    };
    // The block may do something else when it does not see the store: try its ways to its end.
    let before = Schedule { init: sc.init.clone(), steps: sc.steps[..lock].to_vec() };
    let Some(&Step::Execute { thread, .. }) = sc.steps.get(lock) else { return None };
    let machine = Machine { program, model: Model::Sc };
    let (state, old) = without_store(program, model, &before, store)?;
    let mut todo = vec![(state, before.steps)];
    let mut tried = 0;
    while let Some((state, steps)) = todo.pop() {
        for step in machine.steps(&state).into_iter().rev() {
            tried += 1;
            let Outcome::Next(mut next) = machine.take(&state, step) else { continue };
            let own = matches!(step, Step::Execute { thread: t, .. } if t == thread);
            let enters = steps.len() == lock;
            if !own || enters && step != sc.steps[lock] || tried > MOST {
                continue;
            }
            if enters {
                next.memory.extend(old.iter().copied());
            }
            let steps: Vec<Step> = steps.iter().copied().chain([step]).collect();
            if next.lock.is_some() {
                todo.push((next, steps));
            } else if let Some(run) =
                delayed_run(program, model, &Schedule { init: sc.init.clone(), steps }, store)
            {
                return Some(run);
            }
        }
    }
    None
}

/// Whether the last step of an SC run is inside of an atomic block.
pub(super) fn inside_block(program: &Program, sc: &Schedule) -> bool {
    open_lock(program, sc).is_some()
}

/// The step that began the atomic block in which an SC run ends.
fn open_lock(program: &Program, sc: &Schedule) -> Option<usize> {
    let machine = Machine { program, model: Model::Sc };
    let mut state = machine.initial_state(&sc.init);
    let mut lock = None;
    for (i, &step) in sc.steps.iter().enumerate() {
        let Outcome::Next(next) = machine.take(&state, step) else { return None };
        if next.lock.is_none() {
            lock = None;
        } else if state.lock.is_none() {
            lock = Some(i);
        }
        state = next;
    }
    lock
}

/// Addresses with what they hold.
type Cells = Vec<(weakspot_core::Value, weakspot_core::Value)>;

/// Where an SC run ends, and what memory held at the addresses of the store and of those that
/// cannot overtake it before they were made.
fn without_store(
    program: &Program,
    model: Model,
    sc: &Schedule,
    store: usize,
) -> Option<(State, Cells)> {
    let machine = Machine { program, model: Model::Sc };
    let mut state = machine.initial_state(&sc.init);
    let mut old: Cells = Vec::new();
    let mut delayer = None::<ThreadId>;
    let mut fenced = false;
    for (i, &step) in sc.steps.iter().enumerate() {
        let Step::Execute { thread, edge, .. } = step else { return None };
        let local = &state.threads[thread.index()];
        let own = delayer == Some(thread);
        match &program.edge(thread, local.point, edge as usize).instr {
            Instr::Store { addr, .. } if i == store || own => {
                let addr = addr.eval(&local.regs).ok()?;
                let known = old.iter().any(|&(a, _)| a == addr);
                if !known && (i == store || model == Model::Tso || fenced) {
                    old.push((addr, state.memory.get(&addr).copied().unwrap_or(0)));
                }
                delayer = Some(thread);
            }
            Instr::Fence(weakspot_core::Fence::StoreStore) if own => fenced = true,
            _ => {}
        }
        let Outcome::Next(next) = machine.take(&state, step) else { return None };
        state = next;
    }
    Some((state, old))
}
