//! What a front end says when it refuses a text, and where.

use crate::Span;

/// An error or a warning about a place in a source text. Plain data: rendering is the business
/// of the report crate. Messages are lower-case fragments without a full stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The offending text.
    pub span: Span,
    /// What is wrong: "unknown instruction `MVO`".
    pub message: String,
    /// What would have been right, shown under the offending text: "expected `|` or `;`". May be empty.
    pub expected: String,
    /// A hint for the way out, when there is one: "did you mean `MOV`?".
    pub help: Option<String>,
}

impl Diagnostic {
    /// A diagnostic without a hint.
    pub fn new(span: Span, message: impl Into<String>, expected: impl Into<String>) -> Diagnostic {
        Diagnostic { span, message: message.into(), expected: expected.into(), help: None }
    }

    /// The same with a hint.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }
}
