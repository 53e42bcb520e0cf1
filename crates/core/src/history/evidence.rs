//! Why a verdict on a history is to be believed: a run of the machine, or a cycle of orders that
//! every run would have to respect.

use crate::evidence::lrat::LratStep;

/// Why a verdict on a history is to be believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistoryEvidence {
    /// The history satisfies the model: a run of the machine that does what was recorded. A run
    /// under SC also shows that the causal models hold, one under TSO that wCCM does, and any of
    /// them that the history is coherent. Of a history that is only coherent the operations on each
    /// variable are in an order that memory could have done them in, and those on different
    /// variables may be in any order; fences may be left out.
    Linear {
        /// Per variable its writes in the order in which they reach memory.
        store_order: Vec<Vec<u32>>,
        /// What happens, in order.
        steps: Vec<HistoryStep>,
    },
    /// The history does not satisfy the model: orders that hold in every witness make a cycle.
    Cycle(HistoryCycle),
    /// The history does not satisfy the model: whatever order is chosen for some pairs of writes,
    /// there is a cycle.
    Refuted {
        /// Literal `i + 1` says that of pair `i` the first write comes first, `-(i + 1)` that the
        /// second does.
        pairs: Vec<(u32, u32)>,
        /// Cycles that rest on such choices ([`Why::Chosen`]). Each is a clause: not all of the
        /// choices that it uses can be made.
        conflicts: Vec<HistoryCycle>,
        /// The proof that these clauses contradict each other. The conflicts are clauses 1, 2, ...
        proof: Vec<LratStep>,
    },
    /// A causal model holds: nothing small shows it, the definition has to be evaluated again.
    ByDefinition,
}

/// Evidence about a history of which it is open what some reads read: with one choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryWay {
    /// These reads, each with what it reads: a write, or the [initial](super::initial_write) one.
    pub reads: Vec<(u32, u32)>,
    /// What shows the verdict then.
    pub evidence: HistoryEvidence,
}

/// One step of a run. Four bytes, because runs are as long as histories.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct HistoryStep(u32);

/// What a step is if its upper bit is set. Operations are below [`MOST`](crate::History::MOST).
const COMMIT: u32 = 1 << 31;

impl HistoryStep {
    /// The thread does this operation. Under SC a write is in memory then; under TSO and PSO it is
    /// in the buffer. Updates and fences wait until the buffers of their thread are empty.
    #[must_use]
    pub fn issue(op: u32) -> HistoryStep {
        // No history has an operation of such a number: it must not become another step.
        HistoryStep(op.min(COMMIT - 1))
    }

    /// This write leaves the buffer for memory; under TSO and PSO only, and not for updates.
    #[must_use]
    pub fn commit(op: u32) -> HistoryStep {
        HistoryStep(op.min(COMMIT - 1) | COMMIT)
    }

    /// The operation.
    #[must_use]
    pub fn op(self) -> u32 {
        self.0 & !COMMIT
    }

    /// Whether its write leaves the buffer; else it is done.
    #[must_use]
    pub fn is_commit(self) -> bool {
        self.0 & COMMIT != 0
    }
}

impl std::fmt::Debug for HistoryStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}({})", if self.is_commit() { "commit" } else { "issue" }, self.op())
    }
}

/// A cycle, and how its edges come about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryCycle {
    /// What [`Why::Derived`] refers to. Each uses only those before it.
    pub derivations: Vec<Derivation>,
    /// Which relation the cycle is in.
    pub within: Within,
    /// The edges; each starts where the one before it ends, the first where the last does.
    pub edges: Vec<HistoryEdge>,
}

/// One order between two operations, or an initial write ([`initial_write`]) and an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryEdge {
    /// What comes first.
    pub from: u32,
    /// What comes later.
    pub to: u32,
    /// Why.
    pub why: Why,
}

/// Why an edge is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Program order, as far as the relation keeps it. Initial writes precede all operations.
    Po,
    /// The second operation reads the first.
    Rf,
    /// Real time: the first operation ended before the second one began. It is no write that may
    /// still be in a buffer then.
    Rt,
    /// It follows by this derivation.
    Derived(u32),
    /// This choice of an order between two writes (see [`HistoryEvidence::Refuted`]).
    Chosen(i32),
}

/// An edge that follows from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derivation {
    /// How.
    pub rule: Rule,
    /// Which relation the path is in. What is derived holds in both.
    pub within: Within,
    /// At least one edge, each starting where the one before it ends.
    pub path: Vec<HistoryEdge>,
}

/// How an edge follows from a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The path leads from a write w' to a read r of another write w to the same variable: w'
    /// comes before w, because r would see it otherwise.
    Older,
    /// The path leads from a write w to a write w' to the same variable: w' comes after this read
    /// of w.
    Overtaken {
        /// The read.
        read: u32,
    },
    /// The path leads from a write to another one to the same variable: they reach memory in this
    /// order, which the other relation may use, too.
    Ordered,
}

/// TSO, PSO and wCCM ask for two relations without cycles that share one store order. Reads-from
/// is part of both, in `Global` only between different threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Within {
    /// The order in which things happen in memory. Of program order it has everything but what
    /// buffers may change: writes before later reads and, under PSO, before later writes to other
    /// variables, unless a fence or an update is in between. Under all other models everything.
    Global,
    /// The order of the operations on one variable, with all of program order on it: the only
    /// relation that coherence has.
    Local,
}

/// The number of the initial write of a variable. Operations are below [`MOST`](crate::History::MOST),
/// so that the two cannot be confused.
#[must_use]
pub fn initial_write(var: u32) -> u32 {
    u32::MAX - var
}

/// The variable of which this is the initial write; `None` for operations.
#[must_use]
pub fn initial_write_var(node: u32) -> Option<u32> {
    (node > u32::MAX / 2).then(|| u32::MAX - node)
}
