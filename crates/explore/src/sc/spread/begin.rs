//! How a search by several processes begins, and how it is kept.
//!
//! It begins with two rounds of messages, each of which ends as levels do. In the first one, process 0 hands out the
//! search that it goes on with, if there is one: it alone reads what was kept. Else each worker takes those of the
//! initial states that are its own, which all processes know. In the second one, all say whether they are ready: a search
//! that lacks the states of one of them must come to no other conclusion than why.
//!
//! It is kept by process 0, too, between two levels or where a limit has stopped it: part by part, all others send it
//! their states.

use std::io;
use std::sync::PoisonError;

use weakspot_core::Limit;

use super::{FIRST, KEPT, PARCEL, Wire, tagged};
use crate::answer::NoAnswer;
use crate::keep::NotKept;
use crate::meter::Meter;
use crate::sc::kept::{
    Dealt, Head, Takes, Writing, deal, head_of, in_blocks, read_remark, write_remark,
};
use crate::sc::packed::{
    Ended, PARTS, ROOT, Remark, Shard, Shared, States, Successors, System, Worker, among,
};
use crate::sc::threads::Threads;
use crate::sc::wire::{Framed, Garbled, Packet, get, number, put};

/// What a worker has to begin with.
#[derive(Default)]
pub(super) struct Given {
    /// Parts that were handed out.
    parts: usize,
    /// What the search is that was kept.
    earlier: Option<Dealt>,
    /// Something of it cannot be.
    is_damaged: bool,
    /// Per worker what it has said of itself.
    ready: Vec<Option<(Ready, u32)>>,
    /// All workers are ready, with all that was kept.
    is_whole: bool,
    /// How many states all workers have at first.
    states: u64,
    /// The bytes that handing out takes.
    bytes: usize,
}

/// Whether a worker is ready to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ready {
    Yes,
    /// A limit or a signal has come before.
    Stopped,
    /// What was kept cannot be gone on with.
    Refuses,
}

const READY: [Ready; 3] = [Ready::Yes, Ready::Stopped, Ready::Refuses];

// Messages of the beginning.
const STATES: u8 = FIRST;
const PART_ENDS: u8 = FIRST + 1;
const REMARKS: u8 = FIRST + 2;
const EARLIER: u8 = FIRST + 3;
const SAYS: u8 = FIRST + 4;

impl Given {
    pub(super) fn new(workers: usize) -> Given {
        Given { ready: vec![None; workers], ..Given::default() }
    }

    /// Whether all states are there that the search began with.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// No way has more states than this.
    pub(super) fn most_on_a_way<S: System>(&self, shared: &Shared<'_, S>) -> u64 {
        let before = self.earlier.as_ref().map_or(0, |earlier| earlier.states);
        self.states.saturating_add(shared.states().saturating_sub(before))
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Gives a worker what it has to begin with.
///
/// # Errors
///
/// There is no going on with what was kept.
pub(super) fn begin<'p, S>(
    worker: &mut Worker<Wire<'_, S>>,
    shared: &Shared<'_, S>,
    initial: &Result<Successors, Limit>,
    meter: &mut Option<&mut Meter<'_>>,
) -> Result<(), NoAnswer>
where
    S: System<Tables = Threads<'p>> + Framed,
{
    let mut refused = None;
    match hand_out(worker, shared, meter) {
        Ok(()) => {}
        Err(why) => match why.limit() {
            Ok(limit) if !shared.is_stopped() => shared.end(None, Ended::Limit(limit)),
            Ok(_) => {}
            Err(why) => refused = Some(why),
        },
    }
    end_round(worker, shared, meter);
    let Worker { shard, outbox, .. } = worker;
    match (&outbox.given.earlier, initial) {
        (Some(earlier), _) => *shard.in_level() = earlier.in_level,
        (None, Ok(initial)) => outbox.take_own(shared, shard, initial),
        (None, Err(limit)) => shared.end(None, Ended::Limit(limit.clone())),
    }
    let ready = match () {
        () if refused.is_some() || outbox.given.is_damaged => Ready::Refuses,
        () if shared.is_stopped() => Ready::Stopped,
        () => Ready::Yes,
    };
    let mut message = vec![SAYS, ready as u8];
    put(&mut message, shard.len().into());
    outbox.tell(false, &message);
    end_round(worker, shared, meter);
    let Worker { shard, outbox, .. } = worker;
    let given = &mut outbox.given;
    let says = |what| given.ready.iter().any(|said| said.is_some_and(|(ready, _)| ready == what));
    if says(Ready::Refuses) {
        let damaged = || NotKept::Damaged.limit().err();
        let elsewhere =
            || NoAnswer::NotResumed("process 0 cannot go on with its checkpoint".to_owned());
        let own = outbox.keep.and_then(|_| damaged());
        return Err(refused.or(own).unwrap_or_else(elsewhere));
    }
    given.is_whole = given.ready.iter().all(|said| said.is_some_and(|(r, _)| r == Ready::Yes));
    given.states = given.ready.iter().flatten().map(|&(_, states)| u64::from(states)).sum();
    if !given.is_whole {
        // It would be expanded, for nothing.
        *shard = Shard::breadth_first(outbox.workers as u32);
    }
    Ok(())
}

/// Waits for the end of a round.
fn end_round<'p, S>(
    worker: &mut Worker<Wire<'_, S>>,
    shared: &Shared<'_, S>,
    meter: &mut Option<&mut Meter<'_>>,
) where
    S: System<Tables = Threads<'p>> + Framed,
{
    worker.outbox.link.end_level();
    loop {
        let Worker { shard, outbox, .. } = worker;
        outbox.link.step(true);
        let is_over = outbox.link.is_level_over();
        outbox.take(shared, shard);
        if outbox.link.lost().is_some() {
            return;
        }
        if is_over {
            break;
        }
        worker.report(shared, 0, meter);
    }
    worker.outbox.link.next_level();
}

/// Hands out the search that was kept, if there is one and this is the worker who does that.
fn hand_out<'p, S>(
    worker: &mut Worker<Wire<'_, S>>,
    shared: &Shared<'_, S>,
    meter: &mut Option<&mut Meter<'_>>,
) -> Result<(), NotKept>
where
    S: System<Tables = Threads<'p>> + Framed,
{
    let Some(keep) = worker.outbox.keep else { return Ok(()) };
    let Some(head) = head_of(keep)? else { return Ok(()) };
    let workers = worker.outbox.workers as u32;
    let own = Successors::default();
    let mut hands =
        Hands { worker, shared, meter, own, remarks: vec![Vec::new(); workers as usize] };
    let dealt = deal((shared.system, &shared.tables), (keep, head), (workers, true), &mut hands);
    hands.worker.outbox.given.bytes = 0;
    let dealt = dealt?;
    hands.post_remarks(1);
    shared.begin_with(dealt.states);
    let mut message = vec![EARLIER, u8::from(dealt.in_level)];
    put(&mut message, dealt.states);
    worker.outbox.tell(false, &message);
    Ok(())
}

/// Process 0, which hands states out.
struct Hands<'h, 's, 'w, 'x, 'm, S: System> {
    worker: &'h mut Worker<Wire<'w, S>>,
    shared: &'h Shared<'s, S>,
    meter: &'h mut Option<&'x mut Meter<'m>>,
    /// States of this worker.
    own: Successors,
    /// Per worker remarks about its states.
    remarks: Vec<Vec<u8>>,
}

impl<'p, S> Hands<'_, '_, '_, '_, '_, S>
where
    S: System<Tables = Threads<'p>> + Framed,
{
    /// Inserts this worker's own states.
    fn insert(&mut self) -> Result<(), NotKept> {
        let Worker { shard, outbox, .. } = &mut *self.worker;
        let all_new = shard.append(outbox.given.parts, &self.own);
        self.own.clear();
        if all_new { Ok(()) } else { Err(NotKept::Damaged) }
    }

    /// Sends states to those for whom at least so many bytes wait.
    fn post(&mut self, least: usize) {
        let outbox = &mut self.worker.outbox;
        for (to, packet) in outbox.out.iter_mut().enumerate() {
            if packet.bytes() >= least
                && let Some(states) = packet.take()
            {
                outbox.link.send(to, false, tagged(STATES, &states));
            }
        }
    }

    fn post_remarks(&mut self, least: usize) {
        for (to, remarks) in self.remarks.iter_mut().enumerate() {
            if remarks.len() >= least {
                self.worker.outbox.link.send(to, false, tagged(REMARKS, remarks));
                remarks.clear();
            }
        }
    }
}

impl<'p, S> Takes<'p> for Hands<'_, '_, '_, '_, '_, S>
where
    S: System<Tables = Threads<'p>> + Framed,
{
    fn state(
        &mut self,
        tables: &Threads<'p>,
        worker: u32,
        (row, parent, asleep): (&[u32], u32, u32),
    ) -> Result<(), NotKept> {
        match worker {
            0 => self.own.push_of(parent, row, asleep),
            _ => self.worker.outbox.out[worker as usize].push(tables, row, parent, asleep),
        }
        Ok(())
    }

    fn remark(&mut self, worker: u32, id: u32, remark: Remark) -> Result<(), NotKept> {
        if worker > 0 {
            write_remark(&mut self.remarks[worker as usize], id, remark);
            return Ok(());
        }
        if self.worker.shard.note(id, remark) { Ok(()) } else { Err(NotKept::Damaged) }
    }

    fn end_part(&mut self, part: usize) -> Result<(), NotKept> {
        self.post(1);
        self.insert()?;
        let Worker { shard, outbox, .. } = &mut *self.worker;
        shard.end_part(part);
        outbox.given.parts = part + 1;
        for to in 1..outbox.workers {
            outbox.link.send(to, false, vec![PART_ENDS]);
        }
        Ok(())
    }

    fn pause(&mut self, bytes: usize) -> Result<(), NotKept> {
        self.post(PARCEL);
        self.post_remarks(PARCEL);
        self.insert()?;
        self.worker.outbox.given.bytes = bytes;
        let mut may_wait = false;
        loop {
            let Worker { shard, outbox, .. } = &mut *self.worker;
            outbox.link.step(may_wait);
            outbox.take(self.shared, shard);
            self.worker.report(self.shared, 0, self.meter);
            if self.shared.is_stopped() {
                return Err(NotKept::Limit(Limit::Interrupted));
            }
            if self.worker.outbox.link.has_room() {
                return Ok(());
            }
            may_wait = true;
        }
    }
}

impl<'p, S> Wire<'_, S>
where
    S: System<Tables = Threads<'p>> + Framed,
{
    /// Takes those of the initial states that belong to this worker.
    fn take_own(&mut self, shared: &Shared<'_, S>, shard: &mut Shard, initial: &Successors) {
        let tables = shared.tables.read().unwrap_or_else(PoisonError::into_inner);
        let mut own = Successors::default();
        for (row, _, asleep) in initial.each() {
            let owner = among(self.hashes.of(&tables, row), self.workers as u32);
            if owner as usize == self.index {
                own.push_of(ROOT, row, asleep);
            }
        }
        shard.insert(&own);
    }

    /// Takes a message of the beginning.
    pub(super) fn hear_at_first(
        &mut self,
        shared: &Shared<'_, S>,
        shard: &mut Shard,
        from: usize,
        (what, mut rest): (u8, &[u8]),
    ) -> Result<(), Garbled> {
        match what {
            // There may be no room for them.
            STATES | REMARKS if shared.is_stopped() => {}
            STATES => {
                let states = self.rows(shared, from, rest)?;
                self.given.is_damaged |= !shard.append(self.given.parts, &states);
            }
            PART_ENDS => {
                shard.end_part(self.given.parts);
                self.given.parts += 1;
            }
            REMARKS => {
                while !rest.is_empty() {
                    let (id, remark) = read_remark(&mut rest)?;
                    self.given.is_damaged |= !shard.note(id, remark);
                }
            }
            EARLIER => {
                let in_level = number(&mut rest)? != 0;
                self.given.earlier = Some(Dealt { states: get(&mut rest)?, in_level });
            }
            SAYS => {
                let ready = READY.get(number(&mut rest)? as usize).ok_or(Garbled)?;
                self.given.ready[from] = Some((*ready, number(&mut rest)?));
            }
            _ => return Err(Garbled),
        }
        Ok(())
    }

    /// Has the search kept as it is, between two levels or where it was stopped.
    pub(super) fn have_kept(&mut self, shared: &Shared<'_, S>, shard: &Shard) {
        let Some(keep) = self.keep else { return self.gather(shared, shard, None) };
        let workers = self.workers as u32;
        let head = Head { states: shared.states(), workers, together: true };
        let mut is_gathered = false;
        keep.keep(&mut |to| {
            is_gathered = true;
            let mut writing = Writing::begin(to, head);
            self.gather(shared, shard, Some(&mut writing));
            writing.end()?;
            // The last one is better than one that lacks states.
            self.link.lost().map_or(Ok(()), |_| Err(io::ErrorKind::Interrupted.into()))
        });
        // Others send theirs, whether there is a place for them or not.
        if !is_gathered {
            self.gather(shared, shard, None);
        }
    }

    /// Brings what all workers have to the first one, who writes it.
    fn gather(
        &mut self,
        shared: &Shared<'_, S>,
        shard: &Shard,
        mut writing: Option<&mut Writing<'_>>,
    ) {
        let mut packet = Packet::new(self.system, true);
        for part in 0..=PARTS {
            let tables = shared.tables.read().unwrap_or_else(PoisonError::into_inner);
            in_blocks(&mut packet, &tables, (shard, part), &mut |block| {
                if self.index > 0 {
                    self.link.send(0, false, tagged(KEPT, block));
                    self.link.step(false);
                    self.write_blocks(shared, &mut writing);
                    while !self.link.has_room() && self.link.lost().is_none() {
                        self.link.step(true);
                        self.write_blocks(shared, &mut writing);
                    }
                    return;
                }
                if let Some(writing) = &mut writing {
                    writing.block(0, block);
                }
                self.link.step(false);
                self.write_blocks(shared, &mut writing);
            });
            drop(tables);
            self.link.end_level();
            loop {
                self.link.step(true);
                let is_over = self.link.is_level_over();
                self.write_blocks(shared, &mut writing);
                if self.link.lost().is_some() {
                    return;
                }
                if is_over {
                    break;
                }
            }
            self.link.next_level();
            if let Some(writing) = &mut writing {
                writing.end_part();
            }
        }
    }

    /// Writes the blocks that have come.
    fn write_blocks(&mut self, shared: &Shared<'_, S>, writing: &mut Option<&mut Writing<'_>>) {
        let mut none = Shard::breadth_first(self.workers as u32);
        self.take(shared, &mut none);
        for (worker, block) in self.blocks.drain(..) {
            if let Some(writing) = writing {
                writing.block(worker, &block);
            }
        }
    }
}

#[cfg(test)]
mod tests;
