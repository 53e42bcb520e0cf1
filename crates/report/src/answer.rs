//! What all answers have in common, and how an answer is written in a format.

use std::time::Duration;

use weakspot_core::{Certification, HistoryModel, Limit, Model, Verdict};
use weakspot_witness::model_key;

use crate::text::table::Style;

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
        HistoryModel::name(self).to_owned()
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
