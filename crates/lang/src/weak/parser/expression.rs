//! Expressions, by precedence climbing.

use super::statement::check_place;
use super::*;
use crate::weak::operators::{COMPARISON, OPERATORS};

/// An expression with how deep it is, which bounds the recursion of everything that reads it.
pub(super) struct Deep {
    pub(super) expr: Expr,
    depth: usize,
}

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Result<Expr, Diagnostic> {
        Ok(self.binary(1)?.expr)
    }

    /// Operators that bind at least as tight as `least`.
    pub(super) fn binary(&mut self, least: u8) -> Result<Deep, Diagnostic> {
        let start = self.start();
        let mut left = self.unary()?;
        let mut compared = false;
        while let Some((op, precedence)) = self.operator() {
            if precedence < least {
                break;
            }
            if precedence == COMPARISON && compared {
                return Err(self
                    .error("comparisons do not chain", "expected `&&`, `||` or the end")
                    .help("join them with `&&`"));
            }
            self.advance();
            let right = self.binary(precedence + 1)?;
            let kind = ExprKind::Binary(op, Box::new(left.expr), Box::new(right.expr));
            let depth = left.depth.max(right.depth) + 1;
            if depth + self.depth > DEPTH {
                return Err(self.too_deep());
            }
            compared = precedence == COMPARISON;
            left = Deep { expr: Expr { kind, at: self.since(start) }, depth };
        }
        self.no_word_as_operator()?;
        Ok(left)
    }

    fn operator(&self) -> Option<(BinOp, u8)> {
        let TokenKind::Sign(sign) = self.kind() else { return None };
        if self.ends_line() {
            return None;
        }
        OPERATORS.iter().find(|(s, ..)| s == sign).map(|&(_, op, precedence)| (op, precedence))
    }

    pub(super) fn unary(&mut self) -> Result<Deep, Diagnostic> {
        let start = self.start();
        let TokenKind::Sign(sign @ ("-" | "!" | "~" | "*" | "&")) = *self.kind() else {
            return self.primary();
        };
        self.enter()?;
        self.advance();
        let operand = self.unary()?;
        self.leave();
        let depth = operand.depth + 1;
        let boxed = Box::new(operand.expr);
        let kind = match sign {
            "-" => ExprKind::Unary(UnOp::Neg, boxed),
            "!" => ExprKind::Unary(UnOp::Not, boxed),
            "~" => ExprKind::Unary(UnOp::BitNot, boxed),
            "*" => ExprKind::Deref(boxed),
            _ => {
                check_place(&boxed, "addressed")?;
                ExprKind::AddressOf(boxed)
            }
        };
        Ok(Deep { expr: Expr { kind, at: self.since(start) }, depth })
    }

    fn primary(&mut self) -> Result<Deep, Diagnostic> {
        let start = self.start();
        let (kind, depth) = match self.kind().clone() {
            TokenKind::Int(value) => {
                self.advance();
                (ExprKind::Int(value), 1)
            }
            TokenKind::Word(word @ ("true" | "false")) => {
                self.advance();
                (ExprKind::Bool(word == "true"), 1)
            }
            TokenKind::Word("me") => {
                self.advance();
                (ExprKind::Me, 1)
            }
            TokenKind::Word(word @ ("cas" | "swap" | "fetch_add" | "choose")) => self.call(word)?,
            TokenKind::Name(_) => self.named()?,
            TokenKind::Sign("(") => {
                self.enter()?;
                self.advance();
                self.brackets += 1;
                let inner = self.binary(1)?;
                self.close(")")?;
                self.leave();
                return Ok(inner);
            }
            TokenKind::Word(word) => {
                let message = format!("`{word}` is a reserved word");
                return Err(self.error(message, "expected an expression"));
            }
            _ => return Err(self.unexpected("an expression")),
        };
        Ok(Deep { expr: Expr { kind, at: self.since(start) }, depth })
    }

    /// `x`, `a[i]`, `t.r` or `t[i].r`.
    fn named(&mut self) -> Result<(ExprKind, usize), Diagnostic> {
        self.no_word_as_negation()?;
        let name = self.name("a variable")?;
        self.enter()?;
        let (index, depth) = if !self.ends_line() && self.eat("[") {
            self.brackets += 1;
            let index = self.binary(1)?;
            self.close("]")?;
            (Some(Box::new(index.expr)), index.depth + 1)
        } else {
            (None, 1)
        };
        self.leave();
        if !self.ends_line() && self.eat(".") {
            let register = self.name("a register")?;
            return Ok((ExprKind::Register(name, index, register), depth));
        }
        Ok(match index {
            Some(index) => (ExprKind::Index(name, index), depth),
            None => (ExprKind::Name(name.text), depth),
        })
    }

    /// An update or `choose(l..h)`.
    fn call(&mut self, word: &str) -> Result<(ExprKind, usize), Diagnostic> {
        self.enter()?;
        self.advance();
        if !self.eat("(") {
            return Err(self.error(format!("missing `(` after `{word}`"), "expected `(`"));
        }
        self.brackets += 1;
        if word == "choose" {
            let (low, high) = self.bounds()?;
            self.close(")")?;
            self.leave();
            let depth = low.depth.max(high.depth) + 1;
            return Ok((ExprKind::Choose(Box::new((low.expr, high.expr))), depth));
        }
        let place = self.unary()?;
        check_place(&place.expr, "updated")?;
        let first = self.argument(word)?;
        let mut depth = place.depth.max(first.depth);
        let kind = if word == "cas" {
            let new = self.argument(word)?;
            depth = depth.max(new.depth);
            ExprKind::Cas(Box::new((place.expr, first.expr, new.expr)))
        } else if word == "swap" {
            ExprKind::Swap(Box::new((place.expr, first.expr)))
        } else {
            ExprKind::FetchAdd(Box::new((place.expr, first.expr)))
        };
        self.close(")")?;
        self.leave();
        Ok((kind, depth + 1))
    }

    /// A further argument of an update.
    fn argument(&mut self, word: &str) -> Result<Deep, Diagnostic> {
        if !self.eat(",") {
            let form = match word {
                "cas" => "cas(x, old, new)",
                "swap" => "swap(x, new)",
                _ => "fetch_add(x, amount)",
            };
            return Err(self.unexpected(&format!("`,` and another argument: `{form}`")));
        }
        self.binary(1)
    }
}
