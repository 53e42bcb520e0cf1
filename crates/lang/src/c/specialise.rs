//! Threads that start others, and what they do with what is known. Up to the first thread that it
//! starts, `main` runs alone: what it does until then is the memory that the program starts with.
//! Behind that, its variables stay known as long as they do not depend on memory, so that loops that
//! start threads and wait for them are written out. A point of the result is a point of the draft
//! with what is known there.

use std::collections::{BTreeMap, HashMap};

use weakspot_core::{BinOp, Expr, Fence, Instr, RegId, Span, Value};

use super::draft::{Draft, Op, RegName, Step, live};
use super::memory::{FUNCTION_SIZE, FUNCTIONS, Memory};
use super::naming::Label;
use super::parse::ELSEWHERE;
use super::types::{Struct, Type, TypeKind};
use crate::Diagnostic;
use crate::litmus::c::{folded, simplified};

/// Where no variable is: a run that allocates memory whose size is not known is one into a fault.
const UNKNOWN_SIZE: Value = 0;

/// Steps without an effect on memory after which a loop is taken to be endless.
const MOST_STEPS: usize = 2_000_000;

/// Points of a thread that is written out.
const MOST_POINTS: usize = 5_000;

/// Threads of a program, as the other languages have it.
const MOST_THREADS: usize = 64;

/// A thread of the program.
#[derive(Debug)]
pub(super) struct Instance {
    pub(super) function: usize,
    pub(super) arg: Option<Value>,
    /// The cell that is 1 once it may start, if it may not from the beginning.
    pub(super) start: Option<Value>,
    /// Who waits for its end looks at this cell.
    pub(super) done: Option<Value>,
    /// Who takes its result looks at this cell.
    pub(super) result: Option<Value>,
    pub(super) name: String,
    /// Where it is started.
    pub(super) at: Span,
}

/// All threads, and the memory.
pub(super) struct World<'u> {
    pub(super) memory: Memory,
    pub(super) instances: Vec<Instance>,
    pub(super) structs: &'u [Struct],
    /// The names of the functions.
    pub(super) functions: Vec<&'u str>,
    /// How many cells have no name in the text.
    hidden: usize,
}

impl<'u> World<'u> {
    pub(super) fn new(
        memory: Memory,
        structs: &'u [Struct],
        functions: Vec<&'u str>,
        main: Instance,
    ) -> World<'u> {
        World { memory, instances: vec![main], structs, functions, hidden: 0 }
    }

    fn hidden(&mut self, name: String) -> Value {
        self.hidden += 1;
        self.memory.hidden(self.hidden, name)
    }
}

/// Where a thread is and what is known there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    point: usize,
    known: Vec<Option<Value>>,
    /// The threads whose numbers are at these addresses.
    handles: BTreeMap<Value, usize>,
    /// There is no other thread yet.
    alone: bool,
    /// There was a store since the last step that empties the buffer, fences aside: what waits for
    /// a thread has a fence of its own whether or not there is one in the text.
    dirty: bool,
    /// The thread has done something since others started: those that it starts now are late.
    begun: bool,
}

/// Writes a draft out: with no steps left that start threads, wait for them or allocate memory.
pub(super) fn written_out(
    draft: &Draft,
    world: &mut World<'_>,
    is_main: bool,
) -> Result<Draft, Diagnostic> {
    let regs = draft.regs.len();
    let mut names = draft.regs.clone();
    names.push(RegName::hidden("$wait"));
    let live = live(&draft.points, regs);
    let mut known: Vec<Option<Value>> = vec![Some(0); regs];
    for (known, value) in known.iter_mut().zip(&draft.initial) {
        *known = Some(*value);
    }
    let start = State {
        point: 0,
        known,
        handles: BTreeMap::new(),
        alone: is_main,
        dirty: false,
        begun: !is_main,
    };
    let mut writer = Writer {
        draft,
        world,
        live,
        wait: RegId::new(regs),
        points: Vec::new(),
        numbers: HashMap::new(),
        todo: Vec::new(),
        once: Vec::new(),
    };
    writer.settled(start)?;
    while let Some((number, state)) = writer.todo.pop() {
        writer.point(number, state)?;
    }
    writer.check_once()?;
    Ok(Draft { points: writer.points, regs: names, initial: Vec::new() })
}

struct Writer<'a, 'w, 'u> {
    draft: &'a Draft,
    world: &'w mut World<'u>,
    live: Vec<Vec<bool>>,
    /// A register for what is waited for.
    wait: RegId,
    points: Vec<Vec<Step>>,
    numbers: HashMap<State, usize>,
    todo: Vec<(usize, State)>,
    /// Points that must not be reached twice in a run, and what is done there.
    once: Vec<(usize, Span, &'static str)>,
}

impl Writer<'_, '_, '_> {
    /// Follows what is decided from a state; the number of the point where something is left to do.
    fn settled(&mut self, mut state: State) -> Result<usize, Diagnostic> {
        for _ in 0..MOST_STEPS {
            if !self.advanced(&mut state)? {
                for (known, live) in state.known.iter_mut().zip(&self.live[state.point]) {
                    if !live {
                        *known = None;
                    }
                }
                if let Some(number) = self.numbers.get(&state) {
                    return Ok(*number);
                }
                let number = self.points.len();
                if number > MOST_POINTS {
                    let span = self.span(state.point);
                    let message = "this thread is too long when its loops are written out";
                    return Err(Diagnostic::new(span, message, "").help(ELSEWHERE));
                }
                self.points.push(Vec::new());
                self.numbers.insert(state.clone(), number);
                self.todo.push((number, state));
                return Ok(number);
            }
        }
        let message = "this loop does not end, or takes too long";
        Err(Diagnostic::new(self.span(state.point), message, "").help(ELSEWHERE))
    }

    fn span(&self, point: usize) -> Span {
        self.draft.points[point].first().map_or(Span::default(), |s| s.span)
    }

    /// Takes the next step if everything about it is known.
    fn advanced(&mut self, state: &mut State) -> Result<bool, Diagnostic> {
        let steps = &self.draft.points[state.point];
        let [Step { op, to, span }] = steps.as_slice() else {
            // A branch.
            for step in steps {
                let Op::Do(Instr::Assume(e)) = &step.op else { return Ok(false) };
                match value(e, &state.known) {
                    None => return Ok(false),
                    Some(Ok(0)) => {}
                    Some(Ok(_)) => {
                        state.point = step.to;
                        return Ok(true);
                    }
                    Some(Err(())) => return Err(by_zero(step.span)),
                }
            }
            return Ok(false);
        };
        let known = |e: &Expr| match value(e, &state.known) {
            Some(Err(())) => Err(by_zero(*span)),
            Some(Ok(v)) => Ok(Some(v)),
            None => Ok(None),
        };
        match op {
            Op::Do(Instr::Nop) => {}
            Op::Do(Instr::Assign { reg, value }) => {
                let Some(v) = known(value)? else { return Ok(false) };
                state.known[reg.index()] = Some(v);
            }
            Op::Do(Instr::Assume(e) | Instr::Assert(e)) => match known(e)? {
                Some(0) | None => return Ok(false),
                Some(_) => {}
            },
            Op::Do(Instr::Fence(_)) if !state.dirty => {}
            Op::Do(Instr::Load { reg, addr }) => {
                let Some(addr) = known(addr)? else { return Ok(false) };
                let memory = &self.world.memory;
                let v = match memory.frozen(addr) {
                    None if !state.alone => return Ok(false),
                    None => memory.get(addr),
                    frozen => frozen,
                };
                let Some(v) = v else { return Err(nowhere(*span)) };
                state.known[reg.index()] = Some(v);
            }
            Op::Do(Instr::Store { addr, value }) if state.alone => {
                let (Some(addr), Some(v)) = (known(addr)?, known(value)?) else { return Ok(false) };
                if !self.world.memory.set(addr, v) {
                    return Err(nowhere(*span));
                }
            }
            Op::Do(Instr::Update { reg, addr, value: new }) if state.alone => {
                let Some(addr) = known(addr)? else { return Ok(false) };
                let Some(old) = self.world.memory.get(addr) else { return Err(nowhere(*span)) };
                state.known[reg.index()] = Some(old);
                let Some(Ok(v)) = value(new, &state.known) else { return Err(by_zero(*span)) };
                self.world.memory.set(addr, v);
            }
            Op::Allocate { reg, ty, count } if state.alone => {
                let Some(count) = known(count)? else { return Ok(false) };
                state.known[reg.index()] = Some(self.allocated(ty, count, *span)?);
            }
            _ => return Ok(false),
        }
        state.point = *to;
        Ok(true)
    }

    fn allocated(&mut self, ty: &Type, count: Value, span: Span) -> Result<Value, Diagnostic> {
        let structs = self.world.structs;
        let tail = ty.tail(structs);
        let size = tail.map_or(ty, |(_, _, of)| of).size(structs).max(1);
        if !(0..=super::types::MOST_BYTES / size).contains(&count) {
            return Err(
                Diagnostic::new(span, "this is too much memory to search", "").help(ELSEWHERE)
            );
        }
        let label = Label { at: span, ..Label::only(format!("heap{}", self.world.hidden + 1)) };
        self.world.hidden += 1;
        if tail.is_some() {
            return self.world.memory.allocate_with_tail(ty, count, label, structs);
        }
        let all = Type::plain(TypeKind::Array(ty.clone().into(), count));
        self.world.memory.allocate(&all, label, structs)
    }

    /// Writes the steps of a point.
    fn point(&mut self, number: usize, state: State) -> Result<(), Diagnostic> {
        let draft = self.draft;
        for step in &draft.points[state.point] {
            let mut next = state.clone();
            next.point = step.to;
            let span = step.span;
            let ops = self.specialised(number, &step.op, &mut next, span)?;
            let Some(ops) = ops else { continue };
            let to = self.settled(next)?;
            let mut at = number;
            let last = ops.len().saturating_sub(1);
            for (i, op) in ops.into_iter().enumerate() {
                let to = if i == last {
                    to
                } else {
                    self.points.push(Vec::new());
                    self.points.len() - 1
                };
                self.points[at].push(Step { op, to, span });
                at = to;
            }
        }
        Ok(())
    }

    /// What is left of a step, and what is known behind it. `None` if it is never taken.
    fn specialised(
        &mut self,
        number: usize,
        op: &Op,
        next: &mut State,
        span: Span,
    ) -> Result<Option<Vec<Op>>, Diagnostic> {
        let known = next.known.clone();
        let left = |e: &Expr| substituted(e, &known);
        let alone = next.alone;
        let op = match op {
            Op::Do(instr) => {
                let instr = match instr {
                    Instr::Assume(e) => match left(e) {
                        Expr::Const(0) => return Ok(None),
                        e => Instr::Assume(e),
                    },
                    Instr::Assert(e) => Instr::Assert(left(e)),
                    Instr::Assign { reg, value } => Instr::Assign { reg: *reg, value: left(value) },
                    Instr::Load { reg, addr } => Instr::Load { reg: *reg, addr: left(addr) },
                    Instr::Store { addr, value } => {
                        next.dirty = true;
                        Instr::Store { addr: left(addr), value: left(value) }
                    }
                    Instr::Update { reg, addr, value } => {
                        let addr = left(addr);
                        next.dirty = false;
                        next.known[reg.index()] = None;
                        let value = substituted(value, &next.known);
                        Instr::Update { reg: *reg, addr, value }
                    }
                    other => other.clone(),
                };
                next.begun |= !alone;
                Op::Do(instr)
            }
            Op::Allocate { reg, ty, count } => {
                let Expr::Const(count) = left(count) else {
                    // Runs that come here are refused; often there are none, as where a queue grows.
                    next.known[reg.index()] = None;
                    let fault = Instr::Load { reg: *reg, addr: Expr::Const(UNKNOWN_SIZE) };
                    return Ok(Some(vec![Op::Do(fault)]));
                };
                self.once.push((number, span, "allocated"));
                next.known[reg.index()] = Some(self.allocated(ty, count, span)?);
                return Ok(Some(vec![Op::Do(Instr::Nop)]));
            }
            Op::Create { handle, function, arg } => {
                let (Expr::Const(handle), Expr::Const(arg)) = (left(handle), left(arg)) else {
                    return Err(unknown(span, "with what this thread starts"));
                };
                let Some(function) = self.function(&left(function)) else {
                    return Err(unknown(span, "which function this thread runs"));
                };
                self.once.push((number, span, "started"));
                let thread = self.started(next.begun, function, arg, span)?;
                next.handles.insert(handle, thread);
                next.alone = false;
                let Some(start) = self.world.instances[thread].start else {
                    return Ok(Some(vec![Op::Do(Instr::Nop)]));
                };
                next.dirty = false;
                let (addr, value) = (Expr::Const(start), Expr::Const(1));
                Op::Do(Instr::Update { reg: self.wait, addr, value })
            }
            Op::Join { handle, result } => {
                let thread = match left(handle) {
                    Expr::Const(handle) => next.handles.get(&handle).copied(),
                    _ => None,
                };
                let Some(thread) = thread else {
                    return Err(unknown(span, "for which thread this waits"));
                };
                let ops = self.joined(thread, *result, next.dirty);
                if let Some(reg) = result {
                    next.known[reg.index()] = None;
                }
                next.dirty = false;
                next.begun = true;
                return Ok(Some(ops));
            }
            Op::Finish(e) => Op::Finish(left(e)),
        };
        if let Some(reg) = op.changes()
            && reg != self.wait
        {
            next.known[reg.index()] = None;
        }
        Ok(Some(vec![op]))
    }

    /// The function that a number stands for.
    fn function(&self, address: &Expr) -> Option<usize> {
        let Expr::Const(address) = address else { return None };
        let distance = address.checked_sub(FUNCTIONS).filter(|d| d % FUNCTION_SIZE == 0)?;
        let index = usize::try_from(distance / FUNCTION_SIZE).ok()?;
        (index < self.world.functions.len()).then_some(index)
    }

    /// A new thread; its number.
    fn started(
        &mut self,
        late: bool,
        function: usize,
        arg: Value,
        at: Span,
    ) -> Result<usize, Diagnostic> {
        let number = self.world.instances.len();
        if number >= MOST_THREADS {
            let message = format!("more than {MOST_THREADS} threads");
            return Err(Diagnostic::new(at, message, "").help(ELSEWHERE));
        }
        let name = self.world.functions[function];
        let name = format!("{name}#{number}");
        let start = late.then(|| self.world.hidden(format!("{name} started")));
        self.world.instances.push(Instance {
            function,
            arg: Some(arg),
            start,
            done: None,
            result: None,
            name,
            at,
        });
        Ok(number)
    }

    /// Waits for the end of a thread. Who comes too early goes no further: its runs are those of
    /// one who comes later.
    fn joined(&mut self, thread: usize, result: Option<RegId>, dirty: bool) -> Vec<Op> {
        let mut ops = Vec::new();
        if dirty {
            ops.push(Op::Do(Instr::Fence(Fence::Full)));
        }
        let name = self.world.instances[thread].name.clone();
        let done = match self.world.instances[thread].done {
            Some(done) => done,
            None => self.world.hidden(format!("{name} done")),
        };
        self.world.instances[thread].done = Some(done);
        ops.push(Op::Do(Instr::Load { reg: self.wait, addr: Expr::Const(done) }));
        ops.push(Op::Do(Instr::Assume(Expr::Reg(self.wait))));
        if let Some(reg) = result {
            let cell = match self.world.instances[thread].result {
                Some(cell) => cell,
                None => self.world.hidden(format!("{name} result")),
            };
            self.world.instances[thread].result = Some(cell);
            ops.push(Op::Do(Instr::Load { reg, addr: Expr::Const(cell) }));
        }
        ops
    }

    /// Refuses threads and memory that a run could make again and again.
    fn check_once(&self) -> Result<(), Diagnostic> {
        for (point, span, what) in &self.once {
            let mut seen = vec![false; self.points.len()];
            let mut todo = vec![*point];
            while let Some(p) = todo.pop() {
                for step in &self.points[p] {
                    if step.to == *point {
                        let message =
                            format!("how often something is {what} here depends on other threads");
                        return Err(Diagnostic::new(*span, message, "").help(ELSEWHERE));
                    }
                    if !std::mem::replace(&mut seen[step.to], true) {
                        todo.push(step.to);
                    }
                }
            }
        }
        Ok(())
    }
}

/// The value of an expression if all its registers are known.
pub(super) fn value(e: &Expr, known: &[Option<Value>]) -> Option<Result<Value, ()>> {
    match substituted(e, known) {
        Expr::Const(v) => Some(Ok(v)),
        e => {
            let mut constant = true;
            e.for_each_reg(&mut |_| constant = false);
            constant.then_some(Err(()))
        }
    }
}

/// The expression with what is known put in.
pub(super) fn substituted(e: &Expr, known: &[Option<Value>]) -> Expr {
    let inner = |e: &Expr| substituted(e, known);
    match e {
        Expr::Const(_) => e.clone(),
        Expr::Reg(r) => match known.get(r.index()) {
            Some(Some(v)) => Expr::Const(*v),
            _ => e.clone(),
        },
        Expr::Unary(op, a) => folded(Expr::unary(*op, inner(a))),
        Expr::Binary(op, a, b) => match (op, inner(a), inner(b)) {
            // What could not be divided stays, and is a fault when it is.
            (BinOp::Div | BinOp::Rem, a, b) => folded(Expr::binary(*op, a, b)),
            (op, a, b) => simplified(*op, a, b),
        },
        Expr::Select(all) => match inner(&all.0) {
            Expr::Const(0) => inner(&all.2),
            Expr::Const(_) => inner(&all.1),
            c => Expr::select(c, inner(&all.1), inner(&all.2)),
        },
    }
}

fn by_zero(span: Span) -> Diagnostic {
    Diagnostic::new(span, "this divides by zero", "reached in every run")
}

fn nowhere(span: Span) -> Diagnostic {
    let message = "this is an access where no variable of that type is";
    Diagnostic::new(span, message, "reached in every run")
}

fn unknown(span: Span, what: &str) -> Diagnostic {
    let message = format!("{what} is not known before the program runs");
    Diagnostic::new(span, message, "").help(ELSEWHERE)
}
