//! What C11 and Rust ask for beyond the machine. A change that prevents a pair there stands in one thread,
//! because the machine keeps the others of the cycle in order anyway: an exchange waits for the buffer, loads
//! do not overtake each other. The language promises less. It forbids a cycle in which at most one step
//! from thread to thread is not synchronized, by a release that is acquired; or if between every two such
//! steps there is a sequentially consistent fence, or both ends are sequentially consistent accesses. (Lahav et
//! al., Repairing sequential consistency in C/C++11, section 4: `coherence` and `psc`.)

use std::collections::VecDeque;

use weakspot_live::wire::{Place, PlacedFence, TracedStep};
use weakspot_live::{Op, OpKind, Order};

/// Executions with more steps are not looked at: it takes quadratic time.
const MOST: usize = 2000;

/// What is missing, beside changes that are made anyway, so that the language forbids what was found: that an
/// access takes effect before a store. Nothing if it has no say because accesses are not atomic.
pub(crate) fn missing(
    steps: &[TracedStep],
    (store, access): (Place, Place),
    changes: &[PlacedFence],
) -> Vec<PlacedFence> {
    let execution = Execution { steps, changes };
    let Some(cycle) = execution.cycle(store, access) else { return Vec::new() };
    if cycle.iter().flat_map(|part| [part.from, part.to]).any(|i| execution.is_plain(i)) {
        return Vec::new();
    }
    execution.missing(&cycle)
}

/// What one thread does of a cycle.
#[derive(Clone, Copy, Debug)]
struct Part {
    from: usize,
    to: usize,
}

struct Execution<'a> {
    /// In their order, under SC.
    steps: &'a [TracedStep],
    changes: &'a [PlacedFence],
}

impl Execution<'_> {
    fn op(&self, i: usize) -> Op {
        self.steps[i].op()
    }

    fn thread(&self, i: usize) -> u16 {
        self.steps[i].thread
    }

    /// A shortest cycle: what the thread of the store does from there on, what others do with it, up to the
    /// access, which would come before the store.
    fn cycle(&self, store: Place, access: Place) -> Option<Vec<Part>> {
        let steps = self.steps;
        if steps.len() > MOST {
            return None;
        }
        let at = |place: Place| move |i: &usize| steps[*i].place == Some(place);
        (0..steps.len()).filter(at(access)).find_map(|to| {
            let meets = |i: &usize| {
                let (a, b) = (self.op(*i), self.op(to));
                self.thread(*i) != self.thread(to) && a.writes() && a.conflicts(b)
            };
            let from = (0..to).rev().filter(at(store)).find(meets)?;
            self.path(from, to)
        })
    }

    /// How one step leads to another of a later thread, over what others do in between.
    fn path(&self, from: usize, to: usize) -> Option<Vec<Part>> {
        // By where a thread was entered: from where, and where the thread before was entered.
        let mut entered: Vec<Option<(usize, usize)>> = vec![None; self.steps.len()];
        let mut queue = VecDeque::from([from]);
        while let Some(entry) = queue.pop_front() {
            let thread = self.thread(entry);
            if entry != from && thread == self.thread(to) && entry < to {
                let mut parts = vec![Part { from: entry, to }];
                let mut at = entry;
                while let Some((left, before)) = entered[at] {
                    parts.push(Part { from: before, to: left });
                    at = before;
                }
                parts.reverse();
                return Some(parts);
            }
            // The store itself is what is late.
            let first = if entry == from { from + 1 } else { entry };
            for left in (first..to).filter(|&i| self.thread(i) == thread) {
                for next in left + 1..to {
                    if next != from && entered[next].is_none() && self.leads(left, next) {
                        entered[next] = Some((left, entry));
                        queue.push_back(next);
                    }
                }
            }
        }
        None
    }

    /// Whether a step of another thread comes after this one, and why.
    fn leads(&self, a: usize, b: usize) -> bool {
        self.thread(a) != self.thread(b) && (self.op(a).conflicts(self.op(b)) || self.begins(a, b))
    }

    /// Whether a thread is started, or its end waited for.
    fn begins(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.steps[a], &self.steps[b]);
        let starts = a.kind == OpKind::Spawn && a.addr == u64::from(b.thread);
        let ends = b.kind == OpKind::Join && b.addr == u64::from(a.thread);
        starts && b.kind == OpKind::Start || ends && a.kind == OpKind::Exit
    }

    fn is_plain(&self, i: usize) -> bool {
        self.op(i).touches() && !is_lock(self.steps[i].kind) && self.order(i) == Order::Plain
    }

    /// The order of an access, with the changes.
    fn order(&self, i: usize) -> Order {
        let step = &self.steps[i];
        let changed = self.changes.iter().filter_map(|change| match *change {
            PlacedFence::Order(place, order) if Some(place) == step.place => Some(order),
            _ => None,
        });
        changed.fold(step.order, both)
    }

    /// Whether a thread has a fence between two of its steps, among those that `is` means, with the changes.
    fn has_fence(&self, part: Part, is: impl Fn(OpKind, Order) -> bool) -> bool {
        let thread = self.thread(part.from);
        let mut before: Option<&TracedStep> = None;
        for step in self.steps[part.from..=part.to].iter().filter(|s| s.thread == thread) {
            if matches!(step.kind, OpKind::Fence | OpKind::StoreFence | OpKind::LoadFence)
                && is(step.kind, step.order)
            {
                return true;
            }
            let added = |change: &PlacedFence| match *change {
                PlacedFence::Full(a, b) => (a, b, OpKind::Fence, Order::SeqCst),
                PlacedFence::Stores(a, b) => (a, b, OpKind::StoreFence, Order::Release),
                PlacedFence::Order(a, order) => (a, a, OpKind::Yield, order),
            };
            let stands = self.changes.iter().map(added).any(|(a, b, kind, order)| {
                kind != OpKind::Yield
                    && is(kind, order)
                    && before.is_some_and(|before| before.place == Some(a))
                    && step.place == Some(b)
            });
            if stands {
                return true;
            }
            before = Some(step);
        }
        false
    }

    fn releases(&self, part: Part) -> bool {
        let is = |_, order: Order| matches!(order, Order::Release | Order::AcqRel | Order::SeqCst);
        is_lock(self.steps[part.to].kind)
            || is(OpKind::Write, self.order(part.to))
            || self.has_fence(part, is)
    }

    fn acquires(&self, part: Part) -> bool {
        let is = |_, order: Order| matches!(order, Order::Acquire | Order::AcqRel | Order::SeqCst);
        is_lock(self.steps[part.from].kind)
            || is(OpKind::Read, self.order(part.from))
            || self.has_fence(part, is)
    }

    /// Whether the first step of a part reads what the last one of the part before has written.
    fn reads(&self, before: Part, part: Part) -> bool {
        let (write, read) = (before.to, part.from);
        let others = self.steps[write + 1..read].iter();
        let overwritten =
            others.filter(|s| s.op().writes()).any(|s| s.op().conflicts(self.op(read)));
        self.op(write).writes() && self.steps[read].kind != OpKind::Write && !overwritten
    }

    fn synchronizes(&self, before: Part, part: Part) -> bool {
        self.begins(before.to, part.from)
            || self.reads(before, part) && self.releases(before) && self.acquires(part)
    }

    /// Whether nothing may come between the ends of some parts that synchronize with each other.
    fn is_strong(&self, parts: &[Part]) -> bool {
        let full = |_, order: Order| order == Order::SeqCst;
        let ends = match parts {
            [part] => [part.from, part.to].iter().all(|&i| self.order(i) == Order::SeqCst),
            _ => false,
        };
        ends || parts.iter().any(|&part| self.has_fence(part, full))
    }

    fn missing(&self, cycle: &[Part]) -> Vec<PlacedFence> {
        // The first part begins with the store: what leads there, the access, is what was found.
        let runs: Vec<&[Part]> = cycle.chunk_by(|a, b| self.synchronizes(*a, *b)).collect();
        if runs.len() == 1 || runs.iter().all(|run| self.is_strong(run)) {
            return Vec::new();
        }
        let place = |i: usize| self.steps[i].place;
        // Where what is written is read, it is enough that it is released and acquired.
        let pairs = || cycle.windows(2).map(|pair| (pair[0], pair[1]));
        if pairs().all(|(a, b)| self.synchronizes(a, b) || self.reads(a, b)) {
            let loose = pairs().filter(|(a, b)| !self.synchronizes(*a, *b));
            let orders = loose.flat_map(|(a, b)| {
                let release = (!self.releases(a)).then_some((a.to, Order::Release));
                let acquire = (!self.acquires(b)).then_some((b.from, Order::Acquire));
                release.into_iter().chain(acquire)
            });
            return orders.filter_map(|(i, o)| Some(PlacedFence::Order(place(i)?, o))).collect();
        }
        let weak = runs.iter().filter(|run| !self.is_strong(run));
        let fence = |run: &&[Part]| {
            let part = run.iter().find(|part| part.from != part.to)?;
            Some(PlacedFence::Full(place(part.from)?, place(part.to)?))
        };
        weak.filter_map(fence).collect()
    }
}

fn is_lock(kind: OpKind) -> bool {
    matches!(kind, OpKind::Acquire | OpKind::Release)
}

/// The weakest order that is both.
pub(crate) fn both(a: Order, b: Order) -> Order {
    match (a.min(b), a.max(b)) {
        (Order::Acquire, Order::Release) => Order::AcqRel,
        (_, stronger) => stronger,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps of threads from text: `0W1rlx` is thread 0, which writes address 1, relaxed; `0F` is a fence. Each
    /// has its number as its place.
    fn steps(text: &str) -> Vec<TracedStep> {
        let step = |(i, word): (usize, &str)| {
            let thread = word[..1].parse().expect("a thread");
            let kind = match &word[1..2] {
                "R" => OpKind::Read,
                "W" => OpKind::Write,
                "U" => OpKind::Update,
                "F" => OpKind::Fence,
                _ => OpKind::LoadFence,
            };
            let addr = word.get(2..3).map_or(0, |a| a.parse().expect("an address"));
            let order = match word.get(3..).unwrap_or("") {
                "rlx" => Order::Relaxed,
                "acq" => Order::Acquire,
                "rel" => Order::Release,
                "sc" => Order::SeqCst,
                _ if kind == OpKind::Fence => Order::SeqCst,
                _ if kind == OpKind::LoadFence => Order::Acquire,
                _ => Order::Plain,
            };
            let place = Some(at(i as u64));
            let len = u32::from(!matches!(kind, OpKind::Fence | OpKind::LoadFence));
            TracedStep { thread, kind, order, addr, len, old: None, value: None, place }
        };
        text.split_whitespace().enumerate().map(step).collect()
    }

    fn at(offset: u64) -> Place {
        Place { module: Some(0), offset }
    }

    fn asked(text: &str, (store, access): (u64, u64), changes: &[PlacedFence]) -> Vec<PlacedFence> {
        missing(&steps(text), (at(store), at(access)), changes)
    }

    #[test]
    fn store_buffering() {
        let text = "0W1rlx 0R2rlx 1U2rel 1R1rlx";
        let first = PlacedFence::Full(at(0), at(1));
        assert_eq!(asked(text, (0, 3), &[first]), [PlacedFence::Full(at(2), at(3))]);
        assert_eq!(asked("0W1sc 0R2sc 1W2sc 1R1sc", (0, 3), &[]), []);
        assert_eq!(asked("0W1rlx 0F 0R2rlx 1W2sc 1R1sc", (0, 4), &[]), []);
        // A fence on one side, and on the other a store alone that is sequentially consistent.
        let half = asked("0W1rlx 0F 0R2rlx 1W2sc 1R1acq", (0, 4), &[]);
        assert_eq!(half, [PlacedFence::Full(at(3), at(4))]);
    }

    #[test]
    fn message_passing() {
        let release = PlacedFence::Order(at(1), Order::Release);
        let acquire = PlacedFence::Order(at(2), Order::Acquire);
        let text = "0W1rlx 0W2rlx 1R2rlx 1R1rlx";
        assert_eq!(asked(text, (0, 3), &[release]), [acquire]);
        assert_eq!(asked(text, (0, 3), &[release, acquire]), []);
        assert_eq!(asked(text, (0, 3), &[]), [release, acquire]);
        assert_eq!(asked("0W1rlx 0W2rel 1R2rlx 1L 1R1rlx", (0, 4), &[]), []);
        // Through a third thread.
        let relayed = "0W1rlx 0W2rel 1R2rlx 1W3rel 2R3acq 2R1rlx";
        assert_eq!(asked(relayed, (0, 5), &[]), [acquire]);
        // What is not atomic is a data race, if it is not ordered otherwise.
        assert_eq!(asked("0W1 0W2rlx 1R2rlx 1R1", (0, 3), &[]), []);
    }
}
