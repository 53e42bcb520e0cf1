//! Recorded histories: what each thread did, in program order, and which write each read took its
//! value from. Eight bytes per operation, because histories have millions of them; names and values
//! stand beside it, in [`OpNames`].

use crate::Value;

/// The operations of a history. They are numbered thread by thread: first all of thread 0 in
/// program order, then all of thread 1, and so on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Thread `t` did the operations `starts[t]..starts[t + 1]`; one more entry than threads.
    starts: Vec<u32>,
    ops: Vec<PackedOp>,
    vars: u32,
    /// When each operation began and ended; empty if nothing is known of that.
    times: Vec<Times>,
}

/// When an operation began and ended, by a clock that all threads share. A time that is not known
/// is before, or after, everything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Times {
    /// It did nothing before.
    pub start: i64,
    /// It did nothing after.
    pub end: i64,
}

impl Times {
    /// That of an operation of which nothing is known.
    pub const UNKNOWN: Times = Times { start: i64::MIN, end: i64::MAX };
}

/// What an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OpKind {
    /// A load.
    Read,
    /// A store.
    Write,
    /// An atomic update: a load and a store with nothing in between.
    Update,
    /// A full fence.
    Fence,
}

/// The kind in the upper two bits, the variable in the others; and the operation whose write is
/// read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PackedOp {
    what: u32,
    from: u32,
}

/// Names and values of a history, for people and for files. The engines do not look at them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpNames {
    /// The threads.
    pub threads: Vec<String>,
    /// The variables.
    pub vars: Vec<String>,
    /// Per variable the initial value.
    pub initial: Vec<Value>,
    /// Per operation the value that was read, or written; of an update the one written; 0 for
    /// fences.
    pub values: Vec<Value>,
}

/// An operation as it stands in the log of a history that is still being written: what it reads is
/// found when the write is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedOp {
    /// Who did it.
    pub thread: u32,
    /// What it is.
    pub kind: OpKind,
    /// The variable; 0 for fences.
    pub var: u32,
    /// The value that was read, or written; of an update the one written; 0 for fences.
    pub value: Value,
    /// Of an update the value that was read, else 0.
    pub old: Value,
    /// What the log says about where the value that was read comes from.
    pub from: Option<SaidFrom>,
    /// Where it stands in the log, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// When it began and ended.
    pub times: Times,
}

impl LoggedOp {
    /// The value that was read, if the operation reads.
    #[must_use]
    pub fn read(&self) -> Option<Value> {
        match self.kind {
            OpKind::Read => Some(self.value),
            OpKind::Update => Some(self.old),
            OpKind::Write | OpKind::Fence => None,
        }
    }

    /// Whether the operation writes.
    #[must_use]
    pub fn writes(&self) -> bool {
        matches!(self.kind, OpKind::Write | OpKind::Update)
    }
}

/// What an operation says that it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaidFrom {
    /// The initial value.
    Initial,
    /// The operation of this number of this thread, both from 0.
    Op(u32, u32),
}

/// Reads that take the initial value of their variable read from this.
pub const INITIAL: u32 = u32::MAX;

const VAR: u32 = (1 << 30) - 1;

impl History {
    /// The most operations, and the most variables, that a history can have.
    pub const MOST: usize = VAR as usize;

    /// The most ways to choose what the reads of a history read, where values were written more than once.
    pub const MOST_WAYS: usize = 1024;

    /// A history without threads, of which [`thread`](History::thread) and [`push`](History::push) make
    /// one.
    #[must_use]
    pub fn new() -> History {
        History { starts: vec![0], ops: Vec::new(), vars: 0, times: Vec::new() }
    }

    /// Ends the current thread, if there is one, and begins the next.
    pub fn thread(&mut self) {
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        self.starts.push(self.ops.len() as u32);
    }

    /// Adds an operation to the current thread. A read or update says which operation's write it
    /// reads, or [`INITIAL`], which may be set later ([`set_from`](History::set_from)).
    ///
    /// # Panics
    /// When there is no thread, or there are more than [`MOST`](History::MOST) operations or variables.
    pub fn push(&mut self, kind: OpKind, var: u32, from: u32) {
        assert!(var <= VAR && self.ops.len() < History::MOST, "a history that is too large");
        assert!(self.starts.len() > 1, "an operation of no thread");
        self.ops.push(PackedOp { what: (kind as u32) << 30 | var, from });
        if let Some(end) = self.starts.last_mut() {
            *end += 1;
        }
        if kind != OpKind::Fence {
            self.vars = self.vars.max(var + 1);
        }
    }

    /// Says what an operation reads.
    pub fn set_from(&mut self, op: u32, from: u32) {
        self.ops[op as usize].from = from;
    }

    /// Says when the operations began and ended, in their order; none at all if that is not known of
    /// any.
    pub fn set_times(&mut self, times: Vec<Times>) {
        self.times =
            if times.iter().all(|&times| times == Times::UNKNOWN) { Vec::new() } else { times };
    }

    /// Whether it is known of any operation when it began or ended.
    #[must_use]
    pub fn has_times(&self) -> bool {
        !self.times.is_empty()
    }

    /// When an operation began and ended, as it was recorded.
    #[must_use]
    pub fn times(&self, op: u32) -> Times {
        self.times.get(op as usize).copied().unwrap_or(Times::UNKNOWN)
    }

    /// How many operations there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// How many threads there are.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// How many variables there are.
    #[must_use]
    pub fn vars(&self) -> usize {
        self.vars as usize
    }

    /// The operations of a thread.
    #[must_use]
    pub fn of_thread(&self, thread: usize) -> std::ops::Range<u32> {
        self.starts[thread]..self.starts[thread + 1]
    }

    /// The thread of an operation.
    #[must_use]
    pub fn thread_of(&self, op: u32) -> usize {
        self.starts.partition_point(|&start| start <= op) - 1
    }

    /// What an operation is.
    #[must_use]
    pub fn kind(&self, op: u32) -> OpKind {
        match self.ops[op as usize].what >> 30 {
            0 => OpKind::Read,
            1 => OpKind::Write,
            2 => OpKind::Update,
            _ => OpKind::Fence,
        }
    }

    /// The variable of an operation; 0 for fences.
    #[must_use]
    pub fn var(&self, op: u32) -> u32 {
        self.ops[op as usize].what & VAR
    }

    /// The operation whose write is read; `None` for the initial value, and for operations that do
    /// not read.
    #[must_use]
    pub fn from(&self, op: u32) -> Option<u32> {
        let from = self.ops[op as usize].from;
        (self.reads(op) && from != INITIAL).then_some(from)
    }

    /// Whether an operation reads.
    #[must_use]
    pub fn reads(&self, op: u32) -> bool {
        matches!(self.kind(op), OpKind::Read | OpKind::Update)
    }

    /// Whether an operation writes.
    #[must_use]
    pub fn writes(&self, op: u32) -> bool {
        matches!(self.kind(op), OpKind::Write | OpKind::Update)
    }

    /// Whether every read reads a write to its own variable, and a thread does one operation after
    /// the other: what engines may take for granted.
    #[must_use]
    pub fn is_well_formed(&self) -> bool {
        self.has_possible_times()
            && (0..self.ops.len() as u32).all(|op| {
                self.from(op).is_none_or(|from| {
                    (from as usize) < self.ops.len()
                        && self.writes(from)
                        && self.var(from) == self.var(op)
                })
            })
    }
}

impl History {
    /// Whether no operation ends before it begins, or begins before the one before it in its thread
    /// has ended.
    fn has_possible_times(&self) -> bool {
        let known = |time: &i64| *time != i64::MIN && *time != i64::MAX;
        let of_thread = |thread: usize| {
            let times = self.of_thread(thread).flat_map(|op| {
                let Times { start, end } = self.times(op);
                [start, end]
            });
            times.filter(known).is_sorted()
        };
        let is_one_each = self.times.is_empty() || self.times.len() == self.ops.len();
        is_one_each && (self.times.is_empty() || (0..self.threads()).all(of_thread))
    }
}

/// Defines the models, each with its key and its name, so that no list of them forgets one.
macro_rules! models {
    ($($(#[$doc:meta])* $model:ident $key:literal $name:literal,)*) => {
        /// The models that a history may satisfy, from causal to sequential consistency, and coherence.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum HistoryModel {
            $($(#[$doc])* $model,)*
        }

        impl HistoryModel {
            /// Every model.
            pub const EVERY: [HistoryModel; [$($key),*].len()] = [$(HistoryModel::$model),*];

            /// The model as it is written in options and JSON.
            #[must_use]
            pub fn key(self) -> &'static str {
                match self {
                    $(HistoryModel::$model => $key,)*
                }
            }

            /// The model as it is written in text.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(HistoryModel::$model => $name,)*
                }
            }
        }
    };
}

models! {
    /// Causal consistency.
    Cc "cc" "CC",
    /// Causal convergence.
    Ccv "ccv" "CCv",
    /// Causal memory.
    Cm "cm" "CM",
    /// Convergent causal memory.
    Ccm "ccm" "CCM",
    /// Weak convergent causal memory.
    Wccm "wccm" "wCCM",
    /// Cache coherence: sequential consistency of each variable by itself.
    Coherence "coherence" "coherence",
    /// Partial store order.
    Pso "pso" "PSO",
    /// Total store order.
    Tso "tso" "TSO",
    /// Sequential consistency.
    Sc "sc" "SC",
    /// Partial store order where an atomic update waits for earlier writes to its own variable
    /// only.
    PsoOwn "pso-own" "PSO-own",
    /// Linearizability: sequential consistency where what ended before another operation began comes
    /// first.
    Lin "lin" "linearizability",
    /// Total store order where each operation is done between its beginning and its end; what it
    /// writes may reach memory later.
    TsoRt "tso-rt" "TSO-rt",
}

/// Each model is asked about without being named, or only if it is.
const _: () = assert!(
    HistoryModel::ALL.len() + HistoryModel::OTHERS.len() == HistoryModel::EVERY.len(),
    "a model is in neither list"
);

impl HistoryModel {
    /// Those that are asked about unless somebody says otherwise: all but PSO-own, and but those that
    /// are about real time.
    pub const ALL: [HistoryModel; 9] = [
        HistoryModel::Cc,
        HistoryModel::Ccv,
        HistoryModel::Cm,
        HistoryModel::Ccm,
        HistoryModel::Wccm,
        HistoryModel::Coherence,
        HistoryModel::Pso,
        HistoryModel::Tso,
        HistoryModel::Sc,
    ];

    /// Those that are asked about only if somebody says so.
    pub const OTHERS: [HistoryModel; 3] =
        [HistoryModel::PsoOwn, HistoryModel::Lin, HistoryModel::TsoRt];

    /// Whether it matters when operations began and ended.
    #[must_use]
    pub fn has_real_time(self) -> bool {
        self.without_time() != self
    }

    /// What is left of a model if nobody knows when operations began and ended.
    #[must_use]
    pub fn without_time(self) -> HistoryModel {
        match self {
            HistoryModel::Lin => HistoryModel::Sc,
            HistoryModel::TsoRt => HistoryModel::Tso,
            HistoryModel::Cc
            | HistoryModel::Ccv
            | HistoryModel::Cm
            | HistoryModel::Ccm
            | HistoryModel::Wccm
            | HistoryModel::Coherence
            | HistoryModel::Pso
            | HistoryModel::Tso
            | HistoryModel::Sc
            | HistoryModel::PsoOwn => self,
        }
    }

    /// Whether it is one of the causal models, of which a history without a cycle of a certain kind satisfies it.
    #[must_use]
    pub fn is_causal(self) -> bool {
        match self {
            HistoryModel::Cc
            | HistoryModel::Ccv
            | HistoryModel::Cm
            | HistoryModel::Ccm
            | HistoryModel::Wccm => true,
            HistoryModel::Coherence
            | HistoryModel::Pso
            | HistoryModel::Tso
            | HistoryModel::Sc
            | HistoryModel::PsoOwn
            | HistoryModel::Lin
            | HistoryModel::TsoRt => false,
        }
    }

    /// Whether a read may take effect before an earlier write of its thread, to all variables together.
    #[must_use]
    pub fn is_relaxed(self) -> bool {
        match self {
            HistoryModel::Wccm
            | HistoryModel::Pso
            | HistoryModel::PsoOwn
            | HistoryModel::Tso
            | HistoryModel::TsoRt => true,
            HistoryModel::Cc
            | HistoryModel::Ccv
            | HistoryModel::Cm
            | HistoryModel::Ccm
            | HistoryModel::Coherence
            | HistoryModel::Sc
            | HistoryModel::Lin => false,
        }
    }

    /// The model with this [`key`](HistoryModel::key).
    #[must_use]
    pub fn from_key(key: &str) -> Option<HistoryModel> {
        HistoryModel::EVERY.into_iter().find(|m| m.key() == key)
    }
}
