//! What monitors say about a log, as text, JSON and DOT.

use std::fmt::Write;
use std::time::Duration;

use serde::Serialize;
use weakspot_core::cycle::{Arc, Link};
use weakspot_core::{
    DelayedRun, End, LogEvent, LogKind, LogTables, Model, Names, Overtaking, Verdict,
};

use crate::answer::{Answer, Head};
use crate::json::{model_key, of_record};
use crate::run::object::{Run, RunStep, StepKind};
use crate::run::of_log::{RunValues, did, end, loc_name, of_delay, site, thread_name};
use crate::text::folding::{folded, left_out};
use crate::text::limit::limit_text;
use crate::text::show::{counted, grouped, plain};
use crate::text::table::{Paint, Row, Style, cut_left, draw, fold, paragraph, width};

/// The answer for one log under one model.
#[derive(Clone, Copy, Debug)]
pub struct MonitorAnswer<'a> {
    /// What it has in common with all answers.
    pub head: Head<'a>,
    /// The name of the trace, if the file has several.
    pub id: Option<&'a str>,
    /// The names in the log.
    pub tables: &'a LogTables,
    /// What stands in the source at the sites of the log, if that is known.
    pub sources: &'a [String],
    /// The first events of the log, as far as they were kept.
    pub log: &'a [LogEvent],
    /// The reports, each with the run that shows it.
    pub reports: &'a [(Overtaking, Option<DelayedRun>)],
    /// What is read and written in these runs, as far as it is known.
    pub values: RunValues<'a>,
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
}

impl Answer for MonitorAnswer<'_> {
    fn text(&self, style: Style) -> String {
        monitor_text(self, style, &[])
    }

    fn findings(&self) -> Vec<String> {
        let ends = |(o, _): &(Overtaking, _)| {
            format!("{:?} {:?}", self.id, (o.store, o.access, o.previous))
        };
        self.reports.iter().map(ends).collect()
    }

    fn text_after(&self, style: Style, before: &[Option<String>]) -> String {
        monitor_text(self, style, before)
    }

    fn json(&self) -> String {
        monitor_json(self)
    }

    fn too_large(&self) -> Option<String> {
        self.head.too_large()
    }

    fn explained_by(&self) -> Option<(String, String)> {
        let ends: Vec<_> =
            self.reports.iter().map(|(o, _)| (o.store, o.access, o.previous)).collect();
        let is_new = !ends.is_empty() && self.unlisted == 0 && self.remarks.is_empty();
        is_new.then(|| (format!("{:?} {ends:?}", self.id), self.head.model.to_string()))
    }
}

/// How many pairs are reported one by one in text.
const MAX_REPORTED: usize = 20;
/// How many steps of a cycle are drawn.
const MAX_DRAWN: usize = 40;

/// A line that says what was found and, with `details`, for each pair of positions what overtakes
/// what, and a drawing of the first. Those that were told before, under the model that `before` says, are counted.
fn monitor_text(a: &MonitorAnswer<'_>, style: Style, before: &[Option<String>]) -> String {
    let mut out = String::new();
    let _ = write!(out, "{}", plain(a.head.file));
    if let Some(id) = a.id {
        let _ = write!(out, " {}", plain(id));
    }
    let events = counted(a.events, "event");
    let verdict_at = out.len() + format!(" {}: ", a.head.model).len();
    let _ = match a.head.verdict {
        Verdict::Holds => writeln!(
            out,
            " {}: nothing in {events} can be overtaken (this execution only)",
            a.head.model
        ),
        Verdict::Violated => {
            let pairs = counted(a.reports.len() as u64, "pair");
            let times = counted(a.total, "report");
            writeln!(out, " {}: breaks SC: {pairs} of accesses, {times} in {events}", a.head.model)
        }
        Verdict::Unknown(limit) => {
            let why = limit_text(limit, &Names::default());
            writeln!(out, " {}: unknown: {why}; nothing found in {events}", a.head.model)
        }
    };
    out = Paint(style.color).headline(&out, verdict_at, a.head.verdict);
    for remark in a.remarks {
        let _ = writeln!(out, "  note: {remark}");
    }
    if !style.details {
        return out;
    }
    let known: Vec<&String> = before.iter().flatten().collect();
    if let Some(model) = known.first() {
        let _ = writeln!(out, "  {} as under {model}", counted(known.len() as u64, "pair"));
    }
    let is_new = |i: &usize| before.get(*i).is_none_or(Option::is_none);
    let new: Vec<_> = (0..a.reports.len()).filter(is_new).map(|i| &a.reports[i]).collect();
    for (i, (report, run)) in new.iter().enumerate().take(MAX_REPORTED) {
        out.push('\n');
        out.push_str(&violation_text(a, report, run.as_ref(), style));
        if let (0, Some(run)) = (i, run) {
            out.push('\n');
            out.push_str(&drawing(a, run, style));
        }
    }
    if new.len() > MAX_REPORTED {
        let more = counted((new.len() - MAX_REPORTED) as u64, "more pair");
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
        format!("{thread} {}{}", did(tables, end), at(tables, end.site).replacen("  ", " ", 1))
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
fn monitor_json(a: &MonitorAnswer<'_>) -> String {
    let violation = |(report, run): &(Overtaking, Option<DelayedRun>)| {
        ViolationJson::of(a, report, run.as_ref())
    };
    let body = Body {
        violations: a.reports.iter().map(violation).collect(),
        threads: a.tables.threads.len(),
        locations: a.tables.locs.len(),
        reports: a.total,
        unlisted: a.unlisted,
        events: a.events,
        algorithm: a.algorithm,
        remarks: a.remarks,
    };
    of_record(&a.head, &Names::default(), About { id: a.id }, body)
}

#[derive(Serialize)]
struct About<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
}

#[derive(Serialize)]
struct Body<'a> {
    violations: Vec<ViolationJson>,
    threads: usize,
    locations: usize,
    reports: u64,
    unlisted: u64,
    events: u64,
    algorithm: &'a str,
    remarks: &'a [String],
}

/// A report.
#[derive(Serialize)]
pub(crate) struct ViolationJson {
    store: EndJson,
    access: EndJson,
    previous: EndJson,
    count: u64,
    event: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    store_event: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cycle: Option<Vec<ArcJson>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "mend")]
    fix: Option<String>,
    certified: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<Run>,
}

impl ViolationJson {
    pub(crate) fn of(
        a: &MonitorAnswer<'_>,
        report: &Overtaking,
        run: Option<&DelayedRun>,
    ) -> ViolationJson {
        ViolationJson {
            store: EndJson::of(a.tables, &report.store),
            access: EndJson::of(a.tables, &report.access),
            previous: EndJson::of(a.tables, &report.previous),
            count: report.count,
            event: report.first + 1,
            store_event: run.map(|run| run.store + 1),
            cycle: run.map(|run| run.cycle.iter().map(ArcJson::of).collect()),
            fix: run.and_then(|run| fix(a, run)),
            certified: run.is_some(),
            // Of a real program the orders are fences in the log, so that its machine may be another
            // one than the model is called by.
            run: run.map(|run| {
                let model = model_key(a.head.model);
                Run { model, ..of_delay(a.tables, (a.log, a.sources), run, a.values) }
            }),
        }
    }
}

#[derive(Serialize)]
struct ArcJson {
    from: usize,
    link: &'static str,
    to: usize,
}

impl ArcJson {
    fn of(arc: &Arc) -> ArcJson {
        ArcJson { from: arc.from.index() + 1, link: arc.link.name(), to: arc.to.index() + 1 }
    }
}

/// One side of a report.
#[derive(Serialize)]
struct EndJson {
    thread: String,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    other: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
}

impl EndJson {
    fn of(tables: &LogTables, end: &End) -> EndJson {
        let is_about_thread = matches!(end.kind, LogKind::Spawn | LogKind::Join);
        let is_access = end.kind.is_access() && !is_about_thread;
        EndJson {
            thread: thread_name(tables, end.thread),
            kind: end.kind.word(),
            other: is_about_thread.then(|| thread_name(tables, end.loc as u16)),
            location: is_access.then(|| loc_name(tables, end.loc)),
            at: site(tables, end.site).map(str::to_owned),
        }
    }
}

/// The threads that do something in a run, in the order of their numbers.
fn columns(run: &Run) -> Vec<usize> {
    let takes_part = |&thread: &usize| run.steps.iter().any(|step| step.thread == thread);
    (0..run.threads.len()).filter(takes_part).collect()
}

/// One pair in words.
pub(crate) fn violation_text(
    a: &MonitorAnswer<'_>,
    report: &Overtaking,
    run: Option<&DelayedRun>,
    style: Style,
) -> String {
    let Overtaking { store, access, previous, count, first } = report;
    let line = |role: &str, end: &End| {
        let thread = thread_name(a.tables, end.thread);
        labelled(
            role,
            &format!("{thread}  {}", did(a.tables, end)),
            site(a.tables, end.site),
            style,
        )
    };
    let mut out = line("store", store);
    out += &line("access", access);
    out += &line("after", &on_cycle(a, run).unwrap_or(*previous));
    if let Some(fix) = run.and_then(|run| fix(a, run)) {
        out += &labelled("fix", &fix, None, style);
    }
    let times = match count {
        1 => "once".to_owned(),
        n => format!("{} times", grouped(u128::from(*n))),
    };
    let checked = match run {
        Some(_) => "the run that shows it was checked",
        None => "not checked again",
    };
    let text = format!("{times}, first by event {}; {checked}", grouped(u128::from(first + 1)));
    out + &labelled("reported", &text, None, style)
}

/// What the cycle goes through before the access, in its thread: what that does between, with memory that
/// nobody writes, explains nothing.
fn on_cycle(a: &MonitorAnswer<'_>, run: Option<&DelayedRun>) -> Option<End> {
    let run = run?;
    let into = |arc: &&Arc| arc.to.index() == run.access && arc.link == Link::Po;
    let &LogEvent { thread, kind, loc, site, .. } =
        a.log.get(run.cycle.iter().find(into)?.from.index())?;
    Some(End { thread, kind, loc, site })
}

/// A line of a finding, in as many lines as it takes: what it is about, what it says, and a place.
pub(crate) fn labelled(label: &str, text: &str, site: Option<&str>, style: Style) -> String {
    let room = style.columns() - 11;
    let site = site.map(|site| plain(site).into_owned());
    let whole = site.as_ref().map_or(text.to_owned(), |site| format!("{text}  at {site}"));
    let mut lines = match (width(&whole) <= room, &site) {
        (true, _) => vec![whole],
        (false, None) => fold(text, room),
        (false, Some(site)) => {
            let mut lines = fold(text, room);
            lines.push(format!("at {}", cut_left(site, room - 3)));
            lines
        }
    }
    .into_iter();
    let mut out = format!("  {label:<9}{}\n", lines.next().unwrap_or_default());
    for line in lines {
        let _ = writeln!(out, "  {:<9}{line}", "");
    }
    out
}

/// The fence that would have kept the store from staying behind: just after it, before what its own
/// thread does next on the cycle. If that is nothing, it stays behind only with another one that
/// overwrites some of it, so the fence goes behind that one.
fn fix(a: &MonitorAnswer<'_>, run: &DelayedRun) -> Option<String> {
    let overwrites = |arc: &&Arc| arc.link == Link::Co;
    let arc = run.cycle.iter().find(|arc| !overwrites(arc))?;
    let next = a.log.get(arc.to.index()).filter(|_| arc.link == Link::Po)?;
    let fence = match (a.head.model, next.kind) {
        // Something that stores waits for a store-store fence.
        (Model::Pso(_), kind) if kind.writes() => "a store-store fence",
        _ => "a fence",
    };
    let thread = thread_name(a.tables, next.thread);
    let [store, access] = [arc.from, arc.to].map(|event| at_or_event(a, event.index()));
    let is_of_library = |site: &str| site.starts_with("library/");
    if store == access && store.contains(", in ")
        || [&store, &access].iter().all(|s| is_of_library(s))
    {
        return Some(format!(
            "nothing of yours: both ends are in the standard library, at {store}"
        ));
    }
    if store == access {
        // What stands on one line is told by what it does.
        let did = |event: &LogEvent| did(a.tables, &end(event));
        let store_did = a.log.get(arc.from.index()).map(did)?;
        return Some(format!(
            "{fence} in {thread} between {store_did} and {} at {store}",
            did(next)
        ));
    }
    Some(format!("{fence} in {thread} between {store} and {access}"))
}

/// The source position of an event, or else its number.
fn at_or_event(a: &MonitorAnswer<'_>, place: usize) -> String {
    match a.log.get(place).and_then(|event| site(a.tables, event.site)) {
        Some(site) => plain(site).into_owned(),
        None => format!("event {}", grouped(place as u128 + 1)),
    }
}

/// The run from the delayed store to its end, as far as the cycle goes through it.
pub(crate) fn drawing(a: &MonitorAnswer<'_>, delayed: &DelayedRun, style: Style) -> String {
    let run = of_delay(a.tables, (a.log, a.sources), delayed, a.values);
    let threads = columns(&run);
    let (store, access) = (delayed.store as u64 + 1, delayed.access as u64 + 1);
    let did_at = |step: &RunStep| {
        let event = (step.n as usize).checked_sub(1).and_then(|at| a.log.get(at));
        let did = event.map_or(String::new(), |event| did(a.tables, &end(event)));
        let value = step.value.as_ref().map_or(String::new(), |value| format!("={value}"));
        let was = step.old.as_ref().map_or(String::new(), |old| format!(" (was {old})"));
        format!("{did}{value}{was}")
    };
    let row = |step: &RunStep| {
        let column = threads.iter().position(|&t| t == step.thread).unwrap_or(0);
        if let Some(of) = step.of {
            return Row {
                column,
                head: format!("{of}. reaches memory"),
                site: None,
                source: None,
                body: Vec::new(),
                memory: step.cell(),
                marked: true,
            };
        }
        // What waits no longer than until the next step is in memory at once.
        let writes = matches!(step.kind, StepKind::Store | StepKind::Update);
        let at_once = writes && step.effect.is_none();
        let body = match step.n {
            _ if step.effect.is_some() => vec!["stays in the buffer".to_owned()],
            n if n == access => vec![format!("takes effect before {store}")],
            _ => Vec::new(),
        };
        Row {
            column,
            head: format!("{}. {}", step.n, did_at(step)),
            site: step.site(),
            source: step.text.clone().filter(|_| !a.sources.is_empty()),
            marked: !body.is_empty(),
            body,
            memory: if at_once { step.cell() } else { String::new() },
        }
    };
    let (commits, events): (Vec<&RunStep>, Vec<&RunStep>) =
        run.steps.iter().partition(|step| step.of.is_some());
    let shown: Vec<&RunStep> = events.into_iter().chain(commits).collect();
    let names: Vec<String> = threads.iter().map(|&t| run.thread(t).to_owned()).collect();
    let is_telling = run.matters();
    let (mut rows, mut matters) = (Vec::new(), Vec::new());
    let mut last = None;
    for step in shown {
        let issued = step.of.is_none().then_some(step.n);
        let left_out = last.zip(issued).and_then(|(last, n)| left_out(last, n, "other event"));
        matters.extend(left_out.iter().map(|_| false));
        rows.extend(left_out);
        last = issued;
        matters.push(is_telling(step));
        rows.push(row(step));
    }
    let rows = folded(rows, &names, &matters);
    let mut out = String::new();
    let columns = style.indented(2).width;
    for line in draw(&names, &[], &rows, Paint(style.color), columns).lines() {
        let _ = writeln!(out, "  {line}");
    }
    let mut cycle = format!("  cycle: {}", run.cycle.first().map_or(0, |arc| arc.from));
    for arc in run.cycle.iter().take(MAX_DRAWN) {
        let _ = write!(cycle, " -{}-> {}", arc.edge, arc.to);
    }
    if run.cycle.len() > MAX_DRAWN {
        let _ = write!(cycle, " ... ({} steps)", run.cycle.len());
    }
    out + &paragraph(&cycle, style.columns(), 4)
}

fn at(tables: &LogTables, number: u32) -> String {
    site(tables, number).map_or(String::new(), |site| format!("  at {}", plain(site)))
}
