//! A mutex as glibc has it in memory.

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

/// The thread that holds the mutex which a step waits for, if it is about one.
pub fn owner_of(op: Op) -> Option<usize> {
    if op.len != MUTEX {
        return None;
    }
    // SAFETY: a thread waits for the mutex that the program has said to have there.
    let mutex = unsafe { Guest::<Mutex>::at(op.addr as usize) }.get();
    (mutex.held != 0).then(|| (mutex.owner as usize).checked_sub(1)).flatten()
}
