//! Histories of transactions: what was written is what is read, whatever the format; what Elle's
//! files say; what is wrong with a text.

use std::io::Cursor;

use crate::Dribble;

use weakspot_core::testing::{Rng, TxnHistorySize, random_txn_history, scaled};
use weakspot_core::transactional::TxnOp;
use weakspot_core::{INITIAL, OpNames, TxnHistory};
use weakspot_trace::{HistoryFormat, HistoryReader, LogError, RecordedTxns, write_transactions};

const SIZE: TxnHistorySize = TxnHistorySize {
    sessions: 3,
    txns: 8,
    ops: 4,
    vars: 3,
    lists: false,
    mistakes: 4,
    serial: false,
    aborted: 0,
};

fn read(text: &str, format: HistoryFormat) -> Result<RecordedTxns, LogError> {
    let mut reader = HistoryReader::new(Box::new(Cursor::new(text.to_owned())), format);
    reader.keep_transactions();
    let read = reader.next_transactions()?.expect("a history");
    assert_eq!(reader.next_transactions().expect("the end"), None);
    assert!(read.txns.is_well_formed());
    assert_eq!(read.lines.len(), read.txns.len());
    Ok(read)
}

/// With names and values: each write has its own.
fn named(txns: TxnHistory) -> RecordedTxns {
    let value = |op: u32| match txns.op(op) {
        TxnOp::Write { .. } => i64::from(op) + 1,
        TxnOp::Read { from: INITIAL, .. } => 0,
        TxnOp::Read { from, .. } => i64::from(from) + 1,
    };
    let names = OpNames {
        threads: (0..txns.sessions()).map(|s| format!("t{s}")).collect(),
        vars: (0..txns.vars()).map(|v| v.to_string()).collect(),
        initial: vec![0; txns.vars()],
        values: (0..txns.len() as u32).map(value).collect(),
    };
    let (notes, unchecked, lines) = (Vec::new(), Vec::new(), Vec::new());
    RecordedTxns { id: None, txns, names, notes, unchecked, lines }
}

/// What a history says, with names for numbers and without sessions that do nothing.
fn said(history: &RecordedTxns) -> Vec<Vec<(bool, Vec<String>)>> {
    let RecordedTxns { txns, names, .. } = history;
    let op = |op: u32| {
        let var = &names.vars[txns.var(op) as usize];
        format!("{:?} {var} {} {:?}", txns.writes(op), names.values[op as usize], txns.list(op))
            + &match txns.op(op) {
                TxnOp::Read { from, .. } => format!(" of {from}"),
                TxnOp::Write { .. } => String::new(),
            }
    };
    let txn = |t: u32| (txns.committed(t), txns.of_txn(t).map(op).collect());
    let sessions = (0..txns.sessions()).map(|s| txns.of_session(s).map(txn).collect());
    sessions.filter(|session: &Vec<_>| !session.is_empty()).collect()
}

fn round_trip(history: &RecordedTxns, format: HistoryFormat) {
    let mut text = Vec::new();
    write_transactions(&mut text, format, history).expect("sayable");
    let text = String::from_utf8(text).expect("text");
    let again = read(&text, format).unwrap_or_else(|e| panic!("{}\n{text}", e.of("text")));
    assert_eq!(said(&again), said(history), "{format:?}\n{text}");
    assert_eq!(again.txns.has_lists(), history.txns.has_lists());
}

#[test]
fn round_trips() {
    for seed in 0..scaled(1_000) as u64 {
        let rng = &mut Rng::new(seed);
        let history = named(random_txn_history(rng, SIZE));
        let formats = [HistoryFormat::Plume, HistoryFormat::Edn];
        formats.into_iter().for_each(|format| round_trip(&history, format));
        let aborted = TxnHistorySize { aborted: 4, ..SIZE };
        let history = named(random_txn_history(rng, aborted));
        round_trip(&history, HistoryFormat::Dbcop);
        round_trip(&history, HistoryFormat::DbcopJson);
        // Writes all come first, so that no initial value is read.
        let mut history = TxnHistory::new();
        history.session();
        history.txn(true);
        (0..3).for_each(|var| history.push(TxnOp::Write { var }));
        history.session();
        for _ in 0..1 + rng.below(3) {
            history.txn(true);
            for _ in 0..1 + rng.below(3) {
                let var = rng.below(3) as u32;
                history.push(TxnOp::Read { var, from: var });
            }
        }
        history.finish(None);
        round_trip(&named(history), HistoryFormat::Awdit);
        let lists = TxnHistorySize { lists: true, ..SIZE };
        let history = named(random_txn_history(rng, lists));
        if (0..history.txns.len() as u32).any(|op| !history.txns.list(op).is_empty()) {
            round_trip(&history, HistoryFormat::Edn);
        }
    }
}

/// However a file arrives, it says the same.
#[test]
fn in_pieces() {
    let history = named(random_txn_history(&mut Rng::new(5), SIZE));
    for format in [HistoryFormat::Plume, HistoryFormat::Edn, HistoryFormat::DbcopJson] {
        let mut text = Vec::new();
        write_transactions(&mut text, format, &history).expect("sayable");
        for size in [1, 2, 7, 64] {
            let mut reader = HistoryReader::new(Dribble::new(&text, &[size]), format);
            reader.keep_transactions();
            let again = reader.next_transactions().expect("readable").expect("a history");
            assert_eq!(said(&again), said(&history));
        }
    }
}

fn ok(process: u32, value: &str) -> String {
    format!("{{:type :ok, :f :txn, :process {process}, :value {value}}}\n")
}

#[test]
fn what_is_not_known() {
    // It was read from, so it was committed, and all that it wrote counts.
    let text = "{:type :invoke, :process 0, :f :txn, :value [[:append 1 1] [:append 2 1]]}\n"
        .to_owned()
        + "{:type :info, :process 0, :f :txn, :value [[:append 1 1] [:append 2 1]]}\n"
        + "{:type :invoke, :process 1, :f :txn, :value [[:append 1 9]]}\n"
        + &ok(2, "[[:r 1 [1]] [:r 2 nil]]");
    let read = read(&text, HistoryFormat::Edn).expect("readable");
    assert_eq!((read.txns.txns(), read.txns.len()), (2, 4));
    assert!(read.notes[0].contains("1 was read from"), "{:?}", read.notes);
}

#[test]
fn values_that_repeat() {
    // A transaction that failed wrote the same value before: the committed one is read.
    let fail = "{:type :fail, :f :txn, :process 0, :value [[:w :x 1]]}\n";
    let text = fail.to_owned() + &ok(1, "[[:w :x 1]]") + &ok(2, "[[:r :x 1]]");
    let read_from = |text: &str, op| match read(text, HistoryFormat::Edn).expect("good").txns.op(op)
    {
        TxnOp::Read { from, .. } => from,
        TxnOp::Write { .. } => panic!("a write"),
    };
    assert_eq!(read_from(&text, 2), 1);
    // One's own, and what nobody reads.
    let text =
        ok(0, "[[:w :x 1] [:r :x 1]]") + &ok(1, "[[:w :x 1] [:w :y 7]]") + &ok(1, "[[:w :y 7]]");
    assert_eq!(read_from(&text, 1), 0);
}

#[test]
fn refusals() {
    let wrong = [
        (ok(0, "[[:r :x 7]]"), "1:1: nobody wrote 7 to `x`"),
        (ok(0, "[[:r 3 [7]]]"), "1:1: nobody appended 7 to `[3]`"),
        (
            ok(0, "[[:w :x 1]]") + &ok(1, "[[:w :x 1]]") + "  " + &ok(2, "[[:r :x 1]]"),
            "3:3: several transactions wrote 1 to `x`, so it is not clear what this reads",
        ),
        (
            ok(0, "[[:append 1 2]]") + &ok(0, "[[:w 1 2]]"),
            "2:1: lists and registers in one history",
        ),
        (
            ok(0, "[[:inc 1 2]]"),
            "1:1: expected an operation such as [:r :x 1], [:w :x 1] or [:append :x 1], found :inc",
        ),
        (ok(0, "[[:w :x nil]]"), "1:1: a write of nil"),
        (ok(0, "[[:w :x 1]"), "1:51: expected a form, found `}`"),
    ];
    for (text, expected) in wrong {
        let error = read(&text, HistoryFormat::Edn).expect_err("wrong").of("t");
        assert_eq!(error, format!("t:{expected}"), "{text}");
    }
    let lists = read(&ok(0, "[[:append 1 2] [:r 1 [2]]]"), HistoryFormat::Edn).expect("good");
    let refused = write_transactions(&mut Vec::new(), HistoryFormat::Plume, &lists);
    assert!(refused.is_err_and(|e| e.to_string().contains("plume has no lists")));
}
