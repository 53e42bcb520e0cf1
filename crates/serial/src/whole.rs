//! Traces in which accesses overlap others in part, so that one access is several events.
//!
//! The stages of `trace.rs` know nothing of that: they look at more executions, also at those that
//! do the parts of an access at different times. If none of these has a cycle, no other has one
//! either. If one has, its parts are moved together; if that has no cycle, and neither do some
//! others, nothing is known.

use std::collections::HashMap;

use weakspot_core::serial::{BadTrace, Trace, TraceEvidence, TraceMode, accesses, is_whole};
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
            mode.is_exact().then_some(tried).and_then(|tried| {
                tried.take_while(in_time).find_map(|e| violation(&e, &trace, access))
            })
        }
        Some(TraceEvidence::Directions(_)) => None,
        _ => return Ok(answer),
    };
    let verdict = match evidence {
        Some(_) => Verdict::Violated,
        None => Verdict::Unknown(Limit::Overlap),
    };
    Ok(TraceAnswer { verdict, evidence, ..answer })
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
