//! `weakspot litmus --run`.

use std::time::Instant;

use anyhow::Result;
use weakspot_core::{Certification, Limit, Model};
use weakspot_cpu::{Asked, judge, runnable};
use weakspot_explore::{Strategy, outcomes};
use weakspot_input::{Input, Source};
use weakspot_lang::{Format, Parsed};
use weakspot_report::{ModelStates, OnCpuAnswer, failure_diagnostic};

use crate::args::LitmusArgs;
use weakspot_jobs::exit::Exit;
use weakspot_jobs::interrupt;
use weakspot_jobs::job::Job;
use weakspot_jobs::pool::{self, Answer, Listener};

/// Runs each test on this CPU, one after the other.
pub(crate) fn run(args: &LitmusArgs, inputs: &[Input], runs: u64) -> Result<Exit> {
    let (exit, _) = pool::run(inputs, &args.common.shared, |input| answer(input, args, runs))?;
    Ok(exit)
}

fn answer(input: &Input, args: &LitmusArgs, runs: u64) -> Answer<()> {
    let common = &args.common;
    // The CPU is judged by TSO, unless other models were asked for.
    let judged = common.model.iter().position(|&model| model == Model::Tso).unwrap_or(0);
    let model = &common.model[judged..=judged];
    let mut job = Job::new(&common.shared, model, "litmus", input.name());
    if let Some((source, parsed)) = job.read(input) {
        on_cpu(&mut job, args, &source, &parsed, (judged, runs));
    }
    job.answer
}

fn on_cpu(
    job: &mut Job<'_, ()>,
    args: &LitmusArgs,
    source: &Source,
    parsed: &Parsed,
    (judged, runs): (usize, u64),
) {
    let Parsed { program, names, .. } = parsed;
    if source.format != Format::Litmus {
        let message = "--run is for litmus tests: X86, X86_64 or C";
        return job.refuse(None, message, None, None);
    }
    let test = match runnable(&source.text, program) {
        Ok(test) => test,
        Err(diagnostic) => return job.refuse_at(None, source, &diagnostic),
    };
    let (mut models, mut stopped, mut certified) = (Vec::new(), None, Certification::NotChecked);
    for (i, &model) in args.common.model.iter().enumerate() {
        let limits = job.limits(&pool::limits(&args.common));
        let found = outcomes(program, model, Strategy::Auto, &limits, &mut Listener::new());
        let mut found = match found {
            Ok(found) => found,
            Err(failure) => {
                let diagnostic = failure_diagnostic(program, names, &failure);
                return job.refuse_at(Some(model), source, &diagnostic);
            }
        };
        match found.judge(program, model) {
            Ok(answer) if i == judged => certified = answer.certification(),
            Ok(_) => {}
            Err(rejected) => {
                return job.refuse_rejected(model, &model.to_string(), &rejected);
            }
        }
        let (states, complete) = (found.set.to_set(), found.stopped.is_none());
        if i == judged {
            stopped = found.stopped;
        }
        models.push(ModelStates { model, states, complete });
    }
    let start = Instant::now();
    let limits = pool::limits_of(&args.common.shared).since(start);
    let progress = |runs| pool::follow_runs(runs);
    let asked = Asked { runs, limits, stop: &interrupt::asked, progress: &progress };
    let seen = match weakspot_cpu::run(&test, &asked) {
        Ok(seen) => seen,
        Err(why) => return job.refuse(None, &why.to_string(), None, None),
    };
    let verdict = judge(&seen, &models[judged].states, stopped.as_ref());
    let head = job.head(models[judged].model, &verdict, start.elapsed(), certified);
    let limit: Option<&Limit> = seen.stopped.as_ref().or(stopped.as_ref());
    let head = weakspot_report::Head { limit, ..head };
    let (states, runs) = (&seen.states, seen.runs);
    let answer = OnCpuAnswer { head, program, names, seen: states, runs, models: &models };
    let written = job.written(&answer);
    job.say(&written, &verdict);
}
