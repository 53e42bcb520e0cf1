//! What is said about logs with transactions, as text, JSON and DOT.

use std::fmt::Write;

use serde::Serialize;
use weakspot_core::serial::BufferedReads;
use weakspot_core::{LogEvent, LogKind, LogTables, Model, Names, Verdict};

use crate::answer::{Answer, Head};
use crate::json::{model_key, of_record, verdict_key};
use crate::run::object::{Run, RunArc, RunLate, RunLocation, RunStep, RunThread, StepKind};
use crate::text::limit::limit_text;
use crate::text::show::{counted, grouped, plain};
use crate::text::table::{Paint, Style, cut, cut_left, pad, paragraph, width};

/// The answer for one log under one model.
#[derive(Clone, Copy, Debug)]
pub struct SerialAnswer<'a> {
    /// What it has in common with all answers.
    pub head: Head<'a>,
    /// The name of the trace, if the file has several.
    pub id: Option<&'a str>,
    /// The names in the log.
    pub tables: &'a LogTables,
    /// What the log was taken for.
    pub of: SerialOf,
    /// Why it is not, if that can be shown.
    pub cycle: Option<&'a SerialCycle>,
    /// The serial order, if there is one and it is not too long.
    pub order: Option<&'a [SerialTxn]>,
    /// Under TSO, which reads count as reads of the buffer.
    pub buffered: Option<BufferedReads>,
    /// Whether it is equivalent to an execution of SC, if that was asked.
    pub sc_equivalent: Option<bool>,
    /// Whether it is known not to be serializable under SC: then no fence helps.
    pub fails_under_sc: bool,
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
}

impl Answer for SerialAnswer<'_> {
    fn text(&self, style: Style) -> String {
        serial_text(self, style)
    }

    fn json(&self) -> String {
        serial_json(self)
    }

    fn too_large(&self) -> Option<String> {
        self.head.too_large()
    }
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

/// What is said with an answer by the paper's reading.
pub(crate) const NO_FENCE_HELPS: &str =
    "  note: under SC it is not serializable either: no fence helps\n";

pub(crate) const STATIC: &str = "  note: reads of what their thread wrote count as reads of the buffer, \
    whatever they took (--buffered static)\n";

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
fn serial_text(a: &SerialAnswer<'_>, style: Style) -> String {
    let details = style.details;
    let mut out = plain(a.head.file).into_owned();
    if let Some(id) = a.id {
        let _ = write!(out, " {}", plain(id));
    }
    let size =
        format!("{} in {}", counted(a.transactions, "transaction"), counted(a.events, "event"));
    let fences = if a.fenced.is_some() { " with the fences" } else { "" };
    let of = match (a.of, a.head.model) {
        _ if a.fenced.is_some() => "as far as this execution of SC shows",
        (SerialOf::Trace, _) => "in all executions of this trace",
        (SerialOf::Execution, Model::Sc) => "in this execution",
        (SerialOf::Execution, _) => "in this execution of TSO",
    };
    let verdict_at = out.len() + format!(" {}: ", a.head.model).len();
    let _ = match a.head.verdict {
        Verdict::Holds => writeln!(out, " {}: serializable{fences} ({of}): {size}", a.head.model),
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
            writeln!(out, " {}: not serializable{fences}: {through}", a.head.model)
        }
        Verdict::Unknown(limit) => {
            let why = limit_text(limit, &Names::default());
            writeln!(out, " {}: unknown: {why}; no cycle found in {size}", a.head.model)
        }
    };
    out = Paint(style.color).headline(&out, verdict_at, a.head.verdict);
    if a.buffered == Some(BufferedReads::Static) {
        out.push_str(STATIC);
    }
    if a.sc_equivalent == Some(false) {
        out.push_str("  note: no execution of SC is equivalent to this one\n");
    }
    if *a.head.verdict == Verdict::Violated && a.fails_under_sc {
        out.push_str(NO_FENCE_HELPS);
    }
    // The limit was just said.
    let said = match a.head.verdict {
        Verdict::Unknown(limit) => Some(limit_text(limit, &Names::default())),
        _ => None,
    };
    let is_new = |remark: &&String| said.as_ref().is_none_or(|said| !remark.starts_with(said));
    for remark in a.remarks.iter().filter(is_new) {
        let _ = writeln!(out, "  note: {}", plain(remark));
    }
    if let Some(fenced) = a.fenced {
        push_fenced(&mut out, a.tables, fenced, details);
    }
    if let (Some(cycle), true) = (a.cycle, details) {
        out.push('\n');
        out.push_str(&drawing(a.tables, cycle, style));
        push_commits(&mut out, a, cycle, style.columns());
        push_delays(&mut out, a, cycle, style.columns());
    } else if let Some(order) = a.order.filter(|order| !order.is_empty() && details) {
        let shown: Vec<String> =
            order.iter().take(MAX_ORDER).map(|txn| txn_name(a.tables, txn)).collect();
        let more = if order.len() > shown.len() { ", ..." } else { "" };
        let text = format!("  serial order: {}{more}", shown.join(", "));
        out.push_str(&paragraph(&text, style.columns(), 4));
    }
    for other in a.others {
        push_other(&mut out, a, other, style);
    }
    out
}

/// What else was asked about a trace: the answer and, with details, the cycle.
fn push_other(out: &mut String, a: &SerialAnswer<'_>, other: &SerialOther, style: Style) {
    // A cycle of the trace is one of both of the others, and need not be drawn again.
    let is_known = *a.head.verdict == Verdict::Violated && other.verdict == Verdict::Violated;
    let text = match (other.is_literal, &other.verdict) {
        (false, Verdict::Holds) => {
            "  predicted: no violation on schedules that keep the order of all conflicts that TSO \
             cannot turn in this trace; others, in which transactions overlap that did not here, \
             were not looked at"
        }
        (false, Verdict::Violated) if is_known => "  predicted: not serializable, as above",
        (false, Verdict::Violated) => {
            "  warning: if the threads did the same on another schedule, it would not be \
             serializable"
        }
        (false, Verdict::Unknown(_)) => "  predicted: unknown",
        (true, Verdict::Holds) if *a.head.verdict == Verdict::Violated => {
            "  the test of the paper: serializable, by its reading of buffered reads"
        }
        (true, Verdict::Holds) => "  the test of the paper: serializable",
        (true, Verdict::Violated) if is_known => {
            "  the test of the paper: not serializable, either"
        }
        (true, Verdict::Violated) => {
            "  the test of the paper: not serializable, counting directions of conflicts that no \
             execution of this trace need have"
        }
        (true, Verdict::Unknown(_)) => "  the test of the paper: unknown",
    };
    let columns = if style.details { style.columns() } else { usize::MAX };
    out.push_str(&paragraph(text, columns, 4));
    if let (Some(cycle), true, false) = (&other.cycle, style.details, is_known) {
        out.push('\n');
        out.push_str(&drawing(a.tables, cycle, style));
    }
}

/// The answer as a JSON object on one line.
fn serial_json(a: &SerialAnswer<'_>) -> String {
    let delay = |delay: &SerialDelay| DelayJson {
        store: delay.store.number + 1,
        during: delay.during.number + 1,
        fence_before: delay.overtaker.map(|overtaker| overtaker.number + 1),
    };
    let commit = |&(commit, before): &(SerialEvent, Option<u64>)| CommitJson {
        store: commit.number + 1,
        before: before.map(|before| before + 1),
    };
    let is_trace = a.of == SerialOf::Trace;
    let verdict_of = |literal: bool| {
        let other = a.others.iter().find(|other| other.is_literal == literal)?;
        Some((verdict_key(&other.verdict), other.cycle.as_ref()))
    };
    let cycle_of = |literal: bool| {
        verdict_of(literal).and_then(|(_, cycle)| cycle).map(|cycle| cycle_json(a.tables, cycle))
    };
    let fenced = a.fenced;
    let events = |events: &[SerialEvent]| {
        events.iter().map(|event| EventJson::of(a.tables, event)).collect::<Vec<_>>()
    };
    let body = Body {
        buffered: a.buffered.map(BufferedReads::key),
        sc_equivalent: a.sc_equivalent,
        cycle: a.cycle.map(|cycle| cycle_json(a.tables, cycle)),
        commits: a.cycle.filter(|_| is_trace).map(|c| c.commits.iter().map(commit).collect()),
        delays: a.cycle.map(|cycle| cycle.delays.iter().map(delay).collect()),
        predicted: verdict_of(false).map(|(verdict, _)| verdict),
        predicted_cycle: cycle_of(false),
        literal: verdict_of(true).map(|(verdict, _)| verdict),
        literal_cycle: cycle_of(true),
        order: a.order.map(|order| order.iter().map(|t| TxnJson::of(a.tables, t)).collect()),
        fences: fenced.map(|fenced| events(&fenced.after)),
        without_fences: fenced.map(|fenced| verdict_key(&fenced.without)),
        sc_serializable: fenced
            .map(|fenced| verdict_key(&fenced.sc_serializable))
            .or(a.fails_under_sc.then_some("violated")),
        robust: fenced.map(|fenced| verdict_key(&fenced.robust)),
        overtaken: fenced.map(|fenced| &fenced.overtaken[..]),
        decided_by: a.decided_by,
        events: a.events,
        transactions: a.transactions,
        threads: a.tables.threads.len(),
        locations: a.tables.locs.len(),
        remarks: a.remarks,
        run: a.cycle.map(|cycle| of_cycle(a.head.model, a.tables, cycle)),
    };
    of_record(&a.head, &Names::default(), About { id: a.id, of: a.of.key() }, body)
}

#[derive(Serialize)]
struct About<'a> {
    id: Option<&'a str>,
    of: &'static str,
}

#[derive(Serialize)]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    buffered: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sc_equivalent: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cycle: Option<Vec<EdgeJson>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commits: Option<Vec<CommitJson>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delays: Option<Vec<DelayJson>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted_cycle: Option<Vec<EdgeJson>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    literal: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    literal_cycle: Option<Vec<EdgeJson>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<Vec<TxnJson>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fences: Option<Vec<EventJson>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    without_fences: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sc_serializable: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    robust: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    overtaken: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_by: Option<&'a str>,
    events: u64,
    transactions: u64,
    threads: usize,
    locations: usize,
    remarks: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<Run>,
}

#[derive(Serialize)]
struct DelayJson {
    store: u64,
    during: u64,
    fence_before: Option<u64>,
}

#[derive(Serialize)]
struct CommitJson {
    store: u64,
    before: Option<u64>,
}

/// Why one transaction comes before the next.
#[derive(Serialize)]
pub(crate) struct EdgeJson {
    transaction: TxnJson,
    from: EventJson,
    to: EventJson,
    why: String,
}

#[derive(Serialize)]
struct TxnJson {
    thread: String,
    tr: Option<u32>,
    first: u64,
    last: u64,
}

#[derive(Serialize)]
struct EventJson {
    event: u64,
    thread: String,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
}

impl TxnJson {
    fn of(tables: &LogTables, txn: &SerialTxn) -> TxnJson {
        TxnJson {
            thread: raw_thread(tables, txn.thread),
            tr: txn.label,
            first: txn.events.0 + 1,
            last: txn.events.1 + 1,
        }
    }
}

impl EventJson {
    fn of(tables: &LogTables, event: &SerialEvent) -> EventJson {
        let has_location = event.log.kind.is_access() || event.log.kind == LogKind::Commit;
        let location = tables.locs.get(event.log.loc as usize).map_or("", |loc| &loc.name);
        EventJson {
            event: event.number + 1,
            thread: raw_thread(tables, acting(event)),
            kind: word(event),
            location: has_location.then(|| location.to_owned()),
            at: site(tables, event.log.site).map(str::to_owned),
        }
    }
}

pub(crate) fn cycle_json(tables: &LogTables, cycle: &SerialCycle) -> Vec<EdgeJson> {
    let edge = |edge: &SerialEdge| EdgeJson {
        transaction: TxnJson::of(tables, &edge.txn),
        from: EventJson::of(tables, &edge.from),
        to: EventJson::of(tables, &edge.to),
        why: reason(tables, edge),
    };
    cycle.edges.iter().map(edge).collect()
}

/// The events of a cycle of transactions as a run. Several steps may come from one event of the log,
/// such as a store and how it reaches memory; they have one number.
pub(crate) fn of_cycle(model: Model, tables: &LogTables, cycle: &SerialCycle) -> Run {
    let mut run = Run::new(model_key(model));
    run.threads = tables.threads.iter().map(|name| RunThread::new(plain(name))).collect();
    let count = cycle.edges.len();
    for (i, edge) in cycle.edges.iter().enumerate() {
        let entering = &cycle.edges[(i + count - 1) % count].to;
        for event in [entering, &edge.from] {
            let thread = usize::from(acting(event));
            for thread in run.threads.len()..=thread {
                run.threads.push(RunThread::new(format!("t{thread}")));
            }
            let mut step = RunStep::new(event.number + 1, thread, step_kind(event));
            step.text = Some(event_words(tables, event));
            step.transaction = Some(txn_name(tables, &edge.txn));
            if event.log.kind.is_access() || event.log.kind == LogKind::Commit {
                let location = loc_name(tables, event.log.loc);
                if !run.locations.iter().any(|known| known.name == location) {
                    run.locations.push(RunLocation::new(location.clone()));
                }
                step.location = Some(location);
            }
            if let Some(site) = site(tables, event.log.site) {
                step.put_at(&plain(site));
            }
            if !run.steps.contains(&step) {
                run.steps.push(step);
            }
        }
        run.cycle.push(RunArc {
            from: edge.from.number + 1,
            to: edge.to.number + 1,
            edge: relation(edge),
            why: reason(tables, edge),
        });
    }
    run.steps.sort_by_key(|step| step.n);
    let late = |delay: &SerialDelay| {
        let behind = delay.overtaker.unwrap_or(delay.during).number + 1;
        RunLate { store: delay.store.number + 1, behind }
    };
    run.late = cycle.delays.iter().map(late).collect();
    run
}

fn step_kind(event: &SerialEvent) -> StepKind {
    match (event.role, event.log.kind) {
        (SerialRole::Start, _) => StepKind::Begin,
        (SerialRole::End, _) => StepKind::End,
        (SerialRole::Commit, _) => StepKind::Commit,
        (SerialRole::Fence, _) => StepKind::Fence,
        (SerialRole::Itself, kind) => crate::run::of_log::kind(kind),
    }
}

/// The relation that an edge between transactions is.
fn relation(edge: &SerialEdge) -> &'static str {
    match (edge.from.role, edge.to.role) {
        _ if acting(&edge.from) == acting(&edge.to) => "po",
        (_, SerialRole::Start) => "start",
        (SerialRole::End, _) => "join",
        _ => match (reads_only(&edge.from), reads_only(&edge.to)) {
            (true, _) => "fr",
            (false, true) => "rf",
            (false, false) => "co",
        },
    }
}

/// The cycle with a box for each transaction, with the events by which it is entered and left.
pub(crate) fn drawing(tables: &LogTables, cycle: &SerialCycle, style: Style) -> String {
    let (paint, columns) = (Paint(style.color), style.columns());
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
        let most = MAX_EVENT.min(columns - 6);
        let lines = events.iter().flat_map(|event| event_lines(tables, event, most));
        boxes.push((cut(&txn_name(tables, &edge.txn), columns - 8), lines.collect()));
    }
    let widths = boxes
        .iter()
        .flat_map(|(name, lines)| lines.iter().map(|line| width(line)).chain([width(name) + 2]));
    let inner = widths.max().unwrap_or(0);
    let mut out = paragraph(
        "  No order of the transactions explains this: each comes before the next, and they form a \
         cycle.",
        columns,
        2,
    );
    out.push('\n');
    for (i, (name, lines)) in boxes.iter().enumerate() {
        let rule = "─".repeat(inner - width(name));
        let _ = writeln!(out, "  ┌ {} {rule}┐", paint.bold(name));
        for line in lines {
            let _ = writeln!(out, "  │ {} │", pad(line, inner));
        }
        let _ = writeln!(out, "  └{}┘", "─".repeat(inner + 2));
        let back = if i + 1 == count { "back to the first: " } else { "" };
        let text = format!("    ↓ {back}{}", reason(tables, &cycle.edges[i]));
        out.push_str(&paragraph(&text, columns, 6));
    }
    if count > shown {
        let more = counted((count - shown) as u64, "more transaction");
        let _ = writeln!(out, "    ... {more}; --format json has all");
    }
    out
}

/// Where the stores of a trace reach memory.
fn push_commits(out: &mut String, a: &SerialAnswer<'_>, cycle: &SerialCycle, columns: usize) {
    if a.of == SerialOf::Trace {
        let early = || cycle.commits.iter().filter_map(|(c, before)| Some((c, (*before)?)));
        let place = |(commit, before): (&SerialEvent, u64)| {
            format!("{} before {}", commit.number + 1, before + 1)
        };
        let mut places: Vec<String> = early().take(MAX_DRAWN).map(place).collect();
        if early().count() > places.len() {
            places.push("...".to_owned());
        }
        let text = match places.is_empty() {
            true => "  There all stores reach memory as late as they can.".to_owned(),
            false => format!(
                "  There stores reach memory so: {}; all others as late as they can.",
                places.join(", ")
            ),
        };
        out.push_str(&paragraph(&text, columns, 4));
    }
}

/// Which stores are late, and which fences would be in the way.
fn push_delays(out: &mut String, a: &SerialAnswer<'_>, cycle: &SerialCycle, columns: usize) {
    let place = |event: &SerialEvent| match site(a.tables, event.log.site) {
        Some(site) => cut_left(&plain(site), MAX_NAME.min(columns / 2)),
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
        let text = format!(
            "  {thread}'s store to {to} ({}) is still in its buffer when {does}.",
            place(store)
        );
        out.push_str(&paragraph(&text, columns, 4));
        if let Some(overtaker) = overtaker.filter(|_| !a.fails_under_sc) {
            let (after, before) = (place(store), place(&overtaker));
            let text = format!(
                "    A fence in {thread} between {after} and {before} would be in the way."
            );
            out.push_str(&paragraph(&text, columns, 6));
        }
    }
    let fixable = cycle.delays.iter().any(|delay| delay.overtaker.is_some());
    if fixable && a.of == SerialOf::Trace && !a.fails_under_sc {
        out.push_str(&paragraph(
            "  --fence-transactions says what a fence at the end of each transaction buys.",
            columns,
            4,
        ));
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

fn word(event: &SerialEvent) -> &'static str {
    match event.role {
        SerialRole::Itself => event.log.kind.word(),
        SerialRole::Start => "start",
        SerialRole::End => "end",
        SerialRole::Commit => "com",
        SerialRole::Fence => "fence",
    }
}

/// `5. rd x  at main.c:12`, on two lines if one is too short.
fn event_lines(tables: &LogTables, event: &SerialEvent, columns: usize) -> Vec<String> {
    let line = event_text(tables, event);
    match line.rsplit_once("  at ") {
        _ if width(&line) <= columns => vec![line],
        Some((what, site)) => {
            vec![cut(what, columns), format!("  at {}", cut_left(site, columns - 5))]
        }
        None => vec![cut(&line, columns)],
    }
}

/// `5. rd x  at main.c:12`.
fn event_text(tables: &LogTables, event: &SerialEvent) -> String {
    let at = site(tables, event.log.site).map_or(String::new(), |s| format!("  at {}", plain(s)));
    let what = event_words(tables, event);
    format!("{}. {what}{at}", grouped(u128::from(event.number) + 1))
}

/// `rd x`.
fn event_words(tables: &LogTables, event: &SerialEvent) -> String {
    match event.role {
        SerialRole::Start | SerialRole::End | SerialRole::Fence => word(event).to_owned(),
        _ => match event.log.kind {
            LogKind::Spawn | LogKind::Join => {
                format!("{} {}", word(event), thread_name(tables, event.log.loc as u16))
            }
            LogKind::Fence => word(event).to_owned(),
            _ => format!("{} {}", word(event), loc_name(tables, event.log.loc)),
        },
    }
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
