//! Locks as they are in memory, and who holds them.

use core::ops::Range;

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
/// What says that a read-write lock or a spin lock was destroyed.
pub(super) const GONE: u32 = 0x5eed_dead;
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
            SPIN_LOCK => Some(Guest::<u32>::at(addr).get()).filter(|&held| held != GONE)?,
            _ => return None,
        }
    };
    (number as usize).checked_sub(1)
}

/// Who holds which locks, by their addresses. Only whoever has taken one of Rust can free it: its guard cannot be
/// sent to another thread.
pub struct Owners {
    /// Mutexes, spin locks and read-write locks, with their threads; one that several read, or one several times, with each
    /// of them, the last one to come last. Those of Rust only if they are taken for writing.
    held: Vec<(usize, usize)>,
    /// Read-write locks that were not free for a thread that wants to write, once for each.
    wanted: Vec<usize>,
    /// A read-write lock that the current thread has just found free for reading.
    pub reading: Option<usize>,
}

impl Owners {
    /// Nobody holds any.
    pub fn new() -> Owners {
        Owners { held: Vec::new(), wanted: Vec::new(), reading: None }
    }

    /// Before an execution.
    pub fn clear(&mut self) {
        self.held.clear();
        self.wanted.clear();
        self.reading = None;
    }

    /// A thread waits for a read-write lock in order to write: no reader comes before it any more.
    pub fn want(&mut self, addr: usize) {
        self.wanted.push(addr);
    }

    /// One of those who want to write has the lock.
    pub fn got(&mut self, addr: usize) {
        if let Some(at) = self.wanted.iter().position(|&wanted| wanted == addr) {
            self.wanted.swap_remove(at);
        }
    }

    /// Whether a thread waits for a read-write lock in order to write.
    pub fn is_wanted(&self, addr: usize) -> bool {
        self.wanted.contains(&addr)
    }

    /// A thread takes one.
    pub fn take(&mut self, addr: usize, thread: usize) {
        self.free(addr);
        self.held.push((addr, thread));
    }

    /// A thread takes one that others may have for reading, in order to read.
    pub fn share(&mut self, addr: usize, thread: usize) {
        self.held.push((addr, thread));
    }

    /// A thread that has one for reading leaves it.
    pub fn leave(&mut self, addr: usize, thread: usize) {
        if let Some(at) = self.held.iter().rposition(|&held| held == (addr, thread)) {
            self.held.remove(at);
        }
    }

    /// Whether a thread has one.
    pub fn has(&self, addr: usize, thread: usize) -> bool {
        self.held.contains(&(addr, thread))
    }

    /// Whether a thread has one that is among these bytes.
    pub fn has_within(&self, bytes: Range<usize>, thread: usize) -> bool {
        self.held.iter().any(|&(addr, of)| of == thread && bytes.contains(&addr))
    }

    /// Whether a thread but this one has one.
    pub fn others_have(&self, addr: usize, thread: Option<usize>) -> bool {
        self.held.iter().any(|&(known, of)| known == addr && Some(of) != thread)
    }

    /// One is free, or it is not known any more who has it.
    pub fn free(&mut self, addr: usize) {
        self.held.retain(|(known, _)| *known != addr);
    }

    /// What was in these bytes is gone.
    pub fn forget(&mut self, addr: usize, len: usize) {
        self.held.retain(|(known, _)| !(addr..addr.saturating_add(len)).contains(known));
    }

    /// Who holds one, as far as that is known.
    pub fn of(&self, addr: usize) -> Option<usize> {
        self.held.iter().rfind(|(known, _)| *known == addr).map(|(_, thread)| *thread)
    }
}
