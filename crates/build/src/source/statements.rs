//! The statement around a line and column.

use super::tokens::{Token, TokenKind};
use super::{Source, SourceLanguage};

/// A statement, or the head of one that has a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The bytes of what is executed as one: the whole statement, the head before a block, or a
    /// loop with its block.
    pub range: std::ops::Range<usize>,
    /// What is put at this byte is executed each time before the statement, and not again while it is.
    pub before: Option<usize>,
    /// What is put at this byte is executed each time after the statement.
    pub after: Option<usize>,
    /// It is executed once from beginning to end, without loops and blocks.
    pub simple: bool,
    /// It may call functions of the program.
    pub calls: bool,
    /// It may call functions by operators.
    pub operators: bool,
    /// Its tokens.
    tokens: std::ops::Range<usize>,
    /// The bytes of the line that was meant.
    pub(super) line: std::ops::Range<usize>,
}

impl Source {
    /// The statement around a place, if it is certain which one that is: without a column there
    /// may be only one on the line.
    #[must_use]
    pub fn statement(&self, line: u32, column: Option<u32>) -> Option<Statement> {
        let range = self.line_range(line)?;
        if let Some(column) = column.filter(|&column| column > 0) {
            let at = range.start + column as usize - 1;
            let token = self.tokens.iter().position(|t| t.end > at && t.start < range.end)?;
            return Some(Statement { line: range, ..self.around(token)? });
        }
        let on_line =
            |t: &&(usize, &Token)| range.contains(&t.1.start) && t.1.kind != TokenKind::Mark(b'}');
        let tokens: Vec<(usize, &Token)> = self.tokens.iter().enumerate().collect();
        let mut found = tokens.iter().filter(on_line).map(|(i, _)| self.around(*i));
        let first = found.next()??;
        let one = found.all(|other| other.as_ref() == Some(&first));
        one.then_some(Statement { line: range, ..first })
    }

    /// Whether a statement has this word.
    #[must_use]
    pub fn mentions(&self, statement: &Statement, word: &str) -> bool {
        self.tokens[statement.tokens.clone()].iter().any(|t| self.word(t) == word)
    }

    pub(super) fn tokens_of(&self, statement: &Statement) -> std::ops::Range<usize> {
        statement.tokens.clone()
    }

    /// The statement around a token.
    fn around(&self, token: usize) -> Option<Statement> {
        let mut at = token;
        if self.mark(at) == Some(b'{') && self.is_block(at) {
            return None;
        }
        // Out of parentheses and lists of values, to the block.
        let block = loop {
            let outer = self.tokens[at].inside?;
            if self.mark(outer) == Some(b'{') && self.is_block(outer) {
                break outer;
            }
            at = outer;
        };
        let first = self.first(at, block);
        let (last, headed) = self.last(at, block)?;
        let first = self.behind_labels(first, last);
        if first > last {
            return None;
        }
        let word = self.word(&self.tokens[first]);
        if word == "do" {
            return None;
        }
        if word == "while" && self.is_tail_of_do(first, block) {
            return Some(self.tail_of_do(first, last));
        }
        let is_loop = matches!(word, "while" | "for" | "loop");
        // A loop goes on to the end of its block.
        let last = match headed {
            Some(open) if is_loop => self.tokens[open].other?,
            _ => last,
        };
        let own = first..last + 1;
        let closures = self.tokens[own.clone()]
            .iter()
            .enumerate()
            .any(|(i, t)| t.kind == TokenKind::Mark(b'{') && Some(first + i) != headed);
        // What is in braces may be executed elsewhere, but for the block of a loop.
        let plain = !closures || is_loop && headed.is_some();
        let leaves = ["return", "break", "continue", "goto", "throw"];
        let leaves = self.tokens[own.clone()].iter().any(|t| leaves.contains(&self.word(t)));
        let ends = self.mark(last) == Some(b';') && headed.is_none();
        let else_follows = self.is_word(last + 1, "else");
        Some(Statement {
            range: self.tokens[first].start..self.tokens[last].end,
            before: (plain && word != "else").then(|| self.point_before(first)),
            after: (plain && ends && !leaves && !else_follows).then(|| self.tokens[last].end),
            simple: ends && plain && !["if", "while", "for", "switch", "else"].contains(&word),
            calls: own.clone().any(|i| self.is_call(i)),
            operators: self.language != SourceLanguage::C
                && own
                    .clone()
                    .any(|i| matches!(self.mark(i), Some(b'+' | b'/' | b'%' | b'<' | b'|'))),
            tokens: own,
            line: 0..0,
        })
    }

    /// The condition behind the block of a `do`: what ends the block comes before it each time, unless it is left out.
    fn tail_of_do(&self, first: usize, last: usize) -> Statement {
        let own = first..last + 1;
        let open = self.tokens[first - 1].other.filter(|_| self.mark(first - 1) == Some(b'}'));
        let comes_there = |&open: &usize| {
            let skips = |i: usize| self.is_word(i, "continue") || self.is_word(i, "goto");
            !(open..first).any(skips) && !self.tokens[first - 1].directive
        };
        Statement {
            range: self.tokens[first].start..self.tokens[last].end,
            before: open.filter(comes_there).map(|_| self.tokens[first - 2].end),
            after: None,
            simple: false,
            calls: own.clone().any(|i| self.is_call(i)),
            operators: self.language != SourceLanguage::C,
            tokens: own,
            line: 0..0,
        }
    }

    /// Whether a `while` belongs to a `do` before it.
    fn is_tail_of_do(&self, first: usize, block: usize) -> bool {
        let before = first - 1;
        match (self.mark(before), self.tokens[before].other) {
            (Some(b'}'), Some(open)) => open > 0 && self.is_word(open - 1, "do"),
            (Some(b';'), _) => self.is_word(self.first(before, block), "do"),
            _ => false,
        }
    }

    /// Where something is put that comes before a token: right behind the token before, so that it is
    /// the same place as after the statement before, unless lines for the preprocessor are between.
    fn point_before(&self, first: usize) -> usize {
        let token = &self.tokens[first];
        if token.directive { token.start } else { self.tokens[first - 1].end }
    }

    /// The first token of the statement that `at`, which is directly in `block`, belongs to.
    fn first(&self, at: usize, block: usize) -> usize {
        let mut first = at;
        while first > block + 1 {
            let before = first - 1;
            match self.mark(before) {
                Some(b';') => break,
                Some(b'}') => match self.tokens[before].other {
                    Some(open) if !self.is_block(open) => first = open,
                    _ => break,
                },
                Some(b')' | b']') => match self.tokens[before].other {
                    Some(open) if open > block => first = open,
                    _ => break,
                },
                _ => first = before,
            }
        }
        first
    }

    /// The last token of it, and the brace of its block, if it has one.
    fn last(&self, at: usize, block: usize) -> Option<(usize, Option<usize>)> {
        let close = self.tokens[block].other?;
        let mut last = at;
        loop {
            match self.mark(last) {
                Some(b';') => return Some((last, None)),
                Some(b'{') if self.is_block(last) => return Some((last, Some(last))),
                Some(b'(' | b'[' | b'{') => last = self.tokens[last].other? + 1,
                _ => last += 1,
            }
            if last >= close {
                // The value of a block.
                let value = last == close && self.language == SourceLanguage::Rust;
                return value.then_some((close - 1, None));
            }
        }
    }

    /// The first token behind labels.
    fn behind_labels(&self, mut first: usize, last: usize) -> usize {
        loop {
            let colon = if self.is_word(first, "case") {
                (first..last).find(|&i| self.mark(i) == Some(b':'))
            } else {
                Some(first + 1).filter(|&i| {
                    self.mark(i) == Some(b':')
                        && self.mark(i + 1) != Some(b':')
                        && self.tokens[first].kind != TokenKind::Mark(b':')
                })
            };
            match colon {
                Some(colon) if colon < last => first = colon + 1,
                _ => return first,
            }
        }
    }

    /// Whether a brace opens a block of statements: something in it ends in a semicolon, or it
    /// stands behind what has a block.
    fn is_block(&self, open: usize) -> bool {
        let Some(close) = self.tokens[open].other else { return true };
        let mut inside = open + 1..close;
        let has_statement =
            inside.any(|i| self.tokens[i].inside == Some(open) && self.mark(i) == Some(b';'));
        // What stands before a block without statements.
        let before = open.checked_sub(1).is_some_and(|i| {
            self.mark(i) == Some(b')')
                || ["else", "do", "try", "loop"].contains(&self.word(&self.tokens[i]))
        });
        has_statement || before || self.holds_block(open, close)
    }

    /// Whether a block stands directly in a brace.
    fn holds_block(&self, open: usize, close: usize) -> bool {
        (open + 1..close).any(|i| {
            self.tokens[i].inside == Some(open) && self.mark(i) == Some(b'{') && self.is_block(i)
        })
    }

    /// Whether a function may be called by a parenthesis.
    fn is_call(&self, open: usize) -> bool {
        if self.mark(open) != Some(b'(') || open == 0 {
            return false;
        }
        let before = &self.tokens[open - 1];
        match before.kind {
            TokenKind::Word => !harmless(self.word(before)),
            TokenKind::Mark(b) => matches!(b, b')' | b']' | b'>' | b'!'),
            TokenKind::Other => false,
        }
    }

    fn mark(&self, at: usize) -> Option<u8> {
        match self.tokens.get(at)?.kind {
            TokenKind::Mark(mark) => Some(mark),
            _ => None,
        }
    }

    fn is_word(&self, at: usize, word: &str) -> bool {
        self.tokens.get(at).is_some_and(|t| self.word(t) == word)
    }
}

/// What stands before parentheses without calling a function of the program.
fn harmless(word: &str) -> bool {
    let keywords =
        ["if", "while", "for", "switch", "return", "sizeof", "match", "in", "void", "int"];
    let operations = ["load", "store", "exchange", "swap", "clear", "test_and_set"];
    let prefixes = ["__atomic_", "__sync_", "atomic_", "fetch_", "compare_exchange"];
    keywords.contains(&word)
        || operations.contains(&word)
        || prefixes.iter().any(|prefix| word.starts_with(prefix))
}
