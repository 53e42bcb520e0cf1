//! Searches that are interrupted again and again, and go on with other numbers of threads, against those
//! that are not.

use std::io::{self, Cursor, Read, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use weakspot_core::testing::{Rng, Size, check_programs, scaled};
use weakspot_core::{
    Evidence, Limit, Limits, Model, PointId, Program, Progress, Silent, Snapshot, Verdict,
};

use crate::answer::{NoAnswer, Reach};
use crate::keep::Keep;
use crate::robust::{Robust, pending};
use crate::sc::packed::Plan;
use crate::sc::safety;

/// Keeps a search in memory, at every `every`th occasion.
pub(crate) struct InMemory {
    every: u64,
    asked: AtomicU64,
    pub(crate) earlier: Option<Vec<u8>>,
    kept: Mutex<Option<Vec<u8>>>,
}

impl InMemory {
    pub(crate) fn new(every: u64, earlier: Option<Vec<u8>>) -> InMemory {
        InMemory { every, asked: AtomicU64::new(0), earlier, kept: Mutex::new(None) }
    }

    pub(crate) fn has_kept(&self) -> bool {
        self.kept.lock().expect("no panic").is_some()
    }

    pub(crate) fn kept(self) -> Option<Vec<u8>> {
        self.kept.into_inner().expect("no panic")
    }
}

impl Keep for InMemory {
    fn earlier(&self) -> Option<io::Result<Box<dyn Read + '_>>> {
        self.earlier.as_ref().map(|bytes| Ok(Box::new(Cursor::new(bytes)) as Box<dyn Read>))
    }

    fn is_due(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed) % self.every == self.every - 1
    }

    fn keep(&self, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) {
        let mut bytes = Vec::new();
        write(&mut bytes).expect("memory takes all");
        *self.kept.lock().expect("no panic") = Some(bytes);
    }
}

/// Interrupts at a certain tick.
pub(crate) struct Impatient(pub(crate) u64);

impl Progress for Impatient {
    fn tick(&mut self, _: Snapshot) -> bool {
        self.0 = self.0.saturating_sub(1);
        self.0 > 0
    }
}

const LIMITS: Limits = Limits { buffer: 0, memory: Some(4 << 20), ..Limits::UNLIMITED };

fn plan(workers: usize, keep: Option<&dyn Keep>) -> Plan<'_> {
    Plan { large: 4, keep, ..Plan::breadth_first(workers) }
}

/// What a search comes to.
#[derive(Debug, PartialEq)]
struct Came {
    verdict: Verdict,
    states: u64,
    evidence: Option<Evidence>,
}

impl From<Reach> for Came {
    fn from(Reach { verdict, states, evidence, .. }: Reach) -> Came {
        Came { verdict, states, evidence }
    }
}

impl From<Robust> for Came {
    fn from(Robust { verdict, states, evidence, .. }: Robust) -> Came {
        Came { verdict, states, evidence }
    }
}

type Ask<'a> = &'a dyn Fn(Plan<'_>, &mut dyn Progress) -> Result<Came, NoAnswer>;

/// The answer of a search that is interrupted again and again, by `rng`, with as many threads as it says.
fn in_pieces(ask: Ask<'_>, rng: &mut Rng, most_threads: usize) -> Result<Came, NoAnswer> {
    let mut earlier = None;
    loop {
        let keep = InMemory::new(1 + rng.below(5) as u64, earlier.take());
        let mut impatient = Impatient(1 + rng.below(6) as u64);
        let workers = 1 + rng.below(most_threads);
        let came = ask(plan(workers, Some(&keep)), &mut impatient)?;
        if !matches!(came.verdict, Verdict::Unknown(_)) {
            return Ok(came);
        }
        // A search that was stopped before it began keeps nothing.
        earlier = match keep.earlier.clone() {
            None => keep.kept(),
            before => keep.kept().or(before),
        };
    }
}

fn differs(ask: Ask<'_>, rng: &mut Rng) -> bool {
    let Ok(expected) = ask(plan(1, None), &mut Silent) else {
        return in_pieces(ask, rng, 3).is_ok();
    };
    // What was kept is read again for each piece: large searches take too long.
    if expected.states > 1_000 || matches!(expected.verdict, Verdict::Unknown(_)) {
        return false;
    }
    let Ok(alone) = in_pieces(ask, rng, 1) else { return true };
    let Ok(together) = in_pieces(ask, rng, 3) else { return true };
    // With one thread nothing differs at all.
    if alone != expected || together.verdict != expected.verdict {
        return true;
    }
    expected.verdict == Verdict::Holds && together != expected
}

fn asked_of(program: &Program) -> [Box<Asked<'_>>; 2] {
    [
        Box::new(|plan, progress| Ok(safety::reach(program, plan, &LIMITS, progress)?.into())),
        Box::new(|plan, progress| {
            Ok(pending::robust(program, Model::Tso, plan, &LIMITS, progress)?.into())
        }),
    ]
}

type Asked<'a> = dyn Fn(Plan<'_>, &mut dyn Progress) -> Result<Came, NoAnswer> + 'a;

fn check(seed: u64, all: usize, size: Size) {
    check_programs(seed, scaled(all), size, &[Model::Sc], &|program, _| {
        let mut program = program.clone();
        let last = |t: &weakspot_core::Thread| Some(PointId::new(t.points.len() - 1));
        program.forbidden = vec![program.threads.iter().map(last).collect()];
        program.condition = None;
        let mut rng =
            Rng::new(seed ^ program.threads.iter().map(|t| t.points.len() as u64).sum::<u64>());
        asked_of(&program).iter().any(|ask| differs(&**ask, &mut rng))
    });
}

#[test]
fn small_programs_go_on_as_if_nothing_had_happened() {
    check(4_100_000, 800, Size { threads: 4, instrs: 5, total: 14, locs: 4, loops: false });
    check(4_200_000, 800, Size { threads: 3, instrs: 5, total: 12, locs: 3, loops: true });
}

#[test]
fn copies_of_threads_go_on_as_if_nothing_had_happened() {
    for seed in 0..scaled(400) as u64 {
        let program = crate::sc::symmetry::tests::copies(seed);
        let mut rng = Rng::new(seed);
        for ask in asked_of(&program) {
            assert!(!differs(&*ask, &mut rng), "{}", weakspot_core::testing::show(&program));
        }
    }
}

/// One that was kept in the middle of things.
fn kept_of(program: &Program) -> (Came, Vec<u8>) {
    let [reach, _] = asked_of(program);
    let expected = reach(plan(1, None), &mut Silent).expect("an answer");
    let keep = InMemory::new(3, None);
    let came = reach(plan(2, Some(&keep)), &mut Impatient(6)).expect("no fault");
    assert!(matches!(came.verdict, Verdict::Unknown(_)), "{came:?}");
    (expected, keep.kept().expect("it was stopped"))
}

/// Three threads that store sums of what they read, below `size`.
pub(crate) fn turns(size: u32) -> Program {
    let text = format!(
        "shared a = 0, b = 0, c = 0
        thread p {{ var x; while (1) {{ x = b; assert(x >= 0); a = (x + c * 3 + 1) % {size} }} }}
        thread q {{ var x; while (1) {{ x = c; b = (x + a * 5 + 2) % {size} }} }}
        thread r {{ var x; while (1) {{ x = a; c = (x + b * 7 + 3) % {} }} }}",
        size - 1
    );
    weakspot_lang::parse(weakspot_lang::Format::Weak, &text).expect("a good program").program
}

/// Bytes that differ are refused or lead to some search, but never to a panic.
#[test]
fn what_is_damaged_is_refused() {
    let program = turns(4);
    let (expected, bytes) = kept_of(&program);
    let [reach, _] = asked_of(&program);
    let again = |bytes: Vec<u8>| {
        let limits = &mut Impatient(200);
        reach(plan(1, Some(&InMemory::new(u64::MAX, Some(bytes)))), limits)
    };
    assert_eq!(again(bytes.clone()).expect("an answer"), expected);
    let mut rng = Rng::new(1);
    let mut refused = 0;
    let rounds = scaled(2_000);
    for _ in 0..rounds {
        let mut bytes = bytes.clone();
        match rng.below(3) {
            0 => bytes.truncate(rng.below(bytes.len())),
            1 => bytes.push(0),
            _ => {
                let at = rng.below(bytes.len());
                bytes[at] = bytes[at].wrapping_add(1 + rng.below(255) as u8);
            }
        }
        match again(bytes) {
            Err(NoAnswer::NotResumed(_)) => refused += 1,
            Err(NoAnswer::Rejected(_)) | Ok(_) => {}
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!(refused >= rounds / 2, "{refused} of {rounds}");
}

/// What a signal has kept from being read.
struct Unread;

impl Keep for Unread {
    fn earlier(&self) -> Option<io::Result<Box<dyn Read + '_>>> {
        Some(Err(io::ErrorKind::Interrupted.into()))
    }

    fn is_due(&self) -> bool {
        false
    }

    fn keep(&self, _: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) {
        panic!("what was kept before would be lost");
    }
}

#[test]
fn a_signal_before_it_was_read_is_a_limit() {
    let program = turns(4);
    for ask in asked_of(&program) {
        let came = ask(plan(1, Some(&Unread)), &mut Silent).expect("no error");
        assert_eq!(came.verdict, Verdict::Unknown(Limit::Interrupted));
        assert_eq!(came.states, 0);
    }
}
