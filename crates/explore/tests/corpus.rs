//! The shipped programs get the answers that stand beside them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use weakspot_core::{Drain, Limits, Model, Silent, Value, Verdict, certify};
use weakspot_explore::{Algorithm, Strategy, outcomes, reach};
use weakspot_lang::Format;

const MODELS: [(&str, Model); 3] =
    [("sc", Model::Sc), ("tso", Model::Tso), ("pso", Model::Pso(Drain::All))];

fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(folder);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the corpus is part of the project")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|e| e == ending))
        .collect();
    paths.sort();
    assert!(!paths.is_empty());
    paths
}

/// One word for everything that a program asks.
fn verdict(path: &Path, model: Model) -> &'static str {
    let text = std::fs::read_to_string(path).expect("a readable file");
    let format = Format::of_path(path).expect("a known ending");
    let parsed = weakspot_lang::parse(format, &text).expect("a shipped program");
    let program = &parsed.program;
    let limits = Limits {
        time: Some(Duration::from_secs(60)),
        memory: Some(8 << 30),
        buffer: 16,
        workers: 1,
    };
    let answer = reach(program, model, Algorithm::Auto, &limits, &mut Silent)
        .unwrap_or_else(|e| panic!("{}: {e:?}", path.display()));
    match answer.verdict {
        Verdict::Holds => "holds",
        Verdict::Violated => "violated",
        Verdict::Unknown(_) => "unknown",
    }
}

#[test]
fn programs() {
    let all = [("programs", "weak"), ("trencher", "txt"), ("memorax", "rmm")];
    for path in all.iter().flat_map(|(folder, ending)| files(folder, ending)) {
        let found: String =
            MODELS.iter().map(|(name, m)| format!("{name} {}\n", verdict(&path, *m))).collect();
        expect_test::expect_file![path.with_extension("expected")].assert_eq(&found);
    }
}

/// The blocks that `weakspot litmus` prints, without the time.
#[test]
fn litmus_tests() {
    let paths = files("litmus", "litmus");
    assert!(paths.len() >= 250);
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let parsed = weakspot_lang::parse(Format::Litmus, &text)
            .unwrap_or_else(|d| panic!("{}: {}", path.display(), d.message));
        let limits = Limits { time: None, memory: None, buffer: 16, workers: 1 };
        let mut found = String::new();
        for (name, model) in MODELS {
            let mut all = outcomes(&parsed.program, model, Strategy::Auto, &limits, &mut Silent)
                .unwrap_or_else(|f| panic!("{}: {f:?}", path.display()));
            assert_eq!(all.stopped, None, "{}", path.display());
            let judged = all
                .judge(&parsed.program, model)
                .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            // What is claimed to be complete is derived again, by definition.
            certify::search(&parsed.program, model, &judged.verdict, 2_000_000)
                .unwrap_or_else(|e| panic!("{} {name}: {e}", path.display()));
            let verdict = if judged.verdict == Verdict::Holds { "ok" } else { "no" };
            let (p, n) = (judged.positive, judged.negative);
            found += &format!("{name} {verdict} {p} {n}\n");
            all.set.for_each(|row| {
                let value = |v: Value| match parsed.program.loc_at(v) {
                    Some(loc) => parsed.names.loc(loc).to_owned(),
                    None => v.to_string(),
                };
                for (name, &v) in parsed.names.observed.iter().zip(row) {
                    found += &format!(" {name}={};", value(v));
                }
                found.push('\n');
                true
            });
        }
        expect_test::expect_file![path.with_extension("expected")].assert_eq(&found);
    }
}
