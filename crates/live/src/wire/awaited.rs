//! What threads wait for that cannot go on.

use std::fmt;

use super::{Place, hex, joined, list, place};

/// A thread that waits when nobody can go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiter {
    /// Which.
    pub thread: u16,
    /// What it waits for.
    pub what: Awaited,
    /// Where that is in memory, or the number of the other thread.
    pub addr: u64,
    /// How many bytes it has.
    pub len: u32,
    /// Where it waits, and the calls that led there, the innermost first, as far as they can be seen.
    pub calls: Vec<Place>,
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// A mutex, read-write lock or spin lock.
    Lock,
    /// A wake-up by a condition variable.
    Condition,
    /// A semaphore that can be taken.
    Semaphore,
    /// The others, at a barrier.
    Barrier,
    /// The end of a thread.
    End,
    /// A wake-up at a word of memory (`futex`), by which Rust and C++ make all of these.
    Word,
    /// Something else, or to read something else in a loop.
    Other,
}

impl Awaited {
    const ALL: [Awaited; 7] = [
        Awaited::Lock,
        Awaited::Condition,
        Awaited::Semaphore,
        Awaited::Barrier,
        Awaited::End,
        Awaited::Word,
        Awaited::Other,
    ];
}

impl Waiter {
    /// Reads what [`fmt::Display`] writes.
    pub(super) fn read<'a>(mut word: impl FnMut() -> Option<&'a str>) -> Option<Waiter> {
        let thread = word()?.parse().ok()?;
        let name = word()?;
        Some(Waiter {
            thread,
            what: Awaited::ALL.into_iter().find(|what| format!("{what:?}") == name)?,
            addr: hex(word()?)?,
            len: word()?.parse().ok()?,
            calls: list(word()?, place)?,
        })
    }
}

impl fmt::Display for Waiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Waiter { thread, what, addr, len, calls } = self;
        write!(f, "{thread} {what:?} {addr:#x} {len} {}", joined(calls))
    }
}
