//! Keeps a search within its limits and its listener informed.

use std::time::{Duration, Instant};

use weakspot_core::{Limit, Limits, Progress, Snapshot};

/// Counts work and looks at the clock now and then.
pub struct Meter<'a> {
    limits: Limits,
    progress: &'a mut dyn Progress,
    until_look: u32,
    /// Work units from the last look to the next: fewer where units take long.
    interval: u32,
    last_look: Instant,
    /// States visited.
    pub states: u64,
    /// States that are kept.
    pub(crate) kept: u64,
    /// Bytes in use besides those that the search at work knows of.
    pub(crate) held: u64,
}

/// Work units between two looks at the clock at most: about a millisecond.
const INTERVAL: u32 = 4096;

/// How long findings are told beyond a limit.
const MOMENT: Duration = Duration::from_millis(50);

/// How long work may go on without a look.
const LONG: Duration = Duration::from_millis(10);

impl<'a> Meter<'a> {
    /// A meter that starts now, unless the question began earlier.
    pub fn new(limits: Limits, progress: &'a mut dyn Progress) -> Meter<'a> {
        let now = Instant::now();
        Meter {
            limits: limits.begin(),
            progress,
            // Many small searches may make up a question, so each of them looks early.
            until_look: 1,
            interval: 1,
            last_look: now,
            states: 0,
            kept: 0,
            held: 0,
        }
    }

    /// The bytes that may be in use, as [`Meter::work`] hears of them; `None` for no limit.
    pub(crate) fn memory(&self) -> Option<u64> {
        self.limits.memory_left().map(|bytes| (bytes / 13 * 12).saturating_sub(self.held))
    }

    /// So many bytes are about to be taken: whether they may be.
    pub(crate) fn room(&self, bytes: u64) -> Result<(), Limit> {
        match self.limits.memory {
            Some(most) if bytes.saturating_add(self.limits.held) > most => Err(Limit::Memory(most)),
            _ => Ok(()),
        }
    }

    /// Some work was done that may have taken long: looks at the clock if it did.
    pub(crate) fn long_work(&mut self, usage: impl FnOnce() -> (u64, u64)) -> Result<(), Limit> {
        if self.last_look.elapsed() > LONG {
            self.until_look = 1;
        }
        self.work(usage)
    }

    /// The same while what a search has found is made into answers, `since` then: that goes on for a moment where
    /// the limit is reached already, so that few findings are lost.
    pub(crate) fn telling(&mut self, since: Instant, bytes: u64) -> Result<(), Limit> {
        if since.elapsed() < MOMENT { Ok(()) } else { self.long_work(|| (0, bytes)) }
    }

    /// One unit of work was done. `usage` gives the frontier's length and the bytes in use.
    pub fn work(&mut self, usage: impl FnOnce() -> (u64, u64)) -> Result<(), Limit> {
        self.until_look -= 1;
        if self.until_look > 0 {
            return Ok(());
        }
        let is_slow = self.last_look.elapsed() > LONG;
        self.interval = match is_slow {
            true => (self.interval / 4).max(1),
            false => (self.interval * 2).min(INTERVAL),
        };
        self.until_look = self.interval;
        let (frontier, memory) = usage();
        // What the allocator and the process itself take comes on top.
        let memory = (memory + self.held) * 13 / 12;
        let go_on =
            self.progress.tick(Snapshot { states: self.states, frontier, memory, kept: self.kept });
        // What the look takes is no work.
        self.last_look = Instant::now();
        if !go_on {
            return Err(Limit::Interrupted);
        }
        self.limits.check(memory)
    }
}
