//! What explorations of real programs found, as text; [`json`] for machines.

pub(crate) mod advice;
pub(crate) mod advisory;
pub(crate) mod json;
pub(crate) mod suite;

use std::fmt::Write;
use std::time::Duration;

use weakspot_core::{Course, Limit, Model, Names, Verdict};

use crate::run::object::Run;
use crate::run::of_steps::draw_steps;
use crate::stream::log::{MonitorAnswer, drawing, labelled, violation_text};
use crate::text::limit::limit_text;
use crate::text::show::{counted, grouped, plain};
use crate::text::table::{Paint, Style, paragraph};

/// What was explored of a program.
#[derive(Clone, Debug)]
pub struct Explored<'a> {
    /// The program as the user named it.
    pub program: &'a str,
    /// The folder from which its sources are named, if that is neither the one that one is in nor above.
    pub root: Option<&'a str>,
    /// How many executions there were that came to their end.
    pub executions: u64,
    /// How many others did not: an assumption does not hold, or a thread waits in a loop and what follows is part
    /// of others.
    pub blocked: u64,
    /// The command that explores it, without the program.
    pub command: &'a str,
    /// The program as that command names it.
    pub target: &'a str,
    /// The same two for a schedule that was kept with its options.
    pub again: (&'a str, &'a str),
    /// Whether all is told: every frame, and schedules as they are.
    pub verbose: bool,
    /// How many steps they took together.
    pub steps: u64,
    /// How they were chosen.
    pub strategy: &'a str,
    /// What the user should know.
    pub remarks: &'a [String],
    /// The schedule of the first execution that was given up, and its number, if it was kept.
    pub cut_off: Option<(&'a str, Option<u64>)>,
    /// How long it took.
    pub time: Duration,
    /// How it went, if somebody looks at that.
    pub course: Option<&'a Course>,
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
    /// Its number, if it was kept.
    pub number: Option<u64>,
    /// What comes of it.
    pub consequence: RealConsequence<'a>,
    /// Why it is accepted, if it is: `baseline` or `benign`.
    pub accepted: Option<&'a str>,
    /// The model that it was reported for before, if it was.
    pub before: Option<Model>,
}

/// What comes of a pair of accesses in executions with store buffers.
#[derive(Clone, Copy, Debug)]
pub enum RealConsequence<'a> {
    /// This failure.
    Fails(&'a RealFailure<'a>),
    /// No execution fails in which its store waits, alone if executions fail for other reasons.
    Unnoticed {
        /// Whether others do.
        alone: bool,
    },
    /// No failure came of it but those under SC.
    AsUnderSc,
    /// The consequence is not known.
    Unknown,
    /// Consequences were not looked for.
    NotSought,
}

/// What came of executing a finding again.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::large_enum_variant, reason = "there are few, and most are of the large kind")]
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
    /// What else happened where.
    pub related: &'a [RealRelated],
    /// Which stores were late in it.
    pub delays: &'a [String],
    /// What led to it, if that is known.
    pub run: Option<&'a Run>,
    /// In how many executions.
    pub executions: u64,
    /// The first of these, from 1.
    pub first: u64,
    /// The schedule that shows it.
    pub schedule: &'a str,
    /// Its number, if it was kept.
    pub number: Option<u64>,
    /// The model that it was reported for before, if it was.
    pub before: Option<Model>,
}

/// Another place that has to do with a failure.
#[derive(Clone, Debug)]
pub struct RealRelated {
    /// What happened there.
    pub what: String,
    /// Which thread did it.
    pub thread: Option<String>,
    /// The source, innermost function first.
    pub at: Vec<String>,
    /// What the thread waits for, if it does and that is known.
    pub wait: Option<RealWait>,
}

/// What a thread waits for that cannot go on.
#[derive(Clone, Debug)]
pub struct RealWait {
    /// All of it in words.
    pub text: String,
    /// What it waits for.
    pub object: Option<String>,
    /// Who has that, and where it took it.
    pub holders: Vec<(String, Option<String>)>,
}

/// Whether executions fail under a model.
#[derive(Clone, Copy, Debug)]
pub struct RealFailed<'a> {
    /// The model.
    pub model: Model,
    /// The verdict.
    pub verdict: &'a Verdict,
    /// Whether it is only advice.
    pub advisory: bool,
    /// What went wrong.
    pub failures: &'a [RealFailure<'a>],
    /// Whether the answer follows from executions under SC: none were executed under the model.
    pub derived: bool,
    /// Why other failures may be missing; nothing if all executions were explored.
    pub limit: Option<&'a Limit>,
}

/// Whether a model would let accesses overtake stores.
#[derive(Clone, Copy, Debug)]
pub struct RealPairs<'a> {
    /// The model.
    pub model: Model,
    /// The verdict.
    pub verdict: &'a Verdict,
    /// Whether it is only advice.
    pub advisory: bool,
    /// All pairs.
    pub findings: &'a [RealOvertaking<'a>],
    /// Why it is not known whether executions fail under the model, if nothing else says so.
    pub open: Option<&'a Limit>,
    /// Why other pairs may be missing; nothing if all executions were explored.
    pub limit: Option<&'a Limit>,
}

/// How many findings are reported one by one in text.
const MAX_SHOWN: usize = 20;

/// What is said about a model that the executions were watched for.
#[must_use]
pub fn real_text(explored: &Explored<'_>, pairs: &RealPairs<'_>, style: Style) -> String {
    let RealPairs { model, verdict, findings, open, .. } = *pairs;
    let count = |f: &dyn Fn(&RealOvertaking<'_>) -> bool| {
        findings.iter().filter(|finding| f(finding)).count() as u64
    };
    let lost = count(&|f| matches!(f.shown, RealShown::Unrepeatable));
    let limit = open.or(limit_of(verdict));
    let mut out = answered(explored, model, limit, (verdict, style), |executions| match verdict {
        Verdict::Holds => {
            format!("robust: nothing can be overtaken in any execution ({executions} explored)")
        }
        Verdict::Violated => {
            let number = counted(findings.len() as u64 - lost, "pair");
            let untried =
                if open.is_some() { ", but no execution with store buffers was tried" } else { "" };
            format!("breaks SC: {number} of accesses in {executions}{untried}")
        }
        Verdict::Unknown(_) if lost > 0 => {
            format!("{} reported in {executions}", counted(lost, "pair"))
        }
        Verdict::Unknown(_) => format!("nothing found in {executions}"),
    });
    if !style.details {
        return out;
    }
    let new: Vec<&RealOvertaking<'_>> = findings.iter().filter(|f| f.before.is_none()).collect();
    let mut drawn = false;
    for finding in new.iter().take(MAX_SHOWN) {
        out.push_str(&pair(explored, finding, &mut drawn, style));
    }
    if new.len() > MAX_SHOWN {
        let more = counted((new.len() - MAX_SHOWN) as u64, "more pair");
        let _ = writeln!(out, "\n  and {more}; --format json lists all");
    }
    let all = grouped(findings.len() as u128);
    let only_reported = count(&|f| matches!(f.shown, RealShown::NotAgain));
    for (number, what) in [
        (only_reported, "reported, but not executed again"),
        (lost, "reported, but did not come out the same when executed again"),
    ] {
        if number > 0 && findings.len() > MAX_SHOWN {
            let _ = writeln!(out, "  {} of all {all} were {what}", grouped(u128::from(number)));
        }
    }
    if let Some(before) = findings.iter().find_map(|f| f.before) {
        let known: Vec<_> = findings.iter().filter(|f| f.before.is_some()).collect();
        let fails = known.iter().filter(|f| matches!(f.consequence, RealConsequence::Fails(_)));
        let fails = match fails.count() {
            0 => String::new(),
            n => format!(", of which {} here", plural(n, "fails", "fail")),
        };
        let _ = writeln!(out, "  {} as under {before}{fails}", counted(known.len() as u64, "pair"));
    }
    out
}

/// `1 fails`, `2 fail`.
fn plural(number: usize, one: &str, several: &str) -> String {
    format!("{} {}", grouped(number as u128), if number == 1 { one } else { several })
}

/// A pair with its consequence; the first one that can be is drawn.
fn pair(
    explored: &Explored<'_>,
    finding: &RealOvertaking<'_>,
    drawn: &mut bool,
    style: Style,
) -> String {
    let mut out = "\n".to_owned();
    let report = match &finding.shown {
        RealShown::Again(a) => a.reports.first().map(|(report, run)| (a, report, run)),
        RealShown::NotAgain | RealShown::Unrepeatable => None,
    };
    match report {
        Some((a, report, run)) => out.push_str(&violation_text(a, report, run.as_ref(), style)),
        None => {
            for (what, place) in ["store", "access"].into_iter().zip(finding.places) {
                let _ = writeln!(out, "  {what:<9}at {}", plain(place));
            }
            let what = match finding.shown {
                RealShown::Unrepeatable => "but did not come out the same when executed again",
                _ => "but not executed again",
            };
            let _ = writeln!(out, "  {:<9}{what}", "reported");
        }
    }
    let then = match finding.consequence {
        RealConsequence::Fails(failure) => {
            let at = own_frame(failure.frames).map_or(String::new(), |at| format!(" at {at}"));
            Some(format!("fails: {} {}{at}", failure.kind, failure.text))
        }
        RealConsequence::Unnoticed { alone: false } => {
            Some("unnoticed by these tests: no execution fails".to_owned())
        }
        RealConsequence::Unnoticed { alone: true } => {
            let why = "no execution fails in which only this store waits";
            Some(format!("unnoticed by these tests: {why}"))
        }
        RealConsequence::AsUnderSc => {
            let why = "executions fail under SC already, and no other failure was found";
            Some(format!("not known: {why}"))
        }
        RealConsequence::Unknown => Some("not known: no execution that fails was found".to_owned()),
        RealConsequence::NotSought => None,
    };
    if let Some(then) = then {
        out.push_str(&labelled("then", &plain(&then), None, style));
    }
    if let Some(accepted) = finding.accepted {
        let by = match accepted {
            "benign" => "by a comment in the source",
            _ => "by the baseline",
        };
        let _ = writeln!(out, "  {:<9}{by}", "accepted");
    }
    out.push_str(&places(explored, finding, style));
    if let (false, Some((a, _, Some(run)))) = (*drawn, report) {
        *drawn = true;
        out.push('\n');
        out.push_str(&drawing(a, run, style));
    }
    out
}

/// The source of a pair, and where it was seen.
fn places(explored: &Explored<'_>, finding: &RealOvertaking<'_>, style: Style) -> String {
    let mut out = String::new();
    for (what, frames) in ["store", "access"].into_iter().zip(finding.frames) {
        let label = if what == "store" { "frames" } else { "" };
        let text = format!("{what} {}", chain(explored, frames));
        out += &match explored.verbose {
            true => format!("  {label:<9}{text}\n"),
            false => labelled(label, &text, None, style),
        };
    }
    let RealOvertaking { executions, first, schedule, number, .. } = *finding;
    out + &seen(explored, executions, first, (schedule, number))
}

/// The frame of a place that is told: the first one outside of standard libraries and of what the system
/// came with, in which people look for what they have written.
pub(crate) fn own_frame(frames: &[String]) -> Option<&String> {
    const OTHERS: [&str; 5] =
        ["library/", "/rustc/", "/usr/include/", "/usr/lib/", "/usr/local/include/"];
    let own = |frame: &&String| !OTHERS.iter().any(|start| frame.starts_with(start));
    frames.iter().find(own).or(frames.first())
}

/// Where something is, on one line.
fn chain(explored: &Explored<'_>, frames: &[String]) -> String {
    if !explored.verbose {
        return own_frame(frames).map_or(String::new(), |frame| without_types(&plain(frame)));
    }
    let frames: Vec<_> = frames.iter().map(|frame| plain(frame)).collect();
    frames.join(", inlined at ")
}

/// A function without the types that it was made for: in Rust always, in C++ if it is long.
fn without_types(frame: &str) -> String {
    const LONG: usize = 60;
    // `<Vec<u8>>::push` and `<u8 as Trait>::f`: what is in the brackets says whose function it is.
    if let Some((before, of, method)) = of_type(frame) {
        let (of, method) = (types_left_out(of, "<"), types_left_out(method, "::<"));
        return match of.contains(" as ") {
            true => format!("{before}<{of}>{method}"),
            false => format!("{before}{of}{method}"),
        };
    }
    let start = if frame.contains("::<") || frame.starts_with('<') || frame.len() <= LONG {
        "::<"
    } else {
        "<"
    };
    types_left_out(frame, start)
}

/// A method in Rust: what stands before it, the type that it is of, which is in brackets, and the method.
fn of_type(frame: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = match frame.strip_prefix('<') {
        Some(rest) => ("", rest),
        None => frame.split_once(" in <").map(|(place, rest)| (&frame[..place.len() + 4], rest))?,
    };
    let end = end_of_types(rest)?;
    let method = &rest[end + 1..];
    method.starts_with("::").then(|| (before, &rest[..end], method))
}

/// Where types end that begin here.
fn end_of_types(types: &str) -> Option<usize> {
    let mut depth = 1_u32;
    let end = types.char_indices().find(|&(at, c)| {
        match c {
            '<' => depth += 1,
            '>' if !types[..at].ends_with('-') => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    end.map(|(at, _)| at)
}

fn types_left_out(name: &str, start: &str) -> String {
    let mut out = String::new();
    let mut rest = name;
    while let Some((before, types)) = rest.split_once(start) {
        out += before;
        rest = end_of_types(types).map_or("", |at| &types[at + 1..]);
    }
    out + rest
}

fn limit_of(verdict: &Verdict) -> Option<&Limit> {
    match verdict {
        Verdict::Unknown(limit) => Some(limit),
        Verdict::Holds | Verdict::Violated => None,
    }
}

/// The first line of an answer: about what, why it is not known, and what there is to say.
fn answered(
    explored: &Explored<'_>,
    model: Model,
    limit: Option<&Limit>,
    (verdict, style): (&Verdict, Style),
    say: impl FnOnce(&str) -> String,
) -> String {
    let why = limit.map_or(String::new(), |limit| {
        format!("unknown: {}; ", limit_text(limit, &Names::default()))
    });
    let said = say(&explored.counted());
    let head = format!("{} {model}: ", plain(explored.program));
    let line = format!("{head}{why}{said}\n");
    Paint(style.color).headline(&line, head.len(), verdict)
}

/// What is said about the executions themselves.
#[must_use]
pub fn failures_text(explored: &Explored<'_>, failed: &RealFailed<'_>, style: Style) -> String {
    let RealFailed { model, verdict, failures, derived, limit, .. } = *failed;
    let number = |n: usize| counted(n as u64, "failure");
    let mut out = answered(explored, model, limit_of(verdict), (verdict, style), |executions| {
        // Under SC there is nothing to tell them from.
        let buffered = if model == Model::Sc { "" } else { " with store buffers" };
        let executions = &format!("{executions}{buffered}");
        match verdict {
            Verdict::Holds if derived => {
                "no execution fails: robust, and none fails under SC".to_owned()
            }
            Verdict::Holds => format!("no execution fails ({executions} explored)"),
            Verdict::Violated => {
                let mut said = Vec::new();
                for model in Model::ALL {
                    let known = failures.iter().filter(|f| f.before == Some(model)).count();
                    if known > 0 {
                        said.push(format!("{} as under {model}", number(known)));
                    }
                }
                let new = failures.iter().filter(|f| f.before.is_none()).count();
                if new > 0 {
                    said.push(format!("{} in {executions}", number(new)));
                }
                let which = if style.details { String::new() } else { kinds(failures) };
                format!("fails: {}{which}", said.join(", "))
            }
            Verdict::Unknown(_) if derived => {
                "no execution with store buffers was tried".to_owned()
            }
            Verdict::Unknown(_) => format!("no failure in {executions}"),
        }
    });
    if !style.details {
        return out;
    }
    for failure in failures.iter().filter(|f| f.before.is_none()).take(MAX_SHOWN) {
        let mut head = format!("  {:<8}", failure.kind);
        if !failure.text.is_empty() {
            let _ = write!(head, " {}", plain(failure.text));
        }
        out.push('\n');
        out.push_str(&paragraph(&head, style.columns(), 11));
        if let Some(thread) = failure.thread {
            let _ = writeln!(out, "  {:<9}{thread}", "thread");
        }
        let frames = match explored.verbose {
            true => failure.frames,
            false => own_frame(failure.frames).map_or(&[][..], std::slice::from_ref),
        };
        for (i, frame) in frames.iter().enumerate() {
            let frame = plain(frame);
            let what = if i == 0 { "at" } else { "inlined" };
            match explored.verbose {
                true => writeln!(out, "  {what:<9}{frame}").unwrap_or_default(),
                false => out.push_str(&labelled(what, &without_types(&frame), None, style)),
            }
        }
        for related in failure.related {
            out.push_str(&related_text(explored, related, style));
        }
        for delay in failure.delays {
            out.push_str(&labelled("late", &plain(delay), None, style));
        }
        let RealFailure { executions, first, schedule, number, .. } = *failure;
        out.push_str(&seen(explored, executions, first, (schedule, number)));
        if let Some(run) = failure.run {
            out.push('\n');
            out.push_str(&draw_steps(run, style));
        }
    }
    // Who asks for one execution knows that there are others.
    let limit = limit.filter(|_| *verdict == Verdict::Violated && explored.strategy != "replay");
    if let Some(limit) = limit {
        let why = limit_text(limit, &Names::default());
        let text = format!("  there may be other failures: {why}");
        out.push('\n');
        out.push_str(&paragraph(&text, style.columns(), 4));
    }
    out
}

/// Another place that has to do with a failure.
fn related_text(explored: &Explored<'_>, related: &RealRelated, style: Style) -> String {
    let RealRelated { what, thread, at, wait } = related;
    let at = chain(explored, at);
    match wait {
        Some(wait) => {
            let thread = thread.as_deref().unwrap_or("");
            let text = plain(&format!("  {thread} {}", wait.text)).into_owned();
            paragraph(&text, style.columns(), 4) + &format!("    at {at}\n")
        }
        None => {
            let by = thread.as_ref().map_or(String::new(), |thread| format!(" by {thread}"));
            format!("  {what}{by} at {at}\n")
        }
    }
}

/// What kinds of failures these are, and where the first of each is.
fn kinds(failures: &[RealFailure<'_>]) -> String {
    let mut said: Vec<(&str, String)> = Vec::new();
    for failure in failures {
        if said.iter().all(|(kind, _)| *kind != failure.kind) {
            let places = places_of(failure);
            let at = if places.is_empty() { "" } else { " at " };
            said.push((failure.kind, format!("{at}{}", plain(&places.join(" and ")))));
        }
    }
    let said: Vec<String> = said.into_iter().map(|(kind, at)| format!("{kind}{at}")).collect();
    format!(": {}", said.join(", "))
}

/// Where a failure is, in short: also the other access of a data race, and all who wait for each other.
fn places_of(failure: &RealFailure<'_>) -> Vec<String> {
    let stuck = matches!(failure.kind, "deadlock" | "livelock");
    let most = if stuck { failure.related.len() } else { usize::from(failure.kind == "data-race") };
    let is_told = |related: &&RealRelated| {
        !stuck || matches!(related.what.as_str(), "waits" | "loops" | "hangs")
    };
    let is_own = |frame: &&String| !frame.starts_with("library/");
    let others = failure.related.iter().take(most).filter(is_told);
    let others = others.filter_map(|related| own_frame(&related.at)).filter(is_own);
    let mut places: Vec<String> = Vec::new();
    for place in own_frame(failure.frames).into_iter().chain(others) {
        if !places.contains(place) {
            places.push(place.clone());
        }
    }
    // A panic begins with its place.
    if let (true, "panic", Some((at, _))) =
        (places.is_empty(), failure.kind, failure.text.split_once(": "))
    {
        places.push(at.to_owned());
    }
    places
}

fn seen(
    explored: &Explored<'_>,
    executions: u64,
    first: u64,
    schedule: (&str, Option<u64>),
) -> String {
    let seen = format!(
        "  {:<9}in {}{}, first in execution {}\n",
        "seen",
        counted(executions, "execution"),
        if executions > explored.executions { " with those that were blocked" } else { "" },
        grouped(u128::from(first))
    );
    seen + &again(explored, schedule)
}

/// The command that executes a schedule again.
fn again(explored: &Explored<'_>, (schedule, number): (&str, Option<u64>)) -> String {
    let mut out = String::new();
    let mut again = |command: &str, schedule: &str, target: &str| {
        let words = format!("{} --replay {schedule} {}", plain(command), plain(target));
        let _ = writeln!(out, "  {:<9}{}", "again by", words.trim_end());
    };
    if let Some(number) = number {
        again(explored.again.0, &number.to_string(), explored.again.1);
    }
    if !schedule.is_empty() && (explored.verbose || number.is_none()) {
        again(explored.command, schedule, explored.target);
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
    /// Its number, if it was kept.
    pub number: Option<u64>,
}

/// What is said about transactions, of which so many were executed; `fenced`: as if each ended in a fence.
#[must_use]
pub fn unserializable_text(
    explored: &Explored<'_>,
    model: Model,
    verdict: &Verdict,
    (fenced, transactions): (bool, u64),
    shown: Option<&RealUnserializable<'_>>,
    style: Style,
) -> String {
    let what = if fenced { "transactions, each with a fence at its end" } else { "transactions" };
    let executions = explored.counted();
    let mut out = format!("{} {model}: {what}: ", plain(explored.program));
    let verdict_at = out.len();
    let _ = match verdict {
        Verdict::Holds if transactions == 0 => {
            writeln!(out, "serializable: no transaction was executed ({executions} explored)")
        }
        Verdict::Holds => writeln!(out, "serializable ({executions} explored)"),
        Verdict::Violated => writeln!(out, "not serializable ({executions} explored)"),
        Verdict::Unknown(limit) => {
            writeln!(out, "unknown: {}; no cycle found", limit_text(limit, &Names::default()))
        }
    };
    out = Paint(style.color).headline(&out, verdict_at, verdict);
    if let Some(shown) = shown {
        let RealUnserializable { executions, first, schedule, number } = *shown;
        out.push_str(&seen(explored, executions, first, (schedule, number)));
    }
    out
}

/// A line about the exploration, and what the user should know.
#[must_use]
pub fn real_statistics(explored: &Explored<'_>, style: Style) -> String {
    let mut out = String::new();
    for remark in explored.remarks {
        out.push_str(&paragraph(&format!("note: {remark}"), style.columns(), 6));
    }
    if let Some(cut_off) = explored.cut_off {
        out.push_str(&again(explored, cut_off));
    }
    let seconds = explored.time.as_secs_f64();
    out.push_str(&counted(explored.executions, "execution"));
    if explored.blocked > 0 {
        let _ = write!(out, " and {} blocked", grouped(explored.blocked.into()));
    }
    if explored.knows_steps() {
        let _ = write!(out, " with {}", counted(explored.steps, "step"));
    }
    // Without time to begin, nobody has explored anything.
    if !explored.strategy.is_empty() {
        let _ = write!(out, " by {}", explored.strategy);
    }
    let _ = write!(out, " in {seconds:.3} s");
    // In a moment, most of the time is for what is shown.
    let rate = (explored.executions + explored.blocked) as f64 / seconds;
    if seconds >= 1.0 && rate >= 1.0 {
        let _ = write!(out, ", {} per second", grouped(rate as u128));
    }
    out + "\n"
}

impl Explored<'_> {
    /// How many executions there were; where none came to its end, of those that did not.
    fn counted(&self) -> String {
        match (self.executions, self.blocked) {
            (0, blocked @ 1..) => counted(blocked, "blocked execution"),
            (executions, _) => counted(executions, "execution"),
        }
    }

    /// Who is stopped, such as by `--fail-fast`, may not come to say how many steps there were.
    pub(crate) fn knows_steps(&self) -> bool {
        self.steps > 0 || self.executions + self.blocked == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explored() -> Explored<'static> {
        Explored {
            program: "p",
            root: None,
            executions: 2,
            blocked: 3,
            command: "weakspot run",
            target: "p",
            again: ("weakspot run", "p"),
            verbose: false,
            steps: 9,
            strategy: "dpor",
            remarks: &[],
            cut_off: None,
            time: Duration::ZERO,
            course: None,
        }
    }

    #[test]
    fn pairs_that_come_out_otherwise_are_not_counted() {
        let style = Style { details: false, color: false, width: 80, proving: false };
        let pair = |shown| RealOvertaking {
            shown,
            places: ["a.c:1", "a.c:2"],
            frames: [&[], &[]],
            executions: 1,
            first: 1,
            schedule: "",
            number: None,
            consequence: RealConsequence::NotSought,
            accepted: None,
            before: None,
        };
        let findings = [pair(RealShown::NotAgain), pair(RealShown::Unrepeatable)];
        let pairs = RealPairs {
            model: Model::Tso,
            verdict: &Verdict::Violated,
            advisory: false,
            findings: &findings,
            open: None,
            limit: None,
        };
        let said = real_text(&explored(), &pairs, style);
        assert!(said.starts_with("p TSO: breaks SC: 1 pair of accesses in "), "{said}");
    }

    #[test]
    fn transactions_in_words() {
        let style = Style { details: true, color: false, width: 80, proving: false };
        let said = |fenced, executed| {
            let (explored, holds) = (explored(), Verdict::Holds);
            unserializable_text(&explored, Model::Sc, &holds, (fenced, executed), None, style)
        };
        assert!(said(false, 1).starts_with("p SC: transactions: serializable ("));
        assert!(said(false, 0).starts_with("p SC: transactions: serializable: no transaction was"));
        let fenced = said(true, 1);
        assert!(fenced.starts_with("p SC: transactions, each with a fence at its end: serial"));
    }

    /// Executions that were blocked may have shown it as well; then there are more than came to their end.
    #[test]
    fn seen_in_blocked_executions() {
        let explored = explored();
        let line = |executions| {
            let text = seen(&explored, executions, 1, ("", None));
            text.lines().next().unwrap_or_default().to_owned()
        };
        assert_eq!(line(2), "  seen     in 2 executions, first in execution 1");
        assert_eq!(
            line(4),
            "  seen     in 4 executions with those that were blocked, first in execution 1"
        );
    }

    #[test]
    fn functions_without_types() {
        let check = |whole: &str, short: &str| assert_eq!(without_types(whole), short);
        check("a.rs:2 in m::f::<m::g::{closure#0}>::{closure#1}", "a.rs:2 in m::f::{closure#1}");
        check("a.rs:2 in m::f::<fn(u8) -> Box<u8>>", "a.rs:2 in m::f");
        check("a.c:2 in main", "a.c:2 in main");
        check(
            "a.h:2 in engine::Registry<long long, std::vector<int, A<int> > >::put(int)",
            "a.h:2 in engine::Registry::put(int)",
        );
        check("<m::A<u8> as m::T>::f::<u8", "<m::A as m::T>::f");
        check("a.rs:2 in <m::A<u8, m::B<i8>>>::f::<u8>", "a.rs:2 in m::A::f");
        check(
            "library/m/a.rs:2634 in <m::alphabetical::order::Of<u8>>::put",
            "library/m/a.rs:2634 in m::alphabetical::order::Of::put",
        );
    }
}
