//! Constants that the grammar needs: sizes of arrays, enumerations, cases.

use weakspot_core::Value;

use super::{Parser, Parsing};
use crate::Diagnostic;
use crate::c::ast::{Expr, ExprKind};

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
