//! What is asked and answered about a history.

use std::sync::Arc;

use weakspot_core::{Claim, HistoryEvidence, Verdict};

/// The answer to the question whether a history satisfies a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Whether it does.
    pub verdict: Verdict,
    /// Why; several models may have the same evidence. `None` when the verdict is unknown.
    pub evidence: Option<Arc<HistoryEvidence>>,
    /// Who found out.
    pub decided_by: DecidedBy,
}

impl Claim for Answer {
    type Evidence = HistoryEvidence;

    fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    fn evidence(&self) -> Option<&HistoryEvidence> {
        self.evidence.as_deref()
    }
}

/// How to decide SC, TSO and PSO. The causal models and coherence need no choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    /// How to complete the store order where saturation leaves it open.
    pub complete: Complete,
    /// Whether to derive orders between writes first, by the rules that hold in every witness.
    pub saturate: bool,
}

/// How to complete the store order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Complete {
    /// A greedy run first, without saturation if it succeeds; at last SAT.
    Auto,
    /// A search of frontiers that remembers the failed ones.
    Search,
    /// All extensions of the store order, one variable after the other.
    Enum,
    /// SAT on the pairs that are open; without saturation the plain cubic encoding.
    Sat,
}

impl Complete {
    /// All of them.
    pub const ALL: [Complete; 4] =
        [Complete::Auto, Complete::Search, Complete::Enum, Complete::Sat];

    /// The choice as it is written in options.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Complete::Auto => "auto",
            Complete::Search => "search",
            Complete::Enum => "enum",
            Complete::Sat => "sat",
        }
    }
}

/// The stage that gave the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecidedBy {
    /// The definition of a causal model, evaluated with clocks.
    Clocks,
    /// A greedy run of the machine that did what was recorded.
    Greedy,
    /// Orders that hold in every witness, which made a cycle.
    Saturation,
    /// The search of frontiers.
    Search,
    /// The enumeration of store orders.
    Enumeration,
    /// SAT.
    Sat,
    /// The order of the operations on each variable by itself.
    Location,
}

impl DecidedBy {
    /// The stage as it is written in JSON.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            DecidedBy::Clocks => "clocks",
            DecidedBy::Greedy => "greedy",
            DecidedBy::Saturation => "saturation",
            DecidedBy::Search => "search",
            DecidedBy::Enumeration => "enum",
            DecidedBy::Sat => "sat",
            DecidedBy::Location => "location",
        }
    }
}
