//! Everything that a program asks: can a forbidden combination of control points be reached, can
//! an assertion fail, do the final states satisfy the condition? Here is who answers; each
//! algorithm has a file of its own.

use weakspot_core::{Certified, Limits, Model, Program, Progress};

use crate::abstraction;
use crate::answer::{NoAnswer, Reach};
use crate::buffers::outcomes::Strategy;
use crate::buffers::reach::{by_sc_kept, eager, eager_kept};
use crate::keep::{Keep, Phase};
use crate::sc::packed::Plan;
use crate::sc::safety;
use crate::storage::Storage;
use crate::team::Team;
use crate::tso::{dual, lazy, portfolio};

/// How a question is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Several at once, the first answer counts.
    Auto,
    /// Explore the store buffers themselves.
    Eager(Strategy),
    /// Ask about SC only, and extend the program where it is not robust. TSO and PSO.
    Lazy,
    /// The same, for the program with its loops unrolled more and more. TSO and PSO.
    Unroll,
    /// The complete procedure for finite data. TSO and PSO.
    Dual,
    /// Of counters that grow for ever, only their order and small differences.
    Counters,
}

/// Answers everything that `program` asks: first control points and assertions, up to the first
/// violation; then, if there is none, the condition on final states.
pub fn reach(
    program: &Program,
    model: Model,
    algorithm: Algorithm,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Certified<Reach>, NoAnswer> {
    let limits = limits.begin();
    let answer = decided(program, model, algorithm, &limits, progress)?;
    answer.certified(program, model, &limits)
}

/// [`reach`] under SC by several processes, each of which gets the answer. Process 0 keeps the
/// search and goes on with one that was kept; others have no use for a place where that is.
///
/// # Errors
///
/// As for one process; also where the question takes another search than that of SC's states.
pub fn reach_together(
    program: &Program,
    team: &dyn Team,
    keep: Option<&dyn Keep>,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Certified<Reach>, NoAnswer> {
    if !program.wides.is_empty() || !safety::answers_condition(program) {
        return Err(NoAnswer::NotApplicable(
            "this program is not for several processes: its accesses have different widths, or its \
             condition asks whether there is a final state, or about registers",
        ));
    }
    let limits = limits.begin();
    // There is no other phase. What is wrong with what was kept is said to all processes.
    let phase = keep.map(Phase::first);
    let keep = phase.as_ref().map(|phase| phase as &dyn Keep);
    let plan = Plan { team: Some(team), keep, ..Plan::breadth_first(limits.workers) };
    let answer = safety::reach(program, plan, &limits, progress)?;
    answer.certified(program, Model::Sc, &limits)
}

/// [`reach`] under SC with less memory.
///
/// # Errors
///
/// As for a search that takes more; also where the question takes another search than that of SC's states.
pub fn reach_with_storage(
    program: &Program,
    storage: Storage<'_>,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Certified<Reach>, NoAnswer> {
    if !program.wides.is_empty() || !safety::answers_condition(program) {
        return Err(NoAnswer::NotApplicable(
            "this program is not for --hash-compact and --disk: its accesses have different widths, or its condition \
             asks whether there is a final state, or about registers",
        ));
    }
    let limits = limits.begin();
    let plan = Plan { storage: Some(storage), ..Plan::breadth_first(limits.workers) };
    let answer = safety::reach(program, plan, &limits, progress)?;
    answer.certified(program, Model::Sc, &limits)
}

/// [`reach`] by searches of states that are kept, or go on with one that was: [`Algorithm::Eager`], and under SC what
/// [`Algorithm::Auto`] does there.
///
/// # Errors
///
/// As for one that is not; also where what was kept is none of this program.
pub fn reach_kept(
    program: &Program,
    model: Model,
    keep: &dyn Keep,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Certified<Reach>, NoAnswer> {
    let limits = limits.begin();
    let answer = match model {
        Model::Sc if program.wides.is_empty() => by_sc_kept(program, keep, &limits, progress)?,
        _ => eager_kept(program, model, keep, &limits, progress)?,
    };
    answer.certified(program, model, &limits)
}

/// The answer before its evidence is checked, for those who check what they make of it.
pub(crate) fn decided(
    program: &Program,
    model: Model,
    algorithm: Algorithm,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Reach, NoAnswer> {
    // Only the machine with its buffers knows accesses that overlap.
    if !program.wides.is_empty() {
        return match algorithm {
            Algorithm::Auto => eager(program, model, Strategy::Auto, limits, progress),
            Algorithm::Eager(strategy) => eager(program, model, strategy, limits, progress),
            _ => Err(NoAnswer::NotApplicable(
                "this algorithm is not made for accesses of different widths",
            )),
        };
    }
    Ok(match (algorithm, model) {
        (Algorithm::Auto, _) => portfolio::reach(program, model, limits, progress)?,
        (Algorithm::Eager(strategy), _) => eager(program, model, strategy, limits, progress)?,
        (Algorithm::Lazy, Model::Tso | Model::Pso(_)) => {
            lazy::lazy(program, model, limits, progress)?
        }
        (Algorithm::Unroll, Model::Tso | Model::Pso(_)) => {
            lazy::unroll(program, model, limits, progress)?
        }
        (Algorithm::Dual, Model::Tso | Model::Pso(_)) => dual::decided(
            program, model, limits, progress,
        )?
        .ok_or(NoAnswer::NotApplicable("the complete procedure needs data that are finite"))?,
        (Algorithm::Counters, _) => abstraction::decided(program, model, limits, progress)?.ok_or(
            NoAnswer::NotApplicable("no counters that this algorithm knows grow for ever"),
        )?,
        (Algorithm::Lazy | Algorithm::Unroll | Algorithm::Dual, _) => {
            return Err(NoAnswer::NotApplicable("this algorithm is not made for this model"));
        }
    })
}
