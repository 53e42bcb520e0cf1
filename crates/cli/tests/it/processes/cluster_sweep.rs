//! Many files by several processes: what is printed is what one process prints, whoever is lost.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::processes::cluster::{LARGE, Started, children, signal, token};
use crate::{Ran, root, run};

/// What was printed, without times.
fn timeless(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        match (serde_json::from_str::<Value>(line), line.strip_prefix("Time ")) {
            (Ok(Value::Object(mut object)), _) => {
                object.remove("time_s");
                let _ = writeln!(out, "{}", Value::Object(object));
            }
            (_, Some(time)) => {
                let name = time.rsplit_once(' ').map_or(time, |(name, _)| name);
                let _ = writeln!(out, "Time {name}");
            }
            _ => {
                let _ = writeln!(out, "{line}");
            }
        }
    }
    out
}

/// One process and several say the same.
fn check(processes: &str, question: &str) {
    let question: Vec<&str> = question.split(' ').collect();
    let one = run(&question, "");
    let local = run(&[&["cluster", "local", processes, "--"], &question[..]].concat(), "");
    assert!(!one.out.is_empty() || !one.err.is_empty());
    assert_eq!(timeless(&local.out), timeless(&one.out), "{question:?}");
    assert_eq!(timeless(&local.err), timeless(&one.err), "{question:?}");
    assert_eq!(local.code, one.code, "{question:?}");
}

#[test]
fn litmus_tests_are_answered_as_by_one_process() {
    check("2", "litmus corpus/litmus");
    check("3", "litmus -j 2 --format json --states corpus/litmus");
    check("2", "litmus --format csv corpus/litmus");
    check("2", "litmus --format sarif corpus/litmus");
}

#[test]
fn histories_and_logs_are_answered_as_by_one_process() {
    check("2", "history corpus/histories");
    check("3", "history --format json corpus/histories corpus/databases");
    check("2", "monitor --format json corpus/traces");
    check("2", "serial corpus/transactions");
}

#[test]
fn programs_are_answered_as_by_one_process() {
    check("2", "reach --format json corpus/trencher corpus/memorax");
    check("2", "robust corpus/trencher");
    check("2", "robust --trf corpus/trencher");
}

/// A bad file spoils only itself, and one file is one of many.
#[test]
fn bad_files_are_told_in_their_place() {
    check(
        "2",
        "litmus corpus/litmus/SB.litmus no-such.litmus corpus/memorax corpus/litmus/MP.litmus",
    );
    check("2", "litmus corpus/litmus/SB.litmus");
    check("2", "history no-such.jsonl");
}

/// Colours and pages come from process 0, whatever the others are connected to.
#[test]
fn pages_are_those_of_one_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let objects = |cluster: &[&str]| {
        let path = folder.path().join("page.jsonl");
        let question = ["litmus", "--color", "always", "corpus/litmus", "--report"];
        let ran = run(&[cluster, &question, &[path.to_str().expect("a path")]].concat(), "");
        (timeless(&ran.out), timeless(&std::fs::read_to_string(path).expect("a page")))
    };
    assert_eq!(objects(&[]), objects(&["cluster", "local", "3", "--"]));
}

#[test]
fn what_is_no_sweep_is_refused() {
    let check = |line: &str, expected: &str| {
        let ran = run(&line.split(' ').collect::<Vec<_>>(), "");
        assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
        assert!(ran.err.contains(expected), "{}", ran.err);
    };
    check(
        "cluster local 2 -- run ./a.out",
        "a real program is built and run where it is asked about",
    );
    check(
        "cluster local 2 -- cargo test",
        "a real program is built and run where it is asked about",
    );
    check("cluster local 2 -- fence a.weak", "no question for several processes: `fence a.weak`");
    check("cluster local 2 -- history --follow a.wshist", "--hosts is for several files");
    check("cluster local 2 -- monitor --program a.weak b.weak", "--hosts is about logs");
    check("cluster local 2 -- litmus --run a.litmus", "--hosts is about the models");
    check("cluster local 2 -- history a.jsonl -", "the input `-` is for one process");
    check("cluster local 2 -- serial corpus/programs corpus/transactions", "take programs or logs");
    let hosts = "--hosts h --process 0 --token t";
    check(&format!("litmus {hosts} a.litmus -"), "the input `-` is for one process");
}

/// Programs that take as long as they may.
fn many(folder: &Path, count: usize) -> String {
    let many = folder.join("many");
    std::fs::create_dir(&many).expect("a folder");
    for i in 0..count {
        let text = LARGE.replace("97", &(97 + i).to_string());
        std::fs::write(many.join(format!("p{i:02}.weak")), text).expect("written");
    }
    many.to_str().expect("a path").to_owned()
}

const SLOW: [&str; 8] = ["reach", "--model", "sc", "--timeout", "1s", "--format", "json", "-j"];

/// Starts so many processes, each with one thread, on programs that take a second each.
fn start(processes: usize, inputs: usize) -> Started {
    let mut started = Started::none(processes);
    let many = many(started.folder.path(), inputs);
    for process in 0..processes {
        started.ask(process, "token", &[&SLOW[..], &["1", &many]].concat());
    }
    started
}

/// An answer for each input, in order.
fn check_answers(ran: &Ran, inputs: usize) {
    let files: Vec<String> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .map(|answer| {
            assert_eq!(answer["limit"]["kind"], "time", "{answer}");
            let file = answer["file"].as_str().expect("a file");
            file.rsplit('/').next().unwrap_or_default().to_owned()
        })
        .collect();
    let expected: Vec<String> = (0..inputs).map(|i| format!("p{i:02}.weak")).collect();
    assert_eq!(files, expected);
}

/// Three processes take a third of the time, and the others end without a word.
#[test]
fn all_processes_answer() {
    let began = Instant::now();
    let mut started = start(3, 9);
    let first = started.end(0);
    // One process takes nine seconds, because each program takes one.
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    check_answers(&first, 9);
    assert_eq!((first.code, &*first.err), (Some(3), ""));
    for _ in 0..2 {
        let ran = started.end(0);
        assert_eq!((ran.code, &*ran.out, &*ran.err), (Some(0), "", ""));
    }
}

/// kill -9: what the process had is answered by others.
#[test]
fn what_a_lost_process_had_is_answered_by_others() {
    let mut started = start(3, 6);
    std::thread::sleep(Duration::from_millis(1500));
    signal(&started.children[1], "-9");
    let ran = started.end(0);
    check_answers(&ran, 6);
    assert_eq!(ran.code, Some(3));
    // It may have been killed between two inputs.
    let said = ran.err.strip_prefix("warning: process 1 ended before all was answered; others ");
    let said = said.and_then(|rest| rest.strip_suffix('\n'));
    assert!(matches!(said, Some("answer for the input that it had" | "go on")), "{}", ran.err);
}

/// So is what a process had that hangs, or that somebody else wanted to end.
#[test]
fn a_process_that_hangs_or_goes_is_not_waited_for() {
    let mut started = start(3, 6);
    std::thread::sleep(Duration::from_millis(1500));
    signal(&started.children[1], "-STOP");
    signal(&started.children[2], "-TERM");
    let ran = started.end(0);
    check_answers(&ran, 6);
    assert!(ran.err.contains("process 1 was not heard of any more; others "), "{}", ran.err);
    assert!(ran.err.contains("process 2 ended before all was answered"), "{}", ran.err);
    let gone = started.end(1);
    assert_eq!((gone.code, &*gone.out, &*gone.err), (Some(3), "", ""));
}

/// Progress is that of all processes, on the standard error of process 0.
#[test]
fn progress_is_shown_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let many = many(folder.path(), 6);
    let question = [&SLOW[..], &["1", "--progress", "always", &many]].concat();
    let ran = run(&[&["cluster", "local", "2", "--"], &question[..]].concat(), "");
    let lines: Vec<&str> = ran.err.lines().collect();
    assert!(lines.len() >= 2, "{}", ran.err);
    assert!(lines.iter().all(|line| line.contains("/6 files, ")), "{}", ran.err);
    let of_both = |line: &&&str| line.contains(", 2 processes, ") && line.contains(" states, ");
    assert!(lines.iter().any(|line| of_both(&line)), "{lines:?}");
}

#[test]
fn others_end_with_process_0() {
    let mut started = start(2, 6);
    std::thread::sleep(Duration::from_millis(1500));
    signal(&started.children[0], "-9");
    let began = Instant::now();
    let ran = started.end(1);
    assert_eq!((ran.code, &*ran.out), (Some(3), ""));
    assert_eq!(ran.err, "error: process 0 ended before all was answered\n");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

/// Ctrl-C in process 0 is for all of them.
#[test]
fn an_end_that_is_asked_for_comes_soon() {
    for name in ["-INT", "-TERM"] {
        let mut started = start(2, 40);
        std::thread::sleep(Duration::from_millis(1500));
        let began = Instant::now();
        signal(&started.children[0], name);
        let ran = started.end(0);
        assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
        assert_eq!((ran.code, ran.out.lines().count()), (Some(3), 40));
        assert_eq!(started.end(0).code, Some(0));
    }
}

/// Several processes with a parent, killed at random times, again and again: always all answers.
#[test]
fn every_input_is_answered_whenever_a_process_is_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    let expected = timeless(&run(&["litmus", "--format", "json", "corpus/litmus"], "").out);
    for round in 0..weakspot_core::testing::scaled(20) as u64 {
        let out = folder.path().join("out");
        let mut child = crate::weakspot()
            .args(["cluster", "local", "3", "--", "litmus", "--format", "json", "-j", "2"])
            // Nobody waits longer for one that was killed before it came.
            .args(["--timeout", "10s", "corpus/litmus"])
            .stdout(std::fs::File::create(&out).expect("a file"))
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("started");
        std::thread::sleep(Duration::from_millis(60 + 17 * round));
        let processes = children(child.id());
        for &process in processes.iter().skip(1).take(1 + (round % 2) as usize) {
            let _ = std::process::Command::new("kill").args(["-9", &process.to_string()]).status();
        }
        assert_eq!(child.wait().expect("it ends").code(), Some(1), "round {round}");
        let out = std::fs::read_to_string(&out).expect("answers");
        assert!(timeless(&out) == expected, "round {round}");
    }
}

/// What is not the same in all processes is told, before anything is answered or instead of it.
#[test]
fn other_questions_inputs_and_files_are_told() {
    let litmus = |started: &mut Started, process: usize, token: &str, more: &[&str]| {
        let folder = started.path("tests");
        let question = ["litmus", "--format", "json", "--timeout", "3s"];
        started.ask(process, token, &[&question, more, &[&folder]].concat());
    };
    let prepare = || {
        let mut started = Started::none(2);
        std::fs::create_dir(started.path("tests")).expect("a folder");
        for name in ["SB", "MP", "LB"] {
            let from = root().join(format!("corpus/litmus/{name}.litmus"));
            std::fs::copy(from, started.path(&format!("tests/{name}.litmus"))).expect("copied");
        }
        token(&started.folder.path().join("other"), 'b');
        started.children.clear();
        started
    };
    let refused = |started: &mut Started, expected: &str| {
        for _ in 0..2 {
            let ran = started.end(0);
            assert_eq!((ran.code, &*ran.out), (Some(2), ""), "{}", ran.err);
            assert!(ran.err.contains(expected), "{}", ran.err);
        }
    };
    let mut started = prepare();
    litmus(&mut started, 0, "token", &[]);
    litmus(&mut started, 1, "token", &["--model", "tso"]);
    refused(&mut started, "the question differs");

    let mut started = prepare();
    litmus(&mut started, 0, "token", &[]);
    std::thread::sleep(Duration::from_millis(500));
    std::fs::remove_file(started.path("tests/LB.litmus")).expect("removed");
    litmus(&mut started, 1, "token", &[]);
    refused(&mut started, "the list of inputs differs");

    // Another token: process 0 goes on alone.
    let mut started = prepare();
    litmus(&mut started, 0, "token", &[]);
    litmus(&mut started, 1, "other", &[]);
    let ran = started.end(1);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("has another token"), "{}", ran.err);
    let ran = started.end(0);
    assert_eq!((ran.code, ran.out.lines().count()), (Some(1), 9), "{}", ran.err);
    assert_eq!(ran.err, "warning: process 1 did not come; the others answer without it\n");
}

/// A file that is another one in another process: each has its own folder under the same name.
#[test]
fn a_file_that_differs_is_answered_by_process_0() {
    let mut started = Started::none(2);
    let folders = ["a", "b"].map(|name| started.folder.path().join(name));
    for (i, folder) in folders.iter().enumerate() {
        std::fs::create_dir(folder).expect("a folder");
        for number in 0..6 {
            // Those of process 0 take their time, so that the other one gets some.
            let text = LARGE.replace("97", &(60 + 10 * i + number).to_string());
            std::fs::write(folder.join(format!("p{number:02}.weak")), text).expect("written");
        }
    }
    let names: Vec<String> = (0..6).map(|number| format!("p{number:02}.weak")).collect();
    let (hosts, token) = (started.path("hosts.txt"), started.path("token"));
    for (process, folder) in folders.iter().enumerate() {
        let child = crate::weakspot()
            .current_dir(folder)
            .args(&SLOW[..])
            .args(["1", "--hosts", &hosts, "--token", &token])
            .args(["--process", &process.to_string()])
            .args(&names)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn();
        started.children.push(child.expect("started"));
    }
    let ran = started.end(0);
    check_answers(&ran, 6);
    assert!(ran.err.contains(".weak is not the same in process 1\n"), "{}", ran.err);
    let ran = started.end(0);
    assert_eq!(ran.code, Some(3));
    assert!(ran.err.contains(".weak is not the same as in process 0"), "{}", ran.err);
}
