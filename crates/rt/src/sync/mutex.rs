//! Locks as they are in memory, and who holds them.

use weakspot_live::Op;

use crate::entry::guest::Guest;

/// What of `pthread_mutex_t` we use, where glibc has it.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Mutex {
    pub(super) held: u32,
    pub(super) count: u32,
    /// The number of the thread that holds it, plus one.
    pub(super) owner: u32,
    pub(super) users: u32,
    pub(super) kind: i32,
}

/// How many bytes it has.
pub(super) const MUTEX: u32 = 40;

impl Mutex {
    pub(super) fn kind(self) -> i32 {
        self.kind & 3
    }

    pub(super) fn is_held_by(self, thread: u32) -> bool {
        self.held != 0 && self.owner == thread
    }
}

/// What of `pthread_rwlock_t` we use.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct RwLock {
    pub(super) readers: u32,
    /// A number that says so once it was destroyed.
    pub(super) gone: u32,
    pub(super) unused: [u32; 4],
    /// The number of the thread that writes, plus one.
    pub(super) writer: u32,
    pub(super) others: [u32; 5],
    /// Whom it prefers, as glibc has it.
    pub(super) flags: u32,
}

/// How many bytes it has.
pub(super) const RW_LOCK: u32 = 56;
/// How many bytes a spin lock has.
pub(super) const SPIN_LOCK: u32 = 4;

/// The thread without which nobody gets the lock of pthreads that a step waits for; nobody if it is not one alone.
pub fn owner_of(op: Op) -> Option<usize> {
    let addr = op.addr as usize;
    // SAFETY: a thread waits for the lock of this size that the program has said to have there.
    let number = unsafe {
        match op.len {
            MUTEX => {
                Guest::<Mutex>::at(addr).given().map(Guest::get).filter(|m| m.held != 0)?.owner
            }
            RW_LOCK => Guest::<RwLock>::at(addr).get().writer,
            SPIN_LOCK => Guest::<u32>::at(addr).get(),
            _ => return None,
        }
    };
    (number as usize).checked_sub(1)
}

/// Who holds which mutexes of Rust, by their addresses. Only whoever has taken one can free it: its guard cannot be
/// sent to another thread.
pub struct Owners(Vec<(usize, usize)>);

impl Owners {
    /// Nobody holds any.
    pub fn new() -> Owners {
        Owners(Vec::new())
    }

    /// Before an execution.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// A thread takes one.
    pub fn take(&mut self, addr: usize, thread: usize) {
        self.free(addr);
        self.0.push((addr, thread));
    }

    /// One is free, or it is not known any more who has it.
    pub fn free(&mut self, addr: usize) {
        self.0.retain(|(known, _)| *known != addr);
    }

    /// Who holds one, as far as that is known.
    pub fn of(&self, addr: usize) -> Option<usize> {
        self.0.iter().find(|(known, _)| *known == addr).map(|(_, thread)| *thread)
    }
}
