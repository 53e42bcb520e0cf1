//! Statements.

use super::*;
use crate::weak::lexer::WORDS;
use crate::weak::print;

impl Parser<'_> {
    /// Statements in braces; `place` says after what the brace was expected.
    pub(super) fn block(&mut self, place: impl Fn() -> String) -> Result<Block, Diagnostic> {
        let open = self.token().span;
        if !self.eat("{") {
            let mut error = self.error(format!("missing `{{` {}", place()), "expected `{`");
            if self.kind() == &TokenKind::Sign(";") {
                error.help = Some("a body stands in braces, `{}` if it is empty".to_owned());
            }
            return Err(error);
        }
        self.enter()?;
        let mut stmts: Vec<Stmt> = Vec::new();
        loop {
            self.skip_semicolons();
            let trivia = self.leading(stmts.is_empty());
            match self.kind() {
                TokenKind::Sign("}") => {
                    let start = self.start();
                    self.advance();
                    self.leave();
                    return Ok(Block { stmts, tail: trivia.before, close: self.since(start) });
                }
                TokenKind::End => {
                    let expected = "expected `}` before the end of the file";
                    return Err(Diagnostic::new(open, "this `{` is never closed", expected));
                }
                TokenKind::Word(word) if ITEMS.contains(word) => {
                    let expected = format!("expected `}}` before the next `{word}`");
                    return Err(Diagnostic::new(open, "this `{` is never closed", expected));
                }
                _ => stmts.push(self.stmt(trivia)?),
            }
        }
    }

    fn stmt(&mut self, mut trivia: Trivia) -> Result<Stmt, Diagnostic> {
        let start = self.start();
        let word = match self.kind() {
            TokenKind::Word(word) => *word,
            TokenKind::Name(_) if self.label_follows() => {
                let name = self.name("a label")?;
                self.advance();
                let at = self.since(start);
                self.trailing(&mut trivia);
                return Ok(Stmt { trivia, kind: StmtKind::Label(name), at });
            }
            _ => "",
        };
        let (kind, at) = match word {
            "if" => self.if_stmt()?,
            "while" => {
                let (cond, at) = self.condition()?;
                let body = self.block(|| "after the condition of `while`".to_owned())?;
                (StmtKind::While(cond, body), at)
            }
            "loop" | "atomic" | "transaction" | "choose" => self.block_stmt(word)?,
            "var" => {
                self.advance();
                let declared = self.list(|p| {
                    let name = p.name("the register")?;
                    let value = if !p.ends_line() && p.eat("=") { Some(p.expr()?) } else { None };
                    Ok((name, value))
                })?;
                (StmtKind::Var(declared), self.since(start))
            }
            "assume" | "assert" | "await" => {
                let (cond, at) = self.condition()?;
                let kind = match word {
                    "assume" => StmtKind::Assume(cond),
                    "assert" => StmtKind::Assert(cond),
                    _ => StmtKind::Await(cond),
                };
                (kind, at)
            }
            "goto" => {
                self.advance();
                (StmtKind::Goto(self.name("a label")?), self.since(start))
            }
            "fence" => {
                self.advance();
                let fence = self.fence()?;
                (StmtKind::Fence(fence), self.since(start))
            }
            "break" | "continue" | "stop" | "skip" => {
                self.advance();
                let kind = match word {
                    "break" => StmtKind::Break,
                    "continue" => StmtKind::Continue,
                    "stop" => StmtKind::Stop,
                    _ => StmtKind::Skip,
                };
                (kind, self.since(start))
            }
            "else" => return Err(self.error("`else` without `if`", "expected a statement")),
            "or" => return Err(self.error("`or` without `choose`", "expected a statement")),
            _ => {
                let kind = self.assignment_or_update()?;
                (kind, self.since(start))
            }
        };
        let braces = matches!(
            kind,
            StmtKind::If(..)
                | StmtKind::While(..)
                | StmtKind::Loop(_)
                | StmtKind::Choose(_)
                | StmtKind::Atomic(_)
                | StmtKind::Transaction(_)
        );
        self.end_of("statement", braces)?;
        self.trailing(&mut trivia);
        Ok(Stmt { trivia, kind, at })
    }

    fn label_follows(&self) -> bool {
        self.tokens
            .get(self.next + 1)
            .is_some_and(|t| t.kind == TokenKind::Sign(":") && !t.new_line)
    }

    /// The word at hand and `( condition )`, with the text of both.
    fn condition(&mut self) -> Result<(Expr, At), Diagnostic> {
        let start = self.start();
        let word = self.kind().quoted();
        self.advance();
        if !self.eat("(") {
            return Err(self.error(format!("missing `(` after {word}"), "expected `(`"));
        }
        self.brackets += 1;
        let cond = self.expr()?;
        self.close(")")?;
        Ok((cond, self.since(start)))
    }

    fn if_stmt(&mut self) -> Result<(StmtKind, At), Diagnostic> {
        let mut arms = Vec::new();
        loop {
            let (cond, at) = self.condition()?;
            let body = self.block(|| "after the condition of `if`".to_owned())?;
            arms.push(Arm { cond, body, at });
            let head = arms[0].at;
            if !self.eat_word("else") {
                return Ok((StmtKind::If(arms, None), head));
            }
            if self.kind() != &TokenKind::Word("if") {
                let body = self.block(|| "after `else`".to_owned())?;
                return Ok((StmtKind::If(arms, Some(body)), head));
            }
        }
    }

    /// `loop`, `atomic`, `transaction` or `choose` with its blocks.
    fn block_stmt(&mut self, word: &str) -> Result<(StmtKind, At), Diagnostic> {
        let start = self.start();
        self.advance();
        let at = self.since(start);
        if word == "choose" && self.kind() == &TokenKind::Sign("(") {
            return Err(Diagnostic::new(at.0, "the value of `choose` is not used", "")
                .help("assign it: `r = choose(0..1)`"));
        }
        let body = self.block(|| format!("after `{word}`"))?;
        let kind = match word {
            "loop" => StmtKind::Loop(body),
            "atomic" => StmtKind::Atomic(body),
            "transaction" => StmtKind::Transaction(body),
            _ => {
                let mut alternatives = vec![body];
                while self.eat_word("or") {
                    alternatives.push(self.block(|| "after `or`".to_owned())?);
                }
                if alternatives.len() == 1 {
                    return Err(self.unexpected("`or` and another block"));
                }
                StmtKind::Choose(alternatives)
            }
        };
        Ok((kind, at))
    }

    /// What may follow the word `fence`.
    fn fence(&mut self) -> Result<Fence, Diagnostic> {
        if !self.ends_line() && self.kind() == &TokenKind::Sign("(") {
            return Err(self
                .error("unexpected `(` after `fence`", "expected a line break, `;` or `.ss`")
                .help("write `fence`, without parentheses"));
        }
        if self.ends_line() || !self.eat(".") {
            return Ok(Fence::Full);
        }
        match self.kind() {
            TokenKind::Name(name) if name == "ss" => {
                self.advance();
                Ok(Fence::StoreStore)
            }
            _ => Err(self
                .unexpected("`ss`")
                .help("there are two fences: `fence` and `fence.ss` (store-store)")),
        }
    }

    fn assignment_or_update(&mut self) -> Result<StmtKind, Diagnostic> {
        self.no_foreign_statement()?;
        let first = self.token().clone();
        let left = self.unary()?.expr;
        if !self.ends_line() && self.kind() == &TokenKind::Sign("=") {
            check_place(&left, "assigned")?;
            self.advance();
            return Ok(StmtKind::Assign(left, self.expr()?));
        }
        let more = !self.ends_line()
            && !matches!(self.kind(), TokenKind::Sign(";" | "}") | TokenKind::End);
        match (&left.kind, self.kind()) {
            (ExprKind::Cas(_) | ExprKind::Swap(_) | ExprKind::FetchAdd(_), _) if !more => {
                Ok(StmtKind::Update(left))
            }
            (_, TokenKind::Sign(sign)) if more => Err(self.after_place(&left, sign)),
            (ExprKind::Name(name), kind) if more => {
                let message = format!("unexpected {} after `{name}`", kind.quoted());
                Err(did_you_mean(self.error(message, "expected `=` or `:`"), name, WORDS))
            }
            _ => {
                let expected = "expected an assignment, an update or another statement";
                let error =
                    Diagnostic::new(left.at.0, "an expression is not a statement", expected);
                Err(match &first.kind {
                    TokenKind::Name(name) => did_you_mean(error, name, WORDS),
                    _ => error,
                })
            }
        }
    }

    /// A sign other than `=` follows what should have been assigned.
    fn after_place(&self, left: &Expr, sign: &str) -> Diagnostic {
        let place = print::expr(left);
        match (sign, sign.strip_suffix('=')) {
            ("==", _) => {
                self.error("`==` is a comparison", "expected `=`").help("write `=` to assign")
            }
            (":=", _) => {
                self.error("`:=` is not an operator", "expected `=`").help("write `=` to assign")
            }
            ("++", _) | (_, Some("+" | "-" | "*" | "/" | "%" | "&" | "|" | "^")) => {
                let operator = sign.chars().next().unwrap_or('+');
                self.error(format!("`{sign}` is not an operator"), "expected `=`").help(format!(
                    "write `{place} = {place} {operator} ...`, which is a load and a store if \
                     `{place}` is shared, or `fetch_add({place}, ...)`"
                ))
            }
            _ => {
                let error =
                    self.error(format!("unexpected `{sign}` after `{place}`"), "expected `=`");
                match &left.kind {
                    ExprKind::Name(name) => did_you_mean(error, name, WORDS),
                    _ => error,
                }
            }
        }
    }
}

/// Refuses what has no address.
pub(super) fn check_place(e: &Expr, done: &str) -> Result<(), Diagnostic> {
    match e.kind {
        ExprKind::Name(_) | ExprKind::Index(..) | ExprKind::Deref(_) => Ok(()),
        ExprKind::Register(..) => Err(Diagnostic::new(
            e.at.0,
            format!("`{}` cannot be {done} in a thread", print::expr(e)),
            "expected a register of this thread or a shared variable",
        )
        .help("registers are private: communicate through a shared variable")),
        _ => Err(Diagnostic::new(
            e.at.0,
            format!("`{}` cannot be {done}", print::expr(e)),
            "expected a variable, `a[i]` or `*p`",
        )),
    }
}
