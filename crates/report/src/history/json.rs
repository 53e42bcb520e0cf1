//! Answers about histories as JSON lines.

use weakspot_core::{
    HistoryCycle, HistoryEdge, HistoryEvidence, HistoryModel, HistoryStep, Names, Rule, Verdict,
    Why, Within, initial_write_var,
};

use super::cycle::link;
use super::{HistoryAnswer, HistoryPart, ShowOps};
use crate::json::{Object, certified_json, error_json, push_string, verdict_key};
use crate::text::limit::limit_json;

/// Longer runs are only in witness files.
const MAX_ORDER: usize = 1_000;
/// Longer cycles, too.
const MAX_CYCLE: usize = 1_000;

/// The answer as a JSON object on one line.
#[must_use]
pub fn history_json(a: &HistoryAnswer<'_>) -> String {
    let show = ShowOps { ops: a.ops, names: a.names, lines: a.lines, followed: a.followed };
    let mut o = Object::new();
    o.string("file", a.file).string("question", "history");
    match a.id {
        Some(id) => o.string("id", id),
        None => o.raw("id", "null"),
    };
    o.raw("number", a.number.unwrap_or(1));
    o.string("model", a.model.key()).string("verdict", verdict_key(a.verdict));
    o.raw("certified", certified_json(a.certification));
    if let Verdict::Unknown(limit) = a.verdict {
        o.raw("limit", limit_json(limit, Some(&Names::default()))).raw("explored", a.explored);
    }
    match a.followed {
        None => {
            o.raw("operations", a.ops.len()).raw("threads", a.ops.threads());
            o.raw("variables", a.ops.vars());
        }
        Some(f) => {
            o.raw("operations", f.operations).raw("threads", f.threads);
            o.raw("variables", f.variables).raw("window", f.window).raw("left_out", f.left_out);
        }
    }
    if !matches!(a.verdict, Verdict::Unknown(_)) {
        o.string("decided_by", a.decided_by);
    }
    if let Some(model) = a.implied_by {
        o.string("implied_by", model.key());
    }
    match a.evidence {
        Some(HistoryEvidence::Linear { store_order, steps }) => {
            o.raw("steps", steps.len());
            if steps.len() <= MAX_ORDER {
                push_run(&mut o, &show, store_order, steps);
            } else {
                o.raw("order", "null");
            }
        }
        Some(HistoryEvidence::Cycle(cycle)) => push_cycle(&mut o, &show, cycle),
        Some(HistoryEvidence::Refuted { pairs, conflicts, proof }) => {
            o.raw("pairs", pairs.len()).raw("conflicts", conflicts.len());
            o.raw("proof_steps", proof.len());
            if let Some(first) = conflicts.first() {
                push_cycle(&mut o, &show, first);
            }
        }
        Some(HistoryEvidence::ByDefinition) => {
            o.raw("by_definition", "true");
        }
        None => {}
    }
    if let Some(part) = a.minimal {
        o.raw("minimal", minimal(&show, part));
    }
    if !a.notes.is_empty() {
        let list = o.key("notes");
        list.push('[');
        for (i, note) in a.notes.iter().enumerate() {
            list.push_str(if i == 0 { "" } else { "," });
            push_string(list, note);
        }
        list.push(']');
    }
    o.raw("time_s", format_args!("{:.6}", a.time.as_secs_f64()));
    o.end()
}

/// The line for a history, or a file of histories, that could not be answered for. `kind` says
/// whether it is the text or the values that are wrong.
#[must_use]
pub fn history_error_json(
    file: &str,
    model: HistoryModel,
    message: &str,
    place: Option<(usize, usize)>,
    kind: Option<&str>,
) -> String {
    let mut line = error_json(file, "history", Some(model.key()), message, place);
    if let Some(kind) = kind {
        line.truncate(line.len() - 1);
        line += ",\"kind\":";
        push_string(&mut line, kind);
        line.push('}');
    }
    line
}

fn push_run(o: &mut Object, show: &ShowOps<'_>, store_order: &[Vec<u32>], steps: &[HistoryStep]) {
    let order = o.key("order");
    order.push('[');
    for (i, step) in steps.iter().enumerate() {
        order.push_str(if i == 0 { "" } else { "," });
        let (HistoryStep::Issue(op) | HistoryStep::Commit(op)) = *step;
        let mut s = Object::new();
        s.raw("thread", show.thread_of(op)).raw("index", show.index(op));
        if let HistoryStep::Commit(_) = step {
            s.raw("commit", "true");
        }
        order.push_str(&s.end());
    }
    order.push(']');
    let mut vars = Object::new();
    for (var, writes) in store_order.iter().enumerate() {
        let list: Vec<String> = writes.iter().map(|&w| pair(show, w)).collect();
        // Names as the file has them, not as a terminal may see them.
        let name = show.names.vars.get(var).map_or("", String::as_str);
        vars.raw(name, format_args!("[{}]", list.join(",")));
    }
    o.raw("store_order", vars.end());
}

/// `[thread, index]`.
fn pair(show: &ShowOps<'_>, op: u32) -> String {
    format!("[{},{}]", show.thread_of(op), show.index(op))
}

fn push_cycle(o: &mut Object, show: &ShowOps<'_>, cycle: &HistoryCycle) {
    let length = cycle.edges.len() + cycle.derivations.iter().map(|d| d.path.len()).sum::<usize>();
    o.raw("length", cycle.edges.len());
    if length > MAX_CYCLE {
        o.raw("cycle", "null");
        return;
    }
    o.raw("cycle", path(show, cycle, &cycle.edges)).string("within", within(cycle.within));
    let mut list = Vec::new();
    for derivation in &cycle.derivations {
        let mut d = Object::new();
        match derivation.rule {
            Rule::Older => d.string("rule", "older"),
            Rule::Overtaken { read } => {
                d.string("rule", "overtaken").raw("read", operation(show, read))
            }
            Rule::Ordered => d.string("rule", "ordered"),
        };
        d.string("within", within(derivation.within));
        d.raw("path", path(show, cycle, &derivation.path));
        list.push(d.end());
    }
    o.raw("derivations", format_args!("[{}]", list.join(",")));
}

fn within(within: Within) -> &'static str {
    match within {
        Within::Global => "global",
        Within::Local => "local",
    }
}

fn path(show: &ShowOps<'_>, cycle: &HistoryCycle, edges: &[HistoryEdge]) -> String {
    let one = |edge: &HistoryEdge| {
        let mut e = Object::new();
        e.raw("from", operation(show, edge.from)).string("link", link(cycle, edge));
        e.raw("to", operation(show, edge.to));
        match edge.why {
            Why::Derived(index) => e.raw("derivation", index),
            Why::Chosen(_) => e.raw("assumed", "true"),
            Why::Po | Why::Rf => &mut e,
        };
        e.end()
    };
    let edges: Vec<String> = edges.iter().map(one).collect();
    format!("[{}]", edges.join(","))
}

fn operation(show: &ShowOps<'_>, op: u32) -> String {
    let mut o = Object::new();
    match initial_write_var(op) {
        Some(var) => {
            let name = show.names.vars.get(var as usize).map_or("", String::as_str);
            o.string("initial", name);
        }
        None => {
            o.raw("thread", show.thread_of(op)).raw("index", show.index(op));
            o.string("op", &show.op(op));
            if let Some(line) = show.lines.get(op as usize) {
                o.raw("line", line);
            }
        }
    }
    o.end()
}

fn minimal(show: &ShowOps<'_>, part: &HistoryPart) -> String {
    let kept: Vec<String> = part.kept.iter().map(|&op| pair(show, op)).collect();
    let mut o = Object::new();
    o.raw("operations", format_args!("[{}]", kept.join(",")));
    let history = if part.json.is_empty() { "null" } else { &part.json };
    o.raw("history", history).raw("is_minimal", part.is_minimal);
    o.end()
}
