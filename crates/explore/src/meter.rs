//! Keeps a search within its limits and its listener informed.

use std::time::Instant;

use weakspot_core::{Limit, Limits, Progress, Snapshot};

/// Counts work and looks at the clock now and then.
pub(crate) struct Meter<'a> {
    limits: Limits,
    start: Instant,
    progress: &'a mut dyn Progress,
    until_look: u32,
    /// States visited.
    pub(crate) states: u64,
    /// Bytes in use besides those that the search at work knows of.
    pub(crate) held: u64,
}

/// Work units between two looks at the clock: about a millisecond.
const INTERVAL: u32 = 4096;

impl<'a> Meter<'a> {
    pub(crate) fn new(limits: Limits, progress: &'a mut dyn Progress) -> Meter<'a> {
        Meter { limits, start: Instant::now(), progress, until_look: INTERVAL, states: 0, held: 0 }
    }

    /// One unit of work was done. `usage` gives the frontier's length and the bytes in use.
    pub(crate) fn work(&mut self, usage: impl FnOnce() -> (u64, u64)) -> Result<(), Limit> {
        self.until_look -= 1;
        if self.until_look > 0 {
            return Ok(());
        }
        self.until_look = INTERVAL;
        let (frontier, memory) = usage();
        let memory = memory + self.held;
        if !self.progress.tick(Snapshot { states: self.states, frontier, memory }) {
            return Err(Limit::Interrupted);
        }
        match (self.limits.time, self.limits.memory) {
            (Some(time), _) if self.start.elapsed() >= time => Err(Limit::Time(time)),
            (_, Some(most)) if memory > most => Err(Limit::Memory(most)),
            _ => Ok(()),
        }
    }
}
