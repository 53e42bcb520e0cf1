//! `weakspot litmus`.

use std::path::PathBuf;

use clap::Args;
use weakspot_core::Model;

use crate::list::{Lacks, Means, Usage};
use crate::meant::{self, Common, PSO, TSO, processes, refuse};
use crate::refused::{ANSWERS_GO_OUT, EVERY_QUESTION_IS_ANSWERED};
use crate::typed;
use crate::values::{OutputFormat, litmus};

/// Which final states do SC, TSO and PSO allow?
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot litmus corpus/litmus/SB.litmus
  weakspot litmus --model tso --show corpus/litmus/SB.litmus
  weakspot litmus --format json --states my-tests/ > answers.jsonl
  weakspot litmus --run --runs 1000000 corpus/litmus/SB.litmus",
    after_help = "\
For each test and model: the exact set of final states, in the lines that herd7
prints. `Ok` says that the test's condition is valid under the model, `No` that
it is not. Positive and negative count final states. A folder stands for the
tests and programs in it, but for C; `-` is standard input.

With --run the test is run on this CPU, which has to be an x86, and how often
each final state was seen stands beside the models that have it. A state that
TSO does not have is a violation (exit code 1). That takes gcc, or a compiler
that WEAKSPOT_CC names.",
    mut_arg("format", |a| a.value_parser(litmus()))
)]
pub(crate) struct Litmus {
    /// Litmus tests, programs with a condition on final states, or folders of them.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// List the final states in JSON, too; in tables, instead of counting tests.
    #[arg(long)]
    states: bool,
    /// Explain one final state by a run: the one that decides the condition, or the given one.
    #[arg(long, value_name = "STATE", num_args = 0..=1, require_equals = true, default_missing_value = "",
        long_help = "Explain one final state by a run, drawn with a column per thread: the state \
that decides the condition (the first state if it takes all of them), or the one given, as in \
--show='0:EAX=0; 1:EAX=0' or --show='exists (0:EAX=0 /\\ 1:EAX=0)'. Of a given state only the components \
that matter need to be named. \
If no run ends so, the cycle is shown that forbids it.")]
    show: Option<String>,
    /// Run the tests on this CPU, too, and count the final states.
    #[arg(long)]
    run: bool,
    /// How often each test is run [default: 1000000].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    runs: Option<u64>,
    #[command(flatten)]
    processes: typed::Processes,
    #[command(flatten)]
    checkpoint: typed::Checkpoint,
    #[command(flatten)]
    witness: typed::Witness,
    #[command(flatten)]
    buffers: typed::Buffers,
    #[command(flatten)]
    common: typed::Common,
}

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

/// How often a litmus test is run on this CPU.
const RUNS: u64 = 1_000_000;

impl Means<LitmusArgs> for Litmus {
    const LACKS: Lacks = &[ANSWERS_GO_OUT, EVERY_QUESTION_IS_ANSWERED];

    fn meant(mut self) -> Result<LitmusArgs, Usage> {
        let processes = std::mem::take(&mut self.processes);
        let kept = std::mem::take(&mut self.checkpoint);
        let question = meant::asked(&mut self, |typed| &mut typed.common.threads);
        let kept = meant::checkpoint(kept, &self.files, &processes, question)?;
        let sweep = processes::sweep(processes, &self.files, &self)?;
        let Litmus { files, states, show, run, runs, witness, buffers, common, .. } = self;
        let threads = common.threads.threads.is_some();
        let mut common =
            meant::common(common, &[Model::Sc, TSO, PSO], Some(&buffers), Some(witness))?;
        let format = common.shared.format;
        common.shared.sweep = sweep;
        if kept.is_some() && common.shared.sweep.is_some() {
            return Err(meant::one_process());
        }
        if kept.as_ref().is_some_and(|kept| kept.answers.is_none()) && common.model.len() != 1 {
            return Err(meant::one_model());
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
}
