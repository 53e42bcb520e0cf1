//! What monitors found in the SC executions of programs: the papers' table, one line per program,
//! then each pair of a store and an access that can overtake it; and the same as JSON.

use std::fmt::Write;
use std::time::Duration;

use serde::Serialize;
use weakspot_core::machine::Schedule;
use weakspot_core::{Instr, Model, Names, PlaceEdge, Program, Verdict};

use crate::answer::{Answer, Head};
use crate::json::of_program;
use crate::program::robust::PlaceJson;
use crate::run::drawing::draw;
use crate::run::object::Run;
use crate::run::of_schedule::of_schedule;
use crate::text::columns::{USUAL, table_text};
use crate::text::limit::limit_text;
use crate::text::show::{Show, clip, counted, grouped, plain};
use crate::text::table::Style;

/// The answer for one program under one model.
#[derive(Clone, Copy, Debug)]
pub struct ProgramMonitorAnswer<'a> {
    /// What it has in common with all answers.
    pub head: Head<'a>,
    /// The program.
    pub program: &'a Program,
    /// What its parts are called.
    pub names: &'a Names,
    /// Its text.
    pub source: &'a str,
    /// The pairs.
    pub pairs: &'a [MonitorPair],
    /// A run under the model for the first pair.
    pub run: Option<&'a Schedule>,
    /// Which executions were monitored.
    pub monitored: Monitored,
}

impl Answer for ProgramMonitorAnswer<'_> {
    fn text(&self, style: Style) -> String {
        program_monitor_text(self, style)
    }

    fn json(&self) -> String {
        program_monitor_json(self)
    }

    fn too_large(&self) -> Option<String> {
        self.head.too_large()
    }
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

/// The table: interleavings, time, distinct violations under each model. In so many columns, if that is possible.
#[must_use]
pub fn monitor_table(rows: &[MonitorRow], most: usize) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let random = matches!(first.monitored, Monitored::Random { .. });
    let mut head = vec!["program".to_owned(), "interleavings".to_owned(), "time (s)".to_owned()];
    if random {
        head.push("length".to_owned());
    }
    for (model, ..) in &first.found {
        head.push(format!("{} {model}", if most < USUAL { "pairs" } else { "violations" }));
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
    table_text(&lines, 1, most.min(USUAL))
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

/// What was found: a line that says it, and, with `details`, each pair, and a run for the first.
fn program_monitor_text(a: &ProgramMonitorAnswer<'_>, style: Style) -> String {
    let details = style.details;
    let mut out = String::new();
    let show = Show { file: a.head.file, program: a.program, names: a.names, source: a.source };
    let _ = writeln!(out, "{} {} {}", plain(&a.names.program), a.head.model, summary(a));
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
    out.push_str(&table_text(&lines, usize::MAX, style.columns()));
    if let Some(run) = a.run {
        out.push('\n');
        let steps = run.steps.len();
        match steps <= MOST_DRAWN {
            true => out.push_str(&draw(show, a.head.model, run, style, true)),
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
        let limit = a.head.limit.map(|limit| limit_text(limit, a.names));
        limit.map_or(String::new(), |limit| format!("{what}{limit}"))
    };
    let mut text = match (a.head.verdict, a.monitored) {
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

/// `p line 9 x = 1`.
fn place_text(show: Show<'_>, at: PlaceEdge) -> String {
    let edge = show.program.edge(at.thread, at.point, at.edge);
    let line = show.line(edge.span).map(|line| format!("line {line} ")).unwrap_or_default();
    format!("{} {line}{}", show.thread(at.thread), show.instr(at.thread, edge))
}

/// The answer as one line of JSON.
fn program_monitor_json(a: &ProgramMonitorAnswer<'_>) -> String {
    let show = Show { file: a.head.file, program: a.program, names: a.names, source: a.source };
    let executions = a.monitored.executions();
    let mut bound = Bound { schedules: None, preemptions: None, seed: None, steps: None };
    bound.steps = executions.map(|e| e.most_steps);
    let exactly = |n: u128| Some(n);
    let (interleavings, random) = match a.monitored {
        Monitored::All { interleavings, .. } => {
            bound.schedules = Some("all");
            let count = match interleavings {
                Counted::Exactly(n) => exactly(n),
                Counted::Endless | Counted::NotCounted => None,
            };
            (count, false)
        }
        Monitored::Preemptions { bound: most, executions } => {
            bound.preemptions = Some(most);
            (exactly(executions.count.into()), false)
        }
        Monitored::Random { seed, executions } => {
            bound.schedules = Some("random");
            bound.seed = Some(seed);
            (exactly(executions.count.into()), true)
        }
    };
    let cut_off = executions.map_or(0, |e| e.cut_off);
    let drawn = a.run.filter(|run| run.steps.len() <= MOST_DRAWN);
    let body = Body {
        violations: a.pairs.iter().map(|pair| PairJson::of(show, pair)).collect(),
        interleavings,
        complete: a.head.limit.is_none() && cut_off == 0 && !random,
        bound,
        states: match a.monitored {
            Monitored::All { states, .. } => Some(states),
            _ => None,
        },
        violating: executions.map(|e| e.violating),
        cut_off: executions.map(|e| e.cut_off),
        events: executions.map(|e| e.events),
        waits_in_loops: executions.map(|e| e.waited),
        run: drawn.and_then(|run| of_schedule(show, a.head.model, run, true)),
    };
    of_program(&a.head, a.names, body)
}

#[derive(Serialize)]
struct Body {
    violations: Vec<PairJson>,
    interleavings: Option<u128>,
    complete: bool,
    bound: Bound,
    #[serde(skip_serializing_if = "Option::is_none")]
    states: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    violating: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cut_off: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    events: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waits_in_loops: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<Run>,
}

#[derive(Serialize)]
struct Bound {
    #[serde(skip_serializing_if = "Option::is_none")]
    schedules: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preemptions: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<usize>,
}

#[derive(Serialize)]
struct PairJson {
    store: PlaceJson,
    access: PlaceJson,
    previous: Option<PlaceJson>,
    count: Option<u64>,
}

impl PairJson {
    fn of(show: Show<'_>, pair: &MonitorPair) -> PairJson {
        PairJson {
            store: place(show, pair.store),
            access: place(show, pair.access),
            previous: pair.previous.map(|previous| place(show, previous)),
            count: pair.count,
        }
    }
}

fn place(show: Show<'_>, at: PlaceEdge) -> PlaceJson {
    let edge = show.program.edge(at.thread, at.point, at.edge);
    let is_known = !clip(show.source, edge.span).is_empty();
    let (line, column) = is_known.then(|| edge.span.line_column(show.source)).unzip();
    PlaceJson {
        thread: show.thread(at.thread).into_owned(),
        line: line.map(|line| line as u64),
        column: column.map(|column| column as u64),
        text: show.instr(at.thread, edge),
        kind: Some(kind(&edge.instr)),
        edge: None,
    }
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
