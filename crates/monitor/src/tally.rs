//! Reports, grouped by the source positions of the two events, with counts.

use rustc_hash::FxHashMap;
use weakspot_core::{End, LogEvent, Overtaking};

/// The reports of one monitor. Memory grows with the number of distinct pairs, up to [`MAX_PAIRS`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// By the positions of the two events.
    sites: FxHashMap<u64, u32>,
    /// For events without a position, by threads and locations.
    bare: FxHashMap<[u64; 2], u32>,
    pairs: Vec<Overtaking>,
    total: u64,
    /// Reports of pairs that there was no room for.
    unlisted: u64,
}

/// How many distinct pairs are listed; further ones are only counted.
const MAX_PAIRS: usize = 1_000_000;

impl Tally {
    /// Notes `count` reports that `access`, the `index`-th event, can overtake stores from `store`.
    pub(crate) fn add(
        &mut self,
        store: End,
        access: &LogEvent,
        previous: &LogEvent,
        index: u64,
        count: u64,
    ) {
        self.total += count;
        let next = self.pairs.len() as u32;
        let slot = if store.site != 0 && access.site != 0 {
            let key = u64::from(store.site) << 32 | u64::from(access.site);
            self.sites.entry(key).or_insert(next)
        } else {
            self.bare.entry([place(&store), place(&end(access))]).or_insert(next)
        };
        if *slot == u32::MAX {
            self.unlisted += count;
        } else if *slot < next {
            self.pairs[*slot as usize].count += count;
        } else if self.pairs.len() < MAX_PAIRS {
            let (access, previous) = (end(access), end(previous));
            self.pairs.push(Overtaking { store, access, previous, count, first: index });
        } else {
            *slot = u32::MAX;
            self.unlisted += count;
            // Remembering pairs that are not listed would take memory as well.
            if self.sites.len() + self.bare.len() > 2 * MAX_PAIRS {
                self.sites.retain(|_, slot| *slot != u32::MAX);
                self.bare.retain(|_, slot| *slot != u32::MAX);
            }
        }
    }

    /// All pairs, in the order of their first report.
    pub(crate) fn pairs(&self) -> &[Overtaking] {
        &self.pairs
    }

    /// How many reports there were.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// How many reports are about pairs that are not listed.
    pub(crate) fn unlisted(&self) -> u64 {
        self.unlisted
    }

    /// An estimate in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.sites.capacity() * 16 + self.bare.capacity() * 24 + self.pairs.capacity() * 64
    }
}

/// What stands in reports about an event.
pub(crate) fn end(event: &LogEvent) -> End {
    End { thread: event.thread, kind: event.kind, loc: event.loc, site: event.site }
}

/// The source position, or else who accesses what.
fn place(end: &End) -> u64 {
    match end.site {
        0 => 1 << 63 | u64::from(end.thread) << 32 | u64::from(end.loc),
        site => u64::from(site),
    }
}
