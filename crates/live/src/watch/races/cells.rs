//! What was done to the bytes of memory that threads share, eight to a cell.
//!
//! Addresses are the same in all executions, so cells are made once and stay. A cell that an earlier
//! execution has used is as good as empty: nothing has to be cleared between executions.

use rustc_hash::FxHashMap;

use super::What;
use super::clock::Clock;

/// All cells.
#[derive(Debug, Default)]
pub(super) struct Cells {
    by_word: FxHashMap<u64, u32>,
    cells: Vec<Cell>,
    /// The word that was asked for last, and its cell: most steps ask several times.
    last: (u64, u32),
    /// Words that this execution has used, and their cells.
    used: Vec<(u64, u32)>,
    execution: u64,
}

/// Eight bytes.
#[derive(Debug, Default)]
pub(super) struct Cell {
    execution: u64,
    /// The last access of each thread by each instruction, and of what kind.
    pub(super) accesses: Vec<Access>,
    /// What somebody who reads what is there now can learn: the first `heads` of these. The others are
    /// kept for their room.
    published: Vec<Head>,
    heads: usize,
}

/// An access to some bytes of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) thread: u16,
    pub(super) write: bool,
    pub(super) atomic: bool,
    /// What it does.
    pub(super) what: What,
    /// Which bytes of the cell.
    pub(super) mask: u8,
    /// How many bytes in all.
    pub(super) len: u32,
    /// The time of its thread.
    pub(super) time: u32,
    /// The program address.
    pub(super) at: u64,
}

/// What heads a release sequence that the present value of some bytes belongs to.
#[derive(Debug, Default)]
struct Head {
    mask: u8,
    thread: u16,
    /// It is the end of a reader's turn, which only writers wait for.
    reader: bool,
    /// It is a commuting addition, and no access that must be ordered after it has followed.
    added: bool,
    clock: Clock,
}

/// What a release is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// A store, an update, a lock that is freed.
    Usual,
    /// The end of a reader's turn.
    Reader,
    /// An addition that may be exchanged with others.
    Addition,
}

/// Which heads an acquire learns from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    /// All.
    Everybody,
    /// Not those of readers.
    Writers,
    /// Not those of additions, which might have come later.
    NotAdded,
}

/// The words that bytes are in, each with which of its bytes.
pub(super) fn words(addr: u64, len: u32) -> impl Iterator<Item = (u64, u8)> {
    let end = addr.saturating_add(u64::from(len.max(1)));
    (addr >> 3..=(end - 1) >> 3).map(move |word| (word, part(word, addr, len)))
}

/// Which bytes of a word are among these.
fn part(word: u64, addr: u64, len: u32) -> u8 {
    let end = addr.saturating_add(u64::from(len.max(1)));
    let start = word << 3;
    let from = addr.saturating_sub(start).min(8);
    let to = end.saturating_sub(start).min(8);
    (0xff_u32 << from & 0xff >> (8 - to)) as u8
}

impl Cells {
    /// All of them are empty.
    pub(super) fn clear(&mut self) {
        self.execution += 1;
        self.used.clear();
    }

    /// The cell of a word.
    pub(super) fn cell(&mut self, word: u64) -> &mut Cell {
        let Cells { by_word, cells, last, used, execution } = self;
        if last.0 != word || cells.is_empty() {
            let at = *by_word.entry(word).or_insert_with(|| {
                cells.push(Cell::default());
                cells.len() as u32 - 1
            });
            *last = (word, at);
        }
        let cell = &mut cells[last.1 as usize];
        if cell.execution != *execution {
            cell.execution = *execution;
            used.push(*last);
            cell.accesses.clear();
            cell.heads = 0;
        }
        cell
    }

    /// Passes each cell of these bytes that is not empty, with which of its bytes they are.
    pub(super) fn each_used(&mut self, addr: u64, len: u32, see: &mut dyn FnMut(u8, &mut Cell)) {
        for &(word, at) in &self.used {
            let mask = part(word, addr, len);
            if mask != 0 {
                see(mask, &mut self.cells[at as usize]);
            }
        }
    }

    /// Nothing was ever done to these bytes: they are new.
    pub(super) fn forget(&mut self, addr: u64, len: u32) {
        self.each_used(addr, len, &mut |mask, cell| {
            cell.overwrite(mask, None);
            cell.accesses.iter_mut().for_each(|access| access.mask &= !mask);
            cell.accesses.retain(|access| access.mask != 0);
        });
    }
}

impl Cell {
    /// Remembers an access in the place of the last one of its kind by this instruction.
    pub(super) fn remember(&mut self, new: Access) {
        let same = |old: &&mut Access| {
            old.at == new.at
                && old.thread == new.thread
                && old.mask == new.mask
                && old.write == new.write
                && old.atomic == new.atomic
        };
        match self.accesses.iter_mut().find(same) {
            Some(old) => *old = new,
            None => self.accesses.push(new),
        }
    }

    /// What is to be learnt from bytes.
    pub(super) fn learn(&self, mask: u8, from: From, clock: &mut Clock) {
        for head in &self.published[..self.heads] {
            let left_out = match from {
                From::Everybody => false,
                From::Writers => head.reader,
                From::NotAdded => head.added,
            };
            if head.mask & mask != 0 && !left_out {
                clock.join(&head.clock);
            }
        }
    }

    /// Bytes are accessed by something that additions cannot be exchanged with: it comes after those so far, and
    /// before those to come.
    pub(super) fn set_order(&mut self, mask: u8) {
        let mut i = 0;
        while i < self.heads {
            let head = &mut self.published[i];
            if head.added && head.mask & mask != 0 {
                head.added = false;
                self.join_equal(i);
            }
            i += 1;
        }
    }

    /// A head that has become the same as another one but for its clock: there would be one more for each addition.
    fn join_equal(&mut self, at: usize) {
        let key = |head: &Head| (head.mask, head.thread, head.reader, head.added);
        let heads = &self.published[..self.heads];
        let Some(other) = (0..heads.len()).find(|&i| i != at && key(&heads[i]) == key(&heads[at]))
        else {
            return;
        };
        let [low, high] = [at.min(other), at.max(other)];
        let (before, after) = self.published.split_at_mut(high);
        before[low].clock.join(&after[0].clock);
        self.heads -= 1;
        self.published.swap(high, self.heads);
    }

    /// A thread publishes what it knows along with its new value of bytes, or with that which they
    /// have.
    pub(super) fn publish(&mut self, mask: u8, thread: u16, kind: Turn, clock: &Clock) {
        let (reader, added) = (kind == Turn::Reader, kind == Turn::Addition);
        let heads = &mut self.published[..self.heads];
        let same = |head: &&mut Head| {
            (head.mask, head.thread, head.reader, head.added) == (mask, thread, reader, added)
        };
        if let Some(head) = heads.iter_mut().find(same) {
            return head.clock.join(clock);
        }
        if self.heads == self.published.len() {
            self.published.push(Head::default());
        }
        let head = &mut self.published[self.heads];
        self.heads += 1;
        (head.mask, head.thread, head.reader, head.added) = (mask, thread, reader, added);
        head.clock.copy(clock);
    }

    /// Bytes have a new value that belongs to no release sequence of others than this thread, if
    /// any.
    pub(super) fn overwrite(&mut self, mask: u8, but: Option<u16>) {
        let mut i = 0;
        while i < self.heads {
            let head = &mut self.published[i];
            if but != Some(head.thread) {
                head.mask &= !mask;
            }
            if head.mask == 0 {
                self.heads -= 1;
                self.published.swap(i, self.heads);
            } else {
                i += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_in_words() {
        let all = |addr, len| words(addr, len).collect::<Vec<_>>();
        assert_eq!(all(0, 8), [(0, 0xff)]);
        assert_eq!(all(4, 4), [(0, 0xf0)]);
        assert_eq!(all(17, 1), [(2, 0x02)]);
        assert_eq!(all(6, 4), [(0, 0xc0), (1, 0x03)]);
        assert_eq!(all(8, 16), [(1, 0xff), (2, 0xff)]);
        assert_eq!(all(9, 0), [(1, 0x02)]);
    }

    #[test]
    fn heads_of_additions_become_one() {
        let mut clock = Clock::default();
        let mut cell = Cell::default();
        for _ in 0..100 {
            clock.tick(0);
            cell.publish(0x0f, 0, Turn::Addition, &clock);
            cell.set_order(0x0f);
        }
        assert_eq!(cell.heads, 1);
        let mut learnt = Clock::default();
        cell.learn(0x0f, From::NotAdded, &mut learnt);
        assert_eq!(learnt, clock);
    }
}
