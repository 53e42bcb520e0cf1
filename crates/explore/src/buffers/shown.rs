//! Final states that are shown one by one: a run to each that is reached, a reason for each that is not.

use std::collections::BTreeSet;

use weakspot_core::machine::Schedule;
use weakspot_core::why_not::{NoReason, WhyNot, why_not};
use weakspot_core::{Limits, Model, Program, Progress, Value, Verdict};

use crate::buffers::outcomes::{Outcomes, Strategy, outcomes};

/// Of more states, or after longer searches, none is shown.
const MOST_STATES: usize = 16;
const MOST_SEARCHED: u64 = 20_000;
/// Candidate executions that are looked at for a reason, and the work on them, in units of about a microsecond.
const MOST_CANDIDATES: usize = 100_000;
const MOST_WORK: u64 = 200_000;

/// A final state that may come to mind.
#[derive(Clone, Debug)]
pub struct FinalState {
    /// The observed values.
    pub state: Vec<Value>,
    /// A run that ends so, or why there is none.
    pub how: Result<Schedule, Result<WhyNot, NoReason>>,
}

/// Those that one of these models reaches, and all that combine values of these, as far as they are few: how `model`
/// reaches them, for which a search has `found` its own.
pub fn final_states(
    program: &Program,
    (model, models): (Model, &[Model]),
    found: &mut Outcomes<'_>,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Vec<FinalState> {
    if found.stopped.is_some() || found.states > MOST_SEARCHED {
        return Vec::new();
    }
    let mut states = BTreeSet::new();
    for &model in models {
        match outcomes(program, model, Strategy::Auto, limits, progress) {
            Ok(asked) if asked.states <= MOST_SEARCHED => add(&asked, &mut states),
            _ => return Vec::new(),
        }
    }
    if states.len() > MOST_STATES {
        return Vec::new();
    }
    let combined = combined(&states);
    if combined.len() <= MOST_STATES {
        states = combined;
    }
    let mut sc = match model {
        Model::Sc => None,
        _ => outcomes(program, Model::Sc, Strategy::Auto, limits, progress).ok(),
    };
    let mut reached = BTreeSet::new();
    found.set.for_each(|row| reached.insert(row.to_vec()));
    let how = |state: Vec<Value>| {
        let how = if reached.contains(&state) {
            Ok(found.plain_run_to(program, model, sc.as_mut(), &state)?)
        } else {
            let wanted: Vec<_> = state.iter().copied().enumerate().collect();
            Err(reason(program, model, &wanted, MOST_WORK))
        };
        Some(FinalState { state, how })
    };
    states.into_iter().filter_map(how).collect()
}

/// Why no run ends with these of the observed values, if so much work shows it.
///
/// # Errors
///
/// No reason was found.
pub fn reason(
    program: &Program,
    model: Model,
    wanted: &[(usize, Value)],
    most_work: u64,
) -> Result<WhyNot, NoReason> {
    let mut work = 0;
    let mut go_on = |more| {
        work += more;
        work <= most_work
    };
    why_not(program, model, wanted, MOST_CANDIDATES, &mut go_on)
}

impl Outcomes<'_> {
    /// A run that ends so: to a state that SC reaches, too, the best is one without delays.
    pub fn plain_run_to(
        &mut self,
        program: &Program,
        model: Model,
        sc: Option<&mut Outcomes<'_>>,
        outcome: &[Value],
    ) -> Option<Schedule> {
        let at_once = sc.and_then(|sc| sc.run_to(outcome));
        let at_once = at_once.and_then(|run| run.committing_at_once(program, model));
        at_once.or_else(|| self.run_to(outcome))
    }

    /// The first final state that is wanted.
    pub fn first(&self, wanted: impl Fn(&[Value]) -> bool) -> Option<Vec<Value>> {
        let mut first = None;
        self.set.for_each(|row| {
            if wanted(row) {
                first = Some(row.to_vec());
            }
            first.is_none()
        });
        first
    }

    /// The state that decides the condition, else the first.
    #[must_use]
    pub fn decisive(&self, program: &Program, verdict: &Verdict) -> Option<Vec<Value>> {
        let condition = program.condition.as_ref()?;
        let wanted = weakspot_core::certify::decisive(condition.quantifier, verdict);
        self.first(|row| wanted.is_none_or(|wanted| wanted == condition.prop.holds(row)))
    }
}

/// Adds states, but for those that are too many.
fn add(outcomes: &Outcomes<'_>, states: &mut BTreeSet<Vec<Value>>) {
    outcomes.set.for_each(|row| {
        states.insert(row.to_vec());
        states.len() <= MOST_STATES
    });
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
            .take(MOST_STATES + 1)
            .collect();
    }
    all
}
