//! The two meanings of each model agree: on the outcomes of whole programs, and on single runs.

use weakspot_core::machine::{Machine, Outcome, Schedule};
use weakspot_core::testing::{Rng, Size, check_programs, random_program, scaled, shrink};
use weakspot_core::{Instr, Model, Program, Trace, axioms, record, reference};

const SMALL: Size = Size { threads: 3, instrs: 4, total: 8, locs: 3, loops: false };

#[test]
fn same_outcomes() {
    let compared = std::sync::atomic::AtomicUsize::new(0);
    check_programs(0, scaled(24_000), SMALL, &[Model::Sc], &|program, _| {
        let Some(by_axioms) = reference::axiomatic_outcomes(program, &Model::ALL, 3_000) else {
            return false;
        };
        compared.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Model::ALL.iter().zip(by_axioms).any(|(&model, axiomatic)| {
            let operational = reference::reachable(program, model, 1_000_000);
            operational.is_none_or(|r| r.outcomes != axiomatic)
        })
    });
    let compared = compared.into_inner();
    assert!(compared >= scaled(20_000), "only {compared} programs were small enough to compare");
}

#[test]
fn the_models_are_ordered_and_differ() {
    let mut differ = [0; 3];
    for seed in 0..scaled(8_000) as u64 {
        let program = random_program(&mut Rng::new(seed), SMALL);
        let sets: Vec<_> = Model::ALL
            .iter()
            .map(|&m| reference::reachable(&program, m, 1_000_000).expect("small").outcomes)
            .collect();
        for i in 0..3 {
            assert!(sets[i].is_subset(&sets[i + 1]), "seed {seed}, {:?}", Model::ALL[i]);
            differ[i] += usize::from(sets[i] != sets[i + 1]);
        }
    }
    assert!(
        differ.iter().all(|&n| n >= scaled(80)),
        "programs that tell neighbours apart: {differ:?}"
    );
}

#[test]
fn recorded_runs_satisfy_the_axioms() {
    let large = Size { threads: 4, instrs: 10, total: 30, locs: 4, loops: false };
    for seed in 0..scaled(16_000) as u64 {
        let mut rng = Rng::new(seed);
        let program = random_program(&mut rng, large);
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
            assert_eq!(recording.end, state);
            assert_eq!(axioms::check(model, &recording.execution), Ok(()), "seed {seed}, {model}");
            if model == Model::Sc {
                // Under SC the order of the events says everything.
                let mut execution = recording.execution;
                let trace = Trace { events: execution.events.clone() };
                let mut derived = trace.execution();
                derived.coherence.resize(program.locs.len(), Vec::new());
                execution.coherence.truncate(program.locs.len());
                assert_eq!(derived, execution, "seed {seed}");
            }
        }
    }
}

/// The shrinker leaves nothing that could go: a program on which TSO and SC differ comes down to
/// store buffering, two stores and two loads.
#[test]
fn shrinking_leaves_the_core_of_a_difference() {
    let differs = |p: &Program| {
        let outcomes = |m| reference::reachable(p, m, 100_000).map(|r| r.outcomes);
        outcomes(Model::Sc) != outcomes(Model::Tso)
    };
    let mut shrunk = 0;
    for seed in 0..400 {
        let program = random_program(&mut Rng::new(seed), SMALL);
        if !differs(&program) {
            continue;
        }
        shrunk += 1;
        let small = shrink(&program, &differs);
        assert!(differs(&small));
        let edges = small.threads.iter().flat_map(|t| &t.points).flat_map(|p| &p.edges);
        let left = edges.filter(|e| e.instr != Instr::Nop).count();
        assert!((3..=6).contains(&left), "seed {seed}: {left} instructions are left");
    }
    assert!(shrunk >= 10, "only {shrunk} programs differ");
}
