//! Tests from cycles: their names, and that the engine's definition and the languages agree.

use weakspot_core::reference::reachable;
use weakspot_core::{Drain, Model};
use weakspot_gen::{Cycle, CycleSyntax, Edge, critical};
use weakspot_lang::Format;

fn cycle(words: &str) -> Result<Cycle, String> {
    let edges: Vec<Edge> = words.split(' ').map(|w| Edge::parse(w).expect("a step")).collect();
    Cycle::new(&edges).map_err(|error| error.to_string())
}

/// Which of SC, TSO and PSO allow the test.
fn allowed(cycle: &Cycle, syntax: CycleSyntax) -> [bool; 3] {
    let text = cycle.text(syntax, "comment");
    let format = if syntax == CycleSyntax::Weak { Format::Weak } else { Format::Litmus };
    let parsed = weakspot_lang::parse(format, &text)
        .unwrap_or_else(|refused| panic!("{} in\n{text}", refused.message));
    let prop = &parsed.program.condition.as_ref().expect("a condition").prop;
    [Model::Sc, Model::Tso, Model::Pso(Drain::All)].map(|model| {
        let found = reachable(&parsed.program, model, 5_000_000).expect("few states");
        found.outcomes.iter().any(|state| prop.holds(state))
    })
}

#[test]
fn names() {
    for (words, name) in [
        ("PodWR Fre PodWR Fre", "SB"),
        ("Fre PodWR Fre PodWR", "SB"),
        ("Rfe PodRR Fre PodWW", "MP"),
        ("PodWW Rfe PodRR Fre", "MP"),
        ("PodRW Rfe PodRW Rfe", "LB"),
        ("PodWW Wse PodWW Wse", "2+2W"),
        ("PodWW Coe PodWR Fre", "R"),
        ("PodWW Rfe PodRW Coe", "S"),
        ("Rfe PodRW Rfe PodRR Fre", "WRC"),
        ("Rfe PodRR Fre Rfe PodRR Fre", "IRIW"),
        ("Rfe PodRR Fre PodWR Fre", "RWC"),
        ("PodWW Rfe PodRW Rfe PodRR Fre", "ISA2"),
        ("MFencedWR Fre MFencedWR Fre", "SB+mfences"),
        ("MFencedWR Fre PodWR Fre", "SB+mfence+po"),
        ("Rfi PodRR Fre Rfi PodRR Fre", "SB+rfi-pos"),
        ("SFencedWW Rfe PodRR Fre", "MP+sfence+po"),
        ("Rfe PosRR Fre", "CoRR"),
        ("PosWW Coe", "CoWW"),
    ] {
        assert_eq!(cycle(words).map(|c| c.name()), Ok(name.to_owned()), "{words}");
    }
}

/// Wherever a cycle begins, it has the name that diyone7 gives it.
#[test]
fn names_of_all_rotations() {
    for (words, name) in [
        ("MFencedWR Fre PodWW Wse", "R+po+mfence"),
        ("PodWR Fre MFencedWR Fre", "SB+mfence+po"),
        ("Fre PodWW Rfe PodRR MFencesRR", "MP+po+poR-mfences"),
        ("Fre MFencedWW Rfi PodRR Fre Rfe SFencedRR", "RWC+sfence+mfence-rfi-po"),
        ("Wse SFencedWW Wse Rfe MFencedRR Fri", "WRW+2W+mfence-fri+sfence"),
        ("Rfe SFencedRR Fre Wse SFencedWR Fre SFencedWW", "W+WR+WW+RR+sfences"),
        (
            "MFencedWW PodWW Rfe MFencedRW Wse Rfe SFencedRW Wse",
            "W+RW+WW+RW+sfence+mfenceW-po+mfence",
        ),
        (
            "PodWR Fre Rfi PosRR Fre PosWR PodRW MFencesWR MFencesRR Fre",
            "3.SB+po+rfi-pos+posR-poW-mfencesR-mfences",
        ),
        ("Rfe PodRR PodRW Rfe SFencedRW PosWR Fri", "LB+poR-po+sfenceW-pos-fri"),
        ("Rfe Fre Rfe PodRW Wse Rfi SFencedRW", "W+RW+WW+R+po+rfi-sfence"),
    ] {
        let edges: Vec<Edge> = words.split(' ').map(|w| Edge::parse(w).expect("a step")).collect();
        for at in 0..edges.len() {
            let mut rotated = edges.clone();
            rotated.rotate_left(at);
            assert_eq!(Cycle::new(&rotated).expect("a cycle").name(), name, "{words} from {at}");
        }
    }
}

#[test]
fn refusals() {
    for (words, why) in [
        ("PodWR Rfe", "PodWR ends in a read, but Rfe, which follows, begins with a write"),
        ("PodWR Fri", "no step leads to another thread: expected Rfe, Fre or Coe"),
        ("PodWR Fre", "only PodWR leads to another location: the cycle does not come back"),
        ("PosWW Coe Coe", "more than two writes to one location are not supported"),
        (
            "Rfi Fre Coe",
            "no order of the writes has such a cycle: expected a step of program order, as PosWR",
        ),
    ] {
        assert_eq!(cycle(words).map(|c| c.name()), Err(why.to_owned()), "{words}");
    }
    assert_eq!(Edge::parse("Pod**"), None);
}

#[test]
fn the_classic_ones() {
    for (words, expected) in [
        ("PodWR Fre PodWR Fre", [false, true, true]),
        ("PodWW Rfe PodRR Fre", [false, false, true]),
        ("PodRW Rfe PodRW Rfe", [false, false, false]),
        ("PodWW Coe PodWR Fre", [false, true, true]),
        ("PodWW Rfe PodRW Coe", [false, false, true]),
        ("PodWW Coe PodWW Coe", [false, false, true]),
        ("Rfi PodRR Fre Rfi PodRR Fre", [false, true, true]),
        ("MFencedWR Fre MFencedWR Fre", [false, false, false]),
        ("SFencedWW Rfe PodRR Fre", [false, false, false]),
        ("Rfe PosRR Fre", [false, false, false]),
        ("PosWW Coe", [false, false, false]),
        ("PosRW Rfe", [false, false, false]),
    ] {
        let cycle = cycle(words).expect("a cycle");
        for syntax in CycleSyntax::ALL {
            assert_eq!(allowed(&cycle, syntax), expected, "{words} {syntax:?}");
        }
    }
}

/// SC forbids every critical cycle. TSO allows those with a write before a read in each thread that
/// is needed for it, so one without any is forbidden; PSO those that have neither that nor two
/// writes.
#[test]
fn all_critical_cycles() {
    let names = |size| {
        let mut names: Vec<String> = critical(size).iter().map(Cycle::name).collect();
        names.sort();
        names
    };
    assert_eq!(names(4), ["2+2W", "LB", "MP", "R", "S", "SB"]);
    let all = critical(6);
    let mut distinct = names(6);
    distinct.dedup();
    assert_eq!(distinct.len(), all.len(), "each has a name of its own");
    for cycle in &all {
        let [sc, tso, pso] = allowed(cycle, CycleSyntax::X86);
        let relaxed = |step: &str| cycle.words().contains(step);
        assert!(!sc, "{}", cycle.words());
        assert_eq!(tso, relaxed("PodWR"), "{}", cycle.words());
        assert_eq!(pso, relaxed("PodWR") || relaxed("PodWW"), "{}", cycle.words());
    }
}

/// On one location, a cycle is a test or none wherever it begins, and each test is forbidden: it has every step of
/// the cycle.
#[test]
fn cycles_on_one_location() {
    const STEPS: [&str; 10] =
        ["PosWR", "PosWW", "PosRR", "PosRW", "Rfe", "Rfi", "Fre", "Fri", "Coe", "Coi"];
    let steps: Vec<Edge> = STEPS.iter().map(|w| Edge::parse(w).expect("a step")).collect();
    let (mut tests, mut refused) = (0, 0);
    for size in 2..=4u32 {
        for number in 0..10usize.pow(size) {
            let of = |i: u32| steps[number / 10usize.pow(i) % 10];
            let edges: Vec<Edge> = (0..size).map(of).collect();
            let rotations = (0..edges.len()).map(|at| {
                let mut rotated = edges.clone();
                rotated.rotate_left(at);
                Cycle::new(&rotated)
            });
            let rotations: Vec<_> = rotations.collect();
            let accepted = rotations.iter().filter(|cycle| cycle.is_ok()).count();
            assert!(accepted == 0 || accepted == edges.len(), "{edges:?}");
            refused += usize::from(accepted == 0);
            for cycle in rotations.iter().flatten() {
                assert_eq!(cycle.name(), rotations[0].as_ref().expect("all are").name());
            }
            if let Some(Ok(cycle)) = rotations.last() {
                tests += 1;
                assert_eq!(allowed(cycle, CycleSyntax::X86), [false; 3], "{}", cycle.words());
            }
        }
    }
    assert!(tests > 100 && refused > 100, "{tests} {refused}");
}
