//! The shipped histories satisfy the models that stand beside them: by every method, and by the
//! definitions.

use std::fs::File;
use std::path::{Path, PathBuf};

use weakspot_core::history::{machine_allows, satisfies};
use weakspot_core::{Certification, History, HistoryModel, Limits, Silent, Verdict};
use weakspot_history::{Complete, DecidedBy, Method, check};
use weakspot_trace::{HistoryFormat, HistoryReader};

const NO_LIMITS: Limits =
    Limits { time: None, memory: None, buffer: 0, workers: 1, ..Limits::UNLIMITED };

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/histories");
    let entries = std::fs::read_dir(folder).expect("the corpus is part of the project");
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e != "expected" && e != "md"));
    paths.sort();
    assert!(paths.len() > 10);
    paths
}

/// Whether the history satisfies the model, if all ways to find out agree.
fn is_satisfied(ops: &History, model: HistoryModel, context: &str) -> bool {
    let mut verdicts = Vec::new();
    for complete in Complete::ALL {
        for saturate in [true, false] {
            let method = Method { complete, saturate };
            let answer = check(ops, model, method, &NO_LIMITS, &mut Silent)
                .unwrap_or_else(|rejected| panic!("{context} {method:?}: {rejected}"));
            let by_clocks = answer.decided_by == DecidedBy::Clocks && ops.len() > 40;
            let expect = if by_clocks && answer.verdict == Verdict::Holds {
                Certification::TooLarge
            } else {
                Certification::Checked
            };
            assert_eq!(answer.certification(), expect, "{context} {method:?}");
            verdicts.push(answer.verdict == Verdict::Holds);
        }
    }
    // The machine, where there is one, decides more operations than the definition.
    match machine_allows(ops, model, 1_000_000) {
        Some(allowed) => verdicts.push(allowed),
        None => verdicts.push(satisfies(ops, model)),
    }
    if ops.len() <= 12 {
        verdicts.push(satisfies(ops, model));
    }
    verdicts.dedup();
    assert_eq!(verdicts.len(), 1, "{context}: not all agree");
    verdicts[0]
}

/// `name: cc cm`, the models that the history satisfies; those with real time if there are times.
fn line(name: &str, ops: &History, context: &str) -> String {
    let satisfied = HistoryModel::ALL
        .into_iter()
        .chain([HistoryModel::TsoRt, HistoryModel::Lin].into_iter().filter(|_| ops.has_times()))
        .filter(|&model| is_satisfied(ops, model, &format!("{context} {name} {}", model.key())));
    let keys: Vec<&str> = satisfied.map(HistoryModel::key).collect();
    format!("{name}: {}\n", if keys.is_empty() { "none".to_owned() } else { keys.join(" ") })
}

#[test]
fn histories() {
    for path in files() {
        let context = path.display().to_string();
        let source = Box::new(File::open(&path).expect("a readable file"));
        let mut reader = match HistoryFormat::from_path(&path) {
            Some(format) => HistoryReader::new(source, format),
            None => HistoryReader::sniff(source).expect("a readable file"),
        };
        let mut found = String::new();
        let mut number = 0;
        while let Some(history) = reader.next().unwrap_or_else(|e| panic!("{}", e.of(&context))) {
            number += 1;
            let name = history.id.unwrap_or_else(|| format!("history {number}"));
            found += &line(&name, &history.ops, &context);
        }
        let beside = PathBuf::from(format!("{context}.expected"));
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&beside, &found).expect("a writable corpus");
        }
        let expected = std::fs::read_to_string(&beside).unwrap_or_default();
        assert_eq!(found, expected, "{context}; UPDATE_EXPECT=1 rewrites what is expected");
    }
}
