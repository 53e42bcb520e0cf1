//! What monitors found in the SC executions of programs: the papers' table, one line per program,
//! then each pair of a store and an access that can overtake it; and the same as JSON.

use std::fmt::Write;
use std::time::Duration;

use weakspot_core::machine::Schedule;
use weakspot_core::{Instr, Limit, Model, Names, PlaceEdge, Program, Verdict};

use crate::json::{Object, model_key, verdict_key};
use crate::run::drawing::draw;
use crate::text::limit::{limit_json, limit_text};
use crate::text::show::{Show, clip, counted, grouped, plain};
use crate::text::table::{pad, width};

/// The answer for one program under one model.
#[derive(Clone, Copy, Debug)]
pub struct ProgramMonitorAnswer<'a> {
    /// The file as the user named it.
    pub file: &'a str,
    /// The program.
    pub program: &'a Program,
    /// What its parts are called.
    pub names: &'a Names,
    /// Its text.
    pub source: &'a str,
    /// The model asked about.
    pub model: Model,
    /// Violated if there are pairs.
    pub verdict: &'a Verdict,
    /// Why there may be more pairs than were found.
    pub limit: Option<&'a Limit>,
    /// The pairs.
    pub pairs: &'a [MonitorPair],
    /// A run under the model for the first pair.
    pub run: Option<&'a Schedule>,
    /// Which executions were monitored.
    pub monitored: Monitored,
    /// How long it took.
    pub time: Duration,
}

/// A store and an access of another thread that can overtake it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MonitorPair {
    /// The store.
    pub store: PlaceEdge,
    /// The access.
    pub access: PlaceEdge,
    /// What the thread of the access did just before.
    pub previous: Option<PlaceEdge>,
    /// How often it was reported, if executions were monitored one by one.
    pub count: Option<u64>,
}

/// Which executions were monitored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Monitored {
    /// All of them.
    All {
        /// How many there are.
        interleavings: Counted,
        /// States that the search visited.
        states: u64,
    },
    /// Those with at most so many preemptions.
    Preemptions {
        /// How many preemptions.
        bound: u32,
        /// The executions.
        executions: Executions,
    },
    /// Random ones.
    Random {
        /// The seed.
        seed: u64,
        /// The executions.
        executions: Executions,
    },
}

/// A number of executions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Exactly as many.
    Exactly(u128),
    /// There are executions without end.
    Endless,
    /// Too many states to count them.
    NotCounted,
}

/// Executions that were monitored one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Executions {
    /// How many.
    pub count: u64,
    /// How many of them showed a violation.
    pub violating: u64,
    /// How many were cut off because they were too long.
    pub cut_off: u64,
    /// After how many steps.
    pub most_steps: usize,
    /// The events of all of them.
    pub events: u64,
    /// Threads that waited in a loop were put off until memory changed.
    pub waited: bool,
}

/// Nobody reads drawings of more steps.
const MOST_DRAWN: usize = 1_000;

/// One line of the table.
#[derive(Clone, Debug)]
pub struct MonitorRow {
    /// The program.
    pub name: String,
    /// Which executions were monitored.
    pub monitored: Monitored,
    /// Whether that is all of what was asked for.
    pub complete: bool,
    /// How long it took.
    pub time: Duration,
    /// Per model how many distinct pairs were found, and how many executions showed one.
    pub found: Vec<(Model, usize, u64)>,
}

impl Monitored {
    /// The executions, if they were monitored one by one.
    #[must_use]
    pub fn executions(&self) -> Option<&Executions> {
        match self {
            Monitored::All { .. } => None,
            Monitored::Preemptions { executions, .. } | Monitored::Random { executions, .. } => {
                Some(executions)
            }
        }
    }
}

/// The table: interleavings, time, distinct violations under each model.
#[must_use]
pub fn monitor_table(rows: &[MonitorRow]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let random = matches!(first.monitored, Monitored::Random { .. });
    let mut head = vec!["program".to_owned(), "interleavings".to_owned(), "time (s)".to_owned()];
    if random {
        head.push("length".to_owned());
    }
    for (model, ..) in &first.found {
        head.push(format!("violations {model}"));
        if random {
            head.push(format!("executions {model}"));
        }
    }
    let mut lines = vec![head];
    for row in rows {
        let mut line = vec![
            plain(&row.name).into_owned(),
            interleavings(row),
            format!("{:.3}", row.time.as_secs_f64()),
        ];
        if let (true, Some(executions)) = (random, row.monitored.executions()) {
            line.push(format!("{:.1}", average(executions)));
        }
        for &(_, pairs, executions) in &row.found {
            line.push(format!("{pairs}{}", if row.complete { "" } else { "+" }));
            if random {
                line.push(grouped(executions.into()));
            }
        }
        lines.push(line);
    }
    columns(&lines)
}

fn interleavings(row: &MonitorRow) -> String {
    match row.monitored {
        Monitored::All { interleavings, .. } => match interleavings {
            Counted::Exactly(u128::MAX) => "more than 10^38".to_owned(),
            Counted::Exactly(n) => format!("{} (all)", grouped(n)),
            Counted::Endless => "without end (loops)".to_owned(),
            Counted::NotCounted => "not counted".to_owned(),
        },
        Monitored::Preemptions { executions, .. } | Monitored::Random { executions, .. } => {
            grouped(executions.count.into())
        }
    }
}

fn average(executions: &Executions) -> f64 {
    executions.events as f64 / executions.count.max(1) as f64
}

/// Lines of cells as columns, the first to the left and the others to the right.
fn columns(lines: &[Vec<String>]) -> String {
    let cells = lines.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |i: usize| lines.iter().filter_map(|l| l.get(i)).map(|c| width(c)).max();
    let widths: Vec<usize> = (0..cells).map(|i| widest(i).unwrap_or(0)).collect();
    let mut out = String::new();
    for line in lines {
        for (i, (cell, &wide)) in line.iter().zip(&widths).enumerate() {
            let blanks = " ".repeat(wide.saturating_sub(width(cell)));
            let _ = match i {
                0 => write!(out, "{}", pad(cell, wide)),
                _ => write!(out, "  {blanks}{cell}"),
            };
        }
        out.push('\n');
    }
    out
}

/// What was found: a line that says it, and, with `details`, each pair, and a run for the first.
#[must_use]
pub fn program_monitor_text(a: &ProgramMonitorAnswer<'_>, details: bool, color: bool) -> String {
    let mut out = String::new();
    let show = Show { program: a.program, names: a.names, source: a.source };
    let _ = writeln!(out, "{} {} {}", plain(&a.names.program), a.model, summary(a));
    if !details || a.pairs.is_empty() {
        return out;
    }
    let mut lines = vec![vec![
        "  store".to_owned(),
        "can be preceded by".to_owned(),
        "which follows".to_owned(),
        "reports".to_owned(),
    ]];
    for pair in a.pairs {
        let mut line = vec![
            format!("  {}", place_text(show, pair.store)),
            place_text(show, pair.access),
            pair.previous.map_or("-".to_owned(), |p| place_text(show, p)),
        ];
        line.extend(pair.count.map(|count| grouped(count.into())));
        lines.push(line);
    }
    if a.pairs.iter().all(|p| p.count.is_none()) {
        lines[0].pop();
    }
    out.push_str(&left_columns(&lines));
    if let Some(run) = a.run {
        out.push('\n');
        let steps = run.steps.len();
        match steps <= MOST_DRAWN {
            true => out.push_str(&draw(show, a.model, run, color, true)),
            false => {
                let _ =
                    writeln!(out, "The run of the first pair has {steps} steps, too many to draw.");
            }
        }
        out.push('\n');
    }
    out
}

fn summary(a: &ProgramMonitorAnswer<'_>) -> String {
    let pairs = counted(a.pairs.len() as u64, "distinct pair");
    let limit = |what: &str| {
        let limit = a.limit.map(|limit| limit_text(limit, a.names));
        limit.map_or(String::new(), |limit| format!("{what}{limit}"))
    };
    let mut text = match (a.verdict, a.monitored) {
        (Verdict::Violated, Monitored::All { states, .. }) => format!(
            "violated: {pairs} of a store and an access that can overtake it ({} searched{})",
            counted(states, "state"),
            limit("; there may be more: ")
        ),
        (Verdict::Violated, _) => format!(
            "violated: {pairs} of a store and an access that can overtake it, in {} of {}{}",
            grouped(a.monitored.executions().map_or(0, |e| e.violating).into()),
            executions(a),
            limit("; there may be more: ")
        ),
        (Verdict::Holds, Monitored::All { states, .. }) => format!(
            "holds: no SC execution shows a violation, so the program is robust ({} searched)",
            counted(states, "state")
        ),
        (Verdict::Holds, Monitored::Preemptions { bound, .. }) => format!(
            "holds: no violation in all {} with at most {}; this says nothing about others",
            executions(a),
            counted(bound.into(), "preemption")
        ),
        (Verdict::Holds, Monitored::Random { .. }) => {
            format!("holds: no violation in {}; this is no proof", executions(a))
        }
        (Verdict::Unknown(_), Monitored::All { states, .. }) => {
            let searched = counted(states, "state");
            format!("unknown{}; no violation found ({searched} searched)", limit(": "))
        }
        (Verdict::Unknown(_), _) => {
            format!("unknown{}; no violation in {}", limit(": "), executions(a))
        }
    };
    if let Some(e) = a.monitored.executions() {
        if e.cut_off > 0 {
            let _ = write!(
                text,
                "; {} cut off after {}",
                grouped(e.cut_off.into()),
                counted(e.most_steps as u64, "step")
            );
        }
        if e.waited {
            text.push_str("; threads that waited in a loop were put off until memory changed");
        }
    }
    text
}

fn executions(a: &ProgramMonitorAnswer<'_>) -> String {
    let n = a.monitored.executions().map_or(0, |e| e.count);
    format!("{} execution{}", grouped(n.into()), if n == 1 { "" } else { "s" })
}

/// Lines of cells as columns, all to the left.
fn left_columns(lines: &[Vec<String>]) -> String {
    let cells = lines.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |i: usize| lines.iter().filter_map(|l| l.get(i)).map(|c| width(c)).max();
    let widths: Vec<usize> = (0..cells).map(|i| widest(i).unwrap_or(0)).collect();
    let mut out = String::new();
    for line in lines {
        let cells: Vec<String> = line.iter().zip(&widths).map(|(c, &w)| pad(c, w)).collect();
        out.push_str(cells.join("  ").trim_end());
        out.push('\n');
    }
    out
}

/// `p line 9 x = 1`.
fn place_text(show: Show<'_>, at: PlaceEdge) -> String {
    let edge = show.program.edge(at.thread, at.point, at.edge);
    let line = show.line(edge.span).map(|line| format!("line {line} ")).unwrap_or_default();
    format!("{} {line}{}", show.thread(at.thread), show.instr(at.thread, edge))
}

/// The answer as one line of JSON, without a line end.
#[must_use]
pub fn program_monitor_json(a: &ProgramMonitorAnswer<'_>) -> String {
    let mut o = Object::new();
    o.string("file", a.file).string("question", "monitor").string("model", model_key(a.model));
    o.string("verdict", verdict_key(a.verdict)).raw("time_s", a.time.as_micros() as f64 / 1e6);
    if let Some(limit) = a.limit {
        o.raw("limit", limit_json(limit, Some(a.names)));
    }
    o.string("name", &a.names.program);
    let violations: Vec<String> = a.pairs.iter().map(|pair| pair_json(a, pair)).collect();
    o.raw("violations", format!("[{}]", violations.join(",")));
    let cut_off = a.monitored.executions().map_or(0, |e| e.cut_off);
    let mut bound = Object::new();
    let (interleavings, random) = match a.monitored {
        Monitored::All { interleavings, .. } => {
            bound.string("schedules", "all");
            (interleavings, false)
        }
        Monitored::Preemptions { bound: most, executions } => {
            bound.raw("preemptions", most);
            (Counted::Exactly(executions.count.into()), false)
        }
        Monitored::Random { seed, executions } => {
            bound.string("schedules", "random").raw("seed", seed);
            (Counted::Exactly(executions.count.into()), true)
        }
    };
    match interleavings {
        Counted::Exactly(n) => o.raw("interleavings", n),
        Counted::Endless | Counted::NotCounted => o.raw("interleavings", "null"),
    };
    o.raw("complete", a.limit.is_none() && cut_off == 0 && !random);
    if let Some(e) = a.monitored.executions() {
        bound.raw("steps", e.most_steps);
    }
    o.raw("bound", bound.end());
    match a.monitored {
        Monitored::All { states, .. } => {
            o.raw("states", states);
        }
        Monitored::Preemptions { executions: e, .. } | Monitored::Random { executions: e, .. } => {
            o.raw("violating", e.violating).raw("cut_off", e.cut_off).raw("events", e.events);
            o.raw("waits_in_loops", e.waited);
        }
    }
    o.end()
}

fn pair_json(a: &ProgramMonitorAnswer<'_>, pair: &MonitorPair) -> String {
    let mut o = Object::new();
    o.raw("store", place_json(a, pair.store)).raw("access", place_json(a, pair.access));
    match pair.previous {
        Some(previous) => o.raw("previous", place_json(a, previous)),
        None => o.raw("previous", "null"),
    };
    match pair.count {
        Some(count) => o.raw("count", count),
        None => o.raw("count", "null"),
    };
    o.end()
}

fn place_json(a: &ProgramMonitorAnswer<'_>, at: PlaceEdge) -> String {
    let show = Show { program: a.program, names: a.names, source: a.source };
    let edge = a.program.edge(at.thread, at.point, at.edge);
    let mut o = Object::new();
    o.string("thread", &show.thread(at.thread));
    match clip(a.source, edge.span).is_empty() {
        true => o.raw("line", "null").raw("column", "null"),
        false => {
            let (line, column) = edge.span.line_column(a.source);
            o.raw("line", line).raw("column", column)
        }
    };
    o.string("text", &show.instr(at.thread, edge)).string("kind", kind(&edge.instr));
    o.end()
}

fn kind(instr: &Instr) -> &'static str {
    match instr {
        Instr::Load { .. } => "load",
        Instr::Store { .. } => "store",
        Instr::Update { .. } => "update",
        Instr::Fence(_) => "fence",
        Instr::Lock => "lock",
        Instr::Unlock => "unlock",
        _ => "local",
    }
}
