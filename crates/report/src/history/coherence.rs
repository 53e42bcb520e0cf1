//! Cache coherence in words: what broke it, or the orders that show that it was kept.

use std::fmt::Write;

use weakspot_core::{
    HistoryCycle, HistoryEdge, HistoryModel, HistoryStep, OpKind, Rule, Why, initial_write_var,
};

use super::ShowOps;
use crate::text::table::paragraph;

/// Orders of more operations are not written down.
const MAX_SHOWN: usize = 40;

/// What broke cache coherence, in a sentence. `None` for other models.
pub(super) fn broken(
    show: &ShowOps<'_>,
    model: HistoryModel,
    cycle: &HistoryCycle,
) -> Option<String> {
    let (what, why) = broken_and_why(show, model, cycle)?;
    Some(if why.is_empty() { what } else { format!("{what}, and {why}") })
}

/// What broke cache coherence, in the words of who looks at the log: which core read or wrote what
/// after what; and what contradicts that, if it is one thing.
pub(super) fn broken_and_why(
    show: &ShowOps<'_>,
    model: HistoryModel,
    cycle: &HistoryCycle,
) -> Option<(String, String)> {
    if model != HistoryModel::Coherence {
        return None;
    }
    let paths = cycle.derivations.iter().map(|derivation| derivation.path.as_slice());
    let edges: Vec<&HistoryEdge> = paths.chain([cycle.edges.as_slice()]).flatten().collect();
    let first = edges.first()?.from;
    let var = initial_write_var(first).unwrap_or_else(|| show.ops.var(first));
    let is_op = |edge: &&&HistoryEdge| initial_write_var(edge.from).is_none();
    let mut pairs: Vec<(u32, u32)> = edges
        .iter()
        .filter(|edge| edge.why == Why::Po)
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
        ([pair], _) if from_the_start => {
            (after(show, *pair), format!("{} is the initial value", show.initial(var)))
        }
        ([first, second], _) => (after(show, *first), after(show, *second)),
        ([first, ..], _) => (after(show, *first), String::new()),
    };
    Some((format!("cache coherence broken at {}: {what}", show.var(var)), why))
}

/// `core2 read 5 after it had read 7`.
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
    format!("{thread} {then} after it had {}", did(a))
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
            let (HistoryStep::Issue(op) | HistoryStep::Commit(op)) = *step;
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
