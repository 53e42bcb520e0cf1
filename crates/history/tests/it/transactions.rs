//! Histories of transactions against the definitions of their models; every answer comes with
//! evidence that the checker accepts.

use std::fs::File;
use std::path::{Path, PathBuf};

use weakspot_core::testing::{Rng, TxnHistorySize, random_txn_history, scaled};
use weakspot_core::transactional::TxnOp;
use weakspot_core::transactional::{anomaly, satisfies, serializable_within};
use weakspot_core::{
    Certification, Limit, Limits, Progress, Silent, Snapshot, TxnEvidence, TxnHistory, TxnModel,
    Verdict,
};
use weakspot_history::{TxnClassified, classify_transactions};
use weakspot_trace::{HistoryFormat, HistoryReader};

const REGISTERS: TxnHistorySize = TxnHistorySize {
    sessions: 3,
    txns: 6,
    ops: 4,
    vars: 3,
    lists: false,
    mistakes: 6,
    serial: false,
    aborted: 0,
};

fn ask(history: &TxnHistory, models: &[TxnModel]) -> Vec<TxnClassified> {
    classify_transactions(history, models, &Limits::UNLIMITED, &mut Silent).expect("evidence")
}

fn check(seed: u64, size: TxnHistorySize, count: usize) -> [[usize; 2]; 4] {
    let mut counts = [[0; 2]; 4];
    for i in 0..scaled(count) as u64 {
        let history = random_txn_history(&mut Rng::new(seed + i), size);
        for (m, found) in ask(&history, &TxnModel::ALL).into_iter().enumerate() {
            let expected = satisfies(&history, found.model);
            let verdict = if expected { Verdict::Holds } else { Verdict::Violated };
            assert_eq!(found.answer.verdict, verdict, "{:?} {history:?}", found.model);
            assert_eq!(found.answer.certification(), Certification::Checked);
            // A model that is asked alone has the same answer.
            let alone = ask(&history, &[found.model]);
            assert_eq!(alone[0].answer.verdict, verdict, "{:?} {history:?}", found.model);
            let evidence = found.answer.evidence.as_ref().expect("evidence");
            let name = anomaly(&history, found.model, evidence);
            assert_eq!(name.is_none(), expected);
            counts[m][usize::from(expected)] += 1;
        }
    }
    counts
}

#[test]
fn registers() {
    let serial = TxnHistorySize { serial: true, mistakes: 8, ..REGISTERS };
    let mut all = Vec::new();
    all.push(check(1, REGISTERS, 4_000));
    all.push(check(2_000_000, serial, 4_000));
    all.push(check(3_000_000, TxnHistorySize { aborted: 8, vars: 2, ..REGISTERS }, 2_000));
    all.push(check(4_000_000, TxnHistorySize { sessions: 6, ops: 3, vars: 2, ..serial }, 2_000));
    all.push(check(5_000_000, TxnHistorySize { sessions: 1, ..serial }, 1_000));
    all.push(check(6_000_000, TxnHistorySize { ops: 8, vars: 5, ..serial }, 2_000));
    for m in 0..TxnModel::ALL.len() {
        for satisfied in [0, 1] {
            let n: usize = all.iter().map(|counts| counts[m][satisfied]).sum();
            assert!(n >= scaled(1_000), "{m} {satisfied}: {n}");
        }
    }
}

#[test]
fn lists() {
    let lists = TxnHistorySize { lists: true, mistakes: 10, vars: 2, ..REGISTERS };
    check(1, lists, 3_000);
    check(2_000_000, TxnHistorySize { serial: true, ..lists }, 3_000);
    check(3_000_000, TxnHistorySize { aborted: 10, mistakes: 12, serial: true, ..lists }, 2_000);
}

/// More transactions than the definition can take: serializability against the search of the
/// checker, and all models where executions were serial.
#[test]
fn more_transactions() {
    let large = TxnHistorySize { sessions: 4, txns: 24, vars: 4, mistakes: 30, ..REGISTERS };
    let mut counts = [0; 2];
    for lists in [false, true] {
        for seed in 0..scaled(1_500) as u64 {
            let size = TxnHistorySize { lists, serial: !seed.is_multiple_of(3), ..large };
            let history = random_txn_history(&mut Rng::new(seed), size);
            let found = ask(&history, &[TxnModel::Serializable]);
            let expected = serializable_within(&history, 1_000_000).expect("within the limit");
            let verdict = if expected { Verdict::Holds } else { Verdict::Violated };
            assert_eq!(found[0].answer.verdict, verdict, "{history:?}");
            counts[usize::from(expected)] += 1;
        }
    }
    assert!(counts.iter().all(|&n| n > scaled(300)), "{counts:?}");
    let serial = TxnHistorySize { txns: 400, mistakes: 0, vars: 20, serial: true, ..large };
    for lists in [false, true] {
        let history = random_txn_history(&mut Rng::new(7), TxnHistorySize { lists, ..serial });
        for found in ask(&history, &TxnModel::ALL) {
            assert_eq!(found.answer.verdict, Verdict::Holds, "{:?}", found.model);
        }
    }
}

#[test]
fn limits() {
    let size = TxnHistorySize { txns: 3_000, ops: 20, mistakes: 0, vars: 20, ..REGISTERS };
    let history = random_txn_history(&mut Rng::new(1), TxnHistorySize { serial: true, ..size });
    let little = Limits { time: Some(std::time::Duration::ZERO), ..Limits::UNLIMITED };
    let found = classify_transactions(&history, &TxnModel::ALL, &little, &mut Silent);
    for found in found.expect("evidence") {
        assert!(matches!(found.answer.verdict, Verdict::Unknown(_)), "{:?}", found.model);
    }
}

/// The shipped histories: what stands beside them, and the definition.
#[test]
fn corpus() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(root.join("databases")).expect("the corpus") {
        paths.push(entry.expect("a readable folder").path());
    }
    paths.retain(|path| path.extension().is_some_and(|e| e != "expected" && e != "md"));
    paths.sort();
    assert!(paths.len() > 10);
    for path in paths {
        let format = HistoryFormat::from_path(&path).expect("a known ending");
        let source = Box::new(File::open(&path).expect("a readable file"));
        let mut reader = HistoryReader::new(source, format);
        reader.keep_transactions();
        let read = reader.next_transactions().unwrap_or_else(|e| panic!("{}", e.of("corpus")));
        let txns = read.expect("a history").txns;
        let mut found = String::new();
        for answer in ask(&txns, &TxnModel::ALL) {
            let holds = answer.answer.verdict == Verdict::Holds;
            assert_eq!(holds, satisfies(&txns, answer.model), "{}", path.display());
            let evidence = answer.answer.evidence.as_ref().expect("evidence");
            let name = anomaly(&txns, answer.model, evidence).map_or("satisfied", |a| a.key);
            found += &format!("{}: {name}\n", answer.model.key());
        }
        let mut expected = path.clone().into_os_string();
        expected.push(".expected");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&expected, &found).expect("a writable corpus");
        }
        let expected = std::fs::read_to_string(expected).unwrap_or_default();
        assert_eq!(found, expected, "{}", path.display());
    }
}

/// Two transactions that read from each other, and many that come after them: a chain that is in
/// the file before them.
fn cycle_and_chain(chain: u32) -> TxnHistory {
    let mut history = TxnHistory::new();
    history.session();
    for _ in 0..chain {
        history.txn(true);
        history.push(TxnOp::Read { var: 0, from: chain });
    }
    for (written, read) in [(0, 1), (1, 0)] {
        history.session();
        history.txn(true);
        history.push(TxnOp::Write { var: written });
        history.push(TxnOp::Read { var: read, from: chain + 2 * read });
    }
    history.finish(None);
    history
}

/// A cycle is found without looking from each of those that come after it.
#[test]
fn what_comes_after_a_cycle_costs_nothing() {
    let history = cycle_and_chain(100_000);
    for found in ask(&history, &TxnModel::ALL) {
        assert_eq!(found.answer.verdict, Verdict::Violated, "{:?}", found.model);
        let evidence = found.answer.evidence.as_deref();
        assert!(
            matches!(evidence, Some(TxnEvidence::Cycle { cycle, .. }) if cycle.len() == 2),
            "{evidence:?}"
        );
    }
}

/// A cycle that all transactions are on is looked at from a few of them.
#[test]
fn a_long_cycle() {
    const LENGTH: u32 = 50_000;
    let mut history = TxnHistory::new();
    for txn in 0..LENGTH {
        history.session();
        history.txn(true);
        history.push(TxnOp::Write { var: txn });
        let next = (txn + 1) % LENGTH;
        history.push(TxnOp::Read { var: next, from: 2 * next });
    }
    history.finish(None);
    let found = ask(&history, &[TxnModel::ReadCommitted]);
    assert_eq!(found[0].answer.verdict, Verdict::Violated);
}

/// Whoever asks may stop it at any time.
#[test]
fn interrupted() {
    struct Stop(u32);
    impl Progress for Stop {
        fn tick(&mut self, _: Snapshot) -> bool {
            self.0 = self.0.saturating_sub(1);
            self.0 > 0
        }
    }
    let history = cycle_and_chain(100_000);
    let mut stopped = 0;
    for ticks in 1.. {
        let models = [TxnModel::ReadAtomic];
        let mut stop = Stop(ticks);
        let found = classify_transactions(&history, &models, &Limits::UNLIMITED, &mut stop);
        match &found.expect("evidence")[0].answer.verdict {
            Verdict::Unknown(Limit::Interrupted) => stopped += 1,
            verdict => {
                assert_eq!(*verdict, Verdict::Violated);
                break;
            }
        }
    }
    // Reading takes some, finding the cycle takes some.
    assert!(stopped > 10, "{stopped}");
}

/// Of many sessions that have written a variable one after the other, the last has the edge, not each of them.
#[test]
fn edges_that_follow_are_left_out() {
    const SESSIONS: u32 = 400;
    struct Work(u64);
    impl Progress for Work {
        fn tick(&mut self, now: Snapshot) -> bool {
            self.0 = self.0.max(now.states);
            true
        }
    }
    let (x, y) = (0, 1);
    let mut history = TxnHistory::new();
    // Each sees the one before by y; its operations are a read, except in the first, and two writes.
    for session in 0..SESSIONS {
        history.session();
        history.txn(true);
        if session > 0 {
            history.push(TxnOp::Read { var: y, from: 3 * (session - 1) });
        }
        history.push(TxnOp::Write { var: y });
        history.push(TxnOp::Write { var: x });
    }
    let of_last = 3 * (SESSIONS - 1);
    let alone = of_last + 2;
    history.session();
    history.txn(true);
    history.push(TxnOp::Write { var: x });
    history.session();
    for _ in 0..SESSIONS {
        history.txn(true);
        history.push(TxnOp::Read { var: y, from: of_last });
        history.push(TxnOp::Read { var: x, from: alone });
    }
    history.finish(None);
    let mut work = Work(0);
    let found = classify_transactions(&history, &[TxnModel::Causal], &Limits::UNLIMITED, &mut work);
    assert_eq!(found.expect("evidence")[0].answer.verdict, Verdict::Holds);
    // Sessions are gone through for three reads of each; the edges of one would be as many again.
    let pairs = u64::from(SESSIONS) * u64::from(SESSIONS);
    assert!(work.0 > 3 * pairs && work.0 < 7 * pairs / 2, "{} of {pairs}", work.0);
}
