//! Constants that the grammar needs: sizes of arrays, enumerations, cases.

use weakspot_core::{Expr as CoreExpr, Value};

use super::{Parser, Parsing};
use crate::Diagnostic;
use crate::c::ast::{Expr, ExprKind};
use crate::c::types::Type;
use crate::litmus::c::{Ty, undefined_shift};

impl Parser {
    /// The value of a constant.
    pub(super) fn constant_value(&self, e: &Expr) -> Parsing<Value> {
        let value = |e: &Expr| self.constant_value(e);
        Ok(match &e.kind {
            ExprKind::Number(n, _) => *n,
            ExprKind::SizeOfType(ty) => ty.size(&self.structs),
            ExprKind::Cast(ty, inner) if ty.is_number() => ty.machine().view().apply(value(inner)?),
            ExprKind::Unary(op, inner) => op.apply(value(inner)?),
            ExprKind::Binary(op, parts) => {
                let (l, r) = (value(&parts.0)?, value(&parts.1)?);
                let (left, count) = (machine_type(&parts.0), CoreExpr::Const(r));
                if let Some(why) = undefined_shift(*op, left, &count) {
                    return Err(Diagnostic::new(parts.1.at, why, ""));
                }
                op.apply(l, r).map_err(|_| Diagnostic::new(e.at, "division by zero", ""))?
            }
            ExprKind::Select(parts) => match value(&parts.0)? {
                0 => value(&parts.2)?,
                _ => value(&parts.1)?,
            },
            _ => return Err(Diagnostic::new(e.at, "this is no constant", "expected a constant")),
        })
    }
}

/// The type of a constant, once it is computed with.
fn machine_type(e: &Expr) -> Ty {
    let int = Type::INT.machine();
    match &e.kind {
        ExprKind::Number(_, ty) | ExprKind::Cast(ty, _) => ty.machine().common(int),
        ExprKind::SizeOfType(_) => Type::SIZE.machine(),
        ExprKind::Unary(_, inner) => machine_type(inner),
        ExprKind::Binary(_, parts) => machine_type(&parts.0).common(machine_type(&parts.1)),
        ExprKind::Select(parts) => machine_type(&parts.1).common(machine_type(&parts.2)),
        _ => int,
    }
}
