//! Which fences a program needs and where they go, as text and as JSON.

use std::fmt::Write;

use serde::Serialize;
use weakspot_core::machine::Schedule;
use weakspot_core::{Fence, Goal, Limit, Names, Program, Span, ThreadId, Verdict};

use crate::answer::{Answer, Head, provable_note};
use crate::json::of_program;
use crate::program::robust::{pair, reordering};
use crate::run::object::Run;
use crate::run::of_schedule::of_schedule;
use crate::text::diff::unified_diff;
use crate::text::limit::limit_text;
use crate::text::show::{Show, clip, one_line, plain, thread_name};
use crate::text::table::{Paint, Style};

/// The answer for one program under one model.
#[derive(Clone, Copy, Debug)]
pub struct FenceAnswer<'a> {
    /// What it has in common with all answers.
    pub head: Head<'a>,
    /// What its parts are called.
    pub names: &'a Names,
    /// Its text.
    pub source: &'a str,
    /// What the fences are for.
    pub goal: Goal,
    /// The fences with which it is reached; `None` if there are none, or none are known.
    pub fences: Option<&'a [FenceLine]>,
    /// The text with the fences.
    pub patched: Option<&'a str>,
    /// A run that misses the goal, of the program without fences.
    pub run: Option<(&'a Program, &'a Schedule)>,
    /// Nothing cheaper reaches the goal; without fences, nothing at all.
    pub optimal: bool,
    /// What the fences cost, where that is not their number.
    pub cost: Option<u64>,
    /// How many states the searches visited.
    pub searched: u64,
    /// How many searches there were.
    pub queries: u64,
}

impl Answer for FenceAnswer<'_> {
    fn text(&self, style: Style) -> String {
        let models = self.head.too_large().filter(|_| style.details);
        let note = models.map(|models| provable_note(models, style.proving));
        fence_text(self, &note.unwrap_or_default(), Paint(style.color))
    }

    fn json(&self) -> String {
        fence_json(self)
    }

    fn too_large(&self) -> Option<String> {
        // The note stands before the diff, which is what the text ends with.
        None
    }
}

/// A fence in the text.
#[derive(Clone, Debug)]
pub struct FenceLine {
    /// The threads that it is in.
    pub threads: Vec<ThreadId>,
    /// Which fence.
    pub kind: Fence,
    /// What it comes after.
    pub after: Span,
    /// What it comes before.
    pub before: Option<Span>,
    /// A store and a later access that it keeps in this order.
    pub keeps: Option<(Span, Span)>,
}

/// A line that says what was found, a line for each fence, and what changes in the text.
fn fence_text(a: &FenceAnswer<'_>, note: &str, paint: Paint) -> String {
    let mut out = format!("{} {} ", plain(&a.names.program), a.head.model);
    let verdict_at = out.len();
    let (is, to_be) = match a.goal {
        Goal::Robust => ("robust", "to be robust"),
        Goal::Safe => ("safe", "to be safe"),
    };
    let why = |limit: Option<&Limit>| match limit {
        Some(limit) => limit_text(limit, a.names),
        None => "with a fence in each place the text is another program".to_owned(),
    };
    match (a.head.verdict, a.fences) {
        (Verdict::Unknown(limit), None) => {
            let _ = writeln!(out, "unknown: {}", limit_text(limit, a.names));
        }
        (Verdict::Holds, _) => {
            let _ = writeln!(out, "is {is} without fences");
            out.push_str(note);
        }
        (Verdict::Violated, None) if a.optimal => {
            let _ = writeln!(out, "is not {is}, and no fences make it so");
            out.push_str(&inseparable(a));
            out.push_str(note);
        }
        (Verdict::Violated, None) => {
            let _ = writeln!(
                out,
                "is not {is}; which fences make it so is unknown: {}",
                why(a.head.limit)
            );
        }
        (Verdict::Violated | Verdict::Unknown(_), Some(fences)) => {
            let count = match fences.len() {
                1 => "1 fence".to_owned(),
                n => format!("{n} fences"),
            };
            let cost = a.cost.map_or(String::new(), |cost| format!(" at a cost of {cost}"));
            let _ = match (a.optimal, a.cost) {
                (true, None) => writeln!(out, "needs {count} {to_be}; no fewer do"),
                (true, Some(_)) => {
                    writeln!(out, "needs {count}{cost} {to_be}; nothing cheaper does")
                }
                (false, _) => writeln!(
                    out,
                    "is {is} with {count}{cost}, but perhaps cheaper ones do: {}",
                    why(a.head.limit)
                ),
            };
            for fence in fences {
                out.push_str(&fence_line(a, fence));
            }
            out.push_str(note);
            if let Some(patched) = a.patched {
                out.push_str(&unified_diff(a.head.file, a.source, patched));
            }
        }
    }
    paint.headline(&out, verdict_at, a.head.verdict)
}

/// A run that misses the goal.
fn missing(a: &FenceAnswer<'_>) -> Option<Run> {
    let (program, schedule) = a.run?;
    let show = Show { file: a.head.file, program, names: a.names, source: a.source };
    of_schedule(show, a.head.model, schedule, true)
}

/// The store and the access of a run between which no fence can be put; nothing if SC has the run.
fn inseparable(a: &FenceAnswer<'_>) -> String {
    let Some(run) = missing(a) else { return String::new() };
    let Some((store, access)) = pair(&run) else { return String::new() };
    let place = store.line.map_or(String::new(), |line| format!(":{line}"));
    let what = reordering(Some(&run), store, access);
    let split = match store.span.is_some() && store.span == access.span {
        true => "both are in one statement: split it, so that a fence can stand between the two",
        false => "no fence can stand between the two",
    };
    format!("  {}{place}: {what}; {split}\n", plain(a.head.file))
}

fn fence_line(a: &FenceAnswer<'_>, fence: &FenceLine) -> String {
    let quoted = |span| format!("`{}`", shortened(a.source, span));
    let line = |span: Span| span.line_column(a.source).0;
    let mut out = format!("  {}:{}: ", plain(a.head.file), line(fence.after));
    let kind = match fence.kind {
        Fence::Full => "a fence",
        Fence::StoreStore => "a store-store fence",
    };
    let _ = write!(out, "{kind} in {}, ", threads(a.names, &fence.threads));
    let _ = match fence.before {
        // Nothing comes before it in the function that it begins.
        Some(before) if before == fence.after => write!(out, "before {}", quoted(before)),
        Some(before) => write!(out, "between {} and {}", quoted(fence.after), quoted(before)),
        None => write!(out, "after {}, at the end of the block", quoted(fence.after)),
    };
    if let Some((store, access)) = fence.keeps {
        let (first, then) = (line(store), line(access));
        let _ = match fence.kind {
            Fence::StoreStore => write!(
                out,
                ": the store of line {first} reaches memory before the store of line {then}"
            ),
            Fence::Full => write!(
                out,
                ": the store of line {first} reaches memory before line {then} takes effect"
            ),
        };
    }
    out.push('\n');
    out
}

/// The first line of a piece of text, and not all of it if it is long.
fn shortened(source: &str, span: Span) -> String {
    const MOST: usize = 50;
    let text = clip(source, span);
    let first = text.lines().next().unwrap_or_default();
    let mut line = one_line(first);
    if line.chars().count() > MOST || first.len() < text.len() {
        line = line.chars().take(MOST).collect();
        line.push('…');
    }
    line
}

fn threads(names: &Names, threads: &[ThreadId]) -> String {
    let names: Vec<_> = threads.iter().map(|t| thread_name(names, *t)).collect();
    names.join(", ")
}

/// The answer as one line of JSON.
fn fence_json(a: &FenceAnswer<'_>) -> String {
    let fences =
        a.fences.map(|fences| fences.iter().map(|fence| FenceJson::of(a, fence)).collect());
    let none_do = a.optimal.then(Vec::new);
    let body = Body {
        goal: match a.goal {
            Goal::Robust => "robust",
            Goal::Safe => "safe",
        },
        fixable: (a.fences.is_some() || a.optimal).then_some(a.fences.is_some()),
        fences: fences.or(none_do),
        optimal: a.optimal,
        cost: a.cost,
        diff: (a.patched.map(|patched| unified_diff(a.head.file, a.source, patched)))
            .filter(|diff| !diff.is_empty()),
        explored: a.searched,
        queries: a.queries,
        run: missing(a),
    };
    of_program(&a.head, a.names, body)
}

#[derive(Serialize)]
struct Body<'a> {
    goal: &'a str,
    fixable: Option<bool>,
    fences: Option<Vec<FenceJson>>,
    optimal: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    explored: u64,
    queries: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<Run>,
}

#[derive(Serialize)]
struct FenceJson {
    thread: String,
    line: usize,
    after: String,
    before: Option<String>,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    store_line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    access_line: Option<usize>,
}

impl FenceJson {
    fn of(a: &FenceAnswer<'_>, fence: &FenceLine) -> FenceJson {
        let text = |span| one_line(clip(a.source, span));
        let line = |span: Span| span.line_column(a.source).0;
        FenceJson {
            thread: threads(a.names, &fence.threads),
            line: line(fence.after),
            after: text(fence.after),
            before: fence.before.map(text),
            kind: match fence.kind {
                Fence::Full => "full",
                Fence::StoreStore => "store-store",
            },
            store_line: fence.keeps.map(|(store, _)| line(store)),
            access_line: fence.keeps.map(|(_, access)| line(access)),
        }
    }
}
