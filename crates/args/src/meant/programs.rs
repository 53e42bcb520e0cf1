//! What is meant for the questions about programs.

use std::path::PathBuf;

use weakspot_core::Model;
use weakspot_explore::{Algorithm, Strategy};

use super::cluster::Several;
use super::{Common, PSO, TSO, Usage, file, refuse, refuse_csv};
use crate::typed::{self, FenceGoal, ReachAlgorithm, RobustAlgorithm};
use crate::values::{Cost, OutputFormat};

/// How often a litmus test is run on this CPU.
const RUNS: u64 = 1_000_000;

#[derive(Debug)]
pub struct LitmusArgs {
    pub files: Vec<PathBuf>,
    /// List the final states in JSON and in tables.
    pub states: bool,
    /// Explain this final state; if it is empty, the one that decides.
    pub show: Option<String>,
    /// Run the tests on this CPU, so often.
    pub runs: Option<u64>,
    pub common: Common,
}

pub(super) fn litmus(mut typed: typed::Litmus) -> Result<LitmusArgs, Usage> {
    let processes = std::mem::take(&mut typed.processes);
    let kept = std::mem::take(&mut typed.checkpoint);
    let question = super::asked(&mut typed, |typed| &mut typed.common.threads);
    let kept = super::checkpoint(kept, &typed.files, &processes, question)?;
    let sweep = super::cluster::sweep(processes, &typed.files, &typed)?;
    let typed::Litmus { files, states, show, run, runs, witness, buffers, common, .. } = typed;
    let threads = common.threads.threads.is_some();
    let mut common = super::common(common, &[Model::Sc, TSO, PSO], Some(&buffers), Some(witness))?;
    let format = common.shared.format;
    common.shared.sweep = sweep;
    if kept.is_some() && common.shared.sweep.is_some() {
        return Err(super::one_process());
    }
    if kept.as_ref().is_some_and(|kept| kept.answers.is_none()) && common.model.len() != 1 {
        return Err(one_model());
    }
    common.shared.checkpoint = kept;
    if run {
        refuse(
            &[
                ("--hosts", common.shared.sweep.is_some()),
                ("--checkpoint and --resume", common.shared.checkpoint.is_some()),
                ("--states", states),
                ("--show", show.is_some()),
                ("--witness", common.shared.witness.is_some()),
                ("--report", common.shared.report.is_some()),
            ],
            "is about the models, and --run about this CPU: leave out one of them",
        )?;
        refuse(
            &[("--threads", threads)],
            "is not for --run: tests would get into each other's way",
        )?;
        if !matches!(format, OutputFormat::Text | OutputFormat::Json | OutputFormat::Litmus7) {
            return Err(Usage(format!(
                "--format {format} is not for --run; expected --format text, json or litmus7"
            )));
        }
        common.shared.threads = 1;
    } else {
        refuse(&[("--runs", runs.is_some())], "is for --run, which runs tests on this CPU")?;
        refuse(
            &[("--format litmus7", format == OutputFormat::Litmus7)],
            "is for --run; without it, --format text has the lines of herd7",
        )?;
    }
    let runs = run.then_some(runs.unwrap_or(RUNS));
    Ok(LitmusArgs { files, states, show, runs, common })
}

#[derive(Debug)]
pub struct ReachArgs {
    pub files: Vec<PathBuf>,
    pub algorithm: Algorithm,
    pub common: Common,
}

pub(super) fn reach(mut typed: typed::Reach) -> Result<ReachArgs, Usage> {
    let processes = std::mem::take(&mut typed.processes);
    let kept = std::mem::take(&mut typed.checkpoint);
    let question = super::asked(&mut typed, |typed| &mut typed.common.threads);
    let kept = super::checkpoint(kept, &typed.files, &processes, question)?;
    let several = super::cluster::several(processes, &typed.files, &typed)?;
    let typed::Reach { files, algorithm, storage, witness, buffers, in_c, common, .. } = typed;
    let algorithm = algorithm.unwrap_or(ReachAlgorithm::Auto);
    let no_buffers =
        matches!(algorithm, ReachAlgorithm::Lazy | ReachAlgorithm::Unroll | ReachAlgorithm::Dual);
    let models = if no_buffers { &[TSO][..] } else { &[Model::Sc, TSO, PSO] };
    let is_stored_otherwise = storage.is_typed();
    let sc_only = matches!(several, Several::Together(_)) || is_stored_otherwise;
    let models = if sc_only { &[Model::Sc] } else { models };
    let mut common = super::common(common, models, Some(&buffers), Some(witness))?;
    common.options = super::in_c(in_c)?;
    if kept.as_ref().is_some_and(|kept| kept.answers.is_none()) {
        if common.model.len() != 1 {
            return Err(one_model());
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
    let common = match several {
        Several::Together(_)
            if common.model != [Model::Sc] || algorithm != ReachAlgorithm::Auto =>
        {
            return Err(Usage(
                "one file for --hosts is for `reach --model sc` and for `robust`: store buffers and \
                 other algorithms take one process"
                    .to_owned(),
            ));
        }
        Several::Together(at) => at.add_to(common),
        Several::Sweep(sweep) => {
            common.shared.sweep = Some(sweep);
            common
        }
        Several::No => common,
    };
    if is_stored_otherwise && (common.model != [Model::Sc] || algorithm != ReachAlgorithm::Auto) {
        return Err(Usage(
            "--hash-compact and --disk are for `reach --model sc` and for `robust`: store buffers and other \
             algorithms keep their states as they are"
                .to_owned(),
        ));
    }
    let common = Common { storage: super::storage(storage, &common)?, ..common };
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

/// Of one file, one search is kept.
fn one_model() -> Usage {
    Usage(
        "of one file the search under one model can be kept: --checkpoint and --resume expect --model sc, \
         tso or another"
            .to_owned(),
    )
}

#[derive(Debug)]
pub struct RobustArgs {
    pub files: Vec<PathBuf>,
    pub algorithm: RobustAlgorithm,
    /// Ask for the absence of triangular races instead.
    pub trf: bool,
    pub common: Common,
}

pub(super) fn robust(mut typed: typed::Robust) -> Result<RobustArgs, Usage> {
    let processes = std::mem::take(&mut typed.processes);
    let kept = std::mem::take(&mut typed.checkpoint);
    let question = super::asked(&mut typed, |typed| &mut typed.common.threads);
    let kept = super::checkpoint(kept, &typed.files, &processes, question)?;
    let several = super::cluster::several(processes, &typed.files, &typed)?;
    let typed::Robust { files, algorithm, trf, storage, witness, in_c, common, .. } = typed;
    if trf && algorithm.is_some() {
        return Err(Usage("--trf has an algorithm of its own: leave out --algorithm".to_owned()));
    }
    if trf && witness.witness.is_some() {
        return Err(Usage("--trf has no witness files; --format json shows the run".to_owned()));
    }
    let algorithm = algorithm.unwrap_or(RobustAlgorithm::Pending);
    let tso_only = trf || algorithm == RobustAlgorithm::Attack;
    let models = if tso_only { &[TSO][..] } else { &[TSO, PSO] };
    let mut common = super::common(common, models, None, Some(witness))?;
    common.options = super::in_c(in_c)?;
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
    let common = match several {
        Several::Together(_) if alone => {
            return Err(Usage(
                "one file for --hosts is for one model and --algorithm pending: expected --model \
                 tso, pso or pso-own, without --trf"
                    .to_owned(),
            ));
        }
        Several::Together(at) => at.add_to(common),
        Several::Sweep(sweep) => {
            common.shared.sweep = Some(sweep);
            common
        }
        Several::No => common,
    };
    let is_stored_otherwise = storage.is_typed();
    let other = [
        ("--trf", is_stored_otherwise && trf),
        ("--algorithm attack", is_stored_otherwise && algorithm == RobustAlgorithm::Attack),
    ];
    refuse(
        &other,
        "is not for --hash-compact and --disk: its searches keep their states as they are",
    )?;
    let common = Common { storage: super::storage(storage, &common)?, ..common };
    Ok(RobustArgs { files, algorithm, trf, common })
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

pub(super) fn fence(typed: typed::Fence) -> Result<FenceArgs, Usage> {
    let typed::Fence { files, goal, cost, output, witness, buffers, in_c, common } = typed;
    let goal = goal.unwrap_or(FenceGoal::Robust);
    let mut common = super::common(common, &[TSO], Some(&buffers), Some(witness))?;
    common.options = super::in_c(in_c)?;
    if common.model.contains(&Model::Sc) {
        return Err(Usage("SC needs no fences; expected --model tso, pso or pso-own".to_owned()));
    }
    refuse_csv(&common.shared)?;
    if common.shared.format.is_picture() {
        return Err(Usage(
            "fences are no graph; expected --format text, json, sarif, github or junit".to_owned(),
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
