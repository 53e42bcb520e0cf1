//! From an SC run and one of its stores to a run of the machine in which that store is late. The
//! searches for violations give such runs; they are what is shown and checked.

use std::collections::BTreeSet;

use weakspot_core::machine::{Machine, Outcome, Schedule, State, Step};
use weakspot_core::{Fence, Instr, Limit, Model, PlaceEdge, Program, ThreadId, Value};

use crate::robust::Reordered;

/// The run under `model` in which the store of step `store` of the SC run `sc` is held back until
/// the end, with it what cannot overtake it, and the stores of the steps `also`.
pub(crate) fn delay(
    program: &Program,
    model: Model,
    sc: &Schedule,
    store: usize,
    also: &[usize],
) -> Option<(Schedule, Reordered)> {
    let machine = Machine { program, model };
    let mut state = machine.initial_state(&sc.init);
    let mut steps = Vec::new();
    let mut reordered = Reordered { store: 0, access: 0 };
    let Step::Execute { thread: delayer, .. } = sc.steps[store] else { return None };
    let mut held: BTreeSet<Value> = BTreeSet::new();
    // Who has what to commit at the end, in the order in which it was issued.
    let mut late: Vec<(ThreadId, Value)> = Vec::new();
    let mut fenced = false;
    let mut take = |state: &mut State, step| match machine.take(state, step) {
        Outcome::Next(next) => {
            *state = next;
            steps.push(step);
            Some(steps.len() - 1)
        }
        Outcome::Blocked | Outcome::Failed(_) => None,
    };
    for (i, &step) in sc.steps.iter().enumerate() {
        let Step::Execute { thread, edge, .. } = step else { return None };
        let local = &state.threads[thread.index()];
        let instr = program.edge(thread, local.point, edge as usize).instr.clone();
        let regs = local.regs.clone();
        let at = take(&mut state, step)?;
        let later = thread == delayer && i > store;
        match instr {
            Instr::Store { addr, .. } => {
                let addr = addr.eval(&regs).ok()?;
                let meets = || held.iter().any(|&h| program.addresses_overlap(h, addr));
                let holds = i == store || later && (model == Model::Tso || fenced || meets());
                if i == store {
                    reordered.store = at;
                }
                if holds {
                    held.insert(addr);
                    late.push((thread, addr));
                } else if also.contains(&i) {
                    late.push((thread, addr));
                } else {
                    reordered.access = if later { at } else { reordered.access };
                    take(&mut state, Step::Commit { thread, addr })?;
                }
            }
            Instr::Load { .. } | Instr::Update { .. } if later => reordered.access = at,
            Instr::Fence(Fence::StoreStore) if later => fenced = matches!(model, Model::Pso(_)),
            _ => {}
        }
    }
    for (thread, addr) in late {
        take(&mut state, Step::Commit { thread, addr })?;
    }
    Some((Schedule { init: sc.init.clone(), steps }, reordered))
}

/// What a search found.
pub(crate) struct Pairs {
    pub(crate) pairs: Vec<Pair>,
    pub(crate) limit: Option<Limit>,
    pub(crate) states: u64,
}

/// A pair with its run under the model.
pub(crate) struct Pair {
    pub(crate) store: PlaceEdge,
    pub(crate) access: PlaceEdge,
    pub(crate) run: Schedule,
}
