//! Changes of a text, and the text after them.

use std::cmp::Reverse;

/// A piece of text that is put in the place of another.
#[derive(Clone, Debug)]
pub(super) struct Edit {
    /// The bytes that go.
    pub(super) start: usize,
    pub(super) end: usize,
    /// What comes.
    pub(super) pieces: Vec<Piece>,
    /// Among edits that close something at one byte: where that something starts. What starts
    /// last is closed first.
    pub(super) closes: Option<usize>,
}

/// A part of what comes. The number is that of a fence, 0 in the edits of one fence alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    /// The statement that is the fence starts here.
    Mark(usize),
    /// The word for the fence.
    Word(usize),
}

impl Edit {
    /// Puts a fence between two texts at byte `at`.
    pub(super) fn insert(at: usize, before: &str, after: &str) -> Edit {
        let text = |s: &str| Piece::Text(s.to_owned());
        let pieces = vec![text(before), Piece::Mark(0), Piece::Word(0), text(after)];
        Edit { start: at, end: at, pieces, closes: None }
    }

    /// Puts a text in the place of another.
    pub(super) fn replace(start: usize, end: usize, text: &str) -> Edit {
        Edit { start, end, pieces: vec![Piece::Text(text.to_owned())], closes: None }
    }

    /// The same as an edit that closes what starts at `start`.
    pub(super) fn closing(self, start: usize) -> Edit {
        Edit { closes: Some(start), ..self }
    }

    /// The same for the fence with this number.
    pub(super) fn of(mut self, fence: usize) -> Edit {
        for piece in &mut self.pieces {
            match piece {
                Piece::Mark(i) | Piece::Word(i) => *i = fence,
                Piece::Text(_) => {}
            }
        }
        self
    }
}

/// The text after the edits, and where each fence starts in it. `words` are those of the fences.
pub(super) fn apply(text: &str, mut edits: Vec<Edit>, words: &[&str]) -> (String, Vec<usize>) {
    edits.sort_by_key(|e| (e.start, e.closes.is_none(), Reverse(e.closes)));
    let mut out = String::new();
    let mut starts = vec![usize::MAX; words.len()];
    let mut done = 0;
    for edit in edits {
        let start = edit.start.max(done);
        out += text.get(done..start).unwrap_or_default();
        done = edit.end.max(start);
        for piece in edit.pieces {
            match piece {
                Piece::Text(text) => out += &text,
                Piece::Mark(i) => starts[i] = out.len(),
                Piece::Word(i) => out += words[i],
            }
        }
    }
    out += text.get(done..).unwrap_or_default();
    (out, starts)
}

/// What stands before byte `at` on its line, if that is nothing but white space.
pub(super) fn indent(text: &str, at: usize) -> Option<&str> {
    let head = text.get(line_start(text, at)..at)?;
    head.chars().all(|c| c == ' ' || c == '\t').then_some(head)
}

/// Where the line of byte `at` starts.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|t| t.rfind('\n')).map_or(0, |n| n + 1)
}

/// How the lines of a text end.
pub(super) fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(n) if text[..n].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// A fence before what starts at byte `at`: on a line of its own if that starts its line, else
/// on the same line. `end` is what ends a statement in each case.
pub(super) fn before(text: &str, at: usize, (on_line, inline): (&str, &str)) -> Edit {
    match indent(text, at) {
        Some(indent) => Edit::insert(at, "", &format!("{on_line}{}{indent}", line_end(text))),
        None => Edit::insert(at, "", inline),
    }
}
