//! `weakspot run`.

use std::ffi::OsString;

use clap::Args;

use crate::explore::{Explore, RunArgs, RunStrategy, add_witness, alone};
use crate::meant::{CheckpointArgs, Usage, file, refuse};
use crate::typed;
use crate::values::explored;

/// What do TSO and PSO do to a compiled program, on which lines, and which fence fixes it?
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot cc -O1 -pthread -o dekker corpus/c/dekker.c && weakspot run ./dekker
  weakspot run --model tso --strategy bounded --preemptions 2 ./dekker
  weakspot run --fences ./dekker | patch -p0",
    after_help = "\
The program is executed again and again with another schedule, its threads one
at a time. Each execution is watched by monitors that report where TSO or PSO
would let an access overtake a store; failed assertions, crashes and deadlocks
are reported, too. Holds only if all executions were explored, up to the order
of steps that do not conflict. What the program reads from the outside (files,
time, random numbers) should not change.",
    mut_arg("format", |a| a.value_parser(explored())),
    mut_arg("threads", |a| a.help(
        "Copies of the program that explore it in parallel; by default one per processor. The answer is the same"
    ))
)]
pub(crate) struct Run {
    /// The program, compiled by `weakspot cc` or `weakspot c++`, and its arguments.
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    pub(crate) command: Vec<OsString>,
    #[command(flatten)]
    pub(crate) witness: typed::Witness,
    #[command(flatten)]
    pub(crate) checkpoint: typed::Checkpoint,
    #[command(flatten)]
    pub(crate) explore: Explore,
    #[command(flatten)]
    pub(crate) threads: typed::Threads,
}

#[derive(Debug)]
pub struct RunProgramArgs {
    pub command: Vec<OsString>,
    /// An argument of the program that looks as if it were for `weakspot run`.
    pub doubtful: Option<String>,
    pub run: RunArgs,
}

pub(super) fn run(typed: Run) -> Result<RunProgramArgs, Usage> {
    let Run { command, witness, checkpoint, explore, threads } = typed;
    let first = command.first().map(|word| word.to_string_lossy());
    if let Some(option) = first.filter(|word| word.starts_with('-')) {
        return Err(Usage(format!(
            "there is no option {option}; `weakspot run --help` lists them"
        )));
    }
    let mut run = alone(explore, &threads)?;
    add_witness(&mut run, witness)?;
    let kept = checkpoint_of_run(checkpoint)?;
    if kept.is_some() {
        let alone = [
            ("--replay", run.replay.is_some()),
            ("--fail-fast", run.first),
            ("--strategy rf", run.strategy == RunStrategy::Rf),
        ];
        refuse(
            &alone,
            "is not explored in parts, and only these are kept: leave out --checkpoint",
        )?;
    }
    run.shared.checkpoint = kept;
    Ok(RunProgramArgs { command, doubtful: None, run })
}

/// The same for the exploration of a real program.
fn checkpoint_of_run(typed: typed::Checkpoint) -> Result<Option<CheckpointArgs>, Usage> {
    let typed::Checkpoint { checkpoint, resume } = typed;
    if checkpoint.is_none() && resume.is_none() {
        return Ok(None);
    }
    let (write, resume) = (file("--checkpoint", checkpoint)?, file("--resume", resume)?);
    Ok(Some(CheckpointArgs { write, resume, answers: None }))
}
