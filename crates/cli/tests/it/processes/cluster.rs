//! One search by several processes: answers are those of one, and what is lost or wrong is named.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use expect_test::expect;
use serde_json::Value;

use crate::{Ran, run, transcript, weakspot};

fn json(ran: &Ran) -> Value {
    serde_json::from_str(ran.out.lines().next().unwrap_or_default()).unwrap_or_else(|e| {
        panic!("{e}: {}{}", ran.out, ran.err);
    })
}

/// The same answers with the same exit codes, and evidence that is good.
#[test]
fn answers_are_those_of_one_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let witness = folder.path().join("w.json");
    let witness = witness.to_str().expect("a path");
    for question in [
        "reach --model sc --format json corpus/programs/mcs-4.weak",
        "robust --model tso --format json corpus/programs/lamport-fast-3.weak",
        "robust --model pso --format json corpus/programs/peterson.weak",
        "robust --model tso --format json corpus/programs/peterson-fenced.weak",
    ] {
        let question: Vec<&str> = question.split(' ').collect();
        let one = run(&question, "");
        let local = [&["cluster", "local", "2", "--"], &question[..], &["-j", "1"]].concat();
        let together = run(&[&local[..], &["--witness", witness]].concat(), "");
        assert_eq!((together.code, &together.err[..]), (one.code, ""), "{question:?}");
        assert_eq!(together.out.lines().count(), 1);
        let (one, together) = (json(&one), json(&together));
        assert_eq!(one["verdict"], together["verdict"]);
        let keys =
            |v: &Value| v.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(&one), keys(&together));
        if one["verdict"] == "holds" {
            let key = if question[0] == "reach" { "explored" } else { "states" };
            assert!(one[key].as_u64().is_some_and(|states| states > 100));
            assert_eq!(one[key], together[key], "{question:?}");
        }
        let file = question[question.len() - 1];
        let certified = run(&["certify", file, witness], "");
        assert_eq!(certified.code, Some(0), "{}{}", certified.out, certified.err);
    }
}

#[test]
fn what_takes_one_process_is_refused() {
    let check = |line: &str, expected: expect_test::Expect| {
        expected.assert_eq(&transcript(&line.split(' ').collect::<Vec<_>>(), ""));
    };
    check(
        "cluster local 2 -- reach --model tso corpus/programs/peterson.weak",
        expect![[r#"
            --- standard error
            error: one file for --hosts is for `reach --model sc` and for `robust`: store buffers and other algorithms take one process
            --- exit 2
        "#]],
    );
    check(
        "cluster local 2 -- litmus corpus/litmus/SB.litmus",
        expect![[r#"
            Model SC
            Test SB Allowed
            States 3
            0:EAX=0; 1:EAX=1;
            0:EAX=1; 1:EAX=0;
            0:EAX=1; 1:EAX=1;
            No
            Witnesses
            Positive: 0 Negative: 3
            Condition exists (0:EAX=0 /\ 1:EAX=0)
            Observation SB Never 0 3
            Time SB _

            Model TSO
            Test SB Allowed
            States 4
            0:EAX=0; 1:EAX=0;
            0:EAX=0; 1:EAX=1;
            0:EAX=1; 1:EAX=0;
            0:EAX=1; 1:EAX=1;
            Ok
            Witnesses
            Positive: 1 Negative: 3
            Condition exists (0:EAX=0 /\ 1:EAX=0)
            Observation SB Sometimes 1 3
            Time SB _

            Model PSO
            Test SB Allowed
            States 4
            0:EAX=0; 1:EAX=0;
            0:EAX=0; 1:EAX=1;
            0:EAX=1; 1:EAX=0;
            0:EAX=1; 1:EAX=1;
            Ok
            Witnesses
            Positive: 1 Negative: 3
            Condition exists (0:EAX=0 /\ 1:EAX=0)
            Observation SB Sometimes 1 3
            Time SB _

            --- exit 1
        "#]],
    );
    check(
        "cluster local 2 -- robust corpus/programs/peterson.weak",
        expect![[r#"
            --- standard error
            error: one file for --hosts is for one model and --algorithm pending: expected --model tso, pso or pso-own, without --trf
            --- exit 2
        "#]],
    );
    check(
        "cluster local 2 -- robust --trf corpus/programs/peterson.weak",
        expect![[r#"
            --- standard error
            error: one file for --hosts is for one model and --algorithm pending: expected --model tso, pso or pso-own, without --trf
            --- exit 2
        "#]],
    );
    check(
        "cluster local 2 --timeout 3s -- reach corpus/programs/peterson.weak",
        expect![[r#"
            --- standard error
            error: `weakspot cluster local` has no --timeout: options are those of the question, as in `weakspot cluster local 2 -- reach --timeout 1h FILE`
            --- exit 2
        "#]],
    );
    check(
        "reach --hosts hosts.txt --process 0 corpus/programs/peterson.weak",
        expect![[r#"
            --- standard error
            error: --hosts takes --process N, which of the hosts this is, and --token FILE, what they know each other by
            --- exit 2
        "#]],
    );
    check(
        "reach --process 0 corpus/programs/peterson.weak",
        expect![[r#"
            --- standard error
            error: --process is for several processes: expected --hosts FILE
            --- exit 2
        "#]],
    );
    check(
        "cluster local 2 -- reach --model sc corpus/litmus/SB.litmus",
        expect![[r#"
            --- standard error
            error: corpus/litmus/SB.litmus: this program is not for several processes: its accesses have different widths, or its condition asks whether there is a final state, or about registers
            --- exit 2
        "#]],
    );
    check(
        "cluster local 2 -- reach --model sc corpus/programs",
        expect![[r#"
            bakery-fenced SC holds: the forbidden control points are never reached together, the final states are as asked (780 nodes searched)
              note: by search; --witness FILE writes a proof that `weakspot certify` checks
            bakery-robust SC holds: the forbidden control points are never reached together, the final states are as asked (780 nodes searched)
              note: by search; --witness FILE writes a proof that `weakspot certify` checks
            bakery SC holds: the forbidden control points are never reached together, the final states are as asked (780 nodes searched)
              note: by search; --witness FILE writes a proof that `weakspot certify` checks
            chase-lev-fenced SC holds: no assertion fails, the final states are as asked (284 nodes searched)
              note: by search; --witness FILE writes a proof that `weakspot certify` checks
            chase-lev SC holds: no assertion fails, the final states are as asked (284 nodes searched)
              note: by search; --witness FILE writes a proof that `weakspot certify` checks
            cilk-fenced SC holds: no assertion fails, the final states are as asked (577 nodes searched)
              note: by search; --witness FILE writes a proof that `weakspot certify` checks
            cilk SC holds: no assertion fails, the final states are as asked (576 nodes searched)
              note: by search; --witness FILE writes a proof that `weakspot certify` checks
            clh-3 SC holds: the forbidden control points are never reached together (384 nodes searched)
              note: by search; --witness FILE writes a proof that `weakspot certify` checks
            clh-fenced SC holds: the forbidden control points are never reached together, the final states are as asked (94 nodes searched)
            clh SC holds: the forbidden control points are never reached together, the final states are as asked (95 nodes searched)
            dekker-fenced SC holds: the forbidden control points are never reached together, the final states are as asked (343 nodes searched)
            dekker-robust SC holds: the forbidden control points are never reached together, the final states are as asked (343 nodes searched)
            dekker-simple-fenced SC holds: the forbidden control points are never reached together (9 nodes searched)
            dekker-simple SC holds: the forbidden control points are never reached together (9 nodes searched)
            dekker SC holds: the forbidden control points are never reached together, the final states are as asked (343 nodes searched)
            fig6-fenced SC holds: the final states are as asked (37 nodes searched)
            fig6 SC holds: the final states are as asked (37 nodes searched)
            harris-fenced SC holds: no assertion fails, the final states are as asked (621 nodes searched)
              note: by search; --witness FILE writes a proof that `weakspot certify` checks
            harris SC holds: no assertion fails, the final states are as asked (621 nodes searched)
              note: by search; --witness FILE writes a proof that `weakspot certify` checks
            lamport-fast-3 SC holds: the forbidden control points are never reached together (12386 nodes searched)
              note: by search; --witness FILE writes a proof that `weakspot certify` checks
            lamport-fast-fenced SC holds: the forbidden control points are never reached together, the final states are as asked (1478 nodes searched)
              note: by search; --witness FILE writes a proof that `weakspot certify` checks
            lamport-fast SC holds: the forbidden control points are never reached together, the final states are as asked (1478 nodes searched)
              note: by search; --witness FILE writes a proof that `weakspot certify` checks
            lazylist-fenced SC holds: no assertion fails, the final states are as asked (1026 nodes searched)
              note: by search; --witness FILE writes a proof that `weakspot certify` checks
            lazylist SC holds: no assertion fails, the final states are as asked (1026 nodes searched)
              note: by search; --witness FILE writes a proof that `weakspot certify` checks
            mcs-4 SC holds: the forbidden control points are never reached together (2045 nodes searched)
              note: by search; --witness FILE writes a proof that `weakspot certify` checks
            mcs-fenced SC holds: the forbidden control points are never reached together, the final states are as asked (529 nodes searched)
              note: by search; --witness FILE writes a proof that `weakspot certify` checks
            mcs SC holds: the forbidden control points are never reached together, the final states are as asked (534 nodes searched)
              note: by search; --witness FILE writes a proof that `weakspot certify` checks
            ms2-fenced SC holds: no assertion fails, the final states are as asked (312 nodes searched)
            ms2 SC holds: no assertion fails, the final states are as asked (312 nodes searched)
            msn-fenced SC holds: no assertion fails, the final states are as asked (485 nodes searched)
              note: by search; --witness FILE writes a proof that `weakspot certify` checks
            msn SC holds: no assertion fails, the final states are as asked (485 nodes searched)
              note: by search; --witness FILE writes a proof that `weakspot certify` checks
            parker-fenced SC holds: the final states are as asked (43 nodes searched)
            parker SC holds: the final states are as asked (43 nodes searched)
            peterson-fenced SC holds: the forbidden control points are never reached together, the final states are as asked (226 nodes searched)
              note: by search; --witness FILE writes a proof that `weakspot certify` checks
            peterson SC holds: the forbidden control points are never reached together, the final states are as asked (226 nodes searched)
            snark-fenced SC holds: no assertion fails, the final states are as asked (2529 nodes searched)
              note: by search; --witness FILE writes a proof that `weakspot certify` checks
            snark SC holds: no assertion fails, the final states are as asked (2529 nodes searched)
              note: by search; --witness FILE writes a proof that `weakspot certify` checks
            szymanski-fenced SC holds: the forbidden control points are never reached together, the final states are as asked (369 nodes searched)
              note: by search; --witness FILE writes a proof that `weakspot certify` checks
            szymanski SC holds: the forbidden control points are never reached together, the final states are as asked (369 nodes searched)
              note: by search; --witness FILE writes a proof that `weakspot certify` checks
            task-pool-fenced SC holds: the final states are as asked (45 nodes searched)
            task-pool SC holds: the final states are as asked (45 nodes searched)
            treiber-4 SC holds: no assertion fails, the final states are as asked (412 nodes searched)
              note: by search; --witness FILE writes a proof that `weakspot certify` checks
            treiber-fenced SC holds: no assertion fails, the final states are as asked (289 nodes searched)
              note: by search; --witness FILE writes a proof that `weakspot certify` checks
            treiber SC holds: no assertion fails, the final states are as asked (289 nodes searched)
              note: by search; --witness FILE writes a proof that `weakspot certify` checks
            --- standard error
            error: corpus/programs/serial-not-robust.weak: the program asks nothing: expected `never at`, an assertion, or a condition on final states
            error: corpus/programs/serial-not-sc.weak: the program asks nothing: expected `never at`, an assertion, or a condition on final states
            error: corpus/programs/serial-overwritten.weak: the program asks nothing: expected `never at`, an assertion, or a condition on final states
            47 programs
            model      holds     violated   unknown   errors
            SC            44            0         0        3
            --- exit 2
        "#]],
    );
    check(
        "cluster local 2 -- reach --model sc -",
        expect![[r#"
            --- standard error
            error: the input `-` is for one process: save standard input to a file first
            --- exit 2
        "#]],
    );
    check(
        "cluster local 2 -- reach --model sc no-such-file.weak",
        expect![[r#"
            --- standard error
            error: no-such-file.weak: failed to read: No such file or directory (os error 2)
            --- exit 2
        "#]],
    );
}

/// A program with very many states.
pub(crate) const LARGE: &str = "
    shared a = 0, b = 0, c = 0, d = 0
    thread p { var x; while (1) { x = b; assert(x >= 0); a = (x + c * 3 + 1) % 97 } }
    thread q { var x; while (1) { x = c; b = (x + d * 5 + 2) % 89 } }
    thread r { var x; while (1) { x = d; c = (x + a * 7 + 3) % 83 } }
    thread s { var x; while (1) { x = a; d = (x + b * 11 + 4) % 79 } }
";

/// Processes that were started one by one; those that are left are ended with this.
pub(crate) struct Started {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) children: Vec<Child>,
}

impl Drop for Started {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Started {
    /// A list of hosts and a token for so many processes, none of which is started.
    pub(crate) fn none(processes: usize) -> Started {
        let folder = tempfile::tempdir().expect("a folder");
        let free: Vec<_> = (0..processes)
            .map(|_| std::net::TcpListener::bind("127.0.0.1:0").expect("a port"))
            .collect();
        let hosts: String =
            free.iter().map(|l| format!("{}\n", l.local_addr().expect("an address"))).collect();
        std::fs::write(folder.path().join("hosts.txt"), hosts).expect("written");
        token(&folder.path().join("token"), 'a');
        Started { folder, children: Vec::new() }
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().expect("a path").to_owned()
    }

    /// Starts a process with the question of `text`.
    fn start(&mut self, process: usize, text: &str, token: &str, more: &[&str]) {
        let file = self.path(&format!("{process}.weak"));
        std::fs::write(&file, text).expect("written");
        let question = ["reach", "--model", "sc", "--format", "json", "-j", "1"];
        self.ask(process, token, &[&question[..], more, &[&file]].concat());
    }

    /// Starts a process with a question.
    pub(crate) fn ask(&mut self, process: usize, token: &str, question: &[&str]) {
        let child = weakspot()
            .args(question)
            .args(["--hosts", &self.path("hosts.txt"), "--token", &self.path(token)])
            .args(["--process", &process.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        self.children.push(child.expect("started"));
    }

    /// What the process that was started as number `i` says in the end.
    pub(crate) fn end(&mut self, i: usize) -> Ran {
        let output = self.children.remove(i).wait_with_output().expect("it ends");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Ran { out: text(output.stdout), err: text(output.stderr), code: output.status.code() }
    }
}

pub(crate) fn token(path: &Path, letter: char) {
    std::fs::write(path, letter.to_string().repeat(32)).expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(path, mode).expect("changed");
}

pub(crate) fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(status.expect("kill").success());
}

/// kill -9 in the middle of a search: the others say so within seconds, and name it.
#[test]
fn a_process_that_dies_is_named() {
    let mut started = Started::none(3);
    for process in 0..3 {
        started.start(process, LARGE, "token", &["--timeout", "60s"]);
    }
    std::thread::sleep(Duration::from_millis(700));
    signal(&started.children[2], "-9");
    let began = Instant::now();
    for i in [1, 0] {
        let ran = started.end(i);
        assert_eq!(ran.code, Some(3), "{}{}", ran.out, ran.err);
        assert_eq!(ran.err, "");
        if i == 0 {
            let limit = &json(&ran)["limit"];
            assert_eq!(limit["message"], "process 2 ended before the search did");
            assert_eq!((&limit["process"], &limit["lost"]), (&2.into(), &"gone".into()));
        }
    }
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

/// A process that stands still is given up.
#[test]
fn a_process_that_hangs_is_named() {
    let mut started = Started::none(2);
    for process in 0..2 {
        started.start(process, LARGE, "token", &["--timeout", "60s"]);
    }
    std::thread::sleep(Duration::from_millis(700));
    signal(&started.children[1], "-STOP");
    let began = Instant::now();
    let ran = started.end(0);
    assert_eq!(ran.code, Some(3), "{}{}", ran.out, ran.err);
    assert_eq!(json(&ran)["limit"]["message"], "process 1 was not heard of any more");
    assert!(began.elapsed() < Duration::from_secs(12), "{:?}", began.elapsed());
}

/// Time is up for all, and Ctrl-C in one process is for all.
#[test]
fn limits_and_signals_end_all_processes() {
    let mut started = Started::none(2);
    started.start(0, LARGE, "token", &["--timeout", "60s"]);
    started.start(1, LARGE, "token", &["--timeout", "1s"]);
    let began = Instant::now();
    let ran = started.end(0);
    assert_eq!((ran.code, &json(&ran)["limit"]["kind"]), (Some(3), &"time".into()));
    assert!(began.elapsed() < Duration::from_secs(10));
    let mut started = Started::none(2);
    for process in 0..2 {
        started.start(process, LARGE, "token", &["--timeout", "60s"]);
    }
    std::thread::sleep(Duration::from_millis(500));
    signal(&started.children[1], "-INT");
    let ran = started.end(0);
    assert_eq!((ran.code, &json(&ran)["limit"]["kind"]), (Some(3), &"interrupted".into()));
}

#[test]
fn memory_is_for_each_process() {
    let mut started = Started::none(2);
    for process in 0..2 {
        started.start(process, LARGE, "token", &["--memory", "16MB", "--timeout", "60s"]);
    }
    let ran = started.end(0);
    assert_eq!((ran.code, &json(&ran)["limit"]["kind"]), (Some(3), &"memory".into()));
}

/// What is wrong with a process is said by itself, with exit code 2.
#[test]
fn wrong_tokens_programs_and_lists_are_refused() {
    let check = |started: &mut Started, i: usize, expected: &str| {
        let ran = started.end(i);
        assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
        assert!(ran.err.contains(expected), "{}", ran.err);
    };
    let mut started = Started::none(2);
    token(&started.folder.path().join("other"), 'b');
    started.start(0, LARGE, "token", &["--timeout", "3s"]);
    started.start(1, LARGE, "other", &[]);
    check(&mut started, 1, "has another token");
    let ran = started.end(0);
    assert_eq!(ran.code, Some(3));
    assert_eq!(json(&ran)["limit"]["message"], "process 1 did not come to the search");

    let mut started = Started::none(2);
    started.start(0, LARGE, "token", &[]);
    started.start(1, &LARGE.replace("97", "96"), "token", &[]);
    check(&mut started, 1, "the program differs");
    check(&mut started, 0, "the program differs");

    let mut started = Started::none(1);
    std::fs::write(started.path("hosts.txt"), "# mine\n127.0.0.1\n").expect("written");
    started.start(0, LARGE, "token", &[]);
    check(&mut started, 0, "hosts.txt:2:1: bad address `127.0.0.1`: expected HOST:PORT");

    let mut started = Started::none(1);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(started.path("token"), mode).expect("changed");
    started.start(0, LARGE, "token", &[]);
    check(&mut started, 0, "others may read the token");

    let mut started = Started::none(2);
    started.start(7, LARGE, "token", &[]);
    check(&mut started, 0, "there is no process 7");
}

/// `cluster local` on a program that takes long.
fn local(folder: &Path, question: &str) -> Child {
    let file = folder.join("large.weak");
    std::fs::write(&file, LARGE).expect("written");
    let child = weakspot()
        .args(["cluster", "local", "2", "--"])
        .args(question.split(' '))
        .arg(file)
        // Where what a killed process leaves behind is taken away.
        .env("TMPDIR", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    child.expect("started")
}

/// The processes that one has started, and that have not ended.
pub(crate) fn children(of: u32) -> Vec<u32> {
    let tasks = std::fs::read_to_string(format!("/proc/{of}/task/{of}/children"));
    tasks.unwrap_or_default().split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

fn has_ended(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    status.is_empty() || status.contains(") Z ")
}

/// SIGTERM is passed on, even where a shell has made SIGINT ignored.
#[test]
fn a_signal_for_all_is_passed_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let child = local(folder.path(), "reach --model sc --timeout 60s --format json");
    std::thread::sleep(Duration::from_millis(700));
    let (began, processes) = (Instant::now(), children(child.id()));
    assert_eq!(processes.len(), 2);
    signal(&child, "-TERM");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(3));
    let answer: Value = serde_json::from_slice(&output.stdout).expect("an answer");
    assert_eq!(answer["limit"]["kind"], "interrupted");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert!(processes.into_iter().all(has_ended));
}

/// kill -9 of the one that has started the others ends them.
#[test]
fn no_process_outlives_the_one_that_started_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = local(folder.path(), "reach --model sc --timeout 60s");
    std::thread::sleep(Duration::from_millis(700));
    let processes = children(child.id());
    assert_eq!(processes.len(), 2);
    signal(&child, "-9");
    let _ = child.wait();
    let began = Instant::now();
    while !processes.iter().all(|&process| has_ended(process)) {
        assert!(began.elapsed() < Duration::from_secs(5), "they go on");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A name that is not known yet is waited for; then it is an error of the list.
#[test]
fn names_that_are_not_known_are_told() {
    let mut started = Started::none(2);
    let hosts = std::fs::read_to_string(started.path("hosts.txt")).expect("read");
    let own = hosts.lines().nth(1).expect("a host");
    std::fs::write(started.path("hosts.txt"), format!("no-such.invalid:4100\n{own}\n"))
        .expect("written");
    started.start(1, LARGE, "token", &["--timeout", "2s"]);
    let ran = started.end(0);
    assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("failed to find no-such.invalid:4100"), "{}", ran.err);
}

/// A process that waits for process 0 in vain says so.
#[test]
fn whoever_comes_alone_says_so() {
    let mut started = Started::none(2);
    started.start(1, LARGE, "token", &["--timeout", "1s"]);
    let ran = started.end(0);
    assert_eq!((ran.code, &*ran.out), (Some(3), ""));
    assert_eq!(ran.err, "error: process 0 did not come to the search\n");
}
