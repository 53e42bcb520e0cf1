//! Robustness against TSO: one question per pair of a store and a load, see
//! [`attack`](crate::attack), several of them at a time.
//!
//! The pair that is reported is the first one, in the order of the source, whose attack succeeds,
//! whatever the number of workers: a success stops only the questions behind it. Limits hold for
//! all questions together.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use weakspot_core::certify::Rejected;
use weakspot_core::machine::{Failure, Schedule};
use weakspot_core::{Evidence, Limit, Limits, Model, Program, Progress, Snapshot, Verdict};

use crate::attack::{Attack, FIELDS, Ground, PER_LOC, Pair};
use crate::meter::Meter;
use crate::packed::{Ended, Plan, search};
use crate::plain_pending::delay;
use crate::reach::NoAnswer;
use crate::robust::{Reordered, Robust};
use crate::threads::Threads;
use crate::walk::{initial_rows, tell};

/// Decides robustness against TSO. At most 32 threads.
pub(crate) fn robust(
    program: &Program,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Robust, NoAnswer> {
    let threads = Threads::new(program, true);
    let ground = Ground::new(program, &threads);
    let pairs = ground.pairs(&threads);
    let workers = limits.workers.clamp(1, pairs.len().clamp(1, 64));
    let shared = Shared::new(*limits, workers);
    std::thread::scope(|scope| {
        let chair = std::thread::current();
        for index in 1..workers {
            let (shared, ground, pairs, chair) = (&shared, &ground, &pairs, chair.clone());
            scope.spawn(move || {
                ask_all(ground, pairs, shared, &mut Report { shared, index, listener: None });
                shared.at_work.fetch_sub(1, Ordering::Release);
                chair.unpark();
            });
        }
        let mut report = Report { shared: &shared, index: 0, listener: Some(progress) };
        ask_all(&ground, &pairs, &shared, &mut report);
        report.wait();
    });
    shared.answer(pairs.len())
}

/// A question that was answered other than by "no".
enum Asked {
    /// The attack succeeds.
    Run(Schedule, Reordered),
    /// The run of the attack could not be told: a defect.
    Untold,
    Fault(Failure),
}

/// What the workers share.
struct Shared {
    limits: Limits,
    start: Instant,
    /// The next pair to ask about.
    next: AtomicUsize,
    /// The first pair whose attack is known to succeed.
    success: AtomicUsize,
    asked: Mutex<Vec<(usize, Asked)>>,
    /// The limit that was reached.
    limit: Mutex<Option<Limit>>,
    stop: AtomicBool,
    at_work: AtomicUsize,
    queries: AtomicU64,
    /// States of finished questions.
    states: AtomicU64,
    /// Per worker its present question: which, and states, waiting states and bytes.
    workers: Vec<Worker>,
}

#[derive(Default)]
struct Worker {
    pair: AtomicUsize,
    states: AtomicU64,
    frontier: AtomicU64,
    memory: AtomicU64,
}

/// Asks about one pair after the other, until there are no more.
fn ask_all<'p>(ground: &Ground<'p>, pairs: &[Pair], shared: &Shared, report: &mut Report<'_>) {
    let mut threads = Threads::new(ground.program, true);
    loop {
        let i = shared.next.fetch_add(1, Ordering::Relaxed);
        let Some(&pair) = pairs.get(i) else { return };
        if !report.begins(i) {
            return;
        }
        shared.queries.fetch_add(1, Ordering::Relaxed);
        let system = Attack::new(ground, pair);
        let initial = match initial_rows(ground.program, &mut threads, FIELDS, PER_LOC) {
            Ok(initial) => initial,
            Err(failure) => {
                shared.note(i, Asked::Fault(failure));
                continue;
            }
        };
        let mut meter = Meter::new(Limits { time: None, memory: None, ..shared.limits }, report);
        let found = search(&system, threads, initial, Plan::breadth_first(1), &mut meter);
        threads = found.tables;
        shared.states.fetch_add(found.states, Ordering::Relaxed);
        match found.ended {
            Ended::Complete | Ended::Limit(_) => {}
            Ended::Fault(failure) => shared.note(i, Asked::Fault(failure)),
            Ended::Found(rows) => {
                let told = tell(&system, ground.program, &mut threads, &rows);
                let run = told.and_then(|told| {
                    let store = *told.at.get(system.start(&rows).checked_sub(1)?)?;
                    delay(ground.program, Model::Tso, &told.run, store, &[])
                });
                shared.note(i, run.map_or(Asked::Untold, |(run, pair)| Asked::Run(run, pair)));
            }
        }
    }
}

impl Shared {
    fn new(limits: Limits, workers: usize) -> Shared {
        Shared {
            limits,
            start: Instant::now(),
            next: AtomicUsize::new(0),
            success: AtomicUsize::new(usize::MAX),
            asked: Mutex::default(),
            limit: Mutex::default(),
            stop: AtomicBool::new(false),
            at_work: AtomicUsize::new(workers - 1),
            queries: AtomicU64::new(0),
            states: AtomicU64::new(0),
            workers: (0..workers).map(|_| Worker::default()).collect(),
        }
    }

    fn note(&self, pair: usize, asked: Asked) {
        if !matches!(asked, Asked::Fault(_)) {
            self.success.fetch_min(pair, Ordering::Relaxed);
        }
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push((pair, asked));
    }

    fn end(&self, limit: Limit) {
        self.limit.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(limit);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// A run of the attack decides; else a fault says that the program is wrong.
    fn answer(self, pairs: usize) -> Result<Robust, NoAnswer> {
        let mut asked = self.asked.into_inner().unwrap_or_else(PoisonError::into_inner);
        asked.sort_by_key(|(pair, asked)| (matches!(asked, Asked::Fault(_)), *pair));
        let states = self.states.into_inner();
        let limit = self.limit.into_inner().unwrap_or_else(PoisonError::into_inner);
        let (verdict, evidence, reordered, queries) = match (asked.into_iter().next(), limit) {
            (Some((_, Asked::Untold)), _) => {
                return Err(NoAnswer::Rejected(Rejected::WrongState));
            }
            (Some((_, Asked::Fault(failure))), _) => return Err(NoAnswer::Fault(failure)),
            (Some((pair, Asked::Run(run, reordered))), _) => {
                (Verdict::Violated, Some(Evidence::Run(run)), Some(reordered), pair as u64 + 1)
            }
            (None, Some(limit)) => (Verdict::Unknown(limit), None, None, self.queries.into_inner()),
            (None, None) => {
                (Verdict::Holds, Some(Evidence::Exhausted { states }), None, pairs as u64)
            }
        };
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
    /// A new question begins; false if it need not be asked.
    fn begins(&mut self, pair: usize) -> bool {
        self.shared.workers[self.index].pair.store(pair, Ordering::Relaxed);
        self.tick(Snapshot::default())
    }

    /// Waits for the other workers.
    fn wait(&mut self) {
        self.shared.workers[self.index].pair.store(0, Ordering::Relaxed);
        while self.shared.at_work.load(Ordering::Acquire) > 0 {
            std::thread::park_timeout(Duration::from_millis(20));
            self.tick(Snapshot::default());
        }
    }
}

impl Progress for Report<'_> {
    fn tick(&mut self, snapshot: Snapshot) -> bool {
        let Shared { limits, start, .. } = self.shared;
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
        };
        if self.listener.as_mut().is_some_and(|listener| !listener.tick(all)) {
            self.shared.end(Limit::Interrupted);
        }
        match (limits.time, limits.memory) {
            (Some(time), _) if start.elapsed() >= time => self.shared.end(Limit::Time(time)),
            (_, Some(most)) if all.memory > most => self.shared.end(Limit::Memory(most)),
            _ => {}
        }
        !self.shared.stop.load(Ordering::Relaxed)
            && own.pair.load(Ordering::Relaxed) <= self.shared.success.load(Ordering::Relaxed)
    }
}
