//! What the user may type. What it means is decided by the command that it is for.

mod bench;
mod history;
mod real;
mod serial;
mod sources;

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use weakspot_core::{Drain, Model};
use weakspot_explore::{Algorithm, Strategy};
use weakspot_lang::Format;
use weakspot_lang::families::{Family, Syntax};
use weakspot_trace::{HistoryFormat, LogFormat};

pub(crate) use bench::{
    BenchCommand, BenchFormat, BenchHistoryArgs, BenchMonitorArgs, BenchRealArgs, BenchSerialArgs,
    HistoryTable, ProgramsArgs, SerialTable,
};
pub(crate) use history::{HistoryCheckArgs, HistoryFormatKey};
pub(crate) use real::{
    CargoCommand, CargoRunArgs, CargoTestArgs, CompilerArgs, Isolate, ProgramOutput, RunArgs,
    RunProgramArgs, RunStrategy,
};
pub(crate) use serial::{Lines, SerialArgs};
pub(crate) use sources::{HistoryArgs, RecordArgs};

/// What does a memory weaker than sequential consistency do to concurrent code, and where?
#[derive(Debug, Parser)]
#[command(name = "weakspot", version, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = "\
Example:
  weakspot litmus --model tso --show corpus/litmus/SB.litmus

Exit code: 0 every question asked holds; 1 at least one is violated; 2 bad input or usage;
3 no violation, but at least one question was given up at a limit.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The questions.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Litmus(LitmusArgs),
    Reach(ReachArgs),
    Robust(RobustArgs),
    Fence(FenceArgs),
    Monitor(MonitorArgs),
    Serial(SerialArgs),
    History(HistoryCheckArgs),
    Certify(CertifyArgs),
    Print(PrintArgs),
    Convert(ConvertArgs),
    #[command(subcommand)]
    Gen(GenCommand),
    Record(RecordArgs),
    Run(RunProgramArgs),
    #[command(subcommand)]
    Cargo(CargoCommand),
    Cc(CompilerArgs),
    /// Compile C++ so that `weakspot run` can control it: takes the arguments of g++ or clang++.
    #[command(name = "c++")]
    Cxx(CompilerArgs),
    #[command(subcommand)]
    Bench(BenchCommand),
}

/// Which final states do SC, TSO and PSO allow?
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot litmus corpus/litmus/SB.litmus
  weakspot litmus --model tso --show corpus/litmus/SB.litmus
  weakspot litmus --format json --states my-tests/ > answers.jsonl",
    after_help = "\
For each test and model: the exact set of final states, in the lines that herd7 prints. `Ok` says
that the test's condition is valid under the model, `No` that it is not. Positive and negative
count final states. A folder stands for every .litmus file in it; `-` is standard input."
)]
pub(crate) struct LitmusArgs {
    /// Litmus tests, programs with a condition on final states, or folders of litmus tests.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// List the final states in JSON, too.
    #[arg(long)]
    pub(crate) states: bool,
    /// Explain one final state by a run: the one that decides the condition, or the given one.
    #[arg(long, value_name = "STATE", num_args = 0..=1, require_equals = true, default_missing_value = "",
        long_help = "Explain one final state by a run, drawn with a column per thread: the state \
that decides the condition (the first state if it takes all of them), or the one given, as in \
--show='0:EAX=0; 1:EAX=0'. Of a given state only the components that matter need to be named.")]
    pub(crate) show: Option<String>,
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
Holds if the control points that the program forbids are never reached together, no assertion
fails, and the final states satisfy the condition. A violation is drawn as a run; -q leaves the
drawing out.",
    mut_arg("threads", |a| a.help(
        "How many files to work on at a time, or, with one file, how many threads search; by \
default one per processor"
    ))
)]
pub(crate) struct ReachArgs {
    /// Programs: .weak, .litmus, Trencher's .txt or .tso, Memorax's .rmm; or folders of them.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// How to decide; all give the same answers, but not all give one for every program.
    #[arg(long, value_name = "ALGORITHM", default_value = "auto")]
    pub(crate) algorithm: ReachAlgorithm,
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
    /// Ask about SC only, and add delays where they matter; TSO only.
    Lazy,
    /// The same with loops unrolled; TSO only.
    Unroll,
    /// The complete procedure for finite data; TSO only.
    Dual,
}

impl ReachAlgorithm {
    pub(crate) fn tso_only(self) -> bool {
        matches!(self, ReachAlgorithm::Lazy | ReachAlgorithm::Unroll | ReachAlgorithm::Dual)
    }
}

impl From<ReachAlgorithm> for Algorithm {
    fn from(algorithm: ReachAlgorithm) -> Algorithm {
        match algorithm {
            ReachAlgorithm::Auto => Algorithm::Auto,
            ReachAlgorithm::Eager => Algorithm::Eager(Strategy::Auto),
            ReachAlgorithm::Lazy => Algorithm::Lazy,
            ReachAlgorithm::Unroll => Algorithm::Unroll,
            ReachAlgorithm::Dual => Algorithm::Dual,
        }
    }
}

/// Does every run under TSO or PSO do what some run under SC does, too?
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot robust --model tso corpus/programs/peterson.weak
  weakspot robust corpus/programs/*.weak",
    after_help = "\
A robust program behaves as if memory were sequentially consistent, whatever it asks or asserts (but
for control points inside of atomic blocks). For one that is not: the store and the later access that
overtakes it, with their lines, a run as short as possible, and the cycle of events that shows that SC
has no such run; -q leaves all but the first line out. The search explores SC runs only, never store
buffers.",
    mut_arg("model", |a| a.default_value("tso,pso").help(
        "Memory models: tso, pso; pso-own is PSO where an atomic update drains only its own address"
    )),
    mut_arg("threads", |a| a.help(
        "How many files to work on at a time, or, with one file, how many threads search; by \
default one per processor"
    )),
    mut_arg("buffer_limit", |a| a.hide(true))
)]
pub(crate) struct RobustArgs {
    /// Programs: .weak, .litmus, Trencher's .txt or .tso, Memorax's .rmm; or folders of them.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// How to decide; all give the same answers.
    #[arg(long, value_name = "ALGORITHM", default_value = "pending")]
    pub(crate) algorithm: RobustAlgorithm,
    /// Ask for more: that there are no triangular races (Owens 2010), which implies robustness; TSO only.
    #[arg(long)]
    pub(crate) trf: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// How robustness is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RobustAlgorithm {
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
  weakspot fence --goal safe --model pso -o fenced.weak corpus/programs/dekker.weak
  weakspot fence --model pso --cost full=5,ss=1 corpus/litmus/MP.litmus",
    after_help = "\
Prints where fences go and what changes in the text. The fences are optimal (none fewer, none
cheaper do) unless a limit was reached, which is then said. A fence may go between any two
statements. Exit code 0: no fence is needed; 1: fences are needed, or none help.",
    mut_arg("model", |a| a.default_value("tso").help(
        "Memory models: tso, pso; pso-own is PSO where an atomic update drains only its own address"
    )),
    mut_arg("witness", |a| a.hide(true))
)]
pub(crate) struct FenceArgs {
    /// Programs: .weak, .litmus, Trencher's .txt or .tso, Memorax's .rmm; or folders of them.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// What the fences are for.
    #[arg(long, value_name = "GOAL", default_value = "robust")]
    pub(crate) goal: FenceGoal,
    /// What fences cost: full ones, and store-store ones (`ss`, PSO only); by default 1 each.
    #[arg(long, value_name = "full=N,ss=N", default_value = "full=1,ss=1", value_parser = cost, hide_default_value = true)]
    pub(crate) cost: Cost,
    /// Write the program with the fences to this file (one input, one model).
    #[arg(long, short = 'o', value_name = "FILE")]
    pub(crate) patch: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// What fences are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FenceGoal {
    /// Nothing happens that SC does not do as well.
    Robust,
    /// What the program forbids does not happen.
    Safe,
}

/// What fences cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) full: u32,
    pub(crate) store_store: u32,
}

/// Could TSO or PSO have broken this SC execution, or those of a program?
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot monitor run.wslog
  my-program | weakspot monitor --model tso --first -
  weakspot monitor --program corpus/programs/dekker.weak
  weakspot monitor --program --preemptions 2 corpus/programs/*.weak
  weakspot monitor --program --random 10000 --seed 7 corpus/programs/bakery.weak",
    override_usage = "\
weakspot monitor [OPTIONS] LOG...
       weakspot monitor --program [--schedules all | --preemptions K | --random N [--seed S]] [OPTIONS] FILE...",
    after_help = "\
A log is one SC execution: text, JSONL, RAPID's STD or .wslog; `-` is standard input, which may be a
program that still runs. Reported is each pair of a store and an access of another thread that the
model would have let take effect before it, though it comes after it.

With --program SC executions of programs are monitored: all of them (then it is a proof if there are
no violations), those with few preemptions, or random ones. A table counts executions and distinct
pairs; each pair has a run under the model that SC does not have, drawn for the first one; -q leaves
the pairs and the drawing out.",
    mut_arg("model", |a| a.default_value(clap::builder::Resettable::Reset).help(
        "Memory models: tso, pso; pso-own is PSO where an atomic update drains only its own address, \
as in the paper [default: tso,pso; with --program also pso-own]"
    )),
    mut_arg("input_format", |a| a.help("With --program: read the inputs as this language, whatever their ending")),
    mut_arg("threads", |a| a.help(
        "How many files to work on at a time, or, with one program, how many threads search; by \
default one per processor"
    )),
    mut_arg("buffer_limit", |a| a.hide(true))
)]
pub(crate) struct MonitorArgs {
    /// Logs; with --program programs: .weak, .litmus, Trencher's .txt or .tso, Memorax's .rmm. A folder stands for all of them in it.
    #[arg(required = true, value_name = "LOG")]
    pub(crate) files: Vec<PathBuf>,
    /// The files are programs, not logs: monitor their SC executions.
    #[arg(long)]
    pub(crate) program: bool,
    /// Programs: monitor every SC execution; what is not found is not there. The default.
    #[arg(long, value_name = "WHICH", requires = "program", conflicts_with_all = ["preemptions", "random"])]
    pub(crate) schedules: Option<Schedules>,
    /// Programs: monitor the executions in which at most K times a thread is stopped that could go on.
    #[arg(long, value_name = "K", requires = "program", conflicts_with = "random")]
    pub(crate) preemptions: Option<u32>,
    /// Programs: monitor N random executions.
    #[arg(long, value_name = "N", requires = "program", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) random: Option<u64>,
    /// The random executions: same seed, same executions.
    #[arg(long, value_name = "S", requires = "random", default_value_t = 1)]
    pub(crate) seed: u64,
    /// With --preemptions and --random: cut executions off after this many steps.
    #[arg(long, value_name = "N", requires = "program", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) steps: u32,
    /// Logs: go on after the first violation. The default.
    #[arg(long, conflicts_with_all = ["first", "program"])]
    pub(crate) all: bool,
    /// Logs: stop at the first violation.
    #[arg(long, conflicts_with = "program")]
    pub(crate) first: bool,
    /// Logs: which stores to a location count, all that are pending or the last one only.
    #[arg(long, value_name = "WHICH", default_value = "all", conflicts_with = "program")]
    pub(crate) pending: PendingForm,
    /// Logs: how to monitor; sober knows TSO only.
    #[arg(long, value_name = "ALGORITHM", default_value = "monitor", conflicts_with = "program")]
    pub(crate) algorithm: MonitorAlgorithm,
    /// Logs: read them as this format, whatever their ending.
    #[arg(long, value_name = "FORMAT", conflicts_with = "program")]
    pub(crate) log_format: Option<LogFormatKey>,
    #[command(flatten)]
    pub(crate) common: Common,
}

impl MonitorArgs {
    /// The same with the models that are meant if none were named.
    pub(crate) fn with_models(mut self) -> MonitorArgs {
        if self.common.model.is_empty() {
            self.common.model = vec![Model::Tso, Model::Pso(Drain::All)];
            if self.program {
                self.common.model.push(Model::Pso(Drain::Own));
            } else if self.algorithm != MonitorAlgorithm::Monitor {
                self.common.model.truncate(1);
            }
        }
        self
    }
}

/// Which executions of a program are monitored, if all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Schedules {
    /// Every one, by a search with partial-order reduction.
    All,
}

/// Which pending stores an access is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PendingForm {
    /// All that are pending: finds more in one execution.
    All,
    /// The last one.
    Last,
}

/// How a log is monitored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MonitorAlgorithm {
    /// The monitors for TSO and PSO of Burnim, Sen and Stergiou.
    Monitor,
    /// SOBER with the corrected definition of TSO.
    Sober,
    /// SOBER as it was published, which misses some violations.
    SoberPublished,
}

/// Check the witness of an answer by the definitions alone.
#[derive(Debug, Args)]
#[command(before_help = "\
Example:
  weakspot litmus --model tso --witness sb.json corpus/litmus/SB.litmus
  weakspot certify corpus/litmus/SB.litmus sb.json")]
pub(crate) struct CertifyArgs {
    /// The input that the question was about.
    pub(crate) input: PathBuf,
    /// The witness that `--witness` wrote.
    pub(crate) witness: PathBuf,
    /// Give up the re-derivation of a claim of completeness after this many states, or events of a log
    /// [default: 1000000], or operations of a history [default: 100].
    #[arg(long, value_name = "N")]
    pub(crate) max_states: Option<usize>,
    /// Read the program as this language, whatever its ending.
    #[arg(long, value_name = "LANGUAGE")]
    pub(crate) input_format: Option<InputFormat>,
    /// Read the histories as this format, whatever their ending.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) history_format: Option<HistoryFormatKey>,
    /// Read the log as this format, whatever its ending.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) log_format: Option<LogFormatKey>,
}

/// Print a program in the canonical form of its language.
#[derive(Debug, Args)]
#[command(before_help = "\
Example:
  weakspot print corpus/programs/peterson.weak")]
pub(crate) struct PrintArgs {
    /// The program.
    pub(crate) file: PathBuf,
    /// Read the input as this language, whatever its ending.
    #[arg(long, value_name = "LANGUAGE")]
    pub(crate) input_format: Option<InputFormat>,
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
Logs by ending: .wstrace is text for people, .jsonl and .json are JSON Lines, .std is RAPID's
STD, .wslog is binary. Histories: .wshist is text for people, .jsonl and .json are JSON Lines,
.axe, .hist (dbcop), .plume, .awdit and .edn are those of other checkers. If text or JSON Lines
become text or JSON Lines, what INPUT looks like decides. Nothing is left out: what OUTPUT's format
cannot say is an error with its place. If a .wslog has a torn tail, all before it is converted,
with a warning."
)]
pub(crate) struct ConvertArgs {
    /// The log or the histories; `-` is standard input.
    pub(crate) input: PathBuf,
    /// Where to write; `-` is standard output.
    pub(crate) output: PathBuf,
    /// The format of INPUT; by default what it ends in, else what it looks like.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) from: Option<RecordFormatKey>,
    /// The format of OUTPUT; by default what it ends in.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: Option<RecordFormatKey>,
}

/// The formats of logs and of histories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecordFormatKey {
    /// One event or operation per line, for people.
    Text,
    /// JSON Lines.
    Jsonl,
    /// Logs in RAPID's STD.
    Std,
    /// Binary logs.
    Wslog,
    /// Histories of Axe.
    Axe,
    /// Histories in the text of dbcop.
    Dbcop,
    /// Histories in the JSON of dbcop.
    DbcopJson,
    /// Histories of Plume, PolySI and AWDIT.
    Plume,
    /// Histories of AWDIT's tests.
    Awdit,
    /// Histories of Jepsen; not written.
    Edn,
}

impl RecordFormatKey {
    /// The format of logs that this is.
    pub(crate) fn log(self) -> Option<LogFormat> {
        self.to_possible_value().and_then(|key| LogFormat::from_key(key.get_name()))
    }

    /// The format of histories that this is.
    pub(crate) fn history(self) -> Option<HistoryFormat> {
        self.to_possible_value().and_then(|key| HistoryFormat::from_key(key.get_name()))
    }
}

/// The formats of logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormatKey {
    /// One event per line, for people.
    Text,
    /// JSON Lines.
    Jsonl,
    /// RAPID's STD.
    Std,
    /// Binary.
    Wslog,
}

impl From<LogFormatKey> for LogFormat {
    fn from(format: LogFormatKey) -> LogFormat {
        match format {
            LogFormatKey::Text => LogFormat::Text,
            LogFormatKey::Jsonl => LogFormat::Jsonl,
            LogFormatKey::Std => LogFormat::Std,
            LogFormatKey::Wslog => LogFormat::Wslog,
        }
    }
}

/// Write inputs to try and to measure with.
#[derive(Debug, Subcommand)]
pub(crate) enum GenCommand {
    Family(FamilyArgs),
    History(HistoryArgs),
}

/// A member of a family of programs or litmus tests that grows with a number.
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot gen family lamport --size 4 -o lamport-4.weak
  weakspot gen family diamond --size 50 --syntax trencher
  weakspot gen family loop --size 20 -o loop-20.c
  weakspot gen family --list",
    after_help = "\
The text goes to standard output unless -o names a file."
)]
pub(crate) struct FamilyArgs {
    /// The family; --list tells which there are.
    #[arg(value_name = "NAME", required_unless_present = "list", hide_possible_values = true,
        value_parser = clap::builder::PossibleValuesParser::new(Family::ALL.map(Family::key)))]
    pub(crate) name: Option<String>,
    /// The size; each family has its own range and default.
    #[arg(long, value_name = "N")]
    pub(crate) size: Option<usize>,
    /// The language; by default what FILE ends in, else the first that the family comes in.
    #[arg(long, value_name = "LANGUAGE",
        value_parser = clap::builder::PossibleValuesParser::new(Syntax::ALL.map(Syntax::key)))]
    pub(crate) syntax: Option<String>,
    /// Write to this file.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// List the families with their sizes and languages.
    #[arg(long, conflicts_with_all = ["name", "size", "syntax", "output"])]
    pub(crate) list: bool,
}

/// Options that all questions about programs share.
#[derive(Clone, Debug, Args)]
pub(crate) struct Common {
    /// Memory models: sc, tso, pso; pso-own is PSO where an atomic update drains only its own address.
    #[arg(long, value_name = "MODEL", value_delimiter = ',', default_value = "sc,tso,pso", value_parser = model)]
    pub(crate) model: Vec<Model>,
    /// Entries (stores, store-store fences) that a buffer may hold at most in a thread that stores in a loop.
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub(crate) buffer_limit: usize,
    /// Read the inputs as this language, whatever their ending.
    #[arg(long, value_name = "LANGUAGE")]
    pub(crate) input_format: Option<InputFormat>,
    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// Options that all questions share.
#[derive(Clone, Debug, Args)]
pub(crate) struct Shared {
    /// What to print.
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = output_format())]
    pub(crate) format: OutputFormat,
    /// Write the answer's evidence to this file, for `weakspot certify` (one file, one model).
    #[arg(long, value_name = "FILE.json")]
    pub(crate) witness: Option<PathBuf>,
    /// Give up on a question after this time [default: 60s; none for reading logs].
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
    /// Give up on a question when its search needs more memory than this.
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = size)]
    pub(crate) memory: u64,
    /// How many files to work on at a time; by default one per processor.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
    /// No warnings, no summary.
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Show progress on standard error.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) progress: When,
    /// Colours; NO_COLOR is heeded, too.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: When,
}

/// The output formats: those of `report`, so that a new one is written down once.
pub(crate) use weakspot_report::Format as OutputFormat;

/// Reads the name of an output format.
fn output_format() -> impl TypedValueParser<Value = OutputFormat> {
    formats(&OutputFormat::ALL)
}

/// Reads the name of one of these formats.
fn formats(known: &[OutputFormat]) -> impl TypedValueParser<Value = OutputFormat> {
    let names = known.iter().map(|f| PossibleValue::new(f.name()).help(f.about()));
    // Other names do not get past the list.
    PossibleValuesParser::new(names)
        .map(|name| OutputFormat::of_name(&name).unwrap_or(OutputFormat::Text))
}

/// The input languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputFormat {
    Litmus,
    Weak,
    Trencher,
    Memorax,
}

/// When to do something for people's eyes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    Auto,
    Always,
    Never,
}

impl From<InputFormat> for Format {
    fn from(f: InputFormat) -> Format {
        match f {
            InputFormat::Litmus => Format::Litmus,
            InputFormat::Weak => Format::Weak,
            InputFormat::Trencher => Format::Trencher,
            InputFormat::Memorax => Format::Memorax,
        }
    }
}

fn model(text: &str) -> Result<Model, String> {
    weakspot_report::model_of_key(&text.trim().to_ascii_lowercase())
        .ok_or_else(|| "expected sc, tso (which is x86), pso or pso-own".to_owned())
}

/// `full=2,ss=1`; what is not named costs 1.
fn cost(text: &str) -> Result<Cost, String> {
    let expected = || "expected costs of at least 1, such as full=2,ss=1".to_owned();
    let mut cost = Cost { full: 1, store_store: 1 };
    for part in text.split(',') {
        let (kind, number) = part.split_once('=').ok_or_else(expected)?;
        let number = number.trim().parse().ok().filter(|n| (1..=1_000_000).contains(n));
        let number = number.ok_or_else(expected)?;
        match kind.trim() {
            "full" => cost.full = number,
            "ss" => cost.store_store = number,
            _ => return Err(expected()),
        }
    }
    Ok(cost)
}

/// `90s`, `2m`, `1h`, `500ms`; a bare number is seconds.
fn duration(text: &str) -> Result<Duration, String> {
    let units = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("", 1.0)];
    scaled(text, &units)
        .and_then(|s| Duration::try_from_secs_f64(s).ok())
        .ok_or_else(|| "expected a time such as 500ms, 60s, 5m or 1h".to_owned())
}

/// `4GiB`, `500MB`; `4G` is `4GiB`, and a bare number is bytes.
fn size(text: &str) -> Result<u64, String> {
    let units = [
        ("KiB", 1024.0),
        ("MiB", 1024.0 * 1024.0),
        ("GiB", 1024.0 * 1024.0 * 1024.0),
        ("K", 1024.0),
        ("M", 1024.0 * 1024.0),
        ("G", 1024.0 * 1024.0 * 1024.0),
        ("kB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("B", 1.0),
        ("", 1.0),
    ];
    scaled(text, &units)
        .filter(|&bytes| bytes >= 1.0)
        .map(|bytes| bytes as u64)
        .ok_or_else(|| "expected a size such as 500MB or 4GiB".to_owned())
}

fn scaled(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let (number, scale) =
        units.iter().find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, scale)))?;
    let number = f64::from_str(number.trim()).ok()?;
    (number.is_finite() && number >= 0.0).then_some(number * scale)
}
