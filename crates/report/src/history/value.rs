//! A read of a value that nobody wrote, in a recording of which the user says that it is complete.

use serde::Serialize;
use weakspot_core::{HistoryModel, Names, Value, Verdict};

use crate::answer::{Answer, Head};
use crate::json::of_record;
use crate::text::show::plain;
use crate::text::table::{Style, paragraph};

/// A read of a value that nobody wrote: a finding about every model that was asked about.
#[derive(Clone, Copy, Debug)]
pub struct HistoryValue<'a> {
    /// What it has in common with all answers, for each model.
    pub heads: &'a [Head<'a, HistoryModel>],
    /// What the history is called, if it has a name.
    pub id: Option<&'a str>,
    /// Which history of the file it is, from 1.
    pub number: usize,
    /// Whether files of the format may have several.
    pub of_many: bool,
    /// Who read.
    pub thread: &'a str,
    /// From which variable.
    pub variable: &'a str,
    /// The value.
    pub value: Value,
    /// What the variable was at first.
    pub initial: Value,
    /// Line and column of the read, both from 1.
    pub place: Option<(usize, usize)>,
    /// The last writes to the variable that stand before it, the very last one first: who wrote
    /// what on which line.
    pub last_writes: &'a [(String, Value, u32)],
    /// How many writes to it there are in all.
    pub writes: usize,
}

impl HistoryValue<'_> {
    fn message(&self) -> String {
        let HistoryValue { thread, variable, value, .. } = self;
        format!("{} read {value} from {}, which nobody wrote", plain(thread), plain(variable))
    }

    fn writers(&self) -> String {
        let writes: Vec<String> = self
            .last_writes
            .iter()
            .map(|(thread, value, line)| format!("{} wrote {value} (line {line})", plain(thread)))
            .collect();
        let var = plain(self.variable);
        match writes.is_empty() {
            true => format!(
                "Nothing was written to {var} before it, which is {} at first.",
                self.initial
            ),
            false => format!("The last writes to {var} before it: {}.", writes.join(", ")),
        }
    }
}

impl Answer for HistoryValue<'_> {
    fn text(&self, style: Style) -> String {
        let Some(head) = self.heads.first() else { return String::new() };
        let number = match self.id {
            Some(id) => format!(" {}", plain(id)),
            None if self.of_many => format!(" history {}", self.number),
            None => String::new(),
        };
        let line = self.place.map_or(String::new(), |(line, _)| format!(", line {line}"));
        let mut out = format!("{}{number}: violated: {}{line}\n", plain(head.file), self.message());
        if style.details {
            let text =
                format!("  No memory does that, so every model is violated. {}", self.writers());
            out += &format!("\n{}\n", paragraph(&text, style.columns(), 2));
        }
        out
    }

    fn json(&self) -> String {
        #[derive(Serialize)]
        struct About<'a> {
            id: Option<&'a str>,
            number: usize,
        }
        #[derive(Serialize)]
        struct Body<'a> {
            kind: &'static str,
            message: String,
            line: Option<usize>,
            column: Option<usize>,
            thread: &'a str,
            variable: &'a str,
            value: Value,
            writes: usize,
            last_writes: Vec<Write<'a>>,
        }
        #[derive(Serialize)]
        struct Write<'a> {
            thread: &'a str,
            value: Value,
            line: u32,
        }
        impl Write<'_> {
            fn of((thread, value, line): &(String, Value, u32)) -> Write<'_> {
                Write { thread, value: *value, line: *line }
            }
        }
        let body = || Body {
            kind: "value",
            message: self.message(),
            line: self.place.map(|(line, _)| line),
            column: self.place.map(|(_, column)| column),
            thread: self.thread,
            variable: self.variable,
            value: self.value,
            writes: self.writes,
            last_writes: self.last_writes.iter().map(Write::of).collect(),
        };
        let about = || About { id: self.id, number: self.number };
        let lines = self.heads.iter().filter(|head| *head.verdict == Verdict::Violated);
        lines.map(|head| of_record(head, &Names::default(), about(), body())).collect()
    }

    fn too_large(&self) -> Option<String> {
        None
    }
}
