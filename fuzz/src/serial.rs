//! What the monitors for transactions have to do with every log.

use std::io::Cursor;

use weakspot_core::serial::{BufferedReads, Question};
use weakspot_core::{LogBatch, LogEvent, LogKind, LogTables};
use weakspot_serial::{Explain, Extents, Follow, Ordered};
use weakspot_trace::{LogFormat, LogReader, Next};

const QUESTIONS: [Question; 3] = [
    Question::ScSerializable,
    Question::ScEquivalent,
    Question::TsoSerializable(BufferedReads::Exact),
];

/// Reads `bytes` as logs in this format, and follows each with all questions. That must not panic;
/// what is found has to be accepted by the checks, and what notes tell is what reading again says.
///
/// # Panics
/// When something is wrong: that is how the fuzzer hears of it.
pub fn check_serial(bytes: &[u8], format: LogFormat) {
    let mut reader = LogReader::new(Box::new(Cursor::new(bytes.to_vec())), format);
    let mut batch = LogBatch::default();
    let (mut events, mut tables) = (Vec::new(), LogTables::default());
    loop {
        match reader.next(&mut batch) {
            Ok(Next::Events) => {
                events.extend_from_slice(&batch.events);
                tables = reader.tables().clone();
            }
            Ok(Next::Trace(_)) => check_trace(&std::mem::take(&mut events), &tables),
            Ok(Next::End) | Err(_) => return check_trace(&events, &tables),
        }
    }
}

fn check_trace(events: &[LogEvent], tables: &LogTables) {
    let has_commits = events.iter().any(|event| event.kind == LogKind::Commit);
    let questions = if has_commits { &QUESTIONS[..] } else { &QUESTIONS[..1] };
    let mut follow = Follow::new(questions, has_commits, tables, true);
    let mut noted = Follow::new(questions, has_commits, tables, false).with_journal();
    let followed = follow.events(events);
    assert_eq!(noted.events(events), followed);
    if followed.is_err() || follow.end().is_err() {
        return;
    }
    for &question in questions {
        let cycle = follow.cycle(question).cloned();
        assert_eq!(noted.cycle(question).is_some(), cycle.is_some());
        let Some(cycle) = cycle else {
            let order = follow.take_order(question).expect("it was asked for");
            let check = Ordered::new(question, has_commits, tables, &order);
            let mut check = check.expect("an order");
            check.events(events).expect("no conflict leads back");
            check.end().expect("all stores are committed");
            continue;
        };
        let mut explain = Explain::new(question, has_commits, tables, &cycle);
        assert_eq!(explain.events(events), Ok(true));
        let (touched, _) = explain.end().expect("a cycle");
        if let Some(noted_cycle) = noted.noted(question) {
            let noted_cycle = noted_cycle.expect("a cycle");
            assert_eq!(noted.cycle(question), Some(&cycle));
            assert_eq!(noted_cycle.events.len(), touched.len());
            let wanted: Vec<u32> = touched.values().map(|touched| touched.event.txn).collect();
            let mut extents = Extents::new(has_commits, tables, Some(&wanted));
            extents.events(events);
            assert_eq!(noted_cycle.transactions, extents.end());
        }
    }
}
