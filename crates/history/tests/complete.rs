//! Completions of the store order against the definitions of SC, TSO and PSO, on random histories
//! and on some that are hard by design; every verdict comes with evidence that the checker accepts.

use weakspot_core::history::satisfies;
use weakspot_core::testing::{OpsSize, check_ops};
use weakspot_core::{HistoryModel, Limits, Ops, Silent, Verdict, certify};
use weakspot_history::{Complete, Method, check};

const NO_LIMITS: Limits = Limits { time: None, memory: None, buffer: 0, workers: 1 };

const METHODS: [Method; 4] = [
    Method { complete: Complete::Sat, saturate: true },
    Method { complete: Complete::Sat, saturate: false },
    Method { complete: Complete::Enum, saturate: true },
    Method { complete: Complete::Enum, saturate: false },
];

/// The verdict, if its evidence is accepted.
fn certified(ops: &Ops, model: HistoryModel, method: Method) -> Option<Verdict> {
    let answer = check(ops, model, method, &NO_LIMITS, &mut Silent);
    let checked = certify::history(ops, model, &answer.verdict, &answer.evidence?);
    checked.is_ok().then_some(answer.verdict)
}

fn check_random(seed: u64, model: HistoryModel) {
    let small = OpsSize { threads: 4, vars: 2, ops: 12, fences: 8, updates: 4 };
    let middle = OpsSize { threads: 4, vars: 3, ops: 20, fences: 8, updates: 5 };
    let wide = OpsSize { threads: 8, vars: 2, ops: 16, fences: 0, updates: 6 };
    for (i, (size, count)) in
        [(small, 8_000), (middle, 1_000), (wide, 1_000)].into_iter().enumerate()
    {
        check_ops(seed + 1_000_000 * i as u64, count, size, &|ops| {
            let expect = if satisfies(ops, model) { Verdict::Holds } else { Verdict::Violated };
            METHODS.iter().any(|&method| certified(ops, model, method).as_ref() != Some(&expect))
        });
    }
}

#[test]
fn random_sc() {
    check_random(11, HistoryModel::Sc);
}

#[test]
fn random_tso() {
    check_random(12, HistoryModel::Tso);
}

#[test]
fn random_pso() {
    check_random(13, HistoryModel::Pso);
}
