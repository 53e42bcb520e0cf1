//! From what the monitors found to what is shown, by going through the log again.

use std::collections::HashMap;

use weakspot_core::certify::Rejected;
use weakspot_core::serial::{Question, TxnCycle};
use weakspot_core::{LogEvent, LogKind, TxnKind, Verdict};
use weakspot_report::{
    SerialCycle, SerialEdge, SerialEvent, SerialEvidence, SerialRole, SerialTxn,
};
use weakspot_serial::{Explain, Extent, Extents, Follow, Ordered, Told, Touched};

use super::Job;
use super::current::Current;
use super::delays::{Timed, delays};
use crate::log::is_stdin;

/// How many transactions of an order are shown.
const MAX_ORDER: usize = 1_000;

/// What is shown of an answer.
#[derive(Default)]
pub(super) struct Shown {
    pub(super) cycle: Option<SerialCycle>,
    pub(super) order: Option<Vec<SerialTxn>>,
}

/// An answer, what is shown of it, and why to believe it.
pub(super) struct Found {
    pub(super) verdict: Verdict,
    pub(super) shown: Shown,
    pub(super) evidence: Option<SerialEvidence>,
    pub(super) remark: Option<String>,
}

impl Job<'_> {
    /// What was found about an execution, checked by definition.
    pub(super) fn show(
        &self,
        current: &mut Current,
        question: Question,
    ) -> Result<Found, Rejected> {
        let mut found = Found {
            verdict: Verdict::Holds,
            shown: Shown::default(),
            evidence: None,
            remark: None,
        };
        if let Some(cycle) = current.follow.cycle(question).cloned() {
            found.verdict = Verdict::Violated;
            found.shown.cycle = match current.follow.told(question) {
                // What was noted on the way is enough, and the rest is gone.
                Some(told) if !current.is_whole() => {
                    let Told { events, transactions } = told?;
                    Some(edges(&cycle, &events, &transactions, event, store_of))
                }
                _ => {
                    let touched = self.explain(current, question, &cycle)?;
                    touched.map(|touched| self.drawn(current, &cycle, &touched))
                }
            };
            if found.shown.cycle.is_none() {
                let count = cycle.0.len();
                found.remark = Some(format!(
                    "the cycle of {count} transactions was not checked, because the log could not be \
                     read again"
                ));
            }
            found.evidence = Some(SerialEvidence::Cycle(cycle));
            return Ok(found);
        }
        if let Some(limit) = &current.limit {
            found.verdict = Verdict::Unknown(limit.clone());
            return Ok(found);
        }
        if let Some(order) = current.follow.take_order(question) {
            let checked = self.check_order(current, question, &order)?;
            if checked && order.len() <= MAX_ORDER {
                found.shown.order = Some(self.txns(current, &order));
            }
            found.evidence = Some(SerialEvidence::Order(order));
        }
        Ok(found)
    }

    /// Whether an execution is equivalent to one of SC, if that can be said.
    pub(super) fn sc_equivalent(
        &self,
        current: &Current,
        serializable: &Verdict,
    ) -> Result<Option<bool>, Rejected> {
        match serializable {
            // An order of transactions that respects program order is one of their events.
            Verdict::Holds => return Ok(Some(true)),
            Verdict::Violated if current.limit.is_none() => {}
            _ => return Ok(None),
        }
        let question = Question::ScEquivalent;
        let has_commits = current.follow.has_commits();
        let mut follow = Follow::new(&[question], has_commits, &current.tables, current.is_whole());
        if !self.replay(current, true, &mut |events| follow.events(events).is_ok()) {
            return Ok(None);
        }
        if let Some(cycle) = follow.cycle(question).cloned() {
            self.explain(current, question, &cycle)?;
            return Ok(Some(false));
        }
        if let Some(order) = follow.take_order(question) {
            self.check_order(current, question, &order)?;
        }
        Ok(Some(true))
    }

    /// Goes through the events of a trace again as long as `look` wants more: through those that were
    /// kept if that is enough, or else the file. Whether it could.
    fn replay(
        &self,
        current: &Current,
        to_the_end: bool,
        look: &mut dyn FnMut(&[LogEvent]) -> bool,
    ) -> bool {
        if current.is_whole() || is_stdin(self.path) {
            let enough = !look(&current.kept);
            return current.is_whole() || enough && !to_the_end;
        }
        self.trace(current.number).read(&mut |events, _| look(events)).is_ok()
    }

    /// Checks a cycle, and finds out what its events are; `None` if they are gone.
    fn explain(
        &self,
        current: &Current,
        question: Question,
        cycle: &TxnCycle,
    ) -> Result<Option<HashMap<u64, Touched>>, Rejected> {
        let has_commits = current.follow.has_commits();
        let mut explain = Explain::new(question, has_commits, &current.tables, cycle);
        let mut wrong = Ok(false);
        let could = self.replay(current, false, &mut |events| {
            wrong = explain.events(events);
            matches!(wrong, Ok(false))
        });
        match (could, wrong?) {
            (true, true) => explain.end().map(Some),
            _ => Ok(None),
        }
    }

    /// Checks an order; whether it could.
    fn check_order(
        &self,
        current: &Current,
        question: Question,
        order: &[u32],
    ) -> Result<bool, Rejected> {
        // A log that does not fit memory is not gone through again for this; `certify` does.
        if !current.is_whole() {
            return Ok(false);
        }
        let has_commits = current.follow.has_commits();
        let mut check = Ordered::new(question, has_commits, &current.tables, order)?;
        check.events(&current.kept)?;
        check.end()?;
        Ok(true)
    }

    /// The transactions of a cycle, and its events.
    fn drawn(
        &self,
        current: &Current,
        cycle: &TxnCycle,
        touched: &HashMap<u64, Touched>,
    ) -> SerialCycle {
        let wanted: Vec<u32> = touched.values().map(|touched| touched.event.txn).collect();
        let mut extents =
            Extents::new(current.follow.has_commits(), &current.tables, Some(&wanted));
        extents.look_for(touched.values().map(|touched| touched.store));
        self.replay(current, true, &mut |events| {
            extents.events(events);
            true
        });
        // Where a commit is not said to come from, it comes from its store.
        let shown = |touched: &Touched| {
            let mut shown = event(touched);
            if let Some(store) = extents.event(touched.store).filter(|_| shown.log.site == 0) {
                shown.log.site = store.site;
            }
            shown
        };
        let store = |touched: &Touched| {
            let store = store_of(touched);
            extents.event(touched.store).map_or(store, |&log| SerialEvent { log, ..store })
        };
        edges(cycle, touched, extents.found(), shown, store)
    }

    /// What the transactions of an order are, but for the starts and ends of threads.
    fn txns(&self, current: &Current, order: &[u32]) -> Vec<SerialTxn> {
        let mut extents = Extents::new(current.follow.has_commits(), &current.tables, None);
        extents.events(&current.kept);
        let found = extents.end();
        let shown = order.iter().map(|number| found.get(number));
        shown.filter(|extent| extent.is_none_or(|e| !e.aside)).map(|e| txn(0, e)).collect()
    }
}

/// A cycle as it is shown.
fn edges(
    cycle: &TxnCycle,
    touched: &HashMap<u64, Touched>,
    transactions: &HashMap<u32, Extent>,
    shown: impl Fn(&Touched) -> SerialEvent,
    store: impl Fn(&Touched) -> SerialEvent,
) -> SerialCycle {
    let edge = |(from, to): &(u64, u64)| {
        let (of, to) = (touched.get(from)?, touched.get(to)?);
        let txn = txn(of.event.thread, transactions.get(&of.event.txn));
        Some(SerialEdge { txn, from: shown(of), to: shown(to) })
    };
    let edges = cycle.0.iter().filter_map(edge).collect();
    let timed = |event: &u64| {
        let touched = touched.get(event)?;
        let is_commit = touched.event.kind == TxnKind::Commit;
        Some(Timed {
            event: shown(touched),
            thread: touched.event.thread,
            at: touched.number,
            stored: is_commit.then(|| (touched.store, store(touched))),
        })
    };
    let timed = cycle.0.iter().filter_map(|(from, to)| Some((timed(from)?, timed(to)?)));
    let delays = delays(&timed.collect::<Vec<_>>());
    SerialCycle { edges: from_first(edges), commits: Vec::new(), delays }
}

/// The store of a commit, as far as the commit tells.
fn store_of(touched: &Touched) -> SerialEvent {
    let log = LogEvent { kind: LogKind::Write, ..touched.log };
    SerialEvent { log, number: touched.store, role: SerialRole::Itself }
}

/// A cycle that starts with the transaction that began first.
pub(super) fn from_first(mut edges: Vec<SerialEdge>) -> Vec<SerialEdge> {
    let first = (0..edges.len()).min_by_key(|&at| edges[at].txn.events.0);
    edges.rotate_left(first.unwrap_or(0));
    edges
}

/// A transaction as it is shown.
pub(super) fn txn(thread: u32, extent: Option<&Extent>) -> SerialTxn {
    match extent {
        Some(&Extent { thread, label, events, .. }) => SerialTxn { thread, label, events },
        None => SerialTxn { thread: thread as u16, label: None, events: (0, 0) },
    }
}

/// An event as it is shown.
pub(super) fn event(touched: &Touched) -> SerialEvent {
    let role = match (touched.aside, touched.event.kind) {
        (false, _) => SerialRole::Itself,
        (true, TxnKind::Update) => SerialRole::End,
        (true, _) => SerialRole::Start,
    };
    SerialEvent { log: touched.log, number: touched.number, role }
}
