//! `weakspot bench litmus`.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use weakspot_core::{Drain, Limits, Model};
use weakspot_explore::{Strategy, outcomes};
use weakspot_lang::Format;
use weakspot_lang::families::{Family, Syntax};

use crate::tables::Tables;

/// The families of litmus tests under three models: final states, nodes visited and time of the
/// command's own search, then each search on its own as a multiple of that time.
///
/// # Errors
///
/// An end was asked for, or rows cannot be written.
pub fn run(timeout: Duration, tables: &mut Tables<'_>) -> Result<()> {
    tables.text(format_args!(
        "{:26} {:>3} {:5} {:>9} {:>10} {:>10} {:>12} {:>12}\n",
        "family", "N", "model", "states", "visited", "seconds", "write order", "explicit"
    ))?;
    for family in Family::LITMUS {
        for &n in family.sizes() {
            let text = family.text(Syntax::Litmus, Some(n))?;
            let parsed = weakspot_lang::parse(Format::Litmus, &text)
                .map_err(|d| anyhow::anyhow!(d.message))
                .with_context(|| format!("failed to read {} at {n}", family.name()))?;
            for model in [Model::Sc, Model::Tso, Model::Pso(Drain::All)] {
                let limits = Limits {
                    time: Some(timeout),
                    memory: Some(4 << 30),
                    buffer: 16,
                    workers: 1,
                    ..Limits::UNLIMITED
                };
                let measure = |strategy| {
                    let start = Instant::now();
                    let found =
                        outcomes(&parsed.program, model, strategy, &limits, &mut tables.progress());
                    let mut found = found.map_err(|f| anyhow::anyhow!("{:?}", f.kind))?;
                    found.judge(&parsed.program, model)?;
                    let seconds = start.elapsed().as_secs_f64();
                    let done = found.stopped.is_none();
                    anyhow::Ok((done.then_some(seconds), found.set.len(), found.states))
                };
                let (time, states, visited) = measure(Strategy::Auto)?;
                let ratio = |strategy| {
                    let (own, _, _) = measure(strategy)?;
                    anyhow::Ok(match (own, time) {
                        (Some(own), Some(time)) => format!("{:.2} x", own / time),
                        _ => "-".to_owned(),
                    })
                };
                let seconds = time.map_or("-".to_owned(), |t| format!("{t:.4}"));
                let states = time.map_or("-".to_owned(), |_| states.to_string());
                let (by_order, explicit) =
                    (ratio(Strategy::WriteOrder)?, ratio(Strategy::Explicit)?);
                tables.go_on()?;
                tables.text(format_args!(
                    "{:26} {n:>3} {model:5} {states:>9} {visited:>10} {seconds:>10} {by_order:>12} \
                     {explicit:>12}\n",
                    family.name(),
                ))?;
            }
        }
    }
    tables.text(format_args!(
        "\nstates: final states; visited: nodes of the searches; seconds: of `weakspot litmus`, wall \
         time; then the time of\neach search alone, as a multiple of that. `-`: not done within {} s.\n",
        timeout.as_secs_f64()
    ))
}
