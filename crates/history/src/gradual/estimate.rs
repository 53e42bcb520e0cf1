//! When did each operation happen? A guess for histories of many threads, whose runs are hard to
//! find by looking at what can be done next.
//!
//! 1. Operations are points on a line, joined by springs. A chain goes on about as fast as it does
//!    on average, from the beginning to the end; a read comes about as long after its write as
//!    the next write to the variable does; a write that program order lets wait comes soon. A
//!    spring is the weaker the longer it is. Each chain in turn goes to where its springs are at
//!    rest (a tridiagonal system: line relaxation), until hardly anything moves.
//! 2. The writes to a variable are sorted by where they and their reads are on average. That is an
//!    order of all operations on it: a write comes after the reads of the write before, a read
//!    before the write after. Each point in turn goes to the middle between what it has to come
//!    after and what it has to come before. Then writes are sorted again.
//!
//! Nothing depends on a guess but how long it takes to repair it. Cost: linear in operations,
//! whatever the threads.

use weakspot_core::{History, Limit, OpKind};
use weakspot_sat::Meter;

use crate::gradual::chains::{Chains, END};
use crate::graph::store::Readers;

/// How often chains are moved at most, and points are centred.
const SWEEPS: usize = 16;
const SORTS: usize = 5;

/// Chains are at rest when points move, on average, less than this share of the distance between two
/// writes to a variable.
const REST: f64 = 1.0 / 16.0;

/// Writes are sorted well enough when no more than one in so many has to go elsewhere.
const SORTED: usize = 64;

/// Per operation its likely place in a run, times 16.
pub(crate) fn estimate(chains: &Chains<'_>, meter: &mut Meter<'_>) -> Result<Vec<u32>, Limit> {
    let n = chains.ops.len() as u64;
    let bytes = chains.bytes() + 24 * n;
    meter.room(bytes)?;
    let mut points = Points::new(chains);
    for sweep in 0..SWEEPS {
        meter.work(n, || bytes)?;
        let moved = match sweep % 2 {
            0 => (0..chains.len()).map(|chain| points.relax(chain)).sum::<f64>(),
            _ => (0..chains.len()).rev().map(|chain| points.relax(chain)).sum(),
        };
        if moved <= REST * points.mean_gap() * n as f64 {
            break;
        }
    }
    for _ in 0..SORTS {
        meter.work(2 * n, || bytes)?;
        let sorted = points.sort_writes();
        points.centre();
        if sorted <= points.writes.len() / SORTED {
            break;
        }
    }
    Ok(points.at.iter().map(|&at| (at * 16.0) as u32).collect())
}

struct Points<'a> {
    chains: &'a Chains<'a>,
    ops: &'a History,
    readers: Readers,
    /// Per operation where it is, from 0 to the number of operations.
    at: Vec<f32>,
    /// With relaxed program order, per operation the one before it in its chain.
    before: Vec<u32>,
    /// Per variable its writes, one after the other, and where they begin.
    writes: Vec<u32>,
    starts: Vec<u32>,
    /// A chain that is being moved.
    line: Vec<Knot>,
}

/// An operation of a chain, and where it will be: `at` less `pull` times where the next one is.
#[derive(Clone, Copy)]
struct Knot {
    op: u32,
    at: f64,
    pull: f64,
}

impl<'a> Points<'a> {
    /// Threads go on evenly.
    fn new(chains: &'a Chains<'a>) -> Points<'a> {
        let ops = chains.ops;
        let mut at = Vec::with_capacity(ops.len());
        for thread in 0..ops.threads() {
            let count = ops.of_thread(thread).len();
            let step = ops.len() as f32 / count as f32;
            at.extend((0..count).map(|i| (i as f32 + 0.5) * step));
        }
        let mut before = vec![END; if chains.ppo.is_relaxed() { ops.len() } else { 0 }];
        for op in 0..before.len() as u32 {
            if let Some(to) = before.get_mut(chains.next(op) as usize) {
                *to = op;
            }
        }
        let mut starts = vec![0; ops.vars() + 1];
        let all = || (0..ops.len() as u32).filter(|&op| ops.writes(op));
        all().for_each(|w| starts[ops.var(w) as usize + 1] += 1);
        for var in 0..ops.vars() {
            starts[var + 1] += starts[var];
        }
        let mut next = starts.clone();
        let mut writes = vec![0; starts[ops.vars()] as usize];
        for w in all() {
            let next = &mut next[ops.var(w) as usize];
            writes[*next as usize] = w;
            *next += 1;
        }
        let readers = Readers::new(ops);
        Points { chains, ops, readers, at, before, writes, starts, line: Vec::new() }
    }

    fn of_var(&self, var: usize) -> std::ops::Range<usize> {
        self.starts[var] as usize..self.starts[var + 1] as usize
    }

    /// The distance between two writes to a variable.
    fn gap(&self, var: u32) -> f64 {
        self.at.len() as f64 / self.of_var(var as usize).len().max(1) as f64
    }

    /// The same of all variables.
    fn mean_gap(&self) -> f64 {
        let vars = self.ops.vars() as f64;
        self.at.len() as f64 * vars / self.writes.len().max(1) as f64
    }

    /// Moves a chain to where its springs are at rest; returns how far in all.
    fn relax(&mut self, chain: usize) -> f64 {
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        let some = |op: u32| (op != END).then_some(op);
        let first = some(self.chains.first()[chain]);
        let ops = std::iter::successors(first, |&op| some(self.chains.next(op)));
        line.extend(ops.map(|op| Knot { op, at: 0.0, pull: 0.0 }));
        let step = self.at.len() as f64 / line.len().max(1) as f64;
        let count = line.len();
        let (mut at, mut pull) = (0.0, 0.0);
        for (i, knot) in line.iter_mut().enumerate() {
            // Next to the first and the last one are the beginning and the end.
            let mut springs = Springs { sum: 0.0, weight: 2.0, step };
            self.attach(knot.op, &mut springs);
            if i + 1 == count {
                springs.sum += self.at.len() as f64;
            }
            let weight = springs.weight + pull;
            at = (springs.sum + at) / weight;
            pull = if i + 1 == count { 0.0 } else { -1.0 / weight };
            (knot.at, knot.pull) = (at, pull);
        }
        let (mut next, mut moved) = (0.0, 0.0);
        for knot in line.iter().rev() {
            next = knot.at - knot.pull * next;
            let to = &mut self.at[knot.op as usize];
            moved += (next - f64::from(*to)).abs();
            *to = next as f32;
        }
        self.line = line;
        moved
    }

    /// The springs of an operation, besides those along its chain.
    fn attach(&self, op: u32, springs: &mut Springs) {
        let at = |op: u32| f64::from(self.at[op as usize]);
        let (ops, chains) = (self.ops, self.chains);
        let kind = ops.kind(op);
        if kind != OpKind::Fence {
            let gap = self.gap(ops.var(op));
            match ops.from(op) {
                Some(w) if chains.reads_from(op).is_some() => springs.pull(at(w) + gap, gap),
                Some(_) => {}
                None if ops.reads(op) => springs.pull(gap, gap),
                None => {}
            }
            if ops.writes(op) {
                self.readers.of(op as usize).for_each(|r| springs.pull(at(r) - gap, gap));
            }
        }
        if !chains.ppo.is_relaxed() {
            return;
        }
        let thread = ops.of_thread(chains.thread(op));
        let soon = ops.len() as f64 / thread.len() as f64;
        if kind == OpKind::Write {
            let main = chains.main_before(op);
            main.into_iter().for_each(|main| springs.pull(at(main) + soon, soon));
        } else {
            let writes = (op + 1..thread.end).take_while(|&w| ops.kind(w) == OpKind::Write);
            writes.for_each(|w| springs.pull(at(w) - soon, soon));
        }
    }

    /// Sorts the writes to each variable; returns how many were not in their place.
    fn sort_writes(&mut self) -> usize {
        let mut moved = 0;
        let mut keyed: Vec<(f32, u32)> = Vec::new();
        for var in 0..self.ops.vars() {
            let range = self.of_var(var);
            let middle = |&w: &u32| (self.at[w as usize] + self.last_read(w as usize, w), w);
            keyed.clear();
            keyed.extend(self.writes[range.clone()].iter().map(middle));
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
            for (to, &(_, w)) in self.writes[range].iter_mut().zip(&keyed) {
                moved += usize::from(std::mem::replace(to, w) != w);
            }
        }
        moved
    }

    /// Where the last read of a write is, or the write if there is none; `but` does not count. After
    /// all operations come the initial values of variables.
    fn last_read(&self, w: usize, but: u32) -> f32 {
        let reads = self.readers.of(w).filter(|&r| r != but).map(|r| self.at[r as usize]);
        reads.fold(self.at.get(w).copied().unwrap_or(0.0), f32::max)
    }

    /// Moves each point to the middle of where it may be.
    fn centre(&mut self) {
        let n = self.ops.len();
        for var in 0..self.ops.vars() {
            let mut before = n + var;
            let range = self.of_var(var);
            for place in range.clone() {
                let w = self.writes[place];
                self.centre_reads(before, self.at[w as usize]);
                let low = self.last_read(before, w);
                let next = self.writes[range.clone()].get(place + 1 - range.start);
                let next = next.map_or(n as f32, |&w| self.at[w as usize]);
                let reads = self.readers.of(w as usize).map(|r| self.at[r as usize]);
                let high = reads.fold(next, f32::min);
                self.move_between(w, low, high);
                before = w as usize;
            }
            self.centre_reads(before, n as f32);
        }
    }

    /// Moves the reads of a write.
    fn centre_reads(&mut self, w: usize, next: f32) {
        let low = self.at.get(w).copied().unwrap_or(0.0);
        let mut read = self.readers.first(w);
        while let Some(r) = read {
            if !self.ops.writes(r) {
                self.move_between(r, low, next);
            }
            read = self.readers.after(r);
        }
    }

    /// Moves an operation to the middle of what its variable and its chain allow.
    fn move_between(&mut self, op: u32, low: f32, high: f32) {
        let place = |op: u32| self.at.get(op as usize).copied();
        let chains = self.chains;
        let before = match self.before.get(op as usize) {
            Some(&before) => before,
            None if op > self.ops.of_thread(chains.thread(op)).start => op - 1,
            None => END,
        };
        let main = chains.main_before(op).and_then(place).unwrap_or(0.0);
        let low = low.max(place(before).unwrap_or(0.0)).max(main);
        let high = high.min(place(chains.next(op)).unwrap_or(self.at.len() as f32));
        self.at[op as usize] = (low + high) / 2.0;
    }
}

/// The springs of an operation. Those along its chain are as strong as 1.
struct Springs {
    sum: f64,
    weight: f64,
    step: f64,
}

impl Springs {
    /// A spring of some length that pulls to this point.
    fn pull(&mut self, to: f64, length: f64) {
        let weight = (self.step / length) * (self.step / length);
        self.sum += weight * to;
        self.weight += weight;
    }
}

#[cfg(test)]
mod tests {
    use weakspot_core::testing::Rng;
    use weakspot_core::{INITIAL, Limits, Silent};

    use super::*;
    use crate::graph::explain::Ppo;

    /// An atomic memory, and threads that take turns at random.
    fn history(threads: usize, each: usize, vars: u32, rng: &mut Rng) -> History {
        let mut from = vec![Vec::new(); threads];
        let mut memory = vec![INITIAL; vars as usize];
        let mut left: Vec<usize> = (0..threads).collect();
        while !left.is_empty() {
            let at = rng.below(left.len());
            let thread = left[at];
            let var = rng.below(vars as usize) as u32;
            let op = (thread * each + from[thread].len()) as u32;
            if rng.below(2) == 0 {
                from[thread].push((OpKind::Read, var, memory[var as usize]));
            } else {
                from[thread].push((OpKind::Write, var, INITIAL));
                memory[var as usize] = op;
            }
            if from[thread].len() == each {
                left.swap_remove(at);
            }
        }
        let mut ops = History::new();
        for thread in from {
            ops.thread();
            thread.into_iter().for_each(|(kind, var, from)| ops.push(kind, var, from));
        }
        ops
    }

    /// How many reads do not see the last write before them.
    fn wrong(ops: &History, places: &[u32]) -> usize {
        let mut order: Vec<u32> = (0..ops.len() as u32).collect();
        order.sort_by_key(|&op| places[op as usize]);
        let mut memory = vec![INITIAL; ops.vars()];
        let mut count = 0;
        for op in order {
            let last = &mut memory[ops.var(op) as usize];
            match ops.writes(op) {
                true => *last = op,
                false => count += usize::from(ops.from(op).unwrap_or(INITIAL) != *last),
            }
        }
        count
    }

    #[test]
    fn most_reads_see_their_write() {
        let ops = history(200, 50, 200, &mut Rng::new(1));
        let even: Vec<u32> = (0..ops.len() as u32).map(|op| op % 50).collect();
        assert!(wrong(&ops, &even) > 4 * ops.len() / 10, "{}", wrong(&ops, &even));
        for ppo in [Ppo::Full, Ppo::Tso] {
            let chains = Chains::new(&ops, ppo);
            let mut silent = Silent;
            let mut meter = Meter::new(&Limits::UNLIMITED, &mut silent);
            let places = estimate(&chains, &mut meter).expect("no limit");
            assert!(wrong(&ops, &places) < ops.len() / 5, "{}", wrong(&ops, &places));
        }
    }
}
