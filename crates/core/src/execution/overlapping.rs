//! What can be overtaken where accesses overlap in part.
//!
//! The monitors of the paper keep each store pending until another thread accesses its bytes. That is
//! enough if all accesses to a place have the same bytes. If not, there are cycles for which stores
//! of several threads have to be late at once (`docs/how/robustness.md`, "Accesses that overlap", has the
//! definition and the proof). So here it is asked of each access which stores can *all* be held back
//! until after it, looking at what happens before it and nothing else: no order of the execution's
//! class holds back more. (Or at all that came before it, if the order is given.)
//!
//! A store that is held back demands that others are, too: later ones of its thread that have to wait for
//! it, and later ones to its bytes. It cannot be held back if that ends in an event that would
//! notice: a fence, an update, a load by another thread. Both are read off in one pass from the access
//! backwards, and the stores that are left can be held back together, because nothing but the
//! presence of another store is ever demanded.
//!
//! Costs time proportional to what happens before each access; a pass ends where every thread has
//! come to a fence. Most accesses need none: only a store of another thread to bytes of the access can be held
//! back, and only if its thread does not come to a fence before the access.

use std::ops::Range;

use crate::{Drain, LogCells, LogEvent, LogKind, LogTables, Model};

/// An execution in which accesses overlap, with its happens-before.
#[derive(Debug)]
pub struct Overlapping<'a> {
    events: &'a [LogEvent],
    /// Whether all that comes before an access has to happen before it is made.
    in_order: bool,
    cells: LogCells,
    threads: usize,
    /// Of each event its number in its thread, from 1.
    numbers: Vec<u32>,
    /// Of each event, how many events of each thread happen before it, itself included.
    clocks: Vec<u32>,
    /// The same without what it conflicts with itself: what its thread did and its start.
    before: Vec<u32>,
    /// The stores, each with the next fence of its thread, and with the next that may be an update: their numbers.
    stores: Vec<(usize, u32, u32)>,
}

impl<'a> Overlapping<'a> {
    /// An SC execution in this order, and no other one of its class.
    #[must_use]
    pub fn in_order(events: &'a [LogEvent], tables: &LogTables) -> Overlapping<'a> {
        Overlapping { in_order: true, ..Overlapping::new(events, tables) }
    }

    /// An SC execution, for its class.
    #[must_use]
    pub fn new(events: &'a [LogEvent], tables: &LogTables) -> Overlapping<'a> {
        Overlapping::with_additions(events, tables, |_| false)
    }

    /// The same, of which some events are updates that may be exchanged with each other where they have the same bytes.
    #[must_use]
    pub fn with_additions(
        events: &'a [LogEvent],
        tables: &LogTables,
        is_addition: impl Fn(usize) -> bool,
    ) -> Overlapping<'a> {
        let cells = LogCells::new(events, tables);
        let named = |e: &LogEvent| match e.kind {
            LogKind::Spawn | LogKind::Join => u16::try_from(e.loc).unwrap_or(0).max(e.thread),
            _ => e.thread,
        };
        let threads = events.iter().map(named).max().map_or(0, |most| usize::from(most) + 1);
        let mut order = Overlapping {
            events,
            in_order: false,
            cells,
            threads,
            numbers: Vec::with_capacity(events.len()),
            clocks: Vec::with_capacity(events.len() * threads),
            before: Vec::with_capacity(events.len() * threads),
            stores: Vec::new(),
        };
        order.fill(is_addition);
        order.find_stores();
        order
    }

    fn find_stores(&mut self) {
        let mut next = vec![(u32::MAX, u32::MAX); self.threads];
        for (place, event) in self.events.iter().enumerate().rev() {
            let (fence, update) = &mut next[usize::from(event.thread)];
            match event.kind {
                LogKind::Fence | LogKind::Spawn => {
                    (*fence, *update) = (self.numbers[place], self.numbers[place]);
                }
                LogKind::Update | LogKind::Acquire | LogKind::Release => {
                    *update = self.numbers[place];
                }
                LogKind::Write => self.stores.push((place, *fence, *update)),
                _ => {}
            }
        }
    }

    /// Whether some store of another thread to bytes of an access may be held back until after it: nothing else is
    /// found by looking at all that happens before.
    fn may_overtake(&self, model: Model, access: usize) -> bool {
        let last = &self.events[access];
        let shared = self.cells.of(last.loc);
        let clock = &self.clocks[access * self.threads..][..self.threads];
        self.stores.iter().any(|&(place, fence, update)| {
            let event = &self.events[place];
            let cells = self.cells.of(event.loc);
            let drain = if model == Model::Pso(Drain::Own) { fence } else { update };
            let known = clock[usize::from(event.thread)];
            place < access
                && event.thread != last.thread
                && cells.start < shared.end
                && shared.start < cells.end
                && (self.in_order || self.numbers[place] <= known && drain > known)
        })
    }

    fn fill(&mut self, is_addition: impl Fn(usize) -> bool) {
        let n = self.threads;
        let mut threads = vec![0; n * n];
        let mut writes = vec![0; n * self.cells.count];
        let mut all = vec![0; n * self.cells.count];
        for (place, event) in self.events.iter().enumerate() {
            let p = usize::from(event.thread);
            let other = usize::try_from(event.loc).ok().filter(|&other| other < n && other != p);
            let mut clock = threads[p * n..][..n].to_vec();
            if let (LogKind::Join, Some(child)) = (event.kind, other) {
                join(&mut clock, &threads[child * n..][..n]);
            }
            clock[p] += 1;
            self.numbers.push(clock[p]);
            self.before.extend_from_slice(&clock);
            let accessed = match event.kind.is_access() {
                true => self.cells.of(event.loc),
                false => 0..0,
            };
            let of_cells = if event.kind.writes() { &all } else { &writes };
            if is_addition(place) {
                for (other, earlier) in self.events[..place].iter().enumerate() {
                    let cells = self.cells.of(earlier.loc);
                    let apart = cells.end <= accessed.start || accessed.end <= cells.start;
                    let same = earlier.loc == event.loc && is_addition(other);
                    if earlier.kind.is_access() && !apart && !same {
                        join(&mut clock, &self.clocks[other * n..][..n]);
                    }
                }
            } else {
                for cell in accessed.clone() {
                    join(&mut clock, &of_cells[cell * n..][..n]);
                }
            }
            for cell in accessed {
                join(&mut all[cell * n..][..n], &clock);
                if event.kind.writes() {
                    join(&mut writes[cell * n..][..n], &clock);
                }
            }
            if let (LogKind::Spawn, Some(child)) = (event.kind, other) {
                join(&mut threads[child * n..][..n], &clock);
            }
            threads[p * n..][..n].copy_from_slice(&clock);
            self.clocks.extend_from_slice(&clock);
        }
    }

    /// Whether an event happens before another, or is it.
    #[must_use]
    pub fn precedes(&self, a: usize, b: usize) -> bool {
        self.numbers[a] <= self.clocks[b * self.threads + usize::from(self.events[a].thread)]
    }

    /// The stores that an access can overtake under a model, although they happen before it.
    #[must_use]
    pub fn overtaken(&self, model: Model, access: usize) -> Vec<usize> {
        let Some(last) = self.events.get(access).filter(|event| event.kind.is_access()) else {
            return Vec::new();
        };
        if !self.may_overtake(model, access) {
            return Vec::new();
        }
        let before = &self.before[access * self.threads..][..self.threads];
        let known =
            |&store: &usize| self.numbers[store] <= before[usize::from(self.events[store].thread)];
        let mut found: Vec<usize> =
            self.held(model, access, None).into_iter().filter(known).collect();
        // By way of a cell to which nothing is held back.
        let cells = self.cells.of(last.loc);
        for cell in cells.clone().filter(|_| cells.len() > 1) {
            let clock = self.clock_of(cell, access);
            let held = self.held(model, access, Some(cell)).into_iter();
            found.extend(held.filter(|&store| {
                self.numbers[store] <= clock[usize::from(self.events[store].thread)]
            }));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// What happens before an access by way of a cell.
    fn clock_of(&self, cell: usize, access: usize) -> Vec<u32> {
        let writes = self.events[access].kind.writes();
        let mut clock = vec![0; self.threads];
        for (place, event) in self.events[..access].iter().enumerate() {
            if event.kind.is_access()
                && (event.kind.writes() || writes)
                && self.cells.of(event.loc).contains(&cell)
                && self.precedes(place, access)
            {
                join(&mut clock, &self.clocks[place * self.threads..][..self.threads]);
            }
        }
        clock
    }

    /// The stores of other threads to bytes of an access which the access misses if all that can be
    /// is held back, but for the stores to the cell `free`.
    fn held(&self, model: Model, access: usize, free: Option<usize>) -> Vec<usize> {
        let last = &self.events[access];
        let own = last.thread;
        let mut pass = Pass::new(self, model, access, free);
        let shared = self.cells.of(last.loc);
        // Cells to which the thread stores later itself: there it reads what it has stored.
        let mut covered: Vec<usize> = Vec::new();
        let mut found = Vec::new();
        for place in (0..access).rev() {
            if pass.is_over() {
                break;
            }
            if !self.in_order && !self.precedes(place, access) {
                continue;
            }
            let event = &self.events[place];
            let held = pass.event(place);
            // Nothing of the thread comes before its first event.
            pass.threads[usize::from(event.thread)].drained |= self.numbers[place] == 1;
            if !event.kind.writes() {
                continue;
            }
            let common = self.cells.of(event.loc).filter(|cell| shared.contains(cell));
            if event.thread == own {
                covered.extend(common);
            } else if held && common.into_iter().any(|cell| !covered.contains(&cell)) {
                found.push(place);
            }
        }
        found
    }
}

/// What is known of the events that follow, going backwards from an access.
struct Pass<'o> {
    order: &'o Overlapping<'o>,
    model: Model,
    /// The thread of the access, and under PSO its cells, if it writes: the thread's stores there
    /// have to come first.
    writer: Option<(u16, Range<usize>)>,
    free: Option<usize>,
    threads: Vec<Thread>,
    cells: Vec<Cell>,
}

#[derive(Clone, Copy, Default)]
struct Thread {
    /// Nothing before can be held back.
    drained: bool,
    /// A later store of the thread is not held back.
    stored: bool,
    /// The same for one behind a store-store fence.
    fenced: bool,
}

/// What follows in a cell.
#[derive(Clone, Copy, Default)]
struct Cell {
    /// A store that is not held back, or an update.
    written: bool,
    /// Loads of the store before: nobody, one thread, or several.
    reader: Option<u16>,
    readers: bool,
}

impl<'o> Pass<'o> {
    fn new(
        order: &'o Overlapping<'o>,
        model: Model,
        access: usize,
        free: Option<usize>,
    ) -> Pass<'o> {
        let last = &order.events[access];
        let mut threads = vec![Thread::default(); order.threads];
        let writes = last.kind.writes();
        // Of those of whom nothing comes before, nothing is to be looked at.
        let clock = &order.clocks[access * order.threads..][..order.threads];
        for (t, thread) in threads.iter_mut().enumerate().filter(|_| !order.in_order) {
            let itself = u32::from(t == usize::from(last.thread));
            thread.drained = clock[t] == itself;
        }
        let own = &mut threads[usize::from(last.thread)];
        own.stored = writes;
        own.drained |= last.kind.is_update() && model != Model::Pso(Drain::Own);
        let cells = order.cells.of(last.loc);
        let writer = writes.then_some((last.thread, cells));
        Pass {
            order,
            model,
            writer,
            free,
            threads,
            cells: vec![Cell::default(); order.cells.count],
        }
    }

    fn is_over(&self) -> bool {
        self.threads.iter().all(|thread| thread.drained)
    }

    /// The event before; whether it is a store that can be held back.
    fn event(&mut self, place: usize) -> bool {
        let event = &self.order.events[place];
        let p = usize::from(event.thread);
        match event.kind {
            LogKind::Fence | LogKind::Spawn => self.threads[p].drained = true,
            LogKind::Join => {
                let child = usize::try_from(event.loc).ok();
                if let Some(child) = child.and_then(|child| self.threads.get_mut(child)) {
                    child.drained = true;
                }
            }
            LogKind::StoreFence => {
                let thread = &mut self.threads[p];
                thread.fenced |= thread.stored;
            }
            LogKind::Update | LogKind::Acquire | LogKind::Release => {
                let thread = &mut self.threads[p];
                thread.stored = true;
                thread.drained |= self.model != Model::Pso(Drain::Own);
                for cell in self.order.cells.of(event.loc) {
                    self.cells[cell].written = true;
                }
            }
            LogKind::Read => {
                for cell in self.order.cells.of(event.loc) {
                    let cell = &mut self.cells[cell];
                    cell.readers |= cell.reader.is_some_and(|reader| reader != event.thread);
                    cell.reader = Some(event.thread);
                }
            }
            LogKind::Write => return self.store(event),
            LogKind::Begin | LogKind::End | LogKind::Commit => {}
        }
        false
    }

    fn store(&mut self, event: &LogEvent) -> bool {
        let thread = &mut self.threads[usize::from(event.thread)];
        let waits = match self.model {
            Model::Pso(_) => thread.fenced,
            Model::Sc | Model::Tso => thread.stored,
        };
        let mut held = !thread.drained && !waits;
        for cell in self.order.cells.of(event.loc) {
            let after = self.cells[cell];
            let own = |(writer, cells): &(u16, Range<usize>)| {
                *writer == event.thread && cells.contains(&cell)
            };
            held &= !after.written
                && !after.readers
                && after.reader.is_none_or(|reader| reader == event.thread)
                && self.free != Some(cell)
                && !self.writer.as_ref().is_some_and(own);
        }
        for cell in self.order.cells.of(event.loc) {
            self.cells[cell] = Cell { written: !held, ..Cell::default() };
        }
        thread.stored |= !held;
        held
    }
}

fn join(clock: &mut [u32], other: &[u32]) {
    for (mine, other) in clock.iter_mut().zip(other) {
        *mine = (*mine).max(*other);
    }
}
