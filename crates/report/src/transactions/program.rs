//! What is said about programs with transactions, as text, JSON and DOT.

use std::collections::HashMap;
use std::fmt::Write;

use serde::Serialize;
use weakspot_core::machine::Schedule;
use weakspot_core::serial::{BufferedReads, TxnCycle, TxnRun};
use weakspot_core::{
    LogEvent, LogKind, LogLoc, LogTables, Names, Program, Span, ThreadId, TxnKind, Value, Verdict,
};
use weakspot_witness::StepJson;

use crate::answer::{Answer, Head};
use crate::json::{of_record, verdict_key};
use crate::run::drawing::draw_only;
use crate::run::object::{Run, RunLate, RunStep};
use crate::run::of_schedule::of_schedule;
use crate::text::limit::limit_text;
use crate::text::show::{Show, clip, counted, one_line, plain};
use crate::text::table::{Paint, Style, paragraph};
use crate::transactions::log::{
    EdgeJson, NO_FENCE_HELPS, STATIC, SerialCycle, SerialEdge, SerialEvent, SerialRole, SerialTxn,
    cycle_json, drawing,
};

/// The answer for one program under one model.
#[derive(Clone, Copy, Debug)]
pub struct SerialProgramAnswer<'a> {
    /// What it has in common with all answers.
    pub head: Head<'a>,
    /// The program that the answer is about: with fences, if some were added.
    pub program: &'a Program,
    /// What its parts are called.
    pub names: &'a Names,
    /// Its text.
    pub source: &'a str,
    /// A run that is not, what it did, and a cycle of its transactions.
    pub run: Option<(&'a Schedule, &'a TxnRun, &'a TxnCycle)>,
    /// Under TSO, which reads count as reads of the buffer.
    pub buffered: Option<BufferedReads>,
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
}

impl Answer for SerialProgramAnswer<'_> {
    fn text(&self, style: Style) -> String {
        serial_program_text(self, style)
    }

    fn json(&self) -> String {
        serial_program_json(self)
    }

    fn too_large(&self) -> Option<String> {
        self.head.too_large()
    }
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
fn serial_program_text(a: &SerialProgramAnswer<'_>, style: Style) -> String {
    let details = style.details;
    let mut out = format!("{} {}: ", plain(a.head.file), a.head.model);
    let verdict_at = out.len();
    let searched = format!("{} searched", counted(a.states, "state"));
    let fences = if a.added.is_some() { " with the fences" } else { "" };
    let _ = match (a.head.verdict, a.run) {
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
    out = Paint(style.color).headline(&out, verdict_at, a.head.verdict);
    if a.buffered == Some(BufferedReads::Static) {
        out.push_str(STATIC);
    }
    if let Some(added) = a.added {
        push_fences(&mut out, a, added, details);
    }
    if *a.head.verdict == Verdict::Violated && a.sc == Some(&Verdict::Holds) {
        out.push_str("  note: under SC it is serializable\n");
    }
    if *a.head.verdict == Verdict::Violated && a.sc == Some(&Verdict::Violated) {
        out.push_str(NO_FENCE_HELPS);
    }
    if let (Some((schedule, run, cycle)), true) = (a.run, details) {
        let show = Show { file: a.head.file, program: a.program, names: a.names, source: a.source };
        out.push('\n');
        out.push_str(&draw_only(show, a.head.model, schedule, style, &run.steps));
        if !out.ends_with("\n\n") {
            out.push('\n');
        }
        let (tables, cycle) = shown(a, run, cycle);
        out.push_str(&drawing(&tables, &cycle, style));
        let run = of_schedule(show, a.head.model, schedule, true);
        for fence in run.iter().flat_map(|run| in_the_way(a, run)) {
            let text = format!("  A{} would be in the way.", &fence[1..]);
            out.push_str(&paragraph(&text, style.columns(), 4));
        }
    }
    out
}

/// The fences that would be in the way of a run under TSO: behind each store that is late, before what overtakes it. Where
/// the program is not serializable under SC either, none is.
fn in_the_way(a: &SerialProgramAnswer<'_>, run: &Run) -> Vec<String> {
    if a.sc == Some(&Verdict::Violated) {
        return Vec::new();
    }
    let fence = |late: &RunLate| {
        let (store, access) = (run.step(late.store)?, run.step(late.behind)?);
        let text = |step: &RunStep| step.text.clone().unwrap_or_else(|| step.cell());
        let place = |step: &RunStep| match step.line {
            Some(line) if store.line != access.line => format!("line {line}"),
            _ => text(step),
        };
        let at = store.line.filter(|_| store.line == access.line);
        let at = at.map_or(String::new(), |line| format!(" at line {line}"));
        let thread = run.thread(store.thread);
        Some(format!("a fence in {thread} between {} and {}{at}", place(store), place(access)))
    };
    let mut fences: Vec<String> = run.late.iter().filter_map(fence).collect();
    fences.dedup();
    fences
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
    let show = Show { file: a.head.file, program: a.program, names: a.names, source: a.source };
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
fn serial_program_json(a: &SerialProgramAnswer<'_>) -> String {
    let show = Show { file: a.head.file, program: a.program, names: a.names, source: a.source };
    let cycle = a.run.map(|(_, run, cycle)| {
        let (tables, cycle) = shown(a, run, cycle);
        cycle_json(&tables, &cycle)
    });
    let place = |&(thread, span, ends): &(ThreadId, Span, Option<Span>)| FenceJson {
        thread: show.thread(thread).into_owned(),
        line: show.line(span),
        before: one_line(clip(a.source, span)),
        ends: ends.and_then(|ends| show.line(ends)),
    };
    let run = a.run.and_then(|(schedule, ..)| of_schedule(show, a.head.model, schedule, true));
    let fix = run.as_ref().map(|run| in_the_way(a, run).join(", "));
    let body = Body {
        name: &a.names.program,
        buffered: a.buffered.map(BufferedReads::key),
        cycle,
        init: a.run.map(|(schedule, ..)| &schedule.init[..]),
        schedule: a.run.map(|(schedule, ..)| StepJson::all(schedule)),
        events: a.run.map(|(_, run, _)| run.events.len()),
        fences: a.added.map(|added| added.places.iter().map(place).collect()),
        without_fences: a.added.map(|added| verdict_key(added.before)),
        fenced: a.fenced,
        sc_serializable: a.sc.map(verdict_key),
        robust: a.robust.map(verdict_key),
        decided_by: a.decided_by,
        states: a.states,
        fix: fix.filter(|fix| !fix.is_empty()),
        run,
    };
    of_record(&a.head, a.names, About { id: None, of: "program" }, body)
}

#[derive(Serialize)]
struct About {
    id: Option<String>,
    of: &'static str,
}

#[derive(Serialize)]
struct Body<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    buffered: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cycle: Option<Vec<EdgeJson>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    init: Option<&'a [Value]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schedule: Option<Vec<StepJson>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    events: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fences: Option<Vec<FenceJson>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    without_fences: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fenced: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sc_serializable: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    robust: Option<&'static str>,
    decided_by: &'a str,
    states: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<Run>,
}

#[derive(Serialize)]
struct FenceJson {
    thread: String,
    line: Option<usize>,
    before: String,
    ends: Option<usize>,
}

/// The cycle in the words of logs, which start with the transaction that began first.
fn shown(a: &SerialProgramAnswer<'_>, run: &TxnRun, cycle: &TxnCycle) -> (LogTables, SerialCycle) {
    let show = Show { file: a.head.file, program: a.program, names: a.names, source: a.source };
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
