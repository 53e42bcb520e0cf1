//! Lines, and private caches of a few of them.

use weakspot_core::testing::Rng;
use weakspot_core::{INITIAL, OpKind};

use super::{LINES, World};
use crate::Bug;

/// Variables per line: with two of them, a store leaves a part of the line as it was, so that old
/// lines show.
pub(super) const PER_LINE: usize = 2;

/// A line: per variable the operation that wrote it.
pub(super) type Data = [u32; PER_LINE];

/// A line that nobody has written.
pub(super) const EMPTY: Data = [INITIAL; PER_LINE];

/// The line of a variable.
pub(super) fn line_of(var: u32) -> u32 {
    var / PER_LINE as u32
}

/// The place of a variable in its line.
pub(super) fn slot_of(var: u32) -> usize {
    var as usize % PER_LINE
}

/// A line in a private cache, in a state of the protocol. What is not here is invalid.
#[derive(Clone, Debug)]
pub(super) struct Entry<S> {
    pub(super) line: u32,
    pub(super) state: S,
    pub(super) data: Data,
    /// The data as it came, before this CPU wrote; only bugs look at it.
    pub(super) filled: Data,
    /// The operation that waits for the line.
    pub(super) op: u32,
    /// The number of the request for the line.
    pub(super) tag: u32,
    /// Answers that are still to come, and those that came before it was known how many.
    pub(super) missing: i64,
    /// Whether the answers so far had the data, and whether they said that others have it, too.
    pub(super) has_data: bool,
    pub(super) shared: bool,
    /// Whether memory has answered, where memory is asked together with the caches.
    pub(super) memory_came: bool,
    /// Whether the data differs from what is behind the cache.
    pub(super) dirty: bool,
    /// Acknowledged as invalid, but still here; only bugs do that.
    pub(super) doomed: bool,
}

impl<S> Entry<S> {
    /// The line has come and is in `data`: does the operation that waited for it.
    pub(super) fn complete(&mut self, cpu: usize, world: &mut World) {
        self.filled = self.data;
        if world.has(Bug::SwappedFill) && world.cpus.kind(self.op) != OpKind::Read {
            // What is stored into the empty line is gone when the line is filled.
            let mut empty = self.data;
            world.cpus.perform(cpu, self.op, &mut empty);
        } else {
            world.cpus.perform(cpu, self.op, &mut self.data);
        }
    }

    /// What an owner hands on.
    pub(super) fn to_hand_on(&self, world: &World) -> Data {
        if world.has(Bug::StaleForward) { self.filled } else { self.data }
    }

    /// What a cache that is giving the line back hands on meanwhile.
    pub(super) fn to_hand_on_late(&self, world: &World) -> Data {
        if world.has(Bug::EvictionRace) { self.filled } else { self.data }
    }
}

/// A private cache.
#[derive(Clone, Debug)]
pub(super) struct Cache<S> {
    pub(super) entries: Vec<Entry<S>>,
}

impl<S: Copy> Cache<S> {
    pub(super) fn new() -> Cache<S> {
        Cache { entries: Vec::with_capacity(LINES) }
    }

    pub(super) fn find(&self, line: u32) -> Option<usize> {
        self.entries.iter().position(|entry| entry.line == line)
    }

    pub(super) fn is_full(&self) -> bool {
        self.entries.len() >= LINES
    }

    /// A new entry in a state that waits for the line, for the operation.
    pub(super) fn insert(&mut self, line: u32, state: S, op: u32, tag: u32) {
        self.entries.push(Entry {
            line,
            state,
            data: EMPTY,
            filled: EMPTY,
            op,
            tag,
            missing: 0,
            has_data: false,
            shared: false,
            memory_came: false,
            dirty: false,
            doomed: false,
        });
    }

    pub(super) fn remove(&mut self, index: usize) {
        self.entries.swap_remove(index);
    }

    /// A random entry among those that may be evicted.
    pub(super) fn victim(&self, rng: &mut Rng, may_go: impl Fn(S) -> bool) -> Option<usize> {
        let fit = |index: &usize| may_go(self.entries[*index].state);
        let some = (0..self.entries.len()).filter(fit).count();
        if some == 0 {
            return None;
        }
        (0..self.entries.len()).filter(fit).nth(rng.below(some))
    }
}

/// The CPUs of a set.
pub(super) fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let cpu = (set != 0).then(|| set.trailing_zeros() as usize);
        set &= set.wrapping_sub(1);
        cpu
    })
}
