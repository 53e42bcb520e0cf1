//! What follows the rows: `locations [..]` and the condition.
//!
//! `not` binds strongest, then `=>`, then `/\`, then `\/`. That `=>` binds more tightly than `/\`
//! is unusual, but it is how the tools that made these files read them.

use weakspot_core::Quantifier;

use super::ast::{Atom, CType, Final, Listed, Prop, Term};
use super::lex::TokenKind;
use super::parse::{Parser, Parsing, SECTIONS};
use crate::Diagnostic;
use crate::suggest::did_you_mean;

/// How deep propositions may nest.
const DEEPEST: usize = 200;

/// What stands after the code.
pub(super) struct Sections {
    pub(super) locations: Vec<Listed>,
    pub(super) filter: Option<Prop>,
    pub(super) condition: Option<Final>,
}

impl Parser<'_> {
    /// Everything after the rows, to the end of the text or `<<`.
    pub(super) fn sections(&mut self) -> Parsing<Sections> {
        let mut locations = Vec::new();
        let mut filter = None;
        let mut condition = None;
        loop {
            let span = self.here();
            match self.peek(0) {
                TokenKind::End | TokenKind::Rest => {
                    return Ok(Sections { locations, filter, condition });
                }
                TokenKind::Ident("locations") => self.locations(&mut locations)?,
                TokenKind::Ident("filter") if filter.is_some() => {
                    return Err(Diagnostic::new(span, "a second filter", "expected a condition"));
                }
                TokenKind::Ident("filter") => {
                    self.bump();
                    filter = Some(self.or()?);
                    self.eat(";");
                }
                TokenKind::Ident("observed") => {
                    return Err(Diagnostic::new(
                        span,
                        "`observed` is not supported",
                        "expected `locations`, `exists`, `~exists` or `forall`",
                    ));
                }
                _ => {
                    let Some(quantifier) = self.quantifier()? else {
                        return Err(self.no_section(condition.is_some()));
                    };
                    if condition.is_some() {
                        return Err(Diagnostic::new(
                            span,
                            "a second condition",
                            "expected the end of the file",
                        ));
                    }
                    let prop = self.or()?;
                    self.eat(";");
                    self.cases()?;
                    condition = Some(Final { quantifier, prop });
                }
            }
        }
    }

    /// `exists`, `~exists`, `not exists`, `forall` or `final`.
    fn quantifier(&mut self) -> Parsing<Option<Quantifier>> {
        if self.is("~") || self.is_word(0, "not") {
            self.bump();
            if !self.is_word(0, "exists") {
                return Err(self.unexpected("`exists`"));
            }
            self.bump();
            return Ok(Some(Quantifier::NotExists));
        }
        let found = match self.peek(0) {
            TokenKind::Ident("exists" | "final") => Quantifier::Exists,
            TokenKind::Ident("forall") => Quantifier::Forall,
            _ => return Ok(None),
        };
        self.bump();
        Ok(Some(found))
    }

    /// The error that no section begins here.
    fn no_section(&self, after_condition: bool) -> Diagnostic {
        let diagnostic = if after_condition {
            self.unexpected("`/\\`, `\\/`, `=>` or the end of the file")
        } else {
            self.unexpected("`locations`, `exists`, `~exists`, `forall` or the end of the file")
        };
        match self.peek(0) {
            TokenKind::Punct("&&" | "&") => diagnostic.help("write `/\\` for and"),
            TokenKind::Punct("|") => diagnostic.help("write `\\/` for or"),
            TokenKind::Punct(")") => diagnostic.help("there is no `(` for this `)`"),
            TokenKind::Ident("and") => diagnostic.help("write `/\\` for and"),
            TokenKind::Ident("or") => diagnostic.help("write `\\/` for or"),
            TokenKind::Ident(word) => did_you_mean(diagnostic, word, SECTIONS),
            _ => diagnostic,
        }
    }

    /// `with tso: exists; pso: ~exists`: expectations of other tools, to the end of the text,
    /// which we skip.
    fn cases(&mut self) -> Parsing<()> {
        if !self.is_word(0, "with") {
            return Ok(());
        }
        self.bump();
        if self.ident(0).is_none() {
            return Err(self.unexpected("a case, such as `tso: exists`"));
        }
        while !matches!(self.peek(0), TokenKind::End | TokenKind::Rest) {
            if let TokenKind::Bad(d) = self.peek(0) {
                return Err((**d).clone());
            }
            self.bump();
        }
        Ok(())
    }

    fn locations(&mut self, listed: &mut Vec<Listed>) -> Parsing<()> {
        self.bump();
        let open = self.here();
        if !self.eat("[") {
            return Err(self.unexpected("`[`").help("write `locations [0:EAX; x;]`"));
        }
        loop {
            while self.eat(";") {}
            if self.eat("]") {
                return Ok(());
            }
            let condition = matches!(self.peek(0), TokenKind::Ident("exists" | "forall" | "final"));
            if condition || matches!(self.peek(0), TokenKind::End | TokenKind::Rest) {
                return Err(Diagnostic::new(open, "unbalanced `[`", "expected a closing `]`"));
            }
            if !self.at_reg_ref() && self.ident(0).is_none() && !self.is("[") && !self.is("*") {
                return Err(self.unexpected("a location, a register such as `0:EAX`, or `]`"));
            }
            let what = self.term_side()?;
            let ctype = self.type_behind()?;
            listed.push(Listed { what, ctype });
            if matches!(self.peek(0), TokenKind::End | TokenKind::Rest) {
                continue;
            }
            if !self.is(";") && !self.is("]") {
                let refused = self.unexpected("`;` or `]`");
                return Err(match self.peek(0) {
                    TokenKind::Punct(",") => {
                        refused.help("names in `locations` are separated by `;`")
                    }
                    TokenKind::Punct("=") => {
                        refused.help("`locations` lists names; values go into `exists` or `forall`")
                    }
                    _ => refused,
                });
            }
        }
    }

    /// A type after an entry of `locations`.
    fn type_behind(&mut self) -> Parsing<Option<CType>> {
        let start = self.start();
        let mut words = Vec::new();
        while let Some(word) = self.ident(0) {
            self.check_type(&words, word).map_err(|refused| match words.as_slice() {
                [] => refused.help("names in `locations` are separated by `;`"),
                _ => refused,
            })?;
            words.push(word);
            self.bump();
        }
        Ok(self.type_of_words(start, &words))
    }

    fn or(&mut self) -> Parsing<Prop> {
        let mut parts = vec![self.and()?];
        while self.eat("\\/") {
            parts.push(self.and()?);
        }
        Ok(one_or(parts, Prop::Or))
    }

    fn and(&mut self) -> Parsing<Prop> {
        let mut parts = vec![self.implies()?];
        while self.eat("/\\") {
            parts.push(self.implies()?);
        }
        Ok(one_or(parts, Prop::And))
    }

    fn implies(&mut self) -> Parsing<Prop> {
        let left = self.unary()?;
        let arrow = self.start();
        if !self.eat("=>") {
            return Ok(left);
        }
        let place = self.since(arrow);
        let right = self.deeper(Parser::implies)?;
        Ok(Prop::Implies(Box::new(left), Box::new(right), place))
    }

    fn unary(&mut self) -> Parsing<Prop> {
        if self.is("~") || self.is_word(0, "not") {
            self.bump();
            return Ok(Prop::Not(Box::new(self.deeper(Parser::unary)?)));
        }
        if self.is_word(0, "true") || self.is_word(0, "false") {
            let holds = self.is_word(0, "true");
            self.bump();
            return Ok(if holds { Prop::True } else { Prop::False });
        }
        let open = self.here();
        if self.eat("(") {
            let inner = self.deeper(Parser::or)?;
            if !self.eat(")") {
                if matches!(self.peek(0), TokenKind::End | TokenKind::Rest) {
                    return Err(Diagnostic::new(open, "unbalanced `(`", "expected a closing `)`"));
                }
                return Err(self.no_operator());
            }
            return Ok(Prop::Paren(Box::new(inner)));
        }
        self.atom()
    }

    /// The error that neither an operator nor `)` follows.
    fn no_operator(&self) -> Diagnostic {
        let diagnostic = self.unexpected("`/\\`, `\\/`, `=>` or `)`");
        match self.peek(0) {
            TokenKind::Punct("&&" | "&" | ",") | TokenKind::Ident("and") => {
                diagnostic.help("write `/\\` for and")
            }
            TokenKind::Punct("|") | TokenKind::Ident("or") => diagnostic.help("write `\\/` for or"),
            _ => diagnostic,
        }
    }

    fn deeper(&mut self, f: fn(&mut Self) -> Parsing<Prop>) -> Parsing<Prop> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Diagnostic::new(
                self.here(),
                format!("the condition is nested more than {DEEPEST} deep"),
                "",
            ));
        }
        let found = f(self);
        self.depth -= 1;
        found
    }

    fn atom(&mut self) -> Parsing<Prop> {
        let left = self.term_side()?;
        let negated = match self.peek(0) {
            TokenKind::Punct("=") => false,
            TokenKind::Punct("!=" | "<>") => true,
            TokenKind::Punct("==") => {
                return Err(self.unexpected("`=`").help("equality is written with one `=`"));
            }
            TokenKind::Punct("<" | ">") => {
                return Err(self
                    .unexpected("`=`")
                    .help("conditions can only compare for equality"));
            }
            _ => return Err(self.unexpected("`=` and a value")),
        };
        self.bump();
        let right = self.term_side()?;
        Ok(Prop::Atom(Atom { left, right, negated }))
    }

    fn term_side(&mut self) -> Parsing<Term> {
        let start = self.start();
        if self.at_reg_ref() {
            return Ok(Term::Reg(self.reg_ref()?));
        }
        if self.at_number() {
            let (value, place) = self.number()?;
            return Ok(Term::Number(value, place));
        }
        if self.eat("*") {
            return Ok(Term::Content(self.symbol()?));
        }
        if self.eat("&") {
            return Ok(Term::Address(self.symbol()?));
        }
        if self.eat("[") {
            let symbol = self.symbol()?;
            self.close_location(&symbol)?;
            return Ok(Term::Content(symbol));
        }
        if self.eat("{") {
            let mut elements = Vec::new();
            while !self.eat("}") {
                let (value, place) = self.number()?;
                elements.push(Term::Number(value, place));
                if !self.eat(",") && !self.is("}") {
                    return Err(self.unexpected("`,` or `}`"));
                }
            }
            return Ok(Term::List(elements, self.since(start)));
        }
        if self.ident(0).is_some() {
            return Ok(Term::Name(self.symbol()?));
        }
        Err(self.unexpected("a register such as `0:EAX`, a location or a number"))
    }
}

fn one_or(mut parts: Vec<Prop>, many: fn(Vec<Prop>) -> Prop) -> Prop {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        Some(last) => {
            parts.push(last);
            many(parts)
        }
        None => Prop::True,
    }
}
