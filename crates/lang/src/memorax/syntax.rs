//! The syntax tree of a Memorax program. Macros are expanded before there is a tree. The names of
//! registers include their `$`.

pub(super) use crate::{At, Name};

/// A whole program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The combinations of labels that must not be reached.
    pub forbidden: Vec<Forbidden>,
    /// What Memorax's predicate abstraction starts from. It means nothing to the program.
    pub predicates: Vec<BoolExpr>,
    /// The variables that all processes name alike.
    pub data: Vec<Decl>,
    /// The processes.
    pub processes: Vec<Process>,
}

/// A combination of labels, one for each process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forbidden {
    /// The labels; `None` is `*`, any place.
    pub labels: Vec<Option<Name>>,
    /// The whole row.
    pub at: At,
}

/// The declaration of a variable or register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decl {
    /// What is declared.
    pub name: Name,
    /// The initial value; `None` is `*`, any value of the domain.
    pub init: Option<i64>,
    /// The inclusive bounds of the domain; `None` is `Z`, all integers.
    pub domain: Option<(i64, i64)>,
    /// The whole declaration.
    pub at: At,
}

/// One or several processes with the same code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// How many there are.
    pub copies: u32,
    /// The variables that each of them owns.
    pub data: Vec<Decl>,
    /// The registers of each.
    pub registers: Vec<Decl>,
    /// What they do.
    pub text: Vec<Stmt>,
    /// The word `process` with the number of copies.
    pub at: At,
}

/// A statement, perhaps with a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stmt {
    /// The name of the place before the statement.
    pub label: Option<Name>,
    /// What it is.
    pub kind: StmtKind,
    /// The statement without its label.
    pub at: At,
}

/// The kinds of statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StmtKind {
    /// `nop`.
    Nop,
    /// `$r := e`.
    Assign {
        /// The register written.
        reg: Name,
        /// Its new value.
        value: Expr,
    },
    /// `assume: b`.
    Assume(BoolExpr),
    /// `read: x = e`, which waits until the two are equal.
    ReadAssert {
        /// What is read.
        place: Place,
        /// What has to be there.
        value: Expr,
    },
    /// `read: $r := x`.
    ReadAssign {
        /// The register written.
        reg: Name,
        /// What is read.
        place: Place,
    },
    /// `syncrd: x = e` or `syncrd: $r := x`: one of the reads above, of memory itself.
    SyncRead(Box<StmtKind>),
    /// `write: x := e`, `locked write: x := e` `slocked write: x := e` or
    /// `syncwr: x := e`.
    Write {
        /// Which of the four.
        kind: WriteKind,
        /// What is written.
        place: Place,
        /// The value stored.
        value: Expr,
    },
    /// `cas(x, old, new)`, which waits until `x` is `old`.
    Cas {
        /// What is updated.
        place: Place,
        /// What has to be there.
        old: Expr,
        /// The value stored.
        new: Expr,
    },
    /// `fence`, `ssfence` or `llfence`.
    Fence(FenceKind),
    /// `goto L`.
    Goto(Name),
    /// `if b then s else s`.
    If {
        /// The condition.
        cond: BoolExpr,
        /// What is done if it holds.
        then: Box<Stmt>,
        /// What is done if it does not.
        otherwise: Option<Box<Stmt>>,
    },
    /// `while b do s`.
    While {
        /// The condition.
        cond: BoolExpr,
        /// What is done as long as it holds.
        body: Box<Stmt>,
    },
    /// `either { .. or .. }`: any of the branches.
    Either(Vec<Vec<Stmt>>),
    /// `locked { .. or .. }`: any of the branches that can be taken as a whole, in one step.
    Locked(Vec<Vec<Stmt>>),
    /// `{ .. }`.
    Block(Vec<Stmt>),
}

/// How a value is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteKind {
    /// `write`.
    Plain,
    /// `locked write`: followed by a full fence.
    Locked,
    /// `slocked write`: followed by a store-store fence.
    StoreLocked,
    /// `syncwr`: to memory at once.
    Sync,
}

/// The fences of Memorax.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FenceKind {
    /// `fence`.
    Full,
    /// `ssfence`.
    StoreStore,
    /// `llfence`.
    LoadLoad,
}

/// A memory location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// What it is.
    pub kind: PlaceKind,
    /// Where it stands.
    pub at: At,
}

/// How a memory location is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlaceKind {
    /// `x`: declared for all processes.
    Global(String),
    /// `x[my]`: owned by the process itself.
    Own(String),
    /// `x[k]`: owned by the k-th of the other processes.
    Other(String, u32),
    /// `[e]`: the e-th of the global variables, from 0.
    Pointer(Expr),
}

/// An arithmetic expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands.
    pub at: At,
}

/// The kinds of arithmetic expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExprKind {
    /// A number; a `-` before digits belongs to it.
    Int(i64),
    /// A register, with its `$`.
    Reg(String),
    /// `-e`.
    Neg(Box<Expr>),
    /// `e + e`.
    Add(Box<Expr>, Box<Expr>),
    /// `e - e`.
    Sub(Box<Expr>, Box<Expr>),
}

/// A boolean expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoolExpr {
    /// What it is.
    pub kind: BoolKind,
    /// Where it stands.
    pub at: At,
}

/// The kinds of boolean expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoolKind {
    /// `true` or `false`.
    Const(bool),
    /// `e = e` and the like.
    Compare(Comparison, Expr, Expr),
    /// `not b`.
    Not(Box<BoolExpr>),
    /// `b && b`.
    And(Box<BoolExpr>, Box<BoolExpr>),
    /// `b || b`.
    Or(Box<BoolExpr>, Box<BoolExpr>),
}

/// How numbers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the usual ones")]
pub enum Comparison {
    Eq,
    Ne,
    Lt,
    Gt,
    Le,
    Ge,
}

impl Comparison {
    /// How the comparison is written.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Comparison::Eq => "=",
            Comparison::Ne => "!=",
            Comparison::Lt => "<",
            Comparison::Gt => ">",
            Comparison::Le => "<=",
            Comparison::Ge => ">=",
        }
    }

    /// The comparison that is written like this.
    pub(super) fn from_symbol(symbol: &str) -> Option<Comparison> {
        use Comparison::{Eq, Ge, Gt, Le, Lt, Ne};
        [Eq, Ne, Lt, Gt, Le, Ge].into_iter().find(|c| c.symbol() == symbol)
    }
}
