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
//!
//! Where values were written more than once, so that it is open what reads read, an operation is left out
//! together with all that may read from it: a choice for the whole is one for the part. Parts are asked
//! about with all choices, of which there are few.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use weakspot_core::certify::Rejected;
use weakspot_core::{
    Certified, Claim, Effort, History, HistoryCycle, HistoryEdge, HistoryEvidence, HistoryModel,
    HistoryWay, INITIAL, Limits, LratStep, OpKind, Progress, Rule, Verdict, Why, initial_write_var,
};

use crate::answer::Method;
use crate::check::decide;
use crate::gradual::part::{Part, closed};
use crate::ways::classify_open;

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
    if shown.open.is_empty() {
        let found = minimise(ops, model, shown.evidence, method, limits, progress)?;
        return Ok(found.map(Certified::into_answer));
    }
    let mut some = Vec::new();
    for HistoryWay { reads, evidence } in shown.ways {
        let mut chosen = ops.clone();
        for &(read, from) in reads {
            let is_initial = initial_write_var(from).is_some();
            chosen.set_from(read, if is_initial { INITIAL } else { from });
        }
        some.extend(named(&chosen, model, evidence));
    }
    let open = shown.open.iter().map(|(read, writes)| (*read, &writes[..])).collect();
    let limits = limits.begin();
    let search = Search { ops, open, model, method, limits, progress, is_sure: true };
    match search.smallest(some)? {
        // No choice is left.
        Some(best) if best.open.is_empty() => {
            certified(best, model, &limits).map(|best| Some(best.into_answer()))
        }
        best => Ok(best),
    }
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
    let (open, limits) = (HashMap::new(), limits.begin());
    let search = Search { ops, open, model, method, limits, progress, is_sure: true };
    let best = search.smallest(named(ops, model, evidence))?;
    best.map(|best| certified(best, model, &limits)).transpose()
}

fn certified(
    best: Minimal,
    model: HistoryModel,
    limits: &Limits,
) -> Result<Certified<Minimal>, Rejected> {
    let part = best.ops.clone();
    Certified::history(&part, model, best, Effort::within(limits))
}

struct Search<'a> {
    ops: &'a History,
    /// What the reads may read of which that is open; also [`INITIAL`].
    open: HashMap<u32, &'a [u32]>,
    model: HistoryModel,
    method: Method,
    /// For all checks together.
    limits: Limits,
    progress: &'a mut dyn Progress,
    /// Whether each part that was not found to be violated is satisfied.
    is_sure: bool,
}

impl Search<'_> {
    /// The smallest part that these operations lead to.
    fn smallest(mut self, some: Vec<u32>) -> Result<Option<Minimal>, Rejected> {
        let start = self.closed(some);
        let Some(mut best) = self.violated(start)? else { return Ok(None) };
        self.narrow(&mut best)?;
        let mut size = best.kept.len() / 2;
        while size > 1 {
            self.leave_out(&mut best, size)?;
            size = (size / 2).min(best.kept.len() / 2);
        }
        self.is_sure = true;
        self.leave_out(&mut best, 1)?;
        best.is_minimal = self.is_sure;
        Ok(Some(best))
    }

    /// The writes that an operation reads, or may read.
    fn sources(&self, op: u32) -> impl Iterator<Item = u32> {
        let (one, many) = match self.open.get(&op) {
            Some(many) => (None, *many),
            None => (self.ops.from(op), &[][..]),
        };
        one.into_iter().chain(many.iter().copied().filter(|&w| w != INITIAL))
    }

    fn closed(&self, some: Vec<u32>) -> Vec<u32> {
        closed(some, |op| self.sources(op))
    }

    /// The part with these operations, if it violates the model with every choice.
    fn violated(&mut self, kept: Vec<u32>) -> Result<Option<Minimal>, Rejected> {
        if kept.is_empty() || self.limits.check(0).is_err() {
            self.is_sure &= kept.is_empty();
            return Ok(None);
        }
        let Part { kept, mut ops, threads, vars } = Part::new(self.ops, kept);
        let place = |op: &u32| match *op {
            INITIAL => INITIAL,
            op => kept.binary_search(&op).map_or(INITIAL, |at| at as u32),
        };
        let many = |(at, op): (usize, &u32)| {
            let writes = self.open.get(op)?;
            Some((at as u32, writes.iter().map(place).collect()))
        };
        let open: Vec<(u32, Vec<u32>)> = kept.iter().enumerate().filter_map(many).collect();
        let (verdict, evidence) = if open.is_empty() {
            let answer = decide(&ops, self.model, self.method, &self.limits, self.progress);
            (answer.verdict, answer.evidence)
        } else {
            let chosen =
                classify_open(&ops, &open, self.model, self.method, &self.limits, self.progress);
            let chosen = chosen.map_err(|defect| defect.rejected)?;
            ops = chosen.ops;
            (chosen.found.answer.verdict.clone(), chosen.found.answer.evidence.clone())
        };
        self.is_sure &= !matches!(verdict, Verdict::Unknown(_));
        let evidence = evidence.filter(|_| verdict == Verdict::Violated);
        let part =
            |evidence| Minimal { kept, ops, threads, vars, evidence, open, is_minimal: false };
        Ok(evidence.map(part))
    }

    /// Leaves out what the evidence does not name, as long as that makes it smaller.
    fn narrow(&mut self, best: &mut Minimal) -> Result<(), Rejected> {
        // The evidence is for one choice.
        while best.open.is_empty() {
            let named = named(&best.ops, self.model, &best.evidence);
            let kept = self.closed(named.iter().map(|&op| best.kept[op as usize]).collect());
            if kept.len() >= best.kept.len() {
                break;
            }
            match self.violated(kept)? {
                Some(smaller) => *best = smaller,
                None => break,
            }
        }
        Ok(())
    }

    /// Tries to leave out each piece of this many operations, from the end.
    fn leave_out(&mut self, best: &mut Minimal, size: usize) -> Result<(), Rejected> {
        let mut end = best.kept.len();
        while end > 0 {
            let start = end.saturating_sub(size);
            let next = best.kept[start];
            let rest = self.without(&best.kept, start..end);
            if let Some(smaller) = self.violated(rest)? {
                *best = smaller;
                self.narrow(best)?;
            }
            // What comes behind was tried, however much has been left out since.
            end = best.kept.partition_point(|&op| op < next);
        }
        Ok(())
    }

    /// Of these operations all but some, and but those that may read from them, and so on.
    fn without(&self, kept: &[u32], gone: std::ops::Range<usize>) -> Vec<u32> {
        let mut readers = vec![Vec::new(); kept.len()];
        for (reader, &op) in kept.iter().enumerate() {
            for w in self.sources(op).filter_map(|w| kept.binary_search(&w).ok()) {
                readers[w].push(reader);
            }
        }
        let mut left_out = vec![false; kept.len()];
        left_out[gone.clone()].fill(true);
        let mut todo: Vec<usize> = gone.collect();
        while let Some(w) = todo.pop() {
            for &reader in &readers[w] {
                if !std::mem::replace(&mut left_out[reader], true) {
                    todo.push(reader);
                }
            }
        }
        let stays = kept.iter().zip(&left_out).filter(|(_, left_out)| !**left_out);
        stays.map(|(&op, _)| op).collect()
    }
}

/// The operations that evidence for a violation rests on.
pub(crate) fn named(ops: &History, model: HistoryModel, evidence: &HistoryEvidence) -> Vec<u32> {
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
            if self.model.is_relaxed()
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
