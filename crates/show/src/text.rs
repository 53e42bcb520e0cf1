//! All steps as text, for a file or another program.

use std::fmt::Write as _;

use crate::model::{State, Steps};

/// The run, step by step.
#[must_use]
pub fn as_text(run: &Steps) -> String {
    let mut out = format!("{}, {} steps\n\nstart\n", run.title, run.steps.len());
    push_state(&mut out, run, run.states.first());
    for (i, step) in run.steps.iter().enumerate() {
        let thread = run.thread(step);
        let _ = write!(out, "\nstep {} of {}  {thread}", i + 1, run.steps.len());
        if !step.text.is_empty() {
            let _ = write!(out, "  {}", step.text);
        }
        if let Some(line) = step.line {
            let _ = write!(out, "  ({}:{line})", step.file);
        }
        out.push('\n');
        if !step.did.is_empty() {
            let _ = writeln!(out, "  {}", step.did);
        }
        push_state(&mut out, run, run.states.get(i + 1));
    }
    if !run.end.is_empty() {
        let _ = write!(out, "\n{}\n", run.end);
    }
    out
}

fn push_state(out: &mut String, run: &Steps, state: Option<&State>) {
    let Some(state) = state else { return };
    let _ = writeln!(out, "  memory: {}", cells(&state.memory, " "));
    for (name, buffer) in run.threads.iter().zip(&state.buffers).filter(|(_, b)| !b.is_empty()) {
        let _ = writeln!(out, "  {name}: {}", queue(buffer));
    }
}

/// A buffer as a queue: what is next to memory reaches it first.
pub(crate) fn queue(buffer: &[(String, String)]) -> String {
    match buffer.is_empty() {
        true => "memory <- (empty)".to_owned(),
        false => format!("memory <- [{}]", cells(buffer, "] [")),
    }
}

fn cells(cells: &[(String, String)], between: &str) -> String {
    let cell = |(location, value): &(String, String)| match value.is_empty() {
        true => location.clone(),
        false => format!("{location}={value}"),
    };
    cells.iter().map(cell).collect::<Vec<_>>().join(between)
}
