//! Why no run ends with certain values, compared with what the machine reaches.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use weakspot_core::axioms::Axiom;
use weakspot_core::cycle::Arc;
use weakspot_core::testing::{Size, check_programs};
use weakspot_core::why_not::{Forbidden, NoReason, WhyNot, why_not};
use weakspot_core::{Model, Program, Value, reference};

const SMALL: Size = Size { threads: 3, instrs: 4, total: 7, locs: 2, loops: false };

/// Every state over the values that some model reaches, and over one that nobody writes.
fn states(columns: &[BTreeSet<Value>]) -> Vec<Vec<Value>> {
    let mut states = vec![Vec::new()];
    for column in columns {
        let values: Vec<Value> = column.iter().copied().chain([77]).collect();
        let with = |state: &Vec<Value>| -> Vec<Vec<Value>> {
            values.iter().map(|&value| [&state[..], &[value]].concat()).collect()
        };
        states = states.iter().flat_map(with).collect();
    }
    states
}

/// What is no cycle: nothing, and, if there is no shorter one, one step to and fro.
fn altered(forbidden: &Forbidden) -> Vec<Forbidden> {
    let with = |cycle| Forbidden { cycle, ..forbidden.clone() };
    let mut wrong = vec![with(vec![])];
    if forbidden.length() > 2 {
        let there = forbidden.cycle[0];
        wrong.push(with(vec![there, Arc { from: there.to, to: there.from, ..there }]));
    }
    wrong
}

#[test]
fn reasons_agree_with_the_machine() {
    let [cycles, incoherent, no_candidate] = [const { AtomicUsize::new(0) }; 3];
    let count = |counter: &AtomicUsize| counter.fetch_add(1, Ordering::Relaxed);
    check_programs(0, 250, SMALL, &Model::ALL, &|program: &Program, model| {
        let reached = |model| reference::reachable(program, model, 100_000).map(|r| r.outcomes);
        let (Some(here), Some(weakest)) = (reached(model), reached(Model::ALL[3])) else {
            return false;
        };
        let mut columns = vec![BTreeSet::new(); program.observed.len()];
        for row in &weakest {
            row.iter().zip(&mut columns).for_each(|(&value, column)| {
                column.insert(value);
            });
        }
        states(&columns).iter().step_by(3).take(12).any(|state| {
            let wanted: Vec<(usize, Value)> = state.iter().copied().enumerate().collect();
            match why_not(program, model, &wanted, 2_000, &mut |_| true) {
                Err(NoReason::TooLarge) => false,
                Err(NoReason::Allowed) => !here.contains(state),
                Ok(WhyNot::Cycle(forbidden)) => {
                    count(&cycles);
                    if forbidden.axiom == Axiom::Coherence {
                        count(&incoherent);
                    }
                    here.contains(state)
                        || !forbidden.is_cycle_of(model)
                        || altered(&forbidden).iter().any(|wrong| wrong.is_cycle_of(model))
                        || forbidden.incoherent > forbidden.candidates
                        || forbidden.edges.len() != forbidden.execution.events.len()
                }
                Ok(WhyNot::NoCandidate { components, instead }) => {
                    count(&no_candidate);
                    let has = |row: &Vec<Value>| components.iter().all(|&c| row[c] == state[c]);
                    let others = |row: &Vec<Value>| match components[..] {
                        [one] => instead.contains(&row[one]),
                        _ => true,
                    };
                    components.is_empty() || weakest.iter().any(|r| has(r) || !others(r))
                }
            }
        })
    });
    let counts = [cycles, incoherent, no_candidate].map(AtomicUsize::into_inner);
    assert!(counts.iter().all(|&n| n >= 100), "too few of a kind: {counts:?}");
}
