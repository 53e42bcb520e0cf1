//! Addresses that are computed from the number of a cell.

use weakspot_core::{BinOp, Expr, RegId, Value};

/// The address of a cell of an array, as front ends write it for `a[r]`: `base + r` if r is in
/// `first..end`, else `outside`.
pub(super) struct Indexed {
    pub(super) reg: RegId,
    base: Value,
    first: Value,
    end: Value,
    pub(super) outside: Value,
}

/// Longer arrays are not looked at cell by cell.
const MOST_CELLS: Value = 4096;

impl Indexed {
    pub(super) fn of(e: &Expr) -> Option<Indexed> {
        let Expr::Select(parts) = e else { return None };
        let (Expr::Binary(BinOp::And, low, high), cell, Expr::Const(outside)) = &**parts else {
            return None;
        };
        match (&**low, &**high, cell) {
            (
                Expr::Binary(BinOp::Ge, r, first),
                Expr::Binary(BinOp::Lt, s, end),
                Expr::Binary(BinOp::Add, base, q),
            ) => match (&**r, &**first, &**s, &**end, &**base, &**q) {
                (
                    Expr::Reg(r),
                    &Expr::Const(first),
                    Expr::Reg(s),
                    &Expr::Const(end),
                    &Expr::Const(base),
                    Expr::Reg(q),
                ) if r == s && r == q && end.checked_sub(first)? <= MOST_CELLS => {
                    Some(Indexed { reg: *r, base, first, end, outside: *outside })
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The numbers that have a cell.
    pub(super) fn numbers(&self) -> std::ops::Range<Value> {
        self.first..self.end
    }

    pub(super) fn of_value(&self, v: Value) -> Value {
        if self.numbers().contains(&v) { self.base.wrapping_add(v) } else { self.outside }
    }
}
