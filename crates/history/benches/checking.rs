//! How fast histories are checked: operations per second of each model on histories that satisfy
//! it, of SC on histories that do not, and the ways to complete a store order side by side.
//! `cargo bench -p weakspot-history`; the fastest of the samples is the steadiest figure, and
//! ratios between rows of one run are steadier still.

use divan::Bencher;
use divan::counter::ItemsCount;
use weakspot_core::testing::{OpsSize, OpsSource, Rng, mutate_ops, random_ops};
use weakspot_core::{History, HistoryModel, Limits, Silent, Verdict};
use weakspot_history::{Complete, Method, check};

fn main() {
    divan::main();
}

const LIMITS: Limits =
    Limits { time: None, memory: None, buffer: 0, workers: 1, ..Limits::UNLIMITED };
const AUTO: Method = Method { complete: Complete::Auto, saturate: true };

fn history(threads: usize, vars: usize, ops: usize, source: OpsSource) -> History {
    let size = OpsSize { threads, vars, ops, fences: 0, updates: 0 };
    random_ops(&mut Rng::new(1), size, source)
}

fn bench(
    bencher: Bencher<'_, '_>,
    ops: &History,
    model: HistoryModel,
    method: Method,
    want: Verdict,
) {
    bencher.counter(ItemsCount::new(ops.len())).bench(|| {
        let answer = check(divan::black_box(ops), model, method, &LIMITS, &mut Silent);
        let answer = answer.expect("evidence");
        assert_eq!(answer.verdict, want);
        answer.decided_by
    });
}

/// Each model on a history of a machine that satisfies it.
#[divan::bench(args = HistoryModel::ALL, sample_count = 10)]
fn holds(bencher: Bencher<'_, '_>, model: HistoryModel) {
    let source = match model {
        HistoryModel::Tso => OpsSource::Tso,
        HistoryModel::Pso => OpsSource::Pso,
        _ => OpsSource::Sc,
    };
    bench(bencher, &history(4, 10, 100_000, source), model, AUTO, Verdict::Holds);
}

/// SC with more threads and variables.
#[divan::bench(args = [(4, 10), (4, 1_000), (32, 10), (32, 1_000)], sample_count = 10)]
fn shapes(bencher: Bencher<'_, '_>, (threads, vars): (usize, usize)) {
    let ops = history(threads, vars, 100_000, OpsSource::Sc);
    bench(bencher, &ops, HistoryModel::Sc, AUTO, Verdict::Holds);
}

/// SC where a few reads have been changed.
#[divan::bench(args = [1_000, 100_000], sample_count = 10)]
fn violated(bencher: Bencher<'_, '_>, count: usize) {
    let mut ops = history(4, 10, count, OpsSource::Sc);
    mutate_ops(&mut Rng::new(7), &mut ops, 10);
    bench(bencher, &ops, HistoryModel::Sc, AUTO, Verdict::Violated);
}

/// The ways to complete a store order, at the size of the paper's experiments.
#[divan::bench(args = ["auto", "search", "enum", "sat", "plain"])]
fn ways(bencher: Bencher<'_, '_>, way: &str) {
    let complete = Complete::ALL.into_iter().find(|c| c.key() == way).unwrap_or(Complete::Sat);
    let method = Method { complete, saturate: way != "plain" };
    bench(bencher, &history(4, 10, 500, OpsSource::Sc), HistoryModel::Sc, method, Verdict::Holds);
}
