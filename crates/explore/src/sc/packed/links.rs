//! Which state each state was found from, in about half a byte.
//!
//! States are expanded in the order of their numbers, so one that was found after another was mostly
//! found from the same state or the next few. Kept is the distance from the last parent that the same
//! worker has named, in pieces of three bits. To know one parent, those before it in its block are read.

use crate::keep::{In, NotKept, Out};

/// The parent of an initial state.
pub(crate) const ROOT: u32 = u32::MAX;

/// States per block.
const BLOCK: u32 = 1024;

/// The parents of states, by their numbers.
#[derive(Debug)]
pub(crate) struct Links {
    /// How many workers there are: a name is a number times this, plus the worker.
    workers: u32,
    /// Two pieces in each: three bits, and whether more follow.
    pieces: Vec<u8>,
    len: u32,
    /// How many pieces there are, and before each block.
    count: u64,
    starts: Vec<u64>,
    /// What each worker has named last in this block.
    last: Vec<u32>,
}

impl Links {
    pub(crate) fn new(workers: u32) -> Links {
        Links {
            workers,
            pieces: Vec::new(),
            len: 0,
            count: 0,
            starts: Vec::new(),
            last: vec![0; workers as usize],
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    pub(crate) fn bytes(&self) -> usize {
        self.pieces.capacity() + self.starts.capacity() * 8
    }

    pub(crate) fn push(&mut self, parent: u32) {
        if self.len.is_multiple_of(BLOCK) {
            self.starts.push(self.count);
            self.last.fill(0);
        }
        self.len += 1;
        let mut code = 0;
        if parent != ROOT {
            let (number, worker) = (parent / self.workers, parent % self.workers);
            let last = &mut self.last[worker as usize];
            let distance = i64::from(number) - i64::from(*last);
            *last = number;
            let unsigned = (distance << 1 ^ distance >> 63) as u64;
            code = 1 + unsigned * u64::from(self.workers) + u64::from(worker);
        }
        loop {
            let piece = (code & 7) as u8 | u8::from(code > 7) << 3;
            match self.count.is_multiple_of(2) {
                true => {
                    // What is free is memory that states could have.
                    if self.pieces.len() == self.pieces.capacity() {
                        self.pieces.reserve_exact(64 + self.pieces.len() / 8);
                    }
                    self.pieces.push(piece);
                }
                false => *self.pieces.last_mut().unwrap_or(&mut 0) |= piece << 4,
            }
            self.count += 1;
            code >>= 3;
            if code == 0 {
                return;
            }
        }
    }

    /// Writes all of it as it is.
    pub(crate) fn save(&self, out: &mut Out<'_>) {
        out.number(self.len.into());
        out.number(self.count);
        out.bytes(&self.pieces);
        self.starts.iter().for_each(|start| out.bytes(&start.to_le_bytes()));
        self.last.iter().for_each(|&last| out.number(last.into()));
    }

    /// Reads this, for so many workers.
    pub(crate) fn load(from: &mut In<'_>, workers: u32) -> Result<Links, NotKept> {
        let (len, count) = (from.at_most(u32::MAX)?, from.number()?);
        let mut pieces = vec![0; count.div_ceil(2) as usize];
        from.bytes(&mut pieces)?;
        let mut starts = Vec::new();
        for _ in 0..len.div_ceil(BLOCK) {
            let mut bytes = [0; 8];
            from.bytes(&mut bytes)?;
            starts.push(u64::from_le_bytes(bytes));
        }
        let last = (0..workers).map(|_| from.at_most(u32::MAX)).collect::<Result<_, _>>()?;
        Ok(Links { workers, pieces, len, count, starts, last })
    }

    /// The parent of a state.
    pub(crate) fn parent(&self, id: u32) -> u32 {
        self.from(id).next().unwrap_or(ROOT)
    }

    /// The parents of states from `id` on.
    pub(crate) fn from(&self, id: u32) -> impl Iterator<Item = u32> {
        let start = id / BLOCK * BLOCK;
        let mut at = self.starts.get((id / BLOCK) as usize).copied().unwrap_or(self.count);
        let mut last = vec![0; self.workers as usize];
        let all = (start..self.len).map(move |id| {
            if id.is_multiple_of(BLOCK) {
                last.fill(0);
            }
            let (mut code, mut shift) = (0u64, 0);
            loop {
                let piece = self.pieces[(at / 2) as usize] >> (at % 2 * 4);
                at += 1;
                code |= u64::from(piece & 7) << shift;
                shift += 3;
                if piece & 8 == 0 {
                    break;
                }
            }
            let Some(code) = code.checked_sub(1) else { return ROOT };
            let workers = u64::from(self.workers);
            let (unsigned, worker) = (code / workers, (code % workers) as usize);
            let distance = (unsigned >> 1) as i64 ^ -((unsigned & 1) as i64);
            last[worker] = (i64::from(last[worker]) + distance) as u32;
            last[worker] * self.workers + worker as u32
        });
        all.skip((id - start) as usize)
    }
}

#[cfg(test)]
mod tests {
    use weakspot_core::testing::Rng;

    use super::*;

    #[test]
    fn parents_come_back_as_they_were() {
        let mut rng = Rng::new(3);
        for workers in [1, 2, 7, 64] {
            let mut links = Links::new(workers);
            let mut parents = Vec::new();
            let mut number = vec![0; workers as usize];
            for _ in 0..5_000 {
                let worker = rng.below(workers as usize);
                number[worker] += rng.below(3) as u32;
                let parent = match rng.below(50) {
                    0 => ROOT,
                    1 => rng.below((u32::MAX / workers - 1) as usize) as u32 * workers,
                    _ => number[worker] * workers + worker as u32,
                };
                links.push(parent);
                parents.push(parent);
            }
            assert_eq!(links.from(0).collect::<Vec<u32>>(), parents);
            for _ in 0..300 {
                let id = rng.below(parents.len());
                assert_eq!(links.parent(id as u32), parents[id], "{workers} {id}");
            }
        }
    }
}
