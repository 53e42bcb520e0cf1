//! Witnesses about the transactions of logs.

use std::collections::{HashMap, VecDeque};

use anyhow::{Context, Result, anyhow};
use weakspot_core::certify::{self, Rejected};
use weakspot_core::serial::{
    Conflicts, CycleCheck, NoCycle, OrderCheck, TraceEvidence, TraceMode, TxnReader, is_whole,
};
use weakspot_core::{LogBatch, LogKind, LogTables, Model, TxnEvent, TxnKind, Verdict};
use weakspot_trace::{LogError, each_batch};
use weakspot_witness::{PlacedCommit, SerialEvidence, SerialWitness, model_key};

use crate::claim::{counted, reading};
use crate::{Asked, Checked, Claim, judged, logs};

/// All executions of a trace with more events are not listed: there are exponentially many.
const MAX_EVENTS: usize = 12;

/// Checks a witness about transactions.
pub(crate) fn check(asked: &Asked<'_>, text: &str, claim: &mut Option<Claim>) -> Result<Checked> {
    let witness = SerialWitness::from_json(text).with_context(|| asked.unread())?;
    let verdict = match witness.evidence {
        SerialEvidence::Cycle(_) => Verdict::Violated,
        SerialEvidence::Order(_) | SerialEvidence::Groups(_) => Verdict::Holds,
    };
    let model = (model_key(witness.model), witness.model.to_string());
    let option = reading(witness.model, witness.buffered);
    *claim = Some(Claim::new("serial", model, &verdict).with(option));
    asked.is_about(&witness.input_hash, "log")?;
    let log = Log { asked, number: witness.trace };
    let known = log.scan().map_err(|error| anyhow!(error.of(&asked.name())))?;
    if !known.is_there {
        return Ok(Checked::Rejected(logs::NO_TRACE.to_owned()));
    }
    let checked = match &witness.commits {
        None => execution(&log, &witness, &known.tables, known.has_commits),
        Some(_) if known.has_commits => Err(Rejected::Transactions(0, "the log has commits")),
        Some(commits) => {
            let most = asked.max_states.unwrap_or(MAX_EVENTS);
            trace(&log, &witness, &known.tables, commits, most)
        }
    };
    let checked = judged(checked, |n| {
        format!(
            "a search of all cycles found none, and that was not checked: the trace has more than \
             {n} events; --max-states allows more"
        )
    });
    Ok(logs::of_trace(checked, witness.trace))
}

/// One trace of a log, which is read again and again.
struct Log<'a> {
    asked: &'a Asked<'a>,
    number: Option<usize>,
}

/// What has to be known before a trace is followed from its beginning.
struct Known {
    /// The names of the whole trace.
    tables: LogTables,
    /// Whether the log says when stores reach memory.
    has_commits: bool,
    /// Whether the file has such a trace: a log of several has none without a number.
    is_there: bool,
}

impl Log<'_> {
    /// Goes through it, as long as `look` wants more; whether it is there.
    fn read(&self, look: &mut dyn FnMut(&LogBatch, &LogTables) -> bool) -> Result<bool, LogError> {
        let mut reader = logs::open(self.asked)?;
        each_batch(&mut reader, self.number, &mut |reader, batch| Ok(look(batch, reader.tables())))
    }

    fn scan(&self) -> Result<Known, LogError> {
        let mut known = Known { tables: LogTables::default(), has_commits: false, is_there: false };
        known.is_there = self.read(&mut |batch, tables| {
            known.has_commits |= batch.events.iter().any(|event| event.kind == LogKind::Commit);
            if known.tables != *tables {
                known.tables = tables.clone();
            }
            true
        })?;
        Ok(known)
    }

    /// Gives its events of transactions away, each with the number of its access, as long as `each`
    /// wants more.
    fn events(
        &self,
        (has_commits, tables): (bool, &LogTables),
        each: &mut dyn FnMut(TxnEvent, u32) -> Result<bool, Rejected>,
    ) -> Result<(), Rejected> {
        let mut reader = TxnReader::new(has_commits, tables);
        let mut end = Ok(true);
        let read = self.read(&mut |batch, _| {
            for log in &batch.events {
                let read = reader.event(log, |event, unit| {
                    if let Ok(true) = end {
                        end = each(event, unit);
                    }
                });
                if let (Err(bad), Ok(_)) = (read, &end) {
                    end = Err(Rejected::Transactions(bad.event, "it does not fit the log"));
                }
                if !matches!(end, Ok(true)) {
                    return false;
                }
            }
            true
        });
        read.map_err(|_| Rejected::WrongKind)?;
        end.map(drop)
    }
}

fn execution(
    log: &Log<'_>,
    witness: &SerialWitness,
    tables: &LogTables,
    has_commits: bool,
) -> Result<String, Rejected> {
    if witness.model != Model::Sc && !has_commits {
        return Err(Rejected::Transactions(
            0,
            "the log has no commits, so it is no execution of TSO",
        ));
    }
    let relation = match (has_commits, witness.buffered) {
        (false, _) => Conflicts::Sc,
        (true, None) => Conflicts::TsoPo,
        (true, Some(reads)) => Conflicts::Tso(reads),
    };
    let known = (has_commits, tables);
    match &witness.evidence {
        SerialEvidence::Cycle(cycle) => {
            let last = cycle.0.iter().map(|&(a, b)| a.max(b)).max().unwrap_or(0);
            let mut check = CycleCheck::new(relation, cycle);
            let mut now = 0;
            log.events(known, &mut |event, _| {
                check.event(event)?;
                now += 1;
                Ok(now <= last)
            })?;
            check.end()?;
            Ok(format!("by a cycle of {}", counted(cycle.0.len(), "conflict")))
        }
        SerialEvidence::Order(order) => {
            let mut check = OrderCheck::new(relation, order)?;
            log.events(known, &mut |event, _| check.event(event).map(|()| true))?;
            check.end()?;
            Ok(format!("by an order of {}", counted(order.len(), "transaction")))
        }
        SerialEvidence::Groups(_) => Err(Rejected::WrongKind),
    }
}

fn trace(
    log: &Log<'_>,
    witness: &SerialWitness,
    tables: &LogTables,
    commits: &[PlacedCommit],
    most: usize,
) -> Result<String, Rejected> {
    let Some(reads) = witness.buffered else { return Err(Rejected::WrongKind) };
    let mode = TraceMode::Exact(reads);
    let mut events: Vec<TxnEvent> = Vec::new();
    let mut access: Vec<u32> = Vec::new();
    log.events((false, tables), &mut |event, unit| {
        events.push(event);
        access.push(unit);
        Ok(true)
    })?;
    let (verdict, evidence, by) = match &witness.evidence {
        SerialEvidence::Cycle(cycle) => {
            let events = execution_of(&events, commits)?;
            let edges = counted(cycle.0.len(), "conflict");
            let by = format!("by an execution of the trace with a cycle of {edges}");
            (Verdict::Violated, TraceEvidence::Execution { events, cycle: cycle.clone() }, by)
        }
        SerialEvidence::Groups(_) if !commits.is_empty() => return Err(Rejected::WrongKind),
        SerialEvidence::Groups(groups) => {
            let by = format!("by {} without a cycle", counted(groups.len(), "group"));
            (Verdict::Holds, TraceEvidence::Groups(groups.clone()), by)
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
        return Ok("by all executions of the trace".to_owned());
    }
    Ok(by)
}

/// A trace with commits.
fn execution_of(events: &[TxnEvent], commits: &[PlacedCommit]) -> Result<Vec<TxnEvent>, Rejected> {
    let mut commits = commits.iter().peekable();
    let mut pending: HashMap<u32, VecDeque<TxnEvent>> = HashMap::new();
    let mut execution = Vec::new();
    for at in 0..=events.len() {
        while let Some(commit) = commits.next_if(|commit| commit.before == at as u64) {
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
    if let Some(commit) = commits.next() {
        return Err(Rejected::Transactions(commit.before, "a commit before it is out of order"));
    }
    Ok(execution)
}
