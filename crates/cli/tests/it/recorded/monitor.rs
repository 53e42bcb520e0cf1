//! `weakspot monitor` on logs, and its witnesses.

use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;

use expect_test::{Expect, expect};

use crate::{run, transcript, weakspot};

/// The transcript without the times of the line about the log.
fn check(args: &[&str], stdin: &str, expected: Expect) {
    let mut text = String::new();
    for line in transcript(args, stdin).lines() {
        let line = line.split(" followed in ").next().unwrap_or_default();
        text += line;
        text.push('\n');
    }
    expected.assert_eq(&text);
}

const SB: &str = "corpus/traces/store-buffering.wstrace";

#[test]
fn store_buffering() {
    check(
        &["monitor", "--model", "tso", SB],
        "",
        expect![[r#"
            corpus/traces/store-buffering.wstrace TSO: breaks SC: 1 pair of accesses, 1 report in 4 events

              store    t0  wr x  at sb.c:4
              access   t1  rd x  at sb.c:10
              after    t1  wr y  at sb.c:9
              fix      a fence in t0 between sb.c:4 and sb.c:5
              reported once, first by event 4; the run that shows it was checked

              t0                    │ t1                      │ memory
              ──────────────────────┼─────────────────────────┼───────
              1. wr x=1  at sb.c:4  │                         │
                stays in the buffer │                         │
              2. rd y=0  at sb.c:5  │                         │
                                    │ 3. wr y=1  at sb.c:9    │ y=1
                                    │ 4. rd x  at sb.c:10     │
                                    │   takes effect before 1 │
              1. reaches memory     │                         │ x=1
              cycle: 1 -po-> 2 -fr-> 3 -po-> 4 -fr-> 1
            4 events of 2 threads on 2 locations
            --- exit 1
        "#]],
    );
}

#[test]
fn message_passing_breaks_under_pso_only() {
    check(
        &["monitor", "corpus/traces/message-passing.wstrace"],
        "",
        expect![[r#"
            corpus/traces/message-passing.wstrace TSO: nothing in 4 events can be overtaken (this execution only)
            corpus/traces/message-passing.wstrace PSO: breaks SC: 1 pair of accesses, 1 report in 4 events

              store    t0  wr data  at mp.c:5
              access   t1  rd data  at mp.c:13
              after    t1  rd flag  at mp.c:12
              fix      a store-store fence in t0 between mp.c:5 and mp.c:6
              reported once, first by event 4; the run that shows it was checked

              t0                       │ t1                       │ memory
              ─────────────────────────┼──────────────────────────┼────────
              1. wr data=42  at mp.c:5 │                          │
                stays in the buffer    │                          │
              2. wr flag=1  at mp.c:6  │                          │ flag=1
                                       │ 3. rd flag=1  at mp.c:12 │
                                       │ 4. rd data  at mp.c:13   │
                                       │   takes effect before 1  │
              1. reaches memory        │                          │ data=42
              cycle: 1 -po-> 2 -rf-> 3 -po-> 4 -fr-> 1
            4 events of 2 threads on 2 locations
            --- exit 1
        "#]],
    );
}

#[test]
fn json() {
    check(
        &["monitor", "--format", "json", SB],
        "",
        expect![[r#"
            {"file":"corpus/traces/store-buffering.wstrace","question":"monitor","model":"tso","verdict":"violated","certified":true,"violations":[{"store":{"thread":"t0","kind":"wr","location":"x","at":"sb.c:4"},"access":{"thread":"t1","kind":"rd","location":"x","at":"sb.c:10"},"previous":{"thread":"t1","kind":"wr","location":"y","at":"sb.c:9"},"count":1,"event":4,"store_event":1,"cycle":[{"from":1,"link":"po","to":2},{"from":2,"link":"fr","to":3},{"from":3,"link":"po","to":4},{"from":4,"link":"fr","to":1}],"mend":"a fence in t0 between sb.c:4 and sb.c:5","certified":true,"run":{"model":"tso","threads":[{"name":"t0"},{"name":"t1"}],"locations":[{"name":"x"},{"name":"y"}],"init":{"y":0},"steps":[{"n":1,"thread":0,"kind":"store","location":"x","value":1,"file":"sb.c","line":4,"text":"wr x"},{"n":2,"thread":0,"kind":"load","location":"y","value":0,"file":"sb.c","line":5,"text":"rd y"},{"n":3,"thread":1,"kind":"store","location":"y","value":1,"file":"sb.c","line":9,"text":"wr y"},{"n":4,"thread":1,"kind":"load","location":"x","file":"sb.c","line":10,"text":"rd x"},{"n":5,"thread":0,"kind":"commit","location":"x","value":1,"of":1}],"cycle":[{"from":1,"to":2,"edge":"po"},{"from":2,"to":3,"edge":"fr"},{"from":3,"to":4,"edge":"po"},{"from":4,"to":1,"edge":"fr"}],"late":[{"store":1,"behind":2}]}}],"threads":2,"locations":2,"reports":1,"unlisted":0,"events":4,"algorithm":"monitor","remarks":[],"time_s":_,"schema":1,"tool":{"name":"weakspot","version":"0.1.0"}}
            {"file":"corpus/traces/store-buffering.wstrace","question":"monitor","model":"pso","verdict":"violated","certified":true,"violations":[{"store":{"thread":"t0","kind":"wr","location":"x","at":"sb.c:4"},"access":{"thread":"t1","kind":"rd","location":"x","at":"sb.c:10"},"previous":{"thread":"t1","kind":"wr","location":"y","at":"sb.c:9"},"count":1,"event":4,"store_event":1,"cycle":[{"from":1,"link":"po","to":2},{"from":2,"link":"fr","to":3},{"from":3,"link":"po","to":4},{"from":4,"link":"fr","to":1}],"mend":"a fence in t0 between sb.c:4 and sb.c:5","certified":true,"run":{"model":"pso","threads":[{"name":"t0"},{"name":"t1"}],"locations":[{"name":"x"},{"name":"y"}],"init":{"y":0},"steps":[{"n":1,"thread":0,"kind":"store","location":"x","value":1,"file":"sb.c","line":4,"text":"wr x"},{"n":2,"thread":0,"kind":"load","location":"y","value":0,"file":"sb.c","line":5,"text":"rd y"},{"n":3,"thread":1,"kind":"store","location":"y","value":1,"file":"sb.c","line":9,"text":"wr y"},{"n":4,"thread":1,"kind":"load","location":"x","file":"sb.c","line":10,"text":"rd x"},{"n":5,"thread":0,"kind":"commit","location":"x","value":1,"of":1}],"cycle":[{"from":1,"to":2,"edge":"po"},{"from":2,"to":3,"edge":"fr"},{"from":3,"to":4,"edge":"po"},{"from":4,"to":1,"edge":"fr"}],"late":[{"store":1,"behind":2}]}}],"threads":2,"locations":2,"reports":1,"unlisted":0,"events":4,"algorithm":"monitor","remarks":[],"time_s":_,"schema":1}
            --- exit 1
        "#]],
    );
}

#[test]
fn dot() {
    check(
        &["monitor", "--format", "dot", "--model", "tso", SB],
        "",
        expect![[r##"
            digraph execution {
              // neato -n2 -Tpdf
              graph [fontname="monospace", fontsize=9, splines=line];
              node [shape=box, fontname="monospace", fontsize=9, fixedsize=true];
              edge [fontname="monospace", fontsize=8, arrowsize=0.6];
              title [shape=plaintext, label="corpus/traces/store-buffering.wstrace under TSO, violation 1", pos="176.2,366.0", width=4.65, height=0.15, fontcolor="#000000"];
              init [shape=plaintext, label="initially y=0", pos="47.6,354.8", width=1.07, height=0.15, fontcolor="#555555"];
              t0 [shape=plaintext, label="t0", pos="74.0,323.2", width=0.24, height=0.15, fontcolor="#000000"];
              t1 [shape=plaintext, label="t1", pos="241.8,323.2", width=0.24, height=0.15, fontcolor="#000000"];
              e0 [label="W x=1\nwr x\nsb.c:4", pos="74.0,287.6", width=1.54, height=0.55, penwidth=2];
              e1 [label="R y=0\nrd y\nsb.c:5", pos="74.0,228.4", width=1.54, height=0.55, penwidth=2];
              e2 [label="W y=1\nwr y\nsb.c:9", pos="241.8,169.1", width=0.83, height=0.55, penwidth=2];
              e3 [label="R x\nrd x\nsb.c:10", pos="241.8,109.9", width=0.83, height=0.55, penwidth=2];
              e4 [label="x=1 reaches memory", pos="74.0,61.9", width=1.54, height=0.24, style=dashed, color="#b35806"];
              b0 [label="", pos="13.9,174.8", width=0.05, height=3.14, style=filled, color="#fdb863"];
              e0 -> e1 [color="#222222", fontcolor="#222222", penwidth=2, label="1 po", lp="87.8,258.0", pos="e,74.0,248.2 74.0,267.8 74.0,263.3 74.0,258.7 74.0,254.2"];
              e1 -> e2 [color="#b35806", fontcolor="#b35806", penwidth=2, label="2 fr", lp="178.3,209.5", pos="e,211.8,169.1 129.3,228.4 154.9,210.0 181.3,191.0 206.9,172.6"];
              e2 -> e3 [color="#222222", fontcolor="#222222", penwidth=2, label="3 po", lp="255.6,139.5", pos="e,241.8,129.8 241.8,149.2 241.8,144.8 241.8,140.2 241.8,135.8"];
              e3 -> e4 [color="#b35806", fontcolor="#b35806", penwidth=2, label="4 fr", lp="176.9,74.9", pos="e,129.3,61.9 211.8,109.9 186.3,95.0 160.0,79.7 134.5,64.9"];
              l0 [shape=plaintext, label="po: program order", pos="58.5,33.8", width=1.38, height=0.15, fontcolor="#222222"];
              l1 [shape=plaintext, label="fr: read what is overwritten by", pos="96.9,22.5", width=2.44, height=0.15, fontcolor="#b35806"];
              lb [shape=plaintext, label="bar: a store waits in its buffer", pos="99.6,11.2", width=2.52, height=0.15, fontcolor="#b35806"];
            }
            --- exit 1
        "##]],
    );
}

#[test]
fn several_traces_and_formats() {
    check(
        &["monitor", "-q", "corpus/traces"],
        "",
        expect![[r#"
            corpus/traces/dekker.wslog TSO: breaks SC: 1 pair of accesses, 1 report in 17 events
            corpus/traces/dekker.wslog PSO: breaks SC: 3 pairs of accesses, 3 reports in 17 events
            corpus/traces/dekker.wstrace TSO: breaks SC: 1 pair of accesses, 1 report in 17 events
            corpus/traces/dekker.wstrace PSO: breaks SC: 3 pairs of accesses, 3 reports in 17 events
            corpus/traces/executions.jsonl sb TSO: breaks SC: 1 pair of accesses, 1 report in 4 events
            corpus/traces/executions.jsonl sb PSO: breaks SC: 1 pair of accesses, 1 report in 4 events
            corpus/traces/executions.jsonl sb-updates TSO: nothing in 4 events can be overtaken (this execution only)
            corpus/traces/executions.jsonl sb-updates PSO: nothing in 4 events can be overtaken (this execution only)
            corpus/traces/executions.jsonl transactions TSO: nothing in 4 events can be overtaken (this execution only)
            corpus/traces/executions.jsonl transactions PSO: nothing in 4 events can be overtaken (this execution only)
            corpus/traces/locks.std TSO: nothing in 11 events can be overtaken (this execution only)
            corpus/traces/locks.std PSO: nothing in 11 events can be overtaken (this execution only)
            corpus/traces/message-passing-fenced.wstrace TSO: nothing in 5 events can be overtaken (this execution only)
            corpus/traces/message-passing-fenced.wstrace PSO: nothing in 5 events can be overtaken (this execution only)
            corpus/traces/message-passing.wstrace TSO: nothing in 4 events can be overtaken (this execution only)
            corpus/traces/message-passing.wstrace PSO: breaks SC: 1 pair of accesses, 1 report in 4 events
            corpus/traces/mixed-sizes.wstrace TSO: breaks SC: 1 pair of accesses, 1 report in 4 events
            corpus/traces/mixed-sizes.wstrace PSO: breaks SC: 1 pair of accesses, 1 report in 4 events
            corpus/traces/overwritten-after-forwarding.wstrace TSO: breaks SC: 1 pair of accesses, 1 report in 5 events
            corpus/traces/overwritten-after-forwarding.wstrace PSO: breaks SC: 1 pair of accesses, 1 report in 5 events
            corpus/traces/overwritten-in-between.wstrace TSO: nothing in 5 events can be overtaken (this execution only)
            corpus/traces/overwritten-in-between.wstrace PSO: nothing in 5 events can be overtaken (this execution only)
            corpus/traces/store-buffering-fenced.wstrace TSO: nothing in 6 events can be overtaken (this execution only)
            corpus/traces/store-buffering-fenced.wstrace PSO: nothing in 6 events can be overtaken (this execution only)
            corpus/traces/store-buffering.wstrace TSO: breaks SC: 1 pair of accesses, 1 report in 4 events
            corpus/traces/store-buffering.wstrace PSO: breaks SC: 1 pair of accesses, 1 report in 4 events
            --- exit 1
        "#]],
    );
}

#[test]
fn sober() {
    let between = "corpus/traces/overwritten-in-between.wstrace";
    check(
        &["monitor", "-q", "--model", "tso", between],
        "",
        expect![[r#"
        corpus/traces/overwritten-in-between.wstrace TSO: nothing in 5 events can be overtaken (this execution only)
        --- exit 0
    "#]],
    );
    check(
        &["monitor", "-q", "--algorithm", "sober", between],
        "",
        expect![[r#"
        corpus/traces/overwritten-in-between.wstrace TSO: breaks SC: 1 pair of accesses, 1 report in 5 events
        --- exit 1
    "#]],
    );
    check(
        &["monitor", "-q", "--algorithm", "sober-published", between],
        "",
        expect![[r#"
        corpus/traces/overwritten-in-between.wstrace TSO: breaks SC: 1 pair of accesses, 1 report in 5 events
        --- exit 1
    "#]],
    );
    check(
        &["monitor", "--algorithm", "sober", "--model", "pso", between],
        "",
        expect![[r#"
        --- standard error
        error: SOBER is about TSO only: expected --model tso
        --- exit 2
    "#]],
    );
}

#[test]
fn from_a_pipe() {
    let log = "a: wr x\na: rd y\nb: wr y\nb: rd x\nb: rd x\n";
    check(
        &["monitor", "-q", "-"],
        log,
        expect![[r#"
        - TSO: breaks SC: 1 pair of accesses, 1 report in 5 events
        - PSO: breaks SC: 1 pair of accesses, 1 report in 5 events
        --- exit 1
    "#]],
    );
    check(
        &["monitor", "--model", "tso", "--first", "-"],
        log,
        expect![[r#"
            - TSO: breaks SC: 1 pair of accesses, 1 report in 4 events

              store    a  wr x
              access   b  rd x
              after    b  wr y
              fix      a fence in a between event 1 and event 2
              reported once, first by event 4; the run that shows it was checked

              a                            │ b                              │ memory
              ─────────────────────────────┼────────────────────────────────┼───────
              1. wr x  stays in the buffer │                                │
              2. rd y                      │                                │
                                           │ 3. wr y                        │ y
                                           │ 4. rd x  takes effect before 1 │
              1. reaches memory            │                                │ x
              cycle: 1 -po-> 2 -fr-> 3 -po-> 4 -fr-> 1
            4 events of 2 threads on 2 locations
            --- exit 1
        "#]],
    );
}

#[test]
fn the_last_pending_store_only() {
    let log = "a: wr x @ 1\na: rd y\na: wr x @ 2\na: wr z\nb: wr y\nb: rd x\n";
    check(
        &["monitor", "-q", "--model", "tso", "-"],
        log,
        expect![[r#"
        - TSO: breaks SC: 1 pair of accesses, 1 report in 6 events
        --- exit 1
    "#]],
    );
    check(
        &["monitor", "-q", "--model", "tso", "--pending", "last", "-"],
        log,
        expect![[r#"
        - TSO: nothing in 6 events can be overtaken (this execution only)
        --- exit 0
    "#]],
    );
}

#[test]
fn bad_logs() {
    check(
        &["monitor", "-"],
        "a: wr x\nb: frob x\n",
        expect![[r#"
            --- standard error
            -: before the error below: 1 event followed, reports: 0 under TSO, 0 under PSO
            error: -:2:4: unknown event `frob`: expected rd, wr, upd, acq, rel, fence, ssfence, spawn, join, begin, end or com
            --- exit 2
        "#]],
    );
    check(
        &["monitor", "--format", "json", "-"],
        "a: wr x\nb: frob x\n",
        expect![[r#"
            {"file":"-","question":"monitor","model":"tso","verdict":"error","message":"unknown event `frob`: expected rd, wr, upd, acq, rel, fence, ssfence, spawn, join, begin, end or com","line":2,"column":4,"time_s":_,"schema":1,"tool":{"name":"weakspot","version":"0.1.0"}}
            {"file":"-","question":"monitor","model":"pso","verdict":"error","message":"unknown event `frob`: expected rd, wr, upd, acq, rel, fence, ssfence, spawn, join, begin, end or com","line":2,"column":4,"time_s":_,"schema":1}
            --- standard error
            -: before the error below: 1 event followed, reports: 0 under TSO, 0 under PSO
            error: -:2:4: unknown event `frob`: expected rd, wr, upd, acq, rel, fence, ssfence, spawn, join, begin, end or com
            --- exit 2
        "#]],
    );
    check(
        &["monitor", "-"],
        "a: wr x\na: com x\n",
        expect![[r#"
            --- standard error
            -: before the error below: 1 event followed, reports: 0 under TSO, 0 under PSO
            error: -:2:1: event 2 is a commit: monitors watch SC executions, in which stores reach memory at once
            --- exit 2
        "#]],
    );
    check(
        &["monitor", "-"],
        "a: wr x = 1\nb: rd x = 2\n",
        expect![[r#"
            --- standard error
            -: before the error below: 1 event followed, reports: 0 under TSO, 0 under PSO
            error: -:2:1: event 2 reads 2, but 1 was there last: this is no SC execution
            --- exit 2
        "#]],
    );
    check(
        &["monitor", "no-such-file.wstrace"],
        "",
        expect![[r#"
            --- standard error
            error: no-such-file.wstrace: failed to read: No such file or directory (os error 2)
            --- exit 2
        "#]],
    );
    check(
        &["monitor", "--model", "sc", SB],
        "",
        expect![[r#"
        --- standard error
        error: a log is one of an SC execution, so nothing breaks SC; expected --model tso, pso or pso-own
        --- exit 2
    "#]],
    );
    check(
        &["monitor", "--witness", "w.json", "--model", "tso", "-"],
        "a: wr x\n",
        expect![[r#"
        --- standard error
        error: a witness is about a file: save the pipe first, as in `weakspot convert - run.wslog`
        --- exit 2
    "#]],
    );
}

fn scratch(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("weakspot-monitor-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    folder.join(name)
}

#[test]
fn witnesses() {
    let path = scratch("w.json");
    let file = path.to_str().expect("UTF-8");
    for (log, model, code) in [
        (SB, "tso", 1),
        ("corpus/traces/dekker.wslog", "pso", 1),
        ("corpus/traces/mixed-sizes.wstrace", "pso-own", 1),
        ("corpus/traces/locks.std", "tso", 0),
    ] {
        let ran = run(&["monitor", "-q", "--model", model, "--witness", file, log], "");
        assert_eq!(ran.code, Some(code), "{log}");
        let ran = run(&["certify", log, file], "");
        assert_eq!(ran.code, Some(0), "{log}: {}{}", ran.out, ran.err);
        assert!(ran.out.starts_with("certified"), "{}", ran.out);
    }
    // A witness that claims what is not so.
    run(&["monitor", "-q", "--model", "tso", "--witness", file, SB], "");
    let good = std::fs::read_to_string(&path).expect("a witness");
    for (from, to) in [("\"store\": 1", "\"store\": 3"), ("\"link\":\"fr\"", "\"link\":\"rf\"")] {
        assert!(good.contains(from), "{good}");
        std::fs::write(&path, good.replacen(from, to, 1)).expect("written");
        let ran = run(&["certify", SB, file], "");
        assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
        assert!(ran.out.starts_with("rejected"), "{}", ran.out);
    }
    let other = "corpus/traces/dekker.wstrace";
    assert_eq!(run(&["certify", other, file], "").code, Some(2));
}

/// What has arrived is followed while the pipe is open, and Ctrl-C prints what is known.
#[test]
#[cfg(unix)]
fn interrupted() {
    let mut child = weakspot()
        .args(["monitor", "-q", "--model", "tso", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut pipe = child.stdin.take().expect("a pipe");
    pipe.write_all(b"a: wr x\na: rd y\nb: wr y\nb: rd x\n").expect("written");
    pipe.flush().expect("flushed");
    std::thread::sleep(std::time::Duration::from_millis(500));
    let signalled = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .expect("a signal");
    assert!(signalled.success());
    let output = child.wait_with_output().expect("the command ends");
    drop(pipe);
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(out.starts_with("- TSO: breaks SC: 1 pair"), "{out}");
    assert_eq!(output.status.code(), Some(1));
}

/// A log that ends in the middle of a block may lack what matters.
#[test]
fn torn_logs_are_unknown() {
    let bytes = std::fs::read(crate::root().join("corpus/traces/dekker.wslog")).expect("a log");
    let path = scratch("torn.wslog");
    std::fs::write(&path, &bytes[..bytes.len() - 1]).expect("written");
    let ran = run(&["monitor", "-q", "--format", "json", path.to_str().expect("UTF-8")], "");
    assert_eq!(ran.code, Some(3), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("\"limit\":{\"kind\":\"torn\""), "{}", ran.out);
}

/// What `monitor` refuses, `certify` does not certify.
#[test]
fn witnesses_about_logs_that_are_not_sc() {
    let log = scratch("not-sc.wstrace");
    let witness = scratch("not-sc.json");
    let (log_name, witness_name) = (log.to_str().expect("UTF-8"), witness.to_str().expect("UTF-8"));
    let good = "a: wr x = 1\na: rd y = 0\nb: wr y = 1\nb: rd x = 1\n";
    for bad in [
        "a: wr x = 1\na: rd y = 0\nb: wr y = 1\nb: rd x = 0\n",
        "a: wr x = 1\na: rd y = 0\nb: wr y = 1\nb: rd x = 1\na: com x\n",
    ] {
        std::fs::write(&log, good).expect("written");
        let args = ["monitor", "-q", "--model", "tso", "--witness", witness_name, log_name];
        assert_eq!(run(&args, "").code, Some(1));
        let hash = |text: &str| weakspot_report::input_hash(text.as_bytes());
        let text = std::fs::read_to_string(&witness).expect("a witness");
        std::fs::write(&witness, text.replace(&hash(good), &hash(bad))).expect("written");
        std::fs::write(&log, bad).expect("written");
        let ran = run(&["certify", log_name, witness_name], "");
        assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
        assert!(ran.err.contains("monitors watch SC") || ran.err.contains("no SC execution"));
    }
}

/// The store of a report is found among many others at its place.
#[test]
fn a_store_among_many() {
    let log = scratch("many.wstrace");
    let text = format!("a: wr x\na: rd y\nb: wr y\n{}b: rd x\n", "a: wr x\n".repeat(500));
    std::fs::write(&log, text).expect("written");
    let witness = scratch("many.json");
    let (log, witness) = (log.to_str().expect("UTF-8"), witness.to_str().expect("UTF-8"));
    for model in ["tso", "pso", "pso-own"] {
        let args = ["monitor", "-q", "--model", model, "--witness", witness, log];
        assert_eq!(run(&args, "").code, Some(1), "{model}");
        assert_eq!(run(&["certify", log, witness], "").code, Some(0), "{model}");
    }
}

/// What was asked with the last pending store only is checked that way.
#[test]
fn witnesses_of_the_last_pending_store() {
    let log = scratch("last.wstrace");
    std::fs::write(&log, "a: wr x\na: rd y\nb: wr y\na: wr x\nb: rd x\n").expect("written");
    let witness = scratch("last.json");
    let (log, witness) = (log.to_str().expect("UTF-8"), witness.to_str().expect("UTF-8"));
    let last = ["monitor", "-q", "--model", "tso", "--pending", "last", "--witness", witness, log];
    assert_eq!(run(&last, "").code, Some(0));
    assert_eq!(run(&["certify", log, witness], "").code, Some(0));
}

/// A pipe in which nothing comes any more does not outlast the time limit.
#[test]
fn silent_pipes_time_out() {
    let mut child = weakspot()
        .args(["monitor", "-q", "--model", "tso", "--timeout", "300ms", "--format", "json", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut pipe = child.stdin.take().expect("a pipe");
    pipe.write_all(b"a: wr x\n").expect("written");
    pipe.flush().expect("flushed");
    let output = child.wait_with_output().expect("the command ends");
    drop(pipe);
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(out.contains("\"verdict\":\"unknown\"") && out.contains("\"kind\":\"time\""), "{out}");
    assert_eq!(output.status.code(), Some(3));
}

/// As of a history: where there is nothing, there is no answer. One of several traces may be empty.
#[test]
fn nothing_to_monitor() {
    let ran = run(&["monitor", "-"], "");
    assert_eq!((ran.code, &*ran.out, &*ran.err), (Some(2), "", "error: -: no event in it\n"));
    let ran = run(&["monitor", "--model", "tso", "-"], "trace A\ntrace B\na: rd x\n");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("the log has no events"), "{}", ran.err);
}
