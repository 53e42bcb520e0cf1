//! What explorations find.

use std::collections::HashMap;

use weakspot_core::Model;
use weakspot_live::wire::{
    GIVES_WAY, Place, PlacedFence, Related, SILENT, SLEPT, TOO_LONG, TOO_MUCH,
};

/// What a data race is called.
pub(crate) const RACE: &str = "data-race";

/// All that was found, each thing once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Findings {
    /// Accesses that can overtake a store.
    pub overtakings: Vec<Overtaking>,
    /// Executions that went wrong.
    pub failures: Vec<Failure>,
    /// Executions that were given up, as if they had failed.
    pub cut_off: Vec<Failure>,
    /// Executions that are not serializable.
    pub unserializable: Option<Unserializable>,
}

/// An access that a model would let overtake a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overtaking {
    /// The model.
    pub model: Model,
    /// Where the store is.
    pub store: Place,
    /// Where the access is.
    pub access: Place,
    /// Where it was seen.
    pub seen: Seen,
    /// Any one of these prevents it where it was first seen.
    pub fences: Vec<PlacedFence>,
}

impl Overtaking {
    /// Whether another one is the same, but for where it was seen.
    pub(crate) fn is_same(&self, other: &Overtaking) -> bool {
        self.key() == other.key()
    }

    pub(crate) fn key(&self) -> (Model, Place, Place) {
        (self.model, self.store, self.access)
    }
}

/// An execution that went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What: `assertion`, `crash`, `deadlock`, ...
    pub kind: String,
    /// Which thread was at fault.
    pub thread: Option<u16>,
    /// Where it was.
    pub place: Option<Place>,
    /// What is known about it.
    pub text: String,
    /// Other places that have to do with it.
    pub related: Vec<Related>,
    /// Where it was seen.
    pub seen: Seen,
}

/// The kind of an execution that was given up in a loop that code which is not seen may end.
pub(crate) const DOUBTED: &str = "doubted";

impl Failure {
    /// Whether it is none: the execution was given up.
    pub(crate) fn is_cut_off(&self) -> bool {
        matches!(self.kind.as_str(), TOO_LONG | TOO_MUCH | SILENT | GIVES_WAY | DOUBTED)
    }

    /// Whether another one is the same, but for where it was seen.
    #[must_use]
    pub fn is_same(&self, other: &Failure) -> bool {
        let counts = |r: &&Related| r.what != SLEPT;
        let places =
            |of: &Failure| of.related.iter().filter(counts).map(|r| r.place).collect::<Vec<_>>();
        (&self.kind, self.place, &self.text) == (&other.kind, other.place, &other.text)
            && places(self) == places(other)
    }
}

/// Executions whose transactions are not serializable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unserializable {
    /// Where they were seen.
    pub seen: Seen,
}

impl Unserializable {
    /// Both together, where they were seen first.
    pub(crate) fn with(self, other: Unserializable) -> Unserializable {
        let executions = self.seen.executions + other.seen.executions;
        let first = if other.seen.first < self.seen.first { other } else { self };
        Unserializable { seen: Seen { executions, ..first.seen } }
    }
}

/// In which executions something was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// How many.
    pub executions: u64,
    /// The first of them, from 1.
    pub first: u64,
    /// The schedule of that one; empty if there is none that can be followed.
    pub schedule: String,
    /// How many pieces of memory were known to be shared then: the schedule depends on them.
    pub known: usize,
}

impl Findings {
    pub(crate) fn none() -> Findings {
        Findings {
            overtakings: Vec::new(),
            failures: Vec::new(),
            cut_off: Vec::new(),
            unserializable: None,
        }
    }

    /// Adds what is not known yet.
    pub(crate) fn add_missing(&mut self, mut other: Findings) {
        other.overtakings.retain(|found| !self.overtakings.iter().any(|o| o.is_same(found)));
        other.failures.retain(|found| !self.failures.iter().any(|old| old.is_same(found)));
        other.cut_off.clear();
        other.unserializable = other.unserializable.filter(|_| self.unserializable.is_none());
        self.add(other, 0);
    }

    /// Adds what was found after `executions` others.
    pub(crate) fn add(&mut self, new: Findings, executions: u64) {
        let later = |seen: Seen| Seen { first: executions + seen.first, ..seen };
        let mut known: HashMap<_, usize> =
            self.overtakings.iter().enumerate().map(|(i, o)| (o.key(), i)).collect();
        for found in new.overtakings {
            match known.get(&found.key()) {
                Some(&old) => self.overtakings[old].seen.executions += found.seen.executions,
                None => {
                    known.insert(found.key(), self.overtakings.len());
                    self.overtakings.push(Overtaking { seen: later(found.seen), ..found });
                }
            }
        }
        for found in new.failures.into_iter().chain(new.cut_off) {
            let all = if found.is_cut_off() { &mut self.cut_off } else { &mut self.failures };
            match all.iter_mut().find(|old| old.is_same(&found)) {
                Some(old) => {
                    let executions = old.seen.executions + found.seen.executions;
                    // One that can be followed is better than none.
                    if old.seen.schedule.is_empty() {
                        old.seen = later(found.seen);
                    }
                    old.seen.executions = executions;
                }
                None => all.push(Failure { seen: later(found.seen), ..found }),
            }
        }
        match (&mut self.unserializable, new.unserializable) {
            (Some(old), Some(found)) => old.seen.executions += found.seen.executions,
            (none, Some(found)) => *none = Some(Unserializable { seen: later(found.seen) }),
            (_, None) => {}
        }
    }
    /// Takes the executions that show the same elsewhere, but not how often and when it was seen there.
    pub(crate) fn show_by(&mut self, other: Findings) {
        let shown =
            |old: &Seen, new: Seen| Seen { schedule: new.schedule, known: new.known, ..*old };
        let mut overtakings: HashMap<_, Overtaking> =
            other.overtakings.into_iter().map(|o| (o.key(), o)).collect();
        for old in &mut self.overtakings {
            if let Some(new) = overtakings.remove(&old.key()) {
                *old = Overtaking { seen: shown(&old.seen, new.seen), ..new };
            }
        }
        for new in other.failures.into_iter().filter(|new| !new.seen.schedule.is_empty()) {
            if let Some(old) = self.failures.iter_mut().find(|old| old.is_same(&new)) {
                *old = Failure { seen: shown(&old.seen, new.seen), ..new };
            }
        }
        if let (Some(old), Some(new)) = (&mut self.unserializable, other.unserializable) {
            old.seen = shown(&old.seen, new.seen);
        }
    }
}
