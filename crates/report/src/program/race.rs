//! Answers to whether a program is free of triangular races, as text and as JSON.

use std::fmt::Write;

use serde::Serialize;
use weakspot_core::{TriangularRace, Value, Verdict};
use weakspot_witness::StepJson;

use crate::answer::Answer;
use crate::json::of_program;
use crate::program::robust::{PlaceJson, RobustAnswer, location};
use crate::run::drawing::{explain, title};
use crate::run::object::{Run, RunStep};
use crate::text::limit::limit_text;
use crate::text::show::{counted, plain};
use crate::text::table::{Style, paragraph};

/// The answer for one program: what is asked about robustness, with another property.
#[derive(Clone, Copy, Debug)]
pub struct RaceAnswer<'a> {
    /// What it has in common with the answer about robustness.
    pub robust: RobustAnswer<'a>,
    /// The race, by the steps of the run.
    pub race: Option<TriangularRace>,
}

impl Answer for RaceAnswer<'_> {
    fn text(&self, style: Style) -> String {
        race_text(&self.robust, self.race, style)
    }

    fn json(&self) -> String {
        race_json(&self.robust, self.race)
    }

    fn too_large(&self) -> Option<String> {
        self.robust.head.too_large()
    }
}

/// A line that says what was found and, with `details`, the run into the race.
fn race_text(a: &RobustAnswer<'_>, race: Option<TriangularRace>, style: Style) -> String {
    let mut out = String::new();
    let _ = write!(out, "{} {} ", plain(&a.names.program), a.head.model);
    let run = a.run();
    let thread = |step: &RunStep| run.as_ref().map_or("", |run| run.thread(step.thread)).to_owned();
    let searched = counted(a.states, "state");
    let _ = match (a.head.verdict, accesses(run.as_ref(), race)) {
        (Verdict::Holds, _) => {
            writeln!(out, "triangular-race free, and therefore robust ({searched} searched)")
        }
        (Verdict::Violated, Some([store, load, write])) => writeln!(
            out,
            "has a triangular race: {}'s store to {}{} can be pending while it loads {}{}, which {} \
             then writes{}",
            thread(store),
            location(store),
            store.at_line(),
            location(load),
            load.at_line(),
            thread(write),
            write.at_line(),
        ),
        (Verdict::Violated, None) => writeln!(out, "has a triangular race"),
        (Verdict::Unknown(limit), _) => writeln!(
            out,
            "unknown: {}; no triangular race found ({searched} searched)",
            limit_text(limit, a.names),
        ),
    };
    if let (Some(run), true) = (&run, style.details) {
        out.push('\n');
        out.push_str(&explain(run, &title(a.names, a.head.model), style, true, &[]));
        out.push('\n');
        out.push_str(&paragraph(
            "A program with such a race may still be robust; `weakspot robust` without --trf says whether it is.",
            style.columns(),
            0,
        ));
        out.push('\n');
    }
    out
}

/// The answer as one line of JSON.
fn race_json(a: &RobustAnswer<'_>, race: Option<TriangularRace>) -> String {
    let run = a.run();
    let place = |step: &RunStep| PlaceJson::of(run.as_ref(), step);
    let accesses = accesses(run.as_ref(), race);
    let body = Body {
        property: "trf",
        store: accesses.map(|[store, ..]| place(store)),
        load: accesses.map(|[_, load, _]| place(load)),
        write: accesses.map(|[.., write]| place(write)),
        init: a.run.map(|schedule| &schedule.init[..]),
        schedule: a.run.map(StepJson::all),
        states: a.states,
        queries: a.queries,
        algorithm: a.algorithm,
        run: run.as_ref(),
    };
    of_program(&a.head, a.names, body)
}

#[derive(Serialize)]
struct Body<'a> {
    property: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<PlaceJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    load: Option<PlaceJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    write: Option<PlaceJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    init: Option<&'a [Value]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schedule: Option<Vec<StepJson>>,
    states: u64,
    queries: u64,
    algorithm: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a Run>,
}

/// The three accesses of the race.
fn accesses(run: Option<&Run>, race: Option<TriangularRace>) -> Option<[&RunStep; 3]> {
    let TriangularRace { store, load, write } = race?;
    let at = |step: usize| run?.steps.get(step);
    // A write that is a commit has the instruction of its store.
    let write = at(write)?;
    let write = write.of.and_then(|store| run?.step(store)).unwrap_or(write);
    Some([at(store)?, at(load)?, write])
}
