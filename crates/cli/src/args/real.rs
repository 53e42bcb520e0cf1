//! What may be typed for real code: `weakspot cc`, `c++` and `run`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use weakspot_core::Model;
use weakspot_live::Schedule;

use super::{Shared, model};

/// Compile C so that `weakspot run` can control it: takes the arguments of gcc or clang.
#[derive(Debug, Args)]
#[command(
    disable_help_flag = true,
    before_help = "\
Example:
  weakspot cc -O1 -pthread -o dekker corpus/c/dekker.c && weakspot run ./dekker
  CC=weakspot-cc CXX=weakspot-cxx make",
    after_help = "\
The compiler is gcc or clang, whichever is there; WEAKSPOT_CC (for c++ WEAKSPOT_CXX) names another one.
Accesses to memory are instrumented (by way of -fsanitize=thread), fences in inline assembly are
recognised, and the program is linked with the runtime library of weakspot. On its own it runs as
ever. Assembly that cannot be seen through is told with its file and line."
)]
pub(crate) struct CompilerArgs {
    /// The arguments of the compiler.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARG")]
    pub(crate) args: Vec<String>,
}

/// What do TSO and PSO do to a compiled program, on which lines, and which fence mends it?
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot cc -O1 -pthread -o dekker corpus/c/dekker.c && weakspot run ./dekker
  weakspot run --model tso --strategy bounded --preemptions 2 ./dekker
  weakspot run --fences ./dekker | patch -p0",
    after_help = "\
The program is executed again and again with another schedule, its threads one at a time. Each
execution is watched by monitors that report where TSO or PSO would let an access overtake a store;
failed assertions, crashes and deadlocks are reported, too. Holds only if all executions were
explored, up to the order of steps that do not conflict. What the program reads from the outside
(files, time, random numbers) should not change.",
    mut_arg("threads", |a| a.hide(true))
)]
pub(crate) struct RunArgs {
    /// The program, compiled by `weakspot cc` or `weakspot c++`, and its arguments.
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    pub(crate) command: Vec<OsString>,
    /// Memory models that are watched for: tso, pso (which heeds the orders of C11 atomics), pso-own
    /// (in which an atomic update waits only for stores to its own address).
    #[arg(long, value_name = "MODEL", value_delimiter = ',', default_value = "tso,pso", value_parser = model)]
    pub(crate) model: Vec<Model>,
    /// Execute the program with the store buffers of tso or pso, instead of watching executions of
    /// SC for what these would do: assertions that fail only there fail.
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["model", "transaction", "transactions"], value_parser = model)]
    pub(crate) under: Option<Model>,
    /// Which executions, and in which order.
    #[arg(long, value_name = "STRATEGY", default_value = "auto")]
    pub(crate) strategy: RunStrategy,
    /// At most this many times a thread is stopped that could go on.
    #[arg(long, value_name = "K")]
    pub(crate) preemptions: Option<u32>,
    /// The seed of random schedules.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
    /// pct: how many steps have to come in the wrong order for what is sought.
    #[arg(long, value_name = "D", default_value = "3")]
    pub(crate) depth: usize,
    /// Execute only the schedule that a finding came with.
    #[arg(long, value_name = "SCHEDULE", conflicts_with_all = ["strategy", "preemptions"])]
    pub(crate) replay: Option<Schedule>,
    /// At most this many executions.
    #[arg(long, value_name = "N")]
    pub(crate) executions: Option<u64>,
    /// At most this many steps per execution.
    #[arg(long, value_name = "N", default_value = "100000")]
    pub(crate) steps: u64,
    /// Stop at the first finding.
    #[arg(long)]
    pub(crate) first: bool,
    /// How memory is put back between executions.
    #[arg(long, value_name = "HOW", default_value = "auto")]
    pub(crate) isolate: Isolate,
    /// What the program prints: nothing of it, that of its first execution, or all.
    #[arg(long, value_name = "WHICH", default_value = "none")]
    pub(crate) output: ProgramOutput,
    /// Freed memory is given out again, so that a program may meet an address twice.
    #[arg(long)]
    pub(crate) reuse: bool,
    /// What these functions do is a transaction each: are executions serializable? Others are marked
    /// by WEAKSPOT_BEGIN() and WEAKSPOT_END() of weakspot.h.
    #[arg(long, value_name = "FUNCTION", value_delimiter = ',')]
    pub(crate) transaction: Vec<String>,
    /// Watch transactions that only the code marks.
    #[arg(long)]
    pub(crate) transactions: bool,
    /// Look at the program as if each transaction ended in a fence.
    #[arg(long)]
    pub(crate) fence_transactions: bool,
    /// Find the fewest fences and stronger orders that prevent all findings, as a diff of the source.
    #[arg(long)]
    pub(crate) fences: bool,
    /// Write the execution that is replayed to this log, for `weakspot monitor` or `serial`.
    #[arg(long, value_name = "FILE", requires = "replay")]
    pub(crate) log: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// Strategies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunStrategy {
    /// Executions with 0, 1 and 2 preemptions, then all of them with dpor.
    Auto,
    /// With 0, 1, 2, ... preemptions.
    Bounded,
    /// One for each order of conflicting steps.
    Dpor,
    /// At random.
    Random,
    /// Probabilistic concurrency testing: random priorities that change a few times.
    Pct,
}

/// How executions are kept from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Isolate {
    /// Memory is copied back, unless the first executions show that this is not enough.
    Auto,
    /// Memory is copied back.
    Memory,
    /// Each has a process of its own.
    Fork,
}

/// Which output of the program is shown, on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgramOutput {
    None,
    First,
    All,
}
