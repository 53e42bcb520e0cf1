//! The search that is kept now and then, and that goes on from where it was kept.
//!
//! What is written is what the search knows between two batches: what the numbers in its tables stand
//! for, its states with their parents and the threads that are asleep, and what is left of the level
//! that it is in. Tables that say what follows from these, such as where acts lead, are filled again
//! as they are asked for. The search goes on with the same states in the same order, so with one thread
//! it finds the same run; with any number of threads it comes to the same number of states.
//!
//! Nothing that is read is trusted to be what a search wrote: numbers have to stand for something, and
//! memory is taken only for what is there.

use weakspot_core::Limit;

use crate::answer::NoAnswer;
use crate::keep::{In, Keep, NotKept, Out};
use crate::meter::Meter;
use crate::sc::frame::{Fields, Frame};
use crate::sc::packed::{
    Ended, Found, Onlooker, Plan, Shard, Standing, States, Successors, System, go_on,
};
use crate::sc::threads::Threads;
use crate::sc::wire::Framed;

/// Searches from the rows in `initial`, or goes on with an earlier search.
pub(crate) fn search_kept<'p, S>(
    system: &S,
    mut tables: Threads<'p>,
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
    let standing = match earlier(system, &mut tables, keep, meter) {
        Ok(standing) => standing.unwrap_or(first),
        Err(why) => return stopped(why.limit()?, tables),
    };
    Ok(go_on(system, tables, standing, plan, Some(&Keeper { keep }), meter))
}

/// Writes the search whenever it is time.
struct Keeper<'k> {
    keep: &'k dyn Keep,
}

impl Onlooker<Threads<'_>> for Keeper<'_> {
    fn is_due(&self) -> bool {
        self.keep.is_due()
    }

    fn look(&self, tables: &Threads<'_>, standing: &Standing) {
        self.keep.keep(&mut |to| {
            let mut out = Out::new(to);
            tables.write(&mut out);
            out.number(standing.states);
            out.number(standing.shards.len() as u64);
            standing.shards.iter().for_each(|shard| shard.write(&mut out));
            out.end()
        });
    }
}

/// The earlier search, if there is one.
fn earlier<'p, S>(
    system: &S,
    tables: &mut Threads<'p>,
    keep: &dyn Keep,
    meter: &mut Meter<'_>,
) -> Result<Option<Standing>, NotKept>
where
    S: System<Tables = Threads<'p>> + Framed,
{
    let mut from = match keep.earlier() {
        None => return Ok(None),
        Some(from) => from.map_err(NotKept::Read)?,
    };
    let mut from = In::new(&mut *from);
    tables.read(&mut from)?;
    let states = from.number()?;
    let count = from.at_most(64)?.max(1);
    let (frame, fields) = system.frame();
    let width = system.width(tables);
    let is_row = |row: &[u32]| row.len() <= width && stands_for(tables, frame, &fields, row);
    let mut shards = Vec::new();
    let mut bytes = 0;
    for _ in 0..count {
        let mut room =
            |own: usize| meter.work(|| (0, (bytes + own) as u64)).map_err(NotKept::Limit);
        let shard = Shard::read(&mut from, (count, width as u32), &is_row, &mut room)?;
        bytes += shard.bytes_after(0);
        shards.push(shard);
    }
    from.end()?;
    let standing = Standing { shards, states };
    if standing.is_sound() { Ok(Some(standing)) } else { Err(NotKept::Damaged) }
}

/// Whether the numbers of a row stand for something.
fn stands_for(tables: &Threads<'_>, frame: Frame, fields: &Fields, row: &[u32]) -> bool {
    let start = frame.value(0);
    if row.len() < start || !(row.len() - start).is_multiple_of(1 + fields.per_loc) {
        return false;
    }
    let is_thread = |n: u32| n as usize <= frame.n;
    let is_loc = |n: u32| n as usize <= tables.locs.len();
    (0..frame.n).all(|t| row[t] < tables.known_locals(t))
        && is_thread(row[frame.owner()])
        && fields.threads.iter().all(|&f| is_thread(row[frame.field(f)]))
        && fields.locs.iter().all(|&f| is_loc(row[frame.field(f)]))
        && frame.locs(row).all(|loc| {
            let is_value = |at: usize| (row[at] as usize) < tables.locs.values(loc).len();
            is_value(frame.value(loc))
                && fields.values.iter().all(|&f| is_value(frame.of_loc(loc, f)))
        })
}

#[cfg(test)]
pub(crate) mod tests;
