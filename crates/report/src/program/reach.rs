//! Answers to everything that a program asks, as text and as JSON.

use std::fmt::Write;

use serde::Serialize;
use weakspot_core::certify::{self, Shows};
use weakspot_core::machine::Schedule;
use weakspot_core::{Course, Instr, Model, Names, Program, Quantifier, Value, Verdict, Violation};
use weakspot_witness::StepJson;

use crate::answer::{Answer, Head};
use crate::course::{CourseJson, search_json};
use crate::json::{model_key, of_program};
use crate::run::drawing::draw;
use crate::run::object::{Run, RunStep};
use crate::run::of_schedule::of_schedule;
use crate::text::limit::limit_text;
use crate::text::show::{Lines, Show, plain};
use crate::text::table::{Paint, Style};

/// The answer for one program under one model.
#[derive(Clone, Copy, Debug)]
pub struct ReachAnswer<'a> {
    /// What it has in common with all answers.
    pub head: Head<'a>,
    /// The program.
    pub program: &'a Program,
    /// What its parts are called.
    pub names: &'a Names,
    /// Its text.
    pub source: &'a str,
    /// What is violated.
    pub violation: Option<&'a Violation>,
    /// The run into the violation.
    pub run: Option<&'a Schedule>,
    /// How many states the search visited.
    pub searched: u64,
    /// The algorithm that decided.
    pub algorithm: &'a str,
    /// The weaker model under which the same holds, if it follows from that.
    pub as_under: Option<Model>,
    /// How the search went, if somebody looks at that.
    pub course: Option<&'a Course>,
}

impl Answer for ReachAnswer<'_> {
    fn text(&self, style: Style) -> String {
        let mut out = reach_text(self, Paint(style.color));
        if let (Some(run), true) = (self.run, style.details) {
            let ReachAnswer { head, program, names, source, .. } = *self;
            let show = Show { file: head.file, program, names, source };
            out += &draw(show, head.model, run, style, false);
            out.push('\n');
        }
        out
    }

    fn json(&self) -> String {
        reach_json(self)
    }

    fn too_large(&self) -> Option<String> {
        self.head.too_large()
    }

    fn is_provable(&self) -> bool {
        // A witness is about one model, and under this one nothing is known by itself.
        self.as_under.is_none()
            && certify::can_show(self.program, self.head.model, Shows::Everything)
    }

    fn explained_by(&self) -> Option<(String, String)> {
        let ReachAnswer { head, program, names, source, .. } = *self;
        let show = Show { file: head.file, program, names, source };
        let run = of_schedule(show, head.model, self.run?, false)?;
        let step = |s: &RunStep| (s.thread, s.kind, s.location.clone(), s.value.clone(), s.line);
        let steps: Vec<_> = run.steps.iter().map(step).collect();
        Some((format!("{steps:?} {:?}", run.end), head.model.to_string()))
    }
}

/// One line that says what was found.
fn reach_text(a: &ReachAnswer<'_>, paint: Paint) -> String {
    let mut out = String::new();
    let _ = write!(out, "{} {} ", plain(&a.names.program), a.head.model);
    let verdict_at = out.len();
    if let (Verdict::Holds, Some(weaker)) = (a.head.verdict, a.as_under) {
        let _ = writeln!(out, "holds: {} (as under {weaker}, which allows more)", what_holds(a));
        return paint.headline(&out, verdict_at, a.head.verdict);
    }
    let _ = match (a.head.verdict, a.violation) {
        // The complete procedure looks at each thread alone first; that may be enough.
        (Verdict::Holds, _) if a.searched == 0 && a.algorithm == "dual" => {
            write!(out, "holds: {} (no thread can get there by itself)", what_holds(a))
        }
        // What that means where numbers have 64 bits, docs/how/unbounded.md says.
        (Verdict::Holds, _) if a.algorithm == "counters" => {
            let what = what_holds(a);
            write!(out, "holds: {what} ({} nodes searched; counters have no bound)", a.searched)
        }
        (Verdict::Holds, _) => {
            write!(out, "holds: {} ({} nodes searched)", what_holds(a), a.searched)
        }
        (Verdict::Violated, Some(Violation::Assertion(failure))) => {
            let lines = Lines::new(a.source);
            let ((line, _), end) = (lines.line_column(failure.span), lines.last_line(failure.span));
            let at = match end > line {
                true => format!("lines {line}-{end}"),
                false => format!("line {line}"),
            };
            write!(out, "violated: the assertion in {at} can fail")
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
    paint.headline(&out, verdict_at, a.head.verdict)
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

/// The answer as one line of JSON.
fn reach_json(a: &ReachAnswer<'_>) -> String {
    let show = Show { file: a.head.file, program: a.program, names: a.names, source: a.source };
    let assertion = match a.violation {
        Some(Violation::Assertion(failure)) => Some(failure),
        _ => None,
    };
    let body = Body {
        reachable: match a.head.verdict {
            Verdict::Holds => Some(false),
            Verdict::Violated => Some(true),
            Verdict::Unknown(_) => None,
        },
        violation: a.violation.map(|violation| match violation {
            Violation::ControlPoints => "control points",
            Violation::FinalStates => "final states",
            Violation::Assertion(_) => "assertion",
        }),
        thread: assertion.map(|failure| a.names.thread(failure.thread)),
        line: assertion.map(|failure| failure.span.line_column(a.source).0),
        init: a.run.map(|run| &run.init[..]),
        schedule: a.run.map(StepJson::all),
        explored: a.searched,
        algorithm: a.algorithm,
        as_under: a.as_under.map(model_key),
        run: a.run.and_then(|run| of_schedule(show, a.head.model, run, true)),
        exploration: a.course.and_then(|course| search_json(course, a.head.time, a.searched)),
    };
    of_program(&a.head, a.names, body)
}

#[derive(Serialize)]
struct Body<'a> {
    reachable: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    violation: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    init: Option<&'a [Value]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schedule: Option<Vec<StepJson>>,
    explored: u64,
    algorithm: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    as_under: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<Run>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exploration: Option<CourseJson<'a>>,
}
