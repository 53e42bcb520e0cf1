//! Slices stored once each and named by dense numbers.
//!
//! They are in blocks, which are not moved when more are needed: a table that doubles takes three times its size for
//! a moment, more than a limit on memory allows.

use std::hash::{Hash, Hasher};

use hashbrown::HashTable;
use rustc_hash::FxHasher;

use crate::keep::{In, NotKept, Out};

/// A table of distinct slices.
#[derive(Clone, Debug)]
pub(crate) struct Interner<T> {
    blocks: Vec<Vec<T>>,
    places: Vec<Place>,
    table: HashTable<u32>,
}

/// Elements of a block, but for longer slices, which have blocks of their own. An allocator that has sizes of four or
/// eight steps between powers of two, and pages of a few of them, has such a size, and puts it there without a gap.
const BLOCK: usize = 7 << 13;

/// Where a slice is, in one word: its block, its start and its length there.
#[derive(Clone, Copy, Debug)]
struct Place(u64);

impl Place {
    fn new(block: usize, start: usize, len: usize) -> Place {
        debug_assert!(start + len <= BLOCK);
        Place((block as u64) << 34 | (start as u64) << 17 | len as u64)
    }

    /// All of a block.
    fn whole(block: usize) -> Place {
        Place((block as u64) << 34 | WHOLE)
    }

    fn of<T>(self, blocks: &[Vec<T>]) -> &[T] {
        let block = &blocks[(self.0 >> 34) as usize];
        let (start, len) = ((self.0 >> 17 & WHOLE) as usize, self.0 & WHOLE);
        if len == WHOLE { block } else { &block[start..][..len as usize] }
    }
}

/// No slice in a block with others has this length.
const WHOLE: u64 = (1 << 17) - 1;

impl<T: Copy + Eq + Hash> Interner<T> {
    pub(crate) fn new() -> Self {
        Interner { blocks: Vec::new(), places: Vec::new(), table: HashTable::new() }
    }

    /// The number of `slice`, and whether it is new.
    pub(crate) fn insert(&mut self, slice: &[T]) -> (u32, bool) {
        let hash = hash(slice);
        let Interner { blocks, places, table } = self;
        if let Some(&id) = table.find(hash, |&id| places[id as usize].of(blocks) == slice) {
            return (id, false);
        }
        let id = u32::try_from(places.len()).expect("more than 2^32 distinct entries");
        places.push(put(blocks, slice));
        table.insert_unique(hash, id, |&id| self::hash(places[id as usize].of(blocks)));
        (id, true)
    }

    /// The number of `slice`, if it is there.
    pub(crate) fn find(&self, slice: &[T]) -> Option<u32> {
        self.table.find(hash(slice), |&id| self.get(id) == slice).copied()
    }

    pub(crate) fn get(&self, id: u32) -> &[T] {
        self.places[id as usize].of(&self.blocks)
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Writes all slices.
    pub(crate) fn keep<'w>(&self, out: &mut Out<'w>, one: impl Fn(&mut Out<'w>, T)) {
        out.number(self.len() as u64);
        (0..self.len() as u32).for_each(|id| out.all(self.get(id), &one));
    }

    /// Reads them to where there is none yet, or only the first ones; each has to be one that `is_good`.
    pub(crate) fn resume<'r>(
        &mut self,
        from: &mut In<'r>,
        one: impl Fn(&mut In<'r>) -> Result<T, NotKept>,
        is_good: impl Fn(&[T]) -> bool,
    ) -> Result<(), NotKept> {
        for id in 0..from.at_most(u32::MAX)? {
            let slice = from.all(&one)?;
            if !is_good(&slice) || self.insert(&slice).0 != id {
                return Err(NotKept::Damaged);
            }
        }
        Ok(())
    }

    pub(crate) fn bytes(&self) -> usize {
        self.blocks.iter().map(Vec::capacity).sum::<usize>() * size_of::<T>()
            + self.places.capacity() * size_of::<Place>()
            + table_bytes(self.table.capacity(), 4)
    }
}

/// Puts a slice into the last block, or a new one.
fn put<T: Copy>(blocks: &mut Vec<Vec<T>>, slice: &[T]) -> Place {
    if slice.len() > BLOCK {
        blocks.push(slice.to_vec());
        return Place::whole(blocks.len() - 1);
    }
    let index = blocks.len().saturating_sub(1);
    match blocks.last_mut() {
        Some(last) if last.len() + slice.len() <= BLOCK => {
            let start = last.len();
            last.extend_from_slice(slice);
            Place::new(index, start, slice.len())
        }
        last => {
            // Most tables are small, so the first block grows as it is filled.
            let room = if last.is_some() { BLOCK } else { slice.len() };
            let mut block = Vec::with_capacity(room);
            block.extend_from_slice(slice);
            blocks.push(block);
            Place::new(blocks.len() - 1, 0, slice.len())
        }
    }
}

/// The bytes of a hash table with room for so many entries of so many bytes: it has an eighth of room more, and a byte
/// for each.
pub(crate) fn table_bytes(capacity: usize, entry: usize) -> usize {
    capacity * 8 / 7 * (entry + 1)
}

/// The same for equal slices, in every run of the program.
pub(crate) fn hash<T: Hash>(slice: &[T]) -> u64 {
    let mut hasher = FxHasher::default();
    slice.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also at the ends of blocks, and where slices are longer than blocks.
    #[test]
    fn slices_stay_what_they_are() {
        let lengths = [0, 1, 5, BLOCK - 6, 1, BLOCK, BLOCK + 1, 3, BLOCK / 2, BLOCK / 2, 1, 7];
        let slices: Vec<Vec<u32>> =
            lengths.iter().enumerate().map(|(i, &len)| vec![i as u32; len]).collect();
        let mut all = Interner::new();
        for (i, slice) in slices.iter().enumerate() {
            assert_eq!(all.find(slice), None);
            assert_eq!(all.insert(slice), (i as u32, true));
            for (j, slice) in slices[..=i].iter().enumerate() {
                assert_eq!((all.get(j as u32), all.find(slice)), (&slice[..], Some(j as u32)));
                assert_eq!(all.insert(slice), (j as u32, false));
            }
        }
        assert_eq!(all.len(), slices.len());
        let elements: usize = lengths.iter().sum();
        assert!((4 * elements..8 * elements).contains(&all.bytes()), "{}", all.bytes());
    }
}
