//! What explorations of real programs found, as text and JSON.

use std::fmt::Write;
use std::time::Duration;

use serde::Serialize;
use weakspot_core::{Model, Names, Verdict};

use crate::json::{Object, SCHEMA, line, model_key, push_string, verdict_key};
use crate::stream::log::{MonitorAnswer, ViolationJson, drawing, told};
use crate::text::limit::{limit_json, limit_text};
use crate::text::show::{counted, grouped, plain};
use crate::text::table::Style;

/// What was explored of a program.
#[derive(Clone, Debug)]
pub struct Explored<'a> {
    /// The program as the user named it.
    pub program: &'a str,
    /// How many executions there were.
    pub executions: u64,
    /// The command that explores it, without the program.
    pub command: &'a str,
    /// The program as that command names it.
    pub target: &'a str,
    /// How many steps they took together.
    pub steps: u64,
    /// How they were chosen.
    pub strategy: &'a str,
    /// What the user should know.
    pub remarks: &'a [String],
    /// How long it took.
    pub time: Duration,
}

/// Where a model would let an access overtake a store, in some of the executions.
#[derive(Clone, Copy, Debug)]
pub struct RealOvertaking<'a> {
    /// What came of executing it again.
    pub shown: RealShown<'a>,
    /// The places of the store and of the access.
    pub places: [&'a str; 2],
    /// The source of the store and of the access, innermost function first.
    pub frames: [&'a [String]; 2],
    /// In how many executions it was reported.
    pub executions: u64,
    /// The first of these, from 1.
    pub first: u64,
    /// The schedule that shows it.
    pub schedule: &'a str,
}

/// What came of executing a finding again.
#[derive(Clone, Copy, Debug)]
pub enum RealShown<'a> {
    /// One execution, with this one report.
    Again(MonitorAnswer<'a>),
    /// It was not executed again.
    NotAgain,
    /// It did not come out the same.
    Unrepeatable,
}

/// An execution that went wrong.
#[derive(Clone, Copy, Debug)]
pub struct RealFailure<'a> {
    /// `assertion`, `crash`, `deadlock`, ...
    pub kind: &'a str,
    /// What is known about it.
    pub text: &'a str,
    /// The thread and where it was.
    pub thread: Option<&'a str>,
    /// The source, innermost function first.
    pub frames: &'a [String],
    /// What else happened where: what, which thread, and the source, innermost function first.
    pub related: &'a [(String, Option<String>, Vec<String>)],
    /// Which stores were late in it.
    pub delays: &'a [String],
    /// In how many executions.
    pub executions: u64,
    /// The first of these, from 1.
    pub first: u64,
    /// The schedule that shows it.
    pub schedule: &'a str,
}

/// How many findings are told one by one in text.
const MAX_TOLD: usize = 20;

/// What is said about a model that the executions were watched for.
#[must_use]
pub fn real_text(
    explored: &Explored<'_>,
    model: Model,
    verdict: &Verdict,
    findings: &[RealOvertaking<'_>],
    style: Style,
) -> String {
    let count = |f: &dyn Fn(&RealShown<'_>) -> bool| {
        findings.iter().filter(|finding| f(&finding.shown)).count() as u64
    };
    let lost = count(&|shown| matches!(shown, RealShown::Unrepeatable));
    let only_reported = count(&|shown| matches!(shown, RealShown::NotAgain));
    let mut out = answered(explored, model, verdict, |executions| match verdict {
        Verdict::Holds => {
            format!("robust: nothing can be overtaken in any execution ({executions} explored)")
        }
        Verdict::Violated => {
            let pairs = counted(findings.len() as u64 - lost, "pair");
            format!("breaks SC: {pairs} of accesses in {executions}")
        }
        Verdict::Unknown(_) if lost > 0 => {
            format!("{} reported in {executions}", counted(lost, "pair"))
        }
        Verdict::Unknown(_) => format!("nothing found in {executions}"),
    });
    if !style.details {
        return out;
    }
    let mut drawn = false;
    for finding in findings.iter().take(MAX_TOLD) {
        let reports = match &finding.shown {
            RealShown::Again(a) => a.reports.iter().map(|(report, run)| (a, report, run)).collect(),
            RealShown::NotAgain | RealShown::Unrepeatable => Vec::new(),
        };
        if reports.is_empty() {
            out.push('\n');
            for (what, place) in ["store", "access"].into_iter().zip(finding.places) {
                let _ = writeln!(out, "  {what:<9}at {}", plain(place));
            }
            let what = match finding.shown {
                RealShown::Unrepeatable => "but did not come out the same when executed again",
                _ => "but not executed again",
            };
            let _ = writeln!(out, "  {:<9}{what}", "reported");
            out.push_str(&places(explored, finding));
        }
        for (a, report, run) in reports {
            out.push('\n');
            out.push_str(&told(a, report, run.as_ref(), style));
            out.push_str(&places(explored, finding));
            if let (false, Some(run)) = (drawn, run) {
                drawn = true;
                out.push('\n');
                out.push_str(&drawing(a, run, style));
            }
        }
    }
    if findings.len() > MAX_TOLD {
        let more = counted((findings.len() - MAX_TOLD) as u64, "more pair");
        let _ = writeln!(out, "\n  and {more}; --format json lists all");
    }
    let all = grouped(findings.len() as u128);
    for (number, what) in [
        (only_reported, "reported, but not executed again"),
        (lost, "reported, but did not come out the same when executed again"),
    ] {
        if number > 0 && findings.len() > MAX_TOLD {
            let _ = writeln!(out, "  {} of all {all} were {what}", grouped(u128::from(number)));
        }
    }
    out
}

/// The source of a pair, and where it was seen.
fn places(explored: &Explored<'_>, finding: &RealOvertaking<'_>) -> String {
    let mut out = String::new();
    for (what, frames) in ["store", "access"].into_iter().zip(finding.frames) {
        let frames: Vec<_> = frames.iter().map(|frame| plain(frame)).collect();
        let label = if what == "store" { "frames" } else { "" };
        let _ = writeln!(out, "  {label:<9}{what} {}", frames.join(", inlined at "));
    }
    out + &seen(explored, finding.executions, finding.first, finding.schedule)
}

/// The first line of an answer: about what, why it is not known, and what there is to say.
fn answered(
    explored: &Explored<'_>,
    model: Model,
    verdict: &Verdict,
    say: impl FnOnce(&str) -> String,
) -> String {
    let why = match verdict {
        Verdict::Unknown(limit) => format!("unknown: {}; ", limit_text(limit, &Names::default())),
        _ => String::new(),
    };
    let said = say(&counted(explored.executions, "execution"));
    format!("{} {model}: {why}{said}\n", plain(explored.program))
}

/// What is said about the executions themselves.
#[must_use]
pub fn failures_text(
    explored: &Explored<'_>,
    under: Model,
    verdict: &Verdict,
    failures: &[RealFailure<'_>],
    details: bool,
) -> String {
    let mut out = answered(explored, under, verdict, |executions| match verdict {
        Verdict::Holds => format!("no execution fails ({executions} explored)"),
        Verdict::Violated => {
            format!("fails: {} in {executions}", counted(failures.len() as u64, "failure"))
        }
        Verdict::Unknown(_) => format!("no failure in {executions}"),
    });
    if !details {
        return out;
    }
    for failure in failures.iter().take(MAX_TOLD) {
        let _ = write!(out, "\n  {:<8}", failure.kind);
        if !failure.text.is_empty() {
            let _ = write!(out, " {}", plain(failure.text));
        }
        out.push('\n');
        if let Some(thread) = failure.thread {
            let _ = writeln!(out, "  {:<9}{thread}", "thread");
        }
        for (i, frame) in failure.frames.iter().enumerate() {
            let _ = writeln!(out, "  {:<9}{}", if i == 0 { "at" } else { "inlined" }, plain(frame));
        }
        for (what, thread, frames) in failure.related {
            let by = thread.as_ref().map_or(String::new(), |thread| format!(" by {thread}"));
            let frames: Vec<_> = frames.iter().map(|frame| plain(frame)).collect();
            let _ = writeln!(out, "  {what}{by} at {}", frames.join(", inlined at "));
        }
        for delay in failure.delays {
            let _ = writeln!(out, "  {:<9}{}", "late", plain(delay));
        }
        out.push_str(&seen(explored, failure.executions, failure.first, failure.schedule));
    }
    out
}

fn seen(explored: &Explored<'_>, executions: u64, first: u64, schedule: &str) -> String {
    let mut out = format!(
        "  {:<9}in {}, first in execution {}\n",
        "seen",
        counted(executions, "execution"),
        grouped(u128::from(first))
    );
    if !schedule.is_empty() {
        let (command, target) = (plain(explored.command), plain(explored.target));
        let _ = writeln!(out, "  {:<9}{command} --replay {schedule} {target}", "again by");
    }
    out
}

/// Executions whose transactions are not serializable.
#[derive(Clone, Copy, Debug)]
pub struct RealUnserializable<'a> {
    /// How many.
    pub executions: u64,
    /// The first of them, from 1.
    pub first: u64,
    /// The schedule that shows it.
    pub schedule: &'a str,
}

/// What is said about transactions; `fenced`: as if each ended in a fence.
#[must_use]
pub fn unserializable_text(
    explored: &Explored<'_>,
    model: Model,
    verdict: &Verdict,
    fenced: bool,
    shown: Option<&RealUnserializable<'_>>,
) -> String {
    let what =
        if fenced { "with a fence at the end of each, transactions" } else { "transactions" };
    let executions = counted(explored.executions, "execution");
    let mut out = format!("{} {model}: {what}: ", plain(explored.program));
    let _ = match verdict {
        Verdict::Holds => writeln!(out, "serializable ({executions} explored)"),
        Verdict::Violated => writeln!(out, "not serializable ({executions} explored)"),
        Verdict::Unknown(limit) => {
            writeln!(out, "unknown: {}; no cycle found", limit_text(limit, &Names::default()))
        }
    };
    if let Some(shown) = shown {
        out.push_str(&seen(explored, shown.executions, shown.first, shown.schedule));
    }
    out
}

/// The same as a JSON object on one line.
#[must_use]
pub fn unserializable_json(
    explored: &Explored<'_>,
    model: Model,
    verdict: &Verdict,
    fenced: bool,
    shown: Option<&RealUnserializable<'_>>,
) -> String {
    let mut o = opening(explored, "serial", model, verdict, false);
    o.raw("fenced", fenced);
    if let Some(shown) = shown {
        o.raw("unserializable", shown.executions).raw("first", shown.first);
        o.string("schedule", shown.schedule);
    }
    closing(o, explored)
}

/// What came out for one of several programs.
#[derive(Clone, Copy, Debug)]
pub struct RealOutcome<'a> {
    /// What it is called.
    pub name: &'a str,
    /// How many executions were explored.
    pub executions: u64,
    /// Everything that was asked about it, and under which model. Empty after an error.
    pub verdicts: &'a [(RealQuestion, Model, Verdict)],
}

/// What is asked about a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RealQuestion {
    /// Does an execution fail?
    Failures,
    /// Can an access overtake a store?
    Robust,
    /// Are transactions serializable?
    Serial,
    /// Would they be with a fence at the end of each?
    SerialFenced,
}

impl RealQuestion {
    /// What stands above its verdicts.
    fn heading(self, model: Model) -> String {
        match self {
            RealQuestion::Failures | RealQuestion::Robust => model.to_string(),
            RealQuestion::Serial => "transactions".to_owned(),
            RealQuestion::SerialFenced => "fenced".to_owned(),
        }
    }

    fn word(self, verdict: &Verdict) -> &'static str {
        match (self, verdict) {
            (_, Verdict::Unknown(_)) => "unknown",
            (RealQuestion::Failures, Verdict::Holds) => "holds",
            (RealQuestion::Failures, Verdict::Violated) => "fails",
            (RealQuestion::Robust, Verdict::Holds) => "robust",
            (RealQuestion::Robust, Verdict::Violated) => "breaks SC",
            (_, Verdict::Holds) => "serializable",
            (_, Verdict::Violated) => "not serializable",
        }
    }
}

/// A line for each program, and how many of them are all right.
#[must_use]
pub fn real_summary(outcomes: &[RealOutcome<'_>]) -> String {
    let asked = outcomes.iter().map(|o| o.verdicts).find(|v| !v.is_empty()).unwrap_or(&[]);
    let mut lines = vec![vec!["test".to_owned(), "executions".to_owned()]];
    lines[0].extend(asked.iter().map(|(question, model, _)| question.heading(*model)));
    for o in outcomes {
        let mut line = vec![plain(o.name).to_string(), grouped(u128::from(o.executions))];
        line.extend(o.verdicts.iter().map(|(q, _, verdict)| q.word(verdict).to_owned()));
        if o.verdicts.is_empty() {
            line.push("error".to_owned());
        }
        lines.push(line);
    }
    let mut widths = vec![0; lines[0].len()];
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut out = String::new();
    for line in &lines {
        let mut text = String::new();
        for (i, (cell, &width)) in line.iter().zip(&widths).enumerate() {
            let _ = match i {
                1 => write!(text, "{cell:>width$}  "),
                _ => write!(text, "{cell:<width$}  "),
            };
        }
        let _ = writeln!(out, "{}", text.trim_end());
    }
    let count = |f: &dyn Fn(&Verdict) -> bool| {
        outcomes.iter().filter(|o| o.verdicts.iter().any(|(.., v)| f(v))).count()
    };
    let bad = count(&|v| *v == Verdict::Violated);
    let errors = outcomes.iter().filter(|o| o.verdicts.is_empty()).count();
    let good = outcomes
        .iter()
        .filter(|o| !o.verdicts.is_empty() && o.verdicts.iter().all(|(.., v)| *v == Verdict::Holds))
        .count();
    let unknown = outcomes.len() - bad - errors - good;
    let _ = write!(
        out,
        "{}: {good} hold, {bad} violated, {unknown} unknown",
        counted(outcomes.len() as u64, "test")
    );
    let _ = if errors > 0 { writeln!(out, ", {errors} with errors") } else { writeln!(out) };
    out
}

/// A line about the exploration, and what the user should know.
#[must_use]
pub fn real_statistics(explored: &Explored<'_>) -> String {
    let mut out = String::new();
    for remark in explored.remarks {
        let _ = writeln!(out, "note: {remark}");
    }
    let seconds = explored.time.as_secs_f64();
    let rate = explored.executions as f64 / seconds.max(1e-6);
    out.push_str(&counted(explored.executions, "execution"));
    // Who is stopped may not come to say how many there were.
    if explored.steps > 0 || explored.executions == 0 {
        let _ = write!(out, " with {}", counted(explored.steps, "step"));
    }
    let _ = writeln!(
        out,
        " by {} in {seconds:.3} s, {} per second",
        explored.strategy,
        grouped(rate as u128)
    );
    out
}

/// The answer about a model as a JSON object on one line.
#[must_use]
pub fn real_json(
    explored: &Explored<'_>,
    model: Model,
    verdict: &Verdict,
    findings: &[RealOvertaking<'_>],
) -> String {
    // One finding whose run was checked shows the verdict.
    let is_checked = |finding: &RealOvertaking<'_>| matches!(&finding.shown, RealShown::Again(a) if a.head.certified.is_checked());
    let certified = *verdict == Verdict::Violated && findings.iter().any(is_checked);
    let mut o = opening(explored, "run", model, verdict, certified);
    let list = o.key("violations");
    list.push('[');
    for (i, finding) in findings.iter().enumerate() {
        list.push_str(if i == 0 { "" } else { "," });
        let shown = match &finding.shown {
            RealShown::Again(a) => match a.reports {
                [(report, run), ..] => {
                    ShownJson::Again(Box::new(ViolationJson::of(a, report, run.as_ref())))
                }
                [] => ShownJson::only_reported(finding, "not executed"),
            },
            RealShown::NotAgain => ShownJson::only_reported(finding, "not executed"),
            RealShown::Unrepeatable => ShownJson::only_reported(finding, "unrepeatable"),
        };
        list.push_str(&line(&FindingJson {
            shown,
            store_frames: finding.frames[0],
            access_frames: finding.frames[1],
            executions: finding.executions,
            first: finding.first,
            schedule: finding.schedule,
        }));
    }
    list.push(']');
    closing(o, explored)
}

#[derive(Serialize)]
struct FindingJson<'a> {
    #[serde(flatten)]
    shown: ShownJson<'a>,
    store_frames: &'a [String],
    access_frames: &'a [String],
    executions: u64,
    first: u64,
    schedule: &'a str,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ShownJson<'a> {
    Again(Box<ViolationJson>),
    /// A pair without an execution that shows it, and why there is none.
    Reported {
        store: PlaceJson<'a>,
        access: PlaceJson<'a>,
        certified: bool,
        again: &'static str,
    },
}

#[derive(Serialize)]
struct PlaceJson<'a> {
    at: &'a str,
}

impl<'a> ShownJson<'a> {
    fn only_reported(finding: &RealOvertaking<'a>, again: &'static str) -> ShownJson<'a> {
        let [store, access] = finding.places.map(|at| PlaceJson { at });
        ShownJson::Reported { store, access, certified: false, again }
    }
}

/// The answer about the executions themselves.
#[must_use]
pub fn failures_json(
    explored: &Explored<'_>,
    under: Model,
    verdict: &Verdict,
    failures: &[RealFailure<'_>],
) -> String {
    let mut o = opening(explored, "failures", under, verdict, false);
    let list = o.key("failures");
    list.push('[');
    for (i, failure) in failures.iter().enumerate() {
        list.push_str(if i == 0 { "" } else { "," });
        let mut v = Object::new();
        v.string("kind", failure.kind).string("text", failure.text);
        if let Some(thread) = failure.thread {
            v.string("thread", thread);
        }
        strings(v.key("at"), failure.frames);
        if !failure.related.is_empty() {
            let related = failure.related.iter();
            let related = related.map(|(what, thread, at)| RelatedJson { what, thread, at });
            v.raw("related", line(&related.collect::<Vec<_>>()));
        }
        if under != Model::Sc {
            strings(v.key("late"), failure.delays);
        }
        v.raw("executions", failure.executions).raw("first", failure.first);
        v.string("schedule", failure.schedule);
        list.push_str(&v.end());
    }
    list.push(']');
    closing(o, explored)
}

#[derive(Serialize)]
struct RelatedJson<'a> {
    what: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: &'a Option<String>,
    at: &'a [String],
}

fn opening(
    explored: &Explored<'_>,
    question: &str,
    model: Model,
    verdict: &Verdict,
    certified: bool,
) -> Object {
    let mut o = Object::new();
    o.string("file", explored.program).string("question", question);
    o.string("model", model_key(model)).string("verdict", verdict_key(verdict));
    o.raw("certified", certified);
    if let Verdict::Unknown(limit) = verdict {
        o.raw("limit", limit_json(limit, Some(&Names::default())));
    }
    o
}

fn closing(mut o: Object, explored: &Explored<'_>) -> String {
    o.raw("executions", explored.executions).raw("steps", explored.steps);
    o.string("strategy", explored.strategy);
    strings(o.key("remarks"), explored.remarks);
    o.raw("time_s", format_args!("{:.6}", explored.time.as_secs_f64())).raw("schema", SCHEMA);
    o.end()
}

pub(crate) fn strings(list: &mut String, items: &[String]) {
    list.push('[');
    for (i, item) in items.iter().enumerate() {
        list.push_str(if i == 0 { "" } else { "," });
        push_string(list, item);
    }
    list.push(']');
}
