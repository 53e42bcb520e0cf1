//! For pages: all final states that may come to mind, with a run for each that is reached and a reason for
//! each that is not.

use std::collections::BTreeSet;

use weakspot_core::why_not::{NoReason, why_not};
use weakspot_core::{Model, Value};
use weakspot_explore::{Outcomes, Strategy, outcomes};
use weakspot_jobs::pool::{self, Listener};
use weakspot_lang::Parsed;
use weakspot_report::LitmusCell;

use super::{Litmus, MOST_CANDIDATES, run_to};

/// Of more states, or after longer searches, a page has no runs.
const MOST_CELLS: usize = 16;
const MOST_SEARCHED: u64 = 20_000;
/// A reason is looked for no longer than this, in units of about a microsecond.
const MOST_WORK: u64 = 200_000;

impl Litmus<'_> {
    /// The states of the weakest model that is asked about, and all that combine values of these.
    pub(super) fn cells(
        &mut self,
        parsed: &Parsed,
        model: Model,
        found: &mut Outcomes<'_>,
    ) -> Vec<LitmusCell> {
        if found.stopped.is_some() || found.states > MOST_SEARCHED {
            return Vec::new();
        }
        let limits = self.job.limits(&pool::limits(&self.args.common));
        let mut states = BTreeSet::new();
        for &model in &self.args.common.model {
            let asked =
                outcomes(&parsed.program, model, Strategy::Auto, &limits, &mut Listener::new());
            let Ok(asked) = asked else { return Vec::new() };
            if asked.states > MOST_SEARCHED {
                return Vec::new();
            }
            asked.set.for_each(|row| {
                states.insert(row.to_vec());
                states.len() <= MOST_CELLS
            });
        }
        if states.len() > MOST_CELLS {
            return Vec::new();
        }
        let combined = combined(&states);
        if combined.len() <= MOST_CELLS {
            states = combined;
        }
        let mut reached = BTreeSet::new();
        found.set.for_each(|row| {
            reached.insert(row.to_vec());
            true
        });
        let mut sc = self.sc(parsed, model);
        let mut cells = Vec::new();
        for state in states {
            let run = reached.contains(&state);
            let run = run.then(|| run_to(parsed, model, (found, sc.as_mut()), &state)).flatten();
            let how = match run {
                Some(run) => Ok(run),
                None if reached.contains(&state) => continue,
                None => {
                    let wanted: Vec<_> = state.iter().copied().enumerate().collect();
                    let mut work = 0;
                    let mut go_on = |more| {
                        work += more;
                        work <= MOST_WORK
                    };
                    Err(why_not(&parsed.program, model, &wanted, MOST_CANDIDATES, &mut go_on))
                }
            };
            if matches!(how, Err(Err(NoReason::Allowed))) {
                let message = format!(
                    "this is a defect: the axioms of {model} allow a final state that the search \
                     did not find"
                );
                self.job.complain(&message);
                continue;
            }
            cells.push(LitmusCell { state, how });
        }
        cells
    }
}

/// All states whose components have values that they have in some of these, as far as these are few.
fn combined(states: &BTreeSet<Vec<Value>>) -> BTreeSet<Vec<Value>> {
    let width = states.first().map_or(0, Vec::len);
    let mut all = BTreeSet::from([Vec::new()]);
    for i in 0..width {
        let values: BTreeSet<Value> = states.iter().map(|state| state[i]).collect();
        all = all
            .iter()
            .flat_map(|state| values.iter().map(|&value| [&state[..], &[value]].concat()))
            .take(MOST_CELLS + 1)
            .collect();
    }
    all
}
