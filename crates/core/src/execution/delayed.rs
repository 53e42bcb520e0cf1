//! Checks what a monitor says about a log: that the program of the log has the
//! [`DelayedRun`] under its model, and that SC does not have it.
//!
//! The log is played twice at once: on a memory without buffers, which is the SC execution that
//! it is a log of, and on one with store buffers, where stores reach memory when the run says so.
//! As long as every read takes the same bytes from the same writes in both, the program cannot
//! tell the difference, so that it can do next what it did next in the log: the access. What that
//! one reads does not matter any more. Then the buffers drain, and each arc of the run's cycle is
//! looked up in what was read and in the order in which stores reached memory.
//!
//! Locations overlap by bytes, so memory consists of [cells](LogCells).
//!
//! Takes time about linear in the log, if locations overlap few others.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::evidence::rejected::Rejected;
use crate::execution::cycle::{Arc, Link};
use crate::{DelayedRun, Drain, LogCells, LogEvent, LogKind, LogTables, Model};

/// Checks that the program of a log of an SC execution has `run` and that SC does not allow it.
pub fn delayed(events: &[LogEvent], tables: &LogTables, run: &DelayedRun) -> Result<(), Rejected> {
    let reject = |why| Err(Rejected::Delayed(run.access, why));
    let (Some(store), Some(access)) = (events.get(run.store), events.get(run.access)) else {
        return reject("the log is shorter than the run");
    };
    if run.model == Model::Sc {
        return reject("the run is one under SC");
    }
    if run.store >= run.access
        || store.kind != LogKind::Write
        || !access.kind.is_access()
        || store.thread == access.thread
        || !tables.overlap(store.loc, access.loc)
    {
        return reject("the run is not about a store and a later access of another thread to it");
    }
    let events = &events[..=run.access];
    let mut replay = Replay::new(events, tables, run);
    let mut commits = run.commits.iter().peekable();
    for (place, event) in events.iter().enumerate() {
        while let Some(commit) = commits.next_if(|commit| commit.before == place) {
            replay
                .commit(commit.thread, commit.loc)
                .map_err(|why| Rejected::Delayed(place, why))?;
        }
        replay.issue(place, event).map_err(|why| Rejected::Delayed(place, why))?;
    }
    // Where stores of several threads are late, the run says in which order they reach memory.
    for commit in commits {
        if commit.before != events.len() {
            return Err(Rejected::Delayed(commit.before, "a commit stands out of order"));
        }
        replay
            .commit(commit.thread, commit.loc)
            .map_err(|why| Rejected::Delayed(events.len(), why))?;
    }
    replay.drain(access.thread);
    replay.check_cycle(run)
}

/// A pending store: how many store-store fences of its thread come before it.
type Pending = BTreeMap<usize, usize>;

/// Both memories. Writes are named by their places in the log; `None` is the initial value.
struct Replay<'a> {
    events: &'a [LogEvent],
    model: Model,
    access: usize,
    cells: LogCells,
    without_buffers: Vec<Option<usize>>,
    memory: Vec<Option<usize>>,
    /// Each thread's pending stores, oldest first.
    pending: HashMap<u16, Pending>,
    /// Pending stores by thread and cell, oldest first.
    queues: HashMap<(u16, usize), VecDeque<usize>>,
    /// The store-store fences of each thread so far.
    fences: HashMap<u16, usize>,
    /// When each write reached memory, from 1; 0 for other events.
    reached: Vec<usize>,
    time: usize,
    /// For each event on the cycle that reads: from which cell it read which write.
    sources: HashMap<usize, Vec<(usize, Option<usize>)>>,
}

impl<'a> Replay<'a> {
    fn new(events: &'a [LogEvent], tables: &LogTables, run: &DelayedRun) -> Replay<'a> {
        let cells = LogCells::new(events, tables);
        Replay {
            events,
            model: run.model,
            access: run.access,
            without_buffers: vec![None; cells.count],
            memory: vec![None; cells.count],
            cells,
            pending: HashMap::new(),
            queues: HashMap::new(),
            fences: HashMap::new(),
            reached: vec![0; events.len()],
            time: 0,
            sources: run.cycle.iter().map(|arc| (arc.from.index(), Vec::new())).collect(),
        }
    }

    /// The oldest pending store of a thread to a location reaches memory.
    fn commit(&mut self, thread: u16, loc: u32) -> Result<(), &'static str> {
        let pending = self.pending.entry(thread).or_default();
        let queue = |cell| self.queues.get(&(thread, cell)).and_then(|queue| queue.front());
        let mut cells = self.cells.of(loc);
        let store = cells.clone().next().and_then(queue);
        let Some(&store) = store.filter(|&&s| self.events[s].loc == loc) else {
            return Err("the thread has no pending store there that could be next");
        };
        if !cells.all(|cell| queue(cell) == Some(&store)) {
            return Err("an older store to overlapping bytes is still pending");
        }
        let in_order = match (self.model, pending.first_key_value()) {
            (Model::Pso(_), Some((_, fences))) => pending.get(&store) == Some(fences),
            (_, oldest) => oldest.is_some_and(|(&oldest, _)| oldest == store),
        };
        if !in_order {
            return Err("an older store has to reach memory first");
        }
        pending.remove(&store);
        for cell in self.cells.of(loc) {
            if let Some(queue) = self.queues.get_mut(&(thread, cell)) {
                queue.pop_front();
            }
        }
        self.reach(store);
        Ok(())
    }

    fn reach(&mut self, write: usize) {
        self.time += 1;
        self.reached[write] = self.time;
        for cell in self.cells.of(self.events[write].loc) {
            self.memory[cell] = Some(write);
        }
    }

    /// A thread does what it did in the log.
    fn issue(&mut self, place: usize, event: &LogEvent) -> Result<(), &'static str> {
        let thread = event.thread;
        match event.kind {
            LogKind::Read => self.read(place, event)?,
            LogKind::Write => {
                let fences = self.fences.get(&thread).copied().unwrap_or(0);
                self.pending.entry(thread).or_default().insert(place, fences);
                for cell in self.cells.of(event.loc) {
                    self.queues.entry((thread, cell)).or_default().push_back(place);
                }
            }
            LogKind::Update | LogKind::Acquire | LogKind::Release => {
                if !self.update_may_run(event) {
                    return Err("an update has to wait for older stores of its thread");
                }
                self.read(place, event)?;
                self.reach(place);
            }
            LogKind::Fence | LogKind::Spawn => {
                if !self.is_drained(u32::from(thread)) {
                    return Err("the thread has to wait for its older stores");
                }
            }
            LogKind::Join => {
                if !self.is_drained(event.loc) {
                    return Err("a join has to wait for the stores of the other thread");
                }
            }
            LogKind::StoreFence => *self.fences.entry(thread).or_insert(0) += 1,
            LogKind::Begin | LogKind::End => {}
            LogKind::Commit => return Err("the log is not one of an SC execution"),
        }
        if event.kind.writes() {
            for cell in self.cells.of(event.loc) {
                self.without_buffers[cell] = Some(place);
            }
        }
        Ok(())
    }

    /// Every read before the access has to see what it saw in the log.
    fn read(&mut self, place: usize, event: &LogEvent) -> Result<(), &'static str> {
        for cell in self.cells.of(event.loc) {
            let own = self.queues.get(&(event.thread, cell)).and_then(|queue| queue.back());
            let source = own.copied().or(self.memory[cell]);
            if place != self.access && source != self.without_buffers[cell] {
                return Err("the program would notice that a store is late");
            }
            if let Some(sources) = self.sources.get_mut(&place) {
                sources.push((cell, source));
            }
        }
        Ok(())
    }

    fn update_may_run(&self, event: &LogEvent) -> bool {
        let Some(pending) = self.pending.get(&event.thread) else { return true };
        match self.model {
            Model::Sc | Model::Tso | Model::Pso(Drain::All) => pending.is_empty(),
            Model::Pso(Drain::Own) => {
                let fences = self.fences.get(&event.thread).copied().unwrap_or(0);
                let free = |cell| {
                    self.queues.get(&(event.thread, cell)).is_none_or(|queue| queue.is_empty())
                };
                pending.first_key_value().is_none_or(|(_, &before)| before == fences)
                    && self.cells.of(event.loc).all(free)
            }
        }
    }

    fn is_drained(&self, thread: u32) -> bool {
        let thread = u16::try_from(thread).ok();
        thread.and_then(|thread| self.pending.get(&thread)).is_none_or(BTreeMap::is_empty)
    }

    /// Everything reaches memory in program order, beginning with the accessing thread.
    fn drain(&mut self, first: u16) {
        let mut threads: Vec<u16> = self.pending.keys().copied().collect();
        threads.sort_unstable_by_key(|&thread| (thread != first, thread));
        for thread in threads {
            for store in self.pending.remove(&thread).unwrap_or_default().into_keys() {
                self.reach(store);
            }
        }
    }

    /// A cycle of justified arcs through the store and the access.
    fn check_cycle(&self, run: &DelayedRun) -> Result<(), Rejected> {
        let reject = |place, why| Err(Rejected::Delayed(place, why));
        let mut at = run.cycle.last().map(|arc| arc.to);
        for arc in &run.cycle {
            if at != Some(arc.from) {
                return reject(arc.from.index(), "the arcs of the cycle do not meet");
            }
            if !self.justified(arc) {
                return reject(arc.from.index(), "an arc of the cycle does not hold");
            }
            at = Some(arc.to);
        }
        let passes = |place| run.cycle.iter().any(|arc| arc.from.index() == place);
        match passes(run.store) && passes(run.access) {
            true => Ok(()),
            false => reject(run.access, "the cycle misses the store or the access"),
        }
    }

    fn justified(&self, arc: &Arc) -> bool {
        let (a, b) = (arc.from.index(), arc.to.index());
        let (Some(from), Some(to)) = (self.events.get(a), self.events.get(b)) else {
            return false;
        };
        let reads = |place: usize| self.sources.get(&place).map_or(&[][..], Vec::as_slice);
        let wrote = |place: usize, cell: usize| {
            self.events[place].kind.writes()
                && self.cells.of(self.events[place].loc).contains(&cell)
        };
        match arc.link {
            Link::Po => from.thread == to.thread && a < b,
            Link::Rf => reads(b).iter().any(|&(_, source)| source == Some(a)),
            Link::Co => {
                self.cells.of(from.loc).any(|cell| wrote(a, cell) && wrote(b, cell))
                    && self.reached[a] < self.reached[b]
            }
            Link::Fr => reads(a).iter().any(|&(cell, source)| {
                a != b
                    && wrote(b, cell)
                    && source.map_or(0, |source| self.reached[source]) < self.reached[b]
            }),
            Link::Start => from.kind == LogKind::Spawn && from.loc == u32::from(to.thread) && a < b,
            Link::Join => to.kind == LogKind::Join && to.loc == u32::from(from.thread) && a < b,
            Link::Block => false,
        }
    }
}
