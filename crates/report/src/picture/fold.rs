//! Which steps of a run are drawn: of a long one those that matter and their neighbours, and the
//! others folded to a word.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// A row of a picture.
#[derive(Clone, Debug)]
pub(super) enum Shown<'a> {
    Step(&'a Value),
    /// Per thread how many steps are left out.
    Fold(BTreeMap<u64, usize>),
}

/// Runs with fewer steps are drawn as they are.
const MAX_STEPS: usize = 30;
/// A run in which nothing stands out is drawn with so many steps at its begin, and at its end.
const ENDS: usize = 8;
/// Shorter stretches are not folded.
const MIN_FOLD: usize = 3;

impl Shown<'_> {
    pub(super) fn threads(&self) -> Vec<u64> {
        match self {
            Shown::Step(step) => vec![step["thread"].as_u64().unwrap_or(0)],
            Shown::Fold(counts) => counts.keys().copied().collect(),
        }
    }
}

/// The rows of a picture.
pub(super) fn folded(run: &Value, timed: bool) -> Vec<Shown<'_>> {
    let steps: Vec<&Value> = list(&run["steps"]).filter(|step| step["kind"] != "local").collect();
    let steps = without_commits_at_once(run, steps);
    if steps.len() <= MAX_STEPS || !timed {
        return steps.into_iter().map(Shown::Step).collect();
    }
    let kept = kept(run, &steps);
    let mut rows = Vec::new();
    let mut i = 0;
    while i < steps.len() {
        let end = (i..steps.len()).find(|at| kept.contains(at)).unwrap_or(steps.len());
        if end - i < MIN_FOLD {
            rows.extend(steps[i..end].iter().map(|&step| Shown::Step(step)));
        } else {
            let mut counts = BTreeMap::new();
            for step in &steps[i..end] {
                *counts.entry(step["thread"].as_u64().unwrap_or(0)).or_insert(0) += 1;
            }
            rows.push(Shown::Fold(counts));
        }
        rows.extend(steps.get(end).map(|&step| Shown::Step(step)));
        i = end + 1;
    }
    rows
}

/// Without the commits of stores that nothing comes between, unless an arrow is about them.
fn without_commits_at_once<'a>(run: &Value, steps: Vec<&'a Value>) -> Vec<&'a Value> {
    let mut out: Vec<&Value> = Vec::new();
    for step in steps {
        let n = &step["n"];
        let at_once = step["kind"] == "commit"
            && out.last().is_some_and(|last| last["n"] == step["of"])
            && !list(&run["cycle"]).any(|arc| arc["from"] == *n || arc["to"] == *n);
        if !at_once {
            out.push(step);
        }
    }
    out
}

/// The steps that matter, by their places, each with what comes before and after it.
fn kept(run: &Value, steps: &[&Value]) -> BTreeSet<usize> {
    let told: BTreeSet<u64> = list(&run["telling"]).filter_map(Value::as_u64).collect();
    if !told.is_empty() {
        let is_told = |step: &&Value| step["n"].as_u64().is_some_and(|n| told.contains(&n));
        return (0..steps.len()).filter(|&i| is_told(&steps[i])).collect();
    }
    let mut numbers: BTreeSet<u64> = BTreeSet::new();
    for arc in list(&run["cycle"]) {
        numbers.extend(["from", "to"].iter().filter_map(|end| arc[*end].as_u64()));
    }
    for late in list(&run["late"]) {
        numbers.extend(["store", "behind"].iter().filter_map(|end| late[*end].as_u64()));
    }
    let matters = |step: &Value| {
        let is = |key: &str| step[key].as_u64().is_some_and(|n| numbers.contains(&n));
        is("n") || is("of") || step["kind"] == "fail" || !step["note"].is_null()
    };
    let mut kept = BTreeSet::new();
    for (i, _) in steps.iter().enumerate().filter(|(_, step)| matters(step)) {
        kept.extend(i.saturating_sub(1)..(i + 2).min(steps.len()));
    }
    if kept.is_empty() {
        kept.extend(0..ENDS.min(steps.len()));
    }
    kept.extend(steps.len().saturating_sub(if kept.len() <= ENDS { ENDS } else { 1 })..steps.len());
    kept
}

pub(super) fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
