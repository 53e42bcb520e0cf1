//! The checker of evidence. It knows the machine of [`machine`](crate::machine) and nothing of
//! the engines; a verdict that it rejects is never shown to a user as an answer.

pub use crate::execution::delayed::delayed;
pub use crate::history::{history, history_ways, search_history};
pub use crate::serial::{search_trace, search_transactions, trace, transactions};
pub use crate::transactional::{search_transactional, transactional};

pub use crate::evidence::in_order::keeps_order;
pub use crate::evidence::inductive::{
    Over, Shows, StateSet, can_show, inductive, inductive_while, inductive_within, reached,
};
pub use crate::evidence::rejected::Rejected;
pub use crate::evidence::replay::replay;

pub use crate::evidence::abstraction::FAR_COUNTER;
use crate::evidence::abstraction::{self, Abstraction};
use crate::evidence::reference::GoOn;
use crate::machine::{FailureKind, Machine, Outcome, Schedule};
use crate::{
    Condition, Evidence, Model, Program, Quantifier, Verdict, axioms, record, reference,
    triangular_race,
};

/// Which final state decides the program's condition as `verdict` says: one that satisfies the
/// proposition (`Some(true)`), one that does not (`Some(false)`), or none (`None`: it takes all
/// of them).
#[must_use]
pub fn decisive(quantifier: Quantifier, verdict: &Verdict) -> Option<bool> {
    match (quantifier, verdict) {
        (Quantifier::Exists, Verdict::Holds) | (Quantifier::NotExists, Verdict::Violated) => {
            Some(true)
        }
        (Quantifier::Forall, Verdict::Violated) => Some(false),
        _ => None,
    }
}

/// Checks the evidence for a verdict on the program's condition: a run is replayed step by step;
/// a claim of completeness is only checked for being the right kind of claim (see [`search`]).
pub fn condition(
    program: &Program,
    model: Model,
    verdict: &Verdict,
    evidence: &Evidence,
) -> Result<(), Rejected> {
    let condition = program.condition.as_ref().ok_or(Rejected::NoQuestion)?;
    match (decisive(condition.quantifier, verdict), evidence) {
        (Some(wanted), Evidence::Run(schedule)) => {
            let machine = Machine { program, model };
            let end = replay(machine, schedule)?;
            if !machine.is_final(&end) {
                return Err(Rejected::NotFinal);
            }
            match condition.prop.holds(&machine.observe(&end)) == wanted {
                true => Ok(()),
                false => Err(Rejected::WrongState),
            }
        }
        (None, Evidence::Exhausted { .. }) => Ok(()),
        _ => Err(Rejected::WrongKind),
    }
}

/// Checks the evidence for a verdict on what the program forbids: a run has to end in a forbidden
/// combination of control points, or its last step has to fail an assertion.
pub fn safety(
    program: &Program,
    model: Model,
    verdict: &Verdict,
    evidence: &Evidence,
) -> Result<(), Rejected> {
    match (verdict, evidence) {
        (Verdict::Holds, Evidence::Exhausted { .. }) => Ok(()),
        (Verdict::Violated, Evidence::Run(schedule)) => {
            let machine = Machine { program, model };
            let Some((&last, init)) = schedule.steps.split_last() else {
                let end = replay(machine, schedule)?;
                return reference::is_forbidden(program, &end)
                    .then_some(())
                    .ok_or(Rejected::WrongState);
            };
            let before =
                replay(machine, &Schedule { init: schedule.init.clone(), steps: init.to_vec() })?;
            match machine.take(&before, last) {
                Outcome::Next(end) if reference::is_forbidden(program, &end) => Ok(()),
                Outcome::Failed(f) if f.kind == FailureKind::Assertion => Ok(()),
                Outcome::Blocked => Err(Rejected::Step(init.len())),
                Outcome::Next(_) | Outcome::Failed(_) => Err(Rejected::WrongState),
            }
        }
        _ => Err(Rejected::WrongKind),
    }
}

/// Checks the evidence for a verdict on everything that a program asks: control points,
/// assertions and final states. It is violated if one of them is.
pub fn everything(
    program: &Program,
    model: Model,
    verdict: &Verdict,
    evidence: &Evidence,
) -> Result<(), Rejected> {
    match (verdict, evidence) {
        (
            Verdict::Holds,
            Evidence::Exhausted { .. } | Evidence::Abstracted { .. } | Evidence::Inductive(_),
        ) => Ok(()),
        (Verdict::Violated, _) if program.condition.is_some() => {
            safety(program, model, verdict, evidence)
                .or_else(|_| condition(program, model, verdict, evidence))
        }
        _ => safety(program, model, verdict, evidence),
    }
}

/// Checks the evidence for a verdict on robustness: a run under `model` that ends with empty
/// buffers and whose happens-before relation has a cycle, so that no run under SC does the same.
pub fn robust(
    program: &Program,
    model: Model,
    verdict: &Verdict,
    evidence: &Evidence,
) -> Result<(), Rejected> {
    match (verdict, evidence) {
        (Verdict::Holds, Evidence::Exhausted { .. } | Evidence::Inductive(_)) => Ok(()),
        (Verdict::Violated, Evidence::Run(schedule)) => {
            let machine = Machine { program, model };
            let end = replay(machine, schedule)?;
            if end.threads.iter().any(|local| !local.buffer.is_empty()) {
                return Err(Rejected::NotFinal);
            }
            let recording = record(machine, schedule).map_err(Rejected::Step)?;
            match axioms::allows(Model::Sc, &recording.execution) {
                true => Err(Rejected::AllowedBySc),
                false => Ok(()),
            }
        }
        _ => Err(Rejected::WrongKind),
    }
}

/// Checks the evidence for a verdict on triangular-race freedom: a run under TSO with such a race.
pub fn triangular_race_free(
    program: &Program,
    verdict: &Verdict,
    evidence: &Evidence,
) -> Result<(), Rejected> {
    match (verdict, evidence) {
        (Verdict::Holds, Evidence::Exhausted { .. }) => Ok(()),
        (Verdict::Violated, Evidence::Run(run)) => {
            replay(Machine { program, model: Model::Tso }, run)?;
            let race = triangular_race(program, run).map_err(Rejected::Step)?;
            race.map(|_| ()).ok_or(Rejected::NoRace)
        }
        _ => Err(Rejected::WrongKind),
    }
}

/// Re-derives a verdict on robustness from nothing: all executions of the program by definition.
pub fn search_robust(
    program: &Program,
    model: Model,
    verdict: &Verdict,
    max_executions: usize,
) -> Result<(), Rejected> {
    search_robust_within(program, model, verdict, max_executions, &mut |_| true)
}

pub(crate) fn search_robust_within(
    program: &Program,
    model: Model,
    verdict: &Verdict,
    max_executions: usize,
    go_on: GoOn<'_>,
) -> Result<(), Rejected> {
    let robust = reference::robust_within(program, &[model], max_executions, go_on)
        .ok_or(Rejected::OutOfReach(max_executions))?;
    match (verdict, robust == [true]) {
        (Verdict::Holds, true) | (Verdict::Violated, false) => Ok(()),
        _ => Err(Rejected::Contradicted),
    }
}

/// Re-derives a verdict on everything that a program asks from nothing.
pub fn search_everything(
    program: &Program,
    model: Model,
    verdict: &Verdict,
    max_states: usize,
) -> Result<(), Rejected> {
    search_everything_within(program, model, verdict, max_states, &mut |_| true)
}

pub(crate) fn search_everything_within(
    program: &Program,
    model: Model,
    verdict: &Verdict,
    max_states: usize,
    go_on: GoOn<'_>,
) -> Result<(), Rejected> {
    let found = reference::reachable_within(program, model, max_states, go_on)
        .ok_or(Rejected::TooLarge(max_states))?;
    if found.failure.as_ref().is_some_and(|f| f.kind != FailureKind::Assertion) {
        // A program that faults has no answer.
        return Err(Rejected::Contradicted);
    }
    let violated = found.forbidden
        || found.failure.is_some()
        || program.condition.as_ref().is_some_and(|c| !is_valid(c, &found));
    match verdict {
        Verdict::Holds if !violated => Ok(()),
        Verdict::Violated if violated => Ok(()),
        _ => Err(Rejected::Contradicted),
    }
}

/// Checks that nothing of what a program asks is violated, in all states that are like those of an
/// abstraction.
pub fn search_abstraction(
    program: &Program,
    model: Model,
    abstraction: &Abstraction,
    max_states: usize,
) -> Result<(), Rejected> {
    abstraction::check_within(program, model, abstraction, max_states, &mut |_| true)
}

/// The same, as long as `go_on` says so, which is asked now and then.
pub fn search_abstraction_while(
    program: &Program,
    model: Model,
    abstraction: &Abstraction,
    max_states: usize,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<(), Rejected> {
    let mut asked = 0_u32;
    let mut go_on = |_| {
        asked = asked.wrapping_add(1);
        !asked.is_multiple_of(256) || go_on()
    };
    abstraction::check_within(program, model, abstraction, max_states, &mut go_on)
}

/// Re-derives a verdict on the program's condition from nothing, by the full search of
/// [`reference::reachable`].
pub fn search(
    program: &Program,
    model: Model,
    verdict: &Verdict,
    max_states: usize,
) -> Result<(), Rejected> {
    search_within(program, model, verdict, max_states, &mut |_| true)
}

pub(crate) fn search_within(
    program: &Program,
    model: Model,
    verdict: &Verdict,
    max_states: usize,
    go_on: GoOn<'_>,
) -> Result<(), Rejected> {
    let condition = program.condition.as_ref().ok_or(Rejected::NoQuestion)?;
    let found = reference::reachable_within(program, model, max_states, go_on)
        .ok_or(Rejected::TooLarge(max_states))?;
    // A program that does what has no meaning has no answer.
    if found.failure.as_ref().is_some_and(|f| f.kind != FailureKind::Assertion) {
        return Err(Rejected::Contradicted);
    }
    match (verdict, is_valid(condition, &found)) {
        (Verdict::Holds, true) | (Verdict::Violated, false) => Ok(()),
        _ => Err(Rejected::Contradicted),
    }
}

fn is_valid(condition: &Condition, found: &reference::Reachable) -> bool {
    let mut outcomes = found.outcomes.iter().map(|outcome| condition.prop.holds(outcome));
    match condition.quantifier {
        Quantifier::Exists => outcomes.any(|holds| holds),
        Quantifier::NotExists => !outcomes.any(|holds| holds),
        Quantifier::Forall => outcomes.all(|holds| holds),
    }
}
