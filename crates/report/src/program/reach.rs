//! Answers to everything that a program asks, as text and as JSON.

use std::fmt::Write;
use std::time::Duration;

use weakspot_core::machine::Schedule;
use weakspot_core::{Instr, Model, Names, Program, Quantifier, Verdict, Violation};

use crate::json::{Object, model_key, verdict_key};
use crate::text::limit::{limit_json, limit_text};
use crate::text::show::plain;
use crate::witness::program::steps_json;

/// The answer for one program under one model.
#[derive(Clone, Copy, Debug)]
pub struct ReachAnswer<'a> {
    /// The file as the user named it.
    pub file: &'a str,
    /// The program.
    pub program: &'a Program,
    /// What its parts are called.
    pub names: &'a Names,
    /// Its text.
    pub source: &'a str,
    /// The model asked about.
    pub model: Model,
    /// Holds if everything holds that the program asks.
    pub verdict: &'a Verdict,
    /// What is violated.
    pub violation: Option<&'a Violation>,
    /// The run into the violation.
    pub run: Option<&'a Schedule>,
    /// How many states the search visited.
    pub searched: u64,
    /// The algorithm that decided.
    pub algorithm: &'a str,
    /// How long it took.
    pub time: Duration,
}

/// One line that says what was found.
#[must_use]
pub fn reach_text(a: &ReachAnswer<'_>) -> String {
    let mut out = String::new();
    let _ = write!(out, "{} {} ", plain(&a.names.program), a.model);
    let _ = match (a.verdict, a.violation) {
        // The complete procedure looks at each thread alone first; that may be enough.
        (Verdict::Holds, _) if a.searched == 0 && a.algorithm == "dual" => {
            write!(out, "holds: {} (no thread can get there by itself)", what_holds(a))
        }
        (Verdict::Holds, _) => {
            write!(out, "holds: {} ({} nodes searched)", what_holds(a), a.searched)
        }
        (Verdict::Violated, Some(Violation::Assertion(failure))) => {
            let (line, _) = failure.span.line_column(a.source);
            write!(out, "violated: the assertion in line {line} can fail")
        }
        (Verdict::Violated, Some(Violation::FinalStates)) => {
            let words = match a.program.condition.as_ref().map(|c| c.quantifier) {
                Some(Quantifier::Exists) => "no final state satisfies",
                Some(Quantifier::Forall) => "not every final state satisfies",
                Some(Quantifier::NotExists) | None => "some final state satisfies",
            };
            write!(out, "violated: {words} {}", plain(&a.names.condition))
        }
        (Verdict::Violated, Some(Violation::ControlPoints) | None) => {
            write!(out, "violated: the forbidden control points are reached together")
        }
        (Verdict::Unknown(limit), _) => write!(
            out,
            "unknown: {}; nothing forbidden found in {} nodes",
            limit_text(limit, a.names),
            a.searched
        ),
    };
    out.push('\n');
    out
}

/// What holds, in terms of what the program asks.
fn what_holds(a: &ReachAnswer<'_>) -> String {
    let edges = a.program.threads.iter().flat_map(|t| &t.points).flat_map(|p| &p.edges);
    let asserts = edges.filter(|e| matches!(e.instr, Instr::Assert(_))).count() > 0;
    let forbids = !a.program.forbidden.is_empty();
    let parts = [
        (forbids, "the forbidden control points are never reached together"),
        (asserts, "no assertion fails"),
        (a.program.condition.is_some(), "the final states are as asked"),
    ];
    let parts: Vec<&str> = parts.iter().filter(|(asked, _)| *asked).map(|(_, p)| *p).collect();
    parts.join(", ")
}

/// The answer as one line of JSON, without a line end.
#[must_use]
pub fn reach_json(a: &ReachAnswer<'_>) -> String {
    let mut o = Object::new();
    o.string("file", a.file).string("question", "reach").string("model", model_key(a.model));
    o.string("verdict", verdict_key(a.verdict)).raw("time_s", a.time.as_micros() as f64 / 1e6);
    if let Verdict::Unknown(limit) = a.verdict {
        o.raw("limit", limit_json(limit, Some(a.names)));
    }
    o.string("name", &a.names.program);
    match a.verdict {
        Verdict::Holds => o.raw("reachable", false),
        Verdict::Violated => o.raw("reachable", true),
        Verdict::Unknown(_) => o.raw("reachable", "null"),
    };
    match a.violation {
        None => {}
        Some(Violation::ControlPoints) => {
            o.string("violation", "control points");
        }
        Some(Violation::FinalStates) => {
            o.string("violation", "final states");
        }
        Some(Violation::Assertion(failure)) => {
            o.string("violation", "assertion");
            o.string("thread", a.names.thread(failure.thread));
            o.raw("line", failure.span.line_column(a.source).0);
        }
    }
    if let Some(run) = a.run {
        o.raw("init", format!("{:?}", run.init)).raw("schedule", steps_json(run));
    }
    o.raw("explored", a.searched).string("algorithm", a.algorithm);
    o.end()
}
