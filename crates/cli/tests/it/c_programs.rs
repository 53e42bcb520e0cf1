//! Programs in C: `reach`, `robust` and `fence` on their texts, and `run` on what a compiler makes of them.

use std::path::{Path, PathBuf};

use expect_test::expect;
use serde_json::Value;

use crate::transcripts::check;
use crate::{root, run};

fn json(args: &[&str]) -> Vec<Value> {
    let ran = run(args, "");
    assert!(ran.code < Some(2), "{args:?}: {}", ran.err);
    ran.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn verdict<'a>(answers: &'a [Value], question: &str, model: &str) -> &'a str {
    let is = |a: &&Value| a["question"] == question && a["model"] == model;
    answers.iter().find(is).and_then(|a| a["verdict"].as_str()).unwrap_or("none")
}

/// Compiles a program for `weakspot run`.
fn compiled(source: &Path, name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("c-programs");
    std::fs::create_dir_all(&folder).expect("a folder");
    let program = folder.join(name);
    let (to, from) = (program.to_str().expect("UTF-8"), source.to_str().expect("UTF-8"));
    let built = run(&["cc", "-O1", "-pthread", "-o", to, from], "");
    assert_eq!(built.code, Some(0), "{name}: {}", built.err);
    program
}

/// The search of the text and the exploration of the compiled program agree, and the text with the
/// fences that are proposed is compiled and fails no more.
#[test]
fn the_text_and_the_compiled_program_agree() {
    for name in
        ["dekker", "peterson", "peterson-relaxed", "ticket", "chase-lev", "chase-lev-fenced"]
    {
        let source = root().join(format!("corpus/c-programs/{name}.c"));
        let text = source.to_str().expect("UTF-8");
        let reached = json(&["reach", "--format", "json", "--model", "tso,pso", text]);
        let robust = json(&["robust", "--format", "json", "--model", "tso,pso", text]);
        let program = compiled(&source, name);
        let program = program.to_str().expect("UTF-8");
        let ran = json(&["run", "--format", "json", "--model", "tso,pso", program]);
        for model in ["tso", "pso"] {
            let found = verdict(&ran, "failures", model);
            assert_eq!(found, verdict(&reached, "reach", model), "{name}: failures, {model}");
            let found = verdict(&ran, "run", model);
            assert_eq!(found, verdict(&robust, "robust", model), "{name}: robust, {model}");
        }
        let patched = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-patched.c"));
        let patched_text = patched.to_str().expect("UTF-8");
        let made = run(&["fence", "--model", "tso", "-o", patched_text, text], "");
        assert_eq!(made.code, Some(0), "{name}: {}{}", made.out, made.err);
        let program = compiled(&patched, &format!("{name}-patched"));
        let program = program.to_str().expect("UTF-8");
        let ran = json(&["run", "--format", "json", "--model", "tso", program]);
        assert_eq!(verdict(&ran, "run", "tso"), "holds", "{name} with fences");
    }
}

#[test]
fn fences_for_dekker() {
    check(&["fence", "corpus/c-programs/dekker.c"], "", expect![[""]]);
}

#[test]
fn a_lock_is_broken() {
    check(&["reach", "--model", "tso", "corpus/c-programs/peterson-relaxed.c"], "", expect![[""]]);
    check(&["reach", "corpus/c/keys.c"], "", expect![[""]]);
}

#[test]
fn logs_are_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    for model in ["sc", "tso"] {
        let tests = ["corpus/litmus/SB.litmus", "corpus/litmus/MP.litmus"];
        let ran = run(&["litmus", "--model", model, tests[0], tests[1]], "");
        std::fs::write(path(model), ran.out).expect("written");
    }
    let same = run(&["compare", &path("tso"), &path("tso")], "");
    assert_eq!((same.code, same.out.as_str()), (Some(0), "2 tests, no difference\n"));
    let differs = run(&["compare", &path("sc"), &path("tso")], "");
    assert_eq!(differs.code, Some(1));
    expect![[""]].assert_eq(&differs.out.replace(&path("tso"), "tso.log"));
    let bad = run(&["compare", &path("sc"), "README.md"], "");
    assert_eq!(bad.code, Some(2));
    expect![[""]].assert_eq(&bad.err);
}
