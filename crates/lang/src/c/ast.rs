//! The syntax tree of a program in C. Types are those that the declarations stand for.

use std::rc::Rc;

use weakspot_core::{BinOp, Span, UnOp, Value};

use super::types::{Struct, Type};

/// A program.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(super) structs: Vec<Struct>,
    pub(super) globals: Vec<Variable>,
    pub(crate) functions: Vec<Function>,
}

/// The number of a variable, or of a literal, in the order in which they are read.
pub(super) type ObjectId = u32;

/// A variable.
#[derive(Debug)]
pub(crate) struct Variable {
    pub(super) name: String,
    pub(super) ty: Type,
    pub(super) init: Option<Init>,
    /// One for all calls, in a function.
    pub(super) is_static: bool,
    /// One for each thread.
    pub(super) per_thread: bool,
    pub(super) at: Span,
    /// Which object it is: what comes from one macro, or one header, is all at the same place.
    pub(super) id: ObjectId,
}

/// What a variable starts with.
#[derive(Clone, Debug)]
pub(super) enum Init {
    Value(Expr),
    /// `{ ... }`.
    List(Vec<Item>, Span),
}

/// A value in a list, with the part that it is for if that is said: `.name[2] =`.
pub(super) type Item = (Vec<Designator>, Init);

/// `.name` or `[index]`.
#[derive(Clone, Debug)]
pub(super) enum Designator {
    Member(String, Span),
    Index(Value, Span),
}

/// A function.
#[derive(Debug)]
pub(crate) struct Function {
    pub(super) name: String,
    pub(super) at: Span,
    pub(super) params: Vec<Variable>,
    pub(super) result: Type,
    pub(crate) body: Block,
}

/// Statements in braces.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) stmts: Vec<Stmt>,
    /// The closing brace; `None` if it comes from a macro.
    pub(crate) close: Option<Span>,
}

/// A statement.
#[derive(Debug)]
pub(crate) struct Stmt {
    pub(crate) kind: StmtKind,
    /// All of it.
    pub(crate) at: Span,
    /// Its first token comes from a macro, which begins before it; or its last one, which ends behind.
    pub(crate) expanded: bool,
}

/// The kinds of statements.
#[derive(Debug)]
pub(crate) enum StmtKind {
    Declare(Vec<Variable>),
    Do(Expr),
    If(Expr, Box<Stmt>, Option<Box<Stmt>>),
    While(Expr, Box<Stmt>),
    DoWhile(Box<Stmt>, Expr),
    For {
        first: Option<Box<Stmt>>,
        condition: Option<Expr>,
        step: Option<Expr>,
        body: Box<Stmt>,
    },
    Block(Block),
    Switch(Expr, Box<Stmt>),
    /// `case v:`, or `default:`.
    Case(Option<Case>),
    Label(String),
    Goto(String),
    Break,
    Continue,
    Return(Option<Expr>),
    Assembly(Assembly),
    Empty,
}

/// An assembly statement: its template, what it writes, then what it reads.
#[derive(Debug)]
pub(crate) struct Assembly {
    pub(super) template: String,
    pub(super) outputs: Vec<Operand>,
    pub(super) inputs: Vec<Operand>,
}

/// `[name] "constraint" (value)`.
#[derive(Debug)]
pub(crate) struct Operand {
    pub(super) name: String,
    pub(super) constraint: String,
    /// Of what is written to registers a [`ExprKind::Step`] by 0, and of what is in memory its address, so that who looks at
    /// expressions sees a change.
    pub(super) value: Expr,
}

/// The first and last value of a `case`, which are the same but for `case 3 ... 5`.
pub(super) type Case = (Value, Value);

/// An expression.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(super) kind: ExprKind,
    pub(super) at: Span,
}

/// The kinds of expressions.
#[derive(Clone, Debug)]
pub(super) enum ExprKind {
    Number(Value, Type),
    /// The characters of a text, without the 0 at its end.
    Text(Vec<u8>),
    Name(String),
    Call(Box<Expr>, Vec<Expr>),
    /// `e.name`; `e->name` is a member of what `e` points to.
    Member(Box<Expr>, String),
    Index(Box<(Expr, Expr)>),
    Deref(Box<Expr>),
    AddressOf(Box<Expr>),
    Cast(Type, Box<Expr>),
    /// `(struct s){1, 2}`: a new object.
    Literal(ObjectId, Type, Box<Init>),
    Unary(UnOp, Box<Expr>),
    Binary(BinOp, Box<(Expr, Expr)>),
    Select(Box<(Expr, Expr, Expr)>),
    Assign(Option<BinOp>, Box<(Expr, Expr)>),
    /// `++e` and its relatives: what is added, and whether the old value is the result.
    Step {
        target: Box<Expr>,
        by: Value,
        old: bool,
    },
    Comma(Box<(Expr, Expr)>),
    /// `({ ... })`, and the type of its last statement if it has a value.
    Statements(Rc<Block>, Option<Type>),
    SizeOfType(Type),
    SizeOf(Box<Expr>),
}
