//! Answers to whether a program is free of triangular races, as text and as JSON.

use std::fmt::Write;

use weakspot_core::{TriangularRace, Verdict};

use crate::json::{Object, model_key, verdict_key};
use crate::program::robust::{RobustAnswer, cell, place};
use crate::run::drawing::draw;
use crate::run::replay::{Run, Taken};
use crate::text::limit::{limit_json, limit_text};
use crate::text::show::{Show, counted, plain};
use crate::witness::program::steps_json;

/// A line that says what was found and, with `details`, the run into the race.
#[must_use]
pub fn race_text(
    a: &RobustAnswer<'_>,
    race: Option<TriangularRace>,
    details: bool,
    color: bool,
) -> String {
    let mut out = String::new();
    let _ = write!(out, "{} {} ", plain(&a.names.program), a.model);
    let show = Show { program: a.program, names: a.names, source: a.source };
    let searched = counted(a.states, "state");
    let _ = match (a.verdict, accesses(a, race)) {
        (Verdict::Holds, _) => {
            writeln!(out, "triangular-race free, and therefore robust ({searched} searched)")
        }
        (Verdict::Violated, Some([store, load, write])) => writeln!(
            out,
            "has a triangular race: {}'s store to {}{} can be pending while it loads {}{}, which {} \
             then writes{}",
            show.thread(store.thread),
            cell(show, &store),
            show.at_line(store.edge.span),
            cell(show, &load),
            show.at_line(load.edge.span),
            show.thread(write.thread),
            show.at_line(write.edge.span),
        ),
        (Verdict::Violated, None) => writeln!(out, "has a triangular race"),
        (Verdict::Unknown(limit), _) => writeln!(
            out,
            "unknown: {}; no triangular race found ({searched} searched)",
            limit_text(limit, a.names),
        ),
    };
    if let (Some(schedule), true) = (a.run, details) {
        out.push('\n');
        out.push_str(&draw(show, a.model, schedule, color, true));
        out.push_str(
            "\nA program with such a race may still be robust; `weakspot robust` without --trf tells.\n\n",
        );
    }
    out
}

/// The answer as one line of JSON, without a line end.
#[must_use]
pub fn race_json(a: &RobustAnswer<'_>, race: Option<TriangularRace>) -> String {
    let mut o = Object::new();
    o.string("file", a.file).string("question", "robust").string("model", model_key(a.model));
    o.string("verdict", verdict_key(a.verdict)).raw("time_s", a.time.as_micros() as f64 / 1e6);
    if let Verdict::Unknown(limit) = a.verdict {
        o.raw("limit", limit_json(limit, Some(a.names)));
    }
    o.string("name", &a.names.program).string("property", "trf");
    if let Some([store, load, write]) = accesses(a, race) {
        o.raw("store", place(a, &store).end());
        o.raw("load", place(a, &load).end());
        o.raw("write", place(a, &write).end());
    }
    if let Some(schedule) = a.run {
        o.raw("init", format!("{:?}", schedule.init)).raw("schedule", steps_json(schedule));
    }
    o.raw("states", a.states).raw("queries", a.queries).string("algorithm", a.algorithm);
    o.end()
}

/// The three accesses of the race.
fn accesses<'a>(a: &RobustAnswer<'a>, race: Option<TriangularRace>) -> Option<[Taken<'a>; 3]> {
    let run = Run::replay(a.program, a.model, a.run?)?;
    let TriangularRace { store, load, write } = race?;
    let mut steps: Vec<Option<Taken<'a>>> = run.steps.into_iter().map(Some).collect();
    let mut at = |step: usize| steps.get_mut(step)?.take();
    // A write that is a commit has the instruction of its store.
    Some([at(store)?, at(load)?, at(write)?])
}
