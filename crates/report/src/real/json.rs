//! What explorations of real programs found, as JSON.

use serde::Serialize;
use weakspot_core::{Model, Names, Verdict};

use crate::course::exploration_json;
use crate::json::{Object, SCHEMA, line, model_key, push_string, verdict_key};
use crate::real::{
    Explored, RealConsequence, RealFailed, RealFailure, RealOvertaking, RealPairs, RealRelated,
    RealShown, RealUnserializable,
};
use crate::run::object::Run;
use crate::stream::log::ViolationJson;
use crate::text::limit::named;

/// The answer about a model as a JSON object on one line.
#[must_use]
pub fn real_json(explored: &Explored<'_>, pairs: &RealPairs<'_>) -> String {
    let RealPairs { model, verdict, advisory, findings, limit, .. } = *pairs;
    // One finding whose run was checked shows the verdict.
    let is_checked = |finding: &RealOvertaking<'_>| matches!(&finding.shown, RealShown::Again(a) if a.head.certified.is_checked());
    let certified = *verdict == Verdict::Violated && findings.iter().any(is_checked);
    let mut o = opening(explored, "run", model, verdict, certified);
    advice(&mut o, advisory);
    o.raw("complete", limit.is_none());
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
            consequence: match finding.consequence {
                RealConsequence::Fails(_) => Some("fails"),
                RealConsequence::Unnoticed { .. } => Some("unnoticed"),
                RealConsequence::AsUnderSc | RealConsequence::Unknown => Some("unknown"),
                RealConsequence::NotSought => None,
            },
            failure: match finding.consequence {
                RealConsequence::Fails(failure) => Some(FailureJson::of(failure, model)),
                _ => None,
            },
            accepted: finding.accepted,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    consequence: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<FailureJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted: Option<&'a str>,
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
pub fn failures_json(explored: &Explored<'_>, failed: &RealFailed<'_>) -> String {
    let RealFailed { model, verdict, advisory, failures, derived, limit } = *failed;
    let mut o = opening(explored, "failures", model, verdict, false);
    advice(&mut o, advisory);
    o.raw("complete", limit.is_none());
    if model != Model::Sc {
        o.raw("derived", derived);
    }
    let failures: Vec<FailureJson<'_>> =
        failures.iter().map(|failure| FailureJson::of(failure, model)).collect();
    o.raw("failures", line(&failures));
    if let Some(course) = explored.course {
        o.raw("exploration", exploration_json(course));
    }
    closing(o, explored)
}

fn advice(o: &mut Object, advisory: bool) {
    if advisory {
        o.raw("advisory", true);
    }
}

#[derive(Serialize)]
struct FailureJson<'a> {
    kind: &'a str,
    text: &'a str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<&'a str>,
    at: &'a [String],
    frames: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related: Vec<RelatedJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    late: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    as_under: Option<&'static str>,
    executions: u64,
    first: u64,
    schedule: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a Run>,
}

impl<'a> FailureJson<'a> {
    fn of(failure: &RealFailure<'a>, under: Model) -> FailureJson<'a> {
        let related = failure.related.iter();
        let related = related.map(RelatedJson::of);
        FailureJson {
            kind: failure.kind,
            text: failure.text,
            message: failure.text,
            thread: failure.thread,
            at: failure.frames,
            frames: failure.frames,
            related: related.collect(),
            late: (under != Model::Sc).then_some(failure.delays),
            as_under: failure.before.map(model_key),
            executions: failure.executions,
            first: failure.first,
            schedule: failure.schedule,
            run: failure.run,
        }
    }
}

#[derive(Serialize)]
struct RelatedJson<'a> {
    what: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: &'a Option<String>,
    at: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(rename = "for", skip_serializing_if = "Option::is_none")]
    object: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    held_by: Vec<HolderJson<'a>>,
}

#[derive(Serialize)]
struct HolderJson<'a> {
    thread: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<&'a str>,
}

impl<'a> RelatedJson<'a> {
    fn of(related: &'a RealRelated) -> RelatedJson<'a> {
        let RealRelated { what, thread, at, wait } = related;
        let holders = wait.iter().flat_map(|wait| &wait.holders);
        RelatedJson {
            what,
            thread,
            at,
            message: wait.as_ref().map(|wait| wait.text.as_str()),
            object: wait.as_ref().and_then(|wait| wait.object.as_deref()),
            held_by: holders
                .map(|(thread, since)| HolderJson { thread, since: since.as_deref() })
                .collect(),
        }
    }
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
    if let Some(root) = explored.root {
        o.string("root", root);
    }
    if let Verdict::Unknown(limit) = verdict {
        o.raw("limit", line(&named(limit, &Names::default())));
    }
    o
}

fn closing(mut o: Object, explored: &Explored<'_>) -> String {
    o.raw("executions", explored.executions);
    if explored.blocked > 0 {
        o.raw("blocked", explored.blocked);
    }
    match explored.knows_steps() {
        true => o.raw("steps", explored.steps),
        false => o.raw("steps", "null"),
    };
    o.string("strategy", explored.strategy);
    strings(o.key("remarks"), explored.remarks);
    if let Some((schedule, _)) = explored.cut_off {
        o.string("cut_off", schedule);
    }
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

/// What is said about so many transactions, as a JSON object on one line; `fenced`: as if each ended in a fence.
#[must_use]
pub fn unserializable_json(
    explored: &Explored<'_>,
    model: Model,
    verdict: &Verdict,
    (fenced, transactions): (bool, u64),
    shown: Option<&RealUnserializable<'_>>,
) -> String {
    let mut o = opening(explored, "serial", model, verdict, false);
    o.raw("fenced", fenced).raw("transactions", transactions);
    if let Some(shown) = shown {
        o.raw("unserializable", shown.executions).raw("first", shown.first);
        o.string("schedule", shown.schedule);
    }
    closing(o, explored)
}
