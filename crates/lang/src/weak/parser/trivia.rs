//! Comments and empty lines find their place in the tree.

use super::*;

impl Parser<'_> {
    /// The comments and empty lines in front of the current token. Empty lines at the start of a
    /// file or block (`first`) are not kept.
    pub(super) fn leading(&mut self, first: bool) -> Trivia {
        let start = self.start();
        let mut from = self.last_end;
        let mut keep_blank = !first;
        let mut before = Vec::new();
        while let Some(comment) = self.comments.get(self.taken) {
            // At the end of the file the token stands where the last comment may stand, too.
            if comment.span.start as usize >= start && self.kind() != &TokenKind::End {
                break;
            }
            let blank = keep_blank && self.blank_between(from, comment.span.start as usize);
            from = comment.span.end as usize;
            keep_blank = true;
            before.push(Comment { text: comment.text.clone(), blank });
            self.taken += 1;
        }
        let blank = keep_blank && self.blank_between(from, start);
        Trivia { before, blank, after: Vec::new() }
    }

    /// After an item or statement: the comments inside of it move in front, those behind it on
    /// its last line stay there.
    pub(super) fn trailing(&mut self, trivia: &mut Trivia) {
        let next_line = self.token().new_line;
        while let Some(comment) = self.comments.get(self.taken) {
            let start = comment.span.start as usize;
            let text = comment.text.clone();
            if start < self.last_end {
                let blank = trivia.before.is_empty() && std::mem::take(&mut trivia.blank);
                trivia.before.push(Comment { text, blank });
            } else if next_line && !self.lines_between(self.last_end, start, 1) {
                trivia.after.push(text);
            } else {
                break;
            }
            self.taken += 1;
        }
    }

    fn blank_between(&self, from: usize, to: usize) -> bool {
        self.lines_between(from, to, 2)
    }

    /// There are at least `count` line breaks in a piece of the text.
    fn lines_between(&self, from: usize, to: usize, count: usize) -> bool {
        let piece = self.text.get(from..to).unwrap_or_default();
        piece.bytes().filter(|&b| b == b'\n').take(count).count() == count
    }
}
