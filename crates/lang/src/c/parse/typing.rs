//! Types that the grammar needs: what `typeof` and `sizeof` stand for, and where members are.

use std::collections::HashMap;

use weakspot_core::{BinOp, Span, UnOp, Value};

use super::{Parser, Parsing};
use crate::Diagnostic;
use crate::c::ast::{Block, Expr, ExprKind, StmtKind};
use crate::c::token::Kind;
use crate::c::types::{Type, TypeKind};
use crate::suggest::did_you_mean;

impl Parser {
    /// Parses what has names of its own.
    pub(super) fn in_scope<T>(
        &mut self,
        parse: impl FnOnce(&mut Parser) -> Parsing<T>,
    ) -> Parsing<T> {
        self.scopes.push(HashMap::new());
        let found = parse(self);
        self.scopes.pop();
        found
    }

    /// A variable has this type from here on.
    pub(super) fn declare(&mut self, name: &str, ty: &Type) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned(), ty.clone());
        }
    }

    /// `typeof (e)` or `typeof (type)`; the word was read.
    pub(super) fn type_of_something(&mut self) -> Parsing<Type> {
        self.expect("(")?;
        let ty = match self.is_type() {
            true => self.type_name()?,
            false => {
                let e = self.nested(Parser::expression)?;
                // As gcc does: what is declared so is not atomic.
                Type { atomic: false, ..self.type_of(&e)? }
            }
        };
        if !self.is(")") {
            return Err(self.unexpected("`)`"));
        }
        Ok(ty)
    }

    /// The type of an expression, which is not evaluated.
    pub(super) fn type_of(&self, e: &Expr) -> Parsing<Type> {
        let unknown = || {
            let message = "the type of this is not known here";
            Diagnostic::new(e.at, message, "").help(super::ELSEWHERE)
        };
        Ok(match &e.kind {
            ExprKind::Number(_, ty) | ExprKind::Cast(ty, _) | ExprKind::Literal(_, ty, _) => {
                ty.clone()
            }
            ExprKind::Text(text) => Type::text(text),
            ExprKind::Name(name) => {
                let found = self.scopes.iter().rev().find_map(|scope| scope.get(name));
                found.cloned().ok_or_else(unknown)?
            }
            ExprKind::Call(f, _) => match &f.kind {
                ExprKind::Name(name) => self.results.get(name).cloned().ok_or_else(unknown)?,
                _ => return Err(unknown()),
            },
            ExprKind::Member(inner, name) => {
                let TypeKind::Struct(s) = self.type_of(inner)?.kind else { return Err(unknown()) };
                self.member(s, (name, e.at))?.1
            }
            ExprKind::Index(both) => {
                let (left, right) = (self.type_of(&both.0)?, self.type_of(&both.1)?);
                let array = if left.is_number() { right } else { left };
                array.decayed().pointee().cloned().ok_or_else(unknown)?
            }
            ExprKind::Deref(inner) => {
                self.type_of(inner)?.decayed().pointee().cloned().ok_or_else(unknown)?
            }
            ExprKind::AddressOf(inner) => self.type_of(inner)?.pointer(),
            ExprKind::Unary(UnOp::Not, _) => Type::INT,
            ExprKind::Unary(_, inner) => self.common(&self.type_of(inner)?, &Type::INT),
            ExprKind::Binary(op, both) => {
                let (left, right) =
                    (self.type_of(&both.0)?.decayed(), self.type_of(&both.1)?.decayed());
                match (op, left.pointee().is_some(), right.pointee().is_some()) {
                    (BinOp::Add | BinOp::Sub, true, false) => left,
                    (BinOp::Add, false, true) => right,
                    (BinOp::Sub, true, true) => Type::LONG,
                    (BinOp::Shl | BinOp::Sar | BinOp::Shr, ..) => self.common(&left, &Type::INT),
                    (BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div | BinOp::Rem, ..)
                    | (BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor, ..) => {
                        self.common(&left, &right)
                    }
                    _ => Type::INT,
                }
            }
            ExprKind::Select(all) => {
                let (left, right) = (self.type_of(&all.1)?, self.type_of(&all.2)?);
                Type::of_either(left, right)
            }
            ExprKind::Assign(_, both) => Type { atomic: false, ..self.type_of(&both.0)? },
            ExprKind::Step { target, .. } => Type { atomic: false, ..self.type_of(target)? },
            ExprKind::Comma(both) => self.type_of(&both.1)?,
            ExprKind::Statements(_, ty) => ty.clone().ok_or_else(unknown)?,
            ExprKind::SizeOfType(_) | ExprKind::SizeOf(_) => Type::SIZE,
        })
    }

    fn common(&self, a: &Type, b: &Type) -> Type {
        Type::of_machine(a.machine().common(b.machine()))
    }

    /// The statements of `({ ... })`, whose parenthesis was read.
    pub(super) fn statements(&mut self) -> Parsing<ExprKind> {
        self.in_scope(|p| {
            let block = p.nested(Parser::block_here)?;
            let ty = p.last_type(&block);
            Ok(ExprKind::Statements(block.into(), ty))
        })
    }

    fn last_type(&self, block: &Block) -> Option<Type> {
        match &block.stmts.last()?.kind {
            StmtKind::Do(e) => self.type_of(e).ok(),
            _ => None,
        }
    }

    /// `offsetof(type, member)`; the word was read.
    pub(super) fn offset_of(&mut self) -> Parsing<ExprKind> {
        self.expect("(")?;
        let mut ty = self.type_name()?;
        self.expect(",")?;
        let mut offset: Value = 0;
        loop {
            let TypeKind::Struct(s) = ty.kind else {
                return Err(Diagnostic::new(self.span(), "this is no member of a struct", ""));
            };
            let (name, at) = self.name()?;
            let (by, member) = self.member(s, (&name, at))?;
            (offset, ty) = (offset + by, member);
            while self.take("[") {
                let e = self.expression()?;
                let index = self.constant_value(&e)?;
                let TypeKind::Array(of, _) = ty.kind else {
                    return Err(Diagnostic::new(e.at, "this is no array", ""));
                };
                let by = index.saturating_mul(of.size(&self.structs));
                (offset, ty) = (offset.saturating_add(by), Type::clone(&of));
                self.expect("]")?;
            }
            if !self.take(".") {
                break;
            }
        }
        // The closing parenthesis is taken by who asked.
        match self.peek() {
            Kind::Sign(")") => Ok(ExprKind::Number(offset, Type::SIZE)),
            _ => Err(self.unexpected("`)`")),
        }
    }

    /// Where a member of a struct is, and its type.
    fn member(&self, s: usize, (name, at): (&str, Span)) -> Parsing<(Value, Type)> {
        let whole = &self.structs[s];
        let Some(path) = whole.path(name, &self.structs) else {
            let message = format!("`{}` has no member `{name}`", whole.describe());
            let known = whole.fields.iter().flatten().map(|f| f.name.as_str());
            return Err(did_you_mean(Diagnostic::new(at, message, ""), name, known));
        };
        let (mut offset, mut ty) = (0, Type::plain(TypeKind::Struct(s)));
        for index in path {
            let TypeKind::Struct(s) = ty.kind else { break };
            if let Some(field) = self.structs[s].fields.iter().flatten().nth(index) {
                (offset, ty) = (offset + field.offset, field.ty.clone());
            }
        }
        Ok((offset, ty))
    }
}
