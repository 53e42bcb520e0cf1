//! Whether a log can be one of an SC execution at all: it has no commits, and every read sees what
//! was there.

use std::collections::HashMap;
use std::fmt;

use crate::{LogBatch, LogKind, LogTables, Value};

/// Why a log is none of an SC execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotSc {
    /// The event at this place says that a store reached memory late.
    Commit(u64),
    /// The event at this place reads something else than what was there last.
    Stale {
        /// The place.
        at: u64,
        /// What it reads.
        read: Value,
        /// What was there last.
        last: Value,
    },
}

impl fmt::Display for NotSc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotSc::Commit(at) => write!(
                f,
                "event {} is a commit: monitors watch SC executions, in which stores reach memory \
                 at once",
                at + 1
            ),
            NotSc::Stale { at, read, last } => write!(
                f,
                "event {} reads {read}, but {last} was there last: this is no SC execution",
                at + 1
            ),
        }
    }
}

/// Follows the values of a log.
#[derive(Clone, Debug, Default)]
pub struct LogValues {
    /// What each location holds, as far as the log says so. Locations of known bytes, which may
    /// overlap others, are left out.
    held: HashMap<u32, Value>,
    events: u64,
}

impl LogValues {
    /// Looks at the next events: the first one that SC cannot have, by its place in the batch.
    /// Those after it are not looked at.
    pub fn follow(&mut self, batch: &LogBatch, tables: &LogTables) -> Option<(usize, NotSc)> {
        let before = self.events;
        self.events += batch.events.len() as u64;
        let silent = batch.values.is_empty() && self.held.is_empty();
        let mut values = batch.values.iter();
        for (at, event) in batch.events.iter().enumerate() {
            let place = before + at as u64;
            if event.kind == LogKind::Commit {
                return Some((at, NotSc::Commit(place)));
            }
            if silent {
                continue;
            }
            let value = if event.valued { values.next() } else { None };
            let plain = tables.locs.get(event.loc as usize).is_some_and(|loc| loc.bytes.is_none());
            if !event.kind.is_access() || !plain {
                continue;
            }
            let read = match event.kind {
                LogKind::Read => value.map(|v| v.value),
                _ => value.and_then(|v| v.old),
            };
            if let (Some(read), Some(&last)) = (read, self.held.get(&event.loc))
                && read != last
            {
                return Some((at, NotSc::Stale { at: place, read, last }));
            }
            match value {
                Some(value) => drop(self.held.insert(event.loc, value.value)),
                None if event.kind.writes() => drop(self.held.remove(&event.loc)),
                None => {}
            }
        }
        None
    }
}
