//! The causal models against their definitions, on random histories; every violation comes with
//! evidence that the checker accepts.

use weakspot_core::history::satisfies;
use weakspot_core::testing::{OpsSize, check_ops, show_ops};
use weakspot_core::{HistoryEvidence, HistoryModel, Limits, Ops, Silent, Verdict, certify};
use weakspot_history::check_causal;

const NO_LIMITS: Limits = Limits { time: None, memory: None, buffer: 0, workers: 1 };

fn is_wrong(ops: &Ops, model: HistoryModel) -> bool {
    let answer = check_causal(ops, model, &NO_LIMITS, &mut Silent).expect("a causal model");
    let expect = if satisfies(ops, model) { Verdict::Holds } else { Verdict::Violated };
    if answer.verdict != expect {
        println!("{model:?} is {:?}\n{}", answer.verdict, show_ops(ops));
        return true;
    }
    let evidence = answer.evidence.unwrap_or(HistoryEvidence::ByDefinition);
    let checked = certify::history(ops, model, &answer.verdict, &evidence);
    if let Err(rejected) = &checked {
        println!("{model:?}: {rejected}\n{evidence:?}\n{}", show_ops(ops));
    }
    checked.is_err()
}

fn check(seed: u64, model: HistoryModel) {
    let small = OpsSize { threads: 4, vars: 3, ops: 12, fences: 8, updates: 4 };
    let middle = OpsSize { threads: 4, vars: 3, ops: 30, fences: 8, updates: 5 };
    let wide = OpsSize { threads: 8, vars: 2, ops: 24, fences: 0, updates: 6 };
    let long = OpsSize { threads: 3, vars: 6, ops: 60, fences: 20, updates: 10 };
    for (i, (size, count)) in
        [(small, 12_000), (middle, 2_000), (wide, 2_000), (long, 300)].into_iter().enumerate()
    {
        check_ops(seed + 1_000_000 * i as u64, count, size, &|ops| is_wrong(ops, model));
    }
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
