//! Searches that are interrupted again and again, and go on with other numbers of processes and threads, against
//! those that are not.

use weakspot_core::testing::{Rng, Size, random_program, scaled, show};
use weakspot_core::{Model, PointId, Program, Silent, Thread, Value, Verdict};

use crate::answer::NoAnswer;
use crate::keep::Keep;
use crate::sc::kept::tests::{Impatient, InMemory, turns};
use crate::sc::packed::Plan;
use crate::sc::spread::tests::{Came, Few, came, together, with_computed_addresses};
use crate::team::Team;

/// What one process comes to: alone, or with others.
type Ask<'a, T> =
    &'a (dyn Fn(Option<&dyn Team>, usize, Option<&dyn Keep>, &mut Impatient) -> T + Sync);

/// Asks some number of processes, or one that is alone, until they come to more than a limit; each time with what was
/// kept before. And how often another number of workers has gone on.
fn in_pieces<T: Send + PartialEq + std::fmt::Debug>(
    ask: Ask<'_, T>,
    is_limit: &dyn Fn(&T) -> bool,
    rng: &mut Rng,
) -> (T, usize) {
    let mut earlier: Option<Vec<u8>> = None;
    let mut patience = 4;
    let (mut before, mut changes) = ((0, 0), 0);
    loop {
        let resumes = earlier.is_some();
        let keep = InMemory::new(1 + rng.below(4) as u64, earlier.take());
        let (processes, threads) = (rng.below(4), 1 + rng.below(2));
        let ticks: Vec<u64> =
            (0..processes.max(1)).map(|_| 1 + rng.below(patience) as u64).collect();
        patience += 1;
        changes += usize::from(resumes && (processes, threads) != before);
        before = (processes, threads);
        let came = match processes {
            0 => ask(None, threads, Some(&keep), &mut Impatient(ticks[0])),
            _ => {
                let mut all = together(processes, |team| {
                    let (_, process) = team.place();
                    // Only one of them has it.
                    let keep = (process == 0).then_some(&keep as &dyn Keep);
                    ask(Some(team), threads, keep, &mut Impatient(ticks[process]))
                });
                let first = all.swap_remove(0);
                if !is_limit(&first) {
                    all.iter().for_each(|other| assert_eq!(*other, first));
                }
                first
            }
        };
        if !is_limit(&came) {
            return (came, changes);
        }
        // A search that was stopped before it began keeps nothing.
        earlier = match keep.earlier.clone() {
            None => keep.kept(),
            before => keep.kept().or(before),
        };
    }
}

fn check_way(program: &Program, value: Option<Value>, seed: u64) -> usize {
    let expected = came(program, value, Plan::breadth_first(1), &mut Few);
    if expected == Came::Limit || matches!(expected, Came::Complete(3_000..)) {
        return 0;
    }
    let ask: Ask<'_, Came> = &|team, threads, keep, progress| {
        let plan = Plan { large: 4, team, keep, ..Plan::breadth_first(threads) };
        came(program, value, plan, progress)
    };
    let (found, changes) = in_pieces(ask, &|came| *came == Came::Limit, &mut Rng::new(seed));
    assert_eq!(found, expected, "seed {seed}\n{}", show(program));
    changes
}

#[test]
fn another_number_of_processes_goes_on() {
    let sizes = [
        Size { threads: 4, instrs: 5, total: 12, locs: 4, loops: false },
        Size { threads: 3, instrs: 5, total: 12, locs: 3, loops: true },
    ];
    let mut changes = 0;
    for seed in 5_400_000..5_400_000 + scaled(1_200) as u64 {
        let mut rng = Rng::new(seed);
        let mut program = random_program(&mut rng, sizes[seed as usize % 2]);
        if seed % 3 == 0 {
            program = with_computed_addresses(program, &mut rng);
        }
        program.forbidden.clear();
        changes += check_way(&program, [None, Some(0), Some(1), Some(2)][seed as usize % 4], seed);
    }
    for seed in 0..scaled(400) as u64 {
        let mut program = crate::sc::symmetry::tests::copies(seed);
        program.forbidden.clear();
        changes += check_way(&program, [None, Some(1), Some(2)][seed as usize % 3], seed);
    }
    assert!(changes > scaled(1_200) / 2, "{changes}");
}

/// The questions that can be kept come to the same answers, with evidence that passes its check.
#[test]
fn questions_go_on() {
    let size = Size { threads: 3, instrs: 5, total: 11, locs: 3, loops: true };
    let unlimited = weakspot_core::Limits::UNLIMITED;
    for seed in 5_500_000..5_500_000 + scaled(400) as u64 {
        let mut program = random_program(&mut Rng::new(seed), size);
        let middle = |t: &Thread| Some(PointId::new(t.points.len() / 2));
        program.forbidden = vec![program.threads.iter().map(middle).collect()];
        if weakspot_core::reference::reachable(&program, Model::Sc, 3_000).is_none() {
            continue;
        }
        type Answer = Result<(Verdict, u64), NoAnswer>;
        let reach =
            crate::reach(&program, Model::Sc, crate::Algorithm::Auto, &unlimited, &mut Silent);
        let robust =
            crate::robust(&program, Model::Tso, crate::Decide::Pending, &unlimited, &mut Silent);
        let expected: [Answer; 2] = [
            reach.map(|r| (r.verdict.clone(), r.states)),
            robust.map(|r| (r.verdict.clone(), r.states)),
        ];
        for (i, expected) in expected.iter().enumerate() {
            let ask: Ask<'_, Option<(Verdict, u64)>> = &|team, workers, keep, progress| {
                let limits = weakspot_core::Limits { workers, ..unlimited };
                let (program, model) = (&program, Model::Tso);
                let answer: Answer = match (team, keep, i) {
                    (Some(team), keep, 0) => {
                        crate::reach_together(program, team, keep, &limits, progress)
                            .map(|r| (r.verdict.clone(), r.states))
                    }
                    (Some(team), keep, _) => {
                        crate::robust_together(program, model, team, keep, &limits, progress)
                            .map(|r| (r.verdict.clone(), r.states))
                    }
                    (None, Some(keep), 0) => {
                        crate::reach_kept(program, Model::Sc, keep, &limits, progress)
                            .map(|r| (r.verdict.clone(), r.states))
                    }
                    (None, Some(keep), _) => {
                        crate::robust_kept(program, model, keep, &limits, progress)
                            .map(|r| (r.verdict.clone(), r.states))
                    }
                    (None, None, _) => panic!("nothing is kept"),
                };
                answer.ok()
            };
            let is_limit =
                |came: &Option<(Verdict, u64)>| matches!(came, Some((Verdict::Unknown(_), _)));
            let (found, _) = in_pieces(ask, &is_limit, &mut Rng::new(seed));
            match (&found, expected) {
                (Some(found), Ok(expected)) if expected.0 == Verdict::Violated => {
                    assert_eq!(found.0, expected.0, "seed {seed}");
                }
                (Some(found), Ok(expected)) => assert_eq!(found, expected, "seed {seed}"),
                (found, expected) => assert!(found.is_none() && expected.is_err(), "seed {seed}"),
            }
        }
    }
}

/// What one process, or several, have kept of a search in the middle of things.
fn kept_of(program: &Program, processes: usize) -> Vec<u8> {
    let keep = InMemory::new(2, None);
    let limits = weakspot_core::Limits::UNLIMITED;
    for ticks in 5.. {
        let answers = together(processes, |team| {
            let keep = (team.place().1 == 0).then_some(&keep as &dyn Keep);
            crate::reach_together(program, team, keep, &limits, &mut Impatient(ticks))
        });
        let first = answers[0].as_ref().expect("no error");
        assert!(matches!(first.verdict, Verdict::Unknown(_)), "{ticks}");
        if keep.has_kept() && first.states > 20 {
            break;
        }
    }
    keep.kept().expect("it was kept")
}

/// Bytes that differ are refused by all processes or lead to some search, but never to a panic.
#[test]
fn what_is_damaged_is_refused_by_all() {
    let program = turns(4);
    let kept = kept_of(&program, 2);
    let limits =
        weakspot_core::Limits { memory: Some(64 << 20), ..weakspot_core::Limits::UNLIMITED };
    let again = |bytes: Vec<u8>, processes: usize| {
        let keep = InMemory::new(u64::MAX, Some(bytes));
        together(processes, |team| {
            let keep = (team.place().1 == 0).then_some(&keep as &dyn Keep);
            crate::reach_together(&program, team, keep, &limits, &mut Impatient(60))
        })
    };
    let mut rng = Rng::new(1);
    let mut refused = 0;
    let rounds = scaled(300);
    for round in 0..rounds {
        let mut bytes = kept.clone();
        match rng.below(3) {
            0 => bytes.truncate(rng.below(bytes.len())),
            1 => bytes.push(0),
            _ => {
                let at = rng.below(bytes.len());
                bytes[at] = bytes[at].wrapping_add(1 + rng.below(255) as u8);
            }
        }
        let answers = again(bytes, 2 + round % 2);
        let refuses = |answer: &Result<_, NoAnswer>| matches!(answer, Err(NoAnswer::NotResumed(_)));
        assert!(
            answers.iter().all(|answer| refuses(answer) == refuses(&answers[0])),
            "{answers:?}"
        );
        refused += usize::from(refuses(&answers[0]));
    }
    assert!(refused >= rounds / 2, "{refused} of {rounds}");
}
