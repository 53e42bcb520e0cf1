//! The causal models against their definitions, on random histories; every violation comes with
//! evidence that the checker accepts.

use weakspot_core::history::satisfies;
use weakspot_core::testing::{OpsSize, OpsSource, Rng, check_ops, random_ops};
use weakspot_core::{HistoryEvidence, HistoryModel, Limit, Limits, Ops, Silent, Verdict, certify};
use weakspot_history::check_causal;

const NO_LIMITS: Limits =
    Limits { time: None, memory: None, buffer: 0, workers: 1, ..Limits::UNLIMITED };

fn is_wrong(ops: &Ops, model: HistoryModel) -> bool {
    let answer = check_causal(ops, model, &NO_LIMITS, &mut Silent).expect("a causal model");
    let expect = if satisfies(ops, model) { Verdict::Holds } else { Verdict::Violated };
    let evidence = answer.evidence.unwrap_or(HistoryEvidence::ByDefinition);
    let checked = certify::history(ops, model, &answer.verdict, &evidence);
    answer.verdict != expect || checked.is_err()
}

fn check(seed: u64, model: HistoryModel) {
    let small = OpsSize { threads: 4, vars: 3, ops: 12, fences: 8, updates: 4 };
    let middle = OpsSize { threads: 4, vars: 3, ops: 22, fences: 8, updates: 5 };
    let wide = OpsSize { threads: 8, vars: 2, ops: 18, fences: 0, updates: 6 };
    let long = OpsSize { threads: 3, vars: 6, ops: 50, fences: 20, updates: 10 };
    for (i, (size, count)) in
        [(small, 15_000), (middle, 1_500), (wide, 1_500), (long, 60)].into_iter().enumerate()
    {
        check_ops(seed + 1_000_000 * i as u64, count, size, &|ops| is_wrong(ops, model));
    }
}

#[test]
fn limits_and_other_models() {
    let size = OpsSize { threads: 4, vars: 3, ops: 200_000, fences: 0, updates: 0 };
    let ops = random_ops(&mut Rng::new(1), size, OpsSource::Sc);
    let little = Limits { memory: Some(1_000), ..NO_LIMITS };
    for model in HistoryModel::ALL {
        let answer = check_causal(&ops, model, &little, &mut Silent);
        match model {
            HistoryModel::Sc | HistoryModel::Tso | HistoryModel::Pso => assert_eq!(answer, None),
            HistoryModel::Wccm | HistoryModel::Cc | HistoryModel::Ccv => {
                let verdict = answer.map(|answer| answer.verdict);
                assert_eq!(verdict, Some(Verdict::Unknown(Limit::Memory(1_000))));
            }
            HistoryModel::Cm | HistoryModel::Ccm => {
                assert!(answer.is_some_and(|answer| answer.evidence.is_none()));
            }
        }
    }
    let holds = check_causal(&Ops::new(), HistoryModel::Wccm, &NO_LIMITS, &mut Silent);
    assert_eq!(holds.map(|answer| answer.verdict), Some(Verdict::Holds));
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
