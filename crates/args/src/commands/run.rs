//! `weakspot run`.

use std::ffi::OsString;

use clap::Args;

use crate::explore::{
    EXPLORING_THREADS, Explore, NO_BUFFER_LIMIT, NO_TEXT, RunArgs, RunStrategy, alone,
};
use crate::list::{Lacks, Means, Usage};
use crate::meant::{self, refuse};
use crate::refused;
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
    mut_arg("threads", |a| a.help(EXPLORING_THREADS))
)]
pub(crate) struct Run {
    /// The program, compiled by `weakspot cc` or `weakspot c++`, and its arguments.
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    command: Vec<OsString>,
    #[command(flatten)]
    witness: typed::Witness,
    #[command(flatten)]
    checkpoint: typed::Checkpoint,
    #[command(flatten)]
    explore: Explore,
}

#[derive(Debug)]
pub struct RunProgramArgs {
    pub command: Vec<OsString>,
    /// An argument of the program that looks as if it were for `weakspot run`.
    pub doubtful: Option<String>,
    pub run: RunArgs,
}

impl Means<RunProgramArgs> for Run {
    const LACKS: Lacks = &[NO_TEXT, NO_BUFFER_LIMIT];

    fn meant(self) -> Result<RunProgramArgs, Usage> {
        let Run { command, witness, checkpoint, explore } = self;
        let first = command.first().map(|word| word.to_string_lossy());
        if let Some(option) = first.filter(|word| word.starts_with('-')) {
            return Err(Usage(format!(
                "there is no option {option}; `weakspot run --help` lists them"
            )));
        }
        let mut run = alone(explore, witness)?;
        let kept = meant::kept(checkpoint, None)?;
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

    fn refusing(syntax: clap::Command) -> clap::Command {
        // Its --output is --program-output, which has no letter.
        let why = "answers go to standard output, their evidence to --witness FILE; --program-output says what is \
                   shown of the program's output";
        refused::add_letter(refused::add(syntax, Self::LACKS), 'o', why)
    }
}
