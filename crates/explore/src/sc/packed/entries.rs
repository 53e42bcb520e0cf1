//! What is kept of each state: a key, and who is asleep, in as few bytes as these need so far.

use crate::keep::{In, NotKept, Out};

/// What keys are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyBits {
    /// Two numbers in the halves of a word, of so many bits.
    Two([u32; 2]),
    /// So many bits.
    Whole(u32),
}

/// Entries per chunk, and its bytes, at most: growing never copies those that are there.
const MOST_ENTRIES: usize = 1 << 14;
const MOST_BYTES: usize = 1 << 20;
/// Bytes that are read and written at once, whatever an entry has: a chunk is longer by that.
const WHOLE: usize = 16;

/// All states.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    /// The bits of a key; if it has two numbers, those of the first; the bits of who is asleep.
    key: u32,
    first: Option<u32>,
    sleep: u32,
    /// The bytes of an entry.
    each: usize,
    /// How many entries there are per chunk: 2 to the power of this.
    chunk: u32,
    chunks: Vec<Vec<u8>>,
    len: u32,
}

impl Entries {
    /// For keys of so many bits, and for this set of threads that are asleep. What is left of the last byte
    /// is for larger numbers.
    pub(crate) fn new(bits: KeyBits, asleep: u32) -> Entries {
        let sleep = 32 - asleep.leading_zeros();
        let (mut key, first) = match bits {
            KeyBits::Whole(bits) => (bits, None),
            KeyBits::Two([first, second]) => (first + second, Some(first)),
        };
        let each = (key + sleep).div_ceil(8) as usize;
        let left = each as u32 * 8 - key - sleep;
        let first = first.map(|first| (first + left / 2).min(32));
        if let (Some(first), KeyBits::Two([_, second])) = (first, bits) {
            key = first + (second + left - left / 2).min(32);
        }
        Entries { key, first, sleep, each, chunk: chunk(each), chunks: Vec::new(), len: 0 }
    }

    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    pub(crate) fn bytes(&self) -> usize {
        self.chunks.len() * self.chunk_bytes()
    }

    fn chunk_bytes(&self) -> usize {
        (self.each << self.chunk) + WHOLE
    }

    /// The chunk of an entry, and where it lies there.
    #[inline]
    fn place(&self, id: u32) -> (usize, usize) {
        let (chunk, at) = (id >> self.chunk, id & ((1 << self.chunk) - 1));
        (chunk as usize, at as usize * self.each)
    }

    /// The bytes of an entry.
    pub(crate) fn each(&self) -> usize {
        self.each
    }

    /// How many words a key has.
    pub(crate) fn words(&self) -> usize {
        self.key.div_ceil(64).max(1) as usize
    }

    /// The set of all threads that can be asleep.
    pub(crate) fn all_asleep(&self) -> u32 {
        low(self.sleep) as u32
    }

    /// Whether there is room for keys of so many bits and these threads.
    pub(crate) fn fits(&self, bits: KeyBits, asleep: u32) -> bool {
        let keys = match (bits, self.first) {
            (KeyBits::Whole(bits), None) => bits <= self.key,
            (KeyBits::Two([a, b]), Some(first)) => a <= first && b <= self.key - first,
            _ => false,
        };
        keys && asleep & !self.all_asleep() == 0
    }

    /// The same states, with keys of so many bits that `change` makes of theirs, and room for these threads.
    pub(crate) fn changed(
        mut self,
        bits: KeyBits,
        asleep: u32,
        mut change: impl FnMut(&[u64], &mut [u64]),
    ) -> Entries {
        let mut changed = Entries::new(bits, asleep | self.all_asleep());
        let (mut old, mut new) = (vec![0; self.words()], vec![0; changed.words()]);
        for i in 0..self.chunks.len() {
            let first = (i as u32) << self.chunk;
            for id in first..self.len.min(first.saturating_add(1 << self.chunk)) {
                self.load(id, &mut old);
                new.fill(0);
                change(&old, &mut new);
                changed.push(&new, self.asleep(id));
            }
            self.chunks[i] = Vec::new();
        }
        changed
    }

    /// Eight bytes of a chunk.
    #[inline]
    fn word(&self, id: u32, offset: usize) -> u64 {
        let (chunk, at) = self.place(id);
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.chunks[chunk][at + offset..at + offset + 8]);
        u64::from_le_bytes(bytes)
    }

    /// Word `i` of the key of a state.
    #[inline]
    pub(crate) fn key_word(&self, id: u32, i: usize) -> u64 {
        let word = self.word(id, 8 * i) & low(self.key - 64 * i as u32);
        match self.first {
            Some(first) => word & low(first) | word >> first << 32,
            None => word,
        }
    }

    /// The key of a state.
    #[inline]
    pub(crate) fn load(&self, id: u32, key: &mut [u64]) {
        key.iter_mut().enumerate().for_each(|(i, word)| *word = self.key_word(id, i));
    }

    /// Whether this is the key of a state.
    #[inline]
    pub(crate) fn is(&self, id: u32, key: &[u64]) -> bool {
        key.iter().enumerate().all(|(i, word)| *word == self.key_word(id, i))
    }

    #[inline]
    pub(crate) fn asleep(&self, id: u32) -> u32 {
        (self.word(id, self.key as usize / 8) >> (self.key % 8) & low(self.sleep)) as u32
    }

    /// Adds a state. There is room for who is asleep.
    pub(crate) fn push(&mut self, key: &[u64], asleep: u32) {
        if self.len.is_multiple_of(1 << self.chunk) {
            self.chunks.push(vec![0; self.chunk_bytes()]);
        }
        self.len += 1;
        for (i, &word) in key.iter().enumerate() {
            let word = match self.first {
                Some(first) => word & low(32) | word >> 32 << first,
                None => word,
            };
            self.put(self.len - 1, 64 * i as u32, (self.key - 64 * i as u32).min(64), word);
        }
        self.put(self.len - 1, self.key, self.sleep, asleep.into());
    }

    /// From now on these threads are asleep in a state.
    pub(crate) fn set_asleep(&mut self, id: u32, asleep: u32) {
        self.put(id, self.key, self.sleep, asleep.into());
    }

    /// Puts a value into these bits of an entry.
    #[inline]
    fn put(&mut self, id: u32, from: u32, bits: u32, value: u64) {
        let (chunk, at) = self.place(id);
        let place = &mut self.chunks[chunk][at + from as usize / 8..][..WHOLE];
        let mut bytes = [0; WHOLE];
        bytes.copy_from_slice(place);
        let mask = u128::from(low(bits)) << (from % 8);
        let whole = u128::from_le_bytes(bytes) & !mask | u128::from(value) << (from % 8);
        place.copy_from_slice(&whole.to_le_bytes());
    }
}

impl Entries {
    /// Writes all of it as it is.
    pub(crate) fn save(&self, out: &mut Out<'_>) {
        let first = self.first.map_or(0, |first| first + 1);
        [self.key, first, self.sleep, self.each as u32, self.len]
            .into_iter()
            .for_each(|n| out.number(n.into()));
        self.chunks.iter().for_each(|chunk| out.bytes(chunk));
    }

    /// Reads this.
    pub(crate) fn load_all(from: &mut In<'_>) -> Result<Entries, NotKept> {
        let mut number = || from.at_most(u32::MAX);
        let (key, first, sleep) = (number()?, number()?, number()?);
        let (each, len) = (number()? as usize, number()?);
        let first = first.checked_sub(1);
        let mut all =
            Entries { key, first, sleep, each, chunk: chunk(each), chunks: Vec::new(), len };
        for _ in 0..len.div_ceil(1 << all.chunk) {
            let mut chunk = vec![0; all.chunk_bytes()];
            from.bytes(&mut chunk)?;
            all.chunks.push(chunk);
        }
        Ok(all)
    }
}

/// How many entries of so many bytes a chunk has, as a power of 2.
fn chunk(each: usize) -> u32 {
    (MOST_BYTES / each.max(1)).clamp(1, MOST_ENTRIES).ilog2()
}

/// So many bits, and no more than there are.
#[inline]
fn low(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}
