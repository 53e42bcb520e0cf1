//! What is answered about a history.

use weakspot_core::{HistoryEvidence, Verdict};

/// The answer to the question whether a history satisfies a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Whether it does.
    pub verdict: Verdict,
    /// Why; `None` when the verdict is unknown.
    pub evidence: Option<HistoryEvidence>,
    /// Who found out.
    pub decided_by: DecidedBy,
}

/// The stage that gave the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecidedBy {
    /// The definition of a causal model, evaluated with clocks.
    Clocks,
}

impl DecidedBy {
    /// The stage as it is written in JSON.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            DecidedBy::Clocks => "clocks",
        }
    }
}
