//! `weakspot bench monitor`.

use std::fs::File;
use std::io::{BufWriter, Write};

use anyhow::{Context, Result, anyhow};
use serde_json::json;
use weakspot_args::BenchMonitorArgs;
use weakspot_core::testing::Rng;
use weakspot_core::{Drain, LogBatch, LogEvent, LogKind, LogLoc, LogTables, Model};
use weakspot_monitor::{Definition, Form, Monitor, Sober, reference};
use weakspot_report::Rows;
use weakspot_trace::{LogFormat, LogReader, LogWriter, Next};

use crate::process::thread_seconds as cpu;
use crate::spread::{Spread, percent_text};
use crate::tables::Tables;

const PSO: Model = Model::Pso(Drain::All);
/// How many source positions the events have.
const SITES: usize = 100;
/// The reference monitors and SOBER only get this many events.
const SHORT: usize = 20_000;

/// Events per processor second of the monitors on random logs, from memory and from a file.
///
/// # Errors
///
/// A file cannot be written, or an end was asked for.
pub fn run(args: &BenchMonitorArgs, tables: &mut Tables<'_>) -> Result<()> {
    let mut rows = Rows::new(tables.format);
    let columns = ["TSO", "PSO", "both", "file", "SOBER", "def."];
    let columns: String = columns.iter().map(|column| format!(" {column:>6}")).collect();
    tables.text(format_args!(
        "Millions of events per processor second\n\n{:>3} {:>8}{columns} {:>6} {:>6} {:>5} {:>5}\n",
        "T", "places", "spread", "MB", "TSO%", "PSO%"
    ))?;
    for &addresses in &args.addresses {
        for &threads in &args.threads {
            (tables.busy)(&format!("{threads} threads, {addresses} places"));
            let events = random_events(threads, addresses, args.events as usize);
            let names = names(threads, addresses);
            let (tso, _, _) = follow(&[Model::Tso], &events, args.rounds)?;
            let (pso, _, _) = follow(&[PSO], &events, args.rounds)?;
            let (both, spread, monitor) = follow(&[Model::Tso, PSO], &events, args.rounds)?;
            let file = follow_file(&events, &names, args.rounds)?;
            let short = &events[..events.len().min(SHORT)];
            let (sober, _) = rate(short, 1, || {
                let mut sober = Sober::new(Definition::Corrected);
                for event in short {
                    sober.event(event, &names);
                }
                Ok(())
            })?;
            let (definition, _) = rate(short, 1, || {
                let _ = reference::reports(short, &names, Model::Tso, Form::All);
                let _ = reference::reports(short, &names, PSO, Form::All);
                Ok(())
            })?;
            let rates = [tso, pso, both, file, sober, definition];
            let share = |model| 100.0 * monitor.total(model) as f64 / monitor.seen() as f64;
            let text = || {
                let rate = |rate: f64| format!(" {:>6.2}", rate / 1e6);
                let rates: String = rates.into_iter().map(rate).collect();
                let memory = monitor.memory() as f64 / 1e6;
                let (tso, pso, spread) = (share(Model::Tso), share(PSO), percent_text(spread));
                format!(
                    "{threads:>3} {addresses:>8}{rates} {spread:>6} {memory:>6.1} {tso:>5.1} {pso:>5.1}\n"
                )
            };
            let json = || {
                json!({
                    "threads": threads, "addresses": addresses, "events": args.events,
                    "tso": tso, "pso": pso, "both": both, "file": file, "sober": sober,
                    "definition": definition, "spread_percent": spread, "memory": monitor.memory(),
                    "tso_reports": monitor.total(Model::Tso), "pso_reports": monitor.total(PSO),
                })
            };
            tables.row(&mut rows, text, json)?;
        }
    }
    tables.note(format_args!(
        "Of one core, the best of {} rounds over {} random events (72% reads, 25% writes, 2% updates, 1% \
         fences; {SITES} source positions). T: threads; places: addresses; TSO, PSO: one monitor alone, both: at once, all from \
         memory; file: both, on a .wslog file from its first event on. SOBER and the monitors by definition \
         (def.): on the first {SHORT} events. spread: of the rounds of both, from the fastest to the slowest, \
         in percent of the median; MB: of both monitors; TSO%, PSO%: how many of 100 events were reported.",
        args.rounds, args.events
    ))
}

fn random_events(threads: u16, addresses: u32, count: usize) -> Vec<LogEvent> {
    let mut rng = Rng::new(u64::from(threads) << 32 | u64::from(addresses));
    let event = |_| {
        let kind = match rng.below(100) {
            0..72 => LogKind::Read,
            72..97 => LogKind::Write,
            97..99 => LogKind::Update,
            _ => LogKind::Fence,
        };
        let thread = rng.below(usize::from(threads)) as u16;
        let loc = if kind == LogKind::Fence { 0 } else { rng.below(addresses as usize) };
        let site = 1 + rng.below(SITES) as u32;
        LogEvent { site, ..LogEvent::new(thread, kind, loc as u32) }
    };
    (0..count).map(event).collect()
}

fn names(threads: u16, addresses: u32) -> LogTables {
    LogTables {
        threads: (0..threads).map(|t| format!("t{t}")).collect(),
        locs: (0..addresses).map(|a| LogLoc { name: format!("v{a}"), bytes: None }).collect(),
        sites: (0..SITES).map(|s| format!("program.c:{s}")).collect(),
    }
}

/// Events per second of a monitor that has seen the events before, how far the rounds differ in percent, and the monitor.
fn follow(
    models: &[Model],
    events: &[LogEvent],
    rounds: u32,
) -> Result<(f64, Option<f64>, Monitor)> {
    let mut monitor = Monitor::new(models, Form::All);
    monitor.events(events)?;
    let (rate, spread) = rate(events, rounds, || Ok(monitor.events(events)?))?;
    Ok((rate, spread, monitor))
}

/// The same from a file, from its first events on, which come after the names of the addresses.
fn follow_file(events: &[LogEvent], names: &LogTables, rounds: u32) -> Result<f64> {
    let path = std::env::temp_dir().join(format!("weakspot-bench-{}.wslog", std::process::id()));
    let written = (|| {
        let file = BufWriter::new(File::create(&path)?);
        let mut writer = LogWriter::new(file, LogFormat::Wslog);
        for chunk in events.chunks(1 << 14) {
            let batch = LogBatch { events: chunk.to_vec(), values: Vec::new() };
            writer.write(&batch, names)?;
        }
        writer.finish()?.flush()?;
        let mut monitor = Monitor::new(&[Model::Tso, PSO], Form::All);
        let mut batch = LogBatch::default();
        let mut best = f64::INFINITY;
        for _ in 0..=rounds {
            let mut reader = LogReader::new(Box::new(File::open(&path)?), LogFormat::Wslog);
            let mut before = None;
            loop {
                match reader.next(&mut batch).map_err(|e| anyhow!(e.to_string()))? {
                    Next::End => break,
                    Next::Trace(_) => {}
                    Next::Events => {
                        before.get_or_insert_with(cpu);
                        monitor.events(&batch.events)?;
                    }
                }
            }
            best = best.min(cpu() - before.unwrap_or_default());
        }
        anyhow::Ok(events.len() as f64 / best)
    })();
    let _ = std::fs::remove_file(&path);
    written.with_context(|| format!("failed to measure with {}", path.display()))
}

/// Events per processor second, of the best of some rounds, and how far these differ in percent.
fn rate(
    events: &[LogEvent],
    rounds: u32,
    mut work: impl FnMut() -> Result<()>,
) -> Result<(f64, Option<f64>)> {
    let mut seconds = Vec::new();
    for _ in 0..rounds.max(1) {
        let before = cpu();
        work()?;
        seconds.push(cpu() - before);
    }
    let best = seconds.iter().copied().fold(f64::INFINITY, f64::min);
    let spread = Spread::of(&seconds).and_then(|spread| spread.percent());
    Ok((events.len() as f64 / best.max(1e-9), spread))
}
