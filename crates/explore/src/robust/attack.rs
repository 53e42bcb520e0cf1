//! Robustness against TSO by attacks: one question per pair of a store and a load of one thread,
//! see [`query`], several of them at a time.
//!
//! Some questions are hard, and the next one may be easy and decide. So there are rounds: in each
//! of them a question may take 16 times as many states as in the one before, and those that need
//! more are asked again in the next. The pair that is reported is, whatever the number of workers,
//! the first one in the order of the source that succeeds in the earliest round: a success stops
//! only the questions behind it. Limits hold for all questions together.

mod pairs;
mod query;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use weakspot_core::certify::Rejected;
use weakspot_core::machine::{Failure, Schedule};
use weakspot_core::{Evidence, Limit, Limits, Model, Program, Progress, Snapshot, Verdict};

use pairs::{Ground, Pair};
use query::{Attack, FIELDS, PER_LOC};

use crate::answer::NoAnswer;
use crate::meter::Meter;
use crate::robust::delay::delay;
use crate::robust::{Reordered, Robust};
use crate::sc::moves::{MOST_ASLEEP, initial_rows};
use crate::sc::packed::{Ended, Plan, search};
use crate::sc::threads::Threads;
use crate::sc::walk::tell;

/// Programs with more threads are not for this search.
pub(crate) const MOST_THREADS: usize = MOST_ASLEEP;

/// Decides robustness against TSO. At most [`MOST_THREADS`] threads.
pub(crate) fn robust(
    program: &Program,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Robust, NoAnswer> {
    let threads = Threads::new(program, true);
    let ground = Ground::new(program, &threads);
    let pairs = match ground.pairs(&threads, &mut Meter::new(*limits, progress)) {
        Ok(pairs) => pairs,
        Err(limit) => {
            let verdict = Verdict::Unknown(limit);
            return Ok(Robust { verdict, evidence: None, reordered: None, states: 0, queries: 0 });
        }
    };
    let workers = limits.workers.clamp(1, pairs.len().clamp(1, 64));
    let mut shared = Shared::new(*limits, workers);
    shared.open = (0..pairs.len()).collect();
    loop {
        one_round(&ground, &pairs, &shared, progress);
        if shared.is_decided() {
            return shared.answer();
        }
        shared.next_round();
    }
}

/// Asks all open questions, by as many workers as there are.
fn one_round(ground: &Ground<'_>, pairs: &[Pair], shared: &Shared, progress: &mut dyn Progress) {
    shared.at_work.store(shared.workers.len() - 1, Ordering::Relaxed);
    std::thread::scope(|scope| {
        let chair = std::thread::current();
        for index in 1..shared.workers.len() {
            let chair = chair.clone();
            scope.spawn(move || {
                ask_all(ground, pairs, shared, &mut Report { shared, index, listener: None });
                shared.at_work.fetch_sub(1, Ordering::Release);
                chair.unpark();
            });
        }
        let mut report = Report { shared, index: 0, listener: Some(progress) };
        ask_all(ground, pairs, shared, &mut report);
        report.wait();
    });
}

/// What came of a question, if it was not answered by "no".
enum Asked {
    /// It needs more states.
    Open,
    /// The attack succeeds.
    Run(Schedule, Reordered),
    /// The run of the attack could not be found: a defect.
    Untold,
    Fault(Failure),
}

/// What the workers share.
struct Shared {
    limits: Limits,
    /// The pairs to ask about in this round.
    open: Vec<usize>,
    /// How many states a question may take in this round.
    most_states: u64,
    /// How many of them were taken up.
    next: AtomicUsize,
    /// The first of them whose attack is known to succeed.
    success: AtomicUsize,
    asked: Mutex<Vec<(usize, Asked)>>,
    /// The limit that was reached.
    limit: Mutex<Option<Limit>>,
    stop: AtomicBool,
    at_work: AtomicUsize,
    /// Questions of earlier rounds.
    queries: usize,
    /// States of finished questions.
    states: AtomicU64,
    /// Per worker its present question: its place in the round, states, waiting states and bytes.
    workers: Vec<Worker>,
}

#[derive(Default)]
struct Worker {
    place: AtomicUsize,
    states: AtomicU64,
    frontier: AtomicU64,
    memory: AtomicU64,
}

/// Asks about one pair after the other, until there are no more.
fn ask_all<'p>(ground: &Ground<'p>, pairs: &[Pair], shared: &Shared, report: &mut Report<'_>) {
    let mut threads = Threads::new(ground.program, true);
    loop {
        let i = shared.next.fetch_add(1, Ordering::Relaxed);
        let Some(&pair) = shared.open.get(i) else { return };
        if !report.begins(i) {
            return;
        }
        let system = Attack::new(ground, pairs[pair]);
        let mut meter = Meter::new(Limits { time: None, memory: None, ..shared.limits }, report);
        let initial = initial_rows(
            ground.program,
            &mut threads,
            FIELDS,
            PER_LOC,
            &mut meter,
            &mut |_, row| Ok(row),
        );
        let initial = match initial {
            Ok(initial) => initial,
            Err(failure) => {
                shared.note(i, Asked::Fault(failure));
                continue;
            }
        };
        let found = search(&system, threads, initial, Plan::breadth_first(1), &mut meter);
        threads = found.tables;
        shared.states.fetch_add(found.states, Ordering::Relaxed);
        match found.ended {
            Ended::Complete => {}
            Ended::Limit(_) => shared.note(i, Asked::Open),
            Ended::Fault(failure) => shared.note(i, Asked::Fault(failure)),
            Ended::Found(rows) => {
                let found = tell(&system, ground.program, &mut threads, &rows);
                let run = found.and_then(|found| {
                    let store = *found.at.get(system.start(&rows).checked_sub(1)?)?;
                    delay(ground.program, Model::Tso, &found.run, store, &[])
                });
                shared.note(i, run.map_or(Asked::Untold, |(run, pair)| Asked::Run(run, pair)));
            }
        }
    }
}

impl Shared {
    fn new(limits: Limits, workers: usize) -> Shared {
        Shared {
            limits: limits.begin(),
            open: Vec::new(),
            most_states: 1 << 12,
            next: AtomicUsize::new(0),
            success: AtomicUsize::new(usize::MAX),
            asked: Mutex::default(),
            limit: Mutex::default(),
            stop: AtomicBool::new(false),
            at_work: AtomicUsize::new(0),
            queries: 0,
            states: AtomicU64::new(0),
            workers: (0..workers).map(|_| Worker::default()).collect(),
        }
    }

    /// Notes what came of question `i` of the round.
    fn note(&self, i: usize, asked: Asked) {
        if matches!(asked, Asked::Run(..) | Asked::Untold) {
            self.success.fetch_min(i, Ordering::Relaxed);
        }
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push((i, asked));
    }

    /// Whether there is nothing more to ask.
    fn is_decided(&mut self) -> bool {
        let asked = self.asked.get_mut().unwrap_or_else(PoisonError::into_inner);
        // A run of an attack comes first, then what is open, then faults.
        asked.sort_by_key(|(i, asked)| match asked {
            Asked::Run(..) | Asked::Untold => (0, *i),
            Asked::Open => (1, *i),
            Asked::Fault(_) => (2, *i),
        });
        *self.stop.get_mut() || !matches!(asked.first(), Some((_, Asked::Open)))
    }

    /// What is open is asked again.
    fn next_round(&mut self) {
        let asked = self.asked.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.queries += self.open.len();
        let open = asked.iter().filter(|(_, asked)| matches!(asked, Asked::Open));
        self.open = open.map(|&(i, _)| self.open[i]).collect();
        // A fault may still give way to a run of an attack; it need not be asked about again.
        asked.retain(|(_, asked)| matches!(asked, Asked::Fault(_)));
        *self.next.get_mut() = 0;
        self.most_states = self.most_states.saturating_mul(16);
    }

    fn end(&self, limit: Limit) {
        self.limit.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(limit);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// A run of an attack decides; else a fault says that the program is wrong.
    fn answer(self) -> Result<Robust, NoAnswer> {
        let asked = self.asked.into_inner().unwrap_or_else(PoisonError::into_inner);
        let states = self.states.into_inner();
        let limit = self.limit.into_inner().unwrap_or_else(PoisonError::into_inner);
        let begun = self.next.into_inner().min(self.open.len());
        let found = asked.into_iter().find(|(_, asked)| !matches!(asked, Asked::Open));
        let (verdict, evidence, reordered, queries) = match (found, limit) {
            (Some((_, Asked::Untold)), _) => {
                return Err(NoAnswer::Rejected(Rejected::WrongState));
            }
            (Some((_, Asked::Fault(failure))), _) => return Err(NoAnswer::Fault(failure)),
            (Some((i, Asked::Run(run, reordered))), _) => {
                (Verdict::Violated, Some(Evidence::Run(run)), Some(reordered), i + 1)
            }
            (_, Some(limit)) => (Verdict::Unknown(limit), None, None, begun),
            (_, None) => (Verdict::Holds, Some(Evidence::Exhausted { states }), None, begun),
        };
        let queries = (self.queries + queries) as u64;
        Ok(Robust { verdict, evidence, reordered, states, queries })
    }
}

/// How a worker hears of limits and successes, and others of the worker.
struct Report<'s> {
    shared: &'s Shared,
    index: usize,
    /// The one who asked, known to the first worker only.
    listener: Option<&'s mut dyn Progress>,
}

impl Report<'_> {
    /// Question `i` of the round begins; false if it need not be asked.
    fn begins(&mut self, i: usize) -> bool {
        self.shared.workers[self.index].place.store(i, Ordering::Relaxed);
        self.tick(Snapshot::default())
    }

    /// Waits for the other workers.
    fn wait(&mut self) {
        self.shared.workers[self.index].place.store(0, Ordering::Relaxed);
        while self.shared.at_work.load(Ordering::Acquire) > 0 {
            std::thread::park_timeout(Duration::from_millis(20));
            self.tick(Snapshot::default());
        }
    }
}

impl Progress for Report<'_> {
    fn tick(&mut self, snapshot: Snapshot) -> bool {
        let own = &self.shared.workers[self.index];
        own.states.store(snapshot.states, Ordering::Relaxed);
        own.frontier.store(snapshot.frontier, Ordering::Relaxed);
        own.memory.store(snapshot.memory, Ordering::Relaxed);
        let sum = |field: fn(&Worker) -> &AtomicU64| -> u64 {
            self.shared.workers.iter().map(|w| field(w).load(Ordering::Relaxed)).sum()
        };
        let all = Snapshot {
            states: self.shared.states.load(Ordering::Relaxed) + sum(|w| &w.states),
            frontier: sum(|w| &w.frontier),
            memory: sum(|w| &w.memory),
            kept: 0,
        };
        if self.listener.as_mut().is_some_and(|listener| !listener.tick(all)) {
            self.shared.end(Limit::Interrupted);
        }
        if let Err(limit) = self.shared.limits.check(all.memory) {
            self.shared.end(limit);
        }
        !self.shared.stop.load(Ordering::Relaxed)
            && snapshot.states < self.shared.most_states
            && own.place.load(Ordering::Relaxed) <= self.shared.success.load(Ordering::Relaxed)
    }
}
