//! The brute-force references, straight from the definitions: all states of the machine, and all
//! executions that the axioms allow. Engines are tested against these; certificates that claim
//! completeness are re-derived with the first.

use std::collections::{BTreeSet, HashSet, VecDeque};

use crate::execution::triangular::Watch;
use crate::machine::{Failure, FailureKind, Machine, Outcome, State};
use crate::{
    Edge, Event, EventId, Execution, Instr, LocId, Model, Op, PointId, Program, ThreadId, Value,
    axioms,
};

/// Hears how much work is about to be done and says whether to go on.
pub(crate) type GoOn<'a> = &'a mut dyn FnMut(u64) -> bool;

/// How much work a step of `program` is at most, with the states that it copies; `None` if what
/// comes before the first step is too much already.
pub(crate) fn work_of(program: &Program, go_on: GoOn<'_>) -> Option<u64> {
    let locs = program.locs.len() as u64;
    let starts = program.locs.iter().map(|l| l.init.len() as u64);
    let starts = starts.fold(1u64, u64::saturating_mul);
    let mut choices = 0;
    for edge in program.threads.iter().flat_map(|t| &t.points).flat_map(|p| &p.edges) {
        if let Instr::Choose { low, high, .. } = edge.instr {
            choices = choices.max(high.abs_diff(low));
        }
    }
    let regs: usize = program.threads.iter().map(|t| t.regs.len() + 4).sum();
    let initial = starts.saturating_mul(1 + locs).saturating_mul(1 + locs) / 64;
    let work = 1 + (locs + regs as u64) / 32;
    go_on(initial.saturating_add(choices)).then_some(work)
}

/// Everything that a full search of the machine's states finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reachable {
    /// The observed values of all final states.
    pub outcomes: BTreeSet<Vec<Value>>,
    /// Whether some forbidden combination of control points was reached.
    pub forbidden: bool,
    /// A failure, if there is one; an assertion only if nothing worse was met.
    pub failure: Option<Failure>,
    /// The number of states.
    pub states: usize,
}

/// Searches all states of `program` under `model`; `None` if there are more than `max_states`.
#[must_use]
pub fn reachable(program: &Program, model: Model, max_states: usize) -> Option<Reachable> {
    reachable_within(program, model, max_states, &mut |_| true)
}

/// The same, as long as `go_on` says so, which hears of each step that is taken: how much work it
/// is, in units of about a microsecond.
pub(crate) fn reachable_within(
    program: &Program,
    model: Model,
    max_states: usize,
    go_on: GoOn<'_>,
) -> Option<Reachable> {
    let machine = Machine { program, model };
    let starts = program.locs.iter().try_fold(1usize, |n, l| n.checked_mul(l.init.len()));
    if starts.is_none_or(|n| n > max_states) {
        return None;
    }
    let work = work_of(program, go_on)?;
    let mut seen: HashSet<State> = machine.initial_states().into_iter().collect();
    let mut todo: VecDeque<State> = seen.iter().cloned().collect();
    let mut found =
        Reachable { outcomes: BTreeSet::new(), forbidden: false, failure: None, states: 0 };
    while let Some(state) = todo.pop_front() {
        found.states += 1;
        if seen.len() > max_states {
            return None;
        }
        found.forbidden |= is_forbidden(program, &state);
        if machine.is_final(&state) {
            found.outcomes.insert(machine.observe(&state));
        }
        for step in machine.steps(&state) {
            if !go_on(work) {
                return None;
            }
            match machine.take(&state, step) {
                Outcome::Blocked => {}
                Outcome::Failed(failure) => {
                    if failure.kind != FailureKind::Assertion || found.failure.is_none() {
                        found.failure = Some(failure);
                    }
                }
                Outcome::Next(next) => {
                    // Most were seen before, and are not copied.
                    if !seen.contains(&next) {
                        seen.insert(next.clone());
                        todo.push_back(next);
                    }
                }
            }
        }
    }
    Some(found)
}

/// Whether no run of `program` under TSO has a triangular race; `None` if there are more than
/// `max_states` states, or if the program does what has no meaning.
#[must_use]
pub fn triangular_race_free(program: &Program, max_states: usize) -> Option<bool> {
    triangular_race_free_within(program, max_states, &mut |_| true)
}

/// The same, as long as `go_on` says so (see [`reachable_within`]).
pub(crate) fn triangular_race_free_within(
    program: &Program,
    max_states: usize,
    go_on: GoOn<'_>,
) -> Option<bool> {
    let work = work_of(program, go_on)?;
    let machine = Machine { program, model: Model::Tso };
    let start = |state| (state, Watch::new(program));
    let mut seen: HashSet<(State, Watch)> =
        machine.initial_states().into_iter().map(start).collect();
    let mut todo: VecDeque<(State, Watch)> = seen.iter().cloned().collect();
    while let Some((state, watch)) = todo.pop_front() {
        if seen.len() > max_states {
            return None;
        }
        for step in machine.steps(&state) {
            if !go_on(work) {
                return None;
            }
            match machine.take(&state, step) {
                Outcome::Blocked => {}
                Outcome::Failed(failure) if failure.kind == FailureKind::Assertion => {}
                Outcome::Failed(_) => return None,
                Outcome::Next(next) => {
                    let mut watch = watch.clone();
                    // Which step it was does not matter here.
                    if watch.sees(program, &state, step, 0).is_some() {
                        return Some(false);
                    }
                    let next = (next, watch);
                    // Most were seen before, and are not copied.
                    if !seen.contains(&next) {
                        seen.insert(next.clone());
                        todo.push_back(next);
                    }
                }
            }
        }
    }
    Some(true)
}

/// Whether the threads stand at a forbidden combination of control points.
#[must_use]
pub fn is_forbidden(program: &Program, state: &State) -> bool {
    program.forbidden.iter().any(|combination| {
        combination
            .iter()
            .zip(&state.threads)
            .all(|(point, local)| point.is_none_or(|p| p == local.point))
    })
}

/// For each model the outcomes of all executions that its axioms allow, for programs without
/// loops and with declared, single-valued memory. `None` if there are more than `max_candidates`
/// candidate executions, or if the program is outside of that fragment.
#[must_use]
pub fn axiomatic_outcomes(
    program: &Program,
    models: &[Model],
    max_candidates: usize,
) -> Option<Vec<BTreeSet<Vec<Value>>>> {
    let mut outcomes = vec![BTreeSet::new(); models.len()];
    let mut candidates = 0;
    let mut bound = Bound { extent: Extent::Whole, max: max_candidates, go_on: &mut |_| true };
    let runs = thread_runs(program, &mut bound)?;
    if combinations(&runs)? > max_candidates.saturating_mul(100) {
        return None;
    }
    let done = for_each_combination(&runs, &mut |combination| {
        for_each_execution(program, combination, &mut |execution| {
            candidates += 1;
            let mut outcome = None;
            for (set, &model) in outcomes.iter_mut().zip(models) {
                if axioms::allows(model, execution) {
                    let outcome =
                        outcome.get_or_insert_with(|| observe(program, combination, execution));
                    set.insert(outcome.clone());
                }
            }
            candidates <= max_candidates
        })
    });
    done.then_some(outcomes)
}

/// For each model, whether `program` is robust against it: every execution that its axioms allow
/// is allowed by SC, also where threads get stuck. For the same programs as
/// [`axiomatic_outcomes`].
#[must_use]
pub fn robust(program: &Program, models: &[Model], max_candidates: usize) -> Option<Vec<bool>> {
    robust_within(program, models, max_candidates, &mut |_| true)
}

/// The same, as long as `go_on` says so (see [`reachable_within`]).
pub(crate) fn robust_within(
    program: &Program,
    models: &[Model],
    max_candidates: usize,
    go_on: GoOn<'_>,
) -> Option<Vec<bool>> {
    if program.locs.iter().any(|l| l.init.len() != 1) {
        return None;
    }
    let mut robust = vec![true; models.len()];
    let mut candidates = 0;
    let mut bound = Bound { extent: Extent::Parts, max: max_candidates, go_on };
    let runs = thread_runs(program, &mut bound)?;
    if combinations(&runs)? > max_candidates.saturating_mul(100) {
        return None;
    }
    let done = for_each_combination(&runs, &mut |combination| {
        if !(bound.go_on)(1) {
            return false;
        }
        for_each_execution(program, combination, &mut |execution| {
            candidates += 1;
            let events = execution.events.len() as u64;
            if !(bound.go_on)(1 + events * events / 16) {
                return false;
            }
            let mut by_sc = None;
            for (robust, &model) in robust.iter_mut().zip(models) {
                *robust = *robust
                    && (!axioms::allows(model, execution)
                        || *by_sc.get_or_insert_with(|| axioms::allows(Model::Sc, execution)));
            }
            candidates <= max_candidates
        })
    });
    done.then_some(robust)
}

/// How many choices of one run per thread there are. Most of them give no execution, so that they
/// are bounded on their own.
pub(super) fn combinations(runs: &[Vec<Run>]) -> Option<usize> {
    runs.iter().try_fold(1usize, |n, runs| n.checked_mul(runs.len()))
}

/// Calls `each` with every choice of one run per thread; stops when it says so by returning false.
pub(super) fn for_each_combination(
    runs: &[Vec<Run>],
    each: &mut dyn FnMut(&[&Run]) -> bool,
) -> bool {
    if runs.iter().any(Vec::is_empty) {
        return true;
    }
    let mut choice = vec![0; runs.len()];
    loop {
        let combination: Vec<&Run> = runs.iter().zip(&choice).map(|(r, &i)| &r[i]).collect();
        if !each(&combination) {
            return false;
        }
        let Some(turn) = (0..runs.len()).find(|&t| choice[t] + 1 < runs[t].len()) else {
            return true;
        };
        choice[turn] += 1;
        choice[..turn].fill(0);
    }
}

/// How far a thread has to come for its run to count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// To its end.
    Whole,
    /// To its end, to where it can get stuck, or to the begin of an atomic block, which it might
    /// not enter. Shorter runs are parts of these.
    Parts,
}

/// How much of the ways through threads is looked at.
pub(super) struct Bound<'a> {
    pub(super) extent: Extent,
    /// So many runs of a thread.
    pub(super) max: usize,
    pub(super) go_on: GoOn<'a>,
}

/// One way through a thread, each read returning some value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) ops: Vec<Op>,
    /// For each of them the instruction: where it leaves from, and which edge it is there.
    pub(super) edges: Vec<(PointId, usize)>,
    pub(super) regs: Vec<Value>,
}

/// All ways through each thread in which reads return values that somebody may store. The set of
/// such values grows in rounds; a value that needs more rounds than there are stores would have
/// to cause itself, which no model allows because reads stay before later stores.
pub(super) fn thread_runs(program: &Program, bound: &mut Bound<'_>) -> Option<Vec<Vec<Run>>> {
    let mut values: Vec<BTreeSet<Value>> =
        program.locs.iter().map(|l| l.init.iter().copied().collect()).collect();
    let edges = program.threads.iter().flat_map(|t| &t.points).flat_map(|p| &p.edges);
    let stores =
        edges.filter(|e| matches!(e.instr, Instr::Store { .. } | Instr::Update { .. })).count();
    // Also by runs that get stuck: a thread may be stuck only for want of what it stored itself.
    let mut stored = values.clone();
    let mut runs = Vec::new();
    for _ in 0..=stores {
        runs.clear();
        for t in 0..program.threads.len() {
            let thread = &program.threads[t];
            let mut found = Vec::new();
            let start = Run { ops: Vec::new(), edges: Vec::new(), regs: thread.regs.clone() };
            let known = (&values[..], &mut stored[..]);
            walk(program, t, thread.entry, 0, start, known, &mut found, bound)?;
            runs.push(found);
        }
        let before: usize = values.iter().map(BTreeSet::len).sum();
        for (values, stored) in values.iter_mut().zip(&stored) {
            values.extend(stored);
        }
        if values.iter().map(BTreeSet::len).sum::<usize>() == before {
            break;
        }
    }
    Some(runs)
}

#[expect(clippy::too_many_arguments, reason = "a plain recursion over a thread's automaton")]
fn walk(
    program: &Program,
    thread: usize,
    point: PointId,
    depth: usize,
    run: Run,
    (values, stored): (&[BTreeSet<Value>], &mut [BTreeSet<Value>]),
    found: &mut Vec<Run>,
    bound: &mut Bound<'_>,
) -> Option<()> {
    if !(bound.go_on)(1 + (depth + run.regs.len()) as u64 / 64) {
        return None;
    }
    let max = bound.max;
    let points = &program.threads[thread].points;
    let edges = &points[point.index()].edges;
    let blocked = |e: &Edge| match &e.instr {
        Instr::Assume(e) | Instr::Assert(e) => e.eval(&run.regs) == Ok(0),
        Instr::Lock => true,
        _ => false,
    };
    let inside = run.ops.iter().rev().find(|op| matches!(op, Op::Lock | Op::Unlock));
    let stuck =
        bound.extent == Extent::Parts && inside != Some(&Op::Lock) && edges.iter().any(blocked);
    if edges.is_empty() || stuck {
        found.push(run.clone());
        if found.len() > bound.max {
            return None;
        }
    }
    if depth > points.len() {
        return None;
    }
    for (index, edge) in edges.iter().enumerate() {
        let regs = &run.regs;
        let mut go = |reg: Option<(crate::RegId, Value)>, op: Option<Op>| {
            let mut next = run.clone();
            if let Some((r, v)) = reg {
                next.regs[r.index()] = v;
            }
            if let Some((loc, value)) = op.and_then(Op::write) {
                for cell in program.cells(loc) {
                    stored[cell.index()].extend(program.part(loc, value, cell));
                }
            }
            if let Some(op) = op {
                next.ops.push(op);
                next.edges.push((point, index));
            }
            let known = (values, &mut *stored);
            walk(program, thread, edge.to, depth + 1, next, known, found, bound)
        };
        match &edge.instr {
            Instr::Nop => go(None, None)?,
            Instr::Assign { reg, value } => go(Some((*reg, value.eval(regs).ok()?)), None)?,
            Instr::Choose { reg, low, high } => {
                for v in *low..=*high {
                    go(Some((*reg, v)), None)?;
                }
            }
            Instr::Assume(e) => {
                if e.eval(regs).ok()? != 0 {
                    go(None, None)?;
                }
            }
            Instr::Assert(e) => {
                if e.eval(regs).ok()? != 0 {
                    go(None, None)?;
                }
            }
            Instr::Load { reg, addr } => {
                let loc = program.loc_at(addr.eval(regs).ok()?)?;
                for value in contents(program, values, loc, max)? {
                    go(Some((*reg, value)), Some(Op::Read { loc, value }))?;
                }
            }
            Instr::Store { addr, value } => {
                let loc = program.loc_at(addr.eval(regs).ok()?)?;
                go(None, Some(Op::Write { loc, value: value.eval(regs).ok()? }))?;
            }
            Instr::Update { reg, addr, value } => {
                let loc = program.loc_at(addr.eval(regs).ok()?)?;
                for old in contents(program, values, loc, max)? {
                    let mut after = regs.clone();
                    after[reg.index()] = old;
                    let new = value.eval(&after).ok()?;
                    go(Some((*reg, old)), Some(Op::Update { loc, old, new }))?;
                }
            }
            Instr::Fence(f) => go(None, Some(Op::Fence(*f)))?,
            Instr::Lock => go(None, Some(Op::Lock))?,
            Instr::Unlock => go(None, Some(Op::Unlock))?,
        }
    }
    Some(())
}

/// Calls `add` with every choice of reads-from and coherence for these runs; stops when it says
/// so by returning false.
pub(super) fn for_each_execution(
    program: &Program,
    runs: &[&Run],
    add: &mut dyn FnMut(&Execution) -> bool,
) -> bool {
    let mut events = Vec::new();
    for (t, run) in runs.iter().enumerate() {
        events.extend(run.ops.iter().map(|&op| Event { thread: ThreadId::new(t), op }));
    }
    let mut sources: Vec<Sources> = Vec::new();
    for (i, event) in events.iter().enumerate() {
        let Some((loc, value)) = event.op.read() else { continue };
        for cell in program.cells(loc) {
            let Some(seen) = program.part(loc, value, cell) else { continue };
            let mut from: Vec<Option<EventId>> = Vec::new();
            if program.locs[cell.index()].init.contains(&seen) {
                from.push(None);
            }
            for (j, w) in events.iter().enumerate() {
                let left = w.op.write().and_then(|(to, value)| program.part(to, value, cell));
                if i != j && left == Some(seen) {
                    from.push(Some(EventId::new(j)));
                }
            }
            if from.is_empty() {
                return true;
            }
            let read = EventId::new(i);
            sources.push(Sources { read, cell: program.wide(loc).map(|_| cell), from });
        }
    }
    let mut execution = Execution::empty(program);
    execution.reads_from = vec![None; events.len()];
    execution.events = events;
    for i in 0..execution.events.len() {
        execution.reaches_memory(EventId::new(i));
    }
    choose_sources(&mut execution, &sources, add)
}

/// What a read may have read from.
struct Sources {
    read: EventId,
    /// Which part of it, if it reads a wide place.
    cell: Option<LocId>,
    from: Vec<Option<EventId>>,
}

fn choose_sources(
    execution: &mut Execution,
    sources: &[Sources],
    add: &mut dyn FnMut(&Execution) -> bool,
) -> bool {
    let Some((Sources { read, cell, from }, rest)) = sources.split_first() else {
        return permute(execution, 0, 0, add);
    };
    from.iter().all(|&w| {
        match cell {
            None => execution.reads_from[read.index()] = w,
            Some(cell) => {
                let parts = execution.wide_reads.entry(*read).or_default();
                parts.retain(|(known, _)| known != cell);
                parts.push((*cell, w));
            }
        }
        choose_sources(execution, rest, add)
    })
}

/// The values that a place may hold if each location holds one of `values`; `None` if there are
/// more than `max`.
fn contents(
    program: &Program,
    values: &[BTreeSet<Value>],
    loc: LocId,
    max: usize,
) -> Option<Vec<Value>> {
    let Some(wide) = program.wide(loc) else {
        return Some(values[loc.index()].iter().copied().collect());
    };
    let rows = program.cells(loc).map(|cell| values[cell.index()].len());
    if rows.fold(1, usize::saturating_mul) > max {
        return None;
    }
    let mut rows: Vec<Vec<(LocId, Value)>> = vec![Vec::new()];
    for cell in program.cells(loc) {
        rows = rows
            .iter()
            .flat_map(|row| {
                let with = |&value| [&row[..], &[(cell, value)]].concat();
                values[cell.index()].iter().map(with)
            })
            .collect();
    }
    let value = |row: &Vec<(LocId, Value)>| {
        wide.join(|loc| row.iter().find(|(cell, _)| *cell == loc).map_or(0, |&(_, value)| value))
    };
    Some(rows.iter().map(value).collect())
}

/// All orders of the writes to each location from `loc` on, those before `fixed` being settled.
fn permute(
    execution: &mut Execution,
    loc: usize,
    fixed: usize,
    add: &mut dyn FnMut(&Execution) -> bool,
) -> bool {
    if loc == execution.coherence.len() {
        return add(execution);
    }
    let n = execution.coherence[loc].len();
    if fixed + 1 >= n {
        return permute(execution, loc + 1, 0, add);
    }
    (fixed..n).all(|i| {
        execution.coherence[loc].swap(fixed, i);
        let go_on = permute(execution, loc, fixed + 1, add);
        execution.coherence[loc].swap(fixed, i);
        go_on
    })
}

pub(super) fn observe(program: &Program, runs: &[&Run], execution: &Execution) -> Vec<Value> {
    use crate::Observable;
    let cell = |l: LocId| {
        let last = execution.coherence[l.index()].last();
        let write = last.and_then(|w| execution.events[w.index()].op.write());
        match write {
            Some((place, value)) => program.part(place, value, l).unwrap_or(0),
            None => program.locs[l.index()].init[0],
        }
    };
    let value = |what| match what {
        Observable::Reg(t, r) => runs[ThreadId::index(t)].regs[r.index()],
        Observable::Loc(l) => match program.wide(l) {
            None => cell(l),
            Some(wide) => wide.join(cell),
        },
    };
    program.observed.iter().map(|o| o.view.apply(value(o.what))).collect()
}
