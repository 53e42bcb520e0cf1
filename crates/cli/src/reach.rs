//! `weakspot reach`.

use std::time::Instant;

use anyhow::{Result, bail};
use weakspot_core::certify;
use weakspot_core::machine::{Machine, Schedule};
use weakspot_core::{Evidence, Instr, Model};
use weakspot_explore::{Algorithm, NoAnswer, Reach, reach};
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
        if !asks_something(&parsed) {
            let message = "the program asks nothing: expected `never at`, an assertion, or a \
                           condition on final states";
            job.refuse(None, message, None, None);
            return job.answer;
        }
        for &model in &args.common.model {
            ask_model(&mut job, &source, &parsed, model);
        }
    }
    job.answer
}

fn asks_something(parsed: &Parsed) -> bool {
    let points = parsed.program.threads.iter().flat_map(|t| &t.points);
    let mut edges = points.flat_map(|p| &p.edges);
    parsed.program.condition.is_some()
        || !parsed.program.forbidden.is_empty()
        || edges.any(|e| matches!(e.instr, Instr::Assert(_)))
}

fn ask_model(job: &mut Job<'_, ()>, source: &Source, parsed: &Parsed, model: Model) {
    let Parsed { program, names, .. } = parsed;
    let start = Instant::now();
    let limits = pool::limits(job.common);
    let found = match reach(program, model, Algorithm::Auto, &limits, &mut Listener::new()) {
        Ok(found) => found,
        Err(NoAnswer::Fault(failure)) => {
            let diagnostic = failure_diagnostic(program, names, &failure);
            return job.refuse_at(Some(model), source, &diagnostic);
        }
        Err(NoAnswer::NotApplicable(why)) => return job.refuse(Some(model), why, None, None),
        Err(NoAnswer::Rejected(rejected)) => {
            let message = format!(
                "the answer under {model} did not pass its own check ({rejected}); this is a \
                 defect of weakspot, please report it with the input"
            );
            return job.refuse(Some(model), &message, None, None);
        }
    };
    let run = match &found.evidence {
        Some(Evidence::Run(run)) => Some(plainest(job, parsed, model, run)),
        _ => None,
    };
    let run = run.as_ref();
    let answer = ReachAnswer {
        file: &job.file,
        program,
        names,
        source: &source.text,
        model,
        verdict: &found.verdict,
        violation: found.violation.as_ref(),
        run,
        searched: found.states,
        time: start.elapsed(),
    };
    let color = job.color_out();
    let text = match job.common.format {
        OutputFormat::Text => {
            let run = run.filter(|_| !job.common.quiet);
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

/// A violation that SC has, too, is explained best without delays.
fn plainest(job: &Job<'_, ()>, parsed: &Parsed, model: Model, run: &Schedule) -> Schedule {
    let program = &parsed.program;
    if model == Model::Sc {
        return run.clone();
    }
    let limits = pool::limits(job.common);
    match reach(program, Model::Sc, Algorithm::Auto, &limits, &mut Listener::new()) {
        Ok(Reach { evidence: Some(Evidence::Run(sc)), .. }) => {
            // An assertion fails in the last step, which then has no state behind it.
            let (steps, last) = match certify::replay(Machine { program, model: Model::Sc }, &sc) {
                Ok(_) => (sc.steps.clone(), None),
                Err(_) => (sc.steps[..sc.steps.len() - 1].to_vec(), sc.steps.last().copied()),
            };
            let plain =
                Schedule { init: sc.init.clone(), steps }.committing_at_once(program, model);
            plain.map_or(run.clone(), |mut plain| {
                plain.steps.extend(last);
                plain
            })
        }
        _ => run.clone(),
    }
}
