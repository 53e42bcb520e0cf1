//! Changes of a text, and the text after them.

use std::cmp::Reverse;

use weakspot_core::Span;

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

/// A text after edits.
pub(super) struct Edited {
    pub(super) text: String,
    /// Where each fence starts in it.
    pub(super) starts: Vec<usize>,
    /// Where each piece of the old text begins, in the new text and in the old one.
    kept: Vec<(usize, usize)>,
}

/// Makes the edits. `words` are those of the fences.
pub(super) fn apply(text: &str, mut edits: Vec<Edit>, words: &[&str]) -> Edited {
    edits.sort_by_key(|e| (e.start, e.closes.is_none(), Reverse(e.closes)));
    let mut out =
        Edited { text: String::new(), starts: vec![usize::MAX; words.len()], kept: vec![(0, 0)] };
    let mut done = 0;
    for edit in edits {
        let start = edit.start.max(done);
        out.text += text.get(done..start).unwrap_or_default();
        done = edit.end.max(start);
        for piece in edit.pieces {
            match piece {
                Piece::Text(text) => out.text += &text,
                Piece::Mark(i) => out.starts[i] = out.text.len(),
                Piece::Word(i) => out.text += words[i],
            }
        }
        out.kept.push((out.text.len(), done));
    }
    out.text += text.get(done..).unwrap_or_default();
    out
}

impl Edited {
    /// What a piece of the new text was in the old one.
    pub(super) fn before(&self, span: Span) -> Span {
        let old = |at: u32| {
            let at = at as usize;
            let i = self.kept.partition_point(|(new, _)| *new <= at);
            let (new, old) = self.kept[i.saturating_sub(1)];
            let end = self.kept.get(i).map_or(usize::MAX, |(_, old)| *old);
            (old + (at - new)).min(end)
        };
        Span::new(old(span.start), old(span.end).max(old(span.start)))
    }
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
