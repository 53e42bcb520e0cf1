//! The partial store order of CCM and wCCM: which writes to a variable come before which, and the
//! reads that therefore come before a write.
//!
//! Input are clocks (hb), and derived edges between writes to one variable (cf) on top of them.
//! The store order is the closure of both on each variable. It is kept as one number per thread
//! again, and only where it is more than the clocks say. Cost: operations times threads.

use weakspot_core::{History, INITIAL, Limit, OpKind};
use weakspot_sat::Meter;

use crate::graph::clocks::Clocks;
use crate::graph::extra::Extra;

/// Derives the edges from reads to the writes that overwrite what they read. `order` has all
/// writes, each after what precedes it; of the derived edges those from `conflicts` on are of cf.
pub(crate) fn overtaken(
    ops: &History,
    clocks: &Clocks,
    extra: &mut Extra,
    conflicts: usize,
    order: &[u32],
    meter: &mut Meter<'_>,
) -> Result<(), Limit> {
    let readers = Readers::new(ops);
    for (var, order) in by_variable(ops, order).into_iter().enumerate() {
        let bytes = clocks.bytes() + extra.bytes() + 12 * ops.len() as u64;
        meter.work((order.len() * ops.threads()) as u64, || bytes)?;
        let store = Store::new(ops, clocks, extra, conflicts, &order);
        for (r, w) in store.overtaken(&readers, var) {
            if !clocks.has_before(ops, r, w) {
                extra.push(r, w, r);
            }
        }
    }
    Ok(())
}

/// Per variable those of these operations that access it, in the given order.
pub(crate) fn by_variable(ops: &History, order: &[u32]) -> Vec<Vec<u32>> {
    let mut vars = vec![Vec::new(); ops.vars()];
    for &op in order {
        vars[ops.var(op) as usize].push(op);
    }
    vars
}

/// Who reads what: of each thread the last read of each write is enough.
pub(crate) struct Readers {
    /// Per write its first reader; after the operations, per variable that of the initial write.
    first: Vec<u32>,
    /// Per read the next one of the same write. Without updates no operation has both, and these
    /// stand among the others.
    next: Option<Vec<u32>>,
}

const NONE: u32 = INITIAL;

impl Readers {
    pub(crate) fn new(ops: &History) -> Readers {
        let has_updates = (0..ops.len() as u32).any(|op| ops.kind(op) == OpKind::Update);
        let next = has_updates.then(|| vec![NONE; ops.len()]);
        let mut readers = Readers { first: vec![NONE; ops.len() + ops.vars()], next };
        for thread in (0..ops.threads()).rev() {
            let range = ops.of_thread(thread);
            for r in range.clone().rev().filter(|&r| ops.reads(r)) {
                let initial = ops.len() + ops.var(r) as usize;
                let first = &mut readers.first[ops.from(r).map_or(initial, |w| w as usize)];
                if !range.contains(first) {
                    let second = std::mem::replace(first, r);
                    readers.next.as_mut().unwrap_or(&mut readers.first)[r as usize] = second;
                }
            }
        }
        readers
    }

    /// The last reader of a write in each thread.
    pub(crate) fn of(&self, w: usize) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.first(w), |&reader| self.after(reader))
    }

    /// The first of these.
    pub(crate) fn first(&self, w: usize) -> Option<u32> {
        Some(self.first[w]).filter(|&reader| reader != NONE)
    }

    /// The one after a reader, of the same write.
    pub(crate) fn after(&self, reader: u32) -> Option<u32> {
        let next = self.next.as_ref().unwrap_or(&self.first);
        Some(next[reader as usize]).filter(|&reader| reader != NONE)
    }
}

/// The store order of one variable.
pub(crate) struct Store<'a> {
    ops: &'a History,
    clocks: &'a Clocks,
    /// Per thread its writes.
    writes: Vec<Vec<u32>>,
    /// For each of these what comes before it, if that is more than the clocks say.
    rows: Vec<Vec<Option<Box<[u32]>>>>,
}

impl<'a> Store<'a> {
    pub(crate) fn new(
        ops: &'a History,
        clocks: &'a Clocks,
        extra: &Extra,
        conflicts: usize,
        order: &[u32],
    ) -> Store<'a> {
        let k = ops.threads();
        let mut store =
            Store { ops, clocks, writes: vec![Vec::new(); k], rows: vec![Vec::new(); k] };
        for &w in order {
            store.writes[ops.thread_of(w)].push(w);
        }
        let is_conflict = |&(index, _): &(u32, _)| index as usize >= conflicts;
        if !order.iter().any(|&w| extra.leading_to(w).any(|edge| is_conflict(&edge))) {
            return store;
        }
        // Per two threads how many writes of the second come before the next one of the first.
        let mut seen = vec![0; k * k];
        for &w in order {
            let thread = ops.thread_of(w);
            let mut row: Option<Box<[u32]>> = None;
            let join = |row: &mut Option<Box<[u32]>>, more: &[u32]| {
                let row = row.get_or_insert_with(|| clocks.row(w).into());
                for (to, &from) in row.iter_mut().zip(more) {
                    *to = from.max(*to);
                }
            };
            if let Some(Some(own)) = store.rows[thread].last() {
                join(&mut row, own);
            }
            for other in (0..k).filter(|&other| other != thread) {
                let seen = &mut seen[thread * k + other];
                let bound = clocks.row(w)[other];
                while store.writes[other].get(*seen).is_some_and(|&w1| w1 < bound) {
                    *seen += 1;
                }
                let last = seen.checked_sub(1).and_then(|last| store.rows[other].get(last));
                if let Some(Some(more)) = last {
                    join(&mut row, more);
                }
            }
            for (_, edge) in extra.leading_to(w).filter(is_conflict) {
                let other = ops.thread_of(edge.from);
                let at = store.writes[other].partition_point(|&w1| w1 < edge.from);
                match store.rows[other].get(at) {
                    Some(Some(more)) => join(&mut row, more),
                    _ => join(&mut row, clocks.row(edge.from)),
                }
                if let Some(row) = &mut row {
                    row[other] = row[other].max(edge.from + 1);
                }
            }
            store.rows[thread].push(row);
        }
        store
    }

    /// What comes before write number `at` of a thread, in another thread.
    fn before(&self, thread: usize, at: usize, other: usize) -> u32 {
        match self.rows[thread].get(at) {
            Some(Some(row)) => row[other],
            _ => self.clocks.row(self.writes[thread][at])[other],
        }
    }

    /// Reads, and the first write of each thread that overwrites what they read.
    pub(crate) fn overtaken(&self, readers: &Readers, var: usize) -> Vec<(u32, u32)> {
        let mut found = Vec::new();
        let mut overtake = |of: usize, w: u32| {
            found.extend(readers.of(of).filter(|&r| r != w).map(|r| (r, w)));
        };
        for thread in 0..self.writes.len() {
            if let Some(&first) = self.writes[thread].first() {
                overtake(self.ops.len() + var, first);
            }
            for pair in self.writes[thread].windows(2) {
                overtake(pair[0] as usize, pair[1]);
            }
            for other in (0..self.writes.len()).filter(|&other| other != thread) {
                // Both go forward together.
                let mut at = 0;
                for (later, &w) in self.writes[thread].iter().enumerate() {
                    let bound = self.before(thread, later, other);
                    while let Some(&w1) = self.writes[other].get(at).filter(|&&w1| w1 < bound) {
                        overtake(w1 as usize, w);
                        at += 1;
                    }
                }
            }
        }
        found
    }

    /// How many pairs of writes there are, and how many of them are ordered.
    pub(crate) fn pairs(&self) -> (u64, u64) {
        let pairs = |n: u64| n * n.saturating_sub(1) / 2;
        let all = self.writes.iter().map(|writes| writes.len() as u64).sum();
        let mut ordered = self.writes.iter().map(|writes| pairs(writes.len() as u64)).sum();
        for thread in 0..self.writes.len() {
            for other in (0..self.writes.len()).filter(|&other| other != thread) {
                let mut at = 0;
                for later in 0..self.writes[thread].len() {
                    let bound = self.before(thread, later, other);
                    at += self.writes[other][at..].iter().take_while(|&&w1| w1 < bound).count();
                    ordered += at as u64;
                }
            }
        }
        (pairs(all), ordered)
    }

    /// For each write and each other thread the last write there that comes before it.
    pub(crate) fn before_each(&self) -> Vec<(u32, u32)> {
        let mut found = Vec::new();
        for thread in 0..self.writes.len() {
            for other in (0..self.writes.len()).filter(|&other| other != thread) {
                let mut at = 0;
                for (later, &w) in self.writes[thread].iter().enumerate() {
                    let bound = self.before(thread, later, other);
                    while self.writes[other].get(at).is_some_and(|&w1| w1 < bound) {
                        at += 1;
                    }
                    found.extend(at.checked_sub(1).map(|last| (self.writes[other][last], w)));
                }
            }
        }
        found
    }
}
