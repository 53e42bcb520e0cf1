//! A cycle of orders between the operations of a history, with why each of them holds.

use std::fmt::Write;

use weakspot_core::{
    Derivation, HistoryCycle, HistoryEdge, HistoryModel, OpKind, Rule, Why, Within, initial_write,
    initial_write_var,
};

use super::{ShowOps, model_name};
use crate::show::{counted, grouped};
use crate::table::{cut, pad, width};

/// How many edges of a cycle or path, and how many derivations, are told.
const MAX_TOLD: usize = 40;
/// How many cycles of a proof by cases are drawn.
const MAX_CONFLICTS: usize = 3;
/// The most columns of an operation.
const MAX_OP: usize = 40;

/// The cycle, one edge per line, and below it what derived edges follow from.
pub(super) fn drawing(show: &ShowOps<'_>, model: HistoryModel, cycle: &HistoryCycle) -> String {
    let mut out = String::from("\n");
    let memory = match (cycle.within, is_relaxed(model)) {
        (Within::Local, _) => " on one variable",
        (Within::Global, true) => " in memory",
        (Within::Global, false) => "",
    };
    let _ = writeln!(
        out,
        "  {} has no place for this: each arrow means \"comes before\"{memory}, and together they \
         form a circle.",
        model_name(model)
    );
    push_cycle(&mut out, show, model, cycle);
    out
}

/// The first of the cycles that leave no order of writes.
pub(super) fn conflicts(
    show: &ShowOps<'_>,
    model: HistoryModel,
    conflicts: &[HistoryCycle],
) -> String {
    let mut out = String::from("\n");
    let _ = writeln!(
        out,
        "  {} has no place for this: each of these circles forbids to put some writes into the \
         assumed order, and no order is left.",
        model_name(model)
    );
    for (i, conflict) in conflicts.iter().enumerate().take(MAX_CONFLICTS) {
        out.push_str(if i == 0 { "" } else { "\n" });
        push_cycle(&mut out, show, model, conflict);
    }
    if conflicts.len() > MAX_CONFLICTS {
        let more = grouped((conflicts.len() - MAX_CONFLICTS) as u128);
        let _ = writeln!(out, "\n  and {more} more; --witness writes them all");
    }
    out
}

fn is_relaxed(model: HistoryModel) -> bool {
    matches!(model, HistoryModel::Tso | HistoryModel::Pso | HistoryModel::Wccm)
}

fn push_cycle(out: &mut String, show: &ShowOps<'_>, model: HistoryModel, cycle: &HistoryCycle) {
    let marks = marks(cycle);
    let edges = &cycle.edges[..cycle.edges.len().min(MAX_TOLD)];
    let cells: Vec<[String; 3]> = edges
        .iter()
        .map(|edge| [show.place(edge.from), cut(&show.op(edge.from), MAX_OP), show.line(edge.from)])
        .collect();
    let mut widths = [0; 3];
    for cell in &cells {
        for (widest, text) in widths.iter_mut().zip(cell) {
            *widest = width(text).max(*widest);
        }
    }
    let text = |cell: &[String; 3]| {
        let padded = cell.iter().zip(widths).filter(|&(_, w)| w > 0).map(|(text, w)| pad(text, w));
        padded.collect::<Vec<_>>().join("  ")
    };
    for (edge, cell) in edges.iter().zip(&cells) {
        let reason = reason(show, model, cycle, edge, &marks);
        let _ = writeln!(out, "  {}  -{}->  {reason}", text(cell), link(cycle, edge));
    }
    if cycle.edges.len() > edges.len() {
        let more = counted((cycle.edges.len() - edges.len()) as u64, "more step");
        let _ = writeln!(out, "  … {more}");
    }
    if let Some(first) = cells.first() {
        let _ = writeln!(out, "  {}  (back at the start)", text(first));
    }
    for &index in marks.iter().take(MAX_TOLD) {
        push_derivation(out, show, cycle, index, &marks);
    }
    if marks.len() > MAX_TOLD {
        let more = counted((marks.len() - MAX_TOLD) as u64, "more order");
        let _ = writeln!(out, "  and {more} that these follow from; --witness writes them all");
    }
}

/// The derivations that need lines of their own, in the order in which they are told. The place
/// in the list is the mark.
fn marks(cycle: &HistoryCycle) -> Vec<u32> {
    let mut marks: Vec<u32> = Vec::new();
    let mut next = 0;
    let add = |edges: &[HistoryEdge], marks: &mut Vec<u32>| {
        for edge in edges {
            if let Why::Derived(index) = edge.why
                && derivation(cycle, index).is_some_and(|d| !is_plain(d))
                && !marks.contains(&index)
            {
                marks.push(index);
            }
        }
    };
    add(&cycle.edges, &mut marks);
    while let Some(&index) = marks.get(next).filter(|_| next <= MAX_TOLD) {
        next += 1;
        if let Some(derivation) = derivation(cycle, index) {
            add(&derivation.path, &mut marks);
        }
    }
    marks
}

fn derivation(cycle: &HistoryCycle, index: u32) -> Option<&Derivation> {
    cycle.derivations.get(index as usize)
}

/// Whether the edge's own line says all: the path is one step of program order or reads-from.
fn is_plain(derivation: &Derivation) -> bool {
    matches!(derivation.path[..], [HistoryEdge { why: Why::Po | Why::Rf, .. }])
}

/// The paper's word for an edge.
pub(super) fn link(cycle: &HistoryCycle, edge: &HistoryEdge) -> &'static str {
    match edge.why {
        Why::Po => "po",
        Why::Rf => "wr",
        Why::Chosen(_) => "ww",
        Why::Derived(index) => match derivation(cycle, index).map(|d| d.rule) {
            Some(Rule::Overtaken { .. }) => "rw",
            _ => "ww",
        },
    }
}

/// Why an edge of the cycle is there.
fn reason(
    show: &ShowOps<'_>,
    model: HistoryModel,
    cycle: &HistoryCycle,
    edge: &HistoryEdge,
    marks: &[u32],
) -> String {
    let value = |read: bool| match initial_write_var(edge.from) {
        Some(var) => show.cell(var, show.initial(var)),
        None => {
            let value = if read { show.read(edge.from) } else { show.written(edge.from) };
            show.cell(show.ops.var(edge.from), value)
        }
    };
    match edge.why {
        Why::Po if initial_write_var(edge.from).is_some() => "before everything else".to_owned(),
        Why::Po => {
            let thread = show.thread(show.ops.thread_of(edge.from));
            format!("program order of {thread}{}", barrier(show, model, cycle.within, edge))
        }
        Why::Rf => format!("wrote {}, which the next reads", value(false)),
        Why::Chosen(_) => "assumed".to_owned(),
        Why::Derived(index) => {
            let mark = marks.iter().position(|&mark| mark == index);
            let mark = mark.map_or(String::new(), |mark| format!(", see ({})", mark + 1));
            match derivation(cycle, index) {
                Some(Derivation { rule: Rule::Overtaken { .. }, .. }) => {
                    format!("read {}, which the next overwrites{mark}", value(true))
                }
                Some(Derivation { rule: Rule::Older, path, .. }) => {
                    let by = path.last().map_or(String::new(), |last| show.placed(last.to));
                    match mark.is_empty() {
                        true => format!("older than the next, which {by} reads"),
                        false => format!("older than the next{mark}"),
                    }
                }
                _ => format!("reaches memory before the next{mark}"),
            }
        }
    }
}

/// What keeps two operations in order that buffers could change.
fn barrier(
    show: &ShowOps<'_>,
    model: HistoryModel,
    within: Within,
    edge: &HistoryEdge,
) -> &'static str {
    let kind = |op: u32| show.ops.kind(op);
    let may_change = is_relaxed(model)
        && within == Within::Global
        && match (kind(edge.from), kind(edge.to)) {
            (OpKind::Write, OpKind::Read) => true,
            (OpKind::Write, OpKind::Write) => {
                model == HistoryModel::Pso && show.ops.var(edge.from) != show.ops.var(edge.to)
            }
            _ => false,
        };
    let between = |wanted: OpKind| (edge.from + 1..edge.to).any(|op| kind(op) == wanted);
    match may_change {
        true if between(OpKind::Fence) => ", with a fence in between",
        true if between(OpKind::Update) => ", with an update in between",
        _ => "",
    }
}

/// Why a derived edge is there.
fn push_derivation(
    out: &mut String,
    show: &ShowOps<'_>,
    cycle: &HistoryCycle,
    index: u32,
    marks: &[u32],
) {
    let Some(derivation) = derivation(cycle, index) else { return };
    let (Some(first), Some(last)) = (derivation.path.first(), derivation.path.last()) else {
        return;
    };
    let mark = marks.iter().position(|&mark| mark == index).map_or(0, |mark| mark + 1);
    let (start, end) = (show.placed(first.from), show.placed(last.to));
    let why = match derivation.rule {
        Rule::Older => {
            let source = show.ops.from(last.to);
            let source = source.unwrap_or_else(|| initial_write(show.ops.var(last.to)));
            let source = show.placed(source);
            format!(
                "{start} is older than {source}, because {end} comes after it and reads the other"
            )
        }
        Rule::Overtaken { read } => {
            let read = show.placed(read);
            format!(
                "{read} comes before {end}, because {start}, which it reads, is overwritten by it"
            )
        }
        Rule::Ordered => format!("{start} reaches memory before {end}, because it comes before it"),
    };
    let _ = writeln!(out, "  ({mark}) {why}:");
    let mut line = String::new();
    for edge in derivation.path.iter().take(MAX_TOLD) {
        let mark = |index| marks.iter().position(|&mark| mark == index);
        let reference = match edge.why {
            Why::Derived(index) => mark(index).map_or(String::new(), |at| format!(" ({})", at + 1)),
            Why::Chosen(_) => " (assumed)".to_owned(),
            Why::Po | Why::Rf => String::new(),
        };
        let step = format!("{} -{}->{reference} ", show.placed(edge.from), link(cycle, edge));
        if width(&line) + width(&step) > 90 {
            let _ = writeln!(out, "      {}", line.trim_end());
            line.clear();
        }
        line += &step;
    }
    let rest = derivation.path.len().saturating_sub(MAX_TOLD);
    let more = if rest > 0 { format!("… {rest} more … ") } else { String::new() };
    let _ = writeln!(out, "      {line}{more}{end}");
}
