//! What a thread of a real program does that others can notice.

/// A thread of the program, or the store buffer of one.
///
/// Threads have the numbers 0, 1, 2, ... in the order in which they are created; the buffer of
/// thread `t`, which takes steps of its own under TSO and PSO, is `Agent::buffer(t)`. Under PSO a
/// buffer has a queue per address; its steps name the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Agent(pub u16);

impl Agent {
    const BUFFER: u16 = 1 << 15;

    /// The thread with this number.
    #[must_use]
    pub fn thread(t: u16) -> Agent {
        Agent(t & !Agent::BUFFER)
    }

    /// The buffer of the thread with this number.
    #[must_use]
    pub fn buffer(t: u16) -> Agent {
        Agent(t | Agent::BUFFER)
    }

    /// Whether it is a buffer.
    #[must_use]
    pub fn is_buffer(self) -> bool {
        self.0 & Agent::BUFFER != 0
    }

    /// The number of the thread that it is, or is the buffer of.
    #[must_use]
    pub fn of(self) -> u16 {
        self.0 & !Agent::BUFFER
    }
}

/// One step: what is done to which bytes. 16 bytes, because a search keeps all steps of an
/// execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Op {
    /// What is done.
    pub kind: OpKind,
    /// How many bytes it is about, 0 if none.
    pub len: u32,
    /// The first of them.
    pub addr: u64,
}

/// Kinds of steps. Locks, condition variables and so on are updates of the bytes of the object,
/// which can only be taken when the object allows it ([`Next::enabled`](crate::Next)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum OpKind {
    /// A load.
    Read,
    /// A store. With simulated buffers it goes into the buffer, and only its thread sees it.
    Write,
    /// An atomic update, or a successful compare-and-swap.
    Update,
    /// Takes a lock, or anything else that has to wait for something to become free.
    Acquire,
    /// Frees a lock, or does anything else that others may wait for.
    Release,
    /// A full fence.
    Fence,
    /// A fence between stores.
    StoreFence,
    /// Creates the thread whose number is `addr`.
    Spawn,
    /// The first step of a thread.
    Start,
    /// The last step of a thread.
    Exit,
    /// Waits for the end of the thread whose number is `addr`.
    Join,
    /// Lets others run; touches nothing.
    Yield,
    /// A store leaves the buffer: a step of a buffer.
    Commit,
}

impl Op {
    /// A step that touches no memory.
    #[must_use]
    pub fn plain(kind: OpKind) -> Op {
        Op { kind, len: 0, addr: 0 }
    }

    /// Whether it changes its bytes for others.
    #[must_use]
    pub fn writes(self) -> bool {
        use OpKind::{Acquire, Commit, Release, Update, Write};
        matches!(self.kind, Write | Update | Acquire | Release | Commit)
    }

    /// Whether the two, steps of different agents, may not be exchanged: they touch a byte in
    /// common that one of them changes. Threads' beginnings and ends are ordered by being
    /// impossible before what they wait for, and need no more.
    #[must_use]
    pub fn conflicts(self, other: Op) -> bool {
        (self.writes() || other.writes())
            && self.touches()
            && other.touches()
            && self.addr < other.addr.saturating_add(u64::from(other.len))
            && other.addr < self.addr.saturating_add(u64::from(self.len))
    }

    fn touches(self) -> bool {
        use OpKind::{Acquire, Commit, Read, Release, Update, Write};
        matches!(self.kind, Read | Write | Update | Acquire | Release | Commit)
    }
}
