//! The states of one worker, and which of them are expanded next.

use std::ops::Range;

use crate::keep::{In, NotKept, Out};

use super::links::ROOT;
use super::store::{Inserted, Note, Store};
use super::system::{Sleep, Successors};

/// In which order states are expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Nearest first: the first goal found is a nearest one.
    Breadth,
    /// Newest first: deep goals are found early, and few states wait.
    Depth,
}

/// The states of one worker of a search, however they are kept.
pub(crate) trait States: Send {
    /// How many numbers states have.
    fn len(&self) -> u32;

    /// How many states are known.
    fn kept(&self) -> u32 {
        self.len()
    }

    /// Whether the newest state is expanded first, without levels.
    fn is_depth_first(&self) -> bool {
        false
    }

    fn has_more(&self) -> bool;

    /// How many states wait to be expanded.
    fn waiting(&self) -> usize;

    /// The bytes in use after the next growth of the table, if that is due within `more` states.
    fn bytes_after(&self, more: usize) -> usize;

    /// Whether a level was begun and has not ended.
    fn in_level(&mut self) -> &mut bool;

    /// Begins a level of a breadth-first search: with all that waits, as it is now.
    fn begin_level(&mut self);

    /// Whether something of this level has not been expanded.
    fn is_in_level(&self) -> bool;

    /// What is expanded next, its row, and whose moves are taken.
    fn next(&mut self, row: &mut Vec<u32>) -> Option<(u32, Sleep)>;

    /// Inserts rows that belong here.
    fn insert(&mut self, batch: &Successors);
}

/// What there is to know of a state of a search that is kept, apart from what every state has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Remark {
    /// These threads were asleep when the level began in which it is still to be expanded.
    Asleep(u32),
    /// It is to be expanded again in this level.
    Woken(Sleep),
    /// These threads have woken up in this level.
    WokenNow(u32),
}

/// The parts of a shard, see [`Shard::each_of`].
pub(crate) const PARTS: usize = 3;

/// The states of one worker.
pub(crate) struct Shard {
    pub(super) store: Store,
    /// Rows before this one were expanded (breadth first).
    pub(super) cursor: u32,
    /// States to expand next (depth first).
    pub(super) stack: Vec<u32>,
    /// Breadth first: what is expanded in this level ends before this row, and began with `first`;
    /// and which threads were asleep in these rows then.
    level_end: u32,
    first: u32,
    asleep: Vec<u32>,
    /// Known states some of whose threads have woken up since they were expanded.
    woken: Vec<(u32, Sleep)>,
    /// Those that have woken up in this level of a breadth-first search.
    pub(super) woken_now: Vec<(u32, u32)>,
    /// A level of a breadth-first search was begun and has not ended.
    pub(super) in_level: bool,
    pub(super) order: Order,
}

impl Shard {
    /// One of so many workers.
    pub(super) fn new(order: Order, workers: u32) -> Shard {
        Shard {
            store: Store::new(workers),
            cursor: 0,
            stack: Vec::new(),
            level_end: 0,
            first: 0,
            asleep: Vec::new(),
            woken: Vec::new(),
            woken_now: Vec::new(),
            in_level: false,
            order,
        }
    }

    /// For a breadth-first search by so many workers.
    pub(crate) fn breadth_first(workers: u32) -> Shard {
        Shard::new(Order::Breadth, workers)
    }

    /// State `id`: its row, and the state that it was found from.
    pub(crate) fn state(&self, id: u32) -> (Vec<u32>, u32) {
        let mut row = Vec::new();
        self.store.row(id, &mut row);
        (row, self.store.parent(id))
    }

    /// Gives back what the level needed that has ended.
    pub(super) fn forget(&mut self) {
        if !self.in_level {
            self.asleep = Vec::new();
            self.first = self.cursor;
        }
    }

    /// The states of one of its [parts](Shard::parts), in the order of their arrival: row, parent, and the threads
    /// that are asleep.
    pub(crate) fn each_of(&self, part: usize, each: &mut dyn FnMut(&[u32], u32, u32)) {
        let ids = self.parts()[part].clone();
        let mut row = Vec::new();
        for (id, parent) in ids.clone().zip(self.store.parents(ids.start)) {
            self.store.row(id, &mut row);
            each(&row, parent, self.store.asleep(id));
        }
    }

    /// What else there is to know of states.
    pub(crate) fn each_remark(&self, each: &mut dyn FnMut(u32, Remark)) {
        for id in self.parts()[1].clone() {
            let asleep = self.asleep[(id - self.first) as usize];
            if asleep != self.store.asleep(id) {
                each(id, Remark::Asleep(asleep));
            }
        }
        self.woken.iter().for_each(|&(id, sleep)| each(id, Remark::Woken(sleep)));
        self.woken_now.iter().for_each(|&(id, woken)| each(id, Remark::WokenNow(woken)));
    }

    /// Adds states that are next in one of its parts; false if one of them is known.
    pub(crate) fn append(&mut self, part: usize, states: &Successors) -> bool {
        let mut all_new = true;
        self.store.insert_batch(
            states.width.max(1),
            &states.rows,
            &states.notes,
            &mut |_, inserted| {
                all_new &= matches!(inserted, Inserted::New(_));
            },
        );
        if part == 1 {
            self.asleep.extend(states.notes.iter().map(|note| note.asleep));
        }
        all_new
    }

    /// No more will be appended to a part.
    pub(crate) fn end_part(&mut self, part: usize) {
        let len = self.store.len();
        match part {
            0 => (self.first, self.cursor, self.level_end) = (len, len, len),
            1 => self.level_end = len,
            _ => {}
        }
    }

    /// Takes note of a remark; false if there is no such state.
    pub(crate) fn note(&mut self, id: u32, remark: Remark) -> bool {
        let known = id < self.store.len();
        match remark {
            Remark::Asleep(asleep) => {
                let at = id.checked_sub(self.first).map(|at| at as usize);
                let Some(slot) = at.and_then(|at| self.asleep.get_mut(at)) else { return false };
                *slot = asleep;
            }
            Remark::Woken(sleep) if known => self.woken.push((id, sleep)),
            Remark::WokenNow(woken) if known => self.woken_now.push((id, woken)),
            Remark::Woken(_) | Remark::WokenNow(_) => {}
        }
        known
    }

    /// Writes how far it is.
    fn write_place(&self, out: &mut Out<'_>) {
        let [expanded, rest, _] = self.parts();
        out.number(u64::from(self.in_level));
        out.number(expanded.end.into());
        out.number(rest.end.into());
        rest.for_each(|id| out.number(self.asleep[(id - self.first) as usize].into()));
        out.number(self.woken.len() as u64);
        for &(id, Sleep { awake, asleep }) in &self.woken {
            [id, awake, asleep].into_iter().for_each(|n| out.number(n.into()));
        }
        out.number(self.woken_now.len() as u64);
        for &(id, woken) in &self.woken_now {
            [id, woken].into_iter().for_each(|n| out.number(n.into()));
        }
    }

    /// The same where [`Shard::write_place`] says.
    fn at_place(self, from: &mut In<'_>) -> Result<Shard, NotKept> {
        let mut shard = self;
        let len = shard.store.len();
        let known = |from: &mut In<'_>| from.at_most(len).and_then(below(len));
        shard.in_level = from.at_most(1)? == 1;
        shard.cursor = from.at_most(len)?;
        shard.level_end = from.at_most(len)?;
        shard.first = shard.cursor;
        for _ in shard.first..shard.level_end {
            shard.asleep.push(from.at_most(u32::MAX)?);
        }
        for _ in 0..from.number()? {
            let id = known(from)?;
            let (awake, asleep) = (from.at_most(u32::MAX)?, from.at_most(u32::MAX)?);
            shard.woken.push((id, Sleep { awake, asleep }));
        }
        for _ in 0..from.number()? {
            shard.woken_now.push((known(from)?, from.at_most(u32::MAX)?));
        }
        if shard.level_end < shard.cursor { Err(NotKept::Damaged) } else { Ok(shard) }
    }

    /// Writes all of it as it is in memory.
    pub(super) fn save(&self, out: &mut Out<'_>) {
        self.store.save(out);
        self.write_place(out);
    }

    /// Reads this, with names of so many workers.
    pub(super) fn load(from: &mut In<'_>, workers: u32) -> Result<Shard, NotKept> {
        let store = Store::load(from, workers)?;
        Shard { store, ..Shard::breadth_first(workers) }.at_place(from)
    }

    /// Its parts: where the states lie that were expanded, that are still to be expanded in this level, and that
    /// were found in it.
    fn parts(&self) -> [Range<u32>; 3] {
        let end = if self.in_level { self.level_end } else { self.cursor };
        [0..self.cursor, self.cursor..end, end..self.store.len()]
    }
}

impl States for Shard {
    fn len(&self) -> u32 {
        self.store.len()
    }

    fn is_depth_first(&self) -> bool {
        self.order == Order::Depth
    }

    fn in_level(&mut self) -> &mut bool {
        &mut self.in_level
    }

    fn has_more(&self) -> bool {
        let waits = match self.order {
            Order::Breadth => self.cursor < self.store.len(),
            Order::Depth => !self.stack.is_empty(),
        };
        waits || !self.woken.is_empty() || !self.woken_now.is_empty()
    }

    fn waiting(&self) -> usize {
        match self.order {
            Order::Breadth => (self.store.len() - self.cursor) as usize,
            Order::Depth => self.stack.len(),
        }
    }

    fn bytes_after(&self, more: usize) -> usize {
        let waiting = self.stack.capacity() + self.asleep.capacity();
        self.store.bytes_after(more) + waiting * 4
    }

    fn begin_level(&mut self) {
        self.in_level = true;
        (self.first, self.level_end) = (self.cursor, self.store.len());
        let asleep = (self.first..self.level_end).map(|id| self.store.asleep(id));
        self.asleep.clear();
        self.asleep.extend(asleep);
        self.woken_now.sort_unstable();
        for (id, woken) in self.woken_now.drain(..) {
            match self.woken.last_mut() {
                Some((last, sleep)) if *last == id => sleep.awake |= woken,
                _ => {
                    let asleep = self.store.asleep(id);
                    self.woken.push((id, Sleep { awake: woken, asleep }));
                }
            }
        }
    }

    fn is_in_level(&self) -> bool {
        self.cursor < self.level_end || !self.woken.is_empty()
    }

    fn next(&mut self, row: &mut Vec<u32>) -> Option<(u32, Sleep)> {
        if let Some(woken) = self.woken.pop() {
            self.store.row(woken.0, row);
            return Some(woken);
        }
        let (id, asleep) = match self.order {
            Order::Depth => {
                let id = self.stack.pop()?;
                (id, self.store.asleep(id))
            }
            Order::Breadth if self.cursor < self.level_end => {
                self.cursor += 1;
                let id = self.cursor - 1;
                (id, self.asleep[(id - self.first) as usize])
            }
            Order::Breadth => return None,
        };
        self.store.row(id, row);
        Some((id, Sleep { awake: !asleep, asleep }))
    }

    fn insert(&mut self, batch: &Successors) {
        let mut inserted = Vec::with_capacity(batch.len());
        self.store.insert_batch(batch.width.max(1), &batch.rows, &batch.notes, &mut |_, i| {
            inserted.push(i);
        });
        for inserted in inserted {
            match inserted {
                Inserted::New(id) if self.order == Order::Depth => self.stack.push(id),
                Inserted::Woken(id, woken) if self.order == Order::Depth => {
                    let asleep = self.store.asleep(id);
                    self.woken.push((id, Sleep { awake: woken, asleep }));
                }
                // What is for the next level will be expanded with fewer asleep.
                Inserted::Woken(id, woken) if id < self.level_end => {
                    self.woken_now.push((id, woken));
                }
                _ => {}
            }
        }
    }
}

/// What is below `len`.
fn below(len: u32) -> impl Fn(u32) -> Result<u32, NotKept> {
    move |n| if n < len { Ok(n) } else { Err(NotKept::Damaged) }
}

/// Deals the states of `shards` out anew among `workers`, breadth first; `owner` says whose a row is. The
/// search goes on where it was, in the middle of a level, too.
pub(super) fn deal_out(
    shards: Vec<Shard>,
    workers: u32,
    owner: impl Fn(&[u32]) -> u32,
) -> Vec<Shard> {
    let names = names(&shards, workers, owner);
    dealt(&shards, &names, workers, 0..workers)
}

/// What each state of `shards` will be called when they are dealt out.
pub(super) fn names(
    shards: &[Shard],
    workers: u32,
    owner: impl Fn(&[u32]) -> u32,
) -> Vec<Vec<u32>> {
    let mut row = Vec::new();
    let mut names: Vec<Vec<u32>> =
        shards.iter().map(|shard| Vec::with_capacity(shard.store.len() as usize)).collect();
    let mut lens = vec![0; workers as usize];
    for part in 0..3 {
        for (shard, names) in shards.iter().zip(&mut names) {
            for id in shard.parts()[part].clone() {
                shard.store.row(id, &mut row);
                let to = owner(&row);
                names.push(lens[to as usize] * workers + to);
                lens[to as usize] += 1;
            }
        }
    }
    names
}

/// What some of the workers are dealt, by the [names] of all states: a parent may lie in a later shard.
pub(super) fn dealt(
    shards: &[Shard],
    names: &[Vec<u32>],
    workers: u32,
    which: Range<u32>,
) -> Vec<Shard> {
    let before = shards.len() as u32;
    let mut team: Vec<Shard> = which.clone().map(|_| Shard::breadth_first(workers)).collect();
    let mut row = Vec::new();
    let place = |name: u32| {
        let to = name % workers;
        which.contains(&to).then(|| ((to - which.start) as usize, name / workers))
    };
    let name = |at: u32| names[(at % before) as usize][(at / before) as usize];
    for part in 0..3 {
        for (shard, names) in shards.iter().zip(names) {
            let ids = shard.parts()[part].clone();
            for (id, parent) in ids.clone().zip(shard.store.parents(ids.start)) {
                let Some((to, _)) = place(names[id as usize]) else { continue };
                shard.store.row(id, &mut row);
                let parent = if parent == ROOT { ROOT } else { name(parent) };
                let note = Note { parent, asleep: shard.store.asleep(id) };
                team[to].store.insert_batch(row.len(), &row, &[note], &mut |_, _| {});
                if part == 1 {
                    team[to].asleep.push(shard.asleep[(id - shard.first) as usize]);
                }
            }
        }
        for shard in &mut team {
            match part {
                0 => (shard.first, shard.cursor) = (shard.store.len(), shard.store.len()),
                1 => shard.level_end = shard.store.len(),
                _ => {}
            }
        }
    }
    for (shard, names) in shards.iter().zip(names) {
        for &(id, sleep) in &shard.woken {
            if let Some((to, id)) = place(names[id as usize]) {
                team[to].woken.push((id, sleep));
            }
        }
        for &(id, woken) in &shard.woken_now {
            if let Some((to, id)) = place(names[id as usize]) {
                team[to].woken_now.push((id, woken));
            }
        }
        team.iter_mut().for_each(|to| to.in_level = shard.in_level);
    }
    team
}
