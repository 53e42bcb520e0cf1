//! Reports, grouped by the source positions of the two events, with counts.

use rustc_hash::FxHashMap;
use weakspot_core::{End, LogEvent, Overtaking};

/// The reports of one monitor. Memory grows with the number of distinct pairs, up to [`MAX_PAIRS`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// By the positions of the two events: how often. An open hash table, because some logs have a
    /// report every few events; a key of 0 is a free place.
    counts: Vec<(u64, u64)>,
    /// For events without a position, by threads and locations.
    bare: FxHashMap<[u64; 2], u64>,
    /// The first report of each pair. Their counts stand in the tables.
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
        let known = if store.site != 0 && access.site != 0 {
            let at = self.find(store.site, access.site);
            self.counts.get_mut(at).filter(|entry| entry.0 != 0).map(|entry| &mut entry.1)
        } else {
            self.bare.get_mut(&[place(&store), place(&end(access))])
        };
        match known {
            Some(known) => *known += count,
            None => self.begin(store, access, previous, index, count),
        }
    }

    /// Where a pair of positions is in the table, or would be.
    fn find(&self, store: u32, access: u32) -> usize {
        let key = u64::from(store) << 32 | u64::from(access);
        let mask = self.counts.len().wrapping_sub(1);
        let mut at = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        while let Some(entry) = self.counts.get(at)
            && entry.0 != 0
            && entry.0 != key
        {
            at = (at + 1) & mask;
        }
        at
    }

    /// The first reports of a pair.
    #[cold]
    fn begin(
        &mut self,
        store: End,
        access: &LogEvent,
        previous: &LogEvent,
        index: u64,
        count: u64,
    ) {
        if self.pairs.len() == MAX_PAIRS {
            self.unlisted += count;
            return;
        }
        if store.site != 0 && access.site != 0 {
            if self.counts.len() < 4 * (self.pairs.len() + 1) {
                let larger = vec![(0, 0); (8 * (self.pairs.len() + 1)).next_power_of_two()];
                for (key, count) in std::mem::replace(&mut self.counts, larger) {
                    if key != 0 {
                        let at = self.find((key >> 32) as u32, key as u32);
                        self.counts[at] = (key, count);
                    }
                }
            }
            let at = self.find(store.site, access.site);
            self.counts[at] = (u64::from(store.site) << 32 | u64::from(access.site), count);
        } else {
            self.bare.insert([place(&store), place(&end(access))], count);
        }
        let (access, previous) = (end(access), end(previous));
        self.pairs.push(Overtaking { store, access, previous, count, first: index });
    }

    /// All pairs, in the order of their first report.
    pub(crate) fn pairs(&self) -> Vec<Overtaking> {
        let counted = |pair: &Overtaking| {
            let (store, access) = (&pair.store, &pair.access);
            let count = match store.site != 0 && access.site != 0 {
                true => self.counts.get(self.find(store.site, access.site)).map(|entry| entry.1),
                false => self.bare.get(&[place(store), place(access)]).copied(),
            };
            Overtaking { count: count.unwrap_or(pair.count), ..*pair }
        };
        self.pairs.iter().map(counted).collect()
    }

    /// How many pairs there are.
    pub(crate) fn len(&self) -> usize {
        self.pairs.len()
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
        self.counts.capacity() * 16 + self.bare.capacity() * 32 + self.pairs.capacity() * 64
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
