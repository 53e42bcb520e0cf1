//! The search that puts states into files when there are more than there is room for.
//!
//! Breadth first with delayed duplicate detection (Korf, "Linear-time disk-based implicit graph search", JACM
//! 2008): states are dealt out to [`SHARDS`] shards by a hash, as to workers, but there are more shards than
//! workers, and a shard is in memory while a worker has it, or as long as there is room. In each level each
//! shard has its turn once: what others have found for it in the last level is inserted, its states are expanded, and
//! successors that belong to others go to the files that these will read in the next level. So whether
//! a successor is new is known a level later, and everything else is as with workers: same verdict, same counts.
//!
//! Cost: a level reads and writes all shards that do not stay in memory.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::links::ROOT;
use super::outbox::{Alone, Outbox, owner};
use super::search::{Found, Plan, Standing, Worker, by_threads, path};
use super::shard::{Shard, States, dealt, names};
use super::shared::{Ended, Shared};
use super::system::{Successors, System};
use crate::answer::NoAnswer;
use crate::keep::{In, NotKept, Out};
use crate::meter::Meter;
use crate::storage::Scratch;

/// How many shards there are. One of them has to fit memory, with what else is there.
const SHARDS: u32 = if cfg!(test) { 7 } else { 64 };
/// Shards that are made at a time when states are first put into files.
const AT_A_TIME: u32 = 8;
/// States go to files when so many parts of the memory are in use, and shards stay in memory as long as so many
/// quarters are. In tests, all of them go, and some stay.
const ENOUGH: u64 = if cfg!(test) { 64 } else { 3 };
const QUARTERS: u64 = if cfg!(test) { 1 } else { 3 };
/// Rows that are inserted at a time.
const BATCH: usize = 2048;

/// Searches from the rows in `initial`, with files where memory is not enough.
pub(crate) fn search_on_disk<S: System>(
    system: &S,
    mut tables: S::Tables,
    initial: Successors,
    (plan, scratch): (Plan<'_>, &dyn Scratch),
    meter: &mut Meter<'_>,
) -> Result<Found<S::Tables>, NoAnswer> {
    let most = meter.memory().unwrap_or(u64::MAX);
    let workers = plan.workers.clamp(1, 64);
    let large = if workers > 1 { plan.large } else { u32::MAX };
    let mut standing = Standing::first(plan.order, initial);
    // As long as there is room, as always.
    loop {
        let Standing { mut shards, states } = standing;
        let mut shared = Shared::new(system, tables, shards.len());
        (shared.states, shared.enough) = (states.into(), most / ENOUGH);
        shards = match <[Shard; 1]>::try_from(shards) {
            Ok([only]) => {
                let mut only = Worker::new(0, only, Alone { large });
                only.run(&shared, Some(meter));
                vec![only.shard]
            }
            Err(shards) => by_threads(&shared, shards, meter),
        };
        standing = Standing { shards, states: shared.own_states() };
        let (pause, reason) = (shared.is_pause(), shared.reason());
        tables = shared.into_tables();
        if pause {
            break;
        }
        let is_large = workers > 1 && standing.shards.len() == 1 && standing.shards[0].has_more();
        if reason.is_none() && is_large {
            standing.deal_out(workers);
            continue;
        }
        let ended = match reason {
            Some((Some(goal), Ended::Complete)) => Ended::Found(path(&standing.shards, goal)),
            Some((_, ended)) => ended,
            None => Ended::Complete,
        };
        meter.states = standing.states;
        return Ok(Found { ended, tables, states: standing.states, kept: Vec::new() });
    }
    let failed = |error: &io::Error| NoAnswer::NotStored(scratch.say(error));
    let mut shared = Shared::new(system, tables, workers + 1);
    shared.states = standing.states.into();
    let depot = Depot::new(scratch, (most, workers), standing).map_err(|e| failed(&e))?;
    while !shared.is_stopped() && depot.level(&shared, meter) {}
    if let Some(error) = lock(&depot.failed).take() {
        return Err(failed(&error));
    }
    let states = shared.own_states();
    meter.states = states;
    let ended = match shared.reason() {
        Some((Some(goal), Ended::Complete)) => {
            Ended::Found(depot.path(goal).map_err(|e| failed(&e))?)
        }
        Some((_, ended)) => ended,
        None => Ended::Complete,
    };
    Ok(Found { ended, tables: shared.into_tables(), states, kept: Vec::new() })
}

/// All shards, in memory or not, and what is on its way to them.
struct Depot<'d> {
    scratch: &'d dyn Scratch,
    workers: usize,
    /// The bytes that may be in use, and those of shards that wait in memory.
    most: u64,
    waiting: AtomicU64,
    /// The largest shard so far.
    largest: AtomicU64,
    places: Vec<Mutex<Place>>,
    /// What is for the shards in the level after this one, and in this one.
    next: Vec<Mutex<Mail>>,
    now: Vec<Mutex<Mail>>,
    /// The bytes that a box may have in memory.
    room: usize,
    failed: Mutex<Option<io::Error>>,
}

/// Where a shard is when nobody has it.
#[derive(Default)]
struct Place {
    shard: Option<Shard>,
    file: Option<File>,
    /// Whether it has something to do without news from others.
    has_more: bool,
}

/// Rows on their way to a shard: the first are in the file.
#[derive(Default)]
struct Mail {
    file: Option<File>,
    bytes: Vec<u8>,
    count: u64,
}

impl<'d> Depot<'d> {
    /// Puts a search there.
    fn new(
        scratch: &'d dyn Scratch,
        (most, workers): (u64, usize),
        standing: Standing,
    ) -> io::Result<Depot<'d>> {
        let mail = || (0..SHARDS).map(|_| Mutex::default()).collect();
        let depot = Depot {
            scratch,
            workers,
            most,
            waiting: AtomicU64::new(0),
            largest: AtomicU64::new(0),
            places: (0..SHARDS).map(|_| Mutex::default()).collect(),
            next: mail(),
            now: mail(),
            room: (most / 16 / u64::from(SHARDS)).min(1 << 20) as usize,
            failed: Mutex::new(None),
        };
        let shards = standing.shards;
        let names = names(&shards, SHARDS, |row| owner(row, SHARDS));
        // The states are there twice until the last are dealt out, so nothing stays in memory.
        for first in (0..SHARDS).step_by(AT_A_TIME as usize) {
            let which = first..SHARDS.min(first + AT_A_TIME);
            for (i, shard) in which.clone().zip(dealt(&shards, &names, SHARDS, which)) {
                depot.put(i as usize, shard, false)?;
            }
        }
        Ok(depot)
    }

    /// One level of the search. Whether there was anything to do.
    fn level<S: System>(&self, shared: &Shared<'_, S>, meter: &mut Meter<'_>) -> bool {
        for (now, next) in self.now.iter().zip(&self.next) {
            std::mem::swap(&mut *lock(now), &mut *lock(next));
        }
        let (turn, worked) = (AtomicUsize::new(0), AtomicBool::new(false));
        let work = |thread: usize, mut meter: Option<&mut Meter<'_>>| {
            while !shared.is_stopped() {
                let index = turn.fetch_add(1, Ordering::Relaxed);
                if index >= SHARDS as usize {
                    return;
                }
                match self.turn(shared, (thread, index), meter.as_deref_mut()) {
                    Ok(false) => {}
                    Ok(true) => worked.store(true, Ordering::Relaxed),
                    Err(error) => self.fail(shared, error),
                }
            }
        };
        std::thread::scope(|scope| {
            for thread in 1..self.workers {
                scope.spawn(move || work(thread, None));
            }
            work(0, Some(meter));
        });
        worked.into_inner()
    }

    fn fail<S: System>(&self, shared: &Shared<'_, S>, error: io::Error) {
        lock(&self.failed).get_or_insert(error);
        shared.stop();
    }

    /// The turn of a shard in a level. Whether it had anything to do.
    fn turn<S: System>(
        &self,
        shared: &Shared<'_, S>,
        (thread, index): (usize, usize),
        meter: Option<&mut Meter<'_>>,
    ) -> io::Result<bool> {
        let mut mail = lock(&self.now[index]);
        if mail.count == 0 && !lock(&self.places[index]).has_more {
            return Ok(false);
        }
        let mut shard = self.take(index)?;
        mail.read(|rows| shard.insert(rows))?;
        drop(mail);
        let mut worker = Worker::new(thread, shard, Turn { depot: self, index });
        worker.run(shared, meter);
        self.put(index, worker.shard, true)?;
        shared.bytes[thread].store(0, Ordering::Relaxed);
        shared.bytes[self.workers].store(self.bytes(), Ordering::Relaxed);
        Ok(true)
    }

    /// The bytes of what waits in memory.
    fn bytes(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed) + (2 * self.room * SHARDS as usize) as u64
    }

    /// Takes a shard out.
    fn take(&self, index: usize) -> io::Result<Shard> {
        let mut place = lock(&self.places[index]);
        match place.shard.take() {
            Some(shard) => {
                self.waiting.fetch_sub(shard.bytes_after(0) as u64, Ordering::Relaxed);
                Ok(shard)
            }
            None => place.load(),
        }
    }

    /// Puts a shard back, into memory if there is room and it may stay there.
    fn put(&self, index: usize, mut shard: Shard, may_stay: bool) -> io::Result<()> {
        shard.forget();
        let bytes = shard.bytes_after(0) as u64;
        let largest = self.largest.fetch_max(bytes, Ordering::Relaxed).max(bytes);
        let mut place = lock(&self.places[index]);
        // A level that was begun has to be ended.
        place.has_more = shard.has_more() || shard.in_level;
        // Each worker has a shard, which grows.
        let needed = self.bytes() + bytes + largest * 3 / 2 * self.workers as u64;
        if may_stay && needed < self.most / 4 * QUARTERS {
            self.waiting.fetch_add(bytes, Ordering::Relaxed);
            place.shard = Some(shard);
            return Ok(());
        }
        let file = match &mut place.file {
            Some(file) => file,
            none => none.insert(self.scratch.file()?),
        };
        file.rewind()?;
        let mut out = Out::new(file);
        shard.save(&mut out);
        out.end()?;
        let end = file.stream_position()?;
        file.set_len(end)
    }

    /// The rows from an initial state to `goal`.
    fn path(&self, goal: u32) -> io::Result<Vec<Vec<u32>>> {
        let mut rows = Vec::new();
        let mut at = goal;
        while at != ROOT {
            let mut place = lock(&self.places[(at % SHARDS) as usize]);
            let (row, parent) = match &place.shard {
                Some(shard) => shard.state(at / SHARDS),
                None => place.load()?.state(at / SHARDS),
            };
            rows.push(row);
            at = parent;
        }
        rows.reverse();
        Ok(rows)
    }
}

impl Place {
    /// Reads the shard from its file.
    fn load(&mut self) -> io::Result<Shard> {
        let file = self.file.as_mut().ok_or(io::ErrorKind::NotFound)?;
        file.rewind()?;
        Shard::load(&mut In::new(file), SHARDS).map_err(read_error)
    }
}

impl Mail {
    fn push(&mut self, row: &[u32], parent: u32, asleep: u32) {
        // Fields that a row does not have count as 0, but it has one.
        let len = row.iter().rposition(|&field| field != 0).map_or(1, |last| last + 1);
        let head = [len as u32, parent, asleep];
        for mut n in head.into_iter().chain(row[..len].iter().copied()) {
            while n >= 0x80 {
                self.bytes.push(n as u8 | 0x80);
                n >>= 7;
            }
            self.bytes.push(n as u8);
        }
        self.count += 1;
    }

    /// Puts what is in memory into the file, if a row of so many fields may not fit beside it: a box never takes
    /// more than its room, which is what counts for the limit.
    fn make_room(&mut self, fields: usize, room: usize, scratch: &dyn Scratch) -> io::Result<()> {
        if self.bytes.capacity() == 0 {
            self.bytes.reserve_exact(room);
        }
        // A number has five bytes at most, and a row three of its own.
        if self.bytes.len() + 5 * (fields + 3) <= self.bytes.capacity() || self.bytes.is_empty() {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(scratch.file()?),
        };
        io::Write::write_all(file, &self.bytes)?;
        self.bytes.clear();
        Ok(())
    }

    /// Reads all of it, after which there is nothing.
    fn read(&mut self, mut take: impl FnMut(&Successors)) -> io::Result<()> {
        let bytes = std::mem::take(&mut self.bytes);
        let mut all: Box<dyn Read> = match &mut self.file {
            Some(file) => {
                file.rewind()?;
                Box::new(file.chain(&bytes[..]))
            }
            None => Box::new(&bytes[..]),
        };
        let mut from = In::new(&mut *all);
        let (mut rows, mut row) = (Successors::default(), Vec::new());
        for _ in 0..self.count {
            let mut number = || from.at_most(u32::MAX).map_err(read_error);
            let (len, parent, asleep) = (number()?, number()?, number()?);
            row.clear();
            for _ in 0..len {
                row.push(number()?);
            }
            rows.push_of(parent, &row, asleep);
            if rows.len() == BATCH {
                take(&rows);
                rows.clear();
            }
        }
        take(&rows);
        drop(all);
        self.count = 0;
        if let Some(file) = &mut self.file {
            file.rewind()?;
            file.set_len(0)?;
        }
        Ok(())
    }
}

/// The worker who has a shard sends what belongs to others to the level after this one.
struct Turn<'t, 'd> {
    depot: &'t Depot<'d>,
    index: usize,
}

impl<S: System> Outbox<S> for Turn<'_, '_> {
    fn place(&self) -> (u32, u32) {
        (SHARDS, self.index as u32)
    }

    fn sort(
        &mut self,
        shared: &Shared<'_, S>,
        _: &S::Tables,
        fresh: &Successors,
        own: &mut Successors,
    ) {
        for (row, parent, asleep) in fresh.each() {
            let to = owner(row, SHARDS) as usize;
            if to == self.index {
                own.push_of(parent, row, asleep);
                continue;
            }
            let mut mail = lock(&self.depot.next[to]);
            if let Err(error) = mail.make_room(row.len(), self.depot.room, self.depot.scratch) {
                self.depot.fail(shared, error);
            }
            mail.push(row, parent, asleep);
        }
    }

    fn exchange(&mut self, _: &Shared<'_, S>, _: &mut Shard) {}

    fn end_level(&mut self, _: &Shared<'_, S>, _: &mut Shard, _: u64) {}

    /// The next level is another turn.
    fn goes_on(&mut self, _: &Shared<'_, S>, _: &mut Shard) -> Option<bool> {
        Some(false)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What was written is not what is read.
fn read_error(why: NotKept) -> io::Error {
    match why {
        NotKept::Read(error) => error,
        _ => io::ErrorKind::InvalidData.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sc::storage_tests::Files;

    #[test]
    fn a_box_takes_no_more_than_its_room() {
        let (files, mut mail) = (Files::new(1), Mail::default());
        let row = |i: u32| [i, i * i, 7];
        for i in 1..2_000 {
            mail.make_room(3, 1000, &files).expect("a file");
            mail.push(&row(i), i, 0);
            assert!(mail.bytes.capacity() <= 1000, "{}", mail.bytes.capacity());
        }
        let mut next = 1;
        let read = mail.read(|rows| {
            for (found, parent, _) in rows.each() {
                assert_eq!((found, parent), (&row(next)[..], next));
                next += 1;
            }
        });
        read.expect("what was written");
        assert_eq!(next, 2_000);
    }
}
