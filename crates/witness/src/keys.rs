//! Verdicts and models as scripts read and write them.

use weakspot_core::{Drain, Model, Verdict};

/// The verdict as scripts read it.
#[must_use]
pub fn verdict_key(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Violated => "violated",
        Verdict::Unknown(_) => "unknown",
    }
}

/// The model as scripts write it: `sc`, `tso`, `pso`, and `pso-own` for the reading of PSO in
/// which an atomic update waits only for the stores to its own address.
#[must_use]
pub fn model_key(model: Model) -> &'static str {
    match model {
        Model::Sc => "sc",
        Model::Tso => "tso",
        Model::Pso(Drain::All) => "pso",
        Model::Pso(Drain::Own) => "pso-own",
    }
}

/// The model that [`model_key`] writes as `key`.
#[must_use]
pub fn model_of_key(key: &str) -> Option<Model> {
    Model::ALL.into_iter().find(|&model| model_key(model) == key)
}
