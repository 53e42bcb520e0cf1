//! Pairs that the user knows and accepts: by a list, or by a comment at the line of one of the accesses.

use crate::explore::findings::Overtaking;
use crate::facts::lines::Lines;
use crate::facts::symbols::Symbols;
use crate::replay::names::site;

/// The comment that says so.
const COMMENT: &str = "weakspot: benign";

/// Why a pair is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// A list says so.
    Baseline,
    /// A comment in the source says so.
    Benign,
}

impl Accepted {
    /// What answers call it.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Accepted::Baseline => "baseline",
            Accepted::Benign => "benign",
        }
    }
}

/// Which pairs are accepted.
pub(crate) struct Acceptance<'a> {
    /// The places of stores and accesses.
    baseline: &'a [[String; 2]],
    symbols: &'a Symbols,
    sources: Lines,
}

impl<'a> Acceptance<'a> {
    pub(crate) fn new(baseline: &'a [[String; 2]], symbols: &'a Symbols) -> Acceptance<'a> {
        Acceptance { baseline, symbols, sources: Lines::default() }
    }

    /// Whether a pair is accepted, and why. A list may be from another folder.
    pub(crate) fn of(&mut self, found: &Overtaking) -> Option<Accepted> {
        let is_called = |place, name: &str| {
            self.symbols.is_called(place, name) || site(place, self.symbols) == name
        };
        let is_listed =
            |[a, b]: &[String; 2]| is_called(found.store, a) && is_called(found.access, b);
        if self.baseline.iter().any(is_listed) {
            return Some(Accepted::Baseline);
        }
        let mut frames = [found.store, found.access].map(|at| self.symbols.frames(at));
        let mut frames = frames.iter_mut().flatten();
        let benign = frames.any(|frame| match (frame.path.take(), frame.line) {
            (Some(path), Some(line)) => self.sources.line(path, line).is_some_and(has_comment),
            _ => false,
        });
        benign.then_some(Accepted::Benign)
    }
}

/// Whether a line of a source ends in the comment.
fn has_comment(line: &str) -> bool {
    line.rsplit_once("//").is_some_and(|(_, comment)| comment.trim().starts_with(COMMENT))
        || line.rsplit_once("/*").is_some_and(|(_, comment)| comment.trim().starts_with(COMMENT))
}

#[cfg(test)]
mod tests {
    use super::has_comment;

    #[test]
    fn comments_are_recognised() {
        assert!(has_comment("x = 1; // weakspot: benign"));
        assert!(has_comment("x = 1; // weakspot: benign, a counter for statistics"));
        assert!(has_comment("x = 1; /* weakspot: benign */"));
        assert!(!has_comment("x = 1; // not weakspot: benign"));
        assert!(!has_comment("puts(\"weakspot: benign\");"));
    }
}
