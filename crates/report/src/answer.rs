//! What all answers have in common, and how an answer is written in a format.

use std::fmt;
use std::time::Duration;

use weakspot_core::{Certification, HistoryModel, Limit, Model, Verdict};
use weakspot_witness::model_key;

use crate::text::show::model_name;
use crate::text::table::{Style, paragraph};

/// The head of an answer: about what, which question, and what came out.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a, M = Model> {
    /// The file as the user named it.
    pub file: &'a str,
    /// The question.
    pub question: &'static str,
    /// The model asked about.
    pub model: M,
    /// The answer.
    pub verdict: &'a Verdict,
    /// What stopped the search, also if what it had found decides.
    pub limit: Option<&'a Limit>,
    /// How long it took.
    pub time: Duration,
    /// What the checker of evidence said to it.
    pub certified: Certification,
}

impl<'a, M> Head<'a, M> {
    /// Why not all is known.
    #[must_use]
    pub fn limit(&self) -> Option<&'a Limit> {
        match (self.limit, self.verdict) {
            (Some(limit), _) | (None, Verdict::Unknown(limit)) => Some(limit),
            (None, _) => None,
        }
    }
}

impl<'a> Head<'a> {
    /// A violation by a real program, in an execution that was executed again.
    #[must_use]
    pub fn of_replay(file: &'a str, model: Model) -> Head<'a> {
        Head {
            file,
            question: "run",
            model,
            verdict: &Verdict::Violated,
            limit: None,
            time: Duration::ZERO,
            certified: Certification::Checked,
        }
    }
}

impl<M: ModelName> Head<'_, M> {
    /// The model, if the evidence is too large for the checker.
    pub(crate) fn too_large(&self) -> Option<String> {
        (self.certified == Certification::TooLarge).then(|| self.model.name())
    }
}

/// The name of a model.
pub trait ModelName: Copy {
    /// As scripts write it.
    fn key(self) -> &'static str;

    /// As people write it.
    fn name(self) -> String;
}

impl ModelName for Model {
    fn key(self) -> &'static str {
        model_key(self)
    }

    fn name(self) -> String {
        self.to_string()
    }
}

impl ModelName for HistoryModel {
    fn key(self) -> &'static str {
        HistoryModel::key(self)
    }

    fn name(self) -> String {
        model_name(self).to_owned()
    }
}

/// An answer in all formats.
pub trait Answer {
    /// For people.
    fn text(&self, style: Style) -> String;

    /// For scripts: JSON objects, each on a line of its own.
    fn json(&self) -> String;

    /// The lines of litmus7, where a test was run.
    fn litmus7(&self) -> String {
        String::new()
    }

    /// The models whose evidence is too large for the checker, if there are any.
    fn too_large(&self) -> Option<String>;

    /// What a violation is explained by, apart from the model, and the model: what several models share is drawn once.
    fn explained_by(&self) -> Option<(String, String)> {
        None
    }

    /// The same of each finding where there are several.
    fn findings(&self) -> Vec<String> {
        Vec::new()
    }

    /// For people who have seen some of the findings, under the model that `before` says for each.
    fn text_after(&self, style: Style, _before: &[Option<String>]) -> String {
        self.text(style)
    }

    /// Whether `--witness` makes a proof of such an answer.
    fn is_provable(&self) -> bool {
        false
    }
}

/// What people read about an answer that a search gave and that was not derived a second time.
pub(crate) fn note(models: impl std::fmt::Display) -> String {
    format!("  note: {models}: by search; a second search as a check would take too long\n")
}

/// The same where a proof can be made instead, and whether that was tried.
pub(crate) fn provable_note(models: impl std::fmt::Display, tried: bool) -> String {
    match tried {
        true => note(models),
        false => {
            "  note: by search; --witness FILE writes a proof that `weakspot certify` checks\n"
                .to_owned()
        }
    }
}

/// A format of answers. A new one is a variant here, and a file that writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text,
    /// JSON Lines, for scripts.
    Json,
    /// Pictures for browsers and papers.
    Svg,
    /// Pictures for Graphviz.
    Dot,
    /// Pictures for LaTeX.
    Tex,
    /// Tables with commas, for spreadsheets: measurements and summaries.
    Csv,
    /// The same tables in Markdown, for pages and issues.
    Markdown,
    /// The same tables for LaTeX.
    Tabular,
    /// The XML of JUnit: each answer is a test.
    Junit,
    /// Findings for editors and services that show them.
    Sarif,
    /// Annotations for GitHub.
    Github,
    /// Logs of litmus7, of tests that were run.
    Litmus7,
}

impl Format {
    /// Those that most commands know.
    pub const ALL: [Format; 11] = [
        Format::Text,
        Format::Json,
        Format::Svg,
        Format::Dot,
        Format::Tex,
        Format::Csv,
        Format::Markdown,
        Format::Tabular,
        Format::Junit,
        Format::Sarif,
        Format::Github,
    ];

    /// Those that are pictures of runs.
    pub const PICTURES: [Format; 3] = [Format::Svg, Format::Dot, Format::Tex];

    /// Those that are tables.
    pub const TABLES: [Format; 3] = [Format::Csv, Format::Markdown, Format::Tabular];

    /// Whether it is a table.
    #[must_use]
    pub fn is_table(self) -> bool {
        Format::TABLES.contains(&self)
    }

    /// Whether it is made from the objects of JSON.
    #[must_use]
    pub fn is_of_objects(self) -> bool {
        let objects = [Format::Json, Format::Junit, Format::Sarif, Format::Github];
        objects.contains(&self) || self.is_picture()
    }

    /// Whether it is a picture of a run.
    #[must_use]
    pub fn is_picture(self) -> bool {
        Format::PICTURES.contains(&self)
    }

    /// What it is called on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Json => "json",
            Format::Svg => "svg",
            Format::Dot => "dot",
            Format::Tex => "tex",
            Format::Csv => "csv",
            Format::Markdown => "markdown",
            Format::Tabular => "tabular",
            Format::Junit => "junit",
            Format::Sarif => "sarif",
            Format::Github => "github",
            Format::Litmus7 => "litmus7",
        }
    }

    /// What it is for.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Format::Text => "For people",
            Format::Json => "JSON Lines, one object per file and model",
            Format::Svg => "A picture of the run or cycle that decides the answer",
            Format::Dot => "The same for Graphviz: `neato -n2 -Tpdf`",
            Format::Tex => "The same for LaTeX, with TikZ",
            Format::Csv => "Commas: the rows of `bench`, the summary of many files",
            Format::Markdown => "The same as a table of Markdown",
            Format::Tabular => "The same as a table of LaTeX",
            Format::Junit => "XML as JUnit writes it, for services that show tests",
            Format::Sarif => "SARIF 2.1: findings for editors and services that show them",
            Format::Github => "Annotations on the lines of a pull request, for GitHub Actions",
            Format::Litmus7 => "The log of litmus7, for `weakspot compare`, with --run",
        }
    }

    /// The format of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().chain([Format::Litmus7]).find(|format| format.name() == name)
    }

    /// The answer for people where the same was drawn for another model.
    #[must_use]
    pub fn referring(answer: &dyn Answer, style: Style, to: &str) -> String {
        let refers = format!("  for the same reason as under {to}, where it is drawn");
        let style = Style { details: false, ..style };
        answer.text(style) + &paragraph(&refers, style.columns(), 2)
    }

    /// The answer in this format. Tables are of many answers, and have no part for one.
    #[must_use]
    pub fn of(self, answer: &dyn Answer, style: Style) -> String {
        self.of_new(answer, style, &[])
    }

    /// The same where people have seen some of its findings before.
    #[must_use]
    pub fn of_new(self, answer: &dyn Answer, style: Style, before: &[Option<String>]) -> String {
        match self {
            Format::Text => {
                let mut text = answer.text_after(style, before);
                if let Some(models) = answer.too_large().filter(|_| style.details) {
                    text += &match answer.is_provable() {
                        true => provable_note(models, style.proving),
                        false => note(models),
                    };
                }
                text
            }
            // Of the others, whoever prints them makes the rest.
            Format::Json
            | Format::Junit
            | Format::Sarif
            | Format::Github
            | Format::Svg
            | Format::Dot
            | Format::Tex => answer.json(),
            Format::Litmus7 => answer.litmus7(),
            Format::Csv | Format::Markdown | Format::Tabular => String::new(),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
