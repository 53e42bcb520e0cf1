//! Logs without commits under TSO: all executions that they may come from.

use std::collections::{HashMap, VecDeque};

use weakspot_core::certify::Rejected;
use weakspot_core::serial::{Conflicts, CycleCheck, TxnCycle};
use weakspot_core::{Limit, Model, TxnEvent, TxnKind, Verdict};
use weakspot_report::{
    PlacedCommit, SerialCycle, SerialEdge, SerialEvent, SerialEvidence, SerialOf, SerialRole,
    SerialWitness,
};
use weakspot_serial::{Extents, Touched, TxnReader};

use super::current::Current;
use super::show::{Shown, event, txn};
use super::{Job, Said};

/// An execution of a trace, and a cycle of it.
struct Violation {
    execution: Vec<TxnEvent>,
    cycle: TxnCycle,
}

/// A trace, event by event.
struct Read {
    trace: Vec<TxnEvent>,
    /// What each event comes from.
    from: Vec<Touched>,
}

impl Job<'_> {
    /// The answer about all executions of a trace.
    pub(super) fn answer_trace(&mut self, current: &Current, remarks: Vec<String>) {
        let model = Model::Tso;
        let read = read(current);
        let (verdict, violation, decided_by) = self.decide(current, &read);
        let mut shown = Shown::default();
        if let Some(violation) = &violation {
            match drawn(current, &read, violation) {
                Ok(cycle) => shown.cycle = Some(cycle),
                Err(rejected) => return self.refuse_defect(model, &rejected),
            }
        }
        let commits = violation.as_ref().map(|violation| commits(&violation.execution));
        let evidence = match violation {
            Some(violation) => SerialEvidence::Cycle(violation.cycle),
            None => SerialEvidence::None,
        };
        if let Verdict::Unknown(_) = verdict {
            if self.args.shared.witness.is_some() {
                self.answer.err +=
                    &format!("{}: no witness is written: the answer is unknown\n", self.file);
            }
        } else {
            self.write_witness(SerialWitness {
                input_hash: String::new(),
                model,
                trace: current.number,
                commits: Some(commits.unwrap_or_default()),
                evidence,
            });
        }
        let said = Said {
            model,
            of: SerialOf::Trace,
            verdict,
            shown,
            sc_equivalent: None,
            fenced: None,
            decided_by,
            remarks,
        };
        self.say(current, &said);
    }

    /// What is said about a trace to which fences are added: how it is without them.
    pub(super) fn without_fences(&self, current: &Current) -> Option<String> {
        let (verdict, ..) = self.decide(current, &read(current));
        Some(match verdict {
            Verdict::Holds => "without the fences: serializable, too".to_owned(),
            Verdict::Violated => "without the fences: not serializable".to_owned(),
            Verdict::Unknown(_) => "without the fences: unknown".to_owned(),
        })
    }

    fn decide(
        &self,
        current: &Current,
        read: &Read,
    ) -> (Verdict, Option<Violation>, Option<&'static str>) {
        if let Some(limit) = &current.limit {
            return (Verdict::Unknown(limit.clone()), None, None);
        }
        if !current.is_whole() {
            return (Verdict::Unknown(Limit::Memory(self.args.shared.memory)), None, None);
        }
        for execution in weakspot_core::serial::Executions::new(&read.trace) {
            let cycle = weakspot_core::serial::pair(&execution)
                .ok()
                .and_then(|paired| weakspot_core::serial::conflict_cycle(&paired, Conflicts::Tso));
            if let Some(cycle) = cycle {
                let cycle =
                    TxnCycle(cycle.into_iter().map(|(a, b)| (a as u64, b as u64)).collect());
                return (Verdict::Violated, Some(Violation { execution, cycle }), None);
            }
        }
        (Verdict::Holds, None, None)
    }
}

/// The trace of a log, as far as it was kept.
fn read(current: &Current) -> Read {
    let mut reader = TxnReader::new(false, &current.tables);
    let mut read = Read { trace: Vec::new(), from: Vec::new() };
    for log in &current.kept {
        let number = reader.events();
        // What does not fit was found when the log was followed.
        let _ = reader.event(log, |event, unit| {
            read.trace.push(event);
            let aside = unit != number as u32;
            read.from.push(Touched { log: *log, number, event, store: number, aside });
        });
    }
    read
}

/// Where the commits of an execution are, by the events of the trace.
fn commits(execution: &[TxnEvent]) -> Vec<PlacedCommit> {
    let mut before = 0;
    let mut commits = Vec::new();
    for event in execution {
        match event.kind {
            TxnKind::Commit => commits.push(PlacedCommit { before, thread: event.thread }),
            _ => before += 1,
        }
    }
    commits
}

/// Checks that an execution is one of the trace and has the cycle, and says what the events of that
/// are.
fn drawn(current: &Current, read: &Read, violation: &Violation) -> Result<SerialCycle, Rejected> {
    let Violation { execution, cycle } = violation;
    let mut check = CycleCheck::new(Conflicts::Tso, cycle);
    let mut wanted: HashMap<u64, Option<(SerialEvent, TxnEvent)>> =
        cycle.0.iter().flat_map(|&(a, b)| [(a, None), (b, None)]).collect();
    let mut buffers: HashMap<u32, VecDeque<usize>> = HashMap::new();
    let mut placed = Vec::new();
    let mut next = 0;
    for (at, &txn_event) in execution.iter().enumerate() {
        check.event(txn_event)?;
        let buffer = buffers.entry(txn_event.thread).or_default();
        let shown = if txn_event.kind == TxnKind::Commit {
            // That there is a store was checked just now.
            let store = buffer.pop_front().map(|store| event(&read.from[store]));
            let Some(store) = store else { continue };
            let commit = SerialEvent { role: SerialRole::Commit, ..store };
            if let Some(from) = read.from.get(next) {
                placed.push((commit, from.number));
            }
            commit
        } else {
            if read.trace.get(next) != Some(&txn_event) {
                return Err(Rejected::Transactions(at as u64, "it is not one of the trace"));
            }
            if txn_event.kind == TxnKind::Write {
                buffer.push_back(next);
            }
            next += 1;
            event(&read.from[next - 1])
        };
        if let Some(wanted) = wanted.get_mut(&(at as u64)) {
            *wanted = Some((shown, txn_event));
        }
    }
    check.end()?;
    let txns: Vec<u32> = wanted.values().flatten().map(|(_, event)| event.txn).collect();
    let mut extents = Extents::new(false, &current.tables, Some(&txns));
    extents.events(&current.kept);
    let found = extents.end();
    let edge = |&(from, to): &(u64, u64)| {
        let (Some((from, of)), Some((to, _))) = (*wanted.get(&from)?, *wanted.get(&to)?) else {
            return None;
        };
        Some(SerialEdge { txn: txn(of.thread, found.get(&of.txn)), from, to })
    };
    placed.dedup();
    Ok(SerialCycle { edges: cycle.0.iter().filter_map(edge).collect(), commits: placed })
}
