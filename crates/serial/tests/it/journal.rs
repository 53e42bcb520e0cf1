//! Cycles in logs that are not read again: what is told about them is what reading again says.

use std::collections::HashMap;

use weakspot_core::serial::{BufferedReads, Question, TxnCycle};
use weakspot_core::testing::{Rng, TxnLog, TxnLogSize, scaled};
use weakspot_core::{LogEvent, LogKind, LogLoc, LogTables};
use weakspot_serial::{Explain, Extent, Extents, Follow, Touched};

const QUESTIONS: [Question; 3] = [
    Question::ScSerializable,
    Question::TsoSerializable(BufferedReads::Exact),
    Question::TsoSerializable(BufferedReads::Static),
];

fn tables(locs: usize) -> LogTables {
    let locs = vec![LogLoc { name: String::new(), bytes: None }; locs];
    LogTables { locs, ..LogTables::default() }
}

/// The same by reading the log again.
fn read_again(
    question: Question,
    has_commits: bool,
    tables: &LogTables,
    log: &[LogEvent],
    cycle: &TxnCycle,
) -> (HashMap<u64, Touched>, HashMap<u32, Extent>) {
    let mut explain = Explain::new(question, has_commits, tables, cycle);
    assert_eq!(explain.events(log), Ok(true));
    let (mut events, _) = explain.end().expect("a cycle");
    let wanted: Vec<u32> = events.values().map(|touched| touched.event.txn).collect();
    let mut extents = Extents::new(has_commits, tables, Some(&wanted));
    extents.look_for(events.values().map(|touched| touched.store));
    extents.events(log);
    for touched in events.values_mut().filter(|touched| touched.log.site == 0) {
        touched.log.site = extents.event(touched.store).map_or(0, |store| store.site);
    }
    (events, extents.end())
}

fn check(has_commits: bool, tables: &LogTables, log: &[LogEvent]) -> usize {
    let questions = if has_commits { &QUESTIONS[..] } else { &QUESTIONS[..1] };
    let mut follow = Follow::new(questions, has_commits, tables, false).with_journal();
    follow.events(log).expect("it makes sense");
    let mut found = 0;
    for &question in questions {
        let Some(cycle) = follow.cycle(question).cloned() else { continue };
        found += 1;
        let noted = follow.noted(question).expect("a journal").expect("a cycle");
        let again = read_again(question, has_commits, tables, log, &cycle);
        assert_eq!(noted.events, again.0);
        assert_eq!(noted.transactions, again.1);
    }
    found
}

/// Random logs, with every event at a place of its own.
fn random_log(rng: &mut Rng, has_commits: bool) -> Vec<LogEvent> {
    let mut log: Vec<LogEvent> = Vec::new();
    let mut buffers: Vec<Vec<u32>> = vec![Vec::new(); 4];
    for site in 1..40 {
        let thread = rng.below(4);
        let mut kind = match rng.below(8) {
            0..3 => LogKind::Read,
            3..5 => LogKind::Write,
            5 => LogKind::Begin,
            6 => LogKind::Update,
            _ => LogKind::Fence,
        };
        let mut loc = if kind <= LogKind::Update { rng.below(5) as u32 } else { 0 };
        let buffer = &mut buffers[thread];
        if !buffer.is_empty() && (kind.is_update() || kind == LogKind::Fence || rng.one_in(3)) {
            (kind, loc) = (LogKind::Commit, buffer.remove(0));
        }
        if kind == LogKind::Write && has_commits {
            buffer.push(loc);
        }
        let site = if kind == LogKind::Commit { 0 } else { site };
        log.push(LogEvent { site, ..LogEvent::new(thread as u16, kind, loc) });
    }
    for (thread, buffer) in buffers.iter().enumerate() {
        let commit = |&loc: &u32| LogEvent::new(thread as u16, LogKind::Commit, loc);
        log.extend(buffer.iter().map(commit));
    }
    log
}

#[test]
fn short_logs() {
    let mut found = 0;
    for seed in 0..scaled(20_000) as u64 {
        let mut rng = Rng::new(seed);
        let has_commits = rng.one_in(2);
        let mut tables = tables(5);
        // Two that overlap.
        tables.locs[3].bytes = Some(weakspot_core::Bytes { start: 0, len: 8 });
        tables.locs[4].bytes = Some(weakspot_core::Bytes { start: 4, len: 8 });
        found += check(has_commits, &tables, &random_log(&mut rng, has_commits));
    }
    assert!(found > scaled(4000), "{found}");
}

/// The cycle comes after more events than are noted at a time, and begins with the first of them.
#[test]
fn a_cycle_across_a_long_log() {
    for has_commits in [false, true] {
        let size = TxnLogSize {
            threads: 4,
            vars: 100,
            length: 5,
            shared: 50,
            commits: has_commits,
            brackets: true,
        };
        let tables = tables(120);
        let event = |thread: u16, kind: LogKind, loc: u32| LogEvent {
            site: 1 + loc,
            ..LogEvent::new(thread, kind, loc)
        };
        // A transaction of another thread that stays open, and is read before all others.
        let mut log = vec![event(9, LogKind::Begin, 0), event(9, LogKind::Write, 110)];
        if has_commits {
            log.push(LogEvent::new(9, LogKind::Commit, 110));
        }
        log.push(event(0, LogKind::Read, 110));
        log.extend(TxnLog::new(1, size).take_all(350_000));
        log.push(event(2, LogKind::Write, 111));
        if has_commits {
            log.push(LogEvent::new(2, LogKind::Commit, 111));
        }
        log.push(event(9, LogKind::Read, 111));
        log.push(event(9, LogKind::End, 0));
        assert_eq!(check(has_commits, &tables, &log), if has_commits { 3 } else { 1 });
        let mut follow = Follow::new(&QUESTIONS[..1], has_commits, &tables, false).with_journal();
        follow.events(&log[..200_000]).expect("it makes sense");
        let half = follow.bytes();
        follow.events(&log[200_000..]).expect("it makes sense");
        assert!(follow.bytes() < 2 * half, "{} {half}", follow.bytes());
    }
}
