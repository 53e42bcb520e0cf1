//! `weakspot convert`.

use std::process::Stdio;

use expect_test::{Expect, expect};

use crate::{root, transcript, weakspot};

fn check(args: &[&str], stdin: &str, expected: Expect) {
    expected.assert_eq(&transcript(args, stdin));
}

#[test]
fn help() {
    check(
        &["help", "convert"],
        "",
        expect![[r#"
            Example:
              weakspot convert run.wslog run.wstrace
              weakspot convert --from std --to jsonl - - < trace.txt
              weakspot convert corpus/histories/store-buffering.axe sb.jsonl

            Convert a log of an execution, or histories, from one format to another

            Usage: weakspot convert [OPTIONS] <INPUT> [OUTPUT]

            Arguments:
              <INPUT>
                      The log or the histories; `-` is standard input

              [OUTPUT]
                      Where to write; `-` is standard output

            Options:
              -o, --output <FILE>
                      The same as OUTPUT

                  --input-format <FORMAT>
                      The format of INPUT; by default what it ends in, else what it looks like

                      Possible values:
                      - text:       One event or operation per line, for people
                      - jsonl:      JSON Lines
                      - std:        Logs in RAPID's STD
                      - wslog:      Binary logs
                      - axe:        Histories of Axe
                      - dbcop:      Histories in the text of dbcop
                      - dbcop-json: Histories in the JSON of dbcop
                      - plume:      Histories of Plume, PolySI and AWDIT
                      - awdit:      Histories of AWDIT's tests
                      - edn:        Histories of Jepsen
                      - csv:        Logs of hardware in columns

                      [alias: --from]

              -f, --format <FORMAT>
                      The format of OUTPUT; by default what it ends in

                      Possible values:
                      - text:       One event or operation per line, for people
                      - jsonl:      JSON Lines
                      - std:        Logs in RAPID's STD
                      - wslog:      Binary logs
                      - axe:        Histories of Axe
                      - dbcop:      Histories in the text of dbcop
                      - dbcop-json: Histories in the JSON of dbcop
                      - plume:      Histories of Plume, PolySI and AWDIT
                      - awdit:      Histories of AWDIT's tests

                      [alias: --to]

              -q, --quiet
                      No warnings

              -h, --help
                      Print help (see a summary with '-h')

            Logs by ending: .wstrace is text for people, .jsonl and .json are JSON Lines,
            .std is RAPID's STD, .wslog is binary. Histories: .wshist is text for people,
            .jsonl and .json are JSON Lines, .axe, .hist (dbcop), .plume, .awdit and .edn
            are those of other checkers. If text or JSON Lines become text or JSON Lines,
            what INPUT looks like decides. Nothing is left out: what OUTPUT's format cannot
            say is an error with its place. If a .wslog has a torn tail, all before it is
            converted, with a warning.
            --- exit 0
        "#]],
    );
}

#[test]
fn formats() {
    let mixed = "corpus/traces/mixed-sizes.wstrace";
    check(
        &["convert", "--to", "jsonl", mixed, "-"],
        "",
        expect![[r#"
        {"t":0,"k":"wr","x":"0x1002","size":2,"v":1,"at":"mixed.c:8"}
        {"t":0,"k":"rd","x":"0x2000","size":1,"v":0,"at":"mixed.c:9"}
        {"t":1,"k":"wr","x":"words","addr":"0x2000","size":8,"v":1,"at":"mixed.c:14"}
        {"t":1,"k":"rd","x":"0x1000","size":4,"v":65536,"at":"mixed.c:15"}
        --- exit 0
    "#]],
    );
    check(
        &["convert", "--to", "text", "corpus/traces/executions.jsonl", "-"],
        "",
        expect![[r#"
        trace sb
        t0: wr x = 1
        t0: rd y = 0
        t1: wr y = 1
        t1: rd x = 1
        trace sb-updates
        t0: upd x 0 -> 1
        t0: rd y = 0
        t1: upd y 0 -> 1
        t1: rd x = 1
        trace transactions
        t0: wr x #0
        t1: rd x #1
        t0: wr y #0
        t1: rd y #1
        --- exit 0
    "#]],
    );
    check(
        &["convert", "--to", "text", "corpus/traces/locks.std", "-"],
        "",
        expect![[r#"
        T0: spawn T1 @ 3
        T0: acq L1 @ 5
        T0: wr V1 @ 6
        T0: wr V2 @ 7
        T0: rel L1 @ 8
        T1: acq L1 @ 12
        T1: rd V2 @ 13
        T1: rd V1 @ 14
        T1: rel L1 @ 15
        T0: join T1 @ 20
        T0: rd V1 @ 21
        --- exit 0
    "#]],
    );
    check(
        &["convert", "--to", "std", "-", "-"],
        "t0: w x\nt1: r x @ 7\n",
        expect![[r#"
        t0|w(x)|-1
        t1|r(x)|7
        --- exit 0
    "#]],
    );
}

/// Through the binary format, which is found out without an ending.
#[test]
fn through_binary() {
    let wslog = weakspot()
        .args(["convert", "--to", "wslog", "corpus/traces/executions.jsonl", "-"])
        .output()
        .expect("the command ends");
    assert!(wslog.status.success());
    let mut back = weakspot()
        .args(["convert", "--to", "jsonl", "-", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    std::io::Write::write_all(&mut back.stdin.take().expect("a pipe"), &wslog.stdout)
        .expect("it is read");
    let back = back.wait_with_output().expect("the command ends");
    let jsonl = std::fs::read(root().join("corpus/traces/executions.jsonl")).expect("a log");
    assert_eq!(String::from_utf8_lossy(&back.stdout), String::from_utf8_lossy(&jsonl));
}

#[test]
fn refusals() {
    let fenced = "corpus/traces/store-buffering-fenced.wstrace";
    check(
        &["convert", "--to", "std", fenced, "-"],
        "",
        expect![[r#"
        --- standard error
        error: corpus/traces/store-buffering-fenced.wstrace:2:1: STD cannot say values
        --- exit 2
    "#]],
    );
    check(
        &["convert", "--to", "std", "-", "-"],
        "t0: wr x\n\nt0: fence\n",
        expect![[r#"
        t0|w(x)|-1
        --- standard error
        error: -:3:1: STD cannot say `fence`
        --- exit 2
    "#]],
    );
    check(
        &["convert", "--to", "jsonl", "-", "-"],
        "t0: wr x\nt0: wr\n",
        expect![[r#"
        {"t":0,"k":"wr","x":"x"}
        --- standard error
        error: -:2:7: expected a location behind `wr`
        --- exit 2
    "#]],
    );
    check(
        &["convert", "--from", "wslog", "--to", "text", fenced, "-"],
        "",
        expect![[r#"
        --- standard error
        error: corpus/traces/store-buffering-fenced.wstrace: offset 0: no .wslog file: it does not begin with the bytes 89 57 53 4c
        --- exit 2
    "#]],
    );
    check(
        &["convert", fenced, "-"],
        "",
        expect![[r#"
            --- standard error
            error: the ending of the output names no format: expected .wstrace, .jsonl, .json, .std or .wslog for a log, or .wshist, .jsonl, .json, .axe, .hist, .plume or .awdit for histories, or --format
            --- exit 2
        "#]],
    );
    check(
        &["convert", "--to", "text", "no-such.wslog", "-"],
        "",
        expect![[r#"
            --- standard error
            error: no-such.wslog: failed to read: No such file or directory (os error 2)
            --- exit 2
        "#]],
    );
    check(
        &["convert", fenced, fenced],
        "",
        expect![[r#"
        --- standard error
        error: corpus/traces/store-buffering-fenced.wstrace cannot be converted to itself
        --- exit 2
    "#]],
    );
}

/// A torn log is converted up to there, with a warning.
#[test]
fn torn() {
    let bytes = std::fs::read(root().join("corpus/traces/dekker.wslog")).expect("a log");
    let path = std::env::temp_dir().join(format!("weakspot-torn-{}.wslog", std::process::id()));
    std::fs::write(&path, &bytes[..bytes.len() - 1]).expect("it can be written");
    let path = path.display().to_string();
    let text = transcript(&["convert", "--to", "text", &path, "-"], "");
    expect![[r#"
        main: spawn p @ dekker.c:30
        main: spawn q @ dekker.c:31
        --- standard error
        warning: torn.wslog: the log is torn at offset 417: the last 511 bytes are lost
        --- exit 0
    "#]]
    .assert_eq(&text.replace(&path, "torn.wslog"));
    let _ = std::fs::remove_file(&path);
}

#[test]
fn histories() {
    let classic = "corpus/histories/classic.jsonl";
    // By the formats, by the endings, or by what the input looks like.
    check(
        &["convert", "--to", "text", "corpus/histories/store-buffering.axe", "-"],
        "",
        expect![[r#"
            history
            t0: w 0 1
            t0: r 1 0 @ 30:40
            t0: fence
            t0: w done(t0) 1
            t1: w 1 1
            t1: r 0 0
            t1: fence
            t1: w done(t1) 1
            final: r done(t0) 1
            final: r done(t1) 1
            final: r 0 1
            history
            t0: w 0 1
            t0: fence
            t0: r 1 0
            t1: w 1 1
            t1: fence
            t1: u 0 0 -> 2
            --- standard error
            warning: corpus/histories/store-buffering.axe: history 1: the lines `final` are reads of a thread `final`, behind all that the others did; coherence, which orders no locations among each other, does not check them
            --- exit 0
        "#]],
    );
    check(
        &["convert", "--to", "text", "corpus/histories/values-repeat.jsonl", "-"],
        "",
        expect![[r#"
            history spin-lock
            init n 10
            t0:
            t1:
            t0: u lock 0 -> 1 from init
            t0: r n 10 from init
            t0: w n 11
            t0: w lock 0
            t1: u lock 0 -> 1 from t0 3
            t1: r n 11 from t0 2
            t1: w n 12
            t1: w lock 0
            --- exit 0
        "#]],
    );
    check(
        &["convert", "--to", "jsonl", "corpus/histories/long-fork.hist", "-"],
        "",
        expect![[r#"
        {"threads":[[{"kind":"w","var":"x","val":1}],[{"kind":"w","var":"y","val":1}],[{"kind":"r","var":"x","val":1},{"kind":"r","var":"y","val":0}],[{"kind":"r","var":"y","val":1},{"kind":"r","var":"x","val":0}]]}
        --- standard error
        warning: corpus/histories/long-fork.hist: history 1: 1 transaction that did not happen (aborted, failed or not committed) is left out
        --- exit 0
    "#]],
    );
    check(
        &["convert", "--to", "axe", "-", "-"],
        "w(7,1,0,0)\nr(7,1,1,1)\n",
        expect![[r#"
        0: M[7] := 1
        1: M[7] == 1
        check
        --- exit 0
    "#]],
    );
    check(
        &["convert", "--to", "jsonl", "-", "-"],
        "history a\nt0: w x 1\n",
        expect![[r#"
        {"id":"a","threads":[[{"kind":"w","var":"x","val":1}]]}
        --- exit 0
    "#]],
    );
    check(
        &["convert", "--to", "jsonl", "-", "-"],
        "t0: w x 1\n",
        expect![[r#"
        {"t":0,"k":"wr","x":"x","v":1}
        --- exit 0
    "#]],
    );
    check(
        &["convert", "--from", "axe", "--to", "jsonl", "-", "-"],
        "0: M[0] := 1\n1: M[0] == 2\n",
        expect![[r#"
            --- standard error
            error: -:2:4: nobody wrote 2 to `[0]`
            --- exit 2
        "#]],
    );
    // What cannot be said.
    check(
        &["convert", "--to", "plume", classic, "-"],
        "",
        expect![[r#"
        w(0,1,0,0)
        r(1,0,0,1)
        w(1,1,1,2)
        r(0,0,1,3)
        --- standard error
        error: corpus/histories/classic.jsonl: history 2: plume has room for one history
        --- exit 2
    "#]],
    );
    check(
        &["convert", "--from", "text", "--to", "dbcop", "-", "-"],
        "t0: w x 1\nt0: fence\n",
        expect![[r#"
            --- standard error
            error: -: history 1, operation 1 of t0: dbcop cannot say fences
            --- exit 2
        "#]],
    );
    check(
        &["convert", "--to", "edn", "corpus/histories/long-fork.hist", "-"],
        "",
        expect![[r#"
            {:type :ok, :f :txn, :value [[:w "x" 1]], :process 0, :index 0}
            {:type :ok, :f :txn, :value [[:w "y" 1]], :process 1, :index 1}
            {:type :ok, :f :txn, :value [[:r "x" 1]], :process 2, :index 2}
            {:type :ok, :f :txn, :value [[:r "y" nil]], :process 2, :index 3}
            {:type :ok, :f :txn, :value [[:r "y" 1]], :process 3, :index 4}
            {:type :ok, :f :txn, :value [[:r "x" nil]], :process 3, :index 5}
            {:type :fail, :f :txn, :value [[:w "x" 7] [:w "y" 7]], :process 3, :index 6}
            --- exit 0
        "#]],
    );
    check(
        &["convert", "--to", "axe", "corpus/traces/locks.std", "-"],
        "",
        expect![[r#"
        --- standard error
        error: a log cannot be converted to a history, nor a history to a log
        --- exit 2
    "#]],
    );
    check(
        &["convert", "--to", "wslog", "corpus/histories/causality.plume", "-"],
        "",
        expect![[r#"
            --- standard error
            error: a log cannot be converted to a history, nor a history to a log
            --- exit 2
        "#]],
    );
}
