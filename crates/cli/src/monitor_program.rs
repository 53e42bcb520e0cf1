//! `weakspot monitor --program`.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use weakspot_core::{Evidence, Limit, Limits, Model, Verdict};
use weakspot_explore::{
    Interleavings, NoAnswer, Overtaken, Seen, Which, interleavings, monitored, overtakings,
    plainer_run,
};
use weakspot_lang::Parsed;
use weakspot_report::{
    Counted, Executions, MonitorPair, MonitorRow, Monitored, ProgramMonitorAnswer, draw_dot,
    failure_diagnostic, monitor_table, program_monitor_json, program_monitor_text,
};

use crate::args::{MonitorArgs, OutputFormat};
use crate::exit::Exit;
use crate::input::{Input, PROGRAM_ENDINGS, Source, expand};
use crate::job::Job;
use crate::log::is_log;
use crate::pool::{self, Answer, Listener};

/// Monitors SC executions of each program.
pub(crate) fn run(args: &MonitorArgs) -> Result<Exit> {
    if let Some(log) = args.files.iter().find(|file| is_log(file)) {
        bail!("{} is a log, not a program: leave out --program", log.display());
    }
    let common = &args.common;
    if common.model.contains(&Model::Sc) {
        bail!(
            "nothing is violated under sc: a violation is what SC does not do; expected --model \
             tso, pso or pso-own"
        );
    }
    let inputs = expand(&args.files, common.input_format.map(Into::into), &PROGRAM_ENDINGS)?;
    pool::check(common, &inputs)?;
    let limits = Limits { workers: pool::workers(common, inputs.len()), ..pool::limits(common) };
    let (exit, told) = pool::run(&inputs, &common.shared, |input| answer(input, args, &limits))?;
    if common.shared.format == OutputFormat::Text {
        let rows: Vec<MonitorRow> = told.iter().filter_map(|t| t.row.clone()).collect();
        print!("{}", monitor_table(&rows));
        for told in &told {
            print!("{}", told.details);
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
}

fn answer(input: &Input, args: &MonitorArgs, limits: &Limits) -> Answer<Told> {
    let mut job = Job::new(&args.common, "monitor", input);
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
    let counted = match interleavings(program, limits, &mut Listener::new()) {
        Ok(Interleavings::Exactly(n)) => Counted::Exactly(n),
        Ok(Interleavings::Endless) => Counted::Endless,
        // The search will meet the same fault and say so.
        Ok(Interleavings::NotCounted) | Err(_) => Counted::NotCounted,
    };
    for &model in &job.common.model {
        let start = Instant::now();
        match overtakings(program, model, limits, &mut Listener::new()) {
            Ok(found) => all.push(Found {
                model,
                pairs: found.pairs.into_iter().map(|pair| (pair, None)).collect(),
                limit: found.limit,
                monitored: Monitored::All { interleavings: counted, states: found.states },
                time: start.elapsed(),
            }),
            Err(no_answer) => refuse(job, source, parsed, Some(model), no_answer),
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
    let models = &job.common.model;
    let steps = args.steps as usize;
    let listener = &mut Listener::new();
    let found = match monitored(&parsed.program, models, which, steps, limits, listener) {
        Ok(found) => found,
        Err(no_answer) => {
            refuse(job, source, parsed, None, no_answer);
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

fn refuse(
    job: &mut Job<'_, Told>,
    source: &Source,
    parsed: &Parsed,
    model: Option<Model>,
    no_answer: NoAnswer,
) {
    match no_answer {
        NoAnswer::Fault(failure) => {
            let diagnostic = failure_diagnostic(&parsed.program, &parsed.names, &failure);
            job.refuse_at(model, source, &diagnostic);
        }
        NoAnswer::NotApplicable(why) => job.refuse(model, why, None, None),
        NoAnswer::Rejected(rejected) => {
            let model = model.unwrap_or(job.common.model[0]);
            job.refuse_rejected(model, &rejected);
        }
    }
}

/// Says what was found under one model: text is returned, the rest goes to the answer.
fn tell(job: &mut Job<'_, Told>, source: &Source, parsed: &Parsed, found: &Found) -> String {
    let Parsed { program, names, .. } = parsed;
    let verdict = match (&found.pairs[..], &found.limit) {
        ([], None) => Verdict::Holds,
        ([], Some(limit)) => Verdict::Unknown(limit.clone()),
        _ => Verdict::Violated,
    };
    let seen = !job.common.shared.quiet || job.common.shared.format != OutputFormat::Text;
    let first = found.pairs.first().filter(|_| seen || job.common.shared.witness.is_some());
    let run = first.map(|(pair, _)| plainer_run(program, found.model, pair));
    let pair = |&(ref p, count): &(Overtaken, Option<u64>)| MonitorPair {
        store: p.store,
        access: p.access,
        previous: p.previous,
        count,
    };
    let pairs: Vec<MonitorPair> = found.pairs.iter().map(pair).collect();
    let answer = ProgramMonitorAnswer {
        file: &job.file,
        program,
        names,
        source: &source.text,
        model: found.model,
        verdict: &verdict,
        limit: found.limit.as_ref(),
        pairs: &pairs,
        run: run.as_ref(),
        monitored: found.monitored,
        time: found.time,
    };
    let mut details = String::new();
    match job.common.shared.format {
        OutputFormat::Text => {
            details = program_monitor_text(&answer, !job.common.shared.quiet, job.color_out());
        }
        OutputFormat::Json => job.answer.out += &(program_monitor_json(&answer) + "\n"),
        OutputFormat::Dot => {
            let dot = run.as_ref().map(|r| draw_dot(program, names, &source.text, found.model, r));
            job.answer.out += &dot.unwrap_or_default();
        }
    }
    job.answer.exit = job.answer.exit.max(Exit::of(&verdict));
    write_witness(job, source, found, &verdict, run.map(Evidence::Run));
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
    if job.common.shared.witness.is_none() {
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
    let question = std::mem::replace(&mut job.question, "robust");
    job.write_witness(source, found.model, verdict, evidence.as_ref());
    job.question = question;
}
