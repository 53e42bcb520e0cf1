//! `--report`: the page holds the objects that `--format json` writes.

use std::path::PathBuf;

use serde_json::Value;

use crate::{root, run, weakspot};

/// The objects in the page that a command writes.
fn objects(name: &str, args: &[&str]) -> Vec<Value> {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("page-{name}.html"));
    let output = weakspot().args(args).arg("--report").arg(&path).output().expect("it runs");
    assert!(output.status.code().is_some_and(|code| code < 2), "{output:?}");
    let page = std::fs::read_to_string(path).expect("a page");
    assert_eq!(page.matches("<script").count(), 2, "{name}");
    let data = page.split("id=\"data\">\n").nth(1).and_then(|rest| rest.split("</script>").next());
    let lines = data.expect("data").lines();
    lines.map(|line| serde_json::from_str(line).expect("an object")).collect()
}

/// What says which answer it is.
fn keys(object: &Value) -> Vec<Value> {
    ["file", "question", "id", "model", "verdict"].map(|key| object[key].clone()).to_vec()
}

#[test]
fn every_question_has_one() {
    let questions: [&[&str]; 7] = [
        &["litmus", "corpus/litmus/SB.litmus", "corpus/litmus/MP.litmus"],
        &["reach", "corpus/programs/peterson.weak"],
        &["robust", "corpus/programs/peterson.weak"],
        &["fence", "corpus/programs/peterson.weak"],
        &["monitor", "corpus/traces/store-buffering.wstrace"],
        &["history", "corpus/histories/classic.wshist"],
        &["serial", "corpus/transactions/task-pool.wstrace"],
    ];
    for args in questions {
        let page = objects(args[0], args);
        let output = weakspot().args(args).args(["--format", "json"]).output().expect("it runs");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
        let same = page.iter().map(keys).eq(lines.iter().map(keys));
        assert!(same && !page.is_empty(), "{args:?}: {page:?}");
    }
}

/// A page has room for what the terminal has not.
#[test]
fn litmus_tests_have_states_and_runs() {
    let page = objects("states", &["litmus", "--model", "tso", "corpus/litmus/SB.litmus"]);
    assert_eq!(page[0]["outcomes"].as_array().map(Vec::len), Some(4));
    assert!(page[0]["run"]["steps"].is_array(), "{page:?}");
}

/// Names of files are bytes, and a page is text, the command that made it included.
#[cfg(unix)]
#[test]
fn names_need_not_be_text() {
    use std::os::unix::ffi::OsStringExt as _;

    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(std::ffi::OsString::from_vec(b"it's\xff.litmus".to_vec()));
    std::fs::copy(root().join("corpus/litmus/SB.litmus"), &file).expect("copied");
    let page = folder.path().join("page.html");
    let args = ["litmus", "--model", "tso", "-q", "--report"];
    let output = weakspot().args(args).arg(&page).arg(&file).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(page.contains("Again by <code>weakspot litmus --model tso -q"), "{page}");
    assert!(page.contains("it's\u{fffd}.litmus\""), "{page}");
}

/// How an exploration went: every execution has its preemptions, and lines that something orders are not
/// interleaved, whatever the strategy and the number of workers.
#[test]
fn explorations() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("a path").to_owned();
    let (program, objects) = (path("apart"), path("apart.jsonl"));
    let source = "crates/cli/tests/it/real/apart.c";
    let built = run(&["cc", "-g", "-O1", "-pthread", "-o", &program, source], "");
    assert_eq!(built.code, Some(0), "{}", built.err);
    for options in [
        &["--strategy", "bounded", "-j", "2"][..],
        &["--strategy", "bounded", "--isolate", "fork", "--preemptions", "2"],
        &["--strategy", "dpor"],
        &["--strategy", "dpor", "-j", "2"],
        &["--strategy", "dpor", "--under", "tso"],
    ] {
        let args = [&["run", "--report", &objects], options, &[&program]].concat();
        assert!(run(&args, "").code.is_some_and(|code| code != 2), "{options:?}");
        let text = std::fs::read_to_string(&objects).expect("objects");
        let mut objects = text.lines().map(|line| -> Value { serde_json::from_str(line).unwrap() });
        let object = objects.find(|o| o["exploration"].is_object()).expect("how it went");
        let exploration = &object["exploration"];
        let numbers = |list: &Value| -> Vec<u64> {
            list.as_array().expect("a list").iter().filter_map(Value::as_u64).collect()
        };
        let by_preemptions = numbers(&exploration["by_preemptions"]);
        let all: u64 = by_preemptions.iter().sum();
        assert_eq!(Some(all), object["executions"].as_u64(), "{options:?}");
        let last = exploration["over_time"].as_array().and_then(|list| list.last());
        assert_eq!(last.and_then(|last| last["executions"].as_u64()), Some(all), "{options:?}");
        let lines = exploration["lines"].as_array().expect("lines");
        let interleaved = lines.iter().map(|line| (line["line"].as_u64(), &line["interleaved"]));
        let never: Vec<_> = interleaved.filter(|(_, yes)| **yes == false).collect();
        let never: Vec<u64> = never.into_iter().filter_map(|(line, _)| line).collect();
        assert_eq!(lines.len(), 6, "{options:?}: {lines:?}");
        assert_eq!(never, [11, 24], "{options:?}: {lines:?}");
    }
    // Who does not look at it does not pay for it.
    let json = run(&["run", "--format", "json", &program], "").out;
    assert!(!json.contains("\"exploration\""), "{json}");
}
