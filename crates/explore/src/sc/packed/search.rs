//! The search itself: expand a batch of states, then probe a batch of successors.
//!
//! Breadth first, rows are expanded in the order of their arrival, level by level, so that the
//! first goal found is a nearest one. When a search has grown large, its states are dealt out to
//! one shard per worker by a hash of the row; a worker expands the states of its own shard and
//! sends the successors of others to them in batches. Levels end together. Sleep sets that shrink in
//! a level matter from the next level on, so that neither the verdict nor the number of states of a
//! search that comes to its end depends on who is quicker, or on the number of workers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use weakspot_core::Limit;
use weakspot_core::machine::Failure;

use super::store::{Inserted, Note, Store};
use crate::meter::Meter;

/// What is searched: rows of numbers and how to get from one to the next.
pub(crate) trait System: Sync {
    /// What is learnt about the program on the way, shared by all workers.
    type Tables: Send + Sync;
    /// Something that the tables do not hold yet.
    type Missing;

    /// How many numbers a row has now. It may grow; new ones are 0 in old rows.
    fn width(&self, tables: &Self::Tables) -> usize;

    /// Adds all successors of `row` by the threads that are awake.
    fn expand(
        &self,
        tables: &Self::Tables,
        row: &[u32],
        sleep: Sleep,
        out: &mut Successors,
    ) -> Expanded<Self::Missing>;

    /// Adds what is missing to the tables.
    fn resolve(&self, tables: &mut Self::Tables, missing: Self::Missing) -> Result<(), Failure>;

    /// The bytes that the tables take.
    fn bytes(&self, tables: &Self::Tables) -> usize;

    /// Whether a row, which leads nowhere, is itself something to be found. The search goes on, and
    /// gives all of these back in the end.
    fn keeps(&self, _: &[u32]) -> bool {
        false
    }

    /// Whether there may be such rows at all.
    fn keeps_some(&self) -> bool {
        false
    }
}

/// Sleep sets, as masks of threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sleep {
    /// The threads whose moves are to be taken.
    pub(crate) awake: u32,
    /// The threads whose moves from here lead to nothing new.
    pub(crate) asleep: u32,
}

/// What came of an expansion.
pub(crate) enum Expanded<M> {
    /// All successors were added.
    Done,
    /// What is looked for is here, or one step from here.
    Goal,
    /// The tables lack something; some successors may have been added.
    Missing(M),
}

/// Rows on their way into the store.
#[derive(Debug, Default)]
pub(crate) struct Successors {
    width: usize,
    rows: Vec<u32>,
    notes: Vec<Note>,
    parent: u32,
}

/// In which order states are expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Nearest first: the first goal found is a nearest one.
    Breadth,
    /// Newest first: deep goals are found early, and few states wait.
    Depth,
}

/// How a search goes about its work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) order: Order,
    /// How many threads work at a time; one if depth first.
    pub(crate) workers: usize,
    /// With how many states a search is worth a second worker.
    pub(crate) large: u32,
}

impl Plan {
    pub(crate) fn breadth_first(workers: usize) -> Plan {
        Plan { order: Order::Breadth, workers, large: 20_000 }
    }
}

/// How a search ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// Everything was searched.
    Complete,
    /// Rows from an initial state to one with [`Expanded::Goal`].
    Found(Vec<Vec<u32>>),
    /// A limit was reached.
    Limit(Limit),
    /// The program does what has no meaning.
    Fault(Failure),
}

/// A finished search.
pub(crate) struct Found<T> {
    pub(crate) ended: Ended,
    pub(crate) tables: T,
    pub(crate) states: u64,
    /// For each row that the system [keeps](System::keeps) the rows from an initial state to it.
    pub(crate) kept: Vec<Vec<Vec<u32>>>,
}

impl Successors {
    /// Adds a row. It may be shorter than others: what it lacks is 0.
    pub(crate) fn push(&mut self, row: &[u32], asleep: u32) {
        if row.len() > self.width {
            self.widen(row.len());
        }
        self.rows.extend_from_slice(row);
        self.rows.resize(self.rows.len() + self.width - row.len(), 0);
        self.notes.push(Note { parent: self.parent, asleep });
    }

    pub(crate) fn len(&self) -> usize {
        self.notes.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        4 * self.rows.capacity() + size_of::<Note>() * self.notes.capacity()
    }

    fn truncate(&mut self, len: usize) {
        self.rows.truncate(len * self.width);
        self.notes.truncate(len);
    }

    fn clear(&mut self) {
        self.truncate(0);
    }

    fn widen(&mut self, width: usize) {
        if self.width > 0 {
            let old = std::mem::take(&mut self.rows);
            for row in old.chunks_exact(self.width) {
                self.rows.extend_from_slice(row);
                self.rows.resize(self.rows.len() + width - self.width, 0);
            }
        }
        self.width = width;
    }
}

/// States expanded before their successors are inserted.
const BATCH: usize = 256;
/// Numbers that the successors of a batch may have: wide rows make small batches.
const WIDE: usize = 1 << 20;
/// A batch that takes longer than this is cut short, so that limits are heeded.
const SLOW: Duration = Duration::from_millis(10);
/// Rows sent to another worker at a time.
const PARCEL: usize = 2048;
/// The parent of an initial state.
const ROOT: u32 = u32::MAX;

/// What the workers share.
struct Shared<'s, S: System> {
    system: &'s S,
    tables: RwLock<S::Tables>,
    workers: u32,
    mail: Vec<Mutex<Successors>>,
    barrier: Barrier,
    stop: AtomicBool,
    more: AtomicBool,
    ended: Mutex<Option<(Option<u32>, Ended)>>,
    states: AtomicU64,
    bytes: Vec<AtomicU64>,
}

/// One worker with its shard.
struct Worker {
    index: u32,
    store: Store,
    /// Rows before this one were expanded (breadth first).
    cursor: u32,
    /// States to expand next (depth first).
    stack: Vec<u32>,
    /// Breadth first: what is expanded in this level ends before this row, and began with `first`;
    /// and which threads were asleep in these rows then.
    level_end: u32,
    first: u32,
    asleep: Vec<u32>,
    /// Known states some of whose threads have woken up since they were expanded.
    woken: Vec<(u32, Sleep)>,
    /// Those that have woken up in this level of a breadth-first search.
    woken_now: Vec<(u32, u32)>,
    out: Vec<Successors>,
    order: Order,
}

/// Searches from the rows in `initial`, unless a limit was reached before all of them were known.
pub(crate) fn search<S: System>(
    system: &S,
    tables: S::Tables,
    initial: Result<Successors, Limit>,
    plan: Plan,
    meter: &mut Meter<'_>,
) -> Found<S::Tables> {
    let mut initial = match initial {
        Ok(initial) => initial,
        Err(limit) => {
            return Found { ended: Ended::Limit(limit), tables, states: 0, kept: Vec::new() };
        }
    };
    let order = plan.order;
    let shared = Shared::new(system, tables, 1);
    let mut first = Worker::new(0, order, 1);
    initial.notes.iter_mut().for_each(|n| n.parent = ROOT);
    let mut new = Vec::new();
    let Successors { width, rows, notes, .. } = initial;
    first.store.insert_batch(width.max(1), &rows, &notes, &mut |_, i| new.push(i));
    first.note_inserted(&new);
    drop((rows, notes, new));
    let workers = if order == Order::Depth { 1 } else { plan.workers.clamp(1, 64) };
    let large = if workers > 1 { plan.large } else { u32::MAX };
    first.run(&shared, Some(meter), large);
    let mut team = vec![first];
    let mut shared = shared;
    if !shared.stop.load(Ordering::Relaxed) && workers > 1 && team[0].has_more() {
        let before = shared.states.into_inner();
        let tables = shared.tables.into_inner().unwrap_or_else(PoisonError::into_inner);
        shared = Shared::new(system, tables, workers as u32);
        shared.states = before.into();
        team = team.remove(0).deal_out(workers as u32);
        team = std::thread::scope(|scope| {
            let mut team = team.into_iter();
            let own = team.next();
            let others: Vec<_> = team
                .map(|mut worker| {
                    let shared = &shared;
                    scope.spawn(move || {
                        worker.run_levels(shared, None);
                        worker
                    })
                })
                .collect();
            let own = own.map(|mut worker| {
                worker.run_levels(&shared, Some(meter));
                worker
            });
            own.into_iter().chain(others.into_iter().filter_map(|w| w.join().ok())).collect()
        });
    }
    let (goal, ended) = shared.done().unwrap_or((None, Ended::Complete));
    let ended = match goal {
        Some(goal) => Ended::Found(path(&team, goal)),
        None => ended,
    };
    meter.states = shared.states.load(Ordering::Relaxed);
    let kept = kept(system, &team).into_iter().map(|id| path(&team, id)).collect();
    Found {
        ended,
        kept,
        states: shared.states.load(Ordering::Relaxed),
        tables: shared.tables.into_inner().unwrap_or_else(PoisonError::into_inner),
    }
}

/// The rows that the system keeps, in the order of their arrival at each worker.
fn kept<S: System>(system: &S, team: &[Worker]) -> Vec<u32> {
    let mut found = Vec::new();
    let mut row = Vec::new();
    for worker in team.iter().filter(|_| system.keeps_some()) {
        for id in 0..worker.store.len() {
            worker.store.row(id, &mut row);
            if system.keeps(&row) {
                found.push(id * team.len() as u32 + worker.index);
            }
        }
    }
    found
}

/// The rows from an initial state to `goal`.
fn path(team: &[Worker], goal: u32) -> Vec<Vec<u32>> {
    let mut rows = Vec::new();
    let mut at = goal;
    while at != ROOT {
        let store = &team[at as usize % team.len()].store;
        let id = at / team.len() as u32;
        let mut row = Vec::new();
        store.row(id, &mut row);
        rows.push(row);
        at = store.note(id).parent;
    }
    rows.reverse();
    rows
}

impl<'s, S: System> Shared<'s, S> {
    fn new(system: &'s S, tables: S::Tables, workers: u32) -> Self {
        Shared {
            system,
            tables: RwLock::new(tables),
            workers,
            mail: (0..workers).map(|_| Mutex::default()).collect(),
            barrier: Barrier::new(workers as usize),
            stop: AtomicBool::new(false),
            more: AtomicBool::new(false),
            ended: Mutex::new(None),
            states: AtomicU64::new(0),
            bytes: (0..workers).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    fn end(&self, goal: Option<u32>, ended: Ended) {
        let mut slot = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        slot.get_or_insert((goal, ended));
        self.stop.store(true, Ordering::Relaxed);
    }

    fn done(&self) -> Option<(Option<u32>, Ended)> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Worker {
    fn new(index: u32, order: Order, workers: u32) -> Worker {
        Worker {
            index,
            store: Store::default(),
            cursor: 0,
            stack: Vec::new(),
            level_end: 0,
            first: 0,
            asleep: Vec::new(),
            woken: Vec::new(),
            woken_now: Vec::new(),
            out: (0..workers).map(|_| Successors::default()).collect(),
            order,
        }
    }

    fn has_more(&self) -> bool {
        let waits = match self.order {
            Order::Breadth => self.cursor < self.store.len(),
            Order::Depth => !self.stack.is_empty(),
        };
        waits || !self.woken.is_empty() || !self.woken_now.is_empty()
    }

    /// Begins a level of a breadth-first search: with all that waits, as it is now.
    fn begin_level(&mut self) {
        (self.first, self.level_end) = (self.cursor, self.store.len());
        let asleep = (self.first..self.level_end).map(|id| self.store.note(id).asleep);
        self.asleep.clear();
        self.asleep.extend(asleep);
        self.woken_now.sort_unstable();
        for (id, woken) in self.woken_now.drain(..) {
            match self.woken.last_mut() {
                Some((last, sleep)) if *last == id => sleep.awake |= woken,
                _ => {
                    let asleep = self.store.note(id).asleep;
                    self.woken.push((id, Sleep { awake: woken, asleep }));
                }
            }
        }
    }

    /// Whether something of this level has not been expanded.
    fn is_in_level(&self) -> bool {
        self.cursor < self.level_end || !self.woken.is_empty()
    }

    /// Works alone until everything is searched, the search ends, or it has become `large`.
    fn run<S: System>(
        &mut self,
        shared: &Shared<'_, S>,
        mut meter: Option<&mut Meter<'_>>,
        large: u32,
    ) {
        while self.has_more() && self.store.len() < large && !shared.stop.load(Ordering::Relaxed) {
            if self.order == Order::Depth {
                self.batch(shared, &mut meter);
                continue;
            }
            self.begin_level();
            while self.is_in_level() && !shared.stop.load(Ordering::Relaxed) {
                self.batch(shared, &mut meter);
            }
        }
    }

    /// Works level by level with the others.
    fn run_levels<S: System>(&mut self, shared: &Shared<'_, S>, mut meter: Option<&mut Meter<'_>>) {
        loop {
            self.begin_level();
            while self.is_in_level() && !shared.stop.load(Ordering::Relaxed) {
                self.batch(shared, &mut meter);
                self.post(shared, PARCEL);
                self.collect(shared);
            }
            self.post(shared, 1);
            shared.barrier.wait();
            self.collect(shared);
            if self.has_more() && !shared.stop.load(Ordering::Relaxed) {
                shared.more.store(true, Ordering::Relaxed);
            }
            shared.barrier.wait();
            let more = shared.more.load(Ordering::Relaxed);
            if shared.barrier.wait().is_leader() {
                shared.more.store(false, Ordering::Relaxed);
            }
            if !more {
                return;
            }
            // Nobody may ask for more before the leader has cleared the flag.
            shared.barrier.wait();
        }
    }

    /// Expands up to [`BATCH`] states and inserts those successors that belong here.
    fn batch<S: System>(&mut self, shared: &Shared<'_, S>, meter: &mut Option<&mut Meter<'_>>) {
        let begun = Instant::now();
        let mut row = Vec::new();
        let mut expanded = 0;
        let mut tables = shared.tables.read().unwrap_or_else(PoisonError::into_inner);
        let mut fresh = Successors::default();
        let own = self.index as usize;
        while expanded < BATCH {
            let Some((id, sleep)) = self.next() else { break };
            expanded += 1;
            self.store.row(id, &mut row);
            let goal = id * shared.workers + self.index;
            // With one worker, successors go straight to where they are inserted from.
            let out = if shared.workers == 1 { &mut self.out[own] } else { &mut fresh };
            out.parent = goal;
            let start = out.len();
            loop {
                let width = shared.system.width(&tables);
                if row.len() < width {
                    row.resize(width, 0);
                }
                match shared.system.expand(&tables, &row, sleep, out) {
                    Expanded::Done => break,
                    Expanded::Goal => {
                        shared.end(Some(goal), Ended::Complete);
                        break;
                    }
                    Expanded::Missing(missing) => {
                        out.truncate(start);
                        drop(tables);
                        let mut write =
                            shared.tables.write().unwrap_or_else(PoisonError::into_inner);
                        let resolved = shared.system.resolve(&mut write, missing);
                        drop(write);
                        tables = shared.tables.read().unwrap_or_else(PoisonError::into_inner);
                        if let Err(failure) = resolved {
                            shared.end(None, Ended::Fault(failure));
                            break;
                        }
                    }
                }
            }
            if shared.workers > 1 {
                for (row, note) in fresh.rows.chunks_exact(fresh.width.max(1)).zip(&fresh.notes) {
                    let out = &mut self.out[shard(row, shared.workers) as usize];
                    out.parent = note.parent;
                    out.push(row, note.asleep);
                }
                fresh.clear();
            }
            let waiting = self.out[own].rows.len();
            let long = expanded % 16 == 0 && begun.elapsed() > SLOW;
            if shared.stop.load(Ordering::Relaxed) || waiting > WIDE || long {
                break;
            }
        }
        let table_bytes = shared.system.bytes(&tables);
        drop(tables);
        let mut out = std::mem::take(&mut self.out[own]);
        self.insert(&out);
        out.clear();
        self.out[own] = out;
        self.report(shared, expanded, table_bytes, meter);
    }

    /// What is expanded next, and whose moves are taken.
    fn next(&mut self) -> Option<(u32, Sleep)> {
        if let Some(woken) = self.woken.pop() {
            return Some(woken);
        }
        let (id, asleep) = match self.order {
            Order::Depth => {
                let id = self.stack.pop()?;
                (id, self.store.note(id).asleep)
            }
            Order::Breadth if self.cursor < self.level_end => {
                self.cursor += 1;
                let id = self.cursor - 1;
                (id, self.asleep[(id - self.first) as usize])
            }
            Order::Breadth => return None,
        };
        Some((id, Sleep { awake: !asleep, asleep }))
    }

    fn report<S: System>(
        &self,
        shared: &Shared<'_, S>,
        expanded: usize,
        table_bytes: usize,
        meter: &mut Option<&mut Meter<'_>>,
    ) {
        shared.states.fetch_add(expanded as u64, Ordering::Relaxed);
        let waiting = self.stack.capacity() + self.asleep.capacity();
        let own = self.store.bytes_after(BATCH * 16) + waiting * 4;
        shared.bytes[self.index as usize].store(own as u64, Ordering::Relaxed);
        if let Some(meter) = meter {
            meter.states = shared.states.load(Ordering::Relaxed);
            let waiting = match self.order {
                Order::Breadth => (self.store.len() - self.cursor) * shared.workers,
                Order::Depth => self.stack.len() as u32,
            };
            let bytes: u64 = shared.bytes.iter().map(|b| b.load(Ordering::Relaxed)).sum();
            let usage = || (u64::from(waiting), bytes + table_bytes as u64);
            let mut looked = meter.long_work(usage);
            for _ in 1..expanded {
                looked = looked.and_then(|()| meter.work(usage));
            }
            if let Err(limit) = looked {
                shared.end(None, Ended::Limit(limit));
            }
        }
    }

    fn insert(&mut self, batch: &Successors) {
        let mut inserted = Vec::with_capacity(batch.len());
        self.store.insert_batch(batch.width.max(1), &batch.rows, &batch.notes, &mut |_, i| {
            inserted.push(i);
        });
        self.note_inserted(&inserted);
    }

    fn note_inserted(&mut self, inserted: &[Inserted]) {
        for &inserted in inserted {
            match inserted {
                Inserted::New(id) if self.order == Order::Depth => self.stack.push(id),
                Inserted::Woken(id, woken) if self.order == Order::Depth => {
                    let asleep = self.store.note(id).asleep;
                    self.woken.push((id, Sleep { awake: woken, asleep }));
                }
                // What is for the next level will be expanded with fewer asleep.
                Inserted::Woken(id, woken) if id < self.level_end => {
                    self.woken_now.push((id, woken));
                }
                _ => {}
            }
        }
    }

    /// Sends what waits for other workers, where it is at least `least` rows.
    fn post<S: System>(&mut self, shared: &Shared<'_, S>, least: usize) {
        for (to, out) in self.out.iter_mut().enumerate() {
            if to != self.index as usize && out.len() >= least {
                let mut mail = shared.mail[to].lock().unwrap_or_else(PoisonError::into_inner);
                for (row, note) in out.rows.chunks_exact(out.width.max(1)).zip(&out.notes) {
                    mail.parent = note.parent;
                    mail.push(row, note.asleep);
                }
                drop(mail);
                out.clear();
            }
        }
    }

    /// Inserts what others have sent.
    fn collect<S: System>(&mut self, shared: &Shared<'_, S>) {
        let mut mail =
            shared.mail[self.index as usize].lock().unwrap_or_else(PoisonError::into_inner);
        let batch = std::mem::take(&mut *mail);
        drop(mail);
        self.insert(&batch);
    }

    /// Splits this worker's states among `workers`, between two levels.
    fn deal_out(self, workers: u32) -> Vec<Worker> {
        let mut team: Vec<Worker> =
            (0..workers).map(|i| Worker::new(i, self.order, workers)).collect();
        let mut number: Vec<u32> = Vec::with_capacity(self.store.len() as usize);
        let mut row = Vec::new();
        for id in 0..self.store.len() {
            self.store.row(id, &mut row);
            let to = shard(&row, workers);
            let worker = &mut team[to as usize];
            let mut note = self.store.note(id);
            if note.parent != ROOT {
                // A parent is always older than its children.
                note.parent = number[note.parent as usize];
            }
            number.push(worker.store.len() * workers + to);
            worker.store.insert_batch(row.len(), &row, &[note], &mut |_, _| {});
            if id < self.cursor {
                worker.cursor += 1;
            }
        }
        for (id, woken) in self.woken_now {
            let at = number[id as usize];
            team[(at % workers) as usize].woken_now.push((at / workers, woken));
        }
        team
    }
}

/// The worker that a row belongs to. Fields that are 0 do not count, so that rows may grow.
fn shard(row: &[u32], workers: u32) -> u32 {
    let mut h = 0u64;
    for (i, &field) in row.iter().enumerate() {
        h ^= (u64::from(field) << 32 | (i as u64 + 1))
            .wrapping_mul(if field == 0 { 0 } else { 0x9e37_79b9_7f4a_7c15 })
            .rotate_left(23)
            .wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    ((((h >> 20) & 0xffff_ffff) * u64::from(workers)) >> 32) as u32
}
