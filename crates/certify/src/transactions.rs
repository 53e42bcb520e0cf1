//! Witnesses about the transactions of logs.

use std::collections::{HashMap, VecDeque};

use anyhow::{Context, Result, anyhow};
use weakspot_args::{CertifyArgs, InputFormat};
use weakspot_core::certify::{self, Rejected};
use weakspot_core::serial::{NoCycle, Question, TraceEvidence, TraceMode, is_whole};
use weakspot_core::{LogEvent, LogTables, Model, TxnEvent, TxnKind, Verdict};
use weakspot_input::{Stop, TraceOf};
use weakspot_report::{PlacedCommit, SerialEvidence, SerialWitness};
use weakspot_serial::{Explain, Ordered, TxnReader};

use crate::{Checked, is_about, judged, unread};

/// All executions of a trace with more events are not listed: there are exponentially many.
const MAX_EVENTS: usize = 12;

/// Checks a witness about transactions.
pub(crate) fn check(args: &CertifyArgs, text: &str, stop: Stop) -> Result<Checked> {
    let witness = SerialWitness::from_json(text).with_context(|| unread(args))?;
    is_about(args, &witness.input_hash, "log")?;
    let name = args.input.display().to_string();
    let format = args.input_format.and_then(InputFormat::log);
    let log = TraceOf { path: &args.input, format, number: witness.trace, stop };
    let known = log.scan().map_err(|error| anyhow!(error.of(&name)))?;
    if !known.is_there {
        let why = "the witness is about a trace that the log does not have";
        return Ok(Checked::Rejected(why.to_owned()));
    }
    let checked = match &witness.commits {
        None => execution(log, &witness, &known.tables, known.has_commits),
        Some(_) if known.has_commits => Err(Rejected::Transactions(0, "the log has commits")),
        Some(commits) => {
            let most = args.max_states.unwrap_or(MAX_EVENTS);
            trace(log, &witness, &known.tables, commits, most)
        }
    };
    let checked = judged(checked, |n| {
        format!(
            "a search of all cycles found none, and that was not checked: the trace has more than \
             {n} events; --max-states allows more"
        )
    });
    Ok(match (checked, witness.trace) {
        (Checked::Certified(how), Some(trace)) => {
            Checked::Certified(format!("{how} (trace {} of the log)", trace + 1))
        }
        (checked, _) => checked,
    })
}

fn execution(
    log: TraceOf<'_>,
    witness: &SerialWitness,
    tables: &LogTables,
    has_commits: bool,
) -> Result<&'static str, Rejected> {
    let question = match witness.buffered {
        None => Question::ScSerializable,
        Some(reads) => Question::TsoSerializable(reads),
    };
    if witness.model != Model::Sc && !has_commits {
        return Err(Rejected::Transactions(
            0,
            "the log has no commits, so it is no execution of TSO",
        ));
    }
    let mut end = Ok(());
    match &witness.evidence {
        SerialEvidence::Cycle(cycle) => {
            let mut explain = Explain::new(question, has_commits, tables, cycle);
            let mut look = |events: &[LogEvent], _: &LogTables| match explain.events(events) {
                Ok(enough) => !enough,
                Err(rejected) => {
                    end = Err(rejected);
                    false
                }
            };
            log.read(&mut look).map_err(|_| Rejected::WrongKind)?;
            end?;
            explain.end()?;
            Ok("each of its transactions has to come before the next, in a cycle")
        }
        SerialEvidence::Order(order) => {
            let mut check = Ordered::new(question, has_commits, tables, order)?;
            let mut look = |events: &[LogEvent], _: &LogTables| {
                end = check.events(events);
                end.is_ok()
            };
            log.read(&mut look).map_err(|_| Rejected::WrongKind)?;
            end?;
            check.end()?;
            Ok("the order of the transactions respects all conflicts")
        }
        SerialEvidence::Groups(_) => Err(Rejected::WrongKind),
    }
}

fn trace(
    log: TraceOf<'_>,
    witness: &SerialWitness,
    tables: &LogTables,
    commits: &[PlacedCommit],
    most: usize,
) -> Result<&'static str, Rejected> {
    let Some(reads) = witness.buffered else { return Err(Rejected::WrongKind) };
    let mode = TraceMode::Exact(reads);
    let mut reader = TxnReader::new(false, tables);
    let mut events: Vec<TxnEvent> = Vec::new();
    let mut access: Vec<u32> = Vec::new();
    let mut wrong = None;
    let mut look = |batch: &[LogEvent], _: &LogTables| {
        let read = batch.iter().try_for_each(|log| {
            reader.event(log, |event, unit| {
                events.push(event);
                access.push(unit);
            })
        });
        wrong = read.err();
        wrong.is_none()
    };
    log.read(&mut look).map_err(|_| Rejected::WrongKind)?;
    if let Some(bad) = wrong {
        return Err(Rejected::Transactions(bad.event, "it does not fit the log"));
    }
    let (verdict, evidence, how) = match &witness.evidence {
        SerialEvidence::Cycle(cycle) => {
            let events = execution_of(&events, commits)?;
            let how = "TSO lets the stores of the trace reach memory so, and then each of the \
                       transactions has to come before the next, in a cycle";
            (Verdict::Violated, TraceEvidence::Execution { events, cycle: cycle.clone() }, how)
        }
        SerialEvidence::Groups(groups) => {
            let how =
                "conflicts lead from group to group, and no group of transactions has a cycle";
            (Verdict::Holds, TraceEvidence::Groups(groups.clone()), how)
        }
        SerialEvidence::Order(_) => return Err(Rejected::WrongKind),
    };
    certify::trace(&events, mode, &verdict, &evidence)?;
    if let TraceEvidence::Execution { events: execution, .. } = &evidence
        && !is_whole(execution, &events, &access)
    {
        return Err(Rejected::Trace("an access that overlaps others in part is taken apart"));
    }
    if let TraceEvidence::Groups(groups) = &evidence
        && groups.iter().any(|group| matches!(group.why, NoCycle::Searched { .. }))
    {
        certify::search_trace(&events, &access, mode, &verdict, most)?;
        return Ok("all executions of the trace are serializable, by definition");
    }
    Ok(how)
}

/// A trace with commits.
fn execution_of(events: &[TxnEvent], commits: &[PlacedCommit]) -> Result<Vec<TxnEvent>, Rejected> {
    let mut commits = commits.iter().peekable();
    let mut pending: HashMap<u32, VecDeque<TxnEvent>> = HashMap::new();
    let mut execution = Vec::new();
    for at in 0..=events.len() {
        while let Some(commit) = commits.next_if(|commit| commit.before <= at as u64) {
            let store = pending.get_mut(&commit.thread).and_then(VecDeque::pop_front);
            let why = "a commit before it has no store";
            let store = store.ok_or(Rejected::Transactions(at as u64, why))?;
            execution.push(TxnEvent { kind: TxnKind::Commit, ..store });
        }
        let Some(&event) = events.get(at) else { break };
        if event.kind == TxnKind::Write {
            pending.entry(event.thread).or_default().push_back(event);
        }
        execution.push(event);
    }
    Ok(execution)
}
