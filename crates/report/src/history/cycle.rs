//! A cycle of orders between the operations of a history, with why each of them holds.

use std::fmt::Write;

use weakspot_core::{
    Derivation, HistoryCycle, HistoryEdge, HistoryModel, OpKind, Rule, Why, Within, initial_write,
    initial_write_var,
};

use super::ShowOps;
use crate::text::show::{counted, grouped};
use crate::text::table::{beside_each_other, cut, pad, paragraph, width};

/// How many edges of a cycle or path, and how many derivations, are shown.
const MAX_SHOWN: usize = 40;
/// All cycles of a proof by cases are drawn if they are so few.
const ALL_CONFLICTS: usize = 8;
/// How many are drawn of more.
const MAX_CONFLICTS: usize = 3;
/// The most columns of an operation.
const MAX_OP: usize = 40;

/// The cycle, one edge per line, and below it what derived edges follow from.
pub(super) fn drawing(
    show: &ShowOps<'_>,
    model: HistoryModel,
    cycle: &HistoryCycle,
    columns: usize,
) -> String {
    if let Some((steps, within)) = unrolled(model, cycle) {
        let arrows = arrows(show, model, within, &steps);
        let text = format!(
            "  Under {} this cannot be: {arrows}, and the last operation reads what was overwritten \
             before it.",
            model.name()
        );
        let mut out = format!("\n{}", paragraph(&text, columns, 2));
        push_unrolled(&mut out, show, model, cycle, &steps, columns);
        return out;
    }
    let arrows = arrows(show, model, cycle.within, &cycle.edges);
    let text = format!(
        "  Under {} this cannot be: {arrows}, and together they form a cycle.",
        model.name()
    );
    let mut out = format!("\n{}", paragraph(&text, columns, 2));
    push_cycle(&mut out, show, model, cycle, columns);
    out
}

/// How long what is drawn of a cycle is.
pub(super) fn length(model: HistoryModel, cycle: &HistoryCycle) -> String {
    match unrolled(model, cycle) {
        Some((steps, _)) => {
            format!("a chain of {}", counted(steps.len() as u64 + 1, "operation"))
        }
        None => format!("a cycle of {}", counted(cycle.edges.len() as u64, "step")),
    }
}

/// What the arrows mean.
fn arrows(
    show: &ShowOps<'_>,
    model: HistoryModel,
    within: Within,
    edges: &[HistoryEdge],
) -> String {
    const ARROW: &str = "each arrow means \"comes before\"";
    match (within, model.is_relaxed()) {
        (Within::Local, _) => {
            let var = edges.first().map(|edge| match initial_write_var(edge.from) {
                Some(var) => var,
                None => show.ops.var(edge.from),
            });
            let var = var.map_or("one variable".into(), |var| show.var(var));
            let kept = if model == HistoryModel::Coherence {
                ""
            } else {
                ", which store buffers keep in order"
            };
            format!("{ARROW} among the accesses to {var}{kept}")
        }
        (Within::Global, true) => {
            format!("{ARROW} in memory, where a write counts when it leaves its buffer")
        }
        (Within::Global, false) => ARROW.to_owned(),
    }
}

/// The cycles, or the first of many, one of which appears whatever the order of some writes is.
pub(super) fn conflicts(
    show: &ShowOps<'_>,
    model: HistoryModel,
    pairs: &[(u32, u32)],
    conflicts: &[HistoryCycle],
    columns: usize,
) -> String {
    let name = model.name();
    let arrows = conflicts
        .first()
        .map_or(String::new(), |first| arrows(show, model, first.within, &first.edges));
    let text = format!("  Under {name} this cannot be. These writes have no order yet:");
    let mut out = format!("\n{}", paragraph(&text, columns, 2));
    for (i, &(a, b)) in pairs.iter().enumerate().take(MAX_SHOWN) {
        let pair = format!("  pair {}: {} and {}", i + 1, show.placed(a), show.placed(b));
        out += &paragraph(&pair, columns, 4);
    }
    if pairs.len() > MAX_SHOWN {
        let more = counted((pairs.len() - MAX_SHOWN) as u64, "more pair");
        let _ = writeln!(out, "  and {more}");
    }
    let text = format!("  However they are ordered, one of these cycles appears; {arrows}.");
    out += &paragraph(&text, columns, 2);
    out += &paragraph("  A checked proof says that no order avoids all of them.", columns, 2);
    let most = if conflicts.len() <= ALL_CONFLICTS { ALL_CONFLICTS } else { MAX_CONFLICTS };
    for (i, conflict) in conflicts.iter().enumerate().take(most) {
        let _ = writeln!(out, "\n  Cycle {}:", i + 1);
        push_cycle(&mut out, show, model, conflict, columns);
    }
    if conflicts.len() > most {
        let more = grouped((conflicts.len() - most) as u128);
        let _ = writeln!(out, "\n  and {more} more; --witness writes them all");
    }
    out
}

/// A cycle that closes with a read of an old value, as a path to that read. Such a cycle has one
/// edge that says that a write w' is older than w, because it comes before a read of w; so it goes
/// from w to w' and then on to that read. Also the relation that the path is in. `None` for other
/// cycles.
pub(super) fn unrolled(
    model: HistoryModel,
    cycle: &HistoryCycle,
) -> Option<(Vec<HistoryEdge>, Within)> {
    let older = |edge: &HistoryEdge| match edge.why {
        Why::Derived(index) => derivation(cycle, index).filter(|d| d.rule == Rule::Older),
        _ => None,
    };
    let at = cycle.edges.iter().position(|edge| older(edge).is_some())?;
    let path = older(&cycle.edges[at])?;
    let is_direct = |edge: &HistoryEdge| match edge.why {
        Why::Po | Why::Rf | Why::Rt => true,
        Why::Chosen(_) => false,
        Why::Derived(index) => derivation(cycle, index)
            .is_some_and(|d| matches!(d.rule, Rule::Overtaken { .. }) && is_plain(d)),
    };
    let others = cycle.edges[at + 1..].iter().chain(&cycle.edges[..at]);
    // What a variable holds at the start comes first in both relations.
    let is_start = |edge: &HistoryEdge| initial_write_var(edge.from).is_some();
    let is_one_order =
        path.within == cycle.within || !model.is_relaxed() || others.clone().all(is_start);
    let fits = is_one_order
        && others.clone().all(is_direct)
        && path.path.iter().all(|edge| matches!(edge.why, Why::Po | Why::Rf | Why::Rt))
        && !path.path.is_empty()
        && cycle.edges.len() + path.path.len() <= MAX_SHOWN;
    fits.then(|| (others.chain(&path.path).copied().collect(), path.within))
}

/// The steps of such a path, and what its last operation reads.
fn push_unrolled(
    out: &mut String,
    show: &ShowOps<'_>,
    model: HistoryModel,
    cycle: &HistoryCycle,
    steps: &[HistoryEdge],
    columns: usize,
) {
    let Some(read) = steps.last().map(|last| last.to) else { return };
    let lines = Lines::new(show, steps.iter().map(|edge| edge.from).chain([read]), columns);
    for edge in steps {
        let reason = reason(show, model, cycle, edge, &[]);
        *out += &lines.edge(edge.from, link(cycle, edge), &reason);
    }
    let left = format!("  {}", lines.of(read));
    *out += &beside_each_other(&left, &reads_old(show, read, overwriting(cycle)), columns);
}

/// The write of such a cycle that had overwritten what is read.
pub(super) fn overwriting(cycle: &HistoryCycle) -> Option<u32> {
    cycle.edges.iter().find_map(|edge| match edge.why {
        Why::Derived(index) => {
            derivation(cycle, index).filter(|d| d.rule == Rule::Older).map(|_| edge.from)
        }
        _ => None,
    })
}

/// What a read of an old value reads, and who had overwritten it.
pub(super) fn reads_old(show: &ShowOps<'_>, read: u32, by: Option<u32>) -> String {
    let value = show.cell(show.ops.var(read), show.read(read));
    let by = by.map_or(String::new(), |by| format!(", which {} had overwritten", show.placed(by)));
    format!("reads {value}{by}")
}

/// Operations as they stand below each other, in columns.
struct Lines<'a, 's> {
    show: &'a ShowOps<'s>,
    widths: [usize; 3],
    columns: usize,
}

impl<'a, 's> Lines<'a, 's> {
    fn new(show: &'a ShowOps<'s>, ops: impl Iterator<Item = u32>, columns: usize) -> Lines<'a, 's> {
        let mut lines = Lines { show, widths: [0; 3], columns };
        for op in ops {
            for (widest, text) in lines.widths.iter_mut().zip(Lines::cells(show, op, columns)) {
                *widest = width(&text).max(*widest);
            }
        }
        lines
    }

    fn cells(show: &ShowOps<'_>, op: u32, columns: usize) -> [String; 3] {
        let place = cut(&show.place(op), columns / 4);
        [place, cut(&show.op(op), MAX_OP.min(columns / 3)), show.line(op)]
    }

    /// An operation, and why it comes before the next.
    fn edge(&self, op: u32, link: &str, reason: &str) -> String {
        let left = format!("  {}  -{link}->", self.of(op));
        match width(&left) <= self.columns {
            true => beside_each_other(&left, reason, self.columns),
            false => {
                let right = format!("-{link}->  {reason}");
                beside_each_other(&format!("  {}", self.of(op)), &right, self.columns)
            }
        }
    }

    fn of(&self, op: u32) -> String {
        let cells = Lines::cells(self.show, op, self.columns);
        let padded = cells.iter().zip(self.widths).filter(|&(_, w)| w > 0);
        padded.map(|(text, w)| pad(text, w)).collect::<Vec<_>>().join("  ")
    }
}

fn push_cycle(
    out: &mut String,
    show: &ShowOps<'_>,
    model: HistoryModel,
    cycle: &HistoryCycle,
    columns: usize,
) {
    let marks = marks(cycle);
    let edges = &cycle.edges[..cycle.edges.len().min(MAX_SHOWN)];
    let lines = Lines::new(show, edges.iter().map(|edge| edge.from), columns);
    for edge in edges {
        let reason = reason(show, model, cycle, edge, &marks);
        *out += &lines.edge(edge.from, link(cycle, edge), &reason);
    }
    if cycle.edges.len() > edges.len() {
        let more = counted((cycle.edges.len() - edges.len()) as u64, "more step");
        let _ = writeln!(out, "  ... {more}");
    }
    if let Some(first) = edges.first() {
        let left = format!("  {}", lines.of(first.from));
        *out += &beside_each_other(&left, "(back at the start)", columns);
    }
    for &index in marks.iter().take(MAX_SHOWN) {
        push_derivation(out, show, cycle, index, &marks, columns);
    }
    if marks.len() > MAX_SHOWN {
        let more = counted((marks.len() - MAX_SHOWN) as u64, "more order");
        let text = format!("  and {more} that these follow from; --witness writes them all");
        *out += &paragraph(&text, columns, 2);
    }
}

/// The derivations that need lines of their own, in the order in which they are shown. The place
/// in the list is the mark.
pub(super) fn marks(cycle: &HistoryCycle) -> Vec<u32> {
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
    while let Some(&index) = marks.get(next).filter(|_| next <= MAX_SHOWN) {
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

/// Whether the edge's own line says all: the path is one step of program order, reads-from or real
/// time.
pub(super) fn is_plain(derivation: &Derivation) -> bool {
    matches!(derivation.path[..], [HistoryEdge { why: Why::Po | Why::Rf | Why::Rt, .. }])
}

/// The paper's word for an edge.
pub(super) fn link(cycle: &HistoryCycle, edge: &HistoryEdge) -> &'static str {
    match edge.why {
        Why::Po => "po",
        Why::Rf => "wr",
        Why::Rt => "rt",
        Why::Chosen(_) => "ww",
        Why::Derived(index) => match derivation(cycle, index).map(|d| d.rule) {
            Some(Rule::Overtaken { .. }) => "rw",
            _ => "ww",
        },
    }
}

/// Why an edge of the cycle is there.
pub(super) fn reason(
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
        Why::Rt => {
            // What is not known of an operation itself follows from its neighbours.
            let end = show.ops.times(edge.from).end;
            let start = show.ops.times(edge.to).start;
            match (end, start) {
                (i64::MAX, _) | (_, i64::MIN) => "had ended when the next began".to_owned(),
                _ => format!("ended at {end}, and the next began at {start}"),
            }
        }
        Why::Chosen(literal) => format!("if so ordered, pair {}", literal.unsigned_abs()),
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
    let may_change = model.is_relaxed()
        && within == Within::Global
        && match (kind(edge.from), kind(edge.to)) {
            (OpKind::Write, OpKind::Read) => true,
            (OpKind::Write, OpKind::Write) => {
                matches!(model, HistoryModel::Pso | HistoryModel::PsoOwn)
                    && show.ops.var(edge.from) != show.ops.var(edge.to)
            }
            (OpKind::Write, OpKind::Update) => {
                model == HistoryModel::PsoOwn && show.ops.var(edge.from) != show.ops.var(edge.to)
            }
            _ => false,
        };
    let between = |wanted: OpKind| (edge.from + 1..edge.to).any(|op| kind(op) == wanted);
    match may_change {
        true if between(OpKind::Fence) => ", with a fence in between",
        true if model != HistoryModel::PsoOwn && between(OpKind::Update) => {
            ", with an update in between"
        }
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
    columns: usize,
) {
    let Some(derivation) = derivation(cycle, index) else { return };
    let Some(why) = derived(show, derivation) else { return };
    let end = derivation.path.last().map_or(String::new(), |last| show.placed(last.to));
    let mark = marks.iter().position(|&mark| mark == index).map_or(0, |mark| mark + 1);
    *out += &paragraph(&format!("  ({mark}) {why}:"), columns, 6);
    let mut line = String::new();
    for edge in derivation.path.iter().take(MAX_SHOWN) {
        let mark = |index| marks.iter().position(|&mark| mark == index);
        let reference = match edge.why {
            Why::Derived(index) => mark(index).map_or(String::new(), |at| format!(" ({})", at + 1)),
            Why::Chosen(literal) => format!(" (if so ordered, pair {})", literal.unsigned_abs()),
            Why::Po | Why::Rf | Why::Rt => String::new(),
        };
        let step = format!("{} -{}->{reference} ", show.placed(edge.from), link(cycle, edge));
        if !line.is_empty() && width(&line) + width(&step) + 6 > columns.min(96) {
            *out += &paragraph(&format!("      {}", line.trim_end()), columns, 8);
            line.clear();
        }
        line += &step;
    }
    let rest = derivation.path.len().saturating_sub(MAX_SHOWN);
    let more = if rest > 0 { format!("... {rest} more ... ") } else { String::new() };
    *out += &paragraph(&format!("      {line}{more}{end}"), columns, 8);
}

/// Why an order follows from others.
pub(super) fn derived(show: &ShowOps<'_>, derivation: &Derivation) -> Option<String> {
    let (first, last) = (derivation.path.first()?, derivation.path.last()?);
    let (start, end) = (show.placed(first.from), show.placed(last.to));
    Some(match derivation.rule {
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
    })
}
