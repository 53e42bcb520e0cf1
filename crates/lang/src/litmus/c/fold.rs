//! Expressions as short as they can be.

use weakspot_core::{BinOp, Expr, UnOp};

/// 0 or 1.
pub(crate) fn truth(e: Expr) -> Expr {
    match &e {
        Expr::Binary(BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le, ..)
        | Expr::Binary(BinOp::Gt | BinOp::Ge | BinOp::And | BinOp::Or, ..)
        | Expr::Unary(UnOp::Not, _) => e,
        _ => folded(Expr::binary(BinOp::Ne, e, Expr::Const(0))),
    }
}

/// The expression, or its value if it has no registers.
pub(crate) fn folded(e: Expr) -> Expr {
    let mut constant = true;
    e.for_each_reg(&mut |_| constant = false);
    match constant.then(|| e.eval(&[])) {
        Some(Ok(value)) => Expr::Const(value),
        _ => e,
    }
}
