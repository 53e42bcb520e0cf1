//! A part of a history that violates a model as well, whatever some reads read, where values were written more
//! than once.
//!
//! An operation is left out together with all that may read from it: so a choice for the whole is one for the
//! part, and as for one choice what remains of a history that satisfies a model with a choice satisfies it with the
//! same. The start is what the evidence for all choices names. Each part is asked about with all choices,
//! of which there are few, and parts are small.

use std::sync::Arc;

use weakspot_core::certify::Rejected;
use weakspot_core::{
    History, HistoryModel, HistoryWay, INITIAL, Limits, Progress, Verdict, initial_write_var,
};

use super::{Minimal, named};
use crate::answer::Method;
use crate::gradual::part::Part;
use crate::ways::{Chosen, classify_open};

/// The smallest part of a history that the evidence for all choices leads to. `None` if that shows no violation,
/// or a limit was reached before any part was found.
///
/// # Errors
/// When the evidence for a part did not pass its check.
pub(super) fn minimise_open(
    (ops, open): (&History, &[(u32, Vec<u32>)]),
    model: HistoryModel,
    ways: &[HistoryWay],
    method: Method,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Option<Minimal>, Rejected> {
    let mut some = Vec::new();
    for HistoryWay { reads, evidence } in ways {
        let mut chosen = ops.clone();
        for &(read, from) in reads {
            let is_initial = initial_write_var(from).is_some();
            chosen.set_from(read, if is_initial { INITIAL } else { from });
        }
        some.extend(named(&chosen, model, evidence));
    }
    let (sources, limits) = (sources(ops, open), limits.begin());
    let mut search = Search { ops, sources, model, method, limits, progress, is_sure: true };
    let start = search.closed(some);
    let Some(mut best) = search.violated(start)? else { return Ok(None) };
    let mut size = best.kept.len() / 2;
    while size > 1 {
        search.leave_out(&mut best, size)?;
        size = (size / 2).min(best.kept.len() / 2);
    }
    search.is_sure = true;
    search.leave_out(&mut best, 1)?;
    best.is_minimal = search.is_sure;
    Ok(Some(best))
}

/// Per operation what it may read; one write at most where that is not open.
fn sources(ops: &History, open: &[(u32, Vec<u32>)]) -> Vec<Vec<u32>> {
    let mut all: Vec<Vec<u32>> =
        (0..ops.len() as u32).map(|op| ops.from(op).into_iter().collect()).collect();
    for (read, writes) in open {
        all[*read as usize].clone_from(writes);
    }
    all
}

struct Search<'a> {
    ops: &'a History,
    /// Per operation what it may read, also [`INITIAL`] if that is open.
    sources: Vec<Vec<u32>>,
    model: HistoryModel,
    method: Method,
    /// For all checks together.
    limits: Limits,
    progress: &'a mut dyn Progress,
    /// Whether each part that was not found to be violated is satisfied.
    is_sure: bool,
}

impl Search<'_> {
    /// These operations with all that they may read, and so on, in rising order.
    fn closed(&self, some: Vec<u32>) -> Vec<u32> {
        let mut is_kept = vec![false; self.ops.len()];
        let mut todo = some;
        while let Some(op) = todo.pop() {
            if op != INITIAL && !std::mem::replace(&mut is_kept[op as usize], true) {
                todo.extend(&self.sources[op as usize]);
            }
        }
        (0..self.ops.len() as u32).filter(|&op| is_kept[op as usize]).collect()
    }

    /// The part with these operations, if it violates the model with every choice.
    fn violated(&mut self, kept: Vec<u32>) -> Result<Option<Minimal>, Rejected> {
        if kept.is_empty() || self.limits.check(0).is_err() {
            self.is_sure &= kept.is_empty();
            return Ok(None);
        }
        let Part { kept, ops, threads, vars } = Part::new(self.ops, kept);
        let place = |op: &u32| match *op {
            INITIAL => INITIAL,
            op => kept.binary_search(&op).map_or(INITIAL, |at| at as u32),
        };
        let many = |(at, op): (usize, &u32)| {
            let writes = &self.sources[*op as usize];
            (writes.len() > 1).then(|| (at as u32, writes.iter().map(place).collect()))
        };
        let open: Vec<(u32, Vec<u32>)> = kept.iter().enumerate().filter_map(many).collect();
        let chosen =
            classify_open(&ops, &open, self.model, self.method, &self.limits, self.progress);
        let Chosen { ops, found, .. } = chosen.map_err(|defect| defect.rejected)?;
        let answer = &found.answer;
        self.is_sure &= !matches!(answer.verdict, Verdict::Unknown(_));
        let evidence = answer.evidence.as_ref().filter(|_| answer.verdict == Verdict::Violated);
        let Some(evidence) = evidence.map(Arc::clone) else { return Ok(None) };
        Ok(Some(Minimal { kept, ops, threads, vars, evidence, open, is_minimal: false }))
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
            }
            // What comes behind was tried, however much has been left out since.
            end = best.kept.partition_point(|&op| op < next);
        }
        Ok(())
    }

    /// Of these operations all but some, and but those that may read from them, and so on.
    fn without(&self, kept: &[u32], gone: std::ops::Range<usize>) -> Vec<u32> {
        let mut rest = kept.to_vec();
        rest.drain(gone);
        loop {
            let has = |w: &u32| *w == INITIAL || rest.binary_search(w).is_ok();
            let is_good = |op: &u32| self.sources[*op as usize].iter().all(has);
            let good: Vec<u32> = rest.iter().copied().filter(is_good).collect();
            if good.len() == rest.len() {
                return rest;
            }
            rest = good;
        }
    }
}
