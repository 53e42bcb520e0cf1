//! Memory that comes and goes in an execution: which steps are frees, and which block, function or thread a
//! failure is about.

use std::collections::{HashMap, HashSet};

use weakspot_live::wire::{MemoryChange, MemoryStep, Place};
use weakspot_live::{OpKind, Reaches, reaches};

use crate::explore::findings::Failure;
use crate::replay::Traced;

/// What is shown of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// The step with this number.
    Step(usize),
    /// What happens to memory after so many steps, by its number.
    Memory(usize),
    /// What the only thread that is left reads after so many steps, by its number.
    Looked(usize),
}

/// What a failure is about, by numbers of what happens to memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct About {
    /// The use of what is not there.
    pub(crate) misused: Option<usize>,
    /// The change of memory that ended it, such as a call of `free`.
    pub(crate) gone: Option<usize>,
    /// Its allocation.
    pub(crate) made: Option<usize>,
}

/// Which steps of an execution are parts of frees: stores to their bytes, by which monitors know of them, and
/// with buffers what leaves these. By their numbers, with that of the free.
pub(crate) fn frees(traced: &Traced) -> HashMap<usize, usize> {
    let mut parts = HashMap::new();
    for (j, (at, change)) in traced.memory.iter().enumerate() {
        let is_part = |i: usize| {
            let step = &traced.steps[i];
            let here = step.place == change.places.first().copied();
            step.kind == OpKind::Write && step.thread == change.thread && here
        };
        if change.what == MemoryChange::Freed {
            let stores = (0..*at).rev().take_while(|&i| is_part(i));
            parts.extend(stores.filter(|&i| change.holds(traced.steps[i].addr)).map(|i| (i, j)));
        }
    }
    let leaves = |(store, when): (usize, Reaches)| match when {
        Reaches::With(step) => parts.get(&store).map(|&free| (step, free)),
        Reaches::AtOnce | Reaches::Never => None,
    };
    let leave: Vec<(usize, usize)> =
        reaches(&traced.steps).into_iter().filter_map(leaves).collect();
    parts.extend(leave);
    parts
}

/// The block, function or thread that a failure is about, if it is about one.
pub(crate) fn about(failure: &Failure, traced: &Traced) -> About {
    let race = failure.kind == "data-race";
    // That a free is one access of a race is told before the free is.
    let failed = traced.failure(failure).filter(|_| !race);
    let before = failed.map_or(traced.memory.len(), |failed| failed.memory);
    let changes = &traced.memory[..before];
    let last = |to: usize, is: &dyn Fn(&MemoryStep) -> bool| {
        changes[..to].iter().rposition(|(_, change)| is(change))
    };
    let made_at =
        |to: usize, addr: u64| last(to, &|c| c.what == MemoryChange::Allocated && c.holds(addr));
    if race {
        let first = failure.related.first();
        let free = |place: Option<Place>, thread: Option<u16>| {
            last(before, &|c| {
                let same = (Some(c.thread), c.places.first().copied()) == (thread, place);
                c.what == MemoryChange::Freed && same
            })
        };
        let is_free = |what: &str| what == "free";
        let gone = match first {
            Some(first) if is_free(&first.what) => free(Some(first.place), first.thread),
            _ if is_free(&failure.text) => free(failure.place, failure.thread),
            _ => None,
        };
        let made = gone.and_then(|gone| made_at(gone, changes[gone].1.addr));
        return About { misused: None, gone, made };
    }
    let is_misuse = |c: &MemoryStep| matches!(c.what, MemoryChange::Misused(_));
    let misused = last(before, &|c| is_misuse(c) && Some(c.thread) == failure.thread);
    let misused = misused.filter(|&misused| misused + 1 == before);
    let Some(at) = misused else { return About::default() };
    let addr = changes[at].1.addr;
    let made = made_at(at, addr);
    // Beside a block it is the nearest one that is meant.
    let near = || {
        let far = |c: &MemoryStep| c.addr.abs_diff(addr).min((c.addr + c.len).abs_diff(addr));
        let blocks = changes.iter().enumerate();
        let blocks = blocks.filter(|(_, (_, c))| c.what == MemoryChange::Allocated);
        blocks.min_by_key(|(_, (_, c))| far(c)).map(|(j, _)| j)
    };
    let made = made.or_else(|| if failure.kind == "out-of-bounds" { near() } else { None });
    let gone = last(at, &|c| c.is_end() && c.holds(addr));
    let gone = gone.filter(|&gone| made.is_none_or(|made| made < gone));
    About { misused, gone, made }
}

impl About {
    /// Whether an item is one of these changes of memory.
    pub(crate) fn shows(&self, item: Item) -> bool {
        matches!(item, Item::Memory(j) if self.holds(j))
    }

    fn holds(&self, j: usize) -> bool {
        [self.gone, self.made].contains(&Some(j))
    }
}

/// What is shown: the steps that matter, frees in the place of their stores, what the failure is about, and what of it the
/// only thread that is left has looked at.
pub(crate) fn items(
    traced: &Traced,
    frees: &HashMap<usize, usize>,
    about: About,
    matters: impl Fn(usize) -> bool,
    looks: &[usize],
) -> Vec<Item> {
    let shown: HashSet<usize> = frees.values().copied().collect();
    let mut items = Vec::new();
    let mut next = 0;
    let mut looks = looks.iter().copied().peekable();
    for i in 0..=traced.steps.len() {
        while traced.memory.get(next).is_some_and(|(at, _)| *at <= i) {
            if shown.contains(&next) || about.holds(next) {
                items.push(Item::Memory(next));
            }
            next += 1;
        }
        while let Some(look) = looks.next_if(|&look| traced.looked[look].0 <= i) {
            items.push(Item::Looked(look));
        }
        let store = |i: usize| frees.contains_key(&i) && traced.steps[i].kind == OpKind::Write;
        if i < traced.steps.len() && matters(i) && !store(i) {
            items.push(Item::Step(i));
        }
    }
    items
}
