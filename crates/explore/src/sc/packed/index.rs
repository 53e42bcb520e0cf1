//! Finds states by their hashes: numbers of states in lines of sixteen.
//!
//! A slot has the number of a state, in as many bits as numbers have so far, and bits of its hash in the
//! rest. A line is a line of the cache; a state that finds its own full goes to the next. States never
//! go away, so a line with a free slot ends the search. When nine of ten slots are taken, the
//! table is made anew, a third larger (twice as large while it is small): all numbers up to the last are in it, so the old one need not
//! be there at the same time.

use prefetch_index::prefetch_index;

use crate::keep::{In, NotKept, Out};

/// Slots that share a line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line([u32; 16]);

const FREE: u32 = u32::MAX;

/// The table.
#[derive(Debug, Default)]
pub(crate) struct Index {
    lines: Vec<Line>,
    /// How many bits numbers have.
    bits: u32,
    /// How many numbers there may be.
    room: u32,
}

/// Where a state is, or will be.
pub(crate) enum Place {
    Known(u32),
    Free(usize, usize),
}

impl Index {
    /// One for more than `len` numbers.
    pub(crate) fn larger(len: u32) -> Index {
        let lines = lines_for(len);
        let room = (lines as u64 * 16 * 9 / 10).min(u64::from(FREE - 1)) as u32;
        Index { lines: vec![Line([FREE; 16]); lines], bits: 32 - room.leading_zeros(), room }
    }

    /// Whether no more numbers than these fit.
    pub(crate) fn is_full(&self, len: u32) -> bool {
        len >= self.room
    }

    pub(crate) fn bytes(&self) -> usize {
        self.lines.len() * size_of::<Line>()
    }

    /// The bytes of what [`Index::larger`] gives.
    pub(crate) fn bytes_of_larger(len: u32) -> usize {
        lines_for(len) * size_of::<Line>()
    }

    /// The state with this hash that `is` it, or where it goes.
    #[inline]
    pub(crate) fn find(&self, hash: u64, mut is: impl FnMut(u32) -> bool) -> Place {
        let numbers = low(self.bits);
        let mark = mark(hash, self.bits);
        let mut at = line(hash, self.lines.len());
        loop {
            let Line(slots) = &self.lines[at];
            let (mut found, mut free) = (0u32, 0u32);
            for (i, &slot) in slots.iter().enumerate() {
                found |= u32::from(slot & !numbers == mark) << i;
                free |= u32::from(slot == FREE) << i;
            }
            found &= !free;
            while found != 0 {
                let id = slots[found.trailing_zeros() as usize & 15] & numbers;
                found &= found - 1;
                if is(id) {
                    return Place::Known(id);
                }
            }
            if free != 0 {
                return Place::Free(at, free.trailing_zeros() as usize);
            }
            at = if at + 1 == self.lines.len() { 0 } else { at + 1 };
        }
    }

    /// The line of a hash will be needed soon.
    pub(crate) fn prefetch(&self, hash: u64) {
        prefetch_index(&self.lines[..], line(hash, self.lines.len()));
    }

    /// Adds a number that is not there.
    pub(crate) fn add(&mut self, hash: u64, id: u32) {
        let mut at = line(hash, self.lines.len());
        loop {
            let slots = &mut self.lines[at].0;
            let taken: usize = slots.iter().map(|&slot| usize::from(slot != FREE)).sum();
            if taken < 16 {
                slots[taken] = mark(hash, self.bits) | id;
                return;
            }
            at = if at + 1 == self.lines.len() { 0 } else { at + 1 };
        }
    }

    /// Puts a number where [`Index::find`] has found it missing.
    #[inline]
    pub(crate) fn put(&mut self, (line, slot): (usize, usize), hash: u64, id: u32) {
        self.lines[line].0[slot] = mark(hash, self.bits) | id;
    }
}

impl Index {
    /// Writes all of it as it is.
    pub(crate) fn save(&self, out: &mut Out<'_>) {
        [self.lines.len() as u64, self.bits.into(), self.room.into()]
            .into_iter()
            .for_each(|n| out.number(n));
        let slots = self.lines.iter().flat_map(|line| line.0);
        slots.for_each(|slot| out.bytes(&slot.to_le_bytes()));
    }

    /// Reads this.
    pub(crate) fn load(from: &mut In<'_>) -> Result<Index, NotKept> {
        let lines = from.number()? as usize;
        let (bits, room) = (from.at_most(u32::MAX)?, from.at_most(u32::MAX)?);
        let mut index = Index { lines: Vec::with_capacity(lines), bits, room };
        for _ in 0..lines {
            let mut bytes = [0; size_of::<Line>()];
            from.bytes(&mut bytes)?;
            let mut line = [0; 16];
            for (slot, bytes) in line.iter_mut().zip(bytes.as_chunks().0) {
                *slot = u32::from_le_bytes(*bytes);
            }
            index.lines.push(Line(line));
        }
        Ok(index)
    }
}

/// How many lines there are when there are more than `len` numbers: twice as many as are needed where that
/// is little memory, else a third more.
fn lines_for(len: u32) -> usize {
    let slots = u64::from(len) * 10 / 9;
    let slots = if len < LITTLE { 2 * slots } else { slots + slots / 3 };
    slots.max(64).div_ceil(16) as usize
}

/// With fewer numbers than this, memory does not matter.
const LITTLE: u32 = 1 << 13;

fn low(bits: u32) -> u32 {
    ((1u64 << bits) - 1) as u32
}

/// The bits of a hash that a slot has room for, where they lie in it.
fn mark(hash: u64, bits: u32) -> u32 {
    hash as u32 & !low(bits)
}

fn line(hash: u64, lines: usize) -> usize {
    (((hash >> 32) * lines as u64) >> 32) as usize
}
