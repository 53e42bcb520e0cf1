//! No line of an answer for people is wider than the terminal.

use std::path::PathBuf;
use std::process::Stdio;

use expect_test::expect;

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

/// What is folded, or broken, where there are few columns.
#[test]
fn lines_of_few_columns() {
    for (columns, args) in [
        (60, &["gen", "family", "--list"][..]),
        (40, &["selfcheck", "--round", "3", "--seed", "1234567890123"]),
    ] {
        let mut command = weakspot();
        let child = command.args(args).env("COLUMNS", columns.to_string());
        let child = child.output().expect("the command ends");
        let text = String::from_utf8(child.stdout).expect("UTF-8");
        assert!(text.lines().count() > 1, "{args:?}: {text}");
        let wide = text.lines().find(|line| line.chars().count() > columns);
        assert_eq!(wide, None, "{args:?}");
    }
}

/// Tables at 80 columns: heads and names are folded, nothing is wrapped by the terminal.
#[test]
fn tables_of_80_columns() {
    let printed = |args: &[&str]| {
        let child = weakspot().args(args).env("COLUMNS", "80").output().expect("the command ends");
        String::from_utf8(child.stdout).expect("UTF-8")
            + &String::from_utf8(child.stderr).expect("UTF-8")
    };
    let table = printed(&[
        "monitor",
        "--program",
        "--model",
        "tso,pso,pso-own",
        "corpus/programs/ms2.weak",
    ]);
    // Times differ.
    let head: Vec<&str> = table.lines().take(2).collect();
    expect![[r#"
        program  interleavings  time (s)  violations TSO  violations PSO  violations
                                                                             PSO-own"#]]
    .assert_eq(&head.join("\n"));
    let models = ["litmus", "--model", "sc,tso,pso,pso-own"];
    let files = ["corpus/litmus/locations-and-condition.litmus", "corpus/litmus/SB.litmus"];
    let child = weakspot().args(models).args(files).output().expect("the command ends");
    let summary = String::from_utf8(child.stderr).expect("UTF-8");
    expect![[r#"
        2 tests
        model         Ok       No  Undecided   Errors
        SC             0        2          0        0
        TSO            1        1          0        0
        PSO            2        0          0        0
        PSO-own        2        0          0        0
        2 of 2 differ between the models (observation, number of states):
          locations-and-condition
              SC  Never     3  TSO Never     3  PSO Sometimes 4  PSO-own Sometimes 4
          SB
              SC  Never     3  TSO Sometimes 4  PSO Sometimes 4  PSO-own Sometimes 4
    "#]]
    .assert_eq(&summary);
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

/// Two places of one long line are drawn apart.
#[test]
fn marks_on_one_line_fit() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("p.c");
    let source = "#include <pthread.h>\n#include <stdatomic.h>\natomic_int x, y; int a, b;\n\
         void *p(void *_) { atomic_store_explicit(&x, 1, memory_order_relaxed); \
         if (atomic_load_explicit(&y, memory_order_relaxed) == 0 && y != 3) a = 1; return 0; }\n\
         void *q(void *_) { y = 1; b = x; return 0; }\n\
         int main(void) { pthread_t t, u; pthread_create(&t, 0, p, 0); pthread_create(&u, 0, q, 0);\n\
         pthread_join(t, 0); pthread_join(u, 0); }\n";
    std::fs::write(&file, source).expect("written");
    let mut command = weakspot();
    let command = command.current_dir(&folder).env("COLUMNS", "60");
    let child = command.args(["robust", "--model", "tso", "p.c"]).output();
    let text = String::from_utf8(child.expect("the command ends").stdout).expect("UTF-8");
    assert!(text.contains("::: p.c:4:"), "{text}");
    let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 60).collect();
    assert!(wide.is_empty(), "{wide:?}");
}

/// What `certify` says of a long claim fits, too.
#[test]
fn certified_lines_fit() {
    let folder = tempfile::tempdir().expect("a folder");
    let witness = folder.path().join("w.json");
    let witness = witness.to_str().expect("UTF-8");
    let program = "corpus/programs/dekker.weak";
    let ask = |args: &[&str]| {
        let child = weakspot().args(args).env("COLUMNS", "60").output().expect("the command ends");
        String::from_utf8(child.stdout).expect("UTF-8")
    };
    ask(&["fence", "--model", "tso", "-q", "--witness", witness, program]);
    expect![[r#"
        certified: fence under TSO: violated, 3 fences enough by its
            text: no access can overtake a store, none cheaper by 3
            runs
    "#]]
    .assert_eq(&ask(&["certify", program, witness]));
}
