//! Explorations that are measured, for `weakspot bench real`.

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use weakspot_core::Model;
use weakspot_live::Plan;
use weakspot_report::model_key;

use super::Subject;
use super::child::{self, Start};
use super::heard::Heard;
use crate::args::ProgramOutput;

/// What an exploration came to.
pub(crate) struct Measured {
    pub(crate) executions: u64,
    pub(crate) steps: u64,
    /// Pairs of accesses that a model would reorder.
    pub(crate) pairs: Vec<Model>,
    pub(crate) time: Duration,
    /// Processor seconds of the program, to a hundredth.
    pub(crate) cpu: f64,
}

/// Explores a program as `plan` says, with so many executions at most (0 for any number).
pub(crate) fn measure(
    program: &Path,
    runtime: &Path,
    plan: &Plan,
    models: &[Model],
    executions: u64,
) -> Result<Measured> {
    let models: Vec<&str> = models.iter().map(|&model| model_key(model)).collect();
    let watched =
        if models.is_empty() { String::new() } else { format!(" models={}", models.join(",")) };
    let config = format!("strategy={plan} executions={executions}{watched}");
    let subject = Subject::program(vec![OsString::from(program)]);
    let start = Start {
        subject: &subject,
        runtime,
        output: ProgramOutput::None,
        timeout: Duration::from_secs(600),
    };
    let mut heard = Heard::default();
    let (before, since) = (cpu_of_children()?, Instant::now());
    child::run(&start, &config, &mut |message| {
        heard.hear(message);
        false
    })?;
    let time = since.elapsed();
    if heard.done.is_none() {
        bail!("{} could not be explored", program.display());
    }
    Ok(Measured {
        executions: heard.executions,
        steps: heard.steps,
        pairs: heard.overtakings.iter().map(|o| o.model).collect(),
        time,
        cpu: cpu_of_children()? - before,
    })
}

/// Processor seconds of all children that have ended.
fn cpu_of_children() -> Result<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").context("failed to read /proc")?;
    // The name of the program, in parentheses, may have blanks.
    let behind = text.rsplit_once(')').map_or("", |(_, behind)| behind);
    let fields: Vec<f64> = behind.split(' ').filter_map(|word| word.parse().ok()).collect();
    // The state is a letter; these are the 16th and 17th fields of all. Ticks are hundredths.
    let [user, system] = [11, 12].map(|i| fields.get(i + 1).copied().unwrap_or(0.0));
    Ok((user + system) / 100.0)
}
