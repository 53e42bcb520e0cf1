//! What the keys of states are: the numbers of two halves of their rows, or all of their fields.

use crate::keep::{In, NotKept, Out};

use super::entries::{Entries, KeyBits};
use super::halves::Half;

/// Keys have no more words than this.
pub(crate) const MOST_WORDS: usize = 16;

/// What the keys of states are.
#[derive(Debug)]
pub(crate) struct Form {
    /// How many fields rows have.
    width: usize,
    halves: [Half; 2],
    /// Keys are all fields, which are then all in the first half.
    whole: bool,
}

/// At so many places it is looked at whether halves divide well there.
const PLACES: usize = 8;
/// So many states are looked at for that: among few, most halves look different, however they are divided.
const SAMPLE: u32 = 1 << 16;
/// So often it is tried for each field whether it is better on the other side.
const PASSES: usize = 2;

impl Form {
    /// For rows without fields.
    pub(crate) fn new() -> Form {
        Form { width: 0, halves: [Half::none(), Half::none()], whole: true }
    }

    /// The bits of keys.
    pub(crate) fn bits(&self) -> KeyBits {
        if self.whole {
            return KeyBits::Whole(self.halves[0].bits());
        }
        let numbers = self.halves.each_ref().map(|half| half.len().saturating_sub(1));
        KeyBits::Two(numbers.map(|most| 32 - most.leading_zeros()))
    }

    pub(crate) fn bytes(&self) -> usize {
        self.halves.iter().map(Half::bytes).sum()
    }

    #[cfg(test)]
    pub(crate) fn is_whole(&self) -> bool {
        self.whole
    }

    /// Packs a row into a key, which is 0; false if it does not fit.
    #[inline]
    pub(crate) fn pack(&mut self, row: &[u32], key: &mut [u64]) -> bool {
        if row.len() > self.width {
            return false;
        }
        let [first, second] = &mut self.halves;
        if self.whole {
            return first.pack(row, key);
        }
        match (first.number(row), second.number(row)) {
            (Some(first), Some(second)) => {
                key[0] = u64::from(first) | u64::from(second) << 32;
                true
            }
            _ => false,
        }
    }

    /// Whether it has met no halves yet.
    pub(crate) fn is_new(&self) -> bool {
        !self.whole && self.halves[0].len() == 0
    }

    /// The row of a key.
    #[inline]
    pub(crate) fn unpack(&self, key: &[u64], row: &mut Vec<u32>) {
        row.clear();
        row.resize(self.width, 0);
        if self.whole {
            return self.halves[0].unpack_words(|word| key[word], row);
        }
        self.halves[0].unpack(key[0] as u32, row);
        self.halves[1].unpack((key[0] >> 32) as u32, row);
    }

    /// Makes room for a row, if that changes no key; else the form that has room.
    pub(crate) fn widen(&mut self, row: &[u32]) -> Option<Form> {
        let new = self.width..self.width.max(row.len());
        if !self.whole {
            // Where fields come late it is anybody's guess where they would go best.
            self.halves[0].widen(row, new.start..new.start);
            self.halves[1].widen(row, new.clone());
            self.width = new.end;
            return None;
        }
        let half = self.halves[0].wider(row, new.clone());
        if half.words() <= MOST_WORDS {
            return Some(Form { width: new.end, halves: [half, Half::none()], whole: true });
        }
        // Rows have become so wide that they have to be divided.
        let fields: Vec<(u32, u8)> = half.fields().collect();
        let (before, after) = fields.split_at(fields.len() / 2);
        let halves = [before, after].map(|fields| Half::new(fields.iter().copied()));
        Some(Form { width: new.end, halves, whole: false })
    }

    /// The form in which these states take the least memory, if it is another one.
    pub(crate) fn better(&self, entries: &Entries) -> Option<Form> {
        let (mut row, mut key) = (Vec::new(), [0; MOST_WORDS]);
        let key = &mut key[..entries.words()];
        let mut most = vec![0; self.width];
        for id in 0..entries.len() {
            entries.load(id, key);
            self.unpack(key, &mut row);
            most.iter_mut().zip(&row).for_each(|(most, &value)| *most |= value);
        }
        let bits = |field: usize| 32 - most[field].leading_zeros() as u8;
        let fields = |side: Option<(bool, &[bool])>| {
            let all = (0..self.width).filter(move |&f| side.is_none_or(|(is, all)| all[f] == is));
            Half::new(all.map(|field| (field as u32, bits(field))))
        };
        let second = Sample::new(self, entries).divide(&bits);
        let halves = [fields(Some((false, &second))), fields(Some((true, &second)))];
        let mut divided = Form { width: self.width, halves, whole: false };
        let mut new = [0; MOST_WORDS];
        for id in 0..entries.len() {
            entries.load(id, key);
            self.unpack(key, &mut row);
            divided.pack(&row, &mut new);
        }
        let whole = Form { width: self.width, halves: [fields(None), Half::none()], whole: true };
        let cost = |form: &Form| {
            let each = Entries::new(form.bits(), entries.all_asleep()).each();
            let halves = form.halves.iter().map(|half| half.len() as usize * half.each());
            each * entries.len() as usize + halves.sum::<usize>()
        };
        let fits = |form: &Form| !form.whole || form.halves[0].words() <= MOST_WORDS;
        let best = [divided, whole].into_iter().filter(fits).min_by_key(cost);
        best.filter(|form| cost(form) < cost(self))
    }

    /// Half `side` of a state, in words.
    #[inline]
    fn word(&self, entries: &Entries, id: u32, side: usize, word: usize) -> u64 {
        match self.whole {
            true => entries.key_word(id, word),
            false => {
                let numbers = entries.key_word(id, 0);
                self.halves[side].word((numbers >> (32 * side)) as u32, word)
            }
        }
    }

    /// Writes all of it as it is in memory.
    pub(crate) fn save(&self, out: &mut Out<'_>) {
        out.number(self.width as u64);
        out.number(u64::from(self.whole));
        self.halves.iter().for_each(|half| half.save(out));
    }

    /// Reads this.
    pub(crate) fn load(from: &mut In<'_>) -> Result<Form, NotKept> {
        let width = from.at_most(u32::MAX)? as usize;
        let whole = from.at_most(1)? == 1;
        Ok(Form { width, halves: [Half::load(from)?, Half::load(from)?], whole })
    }
}

/// Some states, for which it is tried out how their fields are divided best.
struct Sample<'a> {
    form: &'a Form,
    entries: &'a Entries,
    /// States that were found one after the other: those that differ in few fields only are among them.
    first: u32,
    /// Per field the half that it is in, and its place there.
    places: Vec<(usize, usize)>,
    /// A hash of one field of each state. Those of some fields add up to a hash of all of them.
    hashes: Vec<u64>,
    /// Which hashes were seen, about.
    seen: Vec<u64>,
}

/// So many hashes are told apart.
const SEEN: u32 = 18;

impl<'a> Sample<'a> {
    fn new(form: &'a Form, entries: &'a Entries) -> Sample<'a> {
        let mut places = vec![(0, 0); form.width];
        for (side, half) in form.halves.iter().enumerate() {
            for (at, (field, _)) in half.fields().enumerate() {
                places[field as usize] = (side, at);
            }
        }
        let first = entries.len().saturating_sub(SAMPLE);
        let hashes = vec![0; (entries.len() - first) as usize];
        Sample { form, entries, first, places, hashes, seen: vec![0; 1 << (SEEN - 6)] }
    }

    /// Which fields go to the second half so that there are few halves.
    fn divide(mut self, bits: &dyn Fn(usize) -> u8) -> Vec<bool> {
        let width = self.form.width;
        let ends: Vec<usize> = (0..width)
            .scan(0, |sum, field| {
                *sum += usize::from(bits(field));
                Some(*sum)
            })
            .collect();
        let all = ends.last().copied().unwrap_or(0);
        // All in the second one; then those before some places go to the first, with so many more bits each time.
        let mut sums = [vec![0; self.hashes.len()], vec![0; self.hashes.len()]];
        (0..width).for_each(|field| self.add(field, &mut sums[1]));
        let (mut at, mut best) = (0, (f64::INFINITY, 0, sums.clone()));
        for part in 1..PLACES {
            let next = ends.partition_point(|&end| end * PLACES <= all * part);
            (at..next).for_each(|field| self.change_sides(field, true, &mut sums));
            at = next;
            let halves = self.count(&sums);
            if halves < best.0 {
                best = (halves, at, sums.clone());
            }
        }
        let (mut least, at, mut sums) = best;
        let mut second: Vec<bool> = (0..width).map(|field| field >= at).collect();
        // Single fields change sides as long as that makes fewer.
        for _ in 0..PASSES {
            let before = least;
            for field in (0..width).filter(|&field| bits(field) > 0) {
                self.change_sides(field, second[field], &mut sums);
                let now = self.count(&sums);
                if now < least {
                    least = now;
                    second[field] = !second[field];
                } else {
                    self.change_sides(field, !second[field], &mut sums);
                }
            }
            if least >= before {
                break;
            }
        }
        second
    }

    /// Takes a field from the side that it is on to the other one.
    fn change_sides(&mut self, field: usize, is_second: bool, sums: &mut [Vec<u64>; 2]) {
        self.hash(field);
        let [first, second] = sums;
        let (from, to) = if is_second { (second, first) } else { (first, second) };
        for ((from, to), &hash) in from.iter_mut().zip(to).zip(&self.hashes) {
            *from = from.wrapping_sub(hash);
            *to = to.wrapping_add(hash);
        }
    }

    fn add(&mut self, field: usize, sums: &mut [u64]) {
        self.hash(field);
        sums.iter_mut().zip(&self.hashes).for_each(|(sum, &hash)| *sum = sum.wrapping_add(hash));
    }

    fn hash(&mut self, field: usize) {
        let (side, at) = self.places[field];
        let half = &self.form.halves[side];
        for (hash, id) in self.hashes.iter_mut().zip(self.first..) {
            let value = half.value(at, |word| self.form.word(self.entries, id, side, word));
            let both = (field as u64 + 1) << 32 | u64::from(value);
            let mixed = both.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            *hash = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        }
    }

    /// How many different halves there are, about: by how many bits hashes set (linear counting; Whang,
    /// Vander-Zanden and Taylor, 1990).
    fn count(&mut self, sums: &[Vec<u64>; 2]) -> f64 {
        let mut different = |sums: &Vec<u64>| {
            self.seen.fill(0);
            for &sum in sums {
                let bit = (sum ^ sum >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SEEN);
                self.seen[bit as usize / 64] |= 1 << (bit % 64);
            }
            let all = f64::from(1u32 << SEEN);
            let free: u32 = self.seen.iter().map(|word| word.count_zeros()).sum();
            all * (all / f64::from(free.max(1))).ln()
        };
        sums.iter().map(&mut different).sum()
    }
}
