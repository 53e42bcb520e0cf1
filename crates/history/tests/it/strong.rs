//! SC, TSO and PSO against their definitions, on random histories, by all stages; every answer
//! comes with evidence that the checker accepts.

use weakspot_core::history::satisfies;
use weakspot_core::testing::{OpsSize, OpsSource, Rng, check_ops, mutate_ops, random_ops, scaled};
use weakspot_core::{History, HistoryModel, Limits, Silent, Verdict};
use weakspot_history::{Complete, DecidedBy, Method, check};

const NO_LIMITS: Limits =
    Limits { time: None, memory: None, buffer: 0, workers: 1, ..Limits::UNLIMITED };

/// By which stages an answer may be found: each of them, with and without saturation before it.
const WAYS: [Method; 4] = [
    Method { complete: Complete::Auto, saturate: true },
    Method { complete: Complete::Auto, saturate: false },
    Method { complete: Complete::Search, saturate: true },
    Method { complete: Complete::Search, saturate: false },
];

fn is_wrong(ops: &History, model: HistoryModel) -> bool {
    let expect = if satisfies(ops, model) { Verdict::Holds } else { Verdict::Violated };
    WAYS.into_iter().any(|method| {
        let Ok(answer) = check(ops, model, method, &NO_LIMITS, &mut Silent) else { return true };
        answer.verdict != expect || !answer.certification().is_checked()
    })
}

fn compare(seed: u64, model: HistoryModel) {
    let small = OpsSize { threads: 4, vars: 3, ops: 12, fences: 8, updates: 4 };
    let middle = OpsSize { threads: 4, vars: 3, ops: 20, fences: 8, updates: 5 };
    let wide = OpsSize { threads: 8, vars: 2, ops: 16, fences: 0, updates: 6 };
    let updates = OpsSize { threads: 4, vars: 2, ops: 16, fences: 12, updates: 2 };
    for (i, (size, count)) in
        [(small, 32_000), (middle, 4_000), (wide, 4_000), (updates, 8_000)].into_iter().enumerate()
    {
        check_ops(seed + 1_000_000 * i as u64, count, size, &|ops| is_wrong(ops, model));
    }
}

#[test]
fn sc() {
    compare(1, HistoryModel::Sc);
}

#[test]
fn tso() {
    compare(2, HistoryModel::Tso);
}

#[test]
fn pso() {
    compare(3, HistoryModel::Pso);
}

#[test]
fn pso_own() {
    compare(7, HistoryModel::PsoOwn);
}

/// Too long for the definition: that evidence is accepted says enough.
#[test]
fn long_histories() {
    let method = Method { complete: Complete::Auto, saturate: true };
    let mut verdicts = [0, 0];
    for seed in 0..scaled(240) as u64 {
        let mut rng = Rng::new(seed);
        let threads = 2 + rng.below(7);
        let vars = 1 + rng.below(30);
        let ops = 5_000 + rng.below(3_000);
        let size = OpsSize { threads, vars, ops, fences: 40, updates: 10 };
        let source = OpsSource::ALL[rng.below(3)];
        let mut ops = random_ops(&mut rng, size, source);
        let changes = rng.below(2);
        mutate_ops(&mut rng, &mut ops, changes);
        for model in [HistoryModel::Sc, HistoryModel::Tso, HistoryModel::Pso] {
            let answer = check(&ops, model, method, &NO_LIMITS, &mut Silent).expect("evidence");
            assert!(answer.certification().is_checked(), "{model:?}");
            verdicts[usize::from(answer.verdict == Verdict::Holds)] += 1;
        }
    }
    assert!(verdicts.iter().all(|&count| count > scaled(80)), "{verdicts:?}");
}

/// So many threads that a greedy run goes back too often.
#[test]
fn wide_histories() {
    let method = Method { complete: Complete::Auto, saturate: true };
    let mut verdicts = [0, 0];
    let mut by_guess = 0;
    for seed in 0..12 {
        let mut rng = Rng::new(seed);
        let threads = 60 + rng.below(100);
        let vars = 60 + rng.below(100);
        let updates = [0, 10][rng.below(2)];
        let size = OpsSize { threads, vars, ops: 6_000, fences: 40, updates };
        let source = OpsSource::ALL[rng.below(3)];
        let mut ops = random_ops(&mut rng, size, source);
        let changes = rng.below(2);
        mutate_ops(&mut rng, &mut ops, changes);
        for model in [HistoryModel::Sc, HistoryModel::Tso, HistoryModel::Pso] {
            let answer = check(&ops, model, method, &NO_LIMITS, &mut Silent).expect("evidence");
            assert!(answer.certification().is_checked(), "{model:?}");
            verdicts[usize::from(answer.verdict == Verdict::Holds)] += 1;
            by_guess += usize::from(answer.decided_by == DecidedBy::Sat);
        }
    }
    assert!(verdicts.iter().all(|&count| count > 5) && by_guess > 1, "{verdicts:?}, {by_guess}");
}
