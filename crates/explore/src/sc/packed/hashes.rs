//! States of which only a hash is kept: hash compaction.
//!
//! A state counts as known if its hash is. Two states with the same hash are then one, and what is behind
//! the second is never looked at (Wolper and Leroy, "Reliable hashing without collision detection", CAV 1993;
//! Stern and Dill, "Improved probabilistic verification by hash compaction", CHARME 1995). How probable
//! that is says [`weakspot_core::Omission`].
//!
//! Hashes lie in buckets by their first bits, which are then not stored. In a bucket they are in order, and a
//! hash is looked for where it would be if they were spread evenly. With each there are the threads that
//! are asleep, and whether the state was expanded or is about to be. When buckets have become long on
//! average, each is split into two, one after the other, so that there is never a second table.

/// The table.
#[derive(Debug)]
pub(crate) struct Hashes {
    /// How many bits of a hash count, and how many of these say the bucket.
    bits: u32,
    first: u32,
    /// How many bits the set of threads that are asleep has.
    sleep: u32,
    /// The bytes of an entry.
    each: usize,
    buckets: Vec<Vec<u8>>,
    len: u32,
    /// The bytes that buckets have room for.
    room: usize,
}

/// What was known of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Met {
    New,
    /// Known and expanded, and these threads are no longer asleep there; none if there is nothing to do.
    Woken(u32),
}

/// With more entries per bucket than this, each bucket is split.
const LONG: u32 = 96;
/// For how many entries a full bucket gets room.
const STEP: usize = 6;
/// What a bucket takes besides its entries: its place, and what the allocator keeps.
const HEAD: usize = size_of::<Vec<u8>>() + 16;

/// An entry, as a number: the rest of the hash, who is asleep, whether it is expanded.
type Word = u128;

impl Hashes {
    /// For hashes of so many bits, 40 to 64.
    pub(crate) fn new(bits: u32) -> Hashes {
        let mut hashes =
            Hashes { bits, first: 4, sleep: 0, each: 0, buckets: Vec::new(), len: 0, room: 0 };
        hashes.each = hashes.bytes_of_entry();
        hashes.buckets.resize(1 << hashes.first, Vec::new());
        hashes
    }

    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    pub(crate) fn bytes(&self) -> usize {
        self.room + self.buckets.len() * HEAD
    }

    /// A state with this hash was found, with these threads asleep.
    pub(crate) fn insert(&mut self, hash: u64, asleep: u32) -> Met {
        if asleep >> self.sleep.min(31) > u32::from(self.sleep > 31) {
            self.change(self.first, 32 - asleep.leading_zeros());
        }
        let (bucket, rest) = self.place(hash);
        match self.find(bucket, rest) {
            Ok(at) => {
                let (known, expanded) = self.note(bucket, at);
                let woken = known & !asleep;
                if woken != 0 {
                    self.put(bucket, at, rest, known & asleep, expanded);
                }
                Met::Woken(if expanded { woken } else { 0 })
            }
            Err(at) => {
                self.add(bucket, at, self.word(rest, asleep, false));
                if u64::from(self.len) > u64::from(LONG) << self.first {
                    self.change(self.first + 1, self.sleep);
                }
                Met::New
            }
        }
    }

    /// A state with this hash is about to be expanded: who is asleep there.
    pub(crate) fn begin(&mut self, hash: u64) -> u32 {
        let (bucket, rest) = self.place(hash);
        let Ok(at) = self.find(bucket, rest) else { return 0 };
        let (asleep, _) = self.note(bucket, at);
        self.put(bucket, at, rest, asleep, true);
        asleep
    }

    fn bytes_of_entry(&self) -> usize {
        (self.bits - self.first + self.sleep + 1).div_ceil(8) as usize
    }

    /// The bucket of a hash, and what is stored of it.
    fn place(&self, hash: u64) -> (usize, u64) {
        let hash = hash >> (64 - self.bits);
        let rest = self.bits - self.first;
        ((hash >> rest) as usize, hash & ((1 << rest) - 1))
    }

    fn word(&self, rest: u64, asleep: u32, expanded: bool) -> Word {
        (Word::from(rest) << self.sleep | Word::from(asleep)) << 1 | Word::from(expanded)
    }

    #[inline]
    fn load(&self, bucket: usize, at: usize) -> Word {
        let mut bytes = [0; size_of::<Word>()];
        let entry = &self.buckets[bucket][at * self.each..(at + 1) * self.each];
        bytes.iter_mut().zip(entry).for_each(|(to, from)| *to = *from);
        Word::from_le_bytes(bytes)
    }

    #[inline]
    fn rest(&self, bucket: usize, at: usize) -> u64 {
        (self.load(bucket, at) >> (self.sleep + 1)) as u64
    }

    /// Who is asleep, and whether the state is expanded.
    fn note(&self, bucket: usize, at: usize) -> (u32, bool) {
        let word = self.load(bucket, at);
        ((word >> 1 & ((1 << self.sleep) - 1)) as u32, word & 1 == 1)
    }

    /// Where the rest of a hash is in a bucket, or would be.
    fn find(&self, bucket: usize, rest: u64) -> Result<usize, usize> {
        let len = self.buckets[bucket].len() / self.each;
        let mut at = ((u128::from(rest) * len as u128) >> (self.bits - self.first)) as usize;
        while at > 0 && self.rest(bucket, at - 1) >= rest {
            at -= 1;
        }
        while at < len {
            match self.rest(bucket, at) {
                known if known == rest => return Ok(at),
                known if known > rest => break,
                _ => at += 1,
            }
        }
        Err(at)
    }

    fn put(&mut self, bucket: usize, at: usize, rest: u64, asleep: u32, expanded: bool) {
        let bytes = self.word(rest, asleep, expanded).to_le_bytes();
        self.buckets[bucket][at * self.each..(at + 1) * self.each]
            .copy_from_slice(&bytes[..self.each]);
    }

    fn add(&mut self, bucket: usize, at: usize, word: Word) {
        let (each, bucket) = (self.each, &mut self.buckets[bucket]);
        let (len, room) = (bucket.len(), bucket.capacity());
        if len + each > room {
            bucket.reserve_exact(STEP * each);
            self.room += bucket.capacity() - room;
        }
        bucket.resize(len + each, 0);
        bucket.copy_within(at * each..len, (at + 1) * each);
        bucket[at * each..(at + 1) * each].copy_from_slice(&word.to_le_bytes()[..each]);
        self.len += 1;
    }

    /// The same hashes, so many bits of which say the bucket, with room for more threads that are asleep.
    fn change(&mut self, first: u32, sleep: u32) {
        let (bits, room) = (self.bits, 1 << first);
        let wider = Hashes { first, sleep, buckets: Vec::with_capacity(room), ..Hashes::new(bits) };
        let mut old = std::mem::replace(self, wider);
        self.each = self.bytes_of_entry();
        self.buckets.resize(1 << first, Vec::new());
        for bucket in 0..old.buckets.len() {
            for at in 0..old.buckets[bucket].len() / old.each {
                let (asleep, expanded) = old.note(bucket, at);
                let hash = (bucket as u64) << (bits - old.first) | old.rest(bucket, at);
                let (to, rest) = self.place(hash << (64 - bits));
                let last = self.buckets[to].len() / self.each;
                self.add(to, last, self.word(rest, asleep, expanded));
            }
            old.buckets[bucket] = Vec::new();
        }
    }
}

/// A hash of a row. Fields that are 0 do not count, so that rows may grow.
pub(super) fn hash_of(row: &[u32]) -> u64 {
    let mut sum = 0u64;
    for (i, &field) in row.iter().enumerate() {
        if field != 0 {
            sum = sum.wrapping_add(mixed((i as u64 + 1) << 32 | u64::from(field)));
        }
    }
    mixed(sum)
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn mixed(mut n: u64) -> u64 {
    n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    n = (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ n >> 31
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use weakspot_core::testing::Rng;

    use super::*;

    /// Against a map, with hashes that are met again, sets that grow and buckets that are split.
    fn check(bits: u32) {
        let mut rng = Rng::new(bits.into());
        let mut hashes = Hashes::new(bits);
        let mut known: HashMap<u64, (u32, bool)> = HashMap::new();
        for round in 0..40_000u32 {
            let hash = mixed(rng.below(20_000) as u64);
            let asleep = rng.below(1 << (round / 3_000 + 1)) as u32;
            let met = match known.get_mut(&(hash >> (64 - bits))) {
                None => {
                    known.insert(hash >> (64 - bits), (asleep, false));
                    Met::New
                }
                Some((old, expanded)) => {
                    let woken = *old & !asleep;
                    *old &= asleep;
                    Met::Woken(if *expanded { woken } else { 0 })
                }
            };
            assert_eq!(hashes.insert(hash, asleep), met);
            if rng.below(3) == 0 {
                let (asleep, expanded) =
                    known.get_mut(&(hash >> (64 - bits))).expect("it was inserted");
                *expanded = true;
                assert_eq!(hashes.begin(hash), *asleep);
            }
        }
        assert_eq!(hashes.len() as usize, known.len());
        let all: usize = hashes.buckets.iter().map(Vec::capacity).sum();
        assert_eq!(hashes.room, all);
    }

    #[test]
    fn hashes_are_a_set() {
        check(40);
        check(51);
        check(64);
    }

    #[test]
    fn all_threads_may_be_asleep() {
        let mut hashes = Hashes::new(64);
        assert_eq!(hashes.insert(u64::MAX, u32::MAX), Met::New);
        assert_eq!(hashes.begin(u64::MAX), u32::MAX);
        assert_eq!(hashes.insert(u64::MAX, u32::MAX >> 1), Met::Woken(1 << 31));
    }

    #[test]
    fn fields_that_are_0_do_not_count() {
        assert_eq!(hash_of(&[1, 0, 2]), hash_of(&[1, 0, 2, 0, 0]));
        assert_ne!(hash_of(&[1, 0, 2]), hash_of(&[1, 2]));
        assert_ne!(hash_of(&[1, 2]), hash_of(&[2, 1]));
    }
}
