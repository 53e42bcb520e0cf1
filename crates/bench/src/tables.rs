//! Where tables go.

use std::fmt;
use std::io::Write;

use anyhow::Result;
use serde_json::Value;
use weakspot_core::{Progress, Snapshot};
use weakspot_report::{Format, Plot, Rows};

/// Where the rows of tables go, and who may ask for an end.
pub struct Tables<'a> {
    /// For people, or one object or line of cells per row.
    pub format: Format,
    /// The rows, each as soon as it is measured.
    pub out: &'a mut dyn Write,
    /// How wide text may be.
    pub columns: usize,
    /// Whether somebody has asked for an end.
    pub interrupted: &'a dyn Fn() -> bool,
    /// What ends the table that was begun last.
    pub end: &'static str,
    /// Shows a line that says how far it is, or takes it away.
    pub show: &'a dyn Fn(Option<&str>),
    /// Says what is measured, for measurements that report nothing meanwhile.
    pub busy: &'a dyn Fn(&str),
}

/// What is left to say when all is measured.
#[derive(Debug, Default)]
pub struct Measured {
    /// A drawing of the times.
    pub plot: Option<Plot>,
    /// What could not be measured, and why.
    pub errors: Vec<String>,
}

/// Somebody asked for an end before all was measured.
#[derive(Debug)]
pub struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted, not everything is measured")
    }
}

impl std::error::Error for Interrupted {}

/// Tells a search when an end is asked for.
struct Asked<'a>(&'a dyn Fn() -> bool);

impl Progress for Asked<'_> {
    fn tick(&mut self, _: Snapshot) -> bool {
        !(self.0)()
    }
}

/// The same with at most six digits that count in each fraction: nothing is measured better than that.
fn rounded(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            let short = number.as_f64().and_then(|n| format!("{n:.5e}").parse::<f64>().ok());
            short.map_or(Value::Number(number), Value::from)
        }
        Value::Array(list) => list.into_iter().map(rounded).collect(),
        Value::Object(map) => map.into_iter().map(|(key, value)| (key, rounded(value))).collect(),
        other => other,
    }
}

/// Sentences in lines of at most so many columns.
fn paragraph(text: &str, columns: usize) -> String {
    let mut out = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let width = word.chars().count();
        let is_full = used + 1 + width > columns;
        out.push_str(match (used, is_full) {
            (0, _) => "",
            (_, true) => "\n",
            (_, false) => " ",
        });
        used = if used == 0 || is_full { width } else { used + 1 + width };
        out.push_str(word);
    }
    out + "\n"
}

impl Tables<'_> {
    /// What people read above and below rows.
    pub(crate) fn text(&mut self, text: fmt::Arguments<'_>) -> Result<()> {
        if self.format == Format::Text {
            (self.show)(None);
            self.out.write_fmt(text)?;
            self.out.flush()?;
        }
        Ok(())
    }

    /// The same for sentences, in lines of at most 80 columns.
    pub(crate) fn note(&mut self, text: fmt::Arguments<'_>) -> Result<()> {
        self.text(format_args!("\n{}", paragraph(&text.to_string(), self.columns.min(80))))
    }

    /// A row, as a line for people (with its end) or as an object; the next one may be measured if
    /// nobody has asked for an end.
    pub(crate) fn row(
        &mut self,
        rows: &mut Rows,
        text: impl FnOnce() -> String,
        json: impl FnOnce() -> Value,
    ) -> Result<()> {
        self.written(rows, text, || rounded(json()).to_string())
    }

    /// The same for an object that is written already.
    pub(crate) fn written(
        &mut self,
        rows: &mut Rows,
        text: impl FnOnce() -> String,
        json: impl FnOnce() -> String,
    ) -> Result<()> {
        let line = match self.format {
            Format::Text => text(),
            _ => {
                // Another table begins where one has ended.
                let between = match (rows.has_begun(), self.end) {
                    (false, end) if !end.is_empty() => format!("{end}\n"),
                    _ => String::new(),
                };
                let line = rows.written(&json());
                self.end = rows.end();
                between + &line
            }
        };
        (self.show)(None);
        self.out.write_all(line.as_bytes())?;
        self.out.flush()?;
        self.go_on()
    }

    /// Ends the last table.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn close(&mut self) -> Result<()> {
        self.out.write_all(std::mem::take(&mut self.end).as_bytes())?;
        Ok(self.out.flush()?)
    }

    /// For searches that listen.
    pub(crate) fn progress(&self) -> impl Progress {
        Asked(self.interrupted)
    }

    /// Fails if an end was asked for.
    pub(crate) fn go_on(&self) -> Result<()> {
        if (self.interrupted)() { Err(Interrupted.into()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn few_digits() {
        let measured =
            json!({"s": 0.123_456_789_012_345, "list": [1234567.891, 3], "n": 1u64 << 60});
        let shown = json!({"s": 0.123_457, "list": [1_234_570.0, 3], "n": 1u64 << 60});
        assert_eq!(rounded(measured), shown);
    }
}
