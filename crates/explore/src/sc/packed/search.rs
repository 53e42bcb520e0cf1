//! The search itself: expand a batch of states, then probe a batch of successors.
//!
//! Breadth first, rows are expanded in the order of their arrival, level by level, so that the
//! first goal found is a nearest one. When a search has grown large, its states are dealt out to
//! one shard per worker by a hash of the row; a worker expands the states of its own shard and
//! sends the successors of others to them in batches, by its [`Outbox`]. Levels end together. Sleep
//! sets that shrink in a level matter from the next level on, so that neither the verdict nor the
//! number of states of a search that comes to its end depends on who is quicker, or on the number of
//! workers.
//!
//! Which of several goals is found, and by which way, does depend on who is quicker: numbers of local
//! states and values are given as they are met. So what several workers have found is searched for again
//! by one, from the start, and the answer is the one that it comes to. A search that finds nothing
//! costs no more for that; one that does takes as long as one worker takes to the goal in addition.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use weakspot_core::Limit;

use super::links::ROOT;
use super::outbox::{Alone, Mail, Outbox, Post, owner};
use super::shard::{Order, Shard, States, deal_out};
use super::shared::{Ended, Shared};
use super::system::{Expanded, Successors, System};
use crate::keep::Keep;
use crate::meter::Meter;
use crate::storage::Storage;
use crate::team::Team;

/// How a search goes about its work.
#[derive(Clone, Copy)]
pub(crate) struct Plan<'t> {
    pub(crate) order: Order,
    /// How many threads work at a time; one if depth first.
    pub(crate) workers: usize,
    /// With how many states a search is worth a second worker.
    pub(crate) large: u32,
    /// The processes that search together, if there are others.
    pub(crate) team: Option<&'t dyn Team>,
    /// Where the search is kept, if it is.
    pub(crate) keep: Option<&'t dyn Keep>,
    /// How states are kept, if it is not each with its row in memory.
    pub(crate) storage: Option<Storage<'t>>,
}

impl Plan<'_> {
    pub(crate) fn breadth_first(workers: usize) -> Plan<'static> {
        Plan {
            order: Order::Breadth,
            workers,
            large: 20_000,
            team: None,
            keep: None,
            storage: None,
        }
    }
}

/// A finished search.
pub(crate) struct Found<T> {
    pub(crate) ended: Ended,
    pub(crate) tables: T,
    pub(crate) states: u64,
    /// For each row that the system [keeps](System::keeps) the rows from an initial state to it.
    pub(crate) kept: Vec<Vec<Vec<u32>>>,
}

impl<T> Found<T> {
    /// Whether there is something to show, of which others may have been found as well.
    fn is_something(&self) -> bool {
        match self.ended {
            Ended::Found(_) | Ended::Fault(_) => true,
            Ended::Complete => !self.kept.is_empty(),
            Ended::Limit(_) => false,
        }
    }
}

/// States expanded before their successors are inserted: few in tests, whose searches are small.
const BATCH: usize = if cfg!(test) { 16 } else { 256 };
/// Numbers that the successors of a batch may have: wide rows make small batches.
const WIDE: usize = 1 << 20;
/// A batch that takes longer than this is cut short, so that limits are heeded.
const SLOW: Duration = Duration::from_millis(10);

/// One worker with its shard.
pub(crate) struct Worker<O, H = Shard> {
    /// The number of the worker within this process.
    thread: usize,
    pub(crate) shard: H,
    pub(crate) outbox: O,
    /// Successors that belong here.
    own: Successors,
}

/// A search between two batches: what was found, and how many states were expanded.
pub(crate) struct Standing {
    pub(crate) shards: Vec<Shard>,
    pub(crate) states: u64,
}

/// Somebody who looks at a search now and then, and when a limit ends it.
pub(crate) trait Onlooker<T>: Sync {
    /// Whether to look now.
    fn is_due(&self) -> bool;

    /// Looks.
    fn look(&self, tables: &T, standing: &Standing);
}

/// Searches from the rows in `initial`, unless a limit was reached before all of them were known.
pub(crate) fn search<S: System>(
    system: &S,
    tables: S::Tables,
    initial: Result<Successors, Limit>,
    plan: Plan<'_>,
    meter: &mut Meter<'_>,
) -> Found<S::Tables> {
    let initial = match initial {
        Ok(initial) => initial,
        Err(limit) => {
            return Found { ended: Ended::Limit(limit), tables, states: 0, kept: Vec::new() };
        }
    };
    if plan.workers == 1 {
        return go_on(system, tables, Standing::first(plan.order, initial), plan, None, meter).0;
    }
    let again = (tables.clone(), initial.clone());
    let held = initial.bytes() as u64;
    meter.held += held;
    let standing = Standing::first(plan.order, initial);
    let (mut found, workers) = go_on(system, tables, standing, plan, None, meter);
    if workers > 1 && found.is_something() {
        found = again_by_one(system, found, again, plan, meter);
    }
    meter.held -= held;
    found
}

/// What one worker finds where several have found something; what they have if it meets a limit first.
fn again_by_one<S: System>(
    system: &S,
    found: Found<S::Tables>,
    (tables, initial): (S::Tables, Successors),
    plan: Plan<'_>,
    meter: &mut Meter<'_>,
) -> Found<S::Tables> {
    let held = system.bytes(&found.tables) as u64;
    meter.held += held;
    let (standing, alone) = (Standing::first(plan.order, initial), Plan { workers: 1, ..plan });
    let (again, _) = go_on(system, tables, standing, alone, None, meter);
    meter.held -= held;
    if again.is_something() { again } else { found }
}

impl Standing {
    /// Before the first step.
    pub(crate) fn first(order: Order, mut initial: Successors) -> Standing {
        let mut shard = Shard::new(order, 1);
        initial.notes.iter_mut().for_each(|n| n.parent = ROOT);
        shard.insert(&initial);
        Standing { shards: vec![shard], states: 0 }
    }
}

/// Goes on with a search; and with how many workers it came to its end.
pub(crate) fn go_on<S: System>(
    system: &S,
    mut tables: S::Tables,
    mut standing: Standing,
    plan: Plan<'_>,
    onlooker: Option<&dyn Onlooker<S::Tables>>,
    meter: &mut Meter<'_>,
) -> (Found<S::Tables>, usize) {
    let workers = if plan.order == Order::Depth { 1 } else { plan.workers.clamp(1, 64) };
    let large = if workers > 1 { plan.large } else { u32::MAX };
    let is_due = || onlooker.is_some_and(|o| o.is_due());
    if standing.shards.len() > 1 && standing.shards.len() != workers {
        standing.deal_out(workers);
    }
    let reason = loop {
        let Standing { mut shards, states } = standing;
        let mut shared = Shared::new(system, tables, shards.len());
        shared.states = states.into();
        shared.is_due = onlooker.is_some().then_some(&is_due);
        shards = match shards.pop() {
            Some(only) if shards.is_empty() => {
                let mut first = Worker::new(0, only, Alone { large });
                first.run(&shared, Some(meter));
                vec![first.shard]
            }
            last => {
                shards.extend(last);
                by_threads(&shared, shards, meter)
            }
        };
        standing = Standing { shards, states: shared.own_states() };
        let (pause, reason, stopped) = (shared.is_pause(), shared.reason(), shared.is_stopped());
        tables = shared.into_tables();
        let at_limit = matches!(reason, Some((_, Ended::Limit(_))));
        if let Some(onlooker) = onlooker.filter(|_| pause || at_limit) {
            onlooker.look(&tables, &standing);
        }
        if pause {
            continue;
        }
        let is_large = workers > 1 && standing.shards.len() == 1 && standing.shards[0].has_more();
        if stopped || !is_large {
            break reason;
        }
        standing.deal_out(workers);
    };
    let Standing { shards: team, states } = standing;
    let mut ended = match reason {
        Some((Some(goal), Ended::Complete)) => Ended::Found(path(&team, goal)),
        Some((_, ended)) => ended,
        None => Ended::Complete,
    };
    meter.states = states;
    let (since, mut bytes) = (Instant::now(), 0);
    let mut paths = Vec::new();
    for id in kept(system, &team) {
        let rows = path(&team, id);
        bytes += rows.iter().map(|row| size_of_val(row) + size_of_val(&row[..])).sum::<usize>();
        paths.push(rows);
        if let Err(limit) = meter.telling(since, bytes as u64) {
            ended = Ended::Limit(limit);
            break;
        }
    }
    (Found { ended, kept: paths, states, tables }, team.len())
}

impl Standing {
    /// The same with another number of shards.
    pub(super) fn deal_out(&mut self, workers: usize) {
        let workers = workers as u32;
        let shards = std::mem::take(&mut self.shards);
        self.shards = deal_out(shards, workers, |row| owner(row, workers));
    }
}

/// Goes on with one thread per shard.
pub(super) fn by_threads<S: System, H: States>(
    shared: &Shared<'_, S>,
    shards: Vec<H>,
    meter: &mut Meter<'_>,
) -> Vec<H> {
    let post = Post::new(shards.len() as u32);
    let workers = shards.into_iter().enumerate();
    let mut workers = workers.map(|(i, shard)| Worker::new(i, shard, Mail::new(&post, i as u32)));
    std::thread::scope(|scope| {
        let own = workers.next();
        let others: Vec<_> = workers
            .map(|mut worker| {
                scope.spawn(move || {
                    worker.run(shared, None);
                    worker.shard
                })
            })
            .collect();
        let own = own.map(|mut worker| {
            worker.run(shared, Some(meter));
            worker.shard
        });
        own.into_iter().chain(others.into_iter().filter_map(|w| w.join().ok())).collect()
    })
}

/// The rows that the system keeps, in the order of their arrival at each worker.
fn kept<S: System>(system: &S, team: &[Shard]) -> Vec<u32> {
    let mut found = Vec::new();
    let mut row = Vec::new();
    for (index, shard) in team.iter().enumerate().filter(|_| system.keeps_some()) {
        for id in 0..shard.store.len() {
            shard.store.row(id, &mut row);
            if system.keeps(&row) {
                found.push(id * team.len() as u32 + index as u32);
            }
        }
    }
    found
}

/// The rows from an initial state to `goal`.
pub(super) fn path(team: &[Shard], goal: u32) -> Vec<Vec<u32>> {
    let mut rows = Vec::new();
    let mut at = goal;
    // A search that was damaged where it was kept might go round in circles.
    let most: usize = team.iter().map(|shard| shard.store.len() as usize).sum();
    while at != ROOT && rows.len() <= most {
        let (row, parent) = team[at as usize % team.len()].state(at / team.len() as u32);
        rows.push(row);
        at = parent;
    }
    rows.reverse();
    rows
}

impl<O, H: States> Worker<O, H> {
    pub(crate) fn new(thread: usize, shard: H, outbox: O) -> Worker<O, H> {
        Worker { thread, shard, outbox, own: Successors::default() }
    }

    /// Works until everything is searched or the search ends.
    pub(crate) fn run<S: System>(
        &mut self,
        shared: &Shared<'_, S>,
        mut meter: Option<&mut Meter<'_>>,
    ) where
        O: Outbox<S, H>,
    {
        if self.shard.is_depth_first() {
            while self.shard.has_more() && !shared.is_stopped() {
                self.batch(shared, &mut meter);
            }
            return;
        }
        loop {
            let mut expanded = 0;
            // A search that goes on may be in the middle of a level.
            if !*self.shard.in_level() {
                self.shard.begin_level();
            }
            while self.shard.is_in_level() && !shared.is_stopped() {
                expanded += self.batch(shared, &mut meter) as u64;
                self.outbox.exchange(shared, &mut self.shard);
            }
            self.outbox.end_level(shared, &mut self.shard, expanded);
            let goes_on = loop {
                match self.outbox.goes_on(shared, &mut self.shard) {
                    Some(goes_on) => break goes_on,
                    None => self.report(shared, 0, &mut meter),
                }
            };
            if (goes_on || !shared.is_stopped()) && !self.outbox.stays() {
                *self.shard.in_level() = false;
            }
            if !goes_on {
                return;
            }
        }
    }

    /// Expands up to [`BATCH`] states and inserts those successors that belong here. How many states
    /// were expanded.
    fn batch<S: System>(
        &mut self,
        shared: &Shared<'_, S>,
        meter: &mut Option<&mut Meter<'_>>,
    ) -> usize
    where
        O: Outbox<S, H>,
    {
        let begun = Instant::now();
        let mut row = Vec::new();
        let mut expanded = 0;
        let mut tables = shared.tables.read().unwrap_or_else(PoisonError::into_inner);
        let mut fresh = Successors::default();
        let (workers, index) = self.outbox.place();
        // Names of states have 32 bits; what comes of this batch has to fit as well.
        if self.shard.len() > u32::MAX / workers / 16 * 15 {
            shared.end(None, Ended::Limit(Limit::Memory(self.shard.bytes_after(0) as u64)));
            return 0;
        }
        while expanded < BATCH {
            let Some((id, sleep)) = self.shard.next(&mut row) else { break };
            expanded += 1;
            let state = id * workers + index;
            // With one worker, successors go straight to where they are inserted from.
            let out = if O::ALONE { &mut self.own } else { &mut fresh };
            out.parent = state;
            let start = out.len();
            loop {
                let width = shared.system.width(&tables);
                if row.len() < width {
                    row.resize(width, 0);
                }
                match shared.system.expand(&tables, &row, sleep, out) {
                    Expanded::Done => break,
                    Expanded::Goal => {
                        shared.end(Some(state), Ended::Complete);
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
                            shared.end(Some(state), Ended::Fault(failure));
                            break;
                        }
                    }
                }
            }
            if !O::ALONE {
                self.outbox.sort(shared, &tables, &fresh, &mut self.own);
                fresh.clear();
            }
            let long = expanded % 16 == 0 && begun.elapsed() > SLOW;
            if shared.is_stopped() || self.own.rows.len() > WIDE || long {
                break;
            }
        }
        drop(tables);
        self.shard.insert(&self.own);
        self.own.clear();
        self.report(shared, expanded, meter);
        expanded
    }

    /// Tells the others how far this worker is, and looks at the limits.
    pub(crate) fn report<S: System>(
        &self,
        shared: &Shared<'_, S>,
        expanded: usize,
        meter: &mut Option<&mut Meter<'_>>,
    ) where
        O: Outbox<S, H>,
    {
        shared.states.fetch_add(expanded as u64, Ordering::Relaxed);
        let own = self.shard.bytes_after(BATCH * 16) + self.outbox.bytes();
        shared.bytes[self.thread].store(own as u64, Ordering::Relaxed);
        if let Some(meter) = meter {
            meter.states = shared.states();
            let waiting = self.shard.waiting() as u64 * u64::from(self.outbox.place().0);
            meter.kept = u64::from(self.shard.kept()) * u64::from(self.outbox.place().0);
            let tables = shared.tables.read().unwrap_or_else(PoisonError::into_inner);
            let table_bytes = shared.system.bytes(&tables) as u64;
            drop(tables);
            let bytes: u64 = shared.bytes.iter().map(|b| b.load(Ordering::Relaxed)).sum();
            let usage = || (waiting, bytes + table_bytes);
            let mut looked = meter.long_work(usage);
            for _ in 1..expanded {
                looked = looked.and_then(|()| meter.work(usage));
            }
            if let Err(limit) = looked {
                shared.end(None, Ended::Limit(limit));
            }
            shared.pause_if_due(bytes + table_bytes);
        }
    }
}
