//! `weakspot robust`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use weakspot_core::Model;

use crate::list::{Lacks, Means, Usage};
use crate::meant::processes::Several;
use crate::meant::{self, Common, PSO, TSO, processes, refuse};
use crate::refused::{ANSWERS_GO_OUT, EVERY_QUESTION_IS_ANSWERED, SC_IS_EXPLORED};
use crate::typed;

/// Does every run under TSO or PSO do what some run under SC does, too?
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot robust --model tso corpus/programs/peterson.weak
  weakspot robust corpus/programs/*.weak",
    after_help = "\
A robust program behaves as if memory were sequentially consistent, whatever it
asks or asserts (but for control points inside of atomic blocks). For one that
is not: the store and the later access that overtakes it, with their lines, a
run as short as possible, and the cycle of events that shows that SC has no such
run; -q leaves all but the first line out. The search explores SC runs only,
never store buffers.

With --checkpoint, a search that was interrupted, killed or ended at a limit
goes on with --resume: same verdict, same counts, with any number of threads
and processes.
It takes one model. Of several files the answers are kept.",
    mut_arg("model", |a| a.help(
        "Memory models: tso, pso; pso-own is PSO where an atomic update drains only its own address \
[default: tso,pso; with --trf and --algorithm attack tso]"
    )),
    mut_arg("threads", |a| a.help(typed::SEARCHING_THREADS))
)]
pub(crate) struct Robust {
    /// Programs: .weak, .litmus, a part of C (.c), Trencher's .txt or .tso, Memorax's .rmm; or folders of them.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// How to decide; all give the same answers [default: pending].
    #[arg(long, value_name = "ALGORITHM")]
    algorithm: Option<RobustAlgorithm>,
    /// Ask for more: that there are no triangular races (Owens 2010), which implies robustness; TSO only.
    #[arg(long)]
    trf: bool,
    #[command(flatten)]
    storage: typed::Storage,
    #[command(flatten)]
    processes: typed::Processes,
    #[command(flatten)]
    checkpoint: typed::Checkpoint,
    #[command(flatten)]
    witness: typed::Witness,
    #[command(flatten)]
    in_c: typed::InC,
    #[command(flatten)]
    common: typed::Common,
}

/// How robustness is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RobustAlgorithm {
    /// One search for all stores and loads.
    Pending,
    /// One search for each pair of a store and a load; TSO only.
    Attack,
}

#[derive(Debug)]
pub struct RobustArgs {
    pub files: Vec<PathBuf>,
    pub algorithm: RobustAlgorithm,
    /// Ask for the absence of triangular races instead.
    pub trf: bool,
    pub common: Common,
}

impl Means<RobustArgs> for Robust {
    const LACKS: Lacks = &[ANSWERS_GO_OUT, EVERY_QUESTION_IS_ANSWERED, SC_IS_EXPLORED];

    fn meant(mut self) -> Result<RobustArgs, Usage> {
        let processes = std::mem::take(&mut self.processes);
        let kept = std::mem::take(&mut self.checkpoint);
        let question = meant::asked(&mut self, |typed| &mut typed.common.threads);
        let kept = meant::checkpoint(kept, &self.files, &processes, question)?;
        let several = processes::several(processes, &self.files, &self)?;
        let Robust { files, algorithm, trf, storage, witness, in_c, common, .. } = self;
        if trf && algorithm.is_some() {
            return Err(Usage(
                "--trf has an algorithm of its own: leave out --algorithm".to_owned(),
            ));
        }
        if trf && witness.witness.is_some() {
            return Err(Usage(
                "--trf has no witness files; --format json shows the run".to_owned(),
            ));
        }
        let algorithm = algorithm.unwrap_or(RobustAlgorithm::Pending);
        let tso_only = trf || algorithm == RobustAlgorithm::Attack;
        let models = if tso_only { &[TSO][..] } else { &[TSO, PSO] };
        let mut common = meant::common(common, models, None, Some(witness))?;
        common.options = meant::in_c(in_c)?;
        if common.model.contains(&Model::Sc) {
            return Err(Usage(
                "every program is robust against sc: to be robust is to do nothing that SC does not; \
                 expected --model tso, pso or pso-own"
                    .to_owned(),
            ));
        }
        if tso_only && common.model != [TSO] {
            return Err(Usage(
                "--algorithm attack and --trf are about TSO only: expected --model tso".to_owned(),
            ));
        }
        let alone = trf || algorithm != RobustAlgorithm::Pending || common.model.len() != 1;
        if alone && kept.as_ref().is_some_and(|kept| kept.answers.is_none()) {
            return Err(Usage(
                "of one file the search of --algorithm pending under one model can be kept: --checkpoint and \
                 --resume expect --model tso, pso or pso-own"
                    .to_owned(),
            ));
        }
        common.shared.checkpoint = kept;
        if matches!(several, Several::Together(_)) && alone {
            return Err(Usage(
                "one file for --hosts is for one model and --algorithm pending: expected --model \
                     tso, pso or pso-own, without --trf"
                    .to_owned(),
            ));
        }
        let common = several.add_to(common);
        let is_stored_otherwise = storage.is_typed();
        let other = [
            ("--trf", is_stored_otherwise && trf),
            ("--algorithm attack", is_stored_otherwise && algorithm == RobustAlgorithm::Attack),
        ];
        refuse(
            &other,
            "is not for --hash-compact and --disk: its searches keep their states as they are",
        )?;
        let common = Common { storage: meant::storage(storage, &common)?, ..common };
        Ok(RobustArgs { files, algorithm, trf, common })
    }
}
