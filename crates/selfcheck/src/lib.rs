//! The engines against each other and against the definitions, on random inputs that nobody has seen
//! before: whatever can answer a question is asked, and all answers have to agree.
//!
//! Inputs come in rounds. What a round looks at follows from the seed and its number alone, whoever works on
//! it, so that a round can be repeated. Inputs on which answers differ are made as small as possible.

mod forged;
mod histories;
mod programs;
mod real;
mod statements;
mod traces;
mod transactional;

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use weakspot_core::testing::Rng;
use weakspot_core::{Progress, Snapshot};

/// What inputs are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Programs: final states, reachability, robustness, fences, monitors.
    Programs,
    /// Recorded histories.
    Histories,
    /// Traces with transactions.
    Traces,
    /// Programs in C under `weakspot run`, and the same as `.weak`.
    Real,
}

impl Subject {
    /// All of them.
    pub const ALL: [Subject; 4] =
        [Subject::Programs, Subject::Histories, Subject::Traces, Subject::Real];

    /// What its inputs are called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Subject::Programs => "programs",
            Subject::Histories => "histories",
            Subject::Traces => "traces",
            Subject::Real => "C programs",
        }
    }
}

/// Two answers that contradict each other.
#[derive(Clone, Debug)]
pub struct Disagreement {
    /// What it is about.
    pub subject: Subject,
    /// The round that found it.
    pub round: u64,
    /// What was answered.
    pub what: String,
    /// The smallest inputs that show it, as files: the ending of a name and the text.
    pub files: Vec<(&'static str, String)>,
    /// Commands that show it, in which `FILE` stands for the name of the files without its ending.
    pub commands: Vec<String>,
}

/// What is checked.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where random inputs come from.
    pub seed: u64,
    /// The first round.
    pub first: u64,
    /// How many rounds; `None` for as many as there is time for.
    pub rounds: Option<u64>,
    /// How many of them at a time.
    pub threads: usize,
    /// The command `weakspot`, which explores programs in C; without it there are none.
    pub command: Option<PathBuf>,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// How many rounds were about each of [`Subject::ALL`].
    pub rounds: [u64; 4],
    /// How many answers were compared with another one, for each of them.
    pub compared: [u64; 4],
    /// What does not agree, in the order of rounds.
    pub disagreements: Vec<Disagreement>,
    /// Why there are no programs in C, if there are none.
    pub without: Option<String>,
}

/// After so many of them there is enough to look at.
const MOST: usize = 10;

/// Of so many rounds one is about a program in C, which takes a compiler.
const REAL: u64 = 64;

/// What a round is about.
fn subject(round: u64) -> Subject {
    if round % REAL == REAL - 1 {
        return Subject::Real;
    }
    Subject::ALL[(round % 3) as usize]
}

/// Whether it is time to end.
pub type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

/// Ends a search when it is time to; what it then does not know is no disagreement.
struct Until<'a>(Stop<'a>);

impl Progress for Until<'_> {
    fn tick(&mut self, _: Snapshot) -> bool {
        !(self.0)()
    }
}

/// Works on rounds until `stop` says so, or all are done. `heard` is told what came of each.
pub fn check(options: &Options, stop: Stop<'_>, heard: &(dyn Fn(&Checked) + Sync)) -> Checked {
    let next = AtomicU64::new(options.first);
    let enough = AtomicBool::new(false);
    let all = Mutex::new(Checked::default());
    let end = options.rounds.map_or(u64::MAX, |rounds| options.first.saturating_add(rounds));
    std::thread::scope(|scope| {
        for _ in 0..options.threads.max(1) {
            scope.spawn(|| {
                while !enough.load(Ordering::Relaxed) {
                    let round = next.fetch_add(1, Ordering::Relaxed);
                    if round >= end {
                        return;
                    }
                    let subject = subject(round);
                    let (compared, found) = look_at(options, subject, round, stop);
                    let mut all = all.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    let at = subject as usize;
                    match found {
                        Ok(()) => {}
                        Err(NotCompared::Disagree(found)) => all.disagreements.push(*found),
                        Err(NotCompared::NotPossible(why)) => {
                            all.without = Some(why);
                            continue;
                        }
                    }
                    all.rounds[at] += 1;
                    all.compared[at] += compared;
                    heard(&all);
                    if stop() || all.disagreements.len() >= MOST {
                        enough.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let mut all = all.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    all.disagreements.sort_by_key(|found| found.round);
    all
}

/// Why a round ended otherwise.
enum NotCompared {
    Disagree(Box<Disagreement>),
    NotPossible(String),
}

/// One round, and how many answers were compared.
fn look_at(
    options: &Options,
    subject: Subject,
    round: u64,
    stop: Stop<'_>,
) -> (u64, Result<(), NotCompared>) {
    let mut rng = Rng::new(options.seed);
    let mut rng = Rng::new(rng.next_u64() ^ round.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let mut compared = 0;
    let found = match subject {
        Subject::Programs => programs::check(&mut rng, &mut compared, stop),
        Subject::Histories => histories::check(&mut rng, &mut compared, stop),
        Subject::Traces => traces::check(&mut rng, &mut compared, stop),
        Subject::Real => match &options.command {
            None => return (0, Ok(())),
            Some(command) => match real::check(command, &mut rng, &mut compared) {
                Ok(found) => found,
                Err(why) => return (0, Err(NotCompared::NotPossible(why))),
            },
        },
    };
    let found = found.map(|found| Disagreement { subject, round, ..found });
    (compared, found.map_or(Ok(()), |found| Err(NotCompared::Disagree(Box::new(found)))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use weakspot_core::testing::scaled;
    use weakspot_lang::{Format, parse};

    /// Each round is the same whoever works on it, and all answers agree.
    #[test]
    fn answers_agree() {
        let rounds = scaled(200) as u64;
        let options =
            Options { seed: 1, first: 0, rounds: Some(rounds), threads: 2, command: None };
        let checked = check(&options, &|| false, &|_| ());
        assert!(checked.disagreements.is_empty(), "{:#?}", checked.disagreements);
        assert!(checked.compared[..3].iter().all(|&compared| compared > rounds), "{checked:?}");
        let one = Options { threads: 1, ..options };
        assert_eq!(check(&one, &|| false, &|_| ()).rounds, checked.rounds);
    }

    /// What is left of a program still fails, and nothing can be left out of it.
    #[test]
    fn programs_shrink() {
        let fails = |text: &statements::Text| {
            let weak = text.weak();
            parse(Format::Weak, &weak).is_ok() && weak.contains("swap(y")
        };
        let shape = statements::Shape { threads: 4, statements: 16, loops: true, waits: true };
        let mut tried = 0;
        for seed in 0..300 {
            let text = statements::Text::random(&mut Rng::new(seed), shape);
            assert!(parse(Format::Weak, &text.weak()).is_ok(), "{}", text.weak());
            if fails(&text) {
                tried += 1;
                let small = text.shrunk(&fails);
                let statements: usize = small.threads.iter().map(Vec::len).sum();
                assert_eq!((statements, small.never.len()), (1, 1), "{}", small.weak());
            }
        }
        assert!(tried > 10);
    }
}
