//! Expressions whose faults are those of the machine.

use weakspot_core::machine::FailureKind;
use weakspot_core::{Expr, Value};

/// The value of `e` with these registers.
pub(crate) fn eval(e: &Expr, regs: &[Value]) -> Result<Value, FailureKind> {
    e.eval(regs).map_err(|_| FailureKind::DivisionByZero)
}
