//! Which steps of a long run tell what went wrong: the others are folded in drawings.
//!
//! A buffer may hold many stores, all of them late. Those matter that another thread could notice, because it used the
//! same location while they waited; with them belong what overtook them, who noticed, and what the failing thread read.

use std::collections::BTreeSet;

use super::object::{ReadFrom, Run, RunLate, RunStep, StepKind};

/// Shorter runs are drawn as they are.
pub(crate) const MAX_STEPS: usize = 30;
/// Of longer ones it takes too long to find out.
const MOST_STEPS: usize = 4_000;
/// So many late stores are told, half of them the first ones.
const MOST_LATE: usize = 6;
/// So many of the last accesses of a thread that fails, and of the last steps of all.
const LAST: usize = 6;

/// The numbers of these steps, rising; none if the run is short, or if nothing stands out.
pub(crate) fn telling(run: &Run) -> Vec<u64> {
    if run.steps.len() <= MAX_STEPS || run.steps.len() > MOST_STEPS {
        return Vec::new();
    }
    let mut told = BTreeSet::new();
    for step in run.steps.iter().filter(|step| run.is_marked(step)) {
        told.insert(step.n);
    }
    for arc in &run.cycle {
        told.extend([arc.from, arc.to]);
    }
    if run.cycle.is_empty() {
        push_late(run, &mut told);
    }
    push_ends(run, &mut told);
    if told.is_empty() {
        return Vec::new();
    }
    told.extend(run.steps.iter().rev().take(LAST).map(|step| step.n));
    // What is read was written somewhere, and what reaches memory was issued.
    let issued = told.iter().filter_map(|&n| run.step(n)?.of);
    told.extend(issued.collect::<Vec<_>>());
    let read = told.iter().filter_map(|&n| match run.step(n)?.from {
        Some(ReadFrom::Step(by)) => Some(by),
        _ => None,
    });
    told.extend(read.collect::<Vec<_>>());
    let committed = run.steps.iter().filter(|s| s.of.is_some_and(|of| told.contains(&of)));
    told.extend(committed.map(|s| s.n).collect::<Vec<_>>());
    told.into_iter().collect()
}

/// The late stores that others notice, or any if nobody does, with what belongs to them.
fn push_late(run: &Run, told: &mut BTreeSet<u64>) {
    use StepKind::{Commit, Load, Update};
    let noticed = |kinds: &[StepKind]| -> Vec<(RunLate, Option<u64>)> {
        let by = |&late: &RunLate| Some((late, Some(noticed_by(run, late, kinds)?)));
        run.late.iter().filter_map(by).collect()
    };
    // Who reads an old value is surprised sooner than who writes a new one.
    let mut late = noticed(&[Load, Update]);
    if late.is_empty() {
        late = noticed(&[Commit]);
    }
    if late.is_empty() {
        late = run.late.iter().map(|&late| (late, None)).collect();
    }
    let last = late.len().saturating_sub(MOST_LATE / 2);
    for (i, (late, by)) in late.into_iter().enumerate() {
        if i >= MOST_LATE / 2 && i < last {
            continue;
        }
        told.extend([late.store, late.behind]);
        told.extend(by);
        // Who writes what the access has read before is the other side.
        let access = run.step(late.behind).filter(|step| step.kind == StepKind::Load);
        let overwrites = |step: &&RunStep| {
            let writes = matches!(step.kind, StepKind::Store | StepKind::Update);
            writes
                && access.is_some_and(|access| {
                    step.n > access.n
                        && step.thread != access.thread
                        && step.location == access.location
                })
        };
        told.extend(run.steps.iter().find(overwrites).map(|step| step.n));
    }
}

/// The first step of another thread of these kinds to the location of a store that waits.
fn noticed_by(run: &Run, late: RunLate, kinds: &[StepKind]) -> Option<u64> {
    let store = run.step(late.store)?;
    let until = run.steps.iter().find(|step| step.of == Some(store.n)).map_or(u64::MAX, |s| s.n);
    let mut between = run.steps.iter().filter(|step| step.n > store.n && step.n < until);
    let uses = |step: &&RunStep| {
        step.thread != store.thread && step.location == store.location && kinds.contains(&step.kind)
    };
    between.find(uses).map(|step| step.n)
}

/// What the threads that fail did last.
fn push_ends(run: &Run, told: &mut BTreeSet<u64>) {
    for fail in run.steps.iter().filter(|step| step.kind == StepKind::Fail) {
        let own = run.steps.iter().rev().filter(|s| s.n < fail.n && s.thread == fail.thread);
        told.extend(own.filter(|step| step.is_event()).take(LAST).map(|step| step.n));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::object::RunThread;

    /// Two threads that do not see each other's store, with a hundred stores in between.
    #[test]
    fn the_cause_stays() {
        let mut run = Run::new("tso");
        run.threads = ["a", "b", "main"].map(RunThread::new).to_vec();
        let mut n = 0;
        let mut step = |thread, kind, location: &str, of: Option<u64>| {
            n += 1;
            let mut step = RunStep::new(n, thread, kind);
            (step.location, step.of) = (Some(location.to_owned()), of);
            run.steps.push(step);
            n
        };
        use StepKind::{Commit, Fail, Load, Store};
        let x = step(0, Store, "x", None);
        let load = step(0, Load, "y", None);
        let noise: Vec<u64> = (0..100).map(|i| step(0, Store, &format!("n{i}"), None)).collect();
        let y = step(1, Store, "y", None);
        let seen = step(1, Commit, "y", Some(y));
        let notices = step(1, Load, "x", None);
        let reaches = step(0, Commit, "x", Some(x));
        for (i, &of) in noise.iter().enumerate() {
            step(0, Commit, &format!("n{i}"), Some(of));
        }
        let fails = step(2, Fail, "", None);
        run.late = noise.iter().map(|&store| RunLate { store, behind: notices }).collect();
        run.late.insert(0, RunLate { store: x, behind: load });
        let told = telling(&run);
        for n in [x, load, y, seen, notices, reaches, fails] {
            assert!(told.contains(&n), "{n} in {told:?}");
        }
        assert!(!told.contains(&noise[50]) && told.len() < 20, "{told:?}");
    }
}
