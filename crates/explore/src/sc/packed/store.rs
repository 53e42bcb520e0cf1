//! States packed into bits and kept once each in one flat table.
//!
//! A state is a row of small numbers (which local state each thread is in, which value each
//! location holds, what else a search carries along). Each field gets as many bits as its largest
//! value so far needs; when a field outgrows its bits, the rows are packed anew. Rows lie in
//! chunks, so that growing never copies them, and are numbered in the order of their arrival:
//! the rows behind a cursor are the queue of a breadth-first search.

use hashbrown::HashTable;

/// Where each field of a row lies.
#[derive(Clone, Debug, Default)]
struct Layout {
    /// Per field its bits, the word that it lies in, and its place there.
    fields: Vec<(u8, u32, u8)>,
    words: usize,
}

impl Layout {
    fn new(widths: impl Iterator<Item = u8>) -> Layout {
        let (mut word, mut at) = (0, 0);
        let mut fields = Vec::new();
        for width in widths {
            if at + width > 64 {
                word += 1;
                at = 0;
            }
            fields.push((width, word, at));
            at += width;
        }
        Layout { fields, words: word as usize + 1 }
    }

    /// Packs `row` into `words`, which are 0; false if a field does not fit.
    fn pack(&self, row: &[u32], words: &mut [u64]) -> bool {
        let mut lost = u64::from(row.len() > self.fields.len());
        for (&value, &(width, word, at)) in row.iter().zip(&self.fields) {
            let value = u64::from(value);
            lost |= value >> width;
            // A field of no bits at the end of a word has its place at 64.
            words[word as usize] |= value << (at & 63);
        }
        lost == 0
    }

    fn unpack(&self, words: &[u64], row: &mut Vec<u32>) {
        row.clear();
        row.extend(self.fields.iter().map(|&(width, word, at)| {
            ((words[word as usize] >> (at & 63)) & ((1 << width) - 1)) as u32
        }));
    }

    /// A layout in which `row` fits, too, with room to grow.
    fn widened(&self, row: &[u32]) -> Layout {
        let fields = self.fields.len().max(row.len());
        Layout::new((0..fields).map(|i| {
            let has = self.fields.get(i).map_or(0, |f| f.0);
            let needs = 32 - row.get(i).copied().unwrap_or(0).leading_zeros() as u8;
            if needs > has { needs.max((has + 2).min(32)) } else { has }
        }))
    }
}

/// Rows per chunk.
const CHUNK: usize = 1 << 14;

/// What a state carries besides its row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Note {
    /// The state that it was found from; numbers are of all shards.
    pub(crate) parent: u32,
    /// The threads that need not move from here.
    pub(crate) asleep: u32,
}

/// What came of an insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inserted {
    New(u32),
    /// Known, and these threads are no longer asleep there.
    Woken(u32, u32),
    Known,
}

/// A set of packed states.
#[derive(Debug, Default)]
pub(crate) struct Store {
    layout: Layout,
    rows: Vec<Vec<u64>>,
    notes: Vec<Vec<Note>>,
    table: HashTable<u32>,
    len: u32,
    packed: Vec<u64>,
    hashes: Vec<u64>,
}

impl Store {
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    pub(crate) fn bytes(&self) -> usize {
        let row = self.layout.words.max(1) * 8 + size_of::<Note>();
        self.rows.len() * CHUNK * row + table_bytes(self.table.capacity())
    }

    /// The bytes in use after the next growth of the table, if that is due within `more` states.
    pub(crate) fn bytes_after(&self, more: usize) -> usize {
        let grows = self.table.len() + more > self.table.capacity();
        self.bytes() + if grows { table_bytes(self.table.capacity() * 2) } else { 0 }
    }

    pub(crate) fn row(&self, id: u32, row: &mut Vec<u32>) {
        self.layout.unpack(words(&self.rows, self.layout.words, id), row);
    }

    pub(crate) fn note(&self, id: u32) -> Note {
        self.notes[id as usize / CHUNK][id as usize % CHUNK]
    }

    /// Inserts the rows of a batch, `width` numbers each, one after another; `each` hears what
    /// came of each. All rows are packed and hashed before the table is probed, so that the
    /// probes' cache misses overlap.
    pub(crate) fn insert_batch(
        &mut self,
        width: usize,
        rows: &[u32],
        notes: &[Note],
        each: &mut dyn FnMut(usize, Inserted),
    ) {
        if rows.is_empty() {
            return;
        }
        while !self.pack_batch(width, rows) {}
        let n = self.layout.words;
        let packed = std::mem::take(&mut self.packed);
        let hashes = std::mem::take(&mut self.hashes);
        for (i, &note) in notes.iter().enumerate() {
            each(i, self.insert(&packed[i * n..(i + 1) * n], hashes[i], note));
        }
        self.packed = packed;
        self.hashes = hashes;
    }

    /// Packs and hashes a batch; false if the layout had to grow on the way.
    fn pack_batch(&mut self, width: usize, rows: &[u32]) -> bool {
        let n = self.layout.words;
        self.packed.clear();
        self.packed.resize(rows.len() / width * n, 0);
        self.hashes.clear();
        if n == 0 {
            self.grow(&rows[..width]);
            return false;
        }
        for (row, words) in rows.chunks_exact(width).zip(self.packed.chunks_exact_mut(n)) {
            if !self.layout.pack(row, words) {
                self.grow(row);
                return false;
            }
            self.hashes.push(hash(words));
        }
        true
    }

    fn insert(&mut self, row: &[u64], hash_: u64, note: Note) -> Inserted {
        let Store { rows, notes, table, layout, .. } = self;
        let n = layout.words;
        if let Some(&id) = table.find(hash_, |&id| words(rows, n, id) == row) {
            let known = &mut notes[id as usize / CHUNK][id as usize % CHUNK];
            let woken = known.asleep & !note.asleep;
            known.asleep &= note.asleep;
            return if woken == 0 { Inserted::Known } else { Inserted::Woken(id, woken) };
        }
        let id = self.len;
        self.len += 1;
        if (id as usize).is_multiple_of(CHUNK) {
            rows.push(Vec::with_capacity(CHUNK * n));
            notes.push(Vec::with_capacity(CHUNK));
        }
        rows[id as usize / CHUNK].extend_from_slice(row);
        notes[id as usize / CHUNK].push(note);
        table.insert_unique(hash_, id, |&id| hash(words(rows, n, id)));
        Inserted::New(id)
    }

    /// Packs everything anew so that `row` fits.
    fn grow(&mut self, row: &[u32]) {
        let old = std::mem::take(&mut self.layout);
        self.layout = old.widened(row);
        let n = self.layout.words;
        let mut fields = Vec::new();
        for chunk in &mut self.rows {
            let mut repacked = vec![0; chunk.len() / old.words * n];
            // With room for the rows that are still to come.
            repacked.reserve_exact(CHUNK * n - repacked.len());
            for (from, to) in chunk.chunks_exact(old.words).zip(repacked.chunks_exact_mut(n)) {
                old.unpack(from, &mut fields);
                self.layout.pack(&fields, to);
            }
            *chunk = repacked;
        }
        let rows = &self.rows;
        self.table.clear();
        for id in 0..self.len {
            let hash_ = hash(words(rows, n, id));
            self.table.insert_unique(hash_, id, |&id| hash(words(rows, n, id)));
        }
    }
}

fn words(rows: &[Vec<u64>], n: usize, id: u32) -> &[u64] {
    let at = id as usize % CHUNK * n;
    &rows[id as usize / CHUNK][at..at + n]
}

/// What a table of this capacity allocates: a slot and a control byte each, one in eight free.
fn table_bytes(capacity: usize) -> usize {
    capacity * 8 / 7 * 5
}

fn hash(words: &[u64]) -> u64 {
    let mut h = 0u64;
    for &word in words {
        h = (h ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        h ^= h >> 29;
    }
    h = h.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    h ^ (h >> 32)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use weakspot_core::testing::Rng;

    use super::*;

    /// Rows whose fields, and whose number of fields, grow while they are inserted.
    #[test]
    fn a_store_is_a_set() {
        let mut rng = Rng::new(7);
        let mut store = Store::default();
        let mut known: HashMap<Vec<u32>, u32> = HashMap::new();
        for round in 0..400u32 {
            let width = 3 + round as usize / 100 * 20;
            let most = 2 + (round * round) as usize;
            let rows: Vec<Vec<u32>> = (0..100)
                .map(|_| {
                    (0..width).map(|f| rng.below(if f < 2 { most } else { 2 }) as u32).collect()
                })
                .collect();
            let notes = vec![Note { parent: 0, asleep: 0 }; rows.len()];
            store.insert_batch(width, &rows.concat(), &notes, &mut |i, inserted| {
                // Fields that a row does not have count as 0.
                let mut row = rows[i].clone();
                while row.last() == Some(&0) {
                    row.pop();
                }
                match inserted {
                    Inserted::New(id) => assert_eq!(known.insert(row, id), None),
                    _ => assert!(known.contains_key(&row)),
                }
            });
        }
        assert_eq!(store.len() as usize, known.len());
        let mut row = Vec::new();
        for (expected, id) in known {
            store.row(id, &mut row);
            assert_eq!(row[..expected.len()], expected);
            assert!(row[expected.len()..].iter().all(|&f| f == 0));
        }
    }
}
