//! A run that does what a history says.

use std::fmt::Write;

use weakspot_core::{HistoryStep, OpKind, Ops};

use super::ShowOps;
use crate::text::table::{Paint, Row, draw};

/// Runs with more steps are not drawn.
const MAX_STEPS: usize = 40;
/// The initial values of so many variables are drawn.
const MAX_VARS: usize = 12;

/// How many steps a run has if a write that reaches memory at once is one.
pub(super) fn length(ops: &Ops, steps: &[HistoryStep]) -> usize {
    let at_once = |pair: &&[HistoryStep]| match **pair {
        [HistoryStep::Issue(op), HistoryStep::Commit(other)] => {
            op == other && (op as usize) < ops.len() && ops.kind(op) == OpKind::Write
        }
        _ => false,
    };
    steps.len() - steps.windows(2).filter(at_once).count()
}

/// The run with a column per thread, if it is short.
pub(super) fn drawing(show: &ShowOps<'_>, steps: &[HistoryStep], color: bool) -> String {
    if steps.is_empty() || steps.len() > MAX_STEPS {
        return String::new();
    }
    let known = |step: &HistoryStep| {
        let (HistoryStep::Issue(op) | HistoryStep::Commit(op)) = *step;
        (op as usize) < show.ops.len()
    };
    if !steps.iter().all(known) {
        return String::new();
    }
    let buffers = steps.iter().any(|step| matches!(step, HistoryStep::Commit(_)));
    let threads: Vec<usize> =
        (0..show.ops.threads()).filter(|&t| !show.ops.of_thread(t).is_empty()).collect();
    let column = |op: u32| {
        let thread = show.ops.thread_of(op);
        threads.iter().position(|&t| t == thread).unwrap_or(0)
    };
    let row = |op: u32, head: String, body: &str, memory: bool| {
        let written = show.cell(show.ops.var(op), show.written(op));
        Row {
            column: column(op),
            head,
            body: if body.is_empty() { Vec::new() } else { vec![body.to_owned()] },
            memory: if memory { written } else { String::new() },
            marked: !body.is_empty(),
        }
    };
    let mut rows = Vec::new();
    let mut at = 0;
    while let Some(&step) = steps.get(at) {
        at += 1;
        rows.push(match step {
            HistoryStep::Issue(op) if show.ops.kind(op) == OpKind::Write && buffers => {
                let at_once = steps.get(at) == Some(&HistoryStep::Commit(op));
                at += usize::from(at_once);
                let body = if at_once { "" } else { "waits in the buffer" };
                row(op, show.op(op), body, at_once)
            }
            HistoryStep::Issue(op) => row(op, show.op(op), "", show.ops.writes(op)),
            HistoryStep::Commit(op) => row(op, show.op(op), "reaches memory", true),
        });
    }
    let names: Vec<String> = threads.iter().map(|&t| show.thread(t).into_owned()).collect();
    let initial: Vec<String> =
        (0..show.ops.vars() as u32).map(|var| show.cell(var, show.initial(var))).collect();
    let initial = if initial.len() > MAX_VARS { &[] } else { initial.as_slice() };
    let mut out = String::from("\n");
    for line in draw(&names, initial, &rows, Paint(color)).lines() {
        let _ = writeln!(out, "  {line}");
    }
    out
}
