//! Transactions: are traces and executions serializable, by every stage and by the definitions?

use std::fmt::Write as _;
use std::time::Duration;

use weakspot_core::serial::{
    BufferedReads, Question, Trace, TraceEvidence, TraceMode, pair, serializable,
    serializable_by_orientations, trace_serializable,
};
use weakspot_core::testing::{Rng, TxnSize, overwriting_trace, random_trace, shrink_trace};
use weakspot_core::{Certification, Limits, Model, TxnEvent, TxnKind, Verdict};
use weakspot_serial::{Online, TraceMethod, check_trace};
use weakspot_witness::{PlacedCommit, SerialEvidence, SerialWitness, input_hash};

use crate::forged::Input;
use crate::{Disagreement, Stop, Subject, Until};

/// Traces of so many events are decided by trying all executions.
const SMALL: usize = 8;

const MODES: [TraceMode; 5] = [
    TraceMode::Exact(BufferedReads::Exact),
    TraceMode::Exact(BufferedReads::Static),
    TraceMode::Predictive(BufferedReads::Exact),
    TraceMode::Predictive(BufferedReads::Static),
    TraceMode::Literal,
];

/// All questions about a random trace, or about an execution of it.
pub(crate) fn check(rng: &mut Rng, compared: &mut u64, stop: Stop<'_>) -> Option<Disagreement> {
    let size = TxnSize {
        threads: 2 + rng.below(2) as u32,
        vars: 1 + rng.below(3) as u32,
        events: 2 + rng.below(SMALL - 1),
        txn: 2 + rng.below(3),
        fences: if rng.one_in(2) { 0 } else { 6 },
    };
    let events =
        if rng.one_in(3) { overwriting_trace(rng, SMALL) } else { random_trace(rng, size) };
    let events = if rng.one_in(3) { with_commits(rng, &events) } else { events };
    let Some(what) = disagreement(&events, compared, stop) else {
        return witnesses(rng, &events, compared, stop);
    };
    let events = shrink_trace(&events, &|events| disagreement(events, &mut 0, stop).is_some());
    let what = disagreement(&events, &mut 0, stop).unwrap_or(what);
    Some(Disagreement {
        subject: Subject::Traces,
        round: 0,
        what,
        files: vec![("wstrace", text(&events))],
        commands: ["exact", "static"]
            .map(|reads| format!("weakspot serial --buffered {reads} FILE.wstrace"))
            .to_vec(),
    })
}

fn disagreement(events: &[TxnEvent], compared: &mut u64, stop: Stop<'_>) -> Option<String> {
    match events.iter().any(|event| event.kind == TxnKind::Commit) {
        true => execution(events, compared).err(),
        false => trace(events, compared, stop).err(),
    }
}

/// A trace under TSO, and as an execution under SC.
fn trace(events: &[TxnEvent], compared: &mut u64, stop: Stop<'_>) -> Result<(), String> {
    // Under SC each store is in memory at once.
    let at_once: Vec<TxnEvent> = events
        .iter()
        .flat_map(|&event| match event.kind {
            TxnKind::Write => vec![event, TxnEvent { kind: TxnKind::Commit, ..event }],
            _ => vec![event],
        })
        .collect();
    execution(&at_once, compared)?;
    let time = Some(Duration::from_secs(5));
    let limits = Limits { time, memory: Some(256 << 20), ..Limits::UNLIMITED };
    for mode in MODES {
        let expected = match mode {
            TraceMode::Exact(reads) => trace_serializable(events, reads),
            _ => match Trace::new(events, mode) {
                Ok(trace) => serializable_by_orientations(&trace),
                Err(_) => continue,
            },
        };
        for method in [TraceMethod::Auto, TraceMethod::Chains, TraceMethod::Sat] {
            let answer = check_trace(events, mode, method, &limits, &mut Until(stop))
                .map_err(|why| format!("{mode:?} by {method:?}: {why:?}"))?;
            match answer.verdict {
                Verdict::Unknown(_) => {}
                _ if answer.certification() == Certification::NotChecked => {
                    return Err(format!("{mode:?} by {method:?}: nothing was checked"));
                }
                ref verdict => {
                    *compared += 1;
                    if (*verdict == Verdict::Holds) != expected {
                        return Err(format!(
                            "{mode:?} by {method:?}: {verdict:?}, not so by definition"
                        ));
                    }
                }
            }
        }
    }
    Ok(())
}

/// Witnesses about a trace: the true one, and false ones.
fn witnesses(
    rng: &mut Rng,
    events: &[TxnEvent],
    compared: &mut u64,
    stop: Stop<'_>,
) -> Option<Disagreement> {
    if events.iter().any(|event| event.kind == TxnKind::Commit) {
        return None;
    }
    let reads = if rng.one_in(2) { BufferedReads::Exact } else { BufferedReads::Static };
    let events = numbered(events.iter().copied());
    let text = text(&events);
    let input = Input::new("wstrace", &text)?;
    let wrong =
        |what: &str, witness: String| Some(input.wrong(Subject::Traces, what.to_owned(), witness));
    let (right, is_checked) = witness(&text, &events, reads, stop)?;
    *compared += 1;
    if is_checked && !input.certifies(&right) {
        return wrong("a witness of an answer that was checked is not certified", right);
    }
    let holds = trace_serializable(&events, reads);
    let without = |at: usize| {
        let others = events.iter().enumerate().filter(|&(other, _)| other != at);
        numbered(others.map(|(_, &event)| event))
    };
    let others: Vec<Vec<TxnEvent>> = (0..events.len())
        .map(without)
        .filter(|other| trace_serializable(other, reads) != holds)
        .collect();
    let other = others.get(rng.below(others.len().max(1)))?;
    let (witness, _) = witness(&text, other, reads, stop)?;
    let forged = input.forged(rng, &witness, compared)?;
    wrong("a witness of what is false by definition is certified", forged)
}

/// The same events with threads and transactions by numbers, as they come: so a log is read.
fn numbered(events: impl Iterator<Item = TxnEvent>) -> Vec<TxnEvent> {
    let (mut threads, mut txns) = (Vec::new(), Vec::new());
    let number = |known: &mut Vec<u32>, name: u32| {
        let at = known.iter().position(|&other| other == name).unwrap_or_else(|| {
            known.push(name);
            known.len() - 1
        });
        at as u32
    };
    let event = |event: TxnEvent| TxnEvent {
        thread: number(&mut threads, event.thread),
        txn: number(&mut txns, event.txn),
        ..event
    };
    events.map(event).collect()
}

/// The witness file of the answer about a trace, and whether all of it was checked.
fn witness(
    text: &str,
    events: &[TxnEvent],
    reads: BufferedReads,
    stop: Stop<'_>,
) -> Option<(String, bool)> {
    let time = Some(Duration::from_secs(5));
    let limits = Limits { time, memory: Some(256 << 20), ..Limits::UNLIMITED };
    let mode = TraceMode::Exact(reads);
    let answer = check_trace(events, mode, TraceMethod::Auto, &limits, &mut Until(stop)).ok()?;
    let (mut before, mut commits) = (0, Vec::new());
    let evidence = match answer.evidence.clone()? {
        TraceEvidence::Execution { events, cycle } => {
            for event in events {
                match event.kind {
                    TxnKind::Commit => commits.push(PlacedCommit { before, thread: event.thread }),
                    _ => before += 1,
                }
            }
            SerialEvidence::Cycle(cycle)
        }
        TraceEvidence::Groups(groups) => SerialEvidence::Groups(groups),
        TraceEvidence::Directions(_) => return None,
    };
    let witness = SerialWitness {
        input_hash: input_hash(text.as_bytes()),
        model: Model::Tso,
        buffered: Some(reads),
        trace: None,
        commits: Some(commits),
        evidence,
    };
    Some((witness.to_json(), answer.certification() == Certification::Checked))
}

/// An execution whose stores reach memory at known times.
fn execution(events: &[TxnEvent], compared: &mut u64) -> Result<(), String> {
    let Ok(paired) = pair(events) else { return Ok(()) };
    for question in [
        Question::ScSerializable,
        Question::TsoSerializable(BufferedReads::Exact),
        Question::TsoSerializable(BufferedReads::Static),
    ] {
        let expected = serializable(&paired, question.conflicts());
        online(events, question, expected, compared)?;
    }
    Ok(())
}

/// The monitor that goes from event to event.
fn online(
    events: &[TxnEvent],
    question: Question,
    expected: bool,
    compared: &mut u64,
) -> Result<(), String> {
    let mut online = Online::new(question);
    let mut cycle = None;
    for &event in events {
        match online.event(event) {
            Ok(found) => cycle = cycle.or(found),
            Err(why) => return Err(format!("{question:?}: refused: {why:?}")),
        }
        if cycle.is_some() {
            break;
        }
    }
    *compared += 1;
    match cycle.is_none() == expected {
        true => Ok(()),
        false => Err(format!("{question:?}: the monitor says {}, not so by definition", !expected)),
    }
}

/// An execution of a trace: each store reaches memory at some time, in the order of its thread.
fn with_commits(rng: &mut Rng, trace: &[TxnEvent]) -> Vec<TxnEvent> {
    let mut out = Vec::new();
    let mut waiting: Vec<Vec<TxnEvent>> = Vec::new();
    let commit = |waiting: &mut Vec<TxnEvent>, out: &mut Vec<TxnEvent>| {
        out.push(TxnEvent { kind: TxnKind::Commit, ..waiting.remove(0) });
    };
    for &event in trace {
        let thread = event.thread as usize;
        if waiting.len() <= thread {
            waiting.resize(thread + 1, Vec::new());
        }
        while event.kind.drains() && !waiting[thread].is_empty() {
            commit(&mut waiting[thread], &mut out);
        }
        out.push(event);
        if event.kind == TxnKind::Write {
            waiting[thread].push(event);
        }
        for waiting in &mut waiting {
            while !waiting.is_empty() && rng.one_in(3) {
                commit(waiting, &mut out);
            }
        }
    }
    for waiting in &mut waiting {
        while !waiting.is_empty() {
            commit(waiting, &mut out);
        }
    }
    out
}

/// The events as a log.
fn text(events: &[TxnEvent]) -> String {
    let mut out = String::new();
    let mut open: Vec<Option<u32>> = Vec::new();
    for event in events {
        let thread = event.thread as usize;
        if open.len() <= thread {
            open.resize(thread + 1, None);
        }
        if event.kind != TxnKind::Commit && open[thread] != Some(event.txn) {
            if open[thread].is_some() {
                let _ = writeln!(out, "t{thread}: end");
            }
            let _ = writeln!(out, "t{thread}: begin");
            open[thread] = Some(event.txn);
        }
        let _ = match event.kind {
            TxnKind::Read => writeln!(out, "t{thread}: rd x{}", event.var),
            TxnKind::Write => writeln!(out, "t{thread}: wr x{}", event.var),
            TxnKind::Update => writeln!(out, "t{thread}: upd x{}", event.var),
            TxnKind::Commit => writeln!(out, "t{thread}: com x{}", event.var),
            TxnKind::Fence => writeln!(out, "t{thread}: fence"),
        };
    }
    for (thread, _) in open.iter().enumerate().filter(|(_, open)| open.is_some()) {
        let _ = writeln!(out, "t{thread}: end");
    }
    out
}
