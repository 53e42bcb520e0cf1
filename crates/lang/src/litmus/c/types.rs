//! The types of values. A register holds a number as its type has it: with its sign, or without.

use weakspot_core::{Expr, UnOp, View};

use super::ast::Type;
use super::fold::truth;
use crate::litmus::layout::view_of;
use crate::litmus::types::named;

/// A type: that of what is behind all stars, and the stars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ty {
    /// Bytes, and whether it has a sign.
    base: (u8, bool),
    /// `bool`, which has only the values 0 and 1.
    truth: bool,
    stars: u32,
}

/// Bytes in an address.
const WORD: u8 = 8;

impl Ty {
    /// `int`.
    pub(super) const INT: Ty = Ty { base: (4, true), truth: false, stars: 0 };
    /// `long`.
    pub(super) const LONG: Ty = Ty { base: (8, true), truth: false, stars: 0 };

    pub(super) fn of(t: &Type) -> Ty {
        let truth = t.name.split(' ').any(|w| matches!(w, "bool" | "_Bool" | "atomic_bool"));
        Ty { base: named(&t.name, WORD), truth, stars: t.stars }
    }

    /// The type of a location with so many bytes.
    pub(crate) fn of_view(view: View) -> Ty {
        let base = match view {
            View::Full => (8, true),
            View::Signed(bits) => (bits / 8, true),
            View::Unsigned(bits) => (bits / 8, false),
        };
        Ty { base, truth: false, stars: 0 }
    }

    pub(crate) fn bytes(self) -> u8 {
        if self.stars > 0 { WORD } else { self.base.0 }
    }

    pub(crate) fn signed(self) -> bool {
        self.stars == 0 && self.base.1
    }

    fn is_truth(self) -> bool {
        self.stars == 0 && self.truth
    }

    pub(super) fn is_pointer(self) -> bool {
        self.stars > 0
    }

    /// What a pointer points to; `int` if it is none.
    pub(super) fn pointee(self) -> Ty {
        match self.stars.checked_sub(1) {
            Some(stars) => Ty { stars, ..self },
            None => Ty::INT,
        }
    }

    pub(super) fn pointer(self) -> Ty {
        Ty { stars: self.stars + 1, ..self }
    }

    /// How a value of the type is shown.
    pub(crate) fn view(self) -> View {
        view_of(self.bytes(), self.signed())
    }

    /// The type in which two numbers are combined.
    pub(crate) fn common(self, other: Ty) -> Ty {
        if self.is_pointer() || other.is_pointer() {
            return if self.is_pointer() { self } else { other };
        }
        let wide = self.bytes().max(other.bytes()).max(4);
        let unsigned = |t: Ty| !t.signed() && t.bytes() == wide;
        Ty { base: (wide, !(unsigned(self) || unsigned(other))), truth: false, stars: 0 }
    }

    /// Whether every value of `from` is one of this type as it stands.
    pub(crate) fn holds(self, from: Ty) -> bool {
        if self.is_truth() {
            return from.is_truth();
        }
        self.bytes() == 8
            || (self.bytes(), self.signed()) == (from.bytes(), from.signed())
            || (self.bytes() > from.bytes() && (self.signed() || !from.signed()))
    }

    /// A value of any type as one of this.
    pub(crate) fn wrap(self, value: Expr) -> Expr {
        let op = match self.view() {
            View::Full | View::Unsigned(64) => return value,
            View::Signed(bits) => UnOp::SignExtend(bits),
            View::Unsigned(bits) => UnOp::ZeroExtend(bits),
        };
        match value {
            Expr::Const(v) => Expr::Const(op.apply(v)),
            value => Expr::unary(op, value),
        }
    }

    /// A value of the type `from` as one of this.
    pub(crate) fn convert(self, value: Expr, from: Ty) -> Expr {
        match (self.holds(from), self.is_truth()) {
            (true, _) => value,
            (false, true) => truth(value),
            (false, false) => self.wrap(value),
        }
    }
}
