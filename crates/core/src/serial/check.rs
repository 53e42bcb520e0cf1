//! The checker of evidence about traces. It uses the definitions, not the engines.
//!
//! Cost: linear in the trace, but for the number of threads, for executions and groups of one
//! transaction; for other groups quadratic in them, and a search of the trace for each clause that
//! says which ties are not possible together.

use std::collections::{HashMap, HashSet};

use super::evidence::{NoCycle, TraceEvidence, TxnGroup, TxnRefutation, TxnVar};
use super::execution::{Paired, pair};
use super::order::{TraceOrder, is_cyclic, open_ties};
use super::orientations::{predicted_serializable, serializable_by_orientations};
use super::overwritten::overwritten;
use super::points::are_points;
use super::ties::{Tie, Trace};
use super::trace::trace_serializable;
use super::whole::whole_serializable;
use super::{Conflicts, TraceMode, TxnCycle, TxnEvent, TxnKind, conflict};
use crate::evidence::rejected::Rejected;
use crate::{Verdict, lrat};

/// Checks the evidence for a verdict on a trace: that all that it stands for is serializable. Claims
/// of a full search are only checked for being of the right kind (see [`search_trace`]).
pub fn trace(
    events: &[TxnEvent],
    mode: TraceMode,
    verdict: &Verdict,
    evidence: &TraceEvidence,
) -> Result<(), Rejected> {
    let trace =
        Trace::new(events, mode).map_err(|_| Rejected::Trace("these events are no trace"))?;
    match (verdict, evidence) {
        (Verdict::Violated, TraceEvidence::Execution { events, cycle }) => {
            check_execution(&trace, events, cycle)
        }
        (Verdict::Violated, TraceEvidence::Directions(cycle)) if mode == TraceMode::Literal => {
            check_directions(&trace, cycle)
        }
        (Verdict::Holds, TraceEvidence::Groups(groups)) => check_groups(&trace, groups),
        _ => Err(Rejected::WrongKind),
    }
}

/// Re-derives a verdict on a trace from nothing, if it has at most so many events. Those with the same
/// number in `access` are parts of one access; if it is empty, each is one.
pub fn search_trace(
    events: &[TxnEvent],
    access: &[u32],
    mode: TraceMode,
    verdict: &Verdict,
    max_events: usize,
) -> Result<(), Rejected> {
    let trace =
        Trace::new(events, mode).map_err(|_| Rejected::Trace("these events are no trace"))?;
    let undirected = trace.all(Tie::Undirected).len();
    if events.len() > max_events || mode == TraceMode::Literal && undirected > 20 {
        return Err(Rejected::TooLarge(max_events));
    }
    let holds = match mode {
        TraceMode::Exact(reads) if access.is_empty() => trace_serializable(events, reads),
        TraceMode::Exact(reads) => whole_serializable(events, access, reads),
        TraceMode::Predictive(_) => predicted_serializable(&trace),
        TraceMode::Literal => serializable_by_orientations(&trace),
    };
    match (verdict, holds) {
        (Verdict::Holds, true) | (Verdict::Violated, false) => Ok(()),
        _ => Err(Rejected::Contradicted),
    }
}

fn reject<T>(why: &'static str) -> Result<T, Rejected> {
    Err(Rejected::Trace(why))
}

fn check_execution(
    trace: &Trace<'_>,
    events: &[TxnEvent],
    cycle: &TxnCycle,
) -> Result<(), Rejected> {
    let Ok(execution) = pair(events) else {
        return reject("the events are no complete execution");
    };
    let places: Vec<usize> =
        (0..events.len()).filter(|&at| events[at].kind != TxnKind::Commit).collect();
    if matches!(trace.mode, TraceMode::Predictive(_)) {
        check_predicted(trace, &execution, &places)?;
    } else if !places.iter().map(|&at| &events[at]).eq(trace.events) {
        return reject("the execution is not one of the trace");
    }
    let relation = Conflicts::Tso(trace.mode.buffered_reads());
    let is_conflict = |a: usize, b: usize| a < b && conflict(&execution, relation, a, b);
    check_cycle(events, cycle, &is_conflict)
}

/// Whether the threads do the same in an execution, and directed ties keep their direction.
fn check_predicted(
    trace: &Trace<'_>,
    execution: &Paired<'_>,
    places: &[usize],
) -> Result<(), Rejected> {
    let events = execution.events;
    if places.len() != trace.events.len() {
        return reject("the threads do something else in the execution");
    }
    // Stable, so both are sorted by thread and then by what the thread does first.
    let mut by_thread: Vec<usize> = (0..places.len()).collect();
    by_thread.sort_by_key(|&at| trace.events[at].thread);
    let mut places = places.to_vec();
    places.sort_by_key(|&at| events[at].thread);
    let mut place = vec![0; places.len()];
    for (&at, &there) in by_thread.iter().zip(&places) {
        place[at] = there;
        if trace.events[at] != events[there] {
            return reject("the threads do something else in the execution");
        }
    }
    let at = |event: usize| execution.commit_of(place[event]).unwrap_or(place[event]);
    let noticed = |event: usize| at(event).max(trace.own(event).map_or(0, at));
    for (from, to) in trace.directed() {
        let same = trace.events[from].thread == trace.events[to].thread;
        if !same && noticed(from) > noticed(to) {
            return reject("a conflict has another direction in the execution");
        }
    }
    Ok(())
}

fn check_cycle(
    events: &[TxnEvent],
    cycle: &TxnCycle,
    is_conflict: &dyn Fn(usize, usize) -> bool,
) -> Result<(), Rejected> {
    if cycle.0.is_empty() {
        return reject("the cycle is empty");
    }
    for (at, &(from, to)) in cycle.0.iter().enumerate() {
        let next = cycle.0[(at + 1) % cycle.0.len()].0 as usize;
        let (from, to) = (from as usize, to as usize);
        if from.max(to).max(next) >= events.len() || !is_conflict(from, to) {
            return reject("events of the cycle do not conflict in this order");
        }
        if events[to].txn != events[next].txn || events[from].txn == events[to].txn {
            return reject("the cycle does not go from transaction to transaction");
        }
    }
    Ok(())
}

fn check_directions(trace: &Trace<'_>, cycle: &TxnCycle) -> Result<(), Rejected> {
    let is_conflict = |from: usize, to: usize| match from < to {
        true => trace.tie(from, to).is_some(),
        false => from > to && trace.tie(to, from) == Some(Tie::Undirected),
    };
    check_cycle(trace.events, cycle, &is_conflict)?;
    let chosen = cycle.0.iter().map(|&(from, to)| (from as usize, to as usize));
    let edges = trace.directed().into_iter().chain(chosen);
    match is_cyclic(trace.events.len(), edges) {
        false => Ok(()),
        true => reject("the directions make a cycle of events"),
    }
}

fn check_groups(trace: &Trace<'_>, groups: &[TxnGroup]) -> Result<(), Rejected> {
    let mut group_of = HashMap::new();
    for (number, group) in groups.iter().enumerate() {
        for &txn in &group.txns {
            if group_of.insert(txn, number).is_some() {
                return reject("a transaction is in two groups");
            }
        }
    }
    let known: HashSet<u32> = trace.events.iter().map(|event| event.txn).collect();
    if group_of.keys().any(|txn| !known.contains(txn)) {
        return reject("a group has a transaction that is not in the trace");
    }
    let group = |event: &TxnEvent| group_of.get(&event.txn).copied();
    let Some(numbers) = trace.events.iter().map(group).collect::<Option<Vec<usize>>>() else {
        return reject("a transaction is in no group");
    };
    check_forward(trace, &numbers)?;
    let mut events: Vec<Vec<usize>> = vec![Vec::new(); groups.len()];
    for (at, &number) in numbers.iter().enumerate() {
        events[number].push(at);
    }
    // Only proofs need these, and they are large.
    let is_proof = |group: &TxnGroup| matches!(group.why, NoCycle::Refuted(_));
    let has_proofs = groups.iter().any(is_proof);
    let order = has_proofs.then(|| TraceOrder::new(trace));
    let mut reach = order.as_ref().map(Reach::new);
    let mut directed: Vec<Vec<(u32, u32)>> = vec![Vec::new(); groups.len()];
    trace.each_directed(&mut |from, to| {
        if numbers[from] == numbers[to] && trace.events[from].txn != trace.events[to].txn {
            directed[numbers[from]].push((trace.events[from].txn, trace.events[to].txn));
        }
    });
    for (number, group) in groups.iter().enumerate() {
        let (events, directed) = (&events[number], &directed[number]);
        match &group.why {
            NoCycle::Single if group.txns.len() <= 1 => {}
            NoCycle::Single => return reject("a group has several transactions"),
            // Each has one at least.
            NoCycle::Events if events.len() == group.txns.len() => {}
            NoCycle::Events => return reject("a transaction has several events"),
            NoCycle::Tree => check_tree(trace, events)?,
            NoCycle::Points(points) => {
                let is_one_each = points.len() == group.txns.len() && trace.mode.is_exact();
                let points = group.txns.iter().copied().zip(points.iter().copied()).collect();
                if !is_one_each || !are_points(trace, events, directed, &points) {
                    return reject("the transactions of a group do not have these points in time");
                }
            }
            NoCycle::Refuted(refutation) => {
                let (Some(order), Some(reach)) = (&order, &mut reach) else {
                    return reject("a proof is about nothing");
                };
                check_refutation(order, reach, events, directed, refutation)?;
            }
            NoCycle::Searched { .. } => {}
        }
    }
    Ok(())
}

/// Groups of what a thread did.
#[derive(Default)]
struct Past {
    /// The last group of what may be a read of memory, and of fences and updates, and of anything.
    read: usize,
    any: usize,
    /// Per variable the last group of what was done to it, and of what is not settled the first one,
    /// of writes and of reads.
    last: HashMap<u32, usize>,
    open: HashMap<u32, (usize, usize)>,
}

/// Whether all ties lead to the same or a later group, undirected ones in both directions.
fn check_forward(trace: &Trace<'_>, numbers: &[usize]) -> Result<(), Rejected> {
    let mut threads: HashMap<u32, Past> = HashMap::new();
    // Per variable the last group of a write, and of any access.
    let mut vars: HashMap<u32, (usize, usize)> = HashMap::new();
    for (at, e) in trace.events.iter().enumerate() {
        let (group, writes) = (numbers[at], trace.writes(at));
        let mut first = 0;
        let past = threads.entry(e.thread).or_default();
        match e.kind {
            TxnKind::Read => {
                let same = past.last.get(&e.var).copied().unwrap_or(0);
                first = past.read.max(same);
                if trace.own(at).is_none() || trace.may_be_overwritten(at) {
                    past.read = past.read.max(group);
                }
            }
            TxnKind::Write | TxnKind::Commit => first = past.any,
            TxnKind::Update | TxnKind::Fence => {
                first = first.max(past.any);
                past.read = past.read.max(group);
                past.open.clear();
            }
        }
        past.any = past.any.max(group);
        if e.kind.is_access() {
            past.last.insert(e.var, past.last.get(&e.var).map_or(group, |&last| last.max(group)));
            let (write, any) = vars.entry(e.var).or_default();
            first = first.max(if writes { *any } else { *write });
            *any = group.max(*any);
            *write = if writes { group.max(*write) } else { *write };
        }
        if first > group {
            return reject("a conflict leads to an earlier group");
        }
        if !e.kind.is_access() {
            continue;
        }
        for (&thread, past) in &threads {
            let Some(&(write, read)) = past.open.get(&e.var) else { continue };
            let last = if writes { write.min(read) } else { write };
            if thread != e.thread && group > last {
                return reject("an undirected conflict may lead to an earlier group");
            }
        }
        if let Some(past) = threads.get_mut(&e.thread)
            && (e.kind == TxnKind::Write || trace.own(at).is_some())
        {
            let open = past.open.entry(e.var).or_insert((usize::MAX, usize::MAX));
            let first = if writes { &mut open.0 } else { &mut open.1 };
            *first = group.min(*first);
        }
    }
    Ok(())
}

fn check_tree(trace: &Trace<'_>, events: &[usize]) -> Result<(), Rejected> {
    let txns: HashSet<u32> = events.iter().map(|&at| trace.events[at].txn).collect();
    let node: HashMap<u32, usize> = txns.iter().copied().zip(0..).collect();
    let mut root: Vec<usize> = (0..node.len()).collect();
    for (number, &second) in events.iter().enumerate() {
        for &first in &events[..number] {
            let (a, b) = (trace.events[first].txn, trace.events[second].txn);
            let Some(tie) = trace.tie(first, second).filter(|_| a != b) else { continue };
            let (a, b) = (find(&root, node[&a]), find(&root, node[&b]));
            if a == b || tie != Tie::Undirected {
                return reject("a group is no tree");
            }
            root[a] = b;
        }
    }
    Ok(())
}

fn find(root: &[usize], mut node: usize) -> usize {
    while root[node] != node {
        node = root[node];
    }
    node
}

fn check_refutation(
    order: &TraceOrder<'_>,
    reach: &mut Reach,
    events: &[usize],
    directed: &[(u32, u32)],
    refutation: &TxnRefutation,
) -> Result<(), Rejected> {
    let trace = order.trace;
    let members: HashSet<u32> = events.iter().map(|&at| trace.events[at].txn).collect();
    let found = overwritten(trace, events);
    let mut checker = Refuter {
        order,
        refutation,
        numbers: HashMap::new(),
        leaving: HashMap::new(),
        before: found.into_iter().map(|found| (found.read, found.before)).collect(),
        reach,
        members: &members,
    };
    let has_choices = refutation.vars.iter().any(|var| matches!(var, TxnVar::First(..)));
    let choices: HashSet<(usize, usize)> = match has_choices {
        true => order.choices.iter().copied().collect(),
        false => HashSet::new(),
    };
    for (at, &var) in refutation.vars.iter().enumerate() {
        checker.numbers.insert(var, at as i32 + 1);
        let is_known = match var {
            TxnVar::On(txn) => members.contains(&txn),
            TxnVar::Uses(from, to) => {
                from.max(to) < trace.events.len()
                    && from != to
                    && trace.tie(from.min(to), from.max(to)) == Some(Tie::Undirected)
            }
            TxnVar::First(write, read) => choices.contains(&(write, read)),
            TxnVar::Overwritten(read) => checker.before.contains_key(&read),
            TxnVar::Overwrites(write, read) => {
                checker.before.contains_key(&read)
                    && trace.overwriting(read).any(|other| other == write)
            }
        };
        if !is_known {
            return reject("a variable means nothing");
        }
    }
    for (from, to) in open_ties(trace, events) {
        let leaving = checker.leaving.entry(trace.events[from].txn).or_default();
        leaving.push(TxnVar::Uses(from, to));
    }
    for &read in checker.before.keys() {
        let leaving = checker.leaving.entry(trace.events[read].txn).or_default();
        leaving.push(TxnVar::Overwritten(read));
    }
    for &(from, to) in directed {
        checker.leaving.entry(from).or_default().push(TxnVar::On(to));
    }
    for clause in &refutation.clauses {
        checker.check(clause)?;
    }
    lrat(&refutation.clauses, &refutation.proof).map_err(Rejected::Lrat)
}

struct Refuter<'a> {
    order: &'a TraceOrder<'a>,
    refutation: &'a TxnRefutation,
    numbers: HashMap<TxnVar, i32>,
    /// Per transaction how a cycle may leave it.
    leaving: HashMap<u32, Vec<TxnVar>>,
    /// Per read that its own write may be overwritten for what it comes before then.
    before: HashMap<usize, Vec<usize>>,
    reach: &'a mut Reach,
    members: &'a HashSet<u32>,
}

impl Refuter<'_> {
    /// Whether a cycle makes this clause true.
    fn check(&mut self, clause: &[i32]) -> Result<(), Rejected> {
        let literals: HashSet<i32> = clause.iter().copied().collect();
        let has = |var: &TxnVar| self.numbers.get(var).is_some_and(|n| literals.contains(n));
        if self.members.iter().all(|&txn| has(&TxnVar::On(txn))) {
            return Ok(());
        }
        let mut demands = Vec::new();
        for &literal in clause {
            let at = (literal.unsigned_abs() as usize).wrapping_sub(1);
            let Some(&var) = self.refutation.vars.get(at) else {
                return reject("a clause has an unknown variable");
            };
            match (var, literal > 0) {
                (TxnVar::On(txn), false) => {
                    let leaving = self.leaving.get(&txn);
                    if leaving.is_none_or(|leaving| leaving.iter().all(has)) {
                        return Ok(());
                    }
                }
                (TxnVar::Uses(from, to), false) => {
                    if has(&TxnVar::On(self.order.trace.events[to].txn)) {
                        return Ok(());
                    }
                    demands.extend(self.order.demands(from, to));
                }
                (TxnVar::Overwritten(read), false) => {
                    let trace = self.order.trace;
                    let on = |&later: &usize| has(&TxnVar::On(trace.events[later].txn));
                    let is_before = self.before.get(&read).is_some_and(|all| all.iter().all(on));
                    let mut others = trace.overwriting(read);
                    if is_before || others.all(|write| has(&TxnVar::Overwrites(write, read))) {
                        return Ok(());
                    }
                }
                (TxnVar::Overwrites(write, read), false) => {
                    demands.extend(self.order.overwrites(write, read));
                }
                // The clause is checked with all of its literals false.
                (TxnVar::First(write, read), positive) => {
                    demands.push(self.order.choice((write, read))[usize::from(positive)]);
                }
                (
                    TxnVar::On(_)
                    | TxnVar::Uses(..)
                    | TxnVar::Overwritten(_)
                    | TxnVar::Overwrites(..),
                    true,
                ) => {}
            }
        }
        match self.reach.close_a_cycle(&demands) {
            true => Ok(()),
            false => reject("a clause does not follow"),
        }
    }
}

/// What leads to what.
struct Reach {
    next: Vec<Vec<usize>>,
    /// Per node its place in an order that respects all edges.
    place: Vec<usize>,
    seen: Vec<bool>,
}

impl Reach {
    fn new(order: &TraceOrder<'_>) -> Reach {
        let mut next = vec![Vec::new(); order.nodes];
        for &(from, to) in &order.edges {
            next[from].push(to);
        }
        let mut place = vec![0; order.nodes];
        for (at, node) in order.sorted(&[]).unwrap_or_default().into_iter().enumerate() {
            place[node] = at;
        }
        Reach { next, place, seen: vec![false; order.nodes] }
    }

    /// Whether these edges close a cycle: then one leads to the next, and so on.
    fn close_a_cycle(&mut self, edges: &[(usize, usize)]) -> bool {
        let Some(last) = edges.iter().map(|&(from, _)| self.place[from]).max() else {
            return false;
        };
        let mut follows = Vec::new();
        for (at, &(_, to)) in edges.iter().enumerate() {
            let mut visited = vec![to];
            self.seen[to] = true;
            let mut looked = 0;
            while let Some(&node) = visited.get(looked) {
                looked += 1;
                for &next in &self.next[node] {
                    if self.place[next] <= last && !std::mem::replace(&mut self.seen[next], true) {
                        visited.push(next);
                    }
                }
            }
            let after = edges.iter().enumerate().filter(|(_, (from, _))| self.seen[*from]);
            follows.extend(after.map(|(other, _)| (at, other)));
            visited.iter().for_each(|&node| self.seen[node] = false);
        }
        is_cyclic(edges.len(), follows.into_iter())
    }
}
