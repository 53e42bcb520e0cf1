//! Is a history linearizable: sequentially consistent where what ended before another operation
//! began comes first?
//!
//! Of one variable, with known writes, that is easy. A write, the reads of it and the updates that go
//! on from it are one *block* (see `coherent.rs`), whose operations stand together in every order.
//! Let f be the earliest end and s the latest beginning of its operations. Block A has to come before
//! block B if something of A ends before something of B begins: if f(A) < s(B). If these demands have
//! a cycle, they have one of two blocks. So sort blocks by the smaller of f and s: of two of them,
//! each comes before the other if the first one begins late, f < s, and the second has its f before
//! that s. This is what Gibbons and Korach ("Testing shared memories", 1997) say of forward and
//! backward zones, with updates in addition.
//!
//! Linearizability is local (Herlihy and Wing, 1990): if the operations on each variable have an order
//! and real time orders those of each thread, then there is an order of all of them. It is found by a
//! point in time for each operation, the latest beginning up to it in the order of its variable. Where
//! operations of a thread touch, or times are not known, it may be that there is none: then `clock.rs`
//! has to say it.
//!
//! Cost: that of sorting.

use std::sync::Arc;

use weakspot_core::history::RealTime;
use weakspot_core::{
    History, HistoryCycle, HistoryEvidence, HistoryModel, Limit, OpKind, Times, Verdict, Within,
    initial_write,
};
use weakspot_sat::Meter;

use crate::answer::{Answer, DecidedBy};
use crate::coherent::{Blocks, NONE};
use crate::gradual::linear::linear;

/// Whether the history is linearizable; `None` if its variables one by one do not say it.
pub(crate) fn linearizable(ops: &History, meter: &mut Meter<'_>) -> Option<Answer> {
    let (verdict, evidence) = match decide(ops, meter) {
        Ok(Ok(order)) if keeps_program_order(ops, &order) => {
            (Verdict::Holds, Some(linear(ops, HistoryModel::Sc, order)))
        }
        Ok(Ok(_)) => return None,
        Ok(Err(cycle)) => (Verdict::Violated, Some(HistoryEvidence::Cycle(cycle))),
        Err(limit) => (Verdict::Unknown(limit), None),
    };
    let evidence = evidence.map(Arc::new);
    Some(Answer { verdict, evidence, decided_by: DecidedBy::Location })
}

/// The operations in an order that explains those on each variable and keeps real time, or why there
/// is none.
fn decide(ops: &History, meter: &mut Meter<'_>) -> Result<Result<Vec<u32>, HistoryCycle>, Limit> {
    let memory = 80 * ops.len() as u64;
    meter.work(ops.len() as u64, || memory)?;
    let time = RealTime::of(ops);
    let blocks = match Blocks::new(ops, Within::Global) {
        Ok(blocks) => blocks,
        Err(cycle) => return Ok(Err(cycle)),
    };
    meter.work(ops.len() as u64, || memory)?;
    let zones = match Zones::new(ops, &time, &blocks) {
        Ok(zones) => zones,
        Err(cycle) => return Ok(Err(cycle)),
    };
    meter.work(ops.len() as u64, || memory)?;
    let sorted = match zones.sorted() {
        Ok(sorted) => sorted,
        Err(cycle) => return Ok(Err(cycle)),
    };
    meter.work(ops.len() as u64, || memory)?;
    Ok(Ok(zones.merged(&sorted)))
}

fn keeps_program_order(ops: &History, order: &[u32]) -> bool {
    let mut next: Vec<u32> = (0..ops.threads()).map(|t| ops.of_thread(t).start).collect();
    order.iter().all(|&op| {
        let next = &mut next[ops.thread_of(op)];
        *next += 1;
        *next == op + 1
    })
}

/// The blocks of a history with their times.
struct Zones<'a> {
    ops: &'a History,
    time: &'a RealTime,
    blocks: &'a Blocks<'a>,
    /// The operations of block b, in their order, are `members[starts[b]..starts[b + 1]]`.
    starts: Vec<u32>,
    members: Vec<u32>,
    /// Per block the operations that end first and begin last; [`NONE`] for a block without any.
    ends_first: Vec<u32>,
    begins_last: Vec<u32>,
}

impl<'a> Zones<'a> {
    /// Fails if an operation ended before another one began that comes earlier in its block.
    fn new(
        ops: &'a History,
        time: &'a RealTime,
        blocks: &'a Blocks<'a>,
    ) -> Result<Zones<'a>, HistoryCycle> {
        let count = blocks.heads.len();
        let accesses = || (0..ops.len() as u32).filter(|&op| ops.kind(op) != OpKind::Fence);
        let mut starts = vec![0u32; count + 1];
        for op in accesses() {
            starts[blocks.block_of(op) as usize + 1] += 1;
        }
        for block in 0..count {
            starts[block + 1] += starts[block];
        }
        let mut members = vec![NONE; starts[count] as usize];
        let mut next = starts.clone();
        for op in accesses() {
            let next = &mut next[blocks.block_of(op) as usize];
            members[*next as usize] = op;
            *next += 1;
        }
        let (ends_first, begins_last) = (vec![NONE; count], vec![NONE; count]);
        let mut zones = Zones { ops, time, blocks, starts, members, ends_first, begins_last };
        for block in 0..count {
            zones.measure(block)?;
        }
        Ok(zones)
    }

    /// Puts the operations of a block into their order, and finds out when they began and ended.
    fn measure(&mut self, block: usize) -> Result<(), HistoryCycle> {
        let (blocks, time) = (self.blocks, self.time);
        let members =
            &mut self.members[self.starts[block] as usize..self.starts[block + 1] as usize];
        // Reads of one write may be in the order in which they began.
        members.sort_by_key(|&op| (blocks.place_of(op), time.times(op).start));
        let (mut ends_first, mut begins_last) = (NONE, NONE);
        // What begins last of all that is at an earlier place.
        let (mut before, mut place) = (NONE, None);
        for &op in &*members {
            if place.replace(blocks.place_of(op)) != Some(blocks.place_of(op)) {
                before = begins_last;
            }
            if before != NONE && time.is_before(op, before) {
                return Err(blocks.cycle(&[(op, before)]));
            }
            let Times { start, end } = time.times(op);
            if ends_first == NONE || end < time.times(ends_first).end {
                ends_first = op;
            }
            if begins_last == NONE || start > time.times(begins_last).start {
                begins_last = op;
            }
        }
        (self.ends_first[block], self.begins_last[block]) = (ends_first, begins_last);
        Ok(())
    }

    fn end(&self, block: u32) -> i64 {
        self.time.times(self.ends_first[block as usize]).end
    }

    fn start(&self, block: u32) -> i64 {
        self.time.times(self.begins_last[block as usize]).start
    }

    /// The blocks, variable by variable, in an order that keeps real time; those of initial values
    /// first. Fails if two have to come before each other.
    fn sorted(&self) -> Result<Vec<u32>, HistoryCycle> {
        let vars = self.ops.vars() as u32;
        let mut sorted: Vec<u32> = (vars..self.starts.len() as u32 - 1).collect();
        let key = |block: u32| {
            let (end, start) = (self.end(block), self.start(block));
            (end.min(start), end < start)
        };
        sorted.sort_by_cached_key(|&block| (self.blocks.var(block), key(block)));
        let mut all = Vec::with_capacity(self.starts.len());
        for of_var in sorted.chunk_by(|&a, &b| self.blocks.var(a) == self.blocks.var(b)) {
            let initial = self.blocks.var(of_var[0]);
            let is_read = self.begins_last[initial as usize] != NONE;
            // The block up to here that begins last.
            let mut last = if is_read { initial } else { NONE };
            all.push(initial);
            for &block in of_var {
                if last != NONE && self.end(block) < self.start(last) {
                    return Err(self.both_ways(last, block));
                }
                if last == NONE || self.start(block) > self.start(last) {
                    last = block;
                }
                all.push(block);
            }
        }
        // Variables that nobody writes.
        let mut is_written = vec![false; vars as usize];
        for &block in sorted.iter() {
            is_written[self.blocks.var(block) as usize] = true;
        }
        all.extend((0..vars).filter(|&x| !is_written[x as usize]));
        Ok(all)
    }

    /// Why the second block comes before the first one and after it.
    fn both_ways(&self, a: u32, b: u32) -> HistoryCycle {
        let (a, b) = (a as usize, b as usize);
        let back = (self.ends_first[b], self.begins_last[a]);
        let initial = a < self.ops.vars();
        let forth = match initial {
            true => (initial_write(a as u32), self.blocks.write(self.ends_first[b])),
            false => (self.ends_first[a], self.begins_last[b]),
        };
        self.blocks.cycle(&[back, forth])
    }

    /// All operations in an order that is the one of these blocks for each variable and keeps real
    /// time.
    fn merged(&self, sorted: &[u32]) -> Vec<u32> {
        let mut points: Vec<(i64, u32)> = Vec::with_capacity(self.ops.len());
        let fences = (0..self.ops.len() as u32).filter(|&op| self.ops.kind(op) == OpKind::Fence);
        points.extend(fences.map(|op| (self.time.times(op).start, op)));
        let (mut now, mut var) = (i64::MIN, NONE);
        for &block in sorted {
            if var != self.blocks.var(block) {
                (now, var) = (i64::MIN, self.blocks.var(block));
            }
            let range =
                self.starts[block as usize] as usize..self.starts[block as usize + 1] as usize;
            for &op in &self.members[range] {
                now = now.max(self.time.times(op).start);
                points.push((now, op));
            }
        }
        points.sort_by_key(|&(point, _)| point);
        points.into_iter().map(|(_, op)| op).collect()
    }
}
