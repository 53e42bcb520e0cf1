//! Programs with transactions.

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, bail};
use weakspot_core::serial::txn_run;
use weakspot_core::{Evidence, Limits, Model, Names, Program, Transactions, Verdict};
use weakspot_explore::{
    FencedProgram, NoAnswer, SerialBy, Serializable, fence_program, serializable,
};
use weakspot_input::{Input, Source};
use weakspot_lang::Parsed;
use weakspot_report::{AddedFences, ProgramResult, SERIAL_PROGRAM, SerialProgramAnswer};

use crate::args::{Common, SerialArgs};
use weakspot_jobs::exit::Exit;
use weakspot_jobs::job::Job;
use weakspot_jobs::pool::{self, Answer, Listener};
use weakspot_jobs::sweep;
use weakspot_jobs::transactions::mark;

/// Asks about the transactions of each program under each model.
pub(super) fn run(args: &SerialArgs, inputs: &[Input]) -> Result<Exit> {
    let asked = Asked::new(args, inputs)?;
    let (exit, results) = sweep::run(inputs, &args.shared, |input| asked.answer(input))?;
    super::sum_up(args, inputs.len(), &results, "program");
    Ok(exit)
}

/// What is asked about each program.
pub(super) struct Asked<'a> {
    args: &'a SerialArgs,
    common: Common,
    limits: Limits,
}

impl<'a> Asked<'a> {
    pub(super) fn new(args: &'a SerialArgs, inputs: &[Input]) -> Result<Asked<'a>> {
        let shared = &args.shared;
        if args.predict || args.literal {
            bail!(
                "--predict and --literal are about logs: of programs all schedules are asked about"
            );
        }
        pool::check_models(shared, inputs, &args.model)?;
        if shared.witness.is_some() && (args.fence_transactions || !args.transaction.is_empty()) {
            bail!(
                "a witness is about the program as it is written: expected no --fence-transactions \
                 and no --transaction"
            );
        }
        let common = args.of_programs();
        let limits = pool::limits_among(&common, inputs);
        Ok(Asked { args, common, limits })
    }

    pub(super) fn answer(&self, input: &Input) -> Answer<ProgramResult> {
        answer(input, self.args, &self.common, &self.limits)
    }
}

fn answer(
    input: &Input,
    args: &SerialArgs,
    common: &Common,
    limits: &Limits,
) -> Answer<ProgramResult> {
    let mut job = Job::new(&common.shared, &common.model, "serial", input.name());
    let Some((source, mut parsed)) = job.read(input) else {
        let is_txt = Path::new(&job.file).extension().is_some_and(|ending| ending == "txt");
        if is_txt && job.unread.is_none() && args.language.is_none() && !common.shared.quiet {
            let note =
                "`.txt` is read as a program of Trencher; for a log expected --input-format text";
            job.answer.err += &format!("note: {}: {note}\n", job.file);
        }
        let nothing = job.nothing();
        job.answer.results.extend(nothing);
        return job.answer;
    };
    if let Err(message) = mark(&mut parsed, &source, &args.transaction) {
        job.refuse(None, &message, None, None);
        job.answer.results.push(ProgramResult::error(&job.file, None));
        return job.answer;
    }
    if parsed.transactions.is_empty() && !common.shared.quiet {
        job.answer.err += &format!(
            "warning: {}: no transaction is marked, so that each access is one of its own; write \
             `transaction {{ ... }}`, or name lines with --transaction\n",
            job.file
        );
    }
    for &model in &args.model {
        let result = ask_model(&mut job, &source, &parsed, model, args, limits);
        job.answer.results.push(result);
    }
    job.answer
}

fn ask_model(
    job: &mut Job<'_, ProgramResult>,
    source: &Source,
    parsed: &Parsed,
    model: Model,
    args: &SerialArgs,
    limits: &Limits,
) -> ProgramResult {
    let start = Instant::now();
    let limits = &job.limits(limits);
    let Parsed { program, names, transactions, .. } = parsed;
    let ask = |program: &Program, transactions: &Transactions| {
        let asked = (model, args.buffered);
        serializable(program, transactions, asked, limits, &mut Listener::new())
    };
    let without = match ask(program, transactions) {
        Ok(found) => found,
        Err(why) => return refuse(job, source, (program, names), model, why),
    };
    let mut fenced = None;
    let mut found = without.clone();
    if args.fence_transactions && model == Model::Tso {
        let with = fence_program(program, transactions);
        found = match ask(&with.program, &with.transactions) {
            Ok(found) => found,
            Err(why) => return refuse(job, source, (&with.program, names), model, why),
        };
        fenced = Some(with);
    }
    let (program, transactions) = match &fenced {
        Some(FencedProgram { program, transactions, .. }) => (program, transactions),
        None => (program, transactions),
    };
    let fences = fenced.iter().flat_map(|with| &with.fences);
    let places: Vec<_> = fences.map(|f| (f.thread, f.before, f.ends)).collect();
    let schedule = match &found.evidence {
        Some(Evidence::Run(run)) => Some(run),
        _ => None,
    };
    let run = schedule.and_then(|run| txn_run(program, transactions, model, run).ok());
    let buffered = (model != Model::Sc).then_some(args.buffered);
    let answer = SerialProgramAnswer {
        head: job.head(model, &found.verdict, start.elapsed(), found.certification()),
        program,
        names,
        source: &source.text,
        run: match (schedule, &run, &found.cycle) {
            (Some(schedule), Some(run), Some(cycle)) => Some((schedule, run, cycle)),
            _ => None,
        },
        buffered,
        states: found.states,
        decided_by: match found.by {
            SerialBy::Search => "search",
            SerialBy::ScAndRobust => "sc-and-robust",
        },
        fenced: found.fenced,
        sc: found.sc.as_ref(),
        robust: found.robust.as_ref(),
        added: fenced.as_ref().map(|_| AddedFences { places: &places, before: &without.verdict }),
    };
    let written = job.written(&answer);
    job.say(&written, &found.verdict);
    let Serializable { verdict, evidence, .. } = found.into_answer();
    job.write_evidence_of(SERIAL_PROGRAM, source, (model, buffered), &verdict, evidence.as_ref());
    result(&job.file, names, model, verdict)
}

fn result(file: &str, names: &Names, model: Model, verdict: Verdict) -> ProgramResult {
    ProgramResult {
        file: file.to_owned(),
        name: names.program.clone(),
        model: Some(model),
        verdict: Some(verdict),
    }
}

fn refuse(
    job: &mut Job<'_, ProgramResult>,
    source: &Source,
    of: (&Program, &Names),
    model: Model,
    why: NoAnswer,
) -> ProgramResult {
    job.refuse_answer(Some(model), source, of, why);
    ProgramResult::error(&job.file, Some(model))
}
