//! Drawings fit the terminal, however narrow it is.

use crate::weakspot;

const WIDTHS: [usize; 5] = [40, 60, 80, 100, 160];

/// What a command prints in a terminal of this width.
fn printed(args: &[&str], columns: usize) -> String {
    let output = weakspot().args(args).env("COLUMNS", columns.to_string()).output();
    String::from_utf8(output.expect("the command ends").stdout).expect("UTF-8")
}

/// No line of the drawings, which `is_drawn` knows, is wider than the terminal.
fn check(args: &[&str], is_drawn: impl Fn(&str, bool) -> bool) {
    for columns in WIDTHS {
        let text = printed(args, columns);
        let mut lines = 0;
        let mut drawn = false;
        for line in text.lines() {
            drawn = is_drawn(line, drawn);
            let width = line.chars().count();
            assert!(!drawn || width <= columns, "{args:?}: {width} > {columns}: {line}");
            lines += usize::from(drawn);
        }
        assert!(lines > 10, "{args:?} draws nothing");
    }
}

/// From the title of a run to the next answer.
fn of_runs(line: &str, drawn: bool) -> bool {
    let ends = ["Model ", "A fence between", "A program with such a race"];
    line.starts_with("A run") || drawn && !ends.iter().any(|end| line.starts_with(end))
}

/// What explains an answer is indented.
fn indented(line: &str, _: bool) -> bool {
    line.starts_with("  ") && !line.starts_with("  note:")
}

#[test]
fn runs_of_litmus_tests() {
    check(&["litmus", "--model", "tso,pso", "--show", "corpus/litmus"], of_runs);
}

#[test]
fn runs_of_programs() {
    check(&["robust", "corpus/trencher", "corpus/programs/peterson.weak"], of_runs);
    check(&["robust", "--trf", "--model", "tso", "corpus/programs/dekker.weak"], of_runs);
    let args = ["monitor", "--program", "--model", "tso", "corpus/programs/peterson.weak"];
    check(&args, of_runs);
}

#[test]
fn logs_and_transactions() {
    check(&["monitor", "corpus/traces"], indented);
    check(&["serial", "corpus/transactions"], indented);
    check(&["serial", "corpus/programs/task-pool.weak"], |line, _| {
        !line.contains("task-pool.weak")
    });
}

#[test]
fn histories() {
    check(&["history", "--model", "tso,sc,cc", "corpus/histories"], indented);
    check(&["history", "corpus/histories/classic.wshist"], indented);
}
