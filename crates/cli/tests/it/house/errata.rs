//! What docs/how/errata.md shows is what the command prints.

use crate::{root, run};

/// Below each command of the page stand beginnings of lines that it prints.
#[test]
fn counterexamples() {
    let text = std::fs::read_to_string(root().join("docs/how/errata.md")).expect("the page");
    let mut commands = 0;
    let mut printed = String::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.starts_with("```") {
            is_code = line == "```sh";
        } else if let Some(command) = line.strip_prefix("$ weakspot ") {
            let args: Vec<&str> = command.split_whitespace().collect();
            printed = run(&args, "").out;
            commands += 1;
        } else if is_code {
            let found = printed.lines().any(|out| out.starts_with(line));
            assert!(found, "not printed: {line}\n{printed}");
        }
    }
    assert!(commands > 10, "{commands}");
}
