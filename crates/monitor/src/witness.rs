//! The run under TSO or PSO that a report of a monitor is about.
//!
//! It is the one that the proof of soundness constructs (Figs. 9 and 10 of the monitoring report):
//! the log's events in their order with the commits that the monitor emits, then the access while
//! the store is still pending, then everything drains. The happens-before cycle goes from the
//! store along a shortest path to the access and back.
//!
//! A second pass over the log, which takes linear time if locations overlap few others. All of
//! happens-before points forwards in the log, so that a shortest path needs no search: for each
//! event the best predecessor is known when it comes, from one entry per thread and three per
//! cell of memory.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use rustc_hash::FxHashMap;
use weakspot_core::cycle::{Arc, Link};
use weakspot_core::{
    DelayedCommit, DelayedRun, Drain, EventId, LogCells, LogEvent, LogKind, LogTables, Model,
};

/// The run under `model` in which the event at `access` takes effect before the store at `store`,
/// both places in the log. `None` if the store is not pending then, or if it does not happen
/// before what the accessing thread did before: nothing that a monitor reports.
#[must_use]
pub fn witness(
    events: &[LogEvent],
    tables: &LogTables,
    model: Model,
    store: usize,
    access: usize,
) -> Option<DelayedRun> {
    search(events, tables, model, store, access).ok()
}

/// Why there is no run for a store and an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoRun {
    /// The store has been committed by then; so have the earlier ones of its thread to that place.
    Committed,
    /// The store does not happen before what the accessing thread did before; neither do the later
    /// ones of its thread.
    Unordered,
}

/// The same, with the reason if there is none.
pub(crate) fn search(
    events: &[LogEvent],
    tables: &LogTables,
    model: Model,
    store: usize,
    access: usize,
) -> Result<DelayedRun, NoRun> {
    let cut = events.get(..=access);
    let (Some(events), true) = (cut, store < access) else { return Err(NoRun::Unordered) };
    let (first, last) = (&events[store], &events[access]);
    let apart = store < access && first.thread != last.thread;
    let kinds = first.kind == LogKind::Write && last.kind.is_access();
    // Events of a cycle have 32-bit names.
    if model == Model::Sc || !apart || !kinds || u32::try_from(access).is_err() {
        return Err(NoRun::Unordered);
    }
    let cells = LogCells::new(events, tables);
    let (mine, other) = (cells.of(last.loc), cells.of(first.loc));
    if mine.start.max(other.start) >= mine.end.min(other.end) {
        return Err(NoRun::Unordered);
    }
    let commits = commits(events, &cells, model, store).ok_or(NoRun::Committed)?;
    let mut cycle = path(events, &cells, store, |_| false).ok_or(NoRun::Unordered)?;
    let link = if last.kind == LogKind::Write { Link::Co } else { Link::Fr };
    cycle.push(Arc { from: EventId::new(access), link, to: EventId::new(store) });
    Ok(DelayedRun { model, store, access, commits, cycle })
}

/// The commits that the monitor emits before the last event, and those of its own thread that it
/// waits for. `None` if `store` is not pending then.
fn commits(
    events: &[LogEvent],
    cells: &LogCells,
    model: Model,
    store: usize,
) -> Option<Vec<DelayedCommit>> {
    let mut buffers = Buffers {
        model,
        cells,
        pending: BTreeMap::new(),
        queues: FxHashMap::default(),
        fences: FxHashMap::default(),
        commits: Vec::new(),
    };
    let mut written: Vec<Option<usize>> = vec![None; cells.count];
    let mut last: Vec<usize> = Vec::new();
    for (place, event) in events.iter().enumerate() {
        let own = event.thread;
        // The last stores to what is accessed. What others wrote to a cell before the last store
        // to it is in memory since then.
        last.clear();
        if event.kind.is_access() {
            last.extend(cells.of(event.loc).filter_map(|cell| written[cell]));
            last.sort_unstable_by_key(|&write| (events[write].thread, write));
        }
        let is_own = |write: &usize| events[*write].thread == own;
        if place + 1 < events.len() {
            for &write in last.iter().filter(|write| !is_own(write)) {
                buffers.commit(events[write].thread, write, place);
            }
        }
        match event.kind {
            LogKind::Update | LogKind::Acquire | LogKind::Release => match model {
                Model::Pso(Drain::Own) => {
                    buffers.commit_before_fence(own, place);
                    for &write in last.iter().filter(|write| is_own(write)) {
                        buffers.commit(own, write, place);
                    }
                }
                _ => buffers.flush(own, place),
            },
            LogKind::Fence | LogKind::Spawn => buffers.flush(own, place),
            LogKind::Join => {
                if let Ok(child) = u16::try_from(event.loc) {
                    buffers.flush(child, place);
                }
            }
            LogKind::StoreFence => {
                if model != Model::Tso {
                    *buffers.fences.entry(own).or_insert(0) += 1;
                }
            }
            LogKind::Write => buffers.push(own, event.loc, place),
            LogKind::Read | LogKind::Begin | LogKind::End => {}
            LogKind::Commit => return None,
        }
        if event.kind.writes() {
            // What an update overwrites is in memory, and so is the update.
            let store = (event.kind == LogKind::Write).then_some(place);
            for cell in cells.of(event.loc) {
                written[cell] = store;
            }
        }
    }
    let pending = buffers.pending.get(&events[store].thread)?;
    pending.contains_key(&store).then_some(buffers.commits)
}

/// The simulated buffers of all threads.
struct Buffers<'c> {
    model: Model,
    cells: &'c LogCells,
    /// Per thread its pending stores by their places.
    pending: BTreeMap<u16, BTreeMap<usize, Pending>>,
    /// Per thread and cell the places of its stores; those that are pending no more are dropped
    /// when they come to the front. Under TSO all cells are one.
    queues: FxHashMap<(u16, usize), VecDeque<usize>>,
    /// The store-store fences of each thread so far, where they matter.
    fences: FxHashMap<u16, usize>,
    commits: Vec<DelayedCommit>,
}

#[derive(Clone, Copy)]
struct Pending {
    loc: u32,
    /// How many store-store fences of its thread come before it.
    fences: usize,
}

impl Buffers<'_> {
    /// The queues that a store to `loc` stands in.
    fn queues_of(&self, loc: u32) -> Range<usize> {
        match self.model {
            Model::Pso(_) => self.cells.of(loc),
            Model::Sc | Model::Tso => 0..1,
        }
    }

    fn push(&mut self, thread: u16, loc: u32, place: usize) {
        let fences = self.fences.get(&thread).copied().unwrap_or(0);
        self.pending.entry(thread).or_default().insert(place, Pending { loc, fences });
        for queue in self.queues_of(loc) {
            self.queues.entry((thread, queue)).or_default().push_back(place);
        }
    }

    /// Commits the store at `write`, if it is pending, after those that have to go first: the ones
    /// before a store-store fence, and older ones that it overlaps.
    fn commit(&mut self, thread: u16, write: usize, before: usize) {
        let Some(pending) = self.pending.get_mut(&thread) else { return };
        let Some(&Pending { fences, .. }) = pending.get(&write) else { return };
        while let Some(oldest) = pending.first_entry().filter(|e| e.get().fences < fences) {
            let loc = oldest.remove().loc;
            self.commits.push(DelayedCommit { before, thread, loc });
        }
        let mut goes = BTreeSet::new();
        let mut waiting = vec![write];
        while let Some(place) = waiting.pop() {
            let Some(store) = self.pending.get(&thread).and_then(|p| p.get(&place)) else {
                continue;
            };
            if !goes.insert(place) {
                continue;
            }
            for queue in self.queues_of(store.loc) {
                let Some(queue) = self.queues.get_mut(&(thread, queue)) else { continue };
                while let Some(&older) = queue.front().filter(|&&older| older < place) {
                    queue.pop_front();
                    waiting.push(older);
                }
            }
        }
        let Some(pending) = self.pending.get_mut(&thread) else { return };
        for place in goes {
            if let Some(Pending { loc, .. }) = pending.remove(&place) {
                self.commits.push(DelayedCommit { before, thread, loc });
            }
        }
    }

    /// Commits what stands before the last store-store fence of the thread.
    fn commit_before_fence(&mut self, thread: u16, before: usize) {
        let fences = self.fences.get(&thread).copied().unwrap_or(0);
        let Some(pending) = self.pending.get_mut(&thread) else { return };
        while let Some(oldest) = pending.first_entry().filter(|e| e.get().fences < fences) {
            let loc = oldest.remove().loc;
            self.commits.push(DelayedCommit { before, thread, loc });
        }
    }

    /// Commits everything of the thread.
    fn flush(&mut self, thread: u16, before: usize) {
        let stores = self.pending.get_mut(&thread).map(std::mem::take).unwrap_or_default();
        let commit = |store: Pending| DelayedCommit { before, thread, loc: store.loc };
        self.commits.extend(stores.into_values().map(commit));
    }
}

/// How far an event is from the store: the arcs of a path, and how many of them are coherence,
/// which is harder to follow than what a thread read.
type Distance = (u32, u32);

/// The nearest event of some kind.
type Nearest = Option<(Distance, usize)>;

/// A shortest path of happens-before from `store` to the last event, which comes after what its
/// own thread did or after its start, and of what it conflicts with only after that in cells which are
/// `free`.
pub(crate) fn path(
    events: &[LogEvent],
    cells: &LogCells,
    store: usize,
    free: impl Fn(usize) -> bool,
) -> Option<Vec<Arc>> {
    let access = events.len() - 1;
    let mut came_from: Vec<(u32, Link)> = vec![(0, Link::Po); events.len() - store];
    let mut threads: FxHashMap<u16, Nearest> = FxHashMap::default();
    let mut starts: FxHashMap<u32, Nearest> = FxHashMap::default();
    let mut writes: Vec<Nearest> = vec![None; cells.count];
    let mut reads: Vec<Nearest> = vec![None; cells.count];
    // The last write to each cell, as far as it comes after the store, and how far it is.
    let mut sources: Vec<Nearest> = vec![None; cells.count];
    for (place, event) in events.iter().enumerate().skip(store) {
        let mut best: Option<(Distance, usize, Link)> = None;
        let mut try_from = |nearest: Nearest, link: Link| {
            let Some(((arcs, co), from)) = nearest else { return };
            let distance = (arcs + 1, co + u32::from(link == Link::Co));
            if best.is_none_or(|(least, ..)| distance < least) {
                best = Some((distance, from, link));
            }
        };
        try_from(threads.get(&event.thread).copied().flatten(), Link::Po);
        try_from(starts.get(&u32::from(event.thread)).copied().flatten(), Link::Start);
        if event.kind == LogKind::Join
            && let Ok(child) = u16::try_from(event.loc)
        {
            try_from(threads.get(&child).copied().flatten(), Link::Join);
        }
        if event.kind.is_access() {
            for cell in cells.of(event.loc).filter(|&cell| place < access || free(cell)) {
                if event.kind != LogKind::Write {
                    try_from(sources[cell], Link::Rf);
                }
                if event.kind.writes() {
                    try_from(reads[cell], Link::Fr);
                    try_from(writes[cell], Link::Co);
                }
            }
        }
        let mine = match best {
            Some((distance, from, link)) => {
                came_from[place - store] = (u32::try_from(from).ok()?, link);
                Some((distance, place))
            }
            None if place == store => Some(((0, 0), place)),
            None => None,
        };
        let nearer = |known: &mut Nearest| {
            if let Some(mine) = mine
                && known.is_none_or(|(least, _)| mine.0 < least)
            {
                *known = Some(mine);
            }
        };
        nearer(threads.entry(event.thread).or_default());
        if event.kind == LogKind::Spawn {
            nearer(starts.entry(event.loc).or_default());
        }
        if event.kind.is_access() {
            for cell in cells.of(event.loc) {
                if event.kind != LogKind::Write {
                    nearer(&mut reads[cell]);
                }
                if event.kind.writes() {
                    nearer(&mut writes[cell]);
                    sources[cell] = mine;
                }
            }
        }
        if place == access {
            mine?;
        }
    }
    let mut arcs = Vec::new();
    let mut at = access;
    while at != store {
        let (from, link) = came_from[at - store];
        arcs.push(Arc { from: EventId(from), link, to: EventId::new(at) });
        at = from as usize;
    }
    arcs.reverse();
    Some(arcs)
}

#[cfg(test)]
mod tests;
