//! Expressions, by precedence climbing.

use super::statement::check_place;
use super::*;
use crate::weak::operators::{COMPARISON, OPERATORS};

/// An expression with how deep it is, which bounds the recursion of everything that reads it.
pub(super) struct Deep {
    pub(super) expr: Expr,
    depth: usize,
}

/// Operands with operators of one precedence between them.
struct Chain {
    first: Deep,
    /// Each with the operator before it, and the text from the beginning to its end.
    rest: Vec<(BinOp, Deep, At)>,
}

impl Chain {
    /// As it is written: the first two operands are put together first.
    fn left_to_right(self) -> Deep {
        self.rest.into_iter().fold(self.first, |left, (op, right, at)| joined(op, left, right, at))
    }

    /// The same for a long chain that is associative, as a tree that is as flat as it can be. The operands keep their
    /// order, in which variables are read.
    fn balanced(self) -> Deep {
        let joins = self.rest.first().map_or(BinOp::Add, |&(op, ..)| associative(op).unwrap_or(op));
        let count = self.rest.len() + 1;
        let mut rest = self.rest.into_iter().map(|(op, operand, _)| match op {
            BinOp::Sub => {
                let Deep { expr, depth } = operand;
                let at = expr.at;
                let kind = ExprKind::Unary(UnOp::Neg, Box::new(expr));
                Deep { expr: Expr { kind, at }, depth: depth + 1 }
            }
            _ => operand,
        });
        tree(joins, self.first, &mut rest, count)
    }
}

/// The associative operator that joins operands between which there is `op`, if there is one: a difference is a sum
/// with a negated operand.
fn associative(op: BinOp) -> Option<BinOp> {
    match op {
        BinOp::Add | BinOp::Sub => Some(BinOp::Add),
        BinOp::Mul | BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor | BinOp::And | BinOp::Or => {
            Some(op)
        }
        _ => None,
    }
}

/// So many operands, the first of which is `first`, as a tree with halves of the same size.
fn tree(op: BinOp, first: Deep, rest: &mut dyn Iterator<Item = Deep>, count: usize) -> Deep {
    if count < 2 {
        return first;
    }
    let left = tree(op, first, rest, count / 2);
    let Some(next) = rest.next() else { return left };
    let right = tree(op, next, rest, count - count / 2);
    let (At(from), At(to)) = (left.expr.at, right.expr.at);
    joined(op, left, right, At(Span::new(from.start as usize, to.end as usize)))
}

fn joined(op: BinOp, left: Deep, right: Deep, at: At) -> Deep {
    let depth = left.depth.max(right.depth) + 1;
    let kind = ExprKind::Binary(op, Box::new(left.expr), Box::new(right.expr));
    Deep { expr: Expr { kind, at }, depth }
}

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Result<Expr, Diagnostic> {
        Ok(self.binary(1)?.expr)
    }

    /// Operators that bind at least as tight as `least`.
    pub(super) fn binary(&mut self, least: u8) -> Result<Deep, Diagnostic> {
        let start = self.start();
        let mut left = self.unary()?;
        while let Some((_, precedence)) = self.operator() {
            if precedence < least {
                break;
            }
            left = self.chain(start, left, precedence)?;
        }
        self.no_word_as_operator()?;
        Ok(left)
    }

    /// All operators of one precedence that follow on `first`, which begins at `start`.
    fn chain(&mut self, start: usize, first: Deep, precedence: u8) -> Result<Deep, Diagnostic> {
        let mut chain = Chain { first, rest: Vec::new() };
        let mut depth = chain.first.depth;
        let mut joins = None;
        let mut is_associative = true;
        while let Some((op, _)) = self.operator().filter(|&(_, p)| p == precedence) {
            if precedence == COMPARISON && !chain.rest.is_empty() {
                return Err(self
                    .error("comparisons do not chain", "expected `&&`, `||` or the end")
                    .help("join them with `&&`"));
            }
            self.advance();
            let operand = self.binary(precedence + 1)?;
            depth = depth.max(operand.depth) + 1;
            let join = associative(op);
            is_associative &= join.is_some() && *joins.get_or_insert(join) == join;
            chain.rest.push((op, operand, self.since(start)));
            if depth + self.depth > DEPTH && !is_associative {
                return Err(self.too_deep());
            }
        }
        if depth + self.depth <= DEPTH {
            return Ok(chain.left_to_right());
        }
        let flat = chain.balanced();
        if flat.depth + self.depth > DEPTH {
            return Err(self.too_deep());
        }
        Ok(flat)
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
