//! `weakspot bench real`: Tables 1 and 2 of the paper on monitoring (Burnim, Sen and Stergiou, 2011), with
//! our figures beside theirs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use serde_json::json;
use weakspot_args::BenchRealArgs;
use weakspot_build::{Language, compile, runtime};
use weakspot_campaign::{
    Campaign, Child, Control, Facts, Isolate, Linked, Measured, Program, Question, SoFar, Strategy,
    Until,
};
use weakspot_core::{Drain, Model};
use weakspot_live::Plan;
use weakspot_report::Rows;

use crate::spread::{Spread, percent_text, repeated};
use crate::tables::Tables;

/// The PSO of the paper.
const PSO: Model = Model::Pso(Drain::Own);

/// A program, and the rows that it has in the tables of the paper.
struct Subject {
    name: &'static str,
    source: &'static str,
    /// With up to 1 and up to 2 preemptions.
    theirs: [Theirs; 2],
}

struct Theirs {
    interleavings: u64,
    seconds: f64,
    tso: usize,
    pso: usize,
}

const fn row(interleavings: u64, seconds: f64, tso: usize, pso: usize) -> Theirs {
    Theirs { interleavings, seconds, tso, pso }
}

macro_rules! subject {
    ($name:literal, $first:expr, $second:expr) => {
        Subject {
            name: $name,
            source: include_str!(concat!("corpus/", $name, ".c")),
            theirs: [$first, $second],
        }
    };
}

const SUBJECTS: [Subject; 7] = [
    subject!("dekker", row(79, 6.4, 3, 5), row(1714, 180.0, 9, 11)),
    subject!("bakery", row(197, 42.4, 3, 4), row(13632, 3992.4, 3, 4)),
    subject!("msn", row(92, 7.5, 0, 3), row(2300, 196.1, 0, 3)),
    subject!("ms2", row(123, 11.0, 0, 2), row(3322, 300.0, 0, 2)),
    subject!("harris", row(161, 18.8, 0, 2), row(5646, 661.7, 0, 2)),
    subject!("lazylist", row(139, 14.0, 0, 4), row(4045, 428.4, 0, 4)),
    subject!("snark", row(172, 15.4, 0, 4), row(6510, 609.9, 0, 10)),
];

/// Compiles the programs and explores them.
///
/// # Errors
///
/// There is no compiler, a program cannot be explored, or an end was asked for.
pub fn run(args: &BenchRealArgs, tables: &mut Tables<'_>) -> Result<()> {
    let runtime = runtime::unpack().map_err(|message| anyhow!(message))?;
    let folder = tempfile::Builder::new().prefix("weakspot-bench-").tempdir();
    let folder = folder.context("failed to make a folder")?;
    let mut programs = Vec::new();
    for subject in &SUBJECTS {
        programs.push((subject, build(subject, folder.path(), &runtime)?));
    }
    for (table, preemptions) in [1, 2].into_iter().enumerate() {
        interleavings(tables, &programs, &runtime, table, preemptions)?;
    }
    rates(args, tables, &programs, &runtime)
}

/// All executions with few preemptions.
fn interleavings(
    tables: &mut Tables<'_>,
    programs: &[(&Subject, PathBuf)],
    runtime: &Path,
    table: usize,
    preemptions: u32,
) -> Result<()> {
    let mut rows = Rows::new(tables.format);
    tables.text(format_args!(
            "Table {}: executions with up to {preemptions} preemption{}, ours and those of the paper\n\n\
             {:<9} {:>17} {:>17} {:>5} {:>11} {:>11}\n",
            table + 1,
            if preemptions == 1 { "" } else { "s" },
            "",
            "interleavings",
            "seconds",
            "±",
            "TSO pairs",
            "PSO pairs"
    ))?;
    for (subject, program) in programs {
        (tables.busy)(subject.name);
        let plan = Plan::Bounded(Some(preemptions));
        let ours = measure(tables, program, runtime, plan, &[Model::Tso, PSO], 0)?;
        let Measured { executions, pairs, .. } = &ours;
        let first = ours.time.as_secs_f64();
        let spread = repeated(first, || {
            let plan = Plan::Bounded(Some(preemptions));
            let again = measure(tables, program, runtime, plan, &[Model::Tso, PSO], 0)?;
            Ok(Some(again.time.as_secs_f64()))
        })?;
        let seconds = spread.map_or(first, |spread| spread.median);
        let spread = spread.and_then(|spread| spread.percent());
        let [tso, pso] = [Model::Tso, PSO].map(|m| pairs.iter().filter(|p| **p == m).count());
        let theirs = &subject.theirs[table];
        let text = || {
            format!(
                "{:<9} {executions:>8} {:>8} {seconds:>8.3} {:>8.1} {:>5} {tso:>5} {:>5} {pso:>5} {:>5}\n",
                subject.name,
                theirs.interleavings,
                theirs.seconds,
                percent_text(spread),
                theirs.tso,
                theirs.pso
            )
        };
        let json = || {
            json!({
                "table": table + 1, "name": subject.name, "preemptions": preemptions,
                "interleavings": executions, "seconds": seconds, "spread_percent": spread,
                "tso": tso, "pso": pso,
                "paper": {
                    "interleavings": theirs.interleavings, "seconds": theirs.seconds,
                    "tso": theirs.tso, "pso": theirs.pso,
                },
            })
        };
        tables.row(&mut rows, text, json)?;
    }
    tables.text(format_args!("\n"))
}

/// How fast that is: many random executions, with the monitors and without.
fn rates(
    args: &BenchRealArgs,
    tables: &mut Tables<'_>,
    programs: &[(&Subject, PathBuf)],
    runtime: &Path,
) -> Result<()> {
    let mut rows = Rows::new(tables.format);
    tables.text(format_args!(
        "Executions at random, with both monitors and without, per processor second\n\n\
             {:<8} {:>7} {:>10} {:>4} {:>8} {:>8} {:>10} {:>7} {:>7}\n",
        "", "steps", "per second", "±", "of paper", "monitors", "steps/s", "ns/step", "without"
    ))?;
    for (subject, program) in programs {
        (tables.busy)(subject.name);
        let random = |models: &[Model]| {
            measure(tables, program, runtime, Plan::Random { seed: 1 }, models, args.executions)
        };
        let (with, without) = (random(&[Model::Tso, PSO])?, random(&[])?);
        // Times are hundredths of seconds.
        let mut rounds = [vec![with.cpu.max(0.01)], vec![without.cpu.max(0.01)]];
        for _ in 1..ROUNDS {
            rounds[0].push(random(&[Model::Tso, PSO])?.cpu.max(0.01));
            rounds[1].push(random(&[])?.cpu.max(0.01));
        }
        let [cpu, bare] =
            rounds.each_ref().map(|cpu| Spread::of(cpu).map_or(0.01, |spread| spread.median));
        let spread = Spread::of(&rounds[0]).and_then(|spread| spread.percent());
        let steps = with.steps as f64;
        let theirs = &subject.theirs[1];
        let paper = theirs.interleavings as f64 / theirs.seconds;
        let rate = with.executions as f64 / cpu;
        let per_step = [cpu / steps, bare / without.steps as f64].map(|seconds| seconds * 1e9);
        let length = steps / with.executions as f64;
        let text = || {
            format!(
                "{:<8} {length:>7.1} {rate:>10.0} {:>4} {paper:>8.1} {:>7.2}x {:>10.0} {:>7.1} {:>7.1}\n",
                subject.name,
                percent_text(spread),
                cpu / bare,
                steps / cpu,
                per_step[0],
                per_step[1]
            )
        };
        let json = || {
            json!({
                "table": "rates", "name": subject.name, "steps": length, "rate": rate,
                "spread_percent": spread,
                "overhead": cpu / bare, "steps_rate": steps / cpu, "ns_per_step": per_step[0],
                "ns_per_step_without": per_step[1], "paper": { "rate": paper },
            })
        };
        tables.row(&mut rows, text, json)?;
    }
    tables.note(format_args!(
        "All of them as published, without fences, with the harnesses of corpus/c; the paper has harnesses of \
         its own. PSO is that of the paper (pso-own). seconds: by the clock. steps: of an execution; of paper: \
         from its second table; monitors: processor time with them over that without; without: nanoseconds per \
         step without them; {} executions each, the median of {ROUNDS} rounds. ±: from the fastest to the slowest round, in \
         percent of the median; of the tables above `-` if they took so long that there was one.",
        args.executions
    ))
}

/// How often random executions are measured.
const ROUNDS: usize = 3;
/// How long an exploration may take.
const TIMEOUT: Duration = Duration::from_secs(600);
/// The steps of an execution, and the bytes that it may allocate.
const STEPS: u64 = 100_000;
const MEMORY: u64 = 4 << 30;

/// Explores a program as `plan` says, with so many executions at most (0 for any number).
fn measure(
    tables: &Tables<'_>,
    program: &Path,
    runtime: &Path,
    plan: Plan,
    models: &[Model],
    executions: u64,
) -> Result<Measured> {
    let program = Program {
        command: vec![OsString::from(program)],
        name: program.display().to_string(),
        folder: None,
        root: None,
        variables: Vec::new(),
        rust: false,
        harness: false,
        linked: Linked::nothing(),
    };
    let question = Question {
        robust: true,
        all_count: true,
        baseline: Vec::new(),
        models: Vec::new(),
        under: Model::Sc,
        strategy: Strategy::Auto,
        shared: Vec::new(),
        virtual_time: false,
        profile: false,
        workers: 1,
        executions: None,
        steps: STEPS,
        spins: 32,
        until: Until::End,
        isolate: Isolate::Memory,
        all_output: false,
        codes: true,
        reuse: false,
        races: false,
        transactions: None,
        fence_transactions: false,
        advice: false,
        log: false,
        debug: false,
        details: false,
        timeout: TIMEOUT,
        memory: MEMORY,
    };
    let facts = Facts::of(&program, &question)?;
    let child = Child { program: &program, runtime, shown: false, scratch: false, record: None };
    let listener = Listener { since: Instant::now(), interrupted: tables.interrupted };
    let campaign =
        Campaign { question: &question, facts: &facts, runtime: &child, control: &listener };
    let measured = weakspot_campaign::measure(&campaign, plan, models, executions)?;
    // What was cut short is no figure.
    tables.go_on()?;
    Ok(measured)
}

/// The clock and Ctrl-C of an exploration.
struct Listener<'a> {
    since: Instant,
    interrupted: &'a dyn Fn() -> bool,
}

impl Control for Listener<'_> {
    fn elapsed(&self) -> Duration {
        self.since.elapsed()
    }

    fn interrupted(&self) -> bool {
        (self.interrupted)()
    }

    fn progress(&self, _: SoFar) {}
}

fn build(subject: &Subject, folder: &Path, runtime: &Path) -> Result<PathBuf> {
    let (source, program) = (folder.join(format!("{}.c", subject.name)), folder.join(subject.name));
    std::fs::write(&source, subject.source).context("failed to write a source")?;
    let words = |path: &Path| path.to_string_lossy().into_owned();
    let args: Vec<String> = ["-O1", "-pthread", "-o"]
        .map(str::to_owned)
        .into_iter()
        .chain([words(&program), words(&source)])
        .collect();
    let code = compile(Language::C, &args, runtime, &mut |_| {})
        .map_err(|why| anyhow!("the programs are in C and need gcc or clang: {why}"))?;
    if code != 0 {
        bail!("failed to compile {}", subject.name);
    }
    Ok(program)
}
