//! Answers about histories of transactions as JSON lines.

use serde::Serialize;
use weakspot_core::transactional::{BEGINNING, Fact, Reason, anomaly};
use weakspot_core::{Names, TxnEvidence, Verdict};

use super::TxnHistoryAnswer;
use super::show::{Show, link};
use crate::json::of_record;

/// Longer orders and cycles are only in witness files.
const MAX_SHOWN: usize = 1_000;

#[derive(Serialize)]
struct About<'a> {
    id: Option<&'a str>,
    number: usize,
}

#[derive(Serialize)]
struct Body<'a> {
    operations: usize,
    transactions: u64,
    sessions: usize,
    variables: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    implied_by: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    anomaly: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    anomaly_text: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<Vec<(u32, u32)>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    read: Option<OperationJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cycle: Option<Vec<u32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    facts: Option<Vec<FactJson>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    unchecked: &'a [String],
}

/// The answer as a JSON object on one line.
pub(super) fn transactional_json(a: &TxnHistoryAnswer<'_>) -> String {
    let show = Show { history: a.history, names: a.names, lines: a.lines, txns: Vec::new() };
    let is_unknown = matches!(a.head.verdict, Verdict::Unknown(_));
    let found = a.evidence.and_then(|e| anomaly(a.history, a.head.model, e));
    let (mut order, mut read, mut cycle, mut facts) = (None, None, None, None);
    match a.evidence {
        Some(TxnEvidence::Order(txns)) if txns.len() <= MAX_SHOWN => {
            let place = |&txn: &u32| (show.place(txn).0, show.place(txn).1);
            order = Some(txns.iter().map(place).collect());
        }
        Some(TxnEvidence::Misread { op, .. }) => read = Some(OperationJson::of(&show, *op)),
        Some(TxnEvidence::Cycle { facts: all, cycle: numbers }) if all.len() <= MAX_SHOWN => {
            cycle = Some(numbers.clone());
            facts = Some(all.iter().map(|fact| FactJson::of(&show, fact)).collect());
        }
        _ => {}
    }
    let body = Body {
        operations: a.history.len(),
        transactions: super::committed(a.history),
        sessions: a.history.sessions(),
        variables: a.history.vars(),
        decided_by: (!is_unknown).then_some(a.decided_by),
        implied_by: a.implied_by.map(|model| model.key()),
        anomaly: found.map(|f| f.key),
        anomaly_text: found.map(|f| f.words),
        order,
        read,
        cycle,
        facts,
        notes: a.notes,
        unchecked: a.unchecked,
    };
    of_record(&a.head, &Names::default(), About { id: a.id, number: a.number }, body)
}

/// A transaction; `None` is what is there at first.
#[derive(Serialize)]
struct TxnJson {
    session: u32,
    index: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

impl TxnJson {
    fn of(show: &Show<'_>, txn: u32) -> Option<TxnJson> {
        let (session, index, line) = (txn != BEGINNING).then(|| show.place(txn))?;
        Some(TxnJson { session, index, line })
    }
}

#[derive(Serialize)]
struct OperationJson {
    #[serde(flatten)]
    txn: Option<TxnJson>,
    operation: u32,
    op: String,
}

impl OperationJson {
    fn of(show: &Show<'_>, op: u32) -> OperationJson {
        let txn = show.history.txn_of(op);
        let operation = op - show.history.of_txn(txn).start;
        let line = show.lines.get(op as usize).copied();
        let txn = TxnJson::of(show, txn).map(|txn| TxnJson { line, ..txn });
        OperationJson { txn, operation, op: show.op(op) }
    }
}

#[derive(Serialize)]
struct FactJson {
    from: Option<TxnJson>,
    link: &'static str,
    to: Option<TxnJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    read: Option<OperationJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<Vec<u32>>,
}

impl FactJson {
    fn of(show: &Show<'_>, fact: &Fact) -> FactJson {
        let (read, path) = match &fact.reason {
            Reason::Beginning | Reason::Session | Reason::Versions(..) => (None, None),
            Reason::Reads(read) => (Some(*read), None),
            Reason::Older { read, path } | Reason::Overwrites { read, path } => {
                (Some(*read), Some(path.clone()))
            }
        };
        FactJson {
            from: TxnJson::of(show, fact.from),
            link: link(&fact.reason),
            to: TxnJson::of(show, fact.to),
            read: read.map(|read| OperationJson::of(show, read)),
            path,
        }
    }
}
