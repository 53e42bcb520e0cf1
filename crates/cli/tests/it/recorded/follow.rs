//! `weakspot history --follow`.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use expect_test::expect;

use crate::printed::transcripts::check;
use crate::{run, weakspot};

#[test]
fn the_first_violation_of_each_model() {
    check(
        &["history", "--follow", "-"],
        "t0: w x 1\nt1: w y 1\nt0: r y 0\nt1: r x 0\n",
        expect![[r#"
            - SC: violated: within the first 4 operations, shown by a cycle of 4 steps

              Under SC this cannot be: each arrow means "comes before", and together they
              form a cycle.
              t0 0  w x 1  line 1  -po->  program order of t0
              t0 1  r y 0  line 3  -rw->  read y=0, which the next overwrites
              t1 0  w y 1  line 2  -po->  program order of t1
              t1 1  r x 0  line 4  -rw->  read x=0, which the next overwrites
              t0 0  w x 1  line 1  (back at the start)

            - TSO: satisfied: 4 operations, all in one window
            --- exit 1
        "#]],
    );
    // Another model fell later, in the same log.
    check(
        &["history", "--follow", "--window", "4", "--minimise", "-"],
        "t0: w x 1\nt1: w y 1\nt0: r y 0\nt1: r x 0\nt0: w a 1\nt0: w b 1\nt1: r b 1\nt1: r a 0\nt1: w a 2\n",
        expect![[r#"
            - SC: violated: within the first 4 operations, shown by a cycle of 4 steps

              Under SC this cannot be: each arrow means "comes before", and together they
              form a cycle.
              t0 0  w x 1  line 1  -po->  program order of t0
              t0 1  r y 0  line 3  -rw->  read y=0, which the next overwrites
              t1 0  w y 1  line 2  -po->  program order of t1
              t1 1  r x 0  line 4  -rw->  read x=0, which the next overwrites
              t0 0  w x 1  line 1  (back at the start)

              4 operations of these violate it without the others:

                history
                t0: w x 1  // operation 0 of t0, line 1
                t0: r y 0  // operation 1 of t0, line 3
                t1: w y 1  // operation 0 of t1, line 2
                t1: r x 0  // operation 1 of t1, line 4

            - TSO: violated: within the first 8 operations, shown by a cycle of 4 steps

              Under TSO this cannot be: each arrow means "comes before" in memory, where a
              write counts when it leaves its buffer, and together they form a cycle.
              t1 2  r b 1  line 7  -po->  program order of t1
              t1 3  r a 0  line 8  -rw->  read a=0, which the next overwrites
              t0 2  w a 1  line 5  -po->  program order of t0
              t0 3  w b 1  line 6  -wr->  wrote b=1, which the next reads
              t1 2  r b 1  line 7  (back at the start)

              4 operations of these violate it without the others:

                history
                t0: w a 1  // operation 2 of t0, line 5
                t0: w b 1  // operation 3 of t0, line 6
                t1: r b 1  // operation 2 of t1, line 7
                t1: r a 0  // operation 3 of t1, line 8

            --- standard error
            note: -: the first 4 operations violate SC, unless a value that was read is written again later; `--distinct-values` says that none is
            note: -: the first 8 operations violate TSO, unless a value that was read is written again later; `--distinct-values` says that none is
            --- exit 1
        "#]],
    );
}

#[test]
fn a_history_that_is_longer_than_the_window_is_unknown() {
    let log: String = (1..9).map(|i| format!("w: w x {i}\nr: r x {i}\n")).collect();
    check(
        &["history", "--follow", "--window", "8", "-"],
        &log,
        expect![[r#"
        - SC: unknown: 16 operations without a violation, but only windows of 8 operations were checked
        - TSO: unknown: 16 operations without a violation, but only windows of 8 operations were checked
        --- exit 3
    "#]],
    );
    check(
        &["history", "--follow", "--window", "16", "-"],
        &log,
        expect![[r#"
        - SC: satisfied: 16 operations, all in one window
        - TSO: satisfied: 16 operations, all in one window
        --- exit 0
    "#]],
    );
    // What leaves is remembered for a while, and then reads of it are left out.
    let old = "r: r x 8\nr: r x 1\n";
    let args = ["history", "--follow", "--window", "4", "--model", "tso", "--format", "json", "-"];
    let ran = run(&args, &format!("{log}{old}"));
    assert_eq!((ran.code, ran.err.as_str()), (Some(3), ""));
    let answer: serde_json::Value = serde_json::from_str(&ran.out).expect("one line of JSON");
    assert_eq!(answer["limit"]["kind"], "window");
    assert_eq!(answer["limit"]["operations"], 4);
    assert_eq!((&answer["operations"], &answer["left_out"]), (&18.into(), &1.into()));
}

#[test]
fn several_histories_in_one_log() {
    check(
        &["history", "--follow", "-q", "--model", "sc", "-"],
        "history one\nt0: w x 1\nt1: r x 1\nhistory two\nt0: w x 1\nt1: r x 1\nt1: r x 0\n",
        expect![[r#"
            - one SC: satisfied: 2 operations, all in one window
            - two SC: violated: within the first 3 operations, shown by a cycle of 3 steps
            --- exit 1
        "#]],
    );
    check(
        &["history", "--follow", "-q", "-"],
        "0: M[0] := 1\ncheck\n",
        expect![[r#"
        - SC: satisfied: 1 operation, all in one window
        - TSO: satisfied: 1 operation, all in one window
        --- exit 0
    "#]],
    );
}

/// Reads of values that were written twice are decided where all writes are known.
#[test]
fn values_that_were_written_twice() {
    let log = "t0: w x 1\nt1: w x 1\nt0: r x 1\nt1: r x 1\nt2: r x 1\nt2: r x 0\n";
    check(
        &["history", "--follow", "--minimise", "--model", "coherence", "-"],
        log,
        expect![[r#"
            - coherence: violated: cache coherence broken at x: t2 read 0 after it had read 1 (line 5, line 6), and 0 is the initial value

              Under coherence this cannot be: each arrow means "comes before" among the
              accesses to x, and the last operation reads what was overwritten before it.
                    x=0 at the start          -po->  before everything else
              t0 0  w x 1             line 1  -wr->  wrote x=1, which the next reads
              t2 0  r x 1             line 5  -po->  program order of t2
              t2 1  r x 0             line 6  reads x=0, which t0 0 w x 1 had overwritten

              4 operations of these violate it without the others:

                history
                t0: w x 1  // operation 0 of t0, line 1
                t1: w x 1  // operation 0 of t1, line 2
                t2: r x 1  // operation 0 of t2, line 5
                t2: r x 0  // operation 1 of t2, line 6

            --- exit 1
        "#]],
    );
    check(
        &["history", "--follow", "-q", "--model", "sc", "-"],
        "t0: r x 0\nt1: w x 0\n",
        expect![[r#"
            - SC: satisfied: 2 operations, all in one window
            --- exit 0
        "#]],
    );
    check(
        &["history", "--follow", "--window", "4", "--model", "sc", "-"],
        log,
        expect![[r#"
        - SC: unknown: 6 operations without a violation, but only windows of 4 operations were checked
          note: 3 reads were left out: their writes are not known, or not remembered
        --- exit 3
    "#]],
    );
}

#[test]
fn wrong_logs_are_refused_at_their_place() {
    let follow = |input: &str| {
        let ran = run(&["history", "--follow", "--model", "sc", "-"], input);
        assert_eq!(ran.code, Some(2), "{input}");
        ran.err
    };
    expect![[r#"
        error: -:2:5: nobody wrote 2 to `x`
    "#]]
    .assert_eq(&follow("t0: w x 1\nt1: r x 2\n"));
    expect![[r#"
        error: -:2:5: expected an operation: `r x 1`, `w x 1`, `u x 0 -> 1` or `fence`
    "#]]
    .assert_eq(&follow("t0: w x 1\nt1: wrong\n"));
    expect![[r#"
        error: -:1:1: the format dbcop does not say operation by operation what happens, so it cannot be followed; expected text, axe, plume, csv or jsonl
    "#]].assert_eq(&follow("[x:=1]\n"));
    expect![[r#"
        error: -:1:1: a whole history in one object, which cannot be followed: expected one operation, {"t":0,"kind":"w","var":"x","val":1}
    "#]].assert_eq(&follow("{\"threads\":[]}\n"));
    check(
        &["history", "--follow", "--format", "json", "--model", "sc", "-"],
        "t0: w x 1\nt1: r x 2\n",
        expect![[r#"
            {"file":"-","question":"history","model":"sc","verdict":"error","message":"nobody wrote 2 to `x`","line":2,"column":5,"time_s":_,"schema":1,"tool":{"name":"weakspot","version":"0.1.0"}}
            --- standard error
            error: -:2:5: nobody wrote 2 to `x`
            --- exit 2
        "#]],
    );
    check(
        &["history", "--follow", "a", "b"],
        "",
        expect![[r#"
        --- standard error
        error: --follow takes one file, or - for standard input
        --- exit 2
    "#]],
    );
    check(
        &["history", "--follow", "corpus"],
        "",
        expect![[r#"
        --- standard error
        error: --follow takes a file, and corpus is a folder
        --- exit 2
    "#]],
    );
    check(
        &["history", "--follow", "missing.wshist"],
        "",
        expect![[r#"
        --- standard error
        error: missing.wshist: failed to read: No such file or directory (os error 2)
        --- exit 2
    "#]],
    );
    check(
        &["history", "--window", "5", "-"],
        "",
        expect![[r#"
            --- standard error
            error: --window is for --follow
            --- exit 2
        "#]],
    );
}

/// A read may have read a write that comes later, if that writes the same value: what was seen before is told at the
/// end only, when it is known that this did not happen.
#[test]
fn a_value_that_is_written_again_after_it_was_read() {
    let log = "t0: w x 1\nt0: w x 2\nt1: r x 2\nt1: r x 1\n";
    let again = "t2: r x 2\nt2: w x 1\n";
    let follow = |text: &str, expected| {
        check(&["history", "--follow", "--window", "4", "--model", "sc", "-"], text, expected);
    };
    follow(
        &format!("{log}{again}"),
        expect![[r#"
        - SC: unknown: 6 operations without a violation, but only windows of 4 operations were checked
          note: 1 read was left out: its write is not known, or not remembered
        --- exit 3
    "#]],
    );
    follow(
        &format!("{log}t2: r x 2\nt2: w x 3\n"),
        expect![[r#"
        - SC: violated: within the first 4 operations, shown by a chain of 4 operations

          Under SC this cannot be: each arrow means "comes before", and the last
          operation reads what was overwritten before it.
          t0 0  w x 1  line 1  -po->  program order of t0
          t0 1  w x 2  line 2  -wr->  wrote x=2, which the next reads
          t1 0  r x 2  line 3  -po->  program order of t1
          t1 1  r x 1  line 4  reads x=1, which t0 1 w x 2 had overwritten

        --- standard error
        note: -: the first 4 operations violate SC, unless a value that was read is written again later; `--distinct-values` says that none is
        --- exit 1
    "#]],
    );
    let promised = ["history", "--follow", "--distinct-values", "--model", "sc", "-"];
    check(
        &promised,
        "t0: w x 1\nt1: w x 1\n",
        expect![[r#"
        --- standard error
        error: -:2:5: 1 was written to `x` before, or is its initial value: `--distinct-values` does not hold
        --- exit 2
    "#]],
    );
}

/// A violation is told while the log is still open, and then nothing more is waited for.
#[test]
fn a_violation_is_told_at_once() {
    let mut child = weakspot()
        .args(["history", "--follow", "-q", "--distinct-values", "--model", "sc,cc", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut log = child.stdin.take().expect("a pipe");
    let mut answers = BufReader::new(child.stdout.take().expect("a pipe"));
    log.write_all(b"t0: w x 1\nt1: w y 1\nt0: r y 0\nt1: r x 0\n").expect("somebody reads");
    let mut answer = String::new();
    answers.read_line(&mut answer).expect("text");
    assert_eq!(
        answer,
        "- SC: violated: within the first 4 operations, shown by a cycle of 4 steps\n"
    );
    log.write_all(b"t0: r x 1\nt0: r x 0\n").expect("somebody reads");
    answer.clear();
    answers.read_to_string(&mut answer).expect("text");
    assert_eq!(
        answer,
        "- CC: violated: within the first 6 operations, shown by a chain of 3 operations\n"
    );
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
}

/// A file has no end: it is waited for until it is time.
/// Where a violation is held back when following ends, the answer does not say that there is none.
#[test]
fn a_violation_that_is_held() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("held.wshist");
    std::fs::write(&path, "t0: w x 1\nt0: w x 2\nt1: r x 2\nt1: r x 1\n").expect("written");
    let name = path.to_str().expect("UTF-8");
    let ran = run(&["history", "--follow", "--timeout", "700ms", "--model", "sc,tso", name], "");
    let lines: Vec<&str> = ran.out.lines().filter(|line| !line.is_empty()).collect();
    // What is to be said about both was said once, when it was found.
    assert_eq!((lines.len(), ran.err.matches("note: ").count()), (2, 1), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("the first 4 operations violate SC, TSO, unless"), "{}", ran.err);
    assert_eq!(
        lines[0].trim_start_matches(name),
        " SC: unknown: 4 operations, of which the first 4 violate it unless a value that was read is written again, \
         but the time to follow it was over (--timeout)"
    );
    assert_eq!(ran.code, Some(3));
}

#[test]
fn a_file_that_grows() {
    let folder = std::env::temp_dir().join(format!("weakspot-follow-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("log.wshist");
    let mut file = std::fs::File::create(&path).expect("a file");
    // The last line is not there yet as a whole: 1 is not what will have been read.
    file.write_all(b"t0: w x 1\nt0: w x 12\nt1: r x 12\nt1: r x 1").expect("written");
    let name = path.to_str().expect("UTF-8");
    let ran = run(&["history", "--follow", "-q", "--timeout", "1500ms", "--model", "sc", name], "");
    assert_eq!(
        ran.out.trim_start_matches(name),
        " SC: unknown: 3 operations without a violation, but the time to follow it was over (--timeout)\n"
    );
    assert_eq!(ran.code, Some(3));
    let mut child = weakspot()
        .args(["history", "--follow", "-q", "--distinct-values", "--model", "sc", name])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    file.write_all(b"2\nt1: r x 1\n").expect("written");
    let mut answer = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut answer).expect("text");
    assert!(answer.contains("SC: violated: within the first 5 operations"), "{answer}");
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
    std::fs::remove_dir_all(&folder).expect("removed");
}

/// A log that was rotated is not waited for.
#[test]
fn a_file_that_becomes_shorter() {
    let folder = std::env::temp_dir().join(format!("weakspot-shorter-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("log.wshist");
    std::fs::write(&path, "t0: w x 1\nt0: r y 0\nt1: w y 1\nt1: r x 0\n").expect("a file");
    let mut child = weakspot()
        .args(["history", "--follow", "-q", "--distinct-values", "--model", "sc,cc"])
        .arg(&path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    // When SC is answered for, all of the file was read.
    let mut answer = String::new();
    let mut answers = BufReader::new(child.stdout.take().expect("a pipe"));
    answers.read_line(&mut answer).expect("text");
    assert!(answer.contains("SC: violated"), "{answer}");
    std::fs::write(&path, "t0").expect("a shorter file");
    let mut err = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut err).expect("text");
    assert!(err.contains("cut off while it was followed"), "{err}");
    assert_eq!(child.wait().expect("it ends").code(), Some(2));
    std::fs::remove_dir_all(&folder).expect("removed");
}

/// What a window shows and what the whole log shows are drawn each from its own operations.
#[test]
fn a_window_and_the_whole_log_at_once() {
    let log = "t0: r x 2 @ 11:16\nt1: w x 2 @ 6:7\nt0: r x 0 @ 16:18\n";
    let ran = run(&["history", "--follow", "--window", "2", "-m", "coherence,lin", "-"], log);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
}
