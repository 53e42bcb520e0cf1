//! The runs that show that a program is not robust, and the pairs of accesses that they name.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use weakspot_core::cycle::{Link, sc_cycle};
use weakspot_core::machine::Machine;
use weakspot_core::testing::{Size, check_programs};
use weakspot_core::{Drain, Evidence, Limits, Model, Program, Silent, record};
use weakspot_explore::{Decide, robust};

const LIMITS: Limits = Limits {
    time: Some(Duration::from_secs(60)),
    memory: None,
    buffer: 4,
    workers: 1,
    ..Limits::UNLIMITED
};
const WEAK: [Model; 3] = [Model::Tso, Model::Pso(Drain::All), Model::Pso(Drain::Own)];

/// Whether the pair is on the plainest cycle, in program order, and took effect the other way.
fn names_its_pair(program: &Program, model: Model, violations: &AtomicUsize) -> bool {
    let Ok(answer) = robust(program, model, Decide::Pending, &LIMITS, &mut Silent) else {
        return false;
    };
    let (Some(Evidence::Run(run)), Some(pair)) = (&answer.evidence, answer.reordered) else {
        return answer.reordered.is_none();
    };
    violations.fetch_add(1, Ordering::Relaxed);
    let Ok(recording) = record(Machine { program, model }, run) else { return false };
    let (store, access) = (recording.event_of[pair.store], recording.event_of[pair.access]);
    let (Some(store), Some(access)) = (store, access) else { return false };
    let effect = |event| recording.event_of.iter().rposition(|&e| e == Some(event));
    let cycle = sc_cycle(&recording.execution).unwrap_or_default();
    pair.store < pair.access
        && effect(store) > effect(access)
        && cycle.iter().any(|a| a.link == Link::Po && (a.from, a.to) == (store, access))
}

#[test]
fn every_violation_names_a_reordered_pair_on_its_cycle() {
    let violations = AtomicUsize::new(0);
    let size = Size { threads: 3, instrs: 5, total: 10, locs: 3, loops: false };
    check_programs(700_000, 1_500, size, &WEAK, &|program, model| {
        !names_its_pair(program, model, &violations)
    });
    assert!(violations.into_inner() > 250);
}
