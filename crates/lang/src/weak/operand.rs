//! Expressions become loads into hidden registers, from left to right, and what remains: an
//! expression over registers.

use super::automaton::Draft;
use super::lower::Lower;
use super::scope::constant::{me_outside, not_an_array, outside};
use super::scope::{Global, Shared};
use super::syntax::*;
use crate::Diagnostic;
use weakspot_core::{Expr as Pure, Instr, RegId, Value};

impl Lower<'_, '_> {
    /// The value of an expression, after the steps that it takes.
    pub(super) fn value(&mut self, e: &Expr) -> Result<Pure, Diagnostic> {
        Ok(match &e.kind {
            ExprKind::Int(value) => Pure::Const(*value),
            ExprKind::Bool(value) => Pure::Const(Value::from(*value)),
            ExprKind::Me => Pure::Const(self.me.ok_or_else(|| me_outside(e.at))?),
            ExprKind::Name(name) => match (self.register(name), self.globals.get(name)) {
                (Some(reg), _) => Pure::Reg(reg),
                (None, Some(Global::Const(Some(value)))) => Pure::Const(value),
                _ => self.loaded(e)?,
            },
            ExprKind::AddressOf(place) => self.address(place, true)?,
            ExprKind::Unary(op, operand) => fold_unary(*op, self.value(operand)?),
            ExprKind::Binary(BinOp::And | BinOp::Or, ..) if self.short_circuits(e) => {
                self.loaded(e)?
            }
            ExprKind::Binary(op, left, right) => {
                let first = self.value(left)?;
                let second = self.right(*op, left, |lower| lower.value(right))?;
                fold_binary(*op, first, second)
            }
            ExprKind::Cas(parts) => {
                let (place, old, new) = &**parts;
                let addr = self.address(place, false)?;
                let (old, new) = (self.value(old)?, self.value(new)?);
                let reg = self.hidden();
                let unchanged = Pure::binary(BinOp::Eq, Pure::Reg(reg), old);
                let value = Pure::select(unchanged.clone(), new, Pure::Reg(reg));
                self.emit(Instr::Update { reg, addr, value });
                unchanged
            }
            ExprKind::Register(..) => {
                return Err(Diagnostic::new(
                    e.at.0,
                    format!("`{}` cannot be read in a thread", super::print::expr(e)),
                    "expected a register of this thread or a shared variable",
                )
                .help("registers are private: communicate through a shared variable"));
            }
            ExprKind::Index(..)
            | ExprKind::Deref(_)
            | ExprKind::Swap(_)
            | ExprKind::FetchAdd(_)
            | ExprKind::Choose(_) => self.loaded(e)?,
        })
    }

    /// Evaluates into a hidden register. Those that its operands needed are free again then.
    fn loaded(&mut self, e: &Expr) -> Result<Pure, Diagnostic> {
        let before = self.hidden_used;
        if let ExprKind::Name(_) | ExprKind::Index(..) | ExprKind::Deref(_) = e.kind {
            // A load may overwrite a register from which its address was computed.
            let addr = self.address(e, false)?;
            self.hidden_used = before;
            let reg = self.hidden();
            self.emit(Instr::Load { reg, addr });
            return Ok(Pure::Reg(reg));
        }
        let reg = self.hidden();
        self.assign(reg, e)?;
        self.hidden_used = before + 1;
        Ok(Pure::Reg(reg))
    }

    /// Evaluates the right operand of `&&` or `||`, which a constant left one may make void.
    fn right<T>(
        &mut self,
        op: BinOp,
        left: &Expr,
        evaluate: impl FnOnce(&mut Self) -> Result<T, Diagnostic>,
    ) -> Result<T, Diagnostic> {
        let pruned = self.pruned;
        self.pruned |= match op {
            BinOp::And => self.known(left) == Some(false),
            BinOp::Or => self.known(left) == Some(true),
            _ => false,
        };
        let result = evaluate(self);
        self.pruned = pruned;
        result
    }

    /// `reg := e`, in as few steps as possible.
    pub(super) fn assign(&mut self, reg: RegId, e: &Expr) -> Result<(), Diagnostic> {
        match &e.kind {
            ExprKind::Name(name) if self.is_local(name) => {
                let value = self.value(e)?;
                self.emit(Instr::Assign { reg, value });
            }
            ExprKind::Name(_) | ExprKind::Index(..) | ExprKind::Deref(_) => {
                let addr = self.address(e, false)?;
                self.emit(Instr::Load { reg, addr });
            }
            ExprKind::Choose(bounds) => {
                let (low, high) = self.constants().choices(&bounds.0, &bounds.1)?;
                self.emit(Instr::Choose { reg, low, high });
            }
            ExprKind::Swap(parts) => self.update(reg, &parts.0, &parts.1, |_, new| new)?,
            ExprKind::FetchAdd(parts) => self.update(reg, &parts.0, &parts.1, |old, amount| {
                Pure::binary(BinOp::Add, Pure::Reg(old), amount)
            })?,
            ExprKind::Binary(BinOp::And | BinOp::Or, ..) if self.short_circuits(e) => {
                let (yes, no) = self.branch(e)?;
                let join = self.automaton.fresh();
                for (from, value) in [(yes, 1), (no, 0)] {
                    let instr = Instr::Assign { reg, value: Pure::Const(value) };
                    self.automaton.edge(from, instr, join, self.span);
                }
                self.current = join;
            }
            _ => {
                let value = self.value(e)?;
                self.emit(Instr::Assign { reg, value });
            }
        }
        Ok(())
    }

    /// An update that gives the old value to `reg`.
    fn update(
        &mut self,
        reg: RegId,
        place: &Expr,
        operand: &Expr,
        value: impl FnOnce(RegId, Pure) -> Pure,
    ) -> Result<(), Diagnostic> {
        let addr = self.address(place, false)?;
        let operand = self.value(operand)?;
        // The new value is computed when `reg` already holds the old one.
        let mut clash = false;
        operand.for_each_reg(&mut |r| clash |= r == reg);
        let old = if clash { self.hidden() } else { reg };
        self.emit(Instr::Update { reg: old, addr, value: value(old, operand) });
        if clash {
            self.emit(Instr::Assign { reg, value: Pure::Reg(old) });
        }
        Ok(())
    }

    /// The address of a place; `whole` arrays have one, but cannot be read or written.
    pub(super) fn address(&mut self, place: &Expr, whole: bool) -> Result<Pure, Diagnostic> {
        let (name, at, index) = match &place.kind {
            ExprKind::Deref(address) => return self.value(address),
            ExprKind::Name(name) => (name.as_str(), place.at, None),
            ExprKind::Index(name, index) => (name.text.as_str(), name.at, Some(&**index)),
            _ => {
                let text = super::print::expr(place);
                let message = format!("`{text}` has no address");
                return Err(Diagnostic::new(place.at.0, message, "expected a shared variable"));
            }
        };
        let shared = self.shared(name, index.is_some(), at)?;
        match (shared.size, index) {
            (None, None) => Ok(Pure::Const(shared.base)),
            (Some(_), None) if whole => Ok(Pure::Const(shared.base)),
            (Some(_), None) => Err(Diagnostic::new(
                place.at.0,
                format!("`{name}` is an array"),
                "expected a single cell",
            )
            .help(format!("write `{name}[i]` for a cell, or `&{name}` for its address"))),
            (None, Some(_)) => Err(not_an_array(name, at)),
            (Some(size), Some(index)) => self.cell(name, shared.base, size, index),
        }
    }

    /// The shared variable of a name.
    fn shared(&self, name: &str, indexed: bool, at: At) -> Result<Shared, Diagnostic> {
        if self.register(name).is_some() {
            return Err(if indexed {
                not_an_array(name, at)
                    .help(format!("if `{name}` holds an address, write `*({name} + i)`"))
            } else {
                let message = format!("register `{name}` has no address");
                Diagnostic::new(at.0, message, "expected a shared variable")
            });
        }
        match self.globals.get(name) {
            Some(Global::Shared(shared)) => Ok(shared),
            Some(other) => Err(Diagnostic::new(
                at.0,
                format!("`{name}` is {}", other.described()),
                "expected a shared variable or a register",
            )),
            None => Err(self.unknown(name, at)),
        }
    }

    /// The address of a cell of an array, 0 if there is no such cell.
    fn cell(
        &mut self,
        name: &str,
        base: Value,
        size: Value,
        index: &Expr,
    ) -> Result<Pure, Diagnostic> {
        let value = match self.value(index)? {
            Pure::Const(value) if (0..size).contains(&value) => {
                return Ok(Pure::Const(base + value));
            }
            Pure::Const(_) if self.pruned => return Ok(Pure::Const(0)),
            Pure::Const(value) => {
                let mut error = outside(name, size, value, index.at);
                if let Some(me) = self.me {
                    let (thread, text) = (&self.thread.name.text, super::print::expr(index));
                    error.help = Some(format!("in `{thread}[{me}]`, `{text}` is {value}"));
                }
                return Err(error);
            }
            Pure::Reg(reg) => Pure::Reg(reg),
            // The value occurs three times below: nested, that would grow exponentially.
            value if nodes(&value) > 8 => {
                let reg = self.hidden();
                self.emit(Instr::Assign { reg, value });
                Pure::Reg(reg)
            }
            value => value,
        };
        let at_least = Pure::binary(BinOp::Ge, value.clone(), Pure::Const(0));
        let below = Pure::binary(BinOp::Lt, value.clone(), Pure::Const(size));
        let address = Pure::binary(BinOp::Add, Pure::Const(base), value);
        let inside = Pure::binary(BinOp::And, at_least, below);
        Ok(Pure::select(inside, address, Pure::Const(0)))
    }

    /// Evaluates a condition; gives the points where it is true and where it is false.
    pub(super) fn branch(&mut self, cond: &Expr) -> Result<(Draft, Draft), Diagnostic> {
        let mark = self.hidden_used;
        match &cond.kind {
            ExprKind::Unary(UnOp::Not, operand) => {
                let (yes, no) = self.branch(operand)?;
                return Ok((no, yes));
            }
            ExprKind::Binary(op @ (BinOp::And | BinOp::Or), left, right)
                if self.short_circuits(cond) =>
            {
                let (yes, no) = self.branch(left)?;
                let (decided, open) = if *op == BinOp::And { (no, yes) } else { (yes, no) };
                self.current = open;
                let (yes, no) = self.right(*op, left, |lower| lower.branch(right))?;
                let (same, other) = if *op == BinOp::And { (no, yes) } else { (yes, no) };
                self.automaton.merge(same, decided);
                return Ok(if *op == BinOp::And { (other, decided) } else { (decided, other) });
            }
            _ => {}
        }
        let value = self.value(cond)?;
        // The loaded values are not needed after the test.
        self.hidden_used = mark;
        if let Pure::Const(value) = value {
            let never = self.automaton.fresh();
            return Ok(if value == 0 { (never, self.current) } else { (self.current, never) });
        }
        let (yes, no) = (self.automaton.fresh(), self.automaton.fresh());
        let negated = negate(value.clone());
        self.automaton.edge(self.current, Instr::Assume(value), yes, self.span);
        self.automaton.edge(self.current, Instr::Assume(negated), no, self.span);
        self.at_start = false;
        Ok((yes, no))
    }

    /// A condition whose operands are evaluated one by one, because a step of one of them may
    /// have to be left out.
    pub(super) fn short_circuits(&self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Unary(UnOp::Not, operand) => self.short_circuits(operand),
            ExprKind::Binary(BinOp::And | BinOp::Or, left, right) => {
                self.takes_steps(right) || self.short_circuits(left)
            }
            _ => false,
        }
    }

    /// The value of a condition that takes no step and is the same in every run.
    pub(super) fn known(&self, e: &Expr) -> Option<bool> {
        self.constants().eval(e).ok().map(|value| value != 0)
    }

    /// An expression whose evaluation is visible to the memory model, or a choice. Division
    /// counts, too: it must not fault when its value is not asked for.
    pub(super) fn takes_steps(&self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Int(_) | ExprKind::Bool(_) | ExprKind::Me | ExprKind::Register(..) => false,
            ExprKind::Name(name) => !self.is_local(name),
            ExprKind::AddressOf(place) => match &place.kind {
                ExprKind::Index(_, index) => self.takes_steps(index),
                ExprKind::Deref(address) => self.takes_steps(address),
                _ => false,
            },
            ExprKind::Unary(_, operand) => self.takes_steps(operand),
            ExprKind::Binary(BinOp::Div | BinOp::Rem, ..) => self.known(e).is_none(),
            ExprKind::Binary(_, left, right) => self.takes_steps(left) || self.takes_steps(right),
            ExprKind::Index(..)
            | ExprKind::Deref(_)
            | ExprKind::Cas(_)
            | ExprKind::Swap(_)
            | ExprKind::FetchAdd(_)
            | ExprKind::Choose(_) => true,
        }
    }

    /// The name of a register or constant.
    fn is_local(&self, name: &str) -> bool {
        self.register(name).is_some() || matches!(self.globals.get(name), Some(Global::Const(_)))
    }
}

/// How large an expression is.
fn nodes(e: &Pure) -> usize {
    1 + match e {
        Pure::Const(_) | Pure::Reg(_) => 0,
        Pure::Unary(_, operand) => nodes(operand),
        Pure::Binary(_, left, right) => nodes(left) + nodes(right),
        Pure::Select(parts) => nodes(&parts.0) + nodes(&parts.1) + nodes(&parts.2),
    }
}

/// `op e`, computed now if possible.
pub(super) fn fold_unary(op: UnOp, e: Pure) -> Pure {
    match e {
        Pure::Const(value) => Pure::Const(op.apply(value)),
        e => Pure::unary(op, e),
    }
}

/// `left op right`, computed now if possible.
pub(super) fn fold_binary(op: BinOp, left: Pure, right: Pure) -> Pure {
    if let (Pure::Const(l), Pure::Const(r)) = (&left, &right)
        && let Ok(value) = op.apply(*l, *r)
    {
        return Pure::Const(value);
    }
    match (op, &left) {
        (BinOp::And, Pure::Const(0)) => Pure::Const(0),
        (BinOp::Or, Pure::Const(l)) if *l != 0 => Pure::Const(1),
        _ => Pure::binary(op, left, right),
    }
}

/// What holds when `e` does not.
fn negate(e: Pure) -> Pure {
    let opposite = |op| {
        Some(match op {
            BinOp::Eq => BinOp::Ne,
            BinOp::Ne => BinOp::Eq,
            BinOp::Lt => BinOp::Ge,
            BinOp::Le => BinOp::Gt,
            BinOp::Gt => BinOp::Le,
            BinOp::Ge => BinOp::Lt,
            _ => return None,
        })
    };
    match e {
        Pure::Unary(UnOp::Not, operand) => *operand,
        Pure::Binary(op, left, right) => match opposite(op) {
            Some(op) => Pure::Binary(op, left, right),
            None => Pure::Binary(op, left, right).negate(),
        },
        e => e.negate(),
    }
}
