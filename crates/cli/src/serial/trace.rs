//! Logs without commits under TSO: all executions that they may come from.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use weakspot_core::certify::Rejected;
use weakspot_core::serial::{TraceEvidence, TraceMode, TxnCycle};
use weakspot_core::{Certification, Limit, LogEvent, Model, TxnEvent, TxnKind, Verdict};
use weakspot_report::{
    PlacedCommit, SerialCycle, SerialEdge, SerialEvent, SerialEvidence, SerialOf, SerialOther,
    SerialRole, SerialTimed, SerialWitness, serial_delays,
};
use weakspot_serial::{Extents, NoTraceAnswer, Touched, TxnReader, check_whole_trace};

use super::current::Current;
use super::show::{Shown, event, from_first, txn};
use super::{Asked, Said};
use weakspot_jobs::pool::{self, Listener};

/// A trace, event by event.
struct Read {
    trace: Vec<TxnEvent>,
    /// The event of the log that each comes from, and whether it is another one that belongs to it.
    from: Vec<(u32, bool)>,
    /// The access that each is a part of.
    access: Vec<u32>,
}

impl Read {
    /// An event as it is shown.
    fn shown(&self, current: &Current, at: usize) -> SerialEvent {
        let (number, aside) = self.from[at];
        let (log, number) = (current.kept[number as usize], u64::from(number));
        event(&Touched { log, number, event: self.trace[at], store: number, aside })
    }
}

/// What was found out about a trace.
struct Decided {
    verdict: Verdict,
    evidence: Option<TraceEvidence>,
    certification: Certification,
    decided_by: Option<&'static str>,
}

impl Asked<'_> {
    /// The answer about all executions of a trace.
    pub(super) fn answer_trace(&mut self, current: &Current, remarks: Vec<String>) {
        let model = Model::Tso;
        let read = read(current);
        let since = Instant::now();
        let [exact, predictive, literal] = TraceMode::all(self.args.buffered);
        let decided = match self.decide(current, &read, exact, since) {
            Ok(decided) => decided,
            Err(rejected) => return self.refuse_defect(model, &rejected),
        };
        let mut shown = Shown::default();
        if let Some(evidence) = &decided.evidence {
            shown.cycle = drawn(current, &read, evidence);
        }
        let mut others = Vec::new();
        let asked = [(predictive, self.args.predict), (literal, self.args.literal)];
        for (mode, _) in asked.into_iter().filter(|&(_, asked)| asked) {
            match self.decide(current, &read, mode, since) {
                Ok(other) => {
                    let cycle = other.evidence.as_ref().and_then(|e| drawn(current, &read, e));
                    others.push(SerialOther {
                        is_literal: mode == TraceMode::Literal,
                        verdict: other.verdict,
                        cycle,
                    });
                }
                Err(rejected) => return self.refuse_defect(model, &rejected),
            }
        }
        match &decided.evidence {
            Some(evidence) => self.write_witness(current, self.witness(current, evidence)),
            None => self.job.lack_witness(),
        }
        let said = Said {
            model,
            of: SerialOf::Trace,
            verdict: decided.verdict,
            certification: decided.certification,
            shown,
            sc_equivalent: None,
            fenced: None,
            others: &others,
            decided_by: decided.decided_by,
            remarks,
        };
        self.say(current, &said);
    }

    /// All executions of a trace, by the reading that was asked for.
    fn exact(&self) -> TraceMode {
        TraceMode::Exact(self.args.buffered)
    }

    /// Whether a trace to which fences are added is serializable without them.
    pub(super) fn without_fences(&self, current: &Current) -> Result<Verdict, Rejected> {
        Ok(self.decide(current, &read(current), self.exact(), Instant::now())?.verdict)
    }

    /// Whether it is with them, and whether that was checked.
    pub(super) fn with_fences(
        &self,
        current: &Current,
        fenced: &[LogEvent],
    ) -> Result<(Verdict, Certification), Rejected> {
        let read = read_events(current, fenced);
        let decided = self.decide(current, &read, self.exact(), Instant::now())?;
        Ok((decided.verdict, decided.certification))
    }

    fn witness(&self, current: &Current, evidence: &TraceEvidence) -> SerialWitness {
        let (commits, evidence) = match evidence {
            TraceEvidence::Execution { events, cycle } => {
                (commits(events), SerialEvidence::Cycle(cycle.clone()))
            }
            TraceEvidence::Groups(groups) => (Vec::new(), SerialEvidence::Groups(groups.clone())),
            TraceEvidence::Directions(_) => (Vec::new(), SerialEvidence::Groups(Vec::new())),
        };
        SerialWitness {
            input_hash: String::new(),
            model: Model::Tso,
            buffered: Some(self.args.buffered),
            trace: current.number,
            commits: Some(commits),
            evidence,
        }
    }

    /// Asks.
    fn decide(
        &self,
        current: &Current,
        read: &Read,
        mode: TraceMode,
        since: Instant,
    ) -> Result<Decided, Rejected> {
        let unknown = |limit| {
            Ok(Decided {
                verdict: Verdict::Unknown(limit),
                evidence: None,
                certification: Certification::NotChecked,
                decided_by: None,
            })
        };
        if let Some(limit) = &current.limit {
            return unknown(limit.clone());
        }
        if !current.is_whole() {
            return unknown(Limit::Memory(self.args.shared.memory));
        }
        // The modes share the time of the question.
        let limits = pool::limits_of(&self.args.shared).since(since);
        if !mode.is_exact()
            && let Err(limit) = limits.check(0)
        {
            return unknown(limit);
        }
        let mut listener = Listener::new();
        let answer = check_whole_trace(&read.trace, &read.access, mode, &limits, &mut listener)
            .map_err(|why| match why {
                NoTraceAnswer::Bad(_) => Rejected::Trace("these events are no trace"),
                NoTraceAnswer::Rejected(rejected) => rejected,
            })?;
        let certification = answer.certification();
        let answer = answer.into_answer();
        let decided_by =
            (!matches!(answer.verdict, Verdict::Unknown(_))).then(|| answer.decided_by.key());
        let (verdict, evidence) = (answer.verdict, answer.evidence);
        Ok(Decided { verdict, evidence, certification, decided_by })
    }
}

/// The trace of a log, as far as it was kept.
fn read(current: &Current) -> Read {
    read_events(current, &current.kept)
}

fn read_events(current: &Current, events: &[LogEvent]) -> Read {
    let mut reader = TxnReader::new(false, &current.tables);
    let mut read = Read { trace: Vec::new(), from: Vec::new(), access: Vec::new() };
    for log in events {
        let number = reader.events();
        // What does not fit was found when the log was followed.
        let _ = reader.event(log, |event, unit| {
            read.trace.push(event);
            read.from.push((number as u32, unit != number as u32));
            read.access.push(unit);
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

/// What the events of a cycle are.
fn drawn(current: &Current, read: &Read, evidence: &TraceEvidence) -> Option<SerialCycle> {
    let (found, mut placed) = match evidence {
        TraceEvidence::Execution { events, cycle } => events_of(current, read, events, cycle),
        TraceEvidence::Directions(cycle) => {
            let events = cycle.0.iter().flat_map(|&(a, b)| [a, b]);
            let found = events.filter_map(|at| {
                let event = *read.trace.get(at as usize)?;
                let shown = read.shown(current, at as usize);
                Some((
                    at,
                    (SerialTimed { event: shown, thread: event.thread, at, stored: None }, event),
                ))
            });
            (found.collect(), Vec::new())
        }
        TraceEvidence::Groups(_) => return None,
    };
    let (TraceEvidence::Execution { cycle, .. } | TraceEvidence::Directions(cycle)) = evidence
    else {
        return None;
    };
    let txns: Vec<u32> = found.values().map(|(_, event)| event.txn).collect();
    let mut extents = Extents::new(false, &current.tables, Some(&txns));
    extents.events(&current.kept);
    let extents = extents.end();
    let edge = |(from, to): &(u64, u64)| {
        let (&(from, of), &(to, _)) = (found.get(from)?, found.get(to)?);
        let txn = txn(of.thread, extents.get(&of.txn));
        Some(SerialEdge { txn, from: from.event, to: to.event })
    };
    placed.dedup();
    let edges = from_first(cycle.0.iter().filter_map(edge).collect());
    let timed = |(from, to): &(u64, u64)| Some((found.get(from)?.0, found.get(to)?.0));
    let delays = serial_delays(&cycle.0.iter().filter_map(timed).collect::<Vec<_>>());
    Some(SerialCycle { edges, commits: placed, delays })
}

type Events = HashMap<u64, (SerialTimed, TxnEvent)>;

/// What the events of a cycle of an execution are, and what its commits come before: the last one of
/// each thread that comes before the same event, and only those that do not wait for the next fence
/// of their thread, or the end, or are on the cycle. The threads do what they do in the trace, each in its order.
fn events_of(
    current: &Current,
    read: &Read,
    execution: &[TxnEvent],
    cycle: &TxnCycle,
) -> (Events, Vec<(SerialEvent, Option<u64>)>) {
    let mut of_threads: HashMap<u32, VecDeque<usize>> = HashMap::new();
    for (at, event) in read.trace.iter().enumerate() {
        of_threads.entry(event.thread).or_default().push_back(at);
    }
    let wanted: std::collections::HashSet<u64> =
        cycle.0.iter().flat_map(|&(a, b)| [a, b]).collect();
    let mut buffers: HashMap<u32, VecDeque<(usize, usize)>> = HashMap::new();
    let (mut found, mut placed) = (Events::new(), Vec::new());
    let mut waiting: Vec<(u32, SerialEvent, bool)> = Vec::new();
    for (at, &txn_event) in execution.iter().enumerate() {
        let buffer = buffers.entry(txn_event.thread).or_default();
        let mut stored = None;
        let shown = if txn_event.kind == TxnKind::Commit {
            let Some((store, when)) = buffer.pop_front() else { continue };
            stored = Some((when as u64, read.shown(current, store)));
            let commit = SerialEvent { role: SerialRole::Commit, ..read.shown(current, store) };
            waiting.push((txn_event.thread, commit, wanted.contains(&(at as u64))));
            commit
        } else {
            let next = of_threads.get_mut(&txn_event.thread).and_then(VecDeque::pop_front);
            let Some(next) = next else { continue };
            if txn_event.kind == TxnKind::Write {
                buffer.push_back((next, at));
            }
            let before = u64::from(read.from[next].0);
            // Stores reach memory in their order, so the last one of a thread tells of all.
            for (at, &(thread, commit, on_cycle)) in waiting.iter().enumerate() {
                let has_to = txn_event.kind.drains() && thread == txn_event.thread;
                let is_last = waiting[at + 1..].iter().all(|&(other, _, _)| other != thread);
                let shown = !has_to && is_last || on_cycle;
                placed.extend(shown.then_some((commit, Some(before))));
            }
            waiting.clear();
            read.shown(current, next)
        };
        if wanted.contains(&(at as u64)) {
            let at = at as u64;
            let timed = SerialTimed { event: shown, thread: txn_event.thread, at, stored };
            found.insert(at, (timed, txn_event));
        }
    }
    let at_the_end = waiting.into_iter().filter(|&(_, _, on_cycle)| on_cycle);
    placed.extend(at_the_end.map(|(_, commit, _)| (commit, None)));
    (found, placed)
}
