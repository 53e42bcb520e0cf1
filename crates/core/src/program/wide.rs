//! Places that share memory, for accesses of different widths.
//!
//! Locations never overlap. Where the accesses of a program do, memory is cut so finely that no
//! access cuts a location in two, and an access takes one or several locations, its *cells*: it is
//! an access to a [`Wide`] place. One such store is one entry of a buffer and reaches memory as a
//! whole; one such load takes each cell from the newest store of its own thread that covers it,
//! else from memory, all at one moment.
//!
//! A wide place has an address of its own, and a [`LocId`] behind those of the locations. A program
//! without wide places is one in which every access takes exactly one location.

use crate::{LocId, Memory, Program, UnOp, Value};

/// A place that is made of one or several locations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wide {
    /// Its address: not that of a location, and unique in the program.
    pub addr: Value,
    /// What it is made of, the lowest bits first: distinct locations, at most 64 bits in all.
    pub cells: Vec<WideCell>,
}

/// A location as a part of a wide place. It holds numbers of so many bits that are not negative,
/// and has no range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WideCell {
    /// The location.
    pub loc: LocId,
    /// Its bits.
    pub bits: u8,
}

/// Addresses that say how wide a place is have the number of its bytes from this bit on.
const WIDTH_BIT: u32 = 40;

impl Wide {
    /// An address for the place of so many bytes at a byte of memory, below 2^40: several places may
    /// begin at one byte.
    #[must_use]
    pub fn address(byte: Value, bytes: u8) -> Value {
        byte + (Value::from(bytes) << WIDTH_BIT)
    }

    /// The byte of memory that an address made by [`Wide::address`] stands for; other addresses
    /// stand for themselves.
    #[must_use]
    pub fn first_byte(addr: Value) -> Value {
        match addr >> WIDTH_BIT {
            1..=8 => addr & ((1 << WIDTH_BIT) - 1),
            _ => addr,
        }
    }

    /// The number that the cells hold together.
    #[must_use]
    pub fn join(&self, mut cell: impl FnMut(LocId) -> Value) -> Value {
        let mut shift = 0;
        self.cells.iter().fold(0, |sum, part| {
            let value = UnOp::ZeroExtend(part.bits).apply(cell(part.loc)) << shift;
            shift += part.bits;
            sum | value
        })
    }

    /// What each cell holds after `value` was stored.
    pub fn split(&self, value: Value) -> impl Iterator<Item = (LocId, Value)> + '_ {
        let mut shift = 0;
        self.cells.iter().map(move |part| {
            let bits = UnOp::ZeroExtend(part.bits).apply(value >> shift);
            shift += part.bits;
            (part.loc, bits)
        })
    }

    /// Whether the location is one of its cells.
    #[must_use]
    pub fn covers(&self, loc: LocId) -> bool {
        self.cells.iter().any(|part| part.loc == loc)
    }
}

impl Program {
    /// The wide place with this number; `None` for a location.
    #[must_use]
    pub fn wide(&self, loc: LocId) -> Option<&Wide> {
        self.wides.get(loc.index().checked_sub(self.locs.len())?)
    }

    /// The wide place at `addr`; `None` for the address of a location.
    #[must_use]
    pub fn wide_at(&self, addr: Value) -> Option<&Wide> {
        self.wides.binary_search_by_key(&addr, |wide| wide.addr).ok().map(|i| &self.wides[i])
    }

    /// The address of a declared location or wide place.
    #[must_use]
    pub fn address(&self, loc: LocId) -> Option<Value> {
        let declared = self.locs.get(loc.index()).map(|l| l.addr);
        declared.or_else(|| self.wide(loc).map(|wide| wide.addr))
    }

    /// The locations that an access to `loc` takes: itself, or the cells of a wide place.
    pub fn cells(&self, loc: LocId) -> impl Iterator<Item = LocId> + '_ {
        let wide = self.wide(loc);
        let parts = wide.map_or(&[][..], |wide| &wide.cells).iter().map(|part| part.loc);
        parts.chain(wide.is_none().then_some(loc))
    }

    /// Whether accesses to `a` and `b` share a location.
    #[must_use]
    pub fn overlap(&self, a: LocId, b: LocId) -> bool {
        a == b
            || !self.wides.is_empty() && self.cells(a).any(|cell| self.cells(b).any(|c| c == cell))
    }

    /// Whether accesses at two addresses have a cell in common.
    #[must_use]
    pub fn addresses_overlap(&self, a: Value, b: Value) -> bool {
        let locs = || Some((self.loc_at(a)?, self.loc_at(b)?));
        a == b || !self.wides.is_empty() && locs().is_some_and(|(a, b)| self.overlap(a, b))
    }

    /// What a store of `value` to `place` leaves in the location `cell`; `None` if it does not
    /// cover that.
    #[must_use]
    pub fn part(&self, place: LocId, value: Value, cell: LocId) -> Option<Value> {
        match self.wide(place) {
            None => (place == cell).then_some(value),
            Some(wide) => wide.split(value).find(|(loc, _)| *loc == cell).map(|(_, part)| part),
        }
    }

    /// The content of memory at `addr`, where `memory` is by addresses of locations.
    #[must_use]
    pub fn content(&self, memory: &Memory, addr: Value) -> Option<Value> {
        let cell = |loc: LocId| memory.get(&self.locs[loc.index()].addr).copied().unwrap_or(0);
        match memory.get(&addr) {
            Some(&value) => Some(value),
            None => Some(self.wide_at(addr)?.join(cell)),
        }
    }

    /// Puts `value` into memory at `addr`.
    pub fn put(&self, memory: &mut Memory, addr: Value, value: Value) {
        match self.wide_at(addr) {
            None => {
                memory.insert(addr, value);
            }
            Some(wide) => {
                let addr = |loc: LocId| self.locs[loc.index()].addr;
                memory.extend(wide.split(value).map(|(loc, part)| (addr(loc), part)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn joins_what_it_splits() {
        let cell = |loc, bits| WideCell { loc: LocId(loc), bits };
        let wide = Wide { addr: 9, cells: vec![cell(2, 8), cell(0, 24), cell(1, 32)] };
        for value in [0, 258, -1, i64::MIN, 0x0123_4567_89ab_cdef] {
            let parts: BTreeMap<LocId, Value> = wide.split(value).collect();
            assert_eq!(wide.join(|loc| parts[&loc]), value);
        }
        let parts: Vec<_> = wide.split(0x0123_4567_89ab_cdef).map(|(_, part)| part).collect();
        assert_eq!(parts, [0xef, 0x89_abcd, 0x0123_4567]);
    }
}
