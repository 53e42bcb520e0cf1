//! Which fences a program needs and where they go, as text and as JSON.

use std::fmt::Write;
use std::time::Duration;

use weakspot_core::{Fence, Goal, Limit, Model, Names, Span, ThreadId, Verdict};

use crate::json::{Object, model_key, push_string, verdict_key};
use crate::text::diff::unified_diff;
use crate::text::limit::{limit_json, limit_text};
use crate::text::show::{clip, one_line, plain, thread_name};

/// The answer for one program under one model.
#[derive(Clone, Copy, Debug)]
pub struct FenceAnswer<'a> {
    /// The file as the user named it.
    pub file: &'a str,
    /// What its parts are called.
    pub names: &'a Names,
    /// Its text.
    pub source: &'a str,
    /// The model asked about.
    pub model: Model,
    /// What the fences are for.
    pub goal: Goal,
    /// Holds if the goal is reached without fences.
    pub verdict: &'a Verdict,
    /// The fences with which it is reached; `None` if there are none, or none are known.
    pub fences: Option<&'a [FenceLine]>,
    /// The text with the fences.
    pub patched: Option<&'a str>,
    /// Nothing cheaper reaches the goal; without fences, nothing at all.
    pub optimal: bool,
    /// What the fences cost, where that is not their number.
    pub cost: Option<u64>,
    /// What stopped the search.
    pub limit: Option<&'a Limit>,
    /// How many states the searches visited.
    pub searched: u64,
    /// How many searches there were.
    pub queries: u64,
    /// How long it took.
    pub time: Duration,
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
#[must_use]
pub fn fence_text(a: &FenceAnswer<'_>) -> String {
    let mut out = format!("{} {} ", plain(&a.names.program), a.model);
    let (is, to_be) = match a.goal {
        Goal::Robust => ("robust", "to be robust"),
        Goal::Safe => ("safe", "to be safe"),
    };
    let why =
        |limit: Option<&Limit>| limit.map_or(String::new(), |limit| limit_text(limit, a.names));
    match (a.verdict, a.fences) {
        (Verdict::Unknown(limit), None) => {
            let _ = writeln!(out, "unknown: {}", limit_text(limit, a.names));
        }
        (Verdict::Holds, _) => {
            let _ = writeln!(out, "is {is} without fences");
        }
        (Verdict::Violated, None) if a.optimal => {
            let _ = writeln!(out, "is not {is}, and no fences make it so");
        }
        (Verdict::Violated, None) => {
            let _ =
                writeln!(out, "is not {is}; which fences make it so is unknown: {}", why(a.limit));
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
                    why(a.limit)
                ),
            };
            for fence in fences {
                out.push_str(&fence_line(a, fence));
            }
            if let Some(patched) = a.patched {
                out.push_str(&unified_diff(a.file, a.source, patched));
            }
        }
    }
    out
}

fn fence_line(a: &FenceAnswer<'_>, fence: &FenceLine) -> String {
    let quoted = |span| format!("`{}`", shortened(a.source, span));
    let line = |span: Span| span.line_column(a.source).0;
    let mut out = format!("  {}:{}: ", plain(a.file), line(fence.after));
    let kind = match fence.kind {
        Fence::Full => "a fence",
        Fence::StoreStore => "a store-store fence",
    };
    let _ = write!(out, "{kind} in {}, ", threads(a.names, &fence.threads));
    let _ = match fence.before {
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

/// The answer as one line of JSON, without a line end.
#[must_use]
pub fn fence_json(a: &FenceAnswer<'_>) -> String {
    let mut o = Object::new();
    o.string("file", a.file).string("question", "fence").string("model", model_key(a.model));
    o.string("verdict", verdict_key(a.verdict)).raw("time_s", a.time.as_micros() as f64 / 1e6);
    if let Some(limit) = a.limit {
        o.raw("limit", limit_json(limit, Some(a.names)));
    }
    o.string("name", &a.names.program);
    o.string(
        "goal",
        match a.goal {
            Goal::Robust => "robust",
            Goal::Safe => "safe",
        },
    );
    match (a.fences, a.optimal) {
        (None, false) => o.raw("fixable", "null"),
        (fences, _) => o.raw("fixable", fences.is_some()),
    };
    match a.fences {
        None => {
            o.raw("fences", if a.optimal { "[]" } else { "null" });
        }
        Some(fences) => {
            let list: Vec<String> = fences.iter().map(|f| line_json(a, f)).collect();
            o.raw("fences", format!("[{}]", list.join(",")));
        }
    }
    o.raw("optimal", a.optimal);
    if let Some(cost) = a.cost {
        o.raw("cost", cost);
    }
    o.raw("explored", a.searched).raw("queries", a.queries);
    o.end()
}

fn line_json(a: &FenceAnswer<'_>, fence: &FenceLine) -> String {
    let mut o = Object::new();
    let text = |span| one_line(clip(a.source, span));
    o.string("thread", &threads(a.names, &fence.threads));
    o.raw("line", fence.after.line_column(a.source).0);
    o.string("after", &text(fence.after));
    match fence.before {
        Some(before) => push_string(o.key("before"), &text(before)),
        None => o.key("before").push_str("null"),
    }
    o.string(
        "kind",
        match fence.kind {
            Fence::Full => "full",
            Fence::StoreStore => "store-store",
        },
    );
    if let Some((store, access)) = fence.keeps {
        o.raw("store_line", store.line_column(a.source).0);
        o.raw("access_line", access.line_column(a.source).0);
    }
    o.end()
}
