//! Locations cut into cells, so that those that overlap have a cell in common: ranges of bytes that
//! no location of the log ends within, and one cell for each location of unknown bytes.

use std::ops::Range;

use rustc_hash::FxHashMap;
use weakspot_core::{LogEvent, LogTables};

/// Which cells the locations of some events consist of.
pub(crate) struct Cells {
    of: FxHashMap<u32, Range<usize>>,
    /// How many there are.
    pub(crate) count: usize,
}

impl Cells {
    /// The cells of the locations that `events` access.
    pub(crate) fn new(events: &[LogEvent], tables: &LogTables) -> Cells {
        let mut of: FxHashMap<u32, Range<usize>> = FxHashMap::default();
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
        Cells { of, count }
    }

    /// The cells of a location.
    pub(crate) fn of(&self, loc: u32) -> Range<usize> {
        self.of.get(&loc).cloned().unwrap_or_default()
    }
}
