//! Many files, limits, interruption.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::{run, weakspot};

/// The whole corpus in one call: every answer in order, whatever the number of workers.
#[test]
fn many_files_in_order() {
    let answers = |threads: &str| {
        let args =
            ["litmus", "--threads", threads, "--format", "json", "--states", "-q", "corpus/litmus"];
        let ran = run(&args, "");
        assert_eq!(ran.err, "");
        assert_eq!(ran.code, Some(1), "some conditions are not valid under some models");
        let lines: Vec<serde_json::Value> =
            ran.out.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
        lines
            .into_iter()
            .map(|mut line| {
                line["time_s"] = 0.into();
                line.to_string()
            })
            .collect::<Vec<_>>()
    };
    let one = answers("1");
    assert!(one.len() >= 3 * 250);
    assert!(one.windows(2).all(|w| {
        let file = |l: &str| {
            serde_json::from_str::<serde_json::Value>(l).expect("JSON")["file"].to_string()
        };
        file(&w[0]) <= file(&w[1])
    }));
    assert_eq!(one, answers("3"));
}

/// A test whose search never ends: two counters that grow for ever.
const ENDLESS: &str = "X86 endless
{ }
 P0 | P1 ;
 L0: LOCK INC [x] | L1: LOCK INC [y] ;
 JNE L0 | JNE L1 ;
exists (x=0 /\\ y=5)
";

#[test]
fn the_time_limit_ends_in_an_honest_unknown() {
    let start = Instant::now();
    let ran = run(&["litmus", "--model", "tso", "--timeout", "300ms", "-"], ENDLESS);
    assert!(start.elapsed() < Duration::from_secs(20));
    assert_eq!(ran.code, Some(3));
    assert!(ran.out.contains("Undecided"), "{}", ran.out);
    assert!(ran.out.contains("the time limit of 300 ms"), "{}", ran.out);
}

#[test]
fn the_memory_limit_ends_in_an_honest_unknown() {
    let ran = run(&["litmus", "--model", "sc", "--memory", "20MB", "-"], ENDLESS);
    assert_eq!(ran.code, Some(3));
    assert!(ran.out.contains("the memory limit of"), "{}", ran.out);
}

/// Ctrl-C prints what is known.
#[test]
#[cfg(unix)]
fn an_interrupt_prints_what_is_known() {
    let file = std::env::temp_dir().join(format!("weakspot-endless-{}.litmus", std::process::id()));
    std::fs::write(&file, ENDLESS).expect("a temporary file");
    let child = weakspot()
        .args(["litmus", "--model", "tso", "--timeout", "60s"])
        .arg(&file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    std::thread::sleep(Duration::from_millis(700));
    let killed = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .expect("kill");
    assert!(killed.success());
    let output = child.wait_with_output().expect("the command ends");
    std::fs::remove_file(&file).expect("the temporary file");
    assert_eq!(output.status.code(), Some(3));
    let out = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(out.contains("Undecided") && out.contains("interrupted"), "{out}");
}

/// Programs that go on for ever, but can do wrong early: the run is found before the limit.
#[test]
fn a_violation_is_found_in_an_endless_program() {
    let counter = "shared x
thread p { var i = 0
    loop { i = i + 1
        choose { skip } or { assert(i != 5) } } }
";
    let beside = "shared x = 0
thread p { var i = 0
    loop { i = i + 1 } }
thread q { var r
    x = 1
    r = x
    assert(r == 0) }
";
    let start = "thread a initial q final q transition q q write + r 1 0 \
                 transition q q local r + r 1 end";
    for (text, language) in [(counter, "weak"), (beside, "weak"), (start, "trencher")] {
        let args = ["reach", "-q", "--model", "tso", "--input-format", language, "-"];
        let ran = run(&args, text);
        assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    }
}
