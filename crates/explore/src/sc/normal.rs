//! The normal form of a row: threads that are copies of each other stand in a fixed order, so that
//! rows which differ only in who is who are one. Cost: a key per member of a class and row, and a
//! permuted row where the members are out of order.

use weakspot_core::Value;

use crate::intern::hash;
use crate::sc::frame::{Fields, Frame};
use crate::sc::symmetry::{Class, Symmetry};
use crate::sc::threads::{Missing, Threads};

/// A row in its normal form.
#[derive(Clone, Debug)]
pub(crate) struct Normal {
    pub(crate) row: Vec<u32>,
    /// The threads asleep there.
    pub(crate) asleep: u32,
    /// Where each thread of the original row has gone.
    pub(crate) places: Vec<usize>,
}

impl Symmetry {
    /// The row that stands for `row`; `None` if it is `row` itself.
    pub(crate) fn normal(
        &self,
        threads: &Threads<'_>,
        frame: Frame,
        fields: &Fields,
        row: &[u32],
        asleep: u32,
    ) -> Result<Option<Normal>, Missing> {
        let mut normal: Option<Normal> = None;
        for class in &self.classes {
            let (now, asleep) = normal.as_ref().map_or((row, asleep), |n| (&n.row, n.asleep));
            // Who is asleep breaks ties only: it is no part of the row.
            let mut keys = Vec::with_capacity(class.members.len());
            for (i, &t) in class.members.iter().enumerate() {
                let asleep = asleep.checked_shr(t as u32).unwrap_or(0) & 1;
                keys.push((class.key(threads, frame, fields, now, i)?, asleep, i));
            }
            if keys.is_sorted() {
                continue;
            }
            keys.sort_unstable();
            let mut to = vec![0; keys.len()];
            for (place, &(_, _, member)) in keys.iter().enumerate() {
                to[member] = place;
            }
            let (moved, asleep) = class.permute(threads, frame, fields, now, asleep, &to)?;
            let places = normal.map_or_else(|| (0..frame.n).collect(), |n: Normal| n.places);
            let places = places.into_iter().map(|t| class.place(&to, t)).collect();
            normal = Some(Normal { row: moved, asleep, places });
        }
        Ok(normal)
    }

    /// The threads that look like another one of their class in `row`: who of them is asleep decides on their
    /// order.
    pub(crate) fn ties(
        &self,
        threads: &Threads<'_>,
        frame: Frame,
        fields: &Fields,
        row: &[u32],
    ) -> Result<u32, Missing> {
        let mut ties = 0;
        for class in &self.classes {
            let keys = (0..class.members.len()).map(|i| class.key(threads, frame, fields, row, i));
            let keys = keys.collect::<Result<Vec<u64>, Missing>>()?;
            for (&t, key) in class.members.iter().zip(&keys) {
                let alike = keys.iter().filter(|other| *other == key).count();
                ties |= u32::from(alike > 1).checked_shl(t as u32).unwrap_or(0);
            }
        }
        Ok(ties)
    }

    /// A value after its threads have changed to `places`.
    pub(crate) fn value(&self, places: &[usize], v: Value) -> Value {
        let moved = self.classes.iter().find_map(|class| {
            let i = class.ids.iter().position(|&id| id == v)?;
            let j = class.members.iter().position(|&m| m == places[class.members[i]])?;
            Some(class.ids[j])
        });
        moved.unwrap_or(v)
    }
}

impl Class {
    /// What member `i` looks like from outside, whichever place it is in.
    fn key(
        &self,
        threads: &Threads<'_>,
        frame: Frame,
        fields: &Fields,
        row: &[u32],
        i: usize,
    ) -> Result<u64, Missing> {
        let t = self.members[i];
        let mut key = threads.look(self, t, row[t])?;
        let mut add = |x: u64| {
            key = (key ^ x).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            key ^= key >> 31;
        };
        let is_here = |field: usize| u64::from(row[field] == t as u32 + 1);
        add(is_here(frame.owner()));
        fields.threads.iter().for_each(|&f| add(is_here(frame.field(f))));
        if let Some(&f) = fields.masks.get(t / 32) {
            add(u64::from(row[frame.field(f)] >> (t % 32) & 1));
        }
        for &addr in &self.addrs[i] {
            let Some(loc) = threads.locs.find(addr) else { continue };
            let value = threads.locs.value(loc, row[frame.value(loc)]);
            let number = self.ids.iter().position(|&id| id == value);
            add(match number.filter(|_| self.holds_number(addr)) {
                Some(j) if j == i => 1 << 40,
                Some(_) => 1 << 41,
                None => value as u64,
            });
            for f in (0..fields.per_loc).filter(|f| !fields.values.contains(f)) {
                add(u64::from(row[frame.of_loc(loc, f)]));
            }
            fields.locs.iter().for_each(|&f| add(u64::from(row[frame.field(f)] == loc + 1)));
        }
        if let Some(&id) = self.ids.get(i) {
            let holds = |loc: u32, at: usize| {
                let is_id = threads.locs.value(loc, row[at]) == id;
                u64::from(is_id && self.holds_number(threads.locs.addr(loc)))
            };
            let (locs, known) = (frame.locs(row), threads.locs.known_at_once());
            for loc in locs.start..locs.end.min(known) {
                add(holds(loc, frame.value(loc)));
                fields.values.iter().for_each(|&f| add(holds(loc, frame.of_loc(loc, f))));
            }
            // Locations that are met on the way have other numbers in other processes, and are
            // missing in older rows: they count in no order, and only where they hold the number.
            let mut met = 0u64;
            for loc in known..locs.end {
                let places = fields.values.iter().map(|&f| frame.of_loc(loc, f));
                for (i, at) in std::iter::once(frame.value(loc)).chain(places).enumerate() {
                    let place = [threads.locs.addr(loc), i as Value];
                    met = met.wrapping_add(holds(loc, at) * hash(&place));
                }
            }
            if met != 0 {
                add(met);
            }
        }
        Ok(key)
    }

    /// Where thread `t` goes if member `i` goes to the place of member `to[i]`.
    fn place(&self, to: &[usize], t: usize) -> usize {
        self.members.iter().position(|&m| m == t).map_or(t, |i| self.members[to[i]])
    }

    /// `row` with member `i` in the place of member `to[i]`.
    fn permute(
        &self,
        threads: &Threads<'_>,
        frame: Frame,
        fields: &Fields,
        row: &[u32],
        asleep: u32,
        to: &[usize],
    ) -> Result<(Vec<u32>, u32), Missing> {
        let mut places: Vec<usize> = (0..frame.n).collect();
        for (i, &t) in self.members.iter().enumerate() {
            places[t] = self.members[to[i]];
        }
        let place = |t: usize| places[t];
        let value_of = |v: Value| match self.ids.iter().position(|&id| id == v) {
            Some(i) => self.ids[to[i]],
            None => v,
        };
        let mask_of = |mask: u32| {
            (0..frame.n.min(32))
                .filter(|&t| mask >> t & 1 != 0)
                .fold(0, |moved, t| moved | 1 << place(t))
        };
        let loc_of = |loc: u32| {
            if self.addrs[0].is_empty() {
                return loc;
            }
            let addr = threads.locs.addr(loc);
            let owner = self.addrs.iter().position(|a| a.contains(&addr));
            let moved = owner.and_then(|i| {
                let role = self.addrs[i].iter().position(|&a| a == addr)?;
                threads.locs.find(self.addrs[to[i]][role])
            });
            moved.unwrap_or(loc)
        };
        let mut moved = row.to_vec();
        for (i, &t) in self.members.iter().enumerate() {
            let target = self.members[to[i]];
            moved[target] = match threads.twin(self, t, row[t], target)? {
                Some(twin) => twin,
                None => threads.counterpart(self, t, row[t], target, &value_of)?,
            };
        }
        // Threads outside of the class may know its members by their numbers.
        if !self.ids.is_empty() {
            for t in (0..frame.n).filter(|t| !self.members.contains(t)) {
                moved[t] = threads.counterpart(self, t, row[t], t, &value_of)?;
            }
        }
        let thread_fields = fields.threads.iter().map(|&f| frame.field(f));
        for at in thread_fields.chain([frame.owner()]) {
            if row[at] != 0 {
                moved[at] = place(row[at] as usize - 1) as u32 + 1;
            }
        }
        fields.masks.iter().for_each(|&f| moved[frame.field(f)] = 0);
        let words = fields.masks.iter().enumerate().filter(|(_, f)| row[frame.field(**f)] != 0);
        for (i, &f) in words {
            let members = (0..32).filter(|bit| row[frame.field(f)] >> bit & 1 != 0);
            for to in members.map(|bit| place(32 * i + bit)) {
                moved[frame.field(fields.masks[to / 32])] |= 1 << (to % 32);
            }
        }
        for &f in fields.locs {
            if row[frame.field(f)] != 0 {
                moved[frame.field(f)] = loc_of(row[frame.field(f)] - 1) + 1;
            }
        }
        for loc in frame.locs(row) {
            let target = loc_of(loc);
            let number = |n: u32| {
                let value = threads.locs.value(loc, n);
                let moved = match self.holds_number(threads.locs.addr(loc)) {
                    true => value_of(value),
                    false => value,
                };
                if target == loc && moved == value {
                    return Ok(n);
                }
                threads.locs.find_number(target, moved)
            };
            moved[frame.value(target)] = number(row[frame.value(loc)])?;
            for f in 0..fields.per_loc {
                let field = row[frame.of_loc(loc, f)];
                moved[frame.of_loc(target, f)] =
                    if fields.values.contains(&f) { number(field)? } else { field };
            }
        }
        Ok((moved, mask_of(asleep)))
    }
}
