//! Searches of the buffers that are interrupted again and again, against those that are not.

use weakspot_core::testing::{Rng, Size, check_programs, scaled};
use weakspot_core::{Evidence, Limit, Limits, Model, PointId, Program, Progress, Silent, Verdict};

use crate::answer::NoAnswer;
use crate::buffers::outcomes::{Strategy, outcomes, outcomes_kept};
use crate::buffers::reach::{by_sc, by_sc_kept, eager, eager_kept};
use crate::keep::Keep;
use crate::sc::kept::tests::{Impatient, InMemory};

const LIMITS: Limits = Limits { buffer: 3, memory: Some(16 << 20), ..Limits::UNLIMITED };

/// What a question comes to: the verdict, the states, the evidence, or all final states, and what stopped it.
#[derive(Debug, PartialEq)]
struct Came {
    verdict: Option<Verdict>,
    states: u64,
    evidence: Option<Evidence>,
    outcomes: Vec<Vec<i64>>,
    fails: bool,
    stopped: Option<Limit>,
}

impl Came {
    fn is_interrupted(&self) -> bool {
        self.stopped == Some(Limit::Interrupted)
            || self.verdict == Some(Verdict::Unknown(Limit::Interrupted))
    }
}

/// One of the questions, kept or not.
type Ask<'a> = &'a dyn Fn(Option<&dyn Keep>, &mut dyn Progress) -> Result<Came, NoAnswer>;

fn reached(
    program: &Program,
    model: Model,
    keep: Option<&dyn Keep>,
    progress: &mut dyn Progress,
) -> Result<Came, NoAnswer> {
    let answer = match (keep, model) {
        (None, Model::Sc) => by_sc(program, &LIMITS, progress)?,
        (None, _) => eager(program, model, Strategy::Auto, &LIMITS, progress)?,
        (Some(keep), Model::Sc) => by_sc_kept(program, keep, &LIMITS, progress)?,
        (Some(keep), _) => eager_kept(program, model, keep, &LIMITS, progress)?,
    };
    let (verdict, evidence) = (Some(answer.verdict), answer.evidence);
    let outcomes = Vec::new();
    Ok(Came { verdict, states: answer.states, evidence, outcomes, fails: false, stopped: None })
}

fn final_states(
    program: &Program,
    model: Model,
    keep: Option<&dyn Keep>,
    progress: &mut dyn Progress,
) -> Result<Came, NoAnswer> {
    let mut found = match keep {
        None => {
            outcomes(program, model, Strategy::Auto, &LIMITS, progress).map_err(NoAnswer::Fault)?
        }
        Some(keep) => outcomes_kept(program, model, keep, &LIMITS, progress)?,
    };
    let fails = found.assertion().is_some();
    let outcomes: Vec<_> = found.set.to_set().into_iter().collect();
    // There is a run to each of them, whoever has found it.
    let evidence = outcomes.last().and_then(|outcome| found.run_to(outcome)).map(Evidence::Run);
    let (stopped, states) = (found.stopped, found.states);
    Ok(Came { verdict: None, states, evidence, outcomes, fails, stopped })
}

/// The answer of a search that is interrupted again and again.
fn in_pieces(ask: Ask<'_>, rng: &mut Rng) -> Result<Came, NoAnswer> {
    let mut earlier = None;
    for piece in 0.. {
        let keep = InMemory::new(1 + rng.below(9) as u64, earlier.take());
        // Whoever is never given time for a node comes to no end.
        let mut impatient = Impatient(2 + piece / 4 + rng.below(6) as u64);
        let came = ask(Some(&keep), &mut impatient)?;
        if !came.is_interrupted() {
            return Ok(came);
        }
        earlier = match keep.earlier.clone() {
            None => keep.kept(),
            before => keep.kept().or(before),
        };
    }
    unreachable!("pieces become longer")
}

fn differs(ask: Ask<'_>, rng: &mut Rng) -> bool {
    let Ok(expected) = ask(None, &mut Silent) else { return in_pieces(ask, rng).is_ok() };
    if expected.states > 3_000 {
        return false;
    }
    in_pieces(ask, rng).map_or(true, |came| came != expected)
}

fn check(seed: u64, count: usize, size: Size) {
    check_programs(seed, count, size, &Model::ALL, &|program, model| {
        let mut program = program.clone();
        let last = |t: &weakspot_core::Thread| Some(PointId::new(t.points.len() - 1));
        let sum = program.threads.iter().map(|t| t.points.len() as u64).sum::<u64>();
        if sum % 2 == 0 {
            program.forbidden = vec![program.threads.iter().map(last).collect()];
        }
        let mut rng = Rng::new(seed ^ sum);
        differs(&|keep, progress| reached(&program, model, keep, progress), &mut rng)
            || differs(&|keep, progress| final_states(&program, model, keep, progress), &mut rng)
    });
}

#[test]
fn small_programs_go_on_as_if_nothing_had_happened() {
    check(5_100_000, scaled(400), Size { threads: 3, instrs: 5, total: 10, locs: 3, loops: false });
    check(5_200_000, scaled(400), Size { threads: 3, instrs: 4, total: 9, locs: 2, loops: true });
}

/// Programs that one of the two searches is for, with threads that are alike, blocks, and assertions that fail.
fn programs() -> Vec<Program> {
    let many = "shared a = 0, b = 0, c = 0
        thread p { var x; while (1) { a = (a + 1) % 2; x = b; c = x } }
        thread q { var x; while (1) { b = (b + 1) % 2; x = c; fence } }";
    let alike = "shared x = 0, y = 0, n = 0
        thread p { var r; x = 1; r = y; atomic { n = n + 1; assert(n < 3) }; y = r + 1 }
        thread q { var r; x = 1; r = y; atomic { n = n + 1; assert(n < 3) }; y = r + 1 }
        thread s { var r; x = 1; r = y; atomic { n = n + 1; assert(n < 3) }; y = r + 1 }
        exists (y == 2)";
    let fails = "shared x = 0, y = 0, z = 0
        thread p { var r; x = 1; z = 1; r = y; assert(r + z < 3) }
        thread q { var r; y = 2; z = 2; r = x; x = r + z }
        thread s { var r; r = z; y = r }
        exists (x == 4)";
    let parse = |text| weakspot_lang::parse(weakspot_lang::Format::Weak, text);
    [many, alike, fails].map(|text| parse(text).expect("a good program").program).into()
}

#[test]
fn blocks_assertions_and_copies_go_on() {
    for (i, program) in programs().iter().enumerate() {
        for model in Model::ALL {
            let mut rng = Rng::new(i as u64);
            for _ in 0..scaled(40).max(4) {
                let reach: Ask<'_> = &|keep, progress| reached(program, model, keep, progress);
                assert!(!differs(reach, &mut rng), "reach {i} {model}");
                let ends: Ask<'_> = &|keep, progress| final_states(program, model, keep, progress);
                assert!(!differs(ends, &mut rng), "final states {i} {model}");
            }
        }
    }
}

/// Bytes that differ are refused or lead to some search, but never to a panic.
#[test]
fn what_is_damaged_is_refused() {
    let mut rng = Rng::new(1);
    let (mut refused, mut rounds) = (0, 0);
    for program in programs() {
        for ticks in [2, 6, 14] {
            let keep = InMemory::new(2, None);
            let came = reached(&program, Model::Tso, Some(&keep), &mut Impatient(ticks));
            let Some(bytes) = keep.kept().filter(|_| came.is_ok()) else { continue };
            for _ in 0..scaled(1_000) {
                let mut bytes = bytes.clone();
                match rng.below(3) {
                    0 => bytes.truncate(rng.below(bytes.len())),
                    1 => bytes.push(0),
                    _ => {
                        let at = rng.below(bytes.len());
                        bytes[at] = bytes[at].wrapping_add(1 + rng.below(255) as u8);
                    }
                }
                rounds += 1;
                let keep = InMemory::new(u64::MAX, Some(bytes));
                match reached(&program, Model::Tso, Some(&keep), &mut Impatient(50)) {
                    Err(NoAnswer::NotResumed(_)) => refused += 1,
                    Err(NoAnswer::Rejected(_) | NoAnswer::Fault(_)) | Ok(_) => {}
                    Err(other) => panic!("{other:?}"),
                }
            }
        }
    }
    assert!(rounds > 0 && refused >= rounds / 2, "{refused} of {rounds}");
}
