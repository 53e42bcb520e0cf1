//! What may be typed for the commands that write files or check them.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use weakspot_core::TxnModel;
use weakspot_gen::{Bug, CycleSyntax, Source};
use weakspot_lang::families::{self, Syntax};

use super::super::values::{
    InputFormat, OutputFormat, Takes, When, duration, format_of, isolation, rows, size,
};

/// Check the witness of an answer by the definitions alone.
#[derive(Debug, Args)]
#[command(before_help = "\
Example:
  weakspot litmus --model tso --witness sb.json corpus/litmus/SB.litmus
  weakspot certify corpus/litmus/SB.litmus sb.json
  weakspot certify corpus/litmus/*.litmus witnesses/*.json")]
pub(crate) struct Certify {
    /// The input that the question was about, and the witness that `--witness` wrote. Of more than two
    /// files, those that are witnesses are checked, each against the input whose hash it names.
    #[arg(required = true, num_args = 2.., value_names = ["INPUT", "WITNESS"])]
    pub(crate) files: Vec<PathBuf>,
    /// One object per witness on a line of its own.
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "json"])]
    pub(crate) format: Option<String>,
    /// Give up the re-derivation of a claim of completeness after this many states, or events of a log
    /// (by default 1000000), or operations of a history (by default 100).
    #[arg(long, value_name = "N")]
    pub(crate) max_states: Option<usize>,
    /// Read the input as this format, whatever its ending.
    #[arg(long, aliases = ["history-format", "log-format"], value_name = "FORMAT", value_parser = format_of(Takes::Anything))]
    pub(crate) input_format: Option<InputFormat>,
    #[command(flatten)]
    pub(crate) in_c: super::InC,
    #[command(flatten)]
    pub(crate) bounds: Bounds,
}

/// Compare two logs of litmus tests, of herd7, litmus7 or `weakspot litmus`.
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot litmus --model tso tests > tso.log
  weakspot compare tso.log litmus7.log
  weakspot compare --format csv tso.log litmus7.log",
    after_help = "\
Tests are known by their names; where a log has a test under several models, by
name and model. States that only one of the logs has are listed. Exit code: 0
no difference; 1 some difference; 2 a log cannot be read."
)]
pub(crate) struct Compare {
    /// A log.
    pub(crate) first: PathBuf,
    /// The log that it is compared with.
    pub(crate) second: PathBuf,
    /// What to print [default: text].
    #[arg(long, short, value_name = "FORMAT", value_parser = rows())]
    pub(crate) format: Option<OutputFormat>,
}

/// Step through a run, in a terminal.
#[cfg(feature = "show")]
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot reach --model tso --witness p.json corpus/programs/peterson.weak
  weakspot show corpus/programs/peterson.weak p.json
  weakspot robust --format json corpus/programs/peterson.weak | weakspot show -
  weakspot show --replay 1 ./program",
    after_help = "\
Keys: n and p, or arrows, go to the next step and the one before; Home and End
to the first and the last; l to the next late store, m to where it reaches
memory; q ends. Elsewhere than in a terminal all steps are printed. Exit code:
0, or 2 if there is no run."
)]
pub(crate) struct Show {
    /// Answers of --format json, `-` for standard input, of which the first run is shown; or an
    /// input and its witness of --witness; or with --replay a program with its arguments.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Execute a schedule that `weakspot run` has found once more: its number, or the schedule.
    #[arg(long, value_name = "SCHEDULE")]
    pub(crate) replay: Option<String>,
    /// With --replay of a schedule that is no number: tso or pso, if it has been found so.
    #[arg(long, value_name = "MODEL")]
    pub(crate) under: Option<String>,
    #[command(flatten)]
    pub(crate) in_c: super::InC,
    /// Draw with ASCII only, as where the locale is not UTF-8.
    #[arg(long)]
    pub(crate) ascii: bool,
}

/// Print a program in the canonical form of its language.
#[derive(Debug, Args)]
#[command(before_help = "\
Example:
  weakspot print corpus/programs/peterson.weak")]
pub(crate) struct Print {
    /// The program.
    pub(crate) file: PathBuf,
    /// Read the input as this language, whatever its ending.
    #[arg(long, value_name = "LANGUAGE", value_parser = format_of(Takes::Programs))]
    pub(crate) input_format: Option<InputFormat>,
    /// Write to this file.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) bounds: Bounds,
}

/// Convert a log of an execution, or histories, from one format to another.
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot convert run.wslog run.wstrace
  weakspot convert --from std --to jsonl - - < trace.txt
  weakspot convert corpus/histories/store-buffering.axe sb.jsonl",
    after_help = "\
Logs by ending: .wstrace is text for people, .jsonl and .json are JSON Lines,
.std is RAPID's STD, .wslog is binary. Histories: .wshist is text for people,
.jsonl and .json are JSON Lines, .axe, .hist (dbcop), .plume, .awdit and .edn
are those of other checkers. If text or JSON Lines become text or JSON Lines,
what INPUT looks like decides. Nothing is left out: what OUTPUT's format cannot
say is an error with its place. If a .wslog has a torn tail, all before it is
converted, with a warning."
)]
pub(crate) struct Convert {
    /// The log or the histories; `-` is standard input.
    pub(crate) input: PathBuf,
    /// Where to write; `-` is standard output.
    #[arg(value_name = "OUTPUT")]
    pub(crate) place: Option<PathBuf>,
    /// The same as OUTPUT.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The format of INPUT; by default what it ends in, else what it looks like.
    #[arg(long, visible_alias = "from", value_name = "FORMAT", value_parser = format_of(Takes::LogsAndHistories))]
    pub(crate) input_format: Option<InputFormat>,
    /// The format of OUTPUT; by default what it ends in.
    #[arg(long, short, visible_alias = "to", value_name = "FORMAT", value_parser = format_of(Takes::ToLogsAndHistories))]
    pub(crate) format: Option<InputFormat>,
    /// No warnings.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Write inputs to try and to measure with.
#[derive(Debug, Subcommand)]
pub(crate) enum Gen {
    Family(Family),
    History(GenHistory),
    Litmus(GenLitmus),
}

/// A litmus test from a cycle of accesses, or all tests up to a size.
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot gen litmus PodWR Fre PodWR Fre
  weakspot gen litmus MFencedWR Fre PodWR Fre --format c -o SB+mfence+po.litmus
  weakspot gen litmus --all --size 4 -o tests/",
    after_help = "\
The steps are those of diy7: program order to another location (PodWR, with a
fence MFencedWR or SFencedWW) or to the same (PosWR, ...), and communication
with another thread (Rfe, Fre, Coe or Wse) or within one (Rfi, Fri, Coi). A
comment in each test says which models allow it."
)]
pub(crate) struct GenLitmus {
    /// The steps of the cycle.
    #[arg(value_name = "STEP")]
    pub(crate) steps: Vec<String>,
    /// All critical cycles up to a size.
    #[arg(long)]
    pub(crate) all: bool,
    /// How many steps the cycles of --all have at most [default: 4].
    #[arg(long, value_name = "N")]
    pub(crate) size: Option<usize>,
    /// The language [default: x86; or what FILE ends in].
    #[arg(long, short, value_name = "LANGUAGE",
        value_parser = clap::builder::PossibleValuesParser::new(CycleSyntax::ALL.map(CycleSyntax::key)))]
    pub(crate) format: Option<String>,
    /// Write to this file; with --all, to this folder.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// A member of a family of programs or litmus tests that grows with a number.
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot gen family lamport --size 4 -o lamport-4.weak
  weakspot gen family diamond --size 50 --format trencher
  weakspot gen family loop --size 20 -o loop-20.c
  weakspot gen family --list",
    after_help = "\
The text goes to standard output unless -o names a file."
)]
pub(crate) struct Family {
    /// The family; --list tells which there are.
    #[arg(value_name = "NAME", hide_possible_values = true,
        value_parser = clap::builder::PossibleValuesParser::new(families::Family::ALL.map(families::Family::key)))]
    pub(crate) name: Option<String>,
    /// The size; each family has its own range and default.
    #[arg(long, value_name = "N")]
    pub(crate) size: Option<usize>,
    /// The language; by default what FILE ends in, else the first that the family comes in.
    #[arg(long, short, alias = "syntax", value_name = "LANGUAGE",
        value_parser = clap::builder::PossibleValuesParser::new(Syntax::ALL.map(Syntax::key)))]
    pub(crate) format: Option<String>,
    /// Write to this file.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// List the families with their sizes and languages.
    #[arg(long)]
    pub(crate) list: bool,
}

/// Histories of random clients on a memory, a machine or a cache coherence protocol.
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot gen history --source tso --cpus 4 --operations 1000 -o tso.jsonl
  weakspot gen history --source mesi --bug lost-ack --count 100 > lost-ack.jsonl
  weakspot gen history --transactions tcc --operations 100000 -o tcc.plume
  weakspot gen history --list",
    after_help = "\
JSON Lines, one history per line, to standard output unless -o names a file. Of
each variable no value is written twice. History number i is that of the seed
plus i; the same seed, the same history. With --transactions it is one history
of a database, in the format of Plume unless FILE or --format says otherwise."
)]
pub(crate) struct GenHistory {
    /// Who runs the clients; --list tells which there are [default: atomic].
    #[arg(long, value_name = "SOURCE", hide_possible_values = true,
        value_parser = clap::builder::PossibleValuesParser::new(Source::ALL.map(Source::key)))]
    pub(crate) source: Option<String>,
    /// A bug in the protocol; --list tells which there are.
    #[arg(long, value_name = "NAME", hide_possible_values = true,
        value_parser = clap::builder::PossibleValuesParser::new(Bug::ALL.map(Bug::key)))]
    pub(crate) bug: Option<String>,
    /// Put a store buffer between each CPU and its cache: histories become TSO instead of SC.
    #[arg(long)]
    pub(crate) store_buffer: bool,
    /// Transactions of a database that is read-committed (rc), transactional-causal (tcc) or
    /// serializable (ser), and no more; CPUs are sessions.
    #[arg(long, value_name = "MODEL", value_parser = isolation)]
    pub(crate) transactions: Option<TxnModel>,
    /// With --transactions: how many operations a transaction has on average [default: 5].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) transaction_size: Option<u32>,
    /// How many CPUs the clients have [default: 4].
    #[arg(long, value_name = "N")]
    pub(crate) cpus: Option<usize>,
    /// How many operations they do, all CPUs together [default: 500].
    #[arg(long, value_name = "N")]
    pub(crate) operations: Option<usize>,
    #[command(flatten)]
    pub(crate) mix: Mix,
    /// How many histories [default: 1].
    #[arg(long, value_name = "N")]
    pub(crate) count: Option<u64>,
    /// The format; by default what FILE ends in, else JSON Lines.
    #[arg(long, short, value_name = "FORMAT", value_parser = format_of(Takes::ToHistories))]
    pub(crate) format: Option<InputFormat>,
    /// Write to this file.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// List the sources and their bugs.
    #[arg(long)]
    pub(crate) list: bool,
}

/// What random clients do.
#[derive(Debug, Args)]
pub(crate) struct Mix {
    /// How many variables the clients have [default: 10].
    #[arg(long, value_name = "N")]
    pub(crate) variables: Option<usize>,
    /// The share of reads in plain accesses [default: 0.5].
    #[arg(long, value_name = "SHARE")]
    pub(crate) read_ratio: Option<f64>,
    /// The share of atomic updates in all operations [default: 0].
    #[arg(long, value_name = "SHARE")]
    pub(crate) updates: Option<f64>,
    /// The share of full fences in all operations [default: 0].
    #[arg(long, value_name = "SHARE")]
    pub(crate) fences: Option<f64>,
    /// What the clients are made from [default: 1].
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// Record what threads on this very CPU read and write.
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot record --cpus 2 --operations 1000000 -o cpu.jsonl
  weakspot gen history --cpus 2 --count 1000 | weakspot record - > cpu.jsonl",
    after_help = "\
Plain loads and stores for reads and writes, exchanges for updates, full fences
for fences; one thread per CPU of the client, started together. The history is
written as by `gen history`. Of the histories in FILE only the operations count,
not what they read; each is run once."
)]
pub(crate) struct Record {
    /// Clients: histories in any format, `-` is standard input; without it, a random client.
    #[arg(value_name = "FILE")]
    pub(crate) client: Option<PathBuf>,
    /// How many threads the client has; by default one per processor, at least 2.
    #[arg(long, value_name = "N")]
    pub(crate) cpus: Option<usize>,
    /// How many operations they do, all threads together [default: 1000000].
    #[arg(long, value_name = "N")]
    pub(crate) operations: Option<usize>,
    #[command(flatten)]
    pub(crate) mix: Mix,
    /// Variables side by side, not each on a cache line of its own.
    #[arg(long)]
    pub(crate) packed: bool,
    /// Read FILE as this format, whatever its ending.
    #[arg(long, value_name = "FORMAT", value_parser = format_of(Takes::Histories))]
    pub(crate) input_format: Option<InputFormat>,
    /// The format; by default what the FILE of -o ends in, else JSON Lines.
    #[arg(long, short, value_name = "FORMAT", value_parser = format_of(Takes::ToHistories))]
    pub(crate) format: Option<InputFormat>,
    /// Write to this file.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Do not say how fast it was.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// For commands that read one file and say one thing about it.
#[derive(Debug, Args)]
pub(crate) struct Bounds {
    /// Give up after this time [default: 60s].
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
    /// Give up when more memory than this is needed [default: 4GiB].
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// Colours in messages; NO_COLOR is heeded, too [default: auto].
    #[arg(long, value_name = "WHEN")]
    pub(crate) color: Option<When>,
}
