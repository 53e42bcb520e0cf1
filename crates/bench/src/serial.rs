//! `weakspot bench serial`: the monitors for transactions on logs that are serializable, so that they
//! are followed to their end.

use std::fs::File;
use std::io::{BufWriter, Write};

use anyhow::{Context, Result, anyhow, bail};
use serde_json::json;
use weakspot_args::{BenchSerialArgs, SerialTable};
use weakspot_core::serial::{BufferedReads, Question};
use weakspot_core::testing::{TxnLog, TxnLogSize};
use weakspot_core::{LogBatch, LogEvent, LogKind, LogLoc, LogTables};
use weakspot_report::Rows;
use weakspot_serial::{Follow, Peak, Stop};
use weakspot_trace::{LogFormat, LogReader, LogWriter, Next};

use crate::process::thread_seconds as cpu;
use crate::spread::{Spread, percent_text, repeated};
use crate::tables::Tables;

/// What the tables start from.
const USUAL: TxnLogSize =
    TxnLogSize { threads: 8, vars: 1_000, length: 10, shared: 100, commits: false, brackets: true };

/// How often each rate is measured; the best counts.
const ROUNDS: usize = 3;

/// So many events are made at a time.
const CHUNK: usize = 1 << 16;

/// What is followed: with commits or without, and which questions are asked at once.
const WAYS: [(&str, bool, &[Question]); 4] = [
    ("sc", false, &[Question::ScSerializable]),
    ("com_sc", true, &[Question::ScSerializable]),
    ("com_tso", true, &[Question::TsoSerializable(BufferedReads::Exact)]),
    (
        "com_both",
        true,
        &[Question::ScSerializable, Question::TsoSerializable(BufferedReads::Exact)],
    ),
];

/// Events per processor second by shape, and how time and memory grow with the length.
///
/// # Errors
///
/// A file cannot be written, or an end was asked for.
pub fn run(args: &BenchSerialArgs, tables: &mut Tables<'_>) -> Result<()> {
    for table in SerialTable::ALL.into_iter().filter(|table| args.tables.contains(table)) {
        match table {
            SerialTable::Shapes => shapes(args, tables)?,
            SerialTable::Lengths => lengths(args, tables)?,
        }
    }
    Ok(())
}

/// One column after the other is changed.
fn shapes(args: &BenchSerialArgs, tables: &mut Tables<'_>) -> Result<()> {
    let events = if args.quick { 100_000 } else { 4_000_000 };
    let mut sizes = vec![USUAL, TxnLogSize { brackets: false, ..USUAL }];
    sizes.extend([2, 4, 16, 64].map(|threads| TxnLogSize { threads, ..USUAL }));
    sizes.extend([10, 100, 100_000].map(|vars| TxnLogSize { vars, ..USUAL }));
    sizes.extend([1, 3, 30, 100].map(|length| TxnLogSize { length, ..USUAL }));
    sizes.extend([0, 10, 50].map(|shared| TxnLogSize { shared, ..USUAL }));
    let mut rows = Rows::new(tables.format);
    tables.text(format_args!(
        "Millions of events per processor second\n\n{:>3} {:>8} {:>4} {:>6} {:>6} {:>5} {:>5} {:>5} {:>5} \
         {:>5} {:>5} {:>6} {:>5}\n",
        "T",
        "places",
        "len.",
        "shared",
        "marks",
        "SC",
        "c-SC",
        "c-TSO",
        "c-all",
        "file",
        "nodes",
        "edges",
        "±"
    ))?;
    for size in sizes {
        let mut rates = Vec::new();
        let mut spread: Option<f64> = None;
        let mut most = Peak::default();
        for (key, commits, questions) in WAYS {
            (tables.busy)(&format!("{events} events, {key}"));
            let size = TxnLogSize { commits, ..size };
            let run = follow(tables, size, questions, events, false)?;
            let mut seconds = vec![run.seconds];
            for _ in 1..ROUNDS {
                seconds.push(follow(tables, size, questions, events, false)?.seconds);
            }
            let best = seconds.iter().copied().fold(f64::INFINITY, f64::min);
            rates.push(events as f64 / best.max(1e-9));
            let more = Spread::of(&seconds).and_then(|spread| spread.percent());
            spread = spread.into_iter().chain(more).reduce(f64::max);
            most.nodes = most.nodes.max(run.peak.nodes);
            most.edges = most.edges.max(run.peak.edges);
        }
        rates.push(from_file(tables, size, events)?);
        let TxnLogSize { threads, vars, length, shared, brackets, .. } = size;
        let marks = if brackets { "begin" } else { "number" };
        let text = || {
            let rates: String = rates.iter().map(|rate| format!(" {:>5.1}", rate / 1e6)).collect();
            let spread = percent_text(spread);
            format!(
                "{threads:>3} {vars:>8} {length:>4} {shared:>5}% {marks:>6}{rates} {:>5} {:>6} {spread:>5}\n",
                most.nodes, most.edges
            )
        };
        let json = || {
            let mut row = json!({
                "table": "shapes", "threads": threads, "variables": vars, "length": length,
                "shared": shared, "marks": marks, "events": events, "nodes": most.nodes,
                "edges": most.edges, "file": rates[WAYS.len()],
                "spread_percent": spread,
            });
            for ((key, ..), rate) in WAYS.iter().zip(&rates) {
                row[*key] = (*rate).into();
            }
            row
        };
        tables.row(&mut rows, text, json)?;
    }
    tables.note(format_args!(
        "Of one core, on {events} events each, from memory, the best of {ROUNDS} rounds; file: of SC from a \
         .wslog file, once. T: threads; places: variables; len.: accesses per transaction; shared: how many of 100 accesses may \
         go to the variables of all; marks: begin and end, or numbers; c-: with commits; nodes, edges: what \
         a monitor remembered at most; ±: the largest spread of rounds, from the fastest to the slowest, in \
         percent of the median."
    ))?;
    tables.text(format_args!("\n"))
}

/// The same log, longer and longer; and behind a transaction that does not end.
fn lengths(args: &BenchSerialArgs, tables: &mut Tables<'_>) -> Result<()> {
    let mut lengths = match args.quick {
        true => vec![10_000, 40_000],
        false => vec![1_000_000, 4_000_000, 16_000_000],
    };
    lengths.extend(args.large.then_some(64_000_000));
    let mut rows = Rows::new(tables.format);
    tables.text(format_args!(
        "Time and memory against length\n\n{:>9} {:>9} {:>10} {:>9} {:>5} {:>8} {:>8} {:>8}\n",
        "of", "open", "events", "ns/event", "±", "nodes", "edges", "KiB"
    ))?;
    for open in [false, true] {
        for (key, commits, questions) in WAYS.into_iter().filter(|way| way.2.len() == 1) {
            for &events in &lengths {
                (tables.busy)(&format!("{events} events, {key}"));
                let size = TxnLogSize { commits, ..USUAL };
                let follow = || follow(tables, size, questions, events, open);
                let run = follow()?;
                let seconds = repeated(run.seconds, || Ok(Some(follow()?.seconds)))?;
                let median = seconds.map_or(run.seconds, |seconds| seconds.median);
                let spread = seconds.and_then(|seconds| seconds.percent());
                let each = median * 1e9 / events as f64;
                let Peak { nodes, edges } = run.peak;
                let text = || {
                    let of = key.replace("com_", "com, ").replace("sc", "SC").replace("tso", "TSO");
                    let open = if open { "one" } else { "-" };
                    let memory = run.bytes.div_ceil(1024);
                    format!(
                        "{of:>9} {open:>9} {events:>10} {each:>9.1} {:>5} {nodes:>8} {edges:>8} \
                         {memory:>8}\n",
                        percent_text(spread)
                    )
                };
                let json = || {
                    json!({
                        "table": "lengths", "of": key, "open": open, "events": events,
                        "ns": each, "spread_percent": spread, "nodes": nodes, "edges": edges,
                        "bytes": run.bytes,
                    })
                };
                tables.row(&mut rows, text, json)?;
            }
        }
    }
    tables.note(format_args!(
        "8 threads, 1,000 variables, transactions of 10 accesses. open: one more transaction that all others \
         come after, and that does not end. ns/event: the median of several rounds if they are short; ±: from the \
         fastest to the slowest, in percent of it, `-` if there was one. nodes, edges: what was remembered at most; KiB: at \
         the end."
    ))?;
    tables.text(format_args!("\n"))
}

/// What it took to follow a log.
struct Run {
    seconds: f64,
    peak: Peak,
    bytes: u64,
}

/// Follows a log from memory; without the time that it takes to make it.
fn follow(
    tables: &Tables<'_>,
    size: TxnLogSize,
    questions: &[Question],
    events: usize,
    open: bool,
) -> Result<Run> {
    let mut follow = Follow::new(questions, size.commits, &names(size), false);
    let mut log = TxnLog::new(1, size);
    let mut chunk = if open { opened(size) } else { Vec::new() };
    let (mut left, mut seconds) = (events, 0.0);
    while left > 0 {
        tables.go_on()?;
        let count = left.min(CHUNK);
        chunk.extend(log.by_ref().take(count));
        let before = cpu();
        followed(follow.events(&chunk))?;
        seconds += cpu() - before;
        left -= count;
        chunk.clear();
    }
    if follow.found() > 0 {
        bail!("a log that is serializable was found not to be; this is a defect of weakspot");
    }
    Ok(Run { seconds, peak: follow.peak(), bytes: follow.bytes() })
}

fn followed(result: Result<(), Stop>) -> Result<()> {
    result.map_err(|stop| anyhow!("a log that is one was refused: {stop:?}"))
}

/// A transaction of a thread of its own that begins, and that the other threads come after.
fn opened(size: TxnLogSize) -> Vec<LogEvent> {
    let var = size.vars + u32::from(size.threads);
    let event = |kind, loc| LogEvent::new(size.threads, kind, loc);
    let mut log = vec![event(LogKind::Begin, 0), event(LogKind::Write, var)];
    if size.commits {
        log.push(event(LogKind::Commit, var));
    }
    log.extend((0..size.threads).map(|thread| LogEvent::new(thread, LogKind::Read, var)));
    log
}

fn names(size: TxnLogSize) -> LogTables {
    let locs = size.vars + u32::from(size.threads) + 1;
    LogTables {
        threads: (0..=size.threads).map(|t| format!("t{t}")).collect(),
        locs: (0..locs).map(|a| LogLoc { name: format!("v{a}"), bytes: None }).collect(),
        sites: Vec::new(),
    }
}

/// Events per processor second of SC from a file, reading included.
fn from_file(tables: &Tables<'_>, size: TxnLogSize, events: usize) -> Result<f64> {
    let path = std::env::temp_dir().join(format!("weakspot-serial-{}.wslog", std::process::id()));
    let measured = (|| {
        let mut writer = LogWriter::new(BufWriter::new(File::create(&path)?), LogFormat::Wslog);
        let (names, mut log) = (names(size), TxnLog::new(1, size));
        let mut left = events;
        while left > 0 {
            tables.go_on()?;
            let count = left.min(CHUNK);
            let events = log.by_ref().take(count).collect();
            writer.write(&LogBatch { events, values: Vec::new() }, &names)?;
            left -= count;
        }
        writer.finish()?.flush()?;
        let before = cpu();
        let mut reader = LogReader::new(Box::new(File::open(&path)?), LogFormat::Wslog);
        let mut follow = Follow::new(WAYS[0].2, false, &LogTables::default(), false);
        let mut batch = LogBatch::default();
        loop {
            tables.go_on()?;
            match reader.next(&mut batch).map_err(|e| anyhow!(e.to_string()))? {
                Next::End => break,
                Next::Trace(_) => {}
                Next::Events => {
                    followed(follow.learn(reader.tables()))?;
                    followed(follow.events(&batch.events))?;
                }
            }
        }
        anyhow::Ok(events as f64 / (cpu() - before).max(1e-9))
    })();
    let _ = std::fs::remove_file(&path);
    measured.with_context(|| format!("failed to measure with {}", path.display()))
}
