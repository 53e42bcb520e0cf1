//! Serializability of executions with transactions, under SC and TSO, by definition: which events
//! conflict, which transactions therefore come before which, and whether that has a cycle.
//!
//! Everything here is literal and slow, so that it can be believed; the engines are in
//! `crates/serial`. Two sorts of event sequences are asked about: *executions* of TSO, in which
//! every write is followed, some time, by its commit, and *traces*, which are executions without
//! the commits and stand for all executions that they may come from.

mod check;
mod evidence;
mod execution;
mod log;
mod mode;
mod order;
mod orientations;
mod overwritten;
mod points;
mod program;
mod schedules;
mod stream;
mod ties;
mod trace;
mod two;
mod values;
mod whole;

pub use check::{search_trace, trace};
pub use evidence::{NoCycle, TraceEvidence, TxnGroup, TxnRefutation, TxnVar};
pub use execution::{
    BadExecution, Conflicts, Paired, conflict, conflict_cycle, is_buffered, own_write, pair,
    sc_equivalent, serial_order, serializable, without_commits,
};
pub use log::{BadEvent, BadLog, Cut, END, START, TxnReader};
pub use mode::TraceMode;
pub use order::{TraceOrder, each_open_tie, open_ties};
pub use orientations::{
    orientations, predicted, predicted_serializable, serializable_by_orientations,
};
pub use overwritten::{Overwritten, each_overwritten, overwritten};
pub use points::{OpenEvent, are_points, is_noticed_before, open_events};
pub(crate) use program::search_transactions_within;
pub use program::{
    RunBounds, TxnRun, each_run, relation, search_transactions, transactions, txn_run,
};
pub use schedules::{scheduled, schedules};
pub use stream::{CycleCheck, CycleLog, OrderCheck, Passed};
pub use ties::{BadTrace, Tie, Trace};
pub use trace::{Executions, trace_serializable};
pub use values::{Source, Values, is_serial, values};
pub use whole::{accesses, is_whole, whole_serializable};

/// Which reads count as reads of the buffer, so that later reads of the thread may overtake them.
/// Both readings need a write of the thread to the variable, and no fence of the thread in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BufferedReads {
    /// Those that take the value of that write, be it in the buffer still or in memory: a read that
    /// finds another thread's value there has seen memory, and nothing after it comes before it.
    Exact,
    /// All of them, as in the paper. That also lets reads overtake one that took another thread's
    /// value, which no machine does.
    Static,
}

impl BufferedReads {
    /// Both.
    pub const ALL: [BufferedReads; 2] = [BufferedReads::Exact, BufferedReads::Static];

    /// The reading as it is written on the command line and in JSON.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            BufferedReads::Exact => "exact",
            BufferedReads::Static => "static",
        }
    }
}

/// What is asked about an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Question {
    /// Whether it is TSO-serializable.
    TsoSerializable(BufferedReads),
    /// Whether it is SC-serializable. Writes of executions without commits are in memory at once.
    ScSerializable,
    /// Whether it is equivalent to an execution of SC.
    ScEquivalent,
}

impl Question {
    /// The relation whose cycles answer it.
    #[must_use]
    pub fn conflicts(self) -> Conflicts {
        match self {
            Question::TsoSerializable(reads) => Conflicts::Tso(reads),
            Question::ScSerializable | Question::ScEquivalent => Conflicts::TsoPo,
        }
    }
}

/// A cycle that answers a question: pairs of events that conflict, by their numbers, the earlier one
/// first. The second of each pair and the first of the next belong to one transaction; for
/// SC-equivalence they are one write and its commit, or one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxnCycle(pub Vec<(u64, u64)>);

/// One event of an execution or trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TxnEvent {
    /// Who did it.
    pub thread: u32,
    /// What was done.
    pub kind: TxnKind,
    /// The variable; 0 for fences.
    pub var: u32,
    /// The transaction. Those of different threads are different; an event outside of all has one
    /// of its own; a commit has that of the write.
    pub txn: u32,
}

/// What an event did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TxnKind {
    /// A load: of the newest write to the variable in the buffer of the thread, or of memory.
    Read,
    /// A store is put into the buffer.
    Write,
    /// A load and a store in one step, in memory. The buffer of the thread is empty.
    Update,
    /// The buffer of the thread is empty.
    Fence,
    /// The oldest store in the buffer of the thread reaches memory. Not part of traces.
    Commit,
}

impl TxnKind {
    /// Whether events of this kind look at a variable, or change it, in memory or in the buffer.
    #[must_use]
    pub fn is_access(self) -> bool {
        self != TxnKind::Fence
    }

    /// Whether the buffer of the thread has to be empty.
    #[must_use]
    pub fn drains(self) -> bool {
        matches!(self, TxnKind::Update | TxnKind::Fence)
    }
}
