//! `weakspot fence`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use weakspot_core::Model;

use crate::list::{Lacks, Means, Usage};
use crate::meant::{self, Common, TSO, file, refuse, refuse_csv};
use crate::refused::{ABOUT_KEEPING, EVERY_QUESTION_IS_ANSWERED};
use crate::typed;
use crate::values::{Cost, cost, plain};

/// Which fences make a program robust, or safe, at the least cost?
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot fence corpus/programs/dekker.weak
  weakspot fence --goal safe -m pso -o fenced.weak corpus/programs/dekker.weak
  weakspot fence --model pso --cost full=5,ss=1 corpus/litmus/MP.litmus",
    after_help = "\
Prints where fences go and what changes in the text. The fences are optimal
(none fewer, none cheaper do) unless a limit was reached, which is then said. A
fence may go between any two statements. Exit code 0: no fence is needed; 1:
fences are needed, or none help.",
    mut_arg("format", |a| a.value_parser(plain())),
    mut_arg("model", |a| a.help(
        "Memory models: tso, pso; pso-own is PSO where an atomic update drains only its own address \
[default: tso]"
    )),
    mut_arg("buffer_limit", |a| a.help(
        "With --goal safe: entries (stores, store-store fences) that a buffer may hold at most in a \
thread that stores in a loop [default: 1024]"
    )),
    mut_arg("threads", |a| a.help(typed::SEARCHING_THREADS))
)]
pub(crate) struct Fence {
    /// Programs: .weak, .litmus, a part of C (.c), Trencher's .txt or .tso, Memorax's .rmm; or folders of them.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// What the fences are for [default: robust].
    #[arg(long, value_name = "GOAL")]
    goal: Option<FenceGoal>,
    /// What fences cost: full ones, and store-store ones (`ss`, PSO only) [default: full=1,ss=1].
    #[arg(long, value_name = "full=N,ss=N", value_parser = cost)]
    cost: Option<Cost>,
    /// Write the program with the fences to this file (one input, one model).
    #[arg(long, short, alias = "patch", value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    witness: typed::Witness,
    #[command(flatten)]
    buffers: typed::Buffers,
    #[command(flatten)]
    in_c: typed::InC,
    #[command(flatten)]
    common: typed::Common,
}

/// What fences are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FenceGoal {
    /// Nothing happens that SC does not do as well.
    Robust,
    /// What the program forbids does not happen.
    Safe,
}

#[derive(Debug)]
pub struct FenceArgs {
    pub files: Vec<PathBuf>,
    pub goal: FenceGoal,
    pub cost: Cost,
    /// Where the program with the fences goes.
    pub output: Option<PathBuf>,
    pub common: Common,
}

impl Means<FenceArgs> for Fence {
    const LACKS: Lacks = &[
        (
            ABOUT_KEEPING,
            "it asks many short questions: `reach`, `robust`, `litmus`, `run` and answers about several files can \
         be kept",
        ),
        EVERY_QUESTION_IS_ANSWERED,
    ];

    fn meant(self) -> Result<FenceArgs, Usage> {
        let Fence { files, goal, cost, output, witness, buffers, in_c, common } = self;
        let goal = goal.unwrap_or(FenceGoal::Robust);
        let mut common = meant::common(common, &[TSO], Some(&buffers), Some(witness))?;
        common.options = meant::in_c(in_c)?;
        if common.model.contains(&Model::Sc) {
            return Err(Usage(
                "SC needs no fences; expected --model tso, pso or pso-own".to_owned(),
            ));
        }
        refuse_csv(&common.shared)?;
        if common.shared.format.is_picture() {
            return Err(Usage(
                "fences are no graph; expected --format text, json, sarif, github or junit"
                    .to_owned(),
            ));
        }
        let buffer_limit = buffers.buffer_limit.is_some() && goal == FenceGoal::Robust;
        refuse(
            &[("--buffer-limit", buffer_limit)],
            "is for --goal safe: robustness is decided without buffers",
        )?;
        if output.is_some() && common.model.len() > 1 {
            return Err(Usage("--output takes one file and one model".to_owned()));
        }
        let output = file("--output", output)?;
        let cost = cost.unwrap_or(Cost { full: 1, store_store: 1 });
        Ok(FenceArgs { files, goal, cost, output, common })
    }
}
