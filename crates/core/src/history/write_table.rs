//! The writes of a history by variable and value, which is how reads find what they read: open
//! addressing, one slot of 16 bytes per write and at least a quarter of the slots empty, so that a
//! search touches one line of the cache as a rule. It is filled once and then asked.

use crate::Value;

/// Which writes have written what.
#[derive(Clone, Debug)]
pub struct WriteTable {
    slots: Vec<Slot>,
    mask: usize,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    value: Value,
    var: u32,
    op: u32,
}

/// How often a value was written.
#[derive(Debug, PartialEq, Eq)]
pub enum Written {
    /// Not at all.
    Never,
    /// By this operation.
    Once(u32),
    /// By several.
    Often,
}

const EMPTY: u32 = u32::MAX;
const OFTEN: u32 = u32::MAX - 1;

impl WriteTable {
    /// An empty table for at most so many writes.
    #[must_use]
    pub fn with_room_for(count: usize) -> WriteTable {
        let slots = (count + count / 3 + 1).next_power_of_two();
        WriteTable { slots: vec![Slot { value: 0, var: 0, op: EMPTY }; slots], mask: slots - 1 }
    }

    /// Enters a write; false if the value was written before.
    #[inline]
    pub fn insert(&mut self, var: u32, value: Value, op: u32) -> bool {
        let slot = self.slot(var, value);
        let slot = &mut self.slots[slot];
        let is_new = slot.op == EMPTY;
        *slot = Slot { value, var, op: if is_new { op } else { OFTEN } };
        is_new
    }

    /// Who wrote a value.
    #[inline]
    #[must_use]
    pub fn find(&self, var: u32, value: Value) -> Written {
        match self.slots[self.slot(var, value)].op {
            EMPTY => Written::Never,
            OFTEN => Written::Often,
            op => Written::Once(op),
        }
    }

    /// The slot of a value, or the empty one where it belongs.
    #[inline]
    fn slot(&self, var: u32, value: Value) -> usize {
        let mut at = mixed(var, value) as usize & self.mask;
        loop {
            let slot = &self.slots[at];
            if slot.op == EMPTY || slot.value == value && slot.var == var {
                return at;
            }
            at = (at + 1) & self.mask;
        }
    }
}

/// Values are often consecutive, or multiples of something, so all bits have to be mixed.
#[inline]
fn mixed(var: u32, value: Value) -> u64 {
    let mut z = (value as u64) ^ u64::from(var).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However few there are, one slot stays empty: what was never written is looked for as well.
    #[test]
    fn tables_are_never_full() {
        for count in 0..20 {
            let mut table = WriteTable::with_room_for(count);
            assert!(table.slots.len() > count);
            for op in 0..count as u32 {
                assert!(table.insert(7, op.into(), op));
            }
            for op in 0..count as u32 {
                assert!(matches!(table.find(7, op.into()), Written::Once(of) if of == op));
            }
            assert!(matches!(table.find(7, -1), Written::Never));
        }
    }

    /// The same value of many variables, and many values, which meet on their ways to a slot.
    #[test]
    fn variables_are_kept_apart() {
        let mut table = WriteTable::with_room_for(64);
        assert!((0..64).all(|var| table.insert(var, 5, var)));
        assert!((0..64).all(|var| table.find(var, 5) == Written::Once(var)));
        assert!((64..128).all(|var| table.find(var, 5) == Written::Never));
        assert!(!table.insert(7, 5, 99));
        assert_eq!(table.find(7, 5), Written::Often);
    }
}
