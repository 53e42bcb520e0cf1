//! Answers about forbidden states, as text and as JSON.

use std::fmt::Write;
use std::time::Duration;

use weakspot_core::machine::{Failure, Schedule};
use weakspot_core::{Model, Names, Program, Verdict};

use crate::json::{Object, model_key, verdict_key};
use crate::limit::{limit_json, limit_text};
use crate::show::plain;
use crate::witness::steps_json;

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
    /// Holds if no forbidden state is reachable and no assertion fails.
    pub verdict: &'a Verdict,
    /// The assertion that fails, if that is the violation.
    pub assertion: Option<&'a Failure>,
    /// The run into the violation.
    pub run: Option<&'a Schedule>,
    /// How many states the search visited.
    pub searched: u64,
    /// How long it took.
    pub time: Duration,
}

/// One line that says what was found.
#[must_use]
pub fn reach_text(a: &ReachAnswer<'_>) -> String {
    let mut out = String::new();
    let _ = write!(out, "{} {} ", plain(&a.names.program), a.model);
    let _ = match (a.verdict, a.assertion) {
        (Verdict::Holds, _) => {
            write!(out, "holds: {}, after all of {} states", safe(a), a.searched)
        }
        (Verdict::Violated, Some(failure)) => {
            let (line, _) = failure.span.line_column(a.source);
            write!(out, "violated: the assertion in line {line} can fail")
        }
        (Verdict::Violated, None) => {
            write!(out, "violated: the forbidden control points are reached together")
        }
        (Verdict::Unknown(limit), _) => write!(
            out,
            "unknown: {}; nothing forbidden in {} states so far",
            limit_text(limit, a.names),
            a.searched
        ),
    };
    out.push('\n');
    out
}

/// What holds, in terms of what the program asks.
fn safe(a: &ReachAnswer<'_>) -> &'static str {
    match a.program.forbidden.is_empty() {
        true => "no assertion fails",
        false => "the forbidden control points are never reached together, no assertion fails",
    }
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
    match a.verdict {
        Verdict::Holds => o.raw("reachable", false),
        Verdict::Violated => o.raw("reachable", true),
        Verdict::Unknown(_) => o.raw("reachable", "null"),
    };
    if let Some(run) = a.run {
        o.raw("schedule", steps_json(run));
    }
    o.raw("explored", a.searched).string("algorithm", "eager");
    o.end()
}
