//! Executions that failed, with what there is to say about them.

use weakspot_core::Model;
use weakspot_live::wire::{Place, Related, SLEPT, TracedStep};
use weakspot_live::{Op, OpKind, late};

use crate::answer::{ShownFailure, ShownStep};
use crate::explore::Explored;
use crate::findings::Failure;
use crate::lines::Lines;
use crate::log::thread_name;
use crate::replay::Replays;
use crate::symbols::Symbols;
use crate::{Campaign, MOST_SHOWN, Result};

/// How many late stores of a failure are reported.
const MOST_LATE: usize = 10;
/// So many failures are shown with what led to them, and so many steps of that.
const MOST_RUNS: usize = 10;
const MOST_STEPS: usize = 1000;

/// What went wrong, with what there is to say about it.
pub(crate) fn show_failures(
    campaign: &Campaign<'_>,
    explored: &Explored,
    replays: &Replays<'_>,
) -> Result<Vec<ShownFailure>> {
    let Campaign { question, .. } = *campaign;
    let (failures, symbols) = (&explored.findings.failures, &explored.symbols);
    let mut shown = Vec::new();
    let mut sources = Lines::default();
    for (i, failure) in failures.iter().enumerate() {
        let looked_at = question.details && i < MOST_SHOWN && replays.has_time();
        let steps = match looked_at && (question.under != Model::Sc || i < MOST_RUNS) {
            true => replays.steps(&failure.seen.schedule, failure.seen.known)?.unwrap_or_default(),
            false => Vec::new(),
        };
        let late =
            if question.under == Model::Sc { Vec::new() } else { late_stores(&steps, symbols) };
        let functions = functions(&steps, symbols);
        let steps = if i < MOST_RUNS { sources.shown(&steps, symbols) } else { Vec::new() };
        shown.push(ShownFailure {
            failure: failure.clone(),
            thread: failure.thread.map(thread_name),
            frames: failure.place.map_or(Vec::new(), |place| symbols.lines(place)),
            related: related(failure, symbols),
            late,
            functions,
            steps,
        });
    }
    Ok(shown)
}

/// Other places that have to do with a failure: what, who, and the source. Threads that slept are
/// named where the user's own code does so.
fn related(failure: &Failure, symbols: &Symbols) -> Vec<(String, Option<String>, Vec<String>)> {
    let (slept, others): (Vec<&Related>, Vec<&Related>) =
        failure.related.iter().partition(|r| r.what == SLEPT);
    let mut others_at: Vec<_> = others
        .iter()
        .map(|r| (r.what.clone(), r.thread.map(thread_name), symbols.lines(r.place)))
        .collect();
    for calls in slept.chunk_by(|a, b| a.thread == b.thread) {
        let own = |r: &&&Related| {
            symbols.frames(r.place).iter().any(|frame| frame.file.is_some() && !frame.library)
        };
        if let Some(r) = calls.iter().find(own) {
            let what = "sleeping orders nothing here: slept".to_owned();
            others_at.push((what, r.thread.map(thread_name), vec![symbols.text(r.place)]));
        }
    }
    others_at
}

/// The late stores of an execution that failed, in words.
fn late_stores(steps: &[TracedStep], symbols: &Symbols) -> Vec<String> {
    let shown = |step: &TracedStep| {
        let word = if step.kind == OpKind::Read { "rd" } else { "wr" };
        let at = step.place.map_or(String::new(), |p| format!("  at {}", symbols.text(p)));
        format!("{word} {}{at}", location(step, symbols))
    };
    let mut reported: Vec<String> = Vec::new();
    for (store, by) in late(steps) {
        let (thread, store) = (thread_name(steps[store].thread), shown(&steps[store]));
        let text = format!("{thread}  {store} reaches memory after {}", shown(&steps[by]));
        if reported.len() < MOST_LATE && !reported.contains(&text) {
            reported.push(text);
        }
    }
    reported
}

/// The functions that threads execute.
fn functions(steps: &[TracedStep], symbols: &Symbols) -> Vec<Option<String>> {
    let mut functions = Vec::new();
    for step in steps.iter().filter(|step| step.kind == OpKind::Spawn) {
        let thread = step.addr as usize;
        if functions.len() <= thread {
            functions.resize(thread + 1, None);
        }
        functions[thread] = step.value.and_then(|address| symbols.function(address));
    }
    functions
}

/// What the bytes of a step are called.
fn location(step: &TracedStep, symbols: &Symbols) -> String {
    let name = symbols.data(step.addr, u64::from(step.len));
    name.unwrap_or_else(|| format!("{:#x}", step.addr))
}

impl Lines {
    /// The last steps that memory notices, with their source.
    fn shown(&mut self, steps: &[TracedStep], symbols: &Symbols) -> Vec<ShownStep> {
        let op = |step: &TracedStep| Op { kind: step.kind, len: step.len, addr: step.addr };
        let matters = |step: &&TracedStep| {
            op(step).touches() || matches!(step.kind, OpKind::Fence | OpKind::StoreFence)
        };
        let steps: Vec<&TracedStep> = steps.iter().filter(matters).collect();
        let first = steps.len().saturating_sub(MOST_STEPS);
        let shown = steps[first..].iter().map(|&step| ShownStep {
            step: *step,
            location: op(step).touches().then(|| location(step, symbols)),
            site: step.place.map(|place| symbols.text(place)),
            text: step.place.and_then(|place| self.of(place, symbols)),
        });
        shown.collect()
    }

    /// What stands in the source at a place of the user's own code.
    fn of(&mut self, place: Place, symbols: &Symbols) -> Option<String> {
        let frame = symbols.frames(place).into_iter().find(|frame| !frame.library)?;
        let text = self.line(frame.path?, frame.line?)?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }
}
