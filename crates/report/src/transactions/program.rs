//! What is said about programs with transactions, as text, JSON and DOT.

use std::collections::HashMap;
use std::fmt::Write;
use std::time::Duration;

use weakspot_core::machine::Schedule;
use weakspot_core::serial::{TxnCycle, TxnRun};
use weakspot_core::{
    LogEvent, LogKind, LogLoc, LogTables, Model, Names, Program, Span, ThreadId, TxnKind, Verdict,
};

use crate::json::{Object, model_key, verdict_key};
use crate::run::drawing::draw_only;
use crate::text::limit::{limit_json, limit_text};
use crate::text::show::{Show, clip, counted, one_line, plain};
use crate::text::table::Paint;
use crate::transactions::log::{
    SerialCycle, SerialEdge, SerialEvent, SerialRole, SerialTxn, cycle_dot, cycle_json, drawing,
};
use crate::witness::program::steps_json;

/// The answer for one program under one model.
#[derive(Clone, Copy, Debug)]
pub struct SerialProgramAnswer<'a> {
    /// The file as the user named it.
    pub file: &'a str,
    /// The program that the answer is about: with fences, if some were added.
    pub program: &'a Program,
    /// What its parts are called.
    pub names: &'a Names,
    /// Its text.
    pub source: &'a str,
    /// The model asked about.
    pub model: Model,
    /// Whether all of its executions are serializable.
    pub verdict: &'a Verdict,
    /// A run that is not, what it did, and a cycle of its transactions.
    pub run: Option<(&'a Schedule, &'a TxnRun, &'a TxnCycle)>,
    /// How many states the searches visited.
    pub states: u64,
    /// The word for how it was found out.
    pub decided_by: &'a str,
    /// Under TSO, whether stores stay in the buffer only until another transaction reads.
    pub fenced: Option<bool>,
    /// Under TSO, whether the program is serializable under SC, as far as that was asked.
    pub sc: Option<&'a Verdict>,
    /// Under TSO, whether it is robust, as far as that was asked.
    pub robust: Option<&'a Verdict>,
    /// The fences that were added.
    pub added: Option<AddedFences<'a>>,
    /// How long it took.
    pub time: Duration,
}

/// Fences that were added to a program.
#[derive(Clone, Copy, Debug)]
pub struct AddedFences<'a> {
    /// In which threads, before which instructions, and where the marked transactions begin that they
    /// are at the ends of.
    pub places: &'a [(ThreadId, Span, Option<Span>)],
    /// What the answer was without them.
    pub before: &'a Verdict,
}

/// How many fences are listed in text.
const MAX_FENCES: usize = 20;

/// A line that says whether the program is serializable and, with `details`, a run that is not, and
/// the cycle.
#[must_use]
pub fn serial_program_text(a: &SerialProgramAnswer<'_>, details: bool, color: bool) -> String {
    let mut out = format!("{} {}: ", plain(a.file), a.model);
    let searched = format!("{} searched", counted(a.states, "state"));
    let fences = if a.added.is_some() { " with the fences" } else { "" };
    let _ = match (a.verdict, a.run) {
        (Verdict::Holds, _) if a.decided_by == "sc-and-robust" => writeln!(
            out,
            "serializable{fences}: all executions, because the program is robust and serializable \
             under SC ({searched})"
        ),
        (Verdict::Holds, _) => {
            writeln!(out, "serializable{fences}: all executions ({searched})")
        }
        (Verdict::Violated, Some((.., cycle))) => writeln!(
            out,
            "not serializable{fences}: an execution has a cycle through {}",
            counted(cycle.0.len() as u64, "transaction")
        ),
        (Verdict::Violated, None) => writeln!(out, "not serializable{fences}"),
        (Verdict::Unknown(limit), _) => {
            let why = limit_text(limit, a.names);
            writeln!(out, "unknown: {why}; no cycle found ({searched})")
        }
    };
    if let Some(added) = a.added {
        push_fences(&mut out, a, added, details);
    }
    if *a.verdict == Verdict::Violated && a.sc == Some(&Verdict::Holds) {
        out.push_str("  note: under SC it is serializable\n");
    }
    if let (Some((schedule, run, cycle)), true) = (a.run, details) {
        let show = Show { program: a.program, names: a.names, source: a.source };
        out.push('\n');
        out.push_str(&draw_only(show, a.model, schedule, color, &run.steps));
        if !out.ends_with("\n\n") {
            out.push('\n');
        }
        let (tables, cycle) = shown(a, run, cycle);
        out.push_str(&drawing(&tables, &cycle, Paint(color)));
    }
    out
}

fn push_fences(out: &mut String, a: &SerialProgramAnswer<'_>, added: AddedFences<'_>, all: bool) {
    let word = match added.before {
        Verdict::Holds => "serializable",
        Verdict::Violated => "not serializable",
        Verdict::Unknown(_) => "unknown",
    };
    let count = counted(added.places.len() as u64, "fence");
    let _ = writeln!(out, "  {count} added; without: {word}");
    if !all {
        return;
    }
    let show = Show { program: a.program, names: a.names, source: a.source };
    // Copies of a thread have the same fences, which are told once.
    let mut lines: Vec<(String, Vec<String>)> = Vec::new();
    for &(thread, before, ends) in added.places {
        let text = one_line(clip(a.source, before));
        let line = show.line(before).map_or(String::new(), |line| format!("line {line}: "));
        let place = match ends.and_then(|ends| show.line(ends)) {
            Some(line) => format!("at the end of the transaction of line {line}"),
            None => format!("before {line}{}", plain(&text)),
        };
        let name = show.thread(thread).into_owned();
        let copy_of = |name: &str| name.split_once('[').map(|(thread, _)| thread.to_owned());
        let is_same = |(other, names): &(String, Vec<String>)| {
            let copies = copy_of(&name).is_some() && copy_of(&name) == copy_of(&names[0]);
            *other == place && (copies || names[0] == name)
        };
        match lines.iter().position(is_same) {
            Some(at) if lines[at].1.contains(&name) => {}
            Some(at) => lines[at].1.push(name),
            None => lines.push((place, vec![name])),
        }
    }
    for (place, names) in lines.iter().take(MAX_FENCES) {
        let _ = match &names[..] {
            [first, .., last] => writeln!(out, "  fence in {first} to {last} {place}"),
            _ => writeln!(out, "  fence in {} {place}", names.join("")),
        };
    }
    if lines.len() > MAX_FENCES {
        let more = lines.len() - MAX_FENCES;
        let _ = writeln!(out, "  and at {}", counted(more as u64, "more place"));
    }
}

/// The answer as a JSON object on one line.
#[must_use]
pub fn serial_program_json(a: &SerialProgramAnswer<'_>) -> String {
    let mut o = Object::new();
    o.string("file", a.file).string("question", "serial").raw("id", "null");
    o.string("of", "program").string("model", model_key(a.model));
    o.string("verdict", verdict_key(a.verdict));
    if let Verdict::Unknown(limit) = a.verdict {
        o.raw("limit", limit_json(limit, Some(a.names)));
    }
    o.string("name", &a.names.program);
    if let Some((schedule, run, cycle)) = a.run {
        let (tables, cycle) = shown(a, run, cycle);
        o.raw("cycle", cycle_json(&tables, &cycle));
        o.raw("init", format_args!("{:?}", schedule.init)).raw("schedule", steps_json(schedule));
        o.raw("events", run.events.len());
    }
    if let Some(added) = a.added {
        let show = Show { program: a.program, names: a.names, source: a.source };
        let place = |&(thread, span, ends): &(ThreadId, Span, Option<Span>)| {
            let mut o = Object::new();
            o.string("thread", &show.thread(thread));
            match show.line(span) {
                Some(line) => o.raw("line", line),
                None => o.raw("line", "null"),
            };
            o.string("before", &one_line(clip(a.source, span)));
            match ends.and_then(|ends| show.line(ends)) {
                Some(line) => o.raw("ends", line),
                None => o.raw("ends", "null"),
            };
            o.end()
        };
        let places: Vec<String> = added.places.iter().map(place).collect();
        o.raw("fences", format_args!("[{}]", places.join(",")));
        o.string("without_fences", verdict_key(added.before));
    }
    if let Some(fenced) = a.fenced {
        o.raw("fenced", fenced);
    }
    if let Some(sc) = a.sc {
        o.string("sc_serializable", verdict_key(sc));
    }
    if let Some(robust) = a.robust {
        o.string("robust", verdict_key(robust));
    }
    o.string("decided_by", a.decided_by).raw("states", a.states);
    o.raw("time_s", format_args!("{:.6}", a.time.as_secs_f64()));
    o.end()
}

/// The cycle as a graph for Graphviz; nothing if there is none.
#[must_use]
pub fn serial_program_dot(a: &SerialProgramAnswer<'_>) -> String {
    let Some((_, run, cycle)) = a.run else { return String::new() };
    let (tables, cycle) = shown(a, run, cycle);
    cycle_dot(a.file, a.model, &tables, &cycle)
}

/// The cycle in the words of logs, which start with the transaction that began first.
fn shown(a: &SerialProgramAnswer<'_>, run: &TxnRun, cycle: &TxnCycle) -> (LogTables, SerialCycle) {
    let show = Show { program: a.program, names: a.names, source: a.source };
    let mut tables = LogTables {
        threads: (0..a.program.threads.len())
            .map(|t| show.thread(ThreadId::new(t)).into_owned())
            .collect(),
        locs: run
            .addrs
            .iter()
            .map(|&addr| LogLoc { name: show.cell(addr).into_owned(), bytes: None })
            .collect(),
        sites: Vec::new(),
    };
    let mut extents: HashMap<u32, (u64, u64)> = HashMap::new();
    for (number, event) in run.events.iter().enumerate() {
        let extent = extents.entry(event.txn).or_insert((number as u64, number as u64));
        if event.kind != TxnKind::Commit {
            extent.1 = number as u64;
        }
    }
    let mut event = |number: u64| {
        let event = run.events.get(number as usize)?;
        let kind = match event.kind {
            TxnKind::Read => LogKind::Read,
            TxnKind::Write => LogKind::Write,
            TxnKind::Update => LogKind::Update,
            TxnKind::Fence => LogKind::Fence,
            TxnKind::Commit => LogKind::Commit,
        };
        let mut log = LogEvent::new(event.thread as u16, kind, event.var);
        if let Some(line) = run.spans.get(number as usize).and_then(|&span| show.line(span)) {
            let site = format!("line {line}");
            let known = tables.sites.iter().position(|s| *s == site);
            log.site = known.unwrap_or(tables.sites.len()) as u32 + 1;
            if known.is_none() {
                tables.sites.push(site);
            }
        }
        Some((SerialEvent { log, number, role: SerialRole::Itself }, event.txn))
    };
    let mut edges: Vec<SerialEdge> = Vec::new();
    for &(from, to) in &cycle.0 {
        let (Some((from, txn)), Some((to, _))) = (event(from), event(to)) else { continue };
        let events = extents.get(&txn).copied().unwrap_or((from.number, from.number));
        edges.push(SerialEdge {
            txn: SerialTxn { thread: from.log.thread, label: None, events },
            from,
            to,
        });
    }
    let first = (0..edges.len()).min_by_key(|&at| edges[at].txn.events.0);
    edges.rotate_left(first.unwrap_or(0));
    (tables, SerialCycle { edges, commits: Vec::new(), delays: Vec::new() })
}
