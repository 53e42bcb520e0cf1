//! `weakspot reach`.

use std::time::Instant;

use anyhow::Result;
use weakspot_core::certify::Shows;
use weakspot_core::{Evidence, Limits, Model, Verdict};
use weakspot_explore::{reach, reach_kept, reach_together};
use weakspot_input::{CHECKED_ENDINGS, Input, Source, expand};
use weakspot_lang::{Format, Parsed};
use weakspot_report::{ProgramResult, ReachAnswer, Words, program_summary, program_summary_table};

use crate::args::{OutputFormat, ReachArgs};
use crate::cluster;
use weakspot_jobs::checkpoint;
use weakspot_jobs::exit::Exit;
use weakspot_jobs::job::{Job, summarise};
use weakspot_jobs::pool::{self, Answer, Listener};
use weakspot_jobs::reached::{asks_something, plainest};
use weakspot_jobs::sweep;

/// Answers each program under each model.
pub(crate) fn run(args: &ReachArgs) -> Result<Exit> {
    let common = &args.common;
    let inputs = expand(&args.files, (common.language, &common.options), &CHECKED_ENDINGS)?;
    pool::check(common, &inputs)?;
    let limits = Limits { workers: pool::workers(common, inputs.len()), ..pool::limits(common) };
    let (exit, results) =
        sweep::run(&inputs, &common.shared, |input| answer(input, args, &limits))?;
    let words = Words { noun: "program", holds: "holds", violated: "violated" };
    let text = || program_summary(&results, words);
    summarise(&common.shared, inputs.len(), text, |format| {
        program_summary_table(format, &results, &common.model)
    });
    Ok(exit)
}

/// One file under all models.
fn answer(input: &Input, args: &ReachArgs, limits: &Limits) -> Answer<ProgramResult> {
    let mut job = Job::new(&args.common.shared, &args.common.model, "reach", input.name());
    if let Some((source, parsed)) = job.read(input) {
        if asks_something(&parsed.program) {
            for &model in &args.common.model {
                let verdict = ask_model(&mut job, &source, &parsed, model, args, limits);
                job.answer.results.push(ProgramResult {
                    file: job.file.clone(),
                    name: parsed.names.program.clone(),
                    model: Some(model),
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

/// The verdict under one model, `None` if there is none.
fn ask_model(
    job: &mut Job<'_, ProgramResult>,
    source: &Source,
    parsed: &Parsed,
    model: Model,
    args: &ReachArgs,
    limits: &Limits,
) -> Option<Verdict> {
    let Parsed { program, names, .. } = parsed;
    let start = Instant::now();
    let limits = &job.limits(limits);
    let listener = &mut Listener::new();
    let found = match (&args.common.processes, args.common.shared.kept_search()) {
        (None, None) => reach(program, model, args.algorithm, limits, listener),
        (None, Some(kept)) => {
            checkpoint::ask(job, kept, ("reach", model), source, limits, |keep| {
                reach_kept(program, model, keep, limits, listener)
            })
        }
        (Some(at), _) => cluster::ask(at, ("reach", model), source, limits, |team| {
            reach_together(program, team, limits, listener)
        }),
    };
    let found = match found {
        Ok(found) => found,
        Err(why) => {
            job.refuse_answer(Some(model), source, (program, names), why);
            return None;
        }
    };
    let time = start.elapsed();
    let evidence = (found.evidence.clone(), found.certification());
    let (evidence, certification) =
        match job.checkable((program, model), Shows::Everything, limits, evidence) {
            Ok(checked) => checked,
            Err(why) => {
                job.refuse_answer(Some(model), source, (program, names), why);
                return None;
            }
        };
    let unseen = job.shared.format == OutputFormat::Text && job.shared.quiet;
    let run = match &found.evidence {
        Some(Evidence::Run(run)) if unseen => Some(run.clone()),
        Some(Evidence::Run(run)) => Some(plainest(program, model, run, limits)),
        _ => None,
    };
    let answer = ReachAnswer {
        head: job.head(model, &found.verdict, time, certification),
        program,
        names,
        source: &source.text,
        violation: found.violation.as_ref(),
        run: run.as_ref(),
        searched: found.states,
        algorithm: found.algorithm,
        course: listener.course(job.shared),
    };
    let written = job.written(&answer);
    job.say(&written, &found.verdict);
    job.write_evidence("reach", source, model, &found.verdict, evidence.as_ref());
    Some(found.verdict.clone())
}
