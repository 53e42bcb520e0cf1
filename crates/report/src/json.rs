//! JSON lines: what the objects of all answers begin and end with, and how they are written.
//!
//! The order of the keys is part of what scripts and people see. Nothing is put into a tree first: a
//! list of a million states goes right into the text.

use std::time::Duration;

use serde::{Serialize, Serializer};
use weakspot_core::{Certification, Names};

use weakspot_witness::LimitJson;
pub(crate) use weakspot_witness::{Object, line, push_string, seconds, verdict_key};
pub use weakspot_witness::{model_key, model_of_key};

use crate::answer::{Head, ModelName};
use crate::text::limit::named;

/// The version of the objects. It rises when a key is taken away or means something else; new keys
/// do not change it.
pub const SCHEMA: u32 = 1;

/// The program that wrote an output, in its first object.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Tool {
    /// What it is called.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// The commit that it was built from, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<&'static str>,
}

impl Tool {
    /// The first object of an output, which says what wrote it.
    #[must_use]
    pub fn sign(&self, objects: &str) -> String {
        let (first, rest) = objects.split_at(objects.find('\n').unwrap_or(objects.len()));
        match first.strip_suffix('}') {
            Some(open) => format!("{open},\"tool\":{}}}{rest}", line(self)),
            None => objects.to_owned(),
        }
    }
}

/// The object of an answer about a program: the head, what the question adds, and the end.
#[derive(Serialize)]
struct OfProgram<'a, B> {
    file: &'a str,
    question: &'a str,
    model: &'a str,
    verdict: &'a str,
    #[serde(serialize_with = "certified")]
    certified: Certification,
    #[serde(serialize_with = "seconds")]
    time_s: Duration,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<LimitJson>,
    name: &'a str,
    #[serde(flatten)]
    body: B,
    schema: u32,
}

/// The object of an answer about something that was recorded.
#[derive(Serialize)]
struct OfRecord<'a, A, B> {
    file: &'a str,
    question: &'a str,
    #[serde(flatten)]
    about: A,
    model: &'a str,
    verdict: &'a str,
    #[serde(serialize_with = "certified")]
    certified: Certification,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<LimitJson>,
    #[serde(flatten)]
    body: B,
    #[serde(serialize_with = "seconds")]
    time_s: Duration,
    schema: u32,
}

/// The line of an answer about a program, with a line end.
pub(crate) fn of_program<M: ModelName>(
    head: &Head<'_, M>,
    names: &Names,
    body: impl Serialize,
) -> String {
    let Head { file, question, model, verdict, time, certified, .. } = *head;
    line(&OfProgram {
        file,
        question,
        model: model.key(),
        verdict: verdict_key(verdict),
        certified,
        time_s: time,
        limit: head.limit().map(|limit| named(limit, names)),
        name: &names.program,
        body,
        schema: SCHEMA,
    }) + "\n"
}

/// The line of an answer about something that was recorded, with a line end. `about` says which part
/// of the file it is.
pub(crate) fn of_record<M: ModelName>(
    head: &Head<'_, M>,
    names: &Names,
    about: impl Serialize,
    body: impl Serialize,
) -> String {
    let Head { file, question, model, verdict, time, certified, .. } = *head;
    line(&OfRecord {
        file,
        question,
        about,
        model: model.key(),
        verdict: verdict_key(verdict),
        certified,
        limit: head.limit().map(|limit| named(limit, names)),
        body,
        time_s: time,
        schema: SCHEMA,
    }) + "\n"
}

fn certified<S: Serializer>(certified: &Certification, s: S) -> Result<S::Ok, S::Error> {
    match certified {
        Certification::Checked => s.serialize_bool(true),
        Certification::TooLarge => s.serialize_str("too large"),
        Certification::NotChecked => s.serialize_bool(false),
    }
}

/// Something that went wrong instead of an answer.
#[derive(Clone, Copy, Debug)]
pub struct Refusal<'a> {
    /// The file as the user named it.
    pub file: &'a str,
    /// The question.
    pub question: &'a str,
    /// The key of the model, if it is about one.
    pub model: Option<&'a str>,
    /// What is wrong.
    pub message: &'a str,
    /// Line and column, both from 1.
    pub place: Option<(usize, usize)>,
    /// Of a history whether it is the text or the values that are wrong.
    pub kind: Option<&'a str>,
}

#[derive(Serialize)]
struct RefusalJson<'a> {
    file: &'a str,
    question: &'a str,
    model: Option<&'a str>,
    verdict: &'a str,
    message: &'a str,
    line: Option<usize>,
    column: Option<usize>,
    time_s: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'a str>,
    schema: u32,
}

impl Refusal<'_> {
    /// The line for scripts, with a line end. Without a place (a file that cannot be read) `line` and
    /// `column` are `null`.
    #[must_use]
    pub fn json(&self) -> String {
        let Refusal { file, question, model, message, place, kind } = *self;
        let (line_of, column) = place.unzip();
        line(&RefusalJson {
            file,
            question,
            model,
            verdict: "error",
            message,
            line: line_of,
            column,
            time_s: 0,
            kind,
            schema: SCHEMA,
        }) + "\n"
    }
}

/// The line for a file that could not be answered, without a line end.
#[must_use]
pub fn error_json(
    file: &str,
    question: &str,
    model: Option<&str>,
    message: &str,
    place: Option<(usize, usize)>,
) -> String {
    let refusal = Refusal { file, question, model, message, place, kind: None };
    refusal.json().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use weakspot_core::Model;

    use super::*;

    #[test]
    fn errors() {
        expect![[
            r#"{"file":"a.litmus","question":"litmus","model":"tso","verdict":"error","message":"unknown instruction `MVO`","line":3,"column":2,"time_s":0,"schema":1}"#
        ]]
        .assert_eq(&error_json(
            "a.litmus",
            "litmus",
            Some("tso"),
            "unknown instruction `MVO`",
            Some((3, 2)),
        ));
        expect![[
            r#"{"file":"b","question":"litmus","model":null,"verdict":"error","message":"no such file","line":null,"column":null,"time_s":0,"schema":1}"#
        ]]
        .assert_eq(&error_json("b", "litmus", None, "no such file", None));
    }

    #[test]
    fn strings_survive_a_parser() {
        for s in ["", "a\"b\\c", "\0\u{1}\u{7f}\n\r\t\u{2028}", "é→\u{1f600}", "/\\"] {
            let mut text = String::new();
            push_string(&mut text, s);
            assert_eq!(serde_json::from_str::<String>(&text).unwrap(), s);
            assert_eq!(line(s), text);
        }
    }

    #[test]
    fn signed() {
        let tool = Tool { name: "weakspot", version: "0.1.0", commit: None };
        assert_eq!(
            tool.sign("{\"a\":1}\n{\"b\":2}\n"),
            "{\"a\":1,\"tool\":{\"name\":\"weakspot\",\"version\":\"0.1.0\"}}\n{\"b\":2}\n"
        );
        assert_eq!(tool.sign(""), "");
    }

    #[test]
    fn models() {
        for model in Model::ALL {
            assert_eq!(model_of_key(model_key(model)), Some(model));
        }
        assert_eq!(model_of_key("x86"), None);
    }
}
