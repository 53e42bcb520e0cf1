//! The crate graph.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use crate::root;

/// The table in ARCHITECTURE.md: who may use whom.
fn allowed() -> BTreeMap<String, BTreeSet<String>> {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let table = text.split("| crate | may use |").nth(1).expect("the table of crates");
    let mut allowed = BTreeMap::new();
    for row in table.lines().skip(2).take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let uses: BTreeSet<String> = match cells[1] {
            "nothing of ours" => BTreeSet::new(),
            list => list.split(", ").map(str::to_owned).collect(),
        };
        for name in cells[0].split(", ") {
            allowed.insert(name.to_owned(), uses.clone());
        }
    }
    allowed
}

#[test]
fn crates_depend_on_each_other_as_the_architecture_page_says() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo metadata");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let allowed = allowed();
    let mut seen = BTreeSet::new();
    for package in metadata["packages"].as_array().expect("packages") {
        let short = |name: &str| match name {
            "weakspot" => Some("cli".to_owned()),
            _ => name.strip_prefix("weakspot-").map(str::to_owned),
        };
        let name = short(package["name"].as_str().expect("a name")).expect("a crate of ours");
        let may_use = allowed.get(&name).unwrap_or_else(|| panic!("{name} is not in the table"));
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let used = dependency["name"].as_str().expect("a name");
            if dependency["kind"] != "dev"
                && let Some(used) = short(used)
            {
                assert!(may_use.contains(&used), "{name} uses {used}");
            }
            assert!(name != "core" || dependency["kind"] == "dev", "core uses {used}");
        }
        seen.insert(name);
    }
    assert_eq!(seen, allowed.keys().cloned().collect(), "the table and the workspace differ");
}
