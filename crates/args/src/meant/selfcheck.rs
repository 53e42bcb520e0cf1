//! What is meant for `weakspot selfcheck`.

use std::path::PathBuf;
use std::time::Duration;

use super::Usage;
use crate::typed;
use crate::values::{OutputFormat, When};

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

pub(super) fn selfcheck(typed: typed::Selfcheck) -> Result<SelfcheckArgs, Usage> {
    let typed::Selfcheck { time, seed, round, threads, output, format, quiet, progress } = typed;
    if round.is_some() && seed.is_none() {
        return Err(Usage("--round is one of a --seed: expected both".to_owned()));
    }
    Ok(SelfcheckArgs {
        time: time.unwrap_or(Duration::from_secs(60)),
        seed,
        round,
        threads: super::threads(threads.threads),
        output: output.unwrap_or_else(|| PathBuf::from("weakspot-selfcheck")),
        format: format.unwrap_or(OutputFormat::Text),
        quiet,
        progress: progress.unwrap_or(When::Auto),
    })
}
