//! Expressions over registers: what threads compute between their memory accesses.

use crate::{RegId, Value};

/// An expression over the registers of one thread. Arithmetic wraps at 64 bits; comparisons and
/// logical operators give 0 or 1, and any value but 0 counts as true. Nothing is short-circuit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// A constant.
    Const(Value),
    /// The value of a register.
    Reg(RegId),
    /// An operator with one operand.
    Unary(UnOp, Box<Expr>),
    /// An operator with two operands.
    Binary(BinOp, Box<Expr>, Box<Expr>),
    /// `if .0 then .1 else .2`.
    Select(Box<(Expr, Expr, Expr)>),
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnOp {
    /// Arithmetic negation.
    Neg,
    /// Logical negation: 1 for 0, else 0.
    Not,
    /// Bitwise complement.
    BitNot,
    /// The low bits (1 to 64), the rest filled with zeros.
    ZeroExtend(u8),
    /// The low bits (1 to 64), the rest filled with their sign.
    SignExtend(u8),
}

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the usual ones; the odd ones have comments")]
pub enum BinOp {
    Add,
    Sub,
    Mul,
    /// Division towards zero; by zero it is a fault.
    Div,
    /// Remainder with the sign of the dividend; by zero it is a fault.
    Rem,
    BitAnd,
    BitOr,
    BitXor,
    /// Shift left; the amount is taken modulo 64.
    Shl,
    /// Logical shift right; the amount is taken modulo 64.
    Shr,
    /// Arithmetic shift right; the amount is taken modulo 64.
    Sar,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// Logical and.
    And,
    /// Logical or.
    Or,
}

impl BinOp {
    /// The operator as in C; `>>` is arithmetic, `>>>` logical.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            BinOp::Add => "+",
            BinOp::Sub => "-",
            BinOp::Mul => "*",
            BinOp::Div => "/",
            BinOp::Rem => "%",
            BinOp::BitAnd => "&",
            BinOp::BitOr => "|",
            BinOp::BitXor => "^",
            BinOp::Shl => "<<",
            BinOp::Shr => ">>>",
            BinOp::Sar => ">>",
            BinOp::Eq => "==",
            BinOp::Ne => "!=",
            BinOp::Lt => "<",
            BinOp::Le => "<=",
            BinOp::Gt => ">",
            BinOp::Ge => ">=",
            BinOp::And => "&&",
            BinOp::Or => "||",
        }
    }
}

/// A division or remainder by zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DivisionByZero;

impl Expr {
    /// The value of the expression, registers taken from `regs`.
    pub fn eval(&self, regs: &[Value]) -> Result<Value, DivisionByZero> {
        Ok(match self {
            Expr::Const(v) => *v,
            Expr::Reg(r) => regs[r.index()],
            Expr::Unary(op, e) => op.apply(e.eval(regs)?),
            Expr::Binary(op, l, r) => op.apply(l.eval(regs)?, r.eval(regs)?)?,
            Expr::Select(parts) => {
                let (c, t, e) = &**parts;
                if c.eval(regs)? != 0 { t.eval(regs)? } else { e.eval(regs)? }
            }
        })
    }

    /// The expression as a proposition: `And` and `Or` stop as soon as they are decided, and an
    /// operand that divides by zero counts as false.
    #[must_use]
    pub fn holds(&self, regs: &[Value]) -> bool {
        match self {
            Expr::Unary(UnOp::Not, e) => !e.holds(regs),
            Expr::Binary(BinOp::And, l, r) => l.holds(regs) && r.holds(regs),
            Expr::Binary(BinOp::Or, l, r) => l.holds(regs) || r.holds(regs),
            _ => self.eval(regs).is_ok_and(|v| v != 0),
        }
    }

    /// Calls `visit` for each register that occurs.
    pub fn for_each_reg(&self, visit: &mut impl FnMut(RegId)) {
        match self {
            Expr::Const(_) => {}
            Expr::Reg(r) => visit(*r),
            Expr::Unary(_, e) => e.for_each_reg(visit),
            Expr::Binary(_, l, r) => {
                l.for_each_reg(visit);
                r.for_each_reg(visit);
            }
            Expr::Select(parts) => {
                let (c, t, e) = &**parts;
                c.for_each_reg(visit);
                t.for_each_reg(visit);
                e.for_each_reg(visit);
            }
        }
    }

    /// `op self`.
    #[must_use]
    pub fn unary(op: UnOp, e: Expr) -> Expr {
        Expr::Unary(op, Box::new(e))
    }

    /// `left op right`.
    #[must_use]
    pub fn binary(op: BinOp, left: Expr, right: Expr) -> Expr {
        Expr::Binary(op, Box::new(left), Box::new(right))
    }

    /// `if cond then yes else no`.
    #[must_use]
    pub fn select(cond: Expr, yes: Expr, no: Expr) -> Expr {
        Expr::Select(Box::new((cond, yes, no)))
    }

    /// The logical negation of the expression.
    #[must_use]
    pub fn negate(self) -> Expr {
        Expr::unary(UnOp::Not, self)
    }
}

impl UnOp {
    /// The operator applied to a value.
    #[must_use]
    pub fn apply(self, v: Value) -> Value {
        match self {
            UnOp::Neg => v.wrapping_neg(),
            UnOp::Not => i64::from(v == 0),
            UnOp::BitNot => !v,
            UnOp::ZeroExtend(bits) => {
                let shift = 64 - u32::from(bits.clamp(1, 64));
                (((v as u64) << shift) >> shift) as i64
            }
            UnOp::SignExtend(bits) => {
                let shift = 64 - u32::from(bits.clamp(1, 64));
                (v << shift) >> shift
            }
        }
    }
}

impl BinOp {
    /// The operator applied to two values.
    pub fn apply(self, l: Value, r: Value) -> Result<Value, DivisionByZero> {
        let shift = (r & 63) as u32;
        Ok(match self {
            BinOp::Add => l.wrapping_add(r),
            BinOp::Sub => l.wrapping_sub(r),
            BinOp::Mul => l.wrapping_mul(r),
            BinOp::Div if r == 0 => return Err(DivisionByZero),
            BinOp::Div => l.wrapping_div(r),
            BinOp::Rem if r == 0 => return Err(DivisionByZero),
            BinOp::Rem => l.wrapping_rem(r),
            BinOp::BitAnd => l & r,
            BinOp::BitOr => l | r,
            BinOp::BitXor => l ^ r,
            BinOp::Shl => l << shift,
            BinOp::Shr => ((l as u64) >> shift) as i64,
            BinOp::Sar => l >> shift,
            BinOp::Eq => i64::from(l == r),
            BinOp::Ne => i64::from(l != r),
            BinOp::Lt => i64::from(l < r),
            BinOp::Le => i64::from(l <= r),
            BinOp::Gt => i64::from(l > r),
            BinOp::Ge => i64::from(l >= r),
            BinOp::And => i64::from(l != 0 && r != 0),
            BinOp::Or => i64::from(l != 0 || r != 0),
        })
    }
}
