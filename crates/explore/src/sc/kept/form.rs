//! In which form a search is kept.
//!
//! First how many states were expanded, and by how many workers. Then come blocks, each with the number of the worker
//! whose it is: first of all the states that were expanded, as they are [sent](crate::sc::wire) to a process that
//! knows nothing yet, then those that are to be expanded in the same level, then those that were found in it, and at
//! last remarks. Blocks of several workers may come in turns; those of each are in order.

use std::io::{self, Write};
use std::sync::{PoisonError, RwLock};

use crate::keep::{In, NotKept, Out};
use crate::sc::frame::{Fields, Frame};
use crate::sc::packed::{PARTS, Remark, Shard, Sleep, System};
use crate::sc::threads::Threads;
use crate::sc::wire::{Framed, Garbled, Packet, Reader, get, number, put};

/// How what is kept begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// How many states were expanded.
    pub(crate) states: u64,
    /// How many workers there were, in all processes.
    pub(crate) workers: u32,
    /// Whether they were those of several processes, who agree on [hashes](crate::sc::wire::Hashes); or else of one,
    /// who have the same numbers.
    pub(crate) together: bool,
}

/// Workers of all processes together.
const MOST_WORKERS: u32 = 1 << 16;
/// Bytes of a block, about; and at most, where a single row takes so many.
pub(crate) const BLOCK: usize = 32 << 10;
const MOST_OF_A_BLOCK: u32 = 1 << 24;

impl Head {
    fn write(self, out: &mut Out<'_>) {
        out.number(self.states);
        out.number(self.workers.into());
        out.number(self.together.into());
    }

    pub(crate) fn read(from: &mut In<'_>) -> Result<Head, NotKept> {
        let states = from.number()?;
        let (workers, together) = (from.at_most(MOST_WORKERS)?, from.at_most(1)? == 1);
        if workers == 0 { Err(NotKept::Damaged) } else { Ok(Head { states, workers, together }) }
    }
}

/// A search that is being written.
pub(crate) struct Writing<'w> {
    out: Out<'w>,
}

impl<'w> Writing<'w> {
    pub(crate) fn begin(to: &'w mut dyn Write, head: Head) -> Writing<'w> {
        let mut out = Out::new(to);
        head.write(&mut out);
        Writing { out }
    }

    /// A block of a worker.
    pub(crate) fn block(&mut self, worker: usize, block: &[u8]) {
        self.out.number(worker as u64 + 1);
        self.out.number(block.len() as u64);
        self.out.bytes(block);
    }

    /// A part, or the remarks, are whole.
    pub(crate) fn end_part(&mut self) {
        self.out.number(0);
    }

    pub(crate) fn end(self) -> io::Result<()> {
        self.out.end()
    }
}

/// Hands out what belongs to a part of a shard block by block; what comes after the last part are the remarks.
pub(crate) fn in_blocks(
    packet: &mut Packet,
    tables: &Threads<'_>,
    (shard, part): (&Shard, usize),
    block: &mut dyn FnMut(&[u8]),
) {
    if part == PARTS {
        let mut remarks = Vec::new();
        shard.each_remark(&mut |id, remark| {
            write_remark(&mut remarks, id, remark);
            if remarks.len() >= BLOCK {
                block(&remarks);
                remarks.clear();
            }
        });
        if !remarks.is_empty() {
            block(&remarks);
        }
        return;
    }
    let mut post = |packet: &mut Packet, least| {
        if packet.bytes() >= least
            && let Some(states) = packet.take()
        {
            block(&states);
        }
    };
    shard.each_of(part, &mut |row, parent, asleep| {
        packet.push(tables, row, parent, asleep);
        post(packet, BLOCK);
    });
    post(packet, 1);
}

// What is remarked.
const ASLEEP: u64 = 0;
const WOKEN: u64 = 1;
const WOKEN_NOW: u64 = 2;

/// Adds a remark about a state.
pub(crate) fn write_remark(out: &mut Vec<u8>, id: u32, remark: Remark) {
    let (what, first, second) = match remark {
        Remark::Asleep(asleep) => (ASLEEP, asleep, 0),
        Remark::Woken(Sleep { awake, asleep }) => (WOKEN, awake, asleep),
        Remark::WokenNow(woken) => (WOKEN_NOW, woken, 0),
    };
    put(out, id.into());
    put(out, what);
    put(out, first.into());
    put(out, second.into());
}

/// Takes it.
pub(crate) fn read_remark(bytes: &mut &[u8]) -> Result<(u32, Remark), Garbled> {
    let (id, what) = (number(bytes)?, get(bytes)?);
    let (first, second) = (number(bytes)?, number(bytes)?);
    let remark = match what {
        ASLEEP => Remark::Asleep(first),
        WOKEN => Remark::Woken(Sleep { awake: first, asleep: second }),
        WOKEN_NOW => Remark::WokenNow(first),
        _ => return Err(Garbled),
    };
    Ok((id, remark))
}

/// What is read.
pub(crate) enum Piece<'a, 'p> {
    /// The next state of a worker: its row, its parent, and the threads that are asleep.
    State(&'a Threads<'p>, u32, (&'a [u32], u32, u32)),
    /// A remark about a state of a worker.
    Remark(u32, u32, Remark),
    /// A part has ended.
    PartEnds(usize),
    /// A block has ended, and so many bytes are in use for reading.
    BlockEnds(usize),
}

/// Reads what comes after the head, and tells `each` about it.
pub(crate) fn read<'p, S>(
    (system, tables): (&S, &RwLock<Threads<'p>>),
    head: Head,
    mut from: In<'_>,
    each: &mut dyn FnMut(Piece<'_, 'p>) -> Result<(), NotKept>,
) -> Result<(), NotKept>
where
    S: System<Tables = Threads<'p>> + Framed,
{
    let (frame, fields) = system.frame();
    // Workers of one process have one table of what is known to the reader, others have their own.
    let tables_before = if head.together { head.workers } else { 1 };
    let mut readers: Vec<Option<Reader>> = (0..tables_before).map(|_| None).collect();
    let mut read = 0;
    let mut part = 0;
    while part <= PARTS {
        let Some(worker) = from.at_most(head.workers)?.checked_sub(1) else {
            if part < PARTS {
                each(Piece::PartEnds(part))?;
            }
            part += 1;
            continue;
        };
        let len = from.at_most(MOST_OF_A_BLOCK)?;
        let block = from.block(len as usize)?;
        if part == PARTS {
            let mut rest = &block[..];
            while !rest.is_empty() {
                let (id, remark) = read_remark(&mut rest)?;
                each(Piece::Remark(worker, id, remark))?;
            }
            each(Piece::BlockEnds(read))?;
            continue;
        }
        let table = if head.together { worker as usize } else { 0 };
        let reader = readers[table].get_or_insert_with(|| Reader::new(system, true));
        let before = reader.bytes();
        let mut learning = tables.write().unwrap_or_else(PoisonError::into_inner);
        let rows = reader.learn(&mut learning, &block)?;
        drop(learning);
        let known = tables.read().unwrap_or_else(PoisonError::into_inner);
        let width = system.width(&known);
        reader.each_row(rows, &mut |row, parent, asleep| {
            if row.len() > width || !stands_for(&known, frame, &fields, row) {
                return Err(NotKept::Damaged);
            }
            each(Piece::State(&known, worker, (row, parent, asleep)))
        })?;
        drop(known);
        read += reader.bytes() - before;
        each(Piece::BlockEnds(read))?;
    }
    from.end()
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

impl From<Garbled> for NotKept {
    fn from(_: Garbled) -> NotKept {
        NotKept::Damaged
    }
}
