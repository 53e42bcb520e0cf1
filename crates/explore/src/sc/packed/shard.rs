//! The states of one worker, and which of them are expanded next.

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

/// The parent of an initial state.
pub(crate) const ROOT: u32 = u32::MAX;

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
    woken_now: Vec<(u32, u32)>,
    pub(super) order: Order,
}

impl Shard {
    pub(super) fn new(order: Order) -> Shard {
        Shard {
            store: Store::default(),
            cursor: 0,
            stack: Vec::new(),
            level_end: 0,
            first: 0,
            asleep: Vec::new(),
            woken: Vec::new(),
            woken_now: Vec::new(),
            order,
        }
    }

    /// For a breadth-first search.
    pub(crate) fn breadth_first() -> Shard {
        Shard::new(Order::Breadth)
    }

    pub(super) fn has_more(&self) -> bool {
        let waits = match self.order {
            Order::Breadth => self.cursor < self.store.len(),
            Order::Depth => !self.stack.is_empty(),
        };
        waits || !self.woken.is_empty() || !self.woken_now.is_empty()
    }

    /// How many states wait to be expanded.
    pub(super) fn waiting(&self) -> usize {
        match self.order {
            Order::Breadth => (self.store.len() - self.cursor) as usize,
            Order::Depth => self.stack.len(),
        }
    }

    /// The bytes in use after the next growth of the table, if that is due within `more` states.
    pub(super) fn bytes_after(&self, more: usize) -> usize {
        let waiting = self.stack.capacity() + self.asleep.capacity();
        self.store.bytes_after(more) + waiting * 4
    }

    /// State `id`: its row, and the state that it was found from.
    pub(crate) fn state(&self, id: u32) -> (Vec<u32>, u32) {
        let mut row = Vec::new();
        self.store.row(id, &mut row);
        (row, self.store.note(id).parent)
    }

    /// Begins a level of a breadth-first search: with all that waits, as it is now.
    pub(super) fn begin_level(&mut self) {
        (self.first, self.level_end) = (self.cursor, self.store.len());
        let asleep = (self.first..self.level_end).map(|id| self.store.note(id).asleep);
        self.asleep.clear();
        self.asleep.extend(asleep);
        self.woken_now.sort_unstable();
        for (id, woken) in self.woken_now.drain(..) {
            match self.woken.last_mut() {
                Some((last, sleep)) if *last == id => sleep.awake |= woken,
                _ => {
                    let asleep = self.store.note(id).asleep;
                    self.woken.push((id, Sleep { awake: woken, asleep }));
                }
            }
        }
    }

    /// Whether something of this level has not been expanded.
    pub(super) fn is_in_level(&self) -> bool {
        self.cursor < self.level_end || !self.woken.is_empty()
    }

    /// What is expanded next, and whose moves are taken.
    pub(super) fn next(&mut self) -> Option<(u32, Sleep)> {
        if let Some(woken) = self.woken.pop() {
            return Some(woken);
        }
        let (id, asleep) = match self.order {
            Order::Depth => {
                let id = self.stack.pop()?;
                (id, self.store.note(id).asleep)
            }
            Order::Breadth if self.cursor < self.level_end => {
                self.cursor += 1;
                let id = self.cursor - 1;
                (id, self.asleep[(id - self.first) as usize])
            }
            Order::Breadth => return None,
        };
        Some((id, Sleep { awake: !asleep, asleep }))
    }

    /// Inserts rows that belong here.
    pub(crate) fn insert(&mut self, batch: &Successors) {
        let mut inserted = Vec::with_capacity(batch.len());
        self.store.insert_batch(batch.width.max(1), &batch.rows, &batch.notes, &mut |_, i| {
            inserted.push(i);
        });
        for inserted in inserted {
            match inserted {
                Inserted::New(id) if self.order == Order::Depth => self.stack.push(id),
                Inserted::Woken(id, woken) if self.order == Order::Depth => {
                    let asleep = self.store.note(id).asleep;
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

    /// Splits these states among `workers`, between two levels; `owner` says whose a row is.
    pub(super) fn deal_out(self, workers: u32, owner: impl Fn(&[u32]) -> u32) -> Vec<Shard> {
        let mut team: Vec<Shard> = (0..workers).map(|_| Shard::new(self.order)).collect();
        let mut number: Vec<u32> = Vec::with_capacity(self.store.len() as usize);
        let mut row = Vec::new();
        for id in 0..self.store.len() {
            self.store.row(id, &mut row);
            let to = owner(&row);
            let shard = &mut team[to as usize];
            let mut note: Note = self.store.note(id);
            if note.parent != ROOT {
                // A parent is always older than its children.
                note.parent = number[note.parent as usize];
            }
            number.push(shard.store.len() * workers + to);
            shard.store.insert_batch(row.len(), &row, &[note], &mut |_, _| {});
            if id < self.cursor {
                shard.cursor += 1;
            }
        }
        for (id, woken) in self.woken_now {
            let at = number[id as usize];
            team[(at % workers) as usize].woken_now.push((at / workers, woken));
        }
        team
    }
}
