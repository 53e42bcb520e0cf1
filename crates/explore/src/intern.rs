//! Slices stored once each, back to back, and named by dense numbers.

use std::hash::{Hash, Hasher};

use hashbrown::HashTable;
use rustc_hash::FxHasher;

use crate::keep::{In, NotKept, Out};

/// A table of distinct slices.
#[derive(Debug)]
pub(crate) struct Interner<T> {
    data: Vec<T>,
    ends: Vec<usize>,
    table: HashTable<u32>,
}

impl<T: Copy + Eq + Hash> Interner<T> {
    pub(crate) fn new() -> Self {
        Interner { data: Vec::new(), ends: Vec::new(), table: HashTable::new() }
    }

    /// The number of `slice`, and whether it is new.
    pub(crate) fn insert(&mut self, slice: &[T]) -> (u32, bool) {
        let Interner { data, ends, table } = self;
        let hash = hash(slice);
        if let Some(&id) = table.find(hash, |&id| get(data, ends, id) == slice) {
            return (id, false);
        }
        let id = u32::try_from(ends.len()).expect("more than 2^32 distinct entries");
        data.extend_from_slice(slice);
        ends.push(data.len());
        table.insert_unique(hash, id, |&id| self::hash(get(data, ends, id)));
        (id, true)
    }

    /// The number of `slice`, if it is there.
    pub(crate) fn find(&self, slice: &[T]) -> Option<u32> {
        self.table.find(hash(slice), |&id| self.get(id) == slice).copied()
    }

    pub(crate) fn get(&self, id: u32) -> &[T] {
        get(&self.data, &self.ends, id)
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
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
        self.data.capacity() * size_of::<T>()
            + self.ends.capacity() * size_of::<usize>()
            + self.table.capacity() * 5
    }
}

fn get<'a, T>(data: &'a [T], ends: &[usize], id: u32) -> &'a [T] {
    let i = id as usize;
    let start = if i == 0 { 0 } else { ends[i - 1] };
    &data[start..ends[i]]
}

/// The same for equal slices, in every run of the program.
pub(crate) fn hash<T: Hash>(slice: &[T]) -> u64 {
    let mut hasher = FxHasher::default();
    slice.hash(&mut hasher);
    hasher.finish()
}
