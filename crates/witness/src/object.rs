//! JSON objects that are written key by key.

use std::fmt::{Display, Write};

/// A JSON object that is being written.
#[derive(Debug)]
pub struct Object(String);

impl Object {
    /// Without keys.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "nothing asks for one")]
    pub fn new() -> Object {
        Object("{".to_owned())
    }

    /// Adds a key with a string.
    pub fn string(&mut self, key: &str, value: &str) -> &mut Object {
        self.key(key);
        push_string(&mut self.0, value);
        self
    }

    /// Adds a key with something that is JSON already.
    pub fn raw(&mut self, key: &str, value: impl Display) -> &mut Object {
        let _ = write!(self.key(key), "{value}");
        self
    }

    /// Adds a key; the caller appends its value to the text that is returned.
    pub fn key(&mut self, key: &str) -> &mut String {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        push_string(&mut self.0, key);
        self.0.push(':');
        &mut self.0
    }

    /// Closes the object and returns its text.
    #[must_use]
    pub fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// Appends `s` as a JSON string.
pub fn push_string(out: &mut String, s: &str) {
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
