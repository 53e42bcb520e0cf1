//! `--gdb`: executions that were found, in a debugger.

use std::io::Write as _;
use std::process::Command;

use crate::real::run::{explore, two};
use crate::run;

/// Explores a program, and types commands into gdb at the first schedule; what it says, or nothing if it
/// is not here.
fn debugged(name: &str, source: &str, args: &[&str], typed: &str) -> Option<String> {
    let there = Command::new("gdb").arg("--version").output();
    if !there.is_ok_and(|out| out.status.success()) {
        let _ = writeln!(std::io::stderr(), "skipped: there is no gdb");
        return None;
    }
    let (out, code) = explore(name, source, args);
    assert_eq!(code, Some(1), "{out}");
    let again = out.split_once("again by weakspot ").expect("a schedule").1;
    let mut words: Vec<&str> = again.lines().next().expect("a line").split(' ').collect();
    words.insert(1, "--gdb");
    let ran = run(&words, typed);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    Some(ran.out + &ran.err)
}

/// Behind the late store one steps through the execution as it was found.
#[test]
fn at_the_late_store() {
    let source = two(
        "volatile int x, y; int r1, r2;",
        "x = 1;\n    r1 = y;",
        "y = 1;\n    r2 = x;",
        "r1 || r2",
    );
    let typed = "next\nprint r1\nprint r2\ncontinue\n";
    let options = ["--under", "tso", "--fail-fast"];
    let Some(out) = debugged("debugged", &source, &options, typed) else { return };
    let stop = out.split_once("which is late; gdb stands behind it:\n#0  ");
    let stop = stop.unwrap_or_else(|| panic!("{out}")).1;
    assert!(stop.contains("r1 = y") || stop.contains("r2 = x"), "{out}");
    assert!(stop.contains("$1 = 0") && stop.contains("$2 = 0"), "{out}");
    assert!(stop.contains("exited normally"), "{out}");
}

/// A pair was seen in an execution of SC, in which its store is not late.
#[test]
fn at_a_store_that_could_be_late() {
    let source =
        two("volatile int x, y; int r1, r2;", "x = 1;\n    r1 = y;", "y = 1;\n    r2 = x;", "1");
    let options = ["--model", "tso", "--robust"];
    let Some(out) = debugged("undecided", &source, &options, "continue\n") else { return };
    assert!(out.contains(" stores to x at ") || out.contains(" stores to y at "), "{out}");
    assert!(out.contains(", which could be late; gdb stands behind it:\n#0  "), "{out}");
}

/// Where nothing is late, it stops before the failure.
#[test]
fn before_a_failure() {
    let source = two("volatile int x; int r;", "x = 1;", "if (x == 1)\n    r = 1;", "!r");
    let Some(out) = debugged("undelayed", &source, &["--no-races"], "continue\n") else { return };
    assert!(out.contains("the last step of main at "), "{out}");
}

/// It has the terminal, and looks at one execution.
#[test]
fn only_with_a_schedule() {
    for (words, why) in [
        (&["run", "--gdb", "./p"][..], "--gdb looks at one execution: expected --replay SCHEDULE"),
        (&["run", "--gdb", "--replay", "1", "--format", "json", "./p"], "leave out --format"),
    ] {
        let ran = run(words, "");
        assert_eq!(ran.code, Some(2), "{}", ran.err);
        assert!(ran.err.contains(why), "{}", ran.err);
    }
}
