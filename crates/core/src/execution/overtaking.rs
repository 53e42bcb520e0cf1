//! What a monitor reports about a log of an SC execution: an access that TSO or PSO would have let
//! take effect before a store that comes before it, and the run under that model which shows it.

use crate::execution::cycle::Arc;
use crate::{LogKind, Model};

/// All reports about one pair of source positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overtaking {
    /// The pending store.
    pub store: End,
    /// The access of another thread that can take effect before it.
    pub access: End,
    /// What the thread of the access did just before, which happens after the store; the thread
    /// that started it if that was all. Of the first report.
    pub previous: End,
    /// How many reports there were.
    pub count: u64,
    /// The place in the log of the access of the first report, counted from 0.
    pub first: u64,
}

/// One side of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct End {
    /// The thread.
    pub thread: u16,
    /// What it did.
    pub kind: LogKind,
    /// Where; the other thread for starts and joins.
    pub loc: u32,
    /// The source position plus one; 0 if it is not known.
    pub site: u32,
}

/// A run under `model` that does what a log did up to an access that it lets take effect before a
/// pending store. The log's events are issued in their order; then the stores of the accessing
/// thread reach memory if the access is a store, then all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelayedRun {
    /// The model.
    pub model: Model,
    /// The place of the pending store in the log.
    pub store: usize,
    /// The place of the access; later events do not matter.
    pub access: usize,
    /// When stores reach memory, in this order: before the access is made, and after it where stores of
    /// several threads are late. What is left reaches memory in the end.
    pub commits: Vec<DelayedCommit>,
    /// The events that SC cannot put into one order, by their places in the log: from the store to
    /// the access and back.
    pub cycle: Vec<Arc>,
}

/// What an event of a real execution reads and writes in a [`DelayedRun`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelayedValue {
    /// The place of the event in the log.
    pub event: usize,
    /// How many bytes it is about.
    pub len: u32,
    /// What an update reads, if that is known.
    pub old: Option<Known>,
    /// What is read or written, if that is known; of an update what is written.
    pub value: Option<Known>,
}

/// A value of a real program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its bits.
    pub bits: u64,
    /// How its type says it, if that is known.
    pub in_words: Option<String>,
}

/// The oldest pending store of a thread to a location reaches memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedCommit {
    /// Just before the event at this place in the log is issued; one behind the access is after it.
    pub before: usize,
    /// Whose store.
    pub thread: u16,
    /// To which location.
    pub loc: u32,
}
