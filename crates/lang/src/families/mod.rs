//! Inputs that grow with a number: texts for benchmarks, for tests of scale, and to compare tools.
//!
//! Litmus tests come in their own language. The four families of programs are those of section 5
//! and appendix A of the lazy TSO reachability paper; they come in `.weak`, in Trencher's language
//! and in C. `docs/reference/families.md` explains each of them.

mod c;
mod diamond;
mod fig12;
mod lamport;
mod litmus;
mod long_loop;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::RangeInclusive;
use std::path::Path;

use crate::Format;

/// A family of inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Lamport's fast mutual exclusion for `n` threads, without its array of flags.
    Lamport,
    /// Dekker's flags with `n` branches between the store and the load.
    Diamond,
    /// A loop of length `n` that has to be gone through and begun again.
    Loop,
    /// Two threads that store for ever and cannot go wrong; it has no size.
    Fig12,
    /// `n` threads, each of which stores to its own location and loads all others.
    StoreBufferingAllToAll,
    /// `n` threads that store to one location, and one that loads it twice.
    CoherenceReadRead,
    /// `n` threads that each increment one location atomically.
    LockedIncrement,
    /// Two threads that take `n` rounds of store buffering, storing 1, 2, ..., `n`.
    StoreBufferingRounds,
    /// `n` threads that each try three times to take a spin lock and count: 21 instructions.
    TryLock,
    /// `n` threads that each store to a location of their own.
    OwnStores,
    /// One thread with `n` stores to different locations.
    ManyStores,
    /// One thread with `n` stores to one location.
    OnePlace,
    /// Message passing whose sender stores to `n` other locations before.
    MessageBehind,
    /// Store buffering whose threads store to `n` other locations each before.
    BufferingBehind,
}

/// The languages that families are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// Our own language.
    Weak,
    /// Trencher's automata.
    Trencher,
    /// C with POSIX threads, for compilers and for CBMC.
    C,
    /// X86 litmus tests.
    Litmus,
}

/// Why a family has no such text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The size is outside of the family's range.
    Size(Family, usize),
    /// The family has no size.
    NoSize(Family),
    /// The family does not come in this language.
    Syntax(Family, Syntax),
}

impl Family {
    /// All families, programs first.
    pub const ALL: [Family; 14] = [
        Family::Lamport,
        Family::Diamond,
        Family::Loop,
        Family::Fig12,
        Family::StoreBufferingAllToAll,
        Family::CoherenceReadRead,
        Family::LockedIncrement,
        Family::StoreBufferingRounds,
        Family::TryLock,
        Family::OwnStores,
        Family::ManyStores,
        Family::OnePlace,
        Family::MessageBehind,
        Family::BufferingBehind,
    ];

    /// The families of programs.
    pub const PROGRAMS: [Family; 4] =
        [Family::Lamport, Family::Diamond, Family::Loop, Family::Fig12];

    /// The families of litmus tests.
    pub const LITMUS: [Family; 10] = [
        Family::StoreBufferingAllToAll,
        Family::CoherenceReadRead,
        Family::LockedIncrement,
        Family::StoreBufferingRounds,
        Family::TryLock,
        Family::OwnStores,
        Family::ManyStores,
        Family::OnePlace,
        Family::MessageBehind,
        Family::BufferingBehind,
    ];

    /// The word for the family.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Family::Lamport => "lamport",
            Family::Diamond => "diamond",
            Family::Loop => "loop",
            Family::Fig12 => "fig12",
            Family::StoreBufferingAllToAll => "sb-all",
            Family::CoherenceReadRead => "corr",
            Family::LockedIncrement => "locked-inc",
            Family::StoreBufferingRounds => "sb-rounds",
            Family::TryLock => "try-lock",
            Family::OwnStores => "own-stores",
            Family::ManyStores => "stores",
            Family::OnePlace => "one-place",
            Family::MessageBehind => "mp-behind",
            Family::BufferingBehind => "sb-behind",
        }
    }

    /// The family that a word stands for.
    #[must_use]
    pub fn of_key(key: &str) -> Option<Family> {
        Family::ALL.into_iter().find(|f| f.key() == key)
    }

    /// What the family is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Family::Lamport => "Lamport's fast mutex, N threads",
            Family::Diamond => "Dekker with an N-branching diamond",
            Family::Loop => "loop of length N, twice",
            Family::Fig12 => "safe, but it stores for ever",
            Family::StoreBufferingAllToAll => "SB all to all, N threads",
            Family::CoherenceReadRead => "CoRR, N writers",
            Family::LockedIncrement => "LOCK INC, N threads",
            Family::StoreBufferingRounds => "SB, N rounds",
            Family::TryLock => "try-lock, N threads",
            Family::OwnStores => "a store each, N threads",
            Family::ManyStores => "N stores by one thread",
            Family::OnePlace => "N stores to one location",
            Family::MessageBehind => "MP behind N stores",
            Family::BufferingBehind => "SB behind N stores each",
        }
    }

    /// The sizes worth measuring; none for a family without size.
    #[must_use]
    pub fn sizes(self) -> &'static [usize] {
        match self {
            Family::Lamport => &[2, 3, 4, 5, 6],
            Family::Diamond => &[2, 10, 50, 200, 1000],
            Family::Loop => &[3, 5, 10, 20, 50, 100],
            Family::Fig12 => &[],
            Family::StoreBufferingAllToAll => &[2, 3, 4, 5],
            Family::CoherenceReadRead => &[4, 5, 6, 8, 10, 20],
            Family::LockedIncrement => &[5, 8, 12, 16, 20, 64],
            Family::StoreBufferingRounds => &[2, 3, 4, 5, 6],
            Family::TryLock => &[2, 3, 4],
            Family::OwnStores => &[5, 20, 64],
            Family::ManyStores | Family::OnePlace => &[5, 18, 1000],
            Family::MessageBehind => &[5, 20, 100],
            Family::BufferingBehind => &[5, 12, 100],
        }
    }

    /// The sizes that make sense, `None` for a family without size. Below, the program would ask
    /// nothing worth asking; above, it would leave what the languages allow.
    #[must_use]
    pub fn range(self) -> Option<RangeInclusive<usize>> {
        match self {
            Family::Lamport => Some(2..=64),
            Family::Diamond | Family::Loop => Some(2..=10_000),
            Family::Fig12 => None,
            Family::StoreBufferingAllToAll => Some(2..=7),
            Family::StoreBufferingRounds => Some(1..=6),
            Family::CoherenceReadRead | Family::TryLock => Some(2..=60),
            Family::LockedIncrement | Family::OwnStores => Some(2..=64),
            Family::ManyStores | Family::OnePlace => Some(1..=1000),
            Family::MessageBehind | Family::BufferingBehind => Some(1..=1000),
        }
    }

    /// The size that is taken if none is asked for.
    #[must_use]
    pub fn default_size(self) -> Option<usize> {
        self.sizes().get(1).copied()
    }

    /// The languages in which the family comes.
    #[must_use]
    pub fn syntaxes(self) -> &'static [Syntax] {
        match self {
            Family::Lamport | Family::Diamond | Family::Loop | Family::Fig12 => {
                &[Syntax::Weak, Syntax::Trencher, Syntax::C]
            }
            _ => &[Syntax::Litmus],
        }
    }

    /// The member of the given size, or of the default size.
    pub fn text(self, syntax: Syntax, size: Option<usize>) -> Result<String, Refused> {
        let size = match (self.range(), size.or(self.default_size())) {
            (Some(range), Some(n)) if !range.contains(&n) => return Err(Refused::Size(self, n)),
            (None, Some(_)) => return Err(Refused::NoSize(self)),
            (_, n) => n.unwrap_or(0),
        };
        let text = match (self, syntax) {
            (Family::Lamport, Syntax::Weak) => Some(lamport::weak(size)),
            (Family::Lamport, Syntax::Trencher) => Some(lamport::trencher(size)),
            (Family::Lamport, Syntax::C) => Some(lamport::c(size)),
            (Family::Diamond, Syntax::Weak) => Some(diamond::weak(size)),
            (Family::Diamond, Syntax::Trencher) => Some(diamond::trencher(size)),
            (Family::Diamond, Syntax::C) => Some(diamond::c(size)),
            (Family::Loop, Syntax::Weak) => Some(long_loop::weak(size)),
            (Family::Loop, Syntax::Trencher) => Some(long_loop::trencher(size)),
            (Family::Loop, Syntax::C) => Some(long_loop::c(size)),
            (Family::Fig12, Syntax::Weak) => Some(fig12::WEAK.to_owned()),
            (Family::Fig12, Syntax::Trencher) => Some(fig12::TRENCHER.to_owned()),
            (Family::Fig12, Syntax::C) => Some(fig12::c()),
            (_, Syntax::Litmus) => litmus::text(self, size),
            (_, Syntax::Weak | Syntax::Trencher | Syntax::C) => None,
        };
        text.ok_or(Refused::Syntax(self, syntax))
    }
}

impl Syntax {
    /// All languages.
    pub const ALL: [Syntax; 4] = [Syntax::Weak, Syntax::Trencher, Syntax::C, Syntax::Litmus];

    /// The word for the language.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Syntax::Weak => "weak",
            Syntax::Trencher => "trencher",
            Syntax::C => "c",
            Syntax::Litmus => "litmus",
        }
    }

    /// The language that a word stands for.
    #[must_use]
    pub fn of_key(key: &str) -> Option<Syntax> {
        Syntax::ALL.into_iter().find(|s| s.key() == key)
    }

    /// The language that a file's ending stands for.
    #[must_use]
    pub fn of_path(path: &Path) -> Option<Syntax> {
        if path.extension()? == "c" {
            return Some(Syntax::C);
        }
        let format = Format::of_path(path)?;
        Syntax::ALL.into_iter().find(|s| s.format() == Some(format))
    }

    /// The input language, if it is one.
    #[must_use]
    pub fn format(self) -> Option<Format> {
        match self {
            Syntax::Weak => Some(Format::Weak),
            Syntax::Trencher => Some(Format::Trencher),
            Syntax::C => None,
            Syntax::Litmus => Some(Format::Litmus),
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Size(family, n) => {
                let range = family.range().unwrap_or(0..=0);
                let (from, to) = (range.start(), range.end());
                write!(f, "{} takes a size from {from} to {to}, not {n}", family.key())
            }
            Refused::NoSize(family) => write!(f, "{} has no size", family.key()),
            Refused::Syntax(family, syntax) => {
                let known: Vec<&str> = family.syntaxes().iter().map(|s| s.key()).collect();
                let known = known.join(", ");
                write!(f, "{} is not written in {}, but in {known}", family.key(), syntax.key())
            }
        }
    }
}

impl std::error::Error for Refused {}
