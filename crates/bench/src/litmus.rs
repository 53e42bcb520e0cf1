//! `weakspot bench litmus`.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::json;
use weakspot_core::{Drain, Limits, Model};
use weakspot_explore::{Strategy, outcomes};
use weakspot_lang::Format;
use weakspot_lang::families::{Family, Syntax};
use weakspot_report::{Rows, model_key};

use crate::spread::{percent_text, repeated};
use crate::tables::Tables;

/// The families of litmus tests under three models: final states, nodes visited and time of the
/// command's own search, then each search on its own as a multiple of that time.
///
/// # Errors
///
/// An end was asked for, or rows cannot be written.
pub fn run(timeout: Duration, tables: &mut Tables<'_>) -> Result<()> {
    tables.text(format_args!(
        "{:>4} {:5} {:>7} {:>8} {:>8} {:>6} {:>8} {:>8} {:>7} {:>6}\n",
        "N",
        "model",
        "states",
        "visited",
        "seconds",
        "spread",
        "by order",
        "explicit",
        "before",
        "herd7"
    ))?;
    let mut rows = Rows::new(tables.format);
    for family in Family::LITMUS {
        tables.text(format_args!("{}\n", family.name()))?;
        for &n in family.sizes() {
            let text = family.text(Syntax::Litmus, Some(n))?;
            let parsed = weakspot_lang::parse(Format::Litmus, &text)
                .map_err(|d| anyhow::anyhow!(d.message))
                .with_context(|| format!("failed to read {} at {n}", family.name()))?;
            for model in [Model::Sc, Model::Tso, Model::Pso(Drain::All)] {
                (tables.busy)(&format!("{} {n} under {model}", family.name()));
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
                let (first, states, visited) = measure(Strategy::Auto)?;
                let spread = match first {
                    Some(first) => repeated(first, || Ok(measure(Strategy::Auto)?.0))?,
                    None => None,
                };
                let time = spread.map(|spread| spread.median);
                let ratio = |strategy| {
                    let (own, _, _) = measure(strategy)?;
                    anyhow::Ok(own.zip(time).map(|(own, time)| own / time))
                };
                let (by_order, explicit) =
                    (ratio(Strategy::WriteOrder)?, ratio(Strategy::Explicit)?);
                tables.go_on()?;
                let (before, herd) = known(family, n, model);
                let percent = spread.and_then(|spread| spread.percent());
                let text = || {
                    let seconds = time.map_or("-".to_owned(), |t| format!("{t:.4}"));
                    let states = time.map_or("-".to_owned(), |_| states.to_string());
                    let times = |x: Option<f64>| x.map_or("-".to_owned(), |x| format!("{x:.2} x"));
                    let (by_order, explicit) = (times(by_order), times(explicit));
                    let spread = percent_text(percent);
                    format!(
                        "{n:>4} {model:5} {states:>7} {visited:>8} {seconds:>8} {spread:>6} \
                         {by_order:>8} {explicit:>8} {before:>7} {herd:>6}\n",
                    )
                };
                let json = || {
                    json!({
                        "family": family.name(), "size": n, "model": model_key(model),
                        "states": time.map(|_| states), "visited": visited, "seconds": time,
                        "spread_percent": percent, "by_order": by_order, "explicit": explicit,
                        "before": before, "herd7": herd,
                    })
                };
                tables.row(&mut rows, text, json)?;
            }
        }
    }
    tables.note(format_args!(
        "states: final states; visited: nodes of the searches; seconds: of `weakspot litmus`, wall \
         time, the median of several runs; spread: from the fastest to the slowest, in percent of it; then \
         the time of each search alone, the one by the order of writes and the explicit one, as a multiple \
         of that. `-`: not done within {} s, or measured once. before: CPU seconds of our own search \
         without what docs/how/outcomes.md calls roles and threads that are alike; herd7: its CPU seconds. \
         Both are figures of one earlier measurement.",
        timeout.as_secs_f64()
    ))
}

/// CPU seconds of one earlier measurement: of our own search when every location was shared and every
/// thread different, and of herd7, as far as it was asked.
fn known(family: Family, n: usize, model: Model) -> (&'static str, &'static str) {
    let pso = matches!(model, Model::Pso(_));
    match (family, n) {
        (Family::OwnStores, 20) => ("> 8", "0.02"),
        (Family::ManyStores, 18) if pso => ("> 8", "0.01"),
        (Family::MessageBehind, 20) if pso => ("> 5", "0.02"),
        (Family::BufferingBehind, 12) if pso => ("> 9", "0.03"),
        (Family::OnePlace, 1000) if model != Model::Sc => ("memory", "> 4"),
        (Family::LockedIncrement, 20) => ("> 11", ""),
        (Family::LockedIncrement, 5) => ("", "> 4"),
        _ => ("", ""),
    }
}
