//! From a violating run to the fences that forbid it.

use std::collections::BTreeSet;

use weakspot_core::machine::{Entry, Machine, Outcome, Schedule, State, Step};
use weakspot_core::{
    Fence, FencePlaces, Goal, Instr, Model, PlaceEdge, PlacedFence, Program, Span, ThreadId, Value,
};

/// A run as violating as `run` in which stores reach memory as early as they may. What is not
/// delayed needs no fence, so the run says more about which fences are needed.
///
/// One pass over the commits, each moved to just behind its store if the run stays violating:
/// quadratic in the length of the run.
pub(super) fn tighten(program: &Program, model: Model, goal: Goal, run: Schedule) -> Schedule {
    let mut best = run;
    let mut from = 0;
    while let Some((store, commit)) = delayed(program, model, &best, from) {
        from = commit + 1;
        let mut steps = best.steps.clone();
        let moved = steps.remove(commit);
        steps.insert(store + 1, moved);
        let earlier = Schedule { init: best.init.clone(), steps };
        if goal.is_missed(program, model, &earlier).is_ok() {
            best = earlier;
        }
    }
    best
}

/// The first commit from step `from` on that does not follow its store at once: both steps.
fn delayed(program: &Program, model: Model, run: &Schedule, from: usize) -> Option<(usize, usize)> {
    let machine = Machine { program, model };
    let mut state = machine.initial_state(&run.init);
    let mut pending: Vec<Vec<(Value, usize)>> = vec![Vec::new(); state.threads.len()];
    for (i, &step) in run.steps.iter().enumerate() {
        let Outcome::Next(next) = machine.take(&state, step) else { return None };
        match step {
            Step::Commit { thread, addr } => {
                let queue = &mut pending[thread.index()];
                let (_, store) = queue.remove(queue.iter().position(|&(a, _)| a == addr)?);
                if i >= from && store + 1 < i {
                    return Some((store, i));
                }
            }
            Step::Execute { thread, .. } => {
                let after = &next.threads[thread.index()].buffer;
                let grew = after.len() > state.threads[thread.index()].buffer.len();
                if let (true, Some(Entry::Store { addr, .. })) = (grew, after.last()) {
                    pending[thread.index()].push((*addr, i));
                }
            }
        }
        state = next;
    }
    None
}

/// Every single fence that makes the run impossible. The run goes over the edges of the places.
///
/// A full fence does if the buffer holds something when the thread passes the place. A
/// store-store fence can only do so, too, and is tried.
pub(super) fn forbidding(
    places: &FencePlaces,
    model: Model,
    goal: Goal,
    kinds: &[Fence],
    run: &Schedule,
) -> Vec<PlacedFence> {
    let mut passed: BTreeSet<PlaceEdge> = BTreeSet::new();
    each_step(&places.program, model, run, &mut |state, step| {
        if let Step::Execute { thread, edge, .. } = step {
            let local = &state.threads[thread.index()];
            if !local.buffer.is_empty() {
                passed.insert(PlaceEdge { thread, point: local.point, edge: edge as usize });
            }
        }
    });
    let mut found = Vec::new();
    for (place, edges) in places.places.iter().enumerate() {
        if !edges.iter().any(|e| passed.contains(e)) {
            continue;
        }
        for &kind in kinds {
            let fence = PlacedFence { place, kind };
            let possible = || goal.is_missed(&places.with(&[fence]), model, run).is_ok();
            if kind == Fence::Full || !possible() {
                found.push(fence);
            }
        }
    }
    found
}

/// The two accesses that a fence keeps in order in a run that it forbids: the oldest store that
/// waits when the thread passes the place, and the first later access that takes effect before it.
pub(super) fn kept_in_order(
    places: &FencePlaces,
    model: Model,
    run: &Schedule,
    fence: PlacedFence,
) -> Option<(Span, Span)> {
    struct Waiting {
        thread: ThreadId,
        addr: Value,
        span: Span,
        passed: bool,
    }
    let program = &places.program;
    let edges = places.places.get(fence.place)?;
    let mut waiting: Vec<Waiting> = Vec::new();
    let mut found = None;
    each_step(program, model, run, &mut |state, step| match step {
        _ if found.is_some() => {}
        Step::Commit { thread, addr } => {
            let Some(at) = waiting.iter().position(|w| w.thread == thread && w.addr == addr) else {
                return;
            };
            let overtaker = waiting.remove(at);
            let overtaken = waiting[..at].iter().find(|w| w.thread == thread && w.passed);
            if let (Some(w), false) = (overtaken, overtaker.passed) {
                found = Some((w.span, overtaker.span));
            }
        }
        Step::Execute { thread, edge, .. } => {
            let local = &state.threads[thread.index()];
            let here = PlaceEdge { thread, point: local.point, edge: edge as usize };
            if edges.contains(&here) {
                waiting.iter_mut().filter(|w| w.thread == thread).for_each(|w| w.passed = true);
            }
            let taken = program.edge(thread, local.point, edge as usize);
            match &taken.instr {
                Instr::Store { addr, .. } => {
                    let addr = addr.eval(&local.regs).unwrap_or_default();
                    waiting.push(Waiting { thread, addr, span: taken.span, passed: false });
                }
                Instr::Load { .. } | Instr::Update { .. } => {
                    let first = waiting.iter().find(|w| w.thread == thread && w.passed);
                    if let Some(w) = first.filter(|_| fence.kind == Fence::Full) {
                        found = Some((w.span, taken.span));
                    }
                }
                _ => {}
            }
        }
    });
    found
}

/// Calls `each` with the state before each step, and the step.
fn each_step(program: &Program, model: Model, run: &Schedule, each: &mut dyn FnMut(&State, Step)) {
    let machine = Machine { program, model };
    let mut state = machine.initial_state(&run.init);
    for &step in &run.steps {
        each(&state, step);
        match machine.take(&state, step) {
            Outcome::Next(next) => state = next,
            Outcome::Blocked | Outcome::Failed(_) => return,
        }
    }
}
