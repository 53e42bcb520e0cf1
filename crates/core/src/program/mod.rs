//! Programs: per thread an automaton whose edges are instructions, as in section 2 of the lazy
//! TSO reachability paper, over one shared memory.
//!
//! Every front end compiles to this one form, and every engine reads only this. A thread stands
//! at a control point and takes one of its edges per step; a point without edges is where the
//! thread has terminated. Branches are pairs of `Assume` edges, nondeterminism is several edges.

pub(crate) mod expr;
pub(crate) mod fences;
pub(crate) mod memory;
pub(crate) mod source;
pub(crate) mod transactions;
pub(crate) mod wide;

use crate::program::wide::Wide;
use crate::{Expr, LocId, PointId, RegId, Span, ThreadId};

/// Values and addresses.
pub type Value = i64;

/// A concurrent program and what is asked about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The threads, in the order of the source.
    pub threads: Vec<Thread>,
    /// The declared memory, by rising address.
    pub locs: Vec<Location>,
    /// Places that are made of declared locations, by rising address. Most programs have none.
    pub wides: Vec<Wide>,
    /// What an access to an address that is not in `locs` does.
    pub undeclared: Undeclared,
    /// What a final state is projected to.
    pub observed: Vec<Observed>,
    /// The question about final states, if there is one.
    pub condition: Option<Condition>,
    /// Combinations of control points that must not be reached together. Each holds one entry
    /// per thread; `None` stands for any point.
    pub forbidden: Vec<Vec<Option<PointId>>>,
}

/// A declared memory cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Its address, unique in the program.
    pub addr: Value,
    /// The values it may start with: at least one, several when the start is arbitrary.
    pub init: Vec<Value>,
    /// Inclusive bounds; storing a value outside of them is a fault.
    pub range: Option<(Value, Value)>,
}

/// What happens at an address that was not declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undeclared {
    /// The program is wrong: the run ends in a fault.
    Fault,
    /// Every address exists and starts at 0 (Trencher).
    Zero,
}

/// One thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The initial values of its registers.
    pub regs: Vec<Value>,
    /// Where it starts.
    pub entry: PointId,
    /// Its control points.
    pub points: Vec<Point>,
}

/// A control point: the instructions that may be taken from here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// Outgoing edges; none means that the thread has terminated.
    pub edges: Vec<Edge>,
}

/// An instruction with where it leads and where it stands in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// What is done.
    pub instr: Instr,
    /// The next control point.
    pub to: PointId,
    /// The source text of the instruction.
    pub span: Span,
}

/// An instruction. Only `Load`, `Store`, `Update`, `Fence`, `Lock` and `Unlock` are visible to
/// the memory model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instr {
    /// Does nothing.
    Nop,
    /// `reg := value`.
    Assign {
        /// The register written.
        reg: RegId,
        /// Its new value.
        value: Expr,
    },
    /// `reg :=` any value from `low` to `high`, inclusive.
    Choose {
        /// The register written.
        reg: RegId,
        /// The least choice.
        low: Value,
        /// The greatest choice.
        high: Value,
    },
    /// Passes only if the expression is not 0.
    Assume(Expr),
    /// Fails the program if the expression is 0, else passes.
    Assert(Expr),
    /// `reg := mem[addr]`.
    Load {
        /// The register written.
        reg: RegId,
        /// The address read.
        addr: Expr,
    },
    /// `mem[addr] := value`.
    Store {
        /// The address written.
        addr: Expr,
        /// The value stored.
        value: Expr,
    },
    /// In one step `reg := mem[addr]; mem[addr] := value`, where `addr` sees the register before
    /// the step and `value` sees the value just read. A compare-and-swap that fails stores the
    /// value that it read, as on x86.
    Update {
        /// The register that takes the old value.
        reg: RegId,
        /// The address updated.
        addr: Expr,
        /// The value stored, which may depend on `reg`.
        value: Expr,
    },
    /// A fence.
    Fence(Fence),
    /// Drains the thread's buffer and takes the one global lock; while it is held no other
    /// thread takes a step and nothing of another thread's buffer reaches memory. Not re-entrant.
    Lock,
    /// Drains the thread's buffer and frees the lock; blocks if the thread does not hold it.
    Unlock,
}

/// The two kinds of fence that the three models can tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fence {
    /// Waits until every earlier store of the thread is in memory.
    Full,
    /// Under PSO, stores before it reach memory before stores after it. No effect under SC, TSO.
    StoreStore,
}

/// One component of a final state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Observed {
    /// Where the value is taken from.
    pub what: Observable,
    /// How its bits are read.
    pub view: View,
}

/// What can be seen in a final state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Observable {
    /// A register of a thread.
    Reg(ThreadId, RegId),
    /// A memory cell or a wide place, after all buffers have drained.
    Loc(LocId),
}

/// How many low bits of a value are looked at, and their sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum View {
    /// All 64 bits.
    Full,
    /// The low bits as a signed number.
    Signed(u8),
    /// The low bits as an unsigned number.
    Unsigned(u8),
}

/// A question about all final states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Over which final states the proposition is taken.
    pub quantifier: Quantifier,
    /// The proposition; its `Reg(i)` stands for `observed[i]` of the program.
    pub prop: Expr,
}

/// Which final states have to satisfy the proposition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantifier {
    /// At least one final state satisfies it.
    Exists,
    /// No final state satisfies it.
    NotExists,
    /// All final states satisfy it.
    Forall,
}

impl Program {
    /// The declared location or wide place at `addr`.
    #[must_use]
    pub fn loc_at(&self, addr: Value) -> Option<LocId> {
        let wide = || {
            let at = self.wides.binary_search_by_key(&addr, |wide| wide.addr).ok()?;
            Some(self.locs.len() + at)
        };
        self.locs.binary_search_by_key(&addr, |l| l.addr).ok().or_else(wide).map(LocId::new)
    }

    /// The edge `index` of `point` of `thread`.
    #[must_use]
    pub fn edge(&self, thread: ThreadId, point: PointId, index: usize) -> &Edge {
        &self.threads[thread.index()].points[point.index()].edges[index]
    }
}

impl View {
    /// Whether no bit is left out; with all 64 bits, a sign is a matter of how they are written only.
    #[must_use]
    pub fn is_whole(self) -> bool {
        matches!(self, View::Full | View::Signed(64) | View::Unsigned(64))
    }

    /// A value as it is written: as a number without a sign where that makes a difference.
    #[must_use]
    pub fn unsigned(self, v: Value) -> Option<u64> {
        (self == View::Unsigned(64)).then_some(v.cast_unsigned())
    }

    /// The value as it is shown and compared.
    #[must_use]
    pub fn apply(self, v: Value) -> Value {
        use crate::UnOp;
        match self {
            View::Full => v,
            View::Signed(bits) => UnOp::SignExtend(bits).apply(v),
            View::Unsigned(bits) => UnOp::ZeroExtend(bits).apply(v),
        }
    }
}
