//! What may be typed for the questions about programs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::super::values::{Cost, cost, litmus, plain};
use super::{Buffers, Common, Witness};

/// Which final states do SC, TSO and PSO allow?
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot litmus corpus/litmus/SB.litmus
  weakspot litmus --model tso --show corpus/litmus/SB.litmus
  weakspot litmus --format json --states my-tests/ > answers.jsonl
  weakspot litmus --run --runs 1000000 corpus/litmus/SB.litmus",
    after_help = "\
For each test and model: the exact set of final states, in the lines that herd7
prints. `Ok` says that the test's condition is valid under the model, `No` that
it is not. Positive and negative count final states. A folder stands for the
tests and programs in it, but for C; `-` is standard input.

With --run the test is run on this CPU, which has to be an x86, and how often
each final state was seen stands beside the models that have it. A state that
TSO does not have is a violation (exit code 1). That takes gcc, or a compiler
that WEAKSPOT_CC names.",
    mut_arg("format", |a| a.value_parser(litmus()))
)]
pub(crate) struct Litmus {
    /// Litmus tests, programs with a condition on final states, or folders of them.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// List the final states in JSON, too; in tables, instead of counting tests.
    #[arg(long)]
    pub(crate) states: bool,
    /// Explain one final state by a run: the one that decides the condition, or the given one.
    #[arg(long, value_name = "STATE", num_args = 0..=1, require_equals = true, default_missing_value = "",
        long_help = "Explain one final state by a run, drawn with a column per thread: the state \
that decides the condition (the first state if it takes all of them), or the one given, as in \
--show='0:EAX=0; 1:EAX=0' or --show='exists (0:EAX=0 /\\ 1:EAX=0)'. Of a given state only the components \
that matter need to be named. \
If no run ends so, the cycle is shown that forbids it.")]
    pub(crate) show: Option<String>,
    /// Run the tests on this CPU, too, and count the final states.
    #[arg(long)]
    pub(crate) run: bool,
    /// How often each test is run [default: 1000000].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) runs: Option<u64>,
    #[command(flatten)]
    pub(crate) processes: super::Processes,
    #[command(flatten)]
    pub(crate) checkpoint: super::Checkpoint,
    #[command(flatten)]
    pub(crate) witness: Witness,
    #[command(flatten)]
    pub(crate) buffers: Buffers,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Does everything hold that a program asks: control points, assertions, final states?
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot reach --model tso corpus/programs/peterson.weak
  weakspot reach corpus/programs/*.weak",
    after_help = "\
Holds if the control points that the program forbids are never reached together,
no assertion fails, and the final states satisfy the condition. A violation is
drawn as a run; -q leaves the drawing out.

With --checkpoint, a search that was interrupted, killed or ended at a limit
goes on with --resume: same verdict, same counts, with any number of threads
and processes.
It takes one model, and asks the states themselves (--algorithm eager). Of
several files the answers are kept.",
    mut_arg("threads", |a| a.help(
        "How many files to work on at a time, or, with one file, how many threads search; by \
default one per processor"
    ))
)]
pub(crate) struct Reach {
    /// Programs: .weak, .litmus, a part of C (.c), Trencher's .txt or .tso, Memorax's .rmm; or folders of them.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// How to decide; all give the same answers, but not all give one for every program [default: auto].
    #[arg(long, value_name = "ALGORITHM")]
    pub(crate) algorithm: Option<ReachAlgorithm>,
    #[command(flatten)]
    pub(crate) storage: super::Storage,
    #[command(flatten)]
    pub(crate) processes: super::Processes,
    #[command(flatten)]
    pub(crate) checkpoint: super::Checkpoint,
    #[command(flatten)]
    pub(crate) witness: Witness,
    #[command(flatten)]
    pub(crate) buffers: Buffers,
    #[command(flatten)]
    pub(crate) in_c: super::InC,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// How a program's questions are decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReachAlgorithm {
    /// Several side by side, the first answer counts.
    Auto,
    /// Explore the store buffers themselves; ends if they are bounded.
    Eager,
    /// Ask about SC only, and add delays where they matter; TSO and PSO.
    Lazy,
    /// The same with loops unrolled; TSO and PSO.
    Unroll,
    /// The complete procedure for finite data; TSO and PSO.
    Dual,
    /// Of counters that grow for ever, only their order and small differences.
    Counters,
}

/// Does every run under TSO or PSO do what some run under SC does, too?
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot robust --model tso corpus/programs/peterson.weak
  weakspot robust corpus/programs/*.weak",
    after_help = "\
A robust program behaves as if memory were sequentially consistent, whatever it
asks or asserts (but for control points inside of atomic blocks). For one that
is not: the store and the later access that overtakes it, with their lines, a
run as short as possible, and the cycle of events that shows that SC has no such
run; -q leaves all but the first line out. The search explores SC runs only,
never store buffers.

With --checkpoint, a search that was interrupted, killed or ended at a limit
goes on with --resume: same verdict, same counts, with any number of threads
and processes.
It takes one model. Of several files the answers are kept.",
    mut_arg("model", |a| a.help(
        "Memory models: tso, pso; pso-own is PSO where an atomic update drains only its own address \
[default: tso,pso; with --trf and --algorithm attack tso]"
    )),
    mut_arg("threads", |a| a.help(
        "How many files to work on at a time, or, with one file, how many threads search; by \
default one per processor"
    ))
)]
pub(crate) struct Robust {
    /// Programs: .weak, .litmus, a part of C (.c), Trencher's .txt or .tso, Memorax's .rmm; or folders of them.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// How to decide; all give the same answers [default: pending].
    #[arg(long, value_name = "ALGORITHM")]
    pub(crate) algorithm: Option<RobustAlgorithm>,
    /// Ask for more: that there are no triangular races (Owens 2010), which implies robustness; TSO only.
    #[arg(long)]
    pub(crate) trf: bool,
    #[command(flatten)]
    pub(crate) storage: super::Storage,
    #[command(flatten)]
    pub(crate) processes: super::Processes,
    #[command(flatten)]
    pub(crate) checkpoint: super::Checkpoint,
    #[command(flatten)]
    pub(crate) witness: Witness,
    #[command(flatten)]
    pub(crate) in_c: super::InC,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// How robustness is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RobustAlgorithm {
    /// One search for all stores and loads.
    Pending,
    /// One search for each pair of a store and a load; TSO only.
    Attack,
}

/// Which fences make a program robust, or safe, at the least cost?
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot fence corpus/programs/dekker.weak
  weakspot fence --goal safe -m pso -o fenced.weak corpus/programs/dekker.weak
  weakspot fence --model pso --cost full=5,ss=1 corpus/litmus/MP.litmus",
    after_help = "\
Prints where fences go and what changes in the text. The fences are optimal
(none fewer, none cheaper do) unless a limit was reached, which is then said. A
fence may go between any two statements. Exit code 0: no fence is needed; 1:
fences are needed, or none help.",
    mut_arg("format", |a| a.value_parser(plain())),
    mut_arg("model", |a| a.help(
        "Memory models: tso, pso; pso-own is PSO where an atomic update drains only its own address \
[default: tso]"
    )),
    mut_arg("buffer_limit", |a| a.help(
        "With --goal safe: entries (stores, store-store fences) that a buffer may hold at most in a \
thread that stores in a loop [default: 1024]"
    )),
    mut_arg("threads", |a| a.help(
        "How many files to work on at a time, or, with one file, how many threads search; by \
default one per processor"
    ))
)]
pub(crate) struct Fence {
    /// Programs: .weak, .litmus, a part of C (.c), Trencher's .txt or .tso, Memorax's .rmm; or folders of them.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// What the fences are for [default: robust].
    #[arg(long, value_name = "GOAL")]
    pub(crate) goal: Option<FenceGoal>,
    /// What fences cost: full ones, and store-store ones (`ss`, PSO only) [default: full=1,ss=1].
    #[arg(long, value_name = "full=N,ss=N", value_parser = cost)]
    pub(crate) cost: Option<Cost>,
    /// Write the program with the fences to this file (one input, one model).
    #[arg(long, short, alias = "patch", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) witness: Witness,
    #[command(flatten)]
    pub(crate) buffers: Buffers,
    #[command(flatten)]
    pub(crate) in_c: super::InC,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// What fences are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FenceGoal {
    /// Nothing happens that SC does not do as well.
    Robust,
    /// What the program forbids does not happen.
    Safe,
}
