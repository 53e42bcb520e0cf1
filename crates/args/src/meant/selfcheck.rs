//! What is meant for `weakspot selfcheck`.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::Usage;
use crate::typed;
use crate::values::{OutputFormat, When};

#[derive(Debug)]
pub struct SelfcheckArgs {
    pub time: Duration,
    pub seed: u64,
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
    // One that nobody has tried, short enough to be typed.
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |t| t.as_millis() as u64);
    Ok(SelfcheckArgs {
        time: time.unwrap_or(Duration::from_secs(60)),
        seed: seed.unwrap_or_else(|| now() % 1_000_000_000),
        round,
        threads: super::threads(threads.threads),
        output: output.unwrap_or_else(|| PathBuf::from("weakspot-selfcheck")),
        format: format.unwrap_or(OutputFormat::Text),
        quiet,
        progress: progress.unwrap_or(When::Auto),
    })
}
