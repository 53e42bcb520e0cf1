use expect_test::{Expect, expect};
use weakspot_core::testing::{Rng, scaled};
use weakspot_trace::{LogFormat, LogPlace};

use crate::{Item, read};

/// What is said about a text, with the number of events before.
fn check(format: LogFormat, text: &str, expected: Expect) {
    let got = read(text.as_bytes(), format);
    let said = match got.error {
        Some(error) => error.of("log"),
        None => got.items.iter().map(|i| format!("{i:?}\n")).collect(),
    };
    expected.assert_eq(&said);
}

#[test]
fn text() {
    let check = |text, expected| check(LogFormat::Text, text, expected);
    check("wr x", expect!["log:1:1: expected a thread and a colon, such as `t0: rd x`"]);
    check("t0 wr x", expect!["log:1:1: expected a thread and a colon, such as `t0: rd x`"]);
    check(
        "t0:wr x",
        expect!["log:1:1: expected a blank behind the thread and its colon, as in `t0: rd x`"],
    );
    check(": wr x", expect!["log:1:1: expected a thread and a colon, such as `t0: rd x`"]);
    check("t0:", expect!["log:1:4: expected an event, such as `rd x`"]);
    check("t0: // later", expect!["log:1:5: expected an event, such as `rd x`"]);
    check(
        "\n\nt0: wr x\nt0: write x",
        expect![
            "log:4:5: unknown event `write`: expected rd, wr, upd, acq, rel, fence, ssfence, spawn, join, begin, end or com"
        ],
    );
    check("t0: wr", expect!["log:1:7: expected a location behind `wr`"]);
    check("t0: wr @ a.c:1", expect!["log:1:8: expected a location behind `wr`"]);
    check("t0: wr = 1", expect!["log:1:8: expected a location"]);
    check("t0: spawn // t1", expect!["log:1:11: expected a thread behind `spawn`"]);
    check(
        "t0: fence x",
        expect!["log:1:11: expected `@ position`, `#number` or a comment, found `x`"],
    );
    check(
        "t0: wr x y",
        expect![
            "log:1:10: expected a value such as `= 1`, `@ position`, `#number` or a comment, found `y`"
        ],
    );
    check("t0: wr x = y", expect!["log:1:12: expected a number behind `=`"]);
    check("t0: wr x = 1.5", expect!["log:1:12: expected a number of 64 bits, found `1.5`"]);
    check(
        "t0: wr x = 9223372036854775808",
        expect![[r#"
            Event("\"t0\" Write \"LogLoc { name: \\\"x\\\", bytes: None }\" Some(LogValue { value: -9223372036854775808, old: None }) None 0")
        "#]],
    );
    check(
        "t0: wr x 0 -> 1",
        expect!["log:1:12: expected `@ position`, `#number` or a comment, found `->`"],
    );
    check("t0: upd x 0 ->", expect!["log:1:15: expected a number behind `->`"]);
    check(
        "t0: upd x 0 1",
        expect!["log:1:13: expected `@ position`, `#number` or a comment, found `1`"],
    );
    check(
        "t0: acq l = 1",
        expect!["log:1:11: expected `@ position`, `#number` or a comment, found `=`"],
    );
    check(
        "t0: wr 0x10/0",
        expect!["log:1:8: expected an address and a size, such as 0x1000/4, found `0x10/0`"],
    );
    check(
        "t0: wr 0x1_0/4",
        expect!["log:1:8: expected an address and a size, such as 0x1000/4, found `0x1_0/4`"],
    );
    check(
        "t0: wr x@main.c:3",
        expect!["log:1:10: expected an address and a size, such as 0x1000/4, found `main.c:3`"],
    );
    check("t0: wr x @", expect!["log:1:11: expected a source position behind `@`"]);
    check(
        "t0: wr x @ a @ b",
        expect![
            "log:1:14: expected a value such as `= 1`, `@ position`, `#number` or a comment, found `@`"
        ],
    );
    check("t0: wr x #", expect!["log:1:10: expected a transaction from #0 to #4294967294"]);
    check("t0: wr x #-1", expect!["log:1:10: expected a transaction from #0 to #4294967294"]);
    check(
        "t0: wr x #4294967295",
        expect!["log:1:10: expected a transaction from #0 to #4294967294"],
    );
    check("t0: wr \"x", expect!["log:1:8: expected a name in quotes, as JSON writes strings"]);
    check("t0: wr \"\\q\"", expect!["log:1:8: expected a name in quotes, as JSON writes strings"]);
    check("\"t 0\" wr x", expect!["log:1:6: expected a colon behind the thread"]);
    check(
        "tü: wr ü y",
        expect![
            "log:1:10: expected a value such as `= 1`, `@ position`, `#number` or a comment, found `y`"
        ],
    );
    check("trace a b", expect!["log:1:9: expected the end of the line or a comment, found `b`"]);
    check(
        "t0: wr x // fine\nt1: r y 0 @a.c:1 #3\n\"t 2\": upd z 0->1",
        expect![[r#"
        Event("\"t0\" Write \"LogLoc { name: \\\"x\\\", bytes: None }\" None None 0")
        Event("\"t1\" Read \"LogLoc { name: \\\"y\\\", bytes: None }\" Some(LogValue { value: 0, old: None }) Some(\"a.c:1\") 4")
        Event("\"t 2\" Update \"LogLoc { name: \\\"z\\\", bytes: None }\" Some(LogValue { value: 1, old: Some(0) }) None 0")
    "#]],
    );
    check(
        "t0: wr x=-7\r\nt0: rd x@0x10/4=0xff",
        expect![[r#"
        Event("\"t0\" Write \"LogLoc { name: \\\"x\\\", bytes: None }\" Some(LogValue { value: -7, old: None }) None 0")
        Event("\"t0\" Read \"LogLoc { name: \\\"x\\\", bytes: Some(Bytes { start: 16, len: 4 }) }\" Some(LogValue { value: 255, old: None }) None 0")
    "#]],
    );
}

#[test]
fn rapid() {
    let check = |text, expected| check(LogFormat::Std, text, expected);
    check("T0", expect!["log:1:3: expected thread|operation|position, such as T0|w(V1)|17"]);
    check("T0|w(x)", expect!["log:1:8: expected thread|operation|position, such as T0|w(V1)|17"]);
    check(
        "T0|w(x)|1|2",
        expect!["log:1:10: expected thread|operation|position, such as T0|w(V1)|17"],
    );
    check("|w(x)|1", expect!["log:1:1: expected a thread"]);
    check("T 0|w(x)|1", expect!["log:1:2: a thread with a blank in its name"]);
    check(
        "T0|w(x)|1\nT0|write(x)|2",
        expect![
            "log:2:4: unknown operation `write`: expected r, w, acq, rel, fork, join, begin or end"
        ],
    );
    check("T0|w(x|1", expect!["log:1:7: expected `)`"]);
    check("T0|w|1", expect!["log:1:5: expected an operand: w(V1)"]);
    check("T0|w()|1", expect!["log:1:6: expected a variable"]);
    check("T0|acq(a b)|1", expect!["log:1:9: a lock with a blank in its name"]);
    check("T0|fork()|1", expect!["log:1:9: expected a thread"]);
    check(
        "T1|w(V234.23[0])|456\nT0|begin|1\nT0|end(m())|\nT0|acq(L)|-1\nT0|w(L)|0\n\nT0|rel(L)|2\nT0|r(L)|",
        expect![[r#"
        Event("\"T1\" Write \"LogLoc { name: \\\"V234.23[0]\\\", bytes: None }\" None Some(\"456\") 0")
        Event("\"T0\" Begin \"\" None Some(\"1\") 0")
        Event("\"T0\" End \"\" None None 0")
        Event("\"T0\" Acquire \"LogLoc { name: \\\"L\\\", bytes: None }\" None None 0")
        Event("\"T0\" Write \"LogLoc { name: \\\"L (variable)\\\", bytes: None }\" None Some(\"0\") 0")
        Event("\"T0\" Release \"LogLoc { name: \\\"L\\\", bytes: None }\" None Some(\"2\") 0")
        Event("\"T0\" Read \"LogLoc { name: \\\"L (variable)\\\", bytes: None }\" None None 0")
    "#]],
    );
}

#[test]
fn json() {
    let check = |text, expected| check(LogFormat::Jsonl, text, expected);
    check("[1]", expect![[r#"log:1:1: expected `{`, found `[`"#]]);
    check(
        "{\"t\":0,\"k\":\"wr\",\"x\":\"x\"",
        expect![[r#"log:1:24: expected `,` or `}`, found the end of the text"#]],
    );
    check(
        "{\"t\":0,\"k\":\"fence\"}\n{\"t\":0,\"k\":\"fence\"",
        expect![[r#"log:2:19: expected `,` or `}`, found the end of the text"#]],
    );
    check("{\"t\":0 \"k\":\"wr\"}", expect![[r#"log:1:8: expected `,` or `}`, found `"`"#]]);
    check("{\"t\":0,}", expect![[r#"log:1:8: expected a key in quotes, found `}`"#]]);
    check("{\"t\" 0}", expect![[r#"log:1:6: expected `:`, found `0`"#]]);
    check("{}", expect!["log:1:2: an event without `t`"]);
    check("{\"t\":0}", expect!["log:1:7: an event without `k`"]);
    check("{\"t\":0,\"k\":\"wr\"}", expect!["log:1:16: `wr` without `x`"]);
    check("{\"t\":0,\"k\":3}", expect!["log:1:12: `k` has to be a string"]);
    check(
        "{\"t\":0,\"k\":\"go\"}",
        expect![
            "log:1:12: unknown event `go`: expected rd, wr, upd, acq, rel, fence, ssfence, spawn, join, begin, end or com"
        ],
    );
    check(
        "{\"t\":-1,\"k\":\"fence\"}",
        expect!["log:1:6: a thread has to be a string or a number from 0 on"],
    );
    check(
        "{\"t\":1.5,\"k\":\"fence\"}",
        expect!["log:1:6: a thread has to be a string or a number from 0 on"],
    );
    check("{\"t\":0,\"k\":\"fence\",\"x\":\"x\"}", expect!["log:1:24: `fence` has no `x`"]);
    check("{\"t\":0,\"k\":\"acq\",\"x\":\"x\",\"v\":1}", expect!["log:1:30: `acq` has no value"]);
    check(
        "{\"t\":0,\"k\":\"wr\",\"x\":\"x\",\"v\":1,\"old\":0}",
        expect!["log:1:37: `wr` has no old value"],
    );
    check("{\"t\":0,\"k\":\"upd\",\"x\":\"x\",\"old\":0}", expect!["log:1:32: `old` without `v`"]);
    check(
        "{\"t\":0,\"k\":\"wr\",\"x\":\"x\",\"v\":\"1\"}",
        expect!["log:1:29: `v` has to be a number of 64 bits"],
    );
    check(
        "{\"t\":0,\"k\":\"wr\",\"x\":\"x\",\"v\":1e3}",
        expect!["log:1:29: `v` has to be a number of 64 bits"],
    );
    check("{\"t\":0,\"k\":\"wr\",\"x\":\"x\",\"v\":012}", expect!["log:1:29: no number: `012`"]);
    check(
        "{\"t\":0,\"k\":\"wr\",\"x\":\"x\",\"size\":4}",
        expect![[
            r#"log:1:21: `x` has to be an address if there is a `size`: a number of 64 bits, or a string such as "0x1000""#
        ]],
    );
    check(
        "{\"t\":0,\"k\":\"wr\",\"x\":\"0x10\",\"size\":0}",
        expect!["log:1:35: `size` has to be a number of bytes from 1 on, below 2^32"],
    );
    check(
        "{\"t\":0,\"k\":\"wr\",\"x\":\"x\",\"addr\":16}",
        expect!["log:1:32: `addr` without `size`"],
    );
    check(
        "{\"t\":0,\"k\":\"wr\",\"x\":\"x\",\"addr\":\"x\",\"size\":1}",
        expect![[r#"log:1:32: `addr` has to be a number of 64 bits or a string such as "0x1000""#]],
    );
    check(
        "{\"t\":0,\"k\":\"wr\",\"x\":[1]}",
        expect!["log:1:21: `x` has to be a string or a number"],
    );
    check("{\"t\":0,\"t\":1,\"k\":\"fence\"}", expect!["log:1:12: `t` is given twice"]);
    check(
        "{\"t\":0,\"k\":\"fence\",\"tr\":-1}",
        expect!["log:1:25: `tr` has to be a number from 0 to 4294967294"],
    );
    check(
        "{\"t\":0,\"k\":\"fence\",\"at\":{}}",
        expect!["log:1:25: `at` has to be a string or a number"],
    );
    check("{\"events\":3}", expect!["log:1:11: expected `[`, the events of a trace, found `3`"]);
    check("{\"events\":[],\"events\":[]}", expect!["log:1:23: `events` is given twice"]);
    check("{\"events\":[3]}", expect!["log:1:12: expected an event or `]`, found `3`"]);
    check(
        "{\"events\":[{\"t\":0,\"k\":\"fence\"} {}]}",
        expect!["log:1:32: expected `,` or `]`, found `{`"],
    );
    check(
        "{\"events\":[{\"t\":0,\"k\":\"fence\"},]}",
        expect!["log:1:32: expected a value, found `]`"],
    );
    check(
        "{\"events\":[\n{\"t\":0,\"k\":\"fence\"},\n  {\"t\":0}]}",
        expect!["log:3:9: an event without `k`"],
    );
    check(
        "{\"events\":[{\"t\":0,\"k\":\"fence\"}",
        expect!["log:1:31: expected `,` or `]`, found the end of the text"],
    );
    check(
        "{\"events\":[]}\n{\"t\":0,\"k\":\"fence\"}",
        expect!["log:2:1: an event behind a trace, and not in it"],
    );
    check("{\"id\":[],\"events\":[]}", expect!["log:1:7: `id` has to be a string or a number"]);
    check(
        "{\"t\":\"\\q\",\"k\":\"fence\"}",
        expect!["log:1:6: a string with an escape that JSON does not know"],
    );
    check("{\"t\":\"a\nb\",\"k\":\"fence\"}", expect!["log:1:8: a control character in a string"]);
    check("{\"t\":0,\"k\":\"fence\",\"z\":nul}", expect!["log:1:24: expected a value, found `n`"]);
    let deep = format!("{{\"z\":{}{}}}", "[".repeat(80), "]".repeat(80));
    check(&deep, expect!["log:1:70: values nested deeper than 64"]);
    check(
        "{\"z\":{\"t\":[{}]},\"t\":3,\"k\":\"rd\",\"x\":4096,\"size\":8,\"v\":-1,\"at\":12,\"tr\":0}",
        expect![[r#"
        Event("\"t3\" Read \"LogLoc { name: \\\"0x1000/8\\\", bytes: Some(Bytes { start: 4096, len: 8 }) }\" Some(LogValue { value: -1, old: None }) Some(\"12\") 1")
    "#]],
    );
    check(
        "{\"events\":[{\"t\":\"m\",\"k\":\"spawn\",\"x\":1},\n{\"t\":1,\"k\":\"wr\",\"x\":0}], \"id\":\"h1\"}\n{\"id\":7,\"events\":[]}",
        expect![[r#"
        Trace(Some("h1"))
        Event("\"m\" Spawn \"t1\" None None 0")
        Event("\"t1\" Write \"LogLoc { name: \\\"0\\\", bytes: None }\" None None 0")
        Trace(Some("7"))
    "#]],
    );
}

#[test]
fn not_utf8() {
    for (format, text) in [
        (LogFormat::Text, &b"t0: wr x\nt0: wr \xffx"[..]),
        (LogFormat::Std, b"T0|r(x)|1\nT0|w(x\xff)|1"),
        (LogFormat::Jsonl, b"{\"t\":0,\"k\":\"fence\"}\n{\"t\":\"\xff\"}"),
    ] {
        let got = read(text, format);
        let error = got.error.expect("an error");
        assert_eq!(error.message, "not UTF-8 text: a stray byte 0xff");
        assert!(matches!(error.place, LogPlace::Line { line: 2, column: 7 | 8 }), "{error}");
        assert_eq!(got.items.len(), 1);
    }
}

#[test]
fn long_lines() {
    let long = format!("t0: wr x\nt0: wr {}\n", "x".repeat(1 << 20));
    check(LogFormat::Text, &long, expect!["log:2:1: a line longer than 1 MiB"]);
    let long = format!("{{\"z\":\"{}\"}}", "x".repeat(1 << 20));
    let message = expect!["log:1:1: an object longer than 1 MiB without `events` in its first MiB"];
    check(LogFormat::Jsonl, &long, message);
    let long = format!("{{\"events\":[{long}]}}");
    check(LogFormat::Jsonl, &long, expect!["log:1:12: an event longer than 1 MiB"]);
}

/// Damaged texts are refused at a place in them, or read; they never make the reader panic.
#[test]
fn mutations() {
    let texts: [(LogFormat, &str); 3] = [
        (
            LogFormat::Text,
            "trace \"a b\"\nt0: wr x = 1 @ main.c:3 #4\nt1: upd y@0x10/4 0 -> 1\n\"t 2\": join t1\n",
        ),
        (LogFormat::Std, "T0|w(V1)|17\nT1|acq(l)|\nT1|fork(T0)|-1\nT0|begin|3\n"),
        (
            LogFormat::Jsonl,
            "{\"id\":\"t1\",\"events\":[{\"t\":0,\"k\":\"wr\",\"x\":\"x\",\"tr\":0,\"v\":-1},{\"t\":\"q\",\
             \"k\":\"rd\",\"x\":\"0x10\",\"size\":4,\"at\":\"m\"}],\"z\":[null,{}]}\n",
        ),
    ];
    for seed in 0..scaled(120_000) as u64 {
        let mut rng = Rng::new(seed);
        let (format, text) = texts[rng.below(3)];
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..1 + rng.below(3) {
            let at = rng.below(bytes.len());
            match rng.below(4) {
                0 => drop(bytes.remove(at)),
                1 => bytes.insert(at, bytes[rng.below(bytes.len())]),
                2 => bytes[at] = b"\"\\{}[]:,|()@#=->/ \n0xt"[rng.below(22)],
                _ => bytes[at] = rng.next_u64() as u8,
            }
        }
        let got = read(&bytes, format);
        if let Some(error) = got.error {
            let LogPlace::Line { line, column } = error.place else { panic!("{error}") };
            let line = bytes.split(|&b| b == b'\n').nth(line as usize - 1);
            let length = line.unwrap_or_else(|| panic!("no such line: {error}")).len() as u64;
            assert!((1..=length + 1).contains(&column), "seed {seed}: {error}");
            assert!(!error.message.is_empty());
        }
        assert!(got.items.iter().filter(|i| matches!(i, Item::Event(_))).count() < 20);
    }
}
