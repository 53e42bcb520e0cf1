//! Tokens to syntax tree: sections, declarations and statements. Expressions are next door.

use weakspot_core::Span;

use super::lexer::{KEYWORDS, Token, TokenKind, tokens};
use super::macros::expand;
use super::syntax::{
    At, Decl, FenceKind, File, Forbidden, Name, Place, PlaceKind, Process, Stmt, StmtKind,
    WriteKind,
};
use crate::Diagnostic;
use crate::suggest::did_you_mean;

/// Deeper statements and expressions are refused: every reader of the tree recurses.
pub(super) const MAX_DEPTH: usize = 200;
const MAX_COPIES: i64 = 256;

const STATEMENTS: [&str; 16] = [
    "nop", "read", "write", "locked", "slocked", "cas", "fence", "ssfence", "llfence", "assume",
    "goto", "if", "while", "either", "syncwr", "syncrd",
];

/// Parses a Memorax program. Macros are expanded; the tree knows nothing of them.
pub fn parse(text: &str) -> Result<File, Diagnostic> {
    Parser { tokens: expand(tokens(text)?)?, at: 0, depth: 0, parts: 0 }.file()
}

pub(super) struct Parser<'t> {
    tokens: Vec<Token<'t>>,
    at: usize,
    pub(super) depth: usize,
    /// Parts of expressions since the last statement began.
    pub(super) parts: usize,
}

impl<'t> Parser<'t> {
    fn file(mut self) -> Result<File, Diagnostic> {
        let forbidden = self.forbidden()?;
        let mut predicates = Vec::new();
        if self.eat("predicates").is_some() {
            predicates.push(self.bool_expr()?);
            while self.eat(";").is_some() {
                self.parts = 0;
                predicates.push(self.bool_expr()?);
            }
        }
        let data = match self.eat("data") {
            Some(_) => self.declarations(TokenKind::Name)?,
            None => Vec::new(),
        };
        let mut processes = Vec::new();
        while let Some(keyword) = self.eat("process") {
            processes.push(self.process(keyword)?);
        }
        if self.peek().kind != TokenKind::End {
            let refused = self.unexpected(match processes.is_empty() {
                true => "`process`",
                false => "`;` before another statement, or `process`",
            });
            return Err(self.slip(refused, &["process", "data", "predicates"]));
        }
        if processes.is_empty() {
            return Err(self.unexpected("`process`"));
        }
        Ok(File { forbidden, predicates, data, processes })
    }

    fn forbidden(&mut self) -> Result<Vec<Forbidden>, Diagnostic> {
        if self.eat("forbidden").is_none() {
            let refused = self.unexpected("`forbidden`");
            return Err(self.slip(refused, &["forbidden"]).help(
                "a program starts with the combinations of labels that must not be reached",
            ));
        }
        let mut rows = Vec::new();
        loop {
            let mut labels = Vec::new();
            let first = self.peek();
            loop {
                if self.eat("*").is_some() {
                    labels.push(None);
                } else if self.peek().kind == TokenKind::Name {
                    labels.push(Some(self.name()));
                } else {
                    break;
                }
            }
            if labels.is_empty() {
                return Err(self.unexpected("a label or `*`"));
            }
            rows.push(Forbidden { labels, at: self.since(first) });
            if self.eat(";").is_none() {
                return Ok(rows);
            }
        }
    }

    fn declarations(&mut self, kind: TokenKind) -> Result<Vec<Decl>, Diagnostic> {
        let mut decls: Vec<Decl> = Vec::new();
        while self.peek().kind == kind {
            let decl = self.declaration()?;
            if decls.iter().any(|d| d.name.text == decl.name.text) {
                let message = format!("a second declaration of `{}`", decl.name.text);
                return Err(Diagnostic::new(decl.name.at.0, message, "expected a new name"));
            }
            decls.push(decl);
            self.eat(",");
        }
        if decls.is_empty() {
            let refused = self.unexpected(match kind {
                TokenKind::Register => "the name of a register, such as `$r`",
                _ => "the name of a variable",
            });
            return Err(refused);
        }
        Ok(decls)
    }

    fn declaration(&mut self) -> Result<Decl, Diagnostic> {
        let first = self.peek();
        let name = self.name();
        self.expect("=")?;
        let value = self.peek();
        let init = match self.eat("*") {
            Some(_) => None,
            None => Some(self.integer("an initial value or `*`")?),
        };
        let init_span = self.since(value);
        let domain = match self.eat(":") {
            Some(_) => self.domain()?,
            None => None,
        };
        if let (Some(value), Some((low, high))) = (init, domain)
            && !(low..=high).contains(&value)
        {
            let message = format!("the initial value {value} lies outside of the domain");
            let expected = format!("expected a value from {low} to {high}");
            return Err(Diagnostic::new(init_span.0, message, expected));
        }
        Ok(Decl { name, init, domain, at: self.since(first) })
    }

    fn domain(&mut self) -> Result<Option<(i64, i64)>, Diagnostic> {
        let first = self.peek();
        if first.kind == TokenKind::Name && first.text == "Z" {
            self.at += 1;
            return Ok(None);
        }
        if self.eat("[").is_none() {
            return Err(self.unexpected("a domain: `[0:1]` or `Z`"));
        }
        let low = self.integer("the least value")?;
        self.expect(":")?;
        let high = self.integer("the greatest value")?;
        self.expect("]")?;
        if low > high {
            let at = self.since(first);
            let message = format!("the domain from {low} to {high} is empty");
            return Err(Diagnostic::new(at.0, message, "expected the least value first"));
        }
        Ok(Some((low, high)))
    }

    fn process(&mut self, keyword: Token<'t>) -> Result<Process, Diagnostic> {
        let copies = match self.eat("(") {
            None => 1,
            Some(_) => {
                let number = self.peek();
                let copies = self.integer("the number of copies")?;
                if !(1..=MAX_COPIES).contains(&copies) {
                    let message = format!("{copies} copies of a process");
                    let expected = format!("expected a number from 1 to {MAX_COPIES}");
                    return Err(Diagnostic::new(number.span, message, expected));
                }
                self.expect(")")?;
                u32::try_from(copies).unwrap_or(1)
            }
        };
        let at = self.since(keyword);
        let (mut data, mut registers) = (None, None);
        while let Some(section) = self.eat("data").or_else(|| self.eat("registers")) {
            let (slot, kind) = match section.text {
                "data" => (&mut data, TokenKind::Name),
                _ => (&mut registers, TokenKind::Register),
            };
            if slot.is_some() {
                let message = format!("a second `{}` section in one process", section.text);
                return Err(Diagnostic::new(section.span, message, "expected `text`"));
            }
            *slot = Some(self.declarations(kind)?);
        }
        if self.eat("text").is_none() {
            let refused = self.unexpected("`data`, `registers` or `text`");
            return Err(self.slip(refused, &["data", "registers", "text"]));
        }
        let (data, registers) = (data.unwrap_or_default(), registers.unwrap_or_default());
        Ok(Process { copies, data, registers, text: self.statements()?, at })
    }

    /// Statements up to something that cannot follow `;`. A `;` after the last one is let pass.
    fn statements(&mut self) -> Result<Vec<Stmt>, Diagnostic> {
        let mut list = vec![self.labelled()?];
        while self.eat(";").is_some() {
            let next = self.peek();
            if next.kind == TokenKind::End || ["}", "or", "process"].contains(&next.text) {
                break;
            }
            list.push(self.labelled()?);
        }
        Ok(list)
    }

    fn labelled(&mut self) -> Result<Stmt, Diagnostic> {
        let label = match self.peek().kind {
            TokenKind::Name if self.peek_second().text == ":" => {
                let label = self.name();
                self.at += 1;
                // No statement starts like this, so perhaps the label was meant as its first word.
                if self.peek().kind == TokenKind::Name || self.peek().text == "[" {
                    let refused = self.unexpected("a statement after the label");
                    return Err(did_you_mean(refused, &label.text, STATEMENTS));
                }
                Some(label)
            }
            TokenKind::Name => {
                let token = self.peek();
                let refused = self.unexpected("a statement, or a label and `:`");
                let near = did_you_mean(refused, token.text, STATEMENTS);
                return Err(match near.help {
                    Some(_) => near,
                    None => near.help("a label is followed by `:`, a write starts with `write:`"),
                });
            }
            _ => None,
        };
        self.depth += 1;
        self.parts = 0;
        let first = self.peek();
        if self.depth > MAX_DEPTH {
            let message = format!("statements that are nested more than {MAX_DEPTH} deep");
            return Err(Diagnostic::new(first.span, message, ""));
        }
        let kind = self.statement()?;
        self.depth -= 1;
        Ok(Stmt { label, kind, at: self.since(first) })
    }

    fn statement(&mut self) -> Result<StmtKind, Diagnostic> {
        let token = self.next();
        match token.text {
            "locked" if self.peek().text != "write" => {
                Ok(StmtKind::Locked(self.branches("`write` or `{`")?))
            }
            "if" => self.conditional(),
            "while" => self.repeated(),
            "either" => Ok(StmtKind::Either(self.branches("`{`")?)),
            "{" => {
                let list = self.statements()?;
                self.close("}", token)?;
                Ok(StmtKind::Block(list))
            }
            _ => self.plain_statement(token),
        }
    }

    fn repeated(&mut self) -> Result<StmtKind, Diagnostic> {
        let cond = self.bool_expr()?;
        self.expect("do")?;
        Ok(StmtKind::While { cond, body: Box::new(self.labelled()?) })
    }

    /// A statement without others in it. These have a function of their own, so that nested statements
    /// take little of the stack.
    fn plain_statement(&mut self, token: Token<'_>) -> Result<StmtKind, Diagnostic> {
        if token.kind == TokenKind::Register {
            let reg = Name { text: token.text.to_owned(), at: At(token.span) };
            self.expect(":=")?;
            return Ok(StmtKind::Assign { reg, value: self.expr()? });
        }
        match token.text {
            "nop" => Ok(StmtKind::Nop),
            "read" => self.read(),
            "write" => self.write(WriteKind::Plain),
            "locked" | "slocked" => {
                self.expect("write")?;
                let locked = token.text == "locked";
                self.write(if locked { WriteKind::Locked } else { WriteKind::StoreLocked })
            }
            "syncwr" => self.write(WriteKind::Sync),
            "syncrd" => Ok(StmtKind::SyncRead(Box::new(self.read()?))),
            "cas" => {
                self.expect("(")?;
                let place = self.place()?;
                self.expect(",")?;
                let old = self.expr()?;
                self.expect(",")?;
                let new = self.expr()?;
                self.expect(")")?;
                Ok(StmtKind::Cas { place, old, new })
            }
            "fence" => Ok(StmtKind::Fence(FenceKind::Full)),
            "ssfence" => Ok(StmtKind::Fence(FenceKind::StoreStore)),
            "llfence" => Ok(StmtKind::Fence(FenceKind::LoadLoad)),
            "assume" => {
                self.expect(":")?;
                Ok(StmtKind::Assume(self.bool_expr()?))
            }
            "goto" => match self.peek().kind {
                TokenKind::Name => Ok(StmtKind::Goto(self.name())),
                _ => Err(self.unexpected("a label")),
            },
            _ => {
                self.at -= usize::from(token.kind != TokenKind::End);
                Err(self.unexpected("a statement"))
            }
        }
    }

    fn read(&mut self) -> Result<StmtKind, Diagnostic> {
        self.expect(":")?;
        if self.peek().kind == TokenKind::Register {
            let reg = self.name();
            self.expect(":=")?;
            return Ok(StmtKind::ReadAssign { reg, place: self.place()? });
        }
        let place = self.place()?;
        if self.peek().text == ":=" {
            return Err(self.unexpected("`=`").help(
                "`read: $r := x` reads into a register, `read: x = e` waits until `x` is `e`",
            ));
        }
        self.expect("=")?;
        Ok(StmtKind::ReadAssert { place, value: self.expr()? })
    }

    fn write(&mut self, kind: WriteKind) -> Result<StmtKind, Diagnostic> {
        self.expect(":")?;
        let place = self.place()?;
        self.expect(":=")?;
        Ok(StmtKind::Write { kind, place, value: self.expr()? })
    }

    fn conditional(&mut self) -> Result<StmtKind, Diagnostic> {
        let cond = self.bool_expr()?;
        self.expect("then")?;
        let then = Box::new(self.labelled()?);
        let otherwise = match self.eat("else") {
            Some(_) => Some(Box::new(self.labelled()?)),
            None => None,
        };
        Ok(StmtKind::If { cond, then, otherwise })
    }

    fn branches(&mut self, wanted: &str) -> Result<Vec<Vec<Stmt>>, Diagnostic> {
        let Some(open) = self.eat("{") else { return Err(self.unexpected(wanted)) };
        let mut branches = vec![self.statements()?];
        while self.eat("or").is_some() {
            branches.push(self.statements()?);
        }
        self.close("}", open)?;
        Ok(branches)
    }

    fn place(&mut self) -> Result<Place, Diagnostic> {
        let first = self.peek();
        if let Some(open) = self.eat("[") {
            let pointer = self.expr()?;
            self.close("]", open)?;
            return Ok(Place { kind: PlaceKind::Pointer(pointer), at: self.since(first) });
        }
        if first.kind != TokenKind::Name {
            return Err(self.unexpected("a memory location: `x`, `x[my]`, `x[0]` or `[$r]`"));
        }
        let name = self.name().text;
        let Some(open) = self.eat("[") else {
            return Ok(Place { kind: PlaceKind::Global(name), at: self.since(first) });
        };
        let kind = if self.eat("my").is_some() {
            PlaceKind::Own(name)
        } else if self.peek().kind == TokenKind::Number {
            let other = self.integer("a process")?;
            PlaceKind::Other(name, u32::try_from(other).unwrap_or(u32::MAX))
        } else {
            return Err(self.unexpected("`my` or the number of another process").help(
                "variables have no indices; to compute with addresses, use a pointer `[e]`",
            ));
        };
        self.close("]", open)?;
        Ok(Place { kind, at: self.since(first) })
    }

    /// A number, perhaps with a `-`.
    pub(super) fn integer(&mut self, wanted: &str) -> Result<i64, Diagnostic> {
        let first = self.peek();
        let negative = self.eat("-").is_some();
        if self.peek().kind != TokenKind::Number {
            return Err(self.unexpected(wanted));
        }
        let digits = self.next();
        match digits.text.parse::<i32>() {
            Ok(n) if negative => Ok(-i64::from(n)),
            Ok(n) => Ok(i64::from(n)),
            Err(_) => {
                let at = self.since(first);
                let message = format!("`{}` does not fit in 32 bits", digits.text);
                Err(Diagnostic::new(at.0, message, ""))
            }
        }
    }

    /// The next token as a name. The caller has looked at it.
    pub(super) fn name(&mut self) -> Name {
        let token = self.next();
        Name { text: token.text.to_owned(), at: At(token.span) }
    }

    pub(super) fn peek(&self) -> Token<'t> {
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn peek_second(&self) -> Token<'t> {
        self.tokens[(self.at + 1).min(self.tokens.len() - 1)]
    }

    pub(super) fn next(&mut self) -> Token<'t> {
        let token = self.peek();
        self.at += usize::from(token.kind != TokenKind::End);
        token
    }

    /// Takes the keyword or symbol `text` if it comes next.
    pub(super) fn eat(&mut self, text: &str) -> Option<Token<'t>> {
        let token = self.peek();
        let fits =
            matches!(token.kind, TokenKind::Keyword | TokenKind::Symbol) && token.text == text;
        fits.then(|| self.next())
    }

    pub(super) fn expect(&mut self, text: &str) -> Result<(), Diagnostic> {
        match self.eat(text) {
            Some(_) => Ok(()),
            None => Err(self.unexpected(&format!("`{text}`"))),
        }
    }

    /// Expects the bracket that belongs to `open`.
    pub(super) fn close(&mut self, bracket: &str, open: Token<'t>) -> Result<(), Diagnostic> {
        match self.eat(bracket) {
            Some(_) => Ok(()),
            None => {
                let opened = if bracket == "}" { "; a `;` separates statements" } else { "" };
                let wanted = format!("`{bracket}` for the `{}` before{opened}", open.text);
                Err(self.unexpected(&wanted))
            }
        }
    }

    /// That the next token is not what is wanted here.
    pub(super) fn unexpected(&self, wanted: &str) -> Diagnostic {
        let token = self.peek();
        let message = match token.kind {
            TokenKind::End => "the text ends here".to_owned(),
            TokenKind::Keyword => format!("unexpected keyword `{}`", token.text),
            _ => format!("unexpected `{}`", token.text),
        };
        Diagnostic::new(token.span, message, format!("expected {wanted}"))
    }

    /// The same with the keyword that may be meant.
    fn slip(&self, refused: Diagnostic, wanted: &[&str]) -> Diagnostic {
        let known = KEYWORDS.iter().filter(|k| wanted.contains(k)).copied();
        did_you_mean(refused, self.peek().text, known)
    }

    /// From `first` up to the token before the next. Where a macro mixes tokens from different
    /// places, only `first`.
    pub(super) fn since(&self, first: Token<'t>) -> At {
        let last = self.tokens[self.at.saturating_sub(1)];
        if last.origin == first.origin && last.span.end >= first.span.end {
            At(Span { start: first.span.start, end: last.span.end })
        } else {
            At(first.span)
        }
    }
}
