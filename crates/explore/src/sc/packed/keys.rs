//! Keys that are there once each, and are found by their hashes.

use crate::keep::{In, NotKept, Out};

use super::entries::{Entries, KeyBits};
use super::index::{Index, Place};

/// A set of keys, which are numbered in the order of their arrival.
#[derive(Debug)]
pub(crate) struct Keys {
    pub(crate) entries: Entries,
    index: Index,
}

/// Where a key that is not there goes.
pub(crate) struct Missing {
    hash: u64,
    place: (usize, usize),
}

/// So many are looked for ahead when the table is made anew.
const AHEAD: usize = 16;

impl Keys {
    /// None, of so many bits, with this set of threads that are asleep.
    pub(crate) fn new(bits: KeyBits, asleep: u32) -> Keys {
        Keys { entries: Entries::new(bits, asleep), index: Index::larger(0) }
    }

    pub(crate) fn len(&self) -> u32 {
        self.entries.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.entries.bytes() + self.index.bytes()
    }

    /// The bytes in use after the next growth of the table, if that is due within `more` keys.
    pub(crate) fn bytes_after(&self, more: usize) -> usize {
        let then = self.len().saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
        match self.index.is_full(then) {
            true => self.entries.bytes() + Index::bytes_of_larger(then),
            false => self.bytes(),
        }
    }

    /// This key will be looked for soon.
    pub(crate) fn prefetch(&self, key: &[u64]) {
        self.index.prefetch(hash(key));
    }

    /// The number of a key, or where it goes.
    #[inline]
    pub(crate) fn find(&self, key: &[u64]) -> Result<u32, Missing> {
        let hash = hash(key);
        match self.index.find(hash, |id| self.entries.is(id, key)) {
            Place::Known(id) => Ok(id),
            Place::Free(line, slot) => Err(Missing { hash, place: (line, slot) }),
        }
    }

    /// Adds a key where it was missing, with those who are asleep. There is room for them.
    #[inline]
    pub(crate) fn add(&mut self, key: &[u64], asleep: u32, missing: &Missing) -> u32 {
        let id = self.len();
        self.entries.push(key, asleep);
        match self.index.is_full(id + 1) {
            false => self.index.put(missing.place, missing.hash, id),
            true => self.find_anew(),
        }
        id
    }

    /// Makes the table anew, with room for more.
    pub(crate) fn find_anew(&mut self) {
        self.index = Index::default();
        self.index = Index::larger(self.len());
        let mut key = vec![0; self.entries.words()];
        let mut hashes = [0; AHEAD];
        for first in (0..self.len()).step_by(AHEAD) {
            let ids = first..self.len().min(first + AHEAD as u32);
            for (id, of_id) in ids.clone().zip(&mut hashes) {
                self.entries.load(id, &mut key);
                *of_id = hash(&key);
                self.index.prefetch(*of_id);
            }
            ids.zip(hashes).for_each(|(id, hash)| self.index.add(hash, id));
        }
    }

    /// Writes all of it as it is.
    pub(crate) fn save(&self, out: &mut Out<'_>) {
        self.entries.save(out);
        self.index.save(out);
    }

    /// Reads this.
    pub(crate) fn load(from: &mut In<'_>) -> Result<Keys, NotKept> {
        Ok(Keys { entries: Entries::load_all(from)?, index: Index::load(from)? })
    }
}

/// A hash of words that are states or parts of them.
#[inline]
fn hash(words: &[u64]) -> u64 {
    let mut h = 0u64;
    for &word in words {
        h = (h ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        h ^= h >> 29;
    }
    h = h.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    h ^ (h >> 32)
}
