//! From what was found to verdicts.
//!
//! Every finding counts. Those of a model are executed again until enough can be shown, and at least
//! until one could be; the others are in the answer as what they are. So a verdict holds only if nothing
//! was found and everything was explored.

pub(crate) mod accepted;
pub(crate) mod consequences;
pub(crate) mod evidence;
pub(crate) mod failures;
pub(crate) mod races;
pub(crate) mod waits;

use weakspot_core::{Limit, Model, Verdict};
use weakspot_live::wire::Config;

use crate::advice::advise;
use crate::answer::{
    Answer, Consequence, Evidence, Failed, ModelAnswer, Shown, ShownOvertaking, Transactions,
};
use crate::explore::Explored;
use crate::explore::findings::{Overtaking, RACE};
use crate::judge::accepted::Acceptance;
use crate::judge::failures::show_failures;
use crate::judge::races::once_per_lines;
use crate::question::is_executable;
use crate::replay::Replays;
use crate::replay::names::site;
use crate::runtime::debugger::stop;
use crate::{Campaign, Error, MOST_SHOWN, Question, Result, Strategy};

/// Answers a question with what was explored.
pub(crate) fn judge(campaign: &Campaign<'_>, base: &Config, explored: &Explored) -> Result<Answer> {
    let question = campaign.question;
    let mut replays = Replays::new(campaign, base, explored);
    let mut acceptance = Acceptance::new(&question.baseline, &explored.symbols);
    let mut models = Vec::new();
    for &model in &question.models {
        let most = if question.details { MOST_SHOWN } else { 1 };
        models.push(judge_model(explored, model, most, &mut replays, &mut acceptance)?);
    }
    let mut failed = vec![judge_failures(campaign, explored, &replays)?];
    let mut remarks = explored.remarks.clone();
    if question.seeks_consequences() {
        let sought = consequences::seek(campaign, base, explored, &failed[0], &mut models)?;
        failed.extend(sought.failed);
        for remark in sought.remarks {
            if !remarks.contains(&remark) {
                remarks.push(remark);
            }
        }
    }
    for answer in &mut models {
        answer.advisory = !pairs_count(question, answer);
    }
    let transactions = match question.transactions {
        Some(_) => Some(judge_transactions(campaign, explored, &models, &mut replays)?),
        None => None,
    };
    let advice = match question.advice {
        true => {
            let races = failed[0].failures.iter().filter(|f| f.failure.kind == RACE).count();
            Some(advise(campaign, base, explored, &replays, races)?)
        }
        false => None,
    };
    let log = match &question.strategy {
        Strategy::Replay(schedule) if question.log => {
            let traced = replays.trace(&schedule.to_string(), explored.shared.len())?;
            let traced = traced.ok_or_else(|| Error::new("there was no time to write the log"))?;
            let names = traced.names(&explored.symbols);
            let log = crate::Replayed::new(&traced, &names, &explored.symbols);
            Some(log.under(Model::Tso).clone())
        }
        _ => None,
    };
    let stop = match &question.strategy {
        Strategy::Replay(schedule) if question.debug => stop(schedule, explored, &replays)?,
        _ => None,
    };
    Ok(Answer {
        executions: explored.executions,
        blocked: explored.blocked(),
        steps: explored.steps,
        threads: (explored.threads > 0).then_some(explored.threads),
        strategies: explored.strategies.clone(),
        course: question.profile.then(|| explored.course.clone()),
        fork: base.fork,
        remarks,
        cut_off: explored.findings.cut_off.first().map(|cut_off| {
            let seen = cut_off.seen.clone();
            let shared = explored.known(&seen);
            (seen, shared)
        }),
        failed,
        models,
        transactions,
        advice,
        log,
        stop,
    })
}

/// Whether the pairs of a model count, and are not only advice: those that are accepted never do,
/// others if executions fail because of them, or if somebody asked for that.
fn pairs_count(question: &Question, answer: &ModelAnswer) -> bool {
    let fails = |f: &ShownOvertaking| matches!(f.consequence, Consequence::Fails(_));
    let all_accepted =
        !answer.findings.is_empty() && answer.findings.iter().all(|f| f.accepted.is_some());
    // Where no execution can show a consequence, pairs are all there is to ask about.
    let asked = question.robust || !question.seeks_consequences() || !is_executable(answer.model);
    let matters = answer.findings.iter().any(fails) || asked && !all_accepted;
    !question.is_advisory(answer.model) && (matters || answer.verdict == Verdict::Holds)
}

/// Without findings it depends on whether everything was explored.
fn verdict(found: bool, limit: Option<&Limit>) -> Verdict {
    match (found, limit) {
        (true, _) => Verdict::Violated,
        (false, None) => Verdict::Holds,
        (false, Some(limit)) => Verdict::Unknown(limit.clone()),
    }
}

/// Would a model let accesses overtake stores?
fn judge_model(
    explored: &Explored,
    model: Model,
    most: usize,
    replays: &mut Replays<'_>,
    acceptance: &mut Acceptance<'_>,
) -> Result<ModelAnswer> {
    let mut findings = Vec::new();
    let (mut tried, mut again) = (0, 0);
    for found in explored.findings.overtakings.iter().filter(|found| found.model == model) {
        let wanted = again == 0 || (tried < most && again < most);
        let shown = if wanted { show(found, replays)? } else { Shown::NotAgain };
        tried += usize::from(wanted);
        again += usize::from(matches!(shown, Shown::Again(_)));
        let symbols = &explored.symbols;
        let ends = [found.store, found.access];
        let places = ends.map(|at| site(at, symbols));
        let accepted = acceptance.of(found);
        findings.push(ShownOvertaking {
            found: found.clone(),
            shared: explored.known(&found.seen),
            frames: ends.map(|at| symbols.lines(at)),
            places,
            shown,
            consequence: Consequence::Unknown,
            accepted,
        });
    }
    let verdict = robustness(explored, model, &findings);
    let limit = limit_of(explored, model);
    Ok(ModelAnswer { model, verdict, advisory: false, findings, limit })
}

fn robustness(explored: &Explored, model: Model, findings: &[ShownOvertaking]) -> Verdict {
    let stands = |f: &ShownOvertaking| !matches!(f.shown, Shown::Unrepeatable);
    match verdict(findings.iter().any(stands), limit_of(explored, model).as_ref()) {
        Verdict::Violated => Verdict::Violated,
        _ if !findings.is_empty() => Verdict::Unknown(Limit::Unrepeatable),
        verdict => verdict,
    }
}

/// Why it is not known of all executions what a model lets overtake in them.
fn limit_of(explored: &Explored, model: Model) -> Option<Limit> {
    let overlaps = || explored.mixed.contains(&model).then_some(Limit::Overlap);
    let undone = || explored.undone.then_some(Limit::Loops);
    explored.limit.clone().or_else(overlaps).or_else(undone)
}

/// Executes a finding again.
fn show(found: &Overtaking, replays: &mut Replays<'_>) -> Result<Shown> {
    let Some(log) = replays.log(&found.seen)? else { return Ok(Shown::NotAgain) };
    let report = log.report(found.model, found.store, found.access)?;
    Ok(match report {
        Some(report) => {
            let values = report.1.as_ref().map(|run| replays.values(&found.seen, found.model, run));
            Shown::Again(Evidence { log, report, values: values.unwrap_or_default() })
        }
        None => Shown::Unrepeatable,
    })
}

/// Do executions fail?
fn judge_failures(
    campaign: &Campaign<'_>,
    explored: &Explored,
    replays: &Replays<'_>,
) -> Result<Failed> {
    let failures = once_per_lines(show_failures(campaign, explored, replays)?, &explored.symbols);
    Ok(Failed {
        model: campaign.question.under,
        verdict: verdict(!failures.is_empty(), explored.limit.as_ref()),
        advisory: false,
        failures,
        limit: explored.limit.clone(),
        as_under_sc: 0,
        executions: explored.executions,
        blocked: explored.blocked(),
        steps: explored.steps,
        strategies: explored.strategies.clone(),
    })
}

/// Are transactions serializable, and with fences at their ends?
fn judge_transactions(
    campaign: &Campaign<'_>,
    explored: &Explored,
    models: &[ModelAnswer],
    replays: &mut Replays<'_>,
) -> Result<Transactions> {
    let question = campaign.question;
    let found = explored.findings.unserializable.as_ref().map(|found| found.seen.clone());
    let under_sc = verdict(found.is_some(), explored.limit.as_ref());
    let fenced = match question.fence_transactions {
        true => {
            let robust = models.iter().find(|answer| answer.model == Model::Tso);
            let robust = robust.ok_or_else(|| {
                Error::new("fences make a difference under TSO: expected --model tso among others")
            })?;
            // A program whose transactions end in fences is serializable under TSO if and only if
            // it is robust and serializable under SC.
            let all = [&under_sc, &robust.verdict];
            let worst = all.iter().find(|v| ***v == Verdict::Violated);
            let worst = worst.or_else(|| all.iter().find(|v| ***v != Verdict::Holds));
            Some(worst.map_or(Verdict::Holds, |verdict| (*verdict).clone()))
        }
        false => None,
    };
    let log = match found.as_ref().filter(|_| question.details) {
        Some(seen) => replays.log(seen)?.map(|log| log.under(Model::Tso).clone()),
        None => None,
    };
    let executed = explored.transactions;
    let shared = found.as_ref().map_or(Vec::new(), |seen| explored.known(seen));
    Ok(Transactions { verdict: under_sc, fenced, executed, found, shared, log })
}
