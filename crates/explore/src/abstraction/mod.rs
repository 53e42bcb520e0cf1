//! Programs whose counters grow for ever: ticket locks, Lamport's bakery.
//!
//! The search goes through finitely many states that stand for infinitely many, in the sense of
//! [`Abstraction`](weakspot_core::Abstraction): of counters it keeps the order, and gaps up to a
//! size. If nothing bad is among them, that is an answer. If something is, its run is tried on the
//! machine: either it is a violation, or gaps are told apart up to twice the size, and the search
//! begins again; also if the checker, which takes smaller steps, does not see what the search saw.
//! `docs/how/unbounded.md` has examples and limits.
//!
//! `classes.rs` says what counters are, `rows.rs` what is kept of a state, `steps.rs` what it
//! does, `search.rs` goes through all.

mod classes;
mod numbers;
mod rows;
mod search;
mod steps;
#[cfg(test)]
mod tests;

use weakspot_core::certify::Rejected;
use weakspot_core::{
    Evidence, Limits, Model, Program, Progress, Quantifier, Undeclared, Value, Verdict, certify,
};

use crate::abstraction::classes::Classes;
use crate::abstraction::search::{Ended, search};
use crate::abstraction::steps::{Machine, Stop};
use crate::answer::{NoAnswer, Reach};
use crate::meter::Meter;

/// About so many bytes are needed for a state that is checked.
const CHECKED_BYTES: u64 = 1 << 10;

/// Gaps of more than this size are not told apart.
const LARGEST_GAP: Value = 64;

/// Whether values grow for ever, as far as that can be told from the text, and in a way that
/// [`decided`] knows.
pub(crate) fn is_for(program: &Program) -> bool {
    counters(program).is_some()
}

fn counters(program: &Program) -> Option<Classes> {
    let asks_for_one =
        program.condition.as_ref().is_some_and(|c| c.quantifier == Quantifier::Exists);
    let is_plain = program.wides.is_empty() && program.undeclared == Undeclared::Fault;
    (is_plain && !asks_for_one).then(|| Classes::new(program)).flatten()
}

/// Answers everything that `program` asks; `None` if it is not for this algorithm.
pub(crate) fn decided(
    program: &Program,
    model: Model,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Option<Reach>, NoAnswer> {
    let Some(mut classes) = counters(program) else { return Ok(None) };
    let limits = &limits.begin();
    let mut meter = Meter::new(*limits, progress);
    let mut gap = 1;
    let answer = |verdict, violation, evidence, states| Reach {
        verdict,
        violation,
        evidence,
        states,
        algorithm: "counters",
    };
    while gap <= LARGEST_GAP {
        let machine = Machine::new(program, model, &classes, gap, limits.buffer);
        match search(&machine, &mut meter) {
            Ended::Complete => {
                let abstraction = classes.abstraction(program, gap);
                let states = meter.states;
                // Nothing is said that the checker has not seen to the end. It goes on step by step, in
                // all orders, and forgets more on its way. With larger gaps it forgets less.
                let most = limits.memory.map_or(u64::MAX, |bytes| bytes / CHECKED_BYTES);
                let most = usize::try_from(most).unwrap_or(usize::MAX);
                let go_on = &mut || limits.check(0).is_ok();
                match certify::search_abstraction_while(program, model, &abstraction, most, go_on) {
                    Ok(()) => {
                        let evidence = Evidence::Abstracted { states, abstraction };
                        return Ok(Some(answer(Verdict::Holds, None, Some(evidence), states)));
                    }
                    Err(Rejected::Coarse) => gap *= 2,
                    Err(Rejected::TooLarge(_)) => match limits.check(0) {
                        Err(limit) => {
                            return Ok(Some(answer(Verdict::Unknown(limit), None, None, states)));
                        }
                        Ok(()) => return Ok(None),
                    },
                    Err(certify::FAR_COUNTER) => return Ok(None),
                    Err(defect) => return Err(NoAnswer::Rejected(defect)),
                }
            }
            Ended::Found(violation, run) => {
                let evidence = Evidence::Run(run);
                if certify::everything(program, model, &Verdict::Violated, &evidence).is_ok() {
                    let violation = Some(violation);
                    let evidence = Some(evidence);
                    return Ok(Some(answer(Verdict::Violated, violation, evidence, meter.states)));
                }
                gap *= 2;
            }
            Ended::Stopped(Stop::Clash(clash)) => {
                classes.mend(clash);
                classes.settle(program);
            }
            Ended::Stopped(Stop::Grows(slot)) => {
                classes.wake(slot);
                classes.settle(program);
            }
            Ended::Stopped(Stop::Limit(limit)) => {
                return Ok(Some(answer(Verdict::Unknown(limit), None, None, meter.states)));
            }
            Ended::Stopped(Stop::GiveUp) => return Ok(None),
        }
    }
    Ok(None)
}
