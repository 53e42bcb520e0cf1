//! Whether a log can be one of an SC execution at all: it has no commits, and every read sees what
//! was there.

use rustc_hash::FxHashMap;
use weakspot_core::{LogBatch, LogKind, LogTables, Value};

use crate::engine::Refused;

/// Follows the values of a log.
#[derive(Clone, Debug, Default)]
pub struct Values {
    /// What each location holds, as far as the log says so. Locations of known bytes, which may
    /// overlap others, are left out.
    held: FxHashMap<u32, Value>,
    events: u64,
}

impl Values {
    /// Looks at the next events: the first one that SC cannot have, by its place in the batch.
    /// Those after it are not looked at.
    pub fn follow(&mut self, batch: &LogBatch, tables: &LogTables) -> Option<(usize, Refused)> {
        let before = self.events;
        self.events += batch.events.len() as u64;
        let silent = batch.values.is_empty() && self.held.is_empty();
        let mut values = batch.values.iter();
        for (at, event) in batch.events.iter().enumerate() {
            let place = before + at as u64;
            if event.kind == LogKind::Commit {
                return Some((at, Refused::Commit(place)));
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
                return Some((at, Refused::Stale { at: place, read, last }));
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
