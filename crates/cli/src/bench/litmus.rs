//! `weakspot bench litmus`.

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use weakspot_core::{Drain, Limits, Model};
use weakspot_explore::{Strategy, outcomes};
use weakspot_lang::Format;
use weakspot_lang::families::{Family, Syntax};

use crate::exit::Exit;
use crate::pool::Listener;

/// The families of litmus tests under three models: final states, nodes visited and time of the
/// command's own search, then each search on its own as a multiple of that time.
pub(crate) fn run(timeout: Duration) -> Result<Exit> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{:26} {:>3} {:5} {:>9} {:>10} {:>10} {:>12} {:>12}",
        "family", "N", "model", "states", "visited", "seconds", "write order", "explicit"
    )?;
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
                        outcomes(&parsed.program, model, strategy, &limits, &mut Listener::new());
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
                writeln!(
                    out,
                    "{:26} {n:>3} {model:5} {states:>9} {visited:>10} {seconds:>10} {:>12} {:>12}",
                    family.name(),
                    ratio(Strategy::WriteOrder)?,
                    ratio(Strategy::Explicit)?
                )?;
            }
        }
    }
    writeln!(
        out,
        "\nstates: final states; visited: nodes of the searches; seconds: of `weakspot litmus`, wall \
         time; then the time of\neach search alone, as a multiple of that. `-`: not done within {} s.",
        timeout.as_secs_f64()
    )?;
    Ok(Exit::Holds)
}
