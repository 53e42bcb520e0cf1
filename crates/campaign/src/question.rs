//! What is asked about a real program.

use std::time::Duration;

use weakspot_core::{Drain, Model};
use weakspot_live::Choices;

/// A question.
#[derive(Clone, Debug)]
pub struct Question {
    /// The models that executions are watched for; none if stores go through buffers.
    pub models: Vec<Model>,
    /// Whether pairs count that no execution with store buffers notices.
    pub robust: bool,
    /// Whether all models count; if not, only SC and TSO do.
    pub all_count: bool,
    /// Pairs that are accepted: the places of stores and accesses.
    pub baseline: Vec<[String; 2]>,
    /// The model that the program is executed under.
    pub under: Model,
    /// Which executions.
    pub strategy: Strategy,
    /// The memory that is known to be shared, as when a schedule was found.
    pub shared: Vec<(u64, u64)>,
    /// How many of the program explore it at a time.
    pub workers: usize,
    /// At most so many.
    pub executions: Option<u64>,
    /// Each with at most so many steps.
    pub steps: u64,
    /// After how many times a thread that reads the same again is taken to wait, if its state differs.
    pub spins: u32,
    /// For how long.
    pub until: Until,
    /// How executions are kept from each other.
    pub isolate: Isolate,
    /// Whether the program's output is shown of all executions, and not only of the first.
    pub all_output: bool,
    /// Whether an exit code other than 0 is a failure.
    pub codes: bool,
    /// Whether freed memory is given out again.
    pub reuse: bool,
    /// Whether data races are failures.
    pub races: bool,
    /// Which transactions are watched, if any.
    pub transactions: Option<Marks>,
    /// Whether the monitors see a fence at the end of each transaction.
    pub fence_transactions: bool,
    /// Whether the fewest changes of the source are sought that prevent all findings.
    pub advice: bool,
    /// Whether the execution is wanted as a log; only for [`Strategy::Replay`].
    pub log: bool,
    /// Whether a debugger is to stop in the execution; only for [`Strategy::Replay`].
    pub debug: bool,
    /// Whether who sleeps goes on only when nobody else can, in the order of deadlines.
    pub virtual_time: bool,
    /// Whether somebody looks at how the exploration went.
    pub profile: bool,
    /// Whether somebody looks at explanations, which take executions of their own.
    pub details: bool,
    /// How long exploring may take.
    pub timeout: Duration,
    /// How many bytes may be used, of which the program gets a quarter.
    pub memory: u64,
}

impl Question {
    /// Whether executions with store buffers are looked for that show what comes of pairs of accesses.
    pub(crate) fn seeks_consequences(&self) -> bool {
        self.under == Model::Sc
            && self.models.iter().any(|&model| is_executable(model))
            && !matches!(self.strategy, Strategy::Replay(_))
    }

    /// Whether what is found under a model is only advice.
    pub(crate) fn is_advisory(&self, model: Model) -> bool {
        !self.all_count && !always_counts(model)
    }
}

/// Whether what is found under a model is more than advice, whatever was asked.
pub(crate) fn always_counts(model: Model) -> bool {
    matches!(model, Model::Sc | Model::Tso)
}

/// Whether a program can be executed under a model.
pub(crate) fn is_executable(model: Model) -> bool {
    matches!(model, Model::Sc | Model::Tso | Model::Pso(Drain::All))
}

/// Which executions, and in which order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// A look whether anything is wrong, those with few preemptions, then all of them, with `rf` if only
    /// failures matter, and with `dpor`.
    Auto,
    /// By rising number of preemptions, at most so many.
    Bounded(Option<u32>),
    /// One for each order of conflicting steps.
    Dpor,
    /// One for each way in which reads read from writes: nothing is watched for.
    Rf,
    /// At random.
    Random {
        /// The same seed, the same executions.
        seed: u64,
    },
    /// Random priorities.
    Pct {
        /// The depth of the bug: how many orders between steps it needs.
        depth: usize,
        /// The same seed, the same executions.
        seed: u64,
    },
    /// One that was found.
    Replay(Choices),
}

/// How long an exploration goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// To its end.
    End,
    /// Until something is found that counts, or that is only advice.
    Found {
        /// Whether a finding that is only advice is enough.
        advice: bool,
    },
    /// Until an execution fails, otherwise than by a data race, after which it goes on.
    Failed,
    /// Until an access overtakes a store.
    Overtaken,
}

/// How executions are kept from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolate {
    /// Memory is copied back, unless the first executions show that this is not enough.
    Auto,
    /// Memory is copied back.
    Memory,
    /// Each has a process of its own.
    Fork,
}

/// What is a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Marks {
    /// Only what the program marks itself.
    Marked,
    /// Calls of these functions, too.
    Functions(Vec<String>),
}
