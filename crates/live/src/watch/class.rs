//! The monitors for TSO and PSO on a whole class of executions, from one of them.
//!
//! What the monitor of Figs. 4 and 5 of the monitoring paper reports may depend on the order of steps
//! that have nothing to do with each other: a store is committed by an access of another thread, or
//! by a fence, and that may come before the access in question or after it. So whoever
//! looks at one execution of each class ([`Dpor`](crate::Dpor)) would miss reports. Here an access
//! is reported if the monitor reports it in *some* execution of the class, or of a part of it
//! that could have been executed by itself.
//!
//! That is easier than it sounds. What commits a store comes after it in every order: it conflicts
//! with it, follows it in its thread, or joins its thread. So an access finds pending exactly what
//! nothing *that happens before the access* has committed, if all the rest is left for later: no
//! order keeps more, and this one keeps that much. Who has committed what is therefore not one
//! watermark per thread, as in the monitor, but one in each clock, joined along with it:
//!
//! - *TSO*: of each thread, up to which event its stores are committed.
//! - *PSO*: the same for what fences have committed; and per location a list of who has accessed
//!   it since its stores became pending, and which of them that committed.
//!
//! Additions that may be exchanged ([`OpKind::Add`]) do not happen before each other, so what an addition comes after is a
//! clock of its own, which locations without additions do not have.
//!
//! An execution that has nothing but what happens before the access, and then the access, is the
//! shortest of its class to show the report, and is what is shown.
//!
//! Cost per step: O(threads), and O(accesses by others since the last store of its thread) for a
//! location under PSO.

use std::collections::BTreeMap;
use std::iter::repeat_n;

use rustc_hash::FxHashMap;
use weakspot_core::LogKind;

use crate::OpKind;
use crate::step::{Step, parts};

/// Two steps of an execution, the second of which could have overtaken the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    /// Under TSO; else under PSO.
    pub(crate) tso: bool,
    /// The place of the store.
    pub(crate) store: usize,
    /// The place of the access.
    pub(crate) access: usize,
    /// The program address of the store.
    from: u64,
    /// Of each thread, how many of its events happen before the access.
    view: std::ops::Range<usize>,
}

/// The monitors, to be used for one execution after the other.
#[derive(Debug, Default)]
pub(crate) struct Classes {
    /// Under which models.
    tso: bool,
    pso: bool,
    numbers: Numbers,
    /// By the number of a location: which of `locs` it is in this execution.
    local: Vec<u32>,
    locs: Vec<Loc>,
    /// How many of them belong to this execution.
    used: usize,
    threads: usize,
    /// Per thread: events that happen before its next one, its own included, by thread; then,
    /// by thread, the last event whose stores are committed under TSO; then the same for PSO.
    clocks: Vec<u32>,
    /// Per location such a clock of its writes, and one of all accesses.
    kept: Vec<u32>,
    /// Per thread its last store-store fence.
    marks: Vec<u32>,
    /// Per thread, how many transactions it is in.
    depths: Vec<u32>,
    /// Per step, the number of its first event in its thread.
    counts: Vec<u32>,
    pairs: Vec<Pair>,
    views: Vec<u32>,
    /// The first step that overlaps a store in part that may be pending, under TSO and under PSO.
    beside: [Option<usize>; 2],
    /// The location of the step at hand, and whether it is written.
    touched: Option<(usize, bool)>,
    /// Of the access at hand: locations with stores of others, and up to which event of these its
    /// thread knows of them.
    pending: Vec<(usize, u32)>,
}

/// Locations have the same numbers in all executions.
#[derive(Debug)]
struct Numbers {
    /// Some that were asked for lately, by address: start, length, number.
    lately: [(u64, u32, u32); 64],
    known: FxHashMap<(u64, u32), u32>,
    bytes: Vec<(u64, u32)>,
    by_start: BTreeMap<u64, Vec<u32>>,
    longest: u32,
    /// Of each the others that it overlaps.
    overlaps: Vec<Vec<u32>>,
}

#[derive(Debug, Default)]
struct Loc {
    number: u32,
    /// Whose stores they are.
    thread: usize,
    /// Stores that may be pending for some access that is still to come, in order.
    stores: Vec<Store>,
    /// Who has committed stores, under PSO.
    commits: Vec<Commit>,
    /// The threads that know all that the clock of its writes does, and that of all accesses, as far as
    /// there are bits.
    writes_known: u64,
    all_known: u64,
    /// What an addition comes after, if there is any: the clock of all accesses but additions.
    not_added: Vec<u32>,
    /// Whether there are others that it overlaps.
    overlaps: bool,
}

#[derive(Clone, Copy, Debug)]
struct Store {
    /// Which event of its thread it is, from 1.
    count: u32,
    /// The last store-store fence before it.
    mark: u32,
    step: usize,
    /// Its program address.
    at: u64,
}

/// An event that has committed the stores of a location up to one.
#[derive(Clone, Copy, Debug)]
struct Commit {
    thread: usize,
    count: u32,
    upto: u32,
}

const NONE: u32 = u32::MAX;

impl Classes {
    pub(crate) fn new(tso: bool, pso: bool) -> Classes {
        Classes { tso, pso, ..Classes::default() }
    }

    /// An execution begins.
    pub(crate) fn begin(&mut self) {
        for loc in &self.locs[..self.used] {
            self.local[loc.number as usize] = NONE;
        }
        self.used = 0;
        self.kept.clear();
        self.counts.clear();
        self.pairs.clear();
        self.views.clear();
        self.clocks.fill(0);
        self.marks.fill(0);
        self.depths.fill(0);
        self.beside = [None; 2];
    }

    /// A step of it. `orders`: those of atomics count; `fence`: one before the step that it is looked
    /// at as if it had; `fenced`: transactions end in fences.
    pub(crate) fn step(&mut self, step: &Step, orders: bool, fence: Option<LogKind>, fenced: bool) {
        let thread = usize::from(step.thread);
        let other = match step.op.kind {
            OpKind::Spawn | OpKind::Join => step.op.addr as u16 as usize,
            _ => 0,
        };
        if thread.max(other) >= self.threads {
            self.widen(thread.max(other) + 1);
        }
        let at = self.counts.len();
        let count = self.clock(thread)[thread] + 1;
        self.counts.push(count);
        if let Some(fence) = fence {
            self.event(at, step, fence);
        }
        parts(step, orders, &mut |kind| self.event(at, step, kind));
        if fenced {
            self.end_transaction(thread, step);
        }
        // Monitors do not see how threads begin and end, but nobody can be joined without.
        let clock = &mut self.clock_mut(thread)[thread];
        *clock = count.max(*clock);
        if let Some((x, writes)) = self.touched.take() {
            match step.op.kind {
                OpKind::Add => self.leave_added(thread, x),
                _ => self.leave(thread, x, writes),
            }
        }
    }

    /// Makes room for more threads.
    fn widen(&mut self, least: usize) {
        let (old, new) = (self.threads, least.next_power_of_two().max(4));
        let wider = |clocks: &[u32]| -> Vec<u32> {
            let parts = clocks.chunks(old.max(1));
            parts.flat_map(|part| part.iter().copied().chain(repeat_n(0, new - old))).collect()
        };
        self.clocks = wider(&self.clocks);
        self.clocks.resize(3 * new * new, 0);
        self.kept = wider(&self.kept);
        self.locs.iter_mut().for_each(|loc| loc.not_added = wider(&loc.not_added));
        self.marks.resize(new, 0);
        self.depths.resize(new, 0);
        self.threads = new;
    }

    /// All threads have a fence where this one is. As for the others, only what happens before that is
    /// known to be before their fences.
    pub(crate) fn fence_all(&mut self, thread: u16) {
        let (p, n) = (usize::from(thread), self.threads);
        if p < n {
            let clock = self.clock_mut(p);
            let (known, committed) = clock.split_at_mut(n);
            let (tso, pso) = committed.split_at_mut(n);
            tso.copy_from_slice(known);
            pso.copy_from_slice(known);
        }
    }

    /// Which bytes between these addresses have stores of other threads than this one that may be
    /// pending.
    pub(crate) fn stored_within(&self, thread: u16, from: u64, to: u64) -> Vec<(u64, u32)> {
        let pending = |&&number: &&u32| {
            let local = self.local.get(number as usize).map(|&at| at as usize);
            let loc = local.filter(|&at| at < self.used).and_then(|at| self.locs.get(at));
            loc.is_some_and(|loc| {
                loc.number == number && loc.thread != usize::from(thread) && !loc.stores.is_empty()
            })
        };
        let all = self.numbers.by_start.range(from..to).flat_map(|(_, numbers)| numbers);
        all.filter(pending).map(|&number| self.numbers.bytes[number as usize]).collect()
    }

    /// What was found in the last execution.
    pub(crate) fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// The steps of the last execution that happen before the access of a pair, and the access: in
    /// this order they are an execution, and the monitor reports the pair at its end.
    pub(crate) fn shown(&self, pair: &Pair, steps: &[Step]) -> Vec<usize> {
        let view = &self.views[pair.view.clone()];
        let known = |thread: u16| view.get(usize::from(thread)).copied().unwrap_or(0);
        let before = |i: &usize| self.counts[*i] <= known(steps[*i].thread);
        (0..pair.access).filter(before).chain([pair.access]).collect()
    }

    fn clock(&self, thread: usize) -> &[u32] {
        &self.clocks[3 * self.threads * thread..][..3 * self.threads]
    }

    fn clock_mut(&mut self, thread: usize) -> &mut [u32] {
        &mut self.clocks[3 * self.threads * thread..][..3 * self.threads]
    }

    fn event(&mut self, at: usize, step: &Step, kind: LogKind) {
        let p = usize::from(step.thread);
        let n = self.threads;
        if kind.is_access() {
            return self.access(at, step, kind);
        }
        let other = step.op.addr as u16 as usize;
        if kind == LogKind::Join && other != p {
            let [mine, child] = self.two(p, other);
            join(mine, child);
            let all = mine[other];
            (mine[n + other], mine[2 * n + other]) = (all, all);
        }
        let clock = self.clock_mut(p);
        clock[p] += 1;
        let count = clock[p];
        match kind {
            LogKind::Fence | LogKind::Spawn => {
                (clock[n + p], clock[2 * n + p]) = (count, count);
            }
            LogKind::StoreFence => self.marks[p] = count,
            _ => {}
        }
        if kind == LogKind::Spawn && other != p {
            let [child, mine] = self.two(other, p);
            join(child, mine);
        }
    }

    /// The clocks of two threads, the first to be changed.
    fn two(&mut self, a: usize, b: usize) -> [&mut [u32]; 2] {
        let width = 3 * self.threads;
        let (low, high) = self.clocks.split_at_mut(width * a.max(b));
        let (low, high) = (&mut low[width * a.min(b)..][..width], &mut high[..width]);
        if a < b { [low, high] } else { [high, low] }
    }

    /// A thread outside of transactions has none of its stores pending.
    fn end_transaction(&mut self, thread: usize, step: &Step) {
        let depth = &mut self.depths[thread];
        match step.op.kind {
            OpKind::Begin => *depth += 1,
            OpKind::End => *depth = depth.saturating_sub(1),
            _ => {}
        }
        let stores = matches!(step.op.kind, OpKind::Write | OpKind::End);
        if *depth == 0 && stores {
            let n = self.threads;
            let clock = self.clock_mut(thread);
            clock[thread] += 1;
            let count = clock[thread];
            (clock[n + thread], clock[2 * n + thread]) = (count, count);
        }
    }

    fn access(&mut self, at: usize, step: &Step, kind: LogKind) {
        let p = usize::from(step.thread);
        let n = self.threads;
        let number = self.numbers.of(step.op.addr, step.op.len);
        let x = self.here(number);
        self.touched = Some((x, kind.writes()));
        let updates = kind.is_update();
        let loc = &self.locs[x];
        if !loc.overlaps && !updates && (loc.thread == p || loc.stores.is_empty()) {
            return self.access_own(at, step, kind, x);
        }
        let around = self.around(number, x);
        let mut before = std::mem::take(&mut self.pending);
        self.find_pending(p, &around, &mut before);
        let adds = step.op.kind == OpKind::Add;
        for &z in &around {
            if adds && z == x {
                self.learn_to_add(p, x);
            } else {
                self.learn(p, z, kind.writes());
            }
        }
        for &(z, seen) in &before {
            self.report(at, p, z, seen);
        }
        if around.len() > 1 {
            self.look_beside(at, p, x, &around);
        }
        let count = self.clock(p)[p] + 1;
        self.clock_mut(p)[p] = count;
        for &(z, _) in &before {
            let q = self.locs[z].thread;
            let Some(&last) = self.locs[z].stores.last() else { continue };
            let clock = self.clock_mut(p);
            clock[n + q] = clock[n + q].max(last.count);
            clock[2 * n + q] = clock[2 * n + q].max(last.mark);
            self.commit(z, p, count, last.count);
        }
        self.pending = before;
        if updates {
            let mark = self.marks[p];
            let clock = self.clock_mut(p);
            clock[n + p] = count;
            clock[2 * n + p] = clock[2 * n + p].max(mark);
            for &z in &around {
                if self.locs[z].thread == p
                    && let Some(&last) = self.locs[z].stores.last()
                {
                    self.commit(z, p, count, last.count);
                }
            }
        }
        let (start, end) = self.numbers.range(number);
        // Another addition need not come after this one.
        if kind.writes() && !adds {
            // What is covered cannot be accessed any more without this event before.
            for &z in &around {
                let (from, to) = self.numbers.range(self.locs[z].number);
                let loc = &mut self.locs[z];
                if start <= from && to <= end && (updates || loc.thread != p) {
                    loc.stores.clear();
                    loc.commits.clear();
                }
            }
        }
        if kind == LogKind::Write {
            let mark = self.marks[p];
            let loc = &mut self.locs[x];
            loc.thread = p;
            loc.stores.push(Store { count, mark, step: at, at: step.at });
        }
    }

    /// A load or store of a location by itself in which no other thread has stores: nothing is reported
    /// or committed.
    fn access_own(&mut self, at: usize, step: &Step, kind: LogKind, x: usize) {
        let p = usize::from(step.thread);
        self.learn(p, x, kind.writes());
        let clock = &mut self.clock_mut(p)[p];
        *clock += 1;
        let count = *clock;
        if kind.writes() {
            let mark = self.marks[p];
            let loc = &mut self.locs[x];
            if loc.thread != p {
                loc.thread = p;
                loc.commits.clear();
            }
            loc.stores.push(Store { count, mark, step: at, at: step.at });
        }
    }

    /// A thread gets to know what happens before its access to a location.
    #[inline]
    fn learn(&mut self, p: usize, z: usize, writes: bool) {
        let loc = &self.locs[z];
        let known = if writes { loc.all_known } else { loc.writes_known };
        if known & bit(p) == 0 {
            let width = 3 * self.threads;
            let from = (2 * z + usize::from(writes)) * width;
            join(&mut self.clocks[width * p..][..width], &self.kept[from..][..width]);
        }
    }

    /// A thread gets to know what happens before its addition to a location.
    fn learn_to_add(&mut self, p: usize, x: usize) {
        let width = 3 * self.threads;
        let loc = &mut self.locs[x];
        if loc.not_added.is_empty() {
            loc.not_added.extend_from_slice(&self.kept[(2 * x + 1) * width..][..width]);
        }
        join(&mut self.clocks[width * p..][..width], &loc.not_added);
    }

    /// An addition is over. Those who know it need not know the others.
    fn leave_added(&mut self, p: usize, x: usize) {
        let width = 3 * self.threads;
        let clock = &self.clocks[width * p..][..width];
        let (of_writes, of_all) = self.kept[2 * x * width..][..2 * width].split_at_mut(width);
        join(of_writes, clock);
        join(of_all, clock);
        (self.locs[x].writes_known, self.locs[x].all_known) = (0, 0);
    }

    /// The step that was about a location is over, and its fences with it.
    fn leave(&mut self, p: usize, x: usize, writes: bool) {
        let width = 3 * self.threads;
        let clock = &self.clocks[width * p..][..width];
        let (of_writes, of_all) = self.kept[2 * x * width..][..2 * width].split_at_mut(width);
        let loc = &mut self.locs[x];
        if writes {
            join(of_writes, clock);
            loc.writes_known = bit(p);
            loc.all_known = bit(p);
        } else {
            loc.writes_known |= bit(p);
            loc.all_known &= bit(p);
        }
        join(of_all, clock);
        if !loc.not_added.is_empty() {
            join(&mut loc.not_added, clock);
        }
    }

    /// Which of the locations of this execution a location is.
    fn here(&mut self, number: u32) -> usize {
        let at = number as usize;
        if self.local.len() <= at {
            self.local.resize(at + 1, NONE);
        }
        if self.local[at] == NONE {
            self.local[at] = self.used as u32;
            if self.locs.len() == self.used {
                self.locs.push(Loc::default());
            }
            let loc = &mut self.locs[self.used];
            loc.number = number;
            loc.overlaps = !self.numbers.overlaps[at].is_empty();
            loc.stores.clear();
            loc.commits.clear();
            loc.not_added.clear();
            // There is nothing to know yet.
            (loc.writes_known, loc.all_known) = (u64::MAX, u64::MAX);
            self.used += 1;
            self.kept.resize(self.used * 6 * self.threads, 0);
            for other in &self.numbers.overlaps[at] {
                if let Some(&z) = self.local.get(*other as usize).filter(|&&z| z != NONE) {
                    self.locs[z as usize].overlaps = true;
                }
            }
        }
        self.local[at] as usize
    }

    /// A location and those of this execution that it overlaps.
    fn around(&self, number: u32, x: usize) -> Around {
        let others = &self.numbers.overlaps[number as usize];
        if others.is_empty() {
            return Around::One([x]);
        }
        let here = |other: &u32| self.local.get(*other as usize).filter(|&&z| z != NONE);
        let others = others.iter().filter_map(here).map(|&z| z as usize);
        Around::Many(others.chain([x]).collect())
    }

    /// Locations with stores of others, and up to which event of these the thread knows of them.
    fn find_pending(&self, p: usize, around: &[usize], found: &mut Vec<(usize, u32)>) {
        found.clear();
        for &z in around {
            let loc = &self.locs[z];
            if loc.thread != p && !loc.stores.is_empty() {
                found.push((z, self.clock(p)[loc.thread]));
            }
        }
    }

    /// Reports pending stores of a location that happen before the previous event of the thread.
    fn report(&mut self, at: usize, p: usize, z: usize, seen: u32) {
        let n = self.threads;
        let loc = &self.locs[z];
        let q = loc.thread;
        let clock = &self.clocks[3 * n * p..][..3 * n];
        if loc.stores.first().is_none_or(|first| first.count > seen) {
            return;
        }
        let by_access = loc.commits.iter().filter(|c| c.count <= clock[c.thread]);
        let by_access = by_access.map(|c| c.upto).max().unwrap_or(0);
        let committed = [clock[n + q], clock[2 * n + q].max(by_access)];
        let models = [self.tso, self.pso];
        for (tso, (committed, asked)) in
            [true, false].into_iter().zip(committed.into_iter().zip(models))
        {
            if !asked {
                continue;
            }
            let from = loc.stores.partition_point(|s| s.count <= committed);
            let to = loc.stores.partition_point(|s| s.count <= seen);
            let first = self.pairs.len();
            for store in loc.stores.get(from..to).unwrap_or(&[]) {
                // One of each program address will do.
                if self.pairs[first..].iter().any(|p| p.from == store.at) {
                    continue;
                }
                let from = self.views.len();
                self.views.extend_from_slice(&clock[..n]);
                let view = from..self.views.len();
                let (store, from) = (store.step, store.at);
                self.pairs.push(Pair { tso, store, access: at, from, view });
            }
        }
    }

    /// Remembers that an access has some bytes in common with a store and others not, if the store may be
    /// pending for all that the access knows: what is reported here is true, but there may be more.
    fn look_beside(&mut self, at: usize, p: usize, x: usize, around: &[usize]) {
        let n = self.threads;
        for model in [0, 1] {
            let pending = |&z: &usize| {
                let loc = &self.locs[z];
                let committed = self.clock(p)[(1 + model) * n + loc.thread];
                z != x && loc.stores.last().is_some_and(|store| store.count > committed)
            };
            if around.iter().any(pending) {
                self.beside[model].get_or_insert(at);
            }
        }
    }

    /// From which step on something may be missing, because accesses overlap in part: under TSO, or
    /// under PSO.
    pub(crate) fn beside(&self, tso: bool) -> Option<usize> {
        let asked = if tso { self.tso } else { self.pso };
        self.beside[usize::from(!tso)].filter(|_| asked)
    }

    /// An event commits the stores of a location up to one, and under PSO with them earlier ones
    /// of their thread to bytes in common.
    fn commit(&mut self, z: usize, by: usize, count: u32, upto: u32) {
        if !self.pso {
            return;
        }
        let loc = &mut self.locs[z];
        if loc.commits.iter().any(|c| c.thread == by && c.upto >= upto) {
            return;
        }
        loc.commits.push(Commit { thread: by, count, upto });
        let (q, number) = (loc.thread, loc.number as usize);
        for i in 0..self.numbers.overlaps[number].len() {
            let other = self.numbers.overlaps[number][i] as usize;
            let Some(&y) = self.local.get(other).filter(|&&y| y != NONE) else { continue };
            let loc = &self.locs[y as usize];
            let earlier = loc.stores.iter().rev().find(|s| s.count < upto);
            if let Some(&Store { count: upto, .. }) = earlier.filter(|_| loc.thread == q) {
                self.commit(y as usize, by, count, upto);
            }
        }
    }
}

/// Locations, almost always one.
enum Around {
    One([usize; 1]),
    Many(Vec<usize>),
}

impl std::ops::Deref for Around {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        match self {
            Around::One(one) => one,
            Around::Many(many) => many,
        }
    }
}

impl<'a> IntoIterator for &'a Around {
    type Item = &'a usize;
    type IntoIter = std::slice::Iter<'a, usize>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Default for Numbers {
    fn default() -> Numbers {
        Numbers {
            lately: [(0, 0, 0); 64],
            known: FxHashMap::default(),
            bytes: Vec::new(),
            by_start: BTreeMap::new(),
            longest: 0,
            overlaps: Vec::new(),
        }
    }
}

impl Numbers {
    fn of(&mut self, start: u64, len: u32) -> u32 {
        let len = len.max(1);
        let slot = (start >> 2) as usize % self.lately.len();
        let (start_of, len_of, number) = self.lately[slot];
        if (start_of, len_of) == (start, len) {
            return number;
        }
        let number = self.look_up(start, len);
        self.lately[slot] = (start, len, number);
        number
    }

    fn look_up(&mut self, start: u64, len: u32) -> u32 {
        let next = self.bytes.len() as u32;
        let number = *self.known.entry((start, len)).or_insert(next);
        if number == next {
            self.add(start, len, number);
        }
        number
    }

    fn add(&mut self, start: u64, len: u32, number: u32) {
        self.longest = self.longest.max(len);
        let end = start.saturating_add(u64::from(len));
        let from = start.saturating_sub(u64::from(self.longest));
        let mut found = Vec::new();
        for &other in self.by_start.range(from..end).flat_map(|(_, numbers)| numbers) {
            if self.range(other).1 > start {
                found.push(other);
                self.overlaps[other as usize].push(number);
            }
        }
        self.bytes.push((start, len));
        self.overlaps.push(found);
        self.by_start.entry(start).or_default().push(number);
    }

    fn range(&self, number: u32) -> (u64, u64) {
        let (start, len) = self.bytes[number as usize];
        (start, start.saturating_add(u64::from(len)))
    }
}

/// A thread in a set.
fn bit(thread: usize) -> u64 {
    1_u64.checked_shl(thread as u32).unwrap_or(0)
}

/// There are room for four threads at least, so that clocks are made of parts of four.
#[inline]
fn join(clock: &mut [u32], other: &[u32]) {
    for (mine, other) in clock.as_chunks_mut::<4>().0.iter_mut().zip(other.as_chunks::<4>().0) {
        for (mine, other) in mine.iter_mut().zip(other) {
            *mine = (*mine).max(*other);
        }
    }
}

#[cfg(test)]
mod tests;
