//! The engine against the definition.

use std::collections::BTreeMap;

use weakspot_core::testing::{Rng, scaled};
use weakspot_core::{Bytes, Drain, LogLoc, NotSc};

use super::*;
use crate::reference;
use crate::tally::end;

const MODELS: [Model; 3] = [Model::Tso, Model::Pso(Drain::All), Model::Pso(Drain::Own)];

/// How random logs are made.
#[derive(Clone, Copy)]
struct Shape {
    threads: usize,
    locs: usize,
    sites: usize,
    length: usize,
    /// Of 100 events how many are writes, and how many are neither reads nor writes.
    writes: usize,
    others: usize,
    /// Locations overlap.
    mixed: bool,
}

fn tables(rng: &mut Rng, shape: Shape) -> LogTables {
    let bytes = |rng: &mut Rng| match rng.below(4) {
        0 => None,
        _ => Some(Bytes { start: rng.below(12) as u64, len: 1 + rng.below(4) as u32 }),
    };
    let loc = |i: usize| LogLoc {
        name: format!("v{i}"),
        bytes: if shape.mixed { bytes(rng) } else { None },
    };
    LogTables { locs: (0..shape.locs).map(loc).collect(), ..LogTables::default() }
}

fn events(rng: &mut Rng, shape: Shape) -> Vec<LogEvent> {
    let event = |_| {
        let roll = rng.below(100);
        let kind = if roll < shape.writes {
            LogKind::Write
        } else if roll < shape.writes + shape.others {
            LogKind::ALL[2 + rng.below(9)]
        } else {
            LogKind::Read
        };
        let loc = match kind {
            LogKind::Spawn | LogKind::Join => rng.below(shape.threads),
            _ => rng.below(shape.locs),
        };
        let mut event = LogEvent::new(rng.below(shape.threads) as u16, kind, loc as u32);
        event.site = rng.below(shape.sites + 1) as u32;
        event
    };
    (0..shape.length).map(event).collect()
}

/// What the definition says, grouped.
fn expected(log: &[LogEvent], tables: &LogTables, model: Model, form: Form) -> Vec<Overtaking> {
    let place = |e: &LogEvent| match e.site {
        0 => (0, e.thread, e.loc),
        site => (site, 0, 0),
    };
    let mut pairs: Vec<Overtaking> = Vec::new();
    let mut known = BTreeMap::new();
    for report in reference::reports(log, tables, model, form) {
        let (store, access) = (&log[report.store], &log[report.access]);
        let at = *known.entry((place(store), place(access))).or_insert(pairs.len());
        if at == pairs.len() {
            let previous = end(&log[report.previous.expect("a previous event")]);
            let (store, access, first) = (end(store), end(access), report.access as u64);
            pairs.push(Overtaking { store, access, previous, count: 0, first });
        }
        pairs[at].count += 1;
    }
    pairs
}

fn check(first: u64, all: usize, shape: Shape, horizon: i32, middles: usize) {
    let mut found = 0;
    for seed in (first..).take(scaled(all)) {
        let mut rng = Rng::new(seed);
        let tables = tables(&mut rng, shape);
        let log = events(&mut rng, shape);
        for form in [Form::All, Form::Last] {
            for models in [&MODELS[..1], &MODELS[1..2], &MODELS[2..], &MODELS[..2]] {
                let mut monitor =
                    Monitor::with(models, form, horizon, Compaction { least: middles, per_loc: 0 });
                let mut rest = &log[..];
                // Locations become known as late as possible.
                let mut shown = LogTables::default();
                while !rest.is_empty() {
                    let (batch, later) = rest.split_at(rest.len().min(1 + rng.below(20)));
                    let accesses = batch.iter().filter(|e| e.kind.is_access());
                    let most = accesses.map(|e| e.loc as usize + 1).max().unwrap_or(0);
                    let most = most.max(shown.locs.len());
                    shown.locs = tables.locs[..most].to_vec();
                    monitor.learn(&shown);
                    monitor.events(batch).expect("no commits");
                    rest = later;
                }
                for &model in models {
                    let expected = expected(&log, &tables, model, form);
                    let got = monitor.reports(model);
                    let texts: Vec<String> = log.iter().map(|e| format!("{e:?}")).collect();
                    assert_eq!(got, expected, "seed {seed} {model} {form:?}\n{}", texts.join("\n"));
                    found += expected.len();
                }
            }
        }
    }
    assert!(found > scaled(400), "only {found} reports: the test tests nothing");
}

const SMALL: Shape =
    Shape { threads: 3, locs: 3, sites: 3, length: 24, writes: 45, others: 8, mixed: false };

#[test]
fn small_logs_agree_with_the_definition() {
    check(0, 24_000, SMALL, i32::MAX, 1 << 16);
}

#[test]
fn long_runs_agree_with_the_definition() {
    let shape = Shape { threads: 2, locs: 3, length: 60, writes: 75, others: 4, ..SMALL };
    check(10_000, 8000, shape, i32::MAX, 1 << 16);
}

#[test]
fn many_threads_agree_with_the_definition() {
    let shape = Shape { threads: 20, locs: 6, length: 120, others: 2, ..SMALL };
    check(20_000, 2400, shape, i32::MAX, 1 << 16);
    let shape = Shape { threads: 70, locs: 6, length: 400, others: 2, ..SMALL };
    check(21_000, 1200, shape, i32::MAX, 1 << 16);
}

#[test]
fn times_are_renumbered_without_a_trace() {
    let shape = Shape { length: 150, others: 3, ..SMALL };
    check(30_000, 4000, shape, 40, 1 << 16);
    let shape = Shape { mixed: true, locs: 5, ..shape };
    check(31_000, 2000, shape, 40, 1 << 16);
}

#[test]
fn runs_are_compacted_without_a_trace() {
    let shape =
        Shape { threads: 3, locs: 4, sites: 2, length: 150, writes: 80, others: 2, mixed: false };
    check(40_000, 4000, shape, i32::MAX, 4);
    check(41_000, 2000, Shape { mixed: true, locs: 6, ..shape }, i32::MAX, 4);
    check(42_000, 2000, shape, 40, 4);
}

#[test]
fn locations_that_overlap_agree_with_the_definition() {
    let shape = Shape { mixed: true, locs: 5, ..SMALL };
    check(50_000, 16_000, shape, i32::MAX, 1 << 16);
    let shape = Shape { threads: 12, length: 80, locs: 8, ..shape };
    check(54_000, 2000, shape, i32::MAX, 1 << 16);
}

#[test]
fn memory_does_not_grow_with_the_log() {
    let mut rng = Rng::new(1);
    let shape = Shape { length: 40_000, locs: 20, threads: 4, writes: 80, others: 0, ..SMALL };
    let mut monitor = Monitor::new(&MODELS[..2], Form::All);
    let mut after_some = 0;
    for round in 0..100 {
        let mut log = events(&mut rng, shape);
        // Most memory is of one thread only.
        for event in &mut log {
            event.loc = event.loc % 4 + 4 * u32::from(event.thread) * u32::from(event.loc > 2);
        }
        monitor.events(&log).expect("no commits");
        if round == 10 {
            after_some = monitor.memory();
        }
    }
    assert!(monitor.memory() <= after_some + after_some / 4, "{after_some} {}", monitor.memory());
    assert!(!monitor.is_coarse());
}

#[test]
fn commits_and_too_many_threads_are_refused() {
    let mut monitor = Monitor::new(&MODELS[..1], Form::All);
    let write = LogEvent::new(0, LogKind::Write, 0);
    let commit = LogEvent::new(0, LogKind::Commit, 0);
    assert_eq!(monitor.events(&[write, commit]), Err(Refused::NotSc(NotSc::Commit(1))));
    let late = LogEvent::new(1024, LogKind::Write, 0);
    assert_eq!(monitor.events(&[write, late]), Err(Refused::Threads(2)));
    let spawn = LogEvent::new(0, LogKind::Spawn, 70_000);
    assert_eq!(monitor.events(&[write, spawn]), Err(Refused::Threads(3)));
}
