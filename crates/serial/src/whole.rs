//! Traces in which accesses overlap others in part, so that one access is several events.
//!
//! The stages of `trace.rs` know nothing of that: they look at more executions, also at those that
//! do the parts of an access at different times. If none of these has a cycle, no other has one
//! either. If one has, its parts are moved together; if that has no cycle, and neither do some
//! others, all executions that do accesses at once are looked at, as long as there are not too many.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use weakspot_core::serial::{
    BadTrace, NoCycle, Trace, TraceEvidence, TraceMode, TxnGroup, accesses, is_whole,
};
use weakspot_core::{Certified, Effort, Limit, Limits, Progress, TxnEvent, TxnKind, Verdict};

use crate::online::first_violation;
use crate::runs::executions;
use crate::trace::{NoTraceAnswer, TraceAnswer, TraceMethod, decide};

/// The same as [`check_trace`](crate::check_trace) for a trace in which events with the same number in `access` are
/// parts of one access.
pub fn check_whole_trace(
    events: &[TxnEvent],
    access: &[u32],
    mode: TraceMode,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Certified<TraceAnswer>, NoTraceAnswer> {
    let limits = limits.begin();
    let answer =
        decide_whole(events, access, mode, &limits, progress).map_err(NoTraceAnswer::Bad)?;
    Certified::trace(events, access, mode, answer, Effort::within(&limits))
        .map_err(NoTraceAnswer::Rejected)
}

fn decide_whole(
    events: &[TxnEvent],
    access: &[u32],
    mode: TraceMode,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<TraceAnswer, BadTrace> {
    let answer = decide(events, mode, TraceMethod::Auto, limits, progress)?;
    if access.windows(2).all(|pair| pair[0] != pair[1]) {
        return Ok(answer);
    }
    let evidence = match &answer.evidence {
        Some(TraceEvidence::Execution { events: found, .. }) => {
            if is_whole(found, events, access) {
                return Ok(answer);
            }
            let trace = Trace::new(events, mode)?;
            let tried = std::iter::once(found.clone()).chain(executions(&trace));
            let in_time = |_: &Vec<TxnEvent>| limits.check(0).is_ok();
            // Executions of other schedules are not put right.
            let found = mode.is_exact().then_some(tried).and_then(|tried| {
                tried.take_while(in_time).find_map(|e| violation(&e, &trace, access))
            });
            match found {
                None if mode.is_exact() => {
                    let Some((verdict, evidence)) = search(&trace, access, limits) else {
                        return Ok(unknown(answer));
                    };
                    return Ok(TraceAnswer { verdict, evidence: Some(evidence), ..answer });
                }
                found => found,
            }
        }
        Some(TraceEvidence::Directions(_)) => None,
        _ => return Ok(answer),
    };
    Ok(match evidence {
        Some(_) => TraceAnswer { verdict: Verdict::Violated, evidence, ..answer },
        None => unknown(answer),
    })
}

fn unknown(answer: TraceAnswer) -> TraceAnswer {
    TraceAnswer { verdict: Verdict::Unknown(Limit::Overlap), evidence: None, ..answer }
}

/// So many executions are looked at: some seconds.
const MOST_EXECUTIONS: u64 = 200_000;

/// Looks at all executions of a trace that do accesses at once. `None` if there are too many.
fn search(trace: &Trace<'_>, access: &[u32], limits: &Limits) -> Option<(Verdict, TraceEvidence)> {
    let mut accesses: Vec<Range<usize>> = Vec::new();
    for (at, unit) in access.iter().enumerate() {
        match accesses.last_mut().filter(|last| access[last.start] == *unit) {
            Some(last) => last.end = at + 1,
            None => accesses.push(at..at + 1),
        }
    }
    let threads = trace.events.iter().map(|e| e.thread as usize + 1).max().unwrap_or(0);
    let mut all = Whole {
        trace,
        accesses,
        limits,
        pending: vec![VecDeque::new(); threads],
        events: Vec::new(),
        seen: 0,
    };
    Some(match all.go_on(0)? {
        Some(found) => (Verdict::Violated, found),
        None => {
            let mut txns: Vec<u32> = trace.events.iter().map(|event| event.txn).collect();
            txns.sort_unstable();
            txns.dedup();
            let why = NoCycle::Searched { steps: all.seen };
            (Verdict::Holds, TraceEvidence::Groups(vec![TxnGroup { txns, why }]))
        }
    })
}

/// An execution that is being made.
struct Whole<'a> {
    trace: &'a Trace<'a>,
    accesses: Vec<Range<usize>>,
    limits: &'a Limits,
    /// Per thread its stores that are not committed.
    pending: Vec<VecDeque<Range<usize>>>,
    events: Vec<TxnEvent>,
    seen: u64,
}

impl Whole<'_> {
    /// Goes on with the access of this number in every way: a violation, or none, or too many.
    fn go_on(&mut self, next: usize) -> Option<Option<TraceEvidence>> {
        let begun = self.events.len();
        let coming = self.accesses.get(next).cloned();
        if coming.is_none() && self.pending.iter().all(VecDeque::is_empty) {
            self.seen += 1;
            if self.seen > MOST_EXECUTIONS || self.limits.check(0).is_err() {
                return None;
            }
            let violation = first_violation(&self.events, self.trace.mode.buffered_reads());
            let events = || self.events.clone();
            return Some(
                violation.map(|(_, cycle)| TraceEvidence::Execution { events: events(), cycle }),
            );
        }
        if let Some(access) = coming {
            let first = self.trace.events[access.start];
            let thread = first.thread as usize;
            if !first.kind.drains() || self.pending[thread].is_empty() {
                self.events.extend_from_slice(&self.trace.events[access.clone()]);
                let stores = first.kind == TxnKind::Write;
                self.pending[thread].extend(stores.then_some(access));
                let found = self.go_on(next + 1)?;
                if stores {
                    self.pending[thread].pop_back();
                }
                self.events.truncate(begun);
                if found.is_some() {
                    return Some(found);
                }
            }
        }
        for thread in 0..self.pending.len() {
            let Some(store) = self.pending[thread].pop_front() else { continue };
            let commit = |&event: &TxnEvent| TxnEvent { kind: TxnKind::Commit, ..event };
            self.events.extend(self.trace.events[store.clone()].iter().map(commit));
            let found = self.go_on(next)?;
            self.pending[thread].push_front(store);
            self.events.truncate(begun);
            if found.is_some() {
                return Some(found);
            }
        }
        Some(None)
    }
}

/// An execution like this one that does accesses at once, with its cycle.
fn violation(execution: &[TxnEvent], trace: &Trace<'_>, access: &[u32]) -> Option<TraceEvidence> {
    let reads = trace.mode.buffered_reads();
    for late in [true, false] {
        for after in [true, false] {
            let events = together(execution, trace.events, access, late, after)?;
            if is_whole(&events, trace.events, access)
                && let Some((_, cycle)) = first_violation(&events, reads)
            {
                return Some(TraceEvidence::Execution { events, cycle });
            }
        }
    }
    None
}

/// The execution with the parts of accesses moved together: commits between the parts of an access
/// come after it or before it, and the commits of a store are where the last of them was (`late`),
/// or the first.
fn together(
    execution: &[TxnEvent],
    trace: &[TxnEvent],
    access: &[u32],
    late: bool,
    after: bool,
) -> Option<Vec<TxnEvent>> {
    let mut parts: HashMap<u32, usize> = HashMap::new();
    access.iter().for_each(|&a| *parts.entry(a).or_default() += 1);
    let of = accesses(execution, trace, access)?;
    // First the events of the trace, whose parts only commits can be between.
    let mut out: Vec<(TxnEvent, u32)> = Vec::with_capacity(execution.len());
    let mut held: Vec<(TxnEvent, u32)> = Vec::new();
    let (mut left, mut start) = (0, 0);
    for (&event, &a) in execution.iter().zip(&of) {
        if event.kind == TxnKind::Commit {
            match (left > 0, after) {
                (false, _) => out.push((event, a)),
                (true, true) => held.push((event, a)),
                (true, false) => {
                    // A store that is not yet issued as a whole cannot be committed before it.
                    if out[start].1 == a {
                        held.push((event, a));
                    } else {
                        out.insert(start, (event, a));
                        start += 1;
                    }
                }
            }
            continue;
        }
        if left == 0 {
            (left, start) = (parts[&a], out.len());
        }
        out.push((event, a));
        left -= 1;
        if left == 0 {
            out.append(&mut held);
        }
    }
    // Then the commits, which are in the order of the stores of their thread.
    let mut waiting: HashMap<u32, Vec<TxnEvent>> = HashMap::new();
    let mut all: HashMap<u32, Vec<TxnEvent>> = HashMap::new();
    for (event, a) in &out {
        if event.kind == TxnKind::Commit {
            all.entry(*a).or_default().push(*event);
        }
    }
    let mut events = Vec::with_capacity(out.len());
    for (event, a) in out {
        if event.kind != TxnKind::Commit {
            events.push(event);
        } else if late {
            let commits = waiting.entry(a).or_default();
            commits.push(event);
            if commits.len() == parts[&a] {
                events.append(commits);
            }
        } else if let Some(commits) = all.remove(&a) {
            events.extend(commits);
        }
    }
    Some(events)
}
