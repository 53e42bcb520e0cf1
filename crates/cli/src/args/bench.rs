//! What may be typed for `weakspot bench`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::TypedValueParser;
use clap::{Args, Subcommand, ValueEnum};

use super::duration;

/// Measure how long the searches take.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Families of litmus tests whose size grows, both searches side by side.
    #[command(before_help = "\
Example:
  weakspot bench litmus")]
    Litmus {
        /// Leave a cell of the table out when its search takes longer than this.
        #[arg(long, value_name = "TIME", default_value = "20s", value_parser = duration)]
        timeout: Duration,
    },
    Programs(ProgramsArgs),
    Monitor(BenchMonitorArgs),
    History(BenchHistoryArgs),
    Serial(BenchSerialArgs),
    Real(BenchRealArgs),
    /// One cell of the tables of histories, in a process of its own.
    #[command(hide = true)]
    HistoryCell {
        /// What to measure.
        task: String,
        /// When to give up.
        #[arg(long, value_parser = duration)]
        timeout: Duration,
    },
    /// One cell of the table of programs, in a process of its own.
    #[command(hide = true)]
    Cell {
        /// The program.
        program: String,
        /// The question.
        question: String,
        /// When to give up.
        #[arg(long, value_parser = duration)]
        timeout: Duration,
    },
}

/// Programs and families of programs: every algorithm side by side.
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot bench programs
  weakspot bench programs lamport fig12 --timeout 5s
  weakspot bench programs --format json --svg times.svg > times.jsonl",
    after_help = "\
Each question is answered in a process of its own, so that processor time and memory are its own.
`weakspot gen family --list` tells about the families."
)]
pub(crate) struct ProgramsArgs {
    /// Only these programs and families; all if none is named.
    #[arg(value_name = "NAME")]
    pub(crate) programs: Vec<String>,
    /// Give up on a question after this time.
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = duration)]
    pub(crate) timeout: Duration,
    /// Draw the processor times to this file.
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) svg: Option<PathBuf>,
    /// What to print.
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = bench_format())]
    pub(crate) format: BenchFormat,
}

/// The monitors on random logs: events per processor second.
#[derive(Debug, Args)]
#[command(before_help = "\
Example:
  weakspot bench monitor
  weakspot bench monitor --processes 8 --addresses 1000 --events 1000000")]
pub(crate) struct BenchMonitorArgs {
    /// How many threads the logs have.
    #[arg(long = "processes", value_name = "P", value_delimiter = ',', default_value = "2,4,8,16,64",
        value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Vec<u16>,
    /// How many addresses.
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1000,1000000",
        value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub(crate) addresses: Vec<u32>,
    /// How many events.
    #[arg(long, value_name = "N", default_value_t = 4_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) events: u32,
    /// The best of this many rounds counts.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// What to print.
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = bench_format())]
    pub(crate) format: BenchFormat,
}

/// Checks of histories: time, memory, and how far each stage gets.
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot bench history
  weakspot bench history --quick
  weakspot bench history operations --large --svg times.svg",
    after_help = "\
The tables of times compare the command's own way (auto) with saturation and then SAT (sat) or
enumeration (enum), and with a SAT encoding of everything (plain). Each cell is measured in a
process of its own. All histories are made from seeds: the same ones in every run."
)]
pub(crate) struct BenchHistoryArgs {
    /// Only these tables; all if none is named.
    #[arg(value_name = "TABLE")]
    tables: Vec<HistoryTable>,
    /// Smaller histories, and fewer of them: about a minute.
    #[arg(long, conflicts_with = "large")]
    pub(crate) quick: bool,
    /// Go on to 10 million operations.
    #[arg(long)]
    pub(crate) large: bool,
    /// Give up on a cell after this time.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub(crate) timeout: Duration,
    /// Draw the processor times to this file.
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) svg: Option<PathBuf>,
    /// What to print.
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = bench_format())]
    pub(crate) format: BenchFormat,
}

impl BenchHistoryArgs {
    /// Whether the table was asked for.
    pub(crate) fn wants(&self, table: HistoryTable) -> bool {
        self.tables.is_empty() || self.tables.contains(&table)
    }
}

/// A table of `bench history`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HistoryTable {
    /// Time against operations, 4 CPUs.
    Operations,
    /// Time against CPUs, 50 operations each.
    Cpus,
    /// The same for protocols with bugs.
    Violations,
    /// Time against threads, the same operations in all.
    Threads,
    /// Large histories with few and many threads and variables.
    Shapes,
    /// Pairs of writes that are left open.
    Pairs,
    /// Violations that weaker models catch.
    Caught,
}

impl HistoryTable {
    pub(crate) const ALL: [HistoryTable; 7] = [
        HistoryTable::Operations,
        HistoryTable::Cpus,
        HistoryTable::Violations,
        HistoryTable::Threads,
        HistoryTable::Shapes,
        HistoryTable::Pairs,
        HistoryTable::Caught,
    ];

    /// The table as it is written in JSON.
    pub(crate) fn key(self) -> &'static str {
        match self {
            HistoryTable::Operations => "operations",
            HistoryTable::Cpus => "cpus",
            HistoryTable::Violations => "violations",
            HistoryTable::Threads => "threads",
            HistoryTable::Shapes => "shapes",
            HistoryTable::Pairs => "pairs",
            HistoryTable::Caught => "caught",
        }
    }
}

/// The monitors for transactions on logs that are serializable: time, memory.
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot bench serial
  weakspot bench serial --quick
  weakspot bench serial lengths --large",
    after_help = "\
All logs are made from seeds: the same ones in every run."
)]
pub(crate) struct BenchSerialArgs {
    /// Only these tables; all if none is named.
    #[arg(value_name = "TABLE")]
    tables: Vec<SerialTable>,
    /// Shorter logs: some seconds.
    #[arg(long, conflicts_with = "large")]
    pub(crate) quick: bool,
    /// Go on to 64 million events.
    #[arg(long)]
    pub(crate) large: bool,
    /// What to print.
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = bench_format())]
    pub(crate) format: BenchFormat,
}

impl BenchSerialArgs {
    /// Whether the table was asked for.
    pub(crate) fn wants(&self, table: SerialTable) -> bool {
        self.tables.is_empty() || self.tables.contains(&table)
    }
}

/// A table of `bench serial`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SerialTable {
    /// Events per processor second by threads, variables, length and share of conflicts.
    Shapes,
    /// Time per event and memory against the length of the log.
    Lengths,
}

impl SerialTable {
    pub(crate) const ALL: [SerialTable; 2] = [SerialTable::Shapes, SerialTable::Lengths];
}

/// The seven programs of the paper on monitoring, compiled from C: its tables with our figures beside.
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot bench real
  weakspot bench real --executions 5000 --format json",
    after_help = "\
The programs are compiled first, which takes gcc or clang."
)]
pub(crate) struct BenchRealArgs {
    /// How many executions are measured of each program.
    #[arg(long, value_name = "N", default_value_t = 50_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) executions: u64,
    /// What to print.
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = bench_format())]
    pub(crate) format: BenchFormat,
}

/// How measurements are printed: all formats but graphs.
pub(crate) use super::OutputFormat as BenchFormat;

fn bench_format() -> impl TypedValueParser<Value = BenchFormat> {
    super::formats(&[BenchFormat::Text, BenchFormat::Json, BenchFormat::Csv])
}
