//! What may be typed for real code: `weakspot cc`, `c++`, `run` and `cargo`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use weakspot_core::Model;

use super::super::values::{Replay, buffers, explored, model};
use super::{Shared, Threads, Witness};

/// Compile C so that `weakspot run` can control it: takes the arguments of gcc or clang.
#[derive(Debug, Args)]
#[command(
    disable_help_flag = true,
    before_help = "\
Example:
  weakspot cc -O1 -pthread -o dekker corpus/c/dekker.c && weakspot run ./dekker
  CC=weakspot-cc CXX=weakspot-cxx make",
    after_help = "\
The compiler is gcc or clang, whichever is there; WEAKSPOT_CC (for c++
WEAKSPOT_CXX) names another one. Accesses to memory are instrumented (by way of
-fsanitize=thread), fences in inline assembly are recognised, and the program is
linked with the runtime library of weakspot. On its own it runs as ever.
Assembly that cannot be seen through is reported with its file and line."
)]
pub(crate) struct Compiler {
    /// The arguments of the compiler.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARG")]
    pub(crate) args: Vec<String>,
}

/// What do TSO and PSO do to a compiled program, on which lines, and which fence fixes it?
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot cc -O1 -pthread -o dekker corpus/c/dekker.c && weakspot run ./dekker
  weakspot run --model tso --strategy bounded --preemptions 2 ./dekker
  weakspot run --fences ./dekker | patch -p0",
    after_help = "\
The program is executed again and again with another schedule, its threads one
at a time. Each execution is watched by monitors that report where TSO or PSO
would let an access overtake a store; failed assertions, crashes and deadlocks
are reported, too. Holds only if all executions were explored, up to the order
of steps that do not conflict. What the program reads from the outside (files,
time, random numbers) should not change.",
    mut_arg("format", |a| a.value_parser(explored())),
    mut_arg("threads", |a| a.help(
        "Copies of the program that explore it in parallel; by default one per processor. The answer is the same"
    ))
)]
pub(crate) struct Run {
    /// The program, compiled by `weakspot cc` or `weakspot c++`, and its arguments.
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    pub(crate) command: Vec<OsString>,
    #[command(flatten)]
    pub(crate) witness: Witness,
    #[command(flatten)]
    pub(crate) checkpoint: super::Checkpoint,
    #[command(flatten)]
    pub(crate) explore: Explore,
    #[command(flatten)]
    pub(crate) threads: Threads,
}

/// Explore the tests or a program of an unmodified Rust crate.
#[derive(Debug, Subcommand)]
pub(crate) enum Cargo {
    Test(CargoTest),
    Run(CargoRun),
}

/// What do TSO and PSO do to the tests of a Rust crate? Each is explored on its own.
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot cargo test
  weakspot cargo test --model tso --timeout 60s --release -p my-crate queue
  weakspot cargo test -- --exact tests::push_and_pop
  weakspot cargo test --replay SCHEDULE --log push.wslog -- --exact tests::push",
    after_help = "\
The crate is built as `cargo test` would, with instrumentation, in
target/weakspot; nothing in it changes. Each #[test] is explored as `weakspot
run` explores a program: a test that panics is a failure, with the schedule that
shows it. Options of `cargo test` are taken, too, in any order; after `--` come
names of tests, --exact, --skip, --ignored, --include-ignored and --list. Tests
in documentation, tests without the usual harness and those of procedural macros
are left out, with a note. Code inside of the standard library is not seen
unless it is generic or inlined.

`cargo weakspot test` is the same, and `weakspot cargo +TOOLCHAIN test` takes
another toolchain.",
    mut_arg("format", |a| a.value_parser(explored())),
    mut_arg("timeout", |a| a.help("Give up on a test after this time [default: 10s]")),
    mut_arg("threads", |a| a.help(
        "How many tests to explore, and jobs of cargo to run, at a time; by default one per processor"
    ))
)]
pub(crate) struct CargoTest {
    /// Only build the tests.
    #[arg(long)]
    pub(crate) no_run: bool,
    #[command(flatten)]
    pub(crate) witness: Witness,
    #[command(flatten)]
    pub(crate) explore: Explore,
    #[command(flatten)]
    pub(crate) threads: Threads,
    /// What `cargo test` gets.
    #[arg(allow_hyphen_values = true, value_name = "CARGO_ARG")]
    pub(crate) args: Vec<String>,
    /// After `--`: what selects tests.
    #[arg(last = true, allow_hyphen_values = true, value_name = "ARG")]
    pub(crate) rest: Vec<String>,
}

/// What do TSO and PSO do to a program of a Rust crate?
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot cargo run
  weakspot cargo run --model tso --example queue -- 3 4",
    after_help = "\
The crate is built as `cargo run` would, with instrumentation, in
target/weakspot; nothing in it changes. The program is explored as by `weakspot
run`; an exit code that is not 0 is a failure, too. Options of `cargo run` are
taken, too, in any order; after `--` come arguments of the program.",
    mut_arg("format", |a| a.value_parser(explored())),
    mut_arg("threads", |a| a.help(
        "Copies of the program that explore it in parallel; by default one per processor. The answer is the same"
    ))
)]
pub(crate) struct CargoRun {
    #[command(flatten)]
    pub(crate) witness: Witness,
    #[command(flatten)]
    pub(crate) explore: Explore,
    #[command(flatten)]
    pub(crate) threads: Threads,
    /// What `cargo run` gets.
    #[arg(allow_hyphen_values = true, value_name = "CARGO_ARG")]
    pub(crate) args: Vec<String>,
    /// After `--`: the arguments of the program.
    #[arg(last = true, allow_hyphen_values = true, value_name = "ARG")]
    pub(crate) rest: Vec<String>,
}

/// How a program is explored, however it came to be.
#[derive(Debug, Args)]
pub(crate) struct Explore {
    /// Memory models: tso, pso (which heeds the orders of C11 atomics), pso-own (in which an atomic
    /// update waits only for stores to its own address); by default tso, and pso as advice that does not
    /// count for the exit code.
    #[arg(long, short, value_name = "MODEL", value_delimiter = ',', value_parser = model)]
    pub(crate) model: Vec<Model>,
    /// Pairs of accesses count for the exit code even if no execution fails because of them.
    #[arg(long)]
    pub(crate) robust: bool,
    /// Accept the pairs that this file lists: what `--format json` has printed before.
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Execute the program with the store buffers of tso or pso, instead of watching executions of
    /// SC for what these would do: assertions that fail only there fail.
    #[arg(long, value_name = "MODEL", value_parser = buffers)]
    pub(crate) under: Option<Model>,
    /// Which executions, and in which order [default: auto].
    #[arg(long, value_name = "STRATEGY")]
    pub(crate) strategy: Option<RunStrategy>,
    /// At most this many preemptions: a thread stops that could go on.
    #[arg(long, value_name = "K")]
    pub(crate) preemptions: Option<u32>,
    /// random, pct: the seed of the schedules [default: 1].
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// pct: the depth of the bug, how many orders between steps it needs [default: 3].
    #[arg(long, value_name = "D")]
    pub(crate) depth: Option<usize>,
    /// Execute only the schedule that a finding came with: its number, or the schedule itself.
    #[arg(long, value_name = "SCHEDULE")]
    pub(crate) replay: Option<Replay>,
    /// At most this many executions.
    #[arg(long, value_name = "N")]
    pub(crate) executions: Option<u64>,
    /// At most this many steps per execution, once a second thread was started [default: 100000].
    #[arg(long, value_name = "N")]
    pub(crate) steps: Option<u64>,
    /// Treat a thread as waiting after it has read the same values this many times, although it
    /// does not do exactly the same again [default: 32].
    #[arg(long, value_name = "N")]
    pub(crate) spins: Option<u32>,
    /// Stop at the first finding.
    #[arg(long, alias = "first")]
    pub(crate) fail_fast: bool,
    /// How memory is put back between executions [default: auto].
    #[arg(long, value_name = "HOW")]
    pub(crate) isolate: Option<Isolate>,
    /// What the program prints: nothing of it, that of its first execution, or all [default: none].
    #[arg(long, alias = "output", value_name = "WHICH")]
    pub(crate) program_output: Option<ProgramOutput>,
    /// An exit code other than 0 is no failure.
    #[arg(long)]
    pub(crate) ignore_exit_code: bool,
    /// Run the program in a new, empty folder, which is also its TMPDIR, and remove that afterwards.
    #[arg(long)]
    pub(crate) scratch: bool,
    /// A thread that sleeps, or waits with a timeout, goes on only when no other can, in the order of deadlines.
    #[arg(long)]
    pub(crate) virtual_time: bool,
    /// Freed memory is given out again, so that a program may meet an address twice.
    #[arg(long)]
    pub(crate) reuse: bool,
    /// Data races are no failures.
    #[arg(long)]
    pub(crate) no_races: bool,
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
    /// Find the fewest fences and stronger orders that prevent all pairs, as a diff of the source.
    #[arg(long)]
    pub(crate) fences: bool,
    /// Write the execution that is replayed to this log, for `weakspot monitor` or `serial`.
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// With --replay: stop in gdb at the store that is late, or else at the last step before the failure.
    #[arg(long)]
    pub(crate) gdb: bool,
    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// Strategies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RunStrategy {
    /// All with dpor if there are few; otherwise those with 0, 1 and 2 preemptions first.
    Auto,
    /// With 0, 1, 2, ... preemptions.
    Bounded,
    /// One for each order of conflicting steps.
    Dpor,
    /// One for each way in which loads read from stores: do executions fail? Nothing is watched for.
    Rf,
    /// At random.
    Random,
    /// Probabilistic concurrency testing: random priorities that change a few times.
    Pct,
}

/// How executions are kept from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Isolate {
    /// Memory is copied back, unless the first executions show that this is not enough.
    Auto,
    /// Memory is copied back.
    Memory,
    /// Each has a process of its own.
    Fork,
}

/// Which output of the program is shown, on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProgramOutput {
    None,
    First,
    All,
}
