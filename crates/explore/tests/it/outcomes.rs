//! Both searches against the brute-force reference, and every run that they give replayed.

use std::time::Duration;

use weakspot_core::machine::Machine;
use weakspot_core::testing::{Rng, Size, check_programs, random_program, scaled, show};
use weakspot_core::{Limits, Model, Program, Silent, Verdict, certify, reference};
use weakspot_explore::{Algorithm, Strategy, outcomes, reach};

const LIMITS: Limits = Limits {
    time: Some(Duration::from_secs(60)),
    memory: None,
    buffer: 4,
    workers: 1,
    ..Limits::UNLIMITED
};

/// Both strategies find exactly the reference's outcomes, and a run to each of them.
pub(crate) fn differs(program: &Program, model: Model) -> bool {
    let Some(reference) = reference::reachable(program, model, 200_000) else { return false };
    [Strategy::WriteOrder, Strategy::Explicit].iter().any(|&strategy| {
        let found = outcomes(program, model, strategy, &LIMITS, &mut Silent);
        let Ok(mut found) = found else { return true };
        let set = found.set.to_set();
        set != reference.outcomes
            || found.stopped.is_some()
            || reaches(program, model, strategy) != Some(reference.forbidden)
            || set.iter().take(20).any(|outcome| {
                let machine = Machine { program, model };
                found.run_to(outcome).is_none_or(|run| {
                    !certify::replay(machine, &run).is_ok_and(|end| {
                        machine.is_final(&end) && machine.observe(&end) == *outcome
                    })
                })
            })
    })
}

/// Whether a forbidden state is found; `None` if there is no certified answer.
fn reaches(program: &Program, model: Model, strategy: Strategy) -> Option<bool> {
    let answer = reach(program, model, Algorithm::Eager(strategy), &LIMITS, &mut Silent).ok()?;
    match answer.verdict {
        Verdict::Holds => Some(false),
        Verdict::Violated => Some(true),
        Verdict::Unknown(_) => None,
    }
}

#[test]
fn straight_programs_agree_with_the_reference() {
    let size = Size { threads: 3, instrs: 6, total: 12, locs: 3, loops: false };
    check_programs(1_000_000, scaled(2_500), size, &Model::ALL, &|program, model| {
        let mut program = program.clone();
        add_forbidden(&mut program);
        differs(&program, model)
    });
}

#[test]
fn four_threads_agree_with_the_reference() {
    let size = Size { threads: 4, instrs: 4, total: 10, locs: 3, loops: false };
    check_programs(2_000_000, scaled(1_500), size, &Model::ALL, &differs);
}

/// Forbids a combination of points in the middle of the threads, taken from the program itself so
/// that the shrinker keeps it.
fn add_forbidden(program: &mut Program) {
    let middle = |t: &weakspot_core::Thread| weakspot_core::PointId::new(t.points.len() / 2);
    program.forbidden = vec![program.threads.iter().map(|t| Some(middle(t))).collect()];
}

/// Programs with loops: under SC, where buffers cannot grow, the reference is exact whenever
/// values stay finite; under TSO and PSO the searches must agree with each other and, where the
/// reference ends, with it.
#[test]
fn loops_agree() {
    let size = Size { threads: 2, instrs: 6, total: 10, locs: 2, loops: true };
    let limits = Limits {
        time: Some(Duration::from_millis(50)),
        memory: None,
        buffer: 3,
        workers: 1,
        ..Limits::UNLIMITED
    };
    let (mut exact, mut compared) = (0, 0);
    for seed in 0..scaled(2_000) as u64 {
        let program = random_program(&mut Rng::new(3_000_000 + seed), size);
        for model in Model::ALL {
            let sets: Vec<_> = [Strategy::WriteOrder, Strategy::Explicit]
                .iter()
                .map(|&s| {
                    let small = Limits { memory: Some(1 << 16), ..limits };
                    let found = outcomes(&program, model, s, &small, &mut Silent);
                    found.expect("addresses are always good")
                })
                .collect();
            let timed_out =
                |l: &weakspot_core::Limit| !matches!(l, weakspot_core::Limit::Buffer { .. });
            if sets.iter().any(|s| s.stopped.as_ref().is_some_and(timed_out)) {
                continue;
            }
            compared += 1;
            let text = show(&program);
            assert_eq!(
                sets[0].set.to_set(),
                sets[1].set.to_set(),
                "seed {seed}, {model:?}\n{text}"
            );
            assert_eq!(sets[0].stopped.is_some(), sets[1].stopped.is_some(), "seed {seed}");
            if sets[0].stopped.is_none()
                && let Some(reference) = reference::reachable(&program, model, 5_000)
            {
                exact += 1;
                assert_eq!(
                    sets[0].set.to_set(),
                    reference.outcomes,
                    "seed {seed}, {model:?}\n{text}"
                );
            }
        }
    }
    assert!(
        exact > scaled(2_000) && compared > scaled(4_000),
        "{exact} exact, {compared} compared"
    );
}
