//! The monitors as their users see them: one call per event or per batch of events.

use std::fmt;

use weakspot_core::{LogEvent, LogKind, LogTables, Model, Overtaking};

use crate::engine::{Engine, PSO, Refused, Setup, TSO};
use crate::reference::Form;
use crate::run::{Compaction, MAX_BYTES};

/// monitor_TSO, monitor_PSO, or both at once.
#[derive(Clone, Debug)]
pub struct Monitor {
    wide: Wide,
}

/// The engine for a number of threads. A few widths, so that loops over clocks are unrolled.
#[derive(Clone, Debug)]
enum Wide {
    W8(Engine<8>),
    W16(Engine<16>),
    W32(Engine<32>),
    W64(Engine<64>),
    W128(Engine<128>),
    W256(Engine<256>),
    W1024(Engine<1024>),
}

macro_rules! each {
    ($wide:expr, $engine:ident => $body:expr) => {
        match $wide {
            Wide::W8($engine) => $body,
            Wide::W16($engine) => $body,
            Wide::W32($engine) => $body,
            Wide::W64($engine) => $body,
            Wide::W128($engine) => $body,
            Wide::W256($engine) => $body,
            Wide::W1024($engine) => $body,
        }
    };
}

impl Monitor {
    /// Events of more threads are refused.
    pub const MAX_THREADS: usize = 1024;

    /// Monitors for TSO, for one kind of PSO, or both. SC needs none; of several kinds of PSO the
    /// first counts.
    #[must_use]
    pub fn new(models: &[Model], form: Form) -> Monitor {
        // Times stay well below the largest number, so that a batch of events fits.
        let compaction = Compaction { least: 1 << 16, per_loc: 4 };
        Monitor::with(models, form, i32::MAX - (1 << 20), compaction)
    }

    /// The same, with times that are renumbered before they reach `horizon`.
    fn with(models: &[Model], form: Form, horizon: i32, compaction: Compaction) -> Monitor {
        let pso = models.iter().find_map(|model| match model {
            Model::Pso(drain) => Some(*drain),
            _ => None,
        });
        let setup = Setup { tso: models.contains(&Model::Tso), pso, form, horizon, compaction };
        Monitor { wide: Wide::W8(Engine::new(setup)) }
    }

    /// Tells the monitor which locations overlap: before events that use new ones.
    pub fn learn(&mut self, tables: &LogTables) {
        each!(&mut self.wide, engine => engine.learn(tables));
    }

    /// Follows one event.
    pub fn event(&mut self, event: &LogEvent) -> Result<(), Refused> {
        self.events(std::slice::from_ref(event))
    }

    /// Follows events. Faster than one at a time, because memory is asked for ahead.
    pub fn events(&mut self, events: &[LogEvent]) -> Result<(), Refused> {
        let mut rest = events;
        loop {
            let done = each!(&mut self.wide, engine => engine.follow(rest))?;
            rest = &rest[done..];
            let Some(next) = rest.first() else { return Ok(()) };
            let threads = match next.kind {
                LogKind::Spawn | LogKind::Join => u32::from(next.thread).max(next.loc),
                _ => u32::from(next.thread),
            };
            if threads as usize >= Monitor::MAX_THREADS {
                return Err(Refused::Threads(self.seen()));
            }
            self.widen(threads as usize + 1);
        }
    }

    /// The reports under `model`, one per pair of source positions, in the order in which they were
    /// first made.
    #[must_use]
    pub fn reports(&self, model: Model) -> Vec<Overtaking> {
        each!(&self.wide, engine => engine.side.tally[index(model)].pairs())
    }

    /// How many pairs there are reports of.
    #[must_use]
    pub fn pairs(&self, model: Model) -> usize {
        each!(&self.wide, engine => engine.side.tally[index(model)].len())
    }

    /// How many reports there were under `model`, of all pairs together.
    #[must_use]
    pub fn total(&self, model: Model) -> u64 {
        each!(&self.wide, engine => engine.side.tally[index(model)].total())
    }

    /// How many of them are about pairs that are not listed, because there are too many.
    #[must_use]
    pub fn unlisted(&self, model: Model) -> u64 {
        each!(&self.wide, engine => engine.side.tally[index(model)].unlisted())
    }

    /// How many events there have been.
    #[must_use]
    pub fn seen(&self) -> u64 {
        each!(&self.wide, engine => engine.events)
    }

    /// Pending stores that take more than this many bytes are forgotten.
    pub(crate) const MOST_MEMORY: u64 = MAX_BYTES;

    /// Whether older stores of runs had to be forgotten to bound memory, so that the form is now
    /// between [`Form::All`] and [`Form::Last`].
    #[must_use]
    pub fn is_coarse(&self) -> bool {
        each!(&self.wide, engine => engine.coarse())
    }

    /// How much memory is in use, in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        each!(&self.wide, engine => engine.memory())
    }

    /// As if stores had been forgotten.
    #[cfg(test)]
    pub(crate) fn forget(&mut self) {
        each!(&mut self.wide, engine => engine.forget());
    }

    fn widen(&mut self, threads: usize) {
        let setup = each!(&self.wide, engine => engine.side.setup);
        let old = std::mem::replace(&mut self.wide, Wide::W8(Engine::new(setup)));
        self.wide = each!(old, engine => match threads {
            0..=8 => Wide::W8(engine.widen()),
            9..=16 => Wide::W16(engine.widen()),
            17..=32 => Wide::W32(engine.widen()),
            33..=64 => Wide::W64(engine.widen()),
            65..=128 => Wide::W128(engine.widen()),
            129..=256 => Wide::W256(engine.widen()),
            _ => Wide::W1024(engine.widen()),
        });
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::NotSc(why) => why.fmt(f),
            Refused::Threads(at) => write!(
                f,
                "event {} is of thread {} or later; at most {} threads are monitored",
                at + 1,
                Monitor::MAX_THREADS,
                Monitor::MAX_THREADS
            ),
        }
    }
}

impl std::error::Error for Refused {}

fn index(model: Model) -> usize {
    if model == Model::Tso { TSO } else { PSO }
}

#[cfg(test)]
mod tests;
