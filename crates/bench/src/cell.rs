//! One cell of `weakspot bench programs`: one question about one program, answered in a process of
//! its own.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use weakspot_core::{Drain, Limit, Limits, Model, Program, Silent, Verdict};
use weakspot_explore::{
    Algorithm, Decide, Lazily, NoAnswer, Strategy, reach, reach_lazily, robust,
};
use weakspot_report::{BenchEnd, model_key};

use crate::process::{cpu_seconds, peak_bytes};
use crate::subjects::{self, Subject};

/// What is asked, and how it is to be answered.
pub(crate) struct Question {
    pub(crate) question: &'static str,
    pub(crate) model: Model,
    pub(crate) algorithm: &'static str,
    /// Whether it is asked about locks, and whether about the other programs.
    locks: bool,
    others: bool,
    ask: fn(&Program, Model, &Limits) -> Result<Found, NoAnswer>,
}

const PSO: Model = Model::Pso(Drain::All);

/// All questions. A line more here is a row more per program and a line more in the plot.
pub(crate) const QUESTIONS: &[Question] = &[
    reach_tso("auto", |p, m, l| by_reach(p, m, Algorithm::Auto, l)),
    reach_tso("eager", |p, m, l| by_reach(p, m, Algorithm::Eager(Strategy::Auto), l)),
    reach_tso("lazy", |p, m, l| by_lazy(p, m, Lazily::Whole, l)),
    reach_tso("unroll", |p, m, l| by_lazy(p, m, Lazily::Unrolled, l)),
    reach_tso("dual", |p, m, l| by_reach(p, m, Algorithm::Dual, l)),
    reach_tso("counters", |p, m, l| by_reach(p, m, Algorithm::Counters, l)),
    Question {
        others: false,
        ..reach_locks(Model::Sc, "auto", |p, m, l| by_reach(p, m, Algorithm::Auto, l))
    },
    reach_locks(PSO, "auto", |p, m, l| by_reach(p, m, Algorithm::Auto, l)),
    Question {
        others: false,
        ..reach_locks(PSO, "lazy", |p, m, l| by_lazy(p, m, Lazily::Whole, l))
    },
    Question {
        others: false,
        ..reach_locks(PSO, "dual", |p, m, l| by_reach(p, m, Algorithm::Dual, l))
    },
    robust_against(Model::Tso, "pending", |p, m, l| by_robust(p, m, Decide::Pending, l)),
    robust_against(Model::Tso, "attack", |p, m, l| by_robust(p, m, Decide::Attack, l)),
    Question {
        locks: true,
        ..robust_against(PSO, "pending", |p, m, l| by_robust(p, m, Decide::Pending, l))
    },
];

type Ask = fn(&Program, Model, &Limits) -> Result<Found, NoAnswer>;

const fn reach_tso(algorithm: &'static str, ask: Ask) -> Question {
    Question { locks: false, ..reach_locks(Model::Tso, algorithm, ask) }
}

/// About locks, and about the others, too.
const fn reach_locks(model: Model, algorithm: &'static str, ask: Ask) -> Question {
    Question { question: "reach", model, algorithm, locks: true, others: true, ask }
}

const fn robust_against(model: Model, algorithm: &'static str, ask: Ask) -> Question {
    Question { question: "robust", model, algorithm, locks: false, others: true, ask }
}

struct Found {
    verdict: Verdict,
    states: u64,
    queries: Option<u64>,
}

fn by_reach(p: &Program, m: Model, algorithm: Algorithm, l: &Limits) -> Result<Found, NoAnswer> {
    let found = reach(p, m, algorithm, l, &mut Silent)?.into_answer();
    Ok(Found { verdict: found.verdict, states: found.states, queries: None })
}

fn by_lazy(p: &Program, m: Model, lazily: Lazily, l: &Limits) -> Result<Found, NoAnswer> {
    let (found, asked) = reach_lazily(p, m, lazily, l, &mut Silent)?;
    let queries = Some(asked.sc + asked.oracle);
    Ok(Found { verdict: found.verdict.clone(), states: found.states, queries })
}

fn by_robust(p: &Program, m: Model, decide: Decide, l: &Limits) -> Result<Found, NoAnswer> {
    let found = robust(p, m, decide, l, &mut Silent)?.into_answer();
    Ok(Found { verdict: found.verdict, states: found.states, queries: Some(found.queries) })
}

impl Question {
    pub(crate) fn is_about(&self, subject: &Subject) -> bool {
        if subject.is_lock { self.locks } else { self.others }
    }

    /// `reach-tso-eager`.
    pub(crate) fn key(&self) -> String {
        format!("{}-{}-{}", self.question, model_key(self.model), self.algorithm)
    }
}

/// What the process of a cell tells the one that started it, as one line of text.
pub(crate) struct Cell {
    pub(crate) end: BenchEnd,
    pub(crate) explored: Option<u64>,
    pub(crate) queries: Option<u64>,
    pub(crate) cpu: Option<f64>,
    pub(crate) peak: Option<u64>,
}

/// What the process of a cell of `bench programs` says.
///
/// # Errors
///
/// There is no such program or question.
pub fn run(subject: &str, question: &str, timeout: Duration) -> Result<String> {
    let subjects = subjects::all();
    let subject = subjects.iter().find(|s| s.name == subject).context("no such program")?;
    let question = QUESTIONS.iter().find(|q| q.key() == question).context("no such question")?;
    let limits = Limits {
        time: Some(timeout),
        memory: Some(4 << 30),
        buffer: 1024,
        workers: 1,
        ..Limits::UNLIMITED
    };
    let parsed = subject.parse()?;
    let found = (question.ask)(&parsed.program, question.model, &limits);
    let (end, explored, queries) = match found {
        Ok(found) => (end(&found.verdict), Some(found.states), found.queries),
        Err(NoAnswer::NotApplicable(_)) => (BenchEnd::Unknown("n/a".to_owned()), None, None),
        Err(error) => (BenchEnd::Error(format!("{error:?}")), None, None),
    };
    let cell = Cell { end, explored, queries, cpu: cpu_seconds(), peak: peak_bytes() };
    Ok(format!("{cell}\n"))
}

fn end(verdict: &Verdict) -> BenchEnd {
    match verdict {
        Verdict::Holds => BenchEnd::Holds,
        Verdict::Violated => BenchEnd::Violated,
        Verdict::Unknown(limit) => BenchEnd::Unknown(
            match limit {
                Limit::Time(_) => "time",
                Limit::Memory(_) => "memory",
                Limit::Buffer { .. } => "buffer",
                Limit::Torn(_) => "torn",
                Limit::Window(_) => "window",
                Limit::Overlap => "overlap",
                Limit::Conditional => "conditional",
                Limit::Executions(_) => "executions",
                Limit::Finding(_) => "finding",
                Limit::Preemptions(_) => "preemptions",
                Limit::Steps(_) => "steps",
                Limit::Silent => "silent",
                Limit::Unrepeatable => "unrepeatable",
                Limit::Loops => "loops",
                Limit::Updates => "updates",
                Limit::Uncontrolled => "uncontrolled",
                Limit::Hashes(_) => "hashes",
                Limit::Interrupted => "interrupted",
                Limit::Process { .. } => "process",
            }
            .to_owned(),
        ),
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, word) = match &self.end {
            BenchEnd::Holds => ("holds", ""),
            BenchEnd::Violated => ("violated", ""),
            BenchEnd::Unknown(limit) => ("unknown", limit.as_str()),
            BenchEnd::Error(message) => ("error", message.as_str()),
        };
        let count = |n: Option<u64>| n.map_or("-".to_owned(), |n| n.to_string());
        let cpu = self.cpu.map_or("-".to_owned(), |s| s.to_string());
        let (explored, queries, peak) =
            (count(self.explored), count(self.queries), count(self.peak));
        write!(f, "{explored} {queries} {cpu} {peak} {kind} {word}")
    }
}

impl FromStr for Cell {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Cell> {
        let wrong = || anyhow!("the process of a measurement said {text:?}");
        let parts: Vec<&str> = text.trim_end_matches('\n').splitn(6, ' ').collect();
        let [explored, queries, cpu, peak, kind, word] = parts[..] else { return Err(wrong()) };
        let count = |word: &str| match word {
            "-" => Ok(None),
            word => word.parse().map(Some).map_err(|_| wrong()),
        };
        Ok(Cell {
            end: match kind {
                "holds" => BenchEnd::Holds,
                "violated" => BenchEnd::Violated,
                "unknown" => BenchEnd::Unknown(word.to_owned()),
                "error" => BenchEnd::Error(word.to_owned()),
                _ => return Err(wrong()),
            },
            explored: count(explored)?,
            queries: count(queries)?,
            cpu: if cpu == "-" { None } else { Some(cpu.parse().map_err(|_| wrong())?) },
            peak: count(peak)?,
        })
    }
}
