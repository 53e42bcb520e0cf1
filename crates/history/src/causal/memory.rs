//! Causal memory: can each thread put the writes in its past into an order that explains its
//! reads? Also the derived edges that CCM and wCCM start from.
//!
//! hb_o only grows along program order, so the last operation o of each thread is enough. Of it we
//! need the past D(r) of each read r of the thread: everything that must come before r. A read r
//! of w makes the other writes to the variable in D(r) come before w. That adds nothing to D(r),
//! which has them already, nor to later reads; but an earlier read whose past has w gets them and
//! what is before them. So: go through the thread, keep D as one number per thread, add what the
//! edges found so far lead back to, and note new edges; go again if an edge leads from something
//! that entered D later than where it leads.
//!
//! In the end every edge leads from something that entered D earlier or at the same time, so a
//! cycle is among operations that entered together, and only there it is looked for.

use std::ops::Range;

use weakspot_core::{History, HistoryEvidence, Limit, OpKind, Within};
use weakspot_sat::Meter;

use crate::causal::past::Past;
use crate::causal::{Conflict, co_cycle, conflicts, later};
use crate::graph::clocks::Clocks;
use crate::graph::explain::{Explain, Ppo, Stage};
use crate::graph::extra::Extra;
use crate::graph::walk::Walk;

/// CM: a violation, if there is one.
pub(crate) fn memory(
    ops: &History,
    meter: &mut Meter<'_>,
) -> Result<Option<HistoryEvidence>, Limit> {
    let none = Extra::new(ops.len());
    let clocks = match Clocks::new(ops, false, &none, meter)? {
        Ok(clocks) => clocks,
        Err(cycle) => return Ok(Some(co_cycle(ops, &cycle))),
    };
    drop(none);
    let mut own = Own::new(ops, &clocks, false);
    for thread in 0..ops.threads() {
        if let Some((read, w1)) = own.edges_of(thread, meter)? {
            let stage = Stage::Own(Within::Global);
            return Ok(Some(later(ops, false, &mut own.extra, stage, read, w1)));
        }
        if let Some(violation) = own.cycle(thread, meter)? {
            return Ok(Some(violation));
        }
    }
    Ok(None)
}

/// What the reads of one thread after the other demand.
pub(crate) struct Own<'a> {
    ops: &'a History,
    clocks: &'a Clocks,
    past: Past<'a>,
    /// The edges that the thread's reads demand, beyond what the clocks say.
    pub(crate) extra: Extra,
    /// Per write in the past with which of the thread's reads it entered.
    entered: Vec<u32>,
    /// The thread's operations that are in their own past.
    in_own_past: Vec<u32>,
}

impl<'a> Own<'a> {
    pub(crate) fn new(ops: &'a History, clocks: &'a Clocks, relaxed: bool) -> Own<'a> {
        Own {
            ops,
            clocks,
            past: Past::new(ops, clocks, relaxed),
            extra: Extra::new(ops.len()),
            entered: vec![0; ops.len()],
            in_own_past: Vec::new(),
        }
    }

    /// Finds the edges of a thread. The result is a read and a write in its past that comes after
    /// what it reads, if there are such two.
    pub(crate) fn edges_of(
        &mut self,
        thread: usize,
        meter: &mut Meter<'_>,
    ) -> Result<Option<(u32, u32)>, Limit> {
        self.extra.clear();
        let mut found: Vec<u32> = Vec::new();
        loop {
            self.past.reset();
            self.in_own_past.clear();
            let mut again = false;
            for op in self.ops.of_thread(thread) {
                self.step(thread, op, meter)?;
                if !self.ops.reads(op) {
                    continue;
                }
                if self.past.bounds[thread] > op {
                    self.in_own_past.push(op);
                }
                let w = self.ops.from(op);
                let last = self.past.last(self.ops.var(op));
                found.clear();
                for (w1, conflict) in conflicts(self.ops, self.clocks, last, op, w) {
                    if conflict == Conflict::Later {
                        return Ok(Some((op, w1)));
                    }
                    found.push(w1);
                }
                let Some(w) = w else { continue };
                for &w1 in &found {
                    let from = self.ops.thread_of(w1);
                    let is_known = |e: u32| e >= w1 && self.ops.thread_of(e) == from;
                    if self.extra.leading_to(w).any(|(_, edge)| is_known(edge.from)) {
                        continue;
                    }
                    self.extra.push(w1, w, op);
                    let in_past = w < self.past.bounds[self.ops.thread_of(w)];
                    again |= in_past && self.entered[w1 as usize] > self.entered[w as usize];
                }
            }
            if !again {
                return Ok(None);
            }
        }
    }

    /// The past of the next operation.
    fn step(&mut self, thread: usize, op: u32, meter: &mut Meter<'_>) -> Result<(), Limit> {
        let Own { ops, past, extra, entered, clocks, .. } = self;
        let before = past.work();
        let mut todo: Vec<u32> = Vec::new();
        let mut enter = |w: u32, todo: &mut Vec<u32>| {
            // An update is there with its own past already.
            let is_own_update = ops.kind(w) == OpKind::Update && ops.of_thread(thread).contains(&w);
            if !is_own_update || w >= op {
                entered[w as usize] = op;
                if extra.leads_to(w) {
                    todo.push(w);
                }
            }
        };
        let mut count = 0;
        let mut enter_all = |new: Range<u32>, todo: &mut Vec<u32>| {
            count += new.len() as u64;
            new.filter(|&op| ops.writes(op)).for_each(|w| enter(w, todo));
        };
        past.step(thread, op, &mut |new| enter_all(new, &mut todo));
        if ops.kind(op) == OpKind::Update {
            enter_all(op..op + 1, &mut todo);
        }
        while let Some(w) = todo.pop() {
            for (_, edge) in extra.leading_to(w) {
                past.add(edge.from, &mut |new| enter_all(new, &mut todo));
            }
        }
        let work = past.work() - before + 1 + count;
        meter
            .work(work, || past.bytes() + extra.bytes() + clocks.bytes() + entered.len() as u64 * 4)
    }

    /// A cycle with the edges of a thread, which were found before.
    fn cycle(
        &mut self,
        thread: usize,
        meter: &mut Meter<'_>,
    ) -> Result<Option<HistoryEvidence>, Limit> {
        let entered = |w: u32| self.entered[w as usize];
        let mut suspects: Vec<u32> = (self.extra.iter())
            .filter(|edge| entered(edge.from) == entered(edge.to))
            .map(|edge| entered(edge.to))
            .chain(self.in_own_past.iter().copied())
            .collect();
        suspects.sort_unstable();
        suspects.dedup();
        let mut at = self.ops.of_thread(thread).start;
        self.past.reset();
        for suspect in suspects {
            while at < suspect {
                self.step(thread, at, meter)?;
                at += 1;
            }
            let before = self.past.bounds.clone();
            self.step(thread, at, meter)?;
            at += 1;
            let mut after = self.past.bounds.clone();
            after[thread] = after[thread].max(at);
            let walk = Walk { ops: self.ops, relaxed: false, overtake: false, extra: &self.extra };
            if let Err(cycle) = walk.run_between(&before, &after, |_| meter.work(1, || 0))? {
                let stages = [(self.extra.len(), Stage::Own(Within::Global))];
                let explain =
                    Explain { ops: self.ops, ppo: Ppo::Full, extra: &self.extra, stages: &stages };
                return Ok(Some(explain.cycle(Within::Global, &cycle)));
            }
        }
        Ok(None)
    }
}
