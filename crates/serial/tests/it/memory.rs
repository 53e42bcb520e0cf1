//! What the monitors remember does not grow with the length of an execution, whatever its shape.

use weakspot_core::serial::{BufferedReads, Question};
use weakspot_core::testing::{Rng, TxnLog, TxnLogSize};
use weakspot_core::{LogEvent, LogKind, LogLoc, LogTables, TxnEvent, TxnKind};
use weakspot_serial::{Follow, Online};

const QUESTIONS: [Question; 3] = [
    Question::ScSerializable,
    Question::TsoSerializable(BufferedReads::Exact),
    Question::TsoSerializable(BufferedReads::Static),
];

/// Follows an execution of so many rounds, and one that is four times as long: about the same is
/// remembered.
fn check(name: &str, rounds: u32, round: impl Fn(u32, &mut dyn FnMut(TxnEvent))) {
    for question in QUESTIONS {
        let follow = |rounds: u32| {
            let mut online = Online::new(question);
            for at in 0..rounds {
                round(at, &mut |event| {
                    let cycle = online.event(event).expect("an execution");
                    assert_eq!(cycle, None, "{name} {question:?}");
                });
            }
            (online.peak(), online.bytes())
        };
        let (short, long) = (follow(rounds), follow(4 * rounds));
        let (nodes, edges) = (long.0.nodes, long.0.edges);
        assert!(nodes <= 2 * short.0.nodes, "{name} {question:?}: {short:?} {long:?}");
        assert!(nodes < 10_000 && edges < 100_000, "{name} {question:?}: {long:?}");
        assert!(long.1 <= 2 * short.1, "{name} {question:?}: {short:?} {long:?}");
    }
}

fn event(thread: u32, kind: TxnKind, var: u32, txn: u32) -> TxnEvent {
    TxnEvent { thread, kind, var, txn }
}

/// A store and its commit.
fn store(give: &mut dyn FnMut(TxnEvent), thread: u32, var: u32, txn: u32) {
    give(event(thread, TxnKind::Write, var, txn));
    give(event(thread, TxnKind::Commit, var, txn));
}

/// A transaction that stays open, and all others come after it.
#[test]
fn one_that_does_not_end() {
    check("one open", 10_000, |at, give| {
        if at == 0 {
            store(give, 0, 0, 0);
        }
        for thread in 1..5 {
            let txn = 4 * at + thread;
            give(event(thread, TxnKind::Read, 0, txn));
            store(give, thread, thread, txn);
        }
    });
}

/// The same, and the others follow from each other in long rows.
#[test]
fn rows_behind_one_that_does_not_end() {
    check("a row", 10_000, |at, give| {
        if at == 0 {
            store(give, 0, 0, 0);
        }
        for thread in 1..5 {
            let txn = 4 * at + thread;
            give(event(thread, TxnKind::Read, thread - 1, txn));
            store(give, thread, thread, txn);
            give(event(thread, TxnKind::Read, 10 + at % 7, txn));
        }
        store(give, 1 + at % 4, 10 + at % 7, 4 * at + 1 + at % 4 + (1 << 24));
    });
}

/// One that reads all the time what the others do not change, while they change what it has read.
#[test]
fn one_that_goes_on() {
    check("goes on", 10_000, |at, give| {
        give(event(0, TxnKind::Read, at % 50, 0));
        give(event(0, TxnKind::Read, 100, 0));
        for thread in 1..4 {
            store(give, thread, 100 + thread, 4 * at + thread);
            give(event(thread, TxnKind::Read, at % 50, 4 * at + thread));
        }
        if at % 50 == 49 && at < 100 {
            store(give, 1, 60, 4 * at + 1);
        }
    });
}

/// Stores that stay in the buffer keep their transactions open.
#[test]
fn a_store_that_is_not_committed() {
    check("pending", 10_000, |at, give| {
        if at == 0 {
            give(event(0, TxnKind::Read, 5, 0));
            give(event(0, TxnKind::Write, 6, 0));
        }
        for thread in 1..4 {
            let txn = 4 * at + thread;
            store(give, thread, 5, txn);
            give(event(thread, TxnKind::Read, 5, txn));
        }
        give(event(0, TxnKind::Read, 6, 4 * at));
    });
}

/// Threads without fences: reads of stores that may be in the buffer.
#[test]
fn no_fences() {
    check("no fences", 10_000, |at, give| {
        if at == 0 {
            store(give, 0, 0, 0);
            for var in 0..20 {
                store(give, 1, var, 1);
            }
        }
        // Reads that come after the first transaction, and are no reason for reads of others.
        give(event(1, TxnKind::Read, at % 20, 4 * at + 5));
        give(event(2, TxnKind::Read, at % 20, 4 * at + 6));
        store(give, 2, 30, 4 * at + 6);
    });
}

/// Threads that come and go, more than there are numbers for at a time.
#[test]
fn threads_that_end() {
    let tables = LogTables {
        threads: (0..3_000).map(|t| format!("t{t}")).collect(),
        locs: (0..50).map(|a| LogLoc { name: format!("v{a}"), bytes: None }).collect(),
        sites: Vec::new(),
    };
    for has_commits in [false, true] {
        let questions = if has_commits { &QUESTIONS[..] } else { &QUESTIONS[..1] };
        let mut follow = Follow::new(questions, has_commits, &tables, false);
        let mut bytes = Vec::new();
        for round in 0..3 {
            for thread in 1..3_000_u16 {
                let mut rng = Rng::new(u64::from(thread));
                let mut log = vec![LogEvent::new(0, LogKind::Spawn, thread.into())];
                log.push(LogEvent::new(thread, LogKind::Begin, 0));
                for _ in 0..6 {
                    let var = rng.below(50) as u32;
                    log.push(LogEvent::new(thread, LogKind::Read, var));
                    log.push(LogEvent::new(thread, LogKind::Write, var));
                    if has_commits {
                        log.push(LogEvent::new(thread, LogKind::Commit, var));
                    }
                }
                if round < 2 {
                    log.push(LogEvent::new(thread, LogKind::End, 0));
                }
                log.push(LogEvent::new(0, LogKind::Join, thread.into()));
                follow.events(&log).expect("it makes sense");
            }
            bytes.push(follow.bytes());
        }
        assert_eq!(follow.found(), 0);
        assert!(bytes[2] <= bytes[0] + bytes[0] / 10, "{bytes:?}");
    }
}

/// Transactions of threads side by side.
#[test]
fn long_logs() {
    for (commits, brackets) in [(false, false), (false, true), (true, true)] {
        for threads in [2, 8, 30] {
            for shared in [10, 100] {
                let size = TxnLogSize { threads, vars: 100, length: 10, shared, commits, brackets };
                let tables = LogTables {
                    locs: vec![LogLoc { name: String::new(), bytes: None }; 200],
                    ..LogTables::default()
                };
                let questions = if commits { &QUESTIONS[..] } else { &QUESTIONS[..1] };
                let mut follow = Follow::new(questions, commits, &tables, false);
                let mut log = TxnLog::new(1, size);
                let mut part = |follow: &mut Follow, events: usize| {
                    let events: Vec<LogEvent> = log.by_ref().take(events).collect();
                    follow.events(&events).expect("it makes sense");
                    assert_eq!(follow.found(), 0, "{size:?}");
                    follow.peak()
                };
                let short = part(&mut follow, 30_000);
                let long = part(&mut follow, 90_000);
                assert!(long.nodes <= 2 * short.nodes + 20, "{size:?} {short:?} {long:?}");
                assert!(long.edges <= 2 * short.edges + 200, "{size:?} {short:?} {long:?}");
            }
        }
    }
}
