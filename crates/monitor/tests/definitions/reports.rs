//! Soundness and completeness of the monitors by definition.

use std::sync::atomic::{AtomicUsize, Ordering};

use weakspot_core::testing::{Rng, Size, scaled, show};
use weakspot_core::{DelayedCommit, Drain, Evidence, Model, Program, Verdict, certify, reference};
use weakspot_monitor::reference::{Form, reports};
use weakspot_monitor::witness;

use crate::runs;

pub(crate) const MODELS: [Model; 3] = [Model::Tso, Model::Pso(Drain::All), Model::Pso(Drain::Own)];

/// For each model: some SC execution has a report, of either form, exactly when the program is not
/// robust.
#[test]
fn reports_exactly_when_not_robust() {
    let (robust, broken) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let fails = |program: &Program| {
        let Some(expected) = reference::robust(program, &MODELS, 20_000) else { return false };
        let expected: Vec<bool> = expected.iter().flat_map(|&r| [!r, !r]).collect();
        let tables = runs::tables(program);
        let forms = MODELS.iter().flat_map(|&m| [(m, Form::All), (m, Form::Last)]);
        let forms: Vec<(Model, Form)> = forms.collect();
        let mut found = vec![false; forms.len()];
        let all = runs::for_each(program, 2000, &mut |run| {
            for (found, &(model, form)) in found.iter_mut().zip(&forms) {
                *found |= !*found && !reports(&run.events, &tables, model, form).is_empty();
            }
            !found.iter().all(|&found| found)
        });
        if !all && !found.iter().all(|&found| found) {
            return false;
        }
        for &breaks in &expected {
            let count = if breaks { &broken } else { &robust };
            count.fetch_add(1, Ordering::Relaxed);
        }
        found != expected
    };
    for (i, count, threads, total) in [(0, 6000, 2, 9), (1, 4800, 3, 8), (2, 3200, 4, 8)] {
        let size = Size { threads, instrs: 6, total, locs: 3, loops: false };
        runs::check(i << 32, count, size, &fails);
    }
    let (robust, broken) = (robust.into_inner(), broken.into_inner());
    assert!(robust > scaled(40_000) && broken > scaled(8000), "{robust} {broken}");
}

/// Each report on a random execution, also of a program with loops, has a run that the checker of
/// logs accepts, and so does the checker of runs of programs.
#[test]
fn runs_are_runs_of_the_program() {
    let mut checked = 0;
    for seed in 0..scaled(24_000) as u64 {
        let mut rng = Rng::new(seed);
        let size = Size { threads: 4, instrs: 8, total: 20, locs: 3, loops: seed % 2 == 0 };
        let program = runs::program(seed, size);
        let tables = runs::tables(&program);
        let run = runs::random(&program, &mut rng, 40);
        for model in MODELS {
            for report in reports(&run.events, &tables, model, Form::All) {
                let context = || format!("seed {seed}, {model}, {report:?}\n{}", show(&program));
                let delayed = witness(&run.events, &tables, model, report.store, report.access);
                let delayed = delayed.unwrap_or_else(|| panic!("{}", context()));
                let said = certify::delayed(&run.events, &tables, &delayed);
                assert_eq!(said, Ok(()), "{}", context());
                let schedule = run.schedule(&program, &delayed);
                let schedule = schedule.unwrap_or_else(|| panic!("{}", context()));
                let evidence = Evidence::Run(schedule);
                let said = certify::robust(&program, model, &Verdict::Violated, &evidence);
                assert_eq!(said, Ok(()), "{}", context());
                checked += 1;
            }
        }
    }
    assert!(checked > scaled(8000), "{checked}");
}

/// Runs that were tampered with: what the checker of logs still accepts, the checker of runs of
/// programs accepts, too.
#[test]
fn tampered_runs() {
    let (mut accepted, mut rejected) = (0, 0);
    for seed in 0..scaled(12_000) as u64 {
        let mut rng = Rng::new(seed);
        let size = Size { threads: 3, instrs: 6, total: 12, locs: 2, loops: false };
        let program = runs::program(seed, size);
        let tables = runs::tables(&program);
        let run = runs::random(&program, &mut rng, 30);
        for model in MODELS {
            for report in reports(&run.events, &tables, model, Form::All) {
                let Some(honest) =
                    witness(&run.events, &tables, model, report.store, report.access)
                else {
                    panic!("seed {seed}: no run for {report:?}");
                };
                for _ in 0..10 {
                    let mut delayed = honest.clone();
                    for _ in 0..1 + rng.below(2) {
                        tamper(&mut rng, &mut delayed, program.locs.len());
                    }
                    if delayed == honest {
                        continue;
                    }
                    if certify::delayed(&run.events, &tables, &delayed).is_err() {
                        rejected += 1;
                        continue;
                    }
                    accepted += 1;
                    let context = || format!("seed {seed}, {delayed:?}\n{}", show(&program));
                    let schedule = run.schedule(&program, &delayed);
                    let schedule = schedule.unwrap_or_else(|| panic!("{}", context()));
                    let evidence = Evidence::Run(schedule);
                    let model = delayed.model;
                    let said = certify::robust(&program, model, &Verdict::Violated, &evidence);
                    assert_eq!(said, Ok(()), "{}", context());
                }
            }
        }
    }
    assert!(rejected > scaled(12_000) && accepted > scaled(1200), "{rejected} {accepted}");
}

fn tamper(rng: &mut Rng, run: &mut weakspot_core::DelayedRun, locs: usize) {
    let at = rng.below(run.commits.len().max(1));
    match rng.below(7) {
        0 => run.model = MODELS[rng.below(3)],
        1 => run.access = run.access.saturating_sub(1 + rng.below(2)),
        2 if !run.commits.is_empty() => {
            run.commits.remove(at);
        }
        3 => {
            let before = run.commits.get(at).map_or(run.access, |commit| commit.before);
            let (thread, loc) = (rng.below(3) as u16, rng.below(locs) as u32);
            run.commits.insert(at, DelayedCommit { before, thread, loc });
        }
        4 if at + 1 < run.commits.len() => {
            let before = run.commits[at].before;
            run.commits.swap(at, at + 1);
            run.commits[at].before = before;
        }
        5 if !run.commits.is_empty() => run.commits[at].before = rng.below(run.access + 1),
        _ => {
            let arc = rng.below(run.cycle.len());
            run.cycle.remove(arc);
            if let Some(next) = run.cycle.get(arc).copied()
                && arc > 0
            {
                run.cycle[arc - 1].to = next.from;
            }
        }
    }
}
