//! What a program asks, and the plainest run that shows a violation of it.

use weakspot_core::certify;
use weakspot_core::machine::{Machine, Schedule};
use weakspot_core::{Evidence, Instr, Limits, Model, Program};
use weakspot_explore::{Algorithm, reach};

use crate::pool::Listener;

/// Whether a program asks anything.
#[must_use]
pub fn asks_something(program: &Program) -> bool {
    let points = program.threads.iter().flat_map(|t| &t.points);
    let mut edges = points.flat_map(|p| &p.edges);
    program.condition.is_some()
        || !program.forbidden.is_empty()
        || edges.any(|e| matches!(e.instr, Instr::Assert(_)))
}

/// A violation that SC has, too, is explained best without delays. To find that out may take
/// some work, but not much.
#[must_use]
pub fn plainest(program: &Program, model: Model, run: &Schedule, limits: &Limits) -> Schedule {
    if model == Model::Sc {
        return run.clone();
    }
    let limits = Limits { memory: Some(8 << 20), ..*limits };
    let sc = reach(program, Model::Sc, Algorithm::Auto, &limits, &mut Listener::new());
    match sc.map(|found| found.into_answer().evidence) {
        Ok(Some(Evidence::Run(sc))) => {
            // An assertion fails in the last step, which then has no state behind it.
            let (steps, last) = match certify::replay(Machine { program, model: Model::Sc }, &sc) {
                Ok(_) => (sc.steps.clone(), None),
                Err(_) => (sc.steps[..sc.steps.len() - 1].to_vec(), sc.steps.last().copied()),
            };
            let plain =
                Schedule { init: sc.init.clone(), steps }.committing_at_once(program, model);
            plain.map_or(run.clone(), |mut plain| {
                plain.steps.extend(last);
                plain
            })
        }
        _ => run.clone(),
    }
}
