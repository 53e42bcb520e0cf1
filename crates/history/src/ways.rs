//! Which models does a history satisfy, if values were written more than once and it is not known which write a read
//! has read?
//!
//! It satisfies a model if it does with some choice of writes. So all of them are tried, one after the other, until
//! one satisfies the model: each is a history as any other, and its answer has been checked. There are few ways,
//! because whoever reads the file does not accept more.

use std::time::Instant;

use weakspot_core::{
    History, HistoryModel, HistoryWay, INITIAL, Limit, Limits, Progress, Verdict, initial_write,
};

use crate::answer::Method;
use crate::classify::{Classified, Defect, classify};

/// The answer for a model, about the history with one choice of writes: one that satisfies it, else one that does not,
/// as no other does.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The history with this choice.
    pub ops: History,
    /// The answer.
    pub found: Classified,
    /// Why it is right: this choice if it satisfies the model, all of them if none does.
    pub ways: Vec<HistoryWay>,
}

/// Whether the history satisfies a model with some choice of what the reads in `open` read: each has a list of writes.
///
/// # Errors
/// When evidence did not pass its check.
pub fn classify_open(
    ops: &History,
    open: &[(u32, Vec<u32>)],
    model: HistoryModel,
    method: Method,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Chosen, Defect> {
    let start = Instant::now();
    let limits = limits.begin();
    let mut best: Option<Chosen> = None;
    let mut ways = Vec::new();
    let mut choice = vec![0; open.len()];
    loop {
        let mut chosen = ops.clone();
        for ((read, writes), &at) in open.iter().zip(&choice) {
            chosen.set_from(*read, writes[at]);
        }
        // One model has one answer.
        let found = classify(&chosen, &[model], method, &limits, progress)?.swap_remove(0);
        let verdict = found.answer.verdict.clone();
        if verdict == Verdict::Holds {
            ways.clear();
        }
        if let Some(evidence) = found.answer.evidence.as_deref() {
            let evidence = evidence.clone();
            ways.push(HistoryWay { reads: reads(ops, open, &choice), evidence });
        }
        let is_better = match (&verdict, best.as_ref().map(|best| &best.found.answer.verdict)) {
            (Verdict::Holds, _) | (_, None) => true,
            // That one is not known counts for more than that others do not satisfy it.
            (Verdict::Unknown(_), Some(Verdict::Violated)) => true,
            _ => false,
        };
        let mut so_far = match best.take().filter(|_| !is_better) {
            Some(best) => best,
            None => Chosen { ops: chosen, found, ways: Vec::new() },
        };
        let is_over = match verdict {
            Verdict::Holds => true,
            Verdict::Unknown(limit) => {
                matches!(limit, Limit::Time(_) | Limit::Interrupted) || limits.check(0).is_err()
            }
            Verdict::Violated => false,
        };
        if is_over || !next(&mut choice, open) {
            so_far.found.time = start.elapsed();
            so_far.ways = ways;
            return Ok(so_far);
        }
        best = Some(so_far);
    }
}

/// What the reads that are open read with a choice.
fn reads(ops: &History, open: &[(u32, Vec<u32>)], choice: &[usize]) -> Vec<(u32, u32)> {
    let each = open.iter().zip(choice).map(|((read, writes), &at)| (*read, writes[at]));
    each.map(|(read, from)| match from {
        INITIAL => (read, initial_write(ops.var(read))),
        from => (read, from),
    })
    .collect()
}

/// The next choice, as a number whose digits count to different ends; whether there is one.
fn next(choice: &mut [usize], open: &[(u32, Vec<u32>)]) -> bool {
    for (digit, (_, writes)) in choice.iter_mut().zip(open) {
        *digit += 1;
        if *digit < writes.len() {
            return true;
        }
        *digit = 0;
    }
    false
}
