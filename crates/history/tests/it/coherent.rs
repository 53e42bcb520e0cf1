//! Coherence against its definition on random histories, and on long ones; every answer comes with
//! evidence that the checker accepts.

use weakspot_core::history::satisfies;
use weakspot_core::testing::{OpsSize, OpsSource, Rng, check_ops, mutate_ops, random_ops};
use weakspot_core::{
    History, HistoryEvidence, HistoryModel, INITIAL, Limits, OpKind, Silent, Verdict,
};
use weakspot_history::{Answer, Complete, DecidedBy, Method, check};

fn ask(ops: &History) -> Answer {
    let method = Method { complete: Complete::Auto, saturate: true };
    let model = HistoryModel::Coherence;
    let answer = check(ops, model, method, &Limits::UNLIMITED, &mut Silent).expect("evidence");
    assert!(answer.certification().is_checked());
    assert_eq!(answer.decided_by, DecidedBy::Location);
    answer.into_answer()
}

#[test]
fn as_defined() {
    let sizes = [
        (OpsSize { threads: 4, vars: 3, ops: 12, fences: 8, updates: 4 }, 80_000),
        (OpsSize { threads: 4, vars: 1, ops: 9, fences: 0, updates: 3 }, 80_000),
        (OpsSize { threads: 3, vars: 2, ops: 16, fences: 8, updates: 2 }, 16_000),
        (OpsSize { threads: 6, vars: 1, ops: 12, fences: 0, updates: 0 }, 16_000),
    ];
    for (i, (size, count)) in sizes.into_iter().enumerate() {
        check_ops(7_000_000 * i as u64, count, size, &|ops| {
            let expect = satisfies(ops, HistoryModel::Coherence);
            (ask(ops).verdict == Verdict::Holds) != expect
        });
    }
}

/// Too long for the definition: that evidence is accepted says enough.
#[test]
fn long_histories() {
    let mut verdicts = [0, 0];
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let threads = 2 + rng.below(7);
        let vars = 1 + rng.below(30);
        let size = OpsSize { threads, vars, ops: 6_000, fences: 40, updates: 3 };
        let source = OpsSource::ALL[seed as usize % 3];
        let mut ops = random_ops(&mut rng, size, source);
        assert_eq!(ask(&ops).verdict, Verdict::Holds, "seed {seed}");
        mutate_ops(&mut rng, &mut ops, 1 + seed as usize % 3);
        verdicts[usize::from(ask(&ops).verdict == Verdict::Violated)] += 1;
    }
    assert!(verdicts[0] > 0 && verdicts[1] > 20, "{verdicts:?}");
}

/// A circle through many blocks, and one through the far ends of long chains of updates.
#[test]
fn long_cycles() {
    let mut ops = History::new();
    let n = 1_000;
    // Thread t writes t and then reads what thread t + 1 writes.
    for t in 0..n {
        ops.thread();
        ops.push(OpKind::Write, 0, INITIAL);
        ops.push(OpKind::Read, 0, 2 * ((t + 1) % n));
    }
    let edges = |ops: &History| match ask(ops).evidence.as_deref() {
        Some(HistoryEvidence::Cycle(cycle)) => cycle.edges.len(),
        other => panic!("{other:?}"),
    };
    assert_eq!(edges(&ops), n as usize);
    // A shortcut is found: thread 500 is told to read what thread 499 writes.
    ops.set_from(2 * 500 + 1, 2 * 499);
    assert_eq!(edges(&ops), 2);

    let mut ops = History::new();
    ops.thread();
    ops.push(OpKind::Write, 0, INITIAL);
    (0..n).for_each(|i| ops.push(OpKind::Update, 0, i));
    ops.thread();
    let other = ops.len() as u32;
    ops.push(OpKind::Write, 0, INITIAL);
    (0..n).for_each(|i| ops.push(OpKind::Update, 0, other + i));
    ops.thread();
    ops.push(OpKind::Read, 0, 0);
    ops.push(OpKind::Read, 0, other + n);
    ops.thread();
    ops.push(OpKind::Read, 0, other);
    ops.push(OpKind::Read, 0, n);
    match ask(&ops).evidence.as_deref() {
        Some(HistoryEvidence::Cycle(cycle)) => assert!(cycle.derivations.len() > n as usize),
        other => panic!("{other:?}"),
    }
    // One stale read at the end of a long log: two pairs of accesses show it, wherever the others came by.
    let mut ops = History::new();
    ops.thread();
    (0..n).for_each(|_| ops.push(OpKind::Write, 0, INITIAL));
    for last in [None, Some(1)] {
        ops.thread();
        (0..n).for_each(|i| ops.push(OpKind::Read, 0, i));
        last.into_iter().for_each(|w| ops.push(OpKind::Read, 0, w));
    }
    assert_eq!(edges(&ops), 2);
    // Updates that read each other.
    let mut ops = History::new();
    for from in [1, 2, 0] {
        ops.thread();
        ops.push(OpKind::Update, 0, from);
    }
    assert_eq!(edges(&ops), 3);
}

#[test]
fn a_million_operations() {
    let size = OpsSize { threads: 8, vars: 200, ops: 1_000_000, fences: 100, updates: 10 };
    let ops = random_ops(&mut Rng::new(1), size, OpsSource::Tso);
    let start = std::time::Instant::now();
    assert_eq!(ask(&ops).verdict, Verdict::Holds);
    let time = start.elapsed();
    assert!(time.as_secs() < 30, "{time:?}");
}
