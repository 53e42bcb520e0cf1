//! Locations of a log cut into cells, so that those that overlap have a cell in common: ranges of bytes that
//! no location of the log ends within, and one cell for each location of unknown bytes.

use std::collections::HashMap;
use std::ops::Range;

use crate::{LogEvent, LogTables};

/// Which cells the locations of some events consist of.
#[derive(Debug)]
pub struct LogCells {
    of: HashMap<u32, Range<usize>>,
    /// How many there are.
    pub count: usize,
}

impl LogCells {
    /// The cells of the locations that `events` access.
    #[must_use]
    pub fn new(events: &[LogEvent], tables: &LogTables) -> LogCells {
        let mut of: HashMap<u32, Range<usize>> = HashMap::new();
        for event in events.iter().filter(|e| e.kind.is_access()) {
            of.entry(event.loc).or_default();
        }
        let ends = |loc: u32| {
            let bytes = tables.locs.get(loc as usize)?.bytes?;
            let start = u128::from(bytes.start);
            Some((start, start + u128::from(bytes.len)))
        };
        let mut cuts: Vec<u128> = Vec::new();
        for (start, end) in of.keys().filter_map(|&loc| ends(loc)) {
            cuts.extend([start, end]);
        }
        cuts.sort_unstable();
        cuts.dedup();
        let index = |cut: &u128| cuts.binary_search(cut).unwrap_or_else(|at| at);
        let mut count = cuts.len();
        for (&loc, cells) in &mut of {
            *cells = match ends(loc) {
                Some((start, end)) => index(&start)..index(&end),
                None => count..count + 1,
            };
            count = count.max(cells.end);
        }
        LogCells { of, count }
    }

    /// The cells of a location.
    #[must_use]
    pub fn of(&self, loc: u32) -> Range<usize> {
        self.of.get(&loc).cloned().unwrap_or_default()
    }
}
