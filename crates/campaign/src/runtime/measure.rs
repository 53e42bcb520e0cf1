//! Explorations that are measured, for `weakspot bench real`.

use std::time::{Duration, Instant};

use weakspot_core::Model;
use weakspot_live::Plan;
use weakspot_live::wire::Config;

use crate::explore::config;
use crate::explore::heard::Heard;
use crate::{Campaign, Error, Result, Start};

/// What an exploration came to.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Executions.
    pub executions: u64,
    /// Steps of all of them.
    pub steps: u64,
    /// The models of pairs of accesses that they would reorder, one for each pair.
    pub pairs: Vec<Model>,
    /// By the clock.
    pub time: Duration,
    /// Processor seconds of the program, to a hundredth.
    pub cpu: f64,
}

/// Explores a program as `plan` says, watching for `models`, with so many executions at most (0 for any
/// number).
pub fn measure(
    campaign: &Campaign<'_>,
    plan: Plan,
    models: &[Model],
    executions: u64,
) -> Result<Measured> {
    let Campaign { question, facts, runtime, control } = *campaign;
    let base = config::base(question, facts);
    let config = Config { plan, models: models.to_vec(), executions, ..base };
    let mut heard = Heard::nothing(0);
    let stop = || control.interrupted();
    let start = Start { config: &config, output: false, most: question.timeout, stop: &stop };
    let (before, since) = (cpu_of_children()?, Instant::now());
    runtime.run(&start, &mut |message| {
        heard.hear(message, control);
        false
    })?;
    let time = since.elapsed();
    if heard.done.is_none() {
        return Err(Error::new(format!("{} could not be explored", facts.name)));
    }
    let (executions, steps) = (heard.executions, heard.steps);
    let pairs = heard.findings().overtakings.iter().map(|o| o.model).collect();
    Ok(Measured { executions, steps, pairs, time, cpu: cpu_of_children()? - before })
}

/// Processor seconds of all children that have ended.
fn cpu_of_children() -> Result<f64> {
    let text = std::fs::read_to_string("/proc/self/stat")
        .map_err(Error::because("failed to read /proc"))?;
    // The name of the program, in parentheses, may have blanks.
    let behind = text.rsplit_once(')').map_or("", |(_, behind)| behind);
    let fields: Vec<f64> = behind.split(' ').filter_map(|word| word.parse().ok()).collect();
    // The state is a letter; these are the 16th and 17th fields of all. Ticks are hundredths.
    let [user, system] = [11, 12].map(|i| fields.get(i + 1).copied().unwrap_or(0.0));
    Ok((user + system) / 100.0)
}
