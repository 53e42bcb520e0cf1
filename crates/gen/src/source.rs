//! The sources of histories, and the way to get one.

use std::fmt;

use weakspot_core::{Model, Ops};

use crate::machines::{self, Buffers};
use crate::simulate::{self, Failure};
use crate::{Bug, Recorded};

/// Who runs a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// An atomic memory.
    Atomic,
    /// A machine with a store buffer per CPU.
    Tso,
    /// A machine with a store buffer per CPU and variable.
    Pso,
    /// A protocol in which a line is in one cache at most.
    Mi,
    /// A directory protocol with two levels of caches.
    Mesi,
    /// A protocol that asks everybody.
    MoesiHammer,
    /// A directory protocol whose directory collects the answers.
    MoesiDirectory,
}

/// How a client is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Who runs it.
    pub source: Source,
    /// The bug in the protocol.
    pub bug: Option<Bug>,
    /// Whether the CPUs in front of a protocol have store buffers.
    pub store_buffer: bool,
    /// The same seed, the same history.
    pub seed: u64,
    /// Whether the invariants of protocols are checked after each step; slow.
    pub check: bool,
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

impl Source {
    /// All of them.
    pub const ALL: [Source; 7] = [
        Source::Atomic,
        Source::Tso,
        Source::Pso,
        Source::Mi,
        Source::Mesi,
        Source::MoesiHammer,
        Source::MoesiDirectory,
    ];

    /// The source as it is written in options.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Source::Atomic => "atomic",
            Source::Tso => "tso",
            Source::Pso => "pso",
            Source::Mi => "mi",
            Source::Mesi => "mesi",
            Source::MoesiHammer => "moesi-hammer",
            Source::MoesiDirectory => "moesi-directory",
        }
    }

    /// The source with this key.
    #[must_use]
    pub fn of_key(key: &str) -> Option<Source> {
        Source::ALL.into_iter().find(|source| source.key() == key)
    }

    /// What it is, in a few words.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Source::Atomic => "an atomic memory",
            Source::Tso => "a store buffer per CPU",
            Source::Pso => "a store buffer per CPU and variable",
            Source::Mi => "caches with a line in one of them at most, directory",
            Source::Mesi => "caches over a shared cache with a directory, over memory",
            Source::MoesiHammer => "caches that are asked by broadcast",
            Source::MoesiDirectory => "caches, directory that collects their answers",
        }
    }

    /// Whether it is a cache coherence protocol.
    #[must_use]
    pub fn is_protocol(self) -> bool {
        !matches!(self, Source::Atomic | Source::Tso | Source::Pso)
    }

    /// The bugs that can be put into it.
    pub fn bugs(self) -> impl Iterator<Item = Bug> {
        Bug::ALL.into_iter().filter(move |bug| bug.sources().contains(&self))
    }

    /// The model that its histories satisfy when it has no bug.
    #[must_use]
    pub fn model(self, store_buffer: bool) -> Model {
        match self {
            Source::Atomic => Model::Sc,
            Source::Tso => Model::Tso,
            Source::Pso => Model::Pso(weakspot_core::Drain::All),
            _ if store_buffer => Model::Tso,
            _ => Model::Sc,
        }
    }
}

/// Runs a client. What its reads read from does not matter: that is what comes out.
///
/// # Errors
/// When what was asked for does not fit together, or a protocol fails, which is a defect of ours.
pub fn generate(client: &Ops, run: &Run) -> Result<Recorded, GenError> {
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
