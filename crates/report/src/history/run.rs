//! A run that does what a history says.

use std::fmt::Write;

use weakspot_core::{
    History, HistoryCycle, HistoryEdge, HistoryModel, HistoryStep, OpKind, Rule, Why,
    initial_write_var,
};

use super::ShowOps;
use super::cycle::{derived, is_plain, marks, overwriting, reads_old, reason, unrolled};
use crate::run::object::{Run, RunArc, RunLocation, RunStep, RunThread, RunValue, StepKind, cell};
use crate::text::table::{Paint, Row, Style, draw};

/// Runs with more steps are not drawn.
const MAX_STEPS: usize = 40;
/// The initial values of so many variables are drawn.
const MAX_VARS: usize = 12;

/// How many steps a run has if a write that reaches memory at once is one.
pub(super) fn length(ops: &History, steps: &[HistoryStep]) -> usize {
    let at_once = |pair: &&[HistoryStep]| {
        let op = pair[0].op();
        **pair == [HistoryStep::issue(op), HistoryStep::commit(op)]
            && (op as usize) < ops.len()
            && ops.kind(op) == OpKind::Write
    };
    steps.len() - steps.windows(2).filter(at_once).count()
}

/// The run that a history has by these steps; `None` if they are not its steps.
pub(super) fn of_steps(
    show: &ShowOps<'_>,
    model: HistoryModel,
    steps: &[HistoryStep],
) -> Option<Run> {
    if steps.iter().any(|step| step.op() as usize >= show.ops.len()) {
        return None;
    }
    let mut run = empty(show, model);
    let buffers = steps.iter().any(|step| step.is_commit());
    for (i, step) in steps.iter().enumerate() {
        let n = i as u64 + 1;
        let op = step.op();
        let step = match step.is_commit() {
            false => {
                let mut step = operation(show, n, op);
                let waits = buffers && step.kind == StepKind::Store;
                step.effect = (!waits).then_some(n);
                step
            }
            true => {
                let is_store = |other: &HistoryStep| *other == HistoryStep::issue(op);
                let store = steps[..i].iter().rposition(is_store);
                if let Some(store) = store {
                    run.steps[store].effect = Some(n);
                }
                let of = store.map(|store| store as u64 + 1);
                RunStep { kind: StepKind::Commit, of, ..operation(show, n, op) }
            }
        };
        run.steps.push(step);
    }
    Some(run)
}

/// The operations on a cycle, and why each of them comes before the next; as relations what that follows from.
pub(super) fn of_cycle(show: &ShowOps<'_>, model: HistoryModel, cycle: &HistoryCycle) -> Run {
    let mut run = empty(show, model);
    let arc = |edge: &HistoryEdge| arc(show, model, cycle, edge);
    if let Some((steps, _)) = unrolled(model, cycle)
        && let (Some(by), Some(read)) = (overwriting(cycle), steps.last().map(|last| last.to))
    {
        // What was read came before what had overwritten it, which came before the read.
        let (before, after) = steps.split_at(cycle.edges.len() - 1);
        run.cycle = after.iter().map(&arc).collect();
        let why = reads_old(show, read, Some(by));
        run.cycle.push(RunArc { from: number(read), to: number(by), edge: "fr", why });
        run.relations = before.iter().map(&arc).collect();
        let source = before.first().map(|edge| edge.from).filter(|&op| number(op) > 0);
        run.relations.extend(source.map(|source| {
            let value = show.cell(show.ops.var(read), show.read(read));
            let why = format!("wrote {value}, which {} reads", show.placed(read));
            RunArc { from: number(source), to: number(read), edge: "rf", why }
        }));
    } else {
        run.cycle = cycle.edges.iter().map(&arc).collect();
        for index in marks(cycle).into_iter().take(MAX_STEPS) {
            let path = cycle.derivations.get(index as usize).map_or(&[][..], |d| &d.path);
            for arc in path.iter().map(&arc) {
                if !run.cycle.contains(&arc) && !run.relations.contains(&arc) {
                    run.relations.push(arc);
                }
            }
        }
    }
    // What variables hold at the start is no step.
    let arcs = run.cycle.iter().chain(&run.relations);
    let mut ops: Vec<u64> = arcs.flat_map(|arc| [arc.from, arc.to]).filter(|&n| n > 0).collect();
    ops.sort_unstable();
    ops.dedup();
    run.steps = ops.iter().map(|&n| operation(show, n, (n - 1) as u32)).collect();
    run
}

/// The number of the step that an operation is; what a variable holds at the start is none.
fn number(op: u32) -> u64 {
    if initial_write_var(op).is_some() { 0 } else { u64::from(op) + 1 }
}

/// Why one operation comes before another, in a word and in full.
fn arc(
    show: &ShowOps<'_>,
    model: HistoryModel,
    cycle: &HistoryCycle,
    edge: &HistoryEdge,
) -> RunArc {
    let derivation = match edge.why {
        Why::Derived(index) => cycle.derivations.get(index as usize),
        _ => None,
    };
    let relation = match edge.why {
        Why::Po => "po",
        Why::Rt => "rt",
        Why::Rf => "rf",
        Why::Chosen(_) => "co",
        Why::Derived(_) => match derivation.map(|d| d.rule) {
            Some(Rule::Overtaken { .. }) => "fr",
            _ => "co",
        },
    };
    let because = derivation.filter(|d| !is_plain(d)).and_then(|d| derived(show, d));
    let why = because.unwrap_or_else(|| reason(show, model, cycle, edge, &[]));
    RunArc { from: number(edge.from), to: number(edge.to), edge: relation, why }
}

/// A run of a history without its steps.
fn empty(show: &ShowOps<'_>, model: HistoryModel) -> Run {
    let mut run = Run::new(model.key());
    run.threads = (0..show.ops.threads()).map(|t| RunThread::new(show.thread(t))).collect();
    for var in 0..show.ops.vars() as u32 {
        let name = show.var(var).into_owned();
        run.locations.push(RunLocation::new(name.clone()));
        run.init.push((name, RunValue::Number(show.initial(var))));
    }
    run
}

fn operation(show: &ShowOps<'_>, n: u64, op: u32) -> RunStep {
    let kind = match show.ops.kind(op) {
        OpKind::Read => StepKind::Load,
        OpKind::Write => StepKind::Store,
        OpKind::Update => StepKind::Update,
        OpKind::Fence => StepKind::Fence,
    };
    let mut step = RunStep::new(n, show.ops.thread_of(op), kind);
    step.text = Some(show.op(op));
    step.line = show.lines.get(op as usize).map(|&line| line.into());
    if kind == StepKind::Fence {
        return step;
    }
    let read = || RunValue::Number(show.read(op));
    step.location = Some(show.var(show.ops.var(op)).into_owned());
    (step.value, step.old) = match kind {
        StepKind::Load => (Some(read()), None),
        StepKind::Update => (Some(RunValue::Number(show.written(op))), Some(read())),
        _ => (Some(RunValue::Number(show.written(op))), None),
    };
    step
}

/// The run with a column per thread, if it is short.
pub(super) fn drawing(
    show: &ShowOps<'_>,
    model: HistoryModel,
    steps: &[HistoryStep],
    style: Style,
) -> String {
    if steps.is_empty() || steps.len() > MAX_STEPS {
        return String::new();
    }
    let Some(run) = of_steps(show, model, steps) else { return String::new() };
    let has_ops = |&thread: &usize| !show.ops.of_thread(thread).is_empty();
    let threads: Vec<usize> = (0..run.threads.len()).filter(has_ops).collect();
    let row = |step: &RunStep| {
        // A write that reaches memory at once is one line.
        let at_once = step.effect.is_some_and(|effect| effect <= step.n + 1);
        let body = match step.kind {
            StepKind::Store if !at_once => "waits in the buffer",
            StepKind::Commit => "reaches memory",
            _ => "",
        };
        let writes = match step.kind {
            StepKind::Store => at_once,
            StepKind::Update => true,
            StepKind::Commit if step.of == step.n.checked_sub(1) => return None,
            kind => kind == StepKind::Commit,
        };
        Some(Row {
            column: threads.iter().position(|&t| t == step.thread).unwrap_or(0),
            head: step.text.clone().unwrap_or_default(),
            site: None,
            source: None,
            body: if body.is_empty() { Vec::new() } else { vec![body.to_owned()] },
            memory: if writes { step.cell() } else { String::new() },
            marked: !body.is_empty(),
        })
    };
    let rows: Vec<Row> = run.steps.iter().filter_map(row).collect();
    let names: Vec<String> = threads.iter().map(|&t| run.thread(t).to_owned()).collect();
    let initial: Vec<String> =
        run.init.iter().map(|(name, value)| cell(name, Some(value))).collect();
    let initial = if initial.len() > MAX_VARS { &[] } else { initial.as_slice() };
    let mut out = String::from("\n");
    let columns = style.indented(2).width;
    for line in draw(&names, initial, &rows, Paint(style.color), columns).lines() {
        let _ = writeln!(out, "  {line}");
    }
    out
}
