//! What a log that cannot be read again was about: notes on the events that a cycle may still come
//! to lead through, so that one that is found late can be told and checked as well as any other.
//!
//! A cycle consists of events that the monitors refer to. All are noted, and whenever the notes have
//! doubled those go that no monitor refers to any more. So there are never many more than the
//! monitors remember, and a few hundred thousand of the last.

use std::collections::{HashMap, HashSet};

use weakspot_core::certify::Rejected;
use weakspot_core::serial::{Conflicts, CycleLog, Passed, TxnCycle, TxnReader};
use weakspot_core::{LogEvent, TxnEvent, TxnKind};

use crate::touched::{Extent, Touched, TouchedEvents, touched};

/// So many notes are no reason to look for those that are not needed.
const FEW: usize = 1 << 18;

/// Notes on a log.
pub(crate) struct Journal {
    log: CycleLog,
    /// Why a check of what was noted would fail.
    wrong: Option<Rejected>,
    /// The events by their numbers, which rise.
    events: Vec<(u64, Touched)>,
    transactions: HashMap<u32, Extent>,
    /// The places in the program that stores come from, at least of the pending ones, by their numbers in the log.
    stores: HashMap<u64, u32>,
    /// The transactions of cycles that were found.
    found: HashSet<u32>,
    /// The number of the next event.
    now: u64,
    room: usize,
}

/// What the notes say about a cycle, which they were enough to check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotedCycle {
    /// Its events, by their numbers.
    pub events: TouchedEvents,
    /// Its transactions, as far as they have come.
    pub transactions: HashMap<u32, Extent>,
    /// What the check of the cycle said.
    pub passed: Passed,
}

impl Journal {
    pub(crate) fn new(has_commits: bool) -> Journal {
        Journal {
            log: CycleLog::new(has_commits),
            wrong: None,
            events: Vec::new(),
            transactions: HashMap::new(),
            stores: HashMap::new(),
            found: HashSet::new(),
            now: 0,
            room: FEW,
        }
    }

    /// Notes what an event of the log stands for.
    pub(crate) fn note(&mut self, log: &LogEvent, number: u64, event: TxnEvent, unit: u32) {
        let mut noted = touched(log, number, event, unit);
        match event.kind {
            TxnKind::Write => {
                self.stores.insert(number, log.site);
            }
            // Where a commit is not said to come from, it comes from its store.
            TxnKind::Commit => {
                let site = self.stores.get(&noted.store).copied();
                noted.log.site = if log.site == 0 { site.unwrap_or(0) } else { log.site };
            }
            _ => {}
        }
        if event.kind != TxnKind::Commit {
            self.transactions.entry(event.txn).or_insert(Extent::NONE).add(log, &noted);
        }
        if self.wrong.is_none() {
            self.wrong = self.log.event(event).err();
        }
        self.events.push((self.now, noted));
        self.now += 1;
    }

    /// Whether it is time to look for notes that are not needed.
    pub(crate) fn is_full(&self) -> bool {
        self.events.len() >= self.room
    }

    /// Keeps notes on these events only, and on transactions that they belong to or that go on.
    pub(crate) fn retain(&mut self, mut events: Vec<u64>, reader: &TxnReader) {
        events.sort_unstable();
        let is_needed = |event: u64| events.binary_search(&event).is_ok();
        self.log.retain(is_needed);
        self.events.retain(|&(event, _)| is_needed(event));
        let stores: HashMap<u64, u32> = reader.open_stores().collect();
        self.stores.retain(|store, _| stores.contains_key(store));
        let mut needed = self.found.clone();
        needed.extend(reader.open_transactions().chain(stores.into_values()));
        needed.extend(self.events.iter().map(|(_, noted)| noted.event.txn));
        self.transactions.retain(|txn, _| needed.contains(txn));
        self.room = FEW.max(2 * self.events.len());
    }

    /// Checks a cycle that was found with the last event, and says what its events are.
    pub(crate) fn describe(
        &mut self,
        relation: Conflicts,
        cycle: &TxnCycle,
    ) -> Result<(TouchedEvents, Passed), Rejected> {
        if let Some(wrong) = &self.wrong {
            return Err(wrong.clone());
        }
        let passed = self.log.check(relation, cycle)?;
        let mut described = HashMap::new();
        for event in cycle.0.iter().flat_map(|&(a, b)| [a, b]) {
            if let Ok(at) = self.events.binary_search_by_key(&event, |&(event, _)| event) {
                described.insert(event, self.events[at].1);
                self.found.insert(self.events[at].1.event.txn);
            }
        }
        Ok((described, passed))
    }

    /// A transaction that a cycle leads through.
    pub(crate) fn transaction(&self, txn: u32) -> Option<Extent> {
        self.transactions.get(&txn).copied()
    }

    pub(crate) fn bytes(&self) -> u64 {
        let events = self.events.capacity() * size_of::<(u64, Touched)>() + self.log.len() * 64;
        (events + self.transactions.len() * 64) as u64
    }
}
