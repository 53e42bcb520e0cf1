//! What a program under control reports while one strategy is followed.

use std::collections::HashMap;

use weakspot_core::Model;
use weakspot_live::wire::{ENDLESS, GIVES_WAY, Message, Place};

use crate::explore::course::{Contacts, add_contacts, add_counts};
use crate::explore::findings::{
    DOUBTED, Failure, Findings, Overtaking, RACE, Seen, Unserializable,
};
use crate::question::always_counts;
use crate::{Control, SoFar, Until};

/// What the messages of a worker have said so far.
pub(crate) struct Heard {
    /// Mapped files: first byte, end, path.
    pub(crate) modules: Vec<(u64, u64, String)>,
    overtakings: Numbered<Overtaking>,
    /// And executions that were given up.
    failures: Numbered<Failure>,
    unserializable: Option<Unserializable>,
    /// Overtakings from before the exploration had to start again, which were not found since.
    before: Vec<Overtaking>,
    /// What it changes outside of itself, and where.
    pub(crate) outside: Vec<(String, Vec<Place>)>,
    pub(crate) unsupported: Vec<(String, Option<Place>)>,
    /// Bytes that were found to be shared.
    pub(crate) shared: Vec<(u64, u64)>,
    pub(crate) idle: u64,
    /// How often a round of a loop was left out that monitors may miss.
    pub(crate) undone: u64,
    /// The threads of the execution that had most; 0 if nobody has said so.
    pub(crate) threads: u64,
    pub(crate) exits: u64,
    /// Executions that ended because an assumption did not hold.
    pub(crate) assumed: u64,
    /// Executions that were left where threads wait in loops; these are not among the others.
    pub(crate) left: u64,
    pub(crate) transactions: u64,
    pub(crate) mixed: Vec<Model>,
    /// Where a `volatile` access is, if there is any.
    pub(crate) volatile: Option<Option<Place>>,
    pub(crate) diverged: Option<u64>,
    pub(crate) executions: u64,
    pub(crate) steps: u64,
    /// How many executions had no preemption, one, two, ...
    pub(crate) by_preemptions: Vec<u64>,
    /// Accesses by place and thread, with conflicting ones of other threads.
    pub(crate) met: Contacts,
    /// Why the exploration ended; `None` if it did not say.
    pub(crate) done: Option<String>,
    pub(crate) defect: Option<String>,
    /// How many pieces of memory were known to be shared before.
    known: usize,
}

/// Findings by the numbers that messages have for them.
struct Numbered<T> {
    items: Vec<T>,
    numbers: HashMap<u64, usize>,
}

impl<T> Numbered<T> {
    fn new() -> Numbered<T> {
        Numbered { items: Vec::new(), numbers: HashMap::new() }
    }

    fn push(&mut self, number: u64, item: T) {
        self.numbers.insert(number, self.items.len());
        self.items.push(item);
    }

    fn get(&mut self, number: u64) -> Option<&mut T> {
        self.items.get_mut(*self.numbers.get(&number)?)
    }
}

impl Heard {
    /// Nothing yet, when so many pieces of memory are known to be shared.
    pub(crate) fn nothing(known: usize) -> Heard {
        Heard {
            modules: Vec::new(),
            overtakings: Numbered::new(),
            failures: Numbered::new(),
            unserializable: None,
            before: Vec::new(),
            outside: Vec::new(),
            unsupported: Vec::new(),
            shared: Vec::new(),
            idle: 0,
            undone: 0,
            threads: 0,
            exits: 0,
            assumed: 0,
            left: 0,
            transactions: 0,
            mixed: Vec::new(),
            volatile: None,
            diverged: None,
            executions: 0,
            steps: 0,
            by_preemptions: Vec::new(),
            met: Contacts::new(),
            done: None,
            defect: None,
            known,
        }
    }

    /// The same, when these pieces of memory were known to be shared, which others do not know yet.
    pub(crate) fn with_shared(mut self, known: Vec<(u64, u64)>) -> Heard {
        self.shared.splice(0..0, known);
        self
    }

    /// Merges the results of workers. `first` maps (worker, local execution number) to the global number.
    pub(crate) fn joined(all: Vec<Heard>, first: &dyn Fn(usize, u64) -> u64) -> Heard {
        let mut all = all.into_iter();
        let mut joined = all.next().unwrap_or_else(|| Heard::nothing(0));
        joined.counted(&|execution| first(0, execution));
        for (i, mut heard) in all.enumerate() {
            heard.counted(&|execution| first(i + 1, execution));
            joined.overtakings.items.append(&mut heard.overtakings.items);
            joined.failures.items.append(&mut heard.failures.items);
            joined.before.append(&mut heard.before);
            joined.outside.append(&mut heard.outside);
            joined.unsupported.append(&mut heard.unsupported);
            joined.mixed.append(&mut heard.mixed);
            joined.volatile = joined.volatile.or(heard.volatile);
            joined.unserializable = match (joined.unserializable, heard.unserializable) {
                (Some(one), Some(other)) => Some(one.with(other)),
                (one, other) => one.or(other),
            };
            joined.threads = joined.threads.max(heard.threads);
            joined.diverged = joined.diverged.or(heard.diverged);
            joined.defect = joined.defect.or(heard.defect);
            joined.idle += heard.idle;
            joined.undone += heard.undone;
            joined.exits += heard.exits;
            joined.assumed += heard.assumed;
            joined.left += heard.left;
            joined.transactions += heard.transactions;
            joined.executions += heard.executions;
            joined.steps += heard.steps;
            add_counts(&mut joined.by_preemptions, &heard.by_preemptions);
            add_contacts(&mut joined.met, heard.met);
        }
        joined.outside.sort_unstable();
        joined.outside.dedup();
        joined.unsupported.sort_unstable();
        joined.unsupported.dedup();
        joined.mixed.dedup();
        // Each thing once, where it was seen first.
        let mut found = Findings {
            overtakings: std::mem::take(&mut joined.overtakings.items),
            failures: std::mem::take(&mut joined.failures.items),
            cut_off: Vec::new(),
            unserializable: None,
        };
        found.overtakings.sort_by_key(|o| o.seen.first);
        found.failures.sort_by_key(|f| (f.seen.schedule.is_empty(), f.seen.first));
        let mut once = Findings::none();
        once.add(found, 0);
        joined.overtakings.items = once.overtakings;
        joined.failures.items = once.failures;
        joined.failures.items.append(&mut once.cut_off);
        joined
    }

    /// Counts executions otherwise.
    fn counted(&mut self, first: &dyn Fn(u64) -> u64) {
        let overtakings = self.overtakings.items.iter_mut().map(|o| &mut o.seen);
        let failures = self.failures.items.iter_mut().map(|f| &mut f.seen);
        let unserializable = self.unserializable.iter_mut().map(|u| &mut u.seen);
        for seen in overtakings.chain(failures).chain(unserializable) {
            seen.first = first(seen.first);
        }
    }

    /// Whether what was found is all that is wanted.
    pub(crate) fn is_enough(&self, until: Until) -> bool {
        // A failure may come without a schedule at first.
        let shown = |failure: &Failure| !failure.seen.schedule.is_empty();
        match until {
            Until::End => false,
            Until::Found { advice } => {
                self.overtakings.items.iter().any(|o| advice || always_counts(o.model))
                    || self.failures().any(shown)
            }
            Until::Failed => self.failures().any(|f| shown(f) && f.kind != RACE),
            Until::Overtaken => !self.overtakings.items.is_empty(),
        }
    }

    /// How many things were found.
    pub(crate) fn found(&self) -> u64 {
        (self.overtakings.items.len() + self.failures().count()) as u64
    }

    /// Whether anything was found at all.
    pub(crate) fn has_findings(&self) -> bool {
        !(self.overtakings.items.is_empty()
            && self.failures().next().is_none()
            && self.before.is_empty())
            || self.unserializable.is_some()
    }

    /// Whether a look is over: there is what is wanted, or not everything can be seen.
    pub(crate) fn ends_look(&self, until: Until) -> bool {
        self.is_enough(until) || self.cut_off().next().is_some()
    }

    /// How many things were found with a schedule.
    pub(crate) fn shown(&self) -> usize {
        let shown = |failure: &&Failure| !failure.seen.schedule.is_empty();
        self.overtakings.items.len()
            + self.failures().filter(shown).count()
            + usize::from(self.unserializable.is_some())
    }

    /// Whether all of these were found with a schedule.
    pub(crate) fn shows(&self, findings: &Findings) -> bool {
        let Findings { overtakings, failures, unserializable, .. } = findings;
        let all = overtakings.len() + failures.len() + usize::from(unserializable.is_some());
        let is_shown = |failure: &Failure| {
            self.failures().any(|f| !f.seen.schedule.is_empty() && f.is_same(failure))
        };
        self.shown() >= all
            && overtakings.iter().all(|o| self.overtakings.items.iter().any(|f| f.is_same(o)))
            && failures.iter().all(is_shown)
            && (unserializable.is_none() || self.unserializable.is_some())
    }

    /// What was found.
    pub(crate) fn findings(self) -> Findings {
        let mut overtakings = self.overtakings.items;
        // Who has looked at everything again need not remember what was there before.
        if self.done.as_deref() != Some("complete") {
            let again: std::collections::HashSet<_> =
                overtakings.iter().map(Overtaking::key).collect();
            overtakings.extend(self.before.into_iter().filter(|o| !again.contains(&o.key())));
        }
        let (cut_off, failures) = self.failures.items.into_iter().partition(Failure::is_cut_off);
        Findings { overtakings, failures, cut_off, unserializable: self.unserializable }
    }

    /// What went wrong.
    fn failures(&self) -> impl Iterator<Item = &Failure> {
        self.failures
            .items
            .iter()
            .filter(|failure| !failure.is_cut_off() && failure.kind != ENDLESS)
    }

    /// Says of each execution that ended in an empty loop what it is: a livelock, or of no interest. Of one that
    /// ended in a loop that only gives way, whether it was given up.
    pub(crate) fn judge_endless(&mut self, mut is_assumption: impl FnMut(&Failure) -> bool) {
        self.failures.items.retain_mut(|failure| {
            let endless = failure.kind == ENDLESS;
            if endless {
                failure.kind = "livelock".to_owned();
            }
            !(endless || failure.kind == GIVES_WAY) || !is_assumption(failure)
        });
    }

    /// A thread that is in the same state in each round of a loop goes round for ever, unless it calls code that keeps
    /// something and is not seen: then its livelock is no finding.
    pub(crate) fn doubt_livelocks(&mut self, is_unseen: impl FnOnce() -> bool) {
        let loops = |failure: &Failure| {
            let loops = failure.related.iter().find(|related| related.what == "loops");
            (failure.kind == "livelock").then_some(loops?.place)
        };
        let any = self.failures.items.iter().any(|failure| loops(failure).is_some());
        if !any || !is_unseen() {
            return;
        }
        for failure in &mut self.failures.items {
            if let Some(place) = loops(failure) {
                failure.kind = DOUBTED.to_owned();
                failure.place = Some(place);
            }
        }
    }

    /// If the harness of tests ends the program by itself, that is about the test: it returned an error, or did not panic as it should.
    pub(crate) fn blame_test(&mut self, test: u64) {
        let by_harness = |f: &&mut Failure| f.kind == "exit" && f.thread == Some(0);
        for failure in self.failures.items.iter_mut().filter(by_harness) {
            // A place is behind what is meant.
            failure.place = Some(Place { module: Some(0), offset: test + 1 });
        }
    }

    /// The executions that were given up.
    pub(crate) fn cut_off(&self) -> impl Iterator<Item = &Failure> {
        self.failures.items.iter().filter(|failure| failure.is_cut_off())
    }

    pub(crate) fn hear(&mut self, message: Message, control: &dyn Control) {
        let known = self.known + self.shared.len();
        let seen = |first, schedule| Seen { executions: 1, first, schedule, known };
        match message {
            Message::Module { base, end, path } => self.modules.push((base, end, path)),
            Message::Failure {
                number,
                kind,
                thread,
                place,
                execution,
                schedule,
                text,
                related,
            } => {
                self.executions = self.executions.max(execution);
                let seen = seen(execution, schedule);
                self.failures.push(number, Failure { kind, thread, place, text, related, seen });
            }
            Message::Overtaking { number, model, store, access, execution, schedule, fences } => {
                self.executions = self.executions.max(execution);
                let seen = seen(execution, schedule);
                self.overtakings.push(number, Overtaking { model, store, access, seen, fences });
            }
            Message::Seen { number, executions } => {
                if let Some(found) = self.failures.get(number) {
                    found.seen.executions = executions;
                }
            }
            Message::Overtaken { number, executions } => {
                if let Some(found) = self.overtakings.get(number) {
                    found.seen.executions = executions;
                }
            }
            Message::Outside { what, places } => self.outside.push((what, places)),
            Message::Unsupported { what, place } => self.unsupported.push((what, place)),
            Message::Shared { addr, len } => self.shared.push((addr, len)),
            Message::Again => {
                let found = std::mem::replace(&mut self.overtakings, Numbered::new());
                self.before.extend(found.items);
                for failure in &mut self.failures.items {
                    failure.seen.schedule.clear();
                }
            }
            Message::Token { number, execution, schedule } => {
                if let Some(found) = self.failures.get(number) {
                    let executions = found.seen.executions;
                    found.seen = Seen { executions, ..seen(execution, schedule) };
                }
            }
            Message::Diverged { step, thread: _ } => self.diverged = Some(step),
            Message::Unserializable { execution, schedule, executions } => {
                let seen = Seen { executions, ..seen(execution, schedule) };
                self.unserializable = Some(Unserializable { seen });
            }
            Message::Idle(times) => self.idle = times,
            Message::Undone(times) => self.undone = times,
            Message::Threads(most) => self.threads = most,
            Message::Mixed(model) => self.mixed.push(model),
            Message::Volatile(place) => self.volatile = Some(place),
            Message::Transactions(number) => self.transactions = number,
            Message::Exits(executions) => self.exits = executions,
            Message::Assumed(executions) => self.assumed = executions,
            Message::Left(executions) => self.left = executions,
            Message::Preempted { preemptions, executions } => {
                let mut counts = vec![0; usize::try_from(preemptions).unwrap_or(0)];
                counts.push(executions);
                add_counts(&mut self.by_preemptions, &counts);
            }
            Message::Met { place, thread, other, met } => {
                add_contacts(&mut self.met, Contacts::from([((place, thread, other), met)]));
            }
            Message::Progress { executions, steps } => {
                (self.executions, self.steps) = (executions, steps);
                let (strategy, findings) = ("", self.found());
                control.progress(SoFar { strategy, executions, steps, findings });
            }
            Message::Step(_)
            | Message::Looked(..)
            | Message::Memory(_)
            | Message::Frame(_)
            | Message::Calls(_)
            | Message::Waits(_) => {}
            Message::Done { how, executions, steps } => {
                (self.executions, self.steps) = (executions, steps);
                self.done = Some(how);
            }
            Message::Rest { .. } => {}
            Message::Defect(text) => self.defect = Some(text),
        }
    }
}

#[cfg(test)]
mod tests;
