use serde_json::json;
use weakspot_core::machine::{Entry, Machine, Outcome, Schedule, State as Machined, Step as Taken};
use weakspot_core::testing::{Rng, Size, random_program};
use weakspot_core::{Drain, Model, Names, Program};
use weakspot_report::run_of_schedule;

use super::*;

/// A random run that leaves nothing in buffers, with the states that the machine goes through.
fn random_run(rng: &mut Rng, program: &Program, model: Model) -> (Schedule, Vec<Machined>) {
    let machine = Machine { program, model };
    let init = vec![0; program.locs.len()];
    let mut states = vec![machine.initial_state(&init)];
    let mut steps = Vec::new();
    for i in 0..60 {
        let state = states.last().expect("the first state");
        let mut possible = machine.steps(state);
        if i >= 30 {
            possible.retain(|step| matches!(step, Taken::Commit { .. }));
        }
        if possible.is_empty() {
            break;
        }
        let step = possible[rng.below(possible.len())];
        if let Outcome::Next(next) = machine.take(state, step) {
            states.push(next);
            steps.push(step);
        }
    }
    (Schedule { init, steps }, states)
}

/// What the machine has in memory and buffers, as far as the run shows these locations.
fn shown(state: &Machined, names: &[(String, i64)]) -> State {
    let name = |addr: i64| {
        let known = names.iter().find(|(_, of)| *of == addr);
        known.map_or_else(|| panic!("no name for {addr}"), |(name, _)| name.clone())
    };
    let store = |entry: &Entry| match *entry {
        Entry::Store { addr, value } => Some((addr, value)),
        Entry::Barrier => None,
    };
    let buffer = |buffer: &Vec<Entry>| {
        buffer.iter().filter_map(store).map(|(a, v)| (name(a), v.to_string())).collect()
    };
    State {
        memory: names.iter().map(|(n, a)| (n.clone(), state.memory[a].to_string())).collect(),
        buffers: state.threads.iter().map(|thread| buffer(&thread.buffer)).collect(),
    }
}

fn sorted(mut state: State) -> State {
    state.memory.sort();
    state
}

/// The state after k steps is that of the machine, whether the run says it or the steps do.
#[test]
fn states_are_those_of_the_machine() {
    let mut rng = Rng::new(3);
    let mut waiting = 0;
    for round in 0..400 {
        let size = Size { threads: 3, instrs: 6, total: 14, locs: 3, loops: round % 2 == 0 };
        let program = random_program(&mut rng, size);
        let model = [Model::Sc, Model::Tso, Model::Pso(Drain::All)][rng.below(3)];
        let (schedule, machined) = random_run(&mut rng, &program, model);
        let names = Names {
            threads: (0..program.threads.len()).map(|t| format!("t{t}")).collect(),
            locs: (0..program.locs.len()).map(|l| format!("x{l}")).collect(),
            ..Names::default()
        };
        let run = run_of_schedule(&program, &names, "", model, &schedule).expect("a run");
        let mut run = serde_json::to_value(&run).expect("JSON");
        for given in [true, false] {
            if !given {
                for step in run["steps"].as_array_mut().expect("steps") {
                    let step = step.as_object_mut().expect("a step");
                    step.remove("memory");
                    step.remove("buffers");
                }
            }
            let steps = Steps::of(&json!({ "run": run }), &|_| None).expect("steps");
            assert_eq!(steps.states.len(), machined.len());
            let init = run["init"].as_object().expect("an object");
            // Locations are called by their addresses, which count from 0.
            let names: Vec<(String, i64)> =
                init.keys().map(|name| (name.clone(), name[1..].parse().expect("x0"))).collect();
            for (state, machined) in steps.states.iter().zip(&machined) {
                waiting += state.buffers.iter().filter(|buffer| buffer.len() > 1).count();
                assert_eq!(sorted(state.clone()), sorted(shown(machined, &names)));
            }
        }
    }
    assert!(waiting > 100, "{waiting}");
}

/// Nothing that is in an object makes it panic, and control characters do not reach the terminal.
#[test]
fn strange_objects() {
    assert!(Steps::of(&json!({"file": "a"}), &|_| None).is_err());
    let step = json!({"n": 1, "thread": 7, "kind": "store", "text": "a\u{1b}[2J", "line": 0});
    let run = json!({"threads": [], "steps": [step, 3, null]});
    let steps = Steps::of(&json!({"violations": [{"failure": {"run": run}}]}), &|_| None);
    let steps = steps.expect("steps");
    assert_eq!(steps.steps.len(), 3);
    assert!(!crate::as_text(&steps).contains('\u{1b}'));
}
