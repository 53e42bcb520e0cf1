//! The syntax tree of a Trencher program.

pub(super) use crate::{At, Name};

/// A whole program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The `memory_size` line that some versions of Trencher want.
    pub memory_size: Option<MemorySize>,
    /// The threads, in the order of the text.
    pub threads: Vec<Thread>,
}

/// How many addresses Trencher sets aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemorySize {
    /// The number given.
    pub cells: i64,
    /// The directive.
    pub at: At,
}

/// One thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Its name.
    pub name: Name,
    /// The state in which it starts.
    pub initial: Name,
    /// The state in which it has to be for the goal.
    pub goal: Option<Name>,
    /// Its transitions, in the order of the text.
    pub transitions: Vec<Transition>,
}

/// A transition of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The state that it leaves.
    pub from: Name,
    /// The state that it enters.
    pub to: Name,
    /// What is done.
    pub instr: Instr,
    /// From the word `transition` to the last operand.
    pub at: At,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instr {
    /// `read REG ADDR`.
    Read {
        /// The register written.
        reg: Name,
        /// The address read.
        addr: Expr,
    },
    /// `write VALUE ADDR`: the value comes first.
    Write {
        /// The value stored.
        value: Expr,
        /// The address written.
        addr: Expr,
    },
    /// `local REG VALUE`.
    Local {
        /// The register written.
        reg: Name,
        /// Its new value.
        value: Expr,
    },
    /// `check EXPR`.
    Check(Expr),
    /// `noop`.
    Noop,
    /// `mfence`.
    Mfence,
    /// `lock`.
    Lock,
    /// `unlock`.
    Unlock,
}

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// From its operator to its last operand.
    pub at: At,
}

/// The kinds of expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExprKind {
    /// A constant.
    Int(i64),
    /// A register.
    Reg(String),
    /// `! e`.
    Not(Box<Expr>),
    /// `op left right`.
    Binary(Op, Box<Expr>, Box<Expr>),
    /// `^ base exponent`, where the exponent is a constant.
    Power(Box<Expr>, u32),
}

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the usual ones")]
pub enum Op {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    BitAnd,
}

impl Op {
    /// Every operator with how it is written.
    pub(super) const ALL: [(&'static str, Op); 14] = [
        ("==", Op::Eq),
        ("!=", Op::Ne),
        ("<", Op::Lt),
        ("<=", Op::Le),
        (">", Op::Gt),
        (">=", Op::Ge),
        ("&&", Op::And),
        ("||", Op::Or),
        ("+", Op::Add),
        ("-", Op::Sub),
        ("*", Op::Mul),
        ("/", Op::Div),
        ("%", Op::Rem),
        ("&", Op::BitAnd),
    ];

    /// How the operator is written.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        Op::ALL.iter().find(|(_, op)| *op == self).map_or("", |(symbol, _)| symbol)
    }

    /// The operator that is written like this.
    pub(super) fn from_symbol(symbol: &str) -> Option<Op> {
        Op::ALL.iter().find(|(s, _)| *s == symbol).map(|&(_, op)| op)
    }
}
