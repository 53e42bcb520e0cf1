//! Tokens to syntax tree, by recursive descent. This file has the items and the machinery that
//! the statements and the expressions share.

mod expression;
mod habits;
mod statement;
mod trivia;

use super::lexer::{self, RawComment, Token, TokenKind};
use super::syntax::*;
use crate::Diagnostic;
use crate::suggest::did_you_mean;
use expression::Deep;

/// How deep expressions and blocks may nest.
const DEPTH: usize = 100;

/// The syntax tree of a text.
pub fn parse(text: &str) -> Result<File, Diagnostic> {
    // Litmus tests have characters that are no tokens here; what they are is the better news.
    habits::no_litmus_test(text)?;
    let (tokens, comments) = lexer::tokens(text)?;
    let mut parser =
        Parser { text, tokens, next: 0, comments, taken: 0, last_end: 0, depth: 0, brackets: 0 };
    parser.file()
}

struct Parser<'t> {
    text: &'t str,
    /// Never empty: the last one is `End`, and it is never passed.
    tokens: Vec<Token>,
    /// The current token.
    next: usize,
    comments: Vec<RawComment>,
    /// How many comments have found their place in the tree.
    taken: usize,
    /// Where the token before the current one ends.
    last_end: usize,
    /// How deep the current token is nested.
    depth: usize,
    /// In how many brackets the current token is; there line breaks have no meaning.
    brackets: usize,
}

const ITEMS: [&str; 7] = ["const", "shared", "thread", "exists", "forall", "never", "observe"];

impl Parser<'_> {
    fn file(&mut self) -> Result<File, Diagnostic> {
        let mut items = Vec::new();
        loop {
            self.skip_semicolons();
            let mut trivia = self.leading(items.is_empty());
            if self.kind() == &TokenKind::End {
                return Ok(File { items, tail: trivia.before });
            }
            let start = self.start();
            let kind = self.item()?;
            let at = self.since(start);
            self.end_of("item", matches!(kind, ItemKind::Thread(_)))?;
            self.trailing(&mut trivia);
            items.push(Item { trivia, kind, at });
        }
    }

    fn item(&mut self) -> Result<ItemKind, Diagnostic> {
        let kind = self.kind().clone();
        let word = match &kind {
            TokenKind::Word(word) if ITEMS.contains(word) => *word,
            TokenKind::Sign("}") => {
                return Err(self.error("`}` without `{`", "expected the end of the file"));
            }
            _ => {
                self.no_foreign_item()?;
                let error = self
                    .error(
                        format!("unknown item {}", kind.quoted()),
                        "expected `const`, `shared`, `thread`, `exists`, `forall`, `never` or `observe`",
                    )
                    .help("statements stand in a thread: `thread t { ... }`");
                return Err(match &kind {
                    TokenKind::Name(name) => did_you_mean(error, name, ITEMS),
                    _ => error,
                });
            }
        };
        self.advance();
        Ok(match word {
            "const" => ItemKind::Const(self.list(Self::const_decl)?),
            "shared" => ItemKind::Shared(self.list(Self::shared_decl)?),
            "thread" => ItemKind::Thread(self.thread()?),
            "exists" => ItemKind::Final(Quantifier::Exists, self.expr()?),
            "forall" => ItemKind::Final(Quantifier::Forall, self.expr()?),
            "observe" => ItemKind::Observe(self.list(Self::seen)?),
            _ if self.eat_word("at") => ItemKind::NeverAt(self.points()?),
            _ if self.eat_word("two") => {
                if !self.eat_word("at") {
                    return Err(self.unexpected("`at`: `never two at (t.a, u.b)`"));
                }
                ItemKind::NeverTwo(self.points()?)
            }
            _ => ItemKind::Final(Quantifier::NotExists, self.expr()?),
        })
    }

    fn const_decl(&mut self) -> Result<ConstDecl, Diagnostic> {
        let name = self.name("the constant")?;
        if !self.eat("=") {
            return Err(self.unexpected("`=` and the value of the constant"));
        }
        Ok(ConstDecl { name, value: self.expr()? })
    }

    fn shared_decl(&mut self) -> Result<SharedDecl, Diagnostic> {
        self.no_type(|name| format!("write `shared {name}`"))?;
        let name = self.name("the shared variable")?;
        let size = self.index()?;
        let mut init = Init::Zero;
        if self.eat("=") {
            let start = self.start();
            if self.eat("{") {
                self.brackets += 1;
                let values = self.list(Self::expr)?;
                self.close("}")?;
                init = Init::Each(values, self.since(start));
            } else {
                init = Init::All(self.expr()?);
            }
        }
        let range =
            if !self.ends_line() && self.eat_word("in") { Some(self.range()?) } else { None };
        Ok(SharedDecl { name, size, init, range })
    }

    fn thread(&mut self) -> Result<Thread, Diagnostic> {
        let name = self.name("the thread")?;
        let count = self.index()?;
        let body = self.block(|| "after the name of the thread".to_owned())?;
        Ok(Thread { name, count, body })
    }

    fn points(&mut self) -> Result<Vec<PointRef>, Diagnostic> {
        if !self.eat("(") {
            return Ok(vec![self.point()?]);
        }
        self.brackets += 1;
        let points = self.list(Self::point)?;
        self.close(")")?;
        Ok(points)
    }

    fn point(&mut self) -> Result<PointRef, Diagnostic> {
        let seen = self.seen()?;
        match seen.register {
            Some(label) => Ok(PointRef { thread: seen.name, index: seen.index, label }),
            None => Err(self.unexpected("`.` and the name of a control point")),
        }
    }

    fn seen(&mut self) -> Result<SeenRef, Diagnostic> {
        let name = self.name("a thread or shared variable")?;
        let index = self.index()?;
        let dot = !self.ends_line() && self.eat(".");
        let register = if dot { Some(self.name("a register or label")?) } else { None };
        Ok(SeenRef { name, index, register })
    }

    /// `[ expr ]` on the same line, if there is one.
    fn index(&mut self) -> Result<Option<Expr>, Diagnostic> {
        if self.ends_line() || !self.eat("[") {
            return Ok(None);
        }
        self.brackets += 1;
        let index = self.expr()?;
        self.close("]")?;
        Ok(Some(index))
    }

    /// `low .. high`.
    fn range(&mut self) -> Result<(Expr, Expr), Diagnostic> {
        let (low, high) = self.bounds()?;
        Ok((low.expr, high.expr))
    }

    fn bounds(&mut self) -> Result<(Deep, Deep), Diagnostic> {
        let low = self.binary(1)?;
        if self.ends_line() || !self.eat("..") {
            return Err(self.unexpected("`..` and the upper bound"));
        }
        Ok((low, self.binary(1)?))
    }

    /// One or more, separated by commas.
    fn list<T>(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<T, Diagnostic>,
    ) -> Result<Vec<T>, Diagnostic> {
        let mut all = vec![element(self)?];
        while !self.ends_line() && self.eat(",") {
            all.push(element(self)?);
        }
        Ok(all)
    }

    /// A name that is being declared or referred to; `what` says of which thing.
    fn name(&mut self, what: &str) -> Result<Name, Diagnostic> {
        match self.kind().clone() {
            TokenKind::Name(text) => {
                let start = self.start();
                self.advance();
                Ok(Name { text, at: self.since(start) })
            }
            TokenKind::Word(word) => Err(self.error(
                format!("`{word}` is a reserved word"),
                format!("expected the name of {what}"),
            )),
            _ => Err(self.unexpected(&format!("the name of {what}"))),
        }
    }

    /// Checks that an item or statement is complete. A closing brace is a mark of its own.
    fn end_of(&mut self, what: &str, braces: bool) -> Result<(), Diagnostic> {
        let token = self.token();
        match &token.kind {
            TokenKind::End | TokenKind::Sign("}") => Ok(()),
            _ if token.new_line => Ok(()),
            TokenKind::Sign(";") => {
                self.skip_semicolons();
                Ok(())
            }
            _ if braces => Ok(()),
            kind => {
                let message = format!("unexpected {} after the {what}", kind.quoted());
                let mut error = self.error(message, "expected a line break, `;` or an operator");
                if matches!(kind, TokenKind::Name(_) | TokenKind::Word(_) | TokenKind::Int(_)) {
                    error.help = Some(format!(
                        "put it on a line of its own, or separate the {what}s with `;`"
                    ));
                }
                Err(error)
            }
        }
    }

    fn skip_semicolons(&mut self) {
        while self.eat(";") {}
    }

    fn token(&self) -> &Token {
        &self.tokens[self.next]
    }

    fn kind(&self) -> &TokenKind {
        &self.token().kind
    }

    /// Where the current token starts.
    fn start(&self) -> usize {
        self.token().span.start as usize
    }

    /// The text from `start` to the last token read.
    fn since(&self, start: usize) -> At {
        At(Span::new(start, self.last_end.max(start)))
    }

    /// The current token starts a new line, and that ends what came before.
    fn ends_line(&self) -> bool {
        self.brackets == 0 && self.token().new_line
    }

    fn advance(&mut self) {
        self.last_end = self.token().span.end as usize;
        if self.next + 1 < self.tokens.len() {
            self.next += 1;
        }
    }

    /// Reads a sign if it is the current token.
    fn eat(&mut self, sign: &str) -> bool {
        let found = matches!(self.kind(), TokenKind::Sign(s) if *s == sign);
        if found {
            self.advance();
        }
        found
    }

    /// Reads a reserved word if it is the current token.
    fn eat_word(&mut self, word: &str) -> bool {
        let found = matches!(self.kind(), TokenKind::Word(w) if *w == word);
        if found {
            self.advance();
        }
        found
    }

    /// Reads a closing bracket.
    fn close(&mut self, sign: &str) -> Result<(), Diagnostic> {
        if self.kind() == &TokenKind::Sign("=") {
            let expected = format!("expected `{sign}` or an operator");
            return Err(self.error("`=` in a condition", expected).help("write `==` to compare"));
        }
        // Only after the closing bracket line breaks count again.
        if !self.eat(sign) {
            return Err(self.unexpected(&format!("`{sign}` or an operator")));
        }
        self.brackets = self.brackets.saturating_sub(1);
        Ok(())
    }

    /// One level deeper; to be undone with `leave`, except on errors, which end the parse.
    fn enter(&mut self) -> Result<(), Diagnostic> {
        self.depth += 1;
        if self.depth > DEPTH { Err(self.too_deep()) } else { Ok(()) }
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    fn too_deep(&self) -> Diagnostic {
        self.error(format!("nested more than {DEPTH} deep"), "")
    }

    /// An error about the current token.
    fn error(&self, message: impl Into<String>, expected: impl Into<String>) -> Diagnostic {
        Diagnostic::new(self.token().span, message, expected)
    }

    /// The current token is not what was expected.
    fn unexpected(&self, expected: &str) -> Diagnostic {
        let kind = self.kind();
        let found =
            if kind == &TokenKind::End { "end of the file".to_owned() } else { kind.quoted() };
        self.error(format!("unexpected {found}"), format!("expected {expected}"))
    }
}
