//! Calls of functions of the text, and of those of C that do not touch shared memory.

use std::collections::HashSet;

use weakspot_core::{BinOp, Expr, Instr, RegId, Span, Value};

use super::structs::{Argument, Parts};
use super::{Lower, Lowering, Place, Typed};
use crate::Diagnostic;
use crate::c::ast::{self, ExprKind};
use crate::c::draft::Op;
use crate::c::frozen::{elements, root};
use crate::c::memory::{FUNCTION_SIZE, FUNCTIONS, cell};
use crate::c::parse::ELSEWHERE;
use crate::c::types::{MOST_BYTES, Type, TypeKind};
use crate::c::visit::{each_expr, in_init, inside, is_place};
use crate::litmus::c::folded;
use crate::suggest::did_you_mean;

/// The value of a call that gives none, or says that all went well.
pub(super) const DONE: Typed = (Expr::Const(0), Type::INT);

/// A call of a function of the text.
#[derive(Clone, Copy)]
pub(super) struct OwnCall<'e> {
    pub(super) function: usize,
    pub(super) args: &'e [ast::Expr],
    pub(super) at: Span,
}

/// Functions that print, whose arguments are evaluated.
const PRINTING: [&str; 8] =
    ["printf", "fprintf", "puts", "putchar", "fflush", "perror", "fputs", "putc"];

/// Functions and macros that change nothing here: where threads run, how is printed.
const IGNORED: [&str; 9] = [
    "CPU_ZERO",
    "CPU_SET",
    "pthread_setaffinity_np",
    "pthread_attr_setaffinity_np",
    "pthread_setname_np",
    "sched_setaffinity",
    "setbuf",
    "setvbuf",
    "srand",
];

/// Functions that do nothing but take time.
const WAITING: [&str; 9] = [
    "sched_yield",
    "usleep",
    "sleep",
    "pthread_yield",
    "_mm_pause",
    "__builtin_ia32_pause",
    "thrd_yield",
    "cpu_relax",
    "nanosleep",
];

impl Lower<'_> {
    /// A call; its value, and the parts of it if that is a struct.
    pub(super) fn call_with_parts(
        &mut self,
        to: Option<(RegId, &Type)>,
        f: &ast::Expr,
        args: &[ast::Expr],
        e: &ast::Expr,
    ) -> Lowering<(Typed, Parts)> {
        if let Some(function) = self.called(f) {
            let values = self.arguments(args)?;
            return self.inline(function, values, e.at);
        }
        let value = match &f.kind {
            ExprKind::Name(name) if self.find(name).is_none() => {
                self.call_known(to, (name, f), args, e)?
            }
            _ => self.call_by_pointer(f, args, e)?,
        };
        Ok((value, Parts::new()))
    }

    /// The function of the text that is called by its name.
    pub(super) fn called(&self, f: &ast::Expr) -> Option<usize> {
        let ExprKind::Name(name) = &f.kind else { return None };
        let found = self.unit.functions.iter().position(|f| f.name == *name);
        found.filter(|_| self.find(name).is_none())
    }

    /// An expression that is a call of a function of the text.
    pub(super) fn own_call<'e>(&self, e: &'e ast::Expr) -> Option<OwnCall<'e>> {
        let ExprKind::Call(f, args) = &e.kind else { return None };
        self.called(f).map(|function| OwnCall { function, args, at: e.at })
    }

    /// A call of a function of C's library.
    fn call_known(
        &mut self,
        to: Option<(RegId, &Type)>,
        (name, f): (&String, &ast::Expr),
        args: &[ast::Expr],
        e: &ast::Expr,
    ) -> Lowering<Typed> {
        match name.as_str() {
            "assert" => {
                arity(name, args, 1, e)?;
                self.assertion(&args[0])?;
                return Ok(DONE);
            }
            "abort" | "__builtin_trap" | "__builtin_unreachable" => {
                self.instr(Instr::Assert(Expr::Const(0)));
                self.at = self.new_point();
                return Ok(DONE);
            }
            "exit" | "_exit" | "quick_exit" => return self.exit(e),
            "__builtin_expect" | "likely" | "unlikely" | "ATOMIC_VAR_INIT" => {
                let Some(first) = args.first() else { return Err(missing(name, e)) };
                return self.value_for(to, first);
            }
            "malloc" | "calloc" | "aligned_alloc" => return self.allocate(name, args, e),
            "free" => {
                arity(name, args, 1, e)?;
                return self.value(&args[0]).map(|_| DONE);
            }
            n if PRINTING.contains(&n) => {
                for arg in args {
                    let stream = matches!(&arg.kind, ExprKind::Name(n) if n.starts_with("std"));
                    if !stream && !matches!(arg.kind, ExprKind::Text(_)) {
                        self.value(arg)?;
                    }
                }
                return Ok(DONE);
            }
            "memcpy" | "__builtin_memcpy" => return self.copy_memory(args, e),
            "strcpy" => return self.copy_text(args, e),
            "memset" | "bzero" => return self.clear(name, args, e),
            n if IGNORED.contains(&n) => return Ok(DONE),
            n if WAITING.contains(&n) => {
                self.instr(Instr::Nop);
                return Ok(DONE);
            }
            _ => {}
        }
        if let Some(done) = self.pthread(name, args, e)? {
            return Ok(done);
        }
        if let Some(done) = self.atomic(to, name, args, e)? {
            return Ok(done);
        }
        let message = format!("`{name}` is neither defined here nor known");
        let known = self.unit.functions.iter().map(|f| f.name.as_str());
        let known = known.chain(["atomic_thread_fence", "pthread_create", "pthread_join"]);
        let diagnostic = Diagnostic::new(f.at, message, "expected a function of this file");
        let diagnostic = did_you_mean(diagnostic, name, known);
        Err(if diagnostic.help.is_none() { diagnostic.help(ELSEWHERE) } else { diagnostic })
    }

    /// The values of arguments, the last one first: C leaves that open, and gcc does so on these machines.
    pub(super) fn arguments(&mut self, args: &[ast::Expr]) -> Lowering<Vec<Argument>> {
        let mut values = Vec::new();
        for arg in args.iter().rev() {
            let may_be_struct = is_place(arg) || !self.is_pure(arg);
            values.push(
                match may_be_struct.then(|| self.type_of(arg)).transpose()?.map(|t| t.kind) {
                    Some(TypeKind::Struct(_)) => {
                        let (ty, parts) = self.struct_value(arg)?;
                        Argument::Struct(ty, parts)
                    }
                    _ => Argument::Value(self.value(arg)?),
                },
            );
        }
        values.reverse();
        Ok(values)
    }

    /// A call by a pointer: of a function of a table that nobody changes (`table[i](1)`), or of any function that
    /// takes so much and whose address is taken.
    fn call_by_pointer(
        &mut self,
        f: &ast::Expr,
        args: &[ast::Expr],
        e: &ast::Expr,
    ) -> Lowering<Typed> {
        let mut f = f;
        while let ExprKind::Deref(inner) = &f.kind {
            f = inner;
        }
        let mut functions = self.functions_at(f);
        let is_table = !functions.is_empty();
        if !is_table {
            functions = self.taken(args.len());
        }
        let Some(&first) = functions.first() else {
            let message = "a call by a pointer to a function, which is not known here";
            let expected = "expected one whose address is taken in this file";
            return Err(Diagnostic::new(f.at, message, expected).help(ELSEWHERE));
        };
        let (pointer, _) = self.value(f)?;
        let values = self.arguments(args)?;
        let result = Type { atomic: false, ..self.unit.functions[first].result.clone() };
        if let TypeKind::Struct(_) = result.kind {
            let message = "a struct as the result of a call by a pointer is not supported here";
            return Err(Diagnostic::new(e.at, message, "").help(ELSEWHERE));
        }
        let reg = self.temp();
        let (mut refused, mut found) = (None, false);
        let behind = self.new_point();
        for function in functions {
            let used = self.used;
            let (yes, no) = (self.new_point(), self.new_point());
            let address = Expr::Const(FUNCTIONS + FUNCTION_SIZE * function as Value);
            self.fork(Expr::binary(BinOp::Eq, pointer.clone(), address), yes, no);
            self.resume(yes);
            let points = self.draft.points.len();
            match self.inline(function, values.clone(), e.at) {
                Ok(((value, from), _)) => {
                    found = true;
                    if result.kind != TypeKind::Void {
                        let value = self.converted(value, &from, &result);
                        self.assign(reg, value);
                    }
                }
                Err(why) if is_table => return Err(why),
                // Who cannot be put here, such as the function itself, is not called in any run, or that is a fault.
                Err(why) => {
                    refused = refused.or(Some(why));
                    self.draft.points.truncate(points);
                    self.draft.points[yes].clear();
                    self.resume(yes);
                    self.instr(Instr::Load { reg, addr: Expr::Const(0) });
                }
            }
            self.go_to(behind);
            self.resume(no);
            self.used = used;
        }
        if let (Some(why), false) = (refused, found) {
            return Err(why);
        }
        // There is no function: a fault, as an access through it is.
        self.instr(Instr::Load { reg, addr: Expr::Const(0) });
        self.go_to(behind);
        self.resume(behind);
        Ok((Expr::Reg(reg), result))
    }

    /// The functions with so many arguments whose addresses are taken, but for those that threads start with.
    fn taken(&self, arguments: usize) -> Vec<usize> {
        let unit = self.unit;
        let mut names: HashSet<&str> = HashSet::new();
        let mut not_taken: HashSet<*const ast::Expr> = HashSet::new();
        let mut look = |e: &'_ ast::Expr| {
            if let ExprKind::Call(f, args) = &e.kind {
                not_taken.insert(std::ptr::from_ref(&**f));
                let start = match &f.kind {
                    ExprKind::Name(name) if name == "pthread_create" => args.get(2),
                    ExprKind::Name(name) if name == "thrd_create" => args.get(1),
                    _ => None,
                };
                not_taken.extend(start.map(std::ptr::from_ref));
            }
        };
        let mut exprs: Vec<&ast::Expr> = Vec::new();
        for init in unit.globals.iter().filter_map(|v| v.init.as_ref()) {
            in_init(init, &mut |e| inside(e, &mut |e| exprs.push(e)));
        }
        for stmt in unit.functions.iter().flat_map(|f| &f.body.stmts) {
            each_expr(stmt, &mut |e| exprs.push(e));
        }
        exprs.iter().for_each(|e| look(e));
        for e in exprs.iter().filter(|e| !not_taken.contains(&std::ptr::from_ref(**e))) {
            if let ExprKind::Name(name) = &e.kind {
                names.insert(name);
            }
        }
        let is_taken =
            |f: &ast::Function| f.params.len() == arguments && names.contains(f.name.as_str());
        let all = unit.functions.iter().enumerate().filter(|(_, f)| is_taken(f));
        let is_here = |i: &usize| self.frames.iter().any(|frame| frame.function == *i);
        all.map(|(i, _)| i).filter(|i| !is_here(i)).collect()
    }

    /// The functions that an element of a table may be.
    fn functions_at(&mut self, f: &ast::Expr) -> Vec<usize> {
        let Some(Place::Memory(Expr::Const(base), ty)) = root(f).and_then(|name| self.find(name))
        else {
            return Vec::new();
        };
        let mut found: Vec<usize> = Vec::new();
        for (offset, ty) in elements(f, &ty, &self.unit.structs) {
            let Expr::Const(cell) = cell(Expr::Const(base + offset), &ty) else { continue };
            let address = self.memory.frozen(cell);
            let distance = address.and_then(|a| a.checked_sub(FUNCTIONS)).filter(|d| *d >= 0);
            let index = distance.map(|d| (d / FUNCTION_SIZE) as usize);
            let known = index.filter(|i| *i < self.unit.functions.len() && !found.contains(i));
            found.extend(known);
        }
        found
    }

    fn assertion(&mut self, e: &ast::Expr) -> Lowering<()> {
        let (value, _) = self.value(e)?;
        self.instr(Instr::Assert(value));
        Ok(())
    }

    /// The end of the process, which is that of `main`.
    fn exit(&mut self, e: &ast::Expr) -> Lowering<Typed> {
        if !self.is_main {
            let message = "`exit` outside of `main` is not supported here";
            return Err(Diagnostic::new(e.at, message, "").help(ELSEWHERE));
        }
        let end = self.end.0;
        self.leave(end);
        Ok(DONE)
    }

    /// New memory, whose type is that of a `sizeof` in the call.
    fn allocate(&mut self, name: &str, args: &[ast::Expr], e: &ast::Expr) -> Lowering<Typed> {
        let sizes = if name == "malloc" { &args[..args.len().min(1)] } else { args };
        let mut ty = None;
        for arg in sizes {
            if ty.is_none() {
                ty = self.sized(arg)?;
            }
        }
        let Some(ty) = ty else {
            let message = format!("the type of what `{name}` allocates is not known");
            let expected = "expected `sizeof`, as in `malloc(n * sizeof(struct node))`";
            return Err(Diagnostic::new(e.at, message, expected));
        };
        let bytes = match (name, args) {
            ("malloc", [bytes]) | ("aligned_alloc", [_, bytes]) => self.value(bytes)?.0,
            ("calloc", [count, size]) => {
                let (count, size) = (self.value(count)?.0, self.value(size)?.0);
                folded(Expr::binary(BinOp::Mul, count, size))
            }
            _ => return Err(missing(name, e)),
        };
        let structs = &self.unit.structs;
        let made = |op, l, by| folded(Expr::binary(op, l, Expr::Const(by)));
        let size = ty.size(structs).max(1);
        let count = match ty.tail(structs) {
            None => made(BinOp::Div, bytes, size),
            Some((offset, _, of)) => {
                made(BinOp::Div, made(BinOp::Sub, bytes, offset), of.size(structs).max(1))
            }
        };
        let reg = self.temp();
        self.step(Op::Allocate { reg, ty, count });
        Ok((Expr::Reg(reg), Type::VOID.pointer()))
    }

    /// The type in a `sizeof`.
    fn sized(&mut self, e: &ast::Expr) -> Lowering<Option<Type>> {
        match &e.kind {
            ExprKind::SizeOfType(ty) => Ok(Some(ty.clone())),
            ExprKind::SizeOf(inner) => self.type_of(inner).map(Some),
            ExprKind::Binary(BinOp::Mul, both) => {
                let first = self.sized(&both.0)?;
                if first.is_some() { Ok(first) } else { self.sized(&both.1) }
            }
            // A struct and the array that it ends with.
            ExprKind::Binary(BinOp::Add, both) => {
                let both = [self.sized(&both.0)?, self.sized(&both.1)?];
                let structs = &self.unit.structs;
                Ok(both.into_iter().flatten().find(|ty| ty.tail(structs).is_some()))
            }
            _ => Ok(None),
        }
    }

    /// `memset` with 0 of whole objects.
    fn clear(&mut self, name: &str, args: &[ast::Expr], e: &ast::Expr) -> Lowering<Typed> {
        let zero = name == "bzero";
        arity(name, args, if zero { 2 } else { 3 }, e)?;
        let mut what = &args[0];
        while let ExprKind::Cast(_, inner) = &what.kind {
            what = inner;
        }
        let (addr, ty) = self.value(what)?;
        let with = if zero { Expr::Const(0) } else { self.value(&args[1])?.0 };
        let (bytes, _) = self.value(&args[args.len() - 1])?;
        let structs = &self.unit.structs;
        let size = ty.pointee().map_or(0, |to| to.size(structs));
        let (Some(to), Expr::Const(0), Expr::Const(bytes)) = (ty.pointee(), with, bytes) else {
            return Err(self.no_whole(name, e));
        };
        if size == 0 || bytes % size != 0 || !(0..=MOST_BYTES).contains(&bytes) {
            return Err(self.no_whole(name, e));
        }
        let mut all = Vec::new();
        for i in 0..bytes / size {
            to.each_scalar(structs, (i * size, ""), &mut |offset, _, ty| {
                if ty.kind != TypeKind::Thread {
                    all.push((offset, Type { atomic: false, ..ty.clone() }));
                }
            });
        }
        for (offset, ty) in all {
            let at = folded(Expr::binary(BinOp::Add, addr.clone(), Expr::Const(offset)));
            self.write(Place::Memory(at, ty), Expr::Const(0), &Type::INT);
        }
        Ok(DONE)
    }

    fn no_whole(&self, name: &str, e: &ast::Expr) -> Diagnostic {
        let message = format!("this use of `{name}` is not supported here");
        Diagnostic::new(e.at, message, "expected 0 for whole objects, as many as a constant says")
            .help(ELSEWHERE)
    }
}

/// Checks the number of arguments.
pub(super) fn arity(name: &str, args: &[ast::Expr], n: usize, e: &ast::Expr) -> Lowering<()> {
    if args.len() == n {
        return Ok(());
    }
    let s = if n == 1 { "" } else { "s" };
    let message = format!("`{name}` takes {n} argument{s}, but {} were given", args.len());
    Err(Diagnostic::new(e.at, message, ""))
}

fn missing(name: &str, e: &ast::Expr) -> Diagnostic {
    Diagnostic::new(e.at, format!("`{name}` is given too few arguments"), "")
}
