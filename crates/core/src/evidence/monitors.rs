//! The monitors by definition: could TSO or PSO have let an access of this SC execution take effect
//! before a store that happens before it?
//!
//! Figs. 4 and 5 of the monitoring paper with explicit buffers of pending stores. Each store stays
//! in the buffer of its thread until another thread accesses what it wrote, or until its own
//! thread does something that waits for it. An access that finds a store of another thread still
//! pending, although the store happens before the thread's previous event, could have been first.
//!
//! Beyond the paper: fences, starts and joins of threads, store-store fences, locations that
//! overlap, and both readings of updates under PSO. Line 6 has the two [`Form`]s in which it was
//! published.
//!
//! Written to be compared with: an event may take time linear in all that is pending.

use std::collections::BTreeMap;

use crate::{DelayedCommit, Drain, LogEvent, LogKind, LogTables, Model};

/// Which pending stores to the accessed location are looked at. Both forms are complete: what one
/// finds on some execution of a program, the other finds on some execution, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// All of them, as in the paper.
    All,
    /// Of each thread only the last one, as in the longer report that came before the paper.
    Last,
}

/// An access that could have taken effect before a store that happens before it. All are places
/// in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Report {
    /// The pending store.
    pub store: usize,
    /// The access.
    pub access: usize,
    /// What the thread of the access did just before (transactions aside), or who started it.
    pub previous: Option<usize>,
}

/// All reports about a log, by access and then by store. A log with commits is not one of an SC
/// execution: nothing from the first commit on is looked at.
#[must_use]
pub fn reports(events: &[LogEvent], tables: &LogTables, model: Model, form: Form) -> Vec<Report> {
    let mut found = Vec::new();
    simulate(events, tables, model, |pending, clocks, previous, access| {
        let event = &events[access];
        let before = found.len();
        for (&thread, stores) in pending {
            let hit = |s: &&Store| thread != event.thread && tables.overlap(s.loc, event.loc);
            let seen = |s: &&Store| clocks.contains(event.thread, thread, s.count);
            let report = |s: &Store| {
                let previous = previous.get(&event.thread).copied();
                Report { store: s.place, access, previous }
            };
            match form {
                Form::All => found.extend(stores.iter().filter(hit).filter(seen).map(report)),
                Form::Last => {
                    found.extend(stores.iter().rev().find(hit).filter(seen).map(report));
                }
            }
        }
        found[before..].sort_unstable();
    });
    found
}

/// The commits that the monitor for `model` emits: each store reaches memory as late as it can
/// without anybody noticing. Stores that stay pending to the end of the log have none.
#[must_use]
pub fn emitted(events: &[LogEvent], tables: &LogTables, model: Model) -> Vec<DelayedCommit> {
    simulate(events, tables, model, |_, _, _, _| {})
}

/// A pending store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Store {
    /// Its place in the log.
    place: usize,
    /// The number of its event in its thread, from 1.
    count: usize,
    loc: u32,
    /// How many store-store fences of its thread come before it.
    fences: usize,
}

/// Per thread its pending stores in program order.
type Pending = BTreeMap<u16, Vec<Store>>;

/// Per thread the place of what counts as its previous event.
type Previous = BTreeMap<u16, usize>;

/// Plays the log on the simulated buffers. `check` is called for each access, just before stores
/// are committed for it.
fn simulate(
    events: &[LogEvent],
    tables: &LogTables,
    model: Model,
    mut check: impl FnMut(&Pending, &Clocks, &Previous, usize),
) -> Vec<DelayedCommit> {
    let mut clocks = Clocks::default();
    let mut pending = Pending::new();
    let mut previous = Previous::new();
    let mut fences: BTreeMap<u16, usize> = BTreeMap::new();
    let mut emitted = Vec::new();
    for (place, event) in events.iter().enumerate() {
        let own = event.thread;
        if event.kind == LogKind::Commit {
            break;
        }
        if event.kind.is_access() {
            check(&pending, &clocks, &previous, place);
            let others: Vec<u16> = pending.keys().copied().filter(|&q| q != own).collect();
            for other in others {
                let wanted = |s: &Store| tables.overlap(s.loc, event.loc);
                commit(&mut pending, tables, other, model, place, &mut emitted, wanted);
            }
        }
        let passed = fences.entry(own).or_insert(0);
        match event.kind {
            LogKind::Update | LogKind::Acquire | LogKind::Release => {
                let all = model != Model::Pso(Drain::Own);
                let wanted =
                    |s: &Store| all || tables.overlap(s.loc, event.loc) || s.fences < *passed;
                commit(&mut pending, tables, own, model, place, &mut emitted, wanted);
            }
            LogKind::Fence | LogKind::Spawn => {
                commit(&mut pending, tables, own, model, place, &mut emitted, |_| true);
            }
            LogKind::Join => {
                if let Ok(child) = u16::try_from(event.loc) {
                    commit(&mut pending, tables, child, model, place, &mut emitted, |_| true);
                }
            }
            LogKind::StoreFence => *passed += 1,
            LogKind::Read | LogKind::Write | LogKind::Begin | LogKind::End | LogKind::Commit => {}
        }
        let count = clocks.happens(event, tables);
        if event.kind == LogKind::Write && model != Model::Sc {
            let (loc, fences) = (event.loc, *passed);
            let store = Store { place, count, loc, fences };
            pending.entry(own).or_default().push(store);
        }
        if !matches!(event.kind, LogKind::Begin | LogKind::End) {
            previous.insert(own, place);
        }
        if event.kind == LogKind::Spawn
            && let Ok(child) = u16::try_from(event.loc)
        {
            previous.insert(child, place);
        }
    }
    emitted
}

/// Commits the `wanted` stores of a thread, and those that have to reach memory before one of
/// them, in program order.
fn commit(
    pending: &mut Pending,
    tables: &LogTables,
    thread: u16,
    model: Model,
    before: usize,
    emitted: &mut Vec<DelayedCommit>,
    wanted: impl Fn(&Store) -> bool,
) {
    let stores = pending.entry(thread).or_default();
    let goes_before = |first: &Store, second: &Store| match model {
        Model::Sc | Model::Tso => true,
        Model::Pso(_) => first.fences < second.fences || tables.overlap(first.loc, second.loc),
    };
    // Youngest first, so that what has to wait for a store is known when its turn comes.
    let mut goes: Vec<Store> = Vec::new();
    for store in stores.iter().rev() {
        if wanted(store) || goes.iter().any(|later| goes_before(store, later)) {
            goes.push(*store);
        }
    }
    stores.retain(|store| !goes.contains(store));
    let commit = |store: &Store| DelayedCommit { before, thread, loc: store.loc };
    emitted.extend(goes.iter().rev().map(commit));
}

/// For each thread how many of its events it is about; threads that are not mentioned have none.
type Clock = BTreeMap<u16, usize>;

/// Happens-before, as vector clocks that count all events of a thread.
#[derive(Default)]
struct Clocks {
    threads: BTreeMap<u16, Clock>,
    /// Per location what happens before, or is, a write to it.
    writes: BTreeMap<u32, Clock>,
    /// Per location what happens before, or is, a read of it.
    reads: BTreeMap<u32, Clock>,
}

impl Clocks {
    /// Whether the `count`-th event of `other` happens before the next event of `thread`, by way
    /// of an event of `thread` or of its start.
    fn contains(&self, thread: u16, other: u16, count: usize) -> bool {
        self.threads.get(&thread).and_then(|clock| clock.get(&other)).is_some_and(|&n| n >= count)
    }

    /// Lets an event happen. Returns its number in its thread.
    fn happens(&mut self, event: &LogEvent, tables: &LogTables) -> usize {
        let mut clock = self.threads.remove(&event.thread).unwrap_or_default();
        if event.kind.is_access() {
            let touches = |loc: &u32| tables.overlap(*loc, event.loc);
            for (_, write) in self.writes.iter().filter(|(loc, _)| touches(loc)) {
                join(&mut clock, write);
            }
            for (_, read) in self.reads.iter().filter(|(loc, _)| touches(loc)) {
                if event.kind.writes() {
                    join(&mut clock, read);
                }
            }
        }
        let other = u16::try_from(event.loc).ok().filter(|&other| other != event.thread);
        if event.kind == LogKind::Join
            && let Some(child) = other.and_then(|child| self.threads.get(&child))
        {
            join(&mut clock, child);
        }
        let count = clock.entry(event.thread).or_insert(0);
        *count += 1;
        let count = *count;
        if event.kind == LogKind::Spawn
            && let Some(child) = other
        {
            join(self.threads.entry(child).or_default(), &clock);
        }
        if event.kind.is_access() {
            let kept = if event.kind.writes() { &mut self.writes } else { &mut self.reads };
            join(kept.entry(event.loc).or_default(), &clock);
        }
        self.threads.insert(event.thread, clock);
        count
    }
}

fn join(clock: &mut Clock, other: &Clock) {
    for (&thread, &count) in other {
        let mine = clock.entry(thread).or_insert(0);
        *mine = (*mine).max(count);
    }
}
