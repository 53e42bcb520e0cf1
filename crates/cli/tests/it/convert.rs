//! `weakspot convert`.

use std::process::Stdio;

use expect_test::{Expect, expect};

use crate::{root, transcript, weakspot};

fn check(args: &[&str], stdin: &str, expected: Expect) {
    expected.assert_eq(&transcript(args, stdin));
}

#[test]
fn help() {
    check(&["help", "convert"], "", expect![[""]]);
}

#[test]
fn formats() {
    let mixed = "corpus/traces/mixed-sizes.wstrace";
    check(&["convert", "--to", "jsonl", mixed, "-"], "", expect![[""]]);
    check(&["convert", "--to", "text", "corpus/traces/executions.jsonl", "-"], "", expect![[""]]);
    check(&["convert", "--to", "text", "corpus/traces/locks.std", "-"], "", expect![[""]]);
    check(&["convert", "--to", "std", "-", "-"], "t0: w x\nt1: r x @ 7\n", expect![[""]]);
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
    check(&["convert", "--to", "std", fenced, "-"], "", expect![[""]]);
    check(&["convert", "--to", "std", "-", "-"], "t0: wr x\n\nt0: fence\n", expect![[""]]);
    check(&["convert", "--to", "jsonl", "-", "-"], "t0: wr x\nt0: wr\n", expect![[""]]);
    check(&["convert", "--from", "wslog", "--to", "text", fenced, "-"], "", expect![[""]]);
    check(&["convert", fenced, "-"], "", expect![[""]]);
    check(&["convert", "--to", "text", "no-such.wslog", "-"], "", expect![[""]]);
    check(&["convert", fenced, fenced], "", expect![[""]]);
}

/// A torn log is converted up to there, with a warning.
#[test]
fn torn() {
    let bytes = std::fs::read(root().join("corpus/traces/dekker.wslog")).expect("a log");
    let path = std::env::temp_dir().join(format!("weakspot-torn-{}.wslog", std::process::id()));
    std::fs::write(&path, &bytes[..bytes.len() - 1]).expect("it can be written");
    let path = path.display().to_string();
    let text = transcript(&["convert", "--to", "text", &path, "-"], "");
    expect![[""]].assert_eq(&text.replace(&path, "torn.wslog"));
    let _ = std::fs::remove_file(&path);
}
