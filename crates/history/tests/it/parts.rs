//! Several models at once, and smallest parts that violate a model, against the definitions.

use std::time::Duration;

use weakspot_core::history::satisfies;
use weakspot_core::testing::{
    OpsSize, OpsSource, Rng, check_ops, mutate_ops, ops_of_clauses, pigeonhole, random_3_sat,
    random_ops,
};
use weakspot_core::{History, HistoryEvidence, HistoryModel, INITIAL, Limits, Silent, Verdict};
use weakspot_history::{Complete, Method, check, classify, minimise};

const NO_LIMITS: Limits =
    Limits { time: None, memory: None, buffer: 0, workers: 1, ..Limits::UNLIMITED };
const AUTO: Method = Method { complete: Complete::Auto, saturate: true };
const SMALL: OpsSize = OpsSize { threads: 4, vars: 3, ops: 12, fences: 8, updates: 4 };

/// Each model is answered as its definition says, in the order asked, and the evidence is good,
/// also where it was taken over from another model.
#[test]
fn all_models_at_once() {
    let is_wrong = |ops: &History| {
        let Ok(found) = classify(ops, &HistoryModel::ALL, AUTO, &NO_LIMITS, &mut Silent) else {
            return true;
        };
        let models: Vec<HistoryModel> = found.iter().map(|found| found.model).collect();
        models != HistoryModel::ALL
            || found.iter().any(|found| {
                let expected =
                    if satisfies(ops, found.model) { Verdict::Holds } else { Verdict::Violated };
                found.answer.verdict != expected || !found.answer.certification().is_checked()
            })
    };
    check_ops(1, 120_000, SMALL, &is_wrong);
}

/// What remains without these operations and without what reads them.
fn without(ops: &History, gone: u32) -> History {
    let mut left_out: Vec<bool> = (0..ops.len() as u32).map(|op| op == gone).collect();
    for _ in 0..ops.len() {
        for op in 0..ops.len() as u32 {
            left_out[op as usize] |= ops.from(op).is_some_and(|w| left_out[w as usize]);
        }
    }
    let number = |op: u32| left_out[..op as usize].iter().filter(|&&out| !out).count() as u32;
    let mut rest = History::new();
    for thread in 0..ops.threads() {
        rest.thread();
        for op in ops.of_thread(thread).filter(|&op| !left_out[op as usize]) {
            rest.push(ops.kind(op), ops.var(op), ops.from(op).map_or(INITIAL, number));
        }
    }
    rest
}

/// The part violates the model by definition, nothing can be left out, and it is a part.
#[test]
fn smallest_parts() {
    for (i, model) in HistoryModel::ALL.into_iter().enumerate() {
        let is_wrong = |ops: &History| {
            let Ok(answer) = check(ops, model, AUTO, &NO_LIMITS, &mut Silent) else { return true };
            let violated = answer.verdict == Verdict::Violated;
            let Some(evidence) = answer.evidence.as_ref().filter(|_| violated) else {
                return false;
            };
            let part = minimise(ops, model, evidence, AUTO, &NO_LIMITS, &mut Silent);
            let Ok(Some(part)) = part else { return true };
            let same = |(op, &of): (u32, &u32)| {
                let from = part.ops.from(op).map(|w| part.kept[w as usize]);
                let thread = part.threads[part.ops.thread_of(op)];
                (part.ops.kind(op), from, thread) == (ops.kind(of), ops.from(of), ops.thread_of(of))
                    && (part.vars.is_empty()
                        || ops.kind(of) == weakspot_core::OpKind::Fence
                        || part.vars[part.ops.var(op) as usize] == ops.var(of))
            };
            !part.is_minimal
                || part.ops.len() != part.kept.len()
                || !(0..).zip(&part.kept).all(same)
                || !part.kept.is_sorted()
                || satisfies(&part.ops, model)
                || !part.certification().is_checked()
                || (0..part.ops.len() as u32).any(|op| !satisfies(&without(&part.ops, op), model))
        };
        check_ops(100 + i as u64 * 1_000_000, 48_000, SMALL, &is_wrong);
    }
}

/// A few operations of a long history are found without going through all of its parts.
#[test]
fn small_parts_of_long_histories() {
    let size = OpsSize { threads: 6, vars: 20, ops: 100_000, fences: 50, updates: 0 };
    for (seed, model) in [(1, HistoryModel::Sc), (2, HistoryModel::Tso), (3, HistoryModel::Ccv)] {
        let mut rng = Rng::new(seed);
        let mut ops = random_ops(&mut rng, size, OpsSource::Sc);
        mutate_ops(&mut rng, &mut ops, 3);
        let answer = check(&ops, model, AUTO, &NO_LIMITS, &mut Silent).expect("evidence");
        assert_eq!(answer.verdict, Verdict::Violated, "{model:?}");
        let evidence = answer.evidence.as_ref().expect("evidence");
        let part = minimise(&ops, model, evidence, AUTO, &NO_LIMITS, &mut Silent);
        let part = part.expect("evidence").expect("a part");
        assert!(part.is_minimal && part.kept.len() <= 12, "{model:?}: {:?}", part.kept);
        assert!(!satisfies(&part.ops, model));
    }
}

/// Of a history that needs a proof by cases, too; what the proof does not need is left out.
#[test]
fn small_parts_by_cases() {
    let mut clauses = pigeonhole(4, 3);
    clauses.extend(random_3_sat(&mut Rng::new(1), 12, 10));
    let ops = ops_of_clauses(&clauses, true);
    let model = HistoryModel::Sc;
    let answer = check(&ops, model, AUTO, &NO_LIMITS, &mut Silent).expect("evidence");
    assert_eq!(answer.verdict, Verdict::Violated);
    let evidence = answer.evidence.as_ref().expect("evidence");
    assert!(matches!(**evidence, HistoryEvidence::Refuted { .. }));
    let part = minimise(&ops, model, evidence, AUTO, &NO_LIMITS, &mut Silent);
    let part = part.expect("evidence").expect("a part");
    assert!(part.certification().is_checked());
    assert!(part.is_minimal && part.kept.len() < ops.len(), "{}", part.kept.len());
    for op in 0..part.ops.len() as u32 {
        let rest = check(&without(&part.ops, op), model, AUTO, &NO_LIMITS, &mut Silent);
        assert_eq!(rest.expect("evidence").verdict, Verdict::Holds, "{op}");
    }
    // Without any time there is no part, or one that may not be the smallest.
    let hurry = Limits { time: Some(Duration::ZERO), ..NO_LIMITS };
    assert_eq!(minimise(&ops, model, evidence, AUTO, &hurry, &mut Silent), Ok(None));
}
