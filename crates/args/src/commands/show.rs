//! `weakspot show`.

use std::path::PathBuf;

use clap::Args;
use weakspot_lang::COptions;

use crate::list::{Lacks, Means, Usage};
use crate::meant::{self, refuse};
use crate::refused::{ABOUT_OUTPUT, ABOUT_QUESTIONS, NO_SEARCH};
use crate::typed;

/// Step through a run, in a terminal.
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot reach --model tso --witness p.json corpus/programs/peterson.weak
  weakspot show corpus/programs/peterson.weak p.json
  weakspot robust --format json corpus/programs/peterson.weak | weakspot show -
  weakspot show --replay 1 ./program",
    after_help = "\
Keys: n and p, or arrows, go to the next step and the one before; Home and End
to the first and the last; l to the next late store, m to where it reaches
memory; q ends. Elsewhere than in a terminal all steps are printed. Exit code:
0, or 2 if there is no run."
)]
pub(crate) struct Show {
    /// Answers of --format json, `-` for standard input, of which the first run is shown; or an
    /// input and its witness of --witness; or with --replay a program with its arguments.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Execute a schedule that `weakspot run` has found once more: its number, or the schedule.
    #[arg(long, value_name = "SCHEDULE")]
    replay: Option<String>,
    /// With --replay of a schedule that is no number: tso or pso, if it has been found so.
    #[arg(long, value_name = "MODEL")]
    under: Option<String>,
    #[command(flatten)]
    in_c: typed::InC,
    /// Draw with ASCII only, as where the locale is not UTF-8.
    #[arg(long)]
    ascii: bool,
}

/// What to step through.
#[derive(Debug)]
pub struct ShowArgs {
    pub showing: Showing,
    /// Whether the screen is ASCII only, whatever the locale.
    pub ascii: bool,
}

/// Where a run comes from.
#[derive(Debug)]
pub enum Showing {
    /// From answers in JSON.
    Answers(PathBuf),
    /// From the witness of an answer about a program.
    Witness { input: PathBuf, witness: PathBuf, options: COptions },
    /// From an execution of a program, which has its arguments behind it.
    Replay { schedule: String, under: Option<String>, program: Vec<PathBuf> },
}

const ONE_RUN: &str = "it shows one run, in a terminal or as text, and nothing else";

impl Means<ShowArgs> for Show {
    const LACKS: Lacks = &[
        NO_SEARCH,
        (ABOUT_QUESTIONS, "it asks nothing: it shows what was answered"),
        ("format", ONE_RUN),
        (ABOUT_OUTPUT, ONE_RUN),
    ];

    fn meant(self) -> Result<ShowArgs, Usage> {
        let Show { mut files, replay, under, in_c, ascii } = self;
        refuse(&[("--under", under.is_some() && replay.is_none())], "is for --replay SCHEDULE")?;
        let showing = match (replay, files.len()) {
            (Some(schedule), _) => Showing::Replay { schedule, under, program: files },
            (None, 1) => Showing::Answers(files.remove(0)),
            (None, 2) => {
                let (input, witness) = (files.remove(0), files.remove(0));
                Showing::Witness { input, witness, options: meant::in_c(in_c)? }
            }
            (None, _) => {
                let expected = "expected answers in JSON, or an input and its witness";
                return Err(Usage(format!("too many files: {expected}")));
            }
        };
        Ok(ShowArgs { showing, ascii })
    }
}
