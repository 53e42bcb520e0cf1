//! Accesses that overlap others in part are cut into several events, one for each part. An execution
//! has to do all of them at once.

use std::collections::{HashMap, VecDeque};

use super::execution::{pair, serializable};
use super::{BufferedReads, Conflicts, Executions, TxnEvent, TxnKind};

/// Per event of an execution, the access that it is a part of: that of the event of the trace that
/// the thread does there, and for a commit that of its store. `None` if the threads do not do what
/// they do in the trace.
#[must_use]
pub fn accesses(execution: &[TxnEvent], trace: &[TxnEvent], access: &[u32]) -> Option<Vec<u32>> {
    let mut issued: HashMap<u32, VecDeque<u32>> = HashMap::new();
    for (event, &access) in trace.iter().zip(access) {
        issued.entry(event.thread).or_default().push_back(access);
    }
    let mut stored: HashMap<u32, VecDeque<u32>> = HashMap::new();
    execution
        .iter()
        .map(|event| {
            let stores = stored.entry(event.thread).or_default();
            if event.kind == TxnKind::Commit {
                return stores.pop_front();
            }
            let access = issued.get_mut(&event.thread)?.pop_front()?;
            if event.kind == TxnKind::Write {
                stores.push_back(access);
            }
            Some(access)
        })
        .collect()
}

/// Whether an execution does the parts of each access of a trace at once, and so their commits.
#[must_use]
pub fn is_whole(execution: &[TxnEvent], trace: &[TxnEvent], access: &[u32]) -> bool {
    let Some(of) = accesses(execution, trace, access) else { return false };
    let mut last: HashMap<(bool, u32), usize> = HashMap::new();
    execution.iter().zip(of).enumerate().all(|(at, (event, access))| {
        let before = last.insert((event.kind == TxnKind::Commit, access), at);
        before.is_none_or(|before| before + 1 == at)
    })
}

/// Whether all executions of a trace that do each access at once are TSO-serializable.
#[must_use]
pub fn whole_serializable(trace: &[TxnEvent], access: &[u32], reads: BufferedReads) -> bool {
    Executions::new(trace).filter(|execution| is_whole(execution, trace, access)).all(|execution| {
        pair(&execution).is_ok_and(|execution| serializable(&execution, Conflicts::Tso(reads)))
    })
}
