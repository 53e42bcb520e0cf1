//! `--checkpoint` and `--resume`: searches that are killed, interrupted or end at a limit go on as if nothing had
//! happened.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use weakspot_core::testing::{Rng, scaled};

use crate::cluster::signal;
use crate::{Ran, run, weakspot};

/// Three threads that count, and one that looks at them: about a million states.
fn counting(size: u32, seen: [u32; 3]) -> String {
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

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).expect("it can be written");
        self.path(name)
    }
}

/// The object that was printed, without what differs each time.
fn object(ran: &Ran) -> Value {
    let mut object: Value =
        serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}", ran.err));
    let all = object.as_object_mut().expect("an object");
    all.remove("time_s");
    object
}

fn start(words: &[&str]) -> Child {
    let mut command = weakspot();
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the command starts")
}

fn ended(child: Child) -> Ran {
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Ran { out: text(output.stdout), err: text(output.stderr), code: output.status.code() }
}

const REACH: [&str; 7] = ["reach", "--model", "sc", "--format", "json", "--timeout", "10m"];

/// kill -9 at random moments, then the rest of the search with some number of threads: each time the last
/// checkpoint is whole, and the answer is that of a search that nobody has killed.
#[test]
fn a_search_that_is_killed_again_and_again_comes_to_the_same_answer() {
    let folder = Folder::new();
    // Nobody ever sees it.
    let program = folder.write("p.weak", &counting(36, [36, 0, 0]));
    let expected = object(&run(&[&REACH[..], &["-j", "1", &program]].concat(), ""));
    assert_eq!(expected["verdict"], "holds");
    let file = folder.path("kept");
    let mut rng = Rng::new(20);
    let (mut killed, mut resumed) = (0, 0);
    while killed < scaled(50) {
        let threads = (1 + rng.below(3)).to_string();
        let mut words = [&REACH[..], &["-j", &threads, "--checkpoint", &file]].concat();
        if Path::new(&file).exists() {
            words.extend(["--resume", &file]);
            resumed += 1;
        }
        words.push(&program);
        let mut child = start(&words);
        std::thread::sleep(Duration::from_millis(100 + rng.below(1_500) as u64));
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
    assert!(resumed > 0);
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
    let program = folder.write("p.weak", &counting(30, [27, 28, 29]));
    let expected = object(&run(&[&REACH[..], &["-j", "1", &program]].concat(), ""));
    assert_eq!(expected["verdict"], "violated");
    let file = folder.path("kept");
    let kept = ["-j", "1", "--checkpoint", &file];
    let goes_on = format!("{program}: --resume {file} goes on from here\n");
    let limits: [&[&str]; 2] = [&["--memory", "3MiB"], &["--timeout", "500ms"]];
    for limit in limits {
        let words = [&["reach", "--model", "sc", "--format", "json"], limit, &kept, &[&program]];
        let ran = run(&words.concat(), "");
        assert_eq!((ran.code, ran.err), (Some(3), goes_on.clone()), "{limit:?}");
        let ran = run(&[&REACH[..], &["-j", "1", "--resume", &file, &program]].concat(), "");
        assert_eq!(object(&ran), expected, "{limit:?}: {}", ran.err);
    }
    for name in ["-INT", "-TERM"] {
        let child = start(&[&REACH[..], &kept, &[&program]].concat());
        std::thread::sleep(Duration::from_millis(600));
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
    let program = folder.write("p.weak", &counting(14, [14, 0, 0]));
    let ask = |more: &[&str]| {
        let words = ["robust", "--model", "tso", "--format", "json"];
        run(&[&words[..], more, &[&program]].concat(), "")
    };
    let expected = object(&ask(&["--timeout", "10m"]));
    assert_eq!(expected["verdict"], "holds");
    let file = folder.path("kept");
    let ran = ask(&["--timeout", "300ms", "--checkpoint", &file]);
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
    refused(&["reach", "--checkpoint", &file, &program], "expected --model sc");
    refused(&["robust", "--checkpoint", &file, &program], "expected --model tso, pso or pso-own");
    let why = "would overwrite the input";
    refused(&["reach", "--model", "sc", "--checkpoint", &program, &program], why);
    let why = "that file is no checkpoint, and would be overwritten";
    refused(&["reach", "--model", "sc", "--checkpoint", &other, &program], why);
    refused(&["reach", "--model", "sc", "--checkpoint", "/dev/null", &program], "that is no file");
    let nowhere = folder.path("no/such/folder");
    refused(&["reach", "--model", "sc", "--checkpoint", &nowhere, &program], "failed to write");
    // A question that takes another search.
    let condition =
        folder.write("c.weak", "shared x = 0\nthread p { var r; r = x }\nexists (p.r == 0)");
    let why = "no checkpoint can be made of this search";
    refused(&["reach", "--model", "sc", "--checkpoint", &folder.path("k"), &condition], why);
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
