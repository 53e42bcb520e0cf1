use std::io::Cursor;

use weakspot_core::testing::{HistorySize, Rng, any_times, random_history, scaled};
use weakspot_core::{History, OpKind, OpNames, Times};
use weakspot_trace::{HistoryFormat, HistoryReader, LogError, Recorded, write_history};

use crate::Dribble;

/// All histories, up to an error.
fn read_all(mut reader: HistoryReader) -> (Vec<Recorded>, Option<LogError>) {
    let mut all = Vec::new();
    loop {
        match reader.next() {
            Ok(Some(history)) => {
                assert!(history.ops.is_well_formed());
                assert_eq!(history.names.values.len(), history.ops.len());
                assert_eq!(history.names.threads.len(), history.ops.threads());
                assert!(history.names.vars.len() >= history.ops.vars());
                all.push(history);
            }
            Ok(None) => {
                assert_eq!(reader.next(), Ok(None), "the end stays");
                return (all, None);
            }
            Err(error) => {
                assert!(!error.message.is_empty(), "{error}");
                if reader.has_ended() {
                    assert_eq!(reader.next(), Err(error.clone()), "the error stays");
                }
                return (all, Some(error));
            }
        }
    }
}

fn read(bytes: &[u8], format: HistoryFormat) -> (Vec<Recorded>, Option<LogError>) {
    read_all(HistoryReader::new(Box::new(Cursor::new(bytes.to_vec())), format))
}

pub(crate) fn good(bytes: &[u8], format: HistoryFormat) -> Vec<Recorded> {
    let (all, error) = read(bytes, format);
    assert_eq!(error, None, "{}", String::from_utf8_lossy(bytes));
    all
}

fn written(format: HistoryFormat, history: &Recorded) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_history(&mut bytes, format, history).unwrap_or_else(|e| panic!("{}: {e}", format.key()));
    bytes
}

fn recorded((ops, names): (History, OpNames), id: Option<&str>) -> Recorded {
    Recorded { id: id.map(str::to_owned), ops, names, notes: Vec::new(), unchecked: Vec::new() }
}

/// The formats that can say a history, as it is.
const WRITTEN: [HistoryFormat; 7] = [
    HistoryFormat::Jsonl,
    HistoryFormat::Text,
    HistoryFormat::Axe,
    HistoryFormat::Dbcop,
    HistoryFormat::DbcopJson,
    HistoryFormat::Plume,
    HistoryFormat::Awdit,
];

/// What is said about a history, with threads and variables by their positions, because not every
/// format has names. Threads that do nothing are not said by all formats.
fn plain(history: &Recorded) -> (Vec<Vec<String>>, Vec<i64>) {
    let Recorded { ops, names, .. } = history;
    let of = |op: u32| {
        let thread = ops.thread_of(op);
        let busy = (0..thread).filter(|&t| !ops.of_thread(t).is_empty()).count();
        (busy, op - ops.of_thread(thread).start)
    };
    let thread = |t: usize| {
        let op = |op: u32| {
            let (kind, var) = (ops.kind(op), ops.var(op));
            format!("{kind:?} {var} {} {:?}", names.values[op as usize], ops.from(op).map(of))
        };
        ops.of_thread(t).map(op).collect::<Vec<_>>()
    };
    let threads = (0..ops.threads()).map(thread).filter(|t| !t.is_empty()).collect();
    (threads, names.initial.clone())
}

/// The same with the names of variables, which are numbered as they come.
fn named(history: &Recorded) -> Vec<(usize, String)> {
    let Recorded { ops, names, .. } = history;
    let one = |op: u32| {
        let (kind, from, value) = (ops.kind(op), ops.from(op), names.values[op as usize]);
        let var = match kind {
            OpKind::Fence => "",
            _ => names.vars[ops.var(op) as usize].as_str(),
        };
        (ops.thread_of(op), format!("{kind:?} {var:?} {value} {from:?}"))
    };
    (0..ops.len() as u32).map(one).collect()
}

#[test]
fn round_trips() {
    let mut said = [0; WRITTEN.len()];
    for seed in 0..scaled(2400) as u64 {
        let mut rng = Rng::new(seed);
        let size = HistorySize {
            threads: 1 + rng.below(5),
            vars: 1 + rng.below(4),
            ops: rng.below(40),
            updates: rng.one_in(2),
            fences: rng.one_in(4),
            changes: rng.below(4),
        };
        let id = ["h 1", "x", "\"\\//"][rng.below(3)];
        let history = recorded(random_history(&mut rng, size), rng.one_in(2).then_some(id));
        for (i, format) in WRITTEN.into_iter().enumerate() {
            let mut bytes = Vec::new();
            if write_history(&mut bytes, format, &history).is_err() {
                let has = |kind| (0..history.ops.len() as u32).any(|o| history.ops.kind(o) == kind);
                let initial = (0..history.ops.len() as u32)
                    .any(|o| history.ops.reads(o) && history.ops.from(o).is_none());
                assert!(has(OpKind::Fence) || format == HistoryFormat::Awdit && initial);
                assert!(i > 2, "we and Axe can say all of it");
                continue;
            }
            said[i] += 1;
            let all = good(&bytes, format);
            let text = String::from_utf8_lossy(&bytes);
            if i < 2 {
                assert_eq!(all, std::slice::from_ref(&history), "seed {seed}, {format:?}: {text}");
            } else if history.ops.is_empty() && !format.holds_many() {
                assert!(all.iter().all(|h| h.ops.is_empty()));
            } else {
                assert_eq!(all.len(), 1, "seed {seed}, {format:?}: {text}");
                assert_eq!(plain(&all[0]), plain(&history), "seed {seed}, {format:?}: {text}");
                assert_eq!(all[0].notes, [""; 0]);
            }
            // However it arrives, and whether or not somebody says what it is.
            let pieces = [1 + rng.below(9), 1 + rng.below(3)];
            let dribble = HistoryReader::new(Dribble::new(&bytes, &pieces), format);
            assert_eq!(read_all(dribble), (all.clone(), None), "seed {seed}, {format:?}: {text}");
            if !history.ops.is_empty() {
                assert_eq!(HistoryFormat::sniff(&bytes), format, "{text}");
                let sniffed = HistoryReader::sniff(Dribble::new(&bytes, &pieces));
                assert_eq!(read_all(sniffed.expect("it can be read")), (all, None));
            }
        }
    }
    assert!(said.iter().all(|&n| n > scaled(80)), "{said:?}");
}

/// Values that are written twice, initial values, and names with blanks and quotes.
#[test]
fn round_trips_of_the_odd() {
    let mut count = 0;
    for seed in 0..scaled(1600) as u64 {
        let mut rng = Rng::new(seed);
        let size = HistorySize {
            threads: 3,
            vars: 2,
            ops: 1 + rng.below(12),
            updates: true,
            fences: true,
            changes: 3,
        };
        let (ops, mut names) = random_history(&mut rng, size);
        for (var, initial) in names.initial.iter_mut().enumerate() {
            *initial = rng.below(4) as i64 - 1;
            names.vars[var] =
                ["a b", "\"q\"", "//", "ä:", "from", "{0"][3 * var + rng.below(3)].into();
        }
        let all = 0..ops.len() as u32;
        for op in all.clone().filter(|&op| ops.writes(op)) {
            names.values[op as usize] = rng.below(3) as i64;
        }
        for op in all.clone().filter(|&op| ops.kind(op) == OpKind::Read) {
            let var = ops.var(op) as usize;
            let value = |from: u32| names.values[from as usize];
            names.values[op as usize] = ops.from(op).map_or(names.initial[var], value);
        }
        let reads = all.clone().any(|op| ops.from(op).is_some());
        let history = recorded((ops, names), None);
        for format in [HistoryFormat::Jsonl, HistoryFormat::Text] {
            let mut bytes = Vec::new();
            match write_history(&mut bytes, format, &history) {
                Ok(()) => {
                    count += 1;
                    let text = String::from_utf8_lossy(&bytes);
                    let again = good(&bytes, format);
                    assert_eq!(again, std::slice::from_ref(&history), "seed {seed}: {text}");
                }
                Err(e) => assert!(!reads, "{e}"),
            }
        }
    }
    assert!(count > scaled(2400), "{count}");
}

/// Some of them not known; Axe has no negative ones.
#[test]
fn round_trips_of_times() {
    let size =
        HistorySize { threads: 4, vars: 3, ops: 20, updates: true, fences: true, changes: 2 };
    for seed in 0..scaled(1600) as u64 {
        let mut rng = Rng::new(seed);
        let (mut ops, names) = random_history(&mut rng, size);
        any_times(&mut rng, &mut ops);
        let mut history = recorded((ops, names), None);
        history.unchecked.extend(history.ops.has_times().then(|| "real-time order".to_owned()));
        for format in [HistoryFormat::Jsonl, HistoryFormat::Text, HistoryFormat::Axe] {
            let bytes = written(format, &history);
            let text = String::from_utf8_lossy(&bytes);
            let again = good(&bytes, format);
            assert_eq!(again.len(), 1, "seed {seed}: {text}");
            let times = |h: &Recorded| -> Vec<Times> {
                (0..h.ops.len() as u32).map(|op| h.ops.times(op)).collect()
            };
            assert_eq!(times(&again[0]), times(&history), "seed {seed}: {text}");
            assert_eq!(again[0].unchecked, history.unchecked);
            if format != HistoryFormat::Axe {
                assert_eq!(again[0], history, "seed {seed}: {text}");
            }
        }
    }
    let negative = good(b"t0: w x 1 @ -2:3\n", HistoryFormat::Text);
    let error = write_history(&mut Vec::new(), HistoryFormat::Axe, &negative[0]);
    assert_eq!(error.expect_err("negative").to_string(), "Axe cannot say the time -2");
}

#[test]
fn times_in_texts() {
    let cases = [
        "t0: w x 1 @ 1:2\nt1: r x 1@3:\nt1: fence @ :0x7 // seven\nt0: r x 0 from init @ -5 : 9",
        "t0: w x 1 @ 1:2\nt0: w x 2 @ 2:2\nt0: w x 3 @ :\nt0: r x 3 @ :2",
        "t0: w x 1 @ 2:1",
        "t0: w x 1 @ 1:4\nt1: w y 1\nt0: r x 1 @ 3:5",
        "t0: w x 1 @ 1:\nt0: r x 1 @ :0",
        "t0: w x 1 @ 1",
        "t0: w x 1 @ x:1",
        "t0: w x 1 @ 1:2 3",
        "t0: r x 0 @ 1:2 from init",
        "t0: fence @",
    ];
    check(
        HistoryFormat::Text,
        &cases,
        &expect_test::expect![[r#"
        line 4, column 21: it starts at -5, but `t0` does one operation after the other, and the one before it goes on until 2
        history | t0: w x 1 @ 1:2 | t0: w x 2 @ 2:2 | t0: w x 3 | t0: r x 3 @ :2 | 
        line 1, column 11: it ends at 1, before it starts at 2
        line 3, column 11: it starts at 3, but `t0` does one operation after the other, and the one before it goes on until 4
        line 2, column 11: it ends at 0, but `t0` does one operation after the other, and the one before it goes on until 1
        line 1, column 14: expected `:`, found the end of the text
        line 1, column 13: expected when it starts, a whole number, found `x`
        line 1, column 17: expected the end of the line, found `3`
        line 1, column 17: expected the end of the line, found `f`
        line 1, column 12: expected when it starts, a whole number, found the end of the text
    "#]],
    );
    let cases = [
        "{\"threads\":[[{\"kind\":\"w\",\"var\":\"x\",\"val\":1,\"start\":3,\"end\":4},{\"kind\":\"f\",\"end\":null}],[{\"kind\":\"r\",\"var\":\"x\",\"val\":1,\"end\":5}]]}",
        "{\"t\":0,\"kind\":\"w\",\"var\":\"x\",\"val\":1,\"start\":3,\"end\":2}",
        "{\"t\":0,\"kind\":\"f\",\"start\":3}\n{\"t\":0,\"kind\":\"f\",\"start\":2}",
        "{\"t\":0,\"kind\":\"f\",\"start\":3,\"start\":3}",
        "{\"t\":0,\"kind\":\"f\",\"start\":1.5}",
    ];
    check(
        HistoryFormat::Jsonl,
        &cases,
        &expect_test::expect![[r#"
        history | t0: w x 1 @ 3:4 | t0: fence | t1: r x 1 @ :5 | 
        line 1, column 45: it ends at 2, before it starts at 3
        line 2, column 27: it starts at 2, but `t0` does one operation after the other, and the one before it goes on until 3
        line 1, column 37: "start" is given twice
        line 1, column 27: expected a whole number of 64 bits, found `1.5`
    "#]],
    );
    let cases = [
        "start,end,core,op,addr,data\n1,2,0,W,x,1\n3,,1,R,x,1\n,9,1,fence\n",
        "invoke,response,core,op,addr,data\n10,5,0,W,x,1\n",
        "start,core,op,addr,data\n10,0,W,x,1\n9,0,W,x,2\n",
        "start,start,core,op,addr,data\n1,1,0,W,x,1\n",
        "end,core,op,addr,data\nlate,0,W,x,1\n",
    ];
    check(
        HistoryFormat::Csv,
        &cases,
        &expect_test::expect![[r#"
        history | core0: w x 1 @ 1:2 | core1: r x 1 @ 3: | core1: fence @ :9 | 
        line 2, column 1: it ends at 5, before it starts at 10
        line 3, column 1: it starts at 9, but `core0` does one operation after the other, and the one before it goes on until 10
        line 1, column 1: two columns are the start
        line 2, column 1: expected a number: decimal, or hexadecimal behind 0x, or in a column that is called `data:hex` and so on, found `late`
    "#]],
    );
    let cases = [
        "0: M[0] := 1 @ 4:6\n1: M[0] == 1 @ 5:\n1: sync @ :8\n1: { M[0] == 1; M[0] := 2 } @ 8:9",
        "0: M[0] := 1 @ 4:3",
        "0: M[0] := 1 @ 4:6\n0: M[0] == 1 @ 5:7",
    ];
    check(
        HistoryFormat::Axe,
        &cases,
        &expect_test::expect![[r#"
            history | t0: w 0 1 @ 4:6 | t1: r 0 1 @ 5: | t1: fence @ :8 | t1: u 0 1 -> 2 @ 8:9 | 
            line 1, column 14: it ends at 3, before it starts at 4
            history | t0: w 0 1 | t0: r 0 1 | 
              note: the times behind `@` are not used: a thread begins operations before others of it have ended
        "#]],
    );
}

#[test]
fn several_in_one_file() {
    let mut rng = Rng::new(7);
    let size = HistorySize { threads: 2, vars: 2, ops: 6, updates: true, fences: true, changes: 1 };
    let all: Vec<Recorded> = (0..5)
        .map(|i| {
            let id = format!("h{i}");
            recorded(random_history(&mut rng, size), (i % 2 == 0).then_some(&id))
        })
        .collect();
    for format in HistoryFormat::ALL.into_iter().filter(|f| f.holds_many()) {
        let mut bytes = Vec::new();
        for history in &all {
            bytes.extend(written(format, history));
        }
        let again = good(&bytes, format);
        assert_eq!(again.len(), all.len());
        for (a, b) in all.iter().zip(&again) {
            assert_eq!(plain(a), plain(b), "{format:?}");
        }
    }
}

/// One line per history, and what is noted, and what went wrong.
fn show(bytes: &str, format: HistoryFormat) -> String {
    let (all, error) = read(bytes.as_bytes(), format);
    let mut shown = String::new();
    for history in all {
        let mut bytes = Vec::new();
        write_history(&mut bytes, HistoryFormat::Text, &history).expect("text can say all");
        shown += &String::from_utf8_lossy(&bytes).replacen("\n", " | ", usize::MAX);
        for note in history.notes {
            shown += &format!("\n  note: {note}");
        }
        shown += "\n";
    }
    shown += &error.map(|e| format!("{e}\n")).unwrap_or_default();
    shown
}

fn check(format: HistoryFormat, cases: &[&str], expected: &expect_test::Expect) {
    let shown: Vec<String> = cases.iter().map(|case| show(case, format)).collect();
    expected.assert_eq(&shown.concat());
}

#[test]
fn jsonl_that_is_wrong() {
    let cases = [
        // Nobody wrote it, or it was written twice.
        r#"{"threads":[[{"kind":"r","var":"x","val":1}]]}"#,
        "{\"threads\":[[{\"kind\":\"w\",\"var\":\"x\",\"val\":1}],\n [{\"kind\":\"w\",\"var\":\"x\",\"val\":1}]]}",
        r#"{"threads":[[{"kind":"w","var":"x","val":0},{"kind":"r","var":"x","val":0}]]}"#,
        r#"{"init":{"x":7},"threads":[[{"kind":"r","var":"x","val":0}]]}"#,
        r#"{"threads":[[{"kind":"u","var":"x","old":1,"new":1}]]}"#,
        // What it says it reads is not so.
        r#"{"threads":[[{"kind":"w","var":"x","val":1},{"kind":"r","var":"x","val":2,"from":[0,0]}]]}"#,
        r#"{"threads":[[{"kind":"w","var":"x","val":1},{"kind":"r","var":"x","val":1,"from":[1,0]}]]}"#,
        r#"{"threads":[[{"kind":"w","var":"x","val":1},{"kind":"r","var":"y","val":1,"from":[0,0]}]]}"#,
        r#"{"threads":[[{"kind":"w","var":"x","val":1},{"kind":"r","var":"x","val":1,"from":[0]}]]}"#,
        r#"{"threads":[[{"kind":"w","var":"x","val":1},{"kind":"r","var":"x","val":1,"from":"init"}]]}"#,
        r#"{"threads":[[{"kind":"w","var":"x","val":1},{"kind":"w","var":"x","val":1},{"kind":"r","var":"x","val":1,"from":[0,0]},{"kind":"r","var":"x","val":1}]]}"#,
        // JSON that is none, or not ours.
        r#"{"threads":[[{"kind":"w","var":"x","val":1}]"#,
        r#"{"threads":[[{"kind":"w","var":"x","val":1"#,
        r#"{"threads":[[{"kind":"w","var":"x" "val":1}]]}"#,
        r#"{"threads":[{"kind":"w","var":"x","val":1}]}"#,
        r#"{"id":"h"}"#,
        r#"{"threads":[],"threads":[]}"#,
        "[]",
        r#"{"threads":[[{"var":"x","val":1}]]}"#,
        r#"{"threads":[[{"kind":"w","val":1}]]}"#,
        r#"{"threads":[[{"kind":"w","var":"x"}]]}"#,
        r#"{"threads":[[{"kind":"x","var":"x","val":1}]]}"#,
        r#"{"threads":[[{"kind":"w","var":"x","val":1.5}]]}"#,
        r#"{"threads":[[{"kind":"w","var":"x","val":9223372036854775808}]]}"#,
        r#"{"threads":[[{"kind":"w","var":"x","val":"1"}]]}"#,
        r#"{"threads":[[{"kind":"w","var":["x"],"val":1}]]}"#,
        r#"{"threads":[[{"kind":"w","var":"x","val":1,"val":2}]]}"#,
        r#"{"threads":[[{"kind":"f","var":"x"}]]}"#,
        r#"{"threads":[[{"kind":"u","var":"x","val":1}]]}"#,
    ];
    check(
        HistoryFormat::Jsonl,
        &cases,
        &expect_test::expect![[r#"
            line 1, column 14: nobody wrote 1 to `x`
            history | t0: w x 1 | t1: w x 1 | 
            line 1, column 45: 0 is the initial value of `x` and is written to it as well, so it is not clear what this reads
            line 1, column 29: nobody wrote 0 to `x`
            line 1, column 14: nobody wrote 1 to `x`
            line 1, column 82: operation 0 of `t0` writes 1 to `x`, not 2
            line 1, column 82: there is no operation 0 of thread 1
            line 1, column 82: operation 0 of `t0` does not write `y`
            line 1, column 84: expected `,`, found `]`
            line 1, column 82: the initial value of `x` is 0, not 1
            line 1, column 120: 1 is written to `x` more than once (lines 1 and 1), and this does not say which write it reads; in jsonl and text reads can say `from`
            line 1, column 45: expected `,` or `]`, found the end of the text
            line 1, column 43: expected `,` or `}`, found the end of the text
            line 1, column 36: expected `,` or `}`, found `"`
            line 1, column 13: expected `[`, the operations of a thread, found `{`
            line 1, column 10: a history without `threads`; a line with a single operation begins with its thread, as in {"t":0,"kind":"w",…}
            line 1, column 25: "threads" is given twice
            line 1, column 1: expected `{`, a history, found `[`
            line 1, column 32: an operation without `kind`
            line 1, column 33: an operation without `var`
            line 1, column 35: an operation without `val`
            line 1, column 22: expected "r", "w", "u" or "f", found "x"
            line 1, column 42: expected a whole number of 64 bits, found `1.5`
            line 1, column 42: expected a whole number of 64 bits, found a number that does not fit into 64 bits with a sign
            line 1, column 42: expected a whole number of 64 bits, found `"`
            line 1, column 32: expected a variable, a string or a number, found `[`
            line 1, column 50: "val" is given twice
            line 1, column 32: a fence has no `var`
            line 1, column 42: an update has no `val`
        "#]],
    );
}

#[test]
fn jsonl_that_is_unusual() {
    let cases = [
        r#"{"more":{"a":[1,"}",null]},"threads":[[{"kind":"w","var":3,"val":-9223372036854775808,"at":"a.c:1"}],[]],"init":{"y":1},"id":7}"#,
        "\u{feff} { \"threads\" : [ [ { \"kind\" : \"fence\" } , { \"val\" : 5 , \"var\" : \"\\u0078\" , \"kind\" : \"w\" } ] ] }\n\n{\"threads\":[]}",
        r#"{"threads":[[{"kind":"w","var":"x","val":1},{"kind":"w","var":"x","val":1},{"kind":"r","var":"x","val":1,"from":[0,0]}]]}"#,
        r#"{"threads":[[{"kind":"w","var":"x","val":0}],[{"kind":"r","var":"x","val":0,"from":"init"}]]}"#,
        r#"{"threads":[[{"kind":"w","var":"x","val":0}],[{"kind":"r","var":"x","val":0,"from":[0,0]}]]}"#,
    ];
    check(
        HistoryFormat::Jsonl,
        &cases,
        &expect_test::expect![[r#"
        history 7 | t0: w 3 -9223372036854775808 | t1: | 
        history | t0: fence | t0: w x 5 | 
        history | 
        history | t0: | t0: w x 1 | t0: w x 1 | t0: r x 1 from t0 0 | 
        history | t0: | t1: | t0: w x 0 | t1: r x 0 from init | 
        history | t0: | t1: | t0: w x 0 | t1: r x 0 from t0 0 | 
    "#]],
    );
}

#[test]
fn texts() {
    let cases = [
        "// A comment.\nt0: w x 1 // one\n\nt1: rd x = 1\nt1: u x 1 -> 2\n\"a b\": fence\nt9:\ninit y -3\n",
        "t0: w x 1\nt0: w x 1\nt1: r x 1 from t0 1\nt1: r x 0 from init",
        "history a\nt0: w x 1\nhistory\nt0: w x 1\nhistory \"c d\"",
        "t0: r ä 1",
        "t0: w x 1\nt1: w ü 2\nt1: w x 1",
        "t0: w x 1\nt0: w x 1\nt1: r x 1",
        "t0 w x 1",
        "t0:w x 1",
        "t0: write x 1",
        "t0: w x",
        "t0: w x one",
        "t0: w x 1 2",
        "t0: u x 1",
        "t0: r x 1 from",
        "t0: r x 1 from t1 0",
        "t0: fence x",
        "init x",
        "init x 1\ninit x 1",
        "\"t0: w x 1",
        "t0: w x 99999999999999999999",
        "{\"params\":",
        "[",
    ];
    check(
        HistoryFormat::Text,
        &cases,
        &expect_test::expect![[r#"
            history | t0: w x 1 | t1: r x 1 | t1: u x 1 -> 2 | "a b": fence | t9: | 
            history | t0: | t1: | t0: w x 1 | t0: w x 1 | t1: r x 1 from t0 1 | t1: r x 0 from init | 
            history a | t0: w x 1 | 
            history | t0: w x 1 | 
            history "c d" | 
            line 1, column 5: nobody wrote 1 to `ä`
            history | t0: w x 1 | t1: w ü 2 | t1: w x 1 | 
            line 3, column 5: 1 is written to `x` more than once (lines 1 and 2), and this does not say which write it reads; in jsonl and text reads can say `from`
            line 1, column 1: expected a thread with a colon, such as `t0:`, or `history` or `init`
            line 1, column 4: expected a blank behind the colon
            line 1, column 5: expected an operation: `r x 1`, `w x 1`, `u x 0 -> 1` or `fence`
            line 1, column 8: expected a value, a whole number, found the end of the text
            line 1, column 9: expected a value, a whole number, found `o`
            line 1, column 11: expected `@` and times, or the end of the line, found `2`
            line 1, column 10: expected `->` and the new value, found the end of the text
            line 1, column 15: expected a thread and the number of its operation, or `init`, found the end of the text
            line 1, column 11: there is no operation 0 of `t1`
            line 1, column 11: expected `@` and times, or the end of the line, found `x`
            line 1, column 7: expected a value, a whole number, found the end of the text
            line 2, column 6: the initial value of `x` is given twice
            line 1, column 11: expected `"`, found the end of the text
            line 1, column 9: expected a value, a whole number, found a number that does not fit into 64 bits with a sign
            line 1, column 1: expected a history, not JSON of a kind that is not known
            line 1, column 1: expected a history, not JSON of a kind that is not known
        "#]],
    );
}

#[test]
fn texts_of_axe() {
    let cases = [
        "# SB\n0: M[0] := 1\n0: M[1] == 0\n1: v1 := 1 @ 10:\n1:v0==0@ :20\ncheck",
        "0: M[0] := 1\n3: { M[ 0 ] == 1;\n v00 := 2 } 0: sync final v0 == 2\ncheck check\n7: v1 == 0",
        "0: M[0] := 0",
        "0: M[0] == 4",
        "0: M[0] := 1 1: M[0] := 1",
        "0: { M[0] == 0; M[1] := 1 }",
        "x: M[0] := 1",
        "0: M[x] := 1",
        "0: M[0] = 1",
        "0: M[0] := -1",
        "0: M[0] :",
        "0: sink",
        "0: M[0] := 1 @ 5",
        "final M[0] 1",
        "chess",
    ];
    check(
        HistoryFormat::Axe,
        &cases,
        &expect_test::expect![[r#"
            history | t0: w 0 1 | t0: r 1 0 | t1: w 1 1 @ 10: | t1: r 0 0 @ :20 | 
            history | t0: w 0 1 | t0: fence | t0: fence | t0: w done(t0) 1 | t3: u 0 1 -> 2 | t3: fence | t3: w done(t3) 1 | final: r done(t0) 1 | final: r done(t3) 1 | final: r 0 2 | 
              note: the lines `final` are reads of a thread `final`, behind all that the others did; coherence, which orders no locations among each other, does not check them
            history | 
            history | t7: r 1 0 | 
            line 1, column 12: 0 is the initial value of all variables and cannot be written
            line 1, column 4: nobody wrote 4 to `[0]`
            history | t0: w 0 1 | t1: w 0 1 | 
            line 1, column 17: an atomic update of two variables
            line 1, column 1: expected the number of a thread, `final` or `check`, found `x`
            line 1, column 6: expected the number of a variable, found `x`
            line 1, column 9: expected `==` or `:=`, found `=`
            line 1, column 12: expected a value, a natural number, found `-`
            line 1, column 9: expected `==` or `:=`, found `:`
            line 1, column 4: expected `sync`, found `s`
            line 1, column 17: expected `:` between the times, found the end of the text
            line 1, column 12: expected `==`, found `1`
            line 1, column 1: expected `check`, found `c`
        "#]],
    );
}

#[test]
fn texts_of_dbcop() {
    let cases = [
        "// session 1\n[x:=1] [y==?]\n---\n[y:=1]\n[x==?]\n",
        "[x:=1 y:=1] [z==? z:=3]\n[y:=3]!\n---\n---\n[x==1]\n",
        "[x:=0]\n-\n[x==0]\n-\n[y==0]",
        "[x:=1]!\n---\n[x==1]",
        "[x:=1] [x:=1]",
        "[x==5]",
        "[x:=?]",
        "[x=1]",
        "[x:=1",
        "x:=1",
        "[x:=1,y:=2]",
        "[x:=-1]",
        "--- x",
    ];
    check(
        HistoryFormat::Dbcop,
        &cases,
        &expect_test::expect![[r#"
            history | t0: w x 1 | t0: r y 0 | t1: w y 1 | t1: r x 0 | 
            history | t0: w x 1 | t0: w y 1 | t0: u z 0 -> 3 | t1: | t2: r x 1 | 
              note: 1 transaction of several operations is read as its operations one after the other; whether it is atomic is not checked
              note: 1 transaction that did not happen (aborted, failed or not committed) is left out
            history | t0: | t1: | t2: | t0: w x 0 | t1: r x 0 from t0 0 | t2: r y 0 | 
            line 3, column 2: 1 was written to `x` only by a transaction that was aborted, failed or not committed
            history | t0: w x 1 | t0: w x 1 | 
            line 1, column 2: nobody wrote 5 to `x`
            line 1, column 5: expected a version, a number from 0 on, found `?`
            line 1, column 3: expected `:=` or `==`, found `=`
            line 1, column 6: expected an event such as `x:=1`, or `]`, found the end of the text
            line 1, column 1: expected a transaction such as `[x:=1 y==2]`, or `---`, found `x`
            line 1, column 6: expected a blank or `]`, found `,`
            line 1, column 5: expected a version, a number from 0 on, found `-`
            line 1, column 5: expected the end of the line, found `x`
        "#]],
    );
}

#[test]
fn json_of_dbcop() {
    let cases = [
        r#"{"params":{"id":0},"info":"generated","data":[[{"events":[{"Write":{"variable":0,"version":1}}],"committed":true}],[{"committed":true,"events":[{"Read":{"variable":0,"version":null}},{"Write":{"variable":0,"version":2}}]}]]}"#,
        r#"[[{"events":[["w",0,1],["r",1,null]],"committed":true},{"events":[["w",0,7]],"committed":false}],[{"events":[["r",0,1]],"committed":true}]]"#,
        r#"{"data":[[{"events":[{"Read":{"variable":0,"version":3}}],"committed":true}]]}"#,
        r#"{"data":[[{"events":[["w",0,null]],"committed":true}]]}"#,
        r#"{"data":[[{"events":[["w",0,1]]}]]}"#,
        r#"{"data":[[{"events":[["x",0,1]],"committed":true}]]}"#,
        r#"{"data":[[{"events":[{"Add":{}}],"committed":true}]]}"#,
        r#"{"data":[[{"events":[{"Read":{"version":1}}],"committed":true}]]}"#,
        r#"{"info":1}"#,
        r#"{"data":[[{"events":["#,
    ];
    check(
        HistoryFormat::DbcopJson,
        &cases,
        &expect_test::expect![[r#"
            history | t0: w 0 1 | t1: u 0 0 -> 2 | 
            history | t0: w 0 1 | t0: r 1 0 | t1: r 0 1 | 
              note: 1 transaction of several operations is read as its operations one after the other; whether it is atomic is not checked
              note: 1 transaction that did not happen (aborted, failed or not committed) is left out
            line 1, column 22: nobody wrote 3 to `[0]`
            line 1, column 22: a write without version
            line 1, column 32: a transaction without `events` or `committed`
            line 1, column 23: expected "r" or "w", found `"`
            line 1, column 23: expected "Read" or "Write"
            line 1, column 42: an event without `variable`
            line 1, column 10: a history without `data`
            line 1, column 22: expected an event, {"Read":…}, {"Write":…} or ["r",…], found the end of the text
        "#]],
    );
}

#[test]
fn texts_of_plume_and_awdit() {
    let cases = [
        "w(0,1,0,0)\nr(1,0,0,1)\nw(1,1,1,2)\nr(0,0,1,3)\n",
        // The transactions 5 and 6 of a session are mixed, and 5 began first.
        "w(0,1,0,5)\nw(1,1,0,6)\nw(2,1,0,5)\nr(0,0,1,7)\nw(0,2,1,7)\nw(9,9,2,-1)",
        "w(0,1,0,-1)\nr(0,1,0,1)",
        "r(0,3,0,0)",
        "w(0,1,0,0)\nw(0,1,1,1)",
        "w(0,1,0)",
        "w(0,a,0,0)",
        "w(,1,0,0)",
        "w(0,1,0,0) x",
        "x(0,1,0,0)",
        "w(0,1,0,0",
    ];
    check(
        HistoryFormat::Plume,
        &cases,
        &expect_test::expect![[r#"
            history | t0: w 0 1 | t0: r 1 0 | t1: w 1 1 | t1: r 0 0 | 
            history | t0: w 0 1 | t0: w 2 1 | t0: w 1 1 | t1: u 0 0 -> 2 | 
              note: 1 transaction of several operations is read as its operations one after the other; whether it is atomic is not checked
              note: of aborted transactions 1 event is left out
            line 2, column 1: 1 was written to `[0]` only by a transaction that was aborted, failed or not committed
            line 1, column 1: nobody wrote 3 to `[0]`
            history | t0: w 0 1 | t1: w 0 1 | 
            line 1, column 8: expected `,`, found `)`
            line 1, column 5: expected a value, a whole number, found `a`
            line 1, column 3: expected a key, found `,`
            line 1, column 12: expected the end of the line, found `x`
            line 1, column 1: expected an event such as `w(1,2,0,7)` or `r(1,2,0,7)`, found `x`
            line 1, column 10: expected `)`, found the end of the text
        "#]],
    );
    let cases = [
        "w 0 0\nw 1 0\n=====\nw 0 1\n-----\nr 0 1\nr 1 0\n=====\nr 2 0\nw 2 1",
        "r 0 5",
        "w 0",
        "w 0 -1",
        "w 0 1 2",
        "x 0 1",
        "w 0 1\n===- ",
    ];
    check(
        HistoryFormat::Awdit,
        &cases,
        &expect_test::expect![[r#"
            history | t0: | t1: | t2: | t0: w 0 0 | t0: w 1 0 | t1: w 0 1 | t1: r 0 1 | t1: r 1 0 from t0 1 | t2: u 2 0 -> 1 | 
              note: 2 transactions of several operations are read as their operations one after the other; whether they are atomic is not checked
            line 1, column 1: nobody wrote 5 to `[0]`
            line 1, column 4: expected a value, a number from 0 on, found the end of the text
            line 1, column 5: expected a value, a number from 0 on, found `-`
            line 1, column 7: expected the end of the line, found `2`
            line 1, column 1: expected an event such as `w 1 2` or `r 1 2`, `-----` or `=====`
            line 2, column 4: expected the end of the line, found `-`
        "#]],
    );
}

#[test]
fn tables() {
    let cases = [
        "cycle,core,op,addr,data,size\n1,0,ST,0x1000,0x1,4\n2,c,LD,0X001000,1,4\n3,c,fence\n4,c,mb,,,\n5,0,swap,8192,0->0x10,8\n6,0,R,0x2000,16,8\n",
        "core\top\taddr\tdata\told\n0\tW\tx\t1\t\n0\trmw\tx\t2\t1\n# a comment\n\n1\tR\tx\t2\t\n",
        "# core op addr:hex data:hex\r\n0 st 80001000 ff\r\n1  ld  0x80001000   0xff\r\n",
        "hart;value;address;type\n0;1;a;write\n\"1\"; 1 ;\"a\";READ",
        "core,op,addr,data\n0,W,x,0xffffffffffffffff\n1,R,x,-1\n",
        "core,op,addr,data\n0,W,x\n",
        "core,op,addr,data\n0,W,x,1,7\n",
        "core,op,addr,data\n0,W,x,ff\n",
        "core,op,addr,data\n0,W,x,0x12345678901234567\n",
        "core,op,addr,data\n0,BR,x,1\n",
        "core,op,addr,data\n0,W,0010,1\n",
        "core,op,addr,data\n0,W,,1\n",
        "core,op,addr,data\n,W,x,1\n",
        "core,op,addr,data\n0,rmw,x,1\n",
        "core,op,addr,data,size\n0,W,0x1000,1,4\n0,R,0x1000,1,8\n",
        "core,op,addr,data,size\n0,W,0x1000,1,4\n0,R,0x1002,1,4\n",
        "core,op,addr,data,size,start,end\n0,W,0x1000,0x0807060504030201,8,1,5\n0,fence,,,,6,7\n0,swap,0x1002,0x0403->0x4433,2,8,9\n1,R,0x1000,0x0807060544330201,8,9,10\n1,R,0x1007,8,1,11,12\n",
        "core,op,addr,data,size,start,end\n0,W,0x1000,1,8,1,5\n0,W,0x1004,2,4,4,6\n",
        "core,op,addr,data,size\n0,W,0x1000,0xffffffffffffffff,16\n1,R,0x1004,0xffffffff,4\n1,R,0x1008,0,8\n",
        "core,op,addr,data,size\n0,W,0x1000,1,0\n",
        "core,op,addr,data,size\n0,W,0x10,-1,1\n00,swap,0x10,0xff->-128,1\n0x0,R,0x10,128,1\n",
        "core,op,addr,data,size\n0,W,0x10,256,1\n",
        "core,op,addr,data,size\n0,W,x,1,4\n0,R,x,1,8\n",
        "core,op,addr,data,size\n0,W,0x10,1,8\n0,R,0x14,0,\n",
        "core,op,addr,data,size\n0,W,0x10,-1,16\n",
        "core,op,addr,data,size\n0,W,0xfffffffffffffffc,1,4\n0,W,0xfffffffffffffffe,1,4\n",
        "core,op,addr,core,data\n",
        "core,op,addr,data\n0,W,x,18446744073709551615\n",
        "core,op,data\n0,W,1\n",
        "0,W,x,1\n",
        "core,op,what,data,when\n0,W,x,1,2\n",
        "",
    ];
    check(
        HistoryFormat::Csv,
        &cases,
        &expect_test::expect![[r#"
            history | core0: w 0x1000 1 | core0: u 0x2000 0 -> 16 | core0: r 0x2000 16 | c: r 0x1000 1 | c: fence | c: fence | 
              note: the cycles are not used: the order of each core's own lines counts
            history | core0: w x 1 | core0: u x 1 -> 2 | core1: r x 2 | 
            history | core0: w 0x80001000 255 | core1: r 0x80001000 255 | 
            history | core0: w a 1 | core1: r a 1 | 
            history | core0: w x -1 | core1: r x -1 | 
            line 2, column 1: expected 4 columns, found 3; a column of the name - is not used
            line 2, column 1: expected 4 columns, found 5; a column of the name - is not used
            line 2, column 7: expected a number: decimal, or hexadecimal behind 0x, or in a column that is called `data:hex` and so on, found `ff`
            line 2, column 7: expected a number, found `0x12345678901234567`, which does not fit into 64 bits with a sign: -9223372036854775808 to 9223372036854775807, or up to 16 hexadecimal digits, which are the bits
            line 2, column 3: expected R, read, load or ld, W, write, store or st, rmw, amo, swap or cas, or fence, found `BR`
            line 2, column 5: expected a decimal address, or a hexadecimal one behind 0x or in a column that is called `addr:hex`, found `0010`
            line 2, column 7: a line without an address
            line 2, column 7: a line without a core
            line 2, column 9: an update reads one value and writes another: expected both, as in `0->1`, or a column `old`
            history | core0: w 0x1000 1 | core0: r 0x1000 1 | core0: r 0x1004 0 | 
              note: 1 access that others overlap in part: the parts are looked at one after the other
            line 3, column 1: nobody wrote 1 to `[0x1002]`
            history | core0: w 0x1000 513 @ 1: | core0: w 0x1002 1027 | core0: w 0x1004 460293 | core0: w 0x1007 8 @ :5 | core0: fence @ 6:7 | core0: u 0x1002 1027 -> 17459 @ 8:9 | core1: r 0x1000 513 @ 9: | core1: r 0x1002 17459 | core1: r 0x1004 460293 | core1: r 0x1007 8 @ :10 | core1: r 0x1007 8 @ 11:12 | 
              note: 2 accesses that others overlap in part: the parts are looked at one after the other
            line 3, column 16: it starts at 4, but `core0` does one operation after the other, and the one before it goes on until 5
            line 4, column 1: 0 is the initial value of `[0x1008]` and is written to it as well, so it is not clear what this reads
            line 2, column 14: expected a size from 1 to 64 bytes, found `0`
            history | core0: w 0x10 255 | core0: u 0x10 255 -> 128 | core0: r 0x10 128 | 
            line 2, column 10: `256` does not fit into 8 bits
            line 3, column 1: 8 bytes of x overlap 4 bytes of it in part: accesses of different sizes are compared at addresses only, and not while a log is followed
            line 3, column 12: a line without a size
            line 2, column 10: negative values of more than 8 bytes are not compared yet
            line 3, column 26: 4 bytes at 0xfffffffffffffffe do not end within 64 bits
            line 1, column 1: two columns are the core
            line 2, column 7: expected a number, found `18446744073709551615`, which does not fit into 64 bits with a sign: -9223372036854775808 to 9223372036854775807, or up to 16 hexadecimal digits, which are the bits
            line 1, column 1: no column is the addr; expected columns of start, end, cycle, core, op, addr, data, old, size and - (not used)
            line 1, column 1: expected a first line that names the columns, such as `cycle,core,op,addr,data`, or --columns
            line 1, column 9: `what`, `when` are no names of columns; expected columns of start, end, cycle, core, op, addr, data, old, size and - (not used)
        "#]],
    );
}

#[test]
fn reads_of_what_nobody_wrote() {
    let text = "a: w x 1\nb: w x 2\nb: w y 7\nc: r x 7\na: w x 3\n";
    let mut reader = HistoryReader::new(Box::new(Cursor::new(text)), HistoryFormat::Text);
    let error = reader.next().expect_err("nobody wrote 7");
    assert_eq!(error.to_string(), "line 4, column 4: nobody wrote 7 to `x`");
    let read = reader.unwritten().expect("a read").clone();
    let writes: Vec<_> =
        read.last_writes.iter().map(|w| (w.thread.as_str(), w.value, w.line)).collect();
    assert_eq!((&read.thread[..], &read.var[..], read.value, read.writes), ("c", "x", 7, 3));
    assert_eq!(writes, [("b", 2, 2), ("a", 1, 1)]);
    assert_eq!(reader.next(), Ok(None));
    assert_eq!(reader.unwritten(), None);
    // What is wrong otherwise, or was written by somebody who is left out, is none.
    for (text, format) in [
        ("a: w x 1\nb: w x 1\nc: r x 1\n", HistoryFormat::Text),
        ("a: w x 1\nb: r x 2 from a 0\n", HistoryFormat::Text),
        ("w(0,5,0,-1)\nr(0,5,1,1)\n", HistoryFormat::Plume),
    ] {
        let mut reader = HistoryReader::new(Box::new(Cursor::new(text)), format);
        reader.next().expect_err(text);
        assert_eq!(reader.unwritten(), None, "{text}");
    }
}

/// Histories whose text somebody else reads are those that come one after the other, with the same errors in the same places.
#[test]
fn histories_that_are_cut_out() {
    const SPACES: [&str; 6] = ["", "\n", " ", "\r\n\n", "\t\x0b", "\n  \n"];
    const LONG: usize = 300 << 10;
    let sound = |rng: &mut Rng| {
        let size =
            HistorySize { threads: 3, vars: 2, ops: 6, updates: true, fences: true, changes: 1 };
        let id = ["a}", "{[", "\\\"", "ä\\u00e4", "]\\\\"][rng.below(5)];
        let history = recorded(random_history(rng, size), None);
        let text = String::from_utf8(written(HistoryFormat::Jsonl, &history)).expect("UTF-8");
        let text = text.trim_end().replacen('{', &format!("{{\"id\":\"{id}\","), 1);
        match rng.below(4) {
            0 => text.replace(',', ",\n "),
            1 => text.replace("\"threads\"", &format!("\"x\":[{{\"y\":\"{id}\"}}],\n\"threads\"")),
            2 if rng.below(8) == 0 => text.replacen('{', &format!("{{{}", " ".repeat(LONG)), 1),
            _ => text,
        }
    };
    let mut rng = Rng::new(93);
    let (mut cut, mut wrong) = (0, 0);
    for round in 0..scaled(400) {
        let mut text = String::from(["", "\u{feff}"][rng.below(2)]);
        for _ in 0..rng.below(6) {
            text += &sound(&mut rng);
            text += SPACES[rng.below(SPACES.len())];
        }
        match rng.below(4) {
            0 => text += r#"{"threads":[[{"kind":"r","var":"x","val":7}]]}"#,
            1 => {
                text +=
                    [r#"{"t":0,"kind":"w","var":"x","val":1}"#, "{]", "[", "{\"threads\":[[}]]}"]
                        [rng.below(4)]
            }
            _ => {}
        }
        text += &sound(&mut rng);
        let mut bytes = text.into_bytes();
        if rng.below(3) == 0 {
            // Anything may be wrong.
            let at = rng.below(bytes.len());
            bytes[at] = *b"{}[]\",:\\ x".get(rng.below(10)).unwrap_or(&b'0');
        }
        if rng.below(6) == 0 {
            bytes.truncate(rng.below(bytes.len()));
        }
        let whole =
            || HistoryReader::new(Box::new(Cursor::new(bytes.clone())), HistoryFormat::Jsonl);
        // One after the other, behind wrong ones as well, up to what cannot be read.
        let all = |mut reader: HistoryReader, cuts: bool| {
            let mut all = Vec::new();
            let mut number = 0;
            loop {
                let text = if cuts { reader.cut().expect("no error of the source") } else { None };
                let (next, is_over) = match text {
                    Some(text) => {
                        number += 1;
                        let mut one = text.reader();
                        let next = one.next();
                        let is_over = one.has_ended();
                        assert!(is_over || one.next() == Ok(None), "one history");
                        (next, is_over)
                    }
                    None => (reader.next(), reader.has_ended()),
                };
                all.push(next);
                if is_over {
                    return (all, number);
                }
            }
        };
        let (expected, _) = all(whole(), false);
        for reader in [
            whole(),
            HistoryReader::new(Dribble::new(&bytes, &[1, 7, 100, 4000]), HistoryFormat::Jsonl),
        ] {
            let (found, number) = all(reader, true);
            assert_eq!(found, expected, "{round}: {}", String::from_utf8_lossy(&bytes));
            cut += number;
        }
        wrong += expected.iter().filter(|next| next.is_err()).count();
    }
    assert!(cut > scaled(400) && wrong > scaled(400) / 8, "{cut} {wrong}");
}

#[test]
fn columns_that_are_named() {
    let read = |columns: &str, text: &'static str| -> Result<Vec<(usize, String)>, String> {
        let columns = weakspot_trace::Columns::parse(columns)?;
        let mut reader =
            HistoryReader::columns(Box::new(std::io::Cursor::new(text.as_bytes())), columns);
        let history = reader.next().map_err(|error| error.to_string())?.ok_or("nothing")?;
        Ok(named(&history))
    };
    let plain = read("-,core,op,addr,data", "120 a ST 0x10 1\n121 b LD 0x10 1\n");
    assert!(plain.is_ok(), "{plain:?}");
    // A line with names does not matter then.
    let headed = "x,who,op,core,data\n";
    assert!(read("-,core,op,addr,data", headed).is_err());
    let headed = "time,core,op,addr,data\n120,a,ST,0x10,1\n121,b,LD,0x10,1\n";
    assert_eq!(read("-,core,op,addr,data", headed), plain);
    // Nor do names of its own, or units.
    let headed = "When,Master,Access,Where,What\n120,a,ST,0x10,1\n121,b,LD,0x10,1\n";
    assert_eq!(read("-,core,op,addr,data", headed), plain);
    let headed = "Bytes [B],Core (id),Type,Address [hex],Data\n4,a,ST,0x10,1\n4,b,LD,0x10,1\n";
    check(
        HistoryFormat::Csv,
        &[headed],
        &expect_test::expect![[r#"
        history | a: w 0x10 1 | b: r 0x10 1 | 
    "#]],
    );
    // A line that should be one of the log is not taken for names.
    assert!(read("-,core,op,addr,data", "120,a,SET,0x10,1\n").is_err());
    for wrong in ["", "core,op,addr", "core,op,addr,data,data", "core,op,addr,data,x"] {
        assert!(weakspot_trace::Columns::parse(wrong).is_err(), "{wrong}");
    }
}

/// Random histories as tables are the same as in our own text.
#[test]
fn tables_are_histories() {
    let size =
        HistorySize { threads: 3, vars: 3, ops: 12, updates: true, fences: true, changes: 0 };
    for seed in 0..scaled(1200) as u64 {
        let history = recorded(random_history(&mut Rng::new(seed), size), None);
        let (ops, names) = (&history.ops, &history.names);
        let mut table = String::from("data,op,addr,core,old\n");
        let mut text = String::new();
        for op in 0..ops.len() as u32 {
            let value = names.values[op as usize];
            let core = &names.threads[ops.thread_of(op)];
            let var = names.vars.get(ops.var(op) as usize).map_or("", |var| var);
            let old = match ops.from(op) {
                Some(from) => names.values[from as usize],
                None => names.initial.get(ops.var(op) as usize).copied().unwrap_or(0),
            };
            let (row, line) = match ops.kind(op) {
                OpKind::Fence => (",fence,,{core},".to_owned(), "fence".to_owned()),
                OpKind::Read => {
                    (format!("{value:#x},R,{var},{{core}},"), format!("r {var} {value}"))
                }
                OpKind::Write => (format!("{value},W,{var},{{core}},"), format!("w {var} {value}")),
                OpKind::Update => (
                    format!("{value},rmw,{var},{{core}},{old}"),
                    format!("u {var} {old} -> {value}"),
                ),
            };
            table += &format!("{}\n", row.replace("{core}", core));
            text += &format!("{core}: {line}\n");
        }
        let (as_table, as_text) = (
            read(table.as_bytes(), HistoryFormat::Csv),
            read(text.as_bytes(), HistoryFormat::Text),
        );
        let shown = |(all, error): (Vec<Recorded>, Option<LogError>)| {
            (all.iter().map(named).collect::<Vec<_>>(), error.is_some())
        };
        assert_eq!(shown(as_table), shown(as_text), "seed {seed}");
    }
}

#[test]
fn edn_of_jepsen() {
    let cases = [
        "{:index 0, :type :invoke, :process 0, :f :txn, :value [[:w :x 1]]}\n{:index 1 :type :ok :process 0 :f :txn :value [[:w :x 1]]}\n{:type :ok :process 1 :f :txn :value [[:r :x 1]]} ; and one of nobody\n{:type :info :process :nemesis :f :kill :value nil}",
        "[#jepsen.history.Op{:type :ok, :process 0, :f :txn, :value [[:r \"x\" nil] [:w \"x\" 2N]]} #_ {:a 1} {:type :ok :process 1 :value ([:w 7 1] [:r :y nil])}]",
        "{:type :ok :process 0 :f :write :value 3}{:type :ok :process 1 :f :read :value 3}{:type :ok :process 1 :f :cas :value [3 4]}{:type :ok :process 2 :f :read :value [5 nil]}{:type :ok :process 2 :f :cas :value [5 [0 1]]}",
        // One write failed, one was seen though nobody knows of its end, one was not seen.
        "{:type :invoke :process 0 :f :txn :value [[:w :x 1]]}{:type :fail :process 0 :f :txn :value [[:w :x 1]]}{:type :invoke :process 0 :f :txn :value [[:w :x 2]]}{:type :info :process 0 :f :txn :value [[:w :x 2]]}{:type :invoke :process 1 :f :txn :value [[:w :y 5] [:w :x 3]]}{:type :ok :process 2 :f :txn :value [[:r :x 2]]}{:type :ok :process 2 :f :txn :value [[:r :x 3]]}",
        "{:type :invoke :process 0 :f :write :value 1}{:type :info :process 0 :f :write :value 1}{:type :ok :process 0 :f :write :value 2}{:type :ok :process 1 :f :read :value 1}",
        "{:type :fail :process 0 :f :write :value 1}{:type :ok :process 1 :f :read :value 1}",
        "{:type :ok :process 0 :f :txn :value [[:append :x 1]]}",
        "{:type :ok :process 0 :f :txn :value [[:r :x [1 2]]]}",
        "{:type :ok :process 0 :f :txn :value [[:w :x nil]]}",
        "{:type :ok :f :txn :value [[:w :x 1]]}",
        "{:process 0 :f :txn :value [[:w :x 1]]}",
        "{:type :good :process 0 :f :txn :value [[:w :x 1]]}",
        "{:type :ok :process 0 :f :transfer :value {:from 1}}",
        "{:type :ok :process 0 :f}",
        "{:type :ok :process 0 :f :txn :value [[:w :x 1]}",
        "[{:type :ok :process 0 :f :txn :value [[:w :x 1]]}",
        "42",
    ];
    check(
        HistoryFormat::Edn,
        &cases,
        &expect_test::expect![[r#"
            history | t0: w x 1 @ 1:2 | t1: r x 1 @ :3 | 
            history | t0: u x 0 -> 2 @ :1 | t1: w 7 1 | t1: r y 0 @ :2 | 
              note: 1 transaction of several operations is read as its operations one after the other; whether it is atomic is not checked
            history | t0: w register 3 @ :1 | t1: r register 3 @ :2 | t1: u register 3 -> 4 @ :3 | t2: r 5 0 @ :4 | t2: u 5 0 -> 1 @ :5 | 
            history | t0: w x 2 @ 3: | t1: w x 3 @ 5: | t2: r x 2 @ :6 | t2: r x 3 @ :7 | 
              note: of the writes of which it is not known whether they happened, 2 were read and are counted as done, and 1 was not and is left out
              note: 1 transaction that did not happen (aborted, failed or not committed) is left out
            history | t0: w register 2 @ :3 | t1: r register 1 @ :4 | t2: w register 1 @ 1: | 
              note: of the writes of which it is not known whether they happened, 1 was read and is counted as done, and 0 were not and are left out
            line 1, column 44: 1 was written to `register` only by a transaction that was aborted, failed or not committed
            line 1, column 1: expected a read or write of a register, such as [:r :x 1] or [:w :x 1], found :append
            line 1, column 1: expected a value that is a whole number of 64 bits, or nil
            line 1, column 1: a write of nil
            line 1, column 1: an operation without `:process`, a number or a keyword
            line 1, column 1: an operation without `:type`
            line 1, column 1: expected a `:type` of :invoke, :ok, :fail or :info
            line 1, column 1: expected an `:f` of :txn, :read, :write or :cas
            line 1, column 25: a map with a key that has no value
            line 1, column 48: expected a form, found `}`
            line 1, column 51: expected the end of the vector or list of operations, found the end of the text
            line 1, column 1: expected an operation, a map such as {:type :ok …}
        "#]],
    );
}

#[test]
fn what_cannot_be_said() {
    let text = |text: &str| good(text.as_bytes(), HistoryFormat::Text).remove(0);
    let mut said = String::new();
    for history in [
        "t0: fence",
        "init x 1\nt0: r x 1",
        "t0: w x -1",
        "t0: w x 0",
        "t0: w x 12345678901",
        "t0: w x 1\nt1: w x 1\nt2: r x 1 from t0 0",
        "t0: r x 0",
    ] {
        for format in HistoryFormat::ALL {
            let mut bytes = Vec::new();
            if let Err(e) = write_history(&mut bytes, format, &text(history)) {
                assert!(bytes.is_empty());
                said += &format!("{}: {}: {e}\n", history.replace('\n', " | "), format.key());
            }
        }
    }
    expect_test::expect![[r#"
        t0: fence: dbcop: dbcop cannot say fences
        t0: fence: dbcop-json: dbcop cannot say fences
        t0: fence: plume: Plume cannot say fences
        t0: fence: awdit: AWDIT cannot say fences
        t0: fence: edn: EDN says when operations began and ended, which a history does not know
        t0: fence: csv: tables of columns are read, not written
        init x 1 | t0: r x 1: axe: Axe cannot say that `x` is not 0 at first
        init x 1 | t0: r x 1: dbcop: dbcop cannot say that `x` is not 0 at first
        init x 1 | t0: r x 1: dbcop-json: dbcop cannot say that `x` is not 0 at first
        init x 1 | t0: r x 1: plume: Plume cannot say that `x` is not 0 at first
        init x 1 | t0: r x 1: awdit: AWDIT cannot say that `x` is not 0 at first
        init x 1 | t0: r x 1: edn: EDN says when operations began and ended, which a history does not know
        init x 1 | t0: r x 1: csv: tables of columns are read, not written
        t0: w x -1: axe: Axe cannot say the value -1
        t0: w x -1: dbcop: dbcop cannot say the value -1
        t0: w x -1: dbcop-json: dbcop cannot say the value -1
        t0: w x -1: plume: Plume cannot say the value -1
        t0: w x -1: awdit: AWDIT cannot say the value -1
        t0: w x -1: edn: EDN says when operations began and ended, which a history does not know
        t0: w x -1: csv: tables of columns are read, not written
        t0: w x 0: axe: Axe cannot say that the initial value 0 is written to `x`
        t0: w x 0: dbcop: dbcop cannot say that the initial value 0 is written to `x`
        t0: w x 0: dbcop-json: dbcop cannot say that the initial value 0 is written to `x`
        t0: w x 0: plume: Plume cannot say that the initial value 0 is written to `x`
        t0: w x 0: awdit: AWDIT cannot say that the initial value 0 is written to `x`
        t0: w x 0: edn: EDN says when operations began and ended, which a history does not know
        t0: w x 0: csv: tables of columns are read, not written
        t0: w x 12345678901: axe: Axe cannot say the value 12345678901
        t0: w x 12345678901: edn: EDN says when operations began and ended, which a history does not know
        t0: w x 12345678901: csv: tables of columns are read, not written
        t0: w x 1 | t1: w x 1 | t2: r x 1 from t0 0: axe: Axe cannot say that 1 is written to `x` twice
        t0: w x 1 | t1: w x 1 | t2: r x 1 from t0 0: dbcop: dbcop cannot say that 1 is written to `x` twice
        t0: w x 1 | t1: w x 1 | t2: r x 1 from t0 0: dbcop-json: dbcop cannot say that 1 is written to `x` twice
        t0: w x 1 | t1: w x 1 | t2: r x 1 from t0 0: plume: Plume cannot say that 1 is written to `x` twice
        t0: w x 1 | t1: w x 1 | t2: r x 1 from t0 0: awdit: AWDIT cannot say that 1 is written to `x` twice
        t0: w x 1 | t1: w x 1 | t2: r x 1 from t0 0: edn: EDN says when operations began and ended, which a history does not know
        t0: w x 1 | t1: w x 1 | t2: r x 1 from t0 0: csv: tables of columns are read, not written
        t0: r x 0: awdit: AWDIT cannot say that the initial value of `x` is read
        t0: r x 0: edn: EDN says when operations began and ended, which a history does not know
        t0: r x 0: csv: tables of columns are read, not written
    "#]].assert_eq(&said);
}

/// Files that are cut or changed anywhere are read or refused, with a place that is there.
#[test]
fn damage() {
    let size =
        HistorySize { threads: 3, vars: 3, ops: 12, updates: true, fences: false, changes: 0 };
    let edn = b"[{:type :ok :process 0 :f :txn :value [[:w :x 1]]} ; note\n #a.b{:type :ok :process 1 :f :cas, :value [:k [0 \\c]]} {:type :info :process 2 :f :txn :value [[:r \"x\" nil] [:w :x -2]]}]".to_vec();
    let table =
        "# a log\ncycle,core,op,addr,data:hex,size\n1,ä,W,0x10,ff,4\n2,\"b\",r,\"16\",0xFF,4\n\
                 3,b,rmw,0x20,0->1,4\n4,b,fence\n"
            .as_bytes()
            .to_vec();
    let mut rng = Rng::new(3);
    for format in HistoryFormat::ALL {
        let mut files = vec![edn.clone()];
        if format == HistoryFormat::Csv {
            files = vec![table.clone()];
        } else if format != HistoryFormat::Edn {
            files.clear();
            while files.len() < 4 {
                let history = recorded(random_history(&mut rng, size), Some("ä"));
                let mut bytes = Vec::new();
                if write_history(&mut bytes, format, &history).is_ok() {
                    files.push(bytes);
                }
            }
        }
        let check = |bytes: &[u8]| {
            let (all, error) = read(bytes, format);
            if let Some(error) = error {
                let weakspot_trace::LogPlace::Line { line, column } = error.place else {
                    panic!("{error}")
                };
                let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
                let mut lines = text.split(|&b| b == b'\n');
                let there = lines.nth(line as usize - 1).expect("the line is there");
                assert!((1..=there.len() as u64 + 1).contains(&column), "{error}");
            }
            for history in all {
                let mut bytes = Vec::new();
                if write_history(&mut bytes, HistoryFormat::Jsonl, &history).is_ok() {
                    let again = good(&bytes, HistoryFormat::Jsonl);
                    assert_eq!(again.len(), 1);
                    assert_eq!(named(&again[0]), named(&history));
                }
            }
            let _ = HistoryFormat::sniff(bytes);
        };
        for file in &files {
            for cut in 0..file.len() {
                check(&file[..cut]);
            }
            for _ in 0..3000 {
                let mut bytes = file.clone();
                for _ in 0..1 + rng.below(3) {
                    let at = rng.below(bytes.len());
                    match rng.below(4) {
                        0 => bytes[at] ^= 1 << rng.below(8),
                        1 => bytes[at] = b"[]{}()\":,=-#;/\n\\ 0"[rng.below(18)],
                        2 => {
                            bytes.remove(at);
                        }
                        _ => bytes.insert(at, bytes[rng.below(bytes.len())]),
                    }
                    if bytes.is_empty() {
                        break;
                    }
                }
                check(&bytes);
            }
        }
    }
}

/// A history that is wrong does not hide those behind it; a text that is wrong does.
#[test]
fn histories_behind_a_wrong_one() {
    let wrong = "history a\nt0: r x 5\nhistory b\nt0: w x 5\nt1: r x 5\n\nt0: fence\n";
    let mut reader = HistoryReader::new(Box::new(std::io::Cursor::new(wrong)), HistoryFormat::Text);
    reader.keep_lines();
    let error = reader.next().expect_err("nobody wrote 5");
    assert_eq!(error.to_string(), "line 2, column 5: nobody wrote 5 to `x`");
    assert!(!reader.has_ended());
    let b = reader.next().expect("a good history").expect("a history");
    assert_eq!((b.id.as_deref(), b.ops.len()), (Some("b"), 3));
    assert_eq!(reader.lines(), [4, 7, 5], "thread by thread");
    assert_eq!(reader.next(), Ok(None));
    assert!(reader.has_ended());

    let torn = "{\"threads\":[[{\"kind\":\"r\"}]]}\n{\"threads\":[[]]}\n";
    let mut reader = HistoryReader::new(Box::new(std::io::Cursor::new(torn)), HistoryFormat::Jsonl);
    assert!(reader.next().is_err());
    assert!(reader.has_ended());
}

/// Reads that say that they read the initial value are enough to make repeated values clear.
#[test]
fn repeated_values_and_initial_reads() {
    let text = "t0: w x 1\nt0: w x 1\nt1: r x 0 from init\n";
    let read = |text: Vec<u8>| {
        let mut reader =
            HistoryReader::new(Box::new(std::io::Cursor::new(text)), HistoryFormat::Text);
        reader.next().expect("a history").expect("one")
    };
    let history = read(text.into());
    let mut again = Vec::new();
    write_history(&mut again, HistoryFormat::Text, &history).expect("it can be said");
    assert_eq!(read(again).ops, history.ops);
}

/// A transaction that reads one variable and writes another is no update.
#[test]
fn an_update_is_of_one_variable() {
    check(
        HistoryFormat::Dbcop,
        &["[x==? y:=1] [z==? z:=1]\n"],
        &expect_test::expect![[r#"
        history | t0: r x 0 | t0: w y 1 | t0: u z 0 -> 1 | 
          note: 1 transaction of several operations is read as its operations one after the other; whether it is atomic is not checked
    "#]],
    );
}
