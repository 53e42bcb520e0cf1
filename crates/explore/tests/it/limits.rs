//! Limits hold for a question, whatever the number of its phases.

use std::time::{Duration, Instant};

use weakspot_core::{Drain, Limit, Limits, Model, Progress, Silent, Snapshot, Verdict};
use weakspot_explore::{
    Algorithm, Decide, Strategy, Which, interleavings, monitored, outcomes, overtakings, reach,
    robust, triangular_race_free,
};
use weakspot_lang::{Format, Parsed};

fn parse(text: &str) -> Parsed {
    weakspot_lang::parse(Format::Weak, text).unwrap_or_else(|d| panic!("{d:?}"))
}

/// Hears how much memory is used.
#[derive(Default)]
struct Heard {
    most: u64,
}

impl Progress for Heard {
    fn tick(&mut self, snapshot: Snapshot) -> bool {
        self.most = self.most.max(snapshot.memory);
        true
    }
}

/// A question that began long ago is answered by nobody: every engine counts from its beginning.
#[test]
fn the_time_before_an_engine_is_asked_counts() {
    let text = "
        shared x = 0, y = 0, z = choose(0..99), v = choose(0..99)
        thread p { var r = 0; while (r < 50) { x = r; r = r + 1 } }
        thread q { var s, t; x = 1; s = y; t = z; assert(t <= 99) }
        thread u { var s; y = 1; s = x; s = v; y = s }
        forall x >= 0
    ";
    let parsed = parse(text);
    let program = &parsed.program;
    let hour = Duration::from_secs(3600);
    let Some(began) = Instant::now().checked_sub(2 * hour) else { return };
    let limits = Limits { time: Some(hour), buffer: 4, ..Limits::UNLIMITED }.since(began);
    let late = |verdict: &Verdict| *verdict == Verdict::Unknown(Limit::Time(hour));
    for model in [Model::Sc, Model::Tso, Model::Pso(Drain::All)] {
        let found = reach(program, model, Algorithm::Auto, &limits, &mut Silent).expect("no fault");
        assert!(late(&found.verdict), "{model:?}: {:?}", found.verdict);
    }
    for decide in [Decide::Pending, Decide::Attack] {
        let found = robust(program, Model::Tso, decide, &limits, &mut Silent).expect("no fault");
        assert!(late(&found.verdict), "{decide:?}: {:?}", found.verdict);
    }
    let found = triangular_race_free(program, &limits, &mut Silent).expect("no fault");
    assert!(late(&found.verdict));
    let found = overtakings(program, Model::Tso, &limits, &mut Silent).expect("no fault");
    assert_eq!(found.limit, Some(Limit::Time(hour)));
}

/// More initial states than fit anywhere: every engine ends at the limit, and within it.
#[test]
fn initial_states_count() {
    let parsed = parse(
        "shared a = choose(0..999), b = choose(0..999), c = choose(0..999)
         shared d = choose(0..999), e = choose(0..999), f = choose(0..999)
         thread p { var r; b = 1; r = a; assert(r >= 0) }
         thread q { var r; a = 1; r = b; assert(r >= 0) }
         forall a >= 0",
    );
    let program = &parsed.program;
    let most = 16 << 20;
    let limits = Limits { memory: Some(most), buffer: 4, ..Limits::UNLIMITED };
    let memory = Verdict::Unknown(Limit::Memory(most));
    let check = |what: &str, verdict: &Verdict, heard: &Heard| {
        assert_eq!(*verdict, memory, "{what}");
        assert!(heard.most < 2 * most, "{what}: {} bytes", heard.most);
    };
    let eager = Algorithm::Eager(Strategy::Auto);
    for (model, algorithm) in [(Model::Sc, Algorithm::Auto), (Model::Tso, eager)] {
        let mut heard = Heard::default();
        let found = reach(program, model, algorithm, &limits, &mut heard).expect("no fault");
        check("reach", &found.verdict, &heard);
    }
    for decide in [Decide::Pending, Decide::Attack] {
        let mut heard = Heard::default();
        let found = robust(program, Model::Tso, decide, &limits, &mut heard).expect("no fault");
        check("robust", &found.verdict, &heard);
    }
    let mut heard = Heard::default();
    let found = triangular_race_free(program, &limits, &mut heard).expect("no fault");
    check("races", &found.verdict, &heard);
    // These go through initial states one after the other.
    let short = Limits { time: Some(Duration::from_millis(100)), ..limits };
    let found = interleavings(program, &short, &mut Silent);
    assert!(found.is_ok());
    let which = Which::Preemptions(0);
    let found = monitored(program, &[Model::Tso], which, 100, &short, &mut Silent).expect("fine");
    assert_eq!(found.limit, Some(Limit::Time(Duration::from_millis(100))));
}

/// What is known of a long thread before the search begins is found in linear time: with an hour
/// already gone nobody gets to search, and the rest does not take minutes.
#[test]
fn long_threads_are_not_looked_at_over_and_over() {
    let statements = "  x = 1;\n  r = y;\n".repeat(20_000);
    let parsed = parse(&format!(
        "shared x = 0, y = 0\nthread p {{ var r;\n{statements} }}\n\
         thread q {{ var r; r = x; y = 1; assert(r >= 0) }}"
    ));
    let limits = Limits { time: Some(Duration::ZERO), buffer: 4, ..Limits::UNLIMITED };
    let start = Instant::now();
    let late = Verdict::Unknown(Limit::Time(Duration::ZERO));
    for model in [Model::Sc, Model::Tso, Model::Pso(Drain::All)] {
        let found = reach(&parsed.program, model, Algorithm::Auto, &limits, &mut Silent);
        assert_eq!(found.expect("no fault").verdict, late, "{model:?}");
        let found = robust(&parsed.program, model, Decide::Pending, &limits, &mut Silent);
        assert_eq!(found.expect("no fault").verdict, late, "{model:?}");
        let found = outcomes(&parsed.program, model, Strategy::Auto, &limits, &mut Silent);
        drop(found.expect("no fault"));
    }
    // Quadratic work would be some 10^10 steps.
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}
