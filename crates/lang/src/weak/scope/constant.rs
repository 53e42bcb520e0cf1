//! Expressions whose value is known before the program runs.

use super::{CHOICES, Global, Globals};
use crate::Diagnostic;
use crate::suggest::did_you_mean;
use crate::weak::syntax::*;
use std::collections::BTreeMap;
use weakspot_core::{RegId, Value};

/// What constant expressions may mention.
pub(in crate::weak) struct Constants<'g, 'f> {
    globals: &'g Globals<'f>,
    /// Whether addresses are known yet.
    addresses: bool,
    /// The index of the copy of the thread, inside of one.
    me: Option<Value>,
    /// The registers of the thread.
    registers: Option<&'g BTreeMap<String, RegId>>,
}

impl<'g, 'f> Constants<'g, 'f> {
    /// For the time after the addresses have been given out.
    pub(in crate::weak) fn new(globals: &'g Globals<'f>) -> Self {
        Constants { globals, addresses: true, me: None, registers: None }
    }

    /// For sizes and constants, on which addresses depend.
    pub(in crate::weak) fn without_addresses(globals: &'g Globals<'f>) -> Self {
        Constants { globals, addresses: false, me: None, registers: None }
    }

    /// Inside of a thread.
    pub(in crate::weak) fn in_thread(
        globals: &'g Globals<'f>,
        me: Option<Value>,
        registers: &'g BTreeMap<String, RegId>,
    ) -> Self {
        Constants { globals, addresses: true, me, registers: Some(registers) }
    }

    /// The value of an expression.
    pub(in crate::weak) fn eval(&self, e: &Expr) -> Result<Value, Diagnostic> {
        match &e.kind {
            ExprKind::Int(value) => Ok(*value),
            ExprKind::Bool(value) => Ok(Value::from(*value)),
            ExprKind::Me => match self.me {
                Some(me) => Ok(me),
                None => Err(me_outside(e.at)),
            },
            ExprKind::Name(name) => self.name(name, e.at),
            ExprKind::Unary(op, operand) => Ok(op.apply(self.eval(operand)?)),
            ExprKind::Binary(op, left, right) => {
                let (left, divisor) = (self.eval(left)?, self.eval(right)?);
                op.apply(left, divisor).map_err(|_| {
                    Diagnostic::new(right.at.0, "division by zero", "expected another divisor")
                })
            }
            ExprKind::AddressOf(place) if self.addresses => self.address(place),
            ExprKind::AddressOf(_) => Err(self.refuse(e, "addresses are not known yet here")),
            ExprKind::Index(..) | ExprKind::Deref(_) => {
                Err(self.refuse(e, &format!("`{}` is in memory", crate::weak::print::expr(e))))
            }
            ExprKind::Register(..) => Err(self.refuse(e, "registers change")),
            ExprKind::Cas(_) | ExprKind::Swap(_) | ExprKind::FetchAdd(_) | ExprKind::Choose(_) => {
                let what = format!("`{}` happens in a thread", crate::weak::print::expr(e));
                Err(self.refuse(e, &what))
            }
        }
    }

    /// The bounds of a range that is not empty.
    pub(in crate::weak) fn range(
        &self,
        low: &Expr,
        high: &Expr,
    ) -> Result<(Value, Value), Diagnostic> {
        let (from, to) = (self.eval(low)?, self.eval(high)?);
        if from > to {
            let span = Span { start: low.at.0.start, end: high.at.0.end };
            let message = format!("range {from}..{to} is empty");
            return Err(Diagnostic::new(span, message, "expected the lower bound first"));
        }
        Ok((from, to))
    }

    /// The bounds of a choice.
    pub(in crate::weak) fn choices(
        &self,
        low: &Expr,
        high: &Expr,
    ) -> Result<(Value, Value), Diagnostic> {
        let (from, to) = self.range(low, high)?;
        if to.checked_sub(from).is_none_or(|width| width >= CHOICES) {
            let span = Span { start: low.at.0.start, end: high.at.0.end };
            let expected = format!("expected at most {CHOICES} values");
            return Err(Diagnostic::new(span, "too many choices", expected));
        }
        Ok((from, to))
    }

    /// The values that a cell may start with.
    pub(in crate::weak) fn initial(&self, e: &Expr) -> Result<Vec<Value>, Diagnostic> {
        match &e.kind {
            ExprKind::Choose(bounds) => {
                let (low, high) = self.choices(&bounds.0, &bounds.1)?;
                Ok((low..=high).collect())
            }
            _ => Ok(vec![self.eval(e)?]),
        }
    }

    /// The address of a variable or cell.
    pub(in crate::weak) fn address(&self, place: &Expr) -> Result<Value, Diagnostic> {
        let (name, at, index) = match &place.kind {
            ExprKind::Name(name) => (name.as_str(), place.at, None),
            ExprKind::Index(name, index) => (name.text.as_str(), name.at, Some(index)),
            _ => return Err(self.refuse(place, "it depends on memory")),
        };
        let Some(Global::Shared(shared)) = self.globals.get(name) else {
            return Err(unknown_shared(self.globals, name, at));
        };
        match (shared.size, index) {
            (_, None) => Ok(shared.base),
            (None, Some(_)) => Err(not_an_array(name, at)),
            (Some(size), Some(index)) => {
                let value = self.eval(index)?;
                if (0..size).contains(&value) {
                    Ok(shared.base + value)
                } else {
                    Err(outside(name, size, value, index.at))
                }
            }
        }
    }

    fn name(&self, name: &str, at: At) -> Result<Value, Diagnostic> {
        let e = Expr { kind: ExprKind::Name(name.to_owned()), at };
        match self.globals.get(name) {
            Some(Global::Const(Some(value))) => Ok(value),
            Some(Global::Const(None)) => Err(Diagnostic::new(
                at.0,
                format!("constant `{name}` is used before its declaration"),
                "expected a constant declared above",
            )),
            Some(other) => Err(self.refuse(&e, &format!("`{name}` is {}", other.described()))),
            None if self.registers.is_some_and(|registers| registers.contains_key(name)) => {
                Err(self.refuse(&e, &format!("`{name}` is a register")))
            }
            None => Err(unknown(self.globals, name, at, "a constant")),
        }
    }

    fn refuse(&self, e: &Expr, why: &str) -> Diagnostic {
        Diagnostic::new(
            e.at.0,
            format!("not a constant: {why}"),
            "expected numbers, constants and operators",
        )
    }
}

/// A name that stands for nothing.
pub(in crate::weak) fn unknown(
    globals: &Globals<'_>,
    name: &str,
    at: At,
    expected: &str,
) -> Diagnostic {
    let message = format!("unknown name `{name}`");
    let error = Diagnostic::new(at.0, message, format!("expected {expected}"));
    did_you_mean(error, name, globals.variables())
}

/// A name that should stand for shared memory and does not.
pub(in crate::weak) fn unknown_shared(globals: &Globals<'_>, name: &str, at: At) -> Diagnostic {
    match globals.get(name) {
        Some(other) => Diagnostic::new(
            at.0,
            format!("`{name}` is {}", other.described()),
            "expected a shared variable",
        ),
        None => unknown(globals, name, at, "a shared variable"),
    }
}

/// An index on something that has no cells.
pub(in crate::weak) fn not_an_array(name: &str, at: At) -> Diagnostic {
    Diagnostic::new(at.0, format!("`{name}` is not an array"), "expected a shared array")
}

/// A known index that is too small or too large.
pub(in crate::weak) fn outside(name: &str, size: Value, value: Value, at: At) -> Diagnostic {
    let message = format!("index {value} is outside of `{name}`");
    Diagnostic::new(at.0, message, format!("expected 0 to {}", size - 1))
}

/// `me` where there is only one of the thread, or no thread at all.
pub(in crate::weak) fn me_outside(at: At) -> Diagnostic {
    Diagnostic::new(at.0, "`me` outside of a replicated thread", "expected a number")
        .help("declare the thread with a number of copies: `thread p[2]`")
}
