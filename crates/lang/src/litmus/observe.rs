//! Conditions: which registers and locations are observed, and what is asked of them.

use weakspot_core::{
    BinOp, Condition, Expr, Observable, Observed, Quantifier, RegId, ThreadId, Value, View,
};

use super::ast::{Atom, Frame, Number, Prop, RegRef, Symbol, Term};
use super::fold::not;
use super::layout::{Layout, pattern};
use crate::Diagnostic;
use crate::balanced::balanced;

/// The answers of [`observe`].
pub(super) struct Observation {
    pub(super) observed: Vec<Observed>,
    pub(super) names: Vec<String>,
    pub(super) condition: Condition,
    pub(super) text: String,
    pub(super) warnings: Vec<Diagnostic>,
}

/// What the observer has to know about threads.
pub(super) trait Threads {
    /// What a register is in final states; an error if it cannot be seen there.
    fn seen(&self, reg: &RegRef) -> Result<SeenRegister, Diagnostic>;
}

/// A register in final states.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeenRegister {
    pub(super) thread: usize,
    pub(super) reg: RegId,
    pub(super) view: View,
    /// Its place among the registers of its thread.
    pub(super) rank: u32,
}

/// The error that a register's thread is none of `known`.
pub(super) fn no_thread<'a>(reg: &RegRef, known: impl Iterator<Item = &'a u32>) -> Diagnostic {
    let mut ids: Vec<u32> = known.copied().collect();
    ids.sort_unstable();
    let known: Vec<String> = ids.iter().take(8).map(|id| format!("P{id}")).collect();
    Diagnostic::new(
        reg.place.0,
        format!("there is no thread `P{}`", reg.thread),
        format!("expected one of {}", known.join(", ")),
    )
}

/// A component of final states, ordered as they are shown: registers by thread and register,
/// then locations by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    /// By the number of the thread and the rank of the register.
    Reg(u32, u32),
    Loc(String, u32),
}

struct Observer<'a, T> {
    layout: &'a Layout,
    threads: &'a T,
    entries: Vec<(Key, String, Observed)>,
    warnings: Vec<Diagnostic>,
}

/// Compiles `locations` and the condition of a test.
pub(super) fn observe<T: Threads>(
    frame: &Frame,
    layout: &Layout,
    threads: &T,
) -> Result<Observation, Diagnostic> {
    let mut o = Observer { layout, threads, entries: Vec::new(), warnings: Vec::new() };
    for listed in &frame.locations {
        o.list(&listed.what)?;
    }
    let (quantifier, prop) = match &frame.condition {
        Some(condition) => (condition.quantifier, condition.prop.clone()),
        None => (Quantifier::Forall, Prop::True),
    };
    o.collect(&prop)?;
    o.entries.sort_by(|a, b| a.0.cmp(&b.0));
    o.entries.dedup_by(|a, b| a.0 == b.0);
    let (expr, text, level) = o.prop(&prop)?;
    let text = if level == Level::Wrapped { text } else { format!("({text})") };
    Ok(Observation {
        observed: o.entries.iter().map(|e| e.2).collect(),
        names: o.entries.iter().map(|e| e.1.clone()).collect(),
        condition: Condition { quantifier, prop: expr },
        text,
        warnings: o.warnings,
    })
}

/// How tightly a printed proposition holds together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Or,
    And,
    Implies,
    Atom,
    /// In parentheses.
    Wrapped,
}

/// A side of an equation, resolved.
enum Side {
    /// What is observed, and how its bits are read.
    Seen(usize, View, String),
    Number(Number),
    Address(Value, String),
}

impl<T: Threads> Observer<'_, T> {
    fn list(&mut self, term: &Term) -> Result<(), Diagnostic> {
        match term {
            Term::Reg(r) => self.add_reg(r),
            Term::Name(s) | Term::Content(s) | Term::Address(s) => {
                for cell in self.layout.cells_of(s)? {
                    self.add_cell(s, cell);
                }
                Ok(())
            }
            Term::Number(..) | Term::List(..) => Ok(()),
        }
    }

    fn collect(&mut self, prop: &Prop) -> Result<(), Diagnostic> {
        match prop {
            Prop::True | Prop::False => Ok(()),
            Prop::Not(p) | Prop::Paren(p) => self.collect(p),
            Prop::And(parts) | Prop::Or(parts) => parts.iter().try_for_each(|p| self.collect(p)),
            Prop::Implies(l, r, _) => {
                self.collect(l)?;
                self.collect(r)
            }
            Prop::Atom(Atom { left, right, .. }) => {
                // On the right of anything but a number, a bare name is an address.
                let right_is_address =
                    matches!(right, Term::Name(_)) && !matches!(left, Term::Number(..));
                if matches!(right, Term::List(..)) {
                    return self.list(left);
                }
                self.collect_side(left)?;
                if right_is_address { Ok(()) } else { self.collect_side(right) }
            }
        }
    }

    fn collect_side(&mut self, term: &Term) -> Result<(), Diagnostic> {
        match term {
            Term::Reg(r) => self.add_reg(r),
            Term::Name(s) | Term::Content(s) => {
                let cell = self.layout.cell(s)?;
                self.add_cell(s, cell);
                Ok(())
            }
            Term::Address(_) | Term::Number(..) | Term::List(..) => Ok(()),
        }
    }

    fn add_reg(&mut self, r: &RegRef) -> Result<(), Diagnostic> {
        let seen = self.threads.seen(r)?;
        let what = Observable::Reg(ThreadId::new(seen.thread), seen.reg);
        let observed = Observed { what, view: seen.view };
        self.entries.push((Key::Reg(r.thread, seen.rank), reg_name(r), observed));
        Ok(())
    }

    fn add_cell(&mut self, s: &Symbol, cell: usize) {
        let Some(memory) = self.layout.cells.get(cell) else { return };
        let Some(&loc) = self.layout.bytes.elements.get(cell) else { return };
        let what = Observable::Loc(loc);
        let first = self.layout.cell(&Symbol { index: None, ..s.clone() }).unwrap_or(cell);
        let key = Key::Loc(s.name.clone(), u32::try_from(cell - first).unwrap_or(u32::MAX));
        self.entries.push((key, memory.name.clone(), Observed { what, view: memory.view() }));
    }

    /// The proposition over the observed components, its text, and how tightly that holds.
    fn prop(&mut self, prop: &Prop) -> Result<(Expr, String, Level), Diagnostic> {
        match prop {
            Prop::True => Ok((Expr::Const(1), "true".to_owned(), Level::Atom)),
            Prop::False => Ok((Expr::Const(0), "false".to_owned(), Level::Atom)),
            Prop::Paren(p) => self.prop(p),
            Prop::Not(p) => {
                let (e, text, _) = self.prop(p)?;
                Ok((not(e), format!("not ({text})"), Level::Atom))
            }
            Prop::And(parts) => self.many(parts, BinOp::And, " /\\ ", Level::And),
            Prop::Or(parts) => self.many(parts, BinOp::Or, " \\/ ", Level::Or),
            Prop::Implies(l, r, _) => {
                let (le, lt, ll) = self.prop(l)?;
                let (re, rt, rl) = self.prop(r)?;
                let text = format!(
                    "{} => {}",
                    wrap(lt, ll > Level::Implies),
                    wrap(rt, rl > Level::Implies)
                );
                Ok((Expr::binary(BinOp::Or, not(le), re), text, Level::Implies))
            }
            Prop::Atom(atom) => self.atom(atom),
        }
    }

    fn many(
        &mut self,
        parts: &[Prop],
        op: BinOp,
        sign: &str,
        level: Level,
    ) -> Result<(Expr, String, Level), Diagnostic> {
        let mut exprs = Vec::new();
        let mut texts = Vec::new();
        for part in parts {
            if let Prop::Implies(_, _, place) = part {
                self.warnings.push(Diagnostic::new(
                    place.0,
                    "`=>` binds more tightly than `/\\` and `\\/`",
                    "parentheses would make that plain",
                ));
            }
            let (e, text, inner) = self.prop(part)?;
            exprs.push(e);
            // Few remember how tightly an arrow binds.
            texts.push(wrap(text, inner >= level && inner != Level::Implies));
        }
        Ok((balanced(op, exprs, 1), texts.join(sign), level))
    }

    fn atom(&mut self, atom: &Atom) -> Result<(Expr, String, Level), Diagnostic> {
        let (mut expr, mut text, mut level) = match (&atom.left, &atom.right) {
            (Term::Name(s) | Term::Content(s), Term::List(values, _))
                if self.layout.is_array(s) =>
            {
                self.array(s, values)?
            }
            (Term::List(_, place), _) | (_, Term::List(_, place)) => {
                return Err(Diagnostic::new(
                    place.0,
                    "a list of values can only be compared with an array on its left",
                    "expected a number",
                ));
            }
            (left, right) => self.equation(left, right)?,
        };
        if atom.negated {
            expr = not(expr);
            text = format!("not ({text})");
            level = Level::Atom;
        }
        Ok((expr, text, level))
    }

    /// `t={1,2}`: an equation for each element.
    fn array(&mut self, s: &Symbol, values: &[Term]) -> Result<(Expr, String, Level), Diagnostic> {
        let cells = self.layout.cells_of(s)?;
        if cells.len() != values.len() {
            return Err(Diagnostic::new(
                s.place.0,
                format!(
                    "`{}` has {} elements, but {} values are given",
                    s.name,
                    cells.len(),
                    values.len()
                ),
                "",
            ));
        }
        let mut exprs = Vec::new();
        let mut texts = Vec::new();
        for (i, value) in values.iter().enumerate() {
            let element = Term::Content(Symbol { index: u32::try_from(i).ok(), ..s.clone() });
            let (e, text, _) = self.equation(&element, value)?;
            exprs.push(e);
            texts.push(text);
        }
        let level = if texts.len() > 1 { Level::And } else { Level::Atom };
        Ok((balanced(BinOp::And, exprs, 1), texts.join(" /\\ "), level))
    }

    fn equation(&mut self, left: &Term, right: &Term) -> Result<(Expr, String, Level), Diagnostic> {
        let flipped = matches!(left, Term::Number(..) | Term::Address(_));
        let l = self.side(left, false)?;
        let r = self.side(right, !flipped)?;
        let (l, r) = if flipped { (r, l) } else { (l, r) };
        let (lp, rp) = if flipped { (right, left) } else { (left, right) };
        let (le, lt) = match l {
            Side::Seen(i, view, name) => ((Expr::Reg(RegId::new(i)), view), name),
            _ => {
                return Err(Diagnostic::new(
                    lp.place().0,
                    "this compares two constants",
                    "expected a register or a location",
                ));
            }
        };
        let (left, view) = le;
        let (right, rt) = match r {
            Side::Seen(i, _, name) => {
                let text = if matches!(rp, Term::Reg(_)) { name } else { format!("[{name}]") };
                (Expr::Reg(RegId::new(i)), text)
            }
            Side::Number(n) => {
                let value = constant(n, view, &lt, rp)?;
                let text =
                    view.unsigned(value).map_or_else(|| value.to_string(), |n| n.to_string());
                (Expr::Const(value), text)
            }
            Side::Address(a, name) => {
                if let (Term::Name(s), View::Signed(_) | View::Full) = (rp, view)
                    && let Term::Name(l) | Term::Content(l) = lp
                    && self.layout.cell(l).is_ok_and(|c| !self.layout.cells[c].holds_address())
                {
                    self.warnings.push(Diagnostic::new(
                        s.place.0,
                        format!("on the right of `=`, `{}` is an address", s.name),
                        format!("the content would be `[{}]`", s.name),
                    ));
                }
                (Expr::Const(view.apply(a)), name)
            }
        };
        let expr = Expr::binary(BinOp::Eq, left, right);
        Ok((expr, format!("{lt}={rt}"), Level::Atom))
    }

    fn side(&self, term: &Term, bare_is_address: bool) -> Result<Side, Diagnostic> {
        match term {
            Term::Number(n, _) => Ok(Side::Number(*n)),
            Term::Reg(r) => Ok(self.seen(&Key::Reg(r.thread, self.threads.seen(r)?.rank))),
            Term::Address(s) => self.address(s),
            Term::Name(s) if bare_is_address => self.address(s),
            Term::Name(s) | Term::Content(s) => {
                let cell = self.layout.cell(s)?;
                let first = self.layout.cell(&Symbol { index: None, ..s.clone() })?;
                let index = u32::try_from(cell - first).unwrap_or(u32::MAX);
                Ok(self.seen(&Key::Loc(s.name.clone(), index)))
            }
            Term::List(..) => Ok(Side::Number(0)),
        }
    }

    fn address(&self, s: &Symbol) -> Result<Side, Diagnostic> {
        let cell = self.layout.cell(s)?;
        let memory = &self.layout.cells[cell];
        Ok(Side::Address(memory.addr, memory.name.clone()))
    }

    fn seen(&self, key: &Key) -> Side {
        match self.entries.binary_search_by(|e| e.0.cmp(key)) {
            Ok(i) => Side::Seen(i, self.entries[i].2.view, self.entries[i].1.clone()),
            Err(_) => Side::Number(0),
        }
    }
}

/// A number as it has to compare with what is seen through `view`.
fn constant(n: Number, view: View, what: &str, term: &Term) -> Result<Value, Diagnostic> {
    let bits = match view {
        View::Full => 64,
        View::Signed(bits) | View::Unsigned(bits) => bits,
    };
    match pattern(n, bits) {
        Some(v) => Ok(view.apply(v)),
        None => Err(super::layout::does_not_fit(bits, &format!("`{what}`"), term.place().0)),
    }
}

/// The observable's name, `0:EAX`.
fn reg_name(r: &RegRef) -> String {
    format!("{}:{}", r.thread, r.reg)
}

fn wrap(text: String, tight: bool) -> String {
    if tight { text } else { format!("({text})") }
}
