//! Where variables lie in memory, what names stand for, and which values expressions can take.
//!
//! Global variables have the addresses 0, 1, 2, ... in the order of their declaration, so that
//! the pointer `[e]` is the address `e`. The variables of the processes follow, process by process.

use std::collections::HashMap;

use weakspot_core::{Location, Span, Value};

use super::syntax::{Decl, Expr, ExprKind, File, Place, PlaceKind, Process};
use crate::Diagnostic;
use crate::suggest::did_you_mean;

/// An initial `*` stands for at most so many values of a variable.
const MAX_INITIAL_VALUES: i64 = 1 << 16;
const MAX_PROCESSES: usize = 256;

/// Inclusive bounds; `None` for all integers.
pub(super) type Domain = Option<(i64, i64)>;

/// The processes and the memory of a program.
pub(super) struct Layout<'f> {
    /// The global variables, in the order of their addresses.
    pub(super) globals: &'f [Decl],
    /// Every process, copies counted.
    pub(super) processes: Vec<&'f Process>,
    /// The address of the first variable of each process.
    bases: Vec<usize>,
    by_name: HashMap<&'f str, usize>,
}

/// What a place stands for in one process.
pub(super) enum Target<'f> {
    /// One variable.
    Fixed {
        /// Its address.
        addr: Value,
        /// Its domain.
        domain: Domain,
    },
    /// Any of the global variables that the pointer can reach.
    Pointer {
        /// The address.
        pointer: &'f Expr,
        /// The addresses that it can take, inclusive.
        reach: (usize, usize),
        /// The pointer cannot take other values.
        safe: bool,
    },
}

impl<'f> Layout<'f> {
    /// The layout of a program.
    pub(super) fn new(file: &'f File) -> Result<Layout<'f>, Diagnostic> {
        let mut processes = Vec::new();
        for p in &file.processes {
            processes.extend(std::iter::repeat_n(p, p.copies as usize));
            if processes.len() > MAX_PROCESSES {
                let message = format!("more than {MAX_PROCESSES} processes");
                return Err(Diagnostic::new(p.at.0, message, ""));
            }
        }
        let mut next = file.data.len();
        let mut bases = Vec::new();
        for p in &processes {
            bases.push(next);
            next += p.data.len();
        }
        let by_name =
            file.data.iter().enumerate().map(|(i, d)| (d.name.text.as_str(), i)).collect();
        Ok(Layout { globals: &file.data, processes, bases, by_name })
    }

    /// The memory, with the names of its cells.
    pub(super) fn memory(&self) -> Result<(Vec<Location>, Vec<String>), Diagnostic> {
        let globals = self.globals.iter().map(|d| (d, d.name.text.clone()));
        let owned = self.processes.iter().enumerate().flat_map(|(pid, p)| {
            p.data.iter().map(move |d| (d, format!("{}[P{pid}]", d.name.text)))
        });
        let (mut locs, mut names) = (Vec::new(), Vec::new());
        for (addr, (decl, name)) in globals.chain(owned).enumerate() {
            let addr = Value::try_from(addr).unwrap_or(Value::MAX);
            locs.push(Location { addr, init: initial_values(decl)?, range: decl.domain });
            names.push(name);
        }
        Ok((locs, names))
    }

    /// What `place` stands for in process `pid`.
    pub(super) fn target(&self, place: &'f Place, pid: usize) -> Result<Target<'f>, Diagnostic> {
        match &place.kind {
            PlaceKind::Global(name) => match self.by_name.get(name.as_str()) {
                Some(&i) => Ok(fixed(i, &self.globals[i])),
                None => Err(self.no_global(name, place.at.0, pid)),
            },
            PlaceKind::Own(name) => self.owned(name, pid, pid, place.at.0),
            PlaceKind::Other(name, k) => {
                let k = *k as usize;
                let owner = if k < pid { k } else { k.saturating_add(1) };
                if owner >= self.processes.len() {
                    let others = self.processes.len() - 1;
                    let message = format!("`{name}[{k}]` belongs to a process that does not exist");
                    let expected = match others {
                        0 => "expected `my`: there are no other processes".to_owned(),
                        n => format!("expected a number below {n}"),
                    };
                    return Err(Diagnostic::new(place.at.0, message, expected)
                        .help("the number counts the other processes from 0"));
                }
                self.owned(name, owner, pid, place.at.0)
            }
            PlaceKind::Pointer(pointer) => self.pointer(pointer, pid),
        }
    }

    fn owned(
        &self,
        name: &str,
        owner: usize,
        pid: usize,
        span: Span,
    ) -> Result<Target<'f>, Diagnostic> {
        let data = &self.processes[owner].data;
        if let Some(i) = data.iter().position(|d| d.name.text == name) {
            return Ok(fixed(self.bases[owner] + i, &data[i]));
        }
        let whose =
            if owner == pid { String::new() } else { format!(", seen from process P{pid}") };
        let refused = Diagnostic::new(
            span,
            format!("process P{owner} has no variable `{name}`{whose}"),
            "expected a variable of its `data` section",
        );
        Err(if self.by_name.contains_key(name) {
            refused.help(format!("`{name}` is global: write it without brackets"))
        } else {
            did_you_mean(refused, name, data.iter().map(|d| d.name.text.as_str()))
        })
    }

    fn no_global(&self, name: &str, span: Span, pid: usize) -> Diagnostic {
        let refused = Diagnostic::new(
            span,
            format!("undeclared variable `{name}`"),
            "expected a variable of the `data` section before the processes",
        );
        if self.processes[pid].data.iter().any(|d| d.name.text == name) {
            return refused.help(format!("the process's own variable is `{name}[my]`"));
        }
        did_you_mean(refused, name, self.globals.iter().map(|d| d.name.text.as_str()))
    }

    fn pointer(&self, pointer: &'f Expr, pid: usize) -> Result<Target<'f>, Diagnostic> {
        let last = self.globals.len() as i128 - 1;
        let (low, high) = self.range(pointer, pid)?.unwrap_or((0, i128::from(i64::MAX)));
        let (first, end) = (low.max(0), high.min(last));
        if first > end {
            let message = "this pointer never points to a variable".to_owned();
            let expected = match last {
                -1 => "expected global variables".to_owned(),
                last => format!("expected a value from 0 to {last}"),
            };
            return Err(Diagnostic::new(pointer.at.0, message, expected));
        }
        let unbounded = self.range(pointer, pid)?.is_none();
        let safe = !unbounded && (first, end) == (low, high);
        let index = |n: i128| usize::try_from(n).unwrap_or(0);
        Ok(Target::Pointer { pointer, reach: (index(first), index(end)), safe })
    }

    /// The declaration of a register of process `pid` and its number.
    pub(super) fn register(
        &self,
        name: &str,
        span: Span,
        pid: usize,
    ) -> Result<(usize, &'f Decl), Diagnostic> {
        let regs = &self.processes[pid].registers;
        match regs.iter().position(|d| d.name.text == name) {
            Some(i) => Ok((i, &regs[i])),
            None => {
                let refused = Diagnostic::new(
                    span,
                    format!("undeclared register `{name}`"),
                    "expected a register of the process's `registers` section",
                );
                Err(did_you_mean(refused, name, regs.iter().map(|d| d.name.text.as_str())))
            }
        }
    }

    /// The least and greatest value that an expression of process `pid` can take, if its
    /// registers are bounded. Registers never leave their domains.
    pub(super) fn range(&self, e: &Expr, pid: usize) -> Result<Option<(i128, i128)>, Diagnostic> {
        let both = |l: &Expr, r: &Expr| Ok((self.range(l, pid)?, self.range(r, pid)?));
        Ok(match &e.kind {
            ExprKind::Int(value) => Some((i128::from(*value), i128::from(*value))),
            ExprKind::Reg(name) => {
                let (_, decl) = self.register(name, e.at.0, pid)?;
                decl.domain.map(|(low, high)| (i128::from(low), i128::from(high)))
            }
            ExprKind::Neg(inner) => self.range(inner, pid)?.map(|(low, high)| (-high, -low)),
            ExprKind::Add(l, r) => match both(l, r)? {
                (Some(l), Some(r)) => Some((l.0 + r.0, l.1 + r.1)),
                _ => None,
            },
            ExprKind::Sub(l, r) => match both(l, r)? {
                (Some(l), Some(r)) => Some((l.0 - r.1, l.1 - r.0)),
                _ => None,
            },
        })
    }

    /// The domains of the variables that a place can stand for, with their addresses.
    pub(super) fn domains(&self, target: &Target<'f>) -> Vec<(Value, Domain)> {
        match target {
            Target::Fixed { addr, domain } => vec![(*addr, *domain)],
            Target::Pointer { reach, .. } => (reach.0..=reach.1)
                .map(|i| (Value::try_from(i).unwrap_or(Value::MAX), self.globals[i].domain))
                .collect(),
        }
    }
}

fn fixed(addr: usize, decl: &Decl) -> Target<'static> {
    Target::Fixed { addr: Value::try_from(addr).unwrap_or(Value::MAX), domain: decl.domain }
}

fn initial_values(decl: &Decl) -> Result<Vec<Value>, Diagnostic> {
    match (decl.init, decl.domain) {
        (Some(value), _) => Ok(vec![value]),
        (None, Some((low, high))) if high - low < MAX_INITIAL_VALUES => Ok((low..=high).collect()),
        (None, Some(_)) => {
            let message = format!("`{}` may start with any of too many values", decl.name.text);
            let expected = format!("expected a domain of at most {MAX_INITIAL_VALUES} values");
            Err(Diagnostic::new(decl.at.0, message, expected))
        }
        (None, None) => {
            let message = format!("`{}` may start with any integer", decl.name.text);
            Err(Diagnostic::new(decl.at.0, message, "expected an initial value or a finite domain")
                .help(format!("for example `{} = * : [0:1]`", decl.name.text)))
        }
    }
}
