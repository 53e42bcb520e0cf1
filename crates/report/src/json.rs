//! JSON lines, written key by key: the order of the keys is part of what scripts and people see,
//! and a list of a million states goes into the text without a tree in between.

use std::fmt::{Display, Write};

use weakspot_core::{Certification, Drain, Model, Verdict};

/// The line for a file that could not be answered. `place` is line and column, both from 1;
/// without one (a file that cannot be read) both keys are `null`. No line end.
#[must_use]
pub fn error_json(
    file: &str,
    question: &str,
    model: Option<&str>,
    message: &str,
    place: Option<(usize, usize)>,
) -> String {
    let mut o = Object::new();
    o.string("file", file).string("question", question);
    match model {
        Some(model) => o.string("model", model),
        None => o.raw("model", "null"),
    };
    o.string("verdict", "error").string("message", message);
    match place {
        Some((line, column)) => o.raw("line", line).raw("column", column),
        None => o.raw("line", "null").raw("column", "null"),
    };
    o.raw("time_s", 0);
    o.end()
}

/// The verdict as scripts read it.
pub(crate) fn verdict_key(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Violated => "violated",
        Verdict::Unknown(_) => "unknown",
    }
}

/// What the checker of evidence said, as scripts read it: a JSON value.
pub(crate) fn certified_json(certification: Certification) -> &'static str {
    match certification {
        Certification::Checked => "true",
        Certification::TooLarge => "\"too large\"",
        Certification::NotChecked => "false",
    }
}

/// The model as scripts write it: `sc`, `tso`, `pso`, and `pso-own` for the reading of PSO in
/// which an atomic update waits only for the stores to its own address.
#[must_use]
pub fn model_key(model: Model) -> &'static str {
    match model {
        Model::Sc => "sc",
        Model::Tso => "tso",
        Model::Pso(Drain::All) => "pso",
        Model::Pso(Drain::Own) => "pso-own",
    }
}

/// The model that [`model_key`] writes as `key`.
#[must_use]
pub fn model_of_key(key: &str) -> Option<Model> {
    Model::ALL.into_iter().find(|&model| model_key(model) == key)
}

/// A JSON object that is being written.
pub(crate) struct Object(String);

impl Object {
    pub(crate) fn new() -> Object {
        Object("{".to_owned())
    }

    /// Adds a key with a string.
    pub(crate) fn string(&mut self, key: &str, value: &str) -> &mut Object {
        self.key(key);
        push_string(&mut self.0, value);
        self
    }

    /// Adds a key with something that is JSON already.
    pub(crate) fn raw(&mut self, key: &str, value: impl Display) -> &mut Object {
        let _ = write!(self.key(key), "{value}");
        self
    }

    /// Adds a key; the caller appends its value to the text that is returned.
    pub(crate) fn key(&mut self, key: &str) -> &mut String {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        push_string(&mut self.0, key);
        self.0.push(':');
        &mut self.0
    }

    pub(crate) fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// Appends `s` as a JSON string.
pub(crate) fn push_string(out: &mut String, s: &str) {
    out.push('"');
    for c in s.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            // Line separators are legal in JSON, but not every reader of lines knows that.
            '\0'..='\x1f' | '\x7f' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn errors() {
        expect![[
            r#"{"file":"a.litmus","question":"litmus","model":"tso","verdict":"error","message":"unknown instruction `MVO`","line":3,"column":2,"time_s":0}"#
        ]]
        .assert_eq(&error_json(
            "a.litmus",
            "litmus",
            Some("tso"),
            "unknown instruction `MVO`",
            Some((3, 2)),
        ));
        expect![[
            r#"{"file":"b","question":"litmus","model":null,"verdict":"error","message":"no such file","line":null,"column":null,"time_s":0}"#
        ]]
        .assert_eq(&error_json("b", "litmus", None, "no such file", None));
    }

    #[test]
    fn strings_survive_a_parser() {
        for s in ["", "a\"b\\c", "\0\u{1}\u{7f}\n\r\t\u{2028}", "é→\u{1f600}", "/\\"] {
            let mut text = String::new();
            push_string(&mut text, s);
            assert_eq!(serde_json::from_str::<String>(&text).unwrap(), s);
        }
    }

    #[test]
    fn models() {
        for model in Model::ALL {
            assert_eq!(model_of_key(model_key(model)), Some(model));
        }
        assert_eq!(model_of_key("x86"), None);
    }
}
