//! The example programs of `corpus/trencher` and `corpus/memorax` reach their goals under exactly
//! the models that their comments name.

use weakspot_core::reference::is_forbidden;
use weakspot_core::{Drain, Model, Program};
use weakspot_lang::{Format, parse};

fn is_reachable(program: &Program, model: Model) -> bool {
    crate::states::states(program, model).iter().any(|state| is_forbidden(program, state))
}

fn check(name: &str, format: Format, text: &str, expected: [bool; 3]) {
    let parsed = parse(format, text).unwrap_or_else(|d| panic!("{name}: {d:?}"));
    let reached = [Model::Sc, Model::Tso, Model::Pso(Drain::All)]
        .map(|model| is_reachable(&parsed.program, model));
    assert_eq!(reached, expected, "{name}: reachable under SC, TSO, PSO");
}

/// A file of the corpus.
fn file(name: &str, expected: [bool; 3]) {
    let path = format!("{}/../../corpus/{name}", env!("CARGO_MANIFEST_DIR"));
    let format = Format::of_path(path.as_ref()).expect("a known ending");
    let text = std::fs::read_to_string(path).expect("the corpus is there");
    check(name, format, &text, expected);
}

#[test]
fn trencher_examples() {
    file("trencher/dekker.txt", [false, true, true]);
    file("trencher/dekker-fenced.txt", [false, false, false]);
    file("trencher/peterson-once.txt", [false, true, true]);
    file("trencher/message-passing.txt", [false, false, true]);
    file("trencher/locked-counter.txt", [false, false, false]);
}

#[test]
fn memorax_examples() {
    file("memorax/dekker.rmm", [false, true, true]);
    file("memorax/peterson.rmm", [false, true, true]);
    file("memorax/peterson-fenced.rmm", [false, false, false]);
    file("memorax/spin-lock.rmm", [false, false, false]);
    file("memorax/ticket-lock.rmm", [false, false, false]);
    file("memorax/hand-over.rmm", [false, false, true]);
    file("memorax/transfer.rmm", [false, false, false]);
}

#[test]
fn examples_in_the_book() {
    let path =
        format!("{}/../../docs/reference/trencher-and-memorax.md", env!("CARGO_MANIFEST_DIR"));
    let book = std::fs::read_to_string(path).expect("the book is there");
    let block = |language: &str| {
        let (_, after) = book.split_once(&format!("```{language}\n")).expect("an example");
        after.split_once("```").expect("its end").0.to_owned()
    };
    check("the book", Format::Trencher, &block("trencher"), [false, true, true]);
    check("the book", Format::Memorax, &block("rmm"), [false, false, false]);
}
