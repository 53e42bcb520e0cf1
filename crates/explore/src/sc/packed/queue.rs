//! Rows that wait to be expanded, where the table of states does not have them.

use std::collections::VecDeque;
use std::sync::Arc;

use super::halves::Half;

/// Rows, first in, first out.
#[derive(Debug)]
pub(super) struct Queue {
    /// How rows are packed from now on, and how many fields they have.
    packing: Arc<Half>,
    width: usize,
    chunks: VecDeque<Chunk>,
    /// How many rows of the first chunk are gone.
    gone: usize,
    len: usize,
}

/// Rows that are packed in the same way.
#[derive(Debug)]
struct Chunk {
    packing: Arc<Half>,
    width: usize,
    words: Vec<u64>,
}

/// Words of a chunk: one that is empty is given back.
const ROOM: usize = 1 << 13;

impl Queue {
    pub(super) fn new() -> Queue {
        let packing = Arc::new(Half::none());
        Queue { packing, width: 0, chunks: VecDeque::new(), gone: 0, len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn bytes(&self) -> usize {
        self.chunks.iter().map(|chunk| 8 * chunk.words.capacity()).sum()
    }

    /// An empty one for rows like these.
    pub(super) fn another(&self) -> Queue {
        Queue { packing: Arc::clone(&self.packing), width: self.width, ..Queue::new() }
    }

    pub(super) fn push(&mut self, row: &[u32]) {
        loop {
            let each = self.packing.words();
            if let Some(chunk) = self.chunks.back_mut()
                && Arc::ptr_eq(&chunk.packing, &self.packing)
                && chunk.words.len() + each <= chunk.words.capacity()
                && row.len() <= chunk.width
            {
                let at = chunk.words.len();
                chunk.words.resize(at + each, 0);
                if self.packing.pack(row, &mut chunk.words[at..]) {
                    self.len += 1;
                    return;
                }
                chunk.words.truncate(at);
            }
            let mut packed = vec![0; each];
            if row.len() > self.width || !self.packing.pack(row, &mut packed) {
                let new = self.width..self.width.max(row.len());
                self.width = new.end;
                self.packing = Arc::new(self.packing.wider(row, new));
            }
            self.chunks.push_back(Chunk {
                packing: Arc::clone(&self.packing),
                width: self.width,
                words: Vec::with_capacity(ROOM.max(self.packing.words())),
            });
        }
    }

    /// Takes the first row out.
    pub(super) fn pop(&mut self, row: &mut Vec<u32>) -> bool {
        loop {
            let Some(chunk) = self.chunks.front() else { return false };
            let each = chunk.packing.words();
            let at = self.gone * each;
            if at < chunk.words.len() {
                chunk.unpack(at, row);
                self.gone += 1;
                self.len -= 1;
                return true;
            }
            self.chunks.pop_front();
            self.gone = 0;
        }
    }

    /// All rows, none of which is gone.
    pub(super) fn for_each(&self, mut each: impl FnMut(&[u32])) {
        let mut row = Vec::new();
        for chunk in &self.chunks {
            for at in (0..chunk.words.len()).step_by(chunk.packing.words()) {
                chunk.unpack(at, &mut row);
                each(&row);
            }
        }
    }
}

impl Chunk {
    fn unpack(&self, at: usize, row: &mut Vec<u32>) {
        row.clear();
        row.resize(self.width, 0);
        self.packing.unpack_words(|word| self.words[at + word], row);
    }
}

#[cfg(test)]
mod tests {
    use weakspot_core::testing::Rng;

    use super::*;

    #[test]
    fn rows_come_in_order() {
        let mut rng = Rng::new(5);
        let (mut queue, mut expected) = (Queue::new(), VecDeque::new());
        for round in 0..30_000usize {
            let width = 1 + round / 2_000;
            let row: Vec<u32> =
                (0..width).map(|_| rng.below(2 + round * round / 9_000) as u32).collect();
            queue.push(&row);
            expected.push_back(row);
        }
        let mut again = expected.iter();
        queue.for_each(|row| {
            let expected = again.next().expect("there are as many");
            assert_eq!(row[..expected.len()], **expected);
        });
        assert!(again.next().is_none());
        let mut row = Vec::new();
        while let Some(expected) = expected.pop_front() {
            assert!(queue.pop(&mut row));
            assert_eq!(row[..expected.len()], expected);
            assert!(row[expected.len()..].iter().all(|&field| field == 0));
        }
        assert!(!queue.pop(&mut row) && queue.len() == 0);
    }
}
