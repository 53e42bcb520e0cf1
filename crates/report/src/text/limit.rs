//! What stopped a search, in words and as JSON.

use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::Value as Json;
use weakspot_core::{Limit, Names, ThreadId};

use crate::json::line::{line, seconds};
use crate::text::show::thread_name;

/// One line that says what stopped a search: a clause without a full stop.
#[must_use]
pub fn limit_text(limit: &Limit, names: &Names) -> String {
    match limit {
        Limit::Time(time) => {
            format!("the search stopped at the time limit of {}", in_seconds(*time))
        }
        Limit::Memory(bytes) => {
            format!("the search stopped at the memory limit of {}", size(*bytes))
        }
        Limit::Buffer { thread, entries, unbounded } => {
            let what = if *unbounded { "can grow without bound" } else { "was full" };
            format!(
                "the store buffer of {} {what}; explored with at most {entries} {} per buffer",
                thread_name(names, *thread),
                if *entries == 1 { "store" } else { "stores" },
            )
        }
        Limit::Interrupted => "the search was interrupted".to_owned(),
        Limit::Torn(offset) => format!("the log is torn at offset {offset}"),
        Limit::Window(operations) => format!(
            "only windows of {} operations were checked",
            crate::text::show::grouped(*operations as u128)
        ),
        Limit::Overlap => {
            "accesses overlap in part, and what that allows is not decided".to_owned()
        }
        Limit::Executions(1) => "only one execution was looked at".to_owned(),
        Limit::Executions(executions) => format!(
            "there are more than the {} that were explored",
            crate::text::show::counted(*executions, "execution")
        ),
        Limit::Preemptions(most) => format!(
            "only executions with at most {} were explored",
            crate::text::show::counted(u64::from(*most), "preemption")
        ),
        Limit::Unrepeatable => {
            "what was found did not show again when it was executed again: the program depends on \
             something outside of it"
                .to_owned()
        }
        Limit::Loops => {
            "threads that went round in loops many times were taken to wait for others, which may be \
             wrong"
                .to_owned()
        }
        Limit::Uncontrolled => "the program does something that cannot be controlled".to_owned(),
    }
}

/// The limit as a JSON object.
#[derive(Serialize)]
pub(crate) struct LimitJson {
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
    message: Option<String>,
}

impl LimitJson {
    /// Without words.
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
            Limit::Torn(offset) => LimitJson { offset: Some(*offset), ..none("torn") },
            Limit::Window(n) => LimitJson { operations: Some(*n), ..none("window") },
            Limit::Overlap => none("overlap"),
            Limit::Executions(n) => LimitJson { executions: Some(*n), ..none("executions") },
            Limit::Preemptions(n) => LimitJson { preemptions: Some(*n), ..none("preemptions") },
            Limit::Unrepeatable => none("unrepeatable"),
            Limit::Loops => none("loops"),
            Limit::Uncontrolled => none("uncontrolled"),
        }
    }

    /// With a `message` that says it in words as well.
    pub(crate) fn named(limit: &Limit, names: &Names) -> LimitJson {
        LimitJson { message: Some(limit_text(limit, names)), ..LimitJson::plain(limit) }
    }
}

fn some_seconds<S: Serializer>(time: &Option<Duration>, s: S) -> Result<S::Ok, S::Error> {
    seconds(&time.unwrap_or_default(), s)
}

/// The limit as JSON on one line. With `names`, a `message` says it in words as well.
pub(crate) fn limit_json(limit: &Limit, names: Option<&Names>) -> String {
    line(&match names {
        Some(names) => LimitJson::named(limit, names),
        None => LimitJson::plain(limit),
    })
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
        "torn" => Limit::Torn(json.get("offset")?.as_u64()?),
        "window" => Limit::Window(usize::try_from(json.get("operations")?.as_u64()?).ok()?),
        "overlap" => Limit::Overlap,
        "unrepeatable" => Limit::Unrepeatable,
        "loops" => Limit::Loops,
        "uncontrolled" => Limit::Uncontrolled,
        "executions" => Limit::Executions(json.get("executions")?.as_u64()?),
        "preemptions" => {
            Limit::Preemptions(u32::try_from(json.get("preemptions")?.as_u64()?).ok()?)
        }
        _ => return None,
    })
}

fn in_seconds(time: Duration) -> String {
    let ms = time.as_millis();
    match (ms / 1000, ms % 1000) {
        (0, ms) => format!("{ms} ms"),
        (s, 0) => format!("{s} s"),
        (s, ms) => format!("{s}.{} s", format!("{ms:03}").trim_end_matches('0')),
    }
}

fn size(bytes: u64) -> String {
    let mut divisor = 1;
    let mut unit = "bytes";
    for larger in ["KiB", "MiB", "GiB", "TiB"] {
        if bytes / divisor >= 1024 {
            divisor *= 1024;
            unit = larger;
        }
    }
    match (bytes / divisor, bytes % divisor) {
        (1, 0) if unit == "bytes" => "1 byte".to_owned(),
        (whole, 0) => format!("{whole} {unit}"),
        _ => format!("{:.1} {unit}", bytes as f64 / divisor as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(limit: &Limit, text: &str) {
        assert_eq!(limit_text(limit, &Names::default()), text);
        let json = serde_json::from_str(&limit_json(limit, None)).unwrap();
        assert_eq!(limit_of_json(&json).as_ref(), Some(limit));
    }

    #[test]
    fn limits() {
        let time = |ms| Limit::Time(Duration::from_millis(ms));
        check(&time(60_000), "the search stopped at the time limit of 60 s");
        check(&time(1_050), "the search stopped at the time limit of 1.05 s");
        check(&time(20), "the search stopped at the time limit of 20 ms");
        check(&Limit::Memory(4 << 30), "the search stopped at the memory limit of 4 GiB");
        check(&Limit::Memory(1_600), "the search stopped at the memory limit of 1.6 KiB");
        check(&Limit::Memory(0), "the search stopped at the memory limit of 0 bytes");
        let buffer = |entries, unbounded| Limit::Buffer { thread: ThreadId(0), entries, unbounded };
        check(
            &buffer(16, true),
            "the store buffer of P0 can grow without bound; \
             explored with at most 16 stores per buffer",
        );
        check(
            &buffer(1, false),
            "the store buffer of P0 was full; explored with at most 1 store per buffer",
        );
        check(&Limit::Interrupted, "the search was interrupted");
        check(&Limit::Torn(96), "the log is torn at offset 96");
        check(&Limit::Window(100_000), "only windows of 100,000 operations were checked");
    }
}
