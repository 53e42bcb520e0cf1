//! Same input, same output: text and JSON depend neither on how many threads work on the inputs nor on
//! the order in which they are named.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;
use weakspot_core::testing::sampled;

use crate::run;

fn files(folder: &str, ending: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&root)
        .expect("a folder of the corpus")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|found| found == ending))
        .collect();
    files.sort();
    files.into_iter().map(|path| path.display().to_string()).collect()
}

/// Without what is different each time: how long it took.
fn without_times(value: Value) -> Value {
    match value {
        Value::Object(all) => {
            let stays = |key: &String| !matches!(key.as_str(), "time_s" | "tool");
            let all = all.into_iter().filter(|(key, _)| stays(key));
            Value::Object(all.map(|(key, value)| (key, without_times(value))).collect())
        }
        Value::Array(all) => Value::Array(all.into_iter().map(without_times).collect()),
        value => value,
    }
}

/// The objects that a command writes about these files.
fn objects(command: &[&str], threads: &str, files: &[String]) -> Vec<String> {
    let mut words = command.to_vec();
    words.extend(["--format", "json", "--threads", threads]);
    words.extend(files.iter().map(String::as_str));
    let ran = run(&words, "");
    assert!(ran.code.is_some_and(|code| code < 3), "{command:?}: {}", ran.err);
    let object = |line: &str| {
        let object: Value = serde_json::from_str(line).expect("JSON");
        without_times(object).to_string()
    };
    ran.out.lines().map(object).collect()
}

/// Those of a command without times at the ends of lines.
fn text(command: &[&str], threads: &str, files: &[String]) -> Vec<String> {
    let mut words = command.to_vec();
    words.extend(["--threads", threads]);
    words.extend(files.iter().map(String::as_str));
    let ran = run(&words, "");
    let ends = |line: &str| line.ends_with(" s") || line.ends_with(" per second");
    let is_time = |line: &&str| line.starts_with("Time ") || line.contains(" in ") && ends(line);
    ran.out.lines().filter(|line| !is_time(line)).map(str::to_owned).collect()
}

fn same(command: &[&str], files: &[String]) {
    let files = &sampled(files.to_vec())[..];
    assert!(!files.is_empty(), "{command:?}");
    let one = objects(command, "1", files);
    let two = objects(command, "2", files);
    assert_eq!(one, two, "{command:?}: with one thread and with two");
    let backwards: Vec<String> = files.iter().rev().cloned().collect();
    let again: BTreeSet<String> = objects(command, "4", &backwards).into_iter().collect();
    assert_eq!(one.into_iter().collect::<BTreeSet<_>>(), again, "{command:?}: in another order");
    assert_eq!(text(command, "1", files), text(command, "2", files), "{command:?}");
    // With one file, threads work on its search together.
    for file in files.iter().step_by(5) {
        let file = std::slice::from_ref(file);
        assert_eq!(
            objects(command, "1", file),
            objects(command, "2", file),
            "{command:?} {file:?}"
        );
    }
}

#[test]
fn litmus() {
    same(&["litmus", "--states"], &files("litmus", "litmus"));
}

#[test]
fn reach() {
    same(&["reach"], &files("programs", "weak"));
}

#[test]
fn robust() {
    same(&["robust"], &files("programs", "weak"));
}

#[test]
fn fence() {
    same(&["fence"], &files("trencher", "txt"));
}

#[test]
fn history() {
    same(&["history"], &files("histories", "jsonl"));
    // One file with many, good and bad, which several threads answer.
    let read = |file: &String| std::fs::read_to_string(file).expect("a history");
    let all: Vec<String> = files("histories", "jsonl").iter().map(read).collect();
    let bad = [
        r#"{"threads":[[{"kind":"w","var":"x","val":1}],[{"kind":"r","var":"x","val":2}]]}"#,
        r#"{"threads":[[{"kind":"w","var":"x","val":1}],"#,
        r#"{"threads":[]}"#,
    ];
    for bad in bad {
        let text = [&all.concat(), bad, "\n", &all.concat()].concat();
        let said = |threads| {
            let ran = run(&["history", "--threads", threads, "-"], &text);
            let timeless = ran.out.lines().filter(|line| !line.starts_with("Time "));
            (timeless.map(str::to_owned).collect::<Vec<_>>(), ran.err, ran.code)
        };
        let one = said("1");
        assert!(one.0.len() > 100, "{:?}", one.0);
        assert_eq!(one, said("4"), "{bad}");
    }
}

#[test]
fn serial() {
    same(&["serial"], &files("transactions", "wstrace"));
}

#[test]
fn monitor() {
    same(&["monitor"], &files("traces", "wstrace"));
}
