//! `weakspot serial`, and its witnesses.

use std::path::PathBuf;

use expect_test::{Expect, expect, expect_file};

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

const FOLDER: &str = "corpus/traces/serial";

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
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        expect_file![folder.join(format!("{name}.expected"))].assert_eq(&text);
    }
    assert_eq!(logs, 7);
}

#[test]
fn task_pool() {
    check(&["serial", "corpus/traces/serial/task-pool.wstrace"], "", expect![""]);
}

#[test]
fn fences() {
    check(
        &[
            "serial",
            "--model",
            "tso",
            "--fence-transactions",
            "corpus/traces/serial/task-pool.wstrace",
        ],
        "",
        expect![""],
    );
    check(
        &["serial", "--model", "tso", "-q", "--fence-transactions", "-"],
        "t0: wr x #0\nt0: rd y #0\nt1: rd x #1\nt1: wr y #1\nt1: rd z #2\nt0: wr z #0\n",
        expect![""],
    );
}

#[test]
fn threads_and_locks() {
    check(&["serial", "--model", "sc", "corpus/traces/serial/bank.std"], "", expect![""]);
    // A transaction that starts a thread and waits for it has no place in a serial order.
    check(
        &["serial", "--model", "sc", "-"],
        "t0: begin\nt0: spawn t1\nt1: wr x\nt0: join t1\nt0: end\n",
        expect![""],
    );
}

#[test]
fn json_and_dot() {
    let log = "corpus/traces/serial/task-pool-execution.wstrace";
    check(&["serial", "--format", "json", "--model", "sc", log], "", expect![""]);
    check(&["serial", "--format", "dot", "--model", "tso", log], "", expect![""]);
    check(
        &["serial", "--format", "json", "-"],
        "t0: wr x #0\nt1: rd x #1\nt0: com x\n",
        expect![""],
    );
}

/// What makes no sense is refused with its place.
#[test]
fn bad_logs() {
    for (log, expected) in [
        ("t0: wr x\nt0: com y\n", expect![""]),
        ("t0: com x\n", expect![""]),
        ("t0: wr x #1\nt0: wr x #2\nt0: com x #2\n", expect![""]),
        ("t0: wr x\nt0: fence\nt0: com x\n", expect![""]),
        ("t0: begin\nt0: end\nt0: end\n", expect![""]),
        ("t0: wr x\nt1: wr y\nt1: com y\n", expect![""]),
        ("t0: spawn t1\nt1: wr x\nt0: join t1\nt1: com x\n", expect![""]),
        ("t0: wr\n", expect![""]),
    ] {
        check(&["serial", "--model", "sc", "-"], log, expected);
    }
    check(&["serial", "--model", "pso", "-"], "", expect![""]);
    check(&["serial", "--model", "sc", "--fence-transactions", "-"], "", expect![""]);
    check(
        &["serial", "--fence-transactions", "--model", "tso", "-"],
        "t0: wr x\nt0: com x\n",
        expect![""],
    );
    check(&["serial", "--model", "sc", "no-such.wslog"], "", expect![""]);
    check(&["serial", "--model", "sc", "-"], "", expect![""]);
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

#[test]
fn witnesses() {
    let dir = folder();
    let witness = dir.join("witness.json");
    let witness = witness.to_str().expect("UTF-8");
    let mut told = String::new();
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
        told += &format!("{log} {model}: {}{}", ran.out, ran.err);
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
    expect![""].assert_eq(&told);
}
