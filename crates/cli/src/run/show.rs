//! An answer about a real program, in words or JSON.

use std::time::Duration;

use anyhow::Result;
use weakspot_campaign::{
    self as campaign, Advice, Failed, ModelAnswer, Shown, ShownOvertaking, Transactions,
};
use weakspot_core::{Certification, Model, Verdict};
use weakspot_report::{
    Explored, Head, MonitorAnswer, RealAdvice, RealChange, RealFailure, RealOvertaking, RealShown,
    RealUnserializable, Style, failures_json, failures_text, real_advice_json, real_advice_text,
    real_json, real_statistics, real_text, unified_diff, unserializable_json, unserializable_text,
};

use super::{Outcome, Subject, log, question};
use crate::args::{OutputFormat, RunArgs};
use crate::job::style;
use crate::pool::Answer;

/// Adds what is said about what was found.
pub(super) fn show(
    args: &RunArgs,
    subject: &Subject,
    found: &campaign::Answer,
    time: Duration,
    answer: &mut Answer<Outcome>,
) -> Result<()> {
    let strategy = found.strategies.join(", then ");
    let command = question::command(args, subject, found.fork);
    let target = question::target(subject);
    let explored = Explored {
        program: &subject.program.name,
        command: &command,
        target: &target,
        executions: found.executions,
        steps: found.steps,
        strategy: &strategy,
        remarks: &found.remarks,
        time,
    };
    let shared = &args.shared;
    let look = Look { json: shared.format == OutputFormat::Json, style: style(shared) };
    answer.out += &failures(&explored, &found.failed, look);
    for model in &found.models {
        answer.out += &robustness(&explored, model, look);
    }
    if let Some(found) = &found.transactions {
        answer.out += &transactions(&explored, found, look);
        if let Some(logged) = found.log.as_ref().filter(|_| look.style.details) {
            // Without an explanation the answer is as right as with it.
            match log::temporary(logged).and_then(|log| crate::serial::explain(log.path(), shared))
            {
                Ok(text) => answer.out += &text,
                Err(error) => answer.err += &format!("error: no explanation: {error:#}\n"),
            }
        }
    }
    if let Some(found) = &found.advice {
        answer.out += &advice(&explored, found, look);
    }
    if let (Some(path), Some(logged)) = (&args.log, &found.log) {
        log::write(path, logged)?;
    }
    if look.style.details && !look.json {
        answer.out += &real_statistics(&explored);
    }
    Ok(())
}

/// How things are shown.
#[derive(Clone, Copy)]
struct Look {
    json: bool,
    style: Style,
}

fn failures(explored: &Explored<'_>, failed: &Failed, look: Look) -> String {
    let failures: Vec<RealFailure<'_>> = failed
        .failures
        .iter()
        .map(|shown| RealFailure {
            kind: &shown.failure.kind,
            text: &shown.failure.text,
            thread: shown.thread.as_deref(),
            frames: &shown.frames,
            related: &shown.related,
            delays: &shown.late,
            executions: shown.failure.seen.executions,
            first: shown.failure.seen.first,
            schedule: &shown.failure.seen.schedule,
        })
        .collect();
    match look.json {
        true => failures_json(explored, failed.model, &failed.verdict, &failures) + "\n",
        false => {
            failures_text(explored, failed.model, &failed.verdict, &failures, look.style.details)
        }
    }
}

fn robustness(explored: &Explored<'_>, answer: &ModelAnswer, look: Look) -> String {
    let model = answer.model;
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
            let ShownOvertaking { found, frames: [store, access], places, shown } = finding;
            RealOvertaking {
                shown: match (shown, reports) {
                    (Shown::Again(evidence), Some(reports)) => {
                        let logged = evidence.log.under(model);
                        RealShown::Again(MonitorAnswer {
                            head: Head {
                                file: explored.program,
                                question: "run",
                                model,
                                verdict: &Verdict::Violated,
                                limit: None,
                                time: Duration::ZERO,
                                certified: Certification::Checked,
                            },
                            id: None,
                            tables: &logged.tables,
                            log: &logged.events,
                            reports,
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
            }
        })
        .collect();
    match look.json {
        true => real_json(explored, model, &answer.verdict, &findings) + "\n",
        false => real_text(explored, model, &answer.verdict, &findings, look.style),
    }
}

fn transactions(explored: &Explored<'_>, answer: &Transactions, look: Look) -> String {
    let shown = answer.found.as_ref().map(|seen| RealUnserializable {
        executions: seen.executions,
        first: seen.first,
        schedule: &seen.schedule,
    });
    let say = |model: Model, verdict: &Verdict, fenced: bool| {
        let shown = shown.as_ref().filter(|_| !fenced);
        match look.json {
            true => unserializable_json(explored, model, verdict, fenced, shown) + "\n",
            false => unserializable_text(explored, model, verdict, fenced, shown),
        }
    };
    let fenced = answer.fenced.as_ref().map(|verdict| say(Model::Tso, verdict, true));
    say(Model::Sc, &answer.verdict, false) + &fenced.unwrap_or_default()
}

fn advice(explored: &Explored<'_>, advice: &Advice, look: Look) -> String {
    let change = |change: &campaign::SourceChange| RealChange {
        file: change.file.clone(),
        line: change.line,
        kind: change.kind,
        what: change.what.clone(),
        written: change.written,
    };
    let diffs = advice.patches.iter().map(|p| unified_diff(&p.file, &p.before, &p.after));
    let told = RealAdvice {
        models: advice.models.clone(),
        findings: advice.findings,
        changes: advice.changes.as_ref().map(|changes| changes.iter().map(change).collect()),
        diff: diffs.collect(),
        limit: advice.limit.clone(),
        explorations: advice.explorations,
        executions: advice.executions,
        remarks: advice.remarks.clone(),
    };
    match look.json {
        true => real_advice_json(explored, &told) + "\n",
        false => real_advice_text(explored, &told),
    }
}
