//! `weakspot selfcheck`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::list::{Lacks, Means, Usage};
use crate::meant;
use crate::refused::NO_SEARCH;
use crate::typed;
use crate::values::{OutputFormat, When, duration, output_of};

/// Hold the engines against each other and against the definitions, on random inputs.
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot selfcheck --time 10m
  weakspot selfcheck --seed 7 --round 4711",
    after_help = "\
Random programs, histories, traces with transactions and, where there is a C
compiler, programs in C. Whatever can answer a question is asked, with and
without reductions and with one worker and two; the answers have to agree with
each other, and on small inputs with the definitions. Inputs on which they do
not are made as small as possible and written to files.

Exit code: 0 all answers agree; 1 some do not.",
    mut_arg("threads", |a| a.help(
        "How many inputs to work on at a time; by default one per processor"
    ))
)]
pub(crate) struct Selfcheck {
    /// Go on for this long [default: 1m].
    #[arg(long, value_name = "TIME", value_parser = duration)]
    time: Option<Duration>,
    /// What the inputs are made from; by default another one each time.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Only this round, which has one input; needs --seed.
    #[arg(long, value_name = "N")]
    round: Option<u64>,
    #[command(flatten)]
    threads: typed::Threads,
    /// The folder for inputs on which answers differ [default: weakspot-selfcheck].
    #[arg(long, short, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// What to print [default: text].
    #[arg(long, short, value_name = "FORMAT", value_parser = output_of(&FORMATS, &[]))]
    format: Option<OutputFormat>,
    /// Say nothing if all answers agree.
    #[arg(long, short)]
    quiet: bool,
    /// Show progress on standard error [default: auto].
    #[arg(long, value_name = "WHEN")]
    progress: Option<When>,
}

const FORMATS: [OutputFormat; 2] = [OutputFormat::Text, OutputFormat::Json];

#[derive(Debug)]
pub struct SelfcheckArgs {
    pub time: Duration,
    /// Another one each time if none is named.
    pub seed: Option<u64>,
    pub round: Option<u64>,
    pub threads: usize,
    pub output: PathBuf,
    pub format: OutputFormat,
    pub quiet: bool,
    pub progress: When,
}

impl Means<SelfcheckArgs> for Selfcheck {
    const LACKS: Lacks = &[
        NO_SEARCH,
        ("timeout", "--time says how long it goes on"),
        ("memory", "each of its questions may take 256 MiB"),
        (
            "model input-format witness buffer-limit",
            "its inputs are random, and it asks all questions about them",
        ),
        ("fail-fast", "it ends after ten inputs on which answers differ"),
        ("verbose color", "it says what it compared, and what differs"),
    ];

    fn meant(self) -> Result<SelfcheckArgs, Usage> {
        let Selfcheck { time, seed, round, threads, output, format, quiet, progress } = self;
        if round.is_some() && seed.is_none() {
            return Err(Usage("--round is one of a --seed: expected both".to_owned()));
        }
        Ok(SelfcheckArgs {
            time: time.unwrap_or(Duration::from_secs(60)),
            seed,
            round,
            threads: meant::threads(threads.threads),
            output: output.unwrap_or_else(|| PathBuf::from("weakspot-selfcheck")),
            format: format.unwrap_or(OutputFormat::Text),
            quiet,
            progress: progress.unwrap_or(When::Auto),
        })
    }
}
