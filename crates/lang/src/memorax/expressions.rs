//! Tokens to expressions. Sums and conjunctions lean to the left, `not` takes one atom, `(` groups
//! numbers and `[` groups truth values.

use super::lexer::TokenKind;
use super::parse::{MAX_DEPTH, Parser};
use super::syntax::{BoolExpr, BoolKind, Comparison, Expr, ExprKind};
use crate::Diagnostic;

/// Longer expressions are refused: a long sum is a deep tree.
const MAX_PARTS: usize = 1000;

impl Parser<'_> {
    /// A sum.
    pub(super) fn expr(&mut self) -> Result<Expr, Diagnostic> {
        let first = self.peek();
        let mut left = self.unit()?;
        loop {
            let make = if self.eat("+").is_some() {
                ExprKind::Add
            } else if self.eat("-").is_some() {
                ExprKind::Sub
            } else {
                return Ok(left);
            };
            let right = self.unit()?;
            let at = self.since(first);
            left = Expr { kind: make(Box::new(left), Box::new(right)), at };
        }
    }

    fn unit(&mut self) -> Result<Expr, Diagnostic> {
        let first = self.peek();
        self.enter()?;
        let kind = match first.kind {
            TokenKind::Register => ExprKind::Reg(self.name().text),
            TokenKind::Number => ExprKind::Int(self.integer("a number")?),
            _ if first.text == "-" => {
                self.next();
                match self.unit()?.kind {
                    ExprKind::Int(value) => ExprKind::Int(-value),
                    kind => {
                        let at = self.since(first);
                        ExprKind::Neg(Box::new(Expr { kind, at }))
                    }
                }
            }
            _ if first.text == "(" => {
                self.next();
                let inner = self.expr()?;
                let next = self.peek();
                if Comparison::from_symbol(next.text).is_some() {
                    return Err(self
                        .unexpected("`)`")
                        .help("comparisons are grouped by `[` and `]`, not by parentheses"));
                }
                self.close(")", first)?;
                inner.kind
            }
            _ => return Err(self.no_expression()),
        };
        self.depth -= 1;
        Ok(Expr { kind, at: self.since(first) })
    }

    fn no_expression(&self) -> Diagnostic {
        let token = self.peek();
        let wanted = "a register, a number or `(`";
        match (token.kind, token.text) {
            (TokenKind::Name, name) => Diagnostic::new(
                token.span,
                format!("`{name}` in an expression"),
                format!("expected {wanted}"),
            )
            .help(format!("read memory into a register first: `read: $r := {name}`")),
            (_, "me" | "other" | "@") => Diagnostic::new(
                token.span,
                format!("`{}` is reserved but has no meaning, also in Memorax", token.text),
                format!("expected {wanted}"),
            ),
            _ => self.unexpected(wanted),
        }
    }

    /// A disjunction.
    pub(super) fn bool_expr(&mut self) -> Result<BoolExpr, Diagnostic> {
        self.bool_chain("||", BoolKind::Or, |parser| {
            parser.bool_chain("&&", BoolKind::And, Parser::bool_atom)
        })
    }

    fn bool_chain(
        &mut self,
        symbol: &str,
        make: fn(Box<BoolExpr>, Box<BoolExpr>) -> BoolKind,
        part: fn(&mut Self) -> Result<BoolExpr, Diagnostic>,
    ) -> Result<BoolExpr, Diagnostic> {
        let first = self.peek();
        let mut left = part(self)?;
        while self.eat(symbol).is_some() {
            let right = part(self)?;
            left = BoolExpr { kind: make(Box::new(left), Box::new(right)), at: self.since(first) };
        }
        Ok(left)
    }

    /// A comparison, a constant or something in brackets, perhaps after `not`.
    fn bool_atom(&mut self) -> Result<BoolExpr, Diagnostic> {
        let first = self.peek();
        self.enter()?;
        let negated = self.eat("not").is_some();
        let inner_first = self.peek();
        let mut kind = if self.eat("true").is_some() {
            BoolKind::Const(true)
        } else if self.eat("false").is_some() {
            BoolKind::Const(false)
        } else if let Some(open) = self.eat("[") {
            let inner = self.bool_expr()?;
            self.close("]", open)?;
            inner.kind
        } else if self.peek().text == "not" {
            return Err(self
                .unexpected("a comparison, `true`, `false` or `[`")
                .help("write `not [not ..]`"));
        } else {
            let left = self.expr()?;
            let operator = self.peek();
            let Some(comparison) = Comparison::from_symbol(operator.text) else {
                return Err(self.unexpected("`=`, `!=`, `<`, `>`, `<=` or `>=`"));
            };
            self.next();
            BoolKind::Compare(comparison, left, self.expr()?)
        };
        if negated {
            let at = self.since(inner_first);
            kind = BoolKind::Not(Box::new(BoolExpr { kind, at }));
        }
        self.depth -= 1;
        Ok(BoolExpr { kind, at: self.since(first) })
    }

    fn enter(&mut self) -> Result<(), Diagnostic> {
        self.depth += 1;
        self.parts += 1;
        let message = if self.depth > MAX_DEPTH {
            format!("expressions that are nested more than {MAX_DEPTH} deep")
        } else if self.parts > MAX_PARTS {
            format!("an expression of more than {MAX_PARTS} parts")
        } else {
            return Ok(());
        };
        Err(Diagnostic::new(self.peek().span, message, "").help("split it over several statements"))
    }
}
