//! Everything that a program asks, by searches of its states as they are: forbidden control points
//! and assertions first, up to the first violation; then, if there is none, the condition on final
//! states. Under SC there are no buffers, and the search is that of [`safety`].

use weakspot_core::certify::Rejected;
use weakspot_core::{Evidence, Limit, Limits, Model, Program, Progress, Verdict, Violation};

use crate::answer::{NoAnswer, Reach};
use crate::buffers::outcomes::{Strategy, in_turns, outcomes_at};
use crate::buffers::schedule;
use crate::buffers::search::Search;
use crate::buffers::space::{Ended, Stop};
use crate::keep::{Keep, NotKept, Phase};
use crate::meter::Meter;
use crate::sc::packed::Plan;
use crate::sc::safety;

/// Under SC, over packed states.
pub(crate) fn by_sc(
    program: &Program,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Reach, NoAnswer> {
    let answer = safety::reach(program, Plan::breadth_first(limits.workers), limits, progress)?;
    if safety::answers_condition(program) {
        return Ok(answer);
    }
    with_condition(answer, (program, Model::Sc), Strategy::Auto, None, limits, progress)
}

/// The same, kept. If the condition takes a search of its own, that is the second phase.
pub(crate) fn by_sc_kept(
    program: &Program,
    keep: &dyn Keep,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Reach, NoAnswer> {
    let phase = match Phase::of(keep) {
        Ok(phase) => phase,
        Err(why) => return Ok(nothing(why.limit()?)),
    };
    let (answer, phase) = match phase.number {
        0 => {
            let plan = Plan { keep: Some(&phase), ..Plan::breadth_first(limits.workers) };
            let answer = safety::reach(program, plan, limits, progress)?;
            let next = phase.next(answer.states);
            (answer, next)
        }
        // There is no other phase.
        _ if safety::answers_condition(program) => {
            return Ok(nothing(NotKept::Damaged.limit()?));
        }
        _ => (held(phase.before, "eager"), phase),
    };
    if safety::answers_condition(program) {
        return Ok(answer);
    }
    let asked = (program, Model::Sc);
    with_condition(answer, asked, Strategy::Auto, Some(&phase), limits, progress)
}

/// [`eager`], kept; the condition on final states is the second phase.
pub(crate) fn eager_kept(
    program: &Program,
    model: Model,
    keep: &dyn Keep,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Reach, NoAnswer> {
    let (strategy, asked) = (Strategy::Auto, (program, model));
    let phase = match Phase::of(keep) {
        Ok(phase) => phase,
        Err(why) => return Ok(nothing(why.limit()?)),
    };
    let (answer, phase) = match phase.number {
        0 => {
            let answer = safe(asked, strategy, Some(&phase), limits, progress)?;
            let next = phase.next(answer.states);
            (answer, next)
        }
        _ => (held(phase.before, "eager"), phase),
    };
    with_condition(answer, asked, strategy, Some(&phase), limits, progress)
}

/// What an earlier phase has come to.
fn held(states: u64, algorithm: &'static str) -> Reach {
    let evidence = Some(Evidence::Exhausted { states });
    Reach { verdict: Verdict::Holds, violation: None, evidence, states, algorithm }
}

/// A limit was reached before anything was searched.
fn nothing(limit: Limit) -> Reach {
    let verdict = Verdict::Unknown(limit);
    Reach { verdict, violation: None, evidence: None, states: 0, algorithm: "eager" }
}

/// By exploring the store buffers themselves, with the two searches of
/// [`outcomes`](crate::buffers::outcomes) in turns.
pub(crate) fn eager(
    program: &Program,
    model: Model,
    strategy: Strategy,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Reach, NoAnswer> {
    let asked = (program, model);
    let answer = safe(asked, strategy, None, limits, progress)?;
    with_condition(answer, asked, strategy, None, limits, progress)
}

/// `answer` on control points and assertions, with the condition on final states if it holds.
fn with_condition(
    mut answer: Reach,
    (program, model): (&Program, Model),
    strategy: Strategy,
    place: Option<&dyn Keep>,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Reach, NoAnswer> {
    if program.condition.is_some() && answer.verdict == Verdict::Holds {
        let mut found = outcomes_at(program, model, strategy, place, limits, progress)?;
        let judged = found.judged(program).map_err(NoAnswer::Rejected)?;
        answer.states += found.states;
        answer.evidence = match judged.verdict {
            // That the condition holds may rest on one run, but that all holds does not.
            Verdict::Holds => Some(Evidence::Exhausted { states: answer.states }),
            _ => judged.evidence,
        };
        answer.violation = (judged.verdict == Verdict::Violated).then_some(Violation::FinalStates);
        answer.verdict = judged.verdict;
    }
    Ok(answer)
}

/// Control points and assertions.
fn safe(
    asked: (&Program, Model),
    strategy: Strategy,
    place: Option<&dyn Keep>,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Reach, NoAnswer> {
    let mut meter = Meter::new(*limits, progress);
    let (mut search, ended) = in_turns(asked, (strategy, true), place, limits, &mut meter)?;
    let stopped = match ended {
        Ended::Stopped(Stop::Fault(failure)) => return Err(NoAnswer::Fault(failure)),
        Ended::Stopped(Stop::Limit(limit)) => Some(limit),
        Ended::Stopped(Stop::OutOfWork) | Ended::Complete | Ended::OutOfWork => {
            search.space().buffer_limit()
        }
    };
    let (forbidden, run) = match &mut search {
        Search::WriteOrder(s) => (s.forbidden.is_some(), schedule::run_to_violation(s)),
        Search::Explicit(s) => (s.forbidden.is_some(), s.run_to_violation()),
    };
    let assertion = search.space().assertion.as_ref().map(|a| a.failure.clone());
    let violation = match (forbidden, assertion) {
        (true, _) => Some(Violation::ControlPoints),
        (false, Some(failure)) => Some(Violation::Assertion(failure)),
        (false, None) => None,
    };
    let (verdict, evidence) = match (&violation, run, stopped) {
        (Some(_), Some(run), _) => (Verdict::Violated, Some(Evidence::Run(run))),
        // The limit was reached between the finding and the node that it belongs to.
        (Some(_), None, Some(limit)) => (Verdict::Unknown(limit), None),
        (Some(_), None, None) => return Err(NoAnswer::Rejected(Rejected::WrongState)),
        (None, _, Some(limit)) => (Verdict::Unknown(limit), None),
        (None, _, None) => (Verdict::Holds, Some(Evidence::Exhausted { states: meter.states })),
    };
    let violation = violation.filter(|_| verdict == Verdict::Violated);
    Ok(Reach { verdict, violation, evidence, states: meter.states, algorithm: "eager" })
}
