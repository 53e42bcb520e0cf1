//! The operators of expressions, and how tight they bind.

use weakspot_core::BinOp;

/// The operators with two operands, by rising precedence.
pub(super) const OPERATORS: [(&str, BinOp, u8); 18] = [
    ("||", BinOp::Or, 1),
    ("&&", BinOp::And, 2),
    ("==", BinOp::Eq, COMPARISON),
    ("!=", BinOp::Ne, COMPARISON),
    ("<", BinOp::Lt, COMPARISON),
    ("<=", BinOp::Le, COMPARISON),
    (">", BinOp::Gt, COMPARISON),
    (">=", BinOp::Ge, COMPARISON),
    ("|", BinOp::BitOr, 4),
    ("^", BinOp::BitXor, 5),
    ("&", BinOp::BitAnd, 6),
    ("<<", BinOp::Shl, 7),
    (">>", BinOp::Sar, 7),
    ("+", BinOp::Add, 8),
    ("-", BinOp::Sub, 8),
    ("*", BinOp::Mul, 9),
    ("/", BinOp::Div, 9),
    ("%", BinOp::Rem, 9),
];

/// The precedence of the comparisons, which do not chain.
pub(super) const COMPARISON: u8 = 3;

/// How tight an operator binds.
pub(super) fn precedence_of(op: BinOp) -> u8 {
    OPERATORS.iter().find(|(_, o, _)| *o == op).map_or(COMPARISON, |&(.., p)| p)
}
