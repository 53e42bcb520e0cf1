use std::io::Write;
use std::process::{Command, Stdio};

use super::{Family, Refused, Syntax};
use crate::{Format, Parsed, parse, reprint};

/// All members that are worth a look: the measured sizes, the ends of the range, and more.
fn sizes(family: Family) -> Vec<Option<usize>> {
    let Some(range) = family.range() else { return vec![None] };
    let mut sizes: Vec<usize> = family.sizes().to_vec();
    sizes.extend([*range.start(), *range.end(), 7, 8, 100, 200, 999, 1000]);
    sizes.retain(|n| range.contains(n));
    sizes.into_iter().map(Some).collect()
}

fn read(format: Format, text: &str) -> Parsed {
    let parsed = parse(format, text).unwrap_or_else(|d| panic!("{}\n{text}", d.message));
    assert!(parsed.warnings.is_empty(), "{:?}\n{text}", parsed.warnings);
    parsed
}

#[test]
fn every_member_is_read_without_warning() {
    for family in Family::ALL {
        for size in sizes(family) {
            for syntax in family.syntaxes() {
                let text = family.text(*syntax, size).expect("a size in the range");
                if let Some(format) = syntax.format() {
                    read(format, &text);
                }
            }
        }
    }
}

/// The texts are in the form in which `weakspot print` would put them, but for the comments that it
/// does not keep in Trencher's language.
#[test]
fn every_member_survives_printing() {
    for family in Family::ALL {
        for size in sizes(family).into_iter().filter(|n| n.is_none_or(|n| n <= 200)) {
            for syntax in family.syntaxes() {
                let Some(format) = syntax.format() else { continue };
                let text = family.text(*syntax, size).expect("a size in the range");
                let printed = reprint(format, &text).expect("a readable text");
                match format {
                    Format::Weak => assert_eq!(printed, text),
                    Format::Trencher => {
                        let plain: Vec<&str> = text
                            .lines()
                            .skip_while(|l| l.starts_with('#') || l.is_empty())
                            .collect();
                        assert_eq!(printed, plain.join("\n") + "\n");
                    }
                    Format::Litmus | Format::Memorax | Format::C => {}
                }
                assert_eq!(reprint(format, &printed).as_deref(), Ok(printed.as_str()));
                assert_eq!(shape(&read(format, &text)), shape(&read(format, &printed)));
            }
        }
    }
}

/// Threads with their numbers of points and edges, whatever the order of the points.
fn shape(parsed: &Parsed) -> Vec<(usize, Vec<usize>)> {
    let threads = parsed.program.threads.iter();
    let shape = threads.map(|t| {
        let mut edges: Vec<usize> = t.points.iter().map(|p| p.edges.len()).collect();
        edges.sort_unstable();
        (t.points.len(), edges)
    });
    shape.collect()
}

/// The same automata in both languages.
#[test]
fn weak_and_trencher_have_the_same_shape() {
    for family in Family::PROGRAMS {
        for size in sizes(family) {
            let text = |syntax| family.text(syntax, size).expect("a size in the range");
            let weak = read(Format::Weak, &text(Syntax::Weak));
            let trencher = read(Format::Trencher, &text(Syntax::Trencher));
            assert_eq!(shape(&weak), shape(&trencher), "{} {size:?}", family.key());
        }
    }
}

/// The paper's figures: Fig. 7 has ten points and twelve edges per thread, a diamond of size n
/// has n + 6 points, the loop's size is in its numbers only.
#[test]
fn the_automata_are_those_of_the_figures() {
    let counts = |family: Family, size| {
        let text = family.text(Syntax::Trencher, size).expect("a size in the range");
        let shape = shape(&read(Format::Trencher, &text));
        shape.iter().map(|(points, e)| (*points, e.iter().sum::<usize>())).collect::<Vec<_>>()
    };
    assert_eq!(counts(Family::Lamport, Some(3)), [(10, 12); 3]);
    assert_eq!(counts(Family::Diamond, Some(50)), [(56, 104); 2]);
    assert_eq!(counts(Family::Loop, Some(3)), [(6, 7), (6, 5)]);
    assert_eq!(counts(Family::Loop, Some(100)), [(6, 7), (6, 5)]);
    assert_eq!(counts(Family::Fig12, None), [(2, 3); 2]);
}

#[test]
fn what_there_is_not() {
    let refused =
        |family: Family, syntax, size| family.text(syntax, size).expect_err("refused").to_string();
    let cases = [
        refused(Family::Lamport, Syntax::Weak, Some(1)),
        refused(Family::Diamond, Syntax::C, Some(10_001)),
        refused(Family::Fig12, Syntax::Weak, Some(3)),
        refused(Family::Loop, Syntax::Litmus, None),
        refused(Family::TryLock, Syntax::C, None),
    ];
    assert_eq!(
        cases,
        [
            "lamport takes a size from 2 to 64, not 1",
            "diamond takes a size from 2 to 10000, not 10001",
            "fig12 has no size",
            "loop is not written in litmus, but in weak, trencher, c",
            "try-lock is not written in c, but in litmus",
        ]
    );
    assert_eq!(
        Family::Lamport.text(Syntax::Weak, Some(65)),
        Err(Refused::Size(Family::Lamport, 65))
    );
}

#[test]
fn keys_are_distinct_and_known() {
    for family in Family::ALL {
        assert_eq!(Family::of_key(family.key()), Some(family));
        let lists = [&Family::PROGRAMS[..], &Family::LITMUS[..]];
        assert_eq!(lists.iter().filter(|l| l.contains(&family)).count(), 1);
    }
    for syntax in Syntax::ALL {
        assert_eq!(Syntax::of_key(syntax.key()), Some(syntax));
    }
    assert_eq!(Syntax::of_path("a/b.c".as_ref()), Some(Syntax::C));
    assert_eq!(Syntax::of_path("a/b.txt".as_ref()), Some(Syntax::Trencher));
    assert_eq!(Syntax::of_path("a/b.rmm".as_ref()), None);
}

/// A C compiler, if there is one, has nothing to say about the C texts, as CBMC sees them or as it
/// does itself.
#[test]
fn a_compiler_takes_the_c_texts() {
    if Command::new("gcc").arg("--version").output().is_err() {
        return;
    }
    for family in Family::PROGRAMS {
        for size in sizes(family).into_iter().filter(|n| n.is_none_or(|n| n <= 200)) {
            let text = family.text(Syntax::C, size).expect("a size in the range");
            for reader in [&[][..], &["-D__CPROVER__", "-D__CPROVER_assume=assert"][..]] {
                let flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pthread"];
                let mut gcc = Command::new("gcc")
                    .args(flags)
                    .args(reader)
                    .args(["-fsyntax-only", "-x", "c", "-"])
                    .stdin(Stdio::piped())
                    .spawn()
                    .expect("gcc starts");
                let mut input = gcc.stdin.take().expect("a pipe");
                input.write_all(text.as_bytes()).expect("gcc reads");
                drop(input);
                assert!(gcc.wait().expect("gcc ends").success(), "{} {size:?}", family.key());
            }
        }
    }
}
