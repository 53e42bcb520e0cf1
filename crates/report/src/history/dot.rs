//! Cycles as graphs for Graphviz.

use std::fmt::Write;

use weakspot_core::{HistoryCycle, HistoryEdge, HistoryEvidence, initial_write_var};

use super::cycle::link;
use super::{HistoryAnswer, ShowOps, head, same_violation};
use crate::run::dot::quoted;
use crate::text::show::model_name;

/// The cycles that show violations, or the first ones of proofs by cases, as graphs for Graphviz:
/// derived edges are dashed. A cycle of several models is drawn once, and nothing for models that
/// are satisfied. The answers are for one history.
pub(super) fn history_dot(answers: &[HistoryAnswer<'_>]) -> String {
    let mut out = String::new();
    for (i, a) in answers.iter().enumerate() {
        if answers[..i].iter().any(|b| same_violation(a, b)) {
            continue;
        }
        let same = answers.iter().filter(|b| same_violation(a, b));
        let models: Vec<&str> = same.map(|b| model_name(b.head.model)).collect();
        match a.evidence {
            Some(HistoryEvidence::Cycle(cycle)) => out += &graph(a, cycle, &models),
            Some(HistoryEvidence::Refuted { conflicts, .. }) => {
                out += &conflicts.first().map_or(String::new(), |c| graph(a, c, &models));
            }
            _ => {}
        }
    }
    out
}

fn graph(a: &HistoryAnswer<'_>, cycle: &HistoryCycle, models: &[&str]) -> String {
    let show = ShowOps { ops: a.ops, names: a.names, lines: a.lines, followed: a.followed };
    let mut out = String::from("digraph history {\n");
    let label = format!("{} under {}", head(a), models.join(", "));
    let _ = writeln!(out, "  label={}; labelloc=t; fontname=\"monospace\";", quoted(&label));
    out.push_str("  node [shape=box, style=rounded, fontname=\"monospace\"];\n");
    out.push_str("  edge [fontname=\"monospace\"];\n");
    let mut nodes: Vec<u32> = edges(cycle).flat_map(|edge| [edge.from, edge.to]).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let thread = |&op: &u32| initial_write_var(op).is_none().then(|| a.ops.thread_of(op));
    for group in nodes.chunk_by(|a, b| thread(a) == thread(b)) {
        let of = group.first().and_then(thread);
        if let Some(of) = of {
            let _ = writeln!(out, "  subgraph cluster_{of} {{");
            let _ = writeln!(out, "    label={}; color=gray;", quoted(&show.thread(of)));
        }
        for &op in group {
            let label = match of {
                Some(_) => format!("{}. {}  {}", show.index(op), show.op(op), show.line(op)),
                None => show.op(op),
            };
            let _ = writeln!(out, "    {} [label={}];", node(op), quoted(label.trim_end()));
        }
        out.push_str(if of.is_some() { "  }\n" } else { "" });
    }
    let on_cycle = |edge: &HistoryEdge| cycle.edges.contains(edge);
    let mut drawn: Vec<(u32, u32, &str)> = Vec::new();
    for edge in edges(cycle) {
        let key = (edge.from, edge.to, link(cycle, edge));
        if !drawn.contains(&key) {
            drawn.push(key);
            let style = if on_cycle(edge) { "penwidth=2" } else { "style=dashed" };
            let (from, to, link) = key;
            let _ = writeln!(out, "  {} -> {} [label=\"{link}\", {style}];", node(from), node(to));
        }
    }
    out.push_str("}\n");
    out
}

/// The edges of the cycle, and those that derived ones follow from.
fn edges(cycle: &HistoryCycle) -> impl Iterator<Item = &HistoryEdge> {
    cycle.edges.iter().chain(cycle.derivations.iter().flat_map(|d| &d.path))
}

fn node(op: u32) -> String {
    match initial_write_var(op) {
        Some(var) => format!("i{var}"),
        None => format!("o{op}"),
    }
}
