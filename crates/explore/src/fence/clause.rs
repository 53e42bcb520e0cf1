//! From a violating run to the fences that forbid it.

use std::collections::BTreeSet;

use weakspot_core::machine::{Entry, Machine, Schedule, State, Step};
use weakspot_core::{
    Fence, FencePlaces, Goal, Instr, Model, PlaceEdge, PlacedFence, Program, Span, ThreadId, Value,
};

/// A run as violating as `run` in which stores reach memory as early as they may. What is not
/// delayed needs no fence, so the run says more about which fences are needed.
///
/// One pass over the commits, each moved to just behind its store if the run stays violating:
/// quadratic in the length of the run, so `go_on` is asked before each of them.
pub(super) fn tighten(
    program: &Program,
    model: Model,
    goal: Goal,
    run: Schedule,
    go_on: &mut dyn FnMut() -> bool,
) -> Schedule {
    let mut best = run;
    let mut from = 0;
    while go_on()
        && let Some((store, commit)) = delayed(program, model, &best, from)
    {
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
        let (Step::Commit { thread, .. } | Step::Execute { thread, .. }) = step;
        let before = state.threads.get(thread.index())?.buffer.len();
        if machine.advance(&mut state, step) != Ok(true) {
            return None;
        }
        match step {
            Step::Commit { thread, addr } => {
                let queue = &mut pending[thread.index()];
                let (_, store) = queue.remove(queue.iter().position(|&(a, _)| a == addr)?);
                if i >= from && store + 1 < i {
                    return Some((store, i));
                }
            }
            Step::Execute { thread, .. } => {
                let after = &state.threads[thread.index()].buffer;
                if let (true, Some(Entry::Store { addr, .. })) =
                    (after.len() > before, after.last())
                {
                    pending[thread.index()].push((*addr, i));
                }
            }
        }
    }
    None
}

/// Every single fence that makes the run impossible. The run goes over the edges of the places.
/// `None` if `go_on`, which is asked before each try, says no.
///
/// A full fence does if the buffer holds something when the thread passes the place. A
/// store-store fence can only do so, too, and is tried.
pub(super) fn forbidding(
    places: &FencePlaces,
    model: Model,
    goal: Goal,
    kinds: &[Fence],
    run: &Schedule,
    go_on: &mut dyn FnMut() -> bool,
) -> Option<Vec<PlacedFence>> {
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
            if kind == Fence::Full {
                found.push(fence);
                continue;
            }
            if !go_on() {
                return None;
            }
            if !possible() {
                found.push(fence);
            }
        }
    }
    Some(found)
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
        if machine.advance(&mut state, step) != Ok(true) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fence::contract;
    use crate::fence::{FenceQuestion, fences, misses_goal};
    use weakspot_core::{
        Certification, Drain, FenceCosts, Limits, Progress, Silent, Snapshot, Verdict,
    };

    /// Stops at the time that it is asked to, and counts how often it is asked.
    struct Stop {
        asked: u32,
        after: u32,
    }

    impl Progress for Stop {
        fn tick(&mut self, _: Snapshot) -> bool {
            self.asked += 1;
            self.asked <= self.after
        }
    }

    /// What comes between two searches hears of limits, too: replays of long runs are what takes long.
    #[test]
    fn replays_hear_of_an_end() {
        let text = "shared x, y\nthread p { var r\n x = 1\n x = 2\n x = 3\n r = y }\n\
                    thread q { var r\n y = 1\n r = x }\nnever (p.r == 0 && q.r == 0)\n";
        let program = weakspot_lang::parse(weakspot_lang::Format::Weak, text).unwrap().program;
        let places = FencePlaces::at_points(&program);
        let (model, goal) = (Model::Pso(Drain::All), Goal::Safe);
        let (verdict, run) =
            misses_goal(&program, model, goal, &Limits::UNLIMITED, &mut Silent).unwrap();
        assert_eq!(verdict, Verdict::Violated);
        let run = run.unwrap();
        assert_eq!(tighten(&program, model, goal, run.clone(), &mut || false), run);
        let mut asked = 0;
        let mut count = || {
            asked += 1;
            true
        };
        tighten(&program, model, goal, run.clone(), &mut count);
        assert!(asked > 1, "{asked}");
        let kinds = [Fence::Full, Fence::StoreStore];
        let lifted = contract::contract(&places, &[]).lift(model, &run);
        let forbidding = |go_on: &mut dyn FnMut() -> bool| {
            forbidding(&places, model, goal, &kinds, &lifted, go_on)
        };
        assert!(forbidding(&mut || true).is_some_and(|found| !found.is_empty()));
        assert_eq!(forbidding(&mut || false), None);
        // Whenever somebody wants an end, there is one, and what was known by then is the answer.
        let costs = FenceCosts { full: 1, store_store: Some(1) };
        let question = FenceQuestion { model, goal, costs };
        let ask = |stop: &mut Stop| fences(&places, question, &Limits::UNLIMITED, stop).unwrap();
        let mut never = Stop { asked: 0, after: u32::MAX };
        assert!(ask(&mut never).optimal);
        for after in 0..never.asked {
            let mut stop = Stop { asked: 0, after };
            let answer = ask(&mut stop);
            assert!(stop.asked <= after + 20, "{} questions after the end", stop.asked - after);
            assert!(!answer.optimal || answer.certification() == Certification::TooLarge);
        }
    }
}
