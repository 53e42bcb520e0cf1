//! Models that are about real time against their definitions on random histories, and on long ones;
//! every answer comes with evidence that the checker accepts.

use weakspot_core::history::satisfies;
use weakspot_core::testing::{
    OpsSize, OpsSource, Rng, any_times, mutate_ops, scaled, show_ops, shrink_ops, small_ops,
    timed_ops,
};
use weakspot_core::{
    Certification, History, HistoryModel, Limit, Limits, LoggedOp, OpKind, Silent, Times, Verdict,
};
use weakspot_history::{Answer, Complete, DecidedBy, Following, Method, check, classify, minimise};

const METHOD: Method = Method { complete: Complete::Auto, saturate: true };

fn ask(ops: &History, model: HistoryModel, method: Method) -> Answer {
    let answer = check(ops, model, method, &Limits::UNLIMITED, &mut Silent);
    let answer = answer.unwrap_or_else(|why| panic!("{why:?}\n{}", show_ops(ops)));
    assert!(answer.certification().is_checked());
    answer.into_answer()
}

fn random(seed: u64, size: OpsSize) -> History {
    let rng = &mut Rng::new(seed);
    if rng.one_in(2) {
        let mut ops = small_ops(rng, size);
        any_times(rng, &mut ops);
        return ops;
    }
    let source = OpsSource::ALL[rng.below(3)];
    let (overlap, changes) = (rng.below(6), rng.below(3));
    let size =
        OpsSize { ops: 1 + rng.below(size.ops), threads: 1 + rng.below(size.threads), ..size };
    let mut ops = timed_ops(rng, size, source, overlap);
    mutate_ops(rng, &mut ops, changes);
    ops
}

fn as_defined(model: HistoryModel, counts: [usize; 3]) {
    let sizes = [
        OpsSize { threads: 4, vars: 3, ops: 11, fences: 8, updates: 4 },
        OpsSize { threads: 4, vars: 1, ops: 9, fences: 0, updates: 3 },
        OpsSize { threads: 3, vars: 2, ops: 9, fences: 4, updates: 2 },
    ];
    let mut verdicts = [0, 0];
    for (i, (size, count)) in sizes.into_iter().zip(counts).enumerate() {
        for seed in 0..scaled(count) as u64 {
            let ops = random(7_000_000 * i as u64 + seed, size);
            let holds = satisfies(&ops, model);
            verdicts[usize::from(holds)] += 1;
            let is_wrong = |ops: &History| {
                let answer = ask(ops, model, METHOD).verdict;
                (answer == Verdict::Holds) != satisfies(ops, model)
            };
            if is_wrong(&ops) {
                panic!("seed {seed} of {i}:\n{}", show_ops(&shrink_ops(&ops, &is_wrong)));
            }
        }
    }
    assert!(verdicts.iter().all(|&n| n > scaled(5_000)), "{verdicts:?}");
}

#[test]
fn linearizability_as_defined() {
    as_defined(HistoryModel::Lin, [30_000, 30_000, 20_000]);
}

#[test]
fn tso_as_defined() {
    as_defined(HistoryModel::TsoRt, [20_000, 10_000, 20_000]);
}

/// By each method, and all models at once.
#[test]
fn by_each_method() {
    let size = OpsSize { threads: 4, vars: 2, ops: 9, fences: 8, updates: 4 };
    let models = [HistoryModel::TsoRt, HistoryModel::Sc, HistoryModel::Lin, HistoryModel::Tso];
    for seed in 0..scaled(4_000) as u64 {
        let ops = random(seed, size);
        for model in [HistoryModel::Lin, HistoryModel::TsoRt] {
            let holds = satisfies(&ops, model);
            for complete in Complete::ALL {
                for saturate in [true, false] {
                    let answer = ask(&ops, model, Method { complete, saturate });
                    assert_eq!(answer.verdict == Verdict::Holds, holds, "{seed} {complete:?}");
                }
            }
        }
        let all = classify(&ops, &models, METHOD, &Limits::UNLIMITED, &mut Silent);
        for found in all.expect("evidence") {
            let holds = satisfies(&ops, found.model);
            assert_eq!(found.answer.verdict == Verdict::Holds, holds, "{seed} {:?}", found.model);
        }
    }
}

/// Too long for the definition: that evidence is accepted says enough.
#[test]
fn long_histories() {
    let mut violated = [0; 2];
    for seed in 0..scaled(160) as u64 {
        let rng = &mut Rng::new(seed);
        let (threads, vars) = (2 + rng.below(7), 1 + rng.below(30));
        let size = OpsSize { threads, vars, ops: 4_000, fences: 40, updates: 3 };
        let models = [(OpsSource::Sc, HistoryModel::Lin), (OpsSource::Tso, HistoryModel::TsoRt)];
        for (i, (source, model)) in models.into_iter().enumerate() {
            let mut ops = timed_ops(rng, size, source, 2 + seed as usize % 20);
            assert_eq!(ask(&ops, model, METHOD).verdict, Verdict::Holds, "seed {seed}");
            mutate_ops(rng, &mut ops, 1);
            violated[i] += usize::from(ask(&ops, model, METHOD).verdict == Verdict::Violated);
        }
    }
    assert!(violated.iter().all(|&n| n > scaled(60)), "{violated:?}");
}

#[test]
fn minimal_parts() {
    let size = OpsSize { threads: 4, vars: 3, ops: 40, fences: 8, updates: 4 };
    let mut found = [0; 2];
    for seed in 0..scaled(800) as u64 {
        let ops = random(seed, size);
        for (i, model) in [HistoryModel::Lin, HistoryModel::TsoRt].into_iter().enumerate() {
            let answer = ask(&ops, model, METHOD);
            let Some(evidence) = answer.evidence.filter(|_| answer.verdict == Verdict::Violated)
            else {
                continue;
            };
            let limits = Limits::UNLIMITED;
            let part = minimise(&ops, model, &evidence, METHOD, &limits, &mut Silent);
            // Where times are not known, those of operations that are left out may be missing.
            if let Some(part) = part.expect("evidence") {
                assert!(part.is_minimal && !satisfies(&part.ops, model), "seed {seed}");
                found[i] += 1;
            }
        }
    }
    assert!(found.iter().all(|&n| n > scaled(100)), "{found:?}");
}

#[test]
fn a_million_operations() {
    let size = OpsSize { threads: 8, vars: 200, ops: 1_000_000, fences: 100, updates: 10 };
    let ops = timed_ops(&mut Rng::new(1), size, OpsSource::Sc, 6);
    let start = std::time::Instant::now();
    let answer = ask(&ops, HistoryModel::Lin, METHOD);
    assert_eq!((answer.verdict, answer.decided_by), (Verdict::Holds, DecidedBy::Location));
    let time = start.elapsed();
    assert!(time.as_secs() < 30, "{time:?}");
}

/// The operations in the order in which they ended.
fn logged(ops: &History) -> Vec<LoggedOp> {
    let mut log: Vec<u32> = (0..ops.len() as u32).collect();
    log.sort_by_key(|&op| ops.times(op).end);
    let value = |from: Option<u32>| from.map_or(0, |w| i64::from(w) + 1);
    let one = |(line, &op): (usize, &u32)| LoggedOp {
        thread: ops.thread_of(op) as u32,
        kind: ops.kind(op),
        var: ops.var(op),
        value: if ops.writes(op) { value(Some(op)) } else { value(ops.from(op)) },
        old: if ops.kind(op) == OpKind::Update { value(ops.from(op)) } else { 0 },
        from: None,
        line: line as u32 + 1,
        column: 1,
        times: ops.times(op),
    };
    log.iter().enumerate().map(one).collect()
}

/// What is said of a history that is followed in windows of this size.
fn followed(log: &[LoggedOp], size: usize) -> (Verdict, Certification) {
    let mut following = Following::new(size, &[HistoryModel::Lin], METHOD, &Limits::UNLIMITED);
    let mut found = Vec::new();
    let initial = vec![0; 1_000];
    following.add(log, &initial, &mut found, &mut Silent).expect("a history");
    following.check(true, &mut found, &mut Silent).expect("a history");
    match found.is_empty() {
        true => (following.verdict(HistoryModel::Lin), following.certification(HistoryModel::Lin)),
        false => (Verdict::Violated, Certification::Checked),
    }
}

#[test]
fn long_streams_hold() {
    for seed in 0..scaled(160) as u64 {
        let rng = &mut Rng::new(seed);
        let (threads, vars) = (2 + rng.below(7), 1 + rng.below(30));
        let updates = [0, 1, 3][seed as usize % 3];
        let size = OpsSize { threads, vars, ops: 30_000, fences: 40, updates };
        let mut ops = timed_ops(rng, size, OpsSource::Sc, 2 + seed as usize % 10);
        let log = logged(&ops);
        assert_eq!(followed(&log, 2_048), (Verdict::Holds, Certification::Checked), "seed {seed}");
        // Then it satisfies all other models, too.
        let models = [HistoryModel::TsoRt, HistoryModel::Sc, HistoryModel::Cc];
        let mut following = Following::new(2_048, &models, METHOD, &Limits::UNLIMITED);
        let mut found = Vec::new();
        following.add(&log, &vec![0; vars], &mut found, &mut Silent).expect("a history");
        following.check(true, &mut found, &mut Silent).expect("a history");
        assert!(found.is_empty(), "seed {seed}");
        for model in models {
            assert_eq!(following.verdict(model), Verdict::Holds, "seed {seed} {model:?}");
        }
        mutate_ops(rng, &mut ops, 1);
        let holds = ask(&ops, HistoryModel::Lin, METHOD).verdict;
        let (verdict, _) = followed(&logged(&ops), 2_048);
        // What is too far apart for a window is not known.
        let is_right = verdict == holds || matches!(verdict, Verdict::Unknown(Limit::Window(_)));
        assert!(is_right, "seed {seed}: {verdict:?}");
    }
}

/// What a small window violates is violated by the whole, also where updates are cut.
#[test]
fn windows_violate_nothing_else() {
    let models = [HistoryModel::Lin, HistoryModel::TsoRt];
    let (mut found_any, mut kept) = ([0; 2], 0);
    for seed in 0..scaled(12_000) as u64 {
        let rng = &mut Rng::new(seed);
        let size = OpsSize { threads: 3, vars: 2, ops: 30, fences: 8, updates: 1 + rng.below(3) };
        let source = OpsSource::ALL[rng.below(2)];
        let (overlap, changes) = (rng.below(6), rng.below(2));
        let mut ops = timed_ops(rng, size, source, overlap);
        mutate_ops(rng, &mut ops, changes);
        let mut following = Following::new(4 + rng.below(8), &models, METHOD, &Limits::UNLIMITED);
        let mut found = Vec::new();
        following.add(&logged(&ops), &[0, 0], &mut found, &mut Silent).expect("a history");
        following.check(true, &mut found, &mut Silent).expect("a history");
        for (i, &model) in models.iter().enumerate() {
            let holds = ask(&ops, model, METHOD).verdict == Verdict::Holds;
            let is_found = found.iter().any(|broken| broken.found.model == model);
            assert!(!(holds && is_found), "seed {seed} {model:?}\n{}", show_ops(&ops));
            found_any[i] += usize::from(is_found);
            kept += usize::from(holds);
        }
    }
    assert!(
        found_any.iter().all(|&n| n > scaled(500)) && kept > scaled(500),
        "{found_any:?} {kept}"
    );
}

/// A followed history with times ends as the whole one does, however small the window, whatever it is, also where
/// some operations have none.
#[test]
fn streams_end_as_the_whole_does() {
    let models = [HistoryModel::Lin, HistoryModel::TsoRt, HistoryModel::Tso, HistoryModel::Sc];
    let mut counts = [[0; 2]; 4];
    for seed in 0..scaled(10_000) as u64 {
        let rng = &mut Rng::new(seed);
        let size = OpsSize { threads: 3, vars: 2, ops: 24, fences: 6, updates: 1 + rng.below(3) };
        let source = OpsSource::ALL[rng.below(3)];
        let (overlap, changes) = (rng.below(6), rng.below(3));
        let mut ops = timed_ops(rng, size, source, overlap);
        mutate_ops(rng, &mut ops, changes);
        let mut log = logged(&ops);
        if rng.one_in(3) {
            let (count, mut times) = (log.len(), vec![Times::UNKNOWN; ops.len()]);
            let mut next: Vec<u32> = (0..ops.threads()).map(|t| ops.of_thread(t).start).collect();
            for (i, op) in log.iter_mut().enumerate() {
                if i + 1 < count && rng.one_in(3) {
                    op.times = Times::UNKNOWN;
                }
                times[next[op.thread as usize] as usize] = op.times;
                next[op.thread as usize] += 1;
            }
            ops.set_times(times);
        }
        let mut following = Following::new(2 + rng.below(10), &models, METHOD, &Limits::UNLIMITED);
        let mut found = Vec::new();
        for op in log {
            following.add(&[op], &[0, 0], &mut found, &mut Silent).expect("a history");
            if rng.one_in(4) {
                following.check(false, &mut found, &mut Silent).expect("a history");
            }
        }
        following.check(true, &mut found, &mut Silent).expect("a history");
        for (i, &model) in models.iter().enumerate() {
            let whole = ask(&ops, model, METHOD).verdict;
            let verdict = match found.iter().any(|broken| broken.found.model == model) {
                true => Verdict::Violated,
                false => following.verdict(model),
            };
            assert_eq!(verdict, whole, "seed {seed} {model:?}\n{}", show_ops(&ops));
            counts[i][usize::from(whole == Verdict::Holds)] += 1;
        }
    }
    assert!(counts.as_flattened().iter().all(|&n| n > scaled(500)), "{counts:?}");
}
