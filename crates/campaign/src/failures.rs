//! Executions that failed, with what there is to say about them.

use weakspot_core::Model;
use weakspot_live::wire::TracedStep;
use weakspot_live::{OpKind, late};

use crate::answer::ShownFailure;
use crate::explore::Explored;
use crate::findings::Failure;
use crate::log::thread_name;
use crate::replay::Replays;
use crate::symbols::Symbols;
use crate::{Campaign, MOST_SHOWN, Result};

/// How many late stores of a failure are reported.
const MOST_LATE: usize = 10;

/// What went wrong, with what there is to say about it.
pub(crate) fn show_failures(
    campaign: &Campaign<'_>,
    explored: &Explored,
    replays: &Replays<'_>,
) -> Result<Vec<ShownFailure>> {
    let Campaign { question, .. } = *campaign;
    let (failures, symbols) = (&explored.findings.failures, &explored.symbols);
    let mut shown = Vec::new();
    for (i, failure) in failures.iter().enumerate() {
        let buffered = question.under != Model::Sc && question.details;
        let late = match buffered && i < MOST_SHOWN && replays.has_time() {
            true => late_stores(failure, replays, symbols)?,
            false => Vec::new(),
        };
        shown.push(ShownFailure {
            failure: failure.clone(),
            thread: failure.thread.map(thread_name),
            frames: failure.place.map_or(Vec::new(), |place| symbols.lines(place)),
            related: failure
                .related
                .iter()
                .map(|r| (r.what.clone(), r.thread.map(thread_name), symbols.lines(r.place)))
                .collect(),
            late,
        });
    }
    Ok(shown)
}

/// The late stores of an execution that failed, in words.
fn late_stores(failure: &Failure, replays: &Replays<'_>, symbols: &Symbols) -> Result<Vec<String>> {
    let steps = replays.steps(&failure.seen.schedule, failure.seen.known)?.unwrap_or_default();
    let shown = |step: &TracedStep| {
        let word = if step.kind == OpKind::Read { "rd" } else { "wr" };
        let name = symbols
            .data(step.addr, u64::from(step.len))
            .unwrap_or_else(|| format!("{:#x}", step.addr));
        let at = step.place.map_or(String::new(), |p| format!("  at {}", symbols.text(p)));
        format!("{word} {name}{at}")
    };
    let mut told: Vec<String> = Vec::new();
    for (store, by) in late(&steps) {
        let (thread, store) = (thread_name(steps[store].thread), shown(&steps[store]));
        let text = format!("{thread}  {store} reaches memory after {}", shown(&steps[by]));
        if told.len() < MOST_LATE && !told.contains(&text) {
            told.push(text);
        }
    }
    Ok(told)
}
