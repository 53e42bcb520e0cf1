//! Models that are about real time: what they mean, by all orders, by axioms and by machines with a
//! clock; and what follows from what.

use weakspot_core::history::{RealTime, machine_allows, satisfies};
use weakspot_core::testing::{
    OpsSize, OpsSource, Rng, any_times, check_ops, mutate_ops, scaled, small_ops, timed_ops,
};
use weakspot_core::{History, HistoryModel, INITIAL, OpKind, Times};

const TIMED: [HistoryModel; 2] = [HistoryModel::Lin, HistoryModel::TsoRt];

/// A small history with any times.
fn with_any_times(ops: &History) -> History {
    let mut ops = ops.clone();
    // Shrinking changes the length, and so the times: what fails has its own times then.
    if !ops.has_times() {
        any_times(&mut Rng::new(ops.len() as u64), &mut ops);
    }
    ops
}

fn random(seed: u64) -> History {
    let rng = &mut Rng::new(seed);
    let size = OpsSize { threads: 4, vars: 2, ops: 9, fences: 8, updates: 4 };
    if rng.one_in(2) {
        let mut ops = small_ops(rng, size);
        any_times(rng, &mut ops);
        return ops;
    }
    let source = OpsSource::ALL[rng.below(3)];
    let (overlap, changes) = (rng.below(6), rng.below(3));
    let mut ops = timed_ops(rng, size, source, overlap);
    mutate_ops(rng, &mut ops, changes);
    ops
}

/// Whether it is known of all operations when they began and ended.
fn are_known(ops: &History) -> bool {
    let mut all = (0..ops.len() as u32).map(|op| ops.times(op));
    all.all(|times| times.start != i64::MIN && times.end != i64::MAX)
}

/// By all orders of all operations, without anything that the models share.
fn is_linearizable(ops: &History) -> bool {
    fn extends(ops: &History, order: &mut Vec<u32>) -> bool {
        if order.len() == ops.len() {
            return true;
        }
        (0..ops.len() as u32).any(|op| {
            let comes_before = |a: u32| {
                let (first, second) = (ops.times(a), ops.times(op));
                let same = ops.thread_of(a) == ops.thread_of(op);
                same && a < op || first.end < second.start
            };
            let is_left = |a: &u32| !order.contains(a);
            let is_next = is_left(&op)
                && !(0..ops.len() as u32).filter(is_left).any(|a| a != op && comes_before(a));
            let writes_it = |&&w: &&u32| ops.writes(w) && ops.var(w) == ops.var(op);
            let last = order.iter().rev().find(writes_it).copied();
            let is_right = !ops.reads(op) || ops.from(op) == last;
            if !(is_next && is_right) {
                return false;
            }
            order.push(op);
            let found = extends(ops, order);
            order.pop();
            found
        })
    }
    extends(ops, &mut Vec::new())
}

#[test]
fn axioms_and_machines_agree() {
    let mut verdicts = [[0; 2]; 2];
    for seed in 0..scaled(40_000) as u64 {
        let ops = random(seed);
        assert!(ops.is_well_formed());
        for (i, model) in TIMED.into_iter().enumerate() {
            let holds = satisfies(&ops, model);
            assert_eq!(machine_allows(&ops, model, usize::MAX), Some(holds), "{model:?} {seed}");
            verdicts[i][usize::from(holds)] += 1;
        }
    }
    assert!(verdicts.as_flattened().iter().all(|&n| n > scaled(1_000)), "{verdicts:?}");
}

/// Where all times are known: else those of its neighbours say something about an operation.
#[test]
fn linearizable_by_all_orders() {
    let size = OpsSize { threads: 3, vars: 2, ops: 7, fences: 8, updates: 4 };
    check_ops(5_000_000, 10_000, size, &|ops| {
        let ops = with_any_times(ops);
        are_known(&ops) && is_linearizable(&ops) != satisfies(&ops, HistoryModel::Lin)
    });
}

#[test]
fn sources_keep_their_promises() {
    let size = OpsSize { threads: 4, vars: 2, ops: 10, fences: 10, updates: 6 };
    for seed in 0..scaled(2_000) as u64 {
        let rng = &mut Rng::new(seed);
        let overlap = rng.below(8);
        assert!(satisfies(&timed_ops(rng, size, OpsSource::Sc, overlap), HistoryModel::Lin));
        assert!(satisfies(&timed_ops(rng, size, OpsSource::Tso, overlap), HistoryModel::TsoRt));
    }
}

#[test]
fn what_implies_what() {
    let models = [HistoryModel::Lin, HistoryModel::Sc, HistoryModel::TsoRt, HistoryModel::Tso];
    let mut separated = [[0; 4]; 4];
    for seed in 0..scaled(20_000) as u64 {
        let ops = random(seed);
        let holds = models.map(|model| satisfies(&ops, model));
        for i in 0..4 {
            for j in 0..4 {
                separated[i][j] += usize::from(holds[i] && !holds[j]);
            }
        }
        // Without times nothing is left of real time.
        let mut without = ops.clone();
        without.set_times(Vec::new());
        assert_eq!(satisfies(&without, HistoryModel::Lin), holds[1], "seed {seed}");
        assert_eq!(satisfies(&without, HistoryModel::TsoRt), holds[3], "seed {seed}");
    }
    for (i, strong) in models.into_iter().enumerate() {
        for (j, weak) in models.into_iter().enumerate() {
            let implies = i == j || i == 0 || j == 3;
            assert_eq!(separated[i][j] == 0, implies, "{strong:?} {weak:?} {separated:?}");
        }
    }
}

/// Herlihy and Wing: a history is linearizable if the operations on each variable are, provided that
/// a thread's operations do not even touch.
#[test]
fn locality() {
    let touches = |ops: &History| {
        let time = RealTime::of(ops);
        (1..ops.len() as u32)
            .any(|b| ops.thread_of(b - 1) == ops.thread_of(b) && !time.is_before(b - 1, b))
    };
    let mut local = 0;
    for seed in 0..scaled(40_000) as u64 {
        let ops = random(seed);
        if !are_known(&ops) {
            continue;
        }
        let each = (0..ops.vars() as u32).all(|x| satisfies(&only(&ops, x), HistoryModel::Lin));
        let whole = satisfies(&ops, HistoryModel::Lin);
        match touches(&ops) {
            false => assert_eq!(each, whole, "seed {seed}"),
            true => assert!(each || !whole, "seed {seed}"),
        }
        local += usize::from(!touches(&ops) && whole);
    }
    assert!(local > scaled(1_000), "{local}");
    // Store buffering, all at the same time.
    let mut ops = History::new();
    for (mine, other) in [(0, 1), (1, 0)] {
        ops.thread();
        ops.push(OpKind::Write, mine, INITIAL);
        ops.push(OpKind::Read, other, INITIAL);
    }
    ops.set_times(vec![Times { start: 5, end: 5 }; 4]);
    assert!((0..2).all(|x| satisfies(&only(&ops, x), HistoryModel::Lin)));
    assert!(!satisfies(&ops, HistoryModel::Lin) && satisfies(&ops, HistoryModel::TsoRt));
}

/// The operations on one variable.
fn only(ops: &History, x: u32) -> History {
    let kept: Vec<u32> = (0..ops.len() as u32)
        .filter(|&op| ops.kind(op) != OpKind::Fence && ops.var(op) == x)
        .collect();
    let mut part = History::new();
    for thread in 0..ops.threads() {
        part.thread();
        for op in kept.iter().copied().filter(|&op| ops.thread_of(op) == thread) {
            let number = |w: u32| kept.binary_search(&w).expect("a write to it") as u32;
            part.push(ops.kind(op), 0, ops.from(op).map_or(INITIAL, number));
        }
    }
    part.set_times(kept.iter().map(|&op| ops.times(op)).collect());
    part
}

#[test]
fn times_that_cannot_be() {
    let mut ops = History::new();
    ops.thread();
    ops.push(OpKind::Write, 0, INITIAL);
    ops.push(OpKind::Read, 0, 0);
    let mut with = |times: &[(i64, i64)]| {
        let times = times.iter().map(|&(start, end)| Times { start, end }).collect();
        ops.set_times(times);
        ops.is_well_formed()
    };
    assert!(with(&[(0, 1), (1, 2)]));
    assert!(with(&[(0, i64::MAX), (1, 2)]));
    assert!(!with(&[(0, 1), (3, 2)]));
    assert!(!with(&[(0, 3), (2, 4)]));
    assert!(!with(&[(5, i64::MAX), (i64::MIN, 4)]));
    assert!(!with(&[(0, 1)]));
}

/// Where times are missing, those of its neighbours in the thread bound an operation.
#[test]
fn times_of_neighbours() {
    const NO: (i64, i64) = (i64::MIN, i64::MAX);
    let of = |threads: &[&[(i64, i64)]]| -> Vec<(i64, i64)> {
        let mut ops = History::new();
        let mut times = Vec::new();
        for thread in threads {
            ops.thread();
            for &(start, end) in *thread {
                ops.push(OpKind::Fence, 0, INITIAL);
                times.push(Times { start, end });
            }
        }
        ops.set_times(times);
        let time = RealTime::of(&ops);
        (0..ops.len() as u32).map(|op| time.times(op)).map(|t| (t.start, t.end)).collect()
    };
    assert_eq!(of(&[&[(1, 2), NO, (5, 6)], &[NO]]), [(1, 2), (2, 5), (5, 6), NO]);
    assert_eq!(of(&[&[NO], &[NO, (5, 6), NO]]), [NO, (i64::MIN, 5), (5, 6), (6, i64::MAX)]);
    // What is known of one end only.
    assert_eq!(of(&[&[(1, i64::MAX), NO, (i64::MIN, 9)]]), [(1, 9), (1, 9), (1, 9)]);
}
