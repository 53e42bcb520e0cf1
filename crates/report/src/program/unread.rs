//! The answer about a file that was not read to its end, because of a limit.

use serde::Serialize;
use weakspot_core::{Model, Names};

use crate::answer::{Answer, Head, ModelName};
use crate::json::of_program;

use crate::text::limit::limit_text;
use crate::text::table::Style;

/// Answer for an input that was not read to its end, so that not even the name of the program is known.
pub struct Unread<'a, M = Model> {
    /// What all answers have; the verdict is unknown.
    pub head: Head<'a, M>,
}

/// The question adds nothing.
#[derive(Serialize)]
struct Body {}

impl<M: ModelName> Answer for Unread<'_, M> {
    fn text(&self, _: Style) -> String {
        let Head { file, model, .. } = self.head;
        let why = self.head.limit().map(|limit| limit_text(limit, &Names::default()));
        let model = model.name();
        format!("{file} {model} unknown: not read to its end: {}\n", why.unwrap_or_default())
    }

    fn json(&self) -> String {
        let names = Names { program: self.head.file.to_owned(), ..Names::default() };
        of_program(&self.head, &names, Body {})
    }

    fn too_large(&self) -> Option<String> {
        self.head.too_large()
    }
}
