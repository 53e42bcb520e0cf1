//! Executions again, step by step: the same configuration with another strategy, traced.
//!
//! It takes as long as the question has time, and a little longer if exploring has used it up: what
//! was found should be shown. After Ctrl-C there is only a moment.

pub(crate) mod delayed;
pub(crate) mod log;
pub(crate) mod memory;
pub(crate) mod names;

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use weakspot_core::{DelayedRun, DelayedValue, Model};
use weakspot_live::wire::{
    Config, MemoryChange, MemoryStep, Message, Place, Related, StackFrame, TracedStep, Waiter,
};
use weakspot_live::{Choices, Plan};

use crate::explore::Explored;
use crate::explore::findings::{Failure, Seen};
use crate::explore::pieces::merged;
use crate::facts::symbols::{Frame, Symbols, called, channel_call, is_of_atomics};
use crate::replay::log::Replayed;
use crate::replay::names::{Block, Names, Owners, site};
use crate::{Campaign, Ended, Result, Start};

/// How much longer than the question has time, beside a tenth of it.
const LONGER: Duration = Duration::from_secs(1);
/// How long it may take after Ctrl-C.
const MOMENT: Duration = Duration::from_secs(1);
/// How long a single execution may take.
const MOST: Duration = Duration::from_secs(60);

/// An execution that was executed again.
#[derive(Default)]
pub(crate) struct Traced {
    pub(crate) steps: Vec<TracedStep>,
    /// The calls that led to steps, by the numbers of these, as far as they were told.
    pub(crate) calls: HashMap<usize, Vec<Place>>,
    /// What the only thread that was left has read before it failed, each after so many steps.
    pub(crate) looked: Vec<(usize, TracedStep)>,
    /// What happens to memory in it, each after so many steps.
    pub(crate) memory: Vec<(usize, MemoryStep)>,
    /// The functions that have variables which steps use, with the addresses of these.
    frames: Owners,
    /// The one that has the variable of the next step.
    owner: Option<StackFrame>,
    /// What went wrong.
    failures: Vec<TracedFailure>,
    /// What each thread waits for that cannot go on.
    pub(crate) waiters: Vec<Waiter>,
}

/// What went wrong in an execution that was executed again.
pub(crate) struct TracedFailure {
    kind: String,
    text: String,
    place: Option<Place>,
    /// Other places that have to do with it.
    related: Vec<Related>,
    /// So much happened to memory before, and so many steps were taken.
    pub(crate) memory: usize,
    pub(crate) steps: usize,
}

impl Traced {
    /// What things are called in it.
    pub(crate) fn names<'a>(&'a self, symbols: &'a Symbols) -> Names<'a> {
        let made = self.memory.iter().filter(|(_, c)| c.what == MemoryChange::Allocated);
        let block = |c: &MemoryStep| Block { addr: c.addr, len: c.len, places: c.places.clone() };
        let blocks = made.map(|(_, c)| block(c)).collect();
        Names::new(&self.steps, &self.calls, blocks, &self.frames, symbols)
    }

    /// Where a step is in the user's own code: there itself, or in what it calls of a standard library that is
    /// about threads.
    pub(crate) fn own_place(&self, step: usize, symbols: &Symbols) -> Option<Place> {
        let own = |place: Place| symbols.frames(place).iter().any(Frame::is_own);
        let place = self.steps[step].place.filter(|&place| own(place));
        place.or_else(|| {
            let calls = self.calls.get(&step)?;
            if is_of_atomics(&symbols.frames(*calls.first()?)) {
                return calls.iter().copied().find(|&place| own(place));
            }
            self.caller(step, symbols).map(|(place, _)| place)
        })
    }

    /// Where the user's own code has called what a step is in, which is in a standard library; and that by its name, if it is more
    /// than the operation itself.
    pub(crate) fn caller(&self, step: usize, symbols: &Symbols) -> Option<(Place, Option<String>)> {
        let is_own = |place: Place| symbols.frames(place).iter().any(Frame::is_own);
        let place = self.steps[step].place.filter(|&place| !is_own(place))?;
        let calls = self.calls.get(&step)?;
        let at = calls.iter().position(|&call| is_own(call))?;
        if let Some(function) = channel_call(calls, symbols).or_else(|| called(calls, symbols)) {
            return Some((calls[at], Some(function)));
        }
        // Without optimisation, operations of atomics are functions of their own.
        let frames = symbols.frames(place);
        if is_of_atomics(&frames) {
            return Some((calls[at], None));
        }
        let is_operation = |frame: &Frame| {
            let name = frame.function.as_deref().unwrap_or_default();
            name.trim_start_matches('<').starts_with("core::sync::atomic::")
        };
        let direct = frames.iter().all(is_operation) && calls[..at].len() <= 1;
        direct.then_some((calls[at], None))
    }

    /// Where a step is, in words, and within a standard library what that is.
    pub(crate) fn site(&self, step: usize, symbols: &Symbols) -> Option<String> {
        Some(match self.caller(step, symbols) {
            Some((call, Some(function))) => format!("{}, in {function}", symbols.text(call)),
            Some((call, None)) => symbols.text(call),
            None => site(self.steps[step].place?, symbols),
        })
    }

    /// The places that have to do with a failure, as they are told where executions are traced: with the
    /// calls that led there.
    pub(crate) fn related(&self, failure: &Failure) -> &[Related] {
        self.failure(failure).map_or(&[], |failed| &failed.related)
    }

    /// Whether it went wrong again.
    pub(crate) fn has_failed(&self) -> bool {
        !self.failures.is_empty()
    }

    /// A failure, as it was seen again.
    pub(crate) fn failure(&self, failure: &Failure) -> Option<&TracedFailure> {
        let same = |f: &&TracedFailure| (&f.kind, &f.text) == (&failure.kind, &failure.text);
        // One execution may have several data races that read alike.
        let here = |f: &&TracedFailure| {
            let other = |related: &[Related]| related.first().map(|r| (r.thread, r.place));
            f.place == failure.place && other(&f.related) == other(&failure.related)
        };
        let mut alike = self.failures.iter().filter(same);
        alike.clone().find(here).or_else(|| alike.next())
    }
}

/// An execution with its log.
struct Again {
    log: Rc<Replayed>,
    traced: Traced,
}

/// Executions that were executed again.
pub(crate) struct Replays<'a> {
    campaign: Campaign<'a>,
    base: &'a Config,
    explored: &'a Explored,
    /// When to stop.
    until: Cell<Duration>,
    /// By schedule, and by how many pieces of memory were known to be shared.
    logs: HashMap<(String, usize), Option<Again>>,
}

impl<'a> Replays<'a> {
    pub(crate) fn new(
        campaign: &Campaign<'a>,
        base: &'a Config,
        explored: &'a Explored,
    ) -> Replays<'a> {
        let timeout = campaign.question.timeout;
        let now = campaign.control.elapsed();
        let until = (now + timeout / 10 + LONGER).max(timeout);
        let logs = HashMap::new();
        Replays { campaign: *campaign, base, explored, until: Cell::new(until), logs }
    }

    /// Whether there is time for more.
    pub(crate) fn has_time(&self) -> bool {
        !self.left().is_zero()
    }

    fn left(&self) -> Duration {
        let control = self.campaign.control;
        let now = control.elapsed();
        if control.interrupted() {
            self.until.set(self.until.get().min(now + MOMENT));
        }
        self.until.get().saturating_sub(now)
    }

    /// The log of an execution; nothing if there is no time for it, or no schedule.
    pub(crate) fn log(&mut self, seen: &Seen) -> Result<Option<Rc<Replayed>>> {
        let key = (seen.schedule.clone(), seen.known);
        if let Some(known) = self.logs.get(&key) {
            return Ok(known.as_ref().map(|again| Rc::clone(&again.log)));
        }
        let traced = self.trace(&seen.schedule, seen.known)?;
        let again = traced.map(|traced| {
            let names = traced.names(&self.explored.symbols);
            let log = Rc::new(Replayed::new(&traced, &names, &self.explored.symbols));
            drop(names);
            Again { log, traced }
        });
        let log = again.as_ref().map(|again| Rc::clone(&again.log));
        self.logs.insert(key, again);
        Ok(log)
    }

    /// What is read and written on the cycle of a run that is made from an execution whose log is known.
    pub(crate) fn values(&self, seen: &Seen, model: Model, run: &DelayedRun) -> Vec<DelayedValue> {
        let again = self.logs.get(&(seen.schedule.clone(), seen.known)).and_then(Option::as_ref);
        again.map_or(Vec::new(), |Again { log, traced }| {
            let names = traced.names(&self.explored.symbols);
            delayed::values(run, log.under(model), &traced.steps, &names)
        })
    }

    /// Says how an execution is traced, when so many pieces of memory were known to be shared.
    pub(crate) fn config(&self, schedule: Choices, known: usize) -> Config {
        let known = known.min(self.explored.shared.len());
        Config {
            plan: Plan::Replay(schedule),
            trace: true,
            executions: 1,
            shared: merged(&self.explored.shared[..known]),
            ..self.base.clone()
        }
    }

    /// The steps of an execution, as far as it could be followed, when so many pieces of memory were
    /// known to be shared; nothing if there is no time for it, or no schedule.
    pub(crate) fn trace(&self, schedule: &str, known: usize) -> Result<Option<Traced>> {
        let most = self.left().min(MOST);
        let Ok(schedule) = schedule.parse::<Choices>() else { return Ok(None) };
        if most.is_zero() {
            return Ok(None);
        }
        let timeout = u64::try_from(most.as_millis()).unwrap_or(u64::MAX).max(1);
        let config = Config { timeout, ..self.config(schedule, known) };
        let mut traced = Traced::default();
        let mut late = false;
        let stop = || self.left().is_zero();
        let start = Start { config: &config, output: false, most, stop: &stop };
        let ended = self.campaign.runtime.run(&start, &mut |message| {
            match message {
                Message::Step(step) => {
                    if let Some(owner) = traced.owner.take() {
                        traced.frames.add(step.addr, owner);
                    }
                    traced.steps.push(step);
                }
                Message::Looked(after, step) => {
                    traced.looked.push((usize::try_from(after).unwrap_or(usize::MAX), step));
                }
                Message::Memory(change) => traced.memory.push((traced.steps.len(), change)),
                Message::Frame(frame) => traced.owner = Some(frame),
                Message::Failure { kind, text, place, related, .. } => {
                    let (memory, steps) = (traced.memory.len(), traced.steps.len());
                    let failure = TracedFailure { kind, text, place, related, memory, steps };
                    traced.failures.push(failure);
                }
                Message::Calls(places) => {
                    traced.calls.insert(traced.steps.len().saturating_sub(1), places);
                }
                Message::Waits(waiter) => traced.waiters.push(waiter),
                // The library has learnt that more is shared, and starts again.
                Message::Again => traced = Traced::default(),
                Message::Done { how, .. } => late = how == "timeout",
                _ => {}
            }
            false
        })?;
        late |= matches!(ended, Ended::Stopped | Ended::Overdue);
        Ok((!late).then_some(traced))
    }
}
