//! Locations of a log cut into cells, so that those that overlap have a cell in common: ranges of bytes that
//! no location of the log ends within, and one cell for each location of unknown bytes.

use std::ops::Range;

use crate::{LogEvent, LogTables};

/// Which cells the locations of some events consist of.
#[derive(Debug)]
pub struct LogCells {
    /// By location; nothing for those that no event accesses.
    of: Vec<Range<usize>>,
    /// How many there are.
    pub count: usize,
}

impl LogCells {
    /// The cells of the locations that `events` access.
    #[must_use]
    pub fn new(events: &[LogEvent], tables: &LogTables) -> LogCells {
        let mut locs: Vec<u32> =
            events.iter().filter(|e| e.kind.is_access()).map(|e| e.loc).collect();
        locs.sort_unstable();
        locs.dedup();
        let ends = |loc: u32| {
            let bytes = tables.locs.get(loc as usize)?.bytes?;
            let start = u128::from(bytes.start);
            Some((start, start + u128::from(bytes.len)))
        };
        let mut cuts: Vec<u128> = Vec::new();
        for (start, end) in locs.iter().filter_map(|&loc| ends(loc)) {
            cuts.extend([start, end]);
        }
        cuts.sort_unstable();
        cuts.dedup();
        let index = |cut: &u128| cuts.binary_search(cut).unwrap_or_else(|at| at);
        let mut count = cuts.len();
        let mut of = vec![0..0; locs.last().map_or(0, |&last| last as usize + 1)];
        for loc in locs {
            let cells = match ends(loc) {
                Some((start, end)) => index(&start)..index(&end),
                None => count..count + 1,
            };
            count = count.max(cells.end);
            of[loc as usize] = cells;
        }
        LogCells { of, count }
    }

    /// The cells of a location.
    #[must_use]
    pub fn of(&self, loc: u32) -> Range<usize> {
        self.of.get(loc as usize).cloned().unwrap_or_default()
    }
}
