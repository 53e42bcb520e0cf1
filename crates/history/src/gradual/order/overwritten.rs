//! Which writes are overwritten before they are read? Kept up to date while the order changes, so
//! that nobody looks through all of it again: only writes around which something has moved are
//! suspects.

use crate::gradual::order::{Order, Search};

impl Order<'_> {
    /// Pairs of writes that the order must not keep as it is: one that is read, and one between it
    /// and the read; and whether the second is nearer to the first. At most `most` for each, and
    /// about `enough` in all: those that come first, so that what is decided together is near each
    /// other.
    pub(crate) fn violations(&mut self, most: usize, enough: usize) -> Vec<(u32, u32, bool)> {
        let mut found = Vec::new();
        let mut suspects = std::mem::take(&mut self.suspects);
        suspects.sort_unstable_by_key(|&w| self.place[w as usize]);
        suspects.dedup();
        self.work += suspects.len() as u64;
        let mut left = suspects.into_iter();
        for w in left.by_ref() {
            self.overwritten(w, most, &mut found);
            if found.len() >= enough {
                break;
            }
        }
        self.suspects.extend(left);
        while found.len() < enough && self.looked_at < self.order.len() {
            let op = self.order[self.looked_at];
            self.looked_at += 1;
            self.work += 1;
            if self.chains.ops.writes(op) {
                self.overwritten(op, most, &mut found);
            }
        }
        found
    }

    /// The writes between a write and the last read of it.
    fn overwritten(&mut self, w: u32, most: usize, found: &mut Vec<(u32, u32, bool)>) {
        let last = self.readers.of(w as usize).map(|r| self.place[r as usize]).max().unwrap_or(0);
        let later =
            &self.stores[self.chains.ops.var(w) as usize][self.rank[w as usize] as usize + 1..];
        let before = found.len();
        for &other in later.iter().take(most) {
            let at = self.place[other as usize];
            if at > last {
                break;
            }
            // An update may be the last reader itself.
            if at < last {
                found.push((w, other, at - self.place[w as usize] < last - at));
            }
        }
        if found.len() > before {
            self.suspects.push(w);
        }
    }

    /// Operations have moved, forwards and backwards, and each of the two is in order: what has to
    /// be looked at again?
    pub(super) fn look_again(&mut self) {
        self.sort_stores(false);
        self.sort_stores(true);
        self.suspect();
    }

    /// Puts the writes that have moved where they belong among those of their variable. Each
    /// passes only what it has passed in the order of all, and those that go furthest come first,
    /// so that what is passed is sorted already.
    fn sort_stores(&mut self, forwards: bool) {
        let ops = self.chains.ops;
        let Order { search, place, stores, rank, .. } = self;
        let moved = if forwards { &search.forwards } else { &search.backwards };
        let mut settle = |op: u32| {
            let list = &mut stores[ops.var(op) as usize];
            let mut at = rank[op as usize] as usize;
            loop {
                let next = if forwards { at + 1 } else { at.wrapping_sub(1) };
                let Some(&other) = list.get(next) else { break };
                if (place[other as usize] < place[op as usize]) != forwards {
                    break;
                }
                list.swap(at, next);
                rank[other as usize] = at as u32;
                at = next;
            }
            rank[op as usize] = at as u32;
        };
        match forwards {
            true => moved.iter().rev().filter(|&&op| ops.writes(op)).for_each(|&op| settle(op)),
            false => moved.iter().filter(|&&op| ops.writes(op)).for_each(|&op| settle(op)),
        }
    }

    /// Writes that may be overwritten before they are read, because these operations have moved.
    fn suspect(&mut self) {
        let ops = self.chains.ops;
        let Search { forwards, backwards, .. } = &self.search;
        for &op in forwards.iter().chain(backwards) {
            let own = ops.writes(op).then_some(op);
            let before = own.and_then(|op| {
                let at = self.rank[op as usize].checked_sub(1)?;
                Some(self.stores[ops.var(op) as usize][at as usize])
            });
            for w in own.into_iter().chain(before).chain(ops.from(op)) {
                if (self.place[w as usize] as usize) < self.looked_at {
                    self.suspects.push(w);
                }
            }
        }
    }
}
