//! Functions to the automaton of a thread: calls become the text of what is called.

mod assembly;
mod atomics;
mod calls;
mod copies;
mod init;
mod order;
mod pthreads;
mod statement;
mod structs;
mod value;

use std::collections::{HashMap, HashSet};

use weakspot_core::{Expr, Fence, Instr, RegId, Span, Value};

use super::ast::{self, ExprKind, Function, Init, ObjectId, Unit, Variable};
use super::draft::{Draft, Op, RegName, Step};
use super::memory::{Memory, cell};
use super::naming::Label;
use super::parse::ELSEWHERE;
use super::types::{Type, TypeKind};
use super::visit::each_expr;
use crate::Diagnostic;
use crate::litmus::c::not;

pub(super) use init::globals;
use structs::{Argument, Parts};

pub(super) type Lowering<T> = Result<T, Diagnostic>;

/// A value with its type.
pub(super) type Typed = (Expr, Type);

/// Points of a thread after which a program is refused.
const MOST_POINTS: usize = 20_000;

/// Where something is stored.
#[derive(Clone, Debug)]
pub(super) enum Place {
    Reg(RegId, Type),
    /// At the byte with this address.
    Memory(Expr, Type),
    /// A struct in registers: where each number or pointer is in it, its type and register.
    Parts(Vec<(Value, Type, RegId)>, Type),
}

impl Place {
    fn ty(&self) -> &Type {
        match self {
            Place::Reg(_, ty) | Place::Memory(_, ty) | Place::Parts(_, ty) => ty,
        }
    }
}

/// A function that is being put in the place of its call.
struct Frame {
    function: usize,
    /// Where it returns to, and the register for its value.
    behind: usize,
    result: Option<(RegId, Type)>,
    /// The registers for the numbers and pointers of a struct that it returns.
    parts: Vec<(Value, Type, RegId)>,
    /// The labels that were seen: where they are, and the first jump to those that are not.
    labels: HashMap<String, (usize, Option<Span>)>,
}

/// A loop or `switch`: where `break` and `continue` lead.
#[derive(Clone, Copy)]
struct Around {
    breaks: usize,
    continues: Option<usize>,
}

/// The workshop of one thread.
pub(super) struct Lower<'u> {
    pub(super) unit: &'u Unit,
    pub(super) memory: &'u mut Memory,
    pub(super) draft: Draft,
    /// What the thread's own variables in memory are named after.
    thread: String,
    is_main: bool,
    /// Where the next step begins; a point without steps.
    at: usize,
    /// The text that steps are attributed to.
    span: Span,
    /// The registers of variables.
    vars: HashMap<ObjectId, RegId>,
    /// The registers of structs: offset, type and register of each part.
    parts_of: HashMap<ObjectId, Vec<(Value, Type, RegId)>>,
    /// The addresses of variables in memory, in the same way.
    objects: HashMap<ObjectId, Value>,
    /// Registers for values within a statement, and how many are in use.
    scratch: Vec<RegId>,
    used: usize,
    /// How many are in use around the statement.
    base: usize,
    /// The variables that the thread has for itself.
    own: HashMap<String, Place>,
    /// The types of expressions that were asked for.
    types: HashMap<*const ast::Expr, Type>,
    /// What has effects in a place that is looked for twice, with its values; `None` where no place is.
    saved: Option<HashMap<*const ast::Expr, Typed>>,
    /// The names that are known here, the innermost last.
    scopes: Vec<HashMap<String, Place>>,
    frames: Vec<Frame>,
    around: Vec<Around>,
    /// The variables of each function whose addresses are taken.
    addressed: HashMap<usize, HashSet<String>>,
    /// Where the thread ends, and its result.
    end: (usize, RegId),
}

/// The automaton of a thread that calls a function with an argument.
pub(super) fn thread(
    unit: &Unit,
    memory: &mut Memory,
    name: &str,
    function: usize,
    arg: Option<Value>,
) -> Lowering<Draft> {
    let mut lower = Lower::new(unit, memory, name, arg.is_none());
    let f = &unit.functions[function];
    // `main` has one argument, its name, which nobody may look at.
    let args = match arg {
        Some(arg) => vec![(Expr::Const(arg), Type::VOID.pointer())],
        None => vec![(Expr::Const(1), Type::INT), (Expr::Const(0), Type::VOID.pointer())],
    };
    if f.params.len() > args.len() {
        let message = format!("`{}` takes {} arguments", f.name, f.params.len());
        let expected = "expected a function with one argument, a pointer";
        return Err(Diagnostic::new(f.at, message, expected));
    }
    let args = args.into_iter().take(f.params.len()).map(Argument::Value).collect();
    lower.span = f.at;
    lower.declare_own()?;
    let ((value, ty), _) = lower.inline(function, args, f.at)?;
    let (end, result) = lower.end;
    let value = lower.converted(value, &ty, &Type::VOID.pointer());
    lower.assign(result, value);
    lower.go_to(end);
    lower.resume(end);
    lower.step(Op::Finish(Expr::Reg(result)));
    Ok(lower.draft)
}

impl<'u> Lower<'u> {
    pub(super) fn new(
        unit: &'u Unit,
        memory: &'u mut Memory,
        thread: &str,
        is_main: bool,
    ) -> Lower<'u> {
        let mut lower = Lower {
            unit,
            memory,
            draft: Draft { points: vec![Vec::new(), Vec::new()], ..Draft::default() },
            thread: thread.to_owned(),
            is_main,
            at: 0,
            span: Span::default(),
            vars: HashMap::new(),
            parts_of: HashMap::new(),
            objects: HashMap::new(),
            scratch: Vec::new(),
            used: 0,
            base: 0,
            own: HashMap::new(),
            types: HashMap::new(),
            saved: None,
            scopes: Vec::new(),
            frames: Vec::new(),
            around: Vec::new(),
            addressed: HashMap::new(),
            end: (1, RegId::new(0)),
        };
        lower.end.1 = lower.register(RegName::hidden("result"));
        lower
    }

    fn register(&mut self, name: RegName) -> RegId {
        self.draft.regs.push(name);
        RegId::new(self.draft.regs.len() - 1)
    }

    /// A register for a value within the statement.
    fn temp(&mut self) -> RegId {
        if self.used == self.scratch.len() {
            let reg = self.register(RegName::hidden(&format!("${}", self.used)));
            self.scratch.push(reg);
        }
        self.used += 1;
        self.scratch[self.used - 1]
    }

    fn new_point(&mut self) -> usize {
        self.draft.points.push(Vec::new());
        self.draft.points.len() - 1
    }

    /// The next step begins at `point`.
    fn resume(&mut self, point: usize) {
        self.at = point;
    }

    fn step(&mut self, op: Op) {
        let to = self.new_point();
        let span = self.span;
        self.draft.points[self.at].push(Step { op, to, span });
        self.at = to;
    }

    fn instr(&mut self, instr: Instr) {
        self.step(Op::Do(instr));
    }

    fn fence(&mut self, fence: Fence) {
        self.instr(Instr::Fence(fence));
    }

    fn assign(&mut self, reg: RegId, value: Expr) {
        if value != Expr::Reg(reg) {
            self.instr(Instr::Assign { reg, value });
        }
    }

    fn go_to(&mut self, to: usize) {
        let span = self.span;
        self.draft.points[self.at].push(Step { op: Op::Do(Instr::Nop), to, span });
    }

    /// Goes to `to`; what follows is not reached from here.
    fn leave(&mut self, to: usize) {
        self.go_to(to);
        self.at = self.new_point();
    }

    /// Goes to `yes` if the value is not 0, else to `no`.
    fn fork(&mut self, value: Expr, yes: usize, no: usize) {
        if let Expr::Const(v) = value {
            return self.go_to(if v != 0 { yes } else { no });
        }
        let span = self.span;
        let assume = |e, to| Step { op: Op::Do(Instr::Assume(e)), to, span };
        let steps = [assume(value.clone(), yes), assume(not(value), no)];
        self.draft.points[self.at].extend(steps);
    }

    /// Puts a function in the place of its call; the value that it returns, and the parts of it if it is a struct.
    fn inline(
        &mut self,
        function: usize,
        args: Vec<Argument>,
        at: Span,
    ) -> Lowering<(Typed, Parts)> {
        let unit = self.unit;
        let f = &unit.functions[function];
        if self.frames.iter().any(|frame| frame.function == function) {
            let message = format!("`{}` calls itself", f.name);
            return Err(
                Diagnostic::new(at, message, "recursion is not supported here").help(ELSEWHERE)
            );
        }
        if args.len() != f.params.len() {
            let message = format!(
                "`{}` takes {} arguments, but {} were given",
                f.name,
                f.params.len(),
                args.len()
            );
            return Err(Diagnostic::new(at, message, ""));
        }
        if self.draft.points.len() > MOST_POINTS {
            let message = "a thread is too long with all functions in the places of their calls";
            return Err(Diagnostic::new(at, message, "").help(ELSEWHERE));
        }
        let result = match f.result.kind {
            TypeKind::Void | TypeKind::Struct(_) => None,
            _ => Some((self.temp(), Type { atomic: false, ..f.result.clone() })),
        };
        let mut parts = Vec::new();
        if let TypeKind::Struct(_) = f.result.kind {
            let scalars = self.scalars(&f.result).into_iter();
            parts = scalars.map(|(offset, ty)| (offset, ty, self.temp())).collect();
        }
        let behind = self.new_point();
        let (base, used, span) = (self.base, self.used, self.span);
        self.base = used;
        let scopes = std::mem::replace(&mut self.scopes, vec![HashMap::new()]);
        let around = std::mem::take(&mut self.around);
        self.frames.push(Frame {
            function,
            behind,
            result: result.clone(),
            parts: parts.clone(),
            labels: HashMap::new(),
        });
        self.addressed.entry(function).or_insert_with(|| addressed(f));
        let done = self.body(f, args);
        let frame = self.frames.pop();
        (self.scopes, self.around) = (scopes, around);
        (self.base, self.used, self.span) = (base, used, span);
        done?;
        self.go_to(behind);
        self.resume(behind);
        let labels = frame.iter().flat_map(|frame| &frame.labels);
        let missing = labels.into_iter().find_map(|(l, (_, at))| Some((l, (*at)?)));
        if let Some((label, at)) = missing {
            return Err(Diagnostic::new(at, format!("unknown label `{label}`"), ""));
        }
        let parts = parts.into_iter().map(|(offset, ty, reg)| (offset, ty, Expr::Reg(reg)));
        let value = match result {
            Some((reg, ty)) => (Expr::Reg(reg), ty),
            None => (Expr::Const(0), Type { atomic: false, ..f.result.clone() }),
        };
        Ok((value, parts.collect()))
    }

    /// What a function does with its arguments.
    fn body(&mut self, f: &Function, args: Vec<Argument>) -> Lowering<()> {
        for (param, arg) in f.params.iter().zip(args) {
            let place = self.declare(param)?;
            match (place, arg) {
                (place, Argument::Value((value, ty))) => self.write(place, value, &ty),
                (place, Argument::Struct(own, parts)) if place.ty().kind == own.kind => {
                    self.write_struct(&place, parts);
                }
                (_, Argument::Struct(own, _)) => {
                    let what = own.describe(&self.unit.structs);
                    let message = format!("`{}` is given a `{what}`", param.name);
                    return Err(Diagnostic::new(param.at, message, ""));
                }
            }
        }
        f.body.stmts.iter().try_for_each(|stmt| self.statement(stmt))
    }

    /// The variables that the thread has for itself: registers where nobody takes their addresses.
    fn declare_own(&mut self) -> Lowering<()> {
        let unit = self.unit;
        for variable in unit.globals.iter().filter(|v| v.per_thread) {
            let place = self.declare(variable)?;
            self.own.insert(variable.name.clone(), place);
        }
        Ok(())
    }

    /// Whether someone takes the address of a variable: in its function, or anywhere if it is in none.
    fn is_addressed(&mut self, name: &str) -> bool {
        let unit = self.unit;
        match self.frames.last() {
            Some(frame) => {
                self.addressed.get(&frame.function).is_some_and(|all| all.contains(name))
            }
            None => unit.functions.iter().any(|f| addressed(f).contains(name)),
        }
    }

    /// The value that a register starts with, which is a constant.
    fn set_initial(&mut self, reg: RegId, variable: &Variable) -> Lowering<()> {
        let Some(init) = &variable.init else { return Ok(()) };
        let e = match init {
            Init::Value(e) => e,
            Init::List(_, at) => return Err(Diagnostic::new(*at, "this is no single value", "")),
        };
        let (value, from) = self.value(e)?;
        let Expr::Const(value) = self.converted(value, &from, &variable.ty) else {
            return Err(Diagnostic::new(e.at, "this is no constant", "expected a constant"));
        };
        self.draft.initial.resize(self.draft.initial.len().max(reg.index() + 1), 0);
        self.draft.initial[reg.index()] = value;
        Ok(())
    }

    /// A variable of a function, or a parameter.
    fn declare(&mut self, variable: &Variable) -> Lowering<Place> {
        let Variable { name, ty, at, is_static, per_thread, id, .. } = variable;
        let in_register = (ty.is_number() || matches!(ty.kind, TypeKind::Pointer(_)))
            && (!is_static || *per_thread)
            && !self.is_addressed(name);
        let place = if in_register {
            let reg = match self.vars.get(id) {
                Some(reg) => *reg,
                None => {
                    let label = self.in_function(name.clone(), *at);
                    let reg = self.register(RegName { label, is_unsigned: ty.is_unsigned_64() });
                    self.vars.insert(*id, reg);
                    if *per_thread {
                        self.set_initial(reg, variable)?;
                    }
                    reg
                }
            };
            Place::Reg(reg, Type { atomic: false, ..ty.clone() })
        } else if self.is_in_registers(variable) {
            self.declare_parts(variable)
        } else if (*is_static && !per_thread) || self.is_frozen(variable) {
            let addr = match self.memory.statics.get(id) {
                Some(addr) => *addr,
                None => {
                    let structs = &self.unit.structs;
                    let label = self.in_function(name.clone(), *at);
                    let addr = self.memory.allocate(ty, label, structs)?;
                    self.memory.statics.insert(*id, addr);
                    if let Some(init) = &variable.init {
                        self.initialise_static(addr, ty, init)?;
                    }
                    if self.is_frozen(variable) {
                        self.memory.freeze(addr, ty, structs);
                    }
                    addr
                }
            };
            Place::Memory(Expr::Const(addr), ty.clone())
        } else {
            let addr = match self.objects.get(id) {
                Some(addr) => *addr,
                None => {
                    let label = self.own(self.in_function(name.clone(), *at));
                    let addr = self.memory.allocate(ty, label, &self.unit.structs)?;
                    self.objects.insert(*id, addr);
                    if let (true, Some(init)) = (*per_thread, &variable.init) {
                        self.initialise_static(addr, ty, init)?;
                    }
                    addr
                }
            };
            Place::Memory(Expr::Const(addr), ty.clone())
        };
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.clone(), place.clone());
        }
        Ok(place)
    }

    /// Whether a struct is kept in registers: it has no arrays, and nobody takes its address, or that of a part.
    fn is_in_registers(&mut self, variable: &Variable) -> bool {
        let structs = &self.unit.structs;
        variable.ty.is_of_registers(structs)
            && !variable.is_static
            && !variable.per_thread
            && !self.is_frozen(variable)
            && !self.is_addressed(&variable.name)
    }

    /// A struct of a function that is kept in registers.
    fn declare_parts(&mut self, variable: &Variable) -> Place {
        let Variable { name, ty, at, id, .. } = variable;
        if let Some(parts) = self.parts_of.get(id) {
            return Place::Parts(parts.clone(), ty.clone());
        }
        let mut scalars = Vec::new();
        ty.each_scalar(&self.unit.structs, (0, name), &mut |offset, name, ty| {
            scalars.push((offset, name.to_owned(), Type { atomic: false, ..ty.clone() }));
        });
        let mut parts = Vec::new();
        for (offset, name, ty) in scalars {
            let label = self.in_function(name, *at);
            let reg = self.register(RegName { label, is_unsigned: ty.is_unsigned_64() });
            parts.push((offset, ty, reg));
        }
        self.parts_of.insert(*id, parts.clone());
        Place::Parts(parts, ty.clone())
    }

    /// What something is called that the function declares.
    fn in_function(&self, name: String, at: Span) -> Label {
        let function = self.frames.last().map(|f| self.unit.functions[f.function].name.clone());
        Label { function: function.unwrap_or_default(), at, ..Label::only(name) }
    }

    /// What something is called that the thread has for itself.
    fn own(&self, label: Label) -> Label {
        Label { thread: self.thread.clone(), ..label }
    }

    /// Whether a variable has the same value in all runs.
    fn is_frozen(&self, variable: &Variable) -> bool {
        self.memory.frozen.contains(&variable.id)
    }

    /// A value of one type as one of another.
    fn converted(&self, value: Expr, from: &Type, to: &Type) -> Expr {
        if to.kind == TypeKind::Bool && from.kind != TypeKind::Bool {
            return value::truth(value);
        }
        to.machine().convert(value, from.machine())
    }

    /// Writes to a place, with no order.
    fn write(&mut self, to: Place, value: Expr, from: &Type) {
        match to {
            Place::Reg(reg, ty) => {
                let value = self.converted(value, from, &ty);
                self.assign(reg, value);
            }
            Place::Memory(addr, ty) => {
                let value = self.converted(value, from, &ty);
                self.instr(Instr::Store { addr: cell(addr, &ty), value });
            }
            // Structs are written part by part.
            Place::Parts(..) => {}
        }
    }
}

/// The variables of a function whose addresses are taken, but for where only the value counts.
fn addressed(f: &Function) -> HashSet<String> {
    let mut all: HashSet<String> = HashSet::new();
    let mut harmless: HashSet<*const ast::Expr> = HashSet::new();
    for stmt in &f.body.stmts {
        each_expr(stmt, &mut |e| match &e.kind {
            ExprKind::Call(called, args) => {
                if let (ExprKind::Name(name), Some(second)) = (&called.kind, args.get(1))
                    && (name.contains("compare_exchange") || name == "pthread_join")
                {
                    harmless.insert(std::ptr::from_ref(second));
                }
            }
            ExprKind::AddressOf(inner) if !harmless.contains(&std::ptr::from_ref(e)) => {
                let mut inner = inner;
                while let ExprKind::Member(whole, _) = &inner.kind {
                    inner = whole;
                }
                if let ExprKind::Name(name) = &inner.kind {
                    all.insert(name.clone());
                }
            }
            _ => {}
        });
    }
    all
}
