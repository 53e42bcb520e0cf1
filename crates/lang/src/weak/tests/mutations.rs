//! Whatever is done to a text, it is read or refused with a place in the text; nothing panics.

use super::super::{compile, parse, print};
use super::corpus::programs;
use super::page_examples;

/// A small generator of pseudo-random numbers (splitmix64), so that failures can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound.max(1) as u64) as usize
    }
}

/// Pieces that are likely to matter.
const PIECES: [&str; 40] = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    "\n",
    "=",
    "==",
    ":",
    ".",
    "..",
    ",",
    "&",
    "*",
    "&&",
    "!",
    "/*",
    "*/",
    "//",
    "-",
    "1",
    "9223372036854775807",
    "0x",
    "me",
    "x",
    "é",
    "\u{0}",
    "goto",
    "atomic {",
    "loop {",
    "choose {",
    " or ",
    "else ",
    "fence",
    "never at ",
    "thread t {",
    "var ",
    " in 0..1",
];

fn mutate(text: &str, random: &mut Random) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len());
        let end = (at + random.below(12)).min(bytes.len());
        match random.below(5) {
            0 => drop(bytes.drain(at..end)),
            1 => {
                let copy = bytes[at..end].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, copy);
            }
            2 if at < bytes.len() => bytes[at] = random.below(256) as u8,
            3 => drop(bytes.splice(at..end, PIECES[random.below(PIECES.len())].bytes())),
            _ => drop(bytes.splice(at..at, PIECES[random.below(PIECES.len())].bytes())),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn mutated_programs_are_read_or_refused() {
    let mut examples: Vec<String> = page_examples().into_iter().map(str::to_owned).collect();
    examples.extend(programs().iter().map(|path| std::fs::read_to_string(path).unwrap()));
    let (mut read, mut refused) = (0, 0);
    for seed in 0..20_000 {
        let mut random = Random(seed);
        let text = mutate(&examples[random.below(examples.len())], &mut random);
        let result = parse(&text).and_then(|file| {
            let printed = print(&file);
            let again = parse(&printed).unwrap_or_else(|e| panic!("seed {seed}\n{printed}\n{e:?}"));
            assert_eq!(again, file, "seed {seed}\n{text}\n{printed}");
            assert_eq!(print(&again), printed, "seed {seed}");
            compile(&file).map(|parsed| parsed.warnings)
        });
        let diagnostics = match result {
            Ok(warnings) => {
                read += 1;
                warnings
            }
            Err(error) => {
                refused += 1;
                vec![error]
            }
        };
        for d in diagnostics {
            let (start, end) = (d.span.start as usize, d.span.end as usize);
            assert!(text.get(start..end).is_some(), "seed {seed}: {d:?}\n{text}");
            assert!(!d.message.is_empty(), "seed {seed}");
        }
    }
    assert!(read > 1_000 && refused > 1_000, "read {read}, refused {refused}");
}
