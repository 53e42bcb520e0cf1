//! What a program asks, the plainest run that shows a violation of it, and what the answer under one model says about
//! another.

use weakspot_core::certify;
use weakspot_core::machine::{Machine, Schedule};
use weakspot_core::{Drain, Evidence, Instr, Limits, Model, Program, Quantifier, Verdict};
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

/// Whether what holds in all runs of a weaker memory, holds in all of a stronger one, which are among them. That there
/// is a final state of some kind does not.
#[must_use]
pub fn is_about_all_runs(program: &Program) -> bool {
    program.condition.as_ref().is_none_or(|asked| asked.quantifier != Quantifier::Exists)
}

/// The first model under which it holds and whose runs include those of `model`, under which it is not known.
pub fn implied_by<'a>(
    model: Model,
    verdict: &Verdict,
    others: impl IntoIterator<Item = (Model, &'a Verdict)>,
) -> Option<Model> {
    let rank = |model: Model| match model {
        Model::Sc => 0,
        Model::Tso => 1,
        Model::Pso(Drain::All) => 2,
        Model::Pso(Drain::Own) => 3,
    };
    let weaker =
        |&(other, holds): &(Model, &Verdict)| *holds == Verdict::Holds && rank(other) > rank(model);
    let unknown = matches!(verdict, Verdict::Unknown(_));
    others.into_iter().filter(|_| unknown).find(weaker).map(|(other, _)| other)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weaker_models_answer_for_stronger_ones() {
        let [holds, open] = [Verdict::Holds, Verdict::Unknown(weakspot_core::Limit::Interrupted)];
        let pso = Model::Pso(Drain::All);
        let all = [(Model::Sc, &open), (Model::Tso, &open), (pso, &holds)];
        assert_eq!(implied_by(Model::Sc, &open, all), Some(pso));
        assert_eq!(implied_by(Model::Tso, &open, all), Some(pso));
        // What is known stays, and a stronger one says nothing.
        assert_eq!(implied_by(Model::Sc, &Verdict::Violated, all), None);
        let strong = [(Model::Sc, &holds), (Model::Tso, &holds), (pso, &open)];
        assert_eq!(implied_by(pso, &open, strong), None);
        assert_eq!(implied_by(Model::Tso, &open, [(Model::Tso, &holds)]), None);
    }

    /// That there is a final state of some kind under a weaker model says nothing about a stronger one.
    #[test]
    fn only_what_is_about_all_runs_is_implied() {
        let test = |asked: &str| {
            let text = format!("X86 t\n{{ }}\n P0 ;\n MOV [x],$1 ;\n{asked} (x=1)\n");
            weakspot_lang::parse(weakspot_lang::Format::Litmus, &text).expect("a test").program
        };
        for (asked, all) in [("exists", false), ("~exists", true), ("forall", true)] {
            assert_eq!(is_about_all_runs(&test(asked)), all, "{asked}");
            assert!(asks_something(&test(asked)));
        }
    }
}
