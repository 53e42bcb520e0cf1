//! `weakspot bench`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::list::{Lacks, Means, Usage, commands};
use crate::meant::{file, or, refuse};
use crate::refused::{ABOUT_KEEPING, ABOUT_QUESTIONS};
use crate::values::{OutputFormat, duration, rows};

commands! {
    /// Measure how long the searches take.
    Bench => BenchCommand lacks &[
        (ABOUT_KEEPING, "it measures what searches take from their beginning"),
        ("memory", "each measurement may take 4 GiB"),
        (ABOUT_QUESTIONS, "it measures the questions that are in its tables"),
        ("output input-format", "its inputs are its own, and tables go to standard output"),
        ("quiet verbose color progress", "it prints its tables row by row, and in a terminal what it measures now",
        ),
    ];
    Litmus(BenchLitmus => BenchLitmusArgs),
    Programs(BenchPrograms => ProgramsArgs),
    Monitor(BenchMonitor => BenchMonitorArgs),
    History(BenchHistory => BenchHistoryArgs),
    Serial(BenchSerial => BenchSerialArgs),
    Real(BenchReal => BenchRealArgs),
    HistoryCell(HistoryCell => HistoryCell),
    Cell(Cell => Cell),
}

/// Families of litmus tests whose size grows, both searches side by side.
#[derive(Debug, Args)]
#[command(before_help = "\
Example:
  weakspot bench litmus
  weakspot bench litmus --format tabular > litmus.tex")]
pub(crate) struct BenchLitmus {
    /// Leave a cell of the table out when its search takes longer than this [default: 20s].
    #[arg(long, value_name = "TIME", value_parser = duration)]
    timeout: Option<Duration>,
    /// What to print [default: text].
    #[arg(long, short, value_name = "FORMAT", value_parser = rows())]
    format: Option<OutputFormat>,
}

#[derive(Debug)]
pub struct BenchLitmusArgs {
    pub timeout: Duration,
    pub format: OutputFormat,
}

impl Means<BenchLitmusArgs> for BenchLitmus {
    fn meant(self) -> Result<BenchLitmusArgs, Usage> {
        let timeout = self.timeout.unwrap_or(Duration::from_secs(20));
        Ok(BenchLitmusArgs { timeout, format: format(self.format) })
    }
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
Each question is answered in a process of its own, so that processor time and
memory are its own. `weakspot gen family --list` tells about the families."
)]
pub(crate) struct BenchPrograms {
    /// Only these programs and families; all if none is named.
    #[arg(value_name = "NAME")]
    programs: Vec<String>,
    /// Give up on a question after this time [default: 20s].
    #[arg(long, value_name = "TIME", value_parser = duration)]
    timeout: Option<Duration>,
    /// Draw the processor times to this file.
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
    /// What to print [default: text].
    #[arg(long, short, value_name = "FORMAT", value_parser = rows())]
    format: Option<OutputFormat>,
}

#[derive(Debug)]
pub struct ProgramsArgs {
    /// All if none is named.
    pub programs: Vec<String>,
    pub timeout: Duration,
    pub svg: Option<PathBuf>,
    pub format: OutputFormat,
}

impl Means<ProgramsArgs> for BenchPrograms {
    fn meant(self) -> Result<ProgramsArgs, Usage> {
        let BenchPrograms { programs, timeout, svg, format } = self;
        let timeout = timeout.unwrap_or(Duration::from_secs(20));
        let svg = file("--svg", svg)?;
        Ok(ProgramsArgs { programs, timeout, svg, format: self::format(format) })
    }
}

/// The monitors on random logs: events per processor second.
#[derive(Debug, Args)]
#[command(before_help = "\
Example:
  weakspot bench monitor
  weakspot bench monitor --processes 8 --addresses 1000 --events 1000000")]
pub(crate) struct BenchMonitor {
    /// How many threads the logs have [default: 2,4,8,16,64].
    #[arg(long, value_name = "P", value_delimiter = ',',
        value_parser = clap::value_parser!(u16).range(1..=1024))]
    processes: Vec<u16>,
    /// How many addresses [default: 1000,1000000].
    #[arg(long, value_name = "N", value_delimiter = ',',
        value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    addresses: Vec<u32>,
    /// How many events each log has [default: 4000000].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    events: Option<u32>,
    /// The best of this many rounds counts [default: 5].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,
    /// What to print [default: text].
    #[arg(long, short, value_name = "FORMAT", value_parser = rows())]
    format: Option<OutputFormat>,
}

#[derive(Debug)]
pub struct BenchMonitorArgs {
    pub threads: Vec<u16>,
    pub addresses: Vec<u32>,
    pub events: u32,
    pub rounds: u32,
    pub format: OutputFormat,
}

impl Means<BenchMonitorArgs> for BenchMonitor {
    const LACKS: Lacks = &[("timeout", "--events and --rounds say how long it takes")];

    fn meant(self) -> Result<BenchMonitorArgs, Usage> {
        let BenchMonitor { processes, addresses, events, rounds, format } = self;
        Ok(BenchMonitorArgs {
            threads: or(processes, &[2, 4, 8, 16, 64]),
            addresses: or(addresses, &[1_000, 1_000_000]),
            events: events.unwrap_or(4_000_000),
            rounds: rounds.unwrap_or(5),
            format: self::format(format),
        })
    }
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
The tables of times compare the command's own way (auto) with saturation and
then SAT (sat) or enumeration (enum), and with a SAT encoding of everything
(plain). Each cell is measured in a process of its own. All histories are made
from seeds: the same ones in every run."
)]
pub(crate) struct BenchHistory {
    /// Only these tables; all if none is named.
    #[arg(value_name = "TABLE")]
    tables: Vec<HistoryTable>,
    /// Smaller histories, and fewer of them: about a minute.
    #[arg(long)]
    quick: bool,
    /// Go on to 10 million operations.
    #[arg(long)]
    large: bool,
    /// Give up on a cell after this time [default: 10s].
    #[arg(long, value_name = "TIME", value_parser = duration)]
    timeout: Option<Duration>,
    /// Draw the processor times to this file.
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
    /// What to print [default: text].
    #[arg(long, short, value_name = "FORMAT", value_parser = rows())]
    format: Option<OutputFormat>,
}

/// A table of `bench history`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HistoryTable {
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
    /// Many threads times many variables, with figures of before.
    Wide,
    /// Pairs of writes that are left open.
    Pairs,
    /// Violations that weaker models catch.
    Caught,
}

impl HistoryTable {
    pub const ALL: [HistoryTable; 8] = [
        HistoryTable::Operations,
        HistoryTable::Cpus,
        HistoryTable::Violations,
        HistoryTable::Threads,
        HistoryTable::Shapes,
        HistoryTable::Wide,
        HistoryTable::Pairs,
        HistoryTable::Caught,
    ];

    /// The table as it is written in JSON.
    pub fn key(self) -> &'static str {
        match self {
            HistoryTable::Operations => "operations",
            HistoryTable::Cpus => "cpus",
            HistoryTable::Violations => "violations",
            HistoryTable::Threads => "threads",
            HistoryTable::Shapes => "shapes",
            HistoryTable::Wide => "wide",
            HistoryTable::Pairs => "pairs",
            HistoryTable::Caught => "caught",
        }
    }
}

#[derive(Debug)]
pub struct BenchHistoryArgs {
    pub tables: Vec<HistoryTable>,
    pub quick: bool,
    pub large: bool,
    pub timeout: Duration,
    pub svg: Option<PathBuf>,
    pub format: OutputFormat,
}

impl Means<BenchHistoryArgs> for BenchHistory {
    fn meant(self) -> Result<BenchHistoryArgs, Usage> {
        let BenchHistory { tables, quick, large, timeout, svg, format } = self;
        refuse(&[("--quick", quick && large)], CONTRARY)?;
        Ok(BenchHistoryArgs {
            tables: or(tables, &HistoryTable::ALL),
            quick,
            large,
            timeout: timeout.unwrap_or(Duration::from_secs(10)),
            svg: file("--svg", svg)?,
            format: self::format(format),
        })
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
pub(crate) struct BenchSerial {
    /// Only these tables; all if none is named.
    #[arg(value_name = "TABLE")]
    tables: Vec<SerialTable>,
    /// Shorter logs: some seconds.
    #[arg(long)]
    quick: bool,
    /// Go on to 64 million events.
    #[arg(long)]
    large: bool,
    /// What to print [default: text].
    #[arg(long, short, value_name = "FORMAT", value_parser = rows())]
    format: Option<OutputFormat>,
}

/// A table of `bench serial`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SerialTable {
    /// Events per processor second by threads, variables, length and share of conflicts.
    Shapes,
    /// Time per event and memory against the length of the log.
    Lengths,
}

impl SerialTable {
    pub const ALL: [SerialTable; 2] = [SerialTable::Shapes, SerialTable::Lengths];
}

#[derive(Debug)]
pub struct BenchSerialArgs {
    pub tables: Vec<SerialTable>,
    pub quick: bool,
    pub large: bool,
    pub format: OutputFormat,
}

impl Means<BenchSerialArgs> for BenchSerial {
    const LACKS: Lacks = &[("timeout", "--quick makes it shorter")];

    fn meant(self) -> Result<BenchSerialArgs, Usage> {
        let BenchSerial { tables, quick, large, format } = self;
        refuse(&[("--quick", quick && large)], CONTRARY)?;
        let tables = or(tables, &SerialTable::ALL);
        Ok(BenchSerialArgs { tables, quick, large, format: self::format(format) })
    }
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
pub(crate) struct BenchReal {
    /// How many executions are measured of each program [default: 50000].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    executions: Option<u64>,
    /// What to print [default: text].
    #[arg(long, short, value_name = "FORMAT", value_parser = rows())]
    format: Option<OutputFormat>,
}

#[derive(Debug)]
pub struct BenchRealArgs {
    pub executions: u64,
    pub format: OutputFormat,
}

impl Means<BenchRealArgs> for BenchReal {
    const LACKS: Lacks = &[("timeout", "--executions says how long it takes")];

    fn meant(self) -> Result<BenchRealArgs, Usage> {
        let executions = self.executions.unwrap_or(50_000);
        Ok(BenchRealArgs { executions, format: format(self.format) })
    }
}

fn format(typed: Option<OutputFormat>) -> OutputFormat {
    typed.unwrap_or(OutputFormat::Text)
}

const CONTRARY: &str = "and --large contradict each other";

/// One cell of the tables of histories, in a process of its own.
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct HistoryCell {
    /// What to measure.
    pub task: String,
    /// When to give up.
    #[arg(long, value_parser = duration)]
    pub timeout: Duration,
}

impl Means<HistoryCell> for HistoryCell {
    fn meant(self) -> Result<HistoryCell, Usage> {
        Ok(self)
    }
}

/// One cell of the table of programs, in a process of its own.
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct Cell {
    /// The program.
    pub program: String,
    /// The question.
    pub question: String,
    /// When to give up.
    #[arg(long, value_parser = duration)]
    pub timeout: Duration,
}

impl Means<Cell> for Cell {
    fn meant(self) -> Result<Cell, Usage> {
        Ok(self)
    }
}
