//! Which events of an execution conflict: exchanging them if they are neighbours might change what
//! is read.

use super::{BufferedReads, Paired, TxnEvent, TxnKind};

/// The three relations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Conflicts {
    /// For executions without buffers, where a write is in memory at once: events of one thread,
    /// and accesses to a variable of which one is no read.
    Sc,
    /// For executions of TSO. What one thread does conflicts, but for what its buffer hides.
    Tso(BufferedReads),
    /// The same, but all events of one thread that are no commits conflict.
    TsoPo,
}

/// Whether two events of an execution conflict, the first of which comes first.
///
/// # Panics
/// When the events are not in this order.
#[must_use]
pub fn conflict(execution: &Paired<'_>, relation: Conflicts, first: usize, second: usize) -> bool {
    assert!(first < second, "conflicts have an order");
    let (e, f) = (&execution.events[first], &execution.events[second]);
    if relation == Conflicts::Sc {
        let one_writes = e.kind != TxnKind::Read || f.kind != TxnKind::Read;
        let accesses = e.kind.is_access() && f.kind.is_access();
        return e.thread == f.thread || accesses && e.var == f.var && one_writes;
    }
    if e.thread != f.thread {
        let in_memory =
            |e: &TxnEvent| matches!(e.kind, TxnKind::Read | TxnKind::Commit | TxnKind::Update);
        let both_read = e.kind == TxnKind::Read && f.kind == TxnKind::Read;
        return in_memory(e)
            && in_memory(f)
            && e.var == f.var
            && !both_read
            && !hidden(execution, first, second)
            && !hidden(execution, second, first);
    }
    let is_issue = |e: &TxnEvent| matches!(e.kind, TxnKind::Read | TxnKind::Write);
    if e.kind == TxnKind::Commit && is_issue(f) || is_issue(e) && f.kind == TxnKind::Commit {
        return execution.commit_of(first) == Some(second);
    }
    let Conflicts::Tso(reads) = relation else { return true };
    let may_overtake = match e.kind {
        TxnKind::Write => true,
        TxnKind::Read => super::is_buffered(execution, reads, first),
        _ => false,
    };
    !(may_overtake && f.kind == TxnKind::Read && e.var != f.var)
}

/// Whether a read of a thread's own buffered write does not notice what another thread does to the
/// variable, because that write reaches memory after both.
fn hidden(execution: &Paired<'_>, read: usize, write: usize) -> bool {
    let events = execution.events;
    let writes = matches!(events[write].kind, TxnKind::Commit | TxnKind::Update);
    if events[read].kind != TxnKind::Read || !writes {
        return false;
    }
    let Some(own) = super::own_write(events, read) else { return false };
    let Some(commit) = execution.commit_of(own) else { return false };
    let pending = own..commit;
    pending.contains(&read) && pending.contains(&write)
}
