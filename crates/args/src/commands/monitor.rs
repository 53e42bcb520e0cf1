//! `weakspot monitor`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use weakspot_core::{Drain, Model};
use weakspot_trace::LogFormat;

use crate::list::{Lacks, Means, Usage};
use crate::meant::{self, Common, PSO, TSO, processes, refuse, refuse_csv};
use crate::refused::{ANSWERS_GO_OUT, SC_IS_EXPLORED};
use crate::typed;
use crate::values::{InputFormat, Takes, format_of};

/// Could TSO or PSO have broken this SC execution, or those of a program?
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot monitor run.wslog
  my-program | weakspot monitor --model tso --fail-fast -
  weakspot monitor --program corpus/programs/dekker.weak
  weakspot monitor --program --preemptions 2 corpus/programs/*.weak
  weakspot monitor --program --random 10000 --seed 7 corpus/programs/bakery.weak",
    override_usage = "\
weakspot monitor [OPTIONS] LOG...
       weakspot monitor --program [--schedules all | --preemptions K |
              --random N [--seed S]] [OPTIONS] FILE...",
    after_help = "\
A log is one SC execution: text, JSONL, RAPID's STD or .wslog; `-` is standard
input, which may be a program that still runs. Reported is each pair of a store
and an access of another thread that the model would have let take effect before
it, though it comes after it.

With --program SC executions of programs are monitored: all of them (then it is
a proof if there are no violations), those with few preemptions, or random ones.
A table counts executions and distinct pairs; each pair has a run under the
model that SC does not have, drawn for the first one; -q leaves the pairs and
the drawing out.",
    mut_arg("model", |a| a.help(
        "Memory models: tso, pso; pso-own is PSO where an atomic update drains only its own address, \
as in the paper [default: tso,pso; with --program also pso-own]"
    )),
    mut_arg("input_format", |a| a
        .alias("log-format")
        .value_name("FORMAT")
        .value_parser(format_of(Takes::ProgramsAndLogs))
        .help("Read the inputs as this format, or with --program as this language, whatever their ending")),
    mut_arg("timeout", |a| a.help(
        "Give up on a question after this time, from opening its file [default: none; with --program 60s]"
    )),
    mut_arg("threads", |a| a.help(
        "How many files to work on at a time, or, with one program, how many threads search; by \
default one per processor"
    ))
)]
pub(crate) struct Monitor {
    /// Logs; with --program programs: .weak, .litmus, Trencher's .txt or .tso, Memorax's .rmm. A folder stands for all of them in it.
    #[arg(required = true, value_name = "LOG")]
    files: Vec<PathBuf>,
    /// The files are programs, not logs: monitor their SC executions.
    #[arg(long)]
    program: bool,
    /// Programs: monitor every SC execution; what is not found is not there. The default.
    #[arg(long, value_name = "WHICH")]
    schedules: Option<Schedules>,
    /// Programs: monitor the executions in which at most K times a thread is stopped that could go on.
    #[arg(long, value_name = "K")]
    preemptions: Option<u32>,
    /// Programs: monitor N random executions.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    random: Option<u64>,
    /// The random executions: same seed, same executions [default: 1].
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// With --preemptions and --random: cut executions off after this many steps [default: 1000].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    steps: Option<u32>,
    /// Logs: go on after the first violation. The default.
    #[arg(long)]
    all: bool,
    /// Logs: stop at the first violation.
    #[arg(long, alias = "first")]
    fail_fast: bool,
    /// Logs: which stores to a location count, all that are pending or the last one only [default: all].
    #[arg(long, value_name = "WHICH")]
    pending: Option<PendingForm>,
    /// Logs: how to monitor; sober knows TSO only [default: monitor].
    #[arg(long, value_name = "ALGORITHM")]
    algorithm: Option<MonitorAlgorithm>,
    #[command(flatten)]
    processes: typed::Processes,
    #[command(flatten)]
    checkpoint: typed::Checkpoint,
    #[command(flatten)]
    witness: typed::Witness,
    #[command(flatten)]
    common: typed::Common,
}

/// Which executions of a program are monitored, if all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Schedules {
    /// Every one, by a search with partial-order reduction.
    All,
}

/// Which pending stores an access is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PendingForm {
    /// All that are pending: finds more in one execution.
    All,
    /// The last one.
    Last,
}

/// How a log is monitored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MonitorAlgorithm {
    /// The monitors for TSO and PSO of Burnim, Sen and Stergiou.
    Monitor,
    /// SOBER with the corrected definition of TSO.
    Sober,
    /// SOBER as it was published, which misses some violations.
    SoberPublished,
}

#[derive(Debug)]
pub struct MonitorArgs {
    pub files: Vec<PathBuf>,
    /// The files are programs.
    pub program: bool,
    /// Of programs: executions with at most so many preemptions, not all.
    pub preemptions: Option<u32>,
    /// Of programs: so many random executions, not all.
    pub random: Option<u64>,
    pub seed: u64,
    pub steps: u32,
    /// Of logs: stop at the first violation.
    pub first: bool,
    pub pending: PendingForm,
    pub algorithm: MonitorAlgorithm,
    pub log_format: Option<LogFormat>,
    pub common: Common,
}

impl Means<MonitorArgs> for Monitor {
    const LACKS: Lacks = &[ANSWERS_GO_OUT, SC_IS_EXPLORED];

    fn meant(mut self) -> Result<MonitorArgs, Usage> {
        let processes = std::mem::take(&mut self.processes);
        let kept = std::mem::take(&mut self.checkpoint);
        let question = meant::asked(&mut self, |typed| &mut typed.common.threads);
        let kept = meant::answers_checkpoint(kept, &self.files, &processes, question)?;
        let sweep = processes::sweep(processes, &self.files, &self)?;
        let Monitor {
            files,
            program,
            schedules,
            preemptions,
            random,
            seed,
            steps,
            all,
            fail_fast,
            pending,
            algorithm,
            witness,
            common,
            ..
        } = self;
        let of_programs = [
            ("--schedules", schedules.is_some()),
            ("--preemptions", preemptions.is_some()),
            ("--random", random.is_some()),
            ("--seed", seed.is_some()),
            ("--steps", steps.is_some()),
        ];
        let of_logs = [
            ("--all", all),
            ("--fail-fast", fail_fast),
            ("--hosts", sweep.is_some()),
            ("--checkpoint or --resume", kept.is_some()),
            ("--pending", pending.is_some()),
            ("--algorithm", algorithm.is_some()),
        ];
        if program {
            refuse(&of_logs, "is about logs: leave it out, or --program")?;
        } else {
            refuse(&of_programs, "is about programs: expected --program, too")?;
        }
        refuse(&[("--all", all && fail_fast)], "and --fail-fast contradict each other")?;
        let executions = [&of_programs[0], &of_programs[1], &of_programs[2]];
        if executions.iter().filter(|(_, is_typed)| *is_typed).count() > 1 {
            return Err(Usage(
                "expected one of --schedules, --preemptions and --random".to_owned(),
            ));
        }
        let one_by_one = preemptions.is_some() || random.is_some();
        refuse(&[("--seed", seed.is_some() && random.is_none())], "is for --random")?;
        refuse(
            &[("--steps", steps.is_some() && !one_by_one)],
            "is for --preemptions and --random",
        )?;
        let algorithm = algorithm.unwrap_or(MonitorAlgorithm::Monitor);
        let sober = algorithm != MonitorAlgorithm::Monitor;
        let models = match (program, sober) {
            (true, _) => &[TSO, PSO, Model::Pso(Drain::Own)][..],
            (false, true) => &[TSO],
            (false, false) => &[TSO, PSO],
        };
        let (input_format, timeout) = (common.input_format, common.shared.timeout);
        let mut common = meant::common(common, models, None, Some(witness))?;
        (common.shared.reading, common.shared.sweep) = (timeout.filter(|_| !program), sweep);
        common.shared.checkpoint = kept;
        if program {
            refuse_csv(&common.shared)?;
        }
        if common.model.contains(&Model::Sc) {
            return Err(Usage(match program {
                true => {
                    "nothing is violated under sc: a violation is what SC does not do; expected \
                         --model tso, pso or pso-own"
                        .to_owned()
                }
                false => {
                    "a log is one of an SC execution, so nothing breaks SC; expected --model tso, \
                          pso or pso-own"
                        .to_owned()
                }
            }));
        }
        if sober && common.model != [TSO] {
            return Err(Usage("SOBER is about TSO only: expected --model tso".to_owned()));
        }
        let log_format = input_format.and_then(InputFormat::log);
        if program {
            let of_logs = log_format.is_some();
            refuse(&[("the --input-format", of_logs)], "is one of logs: leave out --program")?;
        } else {
            let of_programs = common.language.is_some();
            refuse(
                &[("the --input-format", of_programs)],
                "is one of programs: expected --program, too",
            )?;
        }
        Ok(MonitorArgs {
            files,
            program,
            preemptions,
            random,
            seed: seed.unwrap_or(1),
            steps: steps.unwrap_or(1_000),
            first: fail_fast,
            pending: pending.unwrap_or(PendingForm::All),
            algorithm,
            log_format,
            common,
        })
    }
}
