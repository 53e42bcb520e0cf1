//! Memory that comes and goes in an execution whose steps are asked for.

use std::fmt;

use super::{Place, hex, joined, list, place};
use crate::OpKind;

/// Memory comes, goes, or is used when it is not there. None of these is a step of its own: those are told
/// before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryStep {
    /// What happens.
    pub what: MemoryChange,
    /// Who does it.
    pub thread: u16,
    /// The first byte.
    pub addr: u64,
    /// How many.
    pub len: u64,
    /// Where, and which calls led there, the innermost first.
    pub places: Vec<Place>,
}

/// What happens to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryChange {
    /// A block is allocated.
    Allocated,
    /// A block is freed.
    Freed,
    /// The variables of a function are gone.
    Returned,
    /// The stack of a thread is gone, with its thread-local variables.
    Ended,
    /// Bytes that are not there are used: what is done with them.
    Misused(OpKind),
}

/// A function that has variables which steps use, as it was when it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StackFrame {
    /// The stack pointer.
    pub sp: u64,
    /// The frame pointer, or whatever the function had in its register.
    pub bp: u64,
    /// Where in the function that was.
    pub place: Place,
}

impl StackFrame {
    /// Reads what [`fmt::Display`] writes.
    pub(super) fn read<'a>(mut word: impl FnMut() -> Option<&'a str>) -> Option<StackFrame> {
        Some(StackFrame { sp: hex(word()?)?, bp: hex(word()?)?, place: place(word()?)? })
    }
}

impl fmt::Display for StackFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StackFrame { sp, bp, place } = self;
        write!(f, "{sp:#x} {bp:#x} {place}")
    }
}

impl MemoryStep {
    /// Whether it is about a byte.
    #[must_use]
    pub fn holds(&self, addr: u64) -> bool {
        addr.wrapping_sub(self.addr) < self.len.max(1)
    }

    /// Whether bytes are gone by it.
    #[must_use]
    pub fn is_end(&self) -> bool {
        use MemoryChange::{Ended, Freed, Returned};
        matches!(self.what, Freed | Returned | Ended)
    }

    /// Reads what [`fmt::Display`] writes.
    pub(super) fn read<'a>(mut word: impl FnMut() -> Option<&'a str>) -> Option<MemoryStep> {
        let what = match word()? {
            "allocated" => MemoryChange::Allocated,
            "freed" => MemoryChange::Freed,
            "returned" => MemoryChange::Returned,
            "ended" => MemoryChange::Ended,
            used => MemoryChange::Misused(OpKind::named(used)?),
        };
        Some(MemoryStep {
            what,
            thread: word()?.parse().ok()?,
            addr: hex(word()?)?,
            len: hex(word()?)?,
            places: list(word()?, place)?,
        })
    }
}

impl fmt::Display for MemoryStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MemoryStep { what, thread, addr, len, places } = self;
        match what {
            MemoryChange::Allocated => f.write_str("allocated")?,
            MemoryChange::Freed => f.write_str("freed")?,
            MemoryChange::Returned => f.write_str("returned")?,
            MemoryChange::Ended => f.write_str("ended")?,
            MemoryChange::Misused(kind) => write!(f, "{kind:?}")?,
        }
        write!(f, " {thread} {addr:#x} {len:#x} {}", joined(places))
    }
}
