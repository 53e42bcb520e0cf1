//! The syntax tree of what all litmus tests have, whatever their code is written in: what was
//! written, with places, before anything is resolved.

use weakspot_core::Quantifier;

use super::arch::Arch;
use crate::{At, Name};

/// A number as it was written, between -2^63 and 2^64 - 1.
pub type Number = i128;

/// All of a litmus test but its code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The architecture.
    pub arch: Arch,
    /// The name.
    pub name: String,
    /// The text in parentheses after the name.
    pub label: Option<String>,
    /// The documentation string.
    pub doc: Option<String>,
    /// The lines between the name and the initial state.
    pub header: Vec<HeaderLine>,
    /// The initial state.
    pub init: Vec<InitItem>,
    /// What the `locations` section lists.
    pub locations: Vec<Listed>,
    /// Which final states count; without it all do.
    pub filter: Option<Prop>,
    /// The condition on final states.
    pub condition: Option<Final>,
}

/// A line of the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderLine {
    /// `key=value`.
    Info {
        /// What stands before the `=`.
        key: String,
        /// The rest of the line.
        value: String,
    },
    /// Free text, which means nothing to us.
    Text(String),
}

/// The code of a test in assembly: a column for each thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table<I> {
    /// The threads, in the order of their columns.
    pub threads: Vec<ThreadHead>,
    /// The rows of instructions; each has one cell per thread.
    pub rows: Vec<Vec<Cell<I>>>,
}

/// A cell of a row: labels, then perhaps an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell<I> {
    /// The labels, in order.
    pub labels: Vec<Name>,
    /// The instruction.
    pub instr: Option<I>,
}

/// The head of a column, `P0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadHead {
    /// The number after the `P`.
    pub id: u32,
    /// Where it stands.
    pub place: At,
}

/// An item of the initial state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitItem {
    /// The declared type.
    pub ctype: Option<CType>,
    /// What is initialised.
    pub target: Target,
    /// With what; without a value it is 0.
    pub value: Option<InitValue>,
    /// The whole item.
    pub place: At,
}

/// A C type, as far as the initial state needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CType {
    /// Its words, such as `uint64_t` or `unsigned int`; empty in `*x`.
    pub name: String,
    /// A `*` follows.
    pub pointer: bool,
    /// Where it stands.
    pub place: At,
}

/// What the initial state sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A register of a thread.
    Reg(RegRef),
    /// A location.
    Loc(Symbol),
    /// An array; the index of the symbol is its length.
    Array(Symbol),
}

/// An initial value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InitValue {
    /// A number.
    Number(Number, At),
    /// The address of a location.
    Address(Symbol),
    /// The elements of an array.
    List(Vec<InitValue>, At),
}

/// A register with its thread, `0:EAX`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegRef {
    /// The number of the thread, as in its head.
    pub thread: u32,
    /// The register as the architecture writes it, or the local variable.
    pub reg: String,
    /// The whole of it.
    pub place: At,
}

/// The name of a location, with an index if it was written `t[1]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The name.
    pub name: String,
    /// The index.
    pub index: Option<u32>,
    /// Where it stands.
    pub place: At,
}

/// An entry of the `locations` section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// A register or a location.
    pub what: Term,
    /// A type behind it.
    pub ctype: Option<CType>,
}

/// The condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Final {
    /// Over which final states.
    pub quantifier: Quantifier,
    /// What is asked of them.
    pub prop: Prop,
}

/// A proposition about a final state. Parentheses are kept, so that a printed test reads as it
/// was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prop {
    /// Holds always.
    True,
    /// Holds never.
    False,
    /// An equation.
    Atom(Atom),
    /// A negation.
    Not(Box<Prop>),
    /// A conjunction of two or more.
    And(Vec<Prop>),
    /// A disjunction of two or more.
    Or(Vec<Prop>),
    /// An implication, with the place of its arrow.
    Implies(Box<Prop>, Box<Prop>, At),
    /// A proposition in parentheses.
    Paren(Box<Prop>),
}

/// An equation or, if negated, an inequation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atom {
    /// The left side.
    pub left: Term,
    /// The right side.
    pub right: Term,
    /// It was written with `!=` or `<>`.
    pub negated: bool,
}

/// A side of an equation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Term {
    /// A number.
    Number(Number, At),
    /// A register.
    Reg(RegRef),
    /// A bare name: on the left the content of the location, on the right its address.
    Name(Symbol),
    /// The content of a location, `[x]` or `*x`.
    Content(Symbol),
    /// The address of a location, `&x`.
    Address(Symbol),
    /// The contents of an array.
    List(Vec<Term>, At),
}

impl Term {
    /// Where the term stands.
    #[must_use]
    pub fn place(&self) -> At {
        match self {
            Term::Number(_, place) | Term::List(_, place) => *place,
            Term::Reg(r) => r.place,
            Term::Name(s) | Term::Content(s) | Term::Address(s) => s.place,
        }
    }
}
