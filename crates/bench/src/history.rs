//! `weakspot bench history`: the figures of section 5 of "Gradual Consistency Checking", and on to
//! millions of operations.

mod shares;
mod task;

use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};
use weakspot_args::{BenchHistoryArgs, HistoryTable};
use weakspot_core::HistoryModel;
use weakspot_gen::Source;
use weakspot_report::{Axis, Mark, Panel, Plot, Rows};

use crate::spread::percent_text;
use crate::tables::{Measured, Tables};
pub use task::run as cell;
use task::{Cell, Origin, Shape, Task, Way};

/// One table after the other, and a drawing of the times.
///
/// # Errors
///
/// A history cannot be checked, or an end was asked for.
pub fn run(args: &BenchHistoryArgs, tables: &mut Tables<'_>) -> Result<Measured> {
    let mut all = Vec::new();
    for &table in HistoryTable::ALL.iter().filter(|t| args.tables.contains(t)) {
        match table {
            HistoryTable::Pairs => shares::pairs(args, tables)?,
            HistoryTable::Caught => shares::caught(args, tables)?,
            _ => all.push((table, times(table, args, tables)?)),
        }
    }
    Ok(Measured { plot: Some(plot(&all, args.timeout)), errors: Vec::new() })
}

/// How many histories stand behind a cell of small ones.
fn sample(args: &BenchHistoryArgs) -> u64 {
    if args.quick { 4 } else { 20 }
}

/// Threads and operations of wide histories, all of which are SC.
const WIDE: [(usize, usize); 4] =
    [(64, 500_000), (500, 100_000), (1_000, 100_000), (2_000, 100_000)];

/// Processor seconds of wide histories before a run of them was found from a guess, where they
/// were measured.
fn before(task: &Task) -> Option<&'static str> {
    use HistoryModel::{Cc, Ccm, Ccv, Sc, Tso};
    Some(match (task.shape.cpus, task.shape.operations, task.model) {
        (64, 500_000, Cc) => "0.68",
        (64, 500_000, Sc) => "18.3",
        (64, 500_000, Tso) => "4.5",
        (500, 100_000, Cc) => "1.14",
        (500, 100_000, Ccv) => "1.01",
        (500, 100_000, Sc) => "37.2",
        (500, 100_000, Tso) => "15.6",
        (1_000, 100_000, Cc) => "1.57",
        (1_000, 100_000, Ccm) => "6.3",
        (1_000, 100_000, Sc) => "> 40",
        (2_000, 100_000, Sc | Tso) => "unknown",
        _ => return None,
    })
}

/// The cells of a table of times, by rising size.
fn tasks(table: HistoryTable, args: &BenchHistoryArgs) -> Vec<Task> {
    use HistoryModel::{Cc, Ccm, Ccv, Pso, Sc, Tso, Wccm};
    let mut tasks = Vec::new();
    let mut add = |shape: Shape, models: &[HistoryModel], ways: &[Way]| {
        let count = match shape.operations {
            ..=2_000 => sample(args),
            2_001..=10_000 => 4,
            _ => 1,
        };
        for &model in models {
            let origin = match (shape.origin, model) {
                (Origin::Machine(_), Pso) => Origin::Machine(Source::Pso),
                (Origin::Machine(_), Tso) => Origin::Machine(Source::Tso),
                (origin, _) => origin,
            };
            let shape = Shape { origin, ..shape };
            tasks.extend(ways.iter().map(|&way| Task { shape, count, model, way }));
        }
    };
    let protocols = Shape { origin: Origin::Protocols, cpus: 4, operations: 0, variables: 10 };
    let machine = Shape { origin: Origin::Machine(Source::Atomic), ..protocols };
    match table {
        HistoryTable::Operations => {
            let mut sizes = vec![100, 200, 300, 400, 500, 1_000, 10_000];
            sizes.extend((!args.quick).then_some([100_000, 1_000_000]).into_iter().flatten());
            sizes.extend(args.large.then_some(10_000_000));
            for operations in sizes {
                add(Shape { operations, ..protocols }, &[Sc, Tso], &Way::ALL);
            }
        }
        HistoryTable::Cpus => {
            for cpus in [2, 3, 4, 5, 6, 8, 16, 32] {
                add(Shape { cpus, operations: 50 * cpus, ..protocols }, &[Sc, Tso], &Way::ALL);
            }
        }
        HistoryTable::Violations => {
            for cpus in 2..=8 {
                let shape =
                    Shape { origin: Origin::Bugs, cpus, operations: 50 * cpus, ..protocols };
                add(shape, &[Sc], &Way::ALL);
            }
        }
        HistoryTable::Threads => {
            let operations = if args.quick { 10_000 } else { 100_000 };
            for cpus in [2, 4, 8, 16, 32] {
                add(Shape { cpus, operations, ..machine }, &[Sc, Tso, Pso, Cc], &[Way::Auto]);
            }
        }
        HistoryTable::Shapes => {
            let sizes = if args.quick { &[10_000][..] } else { &[100_000, 1_000_000] };
            for &operations in sizes {
                for cpus in [4, 8, 16, 32] {
                    for variables in [10, 200, 1_000] {
                        let shape = Shape { cpus, operations, variables, ..machine };
                        add(shape, &[Sc, Tso, Pso, Cc], &[Way::Auto]);
                    }
                }
            }
        }
        HistoryTable::Wide => {
            for (cpus, operations) in WIDE {
                let operations = if args.quick { operations / 10 } else { operations };
                let shape = Shape { cpus, operations, variables: 1_000, ..machine };
                let models = [Cc, Ccv, Ccm, Wccm, Sc, Tso];
                tasks.extend(models.map(|model| Task { shape, count: 1, model, way: Way::Auto }));
            }
        }
        HistoryTable::Pairs | HistoryTable::Caught => {}
    }
    tasks
}

/// Measures a table of times. What was not done at one size is not tried at a larger one.
fn times(
    table: HistoryTable,
    args: &BenchHistoryArgs,
    tables: &mut Tables<'_>,
) -> Result<Vec<(Task, Cell)>> {
    let mut lines = Rows::new(tables.format);
    tables.text(format_args!(
        "{}\n\n {:5} {:5} {:13} {:23} {:>9} {:>4} {:>7} {:>6}\n",
        title(table),
        "model",
        "way",
        "verdict",
        match table {
            HistoryTable::Wide => "decided by    before, s",
            _ => "decided by",
        },
        "ms each",
        "±",
        "ns/op",
        "MiB"
    ))?;
    let mut rows: Vec<(Task, Cell)> = Vec::new();
    for task in tasks(table, args) {
        let is_same = |other: &Task| (other.model, other.way) == (task.model, task.way);
        if rows.iter().any(|(other, cell)| is_same(other) && !cell.done)
            && !matches!(table, HistoryTable::Shapes | HistoryTable::Wide)
        {
            continue;
        }
        let cell = task::measure(tables, &task, args.timeout)?;
        let is_next = rows.last().is_none_or(|(last, _)| last.shape != task.shape);
        let shape = if is_next { shape_text(&task) } else { String::new() };
        let text = || shape + &row_text(table, &task, &cell);
        tables.row(&mut lines, text, || row_json(table, &task, &cell))?;
        rows.push((task, cell));
    }
    tables.note(format_args!("{}", legend(table, args.timeout)))?;
    tables.text(format_args!("\n"))?;
    Ok(rows)
}

/// What stands above the rows of histories of one shape.
fn shape_text(task: &Task) -> String {
    let Task { shape, count, .. } = task;
    format!(
        "{} CPUs, {} operations, {} variables; {count} {} of {}\n",
        shape.cpus,
        shape.operations,
        shape.variables,
        if *count == 1 { "history" } else { "histories" },
        shape.origin.key(),
    )
}

fn row_text(table: HistoryTable, task: &Task, cell: &Cell) -> String {
    let Task { shape, model, way, .. } = task;
    let verdict = match (cell.holds, cell.violated) {
        (holds, violated) if !cell.done => format!("time, {} done", holds + violated),
        (_, 0) => "holds".to_owned(),
        (0, _) => "violated".to_owned(),
        (_, violated) => format!("{violated} violated"),
    };
    let mut stages = cell.decided_by.replace(',', ", ").replace(':', " ");
    if table == HistoryTable::Wide {
        stages = format!("{stages:13} {:>9}", before(task).unwrap_or_default());
    }
    let number = |x: Option<f64>, digits| x.map_or("-".to_owned(), |x| format!("{x:.digits$}"));
    let each = cell.each();
    format!(
        " {:5} {:5} {verdict:13} {stages:23} {:>9} {:>4} {:>7} {:>6}\n",
        model.key(),
        way.key(),
        number(each.map(|s| s * 1e3), 3),
        percent_text(cell.spread()),
        number(each.map(|s| s * 1e9 / shape.operations as f64), 0),
        number(cell.peak.map(|bytes| bytes as f64 / f64::from(1 << 20)), 1),
    )
}

fn row_json(table: HistoryTable, task: &Task, cell: &Cell) -> Value {
    let Task { shape, count, model, way } = task;
    json!({
        "table": table.key(), "cpus": shape.cpus, "operations": shape.operations,
        "variables": shape.variables, "histories": count, "source": shape.origin.key(),
        "model": model.key(), "way": way.key(), "done": cell.done, "holds": cell.holds,
        "violated": cell.violated, "decided_by": cell.decided_by, "cpu_s": cell.each(),
        "spread_percent": cell.spread(), "peak_bytes": cell.peak,
        "before": before(task).filter(|_| table == HistoryTable::Wide),
    })
}

/// A panel per table and model with a line per way, or, where there is only one way, a line per
/// model.
fn plot(all: &[(HistoryTable, Vec<(Task, Cell)>)], timeout: Duration) -> Plot {
    const MODELS: [(HistoryModel, &str); 4] = [
        (HistoryModel::Sc, "SC"),
        (HistoryModel::Tso, "TSO"),
        (HistoryModel::Pso, "PSO"),
        (HistoryModel::Cc, "CC"),
    ];
    let mark = |series: usize, x: usize, cell: &Cell| Mark {
        series,
        x,
        seconds: cell.each().filter(|_| cell.done),
        spread: cell.each_in_rounds().filter(|_| cell.done),
    };
    let mut panels = Vec::new();
    for (table, rows) in all {
        let x = |task: &Task| match table {
            HistoryTable::Operations => task.shape.operations,
            _ => task.shape.cpus,
        };
        match table {
            HistoryTable::Operations | HistoryTable::Cpus | HistoryTable::Violations => {
                for (model, name) in MODELS {
                    let points: Vec<Mark> = (rows.iter())
                        .filter(|(task, _)| task.model == model)
                        .map(|(task, cell)| mark(task.way as usize, x(task), cell))
                        .collect();
                    if !points.is_empty() {
                        let title = format!("{name}, {}", axis(*table));
                        panels.push(Panel { title, axis: Axis::Size, points });
                    }
                }
            }
            HistoryTable::Threads => {
                let series = |model| MODELS.iter().position(|(m, _)| *m == model).unwrap_or(0);
                let point = |(task, cell): &(Task, Cell)| {
                    mark(Way::ALL.len() + series(task.model), x(task), cell)
                };
                let points = rows.iter().map(point).collect();
                let title = axis(*table).to_owned();
                panels.push(Panel { title, axis: Axis::Size, points });
            }
            HistoryTable::Shapes
            | HistoryTable::Wide
            | HistoryTable::Pairs
            | HistoryTable::Caught => {}
        }
    }
    let ways = ["auto", "with SAT", "with enumeration", "plain SAT"];
    let series = ways.into_iter().map(str::to_owned);
    let series = series.chain(MODELS.iter().map(|(_, name)| format!("{name}, auto"))).collect();
    let title = "CPU time per history".to_owned();
    Plot { title, series, limit: timeout.as_secs_f64(), panels }
}

/// What a table shows, as a line above it.
fn title(table: HistoryTable) -> &'static str {
    match table {
        HistoryTable::Operations => "Time against operations (figures 4a and 6a, and on)",
        HistoryTable::Cpus => "Time against CPUs (figures 4b and 6b, and on)",
        HistoryTable::Violations => "Time for histories of protocols with bugs (figure 5)",
        HistoryTable::Threads => "Time against threads",
        HistoryTable::Shapes => "Large histories",
        HistoryTable::Wide => "Many threads times many variables, histories that are SC",
        HistoryTable::Pairs => "Pairs of writes to one variable that are left open, in percent",
        HistoryTable::Caught => "Violations that weaker models catch, in percent",
    }
}

/// What runs to the right in the plot.
fn axis(table: HistoryTable) -> &'static str {
    match table {
        HistoryTable::Operations => "N operations, 4 CPUs",
        HistoryTable::Cpus => "N CPUs with 50 operations each",
        HistoryTable::Violations => "N CPUs with 50 operations each, bugs",
        HistoryTable::Threads => "N threads, all with the same operations",
        HistoryTable::Shapes | HistoryTable::Wide | HistoryTable::Pairs | HistoryTable::Caught => {
            ""
        }
    }
}

fn legend(table: HistoryTable, timeout: Duration) -> String {
    format!(
        "ms each, ns/op: processor time of the check alone, per history and per operation, the median of \
         several rounds if they are short; ±: from the fastest to the slowest, in percent of it, `-` if there was \
         one; MiB: at most, of the process while it checks, history included. A cell has {} s for all its \
         histories{}.",
        timeout.as_secs_f64(),
        match table {
            HistoryTable::Shapes => "",
            HistoryTable::Wide => ". before, s: an earlier measurement",
            _ => "; what was not done is not tried at larger sizes",
        }
    )
}
