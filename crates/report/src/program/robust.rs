//! Answers to whether a program is robust, as text and as JSON.

use std::fmt::Write;
use std::time::Duration;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use weakspot_core::cycle::Arc;
use weakspot_core::machine::Schedule;
use weakspot_core::{Model, Names, Program, Verdict};

use crate::json::{Object, model_key, verdict_key};
use crate::run::drawing::draw;
use crate::run::replay::{Did, Run, Taken};
use crate::text::diagnostic::excerpt_of_two;
use crate::text::limit::{limit_json, limit_text};
use crate::text::show::{Show, clip, counted, plain};
use crate::witness::program::steps_json;

/// The answer for one program under one model.
#[derive(Clone, Copy, Debug)]
pub struct RobustAnswer<'a> {
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
    /// Holds if the program is robust.
    pub verdict: &'a Verdict,
    /// A run that SC does not have.
    pub run: Option<&'a Schedule>,
    /// How many states the searches visited.
    pub states: u64,
    /// How many searches there were.
    pub queries: u64,
    /// The word for the algorithm.
    pub algorithm: &'a str,
    /// How long it took.
    pub time: Duration,
}

/// A line that says what was found and, with `details`, for a violation the two lines of the
/// source that are reordered, the run, and the cycle that shows that SC does not have it.
#[must_use]
pub fn robust_text(a: &RobustAnswer<'_>, details: bool, color: bool) -> String {
    let mut out = String::new();
    let _ = write!(out, "{} {} ", plain(&a.names.program), a.model);
    let show = Show { program: a.program, names: a.names, source: a.source };
    let run = a.run.and_then(|schedule| Run::replay(a.program, a.model, schedule));
    let cycle = run.as_ref().and_then(Run::cycle);
    let pair = match (&run, &cycle) {
        (Some(run), Some(cycle)) => cycle.first().map(|arc| pair(run, arc)),
        _ => None,
    };
    let _ = match (a.verdict, pair) {
        (Verdict::Holds, _) => writeln!(
            out,
            "robust: every run under {} does what some run under SC does ({} searched)",
            a.model,
            counted(a.states, "state")
        ),
        (Verdict::Violated, Some((store, access))) => {
            writeln!(out, "not robust: {}", reordering(show, store, access))
        }
        (Verdict::Violated, None) => writeln!(out, "not robust"),
        (Verdict::Unknown(limit), _) => writeln!(
            out,
            "unknown: {}; no run found that SC does not have ({} searched)",
            limit_text(limit, a.names),
            counted(a.states, "state")
        ),
    };
    if let (Some(schedule), true) = (a.run, details) {
        if let Some((store, access)) = pair {
            out.push_str(&snippet(a, show, store, access, color));
        }
        out.push('\n');
        out.push_str(&draw(show, a.model, schedule, color, true));
        let _ = writeln!(
            out,
            "\nA fence between the two would prevent this run; `weakspot fence` finds the cheapest \
             fences that prevent all such runs.\n"
        );
    }
    out
}

/// The two instructions of a step of the cycle.
fn pair<'a, 'r>(run: &'r Run<'a>, arc: &Arc) -> (&'r Taken<'a>, &'r Taken<'a>) {
    (run.issued(arc.from).1, run.issued(arc.to).1)
}

/// What overtakes what, in words.
fn reordering(show: Show<'_>, store: &Taken<'_>, access: &Taken<'_>) -> String {
    let what = match access.did {
        Did::Load { .. } => "load of",
        Did::Update { .. } => "atomic update of",
        _ => "store to",
    };
    format!(
        "{}'s store to {}{} can reach memory after its later {what} {}{}",
        show.thread(store.thread),
        cell(show, store),
        show.at_line(store.edge.span),
        cell(show, access),
        show.at_line(access.edge.span),
    )
}

/// The location of an access.
pub(crate) fn cell(show: Show<'_>, taken: &Taken<'_>) -> String {
    match taken.did {
        Did::Load { addr, .. } | Did::Store { addr, .. } | Did::Update { addr, .. } => {
            show.cell(addr).into_owned()
        }
        _ => "memory".to_owned(),
    }
}

/// The two places in the source, with what happens there.
fn snippet(
    a: &RobustAnswer<'_>,
    show: Show<'_>,
    store: &Taken<'_>,
    access: &Taken<'_>,
    color: bool,
) -> String {
    let spans = [store.edge.span, access.edge.span];
    if spans.iter().any(|&span| clip(a.source, span).is_empty()) {
        return String::new();
    }
    let (text, line, [first, second]) = excerpt_of_two(a.source, spans);
    let buffered = format!("this store is still in the buffer of {}", show.thread(store.thread));
    let done = match access.did {
        Did::Load { .. } => "when this load has already read",
        Did::Update { .. } => "when this atomic update is already done",
        _ => "when this store has already reached memory",
    };
    let snippet = Snippet::source(text)
        .path(plain(a.file))
        .line_start(line)
        .annotation(AnnotationKind::Primary.span(first).label(buffered))
        .annotation(AnnotationKind::Primary.span(second).label(done));
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let mut out = renderer.render(&[Group::with_level(Level::ERROR).element(snippet)]);
    out.push('\n');
    out
}

/// The answer as one line of JSON, without a line end. `store` and `load` are the reordered pair;
/// `load` may be a store or an update under PSO, as its `kind` tells. Each event of `cycle` comes
/// before the next one, and the last one before the first, for the reason that its `edge` names.
#[must_use]
pub fn robust_json(a: &RobustAnswer<'_>) -> String {
    let mut o = Object::new();
    o.string("file", a.file).string("question", "robust").string("model", model_key(a.model));
    o.string("verdict", verdict_key(a.verdict)).raw("time_s", a.time.as_micros() as f64 / 1e6);
    if let Verdict::Unknown(limit) = a.verdict {
        o.raw("limit", limit_json(limit, Some(a.names)));
    }
    o.string("name", &a.names.program);
    if let Some(schedule) = a.run {
        let run = Run::replay(a.program, a.model, schedule);
        if let Some(run) = &run
            && let Some(cycle) = run.cycle()
        {
            if let Some(first) = cycle.first() {
                let (store, access) = pair(run, first);
                o.raw("store", place(a, store).end());
                let mut access_place = place(a, access);
                access_place.string("kind", kind(access.did));
                o.raw("load", access_place.end());
            }
            let events: Vec<String> = cycle
                .iter()
                .map(|arc| {
                    let (_, taken) = run.issued(arc.from);
                    let mut event = place(a, taken);
                    event.string("kind", kind(taken.did)).string("edge", arc.link.name());
                    event.end()
                })
                .collect();
            o.raw("cycle", format!("[{}]", events.join(",")));
        }
        o.raw("init", format!("{:?}", schedule.init)).raw("schedule", steps_json(schedule));
    }
    o.raw("states", a.states).raw("queries", a.queries).string("algorithm", a.algorithm);
    o.end()
}

pub(crate) fn place(a: &RobustAnswer<'_>, taken: &Taken<'_>) -> Object {
    let show = Show { program: a.program, names: a.names, source: a.source };
    let mut o = Object::new();
    o.string("thread", &show.thread(taken.thread));
    match clip(a.source, taken.edge.span).is_empty() {
        true => o.raw("line", "null").raw("column", "null"),
        false => {
            let (line, column) = taken.edge.span.line_column(a.source);
            o.raw("line", line).raw("column", column)
        }
    };
    o.string("text", &show.instr(taken.thread, taken.edge));
    o
}

fn kind(did: Did) -> &'static str {
    match did {
        Did::Load { .. } => "load",
        Did::Store { .. } | Did::Commit { .. } => "store",
        Did::Update { .. } => "update",
        Did::Fence(..) => "fence",
        Did::Lock => "lock",
        Did::Unlock => "unlock",
        Did::Local(_) => "local",
    }
}
