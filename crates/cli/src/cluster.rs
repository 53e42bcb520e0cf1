//! `weakspot cluster`, and questions that several processes answer together.

use anyhow::Result;
use weakspot_cluster::{Question, local};
use weakspot_core::{Limit, Limits, LostProcess, Model, Verdict};
use weakspot_explore::{NoAnswer, Team};
use weakspot_input::Source;
use weakspot_report::ProgramResult;

use crate::args::{Common, LocalArgs, ProcessArgs, VERSION};
use weakspot_jobs::exit::Exit;
use weakspot_jobs::interrupt;
use weakspot_jobs::pool::Answer;

/// Process 0 prints the answer for all. The others only say if they never met.
pub(crate) fn speak(common: &Common, answer: &mut Answer<ProgramResult>) {
    if common.processes.as_ref().is_none_or(|at| at.process == 0) {
        return;
    }
    answer.out.clear();
    for result in &answer.results {
        if let Some(Verdict::Unknown(Limit::Process { process, why: LostProcess::Absent })) =
            result.verdict
        {
            answer.err += &format!("error: process {process} did not come to the search\n");
        }
    }
}

/// Puts a question to all processes.
pub(crate) fn ask<T>(
    at: &ProcessArgs,
    (question, model): (&str, Model),
    source: &Source,
    limits: &Limits,
    ask: impl FnOnce(&dyn Team) -> Result<T, NoAnswer>,
) -> Result<T, NoAnswer> {
    let text = source.identity();
    let question = Question {
        version: VERSION,
        what: format!("{question} {model} {:?}", source.format),
        text: &text,
    };
    let files = (at.hosts.as_path(), at.token.as_path());
    weakspot_cluster::ask(files, at.process, &question, limits, interrupt::asked, ask)
}

/// Starts processes on this machine.
pub(crate) fn run(args: &LocalArgs) -> Result<Exit> {
    interrupt::watch();
    let command = std::env::current_exe()?;
    let ended = local(args.processes, &command, &args.question, interrupt::asked)?;
    for complaint in &ended.complaints {
        eprintln!("error: {complaint}");
    }
    Ok(Exit::of_code(ended.code))
}
