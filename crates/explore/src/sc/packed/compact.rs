//! The search that keeps a hash of each state, see [`Hashes`]; rows are there as long as they wait to be
//! expanded.
//!
//! States are numbered in the order of their arrival, as always, and for each number it is kept which one it
//! was found from, and eight bits of its hash. So the way to what was found is a chain of numbers, and its
//! rows are found again from the initial ones: of all moves that the program has, those are followed that have these
//! bits. A wrong row is soon left without a successor; one that is not is another way, as good.

use rustc_hash::FxHashMap;
use weakspot_core::{Limit, Omission};

use super::hashes::{Hashes, Met, hash_of};
use super::links::{Links, ROOT};
use super::outbox::{Alone, owner};
use super::queue::Queue;
use super::search::{Found, Plan, Worker, by_threads, path};
use super::shard::{Order, Shard, States};
use super::shared::{Ended, Shared};
use super::system::{Sleep, Successors, System};
use crate::meter::Meter;

/// A system whose moves can be looked at again, one by one.
pub(crate) trait Retraced: System {
    /// All rows that a search may have had behind this one, whatever it left out.
    fn next_rows(&self, tables: &mut Self::Tables, row: &[u32]) -> Next;
}

/// What is behind a row.
pub(crate) enum Next {
    /// What is looked for is here, or one step from here.
    Goal,
    Rows(Vec<Vec<u32>>),
}

/// The states of one worker.
pub(crate) struct Compact {
    hashes: Hashes,
    /// Per number the state that it was found from, and bits of its hash. A state that is expanded again
    /// because threads have woken up there has another number then.
    links: Links,
    checks: Vec<u8>,
    /// What was found in this level, and the number of the first of them.
    found: Queue,
    first: u32,
    /// What is expanded in this level, the number of the next, and who was asleep there when the level began.
    level: Queue,
    number: u32,
    asleep: std::vec::IntoIter<u32>,
    /// States some of whose threads have woken up in this level: for each row who has, and the state that it was
    /// found again from; and where the row with a hash is.
    woken: Queue,
    woken_notes: Vec<(u32, u32)>,
    woken_at: FxHashMap<u64, u32>,
    /// What is expanded again in this level.
    again: Queue,
    again_notes: std::vec::IntoIter<(u32, Sleep)>,
    in_level: bool,
}

impl Compact {
    fn new(bits: u32, workers: u32) -> Compact {
        Compact {
            hashes: Hashes::new(bits),
            links: Links::new(workers),
            checks: Vec::new(),
            found: Queue::new(),
            first: 0,
            level: Queue::new(),
            number: 0,
            asleep: Vec::new().into_iter(),
            woken: Queue::new(),
            woken_notes: Vec::new(),
            woken_at: FxHashMap::default(),
            again: Queue::new(),
            again_notes: Vec::new().into_iter(),
            in_level: false,
        }
    }

    /// The next number is of a state with this hash.
    fn name(&mut self, hash: u64, parent: u32) {
        self.links.push(parent);
        if self.checks.len() == self.checks.capacity() {
            self.checks.reserve_exact(1024 + self.checks.len() / 8);
        }
        self.checks.push(hash as u8);
    }

    fn insert_row(&mut self, row: &[u32], parent: u32, asleep: u32) {
        let hash = hash_of(row);
        match self.hashes.insert(hash, asleep) {
            Met::New => {
                self.name(hash, parent);
                self.found.push(row);
            }
            Met::Woken(0) => {}
            Met::Woken(threads) => self.wake(row, hash, (threads, parent)),
        }
    }

    /// These threads have woken up in a state. If it is found again several times, it is expanded again once.
    fn wake(&mut self, row: &[u32], hash: u64, (threads, parent): (u32, u32)) {
        let new = self.woken_notes.len() as u32;
        let at = *self.woken_at.entry(hash).or_insert(new);
        if at == new {
            self.woken.push(row);
            self.woken_notes.push((threads, parent));
        } else {
            self.woken_notes[at as usize].0 |= threads;
        }
    }
}

impl States for Compact {
    fn len(&self) -> u32 {
        self.links.len()
    }

    fn kept(&self) -> u32 {
        self.hashes.len()
    }

    fn has_more(&self) -> bool {
        self.waiting() > 0
    }

    fn waiting(&self) -> usize {
        self.level.len() + self.found.len() + self.again_notes.len() + self.woken_notes.len()
    }

    fn bytes_after(&self, _: usize) -> usize {
        self.hashes.bytes()
            + self.links.bytes()
            + self.checks.capacity()
            + self.level.bytes()
            + self.found.bytes()
            + self.asleep.len() * 4
            + self.woken.bytes()
            + self.again.bytes()
            + self.again_notes.len() * size_of::<(u32, Sleep)>()
            + self.woken_notes.capacity() * size_of::<(u32, u32)>()
            + self.woken_at.capacity() * 2 * size_of::<(u64, u32)>()
    }

    fn in_level(&mut self) -> &mut bool {
        &mut self.in_level
    }

    fn begin_level(&mut self) {
        self.in_level = true;
        let another = self.found.another();
        self.level = std::mem::replace(&mut self.found, another);
        self.number = self.first;
        let Compact { hashes, level, .. } = self;
        let mut asleep = Vec::with_capacity(level.len());
        level.for_each(|row| asleep.push(hashes.begin(hash_of(row))));
        self.asleep = asleep.into_iter();
        let another = self.woken.another();
        self.again = std::mem::replace(&mut self.woken, another);
        self.woken_at = FxHashMap::default();
        let mut found = Vec::with_capacity(self.again.len());
        self.again.for_each(|row| found.push(hash_of(row)));
        let notes = std::mem::take(&mut self.woken_notes).into_iter().zip(found);
        let mut again = Vec::with_capacity(notes.len());
        for ((awake, parent), hash) in notes {
            again.push((self.len(), Sleep { awake, asleep: self.hashes.begin(hash) }));
            self.name(hash, parent);
        }
        self.again_notes = again.into_iter();
        self.first = self.len();
    }

    fn is_in_level(&self) -> bool {
        self.level.len() + self.again_notes.len() > 0
    }

    fn next(&mut self, row: &mut Vec<u32>) -> Option<(u32, Sleep)> {
        if self.again.pop(row) {
            return self.again_notes.next();
        }
        if !self.level.pop(row) {
            return None;
        }
        let asleep = self.asleep.next().unwrap_or(0);
        self.number += 1;
        Some((self.number - 1, Sleep { awake: !asleep, asleep }))
    }

    fn insert(&mut self, batch: &Successors) {
        for (row, parent, asleep) in batch.each() {
            self.insert_row(row, parent, asleep);
        }
    }
}

/// Searches from the rows in `initial`, with hashes of so many bits. Small searches keep all of their rows.
/// If it comes to its end then, that is [no proof](Limit::Hashes).
pub(crate) fn search_compact<S: Retraced>(
    system: &S,
    tables: S::Tables,
    initial: Successors,
    (plan, bits): (Plan<'_>, u32),
    meter: &mut Meter<'_>,
) -> Found<S::Tables> {
    let mut shard = Shard::new(Order::Breadth, 1);
    let mut first = Successors::default();
    initial.each().for_each(|(row, _, asleep)| first.push_of(ROOT, row, asleep));
    shard.insert(&first);
    let mut shared = Shared::new(system, tables, 1);
    let mut small = Worker::new(0, shard, Alone { large: plan.large });
    small.run(&shared, Some(meter));
    let shard = small.shard;
    let mut states = shared.own_states();
    if shared.reason().is_some() || !shard.has_more() {
        let ended = match shared.reason() {
            Some((Some(goal), Ended::Complete)) => Ended::Found(path(&[shard], goal)),
            Some((_, ended)) => ended,
            None => Ended::Complete,
        };
        return Found { ended, tables: shared.into_tables(), states, kept: Vec::new() };
    }
    let workers = plan.workers.clamp(1, 64);
    shared = Shared::new(system, shared.into_tables(), workers);
    shared.states = states.into();
    let mut team = deal_out(&shard, bits, workers as u32);
    drop(shard);
    team = match <[Compact; 1]>::try_from(team) {
        Ok([only]) => {
            let mut only = Worker::new(0, only, Alone { large: u32::MAX });
            only.run(&shared, Some(meter));
            vec![only.shard]
        }
        Err(team) => by_threads(&shared, team, meter),
    };
    states = shared.own_states();
    meter.states = states;
    let reason = shared.reason();
    let mut tables = shared.into_tables();
    let ended = match reason {
        Some((Some(goal), Ended::Complete)) => {
            // The way there was not lost; that it is not found again would be a defect, which whoever makes a run
            // of no rows notices.
            let rows = retraced(system, &mut tables, &first, &team, goal);
            Ended::Found(rows.unwrap_or_default())
        }
        Some((_, ended)) => ended,
        None => {
            let kept = team.iter().map(|shard| u64::from(shard.hashes.len())).sum();
            Ended::Limit(Limit::Hashes(Omission { states: kept, bits }))
        }
    };
    Found { ended, tables, states, kept: Vec::new() }
}

/// Deals the states of a search between two levels out to workers.
fn deal_out(shard: &Shard, bits: u32, workers: u32) -> Vec<Compact> {
    let mut team: Vec<Compact> = (0..workers).map(|_| Compact::new(bits, workers)).collect();
    let (mut row, mut names) = (Vec::new(), Vec::new());
    for id in 0..shard.store.len() {
        shard.store.row(id, &mut row);
        let to = owner(&row, workers);
        names.push(team[to as usize].len() * workers + to);
        let parent = match shard.store.parent(id) {
            ROOT => ROOT,
            parent => names[parent as usize],
        };
        let to = &mut team[to as usize];
        let hash = hash_of(&row);
        to.hashes.insert(hash, shard.store.asleep(id));
        to.name(hash, parent);
        match id < shard.cursor {
            true => {
                to.hashes.begin(hash);
                to.first = to.len();
            }
            false => to.found.push(&row),
        }
    }
    for &(id, threads) in &shard.woken_now {
        shard.store.row(id, &mut row);
        let to = &mut team[owner(&row, workers) as usize];
        let parent = match shard.store.parent(id) {
            ROOT => ROOT,
            parent => names[parent as usize],
        };
        to.wake(&row, hash_of(&row), (threads, parent));
    }
    team
}

/// So many rows are looked at for the way to what was found.
const MOST_LOOKS: usize = 1 << 20;

/// The rows from an initial one to `goal`, found again.
fn retraced<S: Retraced>(
    system: &S,
    tables: &mut S::Tables,
    initial: &Successors,
    team: &[Compact],
    goal: u32,
) -> Option<Vec<Vec<u32>>> {
    let mut checks = Vec::new();
    let mut at = goal;
    while at != ROOT {
        let (shard, number) = (&team[at as usize % team.len()], at / team.len() as u32);
        checks.push(shard.checks[number as usize]);
        at = shard.links.parent(number);
    }
    checks.reverse();
    let fits = |row: &[u32], depth: usize| hash_of(row) as u8 == checks[depth];
    // Depth first: rows that may follow those before them.
    let first = initial.each().map(|(row, ..)| row.to_vec()).filter(|row| fits(row, 0));
    let mut open: Vec<Vec<Vec<u32>>> = vec![first.collect()];
    let mut way: Vec<Vec<u32>> = Vec::new();
    for _ in 0..MOST_LOOKS {
        let depth = open.len() - 1;
        way.truncate(depth);
        let Some(row) = open.last_mut()?.pop() else {
            open.pop();
            continue;
        };
        let next = system.next_rows(tables, &row);
        way.push(row);
        match next {
            Next::Goal => return Some(way),
            Next::Rows(mut rows) if depth + 1 < checks.len() => {
                rows.retain(|row| fits(row, depth + 1));
                open.push(rows);
            }
            Next::Rows(_) => {}
        }
    }
    None
}
