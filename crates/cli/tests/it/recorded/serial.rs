//! `weakspot serial`, and its witnesses.

use std::path::PathBuf;

use expect_test::{Expect, expect, expect_file};

use weakspot_core::serial::{
    BufferedReads, Conflicts, pair, sc_equivalent, serializable, trace_serializable,
};
use weakspot_core::testing::Rng;
use weakspot_core::{TxnEvent, TxnKind};

use crate::{root, run, transcript};

fn check(args: &[&str], stdin: &str, expected: Expect) {
    expected.assert_eq(&transcript(args, stdin));
}

/// Where these tests may write.
fn folder() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("serial");
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

const FOLDER: &str = "corpus/transactions";

/// What is expected of each log of the corpus lies beside it.
#[test]
fn corpus() {
    let mut logs = 0;
    let folder = root().join(FOLDER);
    for entry in std::fs::read_dir(&folder).expect("the folder") {
        let path = entry.expect("a file").path();
        let ending = path.extension().and_then(|ending| ending.to_str());
        if matches!(ending, Some("expected" | "md")) {
            continue;
        }
        logs += 1;
        let ran = run(&["serial", "--format", "json", path.to_str().expect("UTF-8")], "");
        let mut text = String::new();
        for line in ran.out.lines() {
            let json: serde_json::Value = serde_json::from_str(line).expect("JSON");
            let of = |key: &str| json[key].as_str().map_or(String::new(), |s| format!("{s} "));
            text += &format!("{}{}{}{}", of("id"), of("of"), of("model"), of("verdict"));
            text += match json["sc_equivalent"].as_bool() {
                Some(true) => "sc-equivalent",
                Some(false) => "not-sc-equivalent",
                None => "",
            };
            text = text.trim_end().to_owned() + "\n";
        }
        let by_the_paper = ["serial", "-m", "tso", "--buffered", "static", "--format", "json"];
        let ran = run(&[&by_the_paper[..], &[path.to_str().expect("UTF-8")]].concat(), "");
        for line in ran.out.lines() {
            let json: serde_json::Value = serde_json::from_str(line).expect("JSON");
            assert_eq!(json["buffered"], "static", "{line}");
            let of = |key: &str| json[key].as_str().map_or(String::new(), |s| format!("{s} "));
            let line = format!("{}{}{}", of("id"), of("of"), of("model"));
            let same = format!("{line}{}", of("verdict"));
            if !text.lines().any(|line| line == same.trim_end()) {
                text += &format!("{line}static {}\n", of("verdict").trim_end());
            }
        }
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        expect_file![folder.join(format!("{name}.expected"))].assert_eq(&text);
    }
    assert_eq!(logs, 10);
}

#[test]
fn task_pool() {
    check(
        &["serial", "corpus/transactions/task-pool.wstrace"],
        "",
        expect![[r#"
            corpus/transactions/task-pool.wstrace SC: serializable (in this execution): 4 transactions in 16 events
              serial order: front events 2 to 3, front events 6 to 8, back events 11 to 12,
                back event 15
            corpus/transactions/task-pool.wstrace TSO: not serializable: an execution of this trace has a cycle through 4 transactions in 16 events

              No order of the transactions explains this: each comes before the next, and
              they form a cycle.

              ┌ front events 2 to 3 ───────┐
              │ 2. rd head  at pool.c:5    │
              │ 3. com head  at pool.c:6   │
              └────────────────────────────┘
                ↓ 2 before 6: program order of front
              ┌ front events 6 to 8 ───────┐
              │ 6. rd tail  at pool.c:9    │
              └────────────────────────────┘
                ↓ 6 before 12: front reads tail before back changes it
              ┌ back events 11 to 12 ──────┐
              │ 11. rd tail  at pool.c:18  │
              │ 12. com tail  at pool.c:19 │
              └────────────────────────────┘
                ↓ 11 before 15: program order of back
              ┌ back event 15 ─────────────┐
              │ 15. rd head  at pool.c:22  │
              └────────────────────────────┘
                ↓ back to the first: 15 before 3: back reads head before front changes it
              There all stores reach memory as late as they can.
              front's store to head (pool.c:6) is still in its buffer when back reads head
                (pool.c:22).
                A fence in front between pool.c:6 and pool.c:9 would be in the way.
              --fence-transactions says what a fence at the end of each transaction buys.
            --- exit 1
        "#]],
    );
}

#[test]
fn fences() {
    check(
        &[
            "serial",
            "--model",
            "tso",
            "--fence-transactions",
            "corpus/transactions/task-pool.wstrace",
        ],
        "",
        expect![[r#"
            corpus/transactions/task-pool.wstrace TSO: serializable with the fences (as far as this execution of SC shows): 4 transactions in 16 events
              without the fences: not serializable
              3 fences added; then under SC: serializable; under TSO: nothing can be overtaken
              fence in front behind 3. wr head  at pool.c:6
              fence in front behind 8. wr pool[0]  at pool.c:11
              fence in back behind 12. wr tail  at pool.c:19
              serial order: front events 2 to 3, front events 6 to 8, back events 11 to 12,
                back event 15
            --- exit 0
        "#]],
    );
    check(
        &["serial", "--model", "tso", "-q", "--fence-transactions", "-"],
        "t0: wr x #0\nt0: rd y #0\nt1: rd x #1\nt1: wr y #1\nt1: rd z #2\nt0: wr z #0\n",
        expect![[r#"
            - TSO: not serializable with the fences: a cycle through 3 transactions in 6 events
              without the fences: not serializable
              2 fences added; then under SC: not serializable; under TSO: nothing can be overtaken
            --- exit 1
        "#]],
    );
}

/// The monitors see nothing on the schedule of the log, but stores may be late in others.
#[test]
fn fences_that_do_not_mend() {
    check(
        &["serial", "--model", "tso", "-q", "--fence-transactions", "-"],
        "t1: upd x #0\nt1: wr x #0\nt0: rd x\nt1: rd x #0\n",
        expect![[r#"
            - TSO: not serializable with the fences: 2 transactions in 4 events
              note: with the fences an execution of this trace is not serializable: `weakspot serial` on a log with them shows it
              without the fences: not serializable
              1 fence added; then under SC: serializable; under TSO: nothing can be overtaken
            --- exit 1
        "#]],
    );
}

/// A thread that does nothing between its start and its end is in nobody's way.
#[test]
fn threads_that_do_nothing() {
    check(
        &["serial", "-q", "-"],
        "t0: spawn t1 #1\nt1: begin\nt1: end\nt0: join t1 #1\n",
        expect![[r#"
            - SC: serializable (in this execution): 2 transactions in 4 events
            - TSO: serializable (in all executions of this trace): 2 transactions in 4 events
            --- exit 0
        "#]],
    );
}

/// A store is one step, also if others overlap it in part.
#[test]
fn stores_are_not_taken_apart() {
    check(
        &["serial", "--model", "tso", "-q", "-"],
        "t1: rd 0x1002/1\nt1: wr 0x1001/2\nt0: rd 0x1000/3\n",
        expect![[r#"
            - TSO: serializable (in all executions of this trace): 3 transactions in 3 events
            --- exit 0
        "#]],
    );
    check(
        &["serial", "--model", "tso", "-q", "-"],
        "t1: begin\nt1: wr 0x1001/2\nt1: rd 0x2000/8\nt1: end\nt0: begin\nt0: wr 0x2000/4\nt0: rd 0x1000/3\nt0: end\n",
        expect![[r#"
            - TSO: not serializable: an execution of this trace has a cycle through 2 transactions in 8 events
            --- exit 1
        "#]],
    );
}

/// A cycle is drawn and checked even if its events come after and before more than are kept of a
/// pipe.
#[test]
fn far_down_a_pipe() {
    let mut log = "t1: begin\nt1: wr x @ a.c:2\nt0: rd x @ b.c:7\n".to_owned();
    for event in 0..1_100_000 {
        log += if event % 2 == 0 { "t0: rd v\n" } else { "t2: wr w\n" };
    }
    log += "t0: wr y @ e.c:1\nt1: rd y @ a.c:9\nt2: wr w\nt1: end\n";
    check(
        &["serial", "--model", "sc", "-"],
        &log,
        expect![[r#"
            - SC: not serializable: a cycle through 3 transactions in 1,100,007 events

              No order of the transactions explains this: each comes before the next, and
              they form a cycle.

              ┌ t1 events 2 to 1,100,005 ──┐
              │ 2. wr x  at a.c:2          │
              │ 1,100,005. rd y  at a.c:9  │
              └────────────────────────────┘
                ↓ 2 before 3: t0 reads x after t1 changed it
              ┌ t0 event 3 ────────────────┐
              │ 3. rd x  at b.c:7          │
              └────────────────────────────┘
                ↓ 3 before 1100004: program order of t0
              ┌ t0 event 1,100,004 ────────┐
              │ 1,100,004. wr y  at e.c:1  │
              └────────────────────────────┘
                ↓ back to the first: 1100004 before 1100005: t1 reads y after t0 changed it
            --- standard error
            SC: not serializable any more, since event 1100005
            --- exit 1
        "#]],
    );
}

#[test]
fn threads_and_locks() {
    check(
        &["serial", "--model", "sc", "corpus/transactions/bank.std"],
        "",
        expect![[r#"
            corpus/transactions/bank.std SC: not serializable: a cycle through 2 transactions in 15 events

              No order of the transactions explains this: each comes before the next, and
              they form a cycle.

              ┌ T0 events 3 to 13 ──┐
              │ 5. rel L  at 8      │
              │ 11. acq L  at 9     │
              └─────────────────────┘
                ↓ 5 before 7: T1 changes L after T0 did
              ┌ T1 events 7 to 9 ───┐
              │ 7. acq L  at 21     │
              │ 9. rel L  at 23     │
              └─────────────────────┘
                ↓ back to the first: 9 before 11: T0 changes L after T1 did
            --- exit 1
        "#]],
    );
    // A transaction that starts a thread and waits for it has no place in a serial order.
    check(
        &["serial", "--model", "sc", "-"],
        "t0: begin\nt0: spawn t1\nt1: wr x\nt0: join t1\nt0: end\n",
        expect![[r#"
            - SC: not serializable: a cycle through 3 transactions in 5 events

              No order of the transactions explains this: each comes before the next, and
              they form a cycle.

              ┌ t0 events 2 to 4 ──┐
              │ 2. spawn t1        │
              │ 4. join t1         │
              └────────────────────┘
                ↓ 2 before 3: t0 starts t1
              ┌ t1 event 3 ────────┐
              │ 3. start           │
              └────────────────────┘
                ↓ 3 before 4: program order of t1
              ┌ t1 event 4 ────────┐
              │ 4. end             │
              └────────────────────┘
                ↓ back to the first: 4 before 4: t0 waits for t1
            --- standard error
            SC: not serializable any more, since event 4
            --- exit 1
        "#]],
    );
}

#[test]
fn json_and_dot() {
    let log = "corpus/transactions/task-pool-execution.wstrace";
    check(
        &["serial", "--format", "json", "--model", "sc", log],
        "",
        expect![[r#"
            {"file":"corpus/transactions/task-pool-execution.wstrace","question":"serial","id":null,"of":"execution","model":"sc","verdict":"violated","certified":true,"sc_equivalent":false,"cycle":[{"transaction":{"thread":"front","tr":null,"first":2,"last":3},"from":{"event":3,"thread":"front","kind":"wr","location":"head","at":"pool.c:6"},"to":{"event":10,"thread":"front","kind":"rd","location":"tail","at":"pool.c:9"},"why":"3 before 10: program order of front"},{"transaction":{"thread":"front","tr":null,"first":10,"last":15},"from":{"event":10,"thread":"front","kind":"rd","location":"tail","at":"pool.c:9"},"to":{"event":17,"thread":"back","kind":"com","location":"tail","at":"pool.c:19"},"why":"10 before 17: front reads tail before back changes it"},{"transaction":{"thread":"back","tr":null,"first":6,"last":7},"from":{"event":7,"thread":"back","kind":"wr","location":"tail","at":"pool.c:19"},"to":{"event":12,"thread":"back","kind":"rd","location":"head","at":"pool.c:22"},"why":"7 before 12: program order of back"},{"transaction":{"thread":"back","tr":null,"first":12,"last":20},"from":{"event":12,"thread":"back","kind":"rd","location":"head","at":"pool.c:22"},"to":{"event":13,"thread":"front","kind":"com","location":"head","at":"pool.c:6"},"why":"12 before 13: back reads head before front changes it"}],"delays":[{"store":3,"during":12,"fence_before":10},{"store":7,"during":10,"fence_before":12}],"events":22,"transactions":4,"threads":2,"locations":3,"remarks":[],"run":{"model":"sc","threads":[{"name":"front"},{"name":"back"}],"locations":[{"name":"head"},{"name":"tail"}],"init":{},"steps":[{"n":3,"thread":0,"kind":"store","location":"head","file":"pool.c","line":6,"text":"wr head","transaction":"front events 2 to 3"},{"n":7,"thread":1,"kind":"store","location":"tail","file":"pool.c","line":19,"text":"wr tail","transaction":"back events 6 to 7"},{"n":10,"thread":0,"kind":"load","location":"tail","file":"pool.c","line":9,"text":"rd tail","transaction":"front events 10 to 15"},{"n":12,"thread":1,"kind":"load","location":"head","file":"pool.c","line":22,"text":"rd head","transaction":"back events 12 to 20"},{"n":13,"thread":0,"kind":"commit","location":"head","file":"pool.c","line":6,"text":"com head","transaction":"front events 2 to 3"},{"n":17,"thread":1,"kind":"commit","location":"tail","file":"pool.c","line":19,"text":"com tail","transaction":"back events 6 to 7"}],"cycle":[{"from":3,"to":10,"edge":"po","why":"3 before 10: program order of front"},{"from":10,"to":17,"edge":"fr","why":"10 before 17: front reads tail before back changes it"},{"from":7,"to":12,"edge":"po","why":"7 before 12: program order of back"},{"from":12,"to":13,"edge":"fr","why":"12 before 13: back reads head before front changes it"}],"late":[{"store":3,"behind":10},{"store":7,"behind":12}]},"time_s":_,"schema":1,"tool":{"name":"weakspot","version":"0.1.0"}}
            --- exit 1
        "#]],
    );
    check(
        &["serial", "--format", "dot", "--model", "tso", log],
        "",
        expect![[r##"
            digraph execution {
              // neato -n2 -Tpdf
              graph [fontname="monospace", fontsize=9, splines=line];
              node [shape=box, fontname="monospace", fontsize=9, fixedsize=true];
              edge [fontname="monospace", fontsize=8, arrowsize=0.6];
              title [shape=plaintext, label="corpus/transactions/task-pool-execution.wstrace under TSO", pos="168.0,425.2", width=4.42, height=0.15, fontcolor="#000000"];
              t0 [shape=plaintext, label="front", pos="75.5,393.8", width=0.46, height=0.15, fontcolor="#000000"];
              t1 [shape=plaintext, label="back", pos="282.2,393.8", width=0.39, height=0.15, fontcolor="#000000"];
              e0 [label="R head\nfront events 2 to 3\nrd head\npool.c:5", pos="75.5,352.5", width=1.76, height=0.71, penwidth=2];
              e1 [label="R tail\nback events 6 to 7\nrd tail\npool.c:18", pos="282.2,282.0", width=1.69, height=0.71, penwidth=2];
              e2 [label="R tail\nfront events 10 to 15\nrd tail\npool.c:9", pos="75.5,211.5", width=1.76, height=0.71, penwidth=2];
              e3 [label="R head\nback events 12 to 20\nrd head\npool.c:22", pos="282.2,141.0", width=1.69, height=0.71, penwidth=2];
              e4 [label="head reaches memory", pos="75.5,87.4", width=1.76, height=0.24, style=dashed, color="#b35806"];
              e5 [label="tail reaches memory", pos="282.2,50.6", width=1.69, height=0.24, style=dashed, color="#b35806"];
              e0 -> e2 [color="#222222", fontcolor="#222222", penwidth=2, label="1 po", lp="89.3,282.0", pos="e,75.5,237.0 75.5,327.0 75.5,299.3 75.5,270.7 75.5,243.0"];
              e2 -> e5 [color="#b35806", fontcolor="#b35806", penwidth=2, label="2 fr", lp="193.3,137.8", pos="e,221.5,50.6 139.0,211.5 165.3,160.2 192.4,107.3 218.7,56.0"];
              e1 -> e3 [color="#222222", fontcolor="#222222", penwidth=2, label="3 po", lp="296.0,211.5", pos="e,282.2,166.5 282.2,256.5 282.2,228.8 282.2,200.2 282.2,172.5"];
              e3 -> e4 [color="#b35806", fontcolor="#b35806", penwidth=2, label="4 fr", lp="179.1,97.9", pos="e,139.0,87.4 221.5,141.0 195.9,124.4 169.6,107.3 144.0,90.6"];
              l0 [shape=plaintext, label="po: program order", pos="58.5,22.5", width=1.38, height=0.15, fontcolor="#222222"];
              l1 [shape=plaintext, label="fr: read what is overwritten by", pos="96.9,11.2", width=2.44, height=0.15, fontcolor="#b35806"];
            }
            --- exit 1
        "##]],
    );
    check(
        &["serial", "--format", "json", "-"],
        "t0: wr x #0\nt1: rd x #1\nt0: com x\n",
        expect![[r#"
            {"file":"-","question":"serial","id":null,"of":"execution","model":"sc","verdict":"holds","certified":true,"sc_equivalent":true,"order":[{"thread":"t1","tr":1,"first":2,"last":2},{"thread":"t0","tr":0,"first":1,"last":1}],"events":3,"transactions":2,"threads":2,"locations":1,"remarks":[],"time_s":_,"schema":1,"tool":{"name":"weakspot","version":"0.1.0"}}
            {"file":"-","question":"serial","id":null,"of":"execution","model":"tso","verdict":"holds","certified":true,"buffered":"exact","order":[{"thread":"t1","tr":1,"first":2,"last":2},{"thread":"t0","tr":0,"first":1,"last":1}],"events":3,"transactions":2,"threads":2,"locations":1,"remarks":[],"time_s":_,"schema":1}
            --- exit 0
        "#]],
    );
}

/// What makes no sense is refused with its place.
#[test]
fn bad_logs() {
    for (log, expected) in [
        (
            "t0: wr x\nt0: com y\n",
            expect![[r#"
            --- standard error
            error: -:2:1: `com` of another location than that of the thread's oldest pending store, event 1
            --- exit 2
        "#]],
        ),
        (
            "t0: com x\n",
            expect![[r#"
            --- standard error
            error: -:1:1: `com` although all stores of the thread are in memory
            --- exit 2
        "#]],
        ),
        (
            "t0: wr x #1\nt0: wr x #2\nt0: com x #2\n",
            expect![[r#"
            --- standard error
            error: -:3:1: `com` of another transaction than that of the thread's oldest pending store, event 1
            --- exit 2
        "#]],
        ),
        (
            "t0: wr x\nt0: fence\nt0: com x\n",
            expect![[r#"
            --- standard error
            error: -:2:1: `fence` waits for the store of event 1, which is not committed
            --- exit 2
        "#]],
        ),
        (
            "t0: begin\nt0: end\nt0: end\n",
            expect![[r#"
            --- standard error
            error: -:3:1: `end` of a transaction that did not begin
            --- exit 2
        "#]],
        ),
        (
            "t0: wr x\nt1: wr y\nt1: com y\n",
            expect![[r#"
            --- standard error
            error: -: event 1: the store is never committed: an execution has a `com` for every `wr`, or none at all
            --- exit 2
        "#]],
        ),
        (
            "t0: spawn t1\nt1: wr x\nt0: join t1\nt1: com x\n",
            expect![[r#"
            --- standard error
            error: -:3:1: `join` waits for the store of event 2, which is not committed
            --- exit 2
        "#]],
        ),
        (
            "t0: rd x #1\nt0: rd x\nt0: rd x #1\n",
            expect![[r#"
            --- standard error
            error: -:3:1: the transaction of this number goes on after something else of the thread; it has to be in one piece
            --- exit 2
        "#]],
        ),
        (
            "t0: spawn t1\nt1: rd x\nt0: join t1\nt1: rd x\n",
            expect![[r#"
                --- standard error
                error: -:4:1: the thread goes on although it was waited for by a `join`
                --- exit 2
            "#]],
        ),
        (
            "t0: wr\n",
            expect![[r#"
            --- standard error
            error: -:1:7: expected a location behind `wr`
            --- exit 2
        "#]],
        ),
    ] {
        check(&["serial", "--model", "sc", "-"], log, expected);
    }
    check(
        &["serial", "--model", "pso", "-"],
        "",
        expect![[r#"
        --- standard error
        error: transactions are asked about under SC and TSO only: expected --model sc, tso or both
        --- exit 2
    "#]],
    );
    check(
        &["serial", "--model", "sc", "--fence-transactions", "-"],
        "",
        expect![[r#"
            --- standard error
            error: --fence-transactions makes a difference under TSO only: expected --model tso
            --- exit 2
        "#]],
    );
    check(
        &["serial", "--fence-transactions", "--model", "tso", "-"],
        "t0: wr x\nt0: com x\n",
        expect![[r#"
            --- standard error
            warning: -: no transaction is marked, so that each event is one of its own; write `begin` and `end`, or give numbers to events, as in `#3`
            error: -: fences change when stores reach memory, and this log says when they did; expected one without `com`
            --- exit 2
        "#]],
    );
    check(
        &["serial", "--model", "sc", "no-such.wslog"],
        "",
        expect![[r#"
        --- standard error
        error: no-such.wslog: failed to read: No such file or directory (os error 2)
        --- exit 2
    "#]],
    );
    check(
        &["serial", "--model", "sc", "-"],
        "",
        expect![[r#"
            --- standard error
            error: -: no event in it
            --- exit 2
        "#]],
    );
}

/// The place of a store that is never committed is found again in a file.
#[test]
fn never_committed_in_a_file() {
    let dir = folder();
    let path = dir.join("pending.wstrace");
    std::fs::write(&path, "trace a\nt0: rd x\ntrace b\nt0: rd y\nt0: wr x\nt1: wr y\nt1: com y\n")
        .expect("written");
    let ran = run(&["serial", "--model", "tso", path.to_str().expect("UTF-8")], "");
    assert!(ran.err.contains("pending.wstrace:5:1: the store is never committed"), "{}", ran.err);
    assert_eq!(ran.code, Some(2));
}

/// A witness about a trace that is not there proves nothing.
#[test]
fn witnesses_about_no_trace() {
    let dir = folder();
    let log = dir.join("two.wstrace");
    std::fs::write(&log, "trace a\nt0: rd x\ntrace b\nt1: rd x\n").expect("written");
    let log = log.to_str().expect("UTF-8");
    let witness = dir.join("two.json");
    let file = witness.to_str().expect("UTF-8");
    run(&["serial", "-q", "--model", "sc", "--witness", file, log], "");
    let text = std::fs::read_to_string(&witness).expect("a witness");
    assert!(text.contains("\"trace\": 0"), "{text}");
    for (trace, code) in [("0", 0), ("1", 0), ("2", 1), ("null", 1)] {
        let other = text.replace("\"trace\": 0", &format!("\"trace\": {trace}"));
        std::fs::write(&witness, other).expect("written");
        let ran = run(&["certify", log, file], "");
        assert_eq!(ran.code, Some(code), "{trace}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn witnesses() {
    let dir = folder();
    let witness = dir.join("witness.json");
    let witness = witness.to_str().expect("UTF-8");
    let mut got = String::new();
    for (log, model) in [
        ("task-pool.wstrace", "sc"),
        ("task-pool.wstrace", "tso"),
        ("task-pool-execution.wstrace", "sc"),
        ("task-pool-execution.wstrace", "tso"),
        ("theorem-2.wstrace", "sc"),
        ("theorem-2.wstrace", "tso"),
        ("literal.jsonl", "tso"),
        ("words.wstrace", "sc"),
        ("words.wstrace", "tso"),
        ("bank.std", "tso"),
    ] {
        let path = format!("{FOLDER}/{log}");
        let ran = run(&["serial", "-q", "--model", model, "--witness", witness, &path], "");
        assert!(ran.code.is_some_and(|code| code < 2), "{}", ran.err);
        let ran = run(&["certify", &path, witness], "");
        got += &format!("{log} {model}: {}{}", ran.out, ran.err);
        // An edge that is not there, an order that is none.
        let text = std::fs::read_to_string(witness).expect("a witness");
        let broken = match text.contains("\"cycle\"") {
            true => text.replacen("{\"from\":", "{\"from\":1", 1),
            false => text.replacen("\"order\": [0,1", "\"order\": [1,0", 1),
        };
        if broken != text {
            std::fs::write(witness, broken).expect("written");
            let ran = run(&["certify", &path, witness], "");
            assert_eq!(ran.code, Some(1), "{log} {model} {}{}", ran.out, ran.err);
        }
    }
    expect![[r#"
        task-pool.wstrace sc: certified: serial under SC: holds, by an order of 4 transactions
        task-pool.wstrace tso: certified: serial under TSO: violated, by an execution of the trace with a cycle of 4 conflicts
        task-pool-execution.wstrace sc: certified: serial under SC: violated, by a cycle of 4 conflicts
        task-pool-execution.wstrace tso: certified: serial under TSO: violated, by a cycle of 4 conflicts
        theorem-2.wstrace sc: certified: serial under SC: violated, by a cycle of 4 conflicts (trace 1 of the log)
        theorem-2.wstrace tso: certified: serial under TSO: holds, by an order of 4 transactions (trace 1 of the log)
        literal.jsonl tso: certified: serial under TSO: holds, by 1 group without a cycle (trace 1 of the log)
        words.wstrace sc: certified: serial under SC: violated, by a cycle of 2 conflicts
        words.wstrace tso: certified: serial under TSO: violated, by an execution of the trace with a cycle of 2 conflicts
        bank.std tso: certified: serial under TSO: violated, by an execution of the trace with a cycle of 2 conflicts
    "#]].assert_eq(&got);
}

/// A random trace, or execution if it has commits.
fn random(rng: &mut Rng, has_commits: bool) -> Vec<TxnEvent> {
    let (threads, vars) = (2 + rng.below(2), 1 + rng.below(2));
    let mut left = 2 + rng.below(5);
    let mut buffers: Vec<Vec<TxnEvent>> = vec![Vec::new(); threads];
    let mut txns: Vec<u32> = (0..threads as u32).map(|thread| 10 * thread).collect();
    let mut events = Vec::new();
    while left > 0 || buffers.iter().any(|buffer| !buffer.is_empty()) {
        let t = rng.below(threads);
        if !buffers[t].is_empty() && (left == 0 || rng.one_in(3)) {
            events.push(TxnEvent { kind: TxnKind::Commit, ..buffers[t].remove(0) });
        } else if left > 0 {
            txns[t] += u32::from(rng.one_in(3));
            let kind = match rng.below(10) {
                0..4 => TxnKind::Read,
                4..8 => TxnKind::Write,
                8 => TxnKind::Fence,
                _ => TxnKind::Update,
            };
            if kind.drains() && !buffers[t].is_empty() {
                continue;
            }
            let var = if kind == TxnKind::Fence { 0 } else { rng.below(vars) as u32 };
            let event = TxnEvent { thread: t as u32, kind, var, txn: txns[t] };
            events.push(event);
            if has_commits && kind == TxnKind::Write {
                buffers[t].push(event);
            }
            left -= 1;
        }
    }
    events
}

/// Thousands of traces and executions in one file: all answers are those of the definitions.
#[test]
fn answers_are_those_of_the_definitions() {
    let mut rng = Rng::new(6);
    let (mut text, mut expected, mut logs) = (String::new(), Vec::new(), Vec::new());
    for id in 0..3_000 {
        let has_commits = id % 2 == 0;
        let events = random(&mut rng, has_commits);
        logs.push(events.clone());
        let event = |e: &TxnEvent| {
            let (t, x, tr) = (e.thread, e.var, e.txn);
            match e.kind {
                TxnKind::Read => format!(r#"{{"t":{t},"k":"rd","x":"v{x}","tr":{tr}}}"#),
                TxnKind::Write => format!(r#"{{"t":{t},"k":"wr","x":"v{x}","tr":{tr}}}"#),
                TxnKind::Update => format!(r#"{{"t":{t},"k":"upd","x":"v{x}","tr":{tr}}}"#),
                TxnKind::Fence => format!(r#"{{"t":{t},"k":"fence","tr":{tr}}}"#),
                TxnKind::Commit => format!(r#"{{"t":{t},"k":"com","x":"v{x}"}}"#),
            }
        };
        let list: Vec<String> = events.iter().map(event).collect();
        text += &format!("{{\"id\":\"{id}\",\"events\":[{}]}}\n", list.join(","));
        let verdict = |holds: bool| if holds { "holds" } else { "violated" };
        let is_execution = events.iter().any(|e| e.kind == TxnKind::Commit);
        let (sc, tso) = if is_execution {
            let paired = pair(&events).expect("an execution");
            let sc = format!(
                "execution sc {} {}",
                verdict(serializable(&paired, Conflicts::TsoPo)),
                sc_equivalent(&paired)
            );
            (
                sc,
                format!(
                    "execution tso {}",
                    verdict(serializable(&paired, Conflicts::Tso(BufferedReads::Exact)))
                ),
            )
        } else {
            // Every write is in memory at once.
            let mut at_once = Vec::new();
            for &event in &events {
                at_once.push(event);
                if event.kind == TxnKind::Write {
                    at_once.push(TxnEvent { kind: TxnKind::Commit, ..event });
                }
            }
            let paired = pair(&at_once).expect("an execution");
            let sc = format!("execution sc {}", verdict(serializable(&paired, Conflicts::TsoPo)));
            let has_writes = events.iter().any(|e| e.kind == TxnKind::Write);
            let equivalent = if has_writes { "" } else { " true" };
            let tso =
                format!("trace tso {}", verdict(trace_serializable(&events, BufferedReads::Exact)));
            (sc + equivalent, tso)
        };
        expected.push(format!("{id} {sc}"));
        expected.push(format!("{id} {tso}"));
    }
    let path = folder().join("random.jsonl");
    std::fs::write(&path, text).expect("written");
    let ran = run(&["serial", "--format", "json", path.to_str().expect("UTF-8")], "");
    assert_eq!(ran.err, "");
    let mut delays = 0;
    let found: Vec<String> = ran
        .out
        .lines()
        .enumerate()
        .map(|(at, line)| {
            let json: serde_json::Value = serde_json::from_str(line).expect("JSON");
            delays += check_delays(&logs[at / 2], &json);
            let of = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
            let equivalent =
                json["sc_equivalent"].as_bool().map_or(String::new(), |b| format!(" {b}"));
            format!("{} {} {} {}{equivalent}", of("id"), of("of"), of("model"), of("verdict"))
        })
        .collect();
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.len(), expected.len());
    let violated = expected.iter().filter(|line| line.contains("violated")).count();
    assert!(violated > 500, "{violated}");
    assert!(delays > 500, "{delays}");
}

/// A store that is said to be late is one that another thread looks at meanwhile, and a fence where
/// one is proposed would have to wait for it. How many are.
fn check_delays(log: &[TxnEvent], answer: &serde_json::Value) -> usize {
    let is_execution = log.iter().any(|event| event.kind == TxnKind::Commit);
    let delays = answer["delays"].as_array().map_or(&[][..], Vec::as_slice);
    for delay in delays {
        let number = |key: &str| delay[key].as_u64().map(|n| n as usize - 1);
        let (store, during) = (number("store").expect("one"), number("during").expect("one"));
        let (stored, seen) = (log[store], log[during]);
        assert_eq!(stored.kind, TxnKind::Write, "{delay} {log:?}");
        assert!(seen.var == stored.var && seen.thread != stored.thread, "{delay} {log:?}");
        let own = |at: &usize| log[*at].thread == stored.thread;
        // Where the store reaches memory at the latest.
        let earlier = (0..store).filter(own).filter(|&at| log[at].kind == TxnKind::Write).count();
        let mut commits = (0..log.len()).filter(own).filter(|&at| log[at].kind == TxnKind::Commit);
        let drains = (store..log.len()).filter(own).find(|&at| log[at].kind.drains());
        let memory = match is_execution {
            true => commits.nth(earlier).expect("a commit"),
            false => drains.unwrap_or(log.len()),
        };
        if seen.kind != TxnKind::Write {
            assert!(store < during && during < memory, "{delay} {log:?}");
        }
        if let Some(before) = number("fence_before") {
            assert!(own(&before) && store < before && before < memory, "{delay} {log:?}");
        }
    }
    delays.len()
}

/// What a user may not have meant.
#[test]
fn warnings() {
    let brackets = "a: begin\na: wr x #3\na: rd y #4\na: end\nb: begin\nb: rd y\n";
    check(
        &["serial", "--model", "sc", "-"],
        brackets,
        expect![[r#"
        - SC: serializable (in this execution): 2 transactions in 6 events
          serial order: a events 2 to 3, b event 6
        --- standard error
        warning: -: the transaction that b began at event 5 never ends
        --- exit 0
    "#]],
    );
    check(
        &["serial", "--model", "sc", "--format", "json", "-"],
        brackets,
        expect![[r#"
            {"file":"-","question":"serial","id":null,"of":"execution","model":"sc","verdict":"holds","certified":true,"order":[{"thread":"a","tr":null,"first":2,"last":3},{"thread":"b","tr":null,"first":6,"last":6}],"events":6,"transactions":2,"threads":2,"locations":2,"remarks":["the transaction that b began at event 5 never ends"],"time_s":_,"schema":1,"tool":{"name":"weakspot","version":"0.1.0"}}
            --- standard error
            warning: -: the transaction that b began at event 5 never ends
            --- exit 0
        "#]],
    );
    check(
        &["serial", "--model", "sc", "-"],
        "trace A\ntrace B\na: rd x\n",
        expect![[r#"
        - A SC: serializable (in this execution): 0 transactions in 0 events
        - B SC: serializable (in this execution): 1 transaction in 1 event
          serial order: a event 1
        --- standard error
        warning: - A: the log has no events
        warning: - B: no transaction is marked, so that each event is one of its own; write `begin` and `end`, or give numbers to events, as in `#3`
        --- exit 0
    "#]],
    );
    check(
        &["serial", "--model", "sc", "--predict", "-"],
        brackets,
        expect![[r#"
            --- standard error
            error: --predict is about traces under TSO: expected --model tso
            --- exit 2
        "#]],
    );
    check(
        &["serial", "-q", "-"],
        "a:rd x\n",
        expect![[r#"
        --- standard error
        error: -:1:1: expected a blank behind the thread and its colon, as in `t0: rd x`
        --- exit 2
    "#]],
    );
    check(
        &["serial", "-q", "-"],
        "thread a {\n}\n",
        expect![[r#"
        --- standard error
        error: -:1:1: expected a thread and a colon, such as `t0: rd x`
        note: this was read as a log; for a program expected --input-format
        --- exit 2
    "#]],
    );
}

/// What is predicted is no guarantee, and says so.
#[test]
fn predictions() {
    let lost = "a: rd n #1\na: wr n #1\na: fence #1\nb: rd n #1\nb: wr n #1\nb: fence #1\n";
    check(
        &["serial", "--model", "tso", "--predict", "-"],
        lost,
        expect![[r#"
            - TSO: serializable (in all executions of this trace): 2 transactions in 6 events
              predicted: no violation on schedules that keep the order of all conflicts that
                TSO cannot turn in this trace; others, in which transactions overlap that
                did not here, were not looked at
            --- exit 0
        "#]],
    );
    let log = "corpus/transactions/task-pool.wstrace";
    check(
        &["serial", "--model", "tso", "-q", "--predict", "--literal", log],
        "",
        expect![[r#"
        corpus/transactions/task-pool.wstrace TSO: not serializable: an execution of this trace has a cycle through 4 transactions in 16 events
          predicted: not serializable, as above
          the test of the paper: not serializable, either
        --- exit 1
    "#]],
    );
    let log = "corpus/transactions/task-pool-execution.wstrace";
    check(
        &["serial", "--model", "tso", "-q", "--predict", log],
        "",
        expect![[r#"
        corpus/transactions/task-pool-execution.wstrace TSO: not serializable: a cycle through 4 transactions in 22 events
          note: --predict and --literal make no difference: the log has `com`, so that it is one execution
        --- exit 1
    "#]],
    );
}

/// Starts and ends of threads are not counted, and a row of the summary is a trace.
#[test]
fn summary() {
    let path = folder().join("summary.wstrace");
    let text = "trace one\na: begin\na: spawn b\na: end\nb: rd x #1\na: join b\n\
                trace two\na: wr x #1\na: rd y #2\nb: rd y #1\nb: wr y #1\nb: rd x #2\n";
    std::fs::write(&path, text).expect("written");
    let path = path.to_str().expect("UTF-8");
    let ran = run(&["serial", path, path, "no-such.wstrace"], "");
    let got = format!("{}{}", ran.out, ran.err).replace(path, "summary.wstrace");
    expect![[r#"
        summary.wstrace one SC: serializable (in this execution): 3 transactions in 5 events
          serial order: a event 2, b #1, a event 5
        summary.wstrace one TSO: serializable (in all executions of this trace): 3 transactions in 5 events
        summary.wstrace two SC: serializable (in this execution): 4 transactions in 5 events
          serial order: a #1, a #2, b #1, b #2
        summary.wstrace two TSO: serializable (in all executions of this trace): 4 transactions in 5 events
        summary.wstrace one SC: serializable (in this execution): 3 transactions in 5 events
          serial order: a event 2, b #1, a event 5
        summary.wstrace one TSO: serializable (in all executions of this trace): 3 transactions in 5 events
        summary.wstrace two SC: serializable (in this execution): 4 transactions in 5 events
          serial order: a #1, a #2, b #1, b #2
        summary.wstrace two TSO: serializable (in all executions of this trace): 4 transactions in 5 events
        error: no-such.wstrace: failed to read: No such file or directory (os error 2)
        5 traces
        model      holds     violated   unknown   errors
        SC             4            0         0        1
        TSO            4            0         0        1
        no trace differs between the models
    "#]].assert_eq(&got);
}
