//! Drafts to threads: constants are put in, and steps that do nothing are left out.

use weakspot_core::{Edge, Expr, Instr, Point, PointId, RegId, Thread, Value};

use super::draft::{Draft, Op, RegName, Step, live};
use super::naming::Label;
use super::specialise::{Instance, substituted, value};

/// A thread with the names of its registers.
pub(super) struct Tidied {
    pub(super) thread: Thread,
    pub(super) regs: Vec<Label>,
    /// Which of them hold numbers of 64 bits without a sign.
    pub(super) unsigned: Vec<bool>,
}

/// Puts in what is known at each point, whatever leads there.
pub(super) fn with_constants(draft: &mut Draft) {
    let regs = draft.regs.len();
    let mut entry: Vec<Option<Value>> = vec![Some(0); regs];
    for (known, value) in entry.iter_mut().zip(&draft.initial) {
        *known = Some(*value);
    }
    let mut states: Vec<Option<Vec<Option<Value>>>> = vec![None; draft.points.len()];
    states[0] = Some(entry);
    let mut todo = vec![0];
    while let Some(p) = todo.pop() {
        let Some(known) = states[p].clone() else { continue };
        for step in &draft.points[p] {
            let mut next = known.clone();
            match &step.op {
                Op::Do(Instr::Assume(e)) if value(e, &known) == Some(Ok(0)) => continue,
                Op::Do(Instr::Assign { reg, value: e }) => {
                    next[reg.index()] = value(e, &known).and_then(Result::ok);
                }
                op => {
                    if let Some(reg) = op.changes() {
                        next[reg.index()] = None;
                    }
                }
            }
            let merged = match &states[step.to] {
                None => next,
                Some(old) => {
                    old.iter().zip(&next).map(|(a, b)| if a == b { *a } else { None }).collect()
                }
            };
            if states[step.to].as_ref() != Some(&merged) {
                states[step.to] = Some(merged);
                todo.push(step.to);
            }
        }
    }
    for (steps, known) in draft.points.iter_mut().zip(states) {
        let Some(known) = known else {
            steps.clear();
            continue;
        };
        steps.retain(
            |step| !matches!(&step.op, Op::Do(Instr::Assume(e)) if value(e, &known) == Some(Ok(0))),
        );
        for step in steps {
            put_in(&mut step.op, &known);
        }
    }
}

fn put_in(op: &mut Op, known: &[Option<Value>]) {
    let put = |e: &mut Expr| *e = substituted(e, known);
    match op {
        Op::Do(Instr::Assume(e)) => {
            put(e);
            if matches!(e, Expr::Const(v) if *v != 0) {
                *op = Op::Do(Instr::Nop);
            }
        }
        Op::Do(Instr::Assign { value: e, .. } | Instr::Assert(e) | Instr::Load { addr: e, .. }) => {
            put(e);
        }
        Op::Do(Instr::Store { addr, value }) => {
            put(addr);
            put(value);
        }
        Op::Do(Instr::Update { reg, addr, value }) => {
            put(addr);
            let mut behind = known.to_vec();
            behind[reg.index()] = None;
            *value = substituted(value, &behind);
        }
        Op::Finish(e) => put(e),
        _ => {}
    }
}

/// The thread of a draft that starts no others.
pub(super) fn tidied(mut draft: Draft, instance: &Instance) -> Tidied {
    ends(&mut draft, instance);
    drop_dead(&mut draft);
    let entry = contract(&mut draft);
    numbered(&draft, entry)
}

/// Puts in how the thread starts and ends.
fn ends(draft: &mut Draft, instance: &Instance) {
    let wait = RegId::new(draft.regs.len());
    draft.regs.push(RegName::hidden("$ends"));
    let mut points = std::mem::take(&mut draft.points);
    for p in 0..points.len() {
        for s in 0..points[p].len() {
            let Op::Finish(e) = &points[p][s].op else { continue };
            let (e, to, span) = (e.clone(), points[p][s].to, points[p][s].span);
            let mut ops = Vec::new();
            if let (Some(cell), Some(_)) = (instance.result, instance.done) {
                ops.push(Instr::Store { addr: Expr::Const(cell), value: e });
            }
            if let Some(cell) = instance.done {
                let (addr, value) = (Expr::Const(cell), Expr::Const(1));
                ops.push(Instr::Update { reg: wait, addr, value });
            }
            let mut next = to;
            while ops.len() > 1 {
                if let Some(instr) = ops.pop() {
                    points.push(vec![Step { op: Op::Do(instr), to: next, span }]);
                    next = points.len() - 1;
                }
            }
            let op = Op::Do(ops.pop().unwrap_or(Instr::Nop));
            points[p][s] = Step { op, to: next, span };
        }
    }
    if let Some(cell) = instance.start {
        // The start is a new first point, and what was first moves to the end.
        let span = instance.at;
        let (first, test) = (points.len(), points.len() + 1);
        let moved = std::mem::take(&mut points[0]);
        points.push(moved);
        for step in points.iter_mut().flatten().filter(|s| s.to == 0) {
            step.to = first;
        }
        points.push(vec![Step { op: Op::Do(Instr::Assume(Expr::Reg(wait))), to: first, span }]);
        let load = Instr::Load { reg: wait, addr: Expr::Const(cell) };
        points[0] = vec![Step { op: Op::Do(load), to: test, span }];
    }
    draft.points = points;
}

/// Makes assignments that nobody reads steps that do nothing.
fn drop_dead(draft: &mut Draft) {
    loop {
        let live = live(&draft.points, draft.regs.len());
        let mut changed = false;
        for step in draft.points.iter_mut().flatten() {
            if let Op::Do(Instr::Assign { reg, value }) = &step.op
                && !live[step.to][reg.index()]
                && !may_fault(value)
            {
                step.op = Op::Do(Instr::Nop);
                changed = true;
            }
        }
        if !changed {
            return;
        }
    }
}

/// Whether an expression divides by what may be 0.
fn may_fault(e: &Expr) -> bool {
    use weakspot_core::BinOp::{Div, Rem};
    match e {
        Expr::Const(_) | Expr::Reg(_) => false,
        Expr::Unary(_, a) => may_fault(a),
        Expr::Binary(Div | Rem, a, b) => may_fault(a) || !matches!(**b, Expr::Const(v) if v != 0),
        Expr::Binary(_, a, b) => may_fault(a) || may_fault(b),
        Expr::Select(all) => may_fault(&all.0) || may_fault(&all.1) || may_fault(&all.2),
    }
}

/// Leads past points that only go on; where the thread starts then.
fn contract(draft: &mut Draft) -> usize {
    let count = draft.points.len();
    let next = |p: usize| match draft.points[p].as_slice() {
        [Step { op: Op::Do(Instr::Nop), to, .. }] if *to != p => Some(*to),
        _ => None,
    };
    let end = |p: usize| {
        let (mut at, mut steps) = (p, 0);
        while let Some(to) = next(at) {
            at = to;
            steps += 1;
            if steps > count {
                // A loop that does nothing: it stays.
                return p;
            }
        }
        at
    };
    let ends: Vec<usize> = (0..count).map(end).collect();
    for step in draft.points.iter_mut().flatten() {
        step.to = ends[step.to];
    }
    ends[0]
}

/// The thread with the points that are reached and the registers that are used.
fn numbered(draft: &Draft, entry: usize) -> Tidied {
    let mut numbers = vec![None; draft.points.len()];
    let mut order = Vec::new();
    let mut stack = vec![entry];
    while let Some(p) = stack.pop() {
        if numbers[p].is_none() {
            numbers[p] = Some(PointId::new(order.len()));
            order.push(p);
            stack.extend(draft.points[p].iter().rev().map(|s| s.to));
        }
    }
    let mut used = vec![false; draft.regs.len()];
    for step in order.iter().flat_map(|p| &draft.points[*p]) {
        step.op.each_expr(&mut |e| e.for_each_reg(&mut |r| used[r.index()] = true));
        if let Some(reg) = step.op.changes() {
            used[reg.index()] = true;
        }
    }
    let mut regs = Vec::new();
    let (mut names, mut unsigned): (Vec<Label>, Vec<bool>) = (Vec::new(), Vec::new());
    let mut map = vec![RegId::new(0); draft.regs.len()];
    for (r, RegName { label, is_unsigned }) in
        draft.regs.iter().enumerate().filter(|(r, _)| used[*r])
    {
        map[r] = RegId::new(regs.len());
        regs.push(draft.initial.get(r).copied().unwrap_or(0));
        names.push(label.clone());
        unsigned.push(*is_unsigned);
    }
    let points = order.iter().map(|p| {
        let edges = draft.points[*p].iter().filter_map(|step| {
            let Op::Do(instr) = &step.op else { return None };
            let to = numbers[step.to]?;
            Some(Edge { instr: renamed(instr, &map), to, span: step.span })
        });
        Point { edges: edges.collect() }
    });
    let points = points.collect();
    Tidied { thread: Thread { regs, entry: PointId::new(0), points }, regs: names, unsigned }
}

fn renamed(instr: &Instr, map: &[RegId]) -> Instr {
    let reg = |r: &RegId| map[r.index()];
    let expr = |e: &Expr| renamed_expr(e, map);
    match instr {
        Instr::Assign { reg: r, value } => Instr::Assign { reg: reg(r), value: expr(value) },
        Instr::Choose { reg: r, low, high } => {
            Instr::Choose { reg: reg(r), low: *low, high: *high }
        }
        Instr::Assume(e) => Instr::Assume(expr(e)),
        Instr::Assert(e) => Instr::Assert(expr(e)),
        Instr::Load { reg: r, addr } => Instr::Load { reg: reg(r), addr: expr(addr) },
        Instr::Store { addr, value } => Instr::Store { addr: expr(addr), value: expr(value) },
        Instr::Update { reg: r, addr, value } => {
            Instr::Update { reg: reg(r), addr: expr(addr), value: expr(value) }
        }
        other => other.clone(),
    }
}

fn renamed_expr(e: &Expr, map: &[RegId]) -> Expr {
    let inner = |e: &Expr| renamed_expr(e, map);
    match e {
        Expr::Const(_) => e.clone(),
        Expr::Reg(r) => Expr::Reg(map[r.index()]),
        Expr::Unary(op, a) => Expr::unary(*op, inner(a)),
        Expr::Binary(op, a, b) => Expr::binary(*op, inner(a), inner(b)),
        Expr::Select(all) => Expr::select(inner(&all.0), inner(&all.1), inner(&all.2)),
    }
}
