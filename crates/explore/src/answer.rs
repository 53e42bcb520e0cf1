//! What the engines say: the answer to everything that a program asks, or why there is none.

use weakspot_core::certify::Rejected;
use weakspot_core::machine::Failure;
use weakspot_core::{
    Certified, Claim, Effort, Evidence, Limits, Model, Program, Verdict, Violation,
};

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

impl Reach {
    /// The answer, if its evidence passes the check, within what is left of the limits.
    pub(crate) fn certified(
        self,
        program: &Program,
        model: Model,
        limits: &Limits,
    ) -> Result<Certified<Reach>, NoAnswer> {
        Certified::everything(program, model, self, Effort::within(limits))
            .map_err(NoAnswer::Rejected)
    }
}

impl Claim for Reach {
    type Evidence = Evidence;

    fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    fn evidence(&self) -> Option<&Evidence> {
        self.evidence.as_ref()
    }
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
    /// The processes that were to answer together did not come together; why.
    NotTogether(String),
    /// Files could not be written or read that a search has put states into; why.
    NotStored(String),
    /// The search cannot go on from what was kept of it; why.
    NotResumed(String),
}
