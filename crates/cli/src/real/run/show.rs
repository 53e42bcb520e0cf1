//! An answer about a real program, in words or JSON.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use weakspot_campaign::{
    self as campaign, Accepted, Advice, Consequence, Failed, ModelAnswer, Shown, ShownFailure,
    ShownKind, ShownOvertaking, ShownRelated, ShownStep, Transactions,
};
use weakspot_core::{Limit, Model, Verdict};
use weakspot_jobs::kept::Entry;
use weakspot_jobs::options::options;
use weakspot_live::wire::TracedStep;
use weakspot_live::{OpKind, Order};
use weakspot_report::{
    Explored, Head, MonitorAnswer, RealAdvice, RealChange, RealConsequence, RealFailed,
    RealFailure, RealOvertaking, RealPairs, RealRelated, RealShown, RealStep, RealUnserializable,
    RealWait, Run, RunEnd, RunValues, StepKind, Style, accepted_text, advisory_text, failures_json,
    failures_text, of_steps, real_advice_json, real_advice_text, real_json, real_statistics,
    real_text, typed, unified_diff, unserializable_json, unserializable_text,
};

use super::{Outcome, Subject, question};
use crate::args::{RunArgs, RunStrategy};
use weakspot_jobs::job::style;
use weakspot_jobs::log;
use weakspot_jobs::pool::Answer;

/// Adds what is said about what was found.
pub(super) fn show(
    (args, number): (&RunArgs, Option<u64>),
    subject: &Subject,
    found: &campaign::Answer,
    time: Duration,
    answer: &mut Answer<Outcome>,
) -> Result<()> {
    let json = args.shared.format.is_of_objects();
    show_as(json, (args, number), subject, found, time, answer)?;
    if args.shared.report.is_some() {
        let mut page = Answer::new();
        show_as(true, (args, number), subject, found, time, &mut page)?;
        answer.objects += &page.out;
    }
    if let (Some(path), Some(logged)) = (&args.log, &found.log) {
        log::write(path, &logged.tables, &logged.events)?;
    }
    Ok(())
}

fn show_as(
    json: bool,
    (args, number): (&RunArgs, Option<u64>),
    subject: &Subject,
    found: &campaign::Answer,
    time: Duration,
    answer: &mut Answer<Outcome>,
) -> Result<()> {
    let strategy = found.strategies.join(", then ");
    let mut remarks = found.remarks.clone();
    if args.strategy == RunStrategy::Rf && args.under.is_none() {
        remarks.push(NOT_ASKED.to_owned());
    }
    let options = options(args, args.under, found.fork);
    let command = question::command(subject, &options);
    let target = typed(&subject.target);
    let kept_target = typed(&subject.kept_target);
    let shared = &args.shared;
    let look = Look { args, number, subject, json, style: style(shared), fork: found.fork };
    let cut_off = found.cut_off.as_ref().filter(|(seen, _)| !seen.schedule.is_empty());
    let cut_off = cut_off.map(|(seen, shared)| {
        (seen.schedule.as_str(), look.keep(args.under, &seen.schedule, shared))
    });
    let naming = subject.program.naming();
    let root = naming.elsewhere().map(|root| root.display().to_string());
    let explored = Explored {
        program: &subject.program.name,
        root: root.as_deref(),
        command: &command,
        target: &target,
        again: (subject.explorer, &kept_target),
        verbose: args.shared.verbose,
        executions: found.executions.saturating_sub(found.blocked.assumed),
        blocked: found.blocked.all(),
        steps: found.steps,
        strategy: &strategy,
        remarks: &remarks,
        cut_off,
        time,
        course: None,
    };
    let (advisory, counts): (Vec<_>, Vec<_>) =
        parts(found, look.json).into_iter().partition(Part::advisory);
    for part in &counts {
        answer.out += &part.show(&explored, found, look);
    }
    if let Some(found) = &found.transactions {
        answer.out += &transactions(&explored, found, look);
        if let Some(logged) = found.log.as_ref().filter(|_| look.style.details) {
            // Without an explanation the answer is as right as with it.
            match log::temporary(&logged.tables, &logged.events)
                .and_then(|log| crate::serial::explain(log.path(), shared))
            {
                Ok(text) => answer.out += &text,
                Err(error) => answer.err += &format!("error: no explanation: {error:#}\n"),
            }
        }
    }
    if advisory.iter().any(|part| !part.holds()) && !look.json {
        answer.out += &advisory_text(look.style);
    }
    for part in &advisory {
        answer.out += &part.show(&explored, found, look);
    }
    if !look.json {
        let findings = found.models.iter().flat_map(|model| &model.findings);
        let accepted = findings.filter_map(|f| Some((&f.places, f.accepted?.key())));
        answer.out += &accepted_text(accepted);
    }
    if let Some(found) = &found.advice {
        answer.out += &advice(&explored, found, look);
    }
    if look.style.details && !look.json {
        answer.out += &real_statistics(&explored, look.style);
    }
    Ok(())
}

/// How things are shown.
#[derive(Clone, Copy)]
struct Look<'a> {
    args: &'a RunArgs,
    /// The number of the schedule that was replayed, if it has one.
    number: Option<u64>,
    subject: &'a Subject,
    json: bool,
    style: Style,
    /// Whether each execution had a process of its own.
    fork: bool,
}

impl Look<'_> {
    /// Keeps a schedule and gives its number, unless nobody would see it.
    fn keep(&self, under: Option<Model>, schedule: &str, shared: &[(u64, u64)]) -> Option<u64> {
        if self.number.is_some() || schedule.is_empty() || self.json || !self.style.details {
            return self.number;
        }
        self.subject.kept.keep(&Entry {
            program: self.subject.program.name.clone(),
            options: options(self.args, under, self.fork),
            schedule: schedule.to_owned(),
            shared: shared.to_vec(),
        })
    }

    /// The model whose buffers were executed, if any were.
    fn under(&self, model: Model) -> Option<Model> {
        (model != Model::Sc).then_some(model)
    }
}

/// What a strategy for one model leaves open.
const NOT_ASKED: &str = "TSO and PSO were not asked about: --strategy rf explores one model, SC, or \
                         another with --under";

/// An answer about a model.
#[derive(Clone, Copy)]
enum Part<'a> {
    Failures(&'a Failed),
    Pairs(&'a ModelAnswer),
    /// Nothing was executed under the model, so that there is nothing to say but about pairs.
    OnlyPairs(&'a ModelAnswer, &'a Failed),
}

/// All of them in order: what happens, and why; in JSON all answers are told apart.
fn parts(found: &campaign::Answer, json: bool) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    for failed in &found.failed {
        let pairs = found.models.iter().find(|m| m.model == failed.model);
        let untried = failed.executions == 0 && matches!(failed.verdict, Verdict::Unknown(_));
        match pairs {
            Some(pairs) if untried && !json => parts.push(Part::OnlyPairs(pairs, failed)),
            pairs => {
                parts.push(Part::Failures(failed));
                parts.extend(pairs.map(Part::Pairs));
            }
        }
    }
    let executed = |model: &&ModelAnswer| found.failed.iter().any(|f| f.model == model.model);
    parts.extend(found.models.iter().filter(|m| !executed(m)).map(Part::Pairs));
    parts
}

impl Part<'_> {
    fn advisory(&self) -> bool {
        match self {
            Part::Failures(failed) | Part::OnlyPairs(_, failed) => failed.advisory,
            Part::Pairs(pairs) => pairs.advisory,
        }
    }

    fn holds(&self) -> bool {
        let verdict = match self {
            Part::Failures(failed) | Part::OnlyPairs(_, failed) => &failed.verdict,
            Part::Pairs(pairs) => &pairs.verdict,
        };
        *verdict == Verdict::Holds
    }

    fn show(&self, explored: &Explored<'_>, found: &campaign::Answer, look: Look<'_>) -> String {
        match self {
            Part::Failures(failed) => failures(explored, failed, found, look),
            Part::Pairs(pairs) => robustness(explored, pairs, None, found, look),
            Part::OnlyPairs(pairs, failed) => {
                let open = match &failed.verdict {
                    Verdict::Unknown(limit) if pairs.advisory => Some(limit),
                    _ => None,
                };
                robustness(explored, pairs, open, found, look)
            }
        }
    }
}

fn failures(
    explored: &Explored<'_>,
    failed: &Failed,
    found: &campaign::Answer,
    look: Look<'_>,
) -> String {
    let (runs, related) = (runs(failed, look), related(failed));
    let failures = real_failures(failed, found, (&runs, &related), look);
    let strategy = failed.strategies.join(", then ");
    let under = options(look.args, Some(failed.model), found.fork);
    let under = question::command(look.subject, &under);
    // Executions with buffers, where others were explored at first, are told apart.
    let mut explored = match failed.model {
        Model::Sc => explored.clone(),
        _ => Explored {
            executions: failed.executions.saturating_sub(failed.blocked.assumed),
            blocked: failed.blocked.all(),
            steps: failed.steps,
            strategy: &strategy,
            command: &under,
            ..explored.clone()
        },
    };
    // The first are those that were explored at first.
    if found.failed.first().is_some_and(|first| first.model == failed.model) {
        explored.course = found.course.as_ref();
    }
    let explored = &explored;
    let answer = RealFailed {
        model: failed.model,
        verdict: &failed.verdict,
        advisory: failed.advisory,
        failures: &failures,
        derived: failed.model != Model::Sc && failed.executions == 0,
        limit: failed.limit.as_ref(),
    };
    match look.json {
        true => failures_json(explored, &answer) + "\n",
        false => failures_text(explored, &answer, look.style),
    }
}

/// What led to each failure, where that is known.
fn runs(failed: &Failed, look: Look<'_>) -> Vec<Option<Run>> {
    let rust = look.subject.program.rust;
    // What is only in a standard library is for those who want to know everything.
    let all = look.args.shared.verbose || look.json;
    let is_shown = |s: &ShownStep| s.own || s.note.is_some() || all;
    let is_marked = |s: &ShownStep| s.note.is_some() || s.what == ShownKind::Allocates;
    let run = |shown: &ShownFailure| {
        shown.steps.first()?;
        let steps: Vec<RealStep<'_>> = shown
            .steps
            .iter()
            .enumerate()
            .filter(|(i, s)| is_shown(s) && (*i >= shown.alone || is_marked(s) || all))
            .map(|(i, s)| RealStep {
                n: i as u64 + 1,
                thread: s.step.thread.into(),
                kind: kind(s, rust),
                location: s.location.as_deref(),
                unseen: s.what == ShownKind::Looks,
                at_once: s.at_once && failed.model != Model::Sc,
                len: s.step.len,
                old: s.step.old,
                value: s.step.value.filter(|_| kind(s, rust) != StepKind::Wake),
                in_words: s.in_words.each_ref().map(Option::as_deref),
                site: s.site.as_deref(),
                text: s.text.as_deref(),
                call: s.call.as_deref().filter(|_| !all),
                note: s.note.as_deref(),
            })
            .collect();
        let mut run = of_steps(failed.model, &shown.threads, &steps);
        if let kind @ ("deadlock" | "livelock") = shown.failure.kind.as_str() {
            // No single thread fails: what they wait for is the reason.
            run.end = Some(RunEnd::Fails(format!("{kind}: {}", shown.text)));
        }
        Some(run)
    };
    failed.failures.iter().map(run).collect()
}

/// What a step is. Objects that threads wait for are told apart by their sizes: those of mutexes, of
/// read-write locks and, in C, of spin locks, where Rust has futexes, are those of locks.
fn kind(shown: &ShownStep, rust: bool) -> StepKind {
    const CONDITION: u32 = 48;
    let TracedStep { kind, len, value, order, .. } = shown.step;
    let lock = matches!(len, 40 | 56) || len == 4 && !rust;
    let queue = len == CONDITION || len == 4 && rust;
    match shown.what {
        ShownKind::Allocates => return StepKind::Alloc,
        ShownKind::Frees => return StepKind::Free,
        ShownKind::Returns => return StepKind::Return,
        ShownKind::Ends => return StepKind::Exit,
        ShownKind::Fails => return StepKind::Fail,
        ShownKind::Step | ShownKind::Looks => {}
    }
    match kind {
        OpKind::Write => StepKind::Store,
        OpKind::Update => StepKind::Update,
        OpKind::Acquire if lock => StepKind::Lock,
        OpKind::Release if lock => StepKind::Unlock,
        OpKind::Release if queue && value.is_none() => StepKind::Wait,
        OpKind::Release => StepKind::Wake,
        // Nobody was there to be woken.
        OpKind::Read if len == CONDITION && order == Order::SeqCst => StepKind::Wake,
        OpKind::Acquire => StepKind::Wait,
        OpKind::Fence => StepKind::Fence,
        OpKind::StoreFence => StepKind::StoreFence,
        OpKind::Commit => StepKind::Commit,
        _ => StepKind::Load,
    }
}

fn real_failures<'a>(
    failed: &'a Failed,
    found: &campaign::Answer,
    (runs, related): (&'a [Option<Run>], &'a [Vec<RealRelated>]),
    look: Look<'_>,
) -> Vec<RealFailure<'a>> {
    // What several models have in common is shown once.
    let before = |shown: &ShownFailure| {
        let mut others = found.failed.iter().take_while(|other| other.model != failed.model);
        let has =
            |other: &&Failed| other.failures.iter().any(|f| f.failure.is_same(&shown.failure));
        others.find(has).map(|other| other.model)
    };
    let keep = |shown: &ShownFailure| {
        let schedule = &shown.failure.seen.schedule;
        look.keep(look.under(failed.model), schedule, &shown.shared)
    };
    let real = |(i, shown): (usize, &'a ShownFailure)| RealFailure {
        // What is shown elsewhere needs no number here.
        number: if before(shown).is_none() { keep(shown) } else { None },
        kind: &shown.failure.kind,
        text: &shown.text,
        thread: shown.thread.as_deref(),
        frames: &shown.frames,
        related: &related[i],
        delays: &shown.late,
        run: runs[i].as_ref(),
        executions: shown.failure.seen.executions,
        first: shown.failure.seen.first,
        schedule: &shown.failure.seen.schedule,
        before: before(shown),
    };
    failed.failures.iter().enumerate().map(real).collect()
}

/// What has to do with each failure.
fn related(failed: &Failed) -> Vec<Vec<RealRelated>> {
    let real = |related: &ShownRelated| RealRelated {
        what: related.what.clone(),
        thread: related.thread.clone(),
        at: related.at.clone(),
        wait: related.wait.as_ref().map(|wait| RealWait {
            text: wait.text.clone(),
            object: wait.object.clone(),
            holders: wait.holders.clone(),
        }),
    };
    failed.failures.iter().map(|shown| shown.related.iter().map(real).collect()).collect()
}

fn robustness(
    explored: &Explored<'_>,
    answer: &ModelAnswer,
    open: Option<&Limit>,
    found: &campaign::Answer,
    look: Look<'_>,
) -> String {
    let model = answer.model;
    let failed = found.failed.iter().find(|failed| failed.model == model);
    let runs = failed.map_or(Vec::new(), |failed| runs(failed, look));
    let related = failed.map_or(Vec::new(), related);
    let failures =
        failed.map_or(Vec::new(), |failed| real_failures(failed, found, (&runs, &related), look));
    // A pair that several models share is shown once.
    let before = |places: &[String; 2]| {
        let models = found.models.iter().take_while(|other| other.model != model);
        let mut with = models.filter(|m| m.findings.iter().any(|f| f.places == *places));
        with.next().map(|m| m.model)
    };
    let reports: Vec<Option<[_; 1]>> = answer
        .findings
        .iter()
        .map(|finding| match &finding.shown {
            Shown::Again(evidence) => Some([evidence.report.clone()]),
            Shown::NotAgain | Shown::Unrepeatable => None,
        })
        .collect();
    let findings: Vec<RealOvertaking<'_>> = answer
        .findings
        .iter()
        .zip(&reports)
        .map(|(finding, reports)| {
            let ShownOvertaking { found, frames: [store, access], places, shown, .. } = finding;
            RealOvertaking {
                shown: match (shown, reports) {
                    (Shown::Again(evidence), Some(reports)) => {
                        let logged = evidence.log.under(model);
                        RealShown::Again(MonitorAnswer {
                            head: Head::of_replay(explored.program, model),
                            id: None,
                            tables: &logged.tables,
                            sources: &logged.sources,
                            log: &logged.events,
                            reports,
                            values: RunValues::Known(&evidence.values),
                            total: 1,
                            unlisted: 0,
                            events: logged.events.len() as u64,
                            algorithm: "monitor",
                            remarks: &[],
                        })
                    }
                    (Shown::Unrepeatable, _) => RealShown::Unrepeatable,
                    _ => RealShown::NotAgain,
                },
                places: [&places[0], &places[1]],
                frames: [store, access],
                executions: found.seen.executions,
                first: found.seen.first,
                schedule: &found.seen.schedule,
                number: match before(places) {
                    None => look.keep(look.args.under, &found.seen.schedule, &finding.shared),
                    Some(_) => None,
                },
                consequence: match finding.consequence {
                    _ if failed.is_none() => RealConsequence::NotSought,
                    Consequence::Fails(number) => failures
                        .get(number)
                        .map_or(RealConsequence::Unknown, RealConsequence::Fails),
                    Consequence::Unnoticed => {
                        RealConsequence::Unnoticed { alone: !failures.is_empty() }
                    }
                    Consequence::AsUnderSc => RealConsequence::AsUnderSc,
                    Consequence::Unknown => RealConsequence::Unknown,
                },
                accepted: finding.accepted.map(Accepted::key),
                before: before(places),
            }
        })
        .collect();
    let pairs = RealPairs {
        model,
        verdict: &answer.verdict,
        advisory: answer.advisory,
        findings: &findings,
        open,
        limit: answer.limit.as_ref(),
    };
    match look.json {
        true => real_json(explored, &pairs) + "\n",
        false => real_text(explored, &pairs, look.style),
    }
}

fn transactions(explored: &Explored<'_>, answer: &Transactions, look: Look<'_>) -> String {
    let shown = answer.found.as_ref().map(|seen| RealUnserializable {
        executions: seen.executions,
        first: seen.first,
        schedule: &seen.schedule,
        number: look.keep(look.args.under, &seen.schedule, &answer.shared),
    });
    let say = |model: Model, verdict: &Verdict, fenced: bool| {
        let shown = shown.as_ref().filter(|_| !fenced);
        let of = (fenced, answer.executed);
        match look.json {
            true => unserializable_json(explored, model, verdict, of, shown) + "\n",
            false => unserializable_text(explored, model, verdict, of, shown, look.style),
        }
    };
    let fenced = answer.fenced.as_ref().map(|verdict| say(Model::Tso, verdict, true));
    say(Model::Sc, &answer.verdict, false) + &fenced.unwrap_or_default()
}

fn advice(explored: &Explored<'_>, advice: &Advice, look: Look<'_>) -> String {
    let change = |change: &campaign::SourceChange| RealChange {
        file: change.file.clone(),
        line: change.line,
        kind: change.kind,
        what: change.what.clone(),
        written: change.written,
        language: change.language,
    };
    let files: Vec<&Path> = advice.patches.iter().map(|patch| &*patch.path).collect();
    let (folder, files) = look.subject.program.naming().in_diff(&files);
    let diffs = files.iter().zip(&advice.patches);
    let diffs = diffs.map(|(file, patch)| unified_diff(file, &patch.before, &patch.after));
    let advice = RealAdvice {
        models: advice.models.clone(),
        findings: advice.findings,
        in_library: advice.in_library,
        changes: advice.changes.as_ref().map(|changes| changes.iter().map(change).collect()),
        folder,
        diff: diffs.collect(),
        limit: advice.limit.clone(),
        explorations: advice.explorations,
        executions: advice.executions,
        remarks: advice.remarks.clone(),
    };
    match look.json {
        true => real_advice_json(explored, &advice) + "\n",
        false => real_advice_text(explored, &advice),
    }
}
