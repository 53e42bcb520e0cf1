//! The monitors on executions in which accesses overlap in part: what [`class`](crate::watch::class) cannot
//! tell is asked again here, with every store that can be held back ([`Overlapping`]).

use weakspot_core::{Drain, LogEvent, LogKind, Model, Overlapping};

use crate::OpKind;
use crate::step::Step;
use crate::watch::compiled::{Names, compile};

/// How many events may be looked at in an execution, about a tenth of a second.
const MOST_LOOKS: usize = 20_000_000;

/// A store and an access of an execution that can overtake it.
#[derive(Debug)]
pub(crate) struct Overtaken {
    /// The step of the store.
    pub(crate) store: usize,
    /// The step of the access.
    pub(crate) access: usize,
    /// The steps that happen before the access, and the access.
    pub(crate) shown: Vec<usize>,
}

/// What can be overtaken by accesses from the step `from` on. `None` if it takes too long to tell.
///
/// `fences` stand before steps; `orders` says whether those of atomics count, and they are fences in
/// the log, so that under PSO updates wait for nothing else but their own bytes.
pub(crate) fn overtaken(
    steps: &[Step],
    fences: &[(usize, LogKind)],
    orders: bool,
    tso: bool,
    from: usize,
) -> Option<Vec<Overtaken>> {
    let mut names = Names::default();
    let (mut events, mut step_of) = (Vec::new(), Vec::new());
    let mut fences = fences.iter().peekable();
    for (at, step) in steps.iter().enumerate() {
        while let Some((_, kind)) = fences.next_if(|(before, _)| *before == at) {
            events.push(LogEvent::new(step.thread, *kind, 0));
        }
        compile(step, orders, &mut names, &mut events);
        // A store with a fence behind it is one step: nobody comes in between.
        if let [.., store @ LogEvent { kind: LogKind::Write, .. }, fence] = &mut events[..]
            && step.op.kind == OpKind::Write
            && fence.kind == LogKind::Fence
        {
            store.kind = LogKind::Update;
            std::mem::swap(store, fence);
        }
        step_of.resize(events.len(), at);
    }
    let model = if tso { Model::Tso } else { Model::Pso(Drain::Own) };
    let is_addition =
        |e: usize| events[e].kind == LogKind::Update && steps[step_of[e]].op.kind == OpKind::Add;
    let overlapping = Overlapping::with_additions(&events, names.tables(), is_addition);
    let accesses =
        || (0..events.len()).filter(|&e| step_of[e] >= from && events[e].kind.is_access());
    if accesses().sum::<usize>() > MOST_LOOKS {
        return None;
    }
    let mut found = Vec::new();
    for access in accesses() {
        for store in overlapping.overtaken(model, access) {
            let before = (0..=access).filter(|&at| overlapping.precedes(at, access));
            let mut shown: Vec<usize> = before.map(|at| step_of[at]).collect();
            shown.dedup();
            found.push(Overtaken { store: step_of[store], access: step_of[access], shown });
        }
    }
    Some(found)
}
