//! Is a program robust: does every run under TSO or PSO do what some run under SC does, too?

use weakspot_core::certify;
use weakspot_core::{Evidence, Limits, Model, Program, Progress, Verdict};

use crate::packed::Plan;
use crate::reach::NoAnswer;
use crate::tidy::tidy;
use crate::{attack, holds, pending, plain_pending};

/// The answer.
#[derive(Clone, Debug)]
pub struct Robust {
    /// Holds if the program is robust.
    pub verdict: Verdict,
    /// Why the verdict is to be believed; checked. `None` only for an unknown.
    pub evidence: Option<Evidence>,
    /// What is reordered in the run of the evidence.
    pub reordered: Option<Reordered>,
    /// States that the searches visited.
    pub states: u64,
    /// SC searches that were made.
    pub queries: u64,
}

/// Two accesses of one thread that take effect in the wrong order in a run: the store reaches
/// memory only after the later access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reordered {
    /// The step that issues the store.
    pub store: usize,
    /// The step of the access that overtakes it: a load, or under PSO also a store.
    pub access: usize,
}

/// How robustness is decided. Both decide it exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decide {
    /// One search for all pairs: see the pending store of the monitoring paper.
    Pending,
    /// One search for each pair of a store and a load: the attacks of Trencher. There are such
    /// attacks under TSO only; against other models it means [`Decide::Pending`].
    Attack,
}

/// Decides whether `program` is robust against `model`.
pub fn robust(
    program: &Program,
    model: Model,
    decide: Decide,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Robust, NoAnswer> {
    let plan = Plan::breadth_first(limits.workers);
    // The fast searches keep sets of threads in 32 bits, and the stores of one thread back.
    let fast = program.threads.len() <= 32
        && (model == Model::Tso || !holds::blocks_depend_on_values(program));
    let mut answer = match (fast, decide) {
        (true, Decide::Attack) if model == Model::Tso => attack::robust(program, limits, progress)?,
        (true, _) => pending::robust(program, model, plan, limits, progress)?,
        (false, _) => plain_pending::search(program, model, limits, progress)?,
    };
    if let Some(Evidence::Run(run)) = &answer.evidence
        && let Some((run, reordered)) = tidy(program, model, run)
    {
        answer.evidence = Some(Evidence::Run(run));
        answer.reordered = Some(reordered);
    }
    if let Some(evidence) = &answer.evidence {
        certify::robust(program, model, &answer.verdict, evidence).map_err(NoAnswer::Rejected)?;
    }
    Ok(answer)
}
