//! What may be typed for the questions about logs and histories.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use weakspot_core::Model;

use super::super::values::{
    InputFormat, Lines, Models, Takes, format_of, lines, models, sc_or_tso,
};
use super::{Buffers, Common, Shared, Threads, Witness};

/// Could TSO or PSO have broken this SC execution, or those of a program?
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot monitor run.wslog
  my-program | weakspot monitor --model tso --fail-fast -
  weakspot monitor --program corpus/programs/dekker.weak
  weakspot monitor --program --preemptions 2 corpus/programs/*.weak
  weakspot monitor --program --random 10000 --seed 7 corpus/programs/bakery.weak",
    override_usage = "\
weakspot monitor [OPTIONS] LOG...
       weakspot monitor --program [--schedules all | --preemptions K |
              --random N [--seed S]] [OPTIONS] FILE...",
    after_help = "\
A log is one SC execution: text, JSONL, RAPID's STD or .wslog; `-` is standard
input, which may be a program that still runs. Reported is each pair of a store
and an access of another thread that the model would have let take effect before
it, though it comes after it.

With --program SC executions of programs are monitored: all of them (then it is
a proof if there are no violations), those with few preemptions, or random ones.
A table counts executions and distinct pairs; each pair has a run under the
model that SC does not have, drawn for the first one; -q leaves the pairs and
the drawing out.",
    mut_arg("model", |a| a.help(
        "Memory models: tso, pso; pso-own is PSO where an atomic update drains only its own address, \
as in the paper [default: tso,pso; with --program also pso-own]"
    )),
    mut_arg("input_format", |a| a
        .alias("log-format")
        .value_name("FORMAT")
        .value_parser(format_of(Takes::ProgramsAndLogs))
        .help("Read the inputs as this format, or with --program as this language, whatever their ending")),
    mut_arg("timeout", |a| a.help(
        "Give up on a question after this time, from opening its file [default: none; with --program 60s]"
    )),
    mut_arg("threads", |a| a.help(
        "How many files to work on at a time, or, with one program, how many threads search; by \
default one per processor"
    ))
)]
pub(crate) struct Monitor {
    /// Logs; with --program programs: .weak, .litmus, Trencher's .txt or .tso, Memorax's .rmm. A folder stands for all of them in it.
    #[arg(required = true, value_name = "LOG")]
    pub(crate) files: Vec<PathBuf>,
    /// The files are programs, not logs: monitor their SC executions.
    #[arg(long)]
    pub(crate) program: bool,
    /// Programs: monitor every SC execution; what is not found is not there. The default.
    #[arg(long, value_name = "WHICH")]
    pub(crate) schedules: Option<Schedules>,
    /// Programs: monitor the executions in which at most K times a thread is stopped that could go on.
    #[arg(long, value_name = "K")]
    pub(crate) preemptions: Option<u32>,
    /// Programs: monitor N random executions.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) random: Option<u64>,
    /// The random executions: same seed, same executions [default: 1].
    #[arg(long, value_name = "S")]
    pub(crate) seed: Option<u64>,
    /// With --preemptions and --random: cut executions off after this many steps [default: 1000].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) steps: Option<u32>,
    /// Logs: go on after the first violation. The default.
    #[arg(long)]
    pub(crate) all: bool,
    /// Logs: stop at the first violation.
    #[arg(long, alias = "first")]
    pub(crate) fail_fast: bool,
    /// Logs: which stores to a location count, all that are pending or the last one only [default: all].
    #[arg(long, value_name = "WHICH")]
    pub(crate) pending: Option<PendingForm>,
    /// Logs: how to monitor; sober knows TSO only [default: monitor].
    #[arg(long, value_name = "ALGORITHM")]
    pub(crate) algorithm: Option<MonitorAlgorithm>,
    #[command(flatten)]
    pub(crate) processes: super::Processes,
    #[command(flatten)]
    pub(crate) checkpoint: super::Checkpoint,
    #[command(flatten)]
    pub(crate) witness: Witness,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Which executions of a program are monitored, if all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Schedules {
    /// Every one, by a search with partial-order reduction.
    All,
}

/// Which pending stores an access is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PendingForm {
    /// All that are pending: finds more in one execution.
    All,
    /// The last one.
    Last,
}

/// How a log is monitored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MonitorAlgorithm {
    /// The monitors for TSO and PSO of Burnim, Sen and Stergiou.
    Monitor,
    /// SOBER with the corrected definition of TSO.
    Sober,
    /// SOBER as it was published, which misses some violations.
    SoberPublished,
}

/// Which reads count as reads of the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Buffered {
    /// Those that take the value of the own store.
    Exact,
    /// All since the last fence, as in the paper, even if they take another thread's value.
    Static,
}

/// Are the transactions of a program or log serializable, under SC and under TSO?
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot serial corpus/programs/task-pool.weak
  weakspot serial --transaction 6-7 corpus/litmus/SB.litmus
  weakspot serial corpus/transactions/task-pool.wstrace
  weakspot serial --model sc run.wslog
  my-program | weakspot serial --model sc -
  weakspot serial --fence-transactions corpus/transactions/task-pool.wstrace",
    after_help = "\
Of programs all executions are asked about. A transaction is what stands in
`transaction { ... }`, or in the lines that --transaction names; anything else
is one of its own. A violation comes with a run.

In logs a transaction is what a thread does between `begin` and `end`, or under
one number; anything else is a transaction of its own. A log with `com` events
is one execution of TSO, and is asked about under both models. One without is an
execution of SC, and under TSO a trace: it stands for all executions in which
the threads do the same in the same order, whenever their stores reach memory. A
violation comes with a cycle through transactions, two events for each; -q
leaves it out.",
    mut_arg("timeout", |a| a.help(
        "Give up on a question after this time, from opening its file [default: 60s; none for logs]"
    )),
    mut_arg("buffer_limit", |a| a.help(
        "Programs: entries that a buffer may hold at most in a thread that stores in a loop \
[default: 1024]"
    ))
)]
pub(crate) struct Serial {
    /// Programs (.weak, .litmus, .txt, .tso, .rmm), or logs: text, JSONL, RAPID's STD or .wslog; `-` is standard input. A folder stands for the programs and logs in it.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Memory models: sc, tso [default: sc,tso].
    #[arg(long, short, value_name = "MODEL", value_delimiter = ',', value_parser = sc_or_tso)]
    pub(crate) model: Vec<Model>,
    /// Programs: what stands on these lines in a thread (in each, if none is named) is one transaction.
    #[arg(long, value_name = "[THREAD:]FIRST[-LAST]", value_parser = lines)]
    pub(crate) transaction: Vec<Lines>,
    #[command(flatten)]
    pub(crate) buffers: Buffers,
    /// Read the inputs as programs in this language, or as logs in this format, whatever their ending.
    #[arg(long, alias = "log-format", value_name = "FORMAT", value_parser = format_of(Takes::ProgramsAndLogs))]
    pub(crate) input_format: Option<InputFormat>,
    /// Put a fence at the end of each transaction, and tell what that buys under TSO.
    #[arg(long)]
    pub(crate) fence_transactions: bool,
    /// Traces under TSO: warn if one of the schedules nearby, in which conflicts that TSO cannot turn stay as they are, is not serializable.
    #[arg(long)]
    pub(crate) predict: bool,
    /// Traces under TSO: tell what the test of the paper says, which also counts what is no execution.
    #[arg(long)]
    pub(crate) literal: bool,
    /// TSO: which reads of a variable that their thread wrote itself later reads may overtake [default:
    /// exact].
    #[arg(long, value_enum, value_name = "READING")]
    pub(crate) buffered: Option<Buffered>,
    #[command(flatten)]
    pub(crate) processes: super::Processes,
    #[command(flatten)]
    pub(crate) checkpoint: super::Checkpoint,
    #[command(flatten)]
    pub(crate) witness: Witness,
    #[command(flatten)]
    pub(crate) threads: Threads,
    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// Which models does a recorded history satisfy, of memory or of transactions?
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot history corpus/histories/classic.wshist
  weakspot history --model tso --minimise corpus/histories/store-buffering.axe
  weakspot history --model coherence corpus/histories/stale-read.wshist
  weakspot history --columns cycle,core,op,addr,data log.txt
  weakspot record --operations 100000 | weakspot history --model tso,sc -
  weakspot history --follow run.wshist
  weakspot history --model serializable corpus/databases/write-skew.edn",
    after_help = "\
A history says what each thread read and wrote, in the order of that thread. It
satisfies a model if the model explains all of it. The models are causal
consistency (cc), causal convergence (ccv), causal memory (cm), convergent
causal memory (ccm), what is left of it under TSO (wccm), cache coherence, which
is SC of each variable by itself (coherence), partial store order (pso), total
store order (tso) and sequential consistency (sc). `all` draws which of them are
satisfied, the stronger above the weaker. pso-own is PSO where an atomic update
waits only for earlier writes to its own variable.

If a history says when operations began and ended, lin is linearizability: what
ended before something else began comes first. tso-rt is TSO where each
operation is done in between, and what it writes may reach memory later.

Files of dbcop, Plume, AWDIT and Jepsen (Elle) have transactions, and are asked
for read-committed (rc), read-atomic (ra), transactional-causal (tcc) and
serializable (ser); a violation is named as Elle does, such as G1a or G-single.
If models of memory are asked for, the operations are looked at one by one.

A file may have many histories: JSON Lines, text, or those of Axe, dbcop, Plume,
AWDIT and Jepsen, or a table with a column for each of core, operation, address
and value. `-` is standard input, a folder stands for all histories in
it. A violation is shown as a cycle of operations, each before the next one for
the reason given; -q leaves all but the first line out. A read of a value that
nobody wrote is bad input, because far more often a write was not recorded; with
--complete-recording it is a violation.

--follow waits for more at the end of a file, as `tail -f` does, and looks at
the last operations together, in constant memory. Such a file is text, Axe,
Plume, or JSON with one operation per line.",
    mut_arg("timeout", |a| a.help(
        "Give up on a question after this time [default: 60s; with --follow none]; with --follow end after it"
    )),
    mut_arg("quiet", |a| a.help("One line per answer; no warnings, no summary"))
)]
pub(crate) struct History {
    /// Histories, or folders of them.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Models: cc, ccv, cm, ccm, wccm, coherence, pso, pso-own, tso, tso-rt, sc, lin, or of transactions
    /// rc, ra, tcc, ser, separated by commas, or all, which is all but pso-own, tso-rt and lin [default: all; with --follow sc,tso].
    #[arg(long, short, value_name = "MODEL", value_delimiter = ',', value_parser = models)]
    pub(crate) model: Vec<Models>,
    /// Show a smallest part of a history that violates the model as well.
    #[arg(long)]
    pub(crate) minimise: bool,
    /// How to complete the store order for SC, TSO and PSO; all give the same answers [default: auto].
    #[arg(long, value_name = "HOW")]
    pub(crate) complete: Option<CompleteKey>,
    /// Do not derive orders between writes before the store order is completed.
    #[arg(long)]
    pub(crate) no_saturation: bool,
    /// Read the files as this format, whatever their ending.
    #[arg(long, alias = "history-format", value_name = "FORMAT", value_parser = format_of(Takes::Histories))]
    pub(crate) input_format: Option<InputFormat>,
    /// What the columns of a log are, such as cycle,core,op,addr,data,size; - is a column that is not
    /// used, and addr:hex has hexadecimal digits without 0x.
    #[arg(long, value_name = "NAMES", value_parser = weakspot_trace::Columns::parse, allow_hyphen_values = true)]
    pub(crate) columns: Option<weakspot_trace::Columns>,
    /// Take a read of a value that nobody wrote for a violation: all writes were recorded.
    #[arg(long)]
    pub(crate) complete_recording: bool,
    /// Check a history while it is written, operation by operation, until it is violated.
    #[arg(long)]
    pub(crate) follow: bool,
    /// With --follow: how many operations to look at together [default: 100000].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000_000))]
    pub(crate) window: Option<u32>,
    /// With --follow: nobody writes a value twice to a variable, so that violations are told at once.
    #[arg(long)]
    pub(crate) distinct_values: bool,
    #[command(flatten)]
    pub(crate) processes: super::Processes,
    #[command(flatten)]
    pub(crate) checkpoint: super::Checkpoint,
    #[command(flatten)]
    pub(crate) witness: Witness,
    #[command(flatten)]
    pub(crate) threads: Threads,
    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// How the store order is completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompleteKey {
    /// A greedy run first, at last SAT.
    Auto,
    /// A search that remembers where it failed.
    Search,
    /// All store orders, one after the other.
    Enum,
    /// SAT on the pairs of writes that are open.
    Sat,
}
