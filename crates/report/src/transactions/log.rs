//! What is said about logs with transactions, as text, JSON and DOT.

use std::fmt::Write;
use std::time::Duration;

use weakspot_core::{LogEvent, LogKind, LogTables, Model, Names, Verdict};

use crate::json::{Object, model_key, push_string, verdict_key};
use crate::text::limit::{limit_json, limit_text};
use crate::text::show::{counted, grouped, plain};
use crate::text::table::{Paint, cut, pad, width};

/// The answer for one log under one model.
#[derive(Clone, Copy, Debug)]
pub struct SerialAnswer<'a> {
    /// The file as the user named it.
    pub file: &'a str,
    /// The name of the trace, if the file has several.
    pub id: Option<&'a str>,
    /// The names in the log.
    pub tables: &'a LogTables,
    /// The model asked about.
    pub model: Model,
    /// What the log was taken for.
    pub of: SerialOf,
    /// Whether it is serializable.
    pub verdict: &'a Verdict,
    /// Why it is not, if that can be shown.
    pub cycle: Option<&'a SerialCycle>,
    /// The serial order, if there is one and it is not too long.
    pub order: Option<&'a [SerialTxn]>,
    /// Whether it is equivalent to an execution of SC, if that was asked.
    pub sc_equivalent: Option<bool>,
    /// What fences at the ends of transactions do, if that was asked.
    pub fenced: Option<&'a SerialFenced>,
    /// What else was asked about a trace.
    pub others: &'a [SerialOther],
    /// How the answer was found, if there are several ways.
    pub decided_by: Option<&'a str>,
    /// How many events were followed.
    pub events: u64,
    /// How many transactions they belong to.
    pub transactions: u64,
    /// What the user should know about the answer.
    pub remarks: &'a [String],
    /// How long it took.
    pub time: Duration,
}

/// What a log is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SerialOf {
    /// One execution: with commits one of TSO, without one of SC.
    Execution,
    /// All executions of TSO in which the threads do this in this order, whenever stores reach
    /// memory.
    Trace,
}

impl SerialOf {
    fn key(self) -> &'static str {
        match self {
            SerialOf::Execution => "execution",
            SerialOf::Trace => "trace",
        }
    }
}

/// A cycle of transactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SerialCycle {
    /// From the first transaction to the second, and so on, and from the last to the first.
    pub edges: Vec<SerialEdge>,
    /// For a trace: the commits that are on the cycle, or do not wait for the next fence of their
    /// thread, or the end, each with the number of the event that it comes before, if there is one. Those of earlier stores of the thread
    /// come before that, too.
    pub commits: Vec<(SerialEvent, Option<u64>)>,
    /// The stores that are late.
    pub delays: Vec<SerialDelay>,
}

/// A store that is still in the buffer when another thread looks, which is why the cycle is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SerialDelay {
    /// The store.
    pub store: SerialEvent,
    /// What the other thread does meanwhile.
    pub during: SerialEvent,
    /// What overtakes the store: the later event of its thread by which the cycle goes on. A fence
    /// before it would be in the way.
    pub overtaker: Option<SerialEvent>,
}

/// Why one transaction comes before another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SerialEdge {
    /// The one that comes before.
    pub txn: SerialTxn,
    /// An event of it.
    pub from: SerialEvent,
    /// The event of the next transaction that comes after.
    pub to: SerialEvent,
}

/// A transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SerialTxn {
    /// Whose it is.
    pub thread: u16,
    /// The number that the log gives to it.
    pub label: Option<u32>,
    /// Its first event and its last one, as far as they are known.
    pub events: (u64, u64),
}

/// An event of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SerialEvent {
    /// The event of the log, and its number.
    pub log: LogEvent,
    /// The number, from 0.
    pub number: u64,
    /// What it is about.
    pub role: SerialRole,
}

/// What an event of a cycle is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SerialRole {
    /// The event of the log itself.
    Itself,
    /// The start of its thread.
    Start,
    /// The end of the thread that it waits for.
    End,
    /// The commit of the store, which the log does not have.
    Commit,
    /// A fence behind it, which the log does not have.
    Fence,
}

/// What else may be asked about a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SerialOther {
    /// Whether it is the test of the paper, rather than a prediction.
    pub is_literal: bool,
    /// Whether it finds the trace serializable.
    pub verdict: Verdict,
    /// Why not.
    pub cycle: Option<SerialCycle>,
}

/// What fences at the ends of transactions do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SerialFenced {
    /// The events that fences were put behind.
    pub after: Vec<SerialEvent>,
    /// Whether the log is serializable as one of SC.
    pub sc_serializable: Verdict,
    /// Whether the log is serializable without them.
    pub without: Verdict,
    /// Whether nothing that the fences leave can be overtaken.
    pub robust: Verdict,
    /// What can, in words.
    pub overtaken: Vec<String>,
}

/// How many edges of a cycle are drawn.
const MAX_DRAWN: usize = 20;
/// How many transactions of an order are listed in text.
const MAX_ORDER: usize = 12;
/// How many fences are listed in text.
const MAX_FENCES: usize = 20;
/// The most columns of an event.
const MAX_EVENT: usize = 60;
/// The most columns of the name of a thread or location within other text.
const MAX_NAME: usize = 40;

/// A line that says whether the log is serializable and, with `details`, the cycle or the order.
#[must_use]
pub fn serial_text(a: &SerialAnswer<'_>, details: bool, color: bool) -> String {
    let mut out = plain(a.file).into_owned();
    if let Some(id) = a.id {
        let _ = write!(out, " {}", plain(id));
    }
    let size =
        format!("{} in {}", counted(a.transactions, "transaction"), counted(a.events, "event"));
    let fences = if a.fenced.is_some() { " with the fences" } else { "" };
    let of = match (a.of, a.model) {
        _ if a.fenced.is_some() => "as far as this execution of SC tells",
        (SerialOf::Trace, _) => "in all executions of this trace",
        (SerialOf::Execution, Model::Sc) => "in this execution",
        (SerialOf::Execution, _) => "in this execution of TSO",
    };
    let _ = match a.verdict {
        Verdict::Holds => writeln!(out, " {}: serializable{fences} ({of}): {size}", a.model),
        Verdict::Violated => {
            let of = match a.of {
                SerialOf::Trace => "an execution of this trace has a cycle",
                SerialOf::Execution => "a cycle",
            };
            let through = match a.cycle {
                Some(cycle) => {
                    let n = counted(cycle.edges.len() as u64, "transaction");
                    format!("{of} through {n} in {}", counted(a.events, "event"))
                }
                None => size,
            };
            writeln!(out, " {}: not serializable{fences}: {through}", a.model)
        }
        Verdict::Unknown(limit) => {
            let why = limit_text(limit, &Names::default());
            writeln!(out, " {}: unknown: {why}; no cycle found in {size}", a.model)
        }
    };
    if a.sc_equivalent == Some(false) {
        out.push_str("  note: no execution of SC is equivalent to this one\n");
    }
    // The limit was just told.
    let told = match a.verdict {
        Verdict::Unknown(limit) => Some(limit_text(limit, &Names::default())),
        _ => None,
    };
    let is_new = |remark: &&String| told.as_ref().is_none_or(|told| !remark.starts_with(told));
    for remark in a.remarks.iter().filter(is_new) {
        let _ = writeln!(out, "  note: {}", plain(remark));
    }
    if let Some(fenced) = a.fenced {
        push_fenced(&mut out, a.tables, fenced, details);
    }
    if let (Some(cycle), true) = (a.cycle, details) {
        out.push('\n');
        out.push_str(&drawing(a.tables, cycle, Paint(color)));
        push_commits(&mut out, a, cycle);
        push_delays(&mut out, a, cycle);
    } else if let Some(order) = a.order.filter(|order| !order.is_empty() && details) {
        let shown: Vec<String> =
            order.iter().take(MAX_ORDER).map(|txn| txn_name(a.tables, txn)).collect();
        let more = if order.len() > shown.len() { ", …" } else { "" };
        let _ = writeln!(out, "  serial order: {}{more}", shown.join(", "));
    }
    for other in a.others {
        push_other(&mut out, a, other, details.then_some(Paint(color)));
    }
    out
}

/// What else was asked about a trace: the answer and, if there is paint for it, the cycle.
fn push_other(out: &mut String, a: &SerialAnswer<'_>, other: &SerialOther, paint: Option<Paint>) {
    // A cycle of the trace is one of both of the others, and need not be drawn again.
    let is_known = *a.verdict == Verdict::Violated && other.verdict == Verdict::Violated;
    out.push_str(match (other.is_literal, &other.verdict) {
        (false, Verdict::Holds) => {
            "  predicted: no violation on schedules that keep the order of all conflicts that TSO cannot \
             turn in this trace; others, in which transactions overlap that did not here, were not \
             looked at\n"
        }
        (false, Verdict::Violated) if is_known => "  predicted: not serializable, as above\n",
        (false, Verdict::Violated) => {
            "  warning: if the threads did the same on another schedule, it would not be serializable\n"
        }
        (false, Verdict::Unknown(_)) => "  predicted: unknown\n",
        (true, Verdict::Holds) => "  the test of the paper: serializable\n",
        (true, Verdict::Violated) if is_known => "  the test of the paper: not serializable, either\n",
        (true, Verdict::Violated) => {
            "  the test of the paper: not serializable, counting directions of conflicts that no \
             execution of this trace need have\n"
        }
        (true, Verdict::Unknown(_)) => "  the test of the paper: unknown\n",
    });
    if let (Some(cycle), Some(paint), false) = (&other.cycle, paint, is_known) {
        out.push('\n');
        out.push_str(&drawing(a.tables, cycle, paint));
    }
}

/// The answer as a JSON object on one line.
#[must_use]
pub fn serial_json(a: &SerialAnswer<'_>) -> String {
    let mut o = Object::new();
    o.string("file", a.file).string("question", "serial");
    match a.id {
        Some(id) => o.string("id", id),
        None => o.raw("id", "null"),
    };
    o.string("of", a.of.key()).string("model", model_key(a.model));
    o.string("verdict", verdict_key(a.verdict));
    if let Verdict::Unknown(limit) = a.verdict {
        o.raw("limit", limit_json(limit, Some(&Names::default())));
    }
    if let Some(sc_equivalent) = a.sc_equivalent {
        o.raw("sc_equivalent", sc_equivalent);
    }
    if let Some(cycle) = a.cycle {
        o.raw("cycle", cycle_json(a.tables, cycle));
        if a.of == SerialOf::Trace {
            let commit = |(commit, before): &(SerialEvent, Option<u64>)| {
                let before = before.map_or("null".to_owned(), |before| (before + 1).to_string());
                format!("{{\"store\":{},\"before\":{before}}}", commit.number + 1)
            };
            let commits: Vec<String> = cycle.commits.iter().map(commit).collect();
            o.raw("commits", format_args!("[{}]", commits.join(",")));
        }
        let delay = |delay: &SerialDelay| {
            let mut d = Object::new();
            d.raw("store", delay.store.number + 1).raw("during", delay.during.number + 1);
            match &delay.overtaker {
                Some(overtaker) => d.raw("fence_before", overtaker.number + 1),
                None => d.raw("fence_before", "null"),
            };
            d.end()
        };
        let delays: Vec<String> = cycle.delays.iter().map(delay).collect();
        o.raw("delays", format_args!("[{}]", delays.join(",")));
    }
    for other in a.others {
        let key = if other.is_literal { "literal" } else { "predicted" };
        o.string(key, verdict_key(&other.verdict));
        if let Some(cycle) = &other.cycle {
            o.raw(&format!("{key}_cycle"), cycle_json(a.tables, cycle));
        }
    }
    if let Some(order) = a.order {
        let order: Vec<String> = order.iter().map(|txn| txn_json(a.tables, txn)).collect();
        o.raw("order", format_args!("[{}]", order.join(",")));
    }
    if let Some(fenced) = a.fenced {
        let after: Vec<String> =
            fenced.after.iter().map(|event| event_json(a.tables, event)).collect();
        o.raw("fences", format_args!("[{}]", after.join(",")));
        o.string("without_fences", verdict_key(&fenced.without));
        o.string("sc_serializable", verdict_key(&fenced.sc_serializable));
        o.string("robust", verdict_key(&fenced.robust));
        push_strings(o.key("overtaken"), &fenced.overtaken);
    }
    if let Some(decided_by) = a.decided_by {
        o.string("decided_by", decided_by);
    }
    o.raw("events", a.events).raw("transactions", a.transactions);
    o.raw("threads", a.tables.threads.len()).raw("locations", a.tables.locs.len());
    push_strings(o.key("remarks"), a.remarks);
    o.raw("time_s", format_args!("{:.6}", a.time.as_secs_f64()));
    o.end()
}

pub(crate) fn cycle_json(tables: &LogTables, cycle: &SerialCycle) -> String {
    let edge = |edge: &SerialEdge| {
        let mut e = Object::new();
        e.raw("transaction", txn_json(tables, &edge.txn));
        e.raw("from", event_json(tables, &edge.from));
        e.raw("to", event_json(tables, &edge.to));
        e.string("why", &reason(tables, edge));
        e.end()
    };
    let edges: Vec<String> = cycle.edges.iter().map(edge).collect();
    format!("[{}]", edges.join(","))
}

/// The cycle as a graph for Graphviz, a box around each transaction; nothing if there is none.
#[must_use]
pub fn serial_dot(a: &SerialAnswer<'_>) -> String {
    let Some(cycle) = a.cycle else { return String::new() };
    let of = a.id.map_or(a.file.to_owned(), |id| format!("{} {id}", a.file));
    cycle_dot(&of, a.model, a.tables, cycle)
}

pub(crate) fn cycle_dot(
    file: &str,
    model: Model,
    tables: &LogTables,
    cycle: &SerialCycle,
) -> String {
    let quoted = |text: &str| {
        let mut out = String::new();
        push_string(&mut out, text);
        out
    };
    let mut out = String::from("digraph transactions {\n");
    let label = format!("{} under {model}", plain(file));
    let _ = writeln!(out, "  label={}; labelloc=t; fontname=\"monospace\";", quoted(&label));
    out.push_str("  node [shape=plaintext, fontname=\"monospace\"];\n");
    out.push_str("  edge [fontname=\"monospace\"];\n");
    let count = cycle.edges.len();
    for (i, edge) in cycle.edges.iter().enumerate() {
        let entering = &cycle.edges[(i + count - 1) % count].to;
        let _ = writeln!(out, "  subgraph cluster_{i} {{");
        let _ = writeln!(out, "    label={};", quoted(&txn_name(tables, &edge.txn)));
        let _ = writeln!(out, "    in{i} [label={}];", quoted(&event_text(tables, entering)));
        if *entering != edge.from {
            let text = quoted(&event_text(tables, &edge.from));
            let _ = writeln!(out, "    out{i} [label={text}];");
        }
        out.push_str("  }\n");
    }
    for (i, edge) in cycle.edges.iter().enumerate() {
        let entering = &cycle.edges[(i + count - 1) % count].to;
        let from = if *entering == edge.from { "in" } else { "out" };
        let next = (i + 1) % count;
        let why = quoted(&reason(tables, edge));
        let _ = writeln!(out, "  {from}{i} -> in{next} [label={why}];");
    }
    out.push_str("}\n");
    out
}

/// The cycle with a box for each transaction, with the events by which it is entered and left.
pub(crate) fn drawing(tables: &LogTables, cycle: &SerialCycle, paint: Paint) -> String {
    let count = cycle.edges.len();
    let shown = count.min(MAX_DRAWN);
    let mut boxes: Vec<(String, Vec<String>)> = Vec::new();
    for (i, edge) in cycle.edges.iter().enumerate().take(shown) {
        let entering = &cycle.edges[(i + count - 1) % count].to;
        let mut events = vec![*entering];
        if *entering != edge.from {
            events.push(edge.from);
        }
        events.sort_by_key(|event| event.number);
        let lines = events.iter().map(|event| cut(&event_text(tables, event), MAX_EVENT));
        boxes.push((txn_name(tables, &edge.txn), lines.collect()));
    }
    let widths = boxes
        .iter()
        .flat_map(|(name, lines)| lines.iter().map(|line| width(line)).chain([width(name) + 2]));
    let inner = widths.max().unwrap_or(0);
    let mut out = String::from(
        "  No order of the transactions explains this: each comes before the next, and they form a \
         circle.\n\n",
    );
    for (i, (name, lines)) in boxes.iter().enumerate() {
        let rule = "─".repeat(inner - width(name));
        let _ = writeln!(out, "  ┌ {} {rule}┐", paint.bold(name));
        for line in lines {
            let _ = writeln!(out, "  │ {} │", pad(line, inner));
        }
        let _ = writeln!(out, "  └{}┘", "─".repeat(inner + 2));
        let back = if i + 1 == count { "back to the first: " } else { "" };
        let _ = writeln!(out, "    ↓ {back}{}", reason(tables, &cycle.edges[i]));
    }
    if count > shown {
        let more = counted((count - shown) as u64, "more transaction");
        let _ = writeln!(out, "    … {more}; --format json has all");
    }
    out
}

/// Where the stores of a trace reach memory.
fn push_commits(out: &mut String, a: &SerialAnswer<'_>, cycle: &SerialCycle) {
    if a.of == SerialOf::Trace {
        let early = || cycle.commits.iter().filter_map(|(c, before)| Some((c, (*before)?)));
        let place = |(commit, before): (&SerialEvent, u64)| {
            format!("{} before {}", commit.number + 1, before + 1)
        };
        let mut places: Vec<String> = early().take(MAX_DRAWN).map(place).collect();
        if early().count() > places.len() {
            places.push("…".to_owned());
        }
        let _ = match places.is_empty() {
            true => writeln!(out, "  There all stores reach memory as late as they can."),
            false => writeln!(
                out,
                "  There stores reach memory so: {}; all others as late as they can.",
                places.join(", ")
            ),
        };
    }
}

/// Which stores are late, and which fences would be in the way.
fn push_delays(out: &mut String, a: &SerialAnswer<'_>, cycle: &SerialCycle) {
    let place = |event: &SerialEvent| match site(a.tables, event.log.site) {
        Some(site) => cut(&plain(site), MAX_NAME),
        None => format!("event {}", grouped(u128::from(event.number) + 1)),
    };
    for delay in cycle.delays.iter().take(MAX_DRAWN) {
        let SerialDelay { store, during, overtaker } = delay;
        let (thread, other) = (acting_name(a.tables, store), acting_name(a.tables, during));
        let loc = loc_name(a.tables, during.log.loc);
        let does = match (is_commit(during), reads_only(during)) {
            (true, _) => format!("{other}'s store to {loc} ({}) reaches memory", place(during)),
            (_, true) => format!("{other} reads {loc} ({})", place(during)),
            _ => format!("{other} changes {loc} ({})", place(during)),
        };
        let to = loc_name(a.tables, store.log.loc);
        let _ = writeln!(
            out,
            "  {thread}'s store to {to} ({}) is still in its buffer when {does}.",
            place(store)
        );
        if let Some(overtaker) = overtaker {
            let (after, before) = (place(store), place(overtaker));
            let _ = writeln!(
                out,
                "    A fence in {thread} between {after} and {before} would be in the way."
            );
        }
    }
    let mendable = cycle.delays.iter().any(|delay| delay.overtaker.is_some());
    if mendable && a.of == SerialOf::Trace {
        out.push_str(
            "  --fence-transactions tells what a fence at the end of each transaction buys.\n",
        );
    }
}

/// Why the one event comes before the other.
fn reason(tables: &LogTables, edge: &SerialEdge) -> String {
    let (from, to) = (&edge.from, &edge.to);
    let (first, second) = (thread_name(tables, acting(from)), thread_name(tables, acting(to)));
    let numbers = format!("{} before {}", from.number + 1, to.number + 1);
    if acting(from) == acting(to) {
        let how = match (is_commit(from), is_commit(to)) {
            (true, true) => "stores reach memory in their order",
            (false, true) if from.number == to.number => "the store, and how it reaches memory",
            _ => "program order",
        };
        return format!("{numbers}: {how} of {first}");
    }
    let what = |event: &SerialEvent| match event.role {
        SerialRole::Start | SerialRole::End => String::new(),
        _ => loc_name(tables, event.log.loc),
    };
    match (from.role, to.role) {
        (_, SerialRole::Start) => return format!("{numbers}: {first} starts {second}"),
        (SerialRole::End, _) => return format!("{numbers}: {second} waits for {first}"),
        _ => {}
    }
    let same = |own: &SerialEvent, other: &SerialEvent| match what(own) == what(other) {
        true => what(own),
        false => format!("{}, which overlaps {},", what(own), what(other)),
    };
    let did = match (reads_only(from), reads_only(to)) {
        (true, _) => format!("{first} reads {} before {second} changes it", same(from, to)),
        (false, true) => format!("{second} reads {} after {first} changed it", same(to, from)),
        (false, false) => format!("{second} changes {} after {first} did", same(to, from)),
    };
    format!("{numbers}: {did}")
}

fn acting_name(tables: &LogTables, event: &SerialEvent) -> String {
    thread_name(tables, acting(event))
}

/// The thread that does it.
fn acting(event: &SerialEvent) -> u16 {
    match event.role {
        SerialRole::End => event.log.loc as u16,
        _ => event.log.thread,
    }
}

fn is_commit(event: &SerialEvent) -> bool {
    event.role == SerialRole::Commit || event.log.kind == LogKind::Commit
}

fn reads_only(event: &SerialEvent) -> bool {
    event.role == SerialRole::Itself && matches!(event.log.kind, LogKind::Read | LogKind::Join)
}

/// The fences, and what they leave.
fn push_fenced(out: &mut String, tables: &LogTables, fenced: &SerialFenced, details: bool) {
    let count = counted(fenced.after.len() as u64, "fence");
    let word = |verdict: &Verdict, holds: &'static str, violated: &'static str| match verdict {
        Verdict::Holds => holds,
        Verdict::Violated => violated,
        Verdict::Unknown(_) => "unknown",
    };
    let serializable = word(&fenced.sc_serializable, "serializable", "not serializable");
    let robust = word(&fenced.robust, "nothing can be overtaken", "stores can be overtaken");
    let without = word(&fenced.without, "serializable", "not serializable");
    let _ = writeln!(out, "  without the fences: {without}");
    let _ = writeln!(out, "  {count} added; then under SC: {serializable}; under TSO: {robust}");
    if !details {
        return;
    }
    for event in fenced.after.iter().take(MAX_FENCES) {
        let thread = thread_name(tables, event.log.thread);
        let _ = writeln!(out, "  fence in {thread} behind {}", event_text(tables, event));
    }
    if fenced.after.len() > MAX_FENCES {
        let more = fenced.after.len() - MAX_FENCES;
        let _ = writeln!(out, "  and {}", counted(more as u64, "more fence"));
    }
    for line in fenced.overtaken.iter().take(MAX_FENCES) {
        let _ = writeln!(out, "  {}", plain(line));
    }
}

/// `t0 #3`, or `t0 from event 5 on`.
fn txn_name(tables: &LogTables, txn: &SerialTxn) -> String {
    let thread = thread_name(tables, txn.thread);
    match (txn.label, txn.events) {
        (Some(label), _) => format!("{thread} #{label}"),
        (None, (first, last)) if first == last => {
            format!("{thread} event {}", grouped(u128::from(first) + 1))
        }
        (None, (first, last)) => format!(
            "{thread} events {} to {}",
            grouped(u128::from(first) + 1),
            grouped(u128::from(last) + 1)
        ),
    }
}

fn txn_json(tables: &LogTables, txn: &SerialTxn) -> String {
    let mut o = Object::new();
    o.string("thread", &raw_thread(tables, txn.thread));
    match txn.label {
        Some(label) => o.raw("tr", label),
        None => o.raw("tr", "null"),
    };
    o.raw("first", txn.events.0 + 1).raw("last", txn.events.1 + 1);
    o.end()
}

fn event_json(tables: &LogTables, event: &SerialEvent) -> String {
    let mut o = Object::new();
    o.raw("event", event.number + 1).string("thread", &raw_thread(tables, acting(event)));
    o.string("kind", word(event));
    if event.log.kind.is_access() || event.log.kind == LogKind::Commit {
        let name = tables.locs.get(event.log.loc as usize).map_or("", |loc| &loc.name);
        o.string("location", name);
    }
    if let Some(site) = site(tables, event.log.site) {
        o.string("at", site);
    }
    o.end()
}

fn word(event: &SerialEvent) -> &'static str {
    match event.role {
        SerialRole::Itself => event.log.kind.word(),
        SerialRole::Start => "start",
        SerialRole::End => "end",
        SerialRole::Commit => "com",
        SerialRole::Fence => "fence",
    }
}

/// `5. rd x  at main.c:12`.
fn event_text(tables: &LogTables, event: &SerialEvent) -> String {
    let what = match event.role {
        SerialRole::Start | SerialRole::End | SerialRole::Fence => word(event).to_owned(),
        _ => match event.log.kind {
            LogKind::Spawn | LogKind::Join => {
                format!("{} {}", word(event), thread_name(tables, event.log.loc as u16))
            }
            LogKind::Fence => word(event).to_owned(),
            _ => format!("{} {}", word(event), loc_name(tables, event.log.loc)),
        },
    };
    let at = site(tables, event.log.site).map_or(String::new(), |s| format!("  at {}", plain(s)));
    format!("{}. {what}{at}", grouped(u128::from(event.number) + 1))
}

fn push_strings(list: &mut String, strings: &[String]) {
    list.push('[');
    for (i, string) in strings.iter().enumerate() {
        list.push_str(if i == 0 { "" } else { "," });
        push_string(list, string);
    }
    list.push(']');
}

fn site(tables: &LogTables, number: u32) -> Option<&str> {
    tables.sites.get((number as usize).checked_sub(1)?).map(String::as_str)
}

/// The name as the log has it, not as a terminal may see it.
fn raw_thread(tables: &LogTables, thread: u16) -> String {
    tables.threads.get(thread as usize).cloned().unwrap_or_else(|| format!("t{thread}"))
}

fn thread_name(tables: &LogTables, thread: u16) -> String {
    cut(&plain(&raw_thread(tables, thread)), MAX_NAME)
}

fn loc_name(tables: &LogTables, loc: u32) -> String {
    match tables.locs.get(loc as usize) {
        Some(loc) => cut(&plain(&loc.name), MAX_NAME),
        None => format!("location {loc}"),
    }
}
