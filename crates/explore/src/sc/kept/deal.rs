//! A search that was kept is dealt out to those who go on with it, whoever had its states before.
//!
//! A state's name says which worker has it, and which of its states it is. Where workers are as many as before, and
//! know whose a state is in the same way, names stay as they are. Else what is kept is read twice: first to know what
//! each state will be called, because states name those that they were found from.

use std::sync::RwLock;

use weakspot_core::Limit;

use super::form::{Head, Piece, read};
use crate::keep::{In, Keep, NotKept};
use crate::sc::packed::{PARTS, ROOT, Remark, System, among, owner};
use crate::sc::threads::Threads;
use crate::sc::wire::{Framed, Hashes};

/// Who goes on with a search.
pub(crate) trait Takes<'p> {
    /// The next state of a worker: its row, its parent, and the threads that are asleep.
    fn state(
        &mut self,
        tables: &Threads<'p>,
        worker: u32,
        state: (&[u32], u32, u32),
    ) -> Result<(), NotKept>;

    /// A remark about a state of a worker.
    fn remark(&mut self, worker: u32, id: u32, remark: Remark) -> Result<(), NotKept>;

    /// What comes next belongs to the next part.
    fn end_part(&mut self, part: usize) -> Result<(), NotKept>;

    /// Much was handed out, and dealing takes so many bytes: whether it may go on.
    fn pause(&mut self, bytes: usize) -> Result<(), NotKept>;
}

/// What the search is that was dealt out.
pub(crate) struct Dealt {
    /// How many states were expanded.
    pub(crate) states: u64,
    /// Whether it is in the middle of a level.
    pub(crate) in_level: bool,
}

/// How what is kept begins, if there is something.
pub(crate) fn head_of(keep: &dyn Keep) -> Result<Option<Head>, NotKept> {
    match keep.earlier() {
        None => Ok(None),
        Some(from) => Head::read(&mut In::new(&mut *from.map_err(NotKept::Read)?)).map(Some),
    }
}

/// Deals the states of the search that begins with `head` out to so many workers, who are those of several processes
/// if they go on `together`.
pub(crate) fn deal<'p, S>(
    (system, tables): (&S, &RwLock<Threads<'p>>),
    (keep, head): (&dyn Keep, Head),
    (workers, together): (u32, bool),
    takes: &mut dyn Takes<'p>,
) -> Result<Dealt, NotKept>
where
    S: System<Tables = Threads<'p>> + Framed,
{
    let again = |each: &mut dyn FnMut(Piece<'_, 'p>) -> Result<(), NotKept>| {
        let mut from = keep.earlier().ok_or(NotKept::Damaged)?.map_err(NotKept::Read)?;
        let mut from = In::new(&mut *from);
        if Head::read(&mut from)? != head {
            return Err(NotKept::Damaged);
        }
        read((system, tables), head, from, each)
    };
    let mut hashes = Hashes::new(system);
    let mut owner_of = |tables: &Threads<'p>, row: &[u32]| match together {
        true => among(hashes.of(tables, row), workers),
        false => owner(row, workers),
    };
    let is_same = head.workers == workers && (head.together == together || workers == 1);
    let mut names = Names::new(head.workers, workers, is_same);
    if !is_same {
        again(&mut |piece| match piece {
            Piece::State(tables, before, (row, ..)) => names.add(before, owner_of(tables, row)),
            Piece::BlockEnds(bytes) => takes.pause(bytes + names.bytes()),
            Piece::PartEnds(_) | Piece::Remark(..) => Ok(()),
        })?;
    }
    let mut seen = vec![0; head.workers as usize];
    let (mut part, mut in_level) = (0, false);
    again(&mut |piece| match piece {
        Piece::State(tables, before, (row, parent, asleep)) => {
            if is_same {
                if owner_of(tables, row) != before {
                    return Err(NotKept::Damaged);
                }
                names.add(before, before)?;
            }
            let id = &mut seen[before as usize];
            let (worker, _) = names.of(before, *id)?;
            *id += 1;
            in_level |= part == 1;
            takes.state(tables, worker, (row, names.of_parent(parent)?, asleep))
        }
        Piece::Remark(before, id, remark) => {
            in_level |= matches!(remark, Remark::Woken(_));
            let (worker, id) = names.of(before, id)?;
            takes.remark(worker, id, remark)
        }
        Piece::PartEnds(ended) => {
            part = ended + 1;
            if part == PARTS && !names.are_sound() {
                return Err(NotKept::Damaged);
            }
            takes.end_part(ended)
        }
        Piece::BlockEnds(bytes) => takes.pause(bytes + names.bytes()),
    })?;
    Ok(Dealt { states: head.states, in_level })
}

/// What states are called, by what they were called before.
struct Names {
    before: u32,
    workers: u32,
    /// How many states each worker has.
    lens: Vec<u32>,
    /// Per worker before, the new name of each of its states; `None` where names stay.
    new: Option<Vec<Vec<u32>>>,
    /// Where names stay, per worker which of its states is named that would be the last one.
    named: Vec<Option<u32>>,
}

impl Names {
    fn new(before: u32, workers: u32, is_same: bool) -> Names {
        let new = || (0..before).map(|_| Vec::new()).collect();
        Names {
            before,
            workers,
            lens: vec![0; workers as usize],
            new: (!is_same).then(new),
            named: vec![None; workers as usize],
        }
    }

    /// The next state of a worker, who is this one now.
    fn add(&mut self, before: u32, worker: u32) -> Result<(), NotKept> {
        let len = &mut self.lens[worker as usize];
        let name = u64::from(*len) * u64::from(self.workers) + u64::from(worker);
        *len += 1;
        // Names have 32 bits, and the last one has another meaning.
        let name = u32::try_from(name).ok().filter(|&name| name != ROOT);
        let full = || NotKept::Limit(Limit::Memory(self.bytes() as u64));
        let name = name.ok_or_else(full)?;
        if let Some(new) = &mut self.new {
            new[before as usize].push(name);
        }
        Ok(())
    }

    /// Whose a state of a worker is, and which one.
    fn of(&self, before: u32, id: u32) -> Result<(u32, u32), NotKept> {
        match &self.new {
            Some(new) => {
                let names = &new[before as usize];
                let name = names.get(id as usize).copied().ok_or(NotKept::Damaged)?;
                Ok((name % self.workers, name / self.workers))
            }
            None => Ok((before, id)),
        }
    }

    /// The number that a parent has among the workers of now.
    fn of_parent(&mut self, parent: u32) -> Result<u32, NotKept> {
        if parent == ROOT {
            return Ok(ROOT);
        }
        let (worker, id) = self.of(parent % self.before, parent / self.before)?;
        let named = &mut self.named[worker as usize];
        *named = (*named).max(Some(id));
        Ok(id * self.workers + worker)
    }

    /// Whether every parent that is named exists.
    fn are_sound(&self) -> bool {
        let mut all = self.named.iter().zip(&self.lens);
        all.all(|(&named, &len)| named.is_none_or(|id| id < len))
    }

    fn bytes(&self) -> usize {
        self.new.iter().flatten().map(|names| names.capacity() * 4).sum()
    }
}
