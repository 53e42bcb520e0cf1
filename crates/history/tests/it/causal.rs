//! The causal models against their definitions, on random histories; every violation comes with
//! evidence that the checker accepts.

use weakspot_core::history::satisfies;
use weakspot_core::testing::{OpsSize, OpsSource, Rng, check_ops, random_ops};
use weakspot_core::{Certification, History, HistoryModel, Limit, Limits, Silent, Verdict};
use weakspot_history::{Answer, Complete, Method};

const NO_LIMITS: Limits =
    Limits { time: None, memory: None, buffer: 0, workers: 1, ..Limits::UNLIMITED };

/// By the definition at once: no greedy run of a stronger machine is tried first.
const BY_CLOCKS: Method = Method { complete: Complete::Search, saturate: true };

fn is_wrong(ops: &History, model: HistoryModel) -> bool {
    let answer = weakspot_history::check(ops, model, BY_CLOCKS, &NO_LIMITS, &mut Silent);
    let Ok(answer) = answer else { return true };
    let expect = if satisfies(ops, model) { Verdict::Holds } else { Verdict::Violated };
    let certification = match expect {
        Verdict::Holds if ops.len() > 40 => Certification::TooLarge,
        _ => Certification::Checked,
    };
    answer.verdict != expect || answer.certification() != certification
}

fn check(seed: u64, model: HistoryModel) {
    let small = OpsSize { threads: 4, vars: 3, ops: 12, fences: 8, updates: 4 };
    let middle = OpsSize { threads: 4, vars: 3, ops: 22, fences: 8, updates: 5 };
    let wide = OpsSize { threads: 8, vars: 2, ops: 18, fences: 0, updates: 6 };
    let long = OpsSize { threads: 3, vars: 6, ops: 50, fences: 20, updates: 10 };
    for (i, (size, count)) in
        [(small, 60_000), (middle, 6_000), (wide, 6_000), (long, 240)].into_iter().enumerate()
    {
        check_ops(seed + 1_000_000 * i as u64, count, size, &|ops| is_wrong(ops, model));
    }
}

#[test]
fn limits() {
    let size = OpsSize { threads: 4, vars: 3, ops: 200_000, fences: 0, updates: 0 };
    let ops = random_ops(&mut Rng::new(1), size, OpsSource::Sc);
    let little = Limits { memory: Some(1_000), ..NO_LIMITS };
    let ask = |ops: &History, model, limits: &Limits| -> Answer {
        let answer = weakspot_history::check(ops, model, BY_CLOCKS, limits, &mut Silent);
        answer.expect("evidence").into_answer()
    };
    for model in [HistoryModel::Wccm, HistoryModel::Cc, HistoryModel::Ccv] {
        let answer = ask(&ops, model, &little);
        assert_eq!(answer.verdict, Verdict::Unknown(Limit::Memory(1_000)), "{model:?}");
    }
    for model in [HistoryModel::Cm, HistoryModel::Ccm] {
        assert_eq!(ask(&ops, model, &little).evidence, None, "{model:?}");
    }
    assert_eq!(ask(&History::new(), HistoryModel::Wccm, &NO_LIMITS).verdict, Verdict::Holds);
}

#[test]
fn cc() {
    check(1, HistoryModel::Cc);
}

#[test]
fn ccv() {
    check(2, HistoryModel::Ccv);
}

#[test]
fn cm() {
    check(3, HistoryModel::Cm);
}

#[test]
fn ccm() {
    check(4, HistoryModel::Ccm);
}

#[test]
fn wccm() {
    check(5, HistoryModel::Wccm);
}
