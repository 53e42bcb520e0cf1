//! From what the monitors found to what is shown, by going through the log again.

use std::collections::HashMap;

use weakspot_core::certify::Rejected;
use weakspot_core::serial::{Question, TxnCycle};
use weakspot_core::{Certification, LogEvent, LogKind, TxnKind, Verdict};
use weakspot_input::{TraceOf, is_stdin};
use weakspot_report::{
    SerialCycle, SerialEdge, SerialEvent, SerialEvidence, SerialRole, SerialTimed, SerialTxn,
    serial_delays,
};
use weakspot_serial::{
    CycleEvents, ExecutionAnswer, ExecutionEvidence, Extent, Extents, Pass, Touched, sc_equivalent,
};

use super::Asked;
use super::current::Current;

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
    pub(super) certification: Certification,
    pub(super) shown: Shown,
    pub(super) evidence: Option<SerialEvidence>,
    pub(super) remark: Option<String>,
}

impl Asked<'_> {
    /// What was found about an execution.
    pub(super) fn show(
        &self,
        current: &mut Current,
        question: Question,
    ) -> Result<Found, Rejected> {
        let is_whole = current.is_whole();
        let Current { follow, tables, limit, kept, number, .. } = current;
        let mut again = self.again(is_whole, kept, *number);
        let answer = follow.answer(question, tables, limit.as_ref(), &mut |pass, look| {
            // A log that does not fit memory is not gone through again for an order; `certify` does.
            (pass != Pass::Order || again.is_whole()) && again.replay(look)
        })?;
        let certification = answer.certification();
        let ExecutionAnswer { verdict, evidence, events } = answer.into_answer();
        let (mut shown, mut remark) = (Shown::default(), None);
        let evidence = evidence.map(|evidence| match evidence {
            ExecutionEvidence::Cycle(cycle) => {
                shown.cycle = events.map(|events| match events {
                    CycleEvents::Read(touched) => self.drawn(current, &cycle, &touched),
                    CycleEvents::Noted(noted) => {
                        edges(&cycle, &noted.events, &noted.transactions, event, store_of)
                    }
                });
                if shown.cycle.is_none() {
                    let count = cycle.0.len();
                    remark = Some(format!(
                        "the cycle of {count} transactions was not checked, because the log could \
                         not be read again"
                    ));
                }
                SerialEvidence::Cycle(cycle)
            }
            ExecutionEvidence::Order(order) => {
                if certification.is_checked() && order.len() <= MAX_ORDER {
                    shown.order = Some(self.txns(current, &order));
                }
                SerialEvidence::Order(order)
            }
        });
        Ok(Found { verdict, certification, shown, evidence, remark })
    }

    /// Whether an execution is equivalent to one of SC, if that can be said.
    pub(super) fn sc_equivalent(
        &self,
        current: &Current,
        serializable: &Verdict,
    ) -> Result<Option<bool>, Rejected> {
        if current.limit.is_some() && *serializable != Verdict::Holds {
            return Ok(None);
        }
        let mut again = self.again(current.is_whole(), &current.kept, current.number);
        let has_commits = current.follow.has_commits();
        sc_equivalent(serializable, has_commits, &current.tables, &mut |pass, look| {
            (pass != Pass::Order || again.is_whole()) && again.replay(look)
        })
    }

    /// The events of a trace: those that were kept if that is all, or else the file.
    fn again<'a>(
        &'a self,
        is_whole: bool,
        kept: &'a [LogEvent],
        number: Option<usize>,
    ) -> Again<'a> {
        match (is_whole, is_stdin(self.path)) {
            (true, _) => Again::Kept(kept),
            (false, true) => Again::Gone,
            (false, false) => Again::File(self.trace(number)),
        }
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
        self.again(current.is_whole(), &current.kept, current.number).replay(&mut |events| {
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

/// Where the events of a trace are when they are gone through again.
enum Again<'a> {
    Kept(&'a [LogEvent]),
    File(TraceOf<'a>),
    /// They cannot be read again, because they came through a pipe.
    Gone,
}

impl Again<'_> {
    fn is_whole(&self) -> bool {
        matches!(self, Again::Kept(_))
    }

    /// Goes through the events as long as `look` wants more; whether it could.
    fn replay(&mut self, look: &mut dyn FnMut(&[LogEvent]) -> bool) -> bool {
        match self {
            Again::Kept(kept) => {
                look(kept);
                true
            }
            Again::File(trace) => trace.read(&mut |events, _| look(events)).is_ok(),
            Again::Gone => false,
        }
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
        Some(SerialTimed {
            event: shown(touched),
            thread: touched.event.thread,
            at: touched.number,
            stored: is_commit.then(|| (touched.store, store(touched))),
        })
    };
    let timed = cycle.0.iter().filter_map(|(from, to)| Some((timed(from)?, timed(to)?)));
    let delays = serial_delays(&timed.collect::<Vec<_>>());
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
