//! Building expressions that are no larger than they need to be. What a register is known to
//! hold at a point of the thread lets constants through and makes most truncations vanish.

use weakspot_core::{BinOp, Expr, RegId, UnOp, Value};

/// What is known about the value of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// Its value is this constant.
    Const(Value),
    /// It is not negative and has at most so many bits; with 64 bits it may be anything.
    Bits(u8),
}

impl Known {
    /// What is known when either of the two may be the case.
    pub(super) fn or(self, other: Known) -> Known {
        if self == other { self } else { Known::Bits(self.bits().max(other.bits())) }
    }

    fn bits(self) -> u8 {
        match self {
            Known::Const(v) => const_bits(v),
            Known::Bits(b) => b,
        }
    }
}

/// What is known about each register of a thread.
pub(super) struct Folder(pub(super) Vec<Known>);

impl Folder {
    /// The value of a register.
    pub(super) fn reg(&self, reg: RegId) -> Expr {
        match self.0.get(reg.index()) {
            Some(Known::Const(v)) => Expr::Const(*v),
            _ => Expr::Reg(reg),
        }
    }

    /// What is known about the value of an expression.
    pub(super) fn known(&self, e: &Expr) -> Known {
        match e {
            Expr::Const(v) => Known::Const(*v),
            _ => Known::Bits(self.bits(e)),
        }
    }

    /// A number of bits that holds the value, which is then not negative; else 64.
    pub(super) fn bits(&self, e: &Expr) -> u8 {
        match e {
            Expr::Const(v) => const_bits(*v),
            Expr::Reg(r) => self.0.get(r.index()).map_or(64, |k| k.bits()),
            Expr::Unary(UnOp::Not, _) => 1,
            Expr::Unary(UnOp::ZeroExtend(n), inner) => self.bits(inner).min(*n),
            Expr::Unary(_, _) => 64,
            Expr::Select(parts) => self.bits(&parts.1).max(self.bits(&parts.2)),
            Expr::Binary(op, l, r) => {
                let (lb, rb) = (self.bits(l), self.bits(r));
                match (op, &**r) {
                    (BinOp::BitAnd, _) => lb.min(rb),
                    (BinOp::BitOr | BinOp::BitXor, _) => lb.max(rb),
                    (BinOp::Add, _) if lb.max(rb) < 63 => lb.max(rb) + 1,
                    (BinOp::Shl, Expr::Const(n @ 0..64)) if u16::from(lb) + (*n as u16) < 64 => {
                        lb + *n as u8
                    }
                    (BinOp::Shr, Expr::Const(n @ 0..64)) => lb.saturating_sub(*n as u8),
                    (
                        BinOp::Eq
                        | BinOp::Ne
                        | BinOp::Lt
                        | BinOp::Le
                        | BinOp::Gt
                        | BinOp::Ge
                        | BinOp::And
                        | BinOp::Or,
                        _,
                    ) => 1,
                    _ => 64,
                }
            }
        }
    }

    /// The low `bits` of `e`.
    pub(super) fn zero_extend(&self, e: Expr, bits: u8) -> Expr {
        if bits >= 64 || self.bits(&e) <= bits {
            return e;
        }
        match e {
            Expr::Const(v) => Expr::Const(UnOp::ZeroExtend(bits).apply(v)),
            Expr::Unary(UnOp::ZeroExtend(_), inner) => Expr::Unary(UnOp::ZeroExtend(bits), inner),
            e => Expr::unary(UnOp::ZeroExtend(bits), e),
        }
    }

    /// The low `bits` of `e` as a signed number.
    pub(super) fn sign_extend(&self, e: Expr, bits: u8) -> Expr {
        if bits >= 64 || self.bits(&e) < bits {
            return e;
        }
        match e {
            Expr::Const(v) => Expr::Const(UnOp::SignExtend(bits).apply(v)),
            e => Expr::unary(UnOp::SignExtend(bits), e),
        }
    }
}

fn const_bits(v: Value) -> u8 {
    64 - v.leading_zeros() as u8
}

/// `l op r`, simplified.
pub(crate) fn binary(op: BinOp, l: Expr, r: Expr) -> Expr {
    if let (Expr::Const(a), Expr::Const(b)) = (&l, &r)
        && let Ok(v) = op.apply(*a, *b)
    {
        return Expr::Const(v);
    }
    let same = l == r;
    match (op, &l, &r) {
        (
            BinOp::Add
            | BinOp::Sub
            | BinOp::BitOr
            | BinOp::BitXor
            | BinOp::Shl
            | BinOp::Shr
            | BinOp::Sar,
            _,
            Expr::Const(0),
        ) => l,
        (BinOp::Add | BinOp::BitOr | BinOp::BitXor, Expr::Const(0), _) => r,
        (BinOp::Mul, _, Expr::Const(1)) => l,
        (BinOp::Mul | BinOp::BitAnd, _, Expr::Const(0)) => Expr::Const(0),
        (BinOp::BitAnd, Expr::Const(0), _) => Expr::Const(0),
        (BinOp::BitXor | BinOp::Sub, _, _) if same => Expr::Const(0),
        (BinOp::BitAnd | BinOp::BitOr, _, _) if same => l,
        (BinOp::Eq | BinOp::Le | BinOp::Ge, _, _) if same => Expr::Const(1),
        (BinOp::Ne | BinOp::Lt | BinOp::Gt, _, _) if same => Expr::Const(0),
        _ => Expr::binary(op, l, r),
    }
}

/// Logical negation of a truth value, which is 0 or 1, simplified.
pub(crate) fn not(e: Expr) -> Expr {
    match e {
        Expr::Unary(UnOp::Not, inner) => *inner,
        Expr::Const(v) => Expr::Const(i64::from(v == 0)),
        Expr::Binary(BinOp::Eq, l, r) => Expr::Binary(BinOp::Ne, l, r),
        Expr::Binary(BinOp::Ne, l, r) => Expr::Binary(BinOp::Eq, l, r),
        e => e.negate(),
    }
}

/// `if c then yes else no`, simplified.
pub(super) fn select(c: Expr, yes: Expr, no: Expr) -> Expr {
    match c {
        Expr::Const(0) => no,
        Expr::Const(_) => yes,
        _ if yes == no => yes,
        c => Expr::select(c, yes, no),
    }
}

/// Whether the expression reads the register.
pub(super) fn mentions(e: &Expr, reg: RegId) -> bool {
    let mut found = false;
    e.for_each_reg(&mut |r| found |= r == reg);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncations_vanish() {
        let f = Folder(vec![Known::Bits(32), Known::Bits(64), Known::Const(-1)]);
        let (a, b) = (Expr::Reg(RegId(0)), Expr::Reg(RegId(1)));
        assert_eq!(f.zero_extend(a.clone(), 32), a);
        assert_eq!(f.zero_extend(b.clone(), 32), Expr::unary(UnOp::ZeroExtend(32), b.clone()));
        assert_eq!(f.zero_extend(f.reg(RegId(2)), 32), Expr::Const(0xffff_ffff));
        assert_eq!(f.bits(&binary(BinOp::Add, a.clone(), Expr::Const(1))), 33);
        assert_eq!(f.bits(&binary(BinOp::BitAnd, b.clone(), Expr::Const(7))), 3);
        assert_eq!(binary(BinOp::BitXor, b.clone(), b.clone()), Expr::Const(0));
        assert_eq!(binary(BinOp::Add, Expr::Const(2), Expr::Const(3)), Expr::Const(5));
        assert_eq!(f.sign_extend(Expr::Const(0xff), 8), Expr::Const(-1));
        assert_eq!(f.sign_extend(a.clone(), 64), a);
    }

    #[test]
    fn bounds_hold() {
        // Every bound is checked against the value, for values around the edges.
        let values = [0, 1, 2, 127, 128, 255, 0x7fff_ffff, 0xffff_ffff, i64::MAX, -1, i64::MIN];
        let ops = [
            BinOp::Add,
            BinOp::Sub,
            BinOp::BitAnd,
            BinOp::BitOr,
            BinOp::BitXor,
            BinOp::Shl,
            BinOp::Shr,
            BinOp::Sar,
            BinOp::Lt,
            BinOp::Mul,
        ];
        for v in values {
            let f = Folder(vec![Known::Bits(const_bits(v))]);
            for c in values {
                for op in ops {
                    let e = Expr::binary(op, Expr::Reg(RegId(0)), Expr::Const(c));
                    let value = e.eval(&[v]).expect("no division");
                    assert!(f.bits(&e) >= const_bits(value), "{op:?} {v} {c}");
                    let simple = binary(op, Expr::Reg(RegId(0)), Expr::Const(c));
                    assert_eq!(simple.eval(&[v]), Ok(value), "{op:?} {v} {c}");
                    for bits in [8, 16, 32, 64] {
                        let z = f.zero_extend(e.clone(), bits).eval(&[v]);
                        assert_eq!(z, Ok(UnOp::ZeroExtend(bits).apply(value)));
                        let s = f.sign_extend(e.clone(), bits).eval(&[v]);
                        assert_eq!(s, Ok(UnOp::SignExtend(bits).apply(value)));
                    }
                }
            }
        }
    }
}
