//! Keeps an engine within its limits and its listener informed.

use weakspot_core::{Limit, Limits, Progress, Snapshot};

/// Counts work and looks at the clock now and then.
pub struct Meter<'a> {
    limits: Limits,
    progress: &'a mut dyn Progress,
    until_look: u64,
    done: u64,
}

/// Work units, a few machine instructions each, between two looks at the clock.
const INTERVAL: u64 = 1 << 16;

impl<'a> Meter<'a> {
    /// A meter that starts now, unless the question began earlier.
    pub fn new(limits: &Limits, progress: &'a mut dyn Progress) -> Meter<'a> {
        Meter { limits: limits.begin(), progress, until_look: INTERVAL, done: 0 }
    }

    /// So many units of work were done, about one per operation and thread looked at. `memory`
    /// gives the bytes in use.
    pub fn work(&mut self, units: u64, memory: impl FnOnce() -> u64) -> Result<(), Limit> {
        if units < self.until_look {
            self.until_look -= units;
            return Ok(());
        }
        self.done += INTERVAL - self.until_look + units;
        self.until_look = INTERVAL;
        let memory = memory();
        if !self.progress.tick(Snapshot { states: self.done, memory, ..Snapshot::default() }) {
            return Err(Limit::Interrupted);
        }
        self.limits.check(memory)
    }

    /// So many bytes are about to be taken: whether they may be.
    pub fn room(&self, memory: u64) -> Result<(), Limit> {
        match self.limits.memory {
            Some(most) if memory.saturating_add(self.limits.held) > most => {
                Err(Limit::Memory(most))
            }
            _ => Ok(()),
        }
    }
}
