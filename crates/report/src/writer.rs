//! What a format is made of, which its file says: [`picture`](crate::picture), [`tables`](crate::tables) and
//! [`exchange`](crate::exchange) have them.

use crate::json::Tool;
use crate::picture::layout::Layout;

/// What a format is called, what it is for, and how it is written.
pub(crate) struct Description {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) writer: Writer,
}

/// How a format is written.
pub(crate) enum Writer {
    /// As each answer says it for people.
    Text,
    /// The object of each answer.
    Json,
    /// The log of each answer.
    Log,
    /// What is made of the objects of an answer, one after the other.
    Each(fn(&str) -> String),
    /// What is made of the objects of all answers.
    Whole(fn(&Tool, &str) -> String),
    /// A picture of what the objects show.
    Picture(Drawing),
    /// Many answers are the rows of a table; one has no part in it.
    Table(Table),
}

/// How a format draws.
pub(crate) struct Drawing {
    /// What is as wide as a page, in pixels.
    pub(crate) room: f64,
    pub(crate) draw: fn(&[Layout]) -> String,
    /// Whether a file may have several documents, one below the other.
    pub(crate) is_one_each: bool,
    /// A document that says that there is nothing to draw.
    pub(crate) empty: fn() -> String,
}

/// How a format writes tables.
#[derive(Debug)]
pub(crate) struct Table {
    /// The beginning, with the names of the columns.
    pub(crate) head: fn(&[&str]) -> String,
    pub(crate) line: fn(&[&str]) -> String,
    pub(crate) end: &'static str,
}
