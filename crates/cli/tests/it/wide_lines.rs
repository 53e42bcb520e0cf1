//! No line of an answer for people is wider than the terminal.

use std::path::PathBuf;
use std::process::Stdio;

use crate::{root, weakspot};

/// The inputs of a folder of the corpus, every `step`th of them.
fn inputs(folder: &str, step: usize) -> Vec<String> {
    let files = std::fs::read_dir(root().join("corpus").join(folder)).expect("the corpus");
    let mut files: Vec<PathBuf> = files.map(|entry| entry.expect("a file").path()).collect();
    files.retain(|path| {
        path.is_file() && !path.extension().is_some_and(|e| e == "expected" || e == "md")
    });
    files.sort();
    let name = |path: PathBuf| {
        path.strip_prefix(root()).expect("in the project").to_string_lossy().into_owned()
    };
    files.into_iter().step_by(step).map(name).collect()
}

#[test]
fn lines_fit() {
    let mut questions: Vec<(&[&str], Vec<String>)> = vec![
        (&["litmus", "--model", "sc,tso,pso", "--show"], inputs("litmus", 9)),
        (&["robust", "--model", "tso"], inputs("litmus", 12)),
        (&["reach", "--model", "tso,pso"], inputs("programs", 6)),
        (&["robust", "--model", "tso,pso"], inputs("programs", 7)),
        (&["fence", "--model", "tso"], inputs("programs", 11)),
        (&["monitor"], inputs("traces", 1)),
        (&["monitor", "--program"], inputs("programs", 14)),
        (&["serial"], inputs("transactions", 1)),
        (&["history"], inputs("histories", 1)),
        (&["history", "--model", "all"], inputs("histories", 1)),
        (&["litmus", "--model", "tso", "--show=0:EAX=0; 1:EAX=0"], inputs("litmus", 20)),
    ];
    let single = ["corpus/litmus/SB.litmus", "corpus/litmus/nothing.litmus"];
    questions.push((&["litmus"], single.map(str::to_owned).to_vec()));
    let mut wide: Vec<String> = Vec::new();
    for (args, files) in questions {
        assert!(!files.is_empty(), "{args:?}");
        for columns in [80, 60] {
            let child = weakspot()
                .args(args)
                .args(["--timeout", "5s", "--progress", "never"])
                .args(&files)
                .env("COLUMNS", columns.to_string())
                .stdin(Stdio::null())
                .output()
                .expect("the command ends");
            for stream in [child.stdout, child.stderr] {
                let text = String::from_utf8(stream).expect("UTF-8");
                let too_wide = |line: &&str| line.chars().count() > columns;
                let lines = text.lines().filter(too_wide);
                wide.extend(lines.map(|line| format!("{columns} {args:?}: {line}")));
            }
        }
    }
    assert!(wide.is_empty(), "{} lines are too wide:\n{}", wide.len(), wide.join("\n"));
}
