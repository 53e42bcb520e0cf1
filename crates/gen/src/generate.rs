//! The way to get a history from a source.

use std::fmt;

use weakspot_core::History;

use crate::machines::{self, Buffers};
use crate::simulate::{self, Failure};
use crate::{Bug, Recorded, Run, Source};

/// Runs a client. What its reads read from does not matter: that is what comes out.
///
/// # Errors
/// When what was asked for does not fit together, or a protocol fails, which is a defect of ours.
pub fn generate(client: &History, run: &Run) -> Result<Recorded, GenError> {
    let Run { source, bug, store_buffer, seed, .. } = *run;
    if let Some(bug) = bug
        && !bug.sources().contains(&source)
    {
        return Err(GenError::NoSuchBug(bug, source));
    }
    if store_buffer && !source.is_protocol() {
        return Err(GenError::NoStoreBuffer(source));
    }
    if source.is_protocol() && client.threads() > simulate::MOST_CPUS {
        return Err(GenError::TooManyCpus(source));
    }
    let failed = |failure: Failure| GenError::Failed(source, failure.to_string());
    match source {
        Source::Atomic => Ok(machines::run(client, Buffers::Atomic, seed)),
        Source::Tso => Ok(machines::run(client, Buffers::PerCpu, seed)),
        Source::Pso => Ok(machines::run(client, Buffers::PerVariable, seed)),
        Source::Mi => simulate::run::<simulate::Mi>(client, run).map_err(failed),
        Source::Mesi => simulate::run::<simulate::Mesi>(client, run).map_err(failed),
        Source::MoesiHammer => simulate::run::<simulate::Hammer>(client, run).map_err(failed),
        Source::MoesiDirectory => simulate::run::<simulate::Directory>(client, run).map_err(failed),
    }
}

/// Why there is no history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GenError {
    /// The bug cannot be put into this source.
    NoSuchBug(Bug, Source),
    /// Only protocols can have store buffers put before them.
    NoStoreBuffer(Source),
    /// The source takes fewer CPUs.
    TooManyCpus(Source),
    /// The protocol failed.
    Failed(Source, String),
}

impl fmt::Display for GenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GenError::NoSuchBug(bug, source) => {
                let all: Vec<&str> = source.bugs().map(Bug::key).collect();
                let which = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
                let (bug, source) = (bug.key(), source.key());
                write!(f, "{source} cannot have the bug {bug}; it can have: {which}")
            }
            GenError::NoStoreBuffer(source) => {
                write!(f, "store buffers go before protocols, not before {}", source.key())
            }
            GenError::TooManyCpus(source) => {
                write!(f, "{} takes at most {} CPUs", source.key(), simulate::MOST_CPUS)
            }
            GenError::Failed(source, why) => {
                write!(f, "the protocol {} failed: {why}", source.key())
            }
        }
    }
}

impl std::error::Error for GenError {}
