//! Searches that take less memory, against those that keep all states as they are.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use weakspot_core::testing::{Size, check_programs, scaled};
use weakspot_core::{Evidence, Limit, Limits, Model, PointId, Program, Silent, Verdict};

use crate::answer::NoAnswer;
use crate::robust::pending;
use crate::sc::kept::tests::turns;
use crate::sc::packed::Plan;
use crate::sc::safety;
use crate::storage::{Scratch, Storage};

/// What a search comes to: its verdict, its states, and how many steps its run has.
#[derive(Debug, PartialEq)]
struct Came {
    verdict: Verdict,
    states: u64,
    steps: Option<usize>,
}

const LIMITS: Limits = Limits { buffer: 0, memory: Some(4 << 20), ..Limits::UNLIMITED };

type Asked<'a> = dyn Fn(Plan<'_>) -> Result<Came, NoAnswer> + 'a;

fn came(verdict: Verdict, states: u64, evidence: Option<Evidence>) -> Came {
    let steps = match evidence {
        Some(Evidence::Run(run)) => Some(run.steps.len()),
        _ => None,
    };
    Came { verdict, states, steps }
}

fn asked_of(program: &Program) -> [Box<Asked<'_>>; 2] {
    [
        Box::new(|plan| {
            let found = safety::reach(program, plan, &LIMITS, &mut Silent)?;
            Ok(came(found.verdict, found.states, found.evidence))
        }),
        Box::new(|plan| {
            let found = pending::robust(program, Model::Tso, plan, &LIMITS, &mut Silent)?;
            Ok(came(found.verdict, found.states, found.evidence))
        }),
    ]
}

/// Files in the system's folder, so many of them.
#[derive(Debug)]
pub(crate) struct Files {
    left: AtomicUsize,
}

impl Files {
    pub(crate) fn new(most: usize) -> Files {
        Files { left: AtomicUsize::new(most) }
    }
}

impl Scratch for Files {
    fn file(&self) -> io::Result<File> {
        let take = |left: usize| left.checked_sub(1);
        let left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        let number = left.map_err(|_| io::ErrorKind::StorageFull)?;
        let (process, here) = (std::process::id(), &raw const *self);
        let name = std::env::temp_dir().join(format!("weakspot-{process}-{here:?}-{number}"));
        let file = File::options().read(true).write(true).create_new(true).open(&name)?;
        std::fs::remove_file(name)?;
        Ok(file)
    }

    fn say(&self, error: &io::Error) -> String {
        format!("files: {error}")
    }
}

fn plan(workers: usize, storage: Option<Storage<'_>>) -> Plan<'_> {
    Plan { large: 4, storage, ..Plan::breadth_first(workers) }
}

fn differs(ask: &Asked<'_>, workers: &[usize]) -> bool {
    let expected = ask(plan(1, None));
    // Some programs count for ever.
    if matches!(&expected, Ok(came) if matches!(came.verdict, Verdict::Unknown(_))) {
        return false;
    }
    workers.iter().any(|&workers| {
        let files = Files::new(1_000);
        let hashes = ask(plan(workers, Some(Storage::Hashes(64))));
        let disk = ask(plan(workers, Some(Storage::Disk(&files))));
        let (Ok(expected), Ok(hashes), Ok(disk)) = (&expected, &hashes, &disk) else {
            return expected.is_ok() || hashes.is_ok() || disk.is_ok();
        };
        // How many states a search has seen before it finds something depends on the order.
        let is_other = |came: &Came| match came.verdict {
            Verdict::Violated => {
                expected.verdict != Verdict::Violated || came.steps != expected.steps
            }
            _ => came != expected,
        };
        match &hashes.verdict {
            Verdict::Unknown(Limit::Hashes(omission)) => {
                expected.verdict != Verdict::Holds
                    || hashes.states != expected.states
                    || omission.states > expected.states
                    || is_other(disk)
            }
            _ => is_other(hashes) || is_other(disk),
        }
    })
}

fn check(seed: u64, all: usize, size: Size) {
    check_programs(seed, scaled(all), size, &[Model::Sc], &|program, _| {
        let mut program = program.clone();
        let last = |t: &weakspot_core::Thread| Some(PointId::new(t.points.len() - 1));
        program.forbidden = vec![program.threads.iter().map(last).collect()];
        program.condition = None;
        let workers = if program.threads.len() % 4 == 3 { &[1, 3][..] } else { &[1] };
        asked_of(&program).iter().any(|ask| differs(&**ask, workers))
    });
}

#[test]
fn small_programs_have_the_same_answers() {
    check(4_300_000, 800, Size { threads: 4, instrs: 5, total: 14, locs: 4, loops: false });
    check(4_400_000, 800, Size { threads: 3, instrs: 5, total: 12, locs: 3, loops: true });
}

#[test]
fn copies_of_threads_have_the_same_answers() {
    for seed in 0..scaled(400) as u64 {
        let program = crate::sc::symmetry::tests::copies(seed);
        for ask in asked_of(&program) {
            assert!(
                !differs(&*ask, &[1]),
                "seed {seed}\n{}",
                weakspot_core::testing::show(&program)
            );
        }
    }
}

/// A search that takes several levels in files, and one that gets none.
#[test]
fn a_disk_without_room_is_told() {
    let program = turns(3);
    let [reach, _] = asked_of(&program);
    let expected = reach(plan(1, None)).expect("an answer");
    assert_eq!(expected.verdict, Verdict::Holds);
    for workers in [1, 2] {
        let files = Files::new(1_000);
        let came = reach(plan(workers, Some(Storage::Disk(&files)))).expect("an answer");
        assert_eq!(came, expected);
        assert!(files.left.load(Ordering::Relaxed) < 1_000, "no file was used");
    }
    let few = Files::new(3);
    let came = reach(plan(1, Some(Storage::Disk(&few))));
    assert!(
        matches!(&came, Err(NoAnswer::NotStored(why)) if why.starts_with("files: ")),
        "{came:?}"
    );
}
