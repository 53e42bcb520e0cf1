//! A line of JSON that nothing stumbles over.

use std::io;
use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::ser::{CharEscape, Formatter};

/// Something as JSON on one line, without a line end.
#[must_use]
pub fn line<T: Serialize + ?Sized>(value: &T) -> String {
    let mut out = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, OneLine);
    // Memory takes everything, and no key is anything but a string.
    let _ = value.serialize(&mut serializer);
    String::from_utf8(out).unwrap_or_default()
}

/// JSON without anything that a reader of lines or a terminal could stumble over.
struct OneLine;

impl Formatter for OneLine {
    fn write_string_fragment<W>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()>
    where
        W: ?Sized + io::Write,
    {
        // Line separators are legal in JSON, but not every reader of lines knows that.
        let is_bad = |c: char| matches!(c, '\x7f' | '\u{2028}' | '\u{2029}');
        let mut rest = fragment;
        while let Some(at) = rest.find(is_bad) {
            let (good, bad) = rest.split_at(at);
            writer.write_all(good.as_bytes())?;
            let mut chars = bad.chars();
            let code = chars.next().map_or(0, u32::from);
            write!(writer, "\\u{code:04x}")?;
            rest = chars.as_str();
        }
        writer.write_all(rest.as_bytes())
    }

    fn write_char_escape<W>(&mut self, writer: &mut W, escape: CharEscape) -> io::Result<()>
    where
        W: ?Sized + io::Write,
    {
        let text = match escape {
            CharEscape::Quote => "\\\"",
            CharEscape::ReverseSolidus => "\\\\",
            CharEscape::Solidus => "/",
            CharEscape::Backspace => "\\u0008",
            CharEscape::FormFeed => "\\u000c",
            CharEscape::LineFeed => "\\n",
            CharEscape::CarriageReturn => "\\r",
            CharEscape::Tab => "\\t",
            CharEscape::AsciiControl(byte) => return write!(writer, "\\u{byte:04x}"),
        };
        writer.write_all(text.as_bytes())
    }
}

/// A time in seconds, to the microsecond.
///
/// # Errors
///
/// Those of the serializer.
pub fn seconds<S: Serializer>(time: &Duration, s: S) -> Result<S::Ok, S::Error> {
    match (time.as_micros() as f64 / 1e6, time.subsec_micros()) {
        (_, 0) => s.serialize_u64(time.as_secs()),
        (seconds, _) => s.serialize_f64(seconds),
    }
}
