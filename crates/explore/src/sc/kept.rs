//! The search that is kept now and then, and that goes on from where it was kept.
//!
//! What is written is what the search knows between two batches: its states with their parents and the threads that
//! are asleep, and what is left of the level that it is in. Tables that say what follows from these, such as where acts
//! lead, are filled again as they are asked for. A search that one thread has begun goes on with the same states in the
//! same order, so it finds the same run; with any number of threads and processes it comes to the same number of
//! states.
//!
//! Nothing that is read is trusted to be what a search wrote: numbers have to stand for something, and memory is taken
//! only for what is there.

mod deal;
mod form;

use std::sync::{PoisonError, RwLock};

use weakspot_core::Limit;

pub(crate) use self::deal::{Dealt, Takes, deal, head_of};
pub(crate) use self::form::{BLOCK, Head, Writing, in_blocks, read_remark, write_remark};
use crate::answer::NoAnswer;
use crate::keep::{Keep, NotKept};
use crate::meter::Meter;
use crate::sc::packed::{
    Ended, Found, Onlooker, Order, PARTS, Plan, Remark, Shard, Standing, States, Successors,
    System, go_on,
};
use crate::sc::threads::Threads;
use crate::sc::wire::{Framed, Packet};

/// Searches from the rows in `initial`, or goes on with an earlier search.
pub(crate) fn search_kept<'p, S>(
    system: &S,
    tables: Threads<'p>,
    initial: Result<Successors, Limit>,
    plan: Plan<'_>,
    keep: &dyn Keep,
    meter: &mut Meter<'_>,
) -> Result<Found<Threads<'p>>, NoAnswer>
where
    S: System<Tables = Threads<'p>> + Framed,
{
    let stopped = |limit, tables| {
        Ok(Found { ended: Ended::Limit(limit), tables, states: 0, kept: Vec::new() })
    };
    let first = match initial {
        Ok(initial) => Standing::first(plan.order, initial),
        Err(limit) => return stopped(limit, tables),
    };
    let shared = RwLock::new(tables);
    let earlier = earlier(system, &shared, plan, keep, meter);
    let tables = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    let standing = match earlier {
        Ok(standing) => standing.unwrap_or(first),
        Err(why) => return stopped(why.limit()?, tables),
    };
    let keeper = Keeper { system, keep };
    Ok(go_on(system, tables, standing, plan, Some(&keeper), meter).0)
}

/// Writes the search whenever it is time.
struct Keeper<'k, S> {
    system: &'k S,
    keep: &'k dyn Keep,
}

impl<S: Framed + Sync> Onlooker<Threads<'_>> for Keeper<'_, S> {
    fn is_due(&self) -> bool {
        self.keep.is_due()
    }

    fn look(&self, tables: &Threads<'_>, standing: &Standing) {
        let Standing { shards, states } = standing;
        let head = Head { states: *states, workers: shards.len() as u32, together: false };
        self.keep.keep(&mut |to| {
            let mut writing = Writing::begin(to, head);
            let mut packet = Packet::new(self.system, true);
            // Whoever goes on with the same number of threads has to know whose a state is by the same numbers.
            packet.define_all(tables, &mut |packet| {
                if packet.bytes() >= BLOCK
                    && let Some(block) = packet.take()
                {
                    writing.block(0, &block);
                }
            });
            for part in 0..=PARTS {
                for (worker, shard) in shards.iter().enumerate() {
                    let write = &mut |block: &[u8]| writing.block(worker, block);
                    in_blocks(&mut packet, tables, (shard, part), write);
                }
                writing.end_part();
            }
            writing.end()
        });
    }
}

/// The earlier search, if there is one.
fn earlier<'p, S>(
    system: &S,
    tables: &RwLock<Threads<'p>>,
    plan: Plan<'_>,
    keep: &dyn Keep,
    meter: &mut Meter<'_>,
) -> Result<Option<Standing>, NotKept>
where
    S: System<Tables = Threads<'p>> + Framed,
{
    let Some(head) = head_of(keep)? else { return Ok(None) };
    let workers = match plan.order {
        // Whether it is large is seen later.
        Order::Breadth if head.workers > 1 => plan.workers.clamp(1, 64) as u32,
        _ => 1,
    };
    let mut takes = Alone {
        shards: (0..workers).map(|_| Shard::breadth_first(workers)).collect(),
        waiting: (0..workers).map(|_| Successors::default()).collect(),
        part: 0,
        table_bytes: &|| system.bytes(&tables.read().unwrap_or_else(PoisonError::into_inner)),
        meter,
    };
    let Dealt { states, in_level } =
        deal((system, tables), (keep, head), (workers, false), &mut takes)?;
    let mut shards = takes.shards;
    shards.iter_mut().for_each(|shard| *shard.in_level() = in_level);
    Ok(Some(Standing { shards, states }))
}

/// The workers of one process, before they go on.
struct Alone<'a, 'm> {
    shards: Vec<Shard>,
    /// What is inserted next.
    waiting: Vec<Successors>,
    part: usize,
    table_bytes: &'a dyn Fn() -> usize,
    meter: &'a mut Meter<'m>,
}

/// So many states are inserted at a time.
const BATCH: usize = 256;

impl Alone<'_, '_> {
    fn insert(&mut self, least: usize) -> Result<(), NotKept> {
        for (shard, waiting) in self.shards.iter_mut().zip(&mut self.waiting) {
            if waiting.len() >= least {
                let all_new = shard.append(self.part, waiting);
                waiting.clear();
                if !all_new {
                    return Err(NotKept::Damaged);
                }
            }
        }
        Ok(())
    }
}

impl<'p> Takes<'p> for Alone<'_, '_> {
    fn state(
        &mut self,
        _: &Threads<'p>,
        worker: u32,
        (row, parent, asleep): (&[u32], u32, u32),
    ) -> Result<(), NotKept> {
        let waiting = &mut self.waiting[worker as usize];
        waiting.push_of(parent, row, asleep);
        if waiting.len() >= BATCH { self.insert(BATCH) } else { Ok(()) }
    }

    fn remark(&mut self, worker: u32, id: u32, remark: Remark) -> Result<(), NotKept> {
        let is_known = self.shards[worker as usize].note(id, remark);
        if is_known { Ok(()) } else { Err(NotKept::Damaged) }
    }

    fn end_part(&mut self, part: usize) -> Result<(), NotKept> {
        self.insert(1)?;
        self.shards.iter_mut().for_each(|shard| shard.end_part(part));
        self.part = part + 1;
        Ok(())
    }

    fn pause(&mut self, bytes: usize) -> Result<(), NotKept> {
        let shards: usize = self.shards.iter().map(|shard| shard.bytes_after(BATCH)).sum();
        let all = (bytes + shards + (self.table_bytes)()) as u64;
        self.meter.long_work(|| (0, all)).map_err(NotKept::Limit)
    }
}

#[cfg(test)]
pub(crate) mod tests;
