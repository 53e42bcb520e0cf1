//! What monitors say about a log, as text, JSON and DOT.

use std::fmt::Write;
use std::time::Duration;

use weakspot_core::cycle::{Arc, Link};
use weakspot_core::{
    DelayedRun, End, EventId, LogEvent, LogKind, LogTables, Model, Names, Overtaking, Verdict,
};

use crate::json::{Object, model_key, push_string, verdict_key};
use crate::text::limit::{limit_json, limit_text};
use crate::text::show::{counted, grouped, plain};
use crate::text::table::{Paint, Row, draw};

/// The answer for one log under one model.
#[derive(Clone, Copy, Debug)]
pub struct MonitorAnswer<'a> {
    /// The file as the user named it.
    pub file: &'a str,
    /// The name of the trace, if the file has several.
    pub id: Option<&'a str>,
    /// The names in the log.
    pub tables: &'a LogTables,
    /// The first events of the log, as far as they were kept.
    pub log: &'a [LogEvent],
    /// The model asked about.
    pub model: Model,
    /// Holds if nothing was reported.
    pub verdict: &'a Verdict,
    /// The reports, each with the run that shows it.
    pub reports: &'a [(Overtaking, Option<DelayedRun>)],
    /// How many reports there were, also of the same positions, and of those that are not listed.
    pub total: u64,
    /// How many of these are not listed.
    pub unlisted: u64,
    /// How many events were followed.
    pub events: u64,
    /// The word for the algorithm.
    pub algorithm: &'a str,
    /// What the user should know about the log, or about how well it was followed.
    pub remarks: &'a [String],
    /// How long it took.
    pub time: Duration,
}

/// How many pairs are told one by one in text.
const MAX_TOLD: usize = 20;
/// How many steps of a cycle are drawn.
const MAX_DRAWN: usize = 40;

/// A line that says what was found and, with `details`, for each pair of positions what overtakes
/// what, and a drawing of the first.
#[must_use]
pub fn monitor_text(a: &MonitorAnswer<'_>, details: bool, color: bool) -> String {
    let mut out = String::new();
    let _ = write!(out, "{}", plain(a.file));
    if let Some(id) = a.id {
        let _ = write!(out, " {}", plain(id));
    }
    let events = counted(a.events, "event");
    let _ = match a.verdict {
        Verdict::Holds => writeln!(
            out,
            " {}: nothing in {events} can be overtaken (this execution only)",
            a.model
        ),
        Verdict::Violated => {
            let pairs = counted(a.reports.len() as u64, "pair");
            let times = counted(a.total, "report");
            writeln!(out, " {}: breaks SC: {pairs} of accesses, {times} in {events}", a.model)
        }
        Verdict::Unknown(limit) => {
            let why = limit_text(limit, &Names::default());
            writeln!(out, " {}: unknown: {why}; nothing found in {events}", a.model)
        }
    };
    for remark in a.remarks {
        let _ = writeln!(out, "  note: {remark}");
    }
    if !details {
        return out;
    }
    for (i, (report, run)) in a.reports.iter().enumerate().take(MAX_TOLD) {
        out.push('\n');
        out.push_str(&told(a, report, run.as_ref()));
        if let (0, Some(run)) = (i, run) {
            out.push('\n');
            out.push_str(&drawing(a, run, color));
        }
    }
    if a.reports.len() > MAX_TOLD {
        let more = counted((a.reports.len() - MAX_TOLD) as u64, "more pair");
        let _ = writeln!(out, "\n  and {more}; --format json lists all");
    }
    if a.unlisted > 0 {
        let more = counted(a.unlisted, "report");
        let _ = writeln!(out, "  and {more} of pairs for which there was no room");
    }
    out
}

/// A report in one line, for a log that is still being written.
#[must_use]
pub fn monitor_news(tables: &LogTables, model: Model, report: &Overtaking) -> String {
    let end = |end: &End| {
        let thread = thread_name(tables, end.thread);
        format!("{thread} {}{}", did_end(tables, end), at(tables, end.site).replacen("  ", " ", 1))
    };
    format!(
        "{model}: event {}: {} can take effect before {}\n",
        grouped(u128::from(report.first + 1)),
        end(&report.access),
        end(&report.store)
    )
}

/// A line about the log itself.
#[must_use]
pub fn monitor_statistics(tables: &LogTables, events: u64, time: Duration) -> String {
    let rate = events as f64 / time.as_secs_f64().max(1e-6);
    let rate = match rate {
        0.0..1e3 => format!("{rate:.0}"),
        1e3..1e6 => format!("{:.0} thousand", rate / 1e3),
        _ => format!("{:.1} million", rate / 1e6),
    };
    format!(
        "{} of {} on {} followed in {:.3} s, {rate} per second\n",
        counted(events, "event"),
        counted(tables.threads.len() as u64, "thread"),
        counted(tables.locs.len() as u64, "location"),
        time.as_secs_f64()
    )
}

/// The answer as a JSON object on one line.
#[must_use]
pub fn monitor_json(a: &MonitorAnswer<'_>) -> String {
    let mut o = Object::new();
    o.string("file", a.file).string("question", "monitor");
    if let Some(id) = a.id {
        o.string("id", id);
    }
    o.string("model", model_key(a.model)).string("verdict", verdict_key(a.verdict));
    if let Verdict::Unknown(limit) = a.verdict {
        o.raw("limit", limit_json(limit, Some(&Names::default())));
    }
    let list = o.key("violations");
    list.push('[');
    for (i, (report, run)) in a.reports.iter().enumerate() {
        list.push_str(if i == 0 { "" } else { "," });
        let v = violation(a, report, run.as_ref());
        list.push_str(&v.end());
    }
    list.push(']');
    o.raw("threads", a.tables.threads.len()).raw("locations", a.tables.locs.len());
    o.raw("reports", a.total).raw("unlisted", a.unlisted).raw("events", a.events);
    o.string("algorithm", a.algorithm);
    let list = o.key("remarks");
    list.push('[');
    for (i, remark) in a.remarks.iter().enumerate() {
        list.push_str(if i == 0 { "" } else { "," });
        push_string(list, remark);
    }
    list.push(']');
    o.raw("time_s", format_args!("{:.6}", a.time.as_secs_f64()));
    o.end()
}

/// A report as a JSON object that is still open.
pub(crate) fn violation(
    a: &MonitorAnswer<'_>,
    report: &Overtaking,
    run: Option<&DelayedRun>,
) -> Object {
    let mut v = Object::new();
    v.raw("store", end_json(a.tables, &report.store));
    v.raw("access", end_json(a.tables, &report.access));
    v.raw("previous", end_json(a.tables, &report.previous));
    v.raw("count", report.count).raw("event", report.first + 1);
    if let Some(run) = run {
        v.raw("store_event", run.store + 1);
        v.raw("cycle", cycle_json(&run.cycle));
        if let Some(mending) = mending(a, run) {
            v.string("mend", &mending);
        }
    }
    v.raw("certified", run.is_some());
    v
}

/// The cycle behind the first report that has one, as a graph for Graphviz; nothing if there is
/// none.
#[must_use]
pub fn monitor_dot(a: &MonitorAnswer<'_>) -> String {
    let Some(run) = a.reports.iter().find_map(|(_, run)| run.as_ref()) else {
        return String::new();
    };
    let quoted = |text: &str| {
        let mut out = String::new();
        push_string(&mut out, text);
        out
    };
    let mut out = String::from("digraph execution {\n");
    let label = format!("{} under {}", plain(a.file), a.model);
    let _ = writeln!(out, "  label={}; labelloc=t; fontname=\"monospace\";", quoted(&label));
    out.push_str("  node [shape=box, style=rounded, fontname=\"monospace\"];\n");
    out.push_str("  edge [fontname=\"monospace\"];\n");
    let (threads, places) = parts(a, run);
    for (column, thread) in threads.iter().enumerate() {
        let _ = writeln!(out, "  subgraph cluster_{column} {{");
        let _ = writeln!(out, "    label={}; color=gray;", quoted(&thread_name(a.tables, *thread)));
        for &place in places.iter().filter(|&&place| a.log[place].thread == *thread) {
            let event = &a.log[place];
            let label =
                format!("{}. {}{}", place + 1, did(a.tables, event), at(a.tables, event.site));
            let _ = writeln!(out, "    e{place} [label={}];", quoted(&label));
        }
        out.push_str("  }\n");
    }
    for arc in &run.cycle {
        let (from, to) = (arc.from.index(), arc.to.index());
        let _ = writeln!(out, "  e{from} -> e{to} [label=\"{}\"];", arc.link.name());
    }
    out.push_str("}\n");
    out
}

/// One pair in words.
pub(crate) fn told(a: &MonitorAnswer<'_>, report: &Overtaking, run: Option<&DelayedRun>) -> String {
    let Overtaking { store, access, previous, count, first } = report;
    let line = |role: &str, end: &End| {
        let thread = thread_name(a.tables, end.thread);
        format!("  {role:<9}{thread}  {}{}\n", did_end(a.tables, end), at(a.tables, end.site))
    };
    let mut out = line("store", store);
    out += &line("access", access);
    out += &line("after", previous);
    if let Some(mending) = run.and_then(|run| mending(a, run)) {
        let _ = writeln!(out, "  {:<9}{mending}", "mend by");
    }
    let times = match count {
        1 => "once".to_owned(),
        n => format!("{} times", grouped(u128::from(*n))),
    };
    let checked = match run {
        Some(_) => "the run that shows it was checked",
        None => "not checked again",
    };
    let _ = writeln!(
        out,
        "  {:<9}{times}, first by event {}; {checked}",
        "reported",
        grouped(u128::from(first + 1))
    );
    out
}

/// The fence that would have kept the store from staying behind: just after it, before what its own
/// thread does next on the cycle.
fn mending(a: &MonitorAnswer<'_>, run: &DelayedRun) -> Option<String> {
    let arc = run.cycle.iter().find(|arc| arc.from.index() == run.store)?;
    let next = a.log.get(arc.to.index()).filter(|_| arc.link == Link::Po)?;
    let fence = match (a.model, next.kind) {
        // Something that stores waits for a store-store fence.
        (Model::Pso(_), kind) if kind.writes() => "a store-store fence",
        _ => "a fence",
    };
    let thread = thread_name(a.tables, next.thread);
    let store = at_or_event(a, run.store);
    Some(format!("{fence} in {thread} between {store} and {}", at_or_event(a, arc.to.index())))
}

/// The source position of an event, or else its number.
fn at_or_event(a: &MonitorAnswer<'_>, place: usize) -> String {
    match a.log.get(place).and_then(|event| site(a.tables, event.site)) {
        Some(site) => plain(site).into_owned(),
        None => format!("event {}", grouped(place as u128 + 1)),
    }
}

/// The run from the delayed store to its end, as far as the cycle goes through it.
pub(crate) fn drawing(a: &MonitorAnswer<'_>, run: &DelayedRun, color: bool) -> String {
    let (threads, places) = parts(a, run);
    let mut rows: Vec<Row> = Vec::new();
    for &place in places.iter().take(MAX_DRAWN) {
        let event = &a.log[place];
        let body = if place == run.store {
            vec!["stays in the buffer".to_owned()]
        } else if place == run.access {
            vec![format!("takes effect before {}", run.store + 1)]
        } else {
            Vec::new()
        };
        let marked = place == run.store || place == run.access;
        rows.push(Row {
            column: threads.iter().position(|&t| t == event.thread).unwrap_or(0),
            head: format!("{}. {}{}", place + 1, did(a.tables, event), at(a.tables, event.site)),
            body,
            memory: String::new(),
            marked,
        });
    }
    let store = &a.log[run.store];
    rows.push(Row {
        column: threads.iter().position(|&t| t == store.thread).unwrap_or(0),
        head: format!("{}. reaches memory", run.store + 1),
        body: Vec::new(),
        memory: loc_name(a.tables, store.loc),
        marked: true,
    });
    let names: Vec<String> = threads.iter().map(|&t| thread_name(a.tables, t)).collect();
    let mut out = String::new();
    for line in draw(&names, &[], &rows, Paint(color)).lines() {
        let _ = writeln!(out, "  {line}");
    }
    let _ = write!(out, "  cycle: {}", run.cycle.first().map_or(0, |arc| arc.from.index() + 1));
    for arc in run.cycle.iter().take(MAX_DRAWN) {
        let _ = write!(out, " {} {}", arrow(arc.link), arc.to.index() + 1);
    }
    if run.cycle.len() > MAX_DRAWN {
        let _ = write!(out, " … ({} steps)", run.cycle.len());
    }
    out.push('\n');
    out
}

/// The threads and events on the cycle, in the order of the log.
fn parts(a: &MonitorAnswer<'_>, run: &DelayedRun) -> (Vec<u16>, Vec<usize>) {
    let mut places: Vec<usize> = run.cycle.iter().map(|arc| arc.from.index()).collect();
    places.retain(|&place| place < a.log.len());
    places.sort_unstable();
    places.dedup();
    let mut threads: Vec<u16> = places.iter().map(|&place| a.log[place].thread).collect();
    threads.sort_unstable();
    threads.dedup();
    (threads, places)
}

fn arrow(link: Link) -> String {
    format!("-{}->", link.name())
}

fn cycle_json(cycle: &[Arc]) -> String {
    let one = |arc: &Arc| {
        let number = |event: EventId| event.index() + 1;
        let mut o = Object::new();
        o.raw("from", number(arc.from)).string("link", arc.link.name()).raw("to", number(arc.to));
        o.end()
    };
    let arcs: Vec<String> = cycle.iter().map(one).collect();
    format!("[{}]", arcs.join(","))
}

fn end_json(tables: &LogTables, end: &End) -> String {
    let mut o = Object::new();
    o.string("thread", &thread_name(tables, end.thread)).string("kind", end.kind.word());
    match end.kind {
        LogKind::Spawn | LogKind::Join => {
            o.string("other", &thread_name(tables, end.loc as u16));
        }
        kind if kind.is_access() => {
            o.string("location", &loc_name(tables, end.loc));
        }
        _ => {}
    }
    if let Some(site) = site(tables, end.site) {
        o.string("at", site);
    }
    o.end()
}

fn did(tables: &LogTables, event: &LogEvent) -> String {
    let LogEvent { thread, kind, loc, site, .. } = *event;
    did_end(tables, &End { thread, kind, loc, site })
}

fn did_end(tables: &LogTables, end: &End) -> String {
    match end.kind {
        LogKind::Spawn | LogKind::Join => {
            format!("{} {}", end.kind.word(), thread_name(tables, end.loc as u16))
        }
        kind if kind.is_access() || kind == LogKind::Commit => {
            format!("{} {}", end.kind.word(), loc_name(tables, end.loc))
        }
        kind => kind.word().to_owned(),
    }
}

fn at(tables: &LogTables, number: u32) -> String {
    site(tables, number).map_or(String::new(), |site| format!("  at {}", plain(site)))
}

fn site(tables: &LogTables, number: u32) -> Option<&str> {
    tables.sites.get((number as usize).checked_sub(1)?).map(String::as_str)
}

fn thread_name(tables: &LogTables, thread: u16) -> String {
    match tables.threads.get(thread as usize) {
        Some(name) => plain(name).into_owned(),
        None => format!("t{thread}"),
    }
}

fn loc_name(tables: &LogTables, loc: u32) -> String {
    match tables.locs.get(loc as usize) {
        Some(loc) => plain(&loc.name).into_owned(),
        None => format!("location {loc}"),
    }
}
