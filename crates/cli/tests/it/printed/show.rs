//! `weakspot show`: as text, from all that it takes, and in a terminal.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use expect_test::expect;

use crate::{root, run, transcript};

const PROGRAM: &str = "corpus/programs/dekker-simple.weak";

/// A witness of `reach`, in a folder of its own.
fn witness() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("w.json").to_str().expect("UTF-8").to_owned();
    let ran = run(&["reach", "-q", "--model", "tso", "--witness", &path, PROGRAM], "");
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    (folder, path)
}

#[test]
fn a_witness_as_text() {
    let (_folder, path) = witness();
    expect![[r#"
        A run of dekker-simple under TSO, 6 steps

        start
          memory: x=0 y=0

        step 1 of 6  p  x = 1  (corpus/programs/dekker-simple.weak:9)
          puts x=1 into its buffer; step 2 overtakes it
          memory: x=0 y=0
          p: memory <- [x=1]

        step 2 of 6  p  if (y == 0)  (corpus/programs/dekker-simple.weak:10)
          reads y=0
          memory: x=0 y=0
          p: memory <- [x=1]

        step 3 of 6  p  if (y == 0)  (corpus/programs/dekker-simple.weak:10)
          memory: x=0 y=0
          p: memory <- [x=1]

        step 4 of 6  q  y = 1  (corpus/programs/dekker-simple.weak:16)
          puts y=1 into its buffer; step 5 overtakes it
          memory: x=0 y=0
          p: memory <- [x=1]
          q: memory <- [y=1]

        step 5 of 6  q  if (x == 0)  (corpus/programs/dekker-simple.weak:17)
          reads x=0
          memory: x=0 y=0
          p: memory <- [x=1]
          q: memory <- [y=1]

        step 6 of 6  q  if (x == 0)  (corpus/programs/dekker-simple.weak:17)
          memory: x=0 y=0
          p: memory <- [x=1]
          q: memory <- [y=1]

        The run ends with p at cs, q at cs
        --- exit 0
    "#]]
    .assert_eq(&transcript(&["show", PROGRAM, &path], ""));
    let ran = run(&["show", &path], "");
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("is a witness: name its input, too"), "{}", ran.err);
    let ran = run(&["show", "corpus/programs/dekker.weak", &path], "");
    assert!(ran.err.contains("is about another input"), "{}", ran.err);
}

/// Whatever command explains something by a run, its answers can be stepped through.
#[test]
fn answers_of_all_commands() {
    let lines: [&[&str]; 9] = [
        &["litmus", "--show", "--model", "tso", "corpus/litmus/SB.litmus"],
        &["reach", "--model", "tso", PROGRAM],
        &["robust", PROGRAM],
        &["robust", "--trf", "--model", "tso", PROGRAM],
        &["fence", PROGRAM],
        &["monitor", "corpus/traces/dekker.wstrace"],
        &["monitor", "--program", "--model", "tso", PROGRAM],
        &["serial", "corpus/transactions/task-pool.wstrace"],
        &["history", "--model", "tso", "corpus/histories/store-buffering.wshist"],
    ];
    for words in lines {
        let answers = run(&[words, &["--format", "json"]].concat(), "").out;
        let ran = run(&["show", "-"], &answers);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{words:?}");
        assert!(
            ran.out.starts_with("A run of ") && ran.out.contains("\nstep 2 of "),
            "{}",
            ran.out
        );
    }
    let ran = run(&["show", "-"], "no JSON\n");
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("-:1: no answer of --format json"), "{}", ran.err);
    let ran = run(&["show", "-"], "{\"file\":\"a\"}\n");
    assert!(ran.err.contains("has no run to step through"), "{}", ran.err);
}

/// A schedule of `run` is executed once more.
#[test]
fn a_replay() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("sb").to_str().expect("UTF-8").to_owned();
    let built = run(&["cc", "-g", "-pthread", "corpus/c/sb.c", "-o", &program], "");
    assert_eq!(built.code, Some(0), "{}", built.err);
    let answers = run(&["run", "--format", "json", &program], "").out;
    let failed = answers.lines().find(|line| line.contains("\"late\":[\"")).expect("a failure");
    let failed: serde_json::Value = serde_json::from_str(failed).expect("JSON");
    let schedule = failed["failures"][0]["schedule"].as_str().expect("a schedule");
    let ran = run(&["show", "--replay", schedule, &program], "");
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("it belongs to --under tso"), "{}", ran.err);
    let ran = run(&["show", "--replay", schedule, "--under", "tso", &program], "");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for part in [
        "under TSO",
        "start\n  memory: x=0 y=0\n",
        "puts x=1 into its buffer",
        "memory <- [x=1]",
        "x=1 reaches memory",
    ] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
}

/// What a terminal of 80 columns and 24 lines gets if these keys are typed.
#[cfg(target_os = "linux")]
fn in_a_terminal(command: &str, keys: &[&str]) -> Option<String> {
    let command = format!("stty cols 80 rows 24; {command}; echo the end; stty -a");
    let mut child = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .current_dir(root())
        .env("TERM", "xterm")
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        // Without `script` there is nothing to test with.
        .ok()?;
    let mut stdin = child.stdin.take().expect("a pipe");
    for key in keys {
        std::thread::sleep(Duration::from_millis(700));
        stdin.write_all(key.as_bytes()).expect("typed");
    }
    let output = child.wait_with_output().expect("it ends");
    drop(stdin);
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Keys step, and the terminal is as before, after `q`, Ctrl-C and SIGTERM.
#[cfg(target_os = "linux")]
#[test]
fn keys_in_a_terminal() {
    let (_folder, path) = witness();
    let show = format!("'{}' show {PROGRAM} {path}", env!("CARGO_BIN_EXE_weakspot"));
    let (enter, leave) = ("\x1b[?1049h", "\x1b[?1049l");
    let with_timeout = format!("timeout --foreground -s TERM 2 {show}");
    let ways: [(&str, &[&str]); 3] =
        [(&show, &["n", "\x1b[C", "q"]), (&show, &["n", "\x03"]), (&with_timeout, &[])];
    for (command, keys) in ways {
        let Some(text) = in_a_terminal(command, keys) else { return };
        let (_, after) = text.split_once(enter).unwrap_or_else(|| panic!("{text:?}"));
        let (drawn, after) = after.split_once(leave).unwrap_or_else(|| panic!("{text:?}"));
        for part in ["A run of", "memory", "store buffers", "dekker-simple.weak", "quit"] {
            assert!(drawn.contains(part), "{part}: {drawn:?}");
        }
        // Only what changes is drawn again.
        assert!(keys.is_empty() || drawn.contains("x=1"), "{drawn:?}");
        assert!(after.contains("the end"), "{after:?}");
        // No raw mode any more.
        assert!(after.contains(" icanon") && after.contains(" echo "), "{after:?}");
    }
}

/// A terminal that is closed ends the stepper, also where nobody hears of it by a signal.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_that_is_closed() {
    let (folder, path) = witness();
    let show = format!("exec '{}' show {PROGRAM} {path}", env!("CARGO_BIN_EXE_weakspot"));
    for before in ["", "trap '' HUP; "] {
        let note = folder.path().join("pid");
        let command = format!("{before}echo $$ > {}; {show}", note.display());
        let script = Command::new("script")
            .args(["-qec", &command, "/dev/null"])
            .current_dir(root())
            .env("TERM", "xterm")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        // Without `script` there is nothing to test with.
        let Ok(mut script) = script else { return };
        std::thread::sleep(Duration::from_millis(1500));
        script.kill().expect("it runs");
        script.wait().expect("it ends");
        let pid = std::fs::read_to_string(&note).expect("it has begun");
        // A process that nobody has waited for yet has ended, too.
        let runs = || {
            let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
            state.is_ok_and(|state| state.contains("weakspot") && !state.contains(") Z "))
        };
        let since = std::time::Instant::now();
        while runs() && since.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(!runs(), "{before:?}: it goes on without a terminal");
    }
}

/// A deadlock is not a failure of the thread that waits last; models have their names.
#[test]
fn how_a_run_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("order").to_str().expect("UTF-8").to_owned();
    let built = run(&["cc", "-g", "-pthread", "corpus/c/lock-order.c", "-o", &program], "");
    assert_eq!(built.code, Some(0), "{}", built.err);
    let answers = run(&["run", "-j1", "--format", "json", &program], "").out;
    let ran = run(&["show", "-"], &answers);
    let end = "\nThe run fails: deadlock: main waits for the end of a_first#1, a_first#1 waits for b, \
               b_first#2 waits for a\n";
    assert!(ran.out.ends_with(end), "{}", ran.out);
    assert!(
        ran.out.contains("  is blocked; waits for b, which b_first#2 holds since "),
        "{}",
        ran.out
    );
    let words = ["history", "--model", "wccm", "--format", "json"];
    let answers = run(&[&words[..], &["corpus/histories/store-buffering.wshist"]].concat(), "").out;
    let ran = run(&["show", "-"], &answers);
    assert!(ran.out.contains(" under wCCM, "), "{} {}", ran.out, ran.err);
}
