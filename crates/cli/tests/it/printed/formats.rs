//! What the answers to all questions have in common, and tables with commas.

use expect_test::expect;
use serde_json::Value;

use crate::run;

/// The objects that a command prints.
fn objects(args: &[&str]) -> Vec<Value> {
    let ran = run(args, "");
    let object = |line: &str| serde_json::from_str(line).expect("a JSON object");
    ran.out.lines().map(object).collect()
}

/// Every object has the common head, the first one says what wrote it, and the others do not.
#[test]
fn one_head() {
    let questions: [&[&str]; 9] = [
        &["litmus", "corpus/litmus/SB.litmus", "corpus/litmus/MP.litmus"],
        &["reach", "corpus/programs/peterson.weak"],
        &["robust", "corpus/programs/peterson.weak"],
        &["robust", "--trf", "--model", "tso", "corpus/programs/peterson.weak"],
        &["fence", "corpus/programs/peterson.weak"],
        &["monitor", "corpus/traces/dekker.wstrace"],
        &["monitor", "--program", "corpus/programs/peterson.weak"],
        &["serial", "corpus/transactions/task-pool.wstrace", "corpus/programs/task-pool.weak"],
        &["history", "corpus/histories/store-buffering.wshist"],
    ];
    for args in questions {
        let args: Vec<&str> = args.iter().copied().chain(["--format", "json"]).collect();
        let objects = objects(&args);
        assert!(!objects.is_empty(), "{args:?}");
        for (i, object) in objects.iter().enumerate() {
            for key in ["file", "question", "model", "verdict", "time_s", "certified", "schema"] {
                assert!(object.get(key).is_some(), "{args:?}: no {key} in {object}");
            }
            assert_eq!(object["schema"], 1);
            assert_eq!(object.get("tool").is_some(), i == 0, "{args:?}");
        }
        assert_eq!(objects[0]["tool"]["name"], "weakspot");
        assert!(objects[0]["tool"]["version"].is_string());
    }
}

/// What is explained is the same object everywhere: steps with rising numbers, which the cycle and
/// the late stores refer to.
#[test]
fn one_run() {
    let questions: [&[&str]; 8] = [
        &["litmus", "--model", "tso", "--show", "corpus/litmus/SB.litmus"],
        &["fence", "--model", "tso", "corpus/programs/peterson.weak"],
        &["reach", "--model", "tso", "corpus/programs/peterson.weak"],
        &["robust", "--model", "pso", "corpus/programs/peterson.weak"],
        &["robust", "--trf", "--model", "tso", "corpus/programs/peterson.weak"],
        &["monitor", "--program", "--model", "tso", "corpus/programs/peterson.weak"],
        &["serial", "--model", "tso", "corpus/programs/task-pool.weak"],
        &["serial", "--model", "tso", "corpus/transactions/task-pool.wstrace"],
    ];
    for args in questions {
        let args: Vec<&str> = args.iter().copied().chain(["--format", "json"]).collect();
        for object in objects(&args) {
            check_run(&object["run"], &object);
        }
    }
    for object in objects(&["monitor", "--format", "json", "corpus/traces/dekker.wstrace"]) {
        check_run(&object["violations"][0]["run"], &object);
    }
    for object in
        objects(&["history", "--format", "json", "corpus/histories/store-buffering.wshist"])
    {
        if object.get("by_definition").is_none() {
            check_run(&object["run"], &object);
        }
    }
}

fn check_run(run: &Value, of: &Value) {
    let list = |key: &str| run[key].as_array().unwrap_or_else(|| panic!("no {key} in {of}"));
    let steps = list("steps");
    assert!(!steps.is_empty(), "{of}");
    assert_eq!(run["model"], of["model"]);
    let numbers: Vec<u64> = steps.iter().map(|step| step["n"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted(), "{of}");
    for step in steps {
        assert!((step["thread"].as_u64().unwrap() as usize) < list("threads").len(), "{of}");
        assert!(step["kind"].is_string());
    }
    for arc in list("cycle") {
        for end in ["from", "to"] {
            assert!(numbers.contains(&arc[end].as_u64().unwrap()), "{arc} of {of}");
        }
    }
    for late in list("late") {
        assert!(numbers.contains(&late["store"].as_u64().unwrap()), "{late} of {of}");
    }
}

/// The summary of many files as a table; commands without one say so.
#[test]
fn commas() {
    let ran = run(&["robust", "--format", "csv", "corpus/programs/peterson.weak"], "");
    assert_eq!(ran.out, "model,holds,violated,unknown,error\ntso,0,1,0,0\npso,0,1,0,0\n");
    assert_eq!(ran.code, Some(1));
    let files = ["corpus/litmus/SB.litmus", "corpus/litmus/MP.litmus", "/nonexistent"];
    let ran = run(&[&["litmus", "--format", "csv"], &files[..]].concat(), "");
    assert_eq!(
        ran.out,
        "model,holds,violated,unknown,error\nsc,0,2,0,1\ntso,1,1,0,1\npso,2,0,0,1\n"
    );
    assert_eq!(ran.code, Some(2));
    let ran = run(&["robust", "--format", "tabular", "corpus/programs/peterson.weak"], "");
    expect![[r"
        \begin{tabular}{lllll}
        \hline
        model & holds & violated & unknown & error \\
        \hline
        tso & 0 & 1 & 0 & 0 \\
        pso & 0 & 1 & 0 & 0 \\
        \hline
        \end{tabular}
    "]]
    .assert_eq(&ran.out);
    let ran = run(&["fence", "--format", "csv", "corpus/programs/peterson.weak"], "");
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("--format csv is for tables"), "{}", ran.err);
    let bench = ["bench", "programs", "--format", "csv", "--timeout", "60s", "dekker"];
    let ran = run(&bench, "");
    let mut lines = ran.out.lines();
    assert!(lines.next().is_some_and(|head| head.starts_with("name,family,size,threads,")));
    assert!(lines.next().is_some_and(|row| row.starts_with("dekker,,,2,")), "{}", ran.out);
}

/// The final states of litmus tests, a column per model; and how two logs of them differ.
#[test]
fn tables_of_states() {
    let states = ["litmus", "--states", "--model", "sc,tso", "corpus/litmus/SB.litmus"];
    let ran = run(&[&states[..], &["--format", "markdown"]].concat(), "");
    expect![[r"
        | test | state | sc | tso |
        |---|---|---|---|
        | SB | 0:EAX=0; 1:EAX=1; | yes | yes |
        | SB | 0:EAX=1; 1:EAX=0; | yes | yes |
        | SB | 0:EAX=1; 1:EAX=1; | yes | yes |
        | SB | 0:EAX=0; 1:EAX=0; | no | yes |
    "]]
    .assert_eq(&ran.out);
    assert_eq!(ran.code, Some(1));
    let folder = tempfile::tempdir().expect("a folder");
    let logs = ["sc", "tso"].map(|model| {
        let path = folder.path().join(format!("{model}.log"));
        let log = run(&["litmus", "--model", model, "corpus/litmus/SB.litmus"], "").out;
        std::fs::write(&path, log.replace("Model SC", "Model TSO")).expect("a log");
        path.to_str().expect("a path").to_owned()
    });
    let compare = ["compare", &logs[0], &logs[1], "--format"];
    let ran = run(&[&compare[..], &["csv"]].concat(), "");
    let row = format!("SB,state,{},0:EAX=0; 1:EAX=0;\n", logs[1]);
    assert_eq!(ran.out, format!("test,difference,only_in,state\n{row}"));
    assert_eq!(ran.code, Some(1));
    // There are no pictures here, so that it is clear what is meant.
    let ran = run(&[&compare[..], &["tex"]].concat(), "");
    assert!(ran.out.starts_with("\\begin{tabular}{llll}\n"), "{}", ran.out);
    assert_eq!(run(&["compare", &logs[0], &logs[0], "--format", "csv"], "").out, "");
}

/// Tables are set, where there is a TeX.
#[test]
fn tables_are_set() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = run(&["litmus", "--states", "--format", "tabular", "corpus/litmus/SB.litmus"], "");
    let text =
        format!("\\documentclass{{article}}\\begin{{document}}\n{}\\end{{document}}\n", table.out);
    std::fs::write(folder.path().join("table.tex"), text).expect("a file");
    let set = std::process::Command::new("pdflatex")
        .args(["-interaction=nonstopmode", "-halt-on-error", "table.tex"])
        .current_dir(folder.path())
        .output();
    // Snapshots are compared in any case.
    if let Ok(set) = set {
        assert!(set.status.success(), "{}", String::from_utf8_lossy(&set.stdout));
    }
}

/// Each object of JSON is a test of JUnit's XML, under all questions.
#[test]
fn answers_as_tests_of_junit() {
    let questions: [&[&str]; 7] = [
        &["litmus", "corpus/litmus/SB.litmus", "corpus/litmus/MP.litmus"],
        &["reach", "corpus/programs/peterson.weak"],
        &["robust", "corpus/programs/peterson.weak", "corpus/programs/dekker-simple.weak"],
        &["fence", "corpus/programs/peterson.weak"],
        &["monitor", "corpus/traces/dekker.wstrace"],
        &["serial", "corpus/transactions/task-pool.wstrace", "corpus/programs/task-pool.weak"],
        &["history", "corpus/histories/store-buffering.wshist"],
    ];
    for args in questions {
        let with = |format| run(&[args, &["--format", format]].concat(), "");
        let (json, xml) = (with("json"), with("junit"));
        assert_eq!(xml.code, json.code, "{args:?}");
        assert!(xml.out.starts_with("<?xml ") && xml.out.ends_with("</testsuites>\n"), "{args:?}");
        assert_eq!(xml.out.matches("<testcase ").count(), json.out.lines().count(), "{args:?}");
        let failed = json.out.lines().filter(|line| line.contains("\"verdict\":\"violated\""));
        assert_eq!(xml.out.matches("<failure ").count(), failed.count(), "{args:?}");
    }
}
