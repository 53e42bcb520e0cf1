//! Real time as a part of the history: one more thread writes 1, 2, 3, ... to a variable of its own, the
//! clock, and each operation stands between a read of the clock as it was when the operation began
//! and one of the clock as it was when it ended. A machine can do what was recorded with this clock if
//! and only if it can do what was recorded at these times. That holds for store buffers, too: a read
//! of the clock waits for no write, and a write leaves its buffer after the read before it. So a model
//! with real time is decided by the stages for the model without it, and evidence is translated back:
//! a path over the clock is real-time order.
//!
//! The clock goes on only between an end and a beginning that follows, which is all that real time
//! orders by. So a history of n operations has at most 4 n with its clock.

use weakspot_core::history::RealTime;
use weakspot_core::{
    Derivation, History, HistoryCycle, HistoryEdge, HistoryEvidence, HistoryModel, HistoryStep,
    INITIAL, OpKind, Rule, Times, Why, initial_write_var,
};

use crate::coherent::NONE;

/// A history with a clock.
pub(crate) struct Clocked<'a> {
    whole: &'a History,
    /// The history with its clock, which is the last thread and the last variable.
    pub(crate) ops: History,
    /// Per operation of it the one that it is, or [`NONE`] for those on the clock.
    of: Vec<u32>,
}

/// What the clock shows when an operation begins, and when it ends.
#[derive(Clone, Copy)]
struct Ticks {
    start: u32,
    end: u32,
}

impl<'a> Clocked<'a> {
    /// The history with a clock; `None` if that is too large.
    pub(crate) fn new(whole: &'a History) -> Option<Clocked<'a>> {
        let is_small = 4 * (whole.len() as u64 + 1) + (whole.vars() as u64) < History::MOST as u64;
        is_small.then(|| Clocked::of(whole))
    }

    fn of(whole: &'a History) -> Clocked<'a> {
        let (ticks, last) = ticks(whole);
        let mut clocked = Clocked { whole, ops: History::new(), of: Vec::new() };
        // Where the clock is read, and as what.
        let mut reads: Vec<(u32, u32)> = Vec::new();
        let mut number = vec![INITIAL; whole.len()];
        for thread in 0..whole.threads() {
            clocked.ops.thread();
            // What the clock showed at least, as the thread has read it.
            let mut shown = 0;
            for op in whole.of_thread(thread) {
                let Ticks { start, end } = ticks[op as usize];
                if start > shown {
                    reads.push((clocked.read(), start));
                    shown = start;
                }
                number[op as usize] = clocked.ops.len() as u32;
                clocked.ops.push(whole.kind(op), whole.var(op), INITIAL);
                clocked.of.push(op);
                let is_last = op + 1 == whole.of_thread(thread).end;
                // What the next one reads may say it.
                let waits = is_last || end <= ticks[op as usize + 1].start;
                if end < last && waits {
                    reads.push((clocked.read(), end));
                    shown = end;
                }
            }
        }
        for op in (0..whole.len() as u32).filter(|&op| whole.reads(op)) {
            if let Some(from) = whole.from(op) {
                clocked.ops.set_from(number[op as usize], number[from as usize]);
            }
        }
        let first = clocked.ops.len() as u32;
        clocked.ops.thread();
        for _ in 0..last {
            clocked.ops.push(OpKind::Write, whole.vars() as u32, INITIAL);
            clocked.of.push(NONE);
        }
        for (read, tick) in reads.into_iter().filter(|&(_, tick)| tick > 0) {
            clocked.ops.set_from(read, first + tick - 1);
        }
        clocked
    }

    /// Adds a read of the clock.
    fn read(&mut self) -> u32 {
        self.ops.push(OpKind::Read, self.whole.vars() as u32, INITIAL);
        self.of.push(NONE);
        self.ops.len() as u32 - 1
    }

    /// What is evidence for the model without real time, here, is this for the one with it, there.
    pub(crate) fn evidence(
        &self,
        evidence: &HistoryEvidence,
        model: HistoryModel,
    ) -> HistoryEvidence {
        let back = Back { clocked: self, buffered: model != HistoryModel::Sc };
        match evidence {
            HistoryEvidence::Linear { store_order, steps } => {
                let of = |op: u32| Some(self.of[op as usize]).filter(|&op| op != NONE);
                let step = |step: &HistoryStep| match step.is_commit() {
                    false => of(step.op()).map(HistoryStep::issue),
                    true => of(step.op()).map(HistoryStep::commit),
                };
                let order = |order: &Vec<u32>| order.iter().filter_map(|&op| of(op)).collect();
                let of_whole = store_order.iter().take(self.whole.vars());
                HistoryEvidence::Linear {
                    store_order: of_whole.map(order).collect(),
                    steps: steps.iter().filter_map(step).collect(),
                }
            }
            HistoryEvidence::Cycle(cycle) => HistoryEvidence::Cycle(back.cycle(cycle)),
            HistoryEvidence::Refuted { pairs, conflicts, proof } => HistoryEvidence::Refuted {
                pairs: pairs.iter().map(|&(a, b)| (back.node(a), back.node(b))).collect(),
                conflicts: conflicts.iter().map(|cycle| back.cycle(cycle)).collect(),
                proof: proof.clone(),
            },
            HistoryEvidence::ByDefinition => HistoryEvidence::ByDefinition,
        }
    }
}

/// Per operation what the clock shows, and what it shows in the end.
fn ticks(ops: &History) -> (Vec<Ticks>, u32) {
    let time = RealTime::of(ops);
    let all = 0..ops.len() as u32;
    // With the same time, what begins has begun before what ends.
    let mut events: Vec<(i64, bool, u32)> = Vec::with_capacity(2 * ops.len());
    for op in all {
        let Times { start, end } = time.times(op);
        events.push((start, false, op));
        events.push((end, true, op));
    }
    events.sort_unstable();
    let mut ticks = vec![Ticks { start: 0, end: 0 }; ops.len()];
    let (mut now, mut has_ended) = (0, false);
    for (_, ends, op) in events {
        if ends {
            ticks[op as usize].end = now;
        } else {
            now += u32::from(has_ended);
            ticks[op as usize].start = now;
        }
        has_ended = ends;
    }
    (ticks, now)
}

/// The way back from a history with a clock.
struct Back<'a> {
    clocked: &'a Clocked<'a>,
    buffered: bool,
}

impl Back<'_> {
    fn node(&self, node: u32) -> u32 {
        match initial_write_var(node) {
            Some(_) => node,
            None => self.clocked.of[node as usize],
        }
    }

    fn is_clock(&self, node: u32) -> bool {
        match initial_write_var(node) {
            Some(var) => var as usize == self.clocked.whole.vars(),
            None => self.clocked.of[node as usize] == NONE,
        }
    }

    /// What the clock shows when it is read or has been written.
    fn shown(&self, node: u32) -> u32 {
        let ops = &self.clocked.ops;
        let first = ops.of_thread(ops.threads() - 1).start;
        let write = match initial_write_var(node) {
            Some(_) => None,
            None if ops.writes(node) => Some(node),
            None => ops.from(node),
        };
        write.map_or(0, |write| write - first + 1)
    }

    /// The cycle that a path makes which leads back in time from one place on the clock to another.
    /// All that is before the clock's own order in it happens at these times.
    fn back_in_time(&self, path: &[HistoryEdge], renumbered: &[u32]) -> Option<Vec<HistoryEdge>> {
        let (first, last) = (path.first()?.from, path.last()?.to);
        if self.shown(last) >= self.shown(first) {
            return None;
        }
        let enters = path.iter().position(|edge| !self.is_clock(edge.to))?;
        let leaves = path.iter().rposition(|edge| !self.is_clock(edge.from))?;
        let mut edges = self.path(&path[enters + 1..leaves], renumbered);
        self.over_the_clock(self.node(path[leaves].from), self.node(path[enters].to), &mut edges);
        Some(edges)
    }

    /// The cycle without the clock. If it is on the clock alone, which goes on with real time, some
    /// path led back in time before, and that is a cycle.
    fn cycle(&self, cycle: &HistoryCycle) -> HistoryCycle {
        let mut derivations = Vec::new();
        // Derivations of orders on the clock are left out.
        let mut renumbered = Vec::with_capacity(cycle.derivations.len());
        for Derivation { rule, within, path } in &cycle.derivations {
            renumbered.push(derivations.len() as u32);
            if path.first().is_some_and(|first| self.is_clock(first.from)) {
                if let Some(edges) = self.back_in_time(path, &renumbered) {
                    return HistoryCycle { derivations, within: *within, edges };
                }
                continue;
            }
            let rule = match *rule {
                Rule::Overtaken { read } => Rule::Overtaken { read: self.node(read) },
                other => other,
            };
            let path = self.path(path, &renumbered);
            derivations.push(Derivation { rule, within: *within, path });
        }
        let mut edges = cycle.edges.clone();
        let first = edges.iter().position(|edge| !self.is_clock(edge.from));
        edges.rotate_left(first.unwrap_or(0));
        let edges = self.path(&edges, &renumbered);
        HistoryCycle { derivations, within: cycle.within, edges }
    }

    /// A path that begins and ends outside of the clock.
    fn path(&self, edges: &[HistoryEdge], renumbered: &[u32]) -> Vec<HistoryEdge> {
        let mut path = Vec::with_capacity(edges.len());
        let mut leaves = None;
        for &HistoryEdge { from, to, why } in edges {
            match (leaves, self.is_clock(to)) {
                (None, true) => leaves = Some(from),
                (Some(_), true) => {}
                (Some(from), false) => {
                    self.over_the_clock(self.node(from), self.node(to), &mut path);
                    leaves = None;
                }
                (None, false) => {
                    let why = match why {
                        Why::Derived(i) => Why::Derived(renumbered[i as usize]),
                        other => other,
                    };
                    path.push(HistoryEdge { from: self.node(from), to: self.node(to), why });
                }
            }
        }
        path
    }

    /// The order of two operations between which the clock was read.
    fn over_the_clock(&self, from: u32, to: u32, path: &mut Vec<HistoryEdge>) {
        let ops = self.clocked.whole;
        let is_initial = initial_write_var(from).is_some();
        if is_initial || ops.thread_of(from) == ops.thread_of(to) {
            path.push(HistoryEdge { from, to, why: Why::Po });
            return;
        }
        let mut from = from;
        if self.buffered && ops.kind(from) == OpKind::Write {
            // The clock was read when the write had left its buffer, behind a fence or an update.
            let is_barrier = |&op: &u32| matches!(ops.kind(op), OpKind::Fence | OpKind::Update);
            let rest = from + 1..ops.of_thread(ops.thread_of(from)).end;
            if let Some(barrier) = rest.into_iter().find(is_barrier) {
                path.push(HistoryEdge { from, to: barrier, why: Why::Po });
                from = barrier;
            }
        }
        path.push(HistoryEdge { from, to, why: Why::Rt });
    }
}
