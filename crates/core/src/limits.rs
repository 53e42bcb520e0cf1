//! What a question may use, and who hears of the work on it.
//!
//! Limits hold for a *question*, from when it began to its answer, whatever the number of phases
//! and algorithms that work on it. So they know when the question began, and each phase gets the
//! same limits; and they know how many bytes other phases hold meanwhile. The limit that is reached
//! is then always the one that the user set.

use std::time::{Duration, Instant};

use crate::Limit;

/// What may be used to answer one question.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Time from the beginning of the question to its answer; `None` for no limit.
    pub time: Option<Duration>,
    /// When the question began; `None` if it begins when an engine is asked, see [`Limits::begin`].
    pub began: Option<Instant>,
    /// Bytes of memory; `None` for no limit.
    pub memory: Option<u64>,
    /// Bytes that count as used before the work begins: what another phase of the question holds.
    pub held: u64,
    /// Entries that a store buffer may hold at most in a thread that stores in a loop. The buffers
    /// of other threads need no limit.
    pub buffer: usize,
    /// Threads that may work on one search at a time.
    pub workers: usize,
}

impl Limits {
    /// No limit at all, and one worker.
    pub const UNLIMITED: Limits =
        Limits { time: None, began: None, memory: None, held: 0, buffer: usize::MAX, workers: 1 };

    /// The limits of a question that began then: before its input was opened, say.
    #[must_use]
    pub const fn since(self, began: Instant) -> Limits {
        Limits { began: Some(began), ..self }
    }

    /// The limits of a question that begins now, unless it began earlier. Whoever answers a
    /// question in several phases starts with this, so that they share one deadline.
    #[must_use]
    pub fn begin(self) -> Limits {
        self.since(self.began.unwrap_or_else(Instant::now))
    }

    /// How long the question has taken.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.began.map_or(Duration::ZERO, |began| began.elapsed())
    }

    /// The time that is left; `None` for no limit.
    #[must_use]
    pub fn time_left(&self) -> Option<Duration> {
        self.time.map(|time| time.saturating_sub(self.elapsed()))
    }

    /// The bytes that are left; `None` for no limit.
    #[must_use]
    pub fn memory_left(&self) -> Option<u64> {
        self.memory.map(|most| most.saturating_sub(self.held))
    }

    /// These limits while so many more bytes are held elsewhere.
    #[must_use]
    pub const fn holding(self, bytes: u64) -> Limits {
        Limits { held: self.held.saturating_add(bytes), ..self }
    }

    /// The limit that is reached by now with so many bytes in use, if one is.
    pub fn check(&self, bytes: u64) -> Result<(), Limit> {
        match (self.time, self.memory) {
            (Some(time), _) if self.elapsed() >= time => Err(Limit::Time(time)),
            (_, Some(most)) if bytes.saturating_add(self.held) > most => Err(Limit::Memory(most)),
            _ => Ok(()),
        }
    }
}

/// How far a search has come.
#[derive(Clone, Copy, Debug, Default)]
pub struct Snapshot {
    /// States visited.
    pub states: u64,
    /// States found but not yet visited.
    pub frontier: u64,
    /// Bytes in use.
    pub memory: u64,
    /// States that are kept, if these are what takes the memory; else 0.
    pub kept: u64,
}

/// Hears from a search while it runs. Engines never print.
pub trait Progress {
    /// Called now and then; returning false asks the search to stop.
    fn tick(&mut self, snapshot: Snapshot) -> bool;
}

/// Nobody listens and nobody interrupts.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl Progress for Silent {
    fn tick(&mut self, _: Snapshot) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_share_the_time_of_a_question() {
        let minute = Duration::from_secs(60);
        let limits = Limits { time: Some(minute), ..Limits::UNLIMITED };
        let old = Instant::now().checked_sub(2 * minute);
        if let Some(old) = old {
            assert_eq!(limits.since(old).begin().check(0), Err(Limit::Time(minute)));
            assert_eq!(limits.since(old).time_left(), Some(Duration::ZERO));
        }
        assert_eq!(limits.begin().check(0), Ok(()));
        let never = Limits { time: Some(Duration::MAX), ..Limits::UNLIMITED }.begin();
        assert_eq!(never.check(0), Ok(()));
    }

    #[test]
    fn what_is_held_elsewhere_counts() {
        let limits = Limits { memory: Some(100), ..Limits::UNLIMITED };
        assert_eq!(limits.check(100), Ok(()));
        assert_eq!(limits.holding(1).check(100), Err(Limit::Memory(100)));
        assert_eq!(limits.holding(40).memory_left(), Some(60));
    }
}
