//! What an execution reads and leaves in memory, and which executions are serial on the machine: what
//! serializability promises, without conflicts. If an execution is serializable, some serial one of
//! the same threads reads the same everywhere and leaves the same.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::execution::{Paired, own_write};
use super::{TxnEvent, TxnKind};

/// Where a value comes from: the number of a write or update among all events of its thread that are
/// no commits, or the beginning. As if each write had a value of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source(Option<(u32, usize)>);

/// Per thread what its reads and updates read, in their order; and per variable what is left in
/// memory.
pub type Values = (BTreeMap<u32, Vec<Source>>, BTreeMap<u32, Source>);

/// The values of a complete execution.
#[must_use]
pub fn values(execution: &Paired<'_>) -> Values {
    let mut reads: BTreeMap<u32, Vec<Source>> = BTreeMap::new();
    let mut memory: BTreeMap<u32, Source> = BTreeMap::new();
    let mut counts: HashMap<u32, usize> = HashMap::new();
    // Per write what it writes.
    let mut written: HashMap<usize, Source> = HashMap::new();
    for (at, e) in execution.events.iter().enumerate() {
        if e.kind == TxnKind::Commit {
            memory.insert(e.var, written[&execution.issue_of(at)]);
            continue;
        }
        let count = counts.entry(e.thread).or_default();
        let mine = Source(Some((e.thread, *count)));
        *count += 1;
        let in_memory = memory.get(&e.var).copied().unwrap_or(Source(None));
        match e.kind {
            TxnKind::Read => {
                let forwarded = pending(execution, at).map(|own| written[&own]);
                reads.entry(e.thread).or_default().push(forwarded.unwrap_or(in_memory));
            }
            TxnKind::Update => {
                reads.entry(e.thread).or_default().push(in_memory);
                memory.insert(e.var, mine);
            }
            TxnKind::Write => drop(written.insert(at, mine)),
            TxnKind::Fence | TxnKind::Commit => {}
        }
    }
    (reads, memory)
}

/// The own write that a read takes from the buffer.
fn pending(execution: &Paired<'_>, read: usize) -> Option<usize> {
    let own = own_write(execution.events, read)?;
    execution.commit_of(own).filter(|&commit| commit > read).map(|_| own)
}

/// Whether transactions have to do with memory one after the other: what they read there, their
/// commits, updates and fences. What happens in a buffer alone, nobody else can tell when.
#[must_use]
pub fn is_serial(execution: &Paired<'_>) -> bool {
    let is_outside = |(at, e): &(usize, &TxnEvent)| match e.kind {
        TxnKind::Write => false,
        TxnKind::Read => pending(execution, *at).is_none(),
        TxnKind::Commit | TxnKind::Update | TxnKind::Fence => true,
    };
    let mut last = None;
    let mut over = HashSet::new();
    execution.events.iter().enumerate().filter(is_outside).all(|(_, e)| {
        if let Some(before) = last.replace(e.txn).filter(|&before| before != e.txn) {
            over.insert(before);
        }
        !over.contains(&e.txn)
    })
}
