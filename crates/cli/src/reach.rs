//! `weakspot reach`.

use std::time::Instant;

use anyhow::{Result, bail};
use weakspot_core::{Evidence, Model};
use weakspot_explore::{NoAnswer, Strategy, reach};
use weakspot_lang::Parsed;
use weakspot_report::{
    ReachAnswer, draw_dot, draw_run, failure_diagnostic, reach_json, reach_text,
};

use crate::args::{OutputFormat, ReachArgs};
use crate::exit::Exit;
use crate::input::{Input, Source, expand};
use crate::job::Job;
use crate::pool::{self, Answer, Listener};

/// Answers each program under each model.
pub(crate) fn run(args: &ReachArgs) -> Result<Exit> {
    let common = &args.common;
    let endings = ["weak", "litmus", "txt", "tso", "rmm"];
    let inputs = expand(&args.files, common.input_format.map(Into::into), &endings)?;
    if common.witness.is_some() && (inputs.len() > 1 || common.model.len() > 1) {
        bail!("--witness takes one file and one model, as in --model tso");
    }
    let (exit, _) = pool::run(&inputs, common, |input| answer(input, args))?;
    Ok(exit)
}

/// One file under all models.
fn answer(input: &Input, args: &ReachArgs) -> Answer<()> {
    let mut job = Job::new(&args.common, "reach", input);
    if let Some((source, parsed)) = job.read(input) {
        for &model in &args.common.model {
            ask_model(&mut job, &source, &parsed, model);
        }
    }
    job.answer
}

fn ask_model(job: &mut Job<'_, ()>, source: &Source, parsed: &Parsed, model: Model) {
    let Parsed { program, names, .. } = parsed;
    let start = Instant::now();
    let limits = pool::limits(job.common);
    let found = match reach(program, model, Strategy::Auto, &limits, &mut Listener::new()) {
        Ok(found) => found,
        Err(NoAnswer::Fault(failure)) => {
            let diagnostic = failure_diagnostic(program, names, &failure);
            return job.refuse_at(Some(model), source, &diagnostic);
        }
        Err(NoAnswer::Rejected(rejected)) => {
            let message = format!(
                "the answer under {model} did not pass its own check ({rejected}); this is a \
                 defect of weakspot, please report it with the input"
            );
            return job.refuse(Some(model), &message, None, None);
        }
    };
    let run = match &found.evidence {
        Some(Evidence::Run(run)) => Some(run),
        _ => None,
    };
    let answer = ReachAnswer {
        file: &job.file,
        program,
        names,
        source: &source.text,
        model,
        verdict: &found.verdict,
        assertion: found.assertion.as_ref(),
        run,
        searched: found.states,
        time: start.elapsed(),
    };
    let color = job.color_out();
    let text = match job.common.format {
        OutputFormat::Text => {
            let drawing = run.map(|r| draw_run(program, names, &source.text, model, r, color));
            reach_text(&answer) + &drawing.map_or(String::new(), |d| d + "\n")
        }
        OutputFormat::Json => reach_json(&answer) + "\n",
        OutputFormat::Dot => {
            run.map_or(String::new(), |run| draw_dot(program, names, &source.text, model, run))
        }
    };
    job.answer.out += &text;
    job.answer.exit = job.answer.exit.max(Exit::of(&found.verdict));
    job.write_witness(source, model, &found.verdict, found.evidence.as_ref());
}
