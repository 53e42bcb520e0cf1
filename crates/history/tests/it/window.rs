//! Windows of histories that are still being written: what they find is there, what fits into one
//! is found, and memory stays as it is.

use std::collections::HashMap;

use weakspot_core::history::satisfies;
use weakspot_core::testing::{OpsSize, OpsSource, Rng, check_ops, random_ops, scaled, show_ops};
use weakspot_core::{
    History, HistoryModel, Limit, Limits, LoggedOp, OpKind, OpNames, SaidFrom, Silent, Times,
    Verdict,
};
use weakspot_history::{
    Broken, Complete, Excerpt, Following, Method, RefusedWhy, Stopped, Window, check, classify_open,
};

const METHOD: Method = Method { complete: Complete::Auto, saturate: true };
const LIMITS: Limits =
    Limits { time: None, memory: None, buffer: 0, workers: 1, ..Limits::UNLIMITED };

/// The operations in some order that keeps the order of each thread.
fn logged(ops: &History, rng: &mut Rng) -> Vec<LoggedOp> {
    let mut next: Vec<u32> = (0..ops.threads()).map(|t| ops.of_thread(t).start).collect();
    let mut log = Vec::new();
    while log.len() < ops.len() {
        let t = rng.below(ops.threads());
        if next[t] < ops.of_thread(t).end {
            log.push(one(ops, next[t], log.len() as u32 + 1));
            next[t] += 1;
        }
    }
    log
}

/// An operation; each writes its own number, plus one.
fn one(ops: &History, op: u32, line: u32) -> LoggedOp {
    let source = ops.from(op).map_or(0, |w| i64::from(w) + 1);
    let kind = ops.kind(op);
    LoggedOp {
        times: ops.times(op),
        thread: ops.thread_of(op) as u32,
        kind,
        var: ops.var(op),
        value: match kind {
            OpKind::Read => source,
            OpKind::Fence => 0,
            OpKind::Write | OpKind::Update => i64::from(op) + 1,
        },
        old: if kind == OpKind::Update { source } else { 0 },
        from: None,
        line,
        column: 1,
    }
}

/// Every window of a log, and what it looks like after every operation.
fn every_excerpt(log: &[LoggedOp], size: usize, mut seen: impl FnMut(&Excerpt)) {
    let mut window = Window::new(size);
    for &op in log {
        if window.is_full() {
            window.slide();
        }
        window.add(op, &[]);
        let excerpt = window.excerpt(false).unwrap();
        assert!(excerpt.ops.is_well_formed());
        assert_eq!(excerpt.lines.len(), excerpt.ops.len());
        seen(&excerpt);
    }
}

#[test]
fn no_window_violates_what_the_history_satisfies() {
    let size = OpsSize { threads: 3, vars: 2, ops: 9, fences: 4, updates: 3 };
    check_ops(1, 16_000, size, &|ops| {
        let held: Vec<HistoryModel> =
            HistoryModel::ALL.into_iter().filter(|&model| satisfies(ops, model)).collect();
        let mut rng = Rng::new(ops.len() as u64);
        (0..3).any(|_| {
            let log = logged(ops, &mut rng);
            let mut wrong = false;
            every_excerpt(&log, 2 + rng.below(6), |excerpt| {
                wrong |= held.iter().any(|&model| !satisfies(&excerpt.ops, model));
            });
            wrong
        })
    });
}

/// What each kind of memory guarantees.
fn satisfied(source: OpsSource) -> &'static [HistoryModel] {
    use HistoryModel::{Cc, Ccv, Cm, Coherence, Pso, Tso, Wccm};
    match source {
        OpsSource::Sc => &HistoryModel::ALL,
        OpsSource::Tso => &[Tso, Pso, Coherence, Wccm, Cc, Ccv],
        OpsSource::Pso => &[Pso, Coherence],
        OpsSource::Causal => &[Cc, Cm],
        OpsSource::Convergent => &[Cc, Ccv],
    }
}

fn follow(log: &[LoggedOp], size: usize, models: &[HistoryModel]) -> (Following, Vec<Broken>) {
    let mut following = Following::new(size, models, METHOD, &LIMITS);
    let mut found = Vec::new();
    let mut rng = Rng::new(log.len() as u64);
    let mut rest = log;
    while !rest.is_empty() {
        let (now, later) = rest.split_at(1 + rng.below(rest.len()));
        following.add(now, &[], &mut found, &mut Silent).unwrap();
        // As if nothing had come for a while.
        if rng.one_in(3) {
            following.check(false, &mut found, &mut Silent).unwrap();
        }
        rest = later;
    }
    following.check(true, &mut found, &mut Silent).unwrap();
    (following, found)
}

#[test]
fn long_histories_of_a_memory_violate_nothing_that_it_guarantees() {
    let mut rng = Rng::new(2);
    for round in 0..scaled(1600) {
        let source = OpsSource::ALL[round % 5];
        let size = OpsSize {
            threads: 2 + rng.below(4),
            vars: 1 + rng.below(5),
            ops: 300,
            fences: 9 * rng.below(2),
            updates: if matches!(source, OpsSource::Causal | OpsSource::Convergent) {
                0
            } else {
                5
            },
        };
        let ops = random_ops(&mut rng, size, source);
        let log = logged(&ops, &mut rng);
        let (following, found) = follow(&log, 4 + rng.below(60), satisfied(source));
        if let Some(broken) = found.first() {
            panic!("round {round}, {:?}: {}", broken.found.model, show_ops(&broken.excerpt.ops));
        }
        // SAT decides no more than a few; the window is what is not enough.
        for &model in satisfied(source) {
            assert!(matches!(following.verdict(model), Verdict::Unknown(_)), "{model:?}");
        }
    }
}

#[test]
fn a_history_that_fits_into_the_window_has_its_own_verdict() {
    let size = OpsSize { threads: 4, vars: 3, ops: 12, fences: 6, updates: 4 };
    check_ops(3, 12_000, size, &|ops| {
        let mut rng = Rng::new(ops.len() as u64);
        let log = logged(ops, &mut rng);
        let (following, found) = follow(&log, ops.len().max(2), &HistoryModel::ALL);
        HistoryModel::ALL.into_iter().any(|model| {
            let verdict = match found.iter().any(|broken| broken.found.model == model) {
                true => Verdict::Violated,
                false => following.verdict(model),
            };
            let answer = check(ops, model, METHOD, &LIMITS, &mut Silent).expect("evidence");
            let is_checked = following.certification(model).is_checked();
            verdict != answer.verdict || verdict == Verdict::Holds && !is_checked
        })
    });
}

/// Puts the operations of one log into another at a place, of other variables.
fn embedded(outer: &[LoggedOp], inner: &[LoggedOp], at: usize, vars: u32) -> Vec<LoggedOp> {
    let moved = inner.iter().map(|&op| LoggedOp { var: op.var + vars, ..op });
    let mut log = outer[..at].to_vec();
    log.extend(moved);
    log.extend_from_slice(&outer[at..]);
    for (op, line) in log.iter_mut().zip(1..) {
        op.line = line;
    }
    log
}

#[test]
fn what_violates_a_model_within_half_a_window_is_found() {
    let mut rng = Rng::new(4);
    let mut count: HashMap<HistoryModel, usize> = HashMap::new();
    for _ in 0..scaled(6000) {
        let size = OpsSize { threads: 3, vars: 3, ops: 12, fences: 0, updates: 0 };
        let mut inner = random_ops(&mut rng, size, OpsSource::Sc);
        weakspot_core::testing::mutate_ops(&mut rng, &mut inner, 3);
        let violated: Vec<HistoryModel> =
            HistoryModel::ALL.into_iter().filter(|&model| !satisfies(&inner, model)).collect();
        let size = OpsSize { threads: 3, vars: 4, ops: 300, fences: 0, updates: 0 };
        let outer = logged(&random_ops(&mut rng, size, OpsSource::Sc), &mut rng);
        let at = rng.below(outer.len());
        let log = embedded(&outer, &logged(&inner, &mut rng), at, 4);
        let (following, found) = follow(&log, 24 + rng.below(30), &violated);
        assert!(following.open().is_empty(), "{:?} of\n{}", following.open(), show_ops(&inner));
        for broken in found {
            *count.entry(broken.found.model).or_default() += 1;
            assert!(broken.arrived >= at as u64 && broken.arrived <= (at + 12 + 54) as u64);
            assert!(broken.excerpt.lines.iter().all(|&line| line as u64 <= broken.arrived));
        }
    }
    for model in HistoryModel::ALL {
        assert!(count[&model] > scaled(400), "{model:?}: {count:?}");
    }
}

fn op(thread: u32, kind: OpKind, var: u32, value: i64) -> LoggedOp {
    LoggedOp {
        thread,
        kind,
        var,
        value,
        old: 0,
        from: None,
        line: 1,
        column: 1,
        times: Times::UNKNOWN,
    }
}

#[test]
fn memory_does_not_grow_with_the_history() {
    for vars in [1, 10, 3_000] {
        let (size, threads) = (1_000, 5);
        let mut window = Window::new(size);
        let (mut most_early, mut most) = (0, 0);
        let mut last = vec![0; vars];
        let mut rng = Rng::new(5);
        for i in 0..600_000i64 {
            if window.is_full() {
                let excerpt = window.excerpt(false).unwrap();
                // At most each operation as three, and a write between fences for each read.
                assert!(excerpt.ops.len() <= 6 * size && excerpt.ops.vars() <= 2 * size);
                window.slide();
            }
            // First all in turn, then some often, and most seldom; some reads are of nobody.
            let x = match i < 200_000 {
                true => i as usize % vars,
                false => rng.below(vars).min(rng.below(vars)),
            };
            let thread = rng.below(threads) as u32;
            let op = match rng.below(4) {
                0 => LoggedOp { old: last[x], ..op(thread, OpKind::Update, x as u32, i + 1) },
                1 => op(thread, OpKind::Write, x as u32, i + 1),
                2 => op(thread, OpKind::Read, x as u32, last[x]),
                _ => op(thread, OpKind::Read, x as u32, -i - 1),
            };
            if op.writes() {
                last[x] = op.value;
            }
            window.add(op, &[]);
            match i < 200_000 {
                true => most_early = most_early.max(window.bytes()),
                false => most = most.max(window.bytes()),
            }
        }
        assert!(most <= most_early, "{vars} variables: {most_early}, then {most}");
        assert!(most < 300 * size + 700 * vars, "{vars} variables: {most}");
        assert!(window.left_out() > 100_000);
    }
}

#[test]
fn writes_are_remembered_for_later_reads() {
    let mut window = Window::new(4);
    window.add(op(0, OpKind::Write, 0, 7), &[]);
    for i in 1..100 {
        if window.is_full() {
            window.excerpt(false).unwrap();
            window.slide();
        }
        window.add(op(1, OpKind::Write, 1, i), &[]);
    }
    while window.is_full() {
        window.slide();
    }
    window.add(op(1, OpKind::Read, 0, 7), &[]);
    let excerpt = window.excerpt(true).unwrap();
    assert_eq!(show_ops(&excerpt.ops).lines().next(), Some("thread 0:  0: w x0"));
    assert!(show_ops(&excerpt.ops).contains("r x0 <- 0"), "{}", show_ops(&excerpt.ops));
    // A value that is not remembered is left out, because it may have been written.
    window.add(op(0, OpKind::Read, 1, 3), &[]);
    assert_eq!(window.excerpt(true).unwrap().ops.len(), excerpt.ops.len());
    assert_eq!(window.left_out(), 1);
}

#[test]
fn an_update_of_what_is_not_known_is_a_write_between_fences() {
    let mut window = Window::new(8);
    let update = LoggedOp { old: 5, ..op(0, OpKind::Update, 0, 6) };
    window.add(update, &[]);
    window.add(op(1, OpKind::Read, 0, 6), &[]);
    let shown = show_ops(&window.excerpt(false).unwrap().ops);
    assert_eq!(shown, "thread 0:  0: fence  1: w x0  2: fence\nthread 1:  3: r x0 <- 1\n");
    // Until its write comes.
    window.add(op(1, OpKind::Write, 0, 5), &[]);
    let shown = show_ops(&window.excerpt(false).unwrap().ops);
    assert_eq!(shown, "thread 0:  0: u x0 <- 2\nthread 1:  1: r x0 <- 0  2: w x0\n");
}

fn refused(log: &[LoggedOp], at_end: bool) -> Option<(usize, RefusedWhy)> {
    let mut window = Window::new(100);
    for (i, &op) in log.iter().enumerate() {
        let op = LoggedOp { line: i as u32 + 1, ..op };
        let initial = [0, 7, 0];
        window.add(op, &initial);
    }
    let refused = window.excerpt(at_end).err()?;
    assert!(!refused.message(&OpNames::default()).is_empty());
    Some((refused.op.line as usize, refused.why))
}

#[test]
fn wrong_histories_are_refused_at_their_place() {
    use OpKind::{Read, Write};
    let nobody = [op(0, Write, 0, 1), op(1, Read, 0, 2)];
    assert_eq!(refused(&nobody, false), None);
    assert_eq!(refused(&nobody, true), Some((2, RefusedWhy::WrittenByNobody)));
    let itself = [LoggedOp { old: 3, ..op(0, OpKind::Update, 0, 3) }];
    // Another write of 3 may still come.
    assert_eq!(refused(&itself, false), None);
    assert_eq!(refused(&itself, true), Some((1, RefusedWhy::WrittenByNobody)));
    assert_eq!(refused(&[itself[0], op(1, Write, 0, 3)], true), None);

    let from = |from, read: LoggedOp| LoggedOp { from: Some(from), ..read };
    let said = [
        op(0, Write, 0, 1),
        op(1, Write, 0, 1),
        from(SaidFrom::Op(1, 0), op(0, Read, 0, 1)),
        from(SaidFrom::Initial, op(0, Read, 1, 7)),
        op(1, Write, 1, 7),
    ];
    assert_eq!(refused(&said, true), None);
    let mut wrong = said;
    wrong[2] = from(SaidFrom::Op(0, 1), op(0, Read, 0, 1));
    assert_eq!(refused(&wrong, false), Some((3, RefusedWhy::SaidWrong(0, 1))));
    wrong[2] = from(SaidFrom::Op(0, 9), op(0, Read, 0, 1));
    assert_eq!(refused(&wrong, false), None);
    assert_eq!(refused(&wrong, true), Some((3, RefusedWhy::WrittenByNobody)));
    wrong[1] = from(SaidFrom::Op(0, 0), op(1, Read, 0, 1));
    wrong[2] = op(1, Write, 0, 1);
    wrong[3] = from(SaidFrom::Initial, op(0, Read, 1, 8));
    assert_eq!(refused(&wrong, false), Some((4, RefusedWhy::InitialDiffers(7))));
}

/// A log of threads that take turns on one memory, with values that repeat; some reads are changed.
fn repeating(rng: &mut Rng, len: usize, changes: usize) -> Vec<LoggedOp> {
    let mut memory = [0; 2];
    let mut log: Vec<LoggedOp> = Vec::new();
    for line in 0..len {
        let (thread, var) = (rng.below(3) as u32, rng.below(2));
        let (value, old) = (rng.below(4) as i64, memory[var]);
        let kind = [OpKind::Read, OpKind::Read, OpKind::Write, OpKind::Update][rng.below(4)];
        let new = if kind == OpKind::Read { old } else { value };
        memory[var] = new;
        let old = if kind == OpKind::Update { old } else { 0 };
        log.push(LoggedOp { line: line as u32 + 1, old, ..op(thread, kind, var as u32, new) });
    }
    for _ in 0..changes {
        let at = rng.below(len);
        if log[at].kind == OpKind::Read {
            log[at].value = rng.below(4) as i64;
        }
    }
    log
}

/// What memory did is no violation, however small the windows are.
#[test]
fn repeated_values_are_left_out() {
    let mut left_out = 0;
    for seed in 0..scaled(2_000) as u64 {
        let rng = &mut Rng::new(seed);
        let log = repeating(rng, 40, 0);
        let (following, found) = follow(&log, 4 + rng.below(30), &[HistoryModel::Sc]);
        assert!(found.is_empty(), "seed {seed}");
        left_out += following.window().left_out();
    }
    assert!(left_out > scaled(4_000) as u64, "{left_out}");
}

/// In a window that has all of a history, repeated values are decided as without windows.
#[test]
fn repeated_values_in_a_whole_window() {
    let mut ends = [0, 0];
    for seed in 0..scaled(3_000) as u64 {
        let rng = &mut Rng::new(seed);
        let changes = rng.below(3);
        let log = repeating(rng, 9, changes);
        let mut window = Window::new(100);
        log.iter().for_each(|&op| window.add(op, &[]));
        let Ok(excerpt) = window.excerpt(true) else { continue };
        if window.left_out() > 0 {
            continue;
        }
        let (ops, open) = (&excerpt.ops, &excerpt.open);
        let model = [HistoryModel::Sc, HistoryModel::Coherence][rng.below(2)];
        let one = classify_open(ops, open, model, METHOD, &LIMITS, &mut Silent);
        let expected = one.expect("good evidence").found.answer.verdict.clone();
        let (following, found) = follow(&log, 100, &[model]);
        match expected {
            Verdict::Violated => assert_eq!(found.len(), 1, "seed {seed}"),
            _ => assert_eq!(following.verdict(model), expected, "seed {seed}"),
        }
        assert!(changes > 0 || expected == Verdict::Holds, "seed {seed}");
        ends[usize::from(expected == Verdict::Holds)] += usize::from(!open.is_empty());
    }
    assert!(ends.iter().all(|&n| n > scaled(100)), "{ends:?}");
}

#[test]
fn a_longer_history_is_not_known_to_satisfy_anything() {
    let log: Vec<LoggedOp> = (1..20).map(|i| op(0, OpKind::Write, 0, i)).collect();
    let (following, found) = follow(&log, 10, &[HistoryModel::Sc]);
    assert!(found.is_empty());
    assert_eq!(following.verdict(HistoryModel::Sc), Verdict::Unknown(Limit::Window(10)));
    let (following, _) = follow(&log, 19, &[HistoryModel::Sc]);
    assert_eq!(following.verdict(HistoryModel::Sc), Verdict::Holds);
    let mut following = Following::new(10, &[HistoryModel::Sc], METHOD, &LIMITS);
    let wrong = [op(0, OpKind::Read, 0, 1)];
    following.add(&wrong, &[], &mut Vec::new(), &mut Silent).unwrap();
    let stopped = following.check(true, &mut Vec::new(), &mut Silent);
    assert!(matches!(stopped, Err(Stopped::Refused(_))));
}

/// Few values, so that many are written twice, also after they were read and after their first write was forgotten: what is
/// told is what the whole history says, whichever writes were read.
#[test]
fn values_that_are_written_again_later() {
    let models = [HistoryModel::Coherence, HistoryModel::Sc, HistoryModel::Tso];
    let (mut violated, mut held, mut unknown) = (0, 0, 0);
    for seed in 0..scaled(20_000) as u64 {
        let rng = &mut Rng::new(seed);
        let values = 2 + rng.below(3);
        let log: Vec<LoggedOp> =
            (0..3 + rng.below(9)).map(|i| few_values(rng, i, values)).collect();
        let mut whole = Window::new(100);
        log.iter().for_each(|&op| whole.add(op, &[]));
        // Reads of values that nobody writes are refused.
        let Ok(excerpt) = whole.excerpt(true) else { continue };
        if whole.left_out() > 0 {
            continue;
        }
        let size = [3, 4, 6, 100][rng.below(4)];
        let (following, found) = follow(&log, size, &models);
        for model in models {
            let chosen =
                classify_open(&excerpt.ops, &excerpt.open, model, METHOD, &LIMITS, &mut Silent);
            let holds = chosen.unwrap().found.answer.verdict == Verdict::Holds;
            let verdict = match found.iter().any(|broken| broken.found.model == model) {
                true => Verdict::Violated,
                false => following.verdict(model),
            };
            match verdict {
                Verdict::Holds => assert!(holds, "seed {seed} {model:?} {log:?}"),
                Verdict::Violated => assert!(!holds, "seed {seed} {model:?} {log:?}"),
                Verdict::Unknown(_) => assert!(size < 100, "seed {seed}"),
            }
            violated += usize::from(verdict == Verdict::Violated);
            held += usize::from(verdict == Verdict::Holds);
            unknown += usize::from(matches!(verdict, Verdict::Unknown(_)));
        }
    }
    assert!(
        violated > scaled(500) && held > scaled(500) && unknown > scaled(500),
        "{violated} {held} {unknown}"
    );
}

/// The first write of 1 is forgotten when it is written again, but may be the one that was read.
#[test]
fn a_value_whose_first_write_is_forgotten() {
    use OpKind::{Read, Write};
    let mut log = vec![op(0, Write, 0, 1)];
    log.extend((10..30).map(|value| op(1, Write, 0, value)));
    log.extend([op(1, Write, 0, 2), op(3, Read, 0, 2), op(3, Write, 0, 1)]);
    log.extend([op(2, Read, 0, 1), op(2, Read, 0, 2)]);
    let (following, found) = follow(&log, 6, &[HistoryModel::Coherence]);
    assert!(found.is_empty() && following.window().left_out() > 0);
    // Of 5, which is not in what was forgotten, it is known which write was read.
    log.iter_mut().skip(1).filter(|op| op.value == 1).for_each(|op| op.value = 5);
    let (_, found) = follow(&log, 6, &[HistoryModel::Coherence]);
    assert_eq!(found.len(), 1);
}

/// What is promised not to happen is refused when it does.
#[test]
fn promised_values() {
    use OpKind::{Read, Write};
    let log = [op(0, Write, 0, 1), op(0, Read, 0, 0), op(1, Write, 0, 1)];
    let mut following = Following::new(100, &[HistoryModel::Coherence], METHOD, &LIMITS);
    following.promise_distinct();
    let mut found = Vec::new();
    following.add(&log[..2], &[], &mut found, &mut Silent).unwrap();
    following.check(false, &mut found, &mut Silent).unwrap();
    assert_eq!(found.len(), 1);
    following.add(&log[2..], &[], &mut found, &mut Silent).unwrap();
    let stopped = following.check(true, &mut found, &mut Silent);
    assert!(matches!(stopped, Err(Stopped::Refused(r)) if r.why == RefusedWhy::WrittenTwice));
}

/// An operation of three threads on two variables.
fn few_values(rng: &mut Rng, line: usize, values: usize) -> LoggedOp {
    let kind = [OpKind::Read, OpKind::Read, OpKind::Write, OpKind::Write, OpKind::Update];
    let kind = kind[rng.below(5)];
    LoggedOp {
        times: Times::UNKNOWN,
        thread: rng.below(3) as u32,
        kind,
        var: rng.below(2) as u32,
        value: rng.below(values) as i64,
        old: if kind == OpKind::Update { rng.below(values) as i64 } else { 0 },
        from: None,
        line: line as u32 + 1,
        column: 1,
    }
}
