//! Cycles through a transaction that is still open, a chain of others, and back: each is related to
//! the next only by the thread, a lock, or the start or end of a thread. Against the definition.

use weakspot_core::serial::{BufferedReads, Conflicts, CycleCheck, Question, pair, serializable};
use weakspot_core::testing::{Rng, scaled};
use weakspot_core::{LogEvent, LogKind, LogLoc, LogTables, TxnEvent, TxnKind};
use weakspot_serial::{Follow, Online, TxnReader};

const QUESTIONS: [Question; 3] = [
    Question::ScSerializable,
    Question::TsoSerializable(BufferedReads::Exact),
    Question::TsoSerializable(BufferedReads::Static),
];

/// An open transaction of thread 0 that others come after, and a chain of transactions behind it,
/// with noise. At its end it reads something.
fn random_log(rng: &mut Rng) -> Vec<LogEvent> {
    let mut log = Vec::new();
    let mut at = |thread: usize, kind: LogKind, loc: u32| {
        log.push(LogEvent::new(thread as u16, kind, loc));
    };
    let threads = 2 + rng.below(4);
    at(0, LogKind::Begin, 0);
    at(0, LogKind::Write, 0);
    if rng.one_in(2) {
        at(0, LogKind::Write, 1);
    }
    let (mut here, mut next_var) = (1, 2);
    at(here, LogKind::Begin, 0);
    at(here, LogKind::Read, rng.below(2) as u32);
    at(here, LogKind::End, 0);
    // Threads from 6 on are started on the way.
    let mut fresh = 6;
    for _ in 0..1 + rng.below(5) {
        match rng.below(6) {
            0 => at(here, LogKind::Read, 10 + rng.below(3) as u32),
            1 => {
                at(here, LogKind::Begin, 0);
                at(here, LogKind::Write, 10 + rng.below(3) as u32);
                at(here, LogKind::End, 0);
            }
            2 => {
                let other = 1 + rng.below(threads - 1);
                at(here, LogKind::Release, 20);
                here = if other >= here && here < 6 { 1 } else { other };
                at(here, LogKind::Acquire, 20);
            }
            3 => {
                at(here, LogKind::Spawn, fresh as u32);
                (here, fresh) = (fresh, fresh + 1);
            }
            4 => {
                let other = 1 + rng.below(threads - 1);
                at(here, LogKind::Write, next_var);
                at(other, LogKind::Read, next_var);
                (here, next_var) = (other, next_var + 1);
            }
            _ => {
                // A step that leads nowhere.
                let other = 1 + rng.below(threads - 1);
                at(other, LogKind::Write, 13);
                at(here, LogKind::Fence, 0);
            }
        }
    }
    let back = if rng.one_in(4) { 10 + rng.below(4) as u32 } else { 30 };
    if rng.one_in(2) {
        at(here, LogKind::Begin, 0);
        at(here, LogKind::Write, 30);
        at(here, LogKind::End, 0);
    } else {
        at(here, LogKind::Update, 30);
    }
    at(0, LogKind::Read, back);
    if rng.one_in(2) {
        at(0, LogKind::End, 0);
    }
    log
}

fn tables() -> LogTables {
    let locs = vec![LogLoc { name: String::new(), bytes: None }; 40];
    LogTables { locs, ..LogTables::default() }
}

/// With commits somewhere after the stores.
fn with_commits(rng: &mut Rng, log: &[LogEvent]) -> Vec<LogEvent> {
    let mut all = Vec::new();
    let mut buffers: Vec<Vec<u32>> = vec![Vec::new(); 16];
    for event in log {
        let waits = event.kind.is_update()
            || matches!(event.kind, LogKind::Fence | LogKind::Spawn | LogKind::Join);
        let joined = if event.kind == LogKind::Join { event.loc } else { event.thread.into() };
        for (thread, buffer) in buffers.iter_mut().enumerate() {
            let must = waits && (thread == usize::from(event.thread) || thread == joined as usize);
            while !buffer.is_empty() && (must || rng.one_in(3)) {
                all.push(LogEvent::new(thread as u16, LogKind::Commit, buffer.remove(0)));
            }
        }
        all.push(*event);
        if event.kind == LogKind::Write {
            buffers[usize::from(event.thread)].push(event.loc);
        }
    }
    for (thread, buffer) in buffers.iter().enumerate() {
        let commit = |&loc: &u32| LogEvent::new(thread as u16, LogKind::Commit, loc);
        all.extend(buffer.iter().map(commit));
    }
    all
}

#[test]
fn random_chains() {
    let mut counts = [0; 6];
    for seed in 0..scaled(80_000) as u64 {
        let mut rng = Rng::new(seed);
        let log = random_log(&mut rng);
        for has_commits in [false, true] {
            let log = if has_commits { with_commits(&mut rng, &log) } else { log.clone() };
            let mut reader = TxnReader::new(has_commits, &tables());
            let mut events: Vec<TxnEvent> = Vec::new();
            for event in &log {
                reader.event(event, |event, _| events.push(event)).expect("it makes sense");
            }
            let questions = if has_commits { &QUESTIONS[..] } else { &QUESTIONS[..1] };
            let mut follow = Follow::new(questions, has_commits, &tables(), false);
            follow.events(&log).expect("it makes sense");
            for &question in questions {
                let expected = by_definition(&events, question, has_commits);
                let found = follow.cycle(question);
                assert_eq!(found.is_none(), expected, "seed {seed} {question:?} {log:?}");
                let relation = if has_commits { question.conflicts() } else { Conflicts::Sc };
                if let Some(cycle) = found {
                    let mut check = CycleCheck::new(relation, cycle);
                    events.iter().for_each(|&event| check.event(event).expect("an execution"));
                    assert!(check.end().is_ok(), "seed {seed}");
                }
                let which = usize::from(has_commits) * (1 + usize::from(question == QUESTIONS[1]));
                counts[2 * which + usize::from(expected)] += 1;
            }
        }
    }
    assert!(counts.iter().all(|&count| count > scaled(4000)), "{counts:?}");
}

fn by_definition(events: &[TxnEvent], question: Question, has_commits: bool) -> bool {
    if has_commits {
        return serializable(&pair(events).expect("an execution"), question.conflicts());
    }
    // All stores are in memory at once, which is an execution of TSO.
    let mut all = Vec::new();
    for &event in events {
        all.push(event);
        if event.kind == TxnKind::Write {
            all.push(TxnEvent { kind: TxnKind::Commit, ..event });
        }
    }
    serializable(&pair(&all).expect("an execution"), Conflicts::TsoPo)
}

/// The shortest one: the transaction that comes back to the first is another than the one that comes
/// after it, and both are in the past.
#[test]
fn through_program_order() {
    let event =
        |thread: u32, kind: TxnKind, var: u32, txn: u32| TxnEvent { thread, kind, var, txn };
    let events = [
        event(0, TxnKind::Write, 0, 0),
        event(1, TxnKind::Read, 0, 1),
        event(1, TxnKind::Write, 1, 2),
        event(0, TxnKind::Read, 1, 0),
    ];
    let mut online = Online::new(Question::ScSerializable);
    let found: Vec<bool> = events.iter().map(|&e| online.sc_event(e).is_some()).collect();
    assert_eq!(found, [false, false, false, true]);
}
