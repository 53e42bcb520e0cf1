//! Accesses that overlap: the machine against the axioms, and recorded runs against the axioms. The
//! machine against bytes is in the tests of `explore`, on litmus tests.

use weakspot_core::machine::{Machine, Outcome, Schedule};
use weakspot_core::testing::{Rng, Size, random_wide_program, scaled, show, shrink};
use weakspot_core::{Model, Program, axioms, record, reference};

const SMALL: Size = Size { threads: 3, instrs: 4, total: 7, locs: 3, loops: false };

#[test]
fn machine_and_axioms_agree() {
    let mut compared = 0;
    let fails = |program: &Program| {
        let by_axioms = reference::axiomatic_outcomes(program, &Model::ALL, 1_000)?;
        let differs = |(&model, axiomatic)| {
            let operational = reference::reachable(program, model, 1_000_000);
            operational.is_none_or(|r| r.outcomes != axiomatic)
        };
        Some(Model::ALL.iter().zip(by_axioms).any(differs))
    };
    for seed in 0..scaled(6_000) as u64 {
        let program = random_wide_program(&mut Rng::new(seed), SMALL);
        match fails(&program) {
            None => {}
            Some(false) => compared += 1,
            Some(true) => {
                let small = shrink(&program, &|p| fails(p) == Some(true));
                panic!("seed {seed}:\n{}", show(&small));
            }
        }
    }
    assert!(compared >= scaled(3_000), "only {compared} programs were small enough");
}

#[test]
fn recorded_runs_satisfy_the_axioms() {
    let large = Size { threads: 4, instrs: 8, total: 24, locs: 4, loops: false };
    let mut not_sc = 0;
    for seed in 0..scaled(2_000) as u64 {
        let mut rng = Rng::new(seed);
        let program = random_wide_program(&mut rng, large);
        for model in Model::ALL {
            let machine = Machine { program: &program, model };
            let mut state = machine.initial_states().remove(0);
            let mut schedule = Schedule { init: vec![0; program.locs.len()], steps: Vec::new() };
            loop {
                let mut steps = machine.steps(&state);
                let next = loop {
                    if steps.is_empty() {
                        break None;
                    }
                    let step = steps.swap_remove(rng.below(steps.len()));
                    if let Outcome::Next(next) = machine.take(&state, step) {
                        break Some((step, next));
                    }
                };
                let Some((step, next)) = next else { break };
                schedule.steps.push(step);
                state = next;
            }
            assert!(machine.is_final(&state), "seed {seed}: a run is stuck");
            let recording = record(machine, &schedule).expect("a run that was just made");
            assert_eq!(axioms::check(model, &recording.execution), Ok(()), "seed {seed}, {model}");
            let cycle = weakspot_core::cycle::sc_cycle(&recording.execution);
            assert_eq!(cycle.is_none(), axioms::allows(Model::Sc, &recording.execution));
            not_sc += usize::from(cycle.is_some());
        }
    }
    assert!(not_sc >= scaled(150), "only {not_sc} runs are not SC");
}
