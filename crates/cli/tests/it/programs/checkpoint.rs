//! `--checkpoint` and `--resume`: searches that are killed, interrupted or end at a limit go on as if nothing had
//! happened.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use weakspot_core::testing::{Rng, scaled};

use crate::processes::cluster::signal;
use crate::{Ran, run, weakspot};

/// Three threads that count, and one that looks at them: about a million states.
pub(crate) fn counting(size: u32, seen: [u32; 3]) -> String {
    let count = |name: &str, shared: &str| {
        format!("thread {name} {{ while (1) {{ {shared} = ({shared} + 1) % {size} }} }}\n")
    };
    let [a, b, c] = seen;
    format!(
        "shared a = 0, b = 0, c = 0\n{}{}{}thread s {{ var x, y, z; atomic {{ x = a; y = b; z = c; \
         assert(x != {a} || y != {b} || z != {c}) }} }}\n",
        count("p", "a"),
        count("q", "b"),
        count("r", "c"),
    )
}

pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a folder"))
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).expect("it can be written");
        self.path(name)
    }
}

/// The object that was printed, without what differs each time.
pub(crate) fn object(ran: &Ran) -> Value {
    let mut object: Value =
        serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}", ran.err));
    let all = object.as_object_mut().expect("an object");
    all.remove("time_s");
    object
}

pub(crate) fn start(words: &[&str]) -> Child {
    let mut command = weakspot();
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the command starts")
}

pub(crate) fn ended(child: Child) -> Ran {
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Ran { out: text(output.stdout), err: text(output.stderr), code: output.status.code() }
}

pub(crate) const REACH: [&str; 7] =
    ["reach", "--model", "sc", "--format", "json", "--timeout", "10m"];

/// kill -9 at random moments, then the rest of the search with some number of threads: each time the last
/// checkpoint is whole, and the answer is that of a search that nobody has killed.
#[test]
fn a_search_that_is_killed_again_and_again_comes_to_the_same_answer() {
    let folder = Folder::new();
    // Nobody ever sees it.
    let program = folder.write("p.weak", &counting(26, [26, 0, 0]));
    let expected = object(&run(&[&REACH[..], &["-j", "1", &program]].concat(), ""));
    assert_eq!(expected["verdict"], "holds");
    let file = folder.path("kept");
    let mut rng = Rng::new(20);
    let (mut killed, mut resumed) = (0, 0);
    while killed < scaled(50) || resumed == 0 {
        let threads = (1 + rng.below(3)).to_string();
        let mut words = [&REACH[..], &["-j", &threads, "--checkpoint", &file]].concat();
        if Path::new(&file).exists() {
            words.extend(["--resume", &file]);
            resumed += 1;
        }
        words.push(&program);
        let mut child = start(&words);
        std::thread::sleep(Duration::from_millis(100 + rng.below(500) as u64));
        if child.try_wait().expect("its state").is_none() {
            child.kill().expect("it can be killed");
            killed += 1;
        }
        let ran = ended(child);
        match ran.code {
            None => {}
            Some(0) => {
                assert_eq!(object(&ran), expected);
                std::fs::remove_file(&file).expect("a checkpoint");
            }
            Some(code) => panic!("exit code {code}: {}", ran.err),
        }
    }
    let again = [&REACH[..], &["--checkpoint", &file, "--resume", &file, &program]].concat();
    let again = if Path::new(&file).exists() { again } else { [&REACH[..], &[&program]].concat() };
    let last = run(&again, "");
    assert_eq!(object(&last), expected, "{}", last.err);
    // What killed processes have left behind is swept up.
    let left: Vec<PathBuf> = std::fs::read_dir(folder.0.path())
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "part"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

/// A search that is interrupted, and one that ends at a limit, say how to go on; with one thread the rest
/// finds the very same run.
#[test]
fn signals_and_limits_leave_a_checkpoint() {
    let folder = Folder::new();
    let program = folder.write("p.weak", &counting(22, [19, 20, 21]));
    let expected = object(&run(&[&REACH[..], &["-j", "1", &program]].concat(), ""));
    assert_eq!(expected["verdict"], "violated");
    let file = folder.path("kept");
    let kept = ["-j", "1", "--checkpoint", &file];
    let goes_on = format!("{program}: --resume {file} goes on from here\n");
    let limits: [&[&str]; 2] = [&["--memory", "1MiB"], &["--timeout", "100ms"]];
    for limit in limits {
        let words = [&["reach", "--model", "sc", "--format", "json"], limit, &kept, &[&program]];
        let ran = run(&words.concat(), "");
        assert_eq!((ran.code, ran.err), (Some(3), goes_on.clone()), "{limit:?}");
        let ran = run(&[&REACH[..], &["-j", "1", "--resume", &file, &program]].concat(), "");
        assert_eq!(object(&ran), expected, "{limit:?}: {}", ran.err);
    }
    for name in ["-INT", "-TERM"] {
        let child = start(&[&REACH[..], &kept, &[&program]].concat());
        std::thread::sleep(Duration::from_millis(150));
        signal(&child, name);
        let ran = ended(child);
        assert_eq!((ran.code, ran.err), (Some(3), goes_on.clone()), "{name}");
        let ran = run(&[&REACH[..], &["-j", "1", "--resume", &file, &program]].concat(), "");
        assert_eq!(object(&ran), expected, "{name}: {}", ran.err);
    }
}

#[test]
fn robustness_goes_on_as_well() {
    let folder = Folder::new();
    let program = folder.write("p.weak", &counting(8, [8, 0, 0]));
    let ask = |more: &[&str]| {
        let words = ["robust", "--model", "tso", "--format", "json"];
        run(&[&words[..], more, &[&program]].concat(), "")
    };
    let expected = object(&ask(&["--timeout", "10m"]));
    assert_eq!(expected["verdict"], "holds");
    let file = folder.path("kept");
    let ran = ask(&["--timeout", "40ms", "--checkpoint", &file]);
    assert_eq!(ran.code, Some(3), "{} {}", ran.out, ran.err);
    for threads in ["1", "2"] {
        let ran = ask(&["-j", threads, "--resume", &file, "--timeout", "10m"]);
        assert_eq!(object(&ran), expected, "{}", ran.err);
    }
}

/// What is no checkpoint of the question is refused with the reason.
#[test]
fn other_files_are_refused() {
    let folder = Folder::new();
    let program = folder.write("p.weak", &counting(30, [30, 0, 0]));
    let other = folder.write("q.weak", &counting(30, [29, 0, 30]));
    let file = folder.path("kept");
    let words = ["reach", "--model", "sc", "--timeout", "400ms", "--checkpoint", &file, &program];
    let ran = run(&words, "");
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    let whole = std::fs::read(&file).expect("a checkpoint");
    let refused = |words: &[&str], why: &str| {
        let ran = run(words, "");
        assert_eq!(ran.code, Some(2), "{} {}", ran.out, ran.err);
        assert!(ran.err.contains(why), "{}", ran.err);
    };
    let resume = |file: &str, why: &str| {
        refused(&["reach", "--model", "sc", "--resume", file, &program], &format!("{file}: {why}"));
    };
    let refuse_bytes = |bytes: &[u8], why: &str| {
        let bad = folder.path("bad");
        std::fs::write(&bad, bytes).expect("it can be written");
        resume(&bad, why);
    };
    resume(&folder.path("missing"), "failed to read: ");
    resume(&folder.0.path().display().to_string(), "no checkpoint of weakspot: this is no file");
    resume(&program, "no checkpoint of weakspot");
    refuse_bytes(b"", "no checkpoint of weakspot");
    refuse_bytes(&whole[..whole.len() / 2], "cut short");
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    refuse_bytes(&damaged, "damaged: its checksum is wrong");
    let why = "a checkpoint of another input";
    refused(&["reach", "--model", "sc", "--resume", &file, &other], why);
    let why = "a checkpoint of `reach SC Weak`, and asked is `robust TSO Weak`";
    refused(&["robust", "--model", "tso", "--resume", &file, &program], why);
    // No model is left out without a word.
    refused(&["reach", "--checkpoint", &file, &program], "expect --model sc, tso or another");
    refused(&["litmus", "--checkpoint", &file, &program], "expect --model sc, tso or another");
    refused(&["robust", "--checkpoint", &file, &program], "expect --model tso, pso or pso-own");
    let dual = ["reach", "--model", "tso", "--algorithm", "dual", "--checkpoint", &file, &program];
    refused(&dual, "expect --algorithm eager, or none");
    refused(&["history", "--checkpoint", &file, &program], "are for several files here");
    refused(&["cargo", "test", "--checkpoint", &file], "`weakspot run` can be kept");
    refused(&["run", "--fail-fast", "--checkpoint", &file, "./a"], "is not explored in parts");
    let why = "would overwrite the input";
    refused(&["reach", "--model", "sc", "--checkpoint", &program, &program], why);
    let why = "that file is no checkpoint, and would be overwritten";
    refused(&["reach", "--model", "sc", "--checkpoint", &other, &program], why);
    refused(&["reach", "--model", "sc", "--checkpoint", "/dev/null", &program], "that is no file");
    let nowhere = folder.path("no/such/folder");
    refused(&["reach", "--model", "sc", "--checkpoint", &nowhere, &program], "failed to write");
    // Answers depend on what was asked.
    let answers = folder.path("answers");
    let words = ["litmus", "--checkpoint", &answers, SOME_TESTS];
    assert_eq!(run(&words, "").code, Some(1));
    let why = "a checkpoint of another command: other files, models or options were asked about";
    refused(&["litmus", "--model", "tso", "--resume", &answers, SOME_TESTS], why);
    let why = "a checkpoint of `several files`, and asked is `reach SC Weak`";
    refused(&["reach", "--model", "sc", "--resume", &answers, &program], why);
}

const SOME_TESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/litmus-c");

/// Asks, kills at random moments, goes on, and compares what is printed with what is expected.
fn kill_and_compare(words: &[&str], most: u64, kills: usize, seed: u64) {
    let folder = Folder::new();
    let file = folder.path("kept");
    let without_times = |ran: &Ran| -> Vec<Value> {
        ran.out
            .lines()
            .map(|line| {
                let mut object: Value = serde_json::from_str(line).expect("a line of JSON");
                object.as_object_mut().expect("an object").remove("time_s");
                object
            })
            .collect()
    };
    let (command, rest) = words.split_at(1);
    let plain = run(words, "");
    let expected = without_times(&plain);
    assert!(!expected.is_empty(), "{}", plain.err);
    let mut rng = Rng::new(seed);
    let mut killed = 0;
    loop {
        let mut asked = [command, &["--checkpoint", &file]].concat();
        if Path::new(&file).exists() {
            asked.extend(["--resume", &file]);
        }
        let mut child = start(&[&asked[..], rest].concat());
        std::thread::sleep(Duration::from_millis(rng.below(most as usize) as u64));
        if killed < kills && child.try_wait().expect("its state").is_none() {
            child.kill().expect("it can be killed");
            killed += 1;
        }
        let ran = ended(child);
        if ran.code.is_some() {
            assert_eq!((ran.code, without_times(&ran)), (plain.code, expected), "{}", ran.err);
            return;
        }
    }
}

/// Store buffers, final states, and answers about many files.
#[test]
fn buffers_final_states_and_answers_go_on_as_well() {
    let folder = Folder::new();
    let cycle = |name: &str, own: &str, other: &str| {
        let body = format!("{own} = ({own} + 1) % 4; x = {other}; d = x; fence");
        format!("thread {name} {{ var x; while (1) {{ {body} }} }}\n")
    };
    let threads = [cycle("p", "a", "b"), cycle("q", "b", "c"), cycle("r", "c", "a")].concat();
    let text = format!(
        "shared a = 0, b = 0, c = 0, d = 0\n{threads}thread s {{ var x; x = a; assert(x != 9) }}\n"
    );
    let program = folder.write("p.weak", &text);
    let eager = ["reach", "--model", "tso", "--algorithm", "eager", "--format", "json"];
    kill_and_compare(&[&eager[..], &["--timeout", "10m", &program]].concat(), 900, 3, 1);
    let three = "shared a = 0, b = 0, c = 0
        thread p { var r, s; a = 1; r = b; s = c; a = r + 2 * s + 2; r = b; s = c }
        thread q { var r, s; b = 1; r = c; s = a; b = r + 2 * s + 2; r = c; s = a }
        thread t { var r, s; c = 1; r = a; s = b; c = r + 2 * s + 2; r = a; s = b }
        exists (a == 9)";
    let test = folder.write("t.weak", three);
    let litmus = ["litmus", "--model", "pso", "--format", "json", "--timeout", "10m"];
    kill_and_compare(&[&litmus[..], &[&test]].concat(), 900, 3, 2);
    let many = ["litmus", "--format", "json", "--states", "--timeout", "10m", SOME_TESTS];
    kill_and_compare(&many, 700, 3, 3);
}

/// A disk that is full: the answer is as it was, and a search that ends at a limit says that it is lost.
#[test]
fn a_checkpoint_that_cannot_be_written_is_an_error() {
    let folder = Folder::new();
    let program = folder.write("p.weak", &counting(30, [30, 0, 0]));
    let file = folder.path("kept");
    let out = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$@\"", "sh"])
        .arg(env!("CARGO_BIN_EXE_weakspot"))
        .args(["reach", "--model", "sc", "--timeout", "400ms", "--checkpoint", &file, &program])
        .output()
        .expect("started");
    let err = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{err}");
    assert!(err.contains("error: ") && err.contains(&file), "{err}");
    assert!(!Path::new(&file).exists(), "half of a checkpoint");
}

/// Three threads that add twice, so that there are some ten thousand executions, some of which fail.
const ADDING: &str = "#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
atomic_int x, y;
static void *add(void *a) {
    long i = (long)a;
    for (int k = 0; k < 2; k++) {
        int v = atomic_load(&x);
        atomic_store(&x, v + 1);
        if (i == 1) atomic_store_explicit(&y, v, memory_order_relaxed);
        if (i == 2) assert(v != 3 || atomic_load(&y) != 1);
    }
    return 0;
}
int main(void) {
    pthread_t p[3];
    for (long i = 0; i < 3; i++) pthread_create(&p[i], 0, add, (void *)i);
    for (int i = 0; i < 3; i++) pthread_join(p[i], 0);
    return 0;
}
";

/// The exploration of a real program that ends at its time limit goes on, and comes to the same counts and schedules.
#[test]
fn explorations_of_programs_go_on_as_well() {
    let folder = Folder::new();
    let source = folder.write("add.c", ADDING);
    let program = folder.path("add");
    let built = run(&["cc", "-g", "-O1", "-pthread", "-o", &program, &source], "");
    assert_eq!(built.code, Some(0), "{}", built.err);
    let file = folder.path("kept");
    let ask = |more: &[&str], program: &str| {
        let words = ["run", "--strategy", "dpor", "--model", "tso", "--format", "json"];
        run(&[&words[..], more, &[program]].concat(), "")
    };
    let lines = |ran: &Ran| -> Vec<Value> {
        let mut lines: Vec<Value> =
            ran.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        lines.iter_mut().for_each(|line| line["time_s"] = Value::Null);
        lines
    };
    let expected = ask(&["-j", "2", "--timeout", "10m"], &program);
    let first = ask(&["-j", "2", "--timeout", "1200ms", "--checkpoint", &file], &program);
    // A machine that is fast enough has nothing to go on with.
    if first.err.contains("goes on from here") {
        let told = format!("--resume {file} goes on from here\n");
        assert!(first.err.ends_with(&told), "{}", first.err);
    }
    if Path::new(&file).exists() {
        for threads in ["1", "3"] {
            let words = ["-j", threads, "--timeout", "10m", "--resume", &file];
            let again = ask(&words, &program);
            assert_eq!(
                (again.code, lines(&again)),
                (expected.code, lines(&expected)),
                "{}",
                again.err
            );
        }
        let other = ask(&["--resume", &file, "--steps", "99"], &program);
        assert_eq!(other.code, Some(2), "{}", other.err);
        assert!(
            other.err.contains("a checkpoint of `run --model tso --strategy dpor`"),
            "{}",
            other.err
        );
        let other = ask(&["--resume", &file], "/bin/true");
        assert!(other.err.contains("a checkpoint of another input"), "{}", other.err);
    } else {
        assert_eq!(first.code, expected.code, "{}", first.err);
    }
}
