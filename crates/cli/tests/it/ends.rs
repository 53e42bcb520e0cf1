//! How commands end: exit codes, limits and signals at the edges.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::{run, weakspot};

fn start(args: &[&str]) -> Child {
    let mut command = weakspot();
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the command starts")
}

/// A table has a line for each model, also if there is nothing but bad input.
#[test]
fn tables_of_bad_inputs() {
    let head = "model,holds,violated,unknown,error\n";
    for (args, expected) in [
        (&["robust", "-f", "csv", "none.weak", "also-none.weak"][..], "tso,0,0,0,2\npso,0,0,0,2\n"),
        (&["litmus", "-f", "csv", "-m", "sc", "none.litmus"], "sc,0,0,0,1\n"),
        (&["history", "-f", "csv", "-m", "cc", "none.jsonl"], "cc,0,0,0,1\n"),
        (&["monitor", "-f", "csv", "-m", "tso", "none.wslog"], "tso,0,0,0,1\n"),
    ] {
        let ran = run(args, "");
        assert_eq!((ran.out, ran.code), (format!("{head}{expected}"), Some(2)), "{args:?}");
    }
}

/// Standard output that may not grow any further is like a full disk, and nothing that ends the command silently.
#[cfg(unix)]
#[test]
fn output_beyond_the_largest_file_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let tests = ["corpus/litmus/SB.litmus", "corpus/litmus/MP.litmus", "corpus/litmus/IRIW.litmus"];
    for args in [&["completions", "bash"][..], &[&["litmus"], &tests[..]].concat()] {
        let command = "ulimit -f 1; out=$1; shift; exec \"$@\" > \"$out\"";
        let mut sh = Command::new("sh");
        sh.args(["-c", command, "sh"]).arg(&out).arg(weakspot().get_program()).args(args);
        let ran = sh.current_dir(crate::root()).output().expect("a shell");
        let said = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains("File too large"), "{args:?}: {said}");
    }
    let ran = run(&["litmus", "-v", "--model", "sc", tests[0]], "");
    assert!(ran.err.starts_with("1 input, 1 at a time; "), "{}", ran.err);
}

/// A reader that has gone changes no verdict.
#[test]
fn a_reader_that_has_gone_changes_no_exit_code() {
    for (args, code) in [
        (&["robust", "--model", "tso", "corpus/programs/dekker.weak"][..], 1),
        (&["robust", "-f", "json", "--model", "tso", "corpus/programs/dekker.weak"], 1),
        (&["reach", "--model", "sc", "corpus/programs/dekker.weak"], 0),
        (&["robust", "-f", "csv", "--model", "tso", "corpus/programs/dekker.weak"], 1),
        (&["monitor", "--program", "--model", "tso", "corpus/programs/dekker.weak"], 1),
    ] {
        let mut child = start(args);
        drop(child.stdout.take());
        let ended = child.wait().expect("it ends");
        assert_eq!(ended.code(), Some(code), "{args:?}");
    }
}

#[test]
fn histories_are_read_within_limits() {
    let ran =
        run(&["history", "--timeout", "0s", "-m", "sc", "corpus/histories/classic.wshist"], "");
    assert_eq!(ran.code, Some(3), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("SC unknown: not read to its end: "), "{}", ran.out);
    let ran = run(&["history", "--timeout", "0s", "-f", "json", "-m", "sc", "-"], "t0: w x 1\n");
    let json: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!((&json["verdict"], &json["limit"]["kind"]), (&"unknown".into(), &"time".into()));
    // A history that begins and does not end, on a pipe that stays open.
    let since = Instant::now();
    let mut child = start(&["history", "--timeout", "500ms", "-m", "sc", "-"]);
    let mut pipe = child.stdin.take().expect("a pipe");
    pipe.write_all(b"t0: w x 1\n").expect("written");
    let output = child.wait_with_output().expect("it ends");
    drop(pipe);
    assert_eq!(output.status.code(), Some(3));
    assert!(since.elapsed() < Duration::from_secs(20));
}

/// The first signal ends what writes files, and nothing is left of them.
#[cfg(unix)]
#[test]
fn interrupted_writers_leave_nothing_behind() {
    use rustix::process::{Pid, Signal, kill_process};
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("many.jsonl");
    let path = path.to_str().expect("UTF-8");
    let child = start(&["gen", "history", "--count", "100000000", "-o", path]);
    let since = Instant::now();
    while folder.path().read_dir().expect("a folder").next().is_none() {
        assert!(since.elapsed() < Duration::from_secs(60), "nothing is written");
        std::thread::sleep(Duration::from_millis(20));
    }
    kill_process(Pid::from_child(&child), Signal::INT).expect("sent");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "interrupted; no file is written\n");
    assert_eq!(folder.path().read_dir().expect("a folder").count(), 0);
    let child = start(&["bench", "serial", "shapes", "--large"]);
    std::thread::sleep(Duration::from_millis(300));
    kill_process(Pid::from_child(&child), Signal::INT).expect("sent");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn logs_have_no_time_limit_by_themselves_and_names_in_the_summary() {
    let ran = run(&["monitor", "-v", "corpus/traces"], "");
    assert!(ran.err.contains("4.0 GiB, and any time, for each question"), "{}", ran.err);
    let differs = ran.err.lines().last().expect("a line");
    assert!(differs.starts_with("  corpus/traces/"), "{}", ran.err);
    let ran = run(&["monitor", "-v", "--timeout", "9s", "corpus/traces"], "");
    assert!(ran.err.contains("9s and 4.0 GiB for each question"), "{}", ran.err);
}

/// What people type to find out what they have, or in the words of other tools.
#[test]
fn small_words() {
    let help = run(&["cc", "-h"], "");
    assert_eq!(help.code, Some(0));
    assert!(help.out.contains("so that `weakspot run` can control it"), "{}", help.out);
    assert_eq!(run(&["cc", "--help"], "").out, help.out);
    let version = run(&["--version"], "").out;
    for words in [&["--version"][..], &["weakspot", "-V"]] {
        let cargo = Command::new(env!("CARGO_BIN_EXE_cargo-weakspot")).args(words).output();
        assert_eq!(String::from_utf8_lossy(&cargo.expect("it runs").stdout), version);
    }
    // The message about an option fits the terminal.
    let output = weakspot().args(["history", "--model", "foo"]).env("COLUMNS", "80").output();
    let text = String::from_utf8(output.expect("it runs").stderr).expect("UTF-8");
    assert!(text.contains("serializable (ser) or all"), "{text}");
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    // Programs in C have no final states, which is said.
    let folder = run(&["litmus", "corpus/c"], "");
    assert!(folder.err.contains(".c left out"), "{}", folder.err);
    let quiet = run(&["litmus", "-q", "--model", "sc,tso", "corpus/litmus/SB.litmus"], "");
    assert_eq!(
        quiet.out,
        "SB SC violated: Never, in 0 of 3 final states\n\
         SB TSO holds: Sometimes, in 1 of 4 final states\n"
    );
    let table =
        run(&["litmus", "--format", "markdown", "--model", "tso", "corpus/litmus/SB.litmus"], "");
    let expected = "| model | holds | violated | unknown | error |\n|---|---|---|---|---|\n| tso | 1 | 0 | 0 | 0 |\n";
    assert_eq!(table.out, expected);
}

/// Who has seen enough of a long answer ends it: that something is missing is said in it and by the exit code.
#[cfg(unix)]
#[test]
fn printing_can_be_interrupted() {
    use rustix::process::{Pid, Signal, kill_process};
    use std::io::Read;
    // 100,000 final states.
    let threads = (0..5).map(|t| format!("thread t{t} {{ var r = choose(0..9)\n x{t} = r }}\n"));
    let all: Vec<String> = (0..5).map(|t| format!("x{t}")).collect();
    let test = format!(
        "shared {}\n{}forall ({})\n",
        all.join(", "),
        threads.collect::<String>(),
        all.iter().map(|x| format!("{x} < 10")).collect::<Vec<_>>().join(" && ")
    );
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("many.weak");
    std::fs::write(&path, test).expect("written");
    let path = path.to_str().expect("UTF-8");
    let mut child = start(&["litmus", "--model", "sc", path]);
    let mut out = child.stdout.take().expect("a pipe");
    let mut some = [0; 1000];
    out.read_exact(&mut some).expect("it prints");
    kill_process(Pid::from_child(&child), Signal::INT).expect("sent");
    std::thread::sleep(Duration::from_millis(100));
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("it ends");
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("interrupted: ") && said.contains(" lines are not printed"), "{said}");
    assert!(rest.len() < 1_000_000 && rest.ends_with('\n'), "{} bytes", rest.len());
    assert!(rest.ends_with("\n... interrupted\n"), "{rest}");
    assert_eq!(output.status.code(), Some(3), "{said}");
}

/// The first signal ends comparisons, which are not all that there were to be.
#[cfg(unix)]
#[test]
fn comparisons_can_be_interrupted() {
    use rustix::process::{Pid, Signal, kill_process};
    let child = start(&["selfcheck", "--seed", "1", "--time", "60s"]);
    std::thread::sleep(Duration::from_millis(1500));
    let since = Instant::now();
    kill_process(Pid::from_child(&child), Signal::INT).expect("sent");
    let output = child.wait_with_output().expect("it ends");
    // Other tests want the processors, too.
    assert!(since.elapsed() < Duration::from_secs(4), "{:?}", since.elapsed());
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(out.contains("interrupted: ") && out.contains("compared so far, which agree"), "{out}");
    assert!(!out.contains("all answers agree"), "{out}");
    assert_eq!(output.status.code(), Some(3), "{out}");
}

/// What a reader has not waited for is not known, though all that it has read holds.
#[test]
fn a_reader_that_has_gone_early_knows_less() {
    let mut args = vec!["reach", "-j1", "--model", "sc"];
    args.extend(["corpus/programs/dekker.weak"; 300]);
    let mut child = start(&args);
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("it ends").code(), Some(3));
}

/// One witness is written, that of a violation if there is one; that it cannot be written is an error.
#[test]
fn one_witness_of_several_answers() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("w.json");
    let input = folder.path().join("h.wshist");
    let (file, name) = (path.to_str().expect("UTF-8"), input.to_str().expect("UTF-8"));
    let good = "history a\nt0: w x 1\n";
    let bad = "history b\nt0: w x 1\nt0: r y 0\nt1: w y 1\nt1: r x 0\n";
    for (text, verdict) in [
        (good.to_owned(), "holds"),
        (format!("{good}{bad}"), "violated"),
        (format!("{bad}{good}"), "violated"),
    ] {
        std::fs::write(&input, &text).expect("written");
        let ran = run(&["history", "-q", "-m", "sc", "--witness", file, name], "");
        assert_eq!(ran.code, Some(i32::from(verdict == "violated")), "{}", ran.err);
        let witness = std::fs::read_to_string(&path).expect("a witness");
        let witness: serde_json::Value = serde_json::from_str(&witness).expect("JSON");
        assert_eq!(witness["verdict"], verdict, "{text}");
    }
    let nowhere = folder.path().join("none/w.json");
    let nowhere = nowhere.to_str().expect("UTF-8");
    std::fs::write(&input, good).expect("written");
    let ran = run(&["history", "-q", "-m", "sc", "--witness", nowhere, name], "");
    assert_eq!(ran.code, Some(2), "{}", ran.err);
}

/// A log that needs too much memory, or that nobody waits for any longer, is not followed to its end: what was seen of it decides
/// nothing.
#[cfg(unix)]
#[test]
fn logs_are_followed_within_limits() {
    use rustix::process::{Pid, Signal, kill_process};
    let many: String = (0..60_000).map(|i| format!("t{}: wr x{i}\n", i % 3)).collect();
    let ran = run(&["monitor", "-q", "-m", "tso", "--memory", "1M", "-"], &many);
    assert_eq!(ran.code, Some(3), "{}{}", ran.out, ran.err);
    assert!(
        ran.out.contains("TSO: unknown: the search stopped at the memory limit"),
        "{}",
        ran.out
    );
    let mut child = start(&["monitor", "-q", "-m", "tso", "-"]);
    let mut pipe = child.stdin.take().expect("a pipe");
    pipe.write_all(b"t0: wr x\nt1: rd x\n").expect("written");
    std::thread::sleep(Duration::from_millis(200));
    kill_process(Pid::from_child(&child), Signal::INT).expect("sent");
    let output = child.wait_with_output().expect("it ends");
    drop(pipe);
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stdout));
}
