//! Counters that grow for ever: the shipped programs get the answers that stand beside them. Random
//! programs are in `src/abstraction/tests.rs`, which sees the search without its check.

use std::path::{Path, PathBuf};
use std::time::Duration;

use weakspot_core::testing::scaled;
use weakspot_core::{
    Abstraction, Certification, Drain, Evidence, Limits, Model, Program, Silent, Verdict, certify,
};
use weakspot_explore::{Algorithm, reach};
use weakspot_lang::Format;

const LIMITS: Limits = Limits {
    time: Some(Duration::from_secs(60)),
    memory: Some(1 << 30),
    buffer: 64,
    ..Limits::UNLIMITED
};

fn program(path: &Path) -> Program {
    let text = std::fs::read_to_string(path).expect("a readable file");
    let format = Format::of_path(path).expect("a known ending");
    weakspot_lang::parse(format, &text)
        .unwrap_or_else(|d| panic!("{}: {}", path.display(), d.message))
        .program
}

/// Ticket locks and bakeries, with and without fences. Those that hold have no end in any other
/// search.
#[test]
fn corpus() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/unbounded");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the corpus is part of the project")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|e| e == "weak" || e == "rmm"))
        .collect();
    paths.sort();
    assert!(paths.len() >= 10);
    for path in paths {
        // Seconds each: with a quarter of the random inputs and more.
        let is_large = path.to_string_lossy().contains("bakery-3");
        if is_large && scaled(100) < 25 {
            continue;
        }
        let program = program(&path);
        let mut found = String::new();
        for (name, model) in
            [("sc", Model::Sc), ("tso", Model::Tso), ("pso", Model::Pso(Drain::All))]
        {
            let ask = |algorithm| {
                reach(&program, model, algorithm, &LIMITS, &mut Silent)
                    .unwrap_or_else(|e| panic!("{} {name}: {e:?}", path.display()))
            };
            let answer = ask(Algorithm::Counters);
            // Twice the time: with a quarter of the random inputs and more.
            if scaled(100) >= 25 {
                let auto = ask(Algorithm::Auto);
                assert_eq!(auto.verdict, answer.verdict, "{} {name}", path.display());
            }
            let word = match answer.verdict {
                Verdict::Holds => "holds",
                Verdict::Violated => "violated",
                Verdict::Unknown(_) => "unknown",
            };
            found += &format!("{name} {word}\n");
        }
        let ending = path.extension().and_then(|e| e.to_str()).expect("an ending");
        let beside = path.with_extension(format!("{ending}.expected"));
        expect_test::expect_file![beside].assert_eq(&found);
    }
}

/// What the checker accepts for a program, it accepts for no other.
#[test]
fn forged() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/unbounded");
    let (good, torn) =
        (program(&folder.join("ticket-2.weak")), program(&folder.join("ticket-torn.weak")));
    let answer = reach(&good, Model::Tso, Algorithm::Counters, &LIMITS, &mut Silent);
    let answer = answer.expect("an answer");
    assert_eq!(answer.certification(), Certification::Checked);
    let Some(Evidence::Abstracted { abstraction, .. }) = &answer.evidence else {
        panic!("{:?}", answer.evidence)
    };
    let check = |program: &Program, abstraction: &Abstraction| {
        certify::search_abstraction(program, Model::Tso, abstraction, 100_000)
    };
    check(&good, abstraction).expect("what was just checked");
    for gap in [2, 3, 10] {
        let mut finer = abstraction.clone();
        finer.gap = gap;
        check(&good, &finer).expect("more is told apart");
    }
    let mut forged = abstraction.clone();
    forged.locs[0] = None;
    check(&good, &forged).expect_err("a counter in memory that is none");
    let mut forged = abstraction.clone();
    forged.gap = 0;
    check(&good, &forged).expect_err("nothing is told apart");
    let found = reach(&torn, Model::Sc, Algorithm::Counters, &LIMITS, &mut Silent);
    assert_eq!(found.expect("an answer").verdict, Verdict::Violated);
}
