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

use crate::keep::{In, NotKept, Out};

use super::entries::KeyBits;
use super::keys::Keys;

/// A field: which one of the row, its bits, the word that it lies in, and its place there.
#[derive(Clone, Copy, Debug)]
struct Field {
    index: u32,
    word: u32,
    bits: u8,
    at: u8,
}

/// Some fields of all rows.
#[derive(Debug)]
pub(crate) struct Half {
    fields: Vec<Field>,
    /// All that were met.
    keys: Keys,
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
        let keys = Keys::new(KeyBits::Whole(64 * word + u32::from(at)), 0);
        let packed = vec![0; keys.entries.words()];
        Half { fields, keys, last: 0, packed }
    }

    /// For no fields.
    pub(crate) fn none() -> Half {
        Half::new([].into_iter())
    }

    /// Words per half.
    pub(crate) fn words(&self) -> usize {
        self.packed.len()
    }

    /// About the bytes that a half takes.
    pub(crate) fn each(&self) -> usize {
        self.keys.entries.each() + 5
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u32 {
        self.keys.len()
    }

    /// Its fields with their bits.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (u32, u8)> + '_ {
        self.fields.iter().map(|field| (field.index, field.bits))
    }

    pub(crate) fn bytes(&self) -> usize {
        self.keys.bytes()
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

    /// Puts its fields, as they are packed into words, into a row.
    #[inline]
    pub(crate) fn unpack_words(&self, words: impl Fn(usize) -> u64, row: &mut [u32]) {
        let (mut now, mut packed) = (0, words(0));
        for &Field { index, bits, word, at } in &self.fields {
            if word != now {
                (now, packed) = (word, words(word as usize));
            }
            row[index as usize] = ((packed >> (at & 63)) & ((1 << bits) - 1)) as u32;
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
        if self.len() == 0 || !self.keys.entries.is(self.last, packed) {
            let found = self.keys.find(packed);
            self.last = found.unwrap_or_else(|missing| self.keys.add(packed, 0, &missing));
        }
        self.last
    }

    /// Puts the fields of half `number` into a row.
    #[inline]
    pub(crate) fn unpack(&self, number: u32, row: &mut [u32]) {
        self.unpack_words(|word| self.word(number, word), row);
    }

    /// A word of half `number`.
    #[inline]
    pub(crate) fn word(&self, number: u32, word: usize) -> u64 {
        self.keys.entries.key_word(number, word)
    }

    /// The field at a place of a half that has these words.
    #[inline]
    pub(crate) fn value(&self, place: usize, words: impl Fn(usize) -> u64) -> u32 {
        let Field { word, bits, at, .. } = self.fields[place];
        ((words(word as usize) >> (at & 63)) & ((1 << bits) - 1)) as u32
    }

    /// Writes all of it as it is in memory.
    pub(crate) fn save(&self, out: &mut Out<'_>) {
        out.number(self.fields.len() as u64);
        for (index, bits) in self.fields() {
            out.number(index.into());
            out.number(bits.into());
        }
        self.keys.save(out);
    }

    /// Reads this.
    pub(crate) fn load(from: &mut In<'_>) -> Result<Half, NotKept> {
        let mut fields = Vec::new();
        for _ in 0..from.number()? {
            fields.push((from.at_most(u32::MAX)?, from.at_most(32)? as u8));
        }
        Ok(Half { keys: Keys::load(from)?, ..Half::new(fields.into_iter()) })
    }

    /// Makes room for the fields of `row`, and for those of it that are `new`; numbers stay as they are.
    pub(crate) fn widen(&mut self, row: &[u32], new: Range<usize>) {
        let wider = self.wider(row, new);
        let old = std::mem::replace(self, wider);
        let width = self.fields.iter().map(|field| field.index as usize + 1).max().unwrap_or(0);
        let mut row = vec![0; width];
        for number in 0..old.len() {
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
