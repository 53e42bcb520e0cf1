//! All final states: the shipped litmus tests, the families that grow, and the two searches side
//! by side. `cargo bench -p weakspot-explore`; the fastest of the samples is the steadiest figure.

use std::path::Path;
use std::time::Duration;

use divan::Bencher;
use weakspot_core::{Drain, Limits, Model, Silent};
use weakspot_explore::{Strategy, outcomes};
use weakspot_lang::families::{Family, Syntax};
use weakspot_lang::{Format, Parsed};

fn main() {
    divan::main();
}

const LIMITS: Limits = Limits {
    time: Some(Duration::from_secs(60)),
    memory: Some(4 << 30),
    buffer: 16,
    workers: 1,
    ..Limits::UNLIMITED
};

fn answer(parsed: &Parsed, model: Model, strategy: Strategy) -> u64 {
    let program = &parsed.program;
    let mut found = outcomes(program, model, strategy, &LIMITS, &mut Silent).expect("no fault");
    found.judge(program, model).expect("evidence that passes").positive
}

fn corpus() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/litmus");
    let entries = std::fs::read_dir(folder).expect("the corpus");
    let paths = entries.map(|e| e.expect("a readable folder").path());
    let tests = paths.filter(|p| p.extension().is_some_and(|e| e == "litmus"));
    tests.map(|p| std::fs::read_to_string(p).expect("a readable file")).collect()
}

fn parse(text: &str) -> Parsed {
    weakspot_lang::parse(Format::Litmus, text).unwrap_or_else(|d| panic!("{}", d.message))
}

fn text(family: Family, size: usize) -> String {
    family.text(Syntax::Litmus, Some(size)).expect("a litmus test")
}

/// Text to program, for all shipped litmus tests.
#[divan::bench]
fn parse_corpus(bencher: Bencher<'_, '_>) {
    let texts = corpus();
    bencher.bench(|| texts.iter().map(|t| parse(t).program.threads.len()).sum::<usize>());
}

/// Program to certified answer, for all shipped litmus tests.
#[divan::bench(args = ["SC", "TSO", "PSO"])]
fn answer_corpus(bencher: Bencher<'_, '_>, name: &str) {
    let model = match name {
        "SC" => Model::Sc,
        "TSO" => Model::Tso,
        _ => Model::Pso(Drain::All),
    };
    let tests: Vec<Parsed> = corpus().iter().map(|t| parse(t)).collect();
    bencher.bench(|| tests.iter().map(|t| answer(t, model, Strategy::Auto)).sum::<u64>());
}

/// Each family at the size at which enumeration of executions is out of reach, under TSO.
#[divan::bench(args = [0, 1, 2, 3, 4], sample_count = 10)]
fn family(bencher: Bencher<'_, '_>, family: usize) {
    let (family, size) = (Family::LITMUS[family], [5, 6, 8, 4, 3][family]);
    let parsed = parse(&text(family, size));
    bencher.bench(|| answer(&parsed, Model::Tso, Strategy::Auto));
}

/// The two searches on a test that suits the first and on one that suits the second.
#[divan::bench(args = [("SB all to all", "write order"), ("SB all to all", "explicit"), ("CoRR", "write order"), ("CoRR", "explicit")], sample_count = 5)]
fn searches(bencher: Bencher<'_, '_>, (test, search): (&str, &str)) {
    let text = match test {
        "CoRR" => text(Family::CoherenceReadRead, 7),
        _ => text(Family::StoreBufferingAllToAll, 4),
    };
    let strategy = if search == "explicit" { Strategy::Explicit } else { Strategy::WriteOrder };
    let parsed = parse(&text);
    bencher.bench(|| answer(&parsed, Model::Tso, strategy));
}
