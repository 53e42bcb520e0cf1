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
    check(&["monitor", "--model", "tso", SB], "", expect![[""]]);
}

#[test]
fn message_passing_breaks_under_pso_only() {
    check(&["monitor", "corpus/traces/message-passing.wstrace"], "", expect![[""]]);
}

#[test]
fn json() {
    check(&["monitor", "--format", "json", SB], "", expect![[""]]);
}

#[test]
fn dot() {
    check(&["monitor", "--format", "dot", "--model", "tso", SB], "", expect![[""]]);
}

#[test]
fn several_traces_and_formats() {
    check(&["monitor", "-q", "corpus/traces"], "", expect![[""]]);
}

#[test]
fn sober() {
    let between = "corpus/traces/overwritten-in-between.wstrace";
    check(&["monitor", "-q", "--model", "tso", between], "", expect![[""]]);
    check(&["monitor", "-q", "--algorithm", "sober", between], "", expect![[""]]);
    check(&["monitor", "-q", "--algorithm", "sober-published", between], "", expect![[""]]);
    check(&["monitor", "--algorithm", "sober", "--model", "pso", between], "", expect![[""]]);
}

#[test]
fn from_a_pipe() {
    let log = "a: wr x\na: rd y\nb: wr y\nb: rd x\nb: rd x\n";
    check(&["monitor", "-q", "-"], log, expect![[""]]);
    check(&["monitor", "--model", "tso", "--first", "-"], log, expect![[""]]);
}

#[test]
fn the_last_pending_store_only() {
    let log = "a: wr x @ 1\na: rd y\na: wr x @ 2\na: wr z\nb: wr y\nb: rd x\n";
    check(&["monitor", "-q", "--model", "tso", "-"], log, expect![[""]]);
    check(&["monitor", "-q", "--model", "tso", "--pending", "last", "-"], log, expect![[""]]);
}

#[test]
fn bad_logs() {
    check(&["monitor", "-"], "a: wr x\nb: frob x\n", expect![[""]]);
    check(&["monitor", "--format", "json", "-"], "a: wr x\nb: frob x\n", expect![[""]]);
    check(&["monitor", "-"], "a: wr x\na: com x\n", expect![[""]]);
    check(&["monitor", "-"], "a: wr x = 1\nb: rd x = 2\n", expect![[""]]);
    check(&["monitor", "no-such-file.wstrace"], "", expect![[""]]);
    check(&["monitor", "--model", "sc", SB], "", expect![[""]]);
    check(&["monitor", "--witness", "w.json", "--model", "tso", "-"], "a: wr x\n", expect![[""]]);
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
