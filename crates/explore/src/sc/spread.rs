//! The search by several processes: the third [`Outbox`].
//!
//! Every state belongs to one worker of one process, by a hash of what its numbers stand for. Successors
//! of others are sent to them as [`wire`](crate::sc::wire) packs them. A level ends with a word of each
//! worker to all of them: how much it has expanded, and why it wants to stop, if it does. A level in
//! which nobody had anything to expand, and nobody was stopped, was the last one. All workers hear
//! the same words and so draw the same conclusion.
//!
//! The way to what was found is asked for state by state: a state's name says which worker has it.
//! Each process gets all of its rows, in its own numbers, and so comes to the same answer.
//!
//! [`begin`] says how a search begins, and how it is kept.

mod begin;

use std::collections::VecDeque;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use weakspot_core::{Limit, LostProcess};

use self::begin::{Given, begin};
use crate::answer::NoAnswer;
use crate::keep::Keep;
use crate::meter::Meter;
use crate::sc::kept::search_kept;
use crate::sc::packed::{
    Ended, Expanded, Found, Outbox, Plan, ROOT, Retraced, Shard, Shared, Sleep, States, Successors,
    System, Worker, among, search, search_compact, search_on_disk,
};
use crate::sc::recent::Recent;
use crate::sc::threads::Threads;
use crate::sc::wire::{Framed, Garbled, Hashes, Packet, Reader};
use crate::sc::word::{Keeps, Why, Word};
use crate::storage::Storage;
use crate::team::{Link, Team};

/// [`search`], by the processes of the plan's team if it has one, or kept where the plan says.
pub(crate) fn search_together<'p, S>(
    system: &S,
    tables: Threads<'p>,
    initial: Result<Successors, Limit>,
    plan: Plan<'_>,
    meter: &mut Meter<'_>,
) -> Result<Found<Threads<'p>>, NoAnswer>
where
    S: Retraced<Tables = Threads<'p>> + Framed,
{
    if let Some(storage) = plan.storage {
        let initial = match initial {
            Ok(initial) => initial,
            Err(limit) => {
                return Ok(Found {
                    ended: Ended::Limit(limit),
                    tables,
                    states: 0,
                    kept: Vec::new(),
                });
            }
        };
        return match storage {
            Storage::Hashes(bits) => {
                Ok(search_compact(system, tables, initial, (plan, bits), meter))
            }
            Storage::Disk(scratch) => {
                search_on_disk(system, tables, initial, (plan, scratch), meter)
            }
        };
    }
    let Some(team) = plan.team else {
        return match plan.keep {
            Some(keep) => search_kept(system, tables, initial, plan, keep, meter),
            None => Ok(search(system, tables, initial, plan, meter)),
        };
    };
    let threads = plan.workers.clamp(1, 64);
    let shared = Shared::new(system, tables, threads);
    let ended = match team.begin(threads) {
        Ok(()) => {
            let ended = by_processes(&shared, (plan, team, threads), &initial, meter);
            team.end();
            ended?
        }
        Err(limit) => Ended::Limit(limit),
    };
    meter.states = shared.states();
    let states = shared.states();
    Ok(Found { ended, states, kept: Vec::new(), tables: shared.into_tables() })
}

fn by_processes<'p, S>(
    shared: &Shared<'_, S>,
    (plan, team, threads): (Plan<'_>, &dyn Team, usize),
    initial: &Result<Successors, Limit>,
    meter: &mut Meter<'_>,
) -> Result<Ended, NoAnswer>
where
    S: System<Tables = Threads<'p>> + Framed,
{
    let work = |thread: usize, mut meter: Option<&mut Meter<'_>>| {
        let wire = match Wire::new(shared.system, (plan, team), threads, thread) {
            Ok(wire) => wire,
            Err(limit) => {
                shared.end(None, Ended::Limit(limit.clone()));
                return Ok(Ended::Limit(limit));
            }
        };
        let shard = Shard::breadth_first(wire.workers as u32);
        let mut worker = Worker::new(thread, shard, wire);
        begin(&mut worker, shared, initial, &mut meter)?;
        worker.run(shared, meter);
        let Worker { shard, outbox, .. } = worker;
        Ok(outbox.conclude(shared, &shard))
    };
    std::thread::scope(|scope| {
        let work = &work;
        for thread in 1..threads {
            scope.spawn(move || work(thread, None));
        }
        work(0, Some(meter))
    })
}

/// One worker of one of several processes.
struct Wire<'s, S> {
    system: &'s S,
    link: Box<dyn Link>,
    /// Where the search is kept, if this is the worker who sees to that.
    keep: Option<&'s dyn Keep>,
    /// Blocks of what is kept, as they arrive, and who has sent them.
    blocks: VecDeque<(usize, Vec<u8>)>,
    /// What this worker has to begin with.
    given: Given,
    workers: usize,
    index: usize,
    /// How many workers a process has.
    threads: usize,
    hashes: Hashes,
    recent: Recent,
    out: Vec<Packet>,
    readers: Vec<Reader>,
    /// What each worker has said at the end of this level.
    words: Vec<Option<Word>>,
    /// Somebody was stopped in the middle of this level.
    stays: bool,
    /// Others know that this process stops.
    told: bool,
    /// What all words have come to.
    conclusion: Option<Conclusion>,
    /// Rows of the way to what was found, as they arrive, each with its parent.
    way: Option<(Vec<u32>, u32)>,
}

#[derive(Clone, Debug)]
enum Conclusion {
    Complete,
    Stopped(Why),
}

// Messages.
const ROWS: u8 = 0;
const WORD: u8 = 1;
const STOP: u8 = 2;
const WAY: u8 = 3;
/// A block of what is kept.
const KEPT: u8 = 4;
/// From here on they are of the beginning.
const FIRST: u8 = 5;

/// Bytes sent to another worker at a time.
const PARCEL: usize = 32 << 10;

impl<'p, 's, S> Wire<'s, S>
where
    S: System<Tables = Threads<'p>> + Framed,
{
    fn new(
        system: &'s S,
        (plan, team): (Plan<'s>, &dyn Team),
        threads: usize,
        thread: usize,
    ) -> Result<Self, Limit> {
        let link = team.link(thread)?;
        let (processes, process) = team.place();
        let workers = processes * threads;
        let is_other = |worker: usize| worker / threads != process;
        Ok(Wire {
            system,
            link,
            keep: plan.keep.filter(|_| process == 0 && thread == 0),
            blocks: VecDeque::new(),
            given: Given::new(workers),
            workers,
            index: process * threads + thread,
            threads,
            hashes: Hashes::new(system),
            recent: Recent::new(),
            out: (0..workers).map(|w| Packet::new(system, is_other(w))).collect(),
            readers: (0..workers).map(|w| Reader::new(system, is_other(w))).collect(),
            words: vec![None; workers],
            stays: false,
            told: false,
            conclusion: None,
            way: None,
        })
    }

    /// Sends what waits, where it is at least `least` bytes.
    fn post(&mut self, least: usize) {
        for (to, packet) in self.out.iter_mut().enumerate() {
            if packet.bytes() >= least
                && let Some(rows) = packet.take()
            {
                self.link.send(to, false, tagged(ROWS, &rows));
            }
        }
    }

    /// Tells everybody something.
    fn tell(&mut self, at_once: bool, message: &[u8]) {
        for to in 0..self.workers {
            self.link.send(to, at_once, message.to_vec());
        }
    }

    /// Takes what has come.
    fn take(&mut self, shared: &Shared<'_, S>, shard: &mut Shard) {
        if let Some(limit) = self.link.lost() {
            shared.end(None, Ended::Limit(limit));
            return;
        }
        if shared.is_stopped() && !self.told {
            self.told = true;
            self.tell(true, &[STOP]);
        }
        while let Some((from, message)) = self.link.receive() {
            if self.hear(shared, shard, from, &message).is_err() {
                let why = LostProcess::Garbled;
                let limit = Limit::Process { process: from / self.threads, why };
                shared.end(None, Ended::Limit(limit));
                return;
            }
        }
    }

    fn hear(
        &mut self,
        shared: &Shared<'_, S>,
        shard: &mut Shard,
        from: usize,
        message: &[u8],
    ) -> Result<(), Garbled> {
        let (&what, mut rest) = message.split_first().ok_or(Garbled)?;
        match what {
            ROWS => {
                let rows = self.rows(shared, from, rest)?;
                shard.insert(&rows);
            }
            WORD => self.words[from] = Some(Word::read(&mut rest)?),
            STOP => shared.stop(),
            WAY => {
                let rows = self.rows(shared, from, rest)?;
                let (row, parent, _) = rows.each().next().ok_or(Garbled)?;
                self.way = Some((row.to_vec(), parent));
            }
            KEPT => self.blocks.push_back((from, rest.to_vec())),
            _ => return self.hear_at_first(shared, shard, from, (what, rest)),
        }
        Ok(())
    }

    /// The rows of a message.
    fn rows(
        &mut self,
        shared: &Shared<'_, S>,
        from: usize,
        message: &[u8],
    ) -> Result<Successors, Garbled> {
        let reader = &mut self.readers[from];
        let mut rows = Successors::default();
        let rest = match Reader::defines(message) {
            true => {
                let mut tables = shared.tables.write().unwrap_or_else(PoisonError::into_inner);
                reader.learn(&mut tables, message)?
            }
            false => message.get(1..).ok_or(Garbled)?,
        };
        reader.rows(rest, &mut rows)?;
        Ok(rows)
    }

    /// What all words come to, once all are there: `None` if the search goes on. And whether it is kept now.
    fn judge(&mut self, shared: &Shared<'_, S>) -> (Option<Conclusion>, bool) {
        let words: Vec<Word> =
            self.words.iter_mut().map(|w| w.take().unwrap_or_default()).collect();
        let own = self.index / self.threads;
        let elsewhere = words.chunks(self.threads).enumerate().filter(|(p, _)| *p != own);
        // The threads of a process may speak at different times: the last one says most.
        let elsewhere = elsewhere.map(|(_, words)| words.iter().map(|w| w.states).max());
        shared.elsewhere.store(elsewhere.flatten().sum(), Ordering::Relaxed);
        let all = || words.iter().filter_map(|w| w.why.as_ref());
        let goal = |why: &&Why| matches!(why, Why::Goal(_));
        let fault = |why: &&Why| matches!(why, Why::Fault(_));
        // In the same order everywhere.
        let why = all().find(goal).or_else(|| all().find(fault)).or_else(|| all().next());
        self.stays = words.iter().any(|w| w.halfway);
        let keeps = words[0].keeps;
        match why {
            Some(why) => {
                // Where a process is lost, its states are.
                let has_all = !matches!(why, Why::Limit(Limit::Process { .. }));
                let is_kept = matches!(why, Why::Limit(_)) && has_all && keeps != Keeps::Never;
                (Some(Conclusion::Stopped(why.clone())), is_kept)
            }
            // Whoever was stopped knows of somebody who will say why at the end of the next level.
            None if words.iter().any(|w| w.stopped || w.expanded > 0) => {
                (None, keeps == Keeps::Now)
            }
            None => (Some(Conclusion::Complete), false),
        }
    }

    /// How the search ended, after the last level.
    fn conclude(mut self, shared: &Shared<'_, S>, shard: &Shard) -> Ended {
        match self.conclusion.take() {
            Some(Conclusion::Complete) => Ended::Complete,
            Some(Conclusion::Stopped(Why::Limit(limit))) => Ended::Limit(limit),
            Some(Conclusion::Stopped(Why::Goal(state))) => {
                self.way_to(shared, shard, state).map_or_else(Ended::Limit, Ended::Found)
            }
            Some(Conclusion::Stopped(Why::Fault(state))) => {
                match self.way_to(shared, shard, state) {
                    Ok(rows) => self.fault(shared, rows),
                    Err(limit) => Ended::Limit(limit),
                }
            }
            // The connection was lost.
            None => Ended::Limit(self.link.lost().unwrap_or(Limit::Interrupted)),
        }
    }

    /// The rows from an initial state to `state`, in the numbers of this process.
    fn way_to(
        &mut self,
        shared: &Shared<'_, S>,
        shard: &Shard,
        state: u32,
    ) -> Result<Vec<Vec<u32>>, Limit> {
        let mut rows = Vec::new();
        let mut at = state;
        let mut none = Shard::breadth_first(self.workers as u32);
        // What was kept may have been changed so that it goes round in circles.
        let most = self.given.most_on_a_way(shared);
        while at != ROOT && rows.len() as u64 <= most {
            if at as usize % self.workers == self.index {
                let (row, parent) = shard.state(at / self.workers as u32);
                let tables = shared.tables.read().unwrap_or_else(PoisonError::into_inner);
                for to in 0..self.workers {
                    self.out[to].push(&tables, &row, parent, 0);
                    if let Some(message) = self.out[to].take() {
                        self.link.send(to, false, tagged(WAY, &message));
                    }
                }
            }
            self.link.end_level();
            while !self.link.is_level_over() {
                self.link.step(true);
                self.take(shared, &mut none);
                if let Some(limit) = self.link.lost() {
                    return Err(limit);
                }
            }
            self.take(shared, &mut none);
            self.link.next_level();
            let process = at as usize % self.workers / self.threads;
            let garbled = Limit::Process { process, why: LostProcess::Garbled };
            let (row, parent) = self.way.take().ok_or(garbled)?;
            rows.push(row);
            at = parent;
        }
        rows.reverse();
        Ok(rows)
    }

    /// What is wrong at a state, in the numbers of this process.
    fn fault(&self, shared: &Shared<'_, S>, rows: Vec<Vec<u32>>) -> Ended {
        let mut tables = shared.tables.write().unwrap_or_else(PoisonError::into_inner);
        let mut row = rows.last().cloned().unwrap_or_default();
        loop {
            row.resize(self.system.width(&tables).max(row.len()), 0);
            let sleep = Sleep { awake: u32::MAX, asleep: 0 };
            match self.system.expand(&tables, &row, sleep, &mut Successors::default()) {
                Expanded::Missing(missing) => {
                    if let Err(failure) = self.system.resolve(&mut tables, missing) {
                        return Ended::Fault(failure);
                    }
                }
                // The state was expanded there with fewer threads awake.
                Expanded::Goal => return Ended::Found(rows),
                Expanded::Done => return Ended::Limit(Limit::Interrupted),
            }
        }
    }
}

impl<'p, S> Outbox<S> for Wire<'_, S>
where
    S: System<Tables = Threads<'p>> + Framed,
{
    fn place(&self) -> (u32, u32) {
        (self.workers as u32, self.index as u32)
    }

    fn sort(
        &mut self,
        _: &Shared<'_, S>,
        tables: &Threads<'p>,
        fresh: &Successors,
        own: &mut Successors,
    ) {
        for (row, parent, asleep) in fresh.each() {
            let hash = self.hashes.of(tables, row);
            let to = among(hash, self.workers as u32) as usize;
            if to == self.index {
                own.push_of(parent, row, asleep);
            } else if self.recent.sends(hash, row, asleep) {
                self.out[to].push(tables, row, parent, asleep);
            }
        }
    }

    fn exchange(&mut self, shared: &Shared<'_, S>, shard: &mut Shard) {
        self.post(PARCEL);
        self.link.step(false);
        self.take(shared, shard);
        while !self.link.has_room() && !shared.is_stopped() {
            self.link.step(true);
            self.take(shared, shard);
        }
    }

    fn end_level(&mut self, shared: &Shared<'_, S>, shard: &mut Shard, expanded: u64) {
        self.exchange(shared, shard);
        self.post(1);
        let why = shared.reason().map(|(state, ended)| match (state, ended) {
            (Some(state), Ended::Fault(_)) => Why::Fault(state),
            (_, Ended::Limit(limit)) => Why::Limit(limit),
            (Some(state), _) => Why::Goal(state),
            (None, _) => Why::Limit(Limit::Interrupted),
        });
        let (states, stopped) = (shared.own_states(), shared.is_stopped());
        let halfway = shard.is_in_level();
        let keeps = match self.keep {
            Some(_) if !self.given.is_whole() => Keeps::Never,
            Some(keep) if keep.is_due() => Keeps::Now,
            Some(_) => Keeps::AtLimits,
            None => Keeps::Never,
        };
        let mut message = vec![WORD];
        Word { expanded, states, stopped, halfway, keeps, why }.write(&mut message);
        self.tell(false, &message);
        self.link.end_level();
    }

    fn goes_on(&mut self, shared: &Shared<'_, S>, shard: &mut Shard) -> Option<bool> {
        self.link.step(true);
        self.take(shared, shard);
        if self.link.lost().is_some() {
            return Some(false);
        }
        if !self.link.is_level_over() {
            return None;
        }
        self.take(shared, shard);
        self.link.next_level();
        let (conclusion, is_kept) = self.judge(shared);
        self.conclusion = conclusion;
        if is_kept {
            self.have_kept(shared, shard);
        }
        Some(self.conclusion.is_none())
    }

    fn stays(&self) -> bool {
        self.stays
    }

    fn bytes(&self) -> usize {
        let out: usize = self.out.iter().map(Packet::bytes).sum();
        let readers: usize = self.readers.iter().map(Reader::bytes).sum();
        let tables = self.hashes.bytes() + self.recent.bytes() + self.given.bytes();
        out + readers + tables + self.link.bytes()
    }
}

fn tagged(tag: u8, rest: &[u8]) -> Vec<u8> {
    let mut message = Vec::with_capacity(rest.len() + 1);
    message.push(tag);
    message.extend_from_slice(rest);
    message
}

#[cfg(test)]
mod tests;
