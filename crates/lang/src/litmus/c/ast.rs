//! The syntax tree of functions in C.

use weakspot_core::{BinOp, UnOp};

use crate::litmus::ast::{Number, ThreadHead};
use crate::{At, Name};

/// A thread: `P0(int *x) { ... }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its number and where its head stands.
    pub head: ThreadHead,
    /// The locations that it is given, with their types as pointers.
    pub params: Vec<(Type, Name)>,
    /// What it does.
    pub body: Vec<Stmt>,
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// Its words, such as `unsigned int`.
    pub name: String,
    /// How many `*` follow.
    pub stars: u32,
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// All of a simple statement, the head of a loop or branch.
    pub place: At,
}

/// The kinds of statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StmtKind {
    /// `int r0 = 1, r1;`
    Declare(Type, Vec<(Name, Option<Expr>)>),
    /// `r0 = e;`, `*x = e;`, or with an operator, `r0 += e;`
    Assign(Expr, Option<BinOp>, Expr),
    /// A call whose result is not used.
    Do(Expr),
    /// `if`, with an `else` or without.
    If(Expr, Vec<Stmt>, Option<Vec<Stmt>>),
    /// `while`.
    While(Expr, Vec<Stmt>),
    /// `do ... while`.
    DoWhile(Vec<Stmt>, Expr),
    /// Statements in braces.
    Block(Vec<Stmt>),
    /// `break;`
    Break,
    /// `continue;`
    Continue,
    /// `return;`
    Return,
    /// `;`
    Empty,
}

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its text.
    pub place: At,
}

/// The kinds of expressions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExprKind {
    /// A number.
    Number(Number),
    /// A local variable, a parameter or a location.
    Name(String),
    /// `*e`
    Deref(Box<Expr>),
    /// `&e`
    AddressOf(Box<Expr>),
    /// `e[i]`
    Index(Box<(Expr, Expr)>),
    /// `(type)e`
    Cast(Type, Box<Expr>),
    /// One operand.
    Unary(UnOp, Box<Expr>),
    /// Two operands.
    Binary(BinOp, Box<(Expr, Expr)>),
    /// `a ? b : c`
    Select(Box<(Expr, Expr, Expr)>),
    /// `f(a, b)`
    Call(Name, Vec<Expr>),
}
