//! From locations to variables. Locations of bytes are cut where others begin or end, so that those
//! that overlap have variables in common.

use std::collections::BTreeMap;

use crate::{Bytes, LogLoc};

/// How long all lists of variables of locations together may be.
const MOST_LISTED: usize = 1 << 24;

/// A new location cuts a variable that is in use already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut;

/// The variables of locations.
#[derive(Default)]
pub(super) struct Variables {
    /// Per location its variable if it has one, or else where its list begins in `lists`, and how
    /// many there are.
    locs: Vec<(u32, u32)>,
    lists: Vec<u32>,
    /// The variables of bytes, by their first address: the address behind the last, and the variable.
    cells: BTreeMap<u64, (u128, u32)>,
    count: u32,
}

impl Variables {
    /// Goes on with the locations that are new among these.
    ///
    /// # Errors
    /// When one of them cuts a variable.
    pub(super) fn learn(&mut self, locs: &[LogLoc]) -> Result<(), Cut> {
        let new = &locs[self.locs.len().min(locs.len())..];
        if new.is_empty() {
            return Ok(());
        }
        let cuts = |bytes: &Bytes| {
            let ends = [u128::from(bytes.start), u128::from(bytes.start) + u128::from(bytes.len)];
            ends.into_iter().any(|at| self.cell_around(at).is_some())
        };
        if new.iter().filter_map(|loc| loc.bytes.as_ref()).any(cuts) {
            return Err(Cut);
        }
        // The new ones may cut each other.
        self.cut(new);
        self.add(new);
        Ok(())
    }

    /// The variables of a location, of which there are none if there would be too many.
    #[inline]
    pub(super) fn each(&self, loc: u32, mut give: impl FnMut(u32)) -> bool {
        match self.locs.get(loc as usize) {
            Some(&(var, 1)) => give(var),
            None | Some((_, 0)) => return false,
            Some(&(first, count)) => {
                self.lists[first as usize..(first + count) as usize]
                    .iter()
                    .for_each(|&var| give(var));
            }
        }
        true
    }

    /// A variable that belongs to no location.
    pub(super) fn fresh(&mut self) -> u32 {
        self.count = self.count.saturating_add(1);
        self.count - 1
    }

    /// The variable of bytes that this address lies within, but for its first byte.
    fn cell_around(&self, at: u128) -> Option<u64> {
        let below = u64::try_from(at).ok().map_or(u64::MAX, |at| at);
        let (&start, &(end, _)) = self.cells.range(..=below).next_back()?;
        (u128::from(start) < at && at < end).then_some(start)
    }

    /// Makes variables of the bytes of new locations that no variable has. Those that have one are
    /// not cut by them.
    fn cut(&mut self, new: &[LogLoc]) {
        let ends = |loc: &LogLoc| {
            let bytes = loc.bytes?;
            let start = u128::from(bytes.start);
            Some((start, start + u128::from(bytes.len)))
        };
        let mut cuts: Vec<u128> = Vec::new();
        for (start, end) in new.iter().filter_map(ends) {
            cuts.extend([start, end]);
        }
        if cuts.is_empty() {
            return;
        }
        cuts.sort_unstable();
        cuts.dedup();
        // How many locations cover what follows each cut.
        let index = |at: u128| cuts.binary_search(&at).unwrap_or_else(|at| at);
        let mut covers = vec![0i64; cuts.len() + 1];
        for (start, end) in new.iter().filter_map(ends) {
            covers[index(start)] += 1;
            covers[index(end)] -= 1;
        }
        let mut covered = 0;
        for at in 0..cuts.len().saturating_sub(1) {
            covered += covers[at];
            if covered > 0 {
                self.fill(cuts[at], cuts[at + 1]);
            }
        }
    }

    /// Makes variables of the bytes from `start` to `end` that have none.
    fn fill(&mut self, start: u128, end: u128) {
        let mut at = start;
        while at < end {
            let Ok(first) = u64::try_from(at) else { return };
            let next = self.cells.range(first..).next();
            match next.map(|(&start, &(end, _))| (u128::from(start), end)) {
                Some((start, behind)) if start == at => at = behind,
                next => {
                    let stop = next.map_or(end, |(start, _)| start.min(end));
                    self.cells.insert(first, (stop, self.count));
                    self.count = self.count.saturating_add(1);
                    at = stop;
                }
            }
        }
    }

    fn add(&mut self, new: &[LogLoc]) {
        for loc in new {
            let entry = match loc.bytes {
                None => {
                    self.count = self.count.saturating_add(1);
                    (self.count - 1, 1)
                }
                Some(bytes) => {
                    let end = u128::from(bytes.start) + u128::from(bytes.len);
                    let within = self.cells.range(bytes.start..);
                    let within = within.take_while(|&(&start, _)| u128::from(start) < end);
                    let before = self.lists.len();
                    let room = MOST_LISTED + 1 - before;
                    self.lists.extend(within.take(room).map(|(_, &(_, var))| var));
                    match self.lists[before..] {
                        _ if self.lists.len() > MOST_LISTED => {
                            self.lists.truncate(before);
                            (0, 0)
                        }
                        [var] => {
                            self.lists.truncate(before);
                            (var, 1)
                        }
                        _ => (before as u32, (self.lists.len() - before) as u32),
                    }
                }
            };
            self.locs.push(entry);
        }
    }
}
