//! The programs under `corpus/programs`: what engines are tested with. Whether the expected
//! answers are right is for the engines to say; here each program has to be well-formed.

use super::super::{parse, print};
use super::WEAK;
use std::fs;
use std::path::PathBuf;

pub(super) fn programs() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../corpus/programs");
    let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "weak"));
    paths.sort();
    assert!(paths.len() >= 26, "found {} programs", paths.len());
    paths
}

#[test]
fn programs_compile_and_are_in_canonical_form() {
    for path in programs() {
        let name = path.display();
        let text = fs::read_to_string(&path).unwrap();
        let parsed = WEAK.accept(&text);
        assert_eq!(parsed.warnings, [], "{name}");
        let asked = parsed.program.condition.is_some() || !parsed.program.forbidden.is_empty();
        // That transactions are serializable is a question, too.
        assert!(asked || text.contains("transaction {"), "{name} asks nothing");
        assert_eq!(print(&parse(&text).unwrap()), text, "{name}");
        assert!(text.starts_with("// "), "{name} does not say what it is");
    }
}

#[test]
fn programs_have_answers_and_a_fenced_version_that_holds() {
    for path in programs() {
        let name = path.display();
        let expected = fs::read_to_string(path.with_extension("expected"))
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        let is_other = |l: &&str| l.starts_with("robust ") || l.starts_with("serial ");
        let lines: Vec<&str> = expected.lines().filter(|l| !is_other(l)).collect();
        let answers: Vec<&str> = lines.iter().filter_map(|l| l.split(' ').nth(1)).collect();
        let models: Vec<&str> = lines.iter().filter_map(|l| l.split(' ').next()).collect();
        assert_eq!(models, ["sc", "tso", "pso"], "{name}");
        assert!(answers.iter().all(|a| ["holds", "violated"].contains(a)), "{name}");
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        // Some fences make an algorithm safe, others make it robust as well.
        if stem.ends_with("-fenced") || stem.ends_with("-robust") {
            assert_eq!(answers, ["holds"; 3], "{name}");
        } else if stem.starts_with("serial-") {
            // These are about transactions, which fences do not mend.
        } else {
            // For the same algorithm with more threads, the fences are those of the smaller one.
            let base = stem.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('-');
            let fenced = |stem: &str| path.with_file_name(format!("{stem}-fenced.weak")).exists();
            assert!(fenced(&stem) || fenced(base), "{name} has no fenced version");
        }
    }
}
