//! A log with a fence at the end of each transaction.
//!
//! A program whose transactions all end in fences is TSO-serializable if and only if it is robust
//! and SC-serializable (Enea and Farzan, "On atomicity in presence of non-atomic writes", TACAS 2016, section 6.3), and both can be watched
//! on its SC executions. A transaction that has stored nothing since its last fence needs none: if
//! the others have theirs, its buffer is empty.

use weakspot_core::{LogEvent, LogKind};

/// A log with fences that were added.
pub struct Fenced {
    /// The events.
    pub events: Vec<LogEvent>,
    /// For each its number in the log without the fences; for a fence that was added, that of the
    /// event before it.
    pub numbers: Vec<u64>,
    /// The events of the log without the fences that a fence was put behind.
    pub after: Vec<u64>,
}

/// Puts a fence at the end of each transaction that does not end in one and has stored something.
#[must_use]
pub fn fence_transactions(events: &[LogEvent]) -> Fenced {
    #[derive(Clone, Default)]
    struct Thread {
        depth: u32,
        label: u32,
        /// The last event of the transaction, if a store of it may be in the buffer.
        open: Option<usize>,
    }
    let most = events.iter().map(|event| usize::from(event.thread) + 1).max().unwrap_or(0);
    let mut threads = vec![Thread::default(); most];
    let mut after = Vec::new();
    for (at, event) in events.iter().enumerate() {
        let thread = &mut threads[usize::from(event.thread)];
        let is_bracket = matches!(event.kind, LogKind::Begin | LogKind::End);
        if event.kind == LogKind::Commit {
            continue;
        }
        // Outside of brackets a transaction ends when the next begins.
        if thread.depth == 0 && (is_bracket || event.txn == 0 || event.txn != thread.label) {
            after.extend(thread.open.take());
            thread.label = if is_bracket { 0 } else { event.txn };
        }
        match event.kind {
            LogKind::Begin => thread.depth = thread.depth.saturating_add(1),
            LogKind::End => {
                thread.depth = thread.depth.saturating_sub(1);
                if thread.depth == 0 {
                    after.extend(thread.open.take());
                }
            }
            LogKind::Write => thread.open = Some(at),
            LogKind::Fence | LogKind::Spawn => thread.open = None,
            kind if kind.is_update() => thread.open = None,
            _ => thread.open = thread.open.map(|_| at),
        }
    }
    after.extend(threads.iter().filter_map(|thread| thread.open));
    after.sort_unstable();
    let mut fenced = Fenced {
        events: Vec::with_capacity(events.len() + after.len()),
        numbers: Vec::with_capacity(events.len() + after.len()),
        after: after.iter().map(|&at| at as u64).collect(),
    };
    let mut next = after.into_iter().peekable();
    for (at, event) in events.iter().enumerate() {
        fenced.events.push(*event);
        fenced.numbers.push(at as u64);
        if next.next_if_eq(&at).is_some() {
            let fence = LogEvent::new(event.thread, LogKind::Fence, 0);
            fenced.events.push(LogEvent { txn: event.txn, site: event.site, ..fence });
            fenced.numbers.push(at as u64);
        }
    }
    fenced
}
