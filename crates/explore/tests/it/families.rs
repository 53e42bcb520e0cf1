//! The programs of the lazy TSO reachability paper: what is known about them, in both languages.

use std::path::Path;
use std::time::Duration;

use weakspot_core::{Drain, Evidence, Limit, Limits, Model, Program, Silent, Verdict};
use weakspot_explore::{Algorithm, Decide, Strategy, reach, robust};
use weakspot_lang::Format;
use weakspot_lang::families::{Family, Syntax};

/// The buffer of the loop has to hold about one round of stores.
const LIMITS: Limits = Limits {
    time: Some(Duration::from_secs(60)),
    memory: Some(4 << 30),
    buffer: 128,
    workers: 1,
    ..Limits::UNLIMITED
};

fn programs(family: Family, size: Option<usize>) -> [Program; 2] {
    [Syntax::Weak, Syntax::Trencher].map(|syntax| {
        let text = family.text(syntax, size).expect("a size in the range");
        let format = syntax.format().expect("an input language");
        weakspot_lang::parse(format, &text).expect("a readable text").program
    })
}

fn reached(program: &Program, model: Model) -> Option<bool> {
    let eager = Algorithm::Eager(Strategy::Auto);
    let found = reach(program, model, eager, &LIMITS, &mut Silent).expect("an answer");
    match found.verdict {
        Verdict::Holds => Some(false),
        Verdict::Violated => Some(true),
        Verdict::Unknown(_) => None,
    }
}

/// Safe under SC, not under TSO and PSO.
#[test]
fn the_goal_needs_a_buffer() {
    let lamport = [2, 3, 4].map(|n| (Family::Lamport, n));
    let diamond = [2, 3, 50, 1000].map(|n| (Family::Diamond, n));
    let loops = [2, 3, 20, 50].map(|n| (Family::Loop, n));
    for (family, n) in lamport.into_iter().chain(diamond).chain(loops) {
        for program in programs(family, Some(n)) {
            assert_eq!(reached(&program, Model::Sc), Some(false), "{} {n}", family.key());
            assert_eq!(reached(&program, Model::Tso), Some(true), "{} {n}", family.key());
            assert_eq!(
                reached(&program, Model::Pso(Drain::All)),
                Some(true),
                "{} {n}",
                family.key()
            );
        }
    }
}

/// Without its slow way in, Lamport's mutex still excludes any two threads under SC, not just all
/// of them together; and it is not dead: one thread gets in.
#[test]
fn lamport_excludes_under_sc() {
    for program in programs(Family::Lamport, Some(3)) {
        let goal = program.forbidden[0].clone();
        for (i, j) in [(0, 1), (0, 2), (1, 2), (0, 0)] {
            let mut pair = vec![None; 3];
            (pair[i], pair[j]) = (goal[i], goal[j]);
            let program = Program { forbidden: vec![pair], ..program.clone() };
            assert_eq!(reached(&program, Model::Sc), Some(i == j), "{i} {j}");
        }
    }
}

/// The loop has to be gone through once and begun again: each turn takes three steps of t1.
#[test]
fn the_loop_is_gone_through() {
    for n in [3, 5, 30] {
        for program in programs(Family::Loop, Some(n)) {
            let eager = Algorithm::Eager(Strategy::Auto);
            let found = reach(&program, Model::Tso, eager, &LIMITS, &mut Silent);
            let Some(Evidence::Run(run)) = found.expect("an answer").into_answer().evidence else {
                panic!("no run of the loop of length {n}");
            };
            assert!(run.steps.len() > 3 * n, "{n}: {}", run.steps.len());
        }
    }
}

/// With a fence after t2's store, t1 has to look at y while all its stores after the 1 wait, up to
/// the next 0. With less room the goal is not found, and the answer says that it may be there.
#[test]
fn the_fenced_loop_needs_room_for_a_round() {
    for n in [3, 5, 9] {
        let text = Family::Loop.text(Syntax::Weak, Some(n)).expect("a size in the range");
        let fenced = text.replace("    y = 1\n", "    y = 1\n    fence\n");
        assert_ne!(fenced, text);
        let program = weakspot_lang::parse(Format::Weak, &fenced).expect("a readable text").program;
        let ask = |buffer| {
            let limits = Limits { buffer, ..LIMITS };
            let eager = Algorithm::Eager(Strategy::Auto);
            reach(&program, Model::Tso, eager, &limits, &mut Silent)
                .expect("an answer")
                .into_answer()
                .verdict
        };
        assert_eq!(ask(n - 1), Verdict::Violated, "{n}");
        assert!(matches!(ask(n - 2), Verdict::Unknown(Limit::Buffer { .. })), "{n}");
    }
}

/// Fig. 12 is safe, but not robust, and its buffers grow for ever: a search of them cannot tell.
#[test]
fn fig12_is_safe_but_not_robust() {
    for program in programs(Family::Fig12, None) {
        assert_eq!(reached(&program, Model::Sc), Some(false));
        assert_eq!(reached(&program, Model::Tso), None, "its buffers have no bound");
        let auto = reach(&program, Model::Tso, Algorithm::Auto, &LIMITS, &mut Silent);
        assert_eq!(auto.expect("an answer").verdict, Verdict::Holds);
        let answer = robust(&program, Model::Tso, Decide::Pending, &LIMITS, &mut Silent);
        assert_eq!(answer.expect("an answer").verdict, Verdict::Violated);
    }
}

/// A program that is safe under SC and reaches its goal under TSO is not robust.
#[test]
fn the_others_are_not_robust() {
    for (family, n) in [(Family::Lamport, 2), (Family::Diamond, 20), (Family::Loop, 3)] {
        for program in programs(family, Some(n)) {
            for model in [Model::Tso, Model::Pso(Drain::All)] {
                let answer = robust(&program, model, Decide::Pending, &LIMITS, &mut Silent);
                assert_eq!(answer.expect("an answer").verdict, Verdict::Violated);
            }
        }
    }
}

/// The seven programs of the paper's Fig. 6, with its numbers of threads: the first four are not
/// robust against TSO, the last three are. What is not robust against TSO is not against PSO.
#[test]
fn robustness_of_the_seven_programs() {
    let programs = [
        ("programs/parker.weak", 2, false, false),
        ("programs/peterson.weak", 2, false, false),
        ("programs/dekker.weak", 2, false, false),
        ("programs/lamport-fast-3.weak", 3, false, false),
        ("programs/mcs-4.weak", 4, true, false),
        ("programs/clh-3.weak", 3, true, true),
        ("programs/treiber-4.weak", 4, true, true),
        ("trencher/parker.txt", 2, false, false),
        ("trencher/peterson.txt", 2, false, false),
        ("trencher/dekker-turns.txt", 2, false, false),
        ("trencher/lamport-fast-3.txt", 3, false, false),
        ("trencher/clh-3.txt", 3, true, true),
    ];
    for (file, threads, tso, pso) in programs {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(file);
        let text = std::fs::read_to_string(&path).expect("the corpus is there");
        let format = Format::of_path(&path).expect("a known ending");
        let program = weakspot_lang::parse(format, &text).expect("a readable text").program;
        assert_eq!(program.threads.len(), threads, "{file}");
        let asked = [
            (Model::Tso, Decide::Pending, tso),
            (Model::Tso, Decide::Attack, tso),
            (Model::Pso(Drain::All), Decide::Pending, pso),
        ];
        for (model, decide, expected) in asked {
            let answer = robust(&program, model, decide, &LIMITS, &mut Silent);
            let verdict = if expected { Verdict::Holds } else { Verdict::Violated };
            assert_eq!(answer.expect("an answer").verdict, verdict, "{file} {model} {decide:?}");
        }
    }
}
