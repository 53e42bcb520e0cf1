//! The formats of answers. A new one is a line in the list of [`formats`], and a file that says how it is written:
//! of [`picture`](crate::picture), of [`tables`](crate::tables) or of [`exchange`](crate::exchange).

use std::borrow::Cow;
use std::fmt;

use crate::answer::{Answer, note, provable_note};
use crate::exchange::{github, junit, sarif};
use crate::json::Tool;
use crate::picture::{dot, drawn, svg, tex};
use crate::tables::{csv, markdown, tabular};
use crate::text::table::{Style, paragraph};
use crate::writer::{Description, Drawing, Writer};

const TEXT: Description = Description { name: "text", about: "For people", writer: Writer::Text };
const JSON: Description = Description {
    name: "json",
    about: "JSON Lines, one object per file and model",
    writer: Writer::Json,
};
const LITMUS7: Description = Description {
    name: "litmus7",
    about: "The log of litmus7, for `weakspot compare`, with --run",
    writer: Writer::Log,
};

macro_rules! formats {
    ($($(#[$doc:meta])* $format:ident: $description:expr,)*) => {
        /// A format of answers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Format {
            $($(#[$doc])* $format,)*
        }

        impl Format {
            /// Every format.
            pub const EVERY: [Format; [$(stringify!($format)),*].len()] = [$(Format::$format),*];

            fn description(self) -> &'static Description {
                match self {
                    $(Format::$format => const { &$description },)*
                }
            }
        }
    };
}

formats! {
    /// For people.
    Text: TEXT,
    /// JSON Lines, for scripts.
    Json: JSON,
    /// Pictures for browsers and papers.
    Svg: svg::FORMAT,
    /// Pictures for Graphviz.
    Dot: dot::FORMAT,
    /// Pictures for LaTeX.
    Tex: tex::FORMAT,
    /// Tables with commas, for spreadsheets: measurements and summaries.
    Csv: csv::FORMAT,
    /// The same tables in Markdown, for pages and issues.
    Markdown: markdown::FORMAT,
    /// The same tables for LaTeX.
    Tabular: tabular::FORMAT,
    /// The XML of JUnit: each answer is a test.
    Junit: junit::FORMAT,
    /// Findings for editors and services that show them.
    Sarif: sarif::FORMAT,
    /// Annotations for GitHub.
    Github: github::FORMAT,
    /// Logs of litmus7, of tests that were run.
    Litmus7: LITMUS7,
}

impl Format {
    pub(crate) fn writer(self) -> &'static Writer {
        &self.description().writer
    }

    /// What it is called on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.description().name
    }

    /// What it is for.
    #[must_use]
    pub fn about(self) -> &'static str {
        self.description().about
    }

    /// The format of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Format> {
        Format::EVERY.into_iter().find(|format| format.name() == name)
    }

    /// Whether it is a picture of a run.
    #[must_use]
    pub fn is_picture(self) -> bool {
        matches!(self.writer(), Writer::Picture(_))
    }

    /// Whether it is a table.
    #[must_use]
    pub fn is_table(self) -> bool {
        matches!(self.writer(), Writer::Table(_))
    }

    /// Whether it is a log, which only tests that were run have.
    #[must_use]
    pub fn is_log(self) -> bool {
        matches!(self.writer(), Writer::Log)
    }

    /// Whether it is made from the objects of JSON.
    #[must_use]
    pub fn is_of_objects(self) -> bool {
        match self.writer() {
            Writer::Json | Writer::Each(_) | Writer::Whole(_) | Writer::Picture(_) => true,
            Writer::Text | Writer::Log | Writer::Table(_) => false,
        }
    }

    /// The answer for people where the same was drawn for another model.
    #[must_use]
    pub fn referring(answer: &dyn Answer, style: Style, to: &str) -> String {
        let refers = format!("  for the same reason as under {to}, where it is drawn");
        let style = Style { details: false, ..style };
        answer.text(style) + &paragraph(&refers, style.columns(), 2)
    }

    /// What an answer says in this format; [`Printed`] makes documents of that.
    #[must_use]
    pub fn of(self, answer: &dyn Answer, style: Style) -> String {
        self.of_new(answer, style, &[])
    }

    /// The same where people have seen some of its findings before.
    #[must_use]
    pub fn of_new(self, answer: &dyn Answer, style: Style, before: &[Option<String>]) -> String {
        match self.writer() {
            Writer::Text => {
                let mut text = answer.text_after(style, before);
                if let Some(models) = answer.too_large().filter(|_| style.details) {
                    text += &match answer.is_provable() {
                        true => provable_note(models, style.proving),
                        false => note(models),
                    };
                }
                text
            }
            Writer::Json | Writer::Each(_) | Writer::Whole(_) | Writer::Picture(_) => answer.json(),
            Writer::Log => answer.litmus7(),
            Writer::Table(_) => String::new(),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Answers, one after the other, as a document in a format.
#[derive(Clone, Debug)]
pub struct Printed {
    format: Format,
    tool: Tool,
    /// Objects that are written together.
    kept: String,
    is_drawn: bool,
}

impl Printed {
    /// Nothing is printed yet.
    #[must_use]
    pub fn new(format: Format, tool: Tool) -> Printed {
        Printed { format, tool, kept: String::new(), is_drawn: false }
    }

    /// What is to be printed because of the next answer, as [`Format::of`] has it.
    pub fn part<'a>(&mut self, said: &'a str) -> Cow<'a, str> {
        match self.format.writer() {
            Writer::Text | Writer::Json | Writer::Log | Writer::Table(_) => said.into(),
            Writer::Each(converted) => converted(said).into(),
            Writer::Picture(drawing) if drawing.is_one_each => self.drawn(drawing, said).into(),
            Writer::Picture(_) | Writer::Whole(_) => {
                self.kept += said;
                "".into()
            }
        }
    }

    /// What is to be printed behind all answers.
    pub fn end(&mut self) -> String {
        let kept = std::mem::take(&mut self.kept);
        match self.format.writer() {
            Writer::Whole(converted) => converted(&self.tool, &kept),
            Writer::Picture(drawing) => self.drawn(drawing, &kept),
            Writer::Text | Writer::Json | Writer::Log | Writer::Each(_) | Writer::Table(_) => {
                String::new()
            }
        }
    }

    fn drawn(&mut self, drawing: &Drawing, objects: &str) -> String {
        let drawn = drawn(drawing, objects);
        self.is_drawn |= !drawn.is_empty();
        drawn
    }

    /// If there was nothing to draw, a picture that says so: an empty file would look like a defect.
    #[must_use]
    pub fn empty_picture(&self) -> Option<String> {
        match self.format.writer() {
            Writer::Picture(drawing) if !self.is_drawn => Some((drawing.empty)()),
            _ => None,
        }
    }
}
