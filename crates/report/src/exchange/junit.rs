//! Answers as JUnit writes tests: a suite for each file or program, and in it a test for each question and model.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value;

use super::{Finding, Place, of_object};
use crate::text::show::named_models;
use crate::writer::{Description, Writer};

pub(crate) const FORMAT: Description = Description {
    name: "junit",
    about: "XML as JUnit writes it, for services that show tests",
    writer: Writer::Whole(|_, objects| junit_of_objects(objects)),
};

/// How a test came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestEnd {
    /// Everything holds.
    Pass,
    /// Something is violated.
    Fail,
    /// It is not known, such as because a limit was reached.
    Unknown,
    /// There is no answer.
    Error,
}

/// A test.
pub(crate) struct Case<'a> {
    pub(crate) suite: &'a str,
    pub(crate) name: String,
    pub(crate) end: TestEnd,
    pub(crate) time: Duration,
    /// If it did not pass: what is to be said in short, and at length.
    pub(crate) message: String,
    pub(crate) text: String,
}

/// The answers in some objects.
pub(super) fn junit_of_objects(objects: &str) -> String {
    let objects: Vec<Value> =
        objects.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let mut cases: Vec<Case<'_>> = Vec::new();
    let mut explored: Option<&Value> = None;
    for object in &objects {
        let Some(mut case) = case(object) else { continue };
        // One exploration of a program answers for all models, and each answer has its time.
        let is_same = |other: &Value| ["file", "time_s"].iter().all(|k| other[*k] == object[*k]);
        if is_of_program(object) && explored.is_some_and(is_same) {
            case.time = Duration::ZERO;
        }
        explored = is_of_program(object).then_some(object);
        cases.push(case);
    }
    suites(&cases, cases.iter().map(|case| case.time).sum())
}

/// Whether an answer comes from executing a program.
fn is_of_program(object: &Value) -> bool {
    matches!(object["question"].as_str(), Some("failures" | "run"))
}

/// The test that an object is; nothing if it is no answer.
fn case(object: &Value) -> Option<Case<'_>> {
    let word = |key: &str| object[key].as_str().filter(|word| !word.is_empty());
    // Fences for a program that was executed are advice: what fails is an answer of its own.
    let fences = word("question") == Some("fence") && !object["explorations"].is_null();
    let advisory = fences || object["advisory"].as_bool() == Some(true);
    let end = match word("verdict")? {
        "holds" => TestEnd::Pass,
        // Advice counts neither here nor for the exit code.
        "violated" if advisory => TestEnd::Unknown,
        "violated" => TestEnd::Fail,
        "error" => TestEnd::Error,
        _ => TestEnd::Unknown,
    };
    let named = word("id").or(word("name")).map(str::to_owned);
    let model = word("model").map(named_models);
    let words = [named, word("question").map(str::to_owned), model];
    let name: Vec<String> = words.into_iter().flatten().collect();
    let found = of_object(object);
    let mut messages: Vec<&str> = found.iter().map(|finding| finding.message.as_str()).collect();
    if messages.is_empty() && end != TestEnd::Pass {
        // What two models share is told once.
        messages.push("as under another model");
    }
    let seconds = object["time_s"].as_f64().filter(|time| time.is_finite() && *time >= 0.0);
    Some(Case {
        suite: word("file").unwrap_or("weakspot"),
        name: name.join(" "),
        end,
        time: Duration::try_from_secs_f64(seconds.unwrap_or(0.0)).unwrap_or_default(),
        message: match advisory {
            true => format!("advice: {}", messages.join("; ")),
            false => messages.join("; "),
        },
        text: found.iter().flat_map(lines).collect(),
    })
}

/// A finding with its places, one on a line.
fn lines(finding: &Finding) -> Vec<String> {
    let line = |Place { file, line, column }: &Place, text: &str| {
        let numbers = [line, column].into_iter().flatten().map(|number| format!("{number}:"));
        format!("{file}:{} {text}\n", numbers.collect::<String>())
    };
    let related = finding.related.iter().map(|(place, text)| line(place, text));
    let mut lines: Vec<String> = [line(&finding.place, &finding.message)].into_iter().collect();
    lines.extend(related);
    lines.extend(finding.diff.iter().cloned());
    lines
}

/// Tests as XML, those of a suite together. What is not known counts as skipped, because it neither passed nor failed.
pub(crate) fn suites(cases: &[Case<'_>], time: Duration) -> String {
    let numbers = |cases: &[&Case<'_>], time: Duration| {
        let count = |end| cases.iter().filter(|case| case.end == end).count();
        format!(
            "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3}\"",
            cases.len(),
            count(TestEnd::Fail),
            count(TestEnd::Error),
            count(TestEnd::Unknown),
            time.as_secs_f64(),
        )
    };
    let all: Vec<&Case<'_>> = cases.iter().collect();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(out, "<testsuites name=\"weakspot\" {}>", numbers(&all, time));
    for (name, own) in by_suite(&all) {
        let (name, time) = (escaped(name), own.iter().map(|case| case.time).sum());
        let _ = writeln!(out, "  <testsuite name=\"{name}\" {}>", numbers(&own, time));
        own.iter().for_each(|case| out += &case.xml(&name));
        out.push_str("  </testsuite>\n");
    }
    out + "</testsuites>\n"
}

/// Tests by suites, in the order in which these come first.
fn by_suite<'a, 'b>(cases: &[&'b Case<'a>]) -> Vec<(&'a str, Vec<&'b Case<'a>>)> {
    let mut numbers = std::collections::HashMap::new();
    let mut suites: Vec<(&str, Vec<&Case<'_>>)> = Vec::new();
    for &case in cases {
        let number = *numbers.entry(case.suite).or_insert(suites.len());
        if number == suites.len() {
            suites.push((case.suite, Vec::new()));
        }
        suites[number].1.push(case);
    }
    suites
}

impl Case<'_> {
    fn xml(&self, suite: &str) -> String {
        let head = format!(
            "    <testcase classname=\"{suite}\" name=\"{}\" time=\"{:.3}\"",
            escaped(&self.name),
            self.time.as_secs_f64()
        );
        let tag = match self.end {
            TestEnd::Pass => return head + "/>\n",
            TestEnd::Fail => "failure",
            TestEnd::Error => "error",
            TestEnd::Unknown => "skipped",
        };
        let (message, text) = (escaped(&self.message), escaped(self.text.trim_end()));
        format!("{head}>\n      <{tag} message=\"{message}\">{text}</{tag}>\n    </testcase>\n")
    }
}

/// Text in XML, which has no characters for control but those between lines and words.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
