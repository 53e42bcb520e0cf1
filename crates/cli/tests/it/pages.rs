//! `--report`: the page holds the objects that `--format json` writes.

use std::path::PathBuf;

use serde_json::Value;

use crate::weakspot;

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
