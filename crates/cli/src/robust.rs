//! `weakspot robust`.

use std::time::Instant;

use anyhow::Result;
use weakspot_core::certify::Shows;
use weakspot_core::{Evidence, Limits, Model};
use weakspot_explore::{
    Decide, Robust, TriangularRaceFree, robust, robust_kept, robust_together, robust_with_storage,
    triangular_race_free,
};
use weakspot_input::{CHECKED_ENDINGS, Input, Source, expand};
use weakspot_lang::Parsed;
use weakspot_report::{
    ProgramResult, RaceAnswer, RobustAnswer, Words, program_summary, program_summary_table,
};

use crate::args::{RobustAlgorithm, RobustArgs};
use crate::cluster;
use weakspot_jobs::checkpoint;
use weakspot_jobs::exit::Exit;
use weakspot_jobs::job::{Job, summarise};
use weakspot_jobs::pool::{self, Answer, Listener};
use weakspot_jobs::{scratch::with_storage, sweep};

/// Answers each program under each model.
pub(crate) fn run(args: &RobustArgs) -> Result<Exit> {
    let common = &args.common;
    let inputs = expand(&args.files, (common.language, &common.options), &CHECKED_ENDINGS)?;
    pool::check(common, &inputs)?;
    let limits = pool::limits_among(common, &inputs);
    let (exit, results) =
        sweep::run(&inputs, &common.shared, |input| answer(input, args, &limits))?;
    let words = match args.trf {
        false => Words { noun: "program", holds: "robust", violated: "not robust" },
        true => Words { noun: "program", holds: "race free", violated: "race" },
    };
    let text = || program_summary(&results, words);
    let table = |format| program_summary_table(format, &results, &common.model);
    summarise(&common.shared, inputs.len(), text, table);
    Ok(exit)
}

/// One file under all models.
fn answer(input: &Input, args: &RobustArgs, limits: &Limits) -> Answer<ProgramResult> {
    let mut job = Job::new(&args.common.shared, &args.common.model, "robust", input.name());
    match job.read(input) {
        Some((source, parsed)) => {
            for &model in &args.common.model {
                let result = ask_model(&mut job, &source, &parsed, model, args, limits);
                job.answer.results.push(result);
            }
        }
        None => {
            let nothing = job.nothing();
            job.answer.results.extend(nothing);
        }
    }
    cluster::speak(&args.common, &mut job.answer);
    job.answer
}

fn ask_model(
    job: &mut Job<'_, ProgramResult>,
    source: &Source,
    parsed: &Parsed,
    model: Model,
    args: &RobustArgs,
    limits: &Limits,
) -> ProgramResult {
    let Parsed { program, names, .. } = parsed;
    let start = Instant::now();
    let (decide, word) = match args.algorithm {
        RobustAlgorithm::Pending => (Decide::Pending, "pending"),
        RobustAlgorithm::Attack => (Decide::Attack, "attack"),
    };
    let limits = &job.limits(limits);
    let mut race = None;
    let listener = &mut Listener::new();
    let asked = match args.trf {
        false => match (&args.common.processes, args.common.shared.kept_search()) {
            (None, None) if let Some(storage) = &args.common.storage => {
                with_storage(storage, |storage| {
                    robust_with_storage(program, model, storage, limits, listener)
                })
            }
            (None, None) => robust(program, model, decide, limits, listener),
            (None, Some(at)) => {
                checkpoint::ask(job, at, ("robust", model), source, limits, |keep| {
                    robust_kept(program, model, keep, limits, listener)
                })
            }
            (Some(at), kept) => {
                cluster::ask(at, ("robust", model), source, limits, |team| match kept {
                    Some(kept) => checkpoint::ask_together(
                        job,
                        kept,
                        ("robust", model),
                        source,
                        limits,
                        |keep| robust_together(program, model, team, Some(keep), limits, listener),
                    ),
                    None => robust_together(program, model, team, None, limits, listener),
                })
            }
        }
        .map(|found| (found.certification(), found.into_answer())),
        true => triangular_race_free(program, limits, listener).map(|found| {
            race = found.race;
            let certification = found.certification();
            let TriangularRaceFree { verdict, evidence, states, .. } = found.into_answer();
            (certification, Robust { verdict, evidence, reordered: None, states, queries: 1 })
        }),
    };
    let (certification, found) = match asked {
        Ok(found) => found,
        Err(why) => {
            job.refuse_answer(Some(model), source, (program, names), why);
            return ProgramResult::error(&job.file, Some(model));
        }
    };
    let time = start.elapsed();
    let evidence = (found.evidence, certification);
    let (evidence, certification) =
        match job.checkable((program, model), Shows::Robust, limits, evidence) {
            Ok(checked) => checked,
            Err(why) => {
                job.refuse_answer(Some(model), source, (program, names), why);
                return ProgramResult::error(&job.file, Some(model));
            }
        };
    let run = match &evidence {
        Some(Evidence::Run(run)) => Some(run),
        _ => None,
    };
    let answer = RobustAnswer {
        head: job.head(model, &found.verdict, time, certification),
        program,
        names,
        source: &source.text,
        run,
        states: found.states,
        queries: found.queries,
        algorithm: if args.trf { "trf" } else { word },
        course: listener.course(job.shared),
    };
    let written = match args.trf {
        true => job.written(&RaceAnswer { robust: answer, race }),
        false => job.written(&answer),
    };
    job.say(&written, &found.verdict);
    job.write_evidence("robust", source, model, &found.verdict, evidence.as_ref());
    ProgramResult {
        file: job.file.clone(),
        name: names.program.clone(),
        model: Some(model),
        verdict: Some(found.verdict),
    }
}
