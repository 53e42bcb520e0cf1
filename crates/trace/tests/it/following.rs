//! Histories read operation by operation, as they arrive.

use std::io::{Cursor, ErrorKind, Read};

use weakspot_core::testing::{HistorySize, Rng, random_history};
use weakspot_core::{LoggedOp, OpKind, OpNames, SaidFrom, Times};
use weakspot_trace::{HistoryFormat, LogError, NextOps, OpReader, Recorded, write_history};

use crate::Dribble;
use crate::histories::good;

/// What was read of a history.
#[derive(Debug, Default)]
struct Followed {
    id: Option<String>,
    ops: Vec<LoggedOp>,
    names: OpNames,
}

/// Reads to the end; how often nothing was there.
fn follow(mut reader: OpReader) -> Result<(Vec<Followed>, usize), LogError> {
    let (mut all, mut idle) = (vec![Followed::default()], 0);
    loop {
        let current = all.last_mut().unwrap();
        let next = reader.next(&mut current.ops);
        current.names = reader.names().clone();
        current.id = reader.id().map(str::to_owned);
        match next {
            Ok(NextOps::Batch) => {}
            Ok(NextOps::Idle) => idle += 1,
            Ok(NextOps::History) => all.push(Followed::default()),
            Ok(NextOps::End) => {
                all.retain(|read| !read.names.threads.is_empty());
                return Ok((all, idle));
            }
            Err(error) => {
                assert_eq!(reader.next(&mut Vec::new()), Err(error.clone()), "the error stays");
                return Err(error);
            }
        }
    }
}

fn followed(text: &str, format: Option<HistoryFormat>) -> Vec<Followed> {
    let reader = OpReader::new(Box::new(Cursor::new(text.as_bytes().to_vec())), format);
    follow(reader).unwrap().0
}

fn refused(text: &str, format: Option<HistoryFormat>) -> String {
    let reader = OpReader::new(Box::new(Cursor::new(text.as_bytes().to_vec())), format);
    follow(reader).unwrap_err().to_string()
}

/// What each thread did, by names.
fn by_thread(read: &Followed) -> Vec<(String, Vec<String>)> {
    let mut threads: Vec<_> =
        read.names.threads.iter().map(|name| (name.clone(), Vec::new())).collect();
    for op in &read.ops {
        let var = match op.kind {
            OpKind::Fence => "",
            _ => &read.names.vars[op.var as usize],
        };
        threads[op.thread as usize].1.push(format!("{:?} {var} {}", op.kind, op.value));
    }
    threads.retain(|(_, ops)| !ops.is_empty());
    threads.sort();
    threads
}

fn of_whole(history: &Recorded) -> Vec<(String, Vec<String>)> {
    let Recorded { ops, names, .. } = history;
    let op = |op: u32| {
        let var = match ops.kind(op) {
            OpKind::Fence => "",
            _ => &names.vars[ops.var(op) as usize],
        };
        format!("{:?} {var} {}", ops.kind(op), names.values[op as usize])
    };
    let mut threads: Vec<_> = (0..ops.threads())
        .map(|t| (names.threads[t].clone(), ops.of_thread(t).map(op).collect::<Vec<_>>()))
        .collect();
    threads.retain(|(_, ops)| !ops.is_empty());
    threads.sort();
    threads
}

#[test]
fn what_is_read_one_by_one_is_what_is_read_as_a_whole() {
    let mut rng = Rng::new(17);
    let mut compared = 0;
    for round in 0..300 {
        let size = HistorySize {
            threads: 4,
            vars: 3,
            ops: 40,
            updates: round % 3 == 0,
            fences: round % 5 == 0,
            changes: 5,
        };
        let (ops, names) = random_history(&mut rng, size);
        let history = Recorded { id: None, ops, names, notes: Vec::new(), unchecked: Vec::new() };
        for format in [HistoryFormat::Text, HistoryFormat::Axe, HistoryFormat::Plume] {
            let mut bytes = Vec::new();
            // Not every format can say every history.
            if write_history(&mut bytes, format, &history).is_err() {
                continue;
            }
            let whole = good(&bytes, format);
            // A transaction that reads and writes is an update only when it has ended.
            let has_updates =
                (0..whole[0].ops.len() as u32).any(|op| whole[0].ops.kind(op) == OpKind::Update);
            if format == HistoryFormat::Plume && has_updates {
                continue;
            }
            let known = if round % 2 == 0 { Some(format) } else { None };
            let source = Dribble::new(&bytes, &[1, 1 + rng.below(70), 3]);
            let (read, _) = follow(OpReader::new(source, known)).unwrap();
            let read = read.iter().map(by_thread).next().unwrap_or_default();
            assert_eq!(read, of_whole(&whole[0]), "{}", format.key());
            compared += 1;
        }
    }
    assert!(compared > 300, "{compared}");
}

#[test]
fn everything_that_a_line_says_is_handed_out() {
    let text = "history first\ninit x 7\nt0: u x 7 -> 8\nt1: r x 8 from t0 0\nt1: r y 0 from init\n\
                t1: fence\nhistory second\nt1: w x 1\n";
    let read = followed(text, None);
    assert_eq!(read.len(), 2);
    let op = |thread, kind, var, value, line| LoggedOp {
        times: Times::UNKNOWN,
        thread,
        kind,
        var,
        value,
        old: 0,
        from: None,
        line,
        column: 5,
    };
    let expected = [
        LoggedOp { old: 7, ..op(0, OpKind::Update, 0, 8, 3) },
        LoggedOp { from: Some(SaidFrom::Op(0, 0)), ..op(1, OpKind::Read, 0, 8, 4) },
        LoggedOp { from: Some(SaidFrom::Initial), ..op(1, OpKind::Read, 1, 0, 5) },
        op(1, OpKind::Fence, 0, 0, 6),
    ];
    assert_eq!(read[0].ops, expected);
    assert_eq!((read[0].id.as_deref(), &*read[0].names.initial), (Some("first"), &[7, 0][..]));
    assert_eq!((read[1].id.as_deref(), &*read[1].names.initial), (Some("second"), &[0][..]));
    assert_eq!(read[1].ops, [op(0, OpKind::Write, 0, 1, 8)]);
}

#[test]
fn json_shows_one_operation_per_line() {
    let text = r#"{"t":1,"kind":"w","var":"x","val":1,"at":[{}]}
{"kind":"u","var":"x","old":1,"new":2,"t":"main"}
{"t":1,"kind":"r","var":"x","val":2,"from":[0,3]}
{"t":"main","kind":"f"}
"#;
    let read = followed(text, None);
    assert_eq!(read[0].names.threads, ["t1", "main", "t0"]);
    let shown: Vec<_> = read[0].ops.iter().map(|op| (op.thread, op.kind, op.line)).collect();
    let expected = [
        (0, OpKind::Write, 1),
        (1, OpKind::Update, 2),
        (0, OpKind::Read, 3),
        (1, OpKind::Fence, 4),
    ];
    assert_eq!(shown, expected);
    assert_eq!(read[0].ops[2].from, Some(SaidFrom::Op(2, 3)));
    let whole = r#"{"threads":[[{"kind":"w","var":"x","val":1}]]}"#;
    assert!(refused(whole, None).starts_with("line 1, column 1: a whole history in one object"));
    let nobody = r#"{"kind":"w","var":"x","val":1}"#;
    let message = refused(nobody, Some(HistoryFormat::Jsonl));
    assert_eq!(message, "line 1, column 30: an operation without `t`");
}

#[test]
fn what_cannot_be_followed_is_refused_at_its_place() {
    let late = "t0: r x 0\ninit x 7\n";
    assert!(refused(late, None).starts_with("line 2, column 6: the initial value of `x`"));
    let again = "w(0,1,0,1)\nw(1,1,0,2)\nr(0,1,0,1)\n";
    assert!(refused(again, None).starts_with("line 3, column 1: transactions of a session out of"));
    for (text, format) in [("[x:=1]\n", "dbcop"), ("w 0 1\n", "awdit"), ("{:index 0}", "edn")] {
        let message = refused(text, None);
        assert!(message.contains(&format!("the format {format} does not say")), "{message}");
    }
    assert_eq!(
        refused("t0: w x\n", None),
        "line 1, column 8: expected a value, a whole number, found the end of the line"
    );
}

/// Has nothing at every second time.
struct Hesitant(Box<Dribble>, bool);

impl Read for Hesitant {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.1 = !self.1;
        match self.1 {
            true => Err(ErrorKind::WouldBlock.into()),
            false => self.0.read(buffer),
        }
    }
}

#[test]
fn a_source_may_have_nothing_for_now() {
    let text = "t0: w x 1\nt1: r x 1\n";
    for format in [None, Some(HistoryFormat::Text)] {
        let source = Hesitant(Dribble::new(text.as_bytes(), &[4]), false);
        let (read, idle) = follow(OpReader::new(Box::new(source), format)).unwrap();
        assert_eq!((read[0].ops.len(), idle), (2, 6));
    }
}

/// Lines without end.
struct Endless {
    line: u64,
    rest: Vec<u8>,
    most: u64,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.rest.len() < buffer.len() && self.line < self.most {
            let (thread, txn) = (self.line % 4, self.line / 4);
            let line = format!("w({},{},{thread},{txn})\n", self.line % 10, self.line);
            self.rest.extend(line.into_bytes());
            self.line += 1;
        }
        let n = self.rest.len().min(buffer.len());
        buffer[..n].copy_from_slice(&self.rest[..n]);
        self.rest.drain(..n);
        Ok(n)
    }
}

#[test]
fn as_many_operations_as_one_likes_are_handed_out_in_small_pieces() {
    let source = Endless { line: 0, rest: Vec::new(), most: 1_000_000 };
    let mut reader = OpReader::new(Box::new(source), Some(HistoryFormat::Plume));
    let (mut ops, mut count) = (Vec::new(), 0);
    while reader.next(&mut ops) == Ok(NextOps::Batch) {
        count += ops.len();
        ops.clear();
    }
    assert_eq!(count, 1_000_000);
    assert!(ops.capacity() <= 1 << 14, "{}", ops.capacity());
}
