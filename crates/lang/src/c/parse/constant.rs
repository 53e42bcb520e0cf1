//! Constants that the grammar needs: sizes of arrays, enumerations, cases, and what `#if` asks. They are computed
//! in their types, as what is computed when the program runs.

use weakspot_core::{BinOp, Expr as CoreExpr, UnOp, Value};

use super::{Parser, Parsing};
use crate::Diagnostic;
use crate::c::ast::{Expr, ExprKind};
use crate::c::types::{Type, TypeKind};
use crate::litmus::c::{Ty, binary, folded, undefined_shift};

impl Parser {
    /// The value of a constant.
    pub(super) fn constant_value(&self, e: &Expr) -> Parsing<Value> {
        Ok(self.constant(e)?.0)
    }

    /// The value of a constant with its type.
    pub(super) fn constant(&self, e: &Expr) -> Parsing<(Value, Ty)> {
        let int = Type::INT.machine();
        Ok(match &e.kind {
            ExprKind::Number(n, ty) => (*n, self.counted_in(ty).machine()),
            ExprKind::SizeOfType(ty) => (ty.size(&self.structs), Type::SIZE.machine()),
            ExprKind::SizeOf(inner) => {
                (self.type_of(inner)?.size(&self.structs), Type::SIZE.machine())
            }
            ExprKind::Cast(ty, inner) if ty.kind == TypeKind::Bool => {
                (Value::from(self.constant(inner)?.0 != 0), ty.machine())
            }
            ExprKind::Cast(ty, inner) if ty.is_number() => {
                let (value, from) = self.constant(inner)?;
                let ty = ty.machine();
                (known(ty.convert(CoreExpr::Const(value), from), e)?, ty)
            }
            ExprKind::Unary(UnOp::Not, inner) => (Value::from(self.constant(inner)?.0 == 0), int),
            ExprKind::Unary(op, inner) => {
                let (value, from) = self.constant(inner)?;
                let ty = from.common(int);
                let value = known(ty.convert(CoreExpr::Const(value), from), e)?;
                (known(ty.wrap(CoreExpr::Const(op.apply(value))), e)?, ty)
            }
            // What does not count need not have a value, such as 1 / 0.
            ExprKind::Binary(op @ (BinOp::And | BinOp::Or), parts) => {
                let decided = (self.constant(&parts.0)?.0 != 0) == (*op == BinOp::Or);
                let value = match decided {
                    true => *op == BinOp::Or,
                    false => self.constant(&parts.1)?.0 != 0,
                };
                (Value::from(value), int)
            }
            ExprKind::Binary(op, parts) => {
                let (l, r) = (self.constant(&parts.0)?, self.constant(&parts.1)?);
                if let Some(why) = undefined_shift(*op, l.1, &CoreExpr::Const(r.0)) {
                    return Err(Diagnostic::new(parts.1.at, why, ""));
                }
                let (value, ty) =
                    binary(*op, (CoreExpr::Const(l.0), l.1), (CoreExpr::Const(r.0), r.1));
                (known(value, e)?, ty)
            }
            ExprKind::Select(parts) => {
                let (yes, no) = (self.constant(&parts.1), self.constant(&parts.2));
                let chosen = if self.constant(&parts.0)?.0 == 0 { no.clone() } else { yes.clone() };
                let (value, from) = chosen?;
                // Nor need what is not chosen.
                let ty = [yes, no].into_iter().flatten().fold(int, |ty, (_, one)| ty.common(one));
                (known(ty.convert(CoreExpr::Const(value), from), e)?, ty)
            }
            _ => return Err(Diagnostic::new(e.at, "this is no constant", "expected a constant")),
        })
    }

    /// Where `#if` asks, all numbers are of the widest type.
    fn counted_in(&self, ty: &Type) -> Type {
        match (self.directive, ty.machine().signed()) {
            (false, _) => ty.clone(),
            (true, true) => Type::LONG,
            (true, false) => Type::SIZE,
        }
    }
}

/// The value of an expression that has no registers.
fn known(value: CoreExpr, e: &Expr) -> Parsing<Value> {
    match folded(value) {
        CoreExpr::Const(value) => Ok(value),
        _ => Err(Diagnostic::new(e.at, "division by zero", "")),
    }
}
