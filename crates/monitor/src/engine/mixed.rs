//! Locations that overlap others: accesses of different sizes to the same bytes conflict.
//!
//! Locations that overlap, directly or by way of others, are a group. The bytes of a group are cut
//! into cells at the ends of its locations, so that each location is a sequence of cells; every
//! cell has clocks of its own. Pending stores are kept in one list per group. Under PSO a store
//! waits for the older stores of its thread that it overlaps.
//!
//! Cost: O(cells of the access times W, plus pending stores of the group) per event.

use std::collections::BTreeMap;
use std::ops::Range;

use rustc_hash::FxHashMap;
use weakspot_core::{Bytes, Drain, End, LogEvent, LogKind, LogTables};

use super::{Clocks, PSO, Setup, Side, TSO, Thread, Threads};
use crate::reference::Form;
use crate::run::Stores;
use crate::tally::Tally;

/// All groups.
#[derive(Clone, Debug)]
pub(crate) struct Mixed<const W: usize> {
    /// How many locations have been looked at.
    seen: usize,
    /// What is known to be in use, by where it begins: where it ends, and the locations there.
    spans: BTreeMap<u64, Span>,
    /// The group of each location that is in one.
    group_of: FxHashMap<u32, usize>,
    groups: Vec<Group<W>>,
    coarse: bool,
}

#[derive(Clone, Debug)]
struct Span {
    /// Exclusive; wide enough for the last byte of the address space.
    end: u128,
    locs: Vec<(u32, Bytes)>,
}

/// Locations that overlap each other.
#[derive(Clone, Debug)]
struct Group<const W: usize> {
    /// Where the cells begin, and where the last one ends.
    bounds: Vec<u128>,
    clocks: Vec<Clocks<W>>,
    /// The cells of each location.
    locs: FxHashMap<u32, Range<usize>>,
    /// Stores that are pending under TSO or PSO, oldest first.
    pending: Vec<Pending>,
    /// Tidy up when this many are pending.
    limit: usize,
}

#[derive(Clone, Debug)]
struct Pending {
    thread: u16,
    stores: Stores,
    loc: u32,
    cells: Range<usize>,
    /// The time of the store-store fence before it.
    fence: i32,
    /// It was committed under PSO.
    pso_done: bool,
}

/// What was known about a location before it turned out to overlap another one: its clocks, its
/// last writer, the fence before the last of its stores, and the stores.
pub(crate) type Known<const W: usize> = (Clocks<W>, u16, i32, Vec<Stores>);

/// More stores than this are not remembered per group.
const MAX_PENDING: usize = 1 << 20;
const FIRST_LIMIT: usize = 1 << 10;

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

impl<const W: usize> Mixed<W> {
    pub(crate) fn new() -> Mixed<W> {
        Mixed {
            seen: 0,
            spans: BTreeMap::new(),
            group_of: FxHashMap::default(),
            groups: Vec::new(),
            coarse: false,
        }
    }

    pub(crate) fn widen<const V: usize>(self, widen: impl Fn(&Clocks<W>) -> Clocks<V>) -> Mixed<V> {
        let Mixed { seen, spans, group_of, groups, coarse } = self;
        let groups = groups.into_iter().map(|group| {
            let Group { bounds, clocks, locs, pending, limit } = group;
            Group { bounds, clocks: clocks.iter().map(&widen).collect(), locs, pending, limit }
        });
        Mixed { seen, spans, group_of, groups: groups.collect(), coarse }
    }

    /// Looks at new locations. `take` gives away what is known about a location that joins a group.
    pub(crate) fn learn(&mut self, tables: &LogTables, mut take: impl FnMut(usize) -> Known<W>) {
        for (loc, entry) in tables.locs.iter().enumerate().skip(self.seen) {
            if let Some(bytes) = entry.bytes {
                self.locate(loc as u32, bytes, &mut take);
            }
        }
        self.seen = self.seen.max(tables.locs.len());
    }

    fn locate(&mut self, loc: u32, bytes: Bytes, take: &mut impl FnMut(usize) -> Known<W>) {
        let end = u128::from(bytes.start) + u128::from(bytes.len.max(1));
        let mut span = Span { end, locs: vec![(loc, bytes)] };
        let mut start = bytes.start;
        // Spans do not overlap each other, so the ones that overlap this one are the last to begin
        // before it ends.
        while let Some((&other, found)) = self.spans.range(..=(span.end - 1) as u64).next_back()
            && found.end > u128::from(start)
        {
            span.end = span.end.max(found.end);
            start = start.min(other);
            let found = self.spans.remove(&other);
            span.locs.extend(found.into_iter().flat_map(|found| found.locs));
        }
        if span.locs.len() > 1 {
            self.join(&span.locs, take);
        }
        self.spans.insert(start, span);
    }

    /// Makes one group of locations, some of which may be in groups already.
    fn join(&mut self, locs: &[(u32, Bytes)], take: &mut impl FnMut(usize) -> Known<W>) {
        let mut bounds: Vec<u128> = Vec::new();
        for (_, bytes) in locs {
            let start = u128::from(bytes.start);
            bounds.extend([start, start + u128::from(bytes.len.max(1))]);
        }
        bounds.sort_unstable();
        bounds.dedup();
        let cell = |at: u128| bounds.partition_point(|&b| b < at);
        let cells = |bytes: &Bytes| {
            let start = u128::from(bytes.start);
            cell(start)..cell(start + u128::from(bytes.len.max(1)))
        };
        let mut clocks = vec![Clocks::ZERO; bounds.len() - 1];
        let mut pending: Vec<Pending> = Vec::new();
        let mut old: Vec<usize> = Vec::new();
        for (loc, bytes) in locs {
            if let Some(&group) = self.group_of.get(loc) {
                old.push(group);
                continue;
            }
            let (known, thread, fence, stores) = take(*loc as usize);
            let cells = cells(bytes);
            clocks[cells.clone()].fill(known);
            pending.extend(stores.into_iter().map(|stores| Pending {
                thread,
                stores,
                loc: *loc,
                cells: cells.clone(),
                // Earlier stores of the run may have an earlier fence; it was then committed.
                fence: if stores.time > fence { fence } else { 0 },
                pso_done: false,
            }));
        }
        old.sort_unstable();
        old.dedup();
        let target = old.first().copied().unwrap_or(self.groups.len());
        for &group in &old {
            let group = &mut self.groups[group];
            for (i, known) in group.clocks.iter().enumerate() {
                clocks[cell(group.bounds[i])..cell(group.bounds[i + 1])].fill(*known);
            }
            for mut store in group.pending.drain(..) {
                store.cells =
                    cell(group.bounds[store.cells.start])..cell(group.bounds[store.cells.end]);
                pending.push(store);
            }
            group.clocks.clear();
            group.locs.clear();
        }
        // Only the order among the stores of a thread matters.
        pending.sort_by_key(|p| (p.thread, p.stores.time));
        let locs: FxHashMap<u32, Range<usize>> =
            locs.iter().map(|(loc, bytes)| (*loc, cells(bytes))).collect();
        self.group_of.extend(locs.keys().map(|&loc| (loc, target)));
        let group = Group { bounds, clocks, locs, pending, limit: FIRST_LIMIT };
        match self.groups.get_mut(target) {
            Some(place) => *place = group,
            None => self.groups.push(group),
        }
    }

    /// An access to a location in a group.
    pub(crate) fn access(
        &mut self,
        side: &mut Side,
        threads: &mut Threads<W>,
        event: &LogEvent,
        index: u64,
    ) {
        let Side { setup, tally, .. } = side;
        let Some(&group) = self.group_of.get(&event.loc) else { return };
        let group = &mut self.groups[group];
        let cells = group.locs[&event.loc].clone();
        let p = event.thread as usize % W;
        if setup.tso {
            group.check(TSO, setup.form, threads, &mut tally[TSO], event, index);
        }
        if setup.pso.is_some() {
            group.check(PSO, setup.form, threads, &mut tally[PSO], event, index);
        }

        // What is pending here and not of this thread is committed.
        for store in &group.pending {
            let q = store.thread as usize % W;
            if q != p && overlap(&store.cells, &cells) {
                threads[q].flushed[TSO] = threads[q].flushed[TSO].max(store.stores.time);
            }
        }
        group.commit_pso(threads, &cells, |q| q != event.thread);

        // The event happens.
        let writes = event.kind != LogKind::Read;
        let Thread { clock, now, .. } = &mut threads[p];
        for clocks in &group.clocks[cells.clone()] {
            clock.join(if writes { &clocks.accessed } else { &clocks.written });
        }
        if writes {
            *now += 1;
            clock.0[p] = *now;
        }
        let clock = *clock;
        for clocks in &mut group.clocks[cells.clone()] {
            clocks.accessed.join(&clock);
            if writes {
                clocks.written = clock;
            }
        }
        if event.kind == LogKind::Write {
            let stores = Stores { time: threads[p].now, site: event.site, count: 1 };
            let fence = threads[p].fence;
            let (thread, loc) = (event.thread, event.loc);
            group.pending.push(Pending { thread, stores, loc, cells, fence, pso_done: false });
        } else if writes {
            if setup.pso == Some(Drain::Own) {
                group.commit_pso(threads, &cells, |q| q == event.thread);
            }
            threads[p].update(setup.pso);
        }
        if group.pending.len() > group.limit {
            self.coarse |= group.tidy(threads, setup);
        }
    }

    /// Adds the times of the pending stores of thread `q`.
    pub(crate) fn times(&self, q: usize, times: &mut Vec<i32>) {
        for store in self.groups.iter().flat_map(|g| &g.pending) {
            if store.thread as usize == q {
                times.extend([store.stores.time, store.fence]);
            }
        }
    }

    pub(crate) fn retime(&mut self, q: usize, new: impl Fn(i32) -> i32) {
        for store in self.groups.iter_mut().flat_map(|g| &mut g.pending) {
            if store.thread as usize == q {
                store.stores.time = new(store.stores.time);
                store.fence = new(store.fence);
            }
        }
    }

    pub(crate) fn clocks_mut(&mut self) -> impl Iterator<Item = &mut Clocks<W>> {
        self.groups.iter_mut().flat_map(|g| &mut g.clocks)
    }

    pub(crate) fn clocks(&self) -> impl Iterator<Item = &Clocks<W>> {
        self.groups.iter().flat_map(|g| &g.clocks)
    }

    /// Whether stores had to be forgotten.
    pub(crate) fn coarse(&self) -> bool {
        self.coarse
    }

    /// In bytes.
    pub(crate) fn memory(&self) -> usize {
        let group = |g: &Group<W>| {
            g.clocks.capacity() * size_of::<Clocks<W>>()
                + g.pending.capacity() * size_of::<Pending>()
                + g.locs.capacity() * 32
        };
        self.groups.iter().map(group).sum::<usize>() + self.spans.len() * 96
    }
}

impl<const W: usize> Group<W> {
    /// Reports the stores that the access can overtake under a model.
    fn check(
        &self,
        model: usize,
        form: Form,
        threads: &Threads<W>,
        tally: &mut Tally,
        event: &LogEvent,
        index: u64,
    ) {
        let p = event.thread as usize % W;
        let cells = &self.locs[&event.loc];
        let pending = |store: &&Pending| {
            store.thread != event.thread
                && overlap(&store.cells, cells)
                && store.is_pending(model, threads)
        };
        for (i, store) in self.pending.iter().enumerate().filter(|(_, s)| pending(s)) {
            let is_last =
                || !self.pending[i + 1..].iter().any(|s| s.thread == store.thread && pending(&s));
            let happens_before = store.stores.time <= threads[p].clock.0[store.thread as usize % W];
            if happens_before && (form == Form::All || is_last()) {
                let Stores { site, count, .. } = store.stores;
                let (thread, loc) = (store.thread, store.loc);
                let end = End { thread, kind: LogKind::Write, loc, site };
                tally.add(end, event, &threads[p].previous, index, u64::from(count));
            }
        }
    }

    /// Commits, under PSO, what overlaps `cells` and is of one of the threads `whose`, and what has
    /// to go before it.
    fn commit_pso(
        &mut self,
        threads: &mut Threads<W>,
        cells: &Range<usize>,
        whose: impl Fn(u16) -> bool,
    ) {
        // Per thread which cells its older stores must have left.
        let mut needed: FxHashMap<u16, Vec<Range<usize>>> = FxHashMap::default();
        for store in self.pending.iter_mut().rev() {
            if !whose(store.thread) || !store.is_pending(PSO, threads) {
                continue;
            }
            let needed = needed.entry(store.thread).or_insert_with(|| vec![cells.clone()]);
            if needed.iter().any(|cells| overlap(cells, &store.cells)) {
                needed.push(store.cells.clone());
                store.pso_done = true;
                let flushed = &mut threads[store.thread as usize % W].flushed[PSO];
                *flushed = (*flushed).max(store.fence);
            }
        }
    }

    /// Forgets stores that are committed, and merges neighbours that nobody can tell apart; true if
    /// others had to go as well.
    fn tidy(&mut self, threads: &Threads<W>, setup: &Setup) -> bool {
        self.pending.retain(|store| {
            (setup.tso && store.is_pending(TSO, threads))
                || (setup.pso.is_some() && store.is_pending(PSO, threads))
        });
        let too_many = self.pending.len() > MAX_PENDING;
        if too_many {
            self.pending.drain(..MAX_PENDING / 2);
        }
        self.limit = (2 * self.pending.len()).max(FIRST_LIMIT);
        too_many
    }
}

impl Pending {
    fn is_pending<const W: usize>(&self, model: usize, threads: &Threads<W>) -> bool {
        self.stores.time > threads[self.thread as usize % W].flushed[model]
            && !(model == PSO && self.pso_done)
    }
}
