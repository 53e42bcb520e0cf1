//! `weakspot reach`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use weakspot_core::Model;
use weakspot_explore::{Algorithm, Strategy};

use crate::list::{Lacks, Means, Usage};
use crate::meant::processes::Several;
use crate::meant::{self, Common, PSO, TSO, processes, refuse};
use crate::refused::{ANSWERS_GO_OUT, EVERY_QUESTION_IS_ANSWERED};
use crate::typed;

/// Does everything hold that a program asks: control points, assertions, final states?
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot reach --model tso corpus/programs/peterson.weak
  weakspot reach corpus/programs/*.weak",
    after_help = "\
Holds if the control points that the program forbids are never reached together,
no assertion fails, and the final states satisfy the condition. A violation is
drawn as a run; -q leaves the drawing out.

With --checkpoint, a search that was interrupted, killed or ended at a limit
goes on with --resume: same verdict, same counts, with any number of threads
and processes.
It takes one model, and asks the states themselves (--algorithm eager). Of
several files the answers are kept.",
    mut_arg("threads", |a| a.help(typed::SEARCHING_THREADS))
)]
pub(crate) struct Reach {
    /// Programs: .weak, .litmus, a part of C (.c), Trencher's .txt or .tso, Memorax's .rmm; or folders of them.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// How to decide; all give the same answers, but not all give one for every program [default: auto].
    #[arg(long, value_name = "ALGORITHM")]
    algorithm: Option<ReachAlgorithm>,
    #[command(flatten)]
    storage: typed::Storage,
    #[command(flatten)]
    processes: typed::Processes,
    #[command(flatten)]
    checkpoint: typed::Checkpoint,
    #[command(flatten)]
    witness: typed::Witness,
    #[command(flatten)]
    buffers: typed::Buffers,
    #[command(flatten)]
    in_c: typed::InC,
    #[command(flatten)]
    common: typed::Common,
}

/// How a program's questions are decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReachAlgorithm {
    /// Several side by side, the first answer counts.
    Auto,
    /// Explore the store buffers themselves; ends if they are bounded.
    Eager,
    /// Ask about SC only, and add delays where they matter; TSO and PSO.
    Lazy,
    /// The same with loops unrolled; TSO and PSO.
    Unroll,
    /// The complete procedure for finite data; TSO and PSO.
    Dual,
    /// Of counters that grow for ever, only their order and small differences.
    Counters,
}

#[derive(Debug)]
pub struct ReachArgs {
    pub files: Vec<PathBuf>,
    pub algorithm: Algorithm,
    pub common: Common,
}

impl Means<ReachArgs> for Reach {
    const LACKS: Lacks = &[ANSWERS_GO_OUT, EVERY_QUESTION_IS_ANSWERED];

    fn meant(mut self) -> Result<ReachArgs, Usage> {
        let processes = std::mem::take(&mut self.processes);
        let kept = std::mem::take(&mut self.checkpoint);
        let question = meant::asked(&mut self, |typed| &mut typed.common.threads);
        let kept = meant::checkpoint(kept, &self.files, &processes, question)?;
        let several = processes::several(processes, &self.files, &self)?;
        let Reach { files, algorithm, storage, witness, buffers, in_c, common, .. } = self;
        let algorithm = algorithm.unwrap_or(ReachAlgorithm::Auto);
        let no_buffers = matches!(
            algorithm,
            ReachAlgorithm::Lazy | ReachAlgorithm::Unroll | ReachAlgorithm::Dual
        );
        let models = if no_buffers { &[TSO][..] } else { &[Model::Sc, TSO, PSO] };
        let is_stored_otherwise = storage.is_typed();
        let sc_only = matches!(several, Several::Together(_)) || is_stored_otherwise;
        let models = if sc_only { &[Model::Sc] } else { models };
        let mut common = meant::common(common, models, Some(&buffers), Some(witness))?;
        common.options = meant::in_c(in_c)?;
        if kept.as_ref().is_some_and(|kept| kept.answers.is_none()) {
            if common.model.len() != 1 {
                return Err(meant::one_model());
            }
            if !matches!(algorithm, ReachAlgorithm::Auto | ReachAlgorithm::Eager) {
                return Err(Usage(
                    "of one file only the search of its states can be kept: --checkpoint and --resume expect \
                     --algorithm eager, or none"
                        .to_owned(),
                ));
            }
        }
        common.shared.checkpoint = kept;
        if matches!(several, Several::Together(_))
            && (common.model != [Model::Sc] || algorithm != ReachAlgorithm::Auto)
        {
            return Err(Usage(
                    "one file for --hosts is for `reach --model sc` and for `robust`: store buffers and \
                     other algorithms take one process"
                        .to_owned(),
                ));
        }
        let common = several.add_to(common);
        if is_stored_otherwise && (common.model != [Model::Sc] || algorithm != ReachAlgorithm::Auto)
        {
            return Err(Usage(
                "--hash-compact and --disk are for `reach --model sc` and for `robust`: store buffers and other \
                 algorithms keep their states as they are"
                    .to_owned(),
            ));
        }
        let common = Common { storage: meant::storage(storage, &common)?, ..common };
        if no_buffers && common.model.contains(&Model::Sc) {
            return Err(Usage(
                "--algorithm lazy, unroll and dual answer for TSO and PSO only: expected --model tso \
                 or pso"
                    .to_owned(),
            ));
        }
        let buffer_limit = [("--buffer-limit", buffers.buffer_limit.is_some() && no_buffers)];
        refuse(
            &buffer_limit,
            "is for --algorithm auto, eager and counters: the others explore no buffers",
        )?;
        let algorithm = match algorithm {
            ReachAlgorithm::Auto => Algorithm::Auto,
            ReachAlgorithm::Eager => Algorithm::Eager(Strategy::Auto),
            ReachAlgorithm::Lazy => Algorithm::Lazy,
            ReachAlgorithm::Unroll => Algorithm::Unroll,
            ReachAlgorithm::Dual => Algorithm::Dual,
            ReachAlgorithm::Counters => Algorithm::Counters,
        };
        Ok(ReachArgs { files, algorithm, common })
    }
}
