//! `weakspot reach`.

use std::time::{Duration, Instant};

use anyhow::Result;
use weakspot_core::certify::Shows;
use weakspot_core::{Certified, Evidence, Limits, Model, Program, Verdict};
use weakspot_explore::{Reach, reach, reach_kept, reach_together, reach_with_storage};
use weakspot_input::{CHECKED_ENDINGS, Input, Source, expand};
use weakspot_lang::{Format, Parsed};
use weakspot_report::{ProgramResult, ReachAnswer, Words, program_summary, program_summary_table};

use crate::args::{OutputFormat, ReachArgs};
use crate::cluster;
use weakspot_jobs::checkpoint;
use weakspot_jobs::exit::Exit;
use weakspot_jobs::job::{Job, summarise};
use weakspot_jobs::pool::{self, Answer, Listener};
use weakspot_jobs::reached::{asks_something, implied_by, is_about_all_runs, plainest};
use weakspot_jobs::{scratch::with_storage, sweep};

/// Answers each program under each model.
pub(crate) fn run(args: &ReachArgs) -> Result<Exit> {
    let common = &args.common;
    let inputs = expand(&args.files, (common.language, &common.options), &CHECKED_ENDINGS)?;
    pool::check(common, &inputs)?;
    let limits = pool::limits_among(common, &inputs);
    let (exit, results) =
        sweep::run(&inputs, &common.shared, |input| answer(input, args, &limits))?;
    let words = Words { noun: "program", holds: "holds", violated: "violated" };
    let text = || program_summary(&results, words);
    let table = |format| program_summary_table(format, &results, &common.model);
    summarise(&common.shared, inputs.len(), text, table);
    Ok(exit)
}

/// One file under all models.
fn answer(input: &Input, args: &ReachArgs, limits: &Limits) -> Answer<ProgramResult> {
    let mut job = Job::new(&args.common.shared, &args.common.model, "reach", input.name());
    if let Some((source, parsed)) = job.read(input) {
        if asks_something(&parsed.program) {
            let models = args.common.model.iter();
            let asked: Vec<_> = models
                .map(|&model| (model, ask_model(&mut job, &source, &parsed, model, args, limits)))
                .collect();
            for (model, found) in &asked {
                let verdict = found.as_ref().and_then(|found| {
                    let by = implied(&parsed.program, *model, found, &asked);
                    report(&mut job, &source, &parsed, (*model, found), by, limits)
                });
                job.answer.results.push(ProgramResult {
                    file: job.file.clone(),
                    name: parsed.names.program.clone(),
                    model: Some(*model),
                    verdict,
                });
            }
        } else {
            let message = match source.format {
                Format::C => "the program asks nothing: expected `assert` in some thread",
                Format::Weak => {
                    "the program asks nothing: expected `never at`, an assertion, or a condition on \
                     final states"
                }
                _ => "the program asks nothing: expected states that are forbidden",
            };
            job.refuse(None, message, None, None);
        }
    }
    cluster::speak(&args.common, &mut job.answer);
    if job.answer.results.is_empty() {
        let nothing = job.nothing();
        job.answer.results.extend(nothing);
    }
    job.answer
}

/// What was found under one model.
struct Asked {
    found: Certified<Reach>,
    time: Duration,
    listener: Listener,
}

/// The weaker model whose answer is one under this one, too, if that is not known otherwise.
fn implied<'a>(
    program: &Program,
    model: Model,
    asked: &Asked,
    all: &'a [(Model, Option<Asked>)],
) -> Option<(Model, &'a Asked)> {
    let others = || all.iter().filter_map(|(model, asked)| Some((*model, asked.as_ref()?)));
    let verdicts = others().map(|(model, asked)| (model, &asked.found.verdict));
    let by = implied_by(model, &asked.found.verdict, verdicts)?;
    others().find(|(other, _)| *other == by && is_about_all_runs(program))
}

/// What is found under one model, `None` if there is no answer.
fn ask_model(
    job: &mut Job<'_, ProgramResult>,
    source: &Source,
    parsed: &Parsed,
    model: Model,
    args: &ReachArgs,
    limits: &Limits,
) -> Option<Asked> {
    let Parsed { program, names, .. } = parsed;
    let start = Instant::now();
    let limits = &job.limits(limits);
    let mut listener = Listener::new();
    let found = match (&args.common.processes, args.common.shared.kept_search()) {
        (None, None) if let Some(storage) = &args.common.storage => {
            with_storage(storage, |storage| {
                reach_with_storage(program, storage, limits, &mut listener)
            })
        }
        (None, None) => reach(program, model, args.algorithm, limits, &mut listener),
        (None, Some(kept)) => {
            checkpoint::ask(job, kept, ("reach", model), source, limits, |keep| {
                reach_kept(program, model, keep, limits, &mut listener)
            })
        }
        (Some(at), kept) => cluster::ask(at, ("reach", model), source, limits, |team| match kept {
            Some(kept) => {
                checkpoint::ask_together(job, kept, ("reach", model), source, limits, |keep| {
                    reach_together(program, team, Some(keep), limits, &mut listener)
                })
            }
            None => reach_together(program, team, None, limits, &mut listener),
        }),
    };
    match found {
        Ok(found) => Some(Asked { found, time: start.elapsed(), listener }),
        Err(why) => {
            job.refuse_answer(Some(model), source, (program, names), why);
            None
        }
    }
}

/// Says what was found, and returns the verdict.
fn report(
    job: &mut Job<'_, ProgramResult>,
    source: &Source,
    parsed: &Parsed,
    (model, asked): (Model, &Asked),
    by: Option<(Model, &Asked)>,
    limits: &Limits,
) -> Option<Verdict> {
    let Parsed { program, names, .. } = parsed;
    let Asked { found, time, listener } = asked;
    // The evidence is that of the weaker model, and was checked there.
    let answers = by.map_or(found, |(_, by)| &by.found);
    let evidence = (answers.evidence.clone(), answers.certification());
    let shown = by.map_or(model, |(weaker, _)| weaker);
    let (evidence, certification) =
        match job.checkable((program, shown), Shows::Everything, limits, evidence) {
            Ok(checked) => checked,
            Err(why) => {
                job.refuse_answer(Some(model), source, (program, names), why);
                return None;
            }
        };
    let unseen = job.shared.format == OutputFormat::Text && job.shared.quiet;
    let run = match &answers.evidence {
        Some(Evidence::Run(run)) if unseen => Some(run.clone()),
        Some(Evidence::Run(run)) => Some(plainest(program, model, run, limits)),
        _ => None,
    };
    let answer = ReachAnswer {
        head: job.head(model, &answers.verdict, *time, certification),
        program,
        names,
        source: &source.text,
        violation: answers.violation.as_ref(),
        run: run.as_ref(),
        searched: found.states,
        algorithm: answers.algorithm,
        as_under: by.map(|(weaker, _)| weaker),
        course: listener.course(job.shared),
    };
    let written = job.written(&answer);
    job.say(&written, &answers.verdict);
    job.write_evidence("reach", source, model, &answers.verdict, evidence.as_ref());
    Some(answers.verdict.clone())
}
