//! What a violation is called. The names are those of Adya and of Elle.

use super::evidence::{Fact, Reason, TxnEvidence};
use super::orders::Misread;
use super::recorded::{TxnHistory, TxnModel};

/// What a violation is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Anomaly {
    /// As scripts read it, and users of Elle know it, such as `G-single`.
    pub key: &'static str,
    /// In a few words.
    pub words: &'static str,
}

const fn named(key: &'static str, words: &'static str) -> Anomaly {
    Anomaly { key, words }
}

/// What the violation is called that this evidence shows; `None` if it shows none.
#[must_use]
pub fn anomaly(history: &TxnHistory, model: TxnModel, evidence: &TxnEvidence) -> Option<Anomaly> {
    Some(match evidence {
        TxnEvidence::Order(_) => return None,
        TxnEvidence::Misread { what, .. } => match what {
            Misread::Aborted => named("G1a", "aborted read"),
            Misread::Intermediate => named("G1b", "intermediate read"),
            Misread::Internal => named("internal", "a transaction contradicts what it did itself"),
            Misread::Duplicate => named("duplicate-elements", "an element twice in a list"),
            Misread::Incompatible => {
                named("incompatible-order", "two lists of which neither begins with the other")
            }
        },
        TxnEvidence::Searched => named("G2", "no order of the transactions explains all reads"),
        TxnEvidence::Cycle { facts, cycle } => of_cycle(history, model, facts, cycle),
    })
}

fn of_cycle(history: &TxnHistory, model: TxnModel, facts: &[Fact], cycle: &[u32]) -> Anomaly {
    let on_cycle = || cycle.iter().map(|&fact| &facts[fact as usize]);
    let hidden: Vec<(&Fact, u32, &[u32])> = on_cycle()
        .filter_map(|fact| match &fact.reason {
            Reason::Older { read, path } => Some((fact, *read, &path[..])),
            _ => None,
        })
        .collect();
    let overwrites = on_cycle().filter(|f| matches!(f.reason, Reason::Overwrites { .. })).count();
    if let [(fact, read, path)] = hidden[..]
        && overwrites == 0
    {
        return behind_reader(history, facts, fact, read, path);
    }
    if let Some(anomaly) = lost_update(history, facts, cycle) {
        return anomaly;
    }
    let of_one_read =
        |a: u32, b: u32| history.txn_of(a) == history.txn_of(b) && history.var(a) == history.var(b);
    if let [(_, a, _), (_, b, _)] = hidden[..]
        && of_one_read(a, b)
        && cycle.len() == 2
    {
        return named("internal", "a transaction reads two versions of a variable");
    }
    let has = |wanted: fn(&Reason) -> bool| on_cycle().any(|fact| wanted(&fact.reason));
    let session = has(|r| matches!(r, Reason::Session));
    match hidden.len() + overwrites {
        0 if has(|r| matches!(r, Reason::Reads(_))) => match session {
            false => named("G1c", "circular information flow"),
            true => named("G1c-process", "circular information flow, with the order of a session"),
        },
        0 => match session {
            false => named("G0", "write cycle"),
            true => named("G0-process", "write cycle, with the order of a session"),
        },
        1 => single(session),
        _ if model != TxnModel::Serializable => {
            named("cyclic-versions", "what was read puts versions into a cycle")
        }
        _ if session => {
            named("G2-item-process", "anti-dependency cycle, with the order of a session")
        }
        _ => named("G2-item", "anti-dependency cycle"),
    }
}

fn single(session: bool) -> Anomaly {
    match session {
        false => named("G-single", "read skew: a cycle with one anti-dependency"),
        true => named("G-single-process", "read skew, with the order of a session"),
    }
}

/// The rest of the cycle shows that `fact.from` overwrites what was read, and this path that the
/// reader sees `fact.from`.
fn behind_reader(
    history: &TxnHistory,
    facts: &[Fact],
    fact: &Fact,
    read: u32,
    path: &[u32],
) -> Anomaly {
    let reader = history.txn_of(read);
    let var = history.var(read);
    let reads_same = |txn: u32| {
        history.of_txn(txn).any(|op| history.var(op) == var && history.source(op) == Some(fact.to))
    };
    let mut reasons = path.iter().map(|&f| &facts[f as usize].reason);
    match path {
        _ if history.last_write(reader, var).is_some() && reads_same(fact.from) => {
            named("lost-update", "two updates of the same version")
        }
        [one] if matches!(facts[*one as usize].reason, Reason::Reads(_)) => {
            named("fractured-read", "a transaction is seen in part")
        }
        _ => single(reasons.any(|r| matches!(r, Reason::Session))),
    }
}

/// Two transactions that overwrite the version of a variable that both have read.
fn lost_update(history: &TxnHistory, facts: &[Fact], cycle: &[u32]) -> Option<Anomaly> {
    let on_cycle = || cycle.iter().map(|&fact| &facts[fact as usize]);
    let found = on_cycle().any(|fact| {
        let Reason::Overwrites { read, .. } = &fact.reason else { return false };
        let var = history.var(*read);
        let source = history.source(*read);
        history.last_write(fact.from, var).is_some()
            && history
                .of_txn(fact.to)
                .any(|op| history.var(op) == var && history.source(op) == source)
    });
    (found && cycle.len() == 2).then(|| named("lost-update", "two updates of the same version"))
}
