//! The sources of histories.

use weakspot_core::Model;

use crate::Bug;

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

impl Bug {
    /// The protocols that it can be put into.
    #[must_use]
    pub fn sources(self) -> &'static [Source] {
        use Source::{Mesi, Mi, MoesiDirectory, MoesiHammer};
        match self {
            Bug::StaleForward
            | Bug::DroppedWriteback
            | Bug::EarlyAck
            | Bug::EvictionRace
            | Bug::SwappedFill
            | Bug::LateWriteback => &[Mi, Mesi, MoesiHammer, MoesiDirectory],
            Bug::LostAck | Bug::StoreInShared | Bug::ForgottenSharer | Bug::SplitUpdate => {
                &[Mesi, MoesiHammer, MoesiDirectory]
            }
            Bug::LostOwner => &[MoesiHammer, MoesiDirectory],
            Bug::LostCopyback => &[Mesi],
        }
    }
}
