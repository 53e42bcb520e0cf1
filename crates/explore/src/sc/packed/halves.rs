//! Halves of rows, packed into bits and kept once each.
//!
//! Each field of a row gets as many bits as its largest value so far needs. Some fields make one half, the
//! others the second; each half that is met gets a number. There are far fewer of them than
//! states, as in the tree compression of LTSmin (Laarman, van de Pol and Weber, "Parallel recursive state
//! space compression for free", SPIN 2011), of which this is a tree of depth one. When a field outgrows its
//! bits, the halves are packed anew, and their numbers stay.
//!
//! A half may also say only how fields are packed, and keep none.

use std::ops::Range;

use hashbrown::HashTable;

use crate::keep::{In, NotKept, Out};

/// A field: which one of the row, its bits, the word that it lies in, and its place there.
#[derive(Clone, Copy, Debug)]
struct Field {
    index: u32,
    word: u32,
    bits: u8,
    at: u8,
}

/// Some fields of all rows.
#[derive(Debug, Default)]
pub(crate) struct Half {
    fields: Vec<Field>,
    /// Words per half.
    words: usize,
    data: Vec<u64>,
    table: HashTable<u32>,
    len: u32,
    /// The last one that was asked for: successors of a state have much in common.
    last: u32,
    packed: Vec<u64>,
}

impl Half {
    /// For these fields, each with its bits.
    pub(crate) fn new(which: impl Iterator<Item = (u32, u8)>) -> Half {
        let (mut word, mut at) = (0, 0);
        let mut fields = Vec::new();
        for (index, bits) in which {
            if at + bits > 64 {
                word += 1;
                at = 0;
            }
            fields.push(Field { index, bits, word, at });
            at += bits;
        }
        let words = word as usize + 1;
        Half { fields, words, packed: vec![0; words], ..Half::default() }
    }

    /// For no fields.
    pub(crate) fn none() -> Half {
        Half::new([].into_iter())
    }

    /// Words per half.
    pub(crate) fn words(&self) -> usize {
        self.words
    }

    /// About the bytes that a half takes.
    pub(crate) fn each(&self) -> usize {
        8 * self.words + 8
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// Its fields with their bits.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (u32, u8)> + '_ {
        self.fields.iter().map(|field| (field.index, field.bits))
    }

    pub(crate) fn bytes(&self) -> usize {
        // A slot and a control byte each, one in eight free.
        self.data.capacity() * 8 + self.table.capacity() * 8 / 7 * 5
    }

    /// How many bits its fields take.
    pub(crate) fn bits(&self) -> u32 {
        self.fields
            .last()
            .map_or(0, |last| 64 * last.word + u32::from(last.at) + u32::from(last.bits))
    }

    /// Packs its fields of a row into words, which are 0; false if one does not fit.
    #[inline]
    pub(crate) fn pack(&self, row: &[u32], words: &mut [u64]) -> bool {
        pack(&self.fields, row, words)
    }

    /// Puts its fields, as they are packed, into a row.
    #[inline]
    pub(crate) fn unpack_words(&self, words: &[u64], row: &mut [u32]) {
        for &Field { index, bits, word, at } in &self.fields {
            row[index as usize] = ((words[word as usize] >> (at & 63)) & ((1 << bits) - 1)) as u32;
        }
    }

    /// The same fields, with room for those of `row`, and for those of it that are `new`.
    pub(crate) fn wider(&self, row: &[u32], new: Range<usize>) -> Half {
        let known = self.fields().chain(new.map(|index| (index as u32, 0)));
        Half::new(known.map(|(index, has)| {
            let needs = 32 - row.get(index as usize).copied().unwrap_or(0).leading_zeros() as u8;
            (index, if needs > has { needs.max((has + 2).min(32)) } else { has })
        }))
    }

    /// The number of the half of a row; `None` if a field does not fit.
    #[inline]
    pub(crate) fn number(&mut self, row: &[u32]) -> Option<u32> {
        let mut packed = std::mem::take(&mut self.packed);
        packed.fill(0);
        let fits = pack(&self.fields, row, &mut packed);
        let number = fits.then(|| self.number_of(&packed));
        self.packed = packed;
        number
    }

    fn number_of(&mut self, packed: &[u64]) -> u32 {
        let Half { data, table, words, .. } = self;
        if self.len > 0 && equal(get(data, *words, self.last), packed) {
            return self.last;
        }
        let hash_ = hash(packed);
        let known = table.find(hash_, |&id| equal(get(data, *words, id), packed));
        self.last = match known {
            Some(&id) => id,
            None => {
                data.extend_from_slice(packed);
                table.insert_unique(hash_, self.len, |&id| hash(get(data, *words, id)));
                self.len += 1;
                self.len - 1
            }
        };
        self.last
    }

    /// Puts the fields of half `number` into a row.
    #[inline]
    pub(crate) fn unpack(&self, number: u32, row: &mut [u32]) {
        self.unpack_words(get(&self.data, self.words, number), row);
    }

    /// Writes all of it.
    pub(crate) fn write(&self, out: &mut Out<'_>) {
        out.number(self.fields.len() as u64);
        for (index, bits) in self.fields() {
            out.number(index.into());
            out.number(bits.into());
        }
        out.number(self.len.into());
        self.data.iter().for_each(|word| out.bytes(&word.to_le_bytes()));
    }

    /// Reads this, for rows of so many fields at most. `room` says whether so many bytes may be in use.
    pub(crate) fn read(
        from: &mut In<'_>,
        width: usize,
        room: &mut dyn FnMut(usize) -> Result<(), NotKept>,
    ) -> Result<Half, NotKept> {
        let mut fields = Vec::new();
        for _ in 0..from.number()? {
            let (index, bits) = (from.at_most(u32::MAX)?, from.at_most(32)? as u8);
            if index as usize >= width || fields.len() >= width {
                return Err(NotKept::Damaged);
            }
            fields.push((index, bits));
        }
        let mut half = Half::new(fields.into_iter());
        let mut packed = vec![0; half.words];
        let mut row = vec![0; width];
        for number in 0..from.at_most(u32::MAX)? {
            for word in &mut packed {
                let mut bytes = [0; 8];
                from.bytes(&mut bytes)?;
                *word = u64::from_le_bytes(bytes);
            }
            if half.number_of(&packed) != number {
                return Err(NotKept::Damaged);
            }
            // Bits that belong to no field would make equal halves look different.
            half.unpack(number, &mut row);
            if half.number(&row) != Some(number) {
                return Err(NotKept::Damaged);
            }
            if number.is_multiple_of(1024) {
                room(half.bytes())?;
            }
        }
        Ok(half)
    }

    /// Makes room for the fields of `row`, and for those of it that are `new`; numbers stay as they are.
    pub(crate) fn widen(&mut self, row: &[u32], new: Range<usize>) {
        let wider = self.wider(row, new);
        let old = std::mem::replace(self, wider);
        let width = self.fields.iter().map(|field| field.index as usize + 1).max().unwrap_or(0);
        let mut row = vec![0; width];
        for number in 0..old.len {
            old.unpack(number, &mut row);
            self.number(&row);
        }
    }
}

/// Packs fields of `row` into `words`, which are 0; false if one does not fit.
#[inline]
fn pack(fields: &[Field], row: &[u32], words: &mut [u64]) -> bool {
    let (mut lost, mut now, mut packed) = (0, 0, 0);
    for &Field { index, bits, word, at } in fields {
        if word != now {
            words[now as usize] = packed;
            (now, packed) = (word, 0);
        }
        let value = u64::from(row.get(index as usize).copied().unwrap_or(0));
        lost |= value >> bits;
        // A field of no bits at the end of a word has its place at 64.
        packed |= value << (at & 63);
    }
    words[now as usize] = packed;
    lost == 0
}

/// Whether two halves are the same: they have few words, for which a call would take longer.
#[inline]
fn equal(a: &[u64], b: &[u64]) -> bool {
    a.iter().zip(b).all(|(a, b)| a == b)
}

fn get(data: &[u64], words: usize, number: u32) -> &[u64] {
    &data[number as usize * words..(number as usize + 1) * words]
}

/// A hash of words that are states or parts of them.
#[inline]
pub(super) fn hash(words: &[u64]) -> u64 {
    let mut h = 0u64;
    for &word in words {
        h = (h ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        h ^= h >> 29;
    }
    h = h.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    h ^ (h >> 32)
}
