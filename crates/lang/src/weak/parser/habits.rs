//! Words that people bring from other languages, which get messages of their own. None of them is
//! reserved: each is refused only where a name could not stand.

use super::*;
use crate::tree::first_byte;

/// Types of C and words that declare variables elsewhere.
const TYPES: [&str; 16] = [
    "int", "bool", "char", "short", "long", "unsigned", "signed", "volatile", "register", "auto",
    "let", "mut", "int32_t", "int64_t", "uint32_t", "uint64_t",
];

/// Refuses a text that begins like a litmus test.
pub(super) fn no_litmus_test(text: &str) -> Result<(), Diagnostic> {
    let rest = text.get(first_byte(text)..).unwrap_or_default();
    let start = text.len() - rest.trim_start().len();
    let word = rest.split_whitespace().next().unwrap_or_default();
    if !["X86", "X86_64"].contains(&word) {
        return Ok(());
    }
    let span = Span::new(start, start + word.len());
    Err(Diagnostic::new(span, format!("unknown item `{word}`"), "expected a `.weak` program")
        .help("this looks like a litmus test; the names of those end in `.litmus`"))
}

impl Parser<'_> {
    /// Refuses what is no item here but has an obvious counterpart.
    pub(super) fn no_foreign_item(&self) -> Result<(), Diagnostic> {
        self.no_type(|name| format!("declare it: `shared {name}`"))?;
        match self.kind() {
            TokenKind::Word("assert") => Err(self
                .error("`assert` outside of a thread", "expected an item")
                .help("write `forall (...)` to ask about all final states")),
            _ => Ok(()),
        }
    }

    /// Refuses what is no statement here but has an obvious counterpart.
    pub(super) fn no_foreign_statement(&self) -> Result<(), Diagnostic> {
        self.no_type(|name| format!("declare it: `var {name}`"))?;
        match (self.kind(), self.following()) {
            (TokenKind::Name(word), Some(TokenKind::Sign("("))) if word == "for" => Err(self
                .error("unknown statement `for`", "expected a statement")
                .help("there is no `for`: use `while`")),
            _ => Ok(()),
        }
    }

    /// Refuses a type before a name; `help` says what to write for that name.
    pub(super) fn no_type(&self, help: impl Fn(&str) -> String) -> Result<(), Diagnostic> {
        let TokenKind::Name(word) = self.kind() else { return Ok(()) };
        if !TYPES.contains(&word.as_str()) {
            return Ok(());
        }
        // There may be several words, as in `unsigned int x`.
        let mut declared = None;
        for token in self.tokens.iter().skip(self.next + 1) {
            match &token.kind {
                TokenKind::Name(name) if !token.new_line => declared = Some(name),
                _ => break,
            }
        }
        let Some(name) = declared else { return Ok(()) };
        let message = format!("unexpected type `{word}`");
        Err(self.error(message, "variables have no types").help(help(name)))
    }

    /// Refuses `and` and `or` after an operand, where no name can stand.
    pub(super) fn no_word_as_operator(&self) -> Result<(), Diagnostic> {
        if self.ends_line() {
            return Ok(());
        }
        let (word, sign) = match self.kind() {
            TokenKind::Name(word) if word == "and" => ("and", "&&"),
            TokenKind::Word("or") => ("or", "||"),
            _ => return Ok(()),
        };
        let message = format!("`{word}` is not an operator");
        Err(self.error(message, "expected an operator").help(format!("write `{sign}`")))
    }

    /// Refuses `not` before an operand.
    pub(super) fn no_word_as_negation(&self) -> Result<(), Diagnostic> {
        match (self.kind(), self.following()) {
            (
                TokenKind::Name(word),
                Some(
                    TokenKind::Name(_)
                    | TokenKind::Int(_)
                    | TokenKind::Sign("(")
                    | TokenKind::Word("true" | "false"),
                ),
            ) if word == "not" => Err(self
                .error("`not` is not an operator", "expected an expression")
                .help("write `!`")),
            _ => Ok(()),
        }
    }

    /// The token after the current one, if it stands on the same line.
    fn following(&self) -> Option<&TokenKind> {
        let token = self.tokens.get(self.next + 1)?;
        (!token.new_line).then_some(&token.kind)
    }
}
