//! The run of a violation, made easier to follow: as short as it gets, with as plain a cycle as it
//! gets. A search stops at the first violation that it meets, and that need not be the one that
//! people would draw.
//!
//! *Shorter*: threads may have gone on for reasons that have nothing to do with the cycle. The last
//! steps of one thread after the other are left out, all of them, half of them, and so on down to
//! one, as long as what remains is a run that ends with empty buffers and that SC does not have.
//!
//! *Plainer*: a cycle that is closed by a coherence arc says that one write nobody may have read
//! came before another. Often a few more steps of the overwriting thread, with more stores of the
//! other one held back, give a cycle of the same length in which that thread reads something old
//! instead. Such a run is preferred.
//!
//! Nothing here is trusted: the checker in core decides about every candidate.
//!
//! Cost: a check per candidate, which is quadratic in the length of the run; some candidates per
//! step that is left out, and for the plainer cycle at most `MORE_STEPS` for each store of the
//! delaying thread.

use std::collections::HashMap;

use weakspot_core::cycle::{Arc, Link, sc_cycle};
use weakspot_core::machine::{Entry, Machine, Outcome, Schedule, State, Step};
use weakspot_core::{
    EventId, Evidence, Limits, Model, PlaceEdge, Program, Recording, ThreadId, Value, Verdict,
    certify, record,
};

use crate::robust::Reordered;

/// Runs with more steps than this stay as they are.
pub(crate) const MAX_STEPS: usize = 1000;

/// How many steps a thread may go on for the sake of a plainer cycle.
const MORE_STEPS: usize = 12;

/// The run `found`, shorter and plainer, and the two accesses on its cycle that are reordered.
/// `None` if `found` is not the run of a violation. When the time of the question is over, it is as
/// tidy as it got until then.
pub(crate) fn tidy(
    program: &Program,
    model: Model,
    found: &Schedule,
    limits: &Limits,
) -> Option<(Schedule, Reordered)> {
    let machine = Machine { program, model };
    let any = |_: &Schedule, _: &Violation| true;
    let mut run = shorter(machine, found, &any, limits)?;
    if let Some(plain) = plainer(machine, &run, limits) {
        run = shorter(machine, &plain, &any, limits)?;
    }
    let violation = Violation::of(machine, &run)?;
    let (from, to) = violation.reordered()?;
    let reordered = Reordered { store: violation.steps(from)?.0, access: violation.steps(to)?.0 };
    Some((run, reordered))
}

/// The run `found`, shorter, with a cycle in which `access` comes before `store` because it took
/// effect earlier. `None` if the plainest cycle of `found` is another one, or if `found` is very long.
pub(crate) fn tidy_pair(
    program: &Program,
    model: Model,
    found: &Schedule,
    store: PlaceEdge,
    access: PlaceEdge,
    limits: &Limits,
) -> Option<Schedule> {
    let machine = Machine { program, model };
    let about = |run: &Schedule, violation: &Violation| {
        let Some(places) = places(machine, run) else { return false };
        let is = |event, place| violation.steps(event).is_some_and(|s| places[s.0] == Some(place));
        let closes = |arc: &Arc| arc.link != Link::Po && is(arc.from, access) && is(arc.to, store);
        violation.cycle.iter().any(closes)
    };
    // A look at the cycle of a long run takes long, and would change nothing.
    if found.steps.len() > MAX_STEPS {
        return None;
    }
    about(found, &Violation::of(machine, found)?)
        .then(|| shorter(machine, found, &about, limits))?
}

/// For each step of a run the edge that it takes; `None` for commits.
pub(crate) fn places(machine: Machine<'_>, run: &Schedule) -> Option<Vec<Option<PlaceEdge>>> {
    let mut state = machine.initial_state(&run.init);
    let mut places = Vec::with_capacity(run.steps.len());
    for &step in &run.steps {
        places.push(match step {
            Step::Execute { thread, edge, .. } => {
                let point = state.threads.get(thread.index())?.point;
                Some(PlaceEdge { thread, point, edge: edge as usize })
            }
            Step::Commit { .. } => None,
        });
        let Outcome::Next(next) = machine.take(&state, step) else { return None };
        state = next;
    }
    Some(places)
}

/// A run that SC does not have, with the plainest cycle that shows it.
struct Violation {
    recording: Recording,
    cycle: Vec<Arc>,
}

impl Violation {
    fn of(machine: Machine<'_>, run: &Schedule) -> Option<Violation> {
        let evidence = Evidence::Run(run.clone());
        certify::robust(machine.program, machine.model, &Verdict::Violated, &evidence).ok()?;
        let recording = record(machine, run).ok()?;
        // A block is done as a whole or not at all.
        if recording.end.lock.is_some() {
            return None;
        }
        let cycle = sc_cycle(&recording.execution)?;
        Some(Violation { recording, cycle })
    }

    /// How many arcs the cycle has, and how many of them are coherence.
    fn cost(&self) -> (usize, usize) {
        (self.cycle.len(), self.cycle.iter().filter(|arc| arc.link == Link::Co).count())
    }

    /// The step that issued an event, and the one with which it took effect in memory.
    fn steps(&self, event: EventId) -> Option<(usize, usize)> {
        let of_event = |(_, e): &(usize, &Option<EventId>)| **e == Some(event);
        let mut steps = self.recording.event_of.iter().enumerate().filter(of_event);
        let (issued, _) = steps.next()?;
        Some((issued, steps.next_back().map_or(issued, |(effect, _)| effect)))
    }

    /// The two accesses on the cycle that took effect in the wrong order. There are two: if all
    /// arcs went forward in time, they would form no cycle.
    fn reordered(&self) -> Option<(EventId, EventId)> {
        self.cycle.iter().filter(|arc| arc.link == Link::Po).find_map(|arc| {
            let (before, after) = (self.steps(arc.from)?, self.steps(arc.to)?);
            (before.1 > after.1).then_some((arc.from, arc.to))
        })
    }

    fn thread(&self, event: EventId) -> ThreadId {
        self.recording.execution.events[event.index()].thread
    }
}

/// The run without the last steps of threads that its cycle does not need, as long as `keep` is
/// content.
fn shorter(
    machine: Machine<'_>,
    found: &Schedule,
    keep: &dyn Fn(&Schedule, &Violation) -> bool,
    limits: &Limits,
) -> Option<Schedule> {
    let mut run = found.clone();
    let mut cost = Violation::of(machine, &run)?.cost();
    let mut changed = run.steps.len() <= MAX_STEPS;
    while changed {
        changed = false;
        for t in 0..machine.program.threads.len() {
            let thread = ThreadId::new(t);
            let mut count = executed(&run, thread);
            while count > 0 && limits.check(0).is_ok() {
                let candidate = without_last(machine, &run, thread, count);
                let now = candidate.as_ref().and_then(|c| {
                    let violation = Violation::of(machine, c)?;
                    keep(c, &violation).then(|| violation.cost())
                });
                match (candidate, now) {
                    (Some(candidate), Some(now)) if now.0 <= cost.0 && now.1 <= cost.1 => {
                        (run, cost) = (candidate, now);
                        changed = true;
                        count = count.min(executed(&run, thread));
                    }
                    _ => count /= 2,
                }
            }
        }
    }
    Some(run)
}

fn executed(run: &Schedule, of: ThreadId) -> usize {
    run.steps.iter().filter(|s| matches!(s, Step::Execute { thread, .. } if *thread == of)).count()
}

/// The run without the last `count` steps of one thread and without the commits of the stores
/// among them.
fn without_last(
    machine: Machine<'_>,
    run: &Schedule,
    thread: ThreadId,
    count: usize,
) -> Option<Schedule> {
    let mut state = machine.initial_state(&run.init);
    let mut left = executed(run, thread).checked_sub(count)?;
    let mut buffered: HashMap<Value, usize> = HashMap::new();
    let mut steps = Vec::new();
    for &step in &run.steps {
        match step {
            Step::Execute { thread: t, .. } if t == thread => {
                if left == 0 {
                    continue;
                }
                left -= 1;
            }
            // Commits to one address keep their order, so the last ones are those left out.
            Step::Commit { thread: t, addr } if t == thread => {
                match buffered.get_mut(&addr).filter(|n| **n > 0) {
                    Some(n) => *n -= 1,
                    None => continue,
                }
            }
            _ => {}
        }
        let before = state.threads[thread.index()].buffer.len();
        let Outcome::Next(next) = machine.take(&state, step) else { return None };
        state = next;
        let buffer = &state.threads[thread.index()].buffer;
        if buffer.len() > before
            && let Some(Entry::Store { addr, .. }) = buffer.last()
        {
            *buffered.entry(*addr).or_insert(0) += 1;
        }
        steps.push(step);
    }
    Some(Schedule { init: run.init.clone(), steps })
}

/// A run whose cycle has no more arcs, but fewer coherence arcs, if a few steps lead there.
fn plainer(machine: Machine<'_>, run: &Schedule, limits: &Limits) -> Option<Schedule> {
    let violation = Violation::of(machine, run)?;
    let (length, coherence) = violation.cost();
    if coherence == 0 || run.steps.len() > MAX_STEPS {
        return None;
    }
    let (store, _) = violation.reordered()?;
    let delayer = violation.thread(store);
    let other = violation.cycle.iter().find(|arc| arc.to == store && arc.link != Link::Po)?.from;
    let other = violation.thread(other);
    let stores = (0..run.steps.len()).rev().filter(|&i| {
        matches!(run.steps[i], Step::Execute { thread, .. } if thread == delayer)
            && violation.recording.event_of[i].is_some_and(|e| {
                violation.recording.execution.events[e.index()].op.write().is_some()
            })
    });
    let candidates = stores.take_while(|_| limits.check(0).is_ok()).filter_map(|held| {
        let mut walk = Walk { machine, state: machine.initial_state(&run.init), steps: Vec::new() };
        for (i, &step) in run.steps.iter().enumerate() {
            if let Step::Execute { thread, .. } = step {
                walk.take(step)?;
                if thread != delayer || i < held {
                    walk.drain(thread)?;
                }
            }
        }
        (0..MORE_STEPS).find_map(|_| {
            walk.go_on(other)?;
            let mut end = Walk { machine, state: walk.state.clone(), steps: walk.steps.clone() };
            end.drain(delayer)?;
            let candidate = Schedule { init: run.init.clone(), steps: end.steps };
            let cost = Violation::of(machine, &candidate)?.cost();
            (cost.0 <= length && cost.1 < coherence).then_some(candidate)
        })
    });
    candidates.min_by_key(|run| run.steps.len())
}

/// A run that is being made.
struct Walk<'p> {
    machine: Machine<'p>,
    state: State,
    steps: Vec<Step>,
}

impl Walk<'_> {
    fn take(&mut self, step: Step) -> Option<()> {
        let Outcome::Next(next) = self.machine.take(&self.state, step) else { return None };
        self.state = next;
        self.steps.push(step);
        Some(())
    }

    /// Commits all that `thread` has buffered, in the order in which it was issued.
    fn drain(&mut self, thread: ThreadId) -> Option<()> {
        while let Some(&Entry::Store { addr, .. }) =
            self.state.threads[thread.index()].buffer.first()
        {
            self.take(Step::Commit { thread, addr })?;
        }
        Some(())
    }

    /// Takes the first step that `thread` can take, its stores reaching memory at once.
    fn go_on(&mut self, thread: ThreadId) -> Option<()> {
        let of_thread = |s: &Step| matches!(s, Step::Execute { thread: t, .. } if *t == thread);
        let steps = self.machine.steps(&self.state).into_iter().filter(of_thread);
        steps.into_iter().find_map(|step| self.take(step))?;
        self.drain(thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each thread of `text` takes steps as the letters say, `p` or `q`; `P` commits the oldest
    /// buffered store of p.
    fn run(program: &Program, letters: &str) -> Schedule {
        let machine = Machine { program, model: Model::Tso };
        let init: Vec<Value> = program.locs.iter().map(|l| l.init[0]).collect();
        let mut walk = Walk { machine, state: machine.initial_state(&init), steps: Vec::new() };
        for letter in letters.chars() {
            let thread = ThreadId(u32::from(letter.eq_ignore_ascii_case(&'q')));
            if letter.is_lowercase() {
                let of_thread =
                    |s: &Step| matches!(s, Step::Execute { thread: t, .. } if *t == thread);
                let steps = machine.steps(&walk.state).into_iter().filter(of_thread);
                steps.into_iter().find_map(|step| walk.take(step)).unwrap();
            } else {
                let Entry::Store { addr, .. } = walk.state.threads[thread.index()].buffer[0] else {
                    panic!("a barrier")
                };
                walk.take(Step::Commit { thread, addr }).unwrap();
            }
        }
        Schedule { init, steps: walk.steps }
    }

    fn check(text: &str, found: &str, expected: &str) {
        let program = weakspot_lang::parse(weakspot_lang::Format::Weak, text).unwrap().program;
        let (tidied, reordered) =
            tidy(&program, Model::Tso, &run(&program, found), &Limits::UNLIMITED).unwrap();
        assert_eq!(tidied, run(&program, expected));
        let issued = |step: usize| matches!(tidied.steps[step], Step::Execute { .. });
        assert!(issued(reordered.store) && issued(reordered.access));
        assert!(reordered.store < reordered.access);
    }

    #[test]
    fn what_comes_after_the_cycle_goes() {
        let text = "shared x, y, z\nthread p { var r, s\n x = 1\n r = y\n s = z\n z = 1\n s = x }\n\
                    thread q { var r, s\n y = 1\n r = x\n s = z\n z = 2 }\n";
        check(text, "ppqQqpqpqQpPP", "ppqQqP");
        check(text, "ppqqqqQQP", "ppqqQP");
    }

    /// Two stores to one place, one of them late: q's load of x says more.
    #[test]
    fn reads_are_plainer_than_the_order_of_writes() {
        let text = "shared x, y, z\nthread p { var r\n x = 1\n z = 1\n r = y }\n\
                    thread q { var r\n y = 1\n z = 2\n r = x }\n";
        check(text, "pPppqQqQP", "pppqQqQqPP");
    }

    #[test]
    fn a_run_of_sc_is_no_violation() {
        let text = "shared x, y\nthread p { x = 1 }\nthread q { y = 1 }\n";
        let program = weakspot_lang::parse(weakspot_lang::Format::Weak, text).unwrap().program;
        assert!(tidy(&program, Model::Tso, &run(&program, "pPqQ"), &Limits::UNLIMITED).is_none());
        assert!(tidy(&program, Model::Tso, &run(&program, "pqQ"), &Limits::UNLIMITED).is_none());
    }
}
