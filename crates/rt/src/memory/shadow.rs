//! Who has touched which bytes: only accesses to bytes that threads share are worth a scheduling
//! point.
//!
//! Four bytes of the program have a cell of two. A cell is shared once two threads have touched it
//! and one of them wrote, in whatever executions: addresses are the same in all of them. That a
//! cell is shared may be learnt too late, after accesses that were none of the strategy's business;
//! the exploration then starts again. Cells are found in two steps, over a table with one entry for
//! each 16 MiB of addresses.

use crate::entry::guest::Area;
use crate::sys;

const BASE: usize = 0x1800_0000_0000;
const TABLE: usize = 1 << 23;
const CHUNK_LOG: usize = 24;
/// Bytes of cells per chunk.
const CHUNK: usize = (1 << CHUNK_LOG) / 4 * 2;
const SIZE: usize = 1 << 36;

/// A cell is shared.
const SHARED: u16 = 1 << 15;
const WRITTEN: u16 = 1 << 14;
const OWNER: u16 = WRITTEN - 1;
/// The owner of a cell that several threads have read and none wrote.
const MANY: u16 = OWNER;

/// The cells. There is one `Shadow`, made when they are mapped.
pub struct Shadow {
    top: usize,
}

/// A cell, and the one after it if the address is a multiple of eight.
#[derive(Clone, Copy)]
pub struct Cell(*mut u16);

impl Cell {
    /// The content of the cell.
    #[inline(always)]
    pub fn one(self) -> u16 {
        // SAFETY: `Shadow` makes cells only where they are mapped.
        unsafe { *self.0 }
    }

    /// What is in it and the next one, as one number. The address is a multiple of eight.
    #[inline(always)]
    pub fn two(self) -> u32 {
        debug_assert!((self.0 as usize).is_multiple_of(4));
        // SAFETY: cells are mapped in pairs.
        unsafe { *self.0.cast::<u32>() }
    }

    /// What is in it and the next three, as one number. The address is a multiple of sixteen.
    fn four(self) -> u64 {
        debug_assert!((self.0 as usize).is_multiple_of(8));
        // SAFETY: cells are mapped in chunks, which have a multiple of four.
        unsafe { *self.0.cast::<u64>() }
    }

    fn set(self, value: u16) {
        // SAFETY: as for `one`; nobody has references to cells.
        unsafe { *self.0 = value };
    }
}

/// What an access meets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// Bytes of this thread only.
    Private,
    /// Bytes that were known to be shared.
    Shared,
    /// Bytes of which nobody knew that they are.
    News,
}

/// What a thread leaves in cells that only it has touched.
pub fn mark(thread: usize, write: bool) -> u16 {
    (thread as u16 + 1) & OWNER | if write { WRITTEN } else { 0 }
}

impl Shadow {
    /// Maps the cells, shared with workers to come.
    pub fn open() -> Option<Shadow> {
        sys::map_at(BASE, SIZE, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED)
            .then_some(Shadow { top: BASE + TABLE * 8 })
    }

    /// The cell of an address, if there is one.
    #[inline(always)]
    pub fn cell(&self, addr: usize) -> Option<Cell> {
        // SAFETY: the table is mapped as long as there is a `Shadow`, and has that many entries.
        let chunk = unsafe { *Shadow::entry(addr) };
        if chunk == 0 {
            return None;
        }
        Some(Shadow::cell_of(chunk, addr))
    }

    /// Where the table says where the cells of an address are.
    #[inline(always)]
    fn entry(addr: usize) -> *mut usize {
        (BASE as *mut usize).wrapping_add((addr >> CHUNK_LOG) & (TABLE - 1))
    }

    #[inline(always)]
    fn cell_of(chunk: usize, addr: usize) -> Cell {
        Cell((chunk as *mut u16).wrapping_add((addr & ((1 << CHUNK_LOG) - 1)) >> 2))
    }

    /// The cell of an address, made if need be. `None`: there is no room, so nothing is known.
    fn make(&mut self, addr: usize) -> Option<Cell> {
        // SAFETY: the table is mapped, and only this function changes it.
        let chunk = unsafe { &mut *Shadow::entry(addr) };
        if *chunk == 0 {
            if self.top + CHUNK > BASE + SIZE {
                return None;
            }
            *chunk = self.top;
            self.top += CHUNK;
        }
        Some(Shadow::cell_of(*chunk, addr))
    }

    /// A thread touches bytes while others are there.
    pub fn touch(&mut self, thread: usize, area: Area, write: bool) -> Seen {
        let mut seen = Seen::Private;
        let mine = mark(thread, write);
        for at in cells(area.addr(), area.len() as usize) {
            let Some(cell) = self.make(at) else { return Seen::Shared };
            let old = cell.one();
            let owner = old & OWNER;
            if old & SHARED != 0 {
                if seen == Seen::Private {
                    seen = Seen::Shared;
                }
            } else if old == 0 || owner == mine & OWNER {
                cell.set(old | mine);
            } else if write || old & WRITTEN != 0 {
                cell.set(SHARED);
                seen = Seen::News;
            } else {
                cell.set(MANY);
            }
        }
        seen
    }

    /// A thread frees bytes: those that others have touched are shared from now on. The first of them
    /// and the end of the last, and whether that is news.
    pub fn free(&mut self, thread: usize, area: Area) -> Option<(usize, usize, bool)> {
        const FOUR: usize = 16;
        let me = mark(thread, false);
        let (mut at, end) = (area.addr() & !3, area.addr() + area.len() as usize);
        let mut found: Option<(usize, usize, bool)> = None;
        while at < end {
            let Some(cell) = self.cell(at) else {
                // Nobody has touched anything near.
                at = (at | ((1 << CHUNK_LOG) - 1)) + 1;
                continue;
            };
            if at.is_multiple_of(FOUR) && cell.four() == 0 {
                at += FOUR;
                continue;
            }
            let old = cell.one();
            let shared = old & SHARED != 0;
            if shared || (old != 0 && old & OWNER != me) {
                cell.set(SHARED);
                let (first, _, news) = found.unwrap_or((at, 0, false));
                found = Some((first, at + 4, news || !shared));
            }
            at += 4;
        }
        found
    }

    /// Bytes are known to be shared.
    pub fn set_shared(&mut self, addr: usize, len: usize) {
        for at in (addr & !3..addr.saturating_add(len)).step_by(4) {
            if let Some(cell) = self.make(at) {
                cell.set(SHARED);
            }
        }
    }

    /// Whether another thread has written some of the bytes, and no thread but that one has touched them while there were
    /// several.
    pub fn is_of_another(&self, thread: usize, area: Area) -> bool {
        let me = mark(thread, true);
        let of_another = |old: u16| old & SHARED == 0 && old & WRITTEN != 0 && old != me;
        cells(area.addr(), area.len() as usize)
            .any(|at| self.cell(at).is_some_and(|cell| of_another(cell.one())))
    }

    /// Whether some of the bytes are known to be shared.
    pub fn is_shared(&self, area: Area) -> bool {
        cells(area.addr(), area.len() as usize)
            .any(|at| self.cell(at).is_some_and(|cell| cell.one() & SHARED != 0))
    }
}

/// The first address of each cell of these bytes; at least of one.
#[inline(always)]
fn cells(addr: usize, len: usize) -> impl Iterator<Item = usize> {
    let first = addr >> 2;
    let last = addr.saturating_add(len.max(1) - 1) >> 2;
    (0..last - first + 1).map(move |i| (first + i) << 2)
}
