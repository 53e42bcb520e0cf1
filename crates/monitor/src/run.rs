//! The stores between the first and the last one of a run: per location the stores of its last
//! writer that may still be pending. The engine keeps the first and the last of each run itself,
//! which is all there is to most runs.
//!
//! A run in memory that only one thread uses can grow for as long as the program runs, so runs are
//! [compacted](Runs::compact) now and then: of stores that no future event can tell apart, one with
//! a count remains. Events tell stores of a thread apart by the clocks that are around, of which
//! there are at most a few per location.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

/// The middles of all runs, as linked lists in one table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Runs {
    nodes: Vec<Node>,
    /// Per location its first and last node; [`NONE`] where there is none.
    ends: Vec<[u32; 2]>,
    /// The first of the nodes that are not in use.
    free: u32,
    used: usize,
    /// Compact when this many are in use.
    limit: usize,
    rule: Compaction,
    /// Whether stores had to be forgotten to stay within [`MAX_NODES`].
    pub(crate) coarse: bool,
}

/// When middles of runs are compacted: when there are this many stores in them, and whenever they
/// have doubled since. Compaction takes time for each location.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Compaction {
    pub(crate) least: usize,
    pub(crate) per_loc: usize,
}

/// Some stores of a run that nobody can tell apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stores {
    /// When: the clock of the thread of the first of them.
    pub(crate) time: i32,
    /// Where in the source, plus one.
    pub(crate) site: u32,
    /// How many.
    pub(crate) count: u32,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    stores: Stores,
    next: u32,
}

const NONE: u32 = u32::MAX;
/// More than this many stores are not remembered: 256 MiB.
const MAX_NODES: usize = 1 << 24;
/// [`MAX_NODES`] in bytes.
pub(crate) const MAX_BYTES: u64 = (MAX_NODES * size_of::<Node>()) as u64;

impl Runs {
    pub(crate) fn new(rule: Compaction) -> Runs {
        Runs { free: NONE, limit: rule.least, rule, ..Runs::default() }
    }

    /// Adds a store to the middle of the run at `loc`.
    pub(crate) fn push(&mut self, loc: usize, stores: Stores) {
        if self.ends.len() <= loc {
            self.ends.resize(loc + 1, [NONE; 2]);
        }
        let node = Node { stores, next: NONE };
        let at = self.free;
        let at = if at == NONE {
            self.nodes.push(node);
            (self.nodes.len() - 1) as u32
        } else {
            self.free = self.nodes[at as usize].next;
            self.nodes[at as usize] = node;
            at
        };
        self.used += 1;
        let [first, last] = &mut self.ends[loc];
        if *first == NONE {
            *first = at;
        } else {
            self.nodes[*last as usize].next = at;
        }
        *last = at;
    }

    /// The middle of the run at `loc`, oldest store first.
    pub(crate) fn middle(&self, loc: usize) -> impl Iterator<Item = Stores> + '_ {
        let mut at = self.ends.get(loc).map_or(NONE, |ends| ends[0]);
        std::iter::from_fn(move || {
            let node = self.nodes.get(at as usize)?;
            at = node.next;
            Some(node.stores)
        })
    }

    /// Puts stores before the middle of the run at `loc`, which had them until just now.
    pub(crate) fn push_front(&mut self, loc: usize, stores: Stores) {
        let rest = std::iter::from_fn(|| self.pop(loc)).collect::<Vec<_>>();
        for stores in [stores].into_iter().chain(rest) {
            self.push(loc, stores);
        }
    }

    /// Takes the oldest store out of the middle of the run at `loc`.
    pub(crate) fn pop(&mut self, loc: usize) -> Option<Stores> {
        let [first, last] = self.ends.get_mut(loc)?;
        let at = *first;
        let node = *self.nodes.get(at as usize)?;
        *first = node.next;
        if node.next == NONE {
            *last = NONE;
        }
        self.nodes[at as usize].next = self.free;
        self.free = at;
        self.used -= 1;
        Some(node.stores)
    }

    /// Empties the middle of the run at `loc`.
    pub(crate) fn clear(&mut self, loc: usize) {
        while self.pop(loc).is_some() {}
    }

    /// Whether it is time to compact the runs of this many locations.
    pub(crate) fn is_full(&self, locs: usize) -> bool {
        self.used >= self.limit.max(self.rule.per_loc * locs)
    }

    /// Merges stores of the run at `loc` that are at the same place in the source and are not
    /// separated by any of `times`, which is sorted: the values of the thread's clock that are
    /// around.
    pub(crate) fn compact(&mut self, loc: usize, times: &[i32]) {
        let mut kept: Vec<Stores> = Vec::new();
        // Where the sites of the current class of stores that cannot be told apart are kept.
        let mut class = 0;
        let mut sites: FxHashMap<u32, usize> = FxHashMap::default();
        while let Some(stores) = self.pop(loc) {
            let rank = times.partition_point(|&time| time < stores.time);
            if rank != class {
                class = rank;
                sites.clear();
            }
            match sites.entry(stores.site) {
                Entry::Occupied(same) => {
                    let same = &mut kept[*same.get()];
                    same.count = same.count.saturating_add(stores.count);
                }
                Entry::Vacant(place) => {
                    place.insert(kept.len());
                    kept.push(stores);
                }
            }
        }
        for stores in kept {
            self.push(loc, stores);
        }
    }

    /// After all runs were compacted: when to do it again. Forgets all middles if there are too
    /// many of them even so.
    pub(crate) fn compacted(&mut self) {
        if self.used > MAX_NODES {
            *self = Runs { coarse: true, ..Runs::new(self.rule) };
        }
        self.limit = (2 * self.used).max(self.rule.least);
    }

    /// Changes all times of the run at `loc`.
    pub(crate) fn retime(&mut self, loc: usize, new: impl Fn(i32) -> i32) {
        let mut at = self.ends.get(loc).map_or(NONE, |ends| ends[0]);
        while let Some(node) = self.nodes.get_mut(at as usize) {
            node.stores.time = new(node.stores.time);
            at = node.next;
        }
    }

    /// In bytes.
    pub(crate) fn memory(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>() + self.ends.capacity() * 8
    }
}
