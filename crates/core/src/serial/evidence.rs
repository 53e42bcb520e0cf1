//! Why a trace is serializable, or is not.

use super::{TxnCycle, TxnEvent};
use crate::LratStep;

/// Why the answer about a trace is to be believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceEvidence {
    /// An execution that the trace stands for and a cycle of it; see
    /// [`conflict_cycle`](super::conflict_cycle).
    Execution {
        /// The events, with commits.
        events: Vec<TxnEvent>,
        /// The cycle, by places in the execution.
        cycle: TxnCycle,
    },
    /// Directions of undirected ties that make no cycle with the directed ones, and a cycle of
    /// transactions, by places in the trace. Not all of them are executions.
    Directions(TxnCycle),
    /// The transactions in groups, so that whatever the directions of undirected ties, they lead
    /// from a group to a later one only, and why there is no cycle within each.
    Groups(Vec<TxnGroup>),
}

/// Transactions, and why they make no cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxnGroup {
    /// The transactions.
    pub txns: Vec<u32>,
    /// Why they make no cycle.
    pub why: NoCycle,
}

/// Why some transactions make no cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoCycle {
    /// There is one only.
    Single,
    /// Each is one event: in whatever directions ties are possible together, events have an order.
    Events,
    /// The ties between them are undirected, and they are a tree.
    Tree,
    /// Each has a point in time, per transaction the place of an event: every conflict leads to a
    /// later one.
    Points(Vec<usize>),
    /// A cycle contradicts itself.
    Refuted(TxnRefutation),
    /// A search of all cycles found none; a claim.
    Searched {
        /// How many beginnings of cycles were looked at.
        steps: u64,
    },
}

/// The proof that there is no cycle. If there was one, its transactions and the undirected ties that
/// it uses would make all clauses true:
/// - some transaction of the group is on it;
/// - if a transaction is on it, an undirected tie that leaves the transaction is used, or a
///   transaction that it leads to by a directed tie is on it;
/// - if an undirected tie is used, the transaction that it leads to is on it;
/// - if it is used that a read finds its own write overwritten, which is a way to leave its
///   transaction, too, then one of those that the read comes before is on it, and some write of
///   another thread overwrites the own one;
/// - what is not possible together is not used.
///
/// There, ties are those of [`open_ties`](super::open_ties), [`overwritten`](super::overwritten()) and
/// [`Trace::directed`](super::Trace::directed), from which others follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxnRefutation {
    /// What the variables 1, 2, ... mean.
    pub vars: Vec<TxnVar>,
    /// The clauses that the proof starts from.
    pub clauses: Vec<Vec<i32>>,
    /// The proof that they contradict each other.
    pub proof: Vec<LratStep>,
}

/// What a variable means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TxnVar {
    /// This transaction is on the cycle.
    On(u32),
    /// The cycle uses this undirected tie, by places in the trace, in this direction.
    Uses(usize, usize),
    /// Of a choice of [`TraceOrder`](super::TraceOrder), the first side.
    First(usize, usize),
    /// The cycle uses that this read finds its own write overwritten.
    Overwritten(usize),
    /// This write is committed between the own write of this read and the read.
    Overwrites(usize, usize),
}
