//! Who has touched which bytes: only accesses to bytes that threads share are worth a scheduling
//! point.
//!
//! Four bytes of the program have a cell of two. A cell is shared once two threads have touched it
//! and one of them wrote, in whatever executions: addresses are the same in all of them. That a
//! cell is shared may be learnt too late, after accesses that were none of the strategy's business;
//! the exploration then starts again. Cells are found in two steps, over a table with one entry for
//! each 16 MiB of addresses.

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

/// The cells.
pub struct Shadow {
    top: usize,
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
    pub unsafe fn cell(addr: usize) -> *mut u16 {
        let chunk = *(BASE as *const usize).add((addr >> CHUNK_LOG) & (TABLE - 1));
        if chunk == 0 {
            return core::ptr::null_mut();
        }
        (chunk as *mut u16).add((addr & ((1 << CHUNK_LOG) - 1)) >> 2)
    }

    /// The cell of an address, made if need be. `None`: there is no room, so nothing is known.
    unsafe fn make(&mut self, addr: usize) -> Option<*mut u16> {
        let entry = (BASE as *mut usize).add((addr >> CHUNK_LOG) & (TABLE - 1));
        if *entry == 0 {
            if self.top + CHUNK > BASE + SIZE {
                return None;
            }
            *entry = self.top;
            self.top += CHUNK;
        }
        Some(Shadow::cell(addr))
    }

    /// A thread touches bytes while others are there.
    pub unsafe fn touch(&mut self, thread: usize, addr: usize, len: usize, write: bool) -> Seen {
        let mut seen = Seen::Private;
        let mine = mark(thread, write);
        let last = addr.saturating_add(len.max(1) - 1) & !3;
        let mut at = addr & !3;
        while at <= last {
            let Some(cell) = self.make(at) else { return Seen::Shared };
            let old = *cell;
            let owner = old & OWNER;
            if old & SHARED != 0 {
                if seen == Seen::Private {
                    seen = Seen::Shared;
                }
            } else if old == 0 || owner == mine & OWNER {
                *cell = old | mine;
            } else if write || old & WRITTEN != 0 {
                *cell = SHARED;
                seen = Seen::News;
            } else {
                *cell = MANY;
            }
            at = match at.checked_add(4) {
                Some(next) => next,
                None => break,
            };
        }
        seen
    }

    /// Bytes are known to be shared.
    pub unsafe fn set_shared(&mut self, addr: usize, len: usize) {
        for at in (addr & !3..addr.saturating_add(len)).step_by(4) {
            if let Some(cell) = self.make(at) {
                *cell = SHARED;
            }
        }
    }

    /// Whether some of the bytes are known to be shared.
    pub unsafe fn is_shared(addr: usize, len: usize) -> bool {
        let last = addr.saturating_add(len.max(1) - 1) & !3;
        let mut at = addr & !3;
        while at <= last {
            let cell = Shadow::cell(at);
            if !cell.is_null() && *cell & SHARED != 0 {
                return true;
            }
            at = match at.checked_add(4) {
                Some(next) => next,
                None => break,
            };
        }
        false
    }
}
