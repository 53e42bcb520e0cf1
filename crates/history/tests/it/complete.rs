//! Completions of the store order against the definitions of SC, TSO and PSO, on random histories
//! and on some that are hard by design; every verdict comes with evidence that the checker accepts.

use weakspot_core::history::satisfies;
use weakspot_core::testing::{
    OpsSize, Rng, check_ops, ops_of_clauses, pigeonhole, random_3_sat, scaled,
};
use weakspot_core::{History, HistoryModel, INITIAL, Limit, Limits, OpKind, Silent, Verdict};
use weakspot_history::{Complete, Method, check};

const NO_LIMITS: Limits =
    Limits { time: None, memory: None, buffer: 0, workers: 1, ..Limits::UNLIMITED };

const METHODS: [Method; 4] = [
    Method { complete: Complete::Sat, saturate: true },
    Method { complete: Complete::Sat, saturate: false },
    Method { complete: Complete::Enum, saturate: true },
    Method { complete: Complete::Enum, saturate: false },
];

/// The verdict, if its evidence is accepted.
fn certified(ops: &History, model: HistoryModel, method: Method) -> Option<Verdict> {
    let answer = check(ops, model, method, &NO_LIMITS, &mut Silent).ok()?;
    answer.certification().is_checked().then(|| answer.verdict.clone())
}

fn check_random(seed: u64, model: HistoryModel) {
    let small = OpsSize { threads: 4, vars: 2, ops: 12, fences: 8, updates: 4 };
    let middle = OpsSize { threads: 4, vars: 3, ops: 20, fences: 8, updates: 5 };
    let wide = OpsSize { threads: 8, vars: 2, ops: 16, fences: 0, updates: 6 };
    for (i, (size, count)) in
        [(small, 32_000), (middle, 4_000), (wide, 4_000)].into_iter().enumerate()
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

#[test]
fn pso_own() {
    check_random(14, HistoryModel::PsoOwn);
}

#[test]
fn larger_ones() {
    // Too large for brute force: all methods agree, and what they say is accepted.
    let wide = OpsSize { threads: 16, vars: 2, ops: 60, fences: 9, updates: 6 };
    let one = OpsSize { threads: 10, vars: 1, ops: 30, fences: 0, updates: 0 };
    let long = OpsSize { threads: 5, vars: 4, ops: 80, fences: 9, updates: 6 };
    for (i, size) in [wide, one, long].into_iter().enumerate() {
        check_ops(1_000_000 * i as u64, 600, size, &|ops| {
            STRONG.iter().any(|&model| {
                let mut verdicts = METHODS.iter().map(|&method| certified(ops, model, method));
                let first = verdicts.next().flatten();
                first.is_none() || verdicts.any(|verdict| verdict != first)
            })
        });
    }
}

const STRONG: [HistoryModel; 3] = [HistoryModel::Sc, HistoryModel::Tso, HistoryModel::Pso];

/// Whether some values make all clauses true.
fn can_be_true(clauses: &[Vec<i32>]) -> bool {
    let vars = clauses.iter().flatten().map(|literal| literal.abs()).max().unwrap_or(0);
    let holds = |values: u32, literal: i32| (values >> literal.abs() & 1 == 1) == (literal > 0);
    (0..2 << vars)
        .any(|values: u32| clauses.iter().all(|c| c.iter().any(|&literal| holds(values, literal))))
}

/// All methods and models say about the history what is true of its clauses.
fn check_clauses(clauses: &[Vec<i32>], expect: bool, models: &[HistoryModel], methods: &[Method]) {
    let expect = if expect { Verdict::Holds } else { Verdict::Violated };
    for &model in models {
        let ops = ops_of_clauses(clauses, model != HistoryModel::Sc);
        // A hundred operations that may come in any order are a million clauses.
        let is_plain = |method: &Method| method.complete == Complete::Sat && !method.saturate;
        for &method in methods.iter().filter(|method| ops.len() < 100 || !is_plain(method)) {
            let found = certified(&ops, model, method);
            assert_eq!(found.as_ref(), Some(&expect), "{clauses:?} {model:?} {method:?}");
        }
    }
}

#[test]
fn clauses_as_histories() {
    let mut rng = Rng::new(1);
    let mut count = [0, 0];
    for _ in 0..scaled(800) {
        let vars = 1 + rng.below(2);
        let clauses = 1 + rng.below(8);
        let clauses = random_3_sat(&mut rng, vars, clauses);
        let expect = can_be_true(&clauses);
        count[usize::from(expect)] += 1;
        check_clauses(&clauses, expect, &STRONG, &METHODS);
    }
    assert!(count[0] > scaled(80) && count[1] > scaled(80), "{count:?}");
}

#[test]
fn hard_clauses_as_histories() {
    let mut rng = Rng::new(2);
    // Under PSO every thread has a chain per variable, which is a lot here.
    let (models, by_sat) = (&STRONG[..2], &METHODS[..1]);
    for _ in 0..20 {
        let clauses = random_3_sat(&mut rng, 15, 66);
        check_clauses(&clauses, can_be_true(&clauses), models, by_sat);
    }
    for holes in 2..=4 {
        check_clauses(&pigeonhole(holes + 1, holes), false, models, by_sat);
        check_clauses(&pigeonhole(holes, holes), true, models, by_sat);
    }
}

/// So many threads that each write the same variable and read what they wrote.
fn many_writers(threads: u32) -> History {
    let mut ops = History::new();
    for thread in 0..threads {
        ops.thread();
        ops.push(OpKind::Write, 0, INITIAL);
        ops.push(OpKind::Read, 0, 2 * thread);
    }
    ops
}

#[test]
fn many_open_pairs() {
    // A million pairs are open: SAT needs variables for none of them, to try all takes memory.
    let ops = many_writers(1500);
    let limits = Limits { memory: Some(60 << 20), ..NO_LIMITS };
    let check = |method| {
        let answer = check(&ops, HistoryModel::Sc, method, &limits, &mut Silent);
        answer.map(|answer| answer.verdict.clone())
    };
    assert_eq!(check(METHODS[0]), Ok(Verdict::Holds));
    let too_much = Ok(Verdict::Unknown(Limit::Memory(60 << 20)));
    assert!(METHODS[1..].iter().all(|&method| check(method) == too_much));
}
