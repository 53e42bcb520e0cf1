//! `weakspot monitor --program`.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use weakspot_core::machine::Schedule;
use weakspot_core::{Certification, Evidence, Limit, Limits, Model, Program, Verdict};
use weakspot_explore::{
    Interleavings, Overtaken, Seen, Which, interleavings, monitored, overtakings, plainer_run,
};
use weakspot_input::{Input, PROGRAM_ENDINGS, Source, expand, is_log};
use weakspot_lang::Parsed;
use weakspot_report::{
    Counted, Executions, Head, MonitorPair, MonitorRow, Monitored, ProgramMonitorAnswer,
    monitor_table,
};

use crate::args::{MonitorArgs, OutputFormat};
use weakspot_jobs::exit::Exit;
use weakspot_jobs::job::{Job, style};
use weakspot_jobs::pool::{self, Answer, Listener};
use weakspot_jobs::terminal::fitted;

/// Monitors SC executions of each program.
pub(crate) fn run(args: &MonitorArgs) -> Result<Exit> {
    if let Some(log) = args.files.iter().find(|file| is_log(file)) {
        bail!("{} is a log, not a program: leave out --program", log.display());
    }
    let common = &args.common;
    let inputs = expand(&args.files, common.language, &PROGRAM_ENDINGS)?;
    pool::check(common, &inputs)?;
    let limits = pool::limits_among(common, &inputs);
    let (exit, answers) = pool::run(&inputs, &common.shared, |input| answer(input, args, &limits))?;
    if common.shared.format == OutputFormat::Text {
        let rows: Vec<MonitorRow> = answers.iter().filter_map(|t| t.row.clone()).collect();
        print!(
            "{}",
            fitted(&monitor_table(&rows, style(&common.shared).columns()), common.shared.ascii)
        );
        for answers in &answers {
            print!("{}", fitted(&answers.details, common.shared.ascii));
        }
    }
    Ok(exit)
}

/// What is printed about one program once all are done: the table comes first.
struct Told {
    row: Option<MonitorRow>,
    details: String,
}

/// What was found under one model.
struct Found {
    model: Model,
    pairs: Vec<(Overtaken, Option<u64>)>,
    limit: Option<Limit>,
    monitored: Monitored,
    time: Duration,
    /// A run of the first pair, if somebody looks at it.
    run: Option<Schedule>,
}

fn answer(input: &Input, args: &MonitorArgs, limits: &Limits) -> Answer<Told> {
    let mut job = Job::new(&args.common.shared, &args.common.model, "monitor", input.name());
    if let Some((source, parsed)) = job.read(input) {
        let start = Instant::now();
        let found = match which(args) {
            None => search(&mut job, &source, &parsed, limits),
            Some(which) => execute(&mut job, &source, &parsed, which, args, limits),
        };
        let row = found.first().map(|first| MonitorRow {
            name: parsed.names.program.clone(),
            monitored: first.monitored,
            complete: found.iter().all(|f| f.limit.is_none()),
            time: start.elapsed(),
            found: found.iter().map(|f| (f.model, f.pairs.len(), violating(f))).collect(),
        });
        let mut details = String::new();
        for found in &found {
            details += &tell(&mut job, &source, &parsed, found);
        }
        job.answer.results.push(Told { row, details });
    }
    job.answer
}

/// Which executions are monitored one by one; `None` if a search looks at all.
fn which(args: &MonitorArgs) -> Option<Which> {
    match (args.preemptions, args.random) {
        (Some(bound), _) => Some(Which::Preemptions(bound)),
        (None, Some(executions)) => Some(Which::Random { executions, seed: args.seed }),
        (None, None) => None,
    }
}

fn violating(found: &Found) -> u64 {
    found.monitored.executions().map_or(0, |e| e.violating)
}

/// All executions under each model.
fn search(
    job: &mut Job<'_, Told>,
    source: &Source,
    parsed: &Parsed,
    limits: &Limits,
) -> Vec<Found> {
    let program = &parsed.program;
    let mut all = Vec::new();
    // Counting belongs to the first question, which has most of its time left for the answer.
    let mut first = Some(job.limits(limits));
    let quarter = Limits { time: limits.time.map(|time| time / 4), ..*limits };
    let counted = match interleavings(program, &job.limits(&quarter), &mut Listener::new()) {
        Ok(Interleavings::Exactly(n)) => Counted::Exactly(n),
        Ok(Interleavings::Endless) => Counted::Endless,
        // The search will meet the same fault and say so.
        Ok(Interleavings::NotCounted) | Err(_) => Counted::NotCounted,
    };
    for &model in job.models {
        let start = Instant::now();
        let limits = first.take().unwrap_or_else(|| job.limits(limits));
        match overtakings(program, model, &limits, &mut Listener::new()) {
            Ok(found) => all.push(Found {
                model,
                run: shown_run(job, program, model, found.pairs.first(), &limits),
                pairs: found.pairs.into_iter().map(|pair| (pair, None)).collect(),
                limit: found.limit,
                monitored: Monitored::All { interleavings: counted, states: found.states },
                time: start.elapsed(),
            }),
            Err(no_answer) => {
                job.refuse_answer(Some(model), source, (program, &parsed.names), no_answer)
            }
        }
    }
    all
}

/// Some executions, one by one, under all models at once.
fn execute(
    job: &mut Job<'_, Told>,
    source: &Source,
    parsed: &Parsed,
    which: Which,
    args: &MonitorArgs,
    limits: &Limits,
) -> Vec<Found> {
    let start = Instant::now();
    let models = job.models;
    let steps = args.steps as usize;
    let listener = &mut Listener::new();
    let limits = &job.limits(limits);
    let found = match monitored(&parsed.program, models, which, steps, limits, listener) {
        Ok(found) => found,
        Err(no_answer) => {
            let of = (&parsed.program, &parsed.names);
            job.refuse_answer(None, source, of, no_answer);
            return Vec::new();
        }
    };
    let time = start.elapsed();
    let of_model = |seen: Seen| {
        let executions = Executions {
            count: found.executions,
            violating: seen.executions,
            cut_off: found.cut_off,
            most_steps: steps,
            events: found.events,
            waited: found.waited,
        };
        Found {
            model: seen.model,
            run: shown_run(
                job,
                &parsed.program,
                seen.model,
                seen.pairs.first().map(|(pair, _)| pair),
                limits,
            ),
            pairs: seen.pairs.into_iter().map(|(pair, count)| (pair, Some(count))).collect(),
            limit: found.limit.clone(),
            monitored: match which {
                Which::Preemptions(bound) => Monitored::Preemptions { bound, executions },
                Which::Random { seed, .. } => Monitored::Random { seed, executions },
            },
            time,
        }
    };
    found.models.into_iter().map(of_model).collect()
}

/// A run of a pair, if somebody looks at it.
fn shown_run(
    job: &Job<'_, Told>,
    program: &Program,
    model: Model,
    pair: Option<&Overtaken>,
    limits: &Limits,
) -> Option<Schedule> {
    let seen = !job.shared.quiet || job.shared.format != OutputFormat::Text;
    let pair = pair.filter(|_| seen || job.shared.witness.is_some())?;
    Some(plainer_run(program, model, pair, limits))
}

/// Says what was found under one model: text is returned, the rest goes to the answer.
fn tell(job: &mut Job<'_, Told>, source: &Source, parsed: &Parsed, found: &Found) -> String {
    let Parsed { program, names, .. } = parsed;
    let verdict = match (&found.pairs[..], &found.limit) {
        ([], None) => Verdict::Holds,
        ([], Some(limit)) => Verdict::Unknown(limit.clone()),
        _ => Verdict::Violated,
    };
    let run = &found.run;
    let pair = |&(ref p, count): &(Overtaken, Option<u64>)| MonitorPair {
        store: p.store,
        access: p.access,
        previous: p.previous,
        count,
    };
    let pairs: Vec<MonitorPair> = found.pairs.iter().map(pair).collect();
    // What the search of all executions found was replayed; that there is nothing else was not
    // searched for again.
    let certified = match (&verdict, found.monitored) {
        (Verdict::Violated, _) if run.is_some() => Certification::Checked,
        (Verdict::Holds, Monitored::All { .. }) => Certification::TooLarge,
        _ => Certification::NotChecked,
    };
    let head = job.head(found.model, &verdict, found.time, certified);
    let answer = ProgramMonitorAnswer {
        head: Head { limit: found.limit.as_ref(), ..head },
        program,
        names,
        source: &source.text,
        pairs: &pairs,
        run: run.as_ref(),
        monitored: found.monitored,
    };
    let mut written = job.written(&answer);
    // In text, the table of all programs comes first.
    let details = match job.shared.format {
        OutputFormat::Text => std::mem::take(&mut written.text),
        _ => String::new(),
    };
    job.say(&written, &verdict);
    write_witness(job, source, found, &verdict, run.clone().map(Evidence::Run));
    details
}

/// The witness is one of robustness: a run that SC does not have, or that there is none.
fn write_witness(
    job: &mut Job<'_, Told>,
    source: &Source,
    found: &Found,
    verdict: &Verdict,
    run: Option<Evidence>,
) {
    if job.shared.witness.is_none() {
        return;
    }
    let evidence = match found.monitored {
        Monitored::All { states, .. } if *verdict == Verdict::Holds => {
            Some(Evidence::Exhausted { states })
        }
        _ => run,
    };
    if evidence.is_none() && *verdict == Verdict::Holds {
        job.answer.err += &format!(
            "{}: no witness is written: that some executions show no violation proves nothing\n",
            job.file
        );
        return;
    }
    job.write_evidence("robust", source, found.model, verdict, evidence.as_ref());
}
