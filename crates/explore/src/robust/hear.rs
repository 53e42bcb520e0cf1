//! What is done with the violations that a search over SC runs comes to: the first one decides, or
//! all pairs of accesses are collected.

use weakspot_core::machine::Schedule;
use weakspot_core::{Evidence, Limit, Limits, PlaceEdge, Progress, Verdict};

use crate::answer::NoAnswer;
use crate::meter::Meter;
use crate::robust::delay::{Pair, Pairs};
use crate::robust::{Reordered, Robust};

/// Hears of a violation, by the store and the access, and may ask for its run under the model; says
/// whether the search is to go on, or `None` if there is no such run.
pub(crate) type Hear<'a> = dyn FnMut((PlaceEdge, PlaceEdge), &dyn Fn() -> Option<(Schedule, Reordered)>) -> Option<bool>
    + 'a;

/// Decides robustness by a search: stops at the first violation.
pub(crate) fn first_violation(
    limits: &Limits,
    progress: &mut dyn Progress,
    explore: impl FnOnce(&mut Meter<'_>, &mut Hear<'_>) -> Result<Option<Limit>, NoAnswer>,
) -> Result<Robust, NoAnswer> {
    let mut meter = Meter::new(*limits, progress);
    let mut violation = None;
    let limit = explore(&mut meter, &mut |_, found| {
        violation = Some(found()?);
        Some(false)
    })?;
    let (verdict, evidence, reordered) = match (violation, limit) {
        (Some((run, reordered)), _) => {
            (Verdict::Violated, Some(Evidence::Run(run)), Some(reordered))
        }
        (None, Some(limit)) => (Verdict::Unknown(limit), None, None),
        (None, None) => (Verdict::Holds, Some(Evidence::Exhausted { states: meter.states }), None),
    };
    Ok(Robust { verdict, evidence, reordered, states: meter.states, queries: 1 })
}

/// Collects every pair of a store and an access that overtakes it.
pub(crate) fn all_pairs(
    limits: &Limits,
    progress: &mut dyn Progress,
    explore: impl FnOnce(&mut Meter<'_>, &mut Hear<'_>) -> Result<Option<Limit>, NoAnswer>,
) -> Result<Pairs, NoAnswer> {
    let mut meter = Meter::new(*limits, progress);
    let mut pairs: Vec<Pair> = Vec::new();
    let limit = explore(&mut meter, &mut |(store, access), found| {
        if !pairs.iter().any(|p| (p.store, p.access) == (store, access)) {
            pairs.push(Pair { store, access, run: found()?.0 });
        }
        Some(true)
    })?;
    Ok(Pairs { pairs, limit, states: meter.states })
}
