//! A Trencher text as words. White space separates, a `#` that stands alone starts a comment.

use weakspot_core::Span;

use crate::tree::first_byte;

/// A piece of text between white space.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'t> {
    /// The characters.
    pub(super) text: &'t str,
    /// Where they stand.
    pub(super) span: Span,
    /// Nothing but white space stands before it on its line.
    pub(super) starts_line: bool,
}

/// The words of `text`, without comments.
pub(super) fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut starts_line = true;
    let mark = first_byte(text);
    let mut rest = text.char_indices().skip(usize::from(mark > 0)).peekable();
    while let Some((start, c)) = rest.next() {
        if is_space(c) {
            starts_line |= is_line_break(c);
            continue;
        }
        while rest.next_if(|&(_, c)| !is_space(c)).is_some() {}
        let end = rest.peek().map_or(text.len(), |&(at, _)| at);
        let word = &text[start..end];
        if word == "#" {
            while rest.next_if(|&(_, c)| !is_line_break(c)).is_some() {}
            continue;
        }
        words.push(Word { text: word, span: Span::new(start, end), starts_line });
        starts_line = false;
    }
    words
}

/// What C++ streams skip between words.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
}

fn is_line_break(c: char) -> bool {
    matches!(c, '\n' | '\r')
}
