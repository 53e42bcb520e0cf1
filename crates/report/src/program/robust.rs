//! Answers to whether a program is robust, as text and as JSON.

use std::fmt::Write;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use serde::Serialize;
use weakspot_core::certify::{self, Shows};
use weakspot_core::machine::Schedule;
use weakspot_core::{Course, Model, Names, Program, Value, Verdict};
use weakspot_witness::StepJson;

use crate::answer::{Answer, Head};
use crate::course::{CourseJson, search_json};
use crate::json::{model_key, of_program};
use crate::run::drawing::{explain, title};
use crate::run::object::{Run, RunArc, RunStep, StepKind};
use crate::run::of_schedule::of_schedule;
use crate::text::diagnostic::excerpt_of_two;
use crate::text::limit::limit_text;
use crate::text::show::{Show, counted, plain};
use crate::text::table::{Paint, Style, paragraph, width};

/// The answer for one program under one model.
#[derive(Clone, Copy, Debug)]
pub struct RobustAnswer<'a> {
    /// What it has in common with all answers.
    pub head: Head<'a>,
    /// The program.
    pub program: &'a Program,
    /// What its parts are called.
    pub names: &'a Names,
    /// Its text.
    pub source: &'a str,
    /// A run that SC does not have.
    pub run: Option<&'a Schedule>,
    /// How many states the searches visited.
    pub states: u64,
    /// How many searches there were.
    pub queries: u64,
    /// The word for the algorithm.
    pub algorithm: &'a str,
    /// How the search went, if somebody looks at that.
    pub course: Option<&'a Course>,
}

impl RobustAnswer<'_> {
    /// The run, taken apart.
    pub(crate) fn run(&self) -> Option<Run> {
        let RobustAnswer { head, program, names, source, .. } = *self;
        let show = Show { file: head.file, program, names, source };
        of_schedule(show, self.head.model, self.run?, true)
    }
}

impl Answer for RobustAnswer<'_> {
    fn text(&self, style: Style) -> String {
        robust_text(self, style)
    }

    fn json(&self) -> String {
        robust_json(self)
    }

    fn too_large(&self) -> Option<String> {
        self.head.too_large()
    }

    fn is_provable(&self) -> bool {
        certify::can_show(self.program, self.head.model, Shows::Robust)
    }

    fn explained_by(&self) -> Option<(String, String)> {
        let run = self.run()?;
        let (store, access) = pair(&run)?;
        let place = |step: &RunStep| Some((step.thread, step.line?, step.column));
        Some((format!("{:?}", (place(store)?, place(access)?)), self.head.model.to_string()))
    }
}

/// A line that says what was found and, with `details`, for a violation the two lines of the
/// source that are reordered, the run, and the cycle that shows that SC does not have it.
fn robust_text(a: &RobustAnswer<'_>, style: Style) -> String {
    let mut out = String::new();
    let _ = write!(out, "{} {} ", plain(&a.names.program), a.head.model);
    let verdict_at = out.len();
    let run = a.run();
    let pair = run.as_ref().and_then(pair);
    let _ = match (a.head.verdict, pair) {
        (Verdict::Holds, _) => writeln!(
            out,
            "robust: every run under {} does what some run under SC does ({})",
            a.head.model,
            match a.states {
                0 => "no access can overtake a store".to_owned(),
                states => format!("{} searched", counted(states, "state")),
            }
        ),
        (Verdict::Violated, Some((store, access))) => {
            writeln!(out, "not robust: {}", reordering(run.as_ref(), store, access))
        }
        (Verdict::Violated, None) => writeln!(out, "not robust"),
        (Verdict::Unknown(limit), _) => writeln!(
            out,
            "unknown: {}; no run found that SC does not have ({} searched)",
            limit_text(limit, a.names),
            counted(a.states, "state")
        ),
    };
    out = Paint(style.color).headline(&out, verdict_at, a.head.verdict);
    if let (Some(run), true) = (&run, style.details) {
        if let Some((store, access)) = pair {
            out.push_str(&snippet(a, run, store, access, style));
        }
        out.push('\n');
        out.push_str(&explain(run, &title(a.names, a.head.model), style, true, &[]));
        out.push('\n');
        let option = match a.head.model {
            Model::Pso(_) => format!(" --model {}", model_key(a.head.model)),
            _ => String::new(),
        };
        let hint = format!(
            "A fence between the two would prevent this run; `weakspot fence{option}` finds the \
             cheapest fences that prevent all such runs."
        );
        out.push_str(&paragraph(&hint, style.columns(), 0));
        out.push('\n');
    }
    out
}

/// The store and the access that are reordered: where the cycle begins.
pub(super) fn pair(run: &Run) -> Option<(&RunStep, &RunStep)> {
    let first = run.cycle.first()?;
    Some((run.step(first.from)?, run.step(first.to)?))
}

/// What overtakes what, in words.
pub(super) fn reordering(run: Option<&Run>, store: &RunStep, access: &RunStep) -> String {
    let what = match access.kind {
        StepKind::Load => "load of",
        StepKind::Update => "atomic update of",
        _ => "store to",
    };
    format!(
        "{}'s store to {}{} can reach memory after its later {what} {}{}",
        run.map_or("", |run| run.thread(store.thread)),
        location(store),
        store.at_line(),
        location(access),
        access.at_line(),
    )
}

/// The location of an access.
pub(crate) fn location(step: &RunStep) -> &str {
    step.location.as_deref().unwrap_or("memory")
}

/// So many columns stand beside what is marked: numbers of lines, and what the line begins with.
const MARGIN: usize = 20;

/// The two places in the source, with what happens there.
fn snippet(
    a: &RobustAnswer<'_>,
    run: &Run,
    store: &RunStep,
    access: &RunStep,
    style: Style,
) -> String {
    let (Some(first), Some(second)) = (store.span, access.span) else { return String::new() };
    let (text, line, marked) = excerpt_of_two(a.source, [first, second]);
    let thread = run.thread(store.thread);
    let buffered = format!("this store is still in the buffer of {thread}");
    let done = match access.kind {
        StepKind::Load => "when this load has already read",
        StepKind::Update => "when this atomic update is already done",
        _ => "when this store has already reached memory",
    };
    let drawn = |most: usize, color: bool, apart: bool| {
        // What is too long for the line is marked where it begins.
        let mark = |span: &Range<usize>, label: &str| {
            let end = text.floor_char_boundary(span.end.min(span.start + most));
            AnnotationKind::Primary.span(span.start..end.max(span.start)).label(label.to_owned())
        };
        let marks = [mark(&marked[0], &buffered), mark(&marked[1], done)];
        let snippet = || Snippet::source(&text).path(plain(a.head.file)).line_start(line);
        let level = || Group::with_level(Level::ERROR);
        let group = match apart {
            true => marks
                .into_iter()
                .fold(level(), |group, mark| group.element(snippet().annotation(mark))),
            false => level().element(snippet().annotations(marks)),
        };
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        renderer.term_width(style.columns()).render(&[group]) + "\n"
    };
    // Two marks on one line are drawn apart where they do not fit beside each other.
    let most = style.columns().saturating_sub(MARGIN);
    let ways = [(most, false), (most / 2, false), (most, true), (most / 2, true), (most / 4, true)];
    let fits = |&(most, apart): &(usize, bool)| {
        // No mark makes the name of the file shorter.
        let names =
            |line: &&str| ["-->", ":::"].contains(&line.trim_start().get(..3).unwrap_or(""));
        let drawn = drawn(most, false, apart);
        drawn.lines().filter(|line| !names(line)).all(|line| width(line) <= style.columns())
    };
    let (most, apart) = ways.into_iter().find(fits).unwrap_or((1, true));
    drawn(most, style.color, apart)
}

/// The answer as one line of JSON. `store` and `load` are the reordered pair; `load` may be a store
/// or an update under PSO, as its `kind` tells. Each event of `cycle` comes before the next one, and
/// the last one before the first, for the reason that its `edge` names.
fn robust_json(a: &RobustAnswer<'_>) -> String {
    let run = a.run();
    let pair = run.as_ref().and_then(pair);
    let of = |step: &RunStep| PlaceJson::of(run.as_ref(), step);
    let cycle = run.as_ref().filter(|run| !run.cycle.is_empty()).map(|run| {
        let event = |arc: &RunArc| {
            let step = run.step(arc.from)?;
            Some(PlaceJson { kind: Some(kind(step)), edge: Some(arc.edge), ..of(step) })
        };
        run.cycle.iter().filter_map(event).collect()
    });
    let body = Body {
        store: pair.map(|(store, _)| of(store)),
        load: pair.map(|(_, access)| PlaceJson { kind: Some(kind(access)), ..of(access) }),
        cycle,
        init: a.run.map(|schedule| &schedule.init[..]),
        schedule: a.run.map(StepJson::all),
        states: a.states,
        queries: a.queries,
        algorithm: a.algorithm,
        run: run.as_ref(),
        exploration: a.course.and_then(|course| search_json(course, a.head.time, a.states)),
    };
    of_program(&a.head, a.names, body)
}

#[derive(Serialize)]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<PlaceJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    load: Option<PlaceJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cycle: Option<Vec<PlaceJson>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    init: Option<&'a [Value]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schedule: Option<Vec<StepJson>>,
    states: u64,
    queries: u64,
    algorithm: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a Run>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exploration: Option<CourseJson<'a>>,
}

/// An instruction in the source.
#[derive(Serialize)]
pub(crate) struct PlaceJson {
    pub(crate) thread: String,
    pub(crate) line: Option<u64>,
    pub(crate) column: Option<u64>,
    pub(crate) text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) edge: Option<&'static str>,
}

impl PlaceJson {
    pub(crate) fn of(run: Option<&Run>, step: &RunStep) -> PlaceJson {
        PlaceJson {
            thread: run.map_or("", |run| run.thread(step.thread)).to_owned(),
            line: step.line,
            column: step.column,
            text: step.text.clone().unwrap_or_default(),
            kind: None,
            edge: None,
        }
    }
}

fn kind(step: &RunStep) -> &'static str {
    match step.kind {
        StepKind::Load => "load",
        StepKind::Store | StepKind::Commit => "store",
        StepKind::Update => "update",
        StepKind::Fence | StepKind::StoreFence => "fence",
        StepKind::Lock => "lock",
        StepKind::Unlock => "unlock",
        _ => "local",
    }
}
