//! Limits and signals hold from opening the file on, whatever the file is.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::{run, weakspot};

/// A pipe with a name that nobody writes to.
struct Fifo(PathBuf);

impl Fifo {
    fn new(name: &str) -> Fifo {
        let path =
            std::env::temp_dir().join(format!("weakspot-{name}-{}.weak", std::process::id()));
        let made = Command::new("mkfifo").arg(&path).status().expect("mkfifo");
        assert!(made.success());
        Fifo(path)
    }
}

impl Drop for Fifo {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn start(args: &[&str], file: &Path) -> Child {
    let mut command = weakspot();
    command.args(args).arg(file).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn a_pipe_that_nobody_writes_to_ends_at_the_time_limit() {
    let fifo = Fifo::new("unwritten");
    let name = fifo.0.display();
    for question in ["reach", "robust", "fence", "litmus", "serial"] {
        let since = Instant::now();
        let args = [question, "--model", "tso", "--timeout", "300ms"];
        let output = start(&args, &fifo.0).wait_with_output().expect("it ends");
        assert!(since.elapsed() < Duration::from_secs(20), "{question}");
        assert_eq!(output.status.code(), Some(3), "{question}: {}", text(&output));
        let expected = format!(
            "{name} TSO unknown: not read to its end: the search stopped at the time limit of 300 ms\n"
        );
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{question}");
    }
    let args = ["reach", "--model", "tso", "--timeout", "300ms", "--format", "json"];
    let output = start(&args, &fifo.0).wait_with_output().expect("it ends");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["verdict"], "unknown");
    assert_eq!(json["limit"]["kind"], "time");
    let output = start(&["print", "--timeout", "300ms"], &fifo.0).wait_with_output();
    let output = output.expect("it ends");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output));
}

/// Whatever limit comes in between, each witness has a line, and nothing that was said before is forgotten.
#[test]
fn witnesses_that_were_not_checked_are_named() {
    let (fifo, folder) = (Fifo::new("witnesses"), tempfile::tempdir().expect("a folder"));
    let (first, second) = (folder.path().join("first.json"), folder.path().join("second.json"));
    for witness in [&first, &second] {
        let witness = witness.to_str().expect("a name");
        let sb = "corpus/litmus/SB.litmus";
        let ran = run(&["robust", "-q", "--model", "tso", "--witness", witness, sb], "");
        assert_eq!(ran.code, Some(1), "{}", ran.err);
    }
    let missing = folder.path().join("missing.weak");
    for (before, code) in [(&first, 3), (&missing, 2)] {
        let files = [&first, &second, before].map(|file| file.to_str().expect("a name"));
        let args = [&["certify", "--timeout", "1s"], &files[..]].concat();
        let output = start(&args, &fifo.0).wait_with_output().expect("it ends");
        let text = text(&output);
        assert_eq!(output.status.code(), Some(code), "{text}");
        for witness in [&first, &second] {
            let line = format!("{}: unknown: the search stopped at the time", witness.display());
            assert!(text.contains(&line), "{text}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_endless_device_ends_at_the_memory_limit() {
    let device = Path::new("/dev/zero");
    for question in ["reach", "litmus", "certify"] {
        let args = match question {
            "certify" => vec![question, "--memory", "64MiB", "corpus/litmus/SB.litmus"],
            _ => vec![question, "--model", "tso", "--memory", "64MiB", "--input-format", "weak"],
        };
        let output = start(&args, device).wait_with_output().expect("it ends");
        let said = text(&output);
        assert_eq!(output.status.code(), Some(3), "{question}: {said}");
        assert!(said.contains("the memory limit of 64 MiB"), "{question}: {said}");
    }
}

/// Each of them leads to what is known so far; here that is nothing, which is said.
#[cfg(unix)]
#[test]
fn signals_end_a_question_with_an_answer() {
    let fifo = Fifo::new("signals");
    for signal in ["INT", "TERM", "HUP"] {
        let mut child = start(&["reach", "--model", "tso"], &fifo.0);
        // Until the handlers are there, a signal ends the program without an answer.
        std::thread::sleep(Duration::from_millis(300));
        let mut waited = 0;
        while !handles(child.id(), signal) && waited < 100 {
            std::thread::sleep(Duration::from_millis(50));
            waited += 1;
        }
        // Ignored by whoever runs the tests, and then by the command as well.
        if !handles(child.id(), signal) {
            child.kill().expect("it runs");
            child.wait().expect("it ends");
            continue;
        }
        let kill = format!("kill -{signal} {}", child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().expect("a shell").success());
        let status = child.wait().expect("it ends");
        let output = child.wait_with_output().expect("it has ended");
        assert_eq!(status.code(), Some(3), "{signal}: {}", text(&output));
        assert!(text(&output).contains("TSO unknown: "), "{signal}: {}", text(&output));
    }
}

/// Whether a process has a handler for a signal.
#[cfg(unix)]
fn handles(process: u32, signal: &str) -> bool {
    let bit = match signal {
        "HUP" => 0,
        "INT" => 1,
        _ => 14,
    };
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let set = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let set = set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0);
    set & (1 << bit) != 0
}

/// A load may overtake an `sc` of RISC-V, which is not looked at: what was not found under TSO is unknown.
#[test]
fn loads_that_overtake_a_conditional_store() {
    let test = "RISCV SB+lrsc
{ 0:x6=x; 0:x8=y; 1:x6=y; 1:x8=x; 0:x5=1; 1:x5=1; }
 P0               | P1               ;
 lr.w x9,0(x6)    | lr.w x9,0(x6)    ;
 sc.w x7,x5,0(x6) | sc.w x7,x5,0(x6) ;
 lw x10,0(x8)     | lw x10,0(x8)     ;
exists (0:x7=0 /\\ 1:x7=0 /\\ 0:x10=0 /\\ 1:x10=0)
";
    let file = tempfile::Builder::new().suffix(".litmus").tempfile().expect("a file");
    std::fs::write(file.path(), test).expect("written");
    let path = file.path().to_str().expect("UTF-8");
    let ran = run(&["litmus", "--model", "tso", "--format", "json", path], "");
    let json: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!((&json["verdict"], ran.code), (&"unknown".into(), Some(3)), "{json}");
    assert_eq!(json["limit"]["kind"], "conditional", "{json}");
    // Nor is it certified.
    let folder = tempfile::tempdir().expect("a folder");
    let witness = folder.path().join("w.json");
    let witness = witness.to_str().expect("UTF-8");
    let ran = run(&["litmus", "--model", "sc", "--witness", witness, path], "");
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let of_sc = std::fs::read_to_string(witness).expect("a witness");
    assert!(of_sc.contains("\"sc\""), "{of_sc}");
    std::fs::write(witness, of_sc.replace("\"sc\"", "\"tso\"")).expect("written");
    let ran = run(&["certify", path, witness], "");
    assert_eq!(ran.code, Some(3), "{}{}", ran.out, ran.err);
    assert!((ran.out + &ran.err).contains("a load may overtake"));
    let found = test.replace("exists (", "exists (x=1 \\/ ");
    std::fs::write(file.path(), found).expect("written");
    assert_eq!(run(&["litmus", "--model", "tso", path], "").code, Some(0));
    for command in ["robust", "fence"] {
        let ran = run(&[command, "--model", "tso", path], "");
        assert_eq!(ran.code, Some(2), "{}", ran.out);
        assert!(ran.err.contains("a load may overtake this `sc`"), "{}", ran.err);
    }
}

/// Limits hold before the first state is searched and after the last one, where threads are long.
#[test]
fn long_threads_end_within_limits() {
    // What took longer took minutes.
    const MINUTE: Duration = Duration::from_secs(60);
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, body: &str, other: &str| {
        let path = folder.path().join(name);
        let other = format!("thread q {{ var r; {other} }}");
        let text = format!("shared x = 0, y = 0\nthread p {{\n var r\n{body}}}\n{other}\n");
        std::fs::write(&path, text).expect("it can be written");
        path
    };
    // That nothing overtakes these is checked at a glance.
    let stores = write("stores.weak", &" x = 1\n".repeat(20_000), "r = x");
    let since = Instant::now();
    let output = start(&["robust", "--model", "tso", "--timeout", "1m"], &stores)
        .wait_with_output()
        .expect("it ends");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(since.elapsed() < MINUTE, "{:?}", since.elapsed());
    // What is found at once is said at once, and in full, however long the run is that shows it.
    let buffering = folder.path().join("buffering.weak");
    let (stores, half) = (" x = 1\n".repeat(2_000), |a, b| format!("var r; {a} = 1; r = {b}"));
    let (p, q) = (half("y", "z"), half("z", "y"));
    let p = p.replacen("var r;", &format!("var r\n{stores}"), 1);
    let program = format!("shared x, y, z\nthread p {{ {p} }}\nthread q {{ {q} }}\n");
    std::fs::write(&buffering, program).expect("it can be written");
    for (command, said) in [
        (
            "robust",
            "not robust: p's store to y (line 2003:2) can reach memory after its later load of z",
        ),
        ("fence", "needs 2 fences to be robust; no fewer do"),
    ] {
        let since = Instant::now();
        let args = [command, "--model", "tso", "--timeout", "1m"];
        let output = start(&args, &buffering).wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        assert!(text(&output).contains(said), "{command}: {}", text(&output));
        assert!(since.elapsed() < MINUTE, "{:?}", since.elapsed());
    }
    // There are 8 million pairs to ask about.
    let pairs = write("pairs.weak", &" x = 1; r = y\n".repeat(4_000), "y = 1; r = x");
    let args = ["robust", "--model", "tso", "--algorithm", "attack", "--memory", "64MiB"];
    let output = start(&args, &pairs).wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output));
    assert!(text(&output).contains("stopped at the memory limit of 64 MiB"), "{}", text(&output));
    // Each of 400 stores is overtaken, in a run of hundreds of steps.
    let pairs = write("fewer.weak", &" x = 1; r = y\n".repeat(400), "y = 1; r = x");
    let args = ["monitor", "--program", "--model", "tso", "--memory", "8MiB"];
    let output = start(&args, &pairs).wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("memory limit of 8 MiB"), "{}", text(&output));
}
