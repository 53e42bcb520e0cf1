//! Everything that a program asks: can a forbidden combination of control points be reached, can
//! an assertion fail, do the final states satisfy the condition? Here is who answers; each
//! algorithm has a file of its own.

use weakspot_core::certify::{self, Rejected};
use weakspot_core::machine::Failure;
use weakspot_core::{Evidence, Limits, Model, Program, Progress, Verdict, Violation};

use crate::buffers::outcomes::{Search, Strategy, in_turns, outcomes};
use crate::buffers::schedule;
use crate::buffers::space::{Ended, Stop};
use crate::meter::Meter;
use crate::sc::packed::Plan;
use crate::sc::safety;
use crate::tso::{dual, lazy, portfolio};

/// The answer.
#[derive(Clone, Debug)]
pub struct Reach {
    /// Holds if everything holds that the program asks.
    pub verdict: Verdict,
    /// What is violated.
    pub violation: Option<Violation>,
    /// Why the verdict is to be believed; checked. `None` only for an unknown.
    pub evidence: Option<Evidence>,
    /// Nodes that the searches visited.
    pub states: u64,
    /// The algorithm that decided.
    pub algorithm: &'static str,
}

/// How a question is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Several at once, the first answer counts.
    Auto,
    /// Explore the store buffers themselves.
    Eager(Strategy),
    /// Ask about SC only, and extend the program where it is not robust. TSO only.
    Lazy,
    /// The same, for the program with its loops unrolled more and more. TSO only.
    Unroll,
    /// The complete procedure for finite data. TSO only.
    Dual,
}

/// Why there is no answer.
#[derive(Clone, Debug)]
pub enum NoAnswer {
    /// The program does what has no meaning.
    Fault(Failure),
    /// The evidence did not pass its check: a defect of this crate.
    Rejected(Rejected),
    /// The algorithm that was asked for is not made for such a question; why.
    NotApplicable(&'static str),
}

/// Answers everything that `program` asks: first control points and assertions, up to the first
/// violation; then, if there is none, the condition on final states.
pub fn reach(
    program: &Program,
    model: Model,
    algorithm: Algorithm,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Reach, NoAnswer> {
    let answer = match (algorithm, model) {
        (Algorithm::Auto, Model::Sc) => by_sc(program, limits, progress)?,
        (Algorithm::Auto, _) => portfolio::reach(program, model, limits, progress)?,
        (Algorithm::Eager(strategy), _) => eager(program, model, strategy, limits, progress)?,
        (Algorithm::Lazy, Model::Tso) => lazy::lazy(program, limits, progress)?,
        (Algorithm::Unroll, Model::Tso) => lazy::unroll(program, limits, progress)?,
        (Algorithm::Dual, Model::Tso) => dual::dual_reach(program, limits, progress)?
            .ok_or(NoAnswer::NotApplicable("the complete procedure needs data that are finite"))?,
        (Algorithm::Lazy | Algorithm::Unroll | Algorithm::Dual, _) => {
            return Err(NoAnswer::NotApplicable("this algorithm is made for TSO"));
        }
    };
    if let Some(evidence) = &answer.evidence {
        certify::everything(program, model, &answer.verdict, evidence)
            .map_err(NoAnswer::Rejected)?;
    }
    Ok(answer)
}

/// Under SC, over packed states.
fn by_sc(
    program: &Program,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Reach, NoAnswer> {
    let answer = safety::reach(program, Plan::breadth_first(limits.workers), limits, progress)?;
    with_condition(answer, program, Model::Sc, Strategy::Auto, limits, progress)
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
    let answer = safe(program, model, strategy, limits, progress)?;
    with_condition(answer, program, model, strategy, limits, progress)
}

/// `answer` on control points and assertions, with the condition on final states if it holds.
fn with_condition(
    mut answer: Reach,
    program: &Program,
    model: Model,
    strategy: Strategy,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Reach, NoAnswer> {
    if program.condition.is_some() && answer.verdict == Verdict::Holds {
        let found = outcomes(program, model, strategy, limits, progress);
        let mut found = found.map_err(NoAnswer::Fault)?;
        let judged = found.judge(program, model).map_err(NoAnswer::Rejected)?;
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
    program: &Program,
    model: Model,
    strategy: Strategy,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Reach, NoAnswer> {
    let mut meter = Meter::new(*limits, progress);
    let (mut search, ended) = in_turns(program, model, strategy, true, limits, &mut meter);
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
