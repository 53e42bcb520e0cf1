//! SOBER: could TSO have let a load of this SC execution read something older?
//!
//! A second monitor for TSO, after Burckhardt and Musuvathi (CAV 2008) as the monitoring report
//! describes it in section 4. It does not simulate buffers. It keeps, beside happens-before, the
//! part that TSO preserves: *relaxed happens-before* leaves out program order from a plain store
//! to a later plain load. A load that happens after a store of another thread to its location, but
//! not relaxed so, could have read what was there before that store; then the order of events is
//! one that TSO has and SC has not. It is enough to look at loads: in a smallest execution that
//! only TSO has, some thread ends with a load without which SC would have it, too.
//!
//! As [published](Definition::Published), relaxed happens-before has every reads-from. That makes
//! a thread wait for its own store once it has read it, which TSO does not: the load takes the
//! value out of the buffer. [Corrected](Definition::Corrected) leaves out reads-from between a
//! plain store and a load of the same thread, which finds all programs that are not robust; the
//! report's Figs. 6 and 7 are one that the published definition misses.
//!
//! SOBER warns on more executions than the simulating monitors (Fig. 8), but the run it warns
//! about may need the events in another order than the log's: what other threads saw of the store
//! has to come after the load.
//!
//! Deviations: fences and starts of threads wait for the thread's stores, joins for those of the
//! other thread; one warning per load, about the last store that it could have missed. Where
//! locations overlap, more is kept than the bytes ask for, so that a warning may be missed but none
//! is wrong. Clocks count stores. Because the stores before an event are a prefix of each thread's
//! stores, and of each location's, two relaxed clocks per thread will do, what its next load comes
//! after and what its next store comes after: O(N·P) for N events of P threads, where the paper
//! has O(N·P²).
//!
//! Memory: a few clocks per location and the stores to it that a load may still have missed. Those
//! that no thread so far can miss any more are dropped, and of the others the oldest, when there
//! are more than [`MOST_STORES`] of one location.

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;
use weakspot_core::{End, LogEvent, LogKind, LogTables, Overtaking};

use crate::reference::Report;
use crate::tally::{Tally, end};

/// How many stores to one location are remembered.
pub(crate) const MOST_STORES: usize = 4096;

/// Stores to a location beyond this many are looked at for what no thread can miss any more.
const MANY_STORES: usize = 64;

/// What relaxed happens-before is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Definition {
    /// With all of reads-from.
    Published,
    /// Without reads-from between a plain store and a load of the same thread.
    Corrected,
}

/// The monitor.
#[derive(Clone, Debug)]
pub struct Sober {
    definition: Definition,
    threads: Vec<Thread>,
    thread_of: FxHashMap<u16, usize>,
    locs: Vec<Loc>,
    loc_of: FxHashMap<u32, usize>,
    ranges: Ranges,
    events: usize,
    found: Tally,
}

/// Per thread how many of its stores come before something; those beyond the end have none.
type Clock = Vec<u64>;

#[derive(Clone, Debug, Default)]
struct Thread {
    stores: u64,
    /// What happens before its next event.
    all: Clock,
    /// What comes before its next plain load, relaxed.
    load: Clock,
    /// What comes before its next other event, relaxed.
    store: Clock,
    previous: Option<(usize, LogEvent)>,
    /// Another thread has waited for its end.
    joined: bool,
}

#[derive(Clone, Debug, Default)]
struct Loc {
    /// What comes before, or is, the last write.
    written: Past,
    /// Who that is, if it is a plain store.
    plain_by: Option<usize>,
    /// What comes before the reads since.
    read: Past,
    /// The writes that may still be missed by a load, oldest first.
    writes: VecDeque<Write>,
    /// Look at them when there are this many.
    look_at: usize,
    /// Per thread the place of its last write.
    last_of: Vec<(usize, usize)>,
    /// Other locations that it overlaps.
    overlaps: Vec<usize>,
}

#[derive(Clone, Debug, Default)]
struct Past {
    all: Clock,
    relaxed: Clock,
}

#[derive(Clone, Copy, Debug)]
struct Write {
    thread: usize,
    /// Its number among the stores of its thread, from 1.
    count: u64,
    place: usize,
    end: End,
}

impl Sober {
    /// A monitor that has seen nothing.
    #[must_use]
    pub fn new(definition: Definition) -> Sober {
        Sober {
            definition,
            threads: Vec::new(),
            thread_of: FxHashMap::default(),
            locs: Vec::new(),
            loc_of: FxHashMap::default(),
            ranges: Ranges::default(),
            events: 0,
            found: Tally::default(),
        }
    }

    /// Looks at the next event of an SC execution; a commit, which such an execution has not, is
    /// passed over. `tables` has to know what locations overlap when they are first accessed.
    pub fn event(&mut self, event: &LogEvent, tables: &LogTables) -> Option<Report> {
        let place = self.events;
        self.events += 1;
        let thread = self.thread(event.thread);
        self.threads[thread].joined = false;
        let mut report = None;
        match event.kind {
            LogKind::Read => {
                let loc = self.loc(event.loc, tables);
                report = self.check(thread, loc, place, event);
                self.read(thread, loc);
            }
            LogKind::Write | LogKind::Update | LogKind::Acquire | LogKind::Release => {
                let loc = self.loc(event.loc, tables);
                self.write(thread, loc, place, event);
            }
            LogKind::Fence => self.fence(thread),
            LogKind::Spawn => {
                self.fence(thread);
                if let Ok(child) = u16::try_from(event.loc) {
                    let child = self.thread(child);
                    let parent = self.threads[thread].clone();
                    let child = &mut self.threads[child];
                    join(&mut child.all, &parent.all);
                    join(&mut child.load, &parent.load);
                    join(&mut child.store, &parent.store);
                    child.previous = Some((place, *event));
                }
            }
            LogKind::Join => {
                if let Ok(child) = u16::try_from(event.loc) {
                    let child = self.thread(child);
                    let past = self.threads[child].clone();
                    self.threads[child].joined = child != thread;
                    let parent = &mut self.threads[thread];
                    join(&mut parent.all, &past.all);
                    join(&mut parent.load, &past.store);
                    join(&mut parent.store, &past.store);
                }
            }
            LogKind::StoreFence => {}
            LogKind::Begin | LogKind::End | LogKind::Commit => return None,
        }
        self.threads[thread].previous = Some((place, *event));
        report
    }

    /// All warnings so far, one for each pair of source positions, in the order in which they were
    /// first met.
    #[must_use]
    pub fn found(&self) -> Vec<Overtaking> {
        self.found.pairs()
    }

    fn thread(&mut self, name: u16) -> usize {
        *self.thread_of.entry(name).or_insert_with(|| {
            self.threads.push(Thread::default());
            self.threads.len() - 1
        })
    }

    fn loc(&mut self, name: u32, tables: &LogTables) -> usize {
        if let Some(&known) = self.loc_of.get(&name) {
            return known;
        }
        let loc = self.locs.len();
        self.loc_of.insert(name, loc);
        self.locs.push(Loc { look_at: MANY_STORES, ..Loc::default() });
        if let Some(bytes) = tables.locs.get(name as usize).and_then(|l| l.bytes) {
            let start = u128::from(bytes.start);
            let overlaps = self.ranges.add(start, start + u128::from(bytes.len), loc);
            for &other in &overlaps {
                self.locs[other].overlaps.push(loc);
            }
            self.locs[loc].overlaps = overlaps;
        }
        loc
    }

    /// Whether a load could have missed a write that happens before it.
    fn check(
        &mut self,
        thread: usize,
        loc: usize,
        place: usize,
        event: &LogEvent,
    ) -> Option<Report> {
        let me = &self.threads[thread];
        let touched = || [loc].into_iter().chain(self.locs[loc].overlaps.iter().copied());
        // A thread sees its own writes at least.
        let own = |loc: usize| {
            self.locs[loc].last_of.iter().find(|(t, _)| *t == thread).map(|&(_, place)| place)
        };
        let own = touched().filter_map(own).max();
        // Writes that happen before are the first ones, and so are those of which TSO preserves
        // it: if any write is between, the last one that happens before is.
        let missed = |loc: usize| {
            let writes = &self.locs[loc].writes;
            let happened = writes.partition_point(|w| has(&me.all, w.thread, w.count));
            let last = writes.get(happened.checked_sub(1)?)?;
            let late = Some(last.place) > own && !has(&me.load, last.thread, last.count);
            late.then_some(*last)
        };
        let store = touched().filter_map(missed).max_by_key(|w| w.place)?;
        let (before, previous) = me.previous?;
        self.found.add(store.end, event, &previous, place as u64, 1);
        Some(Report { store: store.place, access: place, previous: Some(before) })
    }

    fn read(&mut self, thread: usize, loc: usize) {
        let mut me = std::mem::take(&mut self.threads[thread]);
        let others = self.locs[loc].overlaps.iter().copied();
        for loc in [loc].into_iter().chain(others) {
            let loc = &self.locs[loc];
            join(&mut me.all, &loc.written.all);
            let from_buffer = loc.plain_by == Some(thread);
            if self.definition == Definition::Published || !from_buffer {
                join(&mut me.load, &loc.written.relaxed);
            }
        }
        join(&mut me.store, &me.load);
        join(&mut self.locs[loc].read.all, &me.all);
        join(&mut self.locs[loc].read.relaxed, &me.load);
        self.threads[thread] = me;
    }

    fn write(&mut self, thread: usize, loc: usize, place: usize, event: &LogEvent) {
        let mut me = std::mem::take(&mut self.threads[thread]);
        let others = self.locs[loc].overlaps.iter().copied();
        for loc in [loc].into_iter().chain(others) {
            let Loc { written, read, .. } = &self.locs[loc];
            for past in [written, read] {
                join(&mut me.all, &past.all);
                join(&mut me.store, &past.relaxed);
            }
        }
        me.stores += 1;
        set(&mut me.all, thread, me.stores);
        set(&mut me.store, thread, me.stores);
        let plain = event.kind == LogKind::Write;
        if !plain {
            me.load.clone_from(&me.store);
        }
        let written = &mut self.locs[loc];
        written.written.all.clone_from(&me.all);
        written.written.relaxed.clone_from(&me.store);
        // The reads so far come before this write.
        written.read.all.clear();
        written.read.relaxed.clear();
        written.plain_by = plain.then_some(thread);
        written.writes.push_back(Write { thread, count: me.stores, place, end: end(event) });
        match written.last_of.iter_mut().find(|(t, _)| *t == thread) {
            Some((_, last)) => *last = place,
            None => written.last_of.push((thread, place)),
        }
        self.threads[thread] = me;
        if self.locs[loc].writes.len() >= self.locs[loc].look_at {
            self.forget(loc);
        }
    }

    fn fence(&mut self, thread: usize) {
        let Thread { load, store, .. } = &mut self.threads[thread];
        load.clone_from(store);
    }

    /// Drops the writes that no thread can miss any more: it has to see them, or a later one
    /// would be missed with them.
    fn forget(&mut self, loc: usize) {
        let Loc { writes, look_at, .. } = &mut self.locs[loc];
        let of_no_use = |thread: &Thread| {
            let seen = writes.partition_point(|w| has(&thread.load, w.thread, w.count));
            let happened = writes.partition_point(|w| has(&thread.all, w.thread, w.count));
            seen.max(happened.saturating_sub(1))
        };
        let threads = self.threads.iter().filter(|thread| !thread.joined);
        let old = threads.map(of_no_use).min().unwrap_or(0);
        let old = old.max(writes.len().saturating_sub(MOST_STORES));
        writes.drain(..old);
        *look_at = (2 * writes.len()).clamp(MANY_STORES, MOST_STORES + MOST_STORES / 4);
    }
}

fn has(clock: &Clock, thread: usize, count: u64) -> bool {
    clock.get(thread).is_some_and(|&n| n >= count)
}

fn set(clock: &mut Clock, thread: usize, count: u64) {
    if clock.len() <= thread {
        clock.resize(thread + 1, 0);
    }
    clock[thread] = count;
}

fn join(clock: &mut Clock, other: &Clock) {
    if clock.len() < other.len() {
        clock.resize(other.len(), 0);
    }
    for (mine, &other) in clock.iter_mut().zip(other) {
        *mine = (*mine).max(other);
    }
}

/// Ranges of bytes, to find those that overlap.
#[derive(Clone, Debug, Default)]
struct Ranges {
    by_start: BTreeMap<(u128, usize), u128>,
    longest: u128,
}

impl Ranges {
    /// Adds a range; returns the earlier ones that it overlaps.
    fn add(&mut self, start: u128, end: u128, loc: usize) -> Vec<usize> {
        let from = (start.saturating_sub(self.longest), 0);
        let near = self.by_start.range(from..(end, 0));
        let overlaps =
            near.filter(|&(_, &other_end)| start < other_end).map(|(&(_, loc), _)| loc).collect();
        self.by_start.insert((start, loc), end);
        self.longest = self.longest.max(end - start);
        overlaps
    }
}

#[cfg(test)]
mod tests;
