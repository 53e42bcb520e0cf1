//! The syntax tree. Two trees are equal when they say the same: positions are not compared, the
//! comments are.

pub use crate::{At, Name};
pub use weakspot_core::{BinOp, Fence, Quantifier, Span, UnOp};

/// A whole file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Declarations, threads and questions, in the order of the text.
    pub items: Vec<Item>,
    /// Comments after the last item.
    pub tail: Vec<Comment>,
}

/// A comment with its marks (`// ...` or `/* ... */`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// The text, marks included, without trailing white space.
    pub text: String,
    /// An empty line stands before it.
    pub blank: bool,
}

/// What surrounds an item or a statement without having a meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trivia {
    /// Comments in front of it.
    pub before: Vec<Comment>,
    /// An empty line stands directly in front of it.
    pub blank: bool,
    /// Comments behind it on its last line.
    pub after: Vec<String>,
}

/// Something at the outermost level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Comments and empty lines.
    pub trivia: Trivia,
    /// What it is.
    pub kind: ItemKind,
    /// Its text.
    pub at: At,
}

/// The kinds of items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemKind {
    /// `const N = 2, M = N + 1`.
    Const(Vec<ConstDecl>),
    /// `shared x = 0, a[2] = {1, 2} in 0..3`.
    Shared(Vec<SharedDecl>),
    /// `thread t { ... }`.
    Thread(Thread),
    /// `exists`, `forall` or `never` about final states.
    Final(Quantifier, Expr),
    /// `never at (t.a, u.b)`.
    NeverAt(Vec<PointRef>),
    /// `never two at (t.a, u.b)`.
    NeverTwo(Vec<PointRef>),
    /// `observe x, t.r`.
    Observe(Vec<SeenRef>),
}

/// One constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstDecl {
    /// What it is called.
    pub name: Name,
    /// What it stands for.
    pub value: Expr,
}

/// One shared variable or array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedDecl {
    /// What it is called.
    pub name: Name,
    /// The number of cells, for an array.
    pub size: Option<Expr>,
    /// What it starts with.
    pub init: Init,
    /// Inclusive bounds of its values.
    pub range: Option<(Expr, Expr)>,
}

/// What a shared variable or array starts with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Init {
    /// Nothing was written: 0.
    Zero,
    /// The same for all cells; may be `choose(l..h)`.
    All(Expr),
    /// One value per cell.
    Each(Vec<Expr>, At),
}

/// A thread or an array of threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// What it is called.
    pub name: Name,
    /// The number of copies, if it is replicated.
    pub count: Option<Expr>,
    /// What it does.
    pub body: Block,
}

/// `t.label` or `t[1].label`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointRef {
    /// The thread.
    pub thread: Name,
    /// Which of its copies.
    pub index: Option<Expr>,
    /// The label.
    pub label: Name,
}

/// `x`, `a[0]`, `a`, `t.r` or `t[1].r`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenRef {
    /// A shared variable, or a thread if `register` is given.
    pub name: Name,
    /// A cell or copy.
    pub index: Option<Expr>,
    /// A register of the thread.
    pub register: Option<Name>,
}

/// Statements in braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The statements.
    pub stmts: Vec<Stmt>,
    /// Comments between the last statement and the closing brace.
    pub tail: Vec<Comment>,
    /// The closing brace.
    pub close: At,
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stmt {
    /// Comments and empty lines.
    pub trivia: Trivia,
    /// What it is.
    pub kind: StmtKind,
    /// The text that its steps are attributed to: all of a simple statement, the head of a loop
    /// or branch.
    pub at: At,
}

/// The kinds of statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StmtKind {
    /// `name:`.
    Label(Name),
    /// `var r = 0, s`.
    Var(Vec<(Name, Option<Expr>)>),
    /// `place = value`.
    Assign(Expr, Expr),
    /// An update whose result is not used.
    Update(Expr),
    /// The branches with their conditions, and what happens else.
    If(Vec<Arm>, Option<Block>),
    /// `while (c) { }`.
    While(Expr, Block),
    /// `loop { }`.
    Loop(Block),
    /// `break`.
    Break,
    /// `continue`.
    Continue,
    /// `stop`.
    Stop,
    /// `skip`.
    Skip,
    /// `goto label`.
    Goto(Name),
    /// `choose { } or { }`.
    Choose(Vec<Block>),
    /// `atomic { }`.
    Atomic(Block),
    /// `transaction { }`.
    Transaction(Block),
    /// `fence` or `fence.ss`.
    Fence(Fence),
    /// `assume(c)`.
    Assume(Expr),
    /// `assert(c)`.
    Assert(Expr),
    /// `await (c)`.
    Await(Expr),
}

/// One branch of an `if`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arm {
    /// When it is taken.
    pub cond: Expr,
    /// What it does.
    pub body: Block,
    /// From `if` to the closing parenthesis.
    pub at: At,
}

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its text.
    pub at: At,
}

/// The kinds of expressions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExprKind {
    /// A number.
    Int(i64),
    /// `true` or `false`.
    Bool(bool),
    /// The index of this copy of the thread.
    Me,
    /// A register, shared variable or constant.
    Name(String),
    /// `a[i]`.
    Index(Name, Box<Expr>),
    /// `t.r` or `t[i].r`.
    Register(Name, Option<Box<Expr>>, Name),
    /// `*p`.
    Deref(Box<Expr>),
    /// `&x`.
    AddressOf(Box<Expr>),
    /// One operand.
    Unary(UnOp, Box<Expr>),
    /// Two operands.
    Binary(BinOp, Box<Expr>, Box<Expr>),
    /// `cas(place, old, new)`.
    Cas(Box<(Expr, Expr, Expr)>),
    /// `swap(place, value)`.
    Swap(Box<(Expr, Expr)>),
    /// `fetch_add(place, value)`.
    FetchAdd(Box<(Expr, Expr)>),
    /// `choose(low..high)`.
    Choose(Box<(Expr, Expr)>),
}
