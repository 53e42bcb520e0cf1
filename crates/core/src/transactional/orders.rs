//! What is wrong with single reads, whatever the model, and the order of versions that lists show.

use crate::INITIAL;

use super::recorded::{TxnHistory, TxnOp};

/// What no model allows a read of a committed transaction to be. The names are Elle's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Misread {
    /// It took its value from a transaction that was not committed (G1a).
    Aborted,
    /// It took its value from a write that its transaction overwrote itself (G1b).
    Intermediate,
    /// It contradicts what its own transaction wrote before, or reads what it writes later.
    Internal,
    /// Its list has an element twice.
    Duplicate,
    /// Its list is no beginning of another one that was read.
    Incompatible,
}

/// What is wrong with a read; nothing for writes and for transactions that were not committed.
/// `versions` are those of [`version_orders`].
#[must_use]
pub fn misread(history: &TxnHistory, versions: &[Vec<u32>], op: u32) -> Option<Misread> {
    let txn = history.txn_of(op);
    let TxnOp::Read { var, from } = history.op(op) else { return None };
    if !history.committed(txn) {
        return None;
    }
    let list = history.list(op);
    if list.iter().any(|&w| !history.committed(history.txn_of(w))) {
        return Some(Misread::Aborted);
    }
    let own = match history.last_write(txn, var) {
        // Its last one is behind the read, but there may be others.
        Some(last) if last > op => {
            let mut before = (history.of_txn(txn).start..op).rev();
            before.find(|&before| history.writes(before) && history.var(before) == var)
        }
        own => own,
    };
    if own.is_some_and(|own| own != from) {
        return Some(Misread::Internal);
    }
    if from != INITIAL && own.is_none() {
        let writer = history.txn_of(from);
        if writer == txn {
            return Some(Misread::Internal);
        }
        if !history.committed(writer) {
            return Some(Misread::Aborted);
        }
        if history.is_overwritten(from) {
            return Some(Misread::Intermediate);
        }
    }
    let longest = versions.get(var as usize).map_or(&[][..], Vec::as_slice);
    if list.is_empty() {
        return None;
    }
    if is_repeated(list) {
        return Some(Misread::Duplicate);
    }
    (!longest.starts_with(list)).then_some(Misread::Incompatible)
}

/// Whether something stands twice in a list.
fn is_repeated(list: &[u32]) -> bool {
    let mut sorted = list.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).any(|pair| pair[0] == pair[1])
}

/// Per variable the longest list that a committed transaction read, as writes: the order of its
/// versions. Of several that are equally long it is the first. None if variables are no lists.
#[must_use]
pub fn version_orders(history: &TxnHistory) -> Vec<Vec<u32>> {
    if !history.has_lists() {
        return Vec::new();
    }
    let mut longest: Vec<Option<u32>> = vec![None; history.vars()];
    for op in 0..history.len() as u32 {
        if history.writes(op) || !history.committed(history.txn_of(op)) {
            continue;
        }
        let best = &mut longest[history.var(op) as usize];
        if best.is_none_or(|best| history.list(best).len() < history.list(op).len()) {
            *best = Some(op);
        }
    }
    let list = |op: Option<u32>| op.map_or(Vec::new(), |op| history.list(op).to_vec());
    longest.into_iter().map(list).collect()
}
