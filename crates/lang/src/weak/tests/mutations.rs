//! Whatever is done to a text, it is read or refused with a place in the text; nothing panics.

use super::corpus::programs;
use super::{WEAK, page_examples};
use crate::test_support::for_each_mutation;

/// Pieces that are likely to matter and may not occur in the examples.
const PIECES: [&str; 15] = [
    "..",
    "&&",
    "/*",
    "*/",
    "//",
    "9223372036854775807",
    "0x",
    "é",
    "\u{0}",
    "atomic {",
    "transaction {",
    "loop {",
    "choose {",
    "} or {",
    " in 0..1",
];

#[test]
fn mutated_programs_are_read_or_refused() {
    let programs: Vec<String> =
        programs().iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let mut texts = page_examples();
    texts.extend(programs.iter().map(String::as_str));
    let (mut read, mut refused) = (0, 0);
    for_each_mutation(&texts, &PIECES, 20_000, |text| match WEAK.read(text) {
        Ok(_) => read += 1,
        Err(_) => refused += 1,
    });
    assert!(read > 1_000 && refused > 1_000, "read {read}, refused {refused}");
}
