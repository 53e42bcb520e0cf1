//! What a thread of a real program does that others can notice.

use weakspot_core::Agent;

/// One step: what is done to which bytes. 16 bytes, because a search keeps all steps of an
/// execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Op {
    /// What is done.
    pub kind: OpKind,
    /// How many bytes it is about, 0 if none.
    pub len: u32,
    /// The first of them.
    pub addr: u64,
}

/// Kinds of steps. Locks, condition variables and so on are updates of the bytes of the object,
/// which can only be taken when the object allows it ([`Next::enabled`](crate::Next)). An object
/// that is waited for is always named by the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum OpKind {
    /// A load.
    Read,
    /// A store. With simulated buffers it goes into the buffer, and only its thread sees it.
    Write,
    /// An atomic update, or a compare-and-swap that succeeds as things are.
    Update,
    /// A compare-and-swap that fails as things are: it reads.
    Compare,
    /// Takes a lock, or anything else that has to wait for something to become free.
    Acquire,
    /// Frees a lock, or does anything else that others may wait for, and without which no
    /// [`Acquire`](OpKind::Acquire) of these bytes could be next. Where one could, such as when a
    /// semaphore that is not 0 is raised, or one of several readers leaves, it is an `Update`.
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
    /// Waits for the end of the thread whose number is `addr`; if it has bytes, for additions to these, all of which come
    /// before it in any case.
    Join,
    /// Lets others run; touches nothing.
    Yield,
    /// A store leaves the buffer: a step of a buffer.
    Commit,
    /// Bytes are not there any more: their block is freed, or the stack that they are on is gone. With
    /// simulated buffers it is a step of a buffer, like a commit, after a `Write` of its thread.
    Free,
    /// A transaction begins. No step of its own: nobody is asked whether it may.
    Begin,
    /// It ends.
    End,
    /// An atomic update by addition whose result nobody uses, or only to tell that others are still to come:
    /// the order of two of them cannot be told, so they may be exchanged. What may be an addition as
    /// things are, and an `Update` when others have gone before, is whether it is the last.
    Add,
    /// A fence behind loads, which no machine here has a use for. No step of its own: it is only told where
    /// executions are traced.
    LoadFence,
    /// Takes a lock that others may have at the same time, as readers do: it waits like an [`Acquire`](OpKind::Acquire), and may be
    /// exchanged with others of its kind and with additions to the same bytes, which are how such locks are freed.
    Share,
}

/// All kinds, each at the place that is its number.
pub(crate) const KINDS: [OpKind; 20] = {
    use OpKind::*;
    [
        Read, Write, Update, Compare, Acquire, Release, Fence, StoreFence, Spawn, Start, Exit,
        Join, Yield, Commit, Free, Begin, End, Add, LoadFence, Share,
    ]
};

impl OpKind {
    /// The kind with this number.
    pub(crate) fn numbered(number: u64) -> Option<OpKind> {
        KINDS.get(usize::try_from(number).ok()?).copied()
    }

    /// Whether it is an atomic update.
    #[must_use]
    pub fn updates(self) -> bool {
        matches!(self, OpKind::Update | OpKind::Add)
    }
}

/// Whether a step of this kind that is about memory waits for the buffer of its thread.
#[must_use]
pub fn waits(kind: OpKind) -> bool {
    use OpKind::{Acquire, Add, Compare, Fence, Release, Share, Spawn, Update};
    matches!(kind, Update | Add | Compare | Acquire | Share | Release | Fence | Spawn)
}

/// Addresses from here on are those of no memory: locks that only strategies know, which empty no buffer.
pub const BEYOND_MEMORY: u64 = 1 << 62;

impl Op {
    /// Whether the step waits for the buffer of its thread.
    #[must_use]
    pub fn waits(self) -> bool {
        waits(self.kind) && self.addr < BEYOND_MEMORY
    }

    /// A step that touches no memory.
    #[must_use]
    pub fn plain(kind: OpKind) -> Op {
        Op { kind, len: 0, addr: 0 }
    }

    /// Whether it changes its bytes for others.
    #[must_use]
    pub fn writes(self) -> bool {
        use OpKind::{Acquire, Add, Commit, Free, Release, Share, Update, Write};
        matches!(self.kind, Write | Update | Add | Acquire | Share | Release | Commit | Free)
    }

    /// Whether the two, steps of different agents, may not be exchanged: they touch a byte in
    /// common that one of them changes, unless both [commute](Op::commutes) and are about the same bytes. Threads' beginnings and ends are ordered by being
    /// impossible before what they wait for, and need no more.
    #[must_use]
    pub fn conflicts(self, other: Op) -> bool {
        let same = (self.addr, self.len) == (other.addr, other.len);
        (self.writes() || other.writes())
            && !(self.commutes() && other.commutes() && same)
            && self.touches()
            && other.touches()
            && self.addr < other.addr.saturating_add(u64::from(other.len))
            && other.addr < self.addr.saturating_add(u64::from(self.len))
    }

    /// Whether it may be exchanged with others of which that is true, if they are about the same bytes.
    #[must_use]
    pub fn commutes(self) -> bool {
        matches!(self.kind, OpKind::Add | OpKind::Share)
    }

    /// Whether it may have to wait for its bytes to become free.
    #[must_use]
    pub fn takes(self) -> bool {
        matches!(self.kind, OpKind::Acquire | OpKind::Share)
    }

    /// The words of eight bytes that it is about.
    pub fn words(self) -> impl Iterator<Item = u64> {
        self.addr / 8..=self.addr.saturating_add(u64::from(self.len.max(1)) - 1) / 8
    }

    /// Whether it is about bytes of memory.
    #[must_use]
    pub fn touches(self) -> bool {
        self.writes() || matches!(self.kind, OpKind::Read | OpKind::Compare)
    }
}

/// Whether two steps of different agents may not be exchanged where stores may go into buffers. A store
/// that goes into one is seen by nobody else. And a thread reads the same whether its own store has
/// just left the buffer or is about to.
pub(crate) fn conflict(a: (Agent, Op), b: (Agent, Op), buffered: bool) -> bool {
    let hidden = |op: Op| buffered && op.kind == OpKind::Write;
    a.1.conflicts(b.1)
        && !hidden(a.1)
        && !hidden(b.1)
        && !(a.0.of() == b.0.of() && (reads_own(a.1, b) || reads_own(b.1, a)))
}

/// Whether a load of a thread meets a store of its own that leaves the buffer.
fn reads_own(load: Op, commit: (Agent, Op)) -> bool {
    load.kind == OpKind::Read && commit.0.is_buffer() && commit.1.kind == OpKind::Commit
}
