//! Expressions.

use weakspot_core::{BinOp, Span, UnOp, Value};

use super::{Parser, Parsing};
use crate::c::ast::{Expr, ExprKind};
use crate::c::token::{Kind, bytes};
use crate::c::types::Type;

/// Operators between two operands, with how tight they bind.
const BINARY: [(&str, u8, BinOp); 18] = [
    ("||", 1, BinOp::Or),
    ("&&", 2, BinOp::And),
    ("|", 3, BinOp::BitOr),
    ("^", 4, BinOp::BitXor),
    ("&", 5, BinOp::BitAnd),
    ("==", 6, BinOp::Eq),
    ("!=", 6, BinOp::Ne),
    ("<", 7, BinOp::Lt),
    ("<=", 7, BinOp::Le),
    (">", 7, BinOp::Gt),
    (">=", 7, BinOp::Ge),
    ("<<", 8, BinOp::Shl),
    (">>", 8, BinOp::Sar),
    ("+", 9, BinOp::Add),
    ("-", 9, BinOp::Sub),
    ("*", 10, BinOp::Mul),
    ("/", 10, BinOp::Div),
    ("%", 10, BinOp::Rem),
];

const ASSIGNING: [(&str, BinOp); 10] = [
    ("+=", BinOp::Add),
    ("-=", BinOp::Sub),
    ("*=", BinOp::Mul),
    ("/=", BinOp::Div),
    ("%=", BinOp::Rem),
    ("&=", BinOp::BitAnd),
    ("|=", BinOp::BitOr),
    ("^=", BinOp::BitXor),
    ("<<=", BinOp::Shl),
    (">>=", BinOp::Sar),
];

/// Names that stand for numbers.
fn known(name: &str) -> Option<(Value, Type)> {
    let int = |n| Some((n, Type::INT));
    match name {
        "NULL" => Some((0, Type::VOID.pointer())),
        "true" | "EXIT_FAILURE" | "thrd_busy" | "mtx_recursive" => int(1),
        "thrd_error" | "mtx_timed" => int(2),
        "PTHREAD_BARRIER_SERIAL_THREAD" => int(-1),
        "false"
        | "EXIT_SUCCESS"
        | "PTHREAD_MUTEX_INITIALIZER"
        | "PTHREAD_COND_INITIALIZER"
        | "ATOMIC_FLAG_INIT" => int(0),
        "PTHREAD_PROCESS_PRIVATE" | "thrd_success" | "mtx_plain" => int(0),
        "INT_MAX" | "INT32_MAX" => int(Value::from(i32::MAX)),
        "INT_MIN" | "INT32_MIN" => int(Value::from(i32::MIN)),
        "UINT_MAX" | "UINT32_MAX" => Some((Value::from(u32::MAX), Type::int(4, false))),
        "LONG_MAX" | "INT64_MAX" | "INTPTR_MAX" => Some((Value::MAX, Type::LONG)),
        "LONG_MIN" | "INT64_MIN" | "INTPTR_MIN" => Some((Value::MIN, Type::LONG)),
        "ULONG_MAX" | "UINT64_MAX" | "SIZE_MAX" | "UINTPTR_MAX" => Some((-1, Type::SIZE)),
        _ => None,
    }
}

impl Parser {
    /// An expression, with commas.
    pub(super) fn expression(&mut self) -> Parsing<Expr> {
        let start = self.span();
        let mut left = self.assignment()?;
        let mut operators = 0;
        while self.take(",") {
            operators += 1;
            self.short(operators)?;
            let right = self.assignment()?;
            left = self.made(start, ExprKind::Comma(Box::new((left, right))));
        }
        Ok(left)
    }

    fn made(&self, start: Span, kind: ExprKind) -> Expr {
        Expr { kind, at: self.since(start) }
    }

    pub(super) fn assignment(&mut self) -> Parsing<Expr> {
        self.nested(|p| {
            let start = p.span();
            let left = p.conditional()?;
            let op = match p.peek() {
                Kind::Sign("=") => None,
                Kind::Sign(s) => match ASSIGNING.iter().find(|(sign, _)| sign == s) {
                    Some((_, op)) => Some(*op),
                    None => return Ok(left),
                },
                _ => return Ok(left),
            };
            p.at += 1;
            let right = p.assignment()?;
            Ok(p.made(start, ExprKind::Assign(op, Box::new((left, right)))))
        })
    }

    fn conditional(&mut self) -> Parsing<Expr> {
        let start = self.span();
        let condition = self.binary(0)?;
        if !self.take("?") {
            return Ok(condition);
        }
        let yes = self.nested(Parser::expression)?;
        self.expect(":")?;
        let no = self.nested(Parser::conditional)?;
        Ok(self.made(start, ExprKind::Select(Box::new((condition, yes, no)))))
    }

    /// Operators that bind tighter than `least`.
    fn binary(&mut self, least: u8) -> Parsing<Expr> {
        let start = self.span();
        let mut left = self.unary()?;
        for operators in 0.. {
            self.short(operators)?;
            let Kind::Sign(sign) = self.peek() else { return Ok(left) };
            let found = BINARY.iter().find(|(s, level, _)| s == sign && *level > least);
            let Some((_, level, op)) = found else { return Ok(left) };
            self.at += 1;
            let right = self.nested(|p| p.binary(*level))?;
            left = self.made(start, ExprKind::Binary(*op, Box::new((left, right))));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsing<Expr> {
        self.nested(Parser::unary_here)
    }

    fn unary_here(&mut self) -> Parsing<Expr> {
        self.take_word("__extension__");
        let start = self.span();
        let Kind::Sign(sign) = self.peek() else { return self.sized_or_postfix() };
        let sign = *sign;
        if !["-", "+", "!", "~", "*", "&", "++", "--", "("].contains(&sign) {
            return self.postfix();
        }
        if sign == "(" {
            return self.cast_or_postfix();
        }
        self.at += 1;
        let inner = Box::new(self.unary()?);
        let kind = match sign {
            "-" => ExprKind::Unary(UnOp::Neg, inner),
            "!" => ExprKind::Unary(UnOp::Not, inner),
            "~" => ExprKind::Unary(UnOp::BitNot, inner),
            "*" => ExprKind::Deref(inner),
            "&" => ExprKind::AddressOf(inner),
            "++" => ExprKind::Step { target: inner, by: 1, old: false },
            "--" => ExprKind::Step { target: inner, by: -1, old: false },
            _ => return Ok(*inner),
        };
        Ok(self.made(start, kind))
    }

    fn sized_or_postfix(&mut self) -> Parsing<Expr> {
        let start = self.span();
        if !self.take_word("sizeof") {
            return self.postfix();
        }
        if self.is("(") {
            self.at += 1;
            if self.is_type() {
                let ty = self.type_name()?;
                self.expect(")")?;
                let kind = match self.is("{") {
                    true => ExprKind::SizeOf(Box::new(self.literal_of(start, ty)?)),
                    false => ExprKind::SizeOfType(ty),
                };
                return Ok(self.made(start, kind));
            }
            self.at -= 1;
        }
        let inner = Box::new(self.unary()?);
        Ok(self.made(start, ExprKind::SizeOf(inner)))
    }

    fn cast_or_postfix(&mut self) -> Parsing<Expr> {
        let start = self.span();
        self.at += 1;
        if !self.is_type() {
            self.at -= 1;
            return self.postfix();
        }
        let ty = self.type_name()?;
        self.expect(")")?;
        if self.is("{") {
            return self.literal_of(start, ty);
        }
        let inner = Box::new(self.unary()?);
        Ok(self.made(start, ExprKind::Cast(ty, inner)))
    }

    /// `{1, 2}` behind a type in parentheses, and what is behind that.
    fn literal_of(&mut self, start: Span, ty: Type) -> Parsing<Expr> {
        let kind = self.nested(|p| p.literal(start, ty))?;
        let literal = self.made(start, kind);
        self.postfix_of(start, literal)
    }

    fn postfix(&mut self) -> Parsing<Expr> {
        let start = self.span();
        let e = self.primary()?;
        self.postfix_of(start, e)
    }

    /// Calls, indices and members behind an expression.
    fn postfix_of(&mut self, start: Span, mut e: Expr) -> Parsing<Expr> {
        for operators in 0.. {
            self.short(operators)?;
            let kind = if self.take("(") {
                let mut args = Vec::new();
                while !self.take(")") {
                    args.push(self.assignment()?);
                    if !self.take(",") && !self.is(")") {
                        return Err(self.unexpected("`,` or `)`"));
                    }
                }
                ExprKind::Call(Box::new(e), args)
            } else if self.take("[") {
                let index = self.expression()?;
                self.expect("]")?;
                ExprKind::Index(Box::new((e, index)))
            } else if self.take(".") {
                ExprKind::Member(Box::new(e), self.name()?.0)
            } else if self.take("->") {
                let pointed = Expr { at: e.at, kind: ExprKind::Deref(Box::new(e)) };
                ExprKind::Member(Box::new(pointed), self.name()?.0)
            } else if self.take("++") {
                ExprKind::Step { target: Box::new(e), by: 1, old: true }
            } else if self.take("--") {
                ExprKind::Step { target: Box::new(e), by: -1, old: true }
            } else {
                return Ok(e);
            };
            e = self.made(start, kind);
        }
        Ok(e)
    }

    fn primary(&mut self) -> Parsing<Expr> {
        let start = self.span();
        let kind = match self.peek().clone() {
            Kind::Number { value, unsigned, long, decimal } => {
                let ty = match () {
                    () if !unsigned && !long && i32::try_from(value).is_ok() => Type::INT,
                    () if !long && (unsigned || !decimal) && u32::try_from(value).is_ok() => {
                        Type::int(4, false)
                    }
                    () if !unsigned && i64::try_from(value).is_ok() => Type::LONG,
                    () => Type::SIZE,
                };
                ExprKind::Number(value as Value, ty)
            }
            Kind::Text(text) => {
                let mut all = bytes(&text);
                while let Kind::Text(text) = self.ahead(1) {
                    all.extend(bytes(text));
                    self.at += 1;
                }
                ExprKind::Text(all)
            }
            Kind::Name(name) if name == "offsetof" || name == "__builtin_offsetof" => {
                self.at += 1;
                self.offset_of()?
            }
            Kind::Name(name) => {
                if let Some((value, ty)) = self.enums.get(&name) {
                    ExprKind::Number(*value, ty.clone())
                } else if let Some((value, ty)) = known(&name) {
                    ExprKind::Number(value, ty)
                } else {
                    ExprKind::Name(name)
                }
            }
            Kind::Sign("(") => {
                self.at += 1;
                if self.is("{") {
                    let kind = self.statements()?;
                    self.expect(")")?;
                    return Ok(self.made(start, kind));
                }
                let inner = self.nested(Parser::expression)?;
                self.expect(")")?;
                return Ok(Expr { at: self.since(start), ..inner });
            }
            _ => return Err(self.unexpected("an expression")),
        };
        self.at += 1;
        Ok(self.made(start, kind))
    }
}
