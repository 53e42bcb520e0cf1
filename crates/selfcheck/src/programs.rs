//! Programs: whatever can answer a question about them.

use std::collections::BTreeSet;
use std::time::Duration;

use weakspot_core::testing::Rng;
use weakspot_core::{
    Certification, Drain, Fence, FenceCosts, Goal, Limits, Model, Program, Value, Verdict,
    reference,
};
use weakspot_explore::{
    Algorithm, Decide, FenceQuestion, NoAnswer, Strategy, Which, fences, monitored, outcomes,
    reach, robust,
};
use weakspot_lang::patch::patches;
use weakspot_lang::{Format, parse};

use crate::statements::{Shape, Text};
use crate::{Disagreement, Stop, Subject, Until};

const MODELS: [Model; 4] = [Model::Sc, Model::Tso, Model::Pso(Drain::All), Model::Pso(Drain::Own)];

/// What is done by brute force has at most so many states, or executions.
const STATES: usize = 20_000;
const CANDIDATES: usize = 2_000;

/// All questions about a random program.
pub(crate) fn check(rng: &mut Rng, compared: &mut u64, stop: Stop<'_>) -> Option<Disagreement> {
    let loops = rng.one_in(4);
    let shape = Shape { threads: 3, statements: 8, loops, waits: rng.one_in(4) };
    let text = Text::random(rng, shape);
    let what = disagreement(&text, compared, stop)?;
    let fails = |text: &Text| disagreement(text, &mut 0, stop).is_some();
    let text = text.shrunk(&fails);
    let what = disagreement(&text, &mut 0, stop).unwrap_or(what);
    let commands = ["litmus", "reach", "robust", "fence"];
    Some(Disagreement {
        subject: Subject::Programs,
        round: 0,
        what,
        files: vec![("weak", text.weak())],
        commands: commands.map(|command| format!("weakspot {command} FILE.weak")).to_vec(),
    })
}

/// What is wrong with the answers about a program, if anything is.
fn disagreement(text: &Text, compared: &mut u64, stop: Stop<'_>) -> Option<String> {
    questions(&text.weak(), compared, stop).err()
}

fn questions(text: &str, compared: &mut u64, stop: Stop<'_>) -> Result<(), String> {
    let parsed = parse(Format::Weak, text).map_err(|why| format!("refused: {}", why.message))?;
    let program = &parsed.program;
    let axioms = reference::axiomatic_outcomes(program, &MODELS, CANDIDATES);
    let robust_by_axioms = reference::robust(program, &MODELS, CANDIDATES);
    let mut sc = None;
    for (i, model) in MODELS.into_iter().enumerate() {
        let states = final_states(program, model, compared, stop)?;
        let Some(states) = states else { continue };
        if let Some(axioms) = &axioms {
            *compared += 1;
            if axioms[i] != states {
                return Err(format!("{model}: final states are not those of the axioms"));
            }
        }
        reachability(program, model, &states, compared, stop)?;
        if model == Model::Sc {
            sc = Some(states);
            continue;
        }
        let by_axioms = robust_by_axioms.as_ref().map(|robust| robust[i]);
        let is_robust = robustness(program, model, by_axioms, compared, stop)?;
        if let (Some(true), Some(sc)) = (is_robust, &sc) {
            *compared += 1;
            if *sc != states {
                return Err(format!("{model}: robust, but its final states are not those of SC"));
            }
        }
        if is_robust == Some(false) && model != Model::Pso(Drain::Own) {
            fenced(text, model, compared, stop)?;
        }
    }
    Ok(())
}

/// Small questions get small answers; what has loops may take longer than it is worth.
fn limits(workers: usize) -> Limits {
    let time = Some(Duration::from_secs(2));
    Limits { time, memory: Some(256 << 20), buffer: 8, workers, ..Limits::UNLIMITED }
}

/// The final states, by all that finds them; `None` if there are too many.
fn final_states(
    program: &Program,
    model: Model,
    compared: &mut u64,
    stop: Stop<'_>,
) -> Result<Option<BTreeSet<Vec<Value>>>, String> {
    let machine = reference::reachable(program, model, STATES);
    let mut known: Option<(&str, BTreeSet<Vec<Value>>)> =
        machine.map(|all| ("the machine, state by state", all.outcomes));
    for (name, strategy) in [
        ("both searches in turns", Strategy::Auto),
        ("the search by write order", Strategy::WriteOrder),
        ("the search state by state", Strategy::Explicit),
    ] {
        let found = outcomes(program, model, strategy, &limits(1), &mut Until(stop))
            .map_err(|why| format!("{model}: {name} fails: {:?}", why.kind))?;
        if found.stopped.is_some() {
            continue;
        }
        let states = found.set.to_set();
        match &known {
            None => known = Some((name, states)),
            Some((other, expected)) => {
                *compared += 1;
                if states != *expected {
                    return Err(format!("{model}: final states: {name} and {other} differ"));
                }
            }
        }
    }
    Ok(known.map(|(_, states)| states))
}

/// What the program forbids, by every algorithm, against its final states.
fn reachability(
    program: &Program,
    model: Model,
    states: &BTreeSet<Vec<Value>>,
    compared: &mut u64,
    stop: Stop<'_>,
) -> Result<(), String> {
    let Some(condition) = &program.condition else { return Ok(()) };
    let violated = states.iter().any(|row| condition.prop.holds(row));
    let expected = if violated { Verdict::Violated } else { Verdict::Holds };
    for (name, algorithm, workers) in [
        ("auto", Algorithm::Auto, 1),
        ("auto with two workers", Algorithm::Auto, 2),
        ("eager", Algorithm::Eager(Strategy::Auto), 1),
        ("eager with two workers", Algorithm::Eager(Strategy::Auto), 2),
        ("lazy", Algorithm::Lazy, 1),
        ("unroll", Algorithm::Unroll, 1),
        ("dual", Algorithm::Dual, 1),
        ("counters", Algorithm::Counters, 1),
    ] {
        let answer = match reach(program, model, algorithm, &limits(workers), &mut Until(stop)) {
            Ok(answer) => answer,
            Err(NoAnswer::NotApplicable(_)) => continue,
            Err(why) => return Err(format!("{model}: reach by {name}: {why:?}")),
        };
        if matches!(answer.verdict, Verdict::Unknown(_)) {
            continue;
        }
        *compared += 1;
        if answer.verdict != expected {
            let said = &answer.verdict;
            return Err(format!("{model}: reach by {name}: {said:?}, final states: {expected:?}"));
        }
        if answer.certification() == Certification::NotChecked {
            return Err(format!("{model}: reach by {name}: nothing was checked"));
        }
    }
    Ok(())
}

/// Whether the program is robust, by all that can say so; `None` if nobody knows.
fn robustness(
    program: &Program,
    model: Model,
    by_axioms: Option<bool>,
    compared: &mut u64,
    stop: Stop<'_>,
) -> Result<Option<bool>, String> {
    let mut known: Option<(&str, bool)> = by_axioms.map(|robust| ("the axioms", robust));
    let mut agree = |name: &'static str, robust: bool| match known {
        None => {
            known = Some((name, robust));
            Ok(())
        }
        Some((_, other)) if other == robust => {
            *compared += 1;
            Ok(())
        }
        Some((other, _)) => {
            let not = if robust { "robust" } else { "not robust" };
            Err(format!("{model}: {not} by {name}, but not so by {other}"))
        }
    };
    for (name, decide, workers) in [
        ("one search for all pairs", Decide::Pending, 1),
        ("the same with two workers", Decide::Pending, 2),
        ("attacks", Decide::Attack, 1),
    ] {
        let answer = match robust(program, model, decide, &limits(workers), &mut Until(stop)) {
            Ok(answer) => answer,
            Err(NoAnswer::NotApplicable(_)) => continue,
            Err(why) => return Err(format!("{model}: robust by {name}: {why:?}")),
        };
        match answer.verdict {
            Verdict::Unknown(_) => continue,
            _ if answer.certification() == Certification::NotChecked => {
                return Err(format!("{model}: robust by {name}: nothing was checked"));
            }
            ref verdict => agree(name, *verdict == Verdict::Holds)?,
        }
    }
    // Monitors of all executions: of loops they see some.
    let all = Which::Preemptions(64);
    match monitored(program, &[model], all, 10_000, &limits(1), &mut Until(stop)) {
        Ok(seen) if seen.limit.is_none() && seen.cut_off == 0 && !seen.waited => {
            agree("monitors of all executions", seen.models[0].pairs.is_empty())?;
        }
        Ok(_) | Err(NoAnswer::NotApplicable(_)) => {}
        Err(why) => return Err(format!("{model}: monitors: {why:?}")),
    }
    Ok(known.map(|(_, robust)| robust))
}

/// The fences that make the program robust are enough, and none of them can be left out.
fn fenced(text: &str, model: Model, compared: &mut u64, stop: Stop<'_>) -> Result<(), String> {
    let places = patches(Format::Weak, text).map_err(|why| format!("places: {}", why.message))?;
    let costs = FenceCosts { full: 1, store_store: Some(1) };
    let question = FenceQuestion { model, goal: Goal::Robust, costs };
    let found = match fences(&places.places, question, &limits(1), &mut Until(stop)) {
        Ok(found) => found,
        Err(NoAnswer::NotApplicable(_)) => return Ok(()),
        Err(why) => return Err(format!("{model}: fences: {why:?}")),
    };
    let (Some(chosen), true) = (&found.fences, found.optimal) else { return Ok(()) };
    let asked = |chosen: &[weakspot_core::PlacedFence]| {
        let text = places.patched(chosen);
        let parsed =
            parse(Format::Weak, &text).map_err(|why| format!("fenced: {}", why.message))?;
        let answer = robust(&parsed.program, model, Decide::Pending, &limits(1), &mut Until(stop))
            .map_err(|why| format!("{model}: with fences: {why:?}"))?;
        Ok::<Verdict, String>(answer.into_answer().verdict)
    };
    *compared += 1;
    if asked(chosen)? == Verdict::Violated {
        return Err(format!("{model}: not robust with the fences that make it robust"));
    }
    for left_out in 0..chosen.len() {
        let mut fewer = chosen.clone();
        fewer.remove(left_out);
        *compared += 1;
        if asked(&fewer)? == Verdict::Holds {
            let kind = if chosen[left_out].kind == Fence::Full { "full" } else { "store-store" };
            return Err(format!("{model}: robust without a {kind} fence that was called needed"));
        }
    }
    Ok(())
}
