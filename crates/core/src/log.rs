//! Logs: what was recorded of one execution of some program, event by event, in the order in which
//! it happened. An event is 16 bytes, because monitors read hundreds of millions of them; names,
//! addresses and source positions live in the [`LogTables`] beside it.

use crate::{LocId, Value};

/// One event of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct LogEvent {
    /// Who did it: an index into [`LogTables::threads`].
    pub thread: u16,
    /// What was done.
    pub kind: LogKind,
    /// Whether the log knows the value that was read or written; it stands beside the event, in
    /// [`LogBatch::values`].
    pub valued: bool,
    /// Where: an index into [`LogTables::locs`]. For [`LogKind::Spawn`] and [`LogKind::Join`] the
    /// other thread; 0 for kinds that have no location.
    pub loc: u32,
    /// The source position, an index into [`LogTables::sites`] plus one; 0 if the log does not say.
    pub site: u32,
    /// The transaction, plus one; 0 outside of all, or if the log does not say.
    pub txn: u32,
}

/// What an event of a log did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum LogKind {
    /// A load.
    Read,
    /// A store.
    Write,
    /// An atomic update.
    Update,
    /// A lock was taken: an update of the lock.
    Acquire,
    /// A lock was released: an update of the lock.
    Release,
    /// A full fence.
    Fence,
    /// A fence between stores.
    StoreFence,
    /// The thread started another one, whose events come after this one.
    Spawn,
    /// The thread waited for the end of another one, whose events come before this one.
    Join,
    /// A transaction begins.
    Begin,
    /// The transaction ends.
    End,
    /// The oldest pending store of the thread (to the location, under PSO) reaches memory. Only
    /// recordings of machines with store buffers have it.
    Commit,
}

/// The names of what a log is about. Entries are only ever added while a log is read, so that
/// events that were read before keep their meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogTables {
    /// The names of the threads.
    pub threads: Vec<String>,
    /// The locations.
    pub locs: Vec<LogLoc>,
    /// Source positions, as they are shown to people.
    pub sites: Vec<String>,
}

/// A location of a log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LogLoc {
    /// What it is called.
    pub name: String,
    /// Which bytes it is, if that is known. Accesses to locations that overlap conflict; a location
    /// without bytes overlaps only itself.
    pub bytes: Option<Bytes>,
}

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes {
    /// The first one.
    pub start: u64,
    /// How many there are, at least one.
    pub len: u32,
}

/// Some events of a log, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogBatch {
    /// The events.
    pub events: Vec<LogEvent>,
    /// The values of the events that are [`valued`](LogEvent::valued), in their order.
    pub values: Vec<LogValue>,
}

/// What was read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LogValue {
    /// What a read saw, or a write stored, or an update stored.
    pub value: Value,
    /// What an update saw.
    pub old: Option<Value>,
}

impl LogKind {
    /// All kinds, by their number.
    pub const ALL: [LogKind; 12] = [
        LogKind::Read,
        LogKind::Write,
        LogKind::Update,
        LogKind::Acquire,
        LogKind::Release,
        LogKind::Fence,
        LogKind::StoreFence,
        LogKind::Spawn,
        LogKind::Join,
        LogKind::Begin,
        LogKind::End,
        LogKind::Commit,
    ];

    /// What events of this kind are called in logs and answers.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            LogKind::Read => "rd",
            LogKind::Write => "wr",
            LogKind::Update => "upd",
            LogKind::Acquire => "acq",
            LogKind::Release => "rel",
            LogKind::Fence => "fence",
            LogKind::StoreFence => "ssfence",
            LogKind::Spawn => "spawn",
            LogKind::Join => "join",
            LogKind::Begin => "begin",
            LogKind::End => "end",
            LogKind::Commit => "com",
        }
    }

    /// Whether events of this kind read or write their location.
    #[must_use]
    pub fn is_access(self) -> bool {
        self <= LogKind::Release
    }

    /// Whether events of this kind write their location.
    #[must_use]
    pub fn writes(self) -> bool {
        self.is_access() && self != LogKind::Read
    }

    /// Whether events of this kind are atomic updates.
    #[must_use]
    pub fn is_update(self) -> bool {
        matches!(self, LogKind::Update | LogKind::Acquire | LogKind::Release)
    }
}

impl LogEvent {
    /// An event without source position, transaction and value.
    #[must_use]
    pub fn new(thread: u16, kind: LogKind, loc: u32) -> LogEvent {
        LogEvent { thread, kind, valued: false, loc, site: 0, txn: 0 }
    }

    /// The location that is accessed.
    #[must_use]
    pub fn access(&self) -> Option<LocId> {
        self.kind.is_access().then_some(LocId(self.loc))
    }
}

impl Bytes {
    /// Whether the two have an address in common.
    #[must_use]
    pub fn overlaps(self, other: Bytes) -> bool {
        let end = |b: Bytes| u128::from(b.start) + u128::from(b.len);
        u128::from(self.start) < end(other) && u128::from(other.start) < end(self)
    }
}

impl LogTables {
    /// Whether two locations have a byte in common.
    #[must_use]
    pub fn overlap(&self, a: u32, b: u32) -> bool {
        let bytes = |loc: u32| self.locs.get(loc as usize).and_then(|l| l.bytes);
        a == b || bytes(a).zip(bytes(b)).is_some_and(|(a, b)| a.overlaps(b))
    }
}
