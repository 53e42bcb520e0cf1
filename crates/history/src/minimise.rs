//! A part of a history that violates a model as well, and of which nothing can be left out: nobody
//! reads a cycle in a million operations.
//!
//! An operation is left out together with what reads from it. What remains of a history that
//! satisfies a model satisfies it, too: the run, or the orders, without these operations are as
//! good. So it does not matter in which order operations are left out, and each has to be tried
//! only once: if the rest without it is satisfied, that stays so when more is left out.
//!
//! The start is not the history but the operations that the evidence names, with what they read
//! and, where buffers matter, a fence that holds them in order. These violate the model by the
//! same evidence: every edge that it uses is there. Large parts are tried first, and the evidence
//! for what remains is used each time, so that the cost is that of a few checks of small
//! histories.

mod open;

use std::collections::HashSet;
use std::sync::Arc;

use weakspot_core::certify::Rejected;
use weakspot_core::{
    Certified, Claim, Effort, History, HistoryCycle, HistoryEdge, HistoryEvidence, HistoryModel,
    HistoryWay, Limits, LratStep, OpKind, Progress, Rule, Verdict, Why, initial_write_var,
};

use crate::answer::Method;
use crate::check::decide;
use crate::gradual::part::{Part, closed};
use open::minimise_open;

/// A part of a history that violates a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minimal {
    /// Its operations, by their numbers in the whole history, in rising order.
    pub kept: Vec<u32>,
    /// It as a history; operations, threads and variables are numbered anew.
    pub ops: History,
    /// The threads of the whole history that it has operations of.
    pub threads: Vec<usize>,
    /// The variables of the whole history that it is about.
    pub vars: Vec<u32>,
    /// Why it violates the model.
    pub evidence: Arc<HistoryEvidence>,
    /// Its reads of which it is open what they read, each with what it may: it violates the model with
    /// every choice.
    pub open: Vec<(u32, Vec<u32>)>,
    /// Whether nothing can be left out; false if a limit was reached before that was known.
    pub is_minimal: bool,
}

impl Claim for Minimal {
    type Evidence = HistoryEvidence;

    fn verdict(&self) -> &Verdict {
        &Verdict::Violated
    }

    fn evidence(&self) -> Option<&HistoryEvidence> {
        Some(&self.evidence)
    }
}

/// Why a history violates a model.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// The evidence, with one choice of what reads read where that is open.
    pub evidence: &'a HistoryEvidence,
    /// The reads of which it is open what they read, each with what it may.
    pub open: &'a [(u32, Vec<u32>)],
    /// The evidence for all choices.
    pub ways: &'a [HistoryWay],
}

/// The smallest part of a history that this evidence leads to. `None` if the evidence shows no
/// violation, or a limit was reached before any part was found.
///
/// # Errors
/// When the evidence for the part did not pass its check.
pub fn minimal_part(
    ops: &History,
    model: HistoryModel,
    shown: Shown<'_>,
    method: Method,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Option<Minimal>, Rejected> {
    if !shown.open.is_empty() {
        return minimise_open((ops, shown.open), model, shown.ways, method, limits, progress);
    }
    let found = minimise(ops, model, shown.evidence, method, limits, progress)?;
    Ok(found.map(Certified::into_answer))
}

/// The same where it is known what all reads read.
///
/// # Errors
/// When the evidence for the part did not pass its check.
pub fn minimise(
    ops: &History,
    model: HistoryModel,
    evidence: &HistoryEvidence,
    method: Method,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Option<Certified<Minimal>>, Rejected> {
    let limits = limits.begin();
    let mut search = Search { ops, model, method, limits, progress, is_sure: true };
    let Some(mut best) = search.violated(&closed(ops, named(ops, model, evidence))) else {
        return Ok(None);
    };
    search.narrow(&mut best);
    let mut size = best.kept.len() / 2;
    while size > 1 {
        search.leave_out(&mut best, size);
        size = (size / 2).min(best.kept.len() / 2);
    }
    search.is_sure = true;
    search.leave_out(&mut best, 1);
    best.is_minimal = search.is_sure;
    let part = best.ops.clone();
    Certified::history(&part, model, best, Effort::within(&limits)).map(Some)
}

struct Search<'a> {
    ops: &'a History,
    model: HistoryModel,
    method: Method,
    /// For all checks together.
    limits: Limits,
    progress: &'a mut dyn Progress,
    /// Whether each part that was not found to be violated is satisfied.
    is_sure: bool,
}

impl Search<'_> {
    /// The part with these operations, if it violates the model.
    fn violated(&mut self, kept: &[u32]) -> Option<Minimal> {
        if self.limits.check(0).is_err() {
            self.is_sure = false;
            return None;
        }
        let Part { kept, ops, threads, vars } = Part::new(self.ops, kept.to_vec());
        let answer = decide(&ops, self.model, self.method, &self.limits, self.progress);
        self.is_sure &= !matches!(answer.verdict, Verdict::Unknown(_));
        let evidence = answer.evidence.filter(|_| answer.verdict == Verdict::Violated)?;
        let open = Vec::new();
        Some(Minimal { kept, ops, threads, vars, evidence, open, is_minimal: false })
    }

    /// Leaves out what the evidence does not name, as long as that makes it smaller.
    fn narrow(&mut self, best: &mut Minimal) {
        loop {
            let named = named(&best.ops, self.model, &best.evidence);
            let kept = closed(&best.ops, named.iter().copied());
            if named.is_empty() || kept.len() >= best.kept.len() {
                return;
            }
            let kept: Vec<u32> = kept.iter().map(|&op| best.kept[op as usize]).collect();
            match self.violated(&kept) {
                Some(smaller) => *best = smaller,
                None => return,
            }
        }
    }

    /// Tries to leave out each piece of this many operations, from the end.
    fn leave_out(&mut self, best: &mut Minimal, size: usize) {
        let mut end = best.kept.len();
        while end > 0 {
            let start = end.saturating_sub(size);
            let rest = without(&best.ops, start..end);
            let next = best.kept[start];
            if !rest.is_empty() {
                let rest: Vec<u32> = rest.iter().map(|&op| best.kept[op as usize]).collect();
                if let Some(smaller) = self.violated(&rest) {
                    *best = smaller;
                    self.narrow(best);
                }
            }
            // What comes behind was tried, however much has been left out since.
            end = best.kept.partition_point(|&op| op < next);
        }
    }
}

/// All operations but these, and but those that read from them, and so on.
fn without(ops: &History, gone: std::ops::Range<usize>) -> Vec<u32> {
    let mut left_out = vec![false; ops.len()];
    left_out[gone.clone()].fill(true);
    let mut todo: Vec<usize> = gone.collect();
    let mut readers = vec![Vec::new(); ops.len()];
    for op in 0..ops.len() as u32 {
        if let Some(w) = ops.from(op) {
            readers[w as usize].push(op);
        }
    }
    while let Some(op) = todo.pop() {
        for &r in &readers[op] {
            if !std::mem::replace(&mut left_out[r as usize], true) {
                todo.push(r as usize);
            }
        }
    }
    (0..ops.len() as u32).filter(|&op| !left_out[op as usize]).collect()
}

/// The operations that evidence for a violation rests on.
fn named(ops: &History, model: HistoryModel, evidence: &HistoryEvidence) -> Vec<u32> {
    let mut named = Named { ops, model, found: Vec::new() };
    match evidence {
        HistoryEvidence::Cycle(cycle) => named.cycle(cycle),
        HistoryEvidence::Refuted { conflicts, proof, .. } => {
            for conflict in used(conflicts.len(), proof) {
                named.cycle(&conflicts[conflict]);
            }
        }
        HistoryEvidence::Linear { .. } | HistoryEvidence::ByDefinition => {}
    }
    named.found.sort_unstable();
    named.found.dedup();
    named.found
}

struct Named<'a> {
    ops: &'a History,
    model: HistoryModel,
    found: Vec<u32>,
}

impl Named<'_> {
    fn cycle(&mut self, cycle: &HistoryCycle) {
        for derivation in &cycle.derivations {
            self.edges(&derivation.path);
            if let Rule::Overtaken { read } = derivation.rule {
                self.found.push(read);
            }
        }
        self.edges(&cycle.edges);
    }

    fn edges(&mut self, edges: &[HistoryEdge]) {
        for edge in edges {
            let ends = [edge.from, edge.to];
            self.found.extend(ends.iter().filter(|&&end| initial_write_var(end).is_none()));
            let relaxed = matches!(
                self.model.without_time(),
                HistoryModel::Tso | HistoryModel::Pso | HistoryModel::PsoOwn | HistoryModel::Wccm
            );
            if relaxed
                && edge.why == Why::Po
                && initial_write_var(edge.from).is_none()
                && self.ops.kind(edge.from) == OpKind::Write
                && self.ops.kind(edge.to) != OpKind::Fence
            {
                self.barrier(edge.from, edge.to);
            }
        }
    }

    /// A fence, or else an update, that keeps the order of these two.
    fn barrier(&mut self, from: u32, to: u32) {
        let ops = self.ops;
        let find = |kind: OpKind| (from + 1..to).find(|&op| ops.kind(op) == kind);
        let update = || find(OpKind::Update).filter(|_| self.model != HistoryModel::PsoOwn);
        self.found.extend(find(OpKind::Fence).or_else(update));
    }
}

/// Which of the first so many clauses the end of a proof rests on.
fn used(clauses: usize, proof: &[LratStep]) -> Vec<usize> {
    let mut needed: HashSet<u64> = HashSet::new();
    for step in proof.iter().rev() {
        if let LratStep::Add { id, clause, hints } = step
            && (clause.is_empty() || needed.contains(id))
        {
            needed.extend(hints);
        }
    }
    if needed.is_empty() {
        return (0..clauses).collect();
    }
    (0..clauses).filter(|&i| needed.contains(&(i as u64 + 1))).collect()
}
