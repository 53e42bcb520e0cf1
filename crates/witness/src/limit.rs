//! What stopped a search, as JSON.

use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::Value as Json;
use weakspot_core::{Limit, LostProcess, Omission, ThreadId};

use crate::line::{line, seconds};

/// How a process is lost, by its key.
const LOST: [(&str, LostProcess); 4] = [
    ("gone", LostProcess::Gone),
    ("silent", LostProcess::Silent),
    ("absent", LostProcess::Absent),
    ("garbled", LostProcess::Garbled),
];

/// The limit as a JSON object.
#[derive(Serialize)]
pub struct LimitJson {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "some_seconds")]
    seconds: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unbounded: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operations: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    executions: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preemptions: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    process: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lost: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bits: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_omitted: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    omission_probability: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl LimitJson {
    /// The limit, and what it is in words.
    #[must_use]
    pub fn new(limit: &Limit, message: Option<String>) -> LimitJson {
        LimitJson { message, ..LimitJson::plain(limit) }
    }

    fn plain(limit: &Limit) -> LimitJson {
        let none = |kind| LimitJson {
            kind,
            seconds: None,
            bytes: None,
            thread: None,
            entries: None,
            unbounded: None,
            offset: None,
            operations: None,
            executions: None,
            preemptions: None,
            steps: None,
            process: None,
            lost: None,
            bits: None,
            kept: None,
            expected_omitted: None,
            omission_probability: None,
            message: None,
        };
        match limit {
            Limit::Time(time) => LimitJson { seconds: Some(*time), ..none("time") },
            Limit::Memory(bytes) => LimitJson { bytes: Some(*bytes), ..none("memory") },
            Limit::Buffer { thread, entries, unbounded } => LimitJson {
                thread: Some(thread.0),
                entries: Some(*entries),
                unbounded: Some(*unbounded),
                ..none("buffer")
            },
            Limit::Interrupted => none("interrupted"),
            Limit::Process { process, why } => {
                let lost = LOST.iter().find(|(_, lost)| lost == why).map(|(key, _)| *key);
                LimitJson { process: Some(*process), lost, ..none("process") }
            }
            Limit::Torn(offset) => LimitJson { offset: Some(*offset), ..none("torn") },
            Limit::Window(n) => LimitJson { operations: Some(*n), ..none("window") },
            Limit::Overlap => none("overlap"),
            Limit::Conditional => none("conditional"),
            Limit::Executions(n) => LimitJson { executions: Some(*n), ..none("executions") },
            Limit::Finding(n) => LimitJson { executions: Some(*n), ..none("finding") },
            Limit::Preemptions(n) => LimitJson { preemptions: Some(*n), ..none("preemptions") },
            Limit::Steps(n) => LimitJson { steps: Some(*n), ..none("steps") },
            Limit::Silent => none("silent"),
            Limit::Unrepeatable => none("unrepeatable"),
            Limit::Loops => none("loops"),
            Limit::Updates => none("updates"),
            Limit::Uncontrolled => none("uncontrolled"),
            Limit::Hashes(omission) => LimitJson {
                bits: Some(omission.bits),
                kept: Some(omission.states),
                expected_omitted: Some(omission.expected()),
                omission_probability: Some(omission.probability()),
                ..none("hashes")
            },
        }
    }
}

fn some_seconds<S: Serializer>(time: &Option<Duration>, s: S) -> Result<S::Ok, S::Error> {
    seconds(&time.unwrap_or_default(), s)
}

/// The limit as JSON on one line.
pub(crate) fn limit_json(limit: &Limit) -> String {
    line(&LimitJson::plain(limit))
}

/// The limit that [`limit_json`] wrote.
pub(crate) fn limit_of_json(json: &Json) -> Option<Limit> {
    Some(match json.get("kind")?.as_str()? {
        "time" => Limit::Time(Duration::try_from_secs_f64(json.get("seconds")?.as_f64()?).ok()?),
        "memory" => Limit::Memory(json.get("bytes")?.as_u64()?),
        "buffer" => Limit::Buffer {
            thread: ThreadId(u32::try_from(json.get("thread")?.as_u64()?).ok()?),
            entries: usize::try_from(json.get("entries")?.as_u64()?).ok()?,
            unbounded: json.get("unbounded")?.as_bool()?,
        },
        "interrupted" => Limit::Interrupted,
        "process" => {
            let key = json.get("lost")?.as_str()?;
            let process = usize::try_from(json.get("process")?.as_u64()?).ok()?;
            Limit::Process { process, why: LOST.iter().find(|(lost, _)| *lost == key)?.1 }
        }
        "torn" => Limit::Torn(json.get("offset")?.as_u64()?),
        "window" => Limit::Window(usize::try_from(json.get("operations")?.as_u64()?).ok()?),
        "overlap" => Limit::Overlap,
        "conditional" => Limit::Conditional,
        "unrepeatable" => Limit::Unrepeatable,
        "loops" => Limit::Loops,
        "updates" => Limit::Updates,
        "uncontrolled" => Limit::Uncontrolled,
        "hashes" => Limit::Hashes(Omission {
            states: json.get("kept")?.as_u64()?,
            bits: u32::try_from(json.get("bits")?.as_u64()?).ok()?,
        }),
        "steps" => Limit::Steps(json.get("steps")?.as_u64()?),
        "silent" => Limit::Silent,
        "executions" => Limit::Executions(json.get("executions")?.as_u64()?),
        "finding" => Limit::Finding(json.get("executions")?.as_u64()?),
        "preemptions" => {
            Limit::Preemptions(u32::try_from(json.get("preemptions")?.as_u64()?).ok()?)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips() {
        let thread = ThreadId(3);
        let limits = [
            Limit::Time(Duration::from_millis(1_050)),
            Limit::Memory(1_600),
            Limit::Buffer { thread, entries: 16, unbounded: true },
            Limit::Interrupted,
            Limit::Process { process: 2, why: LostProcess::Silent },
            Limit::Torn(96),
            Limit::Window(100_000),
            Limit::Overlap,
            Limit::Conditional,
            Limit::Executions(7),
            Limit::Finding(12),
            Limit::Preemptions(2),
            Limit::Steps(100_000),
            Limit::Silent,
            Limit::Unrepeatable,
            Limit::Loops,
            Limit::Updates,
            Limit::Uncontrolled,
            Limit::Hashes(Omission { states: 8_677_463, bits: 48 }),
        ];
        for limit in limits {
            let json = serde_json::from_str(&limit_json(&limit)).expect("JSON");
            assert_eq!(limit_of_json(&json), Some(limit));
        }
    }
}
