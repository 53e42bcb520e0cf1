//! Tokens to the syntax tree.

mod constant;
mod declare;
mod expression;
mod statement;
mod typing;

use std::collections::HashMap;

use weakspot_core::{Span, Value};

use super::ast::{Block, Function, ObjectId, Stmt, StmtKind, Unit};
use super::token::{Kind, Token};
use super::types::{Struct, Type, TypeKind};
use crate::Diagnostic;

pub(super) type Parsing<T> = Result<T, Diagnostic>;

/// What to do with a program that is more than the subset.
pub(super) const ELSEWHERE: &str = "`weakspot run` explores compiled programs, with all that C has";

/// How deep statements and expressions nest.
const DEEPEST: u32 = 100;

/// Operators of one kind in a row.
const LONGEST: usize = 500;

/// The syntax tree of a text after preprocessing.
pub(super) fn unit(tokens: Vec<Token>) -> Parsing<Unit> {
    Parser::new(tokens).unit()
}

/// The value of the tokens, which are a constant and an end.
pub(super) fn constant(tokens: Vec<Token>) -> Parsing<Value> {
    let mut parser = Parser { directive: true, ..Parser::new(tokens) };
    let e = parser.expression()?;
    match parser.peek() {
        Kind::End => parser.constant_value(&e),
        _ => Err(parser.unexpected("the end of the line")),
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: u32,
    structs: Vec<Struct>,
    /// The numbers of structs with names.
    tags: HashMap<String, usize>,
    typedefs: HashMap<String, Type>,
    /// The constants of enumerations.
    enums: HashMap<String, (Value, Type)>,
    /// The types of those that have names.
    enum_types: HashMap<String, Type>,
    /// The types of variables, those of the innermost block last.
    scopes: Vec<HashMap<String, Type>>,
    /// What functions give.
    results: HashMap<String, Type>,
    /// How many objects there were.
    objects: ObjectId,
    /// Whether this is what an `#if` asks.
    directive: bool,
}

impl Parser {
    fn new(tokens: Vec<Token>) -> Parser {
        Parser {
            tokens,
            at: 0,
            depth: 0,
            structs: Vec::new(),
            tags: HashMap::new(),
            typedefs: HashMap::new(),
            enums: HashMap::new(),
            enum_types: HashMap::new(),
            scopes: vec![HashMap::new()],
            results: HashMap::new(),
            objects: 0,
            directive: false,
        }
    }

    /// The number of another object.
    fn object(&mut self) -> ObjectId {
        self.objects += 1;
        self.objects
    }

    fn token(&self) -> &Token {
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn peek(&self) -> &Kind {
        &self.token().kind
    }

    /// The token `n` places ahead.
    fn ahead(&self, n: usize) -> &Kind {
        &self.tokens[(self.at + n).min(self.tokens.len() - 1)].kind
    }

    fn span(&self) -> Span {
        self.token().span
    }

    /// The text from `start` to the last token.
    fn since(&self, start: Span) -> Span {
        let last = self.tokens[self.at.saturating_sub(1)].span;
        Span { start: start.start, end: last.end.max(start.end) }
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.peek(), Kind::Sign(s) if *s == sign)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Kind::Name(n) if n == word)
    }

    fn take(&mut self, sign: &str) -> bool {
        let found = self.is(sign);
        self.at += usize::from(found);
        found
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &str) -> Parsing<()> {
        if self.take(sign) { Ok(()) } else { Err(self.unexpected(&format!("`{sign}`"))) }
    }

    fn name(&mut self) -> Parsing<(String, Span)> {
        let span = self.span();
        match self.peek() {
            Kind::Name(name) => {
                let name = name.clone();
                self.at += 1;
                Ok((name, span))
            }
            _ => Err(self.unexpected("a name")),
        }
    }

    fn unexpected(&self, expected: &str) -> Diagnostic {
        let found = match self.peek() {
            Kind::End => "the text ends here".to_owned(),
            Kind::Name(n) => format!("unexpected `{n}`"),
            Kind::Sign(s) => format!("unexpected `{s}`"),
            Kind::Number { value, .. } => format!("unexpected `{value}`"),
            Kind::Text(_) => "unexpected text in quotes".to_owned(),
        };
        Diagnostic::new(self.span(), found, format!("expected {expected}"))
    }

    fn refused(&self, span: Span, what: &str) -> Diagnostic {
        Diagnostic::new(span, format!("{what} not supported here"), "").help(ELSEWHERE)
    }

    /// Refuses a row of operators that is too long: its tree would be too deep.
    fn short(&self, operators: usize) -> Parsing<()> {
        if operators < LONGEST {
            return Ok(());
        }
        let message = format!("more than {LONGEST} operators in a row");
        Err(Diagnostic::new(self.span(), message, "expected parts of it in variables"))
    }

    /// Does something one level deeper.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Parser) -> Parsing<T>) -> Parsing<T> {
        if self.depth >= DEEPEST {
            let message = format!("nested more than {DEEPEST} deep");
            return Err(Diagnostic::new(self.span(), message, ""));
        }
        self.depth += 1;
        let found = parse(self);
        self.depth -= 1;
        found
    }

    fn unit(&mut self) -> Parsing<Unit> {
        let mut globals = Vec::new();
        let mut functions: Vec<Function> = Vec::new();
        while *self.peek() != Kind::End {
            if self.take(";") || self.static_assert()? {
                continue;
            }
            let specifiers = self.specifiers()?;
            if self.take(";") {
                continue;
            }
            loop {
                let declared = self.declarator(specifiers.ty.clone())?;
                if let Some(params) = declared.params {
                    self.results.insert(declared.name.clone(), declared.ty.clone());
                    if self.is("{") {
                        let body = self.in_scope(|p| {
                            params.iter().for_each(|v| p.declare(&v.name, &v.ty));
                            p.block()
                        })?;
                        if functions.iter().any(|f| f.name == declared.name) {
                            let message = format!("function `{}` is defined twice", declared.name);
                            return Err(Diagnostic::new(declared.at, message, ""));
                        }
                        functions.push(Function {
                            name: declared.name,
                            at: declared.at,
                            params,
                            result: declared.ty,
                            body,
                        });
                        break;
                    }
                } else if specifiers.is_typedef {
                    self.typedefs.insert(declared.name, declared.ty);
                } else {
                    let variable = self.variable(&specifiers, declared)?;
                    globals.push(variable);
                }
                if self.take(",") {
                    continue;
                }
                self.expect(";")?;
                break;
            }
        }
        let structs = std::mem::take(&mut self.structs);
        Ok(Unit { structs, globals, functions })
    }

    /// Skips an assertion about constants, which the compiler checks.
    fn static_assert(&mut self) -> Parsing<bool> {
        if !self.is_word("_Static_assert") && !self.is_word("static_assert") {
            return Ok(false);
        }
        self.at += 1;
        self.skip_parens()?;
        self.expect(";")?;
        Ok(true)
    }

    /// Skips what stands in parentheses.
    fn skip_parens(&mut self) -> Parsing<()> {
        self.expect("(")?;
        let mut depth = 1;
        while depth > 0 {
            match self.peek() {
                Kind::Sign("(") => depth += 1,
                Kind::Sign(")") => depth -= 1,
                Kind::End => return Err(self.unexpected("`)`")),
                _ => {}
            }
            self.at += 1;
        }
        Ok(())
    }

    fn block(&mut self) -> Parsing<Block> {
        self.in_scope(Parser::block_here)
    }

    fn block_here(&mut self) -> Parsing<Block> {
        self.expect("{")?;
        let mut stmts = Vec::new();
        while !self.is("}") {
            if *self.peek() == Kind::End {
                return Err(self.unexpected("`}`"));
            }
            stmts.push(self.nested(Parser::statement)?);
        }
        let close = self.token();
        let close = (!close.expanded).then_some(close.span);
        self.at += 1;
        Ok(Block { stmts, close })
    }

    /// A statement of this kind that began with the token `first`.
    fn stmt(&self, first: usize, kind: StmtKind) -> Stmt {
        let (start, last) = (&self.tokens[first], &self.tokens[self.at.saturating_sub(1)]);
        // A statement may begin with a macro, but not inside of one.
        let inside = |t: &Token, next: Option<&Token>| {
            t.expanded && next.is_some_and(|n| n.expanded && n.span == t.span)
        };
        let before = first.checked_sub(1).map(|i| &self.tokens[i]);
        let expanded = inside(start, before) || inside(last, self.tokens.get(self.at));
        Stmt { kind, at: self.since(start.span), expanded }
    }

    fn is_void(ty: &Type) -> bool {
        ty.kind == TypeKind::Void
    }
}
