//! Reads that may find another thread's value where their own thread wrote: the own write has been
//! committed, and overwritten, by the time of the read. Such a read has seen memory, and what its
//! thread reads after it comes after it. Whether it is one differs between the executions of a trace,
//! so these conflicts have a condition: a write of another thread is committed between the own one
//! and the read.
//!
//! They are asked about if the reading of buffered reads is exact
//! ([`BufferedReads`](super::BufferedReads)).

use std::collections::HashMap;

use super::TxnKind;
use super::ties::Trace;

/// A read whose own write may be overwritten, and what comes after it then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overwritten {
    /// The read.
    pub read: usize,
    /// Later reads of the thread; see [`each_overwritten`].
    pub before: Vec<usize>,
}

/// Such reads among these events, which are given in the order of the trace, each with later reads of
/// its thread in another transaction that come after it only then: one for each transaction. They are
/// given to a function, as pairs, until it returns false.
///
/// These are enough: others come after these, or after a later read of the same own write, which is
/// overwritten for that one, too. There may be quadratically many; only those reads are looked at that
/// are `wanted`.
pub fn each_overwritten(
    trace: &Trace<'_>,
    events: &[usize],
    wanted: &dyn Fn(usize) -> bool,
    each: &mut dyn FnMut(usize, usize) -> bool,
) {
    // Per thread reads that others may still come after, with the last transaction that does.
    let mut open: HashMap<u32, Vec<(usize, u32)>> = HashMap::new();
    for &at in events {
        let e = &trace.events[at];
        if e.kind != TxnKind::Read {
            if e.kind.drains() {
                open.remove(&e.thread);
            }
            continue;
        }
        let own = trace.own(at);
        if let Some(open) = open.get_mut(&e.thread) {
            let mut goes_on = true;
            open.retain_mut(|(read, last)| {
                let is_same = own.is_some() && trace.own(*read) == own;
                if !is_same && *last != e.txn && e.var != trace.events[*read].var && goes_on {
                    *last = e.txn;
                    goes_on = each(*read, at);
                }
                !is_same
            });
            if !goes_on {
                return;
            }
            if own.is_none() {
                // All that follows comes after this one anyway.
                open.clear();
            }
        }
        if trace.may_be_overwritten(at) && wanted(at) {
            open.entry(e.thread).or_default().push((at, e.txn));
        }
    }
}

/// All of what [`each_overwritten`] gives, by the reads.
#[must_use]
pub fn overwritten(trace: &Trace<'_>, events: &[usize]) -> Vec<Overwritten> {
    let mut found: Vec<Overwritten> = Vec::new();
    let mut places: HashMap<usize, usize> = HashMap::new();
    each_overwritten(trace, events, &|_| true, &mut |read, later| {
        let place = *places.entry(read).or_insert(found.len());
        if place == found.len() {
            found.push(Overwritten { read, before: Vec::new() });
        }
        found[place].before.push(later);
        true
    });
    found
}
