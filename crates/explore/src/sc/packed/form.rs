//! What the keys of states are: the numbers of two halves of their rows, or all of their fields.

use rustc_hash::FxHashSet;

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
/// So many states are looked at for that, and all of their fields so often, if there are many.
const MANY: u32 = 1 << 20;
const SAMPLE: u32 = 1 << 12;
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
            return self.halves[0].unpack_words(key, row);
        }
        self.halves[0].unpack(key[0] as u32, row);
        self.halves[1].unpack((key[0] >> 32) as u32, row);
    }

    /// Whether a key stands for a row, which is put there, and no other key does.
    pub(crate) fn is_key(&mut self, key: &[u64], row: &mut Vec<u32>) -> bool {
        let [first, second] = self.halves.each_ref().map(Half::len);
        if !self.whole && (key[0] as u32 >= first || (key[0] >> 32) as u32 >= second) {
            return false;
        }
        self.unpack(key, row);
        let mut again = [0; MOST_WORDS];
        let again = &mut again[..key.len()];
        self.pack(row, again) && again == key
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
        let mut bits = vec![0; self.width];
        for (index, of_field) in self.halves.iter().flat_map(Half::fields) {
            bits[index as usize] = of_field;
        }
        let fields = |side: Option<(bool, &[bool])>| {
            let all = (0..self.width).filter(move |&f| side.is_none_or(|(is, all)| all[f] == is));
            Half::new(all.map(|field| (field as u32, bits[field])))
        };
        let second = self.divide(&bits, entries);
        let halves = [fields(Some((false, &second))), fields(Some((true, &second)))];
        let mut divided = Form { width: self.width, halves, whole: false };
        let (mut row, mut key) = (Vec::new(), [0; MOST_WORDS]);
        for id in 0..entries.len() {
            let key = &mut key[..entries.words()];
            entries.load(id, key);
            self.unpack(key, &mut row);
            // Fields have as many bits as before, so they fit.
            divided.pack(&row, key);
        }
        let whole = Form { width: self.width, halves: [fields(None), Half::none()], whole: true };
        let cost = |form: &Form| {
            let each = Entries::new(form.bits(), entries.all_asleep()).each();
            let halves = form.halves.iter().map(|half| half.len() as usize * half.each());
            each * entries.len() as usize + halves.sum::<usize>()
        };
        let is_whole = whole.halves[0].words() <= MOST_WORDS && cost(&whole) < cost(&divided);
        match is_whole {
            true => (!self.whole).then_some(whole),
            false => Some(divided),
        }
    }

    /// Which fields go to the second half so that there are few halves, as far as some states show.
    fn divide(&self, bits: &[u8], entries: &Entries) -> Vec<bool> {
        let ends: Vec<usize> = bits
            .iter()
            .scan(0, |sum, &bits| {
                *sum += usize::from(bits);
                Some(*sum)
            })
            .collect();
        let all = ends.last().copied().unwrap_or(0);
        let sample = Sample::new(self, entries);
        // Some places, which leave so many more bits each time.
        let places =
            (1..PLACES).map(|part| ends.partition_point(|&end| end * PLACES <= all * part));
        let sides = places.map(|at| (0..self.width).map(|field| field >= at).collect());
        let mut known = FxHashSet::default();
        let best = sides.min_by_key(|side: &Vec<bool>| count(&sample.sums(side), &mut known));
        match best {
            Some(side) if entries.len() >= MANY => sample.better(side),
            Some(side) => side,
            None => vec![true; self.width],
        }
    }

    /// Writes all of it.
    pub(crate) fn write(&self, out: &mut Out<'_>) {
        out.number(self.width as u64);
        out.number(u64::from(self.whole));
        self.halves.iter().for_each(|half| half.write(out));
    }

    /// Reads this, for rows of so many fields at most. `room` says whether so many bytes may be in use.
    pub(crate) fn read(
        from: &mut In<'_>,
        width: u32,
        room: &mut dyn FnMut(usize) -> Result<(), NotKept>,
    ) -> Result<Form, NotKept> {
        let width = from.at_most(width)? as usize;
        let whole = from.at_most(1)? == 1;
        let halves = [Half::read(from, width, room)?, Half::read(from, width, room)?];
        let mut fields: Vec<u32> = halves.iter().flat_map(Half::fields).map(|f| f.0).collect();
        fields.sort_unstable();
        let is_good = fields.into_iter().eq(0..width as u32)
            && (!whole || halves[0].words() <= MOST_WORDS && halves[1].fields().next().is_none());
        if is_good { Ok(Form { width, halves, whole }) } else { Err(NotKept::Damaged) }
    }
}

/// Some states, for which it is tried out how their fields are divided best.
struct Sample {
    /// Per field and state a hash: those of some fields add up to a hash of all of them.
    fields: Vec<Vec<u64>>,
    len: usize,
}

impl Sample {
    /// States that were found one after the other: those that differ in few fields only are among them.
    fn new(form: &Form, entries: &Entries) -> Sample {
        let mut fields = vec![Vec::new(); form.width];
        let (mut row, mut key) = (Vec::new(), [0; MOST_WORDS]);
        let key = &mut key[..entries.words()];
        let ids = entries.len().saturating_sub(SAMPLE)..entries.len();
        for id in ids.clone() {
            entries.load(id, key);
            form.unpack(key, &mut row);
            for (field, (hashes, &value)) in fields.iter_mut().zip(&row).enumerate() {
                let both = (field as u64 + 1) << 32 | u64::from(value);
                let hash = both.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                hashes.push((hash ^ hash >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9));
            }
        }
        Sample { fields, len: ids.len() }
    }

    /// Per state the sum over the fields on each side.
    fn sums(&self, second: &[bool]) -> [Vec<u64>; 2] {
        let mut sums = [vec![0u64; self.len], vec![0u64; self.len]];
        for (hashes, &side) in self.fields.iter().zip(second) {
            add(&mut sums[usize::from(side)], hashes);
        }
        sums
    }

    /// With single fields on the other side, as long as that makes fewer.
    fn better(&self, mut second: Vec<bool>) -> Vec<bool> {
        let mut known = FxHashSet::default();
        let mut sums = self.sums(&second);
        let mut least = count(&sums, &mut known);
        for _ in 0..PASSES {
            let before = least;
            for (field, hashes) in self.fields.iter().enumerate() {
                let side = usize::from(second[field]);
                take(&mut sums[side], hashes);
                add(&mut sums[1 - side], hashes);
                let now = count(&sums, &mut known);
                if now < least {
                    least = now;
                    second[field] = !second[field];
                } else {
                    take(&mut sums[1 - side], hashes);
                    add(&mut sums[side], hashes);
                }
            }
            if least == before {
                break;
            }
        }
        second
    }
}

fn add(sums: &mut [u64], hashes: &[u64]) {
    sums.iter_mut().zip(hashes).for_each(|(sum, &hash)| *sum = sum.wrapping_add(hash));
}

fn take(sums: &mut [u64], hashes: &[u64]) {
    sums.iter_mut().zip(hashes).for_each(|(sum, &hash)| *sum = sum.wrapping_sub(hash));
}

/// How many different halves there are.
fn count(sums: &[Vec<u64>; 2], known: &mut FxHashSet<u64>) -> usize {
    let different = |sums: &Vec<u64>| {
        known.clear();
        known.extend(sums);
        known.len()
    };
    sums.iter().map(different).sum()
}
