//! One cell of `weakspot bench history`: one way to check some histories for one model.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use weakspot_core::testing::Rng;
use weakspot_core::{History, HistoryModel, Limits, Silent, Verdict};
use weakspot_gen::{Bug, Client, Run, Source, generate};
use weakspot_history::{Complete, Method, check};

use crate::process::{Heard, ask, cpu_seconds, forget_peak, peak_bytes};
use crate::spread::repeated;
use crate::tables::Tables;

/// What a cell measures. Written `protocols,4,100,10,20,sc,auto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Task {
    pub(super) shape: Shape,
    /// So many histories, of seeds from 0 on.
    pub(super) count: u64,
    pub(super) model: HistoryModel,
    pub(super) way: Way,
}

/// What histories look like. Half of the operations are reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) origin: Origin,
    pub(super) cpus: usize,
    pub(super) operations: usize,
    pub(super) variables: usize,
}

/// Where histories come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The four protocols in turn.
    Protocols,
    /// The protocols in turn, with their bugs in turn.
    Bugs,
    /// The machine of SC, TSO or PSO.
    Machine(Source),
}

/// A way to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// The command's own.
    Auto,
    /// Saturation, then SAT.
    Sat,
    /// Saturation, then enumeration.
    Enum,
    /// The plain SAT encoding, without saturation.
    Plain,
}

impl Way {
    pub(super) const ALL: [Way; 4] = [Way::Auto, Way::Sat, Way::Enum, Way::Plain];

    pub(super) fn key(self) -> &'static str {
        match self {
            Way::Auto => "auto",
            Way::Sat => "sat",
            Way::Enum => "enum",
            Way::Plain => "plain",
        }
    }

    fn method(self) -> Method {
        match self {
            Way::Auto => Method { complete: Complete::Auto, saturate: true },
            Way::Sat => Method { complete: Complete::Sat, saturate: true },
            Way::Enum => Method { complete: Complete::Enum, saturate: true },
            Way::Plain => Method { complete: Complete::Sat, saturate: false },
        }
    }
}

/// The one of which there is only one in a cell of one history comes first.
const PROTOCOLS: [Source; 4] =
    [Source::Mesi, Source::MoesiHammer, Source::MoesiDirectory, Source::Mi];

impl Origin {
    pub(super) fn key(self) -> &'static str {
        match self {
            Origin::Protocols => "protocols",
            Origin::Bugs => "bugs",
            Origin::Machine(source) => source.key(),
        }
    }

    fn of_key(key: &str) -> Option<Origin> {
        match key {
            "protocols" => Some(Origin::Protocols),
            "bugs" => Some(Origin::Bugs),
            _ => Source::of_key(key).filter(|s| !s.is_protocol()).map(Origin::Machine),
        }
    }

    /// Who runs the client of a seed.
    fn run(self, seed: u64) -> (Source, Option<Bug>) {
        let protocol = PROTOCOLS[seed as usize % PROTOCOLS.len()];
        match self {
            Origin::Protocols => (protocol, None),
            Origin::Bugs => {
                let bugs: Vec<Bug> = protocol.bugs().collect();
                (protocol, bugs.get(seed as usize / PROTOCOLS.len() % bugs.len().max(1)).copied())
            }
            Origin::Machine(source) => (source, None),
        }
    }
}

impl Shape {
    /// The history of a seed.
    pub(super) fn history(&self, seed: u64) -> Result<History> {
        let client = Client {
            cpus: self.cpus,
            operations: self.operations,
            variables: self.variables,
            read_ratio: 0.5,
            updates: 0.0,
            fences: 0.0,
            seed,
        };
        let (source, bug) = self.origin.run(seed);
        let seed = Rng::new(seed).next_u64();
        let run = Run { source, bug, store_buffer: false, seed, check: false };
        Ok(generate(&client.operations()?, &run)?.ops)
    }
}

/// What a cell found, as one line of text: counts, seconds, bytes, and who decided how many.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Cell {
    pub(super) holds: u64,
    pub(super) violated: u64,
    /// Whether all histories were decided in time.
    pub(super) done: bool,
    /// Processor seconds of all that were decided, the median of several rounds if they are short.
    pub(super) cpu: Option<f64>,
    /// The fastest and the slowest round; none if there was one.
    pub(super) rounds: Option<(f64, f64)>,
    pub(super) peak: Option<u64>,
    /// `greedy:19,sat:1`.
    pub(super) decided_by: String,
}

impl Cell {
    /// Processor seconds of one history.
    pub(super) fn each(&self) -> Option<f64> {
        let count = self.holds + self.violated;
        self.cpu.filter(|_| count > 0).map(|cpu| cpu / count as f64)
    }

    /// The same in the fastest and in the slowest round, if there were several.
    pub(super) fn each_in_rounds(&self) -> Option<(f64, f64)> {
        let count = (self.holds + self.violated).max(1) as f64;
        self.rounds.map(|(least, most)| (least / count, most / count))
    }

    /// From the fastest to the slowest round, in percent of the median.
    pub(super) fn spread(&self) -> Option<f64> {
        let cpu = self.cpu.filter(|&cpu| cpu > 0.0)?;
        self.rounds.map(|(least, most)| 100.0 * (most - least) / cpu)
    }
}

/// Measures in a process of its own.
pub(super) fn measure(tables: &Tables<'_>, task: &Task, timeout: Duration) -> Result<Cell> {
    let (spec, limit) = (task.to_string(), format!("{}ms", timeout.as_millis()));
    let args = ["bench", "history-cell", &spec, "--timeout", &limit];
    // Making the histories takes some ten microseconds per operation at the very worst.
    let making = Duration::from_micros(10 * task.count * task.shape.operations as u64);
    // Short ones are repeated for a second or two.
    let what = (&*spec, timeout);
    match ask(tables, what, &args, timeout + timeout / 4 + Duration::from_secs(4) + making)? {
        Heard::Text(text) => text.parse(),
        Heard::Late => Ok(Cell::default()),
        Heard::Failed(how) => bail!("{spec}: {how}"),
    }
}

/// What the process of a cell of `bench history` says.
///
/// # Errors
///
/// There is no such measurement, or evidence is rejected.
pub fn run(spec: &str, timeout: Duration) -> Result<String> {
    let task: Task = spec.parse()?;
    let all: Vec<History> =
        (0..task.count).map(|s| task.shape.history(s)).collect::<Result<_>>()?;
    forget_peak();
    let start = Instant::now();
    let mut cell = check_all(&task, &all, start, timeout)?;
    if let (true, Some(first)) = (cell.done, cell.cpu) {
        let again = || {
            let again = check_all(&task, &all, start, timeout)?;
            Ok(again.cpu.filter(|_| again.done))
        };
        let spread = repeated(first, again)?;
        cell.cpu = spread.map(|spread| spread.median);
        let several = spread.filter(|spread| spread.runs > 1);
        cell.rounds = several.map(|spread| (spread.least, spread.most));
    }
    Ok(format!("{cell}\n"))
}

/// Checks all histories, one after the other.
fn check_all(task: &Task, all: &[History], start: Instant, timeout: Duration) -> Result<Cell> {
    let mut cell = Cell { done: true, cpu: Some(0.0), ..Cell::default() };
    let mut stages: Vec<(&str, u64)> = Vec::new();
    for ops in all {
        let left = timeout.saturating_sub(start.elapsed());
        let limits = Limits {
            time: Some(left),
            memory: Some(4 << 30),
            buffer: 0,
            workers: 1,
            ..Limits::UNLIMITED
        };
        let before = cpu_seconds();
        let answer = check(ops, task.model, task.way.method(), &limits, &mut Silent)
            .map_err(|rejected| anyhow!("the evidence is rejected: {rejected}"))?;
        let after = cpu_seconds();
        cell.peak = peak_bytes();
        match answer.verdict {
            Verdict::Holds => cell.holds += 1,
            Verdict::Violated => cell.violated += 1,
            Verdict::Unknown(_) => {
                cell.done = false;
                break;
            }
        }
        cell.cpu = cell.cpu.zip(before).zip(after).map(|((sum, from), to)| sum + to - from);
        let key = answer.decided_by.key();
        match stages.iter_mut().find(|(stage, _)| *stage == key) {
            Some((_, count)) => *count += 1,
            None => stages.push((key, 1)),
        }
    }
    let stages: Vec<String> = stages.iter().map(|(key, count)| format!("{key}:{count}")).collect();
    cell.decided_by = stages.join(",");
    Ok(cell)
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shape { origin, cpus, operations, variables } = self.shape;
        let (origin, model, way) = (origin.key(), self.model.key(), self.way.key());
        write!(f, "{origin},{cpus},{operations},{variables},{},{model},{way}", self.count)
    }
}

impl FromStr for Task {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Task> {
        let parse = || {
            let parts: Vec<&str> = text.split(',').collect();
            let [origin, cpus, operations, variables, count, model, way] = parts[..] else {
                return None;
            };
            Some(Task {
                shape: Shape {
                    origin: Origin::of_key(origin)?,
                    cpus: cpus.parse().ok()?,
                    operations: operations.parse().ok()?,
                    variables: variables.parse().ok()?,
                },
                count: count.parse().ok()?,
                model: HistoryModel::from_key(model)?,
                way: Way::ALL.into_iter().find(|w| w.key() == way)?,
            })
        };
        parse().with_context(|| format!("no such measurement: {text}"))
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cell { holds, violated, done, .. } = self;
        let cpu = self.cpu.map_or("-".to_owned(), |cpu| cpu.to_string());
        let rounds =
            self.rounds.map_or("- -".to_owned(), |(least, most)| format!("{least} {most}"));
        let peak = self.peak.map_or("-".to_owned(), |peak| peak.to_string());
        write!(f, "{holds} {violated} {done} {cpu} {rounds} {peak} {}", self.decided_by)
    }
}

impl FromStr for Cell {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Cell> {
        let parse = || {
            let parts: Vec<&str> = text.trim_end_matches('\n').split(' ').collect();
            let [holds, violated, done, cpu, least, most, peak, decided_by] = parts[..] else {
                return None;
            };
            Some(Cell {
                holds: holds.parse().ok()?,
                violated: violated.parse().ok()?,
                done: done.parse().ok()?,
                cpu: if cpu == "-" { None } else { Some(cpu.parse().ok()?) },
                rounds: match (least, most) {
                    ("-", "-") => None,
                    (least, most) => Some((least.parse().ok()?, most.parse().ok()?)),
                },
                peak: if peak == "-" { None } else { Some(peak.parse().ok()?) },
                decided_by: decided_by.to_owned(),
            })
        };
        parse().with_context(|| format!("the process of a measurement said {text:?}"))
    }
}
