//! Syntax tree to core program.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use weakspot_core::{
    Location, Names, Program, RegId, Thread, Transactions, Undeclared, Unsigned, Value, View,
};

use super::ast::{Expr, ExprKind, Function, Stmt, StmtKind};
use super::lower::{Lower, Var};
use super::types::Ty;
use crate::litmus::ast::{Frame, InitValue, RegRef, Symbol, Target};
use crate::litmus::bytes::Bytes;
use crate::litmus::filter::filter;
use crate::litmus::layout::{Layout, pattern};
use crate::litmus::mentions::{
    each_asked_term, each_frame_register, each_init_symbol, each_term_symbol,
};
use crate::litmus::observe::{Observation, SeenRegister, Threads, no_thread, observe};
use crate::suggest::did_you_mean;
use crate::{At, Diagnostic, Name, Parsed};

/// What answers are about.
const OF_MACHINE: &str = "of the machine that compiled code runs on, not of LKMM or C11";

/// The program of a test, with the names of its parts.
pub(in crate::litmus) fn compile(
    frame: &Frame,
    functions: &[Function],
) -> Result<Parsed, Diagnostic> {
    let mut warnings = Vec::new();
    let given = given(frame, functions)?;
    let layout = memory(frame, functions, &given, &mut warnings)?;
    let mut table = Table::new(frame, functions, &mut warnings)?;
    let mut threads = Vec::new();
    let (mut regs, mut unsigned_regs) = (Vec::new(), Vec::new());
    for (index, function) in functions.iter().enumerate() {
        let mut params = HashMap::new();
        for (t, name) in &function.params {
            let symbol = location(&given, index, name);
            params.insert(name.text.as_str(), (layout.address(&symbol)?, Ty::of(t)));
        }
        let vars = std::mem::take(&mut table.vars[index]);
        let count = vars.len();
        let mut lower = Lower::new(&layout, params, vars);
        let points = lower.body(&function.body)?;
        let mut vars = lower.vars;
        regs.push(vars.iter().map(|v| v.name.clone()).collect());
        unsigned_regs.push(vars.iter().map(|v| v.ty.view() == View::Unsigned(64)).collect());
        let mut values = vec![0; vars.len()];
        vars.truncate(count);
        table.vars[index] = vars;
        table.initialise(frame, index, &layout, &mut values)?;
        threads.push(Thread { regs: values, entry: weakspot_core::PointId::new(0), points });
    }
    filter(frame, &table, &mut threads)?;
    let Observation { observed, names: seen, condition, text, warnings: more } =
        observe(frame, &layout, &table)?;
    warnings.extend(more);
    warnings.sort_by_key(|w: &Diagnostic| w.span.start);
    // Memory holds numbers as their types have them, as registers do.
    let views: BTreeMap<Value, _> = layout.cells.iter().map(|c| (c.addr, c.view())).collect();
    let Bytes { mut locs, wides, names: places, .. } = layout.bytes;
    for loc in &mut locs {
        if let Some(view) = views.get(&loc.addr) {
            loc.init.iter_mut().for_each(|v| *v = view.apply(*v));
        }
    }
    let is_unsigned = |loc: &Location| views.get(&loc.addr) == Some(&View::Unsigned(64));
    let unsigned_locs = locs.iter().map(is_unsigned).collect();
    let names = Names {
        program: frame.name.clone(),
        threads: functions.iter().map(|f| format!("P{}", f.head.id)).collect(),
        regs,
        locs: places,
        points: threads.iter().map(|t| vec![String::new(); t.points.len()]).collect(),
        observed: seen,
        condition: text,
        addresses_are_symbolic: true,
        unsigned: Unsigned { locs: unsigned_locs, regs: unsigned_regs },
    };
    let program = Program {
        locs,
        wides,
        threads,
        undeclared: Undeclared::Fault,
        observed,
        condition: Some(condition),
        forbidden: Vec::new(),
    };
    let of_machine = Some(OF_MACHINE);
    Ok(Parsed {
        program,
        names,
        transactions: Transactions::default(),
        warnings,
        of_machine,
        too_strong: None,
    })
}

/// The locations that the initial state gives threads as parameters of other names.
type Given<'a> = HashMap<(usize, &'a str), &'a Symbol>;

fn given<'a>(frame: &'a Frame, functions: &[Function]) -> Result<Given<'a>, Diagnostic> {
    let mut given = HashMap::new();
    for item in &frame.init {
        let (Target::Reg(r), Some(InitValue::Address(s))) = (&item.target, &item.value) else {
            continue;
        };
        let index = index(functions, r)?;
        if functions[index].params.iter().any(|(_, name)| name.text == r.reg) {
            given.insert((index, r.reg.as_str()), s);
        }
    }
    Ok(given)
}

/// The location that a parameter stands for.
fn location(given: &Given<'_>, index: usize, name: &Name) -> Symbol {
    match given.get(&(index, name.text.as_str())) {
        Some(symbol) => (*symbol).clone(),
        None => Symbol { name: name.text.clone(), index: None, place: name.at },
    }
}

fn index(functions: &[Function], r: &RegRef) -> Result<usize, Diagnostic> {
    let ids: Vec<u32> = functions.iter().map(|f| f.head.id).collect();
    ids.iter().position(|id| *id == r.thread).ok_or_else(|| no_thread(r, ids.iter()))
}

fn memory(
    frame: &Frame,
    functions: &[Function],
    given: &Given<'_>,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Layout, Diagnostic> {
    let mut types: Vec<(Symbol, Ty)> = Vec::new();
    for (i, function) in functions.iter().enumerate() {
        for (t, name) in &function.params {
            let ty = Ty::of(t);
            let ty = if ty.is_pointer() { ty.pointee() } else { ty };
            types.push((location(given, i, name), ty));
        }
    }
    let mut symbols: Vec<&Symbol> = Vec::new();
    each_init_symbol(frame, &mut |s| symbols.push(s));
    symbols.extend(types.iter().map(|(s, _)| s));
    let known: BTreeSet<&str> = symbols.iter().map(|s| s.name.as_str()).collect();
    each_asked_term(frame, &mut |term| {
        each_term_symbol(term, &mut |s| {
            if !known.contains(s.name.as_str()) {
                let message = format!("no thread is given `{}`", s.name);
                let diagnostic = Diagnostic::new(s.place.0, message, "it is always 0");
                warnings.push(did_you_mean(diagnostic, &s.name, known.iter().copied()));
            }
            symbols.push(s);
        });
    });
    let mut layout = Layout::new(frame, &symbols, BTreeSet::new())?;
    for (symbol, ty) in &types {
        layout.declare(&symbol.name, ty.bytes(), ty.signed());
    }
    for symbol in &symbols {
        layout.declare(&symbol.name, 4, true);
    }
    warnings.extend(layout.settle(&[])?);
    Ok(layout)
}

/// The threads and their local variables.
struct Table<'a> {
    functions: &'a [Function],
    vars: Vec<Vec<Var>>,
}

impl<'a> Table<'a> {
    fn new(
        frame: &Frame,
        functions: &'a [Function],
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Table<'a>, Diagnostic> {
        let mut vars = Vec::new();
        let mut locations = BTreeSet::new();
        each_init_symbol(frame, &mut |s| {
            locations.insert(s.name.as_str());
        });
        for function in functions {
            let mut locals = Vec::new();
            declare(&function.body, &mut locals)?;
            assigned(&function.body, &mut |name, place| {
                let known = locations.contains(name)
                    || function.params.iter().any(|(_, n)| n.text == name)
                    || locals.iter().any(|(_, n)| n.text == name);
                if !known {
                    // Generators of tests leave out declarations.
                    if warnings.is_empty() {
                        let message = format!("`{name}` is not declared");
                        warnings.push(Diagnostic::new(
                            place.0,
                            message,
                            "it is taken for an `int`",
                        ));
                    }
                    locals.push((Ty::INT, Name { text: name.to_owned(), at: place }));
                }
            });
            for local in &locals {
                if function.params.iter().any(|(_, n)| n.text == local.1.text) {
                    let message = format!("`{}` is a parameter already", local.1.text);
                    return Err(Diagnostic::new(local.1.at.0, message, "expected another name"));
                }
            }
            let var = |(ty, name): (Ty, Name)| Var { name: name.text, ty, is_local: true };
            vars.push(locals.into_iter().map(var).collect());
        }
        let mut table = Table { functions, vars };
        let mut problem = None;
        each_frame_register(frame, &mut |r| {
            if let Err(d) = table.mention(r, warnings) {
                problem.get_or_insert(d);
            }
        });
        problem.map_or(Ok(table), Err)
    }

    /// Makes sure that there is a variable for `r`.
    fn mention(&mut self, r: &RegRef, warnings: &mut Vec<Diagnostic>) -> Result<(), Diagnostic> {
        let index = index(self.functions, r)?;
        let is_param = self.functions[index].params.iter().any(|(_, n)| n.text == r.reg);
        let vars = &mut self.vars[index];
        if is_param || vars.iter().any(|v| v.name == r.reg) {
            return Ok(());
        }
        let message = format!("P{} has no variable `{}`", r.thread, r.reg);
        let diagnostic = Diagnostic::new(r.place.0, message, "it is always 0");
        let known = vars.iter().map(|v| v.name.as_str());
        warnings.push(did_you_mean(diagnostic, &r.reg, known));
        vars.push(Var { name: r.reg.clone(), ty: Ty::INT, is_local: true });
        Ok(())
    }

    /// The initial values of the variables of a thread.
    fn initialise(
        &self,
        frame: &Frame,
        thread: usize,
        layout: &Layout,
        values: &mut [Value],
    ) -> Result<(), Diagnostic> {
        for item in &frame.init {
            let Target::Reg(r) = &item.target else { continue };
            let at = self.vars[thread].iter().position(|v| v.name == r.reg);
            let (Some(at), true) = (at, index(self.functions, r)? == thread) else { continue };
            let value = match &item.value {
                Some(InitValue::Number(n, _)) => pattern(*n, 64).unwrap_or(0),
                Some(InitValue::Address(s)) => layout.address(s)?,
                _ => 0,
            };
            values[at] = self.vars[thread][at].ty.view().apply(value);
        }
        Ok(())
    }
}

impl Threads for Table<'_> {
    fn seen(&self, r: &RegRef) -> Result<SeenRegister, Diagnostic> {
        let thread = index(self.functions, r)?;
        let Some(at) = self.vars[thread].iter().position(|v| v.name == r.reg) else {
            let message = format!("`{}` is the address of a location in P{}", r.reg, r.thread);
            return Err(Diagnostic::new(r.place.0, message, "expected a local variable"));
        };
        let view = self.vars[thread][at].ty.view();
        Ok(SeenRegister { thread, reg: RegId::new(at), view, rank: at as u32 })
    }
}

/// Calls `visit` for each name that statements assign to.
fn assigned(stmts: &[Stmt], visit: &mut impl FnMut(&str, At)) {
    for stmt in stmts {
        match &stmt.kind {
            StmtKind::Assign(Expr { kind: ExprKind::Name(name), place }, ..) => visit(name, *place),
            StmtKind::If(_, yes, no) => {
                assigned(yes, visit);
                assigned(no.as_deref().unwrap_or_default(), visit);
            }
            StmtKind::While(_, body) | StmtKind::DoWhile(body, _) | StmtKind::Block(body) => {
                assigned(body, visit);
            }
            _ => {}
        }
    }
}

/// The local variables that statements declare.
fn declare(stmts: &[Stmt], found: &mut Vec<(Ty, Name)>) -> Result<(), Diagnostic> {
    for stmt in stmts {
        match &stmt.kind {
            StmtKind::Declare(t, vars) => {
                for (name, _) in vars {
                    let ty = Ty::of(t);
                    match found.iter().find(|(_, n)| n.text == name.text) {
                        Some((earlier, _)) if *earlier != ty => {
                            let message = format!("`{}` already has another type", name.text);
                            return Err(Diagnostic::new(name.at.0, message, ""));
                        }
                        Some(_) => {}
                        None => found.push((ty, name.clone())),
                    }
                }
            }
            StmtKind::If(_, yes, no) => {
                declare(yes, found)?;
                declare(no.as_deref().unwrap_or_default(), found)?;
            }
            StmtKind::While(_, body) | StmtKind::DoWhile(body, _) | StmtKind::Block(body) => {
                declare(body, found)?;
            }
            _ => {}
        }
    }
    Ok(())
}
