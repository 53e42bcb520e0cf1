//! Long conjunctions and disjunctions as expressions that are not deep.

use weakspot_core::{BinOp, Expr, Value};

/// The operands of an associative operator as a tree that is as flat as it can be; `empty` if
/// there are none.
pub(crate) fn balanced(op: BinOp, mut operands: Vec<Expr>, empty: Value) -> Expr {
    while operands.len() > 1 {
        let mut pairs = Vec::with_capacity(operands.len().div_ceil(2));
        let mut rest = operands.into_iter();
        while let Some(left) = rest.next() {
            pairs.push(match rest.next() {
                Some(right) => Expr::binary(op, left, right),
                None => left,
            });
        }
        operands = pairs;
    }
    operands.pop().unwrap_or(Expr::Const(empty))
}
