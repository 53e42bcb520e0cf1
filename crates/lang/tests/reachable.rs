//! The example programs of `corpus/trencher` and `corpus/memorax` reach their goals under exactly
//! the models that their comments name.

mod machine;

use machine::{Model, reachable};
use weakspot_core::Program;
use weakspot_lang::{Diagnostic, Parsed, memorax, trencher};

fn is_reachable(program: &Program, model: Model) -> bool {
    let reached = reachable(program, model);
    program.forbidden.iter().any(|row| {
        reached.iter().any(|state| {
            let mut here = row.iter().zip(&state.threads);
            here.all(|(p, local)| p.is_none_or(|p| p.index() == local.point))
        })
    })
}

fn check(name: &str, parsed: Result<Parsed, Diagnostic>, expected: [bool; 3]) {
    let parsed = parsed.unwrap_or_else(|d| panic!("{name}: {d:?}"));
    let reached =
        [Model::Sc, Model::Tso, Model::Pso].map(|model| is_reachable(&parsed.program, model));
    assert_eq!(reached, expected, "{name}: reachable under SC, TSO, PSO");
}

fn trencher(name: &str, expected: [bool; 3]) {
    let path = format!("{}/../../corpus/trencher/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the corpus is there");
    check(name, trencher::parse(&text).and_then(|f| trencher::compile(&f)), expected);
}

fn memorax(text: &str, name: &str, expected: [bool; 3]) {
    check(name, memorax::parse(text).and_then(|f| memorax::compile(&f)), expected);
}

fn memorax_file(name: &str, expected: [bool; 3]) {
    let path = format!("{}/../../corpus/memorax/{name}", env!("CARGO_MANIFEST_DIR"));
    memorax(&std::fs::read_to_string(path).expect("the corpus is there"), name, expected);
}

#[test]
fn trencher_examples() {
    trencher("dekker.txt", [false, true, true]);
    trencher("dekker-fenced.txt", [false, false, false]);
    trencher("peterson-once.txt", [false, true, true]);
    trencher("message-passing.txt", [false, false, true]);
    trencher("locked-counter.txt", [false, false, false]);
}

#[test]
fn memorax_examples() {
    memorax_file("dekker.rmm", [false, true, true]);
    memorax_file("peterson.rmm", [false, true, true]);
    memorax_file("peterson-fenced.rmm", [false, false, false]);
    memorax_file("spin-lock.rmm", [false, false, false]);
    memorax_file("ticket-lock.rmm", [false, false, false]);
    memorax_file("hand-over.rmm", [false, false, true]);
    memorax_file("transfer.rmm", [false, false, false]);
}

#[test]
fn examples_in_the_book() {
    let path = format!("{}/../../docs/trencher-and-memorax.md", env!("CARGO_MANIFEST_DIR"));
    let book = std::fs::read_to_string(path).expect("the book is there");
    let block = |language: &str| {
        let (_, after) = book.split_once(&format!("```{language}\n")).expect("an example");
        after.split_once("```").expect("its end").0.to_owned()
    };
    let text = block("trencher");
    let parsed = trencher::parse(&text).and_then(|f| trencher::compile(&f));
    check("trencher", parsed, [false, true, true]);
    memorax(&block("rmm"), "rmm", [false, false, false]);
}
