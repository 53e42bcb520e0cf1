//! monitor_TSO and monitor_PSO (Figs. 4 and 5 of the monitoring paper) on one set of vector clocks,
//! for up to `W` threads.
//!
//! No queues are kept. Clocks count the stores of each thread, so a store is known by its time. Per
//! location: the last writer and its *run*, the stores that it has made since another thread was
//! there; per thread and model: up to which time its stores have been committed. A store is pending
//! if it is in the run of its location and was not committed. An access of another thread ends a
//! run: under both models all of it is committed then.
//! The three parts of an event are as in the figures: is there a pending store of another thread
//! here that happens before what this thread did last (then it is reported); pending stores of
//! other threads here are committed; the event happens.
//!
//! Times are 32 bits; when a thread runs out of them, its times are renumbered by rank, which keeps
//! the answers of all comparisons ([`Engine::renumber`]).
//!
//! Cost: O(W) per event, without branches but for reports, and two or three cache lines per location
//! for up to 16 threads. Memory: O(W) per location.

mod mixed;

use std::hint::black_box;

#[cfg(feature = "simd")]
use fearless_simd::{Level, Simd};
use prefetch_index::prefetch_index;
use weakspot_core::{Drain, End, LogEvent, LogKind, LogTables, NotSc};

use crate::reference::Form;
use crate::run::{Compaction, Runs, Stores};
use crate::tally::Tally;
use mixed::Mixed;

/// Why events are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// They are not those of an SC execution.
    NotSc(NotSc),
    /// The event at this place is of a thread beyond [`Monitor::MAX_THREADS`](crate::Monitor::MAX_THREADS).
    Threads(u64),
}

impl Refused {
    /// The place of the event in the log, from 0.
    #[must_use]
    pub fn place(&self) -> u64 {
        match self {
            Refused::NotSc(NotSc::Commit(at) | NotSc::Stale { at, .. }) | Refused::Threads(at) => {
                *at
            }
        }
    }
}

/// TSO in tables with an entry per model.
pub(crate) const TSO: usize = 0;
/// PSO in tables with an entry per model.
pub(crate) const PSO: usize = 1;

/// A vector clock: per thread how many of its stores happened before.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct Clock<const W: usize>(pub(crate) [i32; W]);

/// The clocks of a location.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Clocks<const W: usize> {
    /// Of the last write.
    pub(crate) written: Clock<W>,
    /// Of all accesses so far together; not before `written`.
    pub(crate) accessed: Clock<W>,
}

/// The run of a location.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Run {
    /// Times of the first and the last store; those between are in [`Runs`].
    first: i32,
    last: i32,
    /// PSO: a store-store fence with this time precedes the last store.
    fence: i32,
    first_site: u32,
    last_site: u32,
    writer: u16,
    flags: u16,
}

/// A location. In one piece, because what costs most is to find it in memory.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Loc<const W: usize> {
    clocks: Clocks<W>,
    run: Run,
}

/// The run has a middle.
const MIDDLE: u16 = 1;
/// The location overlaps others and is kept in [`Mixed`].
const MIXED: u16 = 2;
/// How many events ahead memory is asked for.
const AHEAD: usize = 14;
/// After how many events the engine looks whether times and memory suffice.
const CHUNK: usize = 1 << 14;

/// The state of the monitors.
#[derive(Clone, Debug)]
pub(crate) struct Engine<const W: usize> {
    pub(crate) threads: Threads<W>,
    locs: Vec<Loc<W>>,
    mixed: Mixed<W>,
    pub(crate) side: Side,
    /// How many events there have been.
    pub(crate) events: u64,
}

/// What only some events need.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    pub(crate) setup: Setup,
    /// What the processor can do.
    #[cfg(feature = "simd")]
    level: Level,
    middles: Runs,
    pub(crate) tally: [Tally; 2],
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) tso: bool,
    pub(crate) pso: Option<Drain>,
    pub(crate) form: Form,
    /// Times are renumbered before they reach this.
    pub(crate) horizon: i32,
    pub(crate) compaction: Compaction,
}

/// What is kept per thread.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Thread<const W: usize> {
    pub(crate) clock: Clock<W>,
    /// The number of its last store, also its own entry in its clock.
    pub(crate) now: i32,
    /// Per model: its stores up to this time were committed.
    pub(crate) flushed: [i32; 2],
    /// The time of its last store-store fence.
    pub(crate) fence: i32,
    /// What it did last.
    pub(crate) previous: LogEvent,
}

pub(crate) type Threads<const W: usize> = Box<[Thread<W>; W]>;

impl<const W: usize> Clock<W> {
    pub(crate) const ZERO: Clock<W> = Clock([0; W]);

    pub(crate) fn join(&mut self, other: &Clock<W>) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a = (*a).max(*b);
        }
    }
}

impl<const W: usize> Clocks<W> {
    pub(crate) const ZERO: Clocks<W> = Clocks { written: Clock::ZERO, accessed: Clock::ZERO };
}

impl Run {
    const NONE: Run =
        Run { first: 0, last: 0, fence: 0, first_site: 0, last_site: 0, writer: 0, flags: 0 };
}

impl<const W: usize> Engine<W> {
    pub(crate) fn new(setup: Setup) -> Engine<W> {
        let previous = LogEvent::new(0, LogKind::Begin, 0);
        let thread = Thread { clock: Clock::ZERO, now: 0, flushed: [0; 2], fence: 0, previous };
        // Not by way of an array on the stack, where a thousand wide clocks have no room.
        let threads = vec![thread; W].into_boxed_slice();
        Engine {
            threads: threads.try_into().unwrap_or_else(|_| unreachable!("W threads")),
            locs: Vec::new(),
            mixed: Mixed::new(),
            side: Side {
                setup,
                #[cfg(feature = "simd")]
                level: Level::new(),
                middles: Runs::new(setup.compaction),
                tally: Default::default(),
            },
            events: 0,
        }
    }

    /// The same with room for more threads.
    pub(crate) fn widen<const V: usize>(self) -> Engine<V> {
        fn clock<const W: usize, const V: usize>(from: &Clock<W>) -> Clock<V> {
            let mut to = Clock::ZERO;
            to.0[..W].copy_from_slice(&from.0);
            to
        }
        let clocks = |from: &Clocks<W>| Clocks {
            written: clock(&from.written),
            accessed: clock(&from.accessed),
        };
        let mut wide = Engine::new(self.side.setup);
        for (from, to) in self.threads.iter().zip(wide.threads.iter_mut()) {
            let Thread { now, flushed, fence, previous, .. } = *from;
            *to = Thread { clock: clock(&from.clock), now, flushed, fence, previous };
        }
        Engine {
            locs: self.locs.iter().map(|l| Loc { clocks: clocks(&l.clocks), run: l.run }).collect(),
            mixed: self.mixed.widen(clocks),
            side: self.side,
            events: self.events,
            ..wide
        }
    }

    /// Hears about the locations of the events to come.
    pub(crate) fn learn(&mut self, tables: &LogTables) {
        let Engine { locs, side: Side { middles, .. }, mixed, .. } = self;
        mixed.learn(tables, |loc| {
            // What was known about the location moves to the mixed ones.
            grow(locs, loc);
            let Loc { clocks, run } = &mut locs[loc];
            let before = *run;
            run.flags |= MIXED;
            let mut stores = Vec::new();
            if before.last != 0 {
                let one = |time, site| Stores { time, site, count: 1 };
                stores.push(one(before.first, before.first_site));
                stores.extend(middles.middle(loc));
                if before.last != before.first {
                    stores.push(one(before.last, before.last_site));
                }
            }
            middles.clear(loc);
            (*clocks, before.writer, before.fence, stores)
        });
    }

    /// Follows events up to the first one of a thread beyond `W`; how many that were.
    pub(crate) fn follow(&mut self, events: &[LogEvent]) -> Result<usize, Refused> {
        let mut at = 0;
        // Up to here there is room.
        let mut end = 0;
        while at < events.len() {
            if at == end {
                end = events.len().min(at + CHUNK);
                self.make_room(end - at);
            }
            let chunk = &events[at..end];
            let done = match (self.side.setup.tso, self.side.setup.pso.is_some()) {
                (true, true) => self.vectorised::<true, true>(chunk),
                (true, false) => self.vectorised::<true, false>(chunk),
                (false, _) => self.vectorised::<false, true>(chunk),
            };
            at += done;
            self.events += done as u64;
            if done < chunk.len() {
                if !self.slow(&chunk[done])? {
                    return Ok(at);
                }
                at += 1;
                self.events += 1;
            }
        }
        Ok(at)
    }

    /// Makes sure that times and memory suffice for some more events.
    fn make_room(&mut self, events: usize) {
        let most = self.threads.iter().map(|t| t.now).max().unwrap_or(0);
        if most > self.side.setup.horizon.saturating_sub(events as i32) {
            self.renumber();
        }
        if self.side.middles.is_full(self.locs.len()) {
            self.compact();
        }
    }

    /// Follows events with the instructions that this processor has, up to the first one that needs
    /// [`slow`](Self::slow).
    fn vectorised<const TSO_ON: bool, const PSO_ON: bool>(&mut self, events: &[LogEvent]) -> usize {
        #[cfg(all(feature = "simd", target_arch = "x86_64"))]
        if let Some(avx512) = self.side.level.as_avx512().filter(|_| W >= 16) {
            return avx512.vectorize(|| self.fast::<TSO_ON, PSO_ON>(events));
        }
        #[cfg(all(feature = "simd", target_arch = "x86_64"))]
        if let Some(avx2) = self.side.level.as_avx2() {
            return avx2.vectorize(|| self.fast::<TSO_ON, PSO_ON>(events));
        }
        self.fast::<TSO_ON, PSO_ON>(events)
    }

    #[inline(always)]
    fn fast<const TSO_ON: bool, const PSO_ON: bool>(&mut self, events: &[LogEvent]) -> usize {
        let Engine { threads, locs, side, events: before, .. } = self;
        let (threads, locs): (&mut [Thread<W>; W], &mut [Loc<W>]) = (threads, locs);
        for (i, event) in events.iter().enumerate() {
            if let Some(next) = events.get(i + AHEAD) {
                prefetch(locs, next.loc as usize);
            }
            let (p, loc) = (event.thread as usize, event.loc as usize);
            if p >= W || !event.kind.is_access() {
                return i;
            }
            let Some(Loc { clocks, run }) = locs.get_mut(loc) else { return i };
            if run.flags & MIXED != 0 {
                return i;
            }
            let index = *before + i as u64;
            access::<W, TSO_ON, PSO_ON>(threads, clocks, run, side, event, index);
        }
        events.len()
    }

    /// Follows an event that is none of the usual ones; false if its thread is beyond `W`.
    #[inline(never)]
    fn slow(&mut self, event: &LogEvent) -> Result<bool, Refused> {
        let other = matches!(event.kind, LogKind::Spawn | LogKind::Join);
        let p = event.thread as usize;
        if p >= W || other && event.loc as usize >= W {
            return Ok(false);
        }
        let t = &mut self.threads;
        match event.kind {
            LogKind::Fence => t[p].flush(),
            LogKind::StoreFence => t[p].fence = t[p].now,
            LogKind::Spawn => {
                let child = event.loc as usize;
                t[p].flush();
                let clock = t[p].clock;
                t[child].clock.join(&clock);
                t[child].previous = *event;
            }
            LogKind::Join => {
                let child = event.loc as usize;
                t[child].flush();
                let clock = t[child].clock;
                t[p].clock.join(&clock);
            }
            LogKind::Begin | LogKind::End => return Ok(true),
            LogKind::Commit => return Err(Refused::NotSc(NotSc::Commit(self.events))),
            _ => {
                let loc = event.loc as usize;
                grow(&mut self.locs, loc);
                if self.locs[loc].run.flags & MIXED != 0 {
                    self.mixed.access(&mut self.side, t, event, self.events);
                } else {
                    // A location that is new.
                    self.vectorised_one(event);
                    return Ok(true);
                }
            }
        }
        self.threads[p].previous = *event;
        Ok(true)
    }

    fn vectorised_one(&mut self, event: &LogEvent) {
        let Engine { threads, locs, side, events, .. } = self;
        let Loc { clocks, run } = &mut locs[event.loc as usize];
        match (side.setup.tso, side.setup.pso.is_some()) {
            (true, true) => access::<W, true, true>(threads, clocks, run, side, event, *events),
            (true, false) => access::<W, true, false>(threads, clocks, run, side, event, *events),
            (false, _) => access::<W, false, true>(threads, clocks, run, side, event, *events),
        }
    }

    /// The times of stores of thread `q` that are compared with clocks, sorted.
    fn times(&self, q: usize) -> Vec<i32> {
        let t = &self.threads[q];
        let mut times = vec![t.now, t.fence, t.flushed[TSO], t.flushed[PSO]];
        for (loc, Loc { run, .. }) in self.locs.iter().enumerate() {
            if run.writer as usize == q {
                times.extend([run.first, run.last, run.fence]);
                if run.flags & MIDDLE != 0 {
                    times.extend(self.side.middles.middle(loc).map(|s| s.time));
                }
            }
        }
        self.mixed.times(q, &mut times);
        times.retain(|&time| time > 0);
        times.sort_unstable();
        times.dedup();
        times
    }

    /// Gives all times new numbers, as small as possible, so that all comparisons of a clock with
    /// the time of a store come out as before.
    fn renumber(&mut self) {
        for q in 0..W {
            if self.threads[q].now == 0 {
                continue;
            }
            let times = self.times(q);
            let new = |time: i32| times.partition_point(|&t| t <= time) as i32;
            let t = &mut self.threads[q];
            let [tso, pso] = &mut t.flushed;
            for time in [&mut t.now, &mut t.fence, tso, pso] {
                *time = new(*time);
            }
            for t in self.threads.iter_mut() {
                t.clock.0[q] = new(t.clock.0[q]);
            }
            let locs = self.locs.iter_mut().map(|loc| &mut loc.clocks);
            for clocks in locs.chain(self.mixed.clocks_mut()) {
                clocks.written.0[q] = new(clocks.written.0[q]);
                clocks.accessed.0[q] = new(clocks.accessed.0[q]);
            }
            for (loc, Loc { run, .. }) in self.locs.iter_mut().enumerate() {
                if run.writer as usize == q {
                    for time in [&mut run.first, &mut run.last, &mut run.fence] {
                        *time = new(*time);
                    }
                    self.side.middles.retime(loc, new);
                }
            }
            self.mixed.retime(q, new);
        }
    }

    /// Merges stores in the middles of runs that nobody can tell apart any more.
    fn compact(&mut self) {
        for q in 0..W {
            let t = &self.threads[q];
            if t.now == 0 {
                continue;
            }
            // Events compare stores with clocks, and commit them up to the time of a last store, or
            // of a fence that precedes it.
            let mut times = vec![t.fence, t.flushed[TSO], t.flushed[PSO]];
            times.extend(self.threads.iter().map(|t| t.clock.0[q]));
            for clocks in self.locs.iter().map(|loc| &loc.clocks).chain(self.mixed.clocks()) {
                times.extend([clocks.written.0[q], clocks.accessed.0[q]]);
            }
            let own = self.locs.iter().map(|loc| loc.run).filter(|run| run.writer as usize == q);
            times.extend(own.flat_map(|run| [run.fence, run.last]));
            self.mixed.times(q, &mut times);
            times.sort_unstable();
            times.dedup();
            for (loc, Loc { run, .. }) in self.locs.iter().enumerate() {
                if run.writer as usize == q && run.flags & MIDDLE != 0 {
                    self.side.middles.compact(loc, &times);
                }
            }
        }
        self.side.middles.compacted();
    }

    /// As if stores had been forgotten.
    #[cfg(test)]
    pub(crate) fn forget(&mut self) {
        self.side.middles.coarse = true;
    }

    /// Whether stores had to be forgotten, so that reports may be missing.
    pub(crate) fn coarse(&self) -> bool {
        self.side.middles.coarse || self.mixed.coarse()
    }

    /// An estimate in bytes.
    pub(crate) fn memory(&self) -> usize {
        W * size_of::<Thread<W>>()
            + self.locs.capacity() * size_of::<Loc<W>>()
            + self.side.middles.memory()
            + self.mixed.memory()
            + self.side.tally.iter().map(Tally::memory).sum::<usize>()
    }
}

impl<const W: usize> Thread<W> {
    /// All stores of the thread so far are committed.
    fn flush(&mut self) {
        self.flushed = [self.now; 2];
    }

    /// What an update at time `now` does to the stores of its thread elsewhere.
    pub(crate) fn update(&mut self, pso: Option<Drain>) {
        self.flushed[TSO] = self.now;
        self.flushed[PSO] = match pso {
            Some(Drain::Own) => self.flushed[PSO].max(self.fence),
            _ => self.now,
        };
    }
}

/// A read, a write or an update. Whether it writes is a matter of masks, not of branches: nobody can
/// foretell it.
#[inline(always)]
fn access<const W: usize, const TSO_ON: bool, const PSO_ON: bool>(
    threads: &mut [Thread<W>; W],
    clocks: &mut Clocks<W>,
    run: &mut Run,
    side: &mut Side,
    event: &LogEvent,
    index: u64,
) {
    let p = event.thread as usize % W;
    let q = run.writer as usize % W;
    // Behind a black box the compiler does not know these for conditions and makes no branches.
    let writes = black_box(-(event.kind as i32) >> 31);
    let other = black_box(-((p ^ q) as i32) >> 31);
    let middle = -i32::from(run.flags & MIDDLE);
    let known = threads[p].clock.0[q];

    // Is something pending here that happens before what this thread did last?
    let [tso, pso] = flushed::<W, TSO_ON, PSO_ON>(threads, run);
    let suspect = |flushed: i32| {
        let begun = !less(flushed, run.first);
        let candidate = pick(begun, run.last, run.first);
        other & less(flushed, run.last) & (!less(known, candidate) | begun & middle)
    };
    let on = |on: bool, mask: i32| if on { mask } else { 0 };
    if on(TSO_ON, suspect(tso)) | on(PSO_ON, suspect(pso)) != 0 {
        report::<W, TSO_ON, PSO_ON>(threads, run, side, event, index);
    }

    // Another store of the same thread makes the run longer, unless all of it is done with.
    let done = tso.min(pso);
    let goes_on = !other & less(done, run.last);
    let longer = goes_on & (!less(done, run.first) | less(run.first, run.last));
    if writes & (longer | !goes_on & middle) != 0 {
        change_middle::<W, TSO_ON, PSO_ON>(threads, run, side, event);
    }

    // What is pending here and not of this thread is committed.
    let from = &mut threads[q];
    if TSO_ON {
        from.flushed[TSO] = tso.max(run.last & other);
    }
    if PSO_ON {
        let fence = run.fence & other & less(pso, run.last);
        from.flushed[PSO] = from.flushed[PSO].max(fence);
    }

    // The event happens.
    let t = &mut threads[p];
    let time = t.now - writes;
    t.now = time;
    let starts = writes & !goes_on;
    *run = Run {
        // Of other threads nothing is left.
        first: pick(starts, time, run.first & !other),
        last: pick(writes, time, run.last & !other),
        fence: pick(writes, t.fence, run.fence),
        first_site: pick(starts, event.site as i32, run.first_site as i32) as u32,
        last_site: pick(writes, event.site as i32, run.last_site as i32) as u32,
        writer: pick(writes, p as i32, q as i32) as u16,
        flags: (!starts & i32::from(run.flags)) as u16,
    };
    if W < 16 {
        join::<W, 8>(&mut t.clock, clocks, p, writes);
    } else {
        join::<W, 16>(&mut t.clock, clocks, p, writes);
    }
    t.previous = *event;
    if event.kind > LogKind::Write {
        t.update(side.setup.pso);
        (run.first, run.last) = (0, 0);
    }
}

/// Joins the clocks of thread `p` and of a location that it accesses, `N` entries at a time.
#[inline(always)]
fn join<const W: usize, const N: usize>(
    clock: &mut Clock<W>,
    clocks: &mut Clocks<W>,
    p: usize,
    writes: i32,
) {
    let (clock, _) = clock.0.as_chunks_mut::<N>();
    let (written, _) = clocks.written.0.as_chunks_mut::<N>();
    let (accessed, _) = clocks.accessed.0.as_chunks_mut::<N>();
    for k in 0..W / N {
        let (c, w, a) = (clock[k], written[k], accessed[k]);
        let [mut c2, mut w2, mut a2] = [[0; N]; 3];
        let own = p as i32 - (N * k) as i32;
        for j in 0..N {
            // Only stores are counted.
            let tick = -i32::from(j as i32 == own) & writes;
            c2[j] = c[j].max(a[j] & writes | w[j] & !writes) - tick;
            a2[j] = a[j].max(c2[j]);
            w2[j] = c2[j] & writes | w[j] & !writes;
        }
        (clock[k], written[k], accessed[k]) = (c2, w2, a2);
    }
}

/// The mask of whether `a` is less than `b`; neither is negative.
#[inline(always)]
fn less(a: i32, b: i32) -> i32 {
    (a - b) >> 31
}

/// `a` under the mask, `b` elsewhere.
#[inline(always)]
fn pick(mask: i32, a: i32, b: i32) -> i32 {
    a & mask | b & !mask
}

/// Reports what is pending at the location of `event` and happens before what its thread did last,
/// that is, has a time that its clock knows.
#[cold]
#[inline(never)]
fn report<const W: usize, const TSO_ON: bool, const PSO_ON: bool>(
    threads: &[Thread<W>; W],
    run: &Run,
    side: &mut Side,
    event: &LogEvent,
    index: u64,
) {
    let Thread { clock, previous, .. } = &threads[event.thread as usize % W];
    let known = clock.0[run.writer as usize % W];
    let flushed = flushed::<W, TSO_ON, PSO_ON>(threads, run);
    let loc = event.loc as usize;
    for (flushed, tally) in flushed.into_iter().zip(&mut side.tally) {
        if run.last <= flushed {
            continue;
        }
        let mut add = |stores: Stores| {
            if stores.time > flushed && stores.time <= known {
                let Stores { site, count, .. } = stores;
                let store = End { thread: run.writer, kind: LogKind::Write, loc: event.loc, site };
                tally.add(store, event, previous, index, u64::from(count));
            }
        };
        if side.setup.form == Form::All && run.first != run.last {
            add(Stores { time: run.first, site: run.first_site, count: 1 });
            if run.flags & MIDDLE != 0 {
                side.middles.middle(loc).for_each(&mut add);
            }
        }
        add(Stores { time: run.last, site: run.last_site, count: 1 });
    }
}

/// Per model up to which time the stores of a run are committed; all of them for a model that is not
/// asked about.
#[inline(always)]
fn flushed<const W: usize, const TSO_ON: bool, const PSO_ON: bool>(
    threads: &[Thread<W>; W],
    run: &Run,
) -> [i32; 2] {
    let [tso, pso] = threads[run.writer as usize % W].flushed;
    [if TSO_ON { tso } else { i32::MAX }, if PSO_ON { pso } else { i32::MAX }]
}

/// Before a store that makes a run longer than two, or replaces one with a middle.
#[cold]
#[inline(never)]
fn change_middle<const W: usize, const TSO_ON: bool, const PSO_ON: bool>(
    threads: &[Thread<W>; W],
    run: &mut Run,
    side: &mut Side,
    event: &LogEvent,
) {
    let loc = event.loc as usize;
    let middles = &mut side.middles;
    let [tso, pso] = flushed::<W, TSO_ON, PSO_ON>(threads, run);
    let done = tso.min(pso);
    if run.writer != event.thread || run.last <= done {
        return middles.clear(loc);
    }
    if run.first != run.last {
        middles.push(loc, Stores { time: run.last, site: run.last_site, count: 1 });
        run.flags |= MIDDLE;
    }
    while run.first <= done
        && let Some(next) = middles.pop(loc)
    {
        if next.time > done {
            run.first = next.time;
            run.first_site = next.site;
            // The rest of a group of stores stays in the middle.
            if next.count > 1 {
                middles.push_front(loc, Stores { count: next.count - 1, ..next });
            }
        }
    }
}

/// Asks for all lines of a location.
#[inline(always)]
fn prefetch<const W: usize>(locs: &[Loc<W>], loc: usize) {
    let Some(loc) = locs.get(loc) else { return };
    for at in (0..W).step_by(16) {
        prefetch_index(&loc.clocks.written.0[..], at);
    }
    for at in (0..W).step_by(16).filter(|_| W >= 16) {
        prefetch_index(&loc.clocks.accessed.0[..], at);
    }
    prefetch_index(std::slice::from_ref(&loc.run), 0);
}

/// Makes sure that `loc` exists.
fn grow<const W: usize>(locs: &mut Vec<Loc<W>>, loc: usize) {
    if locs.len() <= loc {
        locs.resize(loc + 1, Loc { clocks: Clocks::ZERO, run: Run::NONE });
    }
}
