//! What a verdict rests on is what docs/how/trust.md says.

use std::collections::BTreeSet;
use std::path::Path;

use crate::house::imports::use_declarations;
use crate::root;

/// The files of `core/src` that check evidence.
const CHECKERS: [&str; 16] = [
    "evidence/abstraction.rs",
    "evidence/certify.rs",
    "evidence/certified.rs",
    "evidence/fence_proof.rs",
    "evidence/inductive.rs",
    "evidence/lrat.rs",
    "evidence/packing.rs",
    "evidence/pending.rs",
    "evidence/replay.rs",
    "execution/delayed.rs",
    "history/check.rs",
    "history/cycle.rs",
    "history/replay.rs",
    "serial/check.rs",
    "serial/program.rs",
    "serial/stream.rs",
];

const ENGINES: [&str; 7] = ["explore", "history", "serial", "monitor", "sat", "live", "campaign"];

/// Functions and modules of `core` that both checkers and engines name, and why that is no risk.
const SHARED: [(&str, &str); 8] = [
    ("certify", "the checker itself, which engines ask about runs that they have made"),
    (
        "are_points",
        "the checker, asked beforehand; compared with all executions in `serial_evidence`",
    ),
    ("is_whole", "the definition of an access that is not taken apart"),
    ("is_event", "which instructions are events: a definition"),
    ("record", "what a run did, compared with the axioms in `machine_and_axioms`"),
    ("triangular_race", "the definition of such a race"),
    ("initial_write", "a name"),
    ("initial_write_var", "a name"),
];

/// The functions that `use` declarations of a file name, by their last word.
fn functions(path: &Path, of: &dyn Fn(&str) -> bool) -> BTreeSet<String> {
    let text = std::fs::read_to_string(path).expect("a file");
    let text = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
    let (declared, _) = use_declarations(&text);
    let paths = declared.into_iter().map(|(_, path)| path).filter(|path| of(path));
    let names = paths.filter_map(|path| path.rsplit("::").next().map(|n| n.trim().to_owned()));
    names.filter(|name| name.starts_with(|c: char| c.is_lowercase()) && name != "self").collect()
}

fn files(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            files(&path, found);
        } else if name.ends_with(".rs") && !name.contains("test") {
            found.push(path);
        }
    }
}

#[test]
fn checkers_share_only_definitions_with_engines() {
    let crates = root().join("crates");
    let mut used = BTreeSet::new();
    for file in CHECKERS {
        let ours = |path: &str| !path.starts_with("std::");
        used.extend(functions(&crates.join("core/src").join(file), &ours));
    }
    assert!(used.contains("open_ties"), "the source is read in another way than it is written");
    let mut breaches = Vec::new();
    for engine in ENGINES {
        let mut all = Vec::new();
        files(&crates.join(engine).join("src"), &mut all);
        for file in all {
            let names = functions(&file, &|path| path.trim().starts_with("weakspot_core"));
            for name in names.intersection(&used) {
                if !SHARED.iter().any(|(shared, _)| shared == name) {
                    breaches.push(format!("{}: {name}", file.display()));
                }
            }
        }
    }
    assert!(breaches.is_empty(), "used by checkers and engines:\n{}", breaches.join("\n"));
}

/// The binary that checks witnesses has nothing of the engines in it.
#[test]
fn the_checker_links_no_engine() {
    let text = std::fs::read_to_string(root().join("crates/certify/Cargo.toml")).expect("a file");
    let dependencies = text.split("[dependencies]").nth(1).expect("dependencies");
    let dependencies = dependencies.split('[').next().unwrap_or_default();
    let names: Vec<&str> = dependencies
        .lines()
        .filter_map(|line| line.split('.').next())
        .filter(|name| !name.is_empty())
        .collect();
    assert_eq!(
        names,
        [
            "weakspot-core",
            "weakspot-lang",
            "weakspot-trace",
            "weakspot-witness",
            "anyhow",
            "serde_json"
        ]
    );
}

/// The table of docs/how/trust.md: lines of code per crate, without comments, empty lines and tests. It
/// may be off by a tenth.
#[test]
fn trusted_lines_are_counted() {
    let page = std::fs::read_to_string(root().join("docs/how/trust.md")).expect("the page");
    for name in ["core", "lang", "trace", "witness", "certify"] {
        let mut all = Vec::new();
        files(&root().join("crates").join(name).join("src"), &mut all);
        let lines: usize = all
            .iter()
            .filter(|path| !path.components().any(|part| part.as_os_str() == "testing"))
            .map(|path| {
                let text = std::fs::read_to_string(path).expect("a file");
                let code = text.split("#[cfg(test)]").next().unwrap_or_default();
                let is_code =
                    |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
                code.lines().filter(is_code).count()
            })
            .sum();
        let row = page.lines().find_map(|line| line.strip_prefix(&format!("| `{name}` | ")));
        let said = row.and_then(|row| row.split(" |").next()).expect("a row in docs/how/trust.md");
        let said: usize = said.replace(',', "").parse().expect("a number");
        assert!(
            said.abs_diff(lines) * 10 <= lines,
            "{name}: {lines} lines, and the page says {said}"
        );
    }
}

/// The page about dependencies names every crate of Cargo.lock that is not ours, and none that is not there.
#[test]
fn every_dependency_is_on_the_page() {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).expect("Cargo.lock");
    let page = std::fs::read_to_string(root().join("docs/how/dependencies.md")).expect("the page");
    let names = lock.lines().filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    let locked: BTreeSet<&str> = names.filter(|name| !name.starts_with("weakspot")).collect();
    let missing: Vec<&&str> =
        locked.iter().filter(|name| !page.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "not in docs/how/dependencies.md: {missing:?}");
    let table = page.lines().filter_map(|line| line.strip_prefix("| `"));
    for name in table.filter_map(|row| row.split('`').next()) {
        assert!(locked.contains(name), "docs/how/dependencies.md has {name}, Cargo.lock has not");
    }
}
