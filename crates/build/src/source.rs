//! Where in a source a statement can be put, so that it is executed before or after another one.
//!
//! Sources of C, C++ and Rust are looked at as tokens and brackets; that is enough to find the statement
//! around an access and to say what is certain about the way to its ends. What is not certain is
//! refused: preprocessors and closures make more of a text than can be seen here.

mod edits;
mod statements;
mod tokens;

pub use edits::{Edit, FenceKind, OrderChange, Wanted, edited};
pub use statements::Statement;

use std::path::Path;

use tokens::Token;

/// Which language a source is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceLanguage {
    /// C, or a header that may be included by C.
    C,
    /// C++.
    Cxx,
    /// Rust.
    Rust,
}

/// A source.
#[derive(Clone, Debug)]
pub struct Source {
    language: SourceLanguage,
    text: String,
    tokens: Vec<Token>,
    /// Where lines begin.
    lines: Vec<usize>,
}

impl Source {
    /// Reads a text; nothing if the ending of its name is none of the languages'.
    #[must_use]
    pub fn new(path: &Path, text: String) -> Option<Source> {
        let language = match path.extension()?.to_str()? {
            "c" | "h" => SourceLanguage::C,
            "cc" | "cpp" | "cxx" | "c++" | "C" | "hh" | "hpp" | "hxx" | "inl" | "ipp" => {
                SourceLanguage::Cxx
            }
            "rs" => SourceLanguage::Rust,
            _ => return None,
        };
        let tokens = tokens::tokens(&text, language);
        let starts = text.match_indices('\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(starts).collect();
        Some(Source { language, text, tokens, lines })
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The line of a byte, from 1.
    #[must_use]
    pub fn line(&self, at: usize) -> u32 {
        self.lines.partition_point(|&start| start <= at) as u32
    }

    /// The bytes of a line, from 1, without its end.
    fn line_range(&self, line: u32) -> Option<std::ops::Range<usize>> {
        let start = *self.lines.get((line as usize).checked_sub(1)?)?;
        let end = self.lines.get(line as usize).map_or(self.text.len(), |next| next - 1);
        Some(start..end.max(start))
    }

    fn word(&self, token: &Token) -> &str {
        &self.text[token.start..token.end]
    }
}
