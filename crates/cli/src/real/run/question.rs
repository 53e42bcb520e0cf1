//! What was typed for an exploration, as a question; and as what is to be typed to ask it again.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::Value;
use weakspot_campaign::{self as campaign, Marks, Question, Strategy, Until};
use weakspot_core::Model;
use weakspot_input::read_file;
use weakspot_jobs::kept::Entry;
use weakspot_report::typed;

use super::Subject;
use crate::args::{Command, Isolate, ProgramOutput, Replay, RunArgs, RunStrategy};

/// What was typed, with the options that a schedule was kept with, if one is to be replayed.
pub(super) fn with_kept(args: &RunArgs, entry: &Entry) -> Result<RunArgs> {
    let words = ["weakspot", "run", "--replay", &entry.schedule].map(OsString::from);
    let options = entry.options.iter().map(OsString::from);
    let words = words.into_iter().chain(options).chain([OsString::from("program")]);
    let Ok(Command::Run(kept)) = weakspot_args::read(words) else {
        bail!("the schedule was kept with options that are not understood");
    };
    Ok(RunArgs {
        robust: args.robust,
        baseline: args.baseline.clone(),
        output: args.output,
        fences: args.fences,
        log: args.log.clone(),
        gdb: args.gdb,
        shared: args.shared.clone(),
        workers: args.workers,
        ..kept.run
    })
}

/// What is asked.
pub(super) fn question(args: &RunArgs, shared: Vec<(u64, u64)>) -> Result<Question> {
    let strategy = match (&args.replay, args.strategy) {
        (Some(Replay::Schedule(schedule)), _) => Strategy::Replay(schedule.clone()),
        (Some(Replay::Number(number)), _) => bail!("schedule {number} was not looked up"),
        (None, RunStrategy::Auto) => match args.preemptions {
            Some(most) => Strategy::Bounded(Some(most)),
            None => Strategy::Auto,
        },
        (None, RunStrategy::Bounded) => Strategy::Bounded(args.preemptions),
        (None, RunStrategy::Dpor) => Strategy::Dpor,
        (None, RunStrategy::Rf) => Strategy::Rf,
        (None, RunStrategy::Random) => Strategy::Random { seed: args.seed },
        (None, RunStrategy::Pct) => Strategy::Pct { depth: args.depth, seed: args.seed },
    };
    let transactions = match (&args.transaction[..], args.transactions) {
        ([], false) => None,
        ([], true) => Some(Marks::Marked),
        (functions, _) => Some(Marks::Functions(functions.to_vec())),
    };
    let watches = args.under.is_none() && args.strategy != RunStrategy::Rf;
    let baseline = args.baseline.as_deref().map(baseline).transpose()?;
    Ok(Question {
        robust: args.robust,
        all_count: args.all_count,
        baseline: baseline.unwrap_or_default(),
        models: if watches { args.model.clone() } else { Vec::new() },
        under: args.under.unwrap_or(Model::Sc),
        strategy,
        shared,
        workers: args.workers,
        executions: args.executions,
        steps: args.steps,
        spins: args.spins,
        until: match args.first {
            true => Until::Found { advice: args.all_count },
            false => Until::End,
        },
        isolate: match args.isolate {
            Isolate::Auto => campaign::Isolate::Auto,
            Isolate::Memory => campaign::Isolate::Memory,
            Isolate::Fork => campaign::Isolate::Fork,
        },
        all_output: args.output == ProgramOutput::All,
        codes: args.codes,
        reuse: args.reuse,
        races: args.races,
        transactions,
        fence_transactions: args.fence_transactions,
        advice: args.fences,
        log: args.log.is_some(),
        debug: args.gdb,
        virtual_time: args.virtual_time,
        profile: args.shared.report.is_some(),
        details: args.shared.format.is_of_objects()
            || !args.shared.quiet
            || args.shared.report.is_some(),
        timeout: args.shared.timeout,
        memory: args.shared.memory,
    })
}

/// The pairs in what an exploration has printed as JSON: the places of stores and accesses.
fn baseline(path: &Path) -> Result<Vec<[String; 2]>> {
    let name = path.display();
    let bytes = read_file(path).with_context(|| format!("failed to read {name}"))?;
    let text = String::from_utf8(bytes).map_err(|_| anyhow!("{name} is no UTF-8 text"))?;
    let mut pairs = Vec::new();
    let mut has_answer = false;
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let object: Value = serde_json::from_str(line).map_err(|error| {
            anyhow!("{name}:{}:{}: not a line of JSON: {error}", number + 1, error.column())
        })?;
        let violations = object["violations"].as_array();
        has_answer |= violations.is_some();
        for violation in violations.into_iter().flatten() {
            let at = |end: &str| violation[end]["at"].as_str().map(str::to_owned);
            let pair = at("store").zip(at("access")).with_context(|| {
                format!("{name}:{}: a pair has no places of its store and access", number + 1)
            })?;
            pairs.push([pair.0, pair.1]);
        }
    }
    if !has_answer {
        bail!(
            "{name} has no answer about pairs; expected what `weakspot run --format json` prints"
        );
    }
    Ok(pairs)
}

/// The command that explores the program with these options, without schedule and program.
pub(super) fn command(subject: &Subject, options: &[String]) -> String {
    let mut command = subject.explorer.to_owned();
    if !options.is_empty() {
        command += " ";
        command += &typed(options);
    }
    command
}
