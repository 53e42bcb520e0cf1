//! Cache coherence and linearizability in words: what broke them, or the orders that show that it was
//! kept.

use std::fmt::Write;

use weakspot_core::{
    HistoryCycle, HistoryEdge, HistoryModel, HistoryStep, OpKind, Rule, Why, initial_write_var,
};

use super::ShowOps;
use crate::text::table::paragraph;

/// Orders of more operations are not written down.
const MAX_SHOWN: usize = 40;

/// What broke cache coherence or linearizability, in a sentence. `None` for other models.
pub(super) fn broken(
    show: &ShowOps<'_>,
    model: HistoryModel,
    cycle: &HistoryCycle,
) -> Option<String> {
    let (what, why) = broken_and_why(show, model, cycle)?;
    Some(if why.is_empty() { what } else { format!("{what}, and {why}") })
}

/// What broke cache coherence or linearizability, in the words of who looks at the log: which core read or wrote what
/// after what; and what contradicts that, if it is one thing.
pub(super) fn broken_and_why(
    show: &ShowOps<'_>,
    model: HistoryModel,
    cycle: &HistoryCycle,
) -> Option<(String, String)> {
    if !matches!(model, HistoryModel::Coherence | HistoryModel::Lin) {
        return None;
    }
    let paths = cycle.derivations.iter().map(|derivation| derivation.path.as_slice());
    let edges: Vec<&HistoryEdge> = paths.chain([cycle.edges.as_slice()]).flatten().collect();
    let first = edges.first()?.from;
    let var = initial_write_var(first).unwrap_or_else(|| show.ops.var(first));
    let is_here = |op: u32| initial_write_var(op).unwrap_or_else(|| show.ops.var(op)) == var;
    // What is not about one variable alone is better shown than said.
    if !edges.iter().all(|edge| is_here(edge.from) && is_here(edge.to)) {
        return None;
    }
    let is_op = |edge: &&&HistoryEdge| initial_write_var(edge.from).is_none();
    let mut pairs: Vec<(u32, u32)> = edges
        .iter()
        .filter(|edge| matches!(edge.why, Why::Po | Why::Rt))
        .filter(is_op)
        .map(|edge| (edge.from, edge.to))
        .collect();
    // A read after a read says most, then a read after a write.
    pairs.sort_by_key(|&(a, b)| (show.ops.writes(b), show.ops.writes(a)));
    pairs.dedup();
    let from_the_start = edges.iter().any(|edge| initial_write_var(edge.from).is_some());
    let updates = cycle.derivations.iter().filter_map(|derivation| match derivation.rule {
        Rule::Overtaken { read } => Some(read),
        _ => None,
    });
    let updates: Vec<u32> = updates.filter(|&u| show.ops.kind(u) == OpKind::Update).collect();
    let (what, why) = match (&pairs[..], &updates[..]) {
        ([], &[a, b]) => {
            let thread = |op: u32| show.thread(show.ops.thread_of(op)).into_owned();
            let (value, a, b) = (show.read(a), thread(a), thread(b));
            (format!("{a} and {b} both updated the same {value}"), String::new())
        }
        ([], _) => ("updates read each other's values".to_owned(), String::new()),
        (&[(read, write)], _) if show.ops.from(read) == Some(write) => {
            (too_early(show, read, write), String::new())
        }
        ([pair], _) if from_the_start => {
            (after(show, *pair), format!("{} is the initial value", show.initial(var)))
        }
        ([first, second], _) => (after(show, *first), after(show, *second)),
        ([first, ..], _) => (after(show, *first), String::new()),
    };
    let broken = match model {
        HistoryModel::Lin => "not linearizable",
        _ => "cache coherence broken",
    };
    Some((format!("{broken} at {}: {what}", show.var(var)), why))
}

/// `t1 read 5 (line 3) before t0 wrote it (line 7)`.
fn too_early(show: &ShowOps<'_>, read: u32, write: u32) -> String {
    let who = |op: u32| show.thread(show.ops.thread_of(op)).into_owned();
    let (value, of_read, of_write) =
        (show.read(read), in_brackets(show, read), in_brackets(show, write));
    format!("{} read {value}{of_read} before {} wrote it{of_write}", who(read), who(write))
}

/// ` (line 7)`, if it is known.
fn in_brackets(show: &ShowOps<'_>, op: u32) -> String {
    match show.line(op) {
        line if line.is_empty() => line,
        line => format!(" ({line})"),
    }
}

/// `core2 read 5 after it had read 7 (line 5, line 6)`, or `t2 read 1 (line 7) after t1's write of 2 (line 5) had
/// ended`.
fn after(show: &ShowOps<'_>, (a, b): (u32, u32)) -> String {
    let did = |op: u32| match show.ops.kind(op) {
        OpKind::Read => format!("read {}", show.read(op)),
        OpKind::Write | OpKind::Fence => format!("written {}", show.written(op)),
        OpKind::Update => format!("updated {} to {}", show.read(op), show.written(op)),
    };
    let thread = show.thread(show.ops.thread_of(b));
    let then = match show.ops.kind(b) {
        OpKind::Write => format!("wrote {}", show.written(b)),
        _ => did(b),
    };
    if show.ops.thread_of(a) == show.ops.thread_of(b) {
        let lines = match (show.line(a), show.line(b)) {
            (a, b) if a.is_empty() || b.is_empty() => String::new(),
            (a, b) => format!(" ({a}, {b})"),
        };
        return format!("{thread} {then} after it had {}{lines}", did(a));
    }
    let done = match show.ops.kind(a) {
        OpKind::Read => format!("read of {}", show.read(a)),
        OpKind::Write | OpKind::Fence => format!("write of {}", show.written(a)),
        OpKind::Update => format!("update of {} to {}", show.read(a), show.written(a)),
    };
    let other = show.thread(show.ops.thread_of(a));
    let (here, there) = (in_brackets(show, b), in_brackets(show, a));
    format!("{thread} {then}{here} after {other}'s {done}{there} had ended")
}

/// The order of the operations on each variable, if they are few.
pub(super) fn orders(show: &ShowOps<'_>, steps: &[HistoryStep], columns: usize) -> String {
    let mut out = String::new();
    if steps.is_empty() || steps.len() > MAX_SHOWN {
        return out;
    }
    let _ = writeln!(out);
    for var in 0..show.ops.vars() as u32 {
        let mut order = vec![format!("{} at the start", show.initial(var))];
        for step in steps {
            let op = step.op();
            let is_here = (op as usize) < show.ops.len() && show.ops.kind(op) != OpKind::Fence;
            if is_here && show.ops.var(op) == var {
                let what = match show.ops.kind(op) {
                    OpKind::Read => format!("r {}", show.read(op)),
                    OpKind::Update => format!("u {} -> {}", show.read(op), show.written(op)),
                    _ => format!("w {}", show.written(op)),
                };
                order.push(format!("{} {what}", show.place(op)));
            }
        }
        out += &paragraph(&format!("  {}: {}", show.var(var), order.join(", ")), columns, 4);
    }
    out
}
