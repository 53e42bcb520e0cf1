//! Can a forbidden combination of control points be reached, or an assertion fail? Answered by
//! exploring the store buffers themselves, with the two searches of [`outcomes`](crate::outcomes)
//! in turns, up to the first violation.

use weakspot_core::certify::{self, Rejected};
use weakspot_core::machine::Failure;
use weakspot_core::{Evidence, Limits, Model, Program, Progress, Verdict};

use crate::meter::Meter;
use crate::outcomes::{Search, Strategy, in_turns};
use crate::schedule;
use crate::space::{Ended, Stop};

/// The answer.
#[derive(Clone, Debug)]
pub struct Reach {
    /// Holds if no forbidden state is reachable and no assertion fails.
    pub verdict: Verdict,
    /// Why the verdict is to be believed; checked. `None` only for an unknown.
    pub evidence: Option<Evidence>,
    /// The assertion that fails, if that is the violation.
    pub assertion: Option<Failure>,
    /// Nodes that the searches visited.
    pub states: u64,
}

/// Why there is no answer.
#[derive(Clone, Debug)]
pub enum NoAnswer {
    /// The program does what has no meaning.
    Fault(Failure),
    /// The evidence did not pass its check: a defect of this crate.
    Rejected(Rejected),
}

/// Searches for a violation of what `program` forbids.
pub fn reach(
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
        Ended::Complete | Ended::OutOfWork => search.space().buffer_limit(limits),
    };
    let (forbidden, run) = match &mut search {
        Search::WriteOrder(s) => (s.forbidden.is_some(), schedule::run_to_violation(s)),
        Search::Explicit(s) => (s.forbidden.is_some(), s.run_to_violation()),
    };
    let assertion = search.space().assertion.as_ref().map(|a| a.failure.clone());
    let violated = forbidden || assertion.is_some();
    let (verdict, evidence) = match (violated, stopped) {
        (true, _) => {
            let run = run.ok_or(NoAnswer::Rejected(Rejected::WrongState))?;
            (Verdict::Violated, Some(Evidence::Run(run)))
        }
        (false, Some(limit)) => (Verdict::Unknown(limit), None),
        (false, None) => (Verdict::Holds, Some(Evidence::Exhausted { states: meter.states })),
    };
    if let Some(evidence) = &evidence {
        certify::safety(program, model, &verdict, evidence).map_err(NoAnswer::Rejected)?;
    }
    let assertion = assertion.filter(|_| !forbidden);
    Ok(Reach { verdict, evidence, assertion, states: meter.states })
}
