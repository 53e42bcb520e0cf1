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
                let is_new = |next: &usize| {
                    *next != from && entered[*next].is_none() && self.leads(left, *next)
                };
                let found: Vec<usize> = (left + 1..to).filter(is_new).collect();
                for next in found {
                    entered[next] = Some((left, entry));
                    queue.push_back(next);
                }
            }
        }
        None
    }

    /// Whether a step of another thread comes after this one.
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

    /// Whether a thread has a fence with such an order between two of its steps, with the changes.
    fn has_fence(&self, part: Part, is: impl Fn(Order) -> bool) -> bool {
        let thread = self.thread(part.from);
        let mut before: Option<Place> = None;
        for step in self.steps[part.from..=part.to].iter().filter(|s| s.thread == thread) {
            if matches!(step.kind, OpKind::Fence | OpKind::StoreFence | OpKind::LoadFence)
                && is(step.order)
            {
                return true;
            }
            let places = (before, step.place);
            let stands = self.changes.iter().any(|change| match *change {
                PlacedFence::Full(a, b) => places == (Some(a), Some(b)) && is(Order::SeqCst),
                PlacedFence::Stores(a, b) => places == (Some(a), Some(b)) && is(Order::Release),
                PlacedFence::Order(..) => false,
            });
            if stands {
                return true;
            }
            before = step.place;
        }
        false
    }

    fn releases(&self, part: Part) -> bool {
        is_lock(self.steps[part.to].kind)
            || self.order(part.to).releases()
            || self.has_fence(part, Order::releases)
    }

    fn acquires(&self, part: Part) -> bool {
        is_lock(self.steps[part.from].kind)
            || self.order(part.from).acquires()
            || self.has_fence(part, Order::acquires)
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
        let full = |order: Order| order == Order::SeqCst;
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
            let mut rest = part.from + 1..=part.to;
            let next = rest.find(|&i| self.thread(i) == self.thread(part.from))?;
            Some(PlacedFence::Full(place(part.from)?, place(next)?))
        };
        weak.filter_map(fence).collect()
    }
}

fn is_lock(kind: OpKind) -> bool {
    matches!(kind, OpKind::Acquire | OpKind::Release)
}

/// The weakest order that is both.
fn both(a: Order, b: Order) -> Order {
    match (a.min(b), a.max(b)) {
        (Order::Acquire, Order::Release) => Order::AcqRel,
        (_, stronger) => stronger,
    }
}

#[cfg(test)]
mod tests {
    use weakspot_core::testing::{Rng, scaled};

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

    /// Pairs of events.
    type Relation = Vec<Vec<bool>>;

    fn relation(n: usize, is: impl Fn(usize, usize) -> bool) -> Relation {
        (0..n).map(|a| (0..n).map(|b| is(a, b)).collect()).collect()
    }

    fn union(a: &Relation, b: &Relation) -> Relation {
        relation(a.len(), |i, j| a[i][j] || b[i][j])
    }

    fn then(a: &Relation, b: &Relation) -> Relation {
        relation(a.len(), |i, j| (0..a.len()).any(|k| a[i][k] && b[k][j]))
    }

    fn closure(a: &Relation) -> Relation {
        (0..a.len()).fold(a.clone(), |r, _| union(&r, &then(&r, &r)))
    }

    fn is_cyclic(a: &Relation) -> bool {
        closure(a).iter().enumerate().any(|(i, row)| row[i])
    }

    /// Whether RC11 forbids a cycle, by its axioms on the events of its parts.
    fn forbidden(steps: &[TracedStep], changes: &[PlacedFence], cycle: &[Part]) -> bool {
        let execution = Execution { steps, changes };
        // An access by its step, or a fence.
        let mut events: Vec<(usize, Option<usize>, Order)> = Vec::new();
        for (p, part) in cycle.iter().enumerate() {
            let mut before: Option<Place> = None;
            for i in part.from..=part.to {
                if steps[i].thread != steps[part.from].thread {
                    continue;
                }
                for change in changes {
                    if let PlacedFence::Full(a, b) = *change
                        && (before, steps[i].place) == (Some(a), Some(b))
                    {
                        events.push((p, None, Order::SeqCst));
                    }
                }
                let access = steps[i].op().touches().then_some(i);
                events.push((p, access, execution.order(i)));
                before = steps[i].place;
            }
        }
        let n = events.len();
        let event = |i: usize| events.iter().position(|e| e.1 == Some(i)).expect("an event");
        let po = relation(n, |a, b| a < b && events[a].0 == events[b].0);
        let (mut rf, mut co_fr) = (relation(n, |_, _| false), relation(n, |_, _| false));
        let mut eco = relation(n, |_, _| false);
        for (p, part) in cycle.iter().enumerate() {
            let (a, b) = (part.to, cycle[(p + 1) % cycle.len()].from);
            let last = p + 1 == cycle.len();
            let reads = !last && execution.reads(*part, cycle[p + 1]);
            rf[event(a)][event(b)] = reads;
            co_fr[event(a)][event(b)] = !reads && steps[b].op().writes();
            eco[event(a)][event(b)] = true;
        }
        let sw = relation(n, |a, b| {
            (0..n).flat_map(|w| (0..n).map(move |r| (w, r))).any(|(w, r)| {
                rf[w][r]
                    && events[a].2.releases()
                    && (a == w || events[a].1.is_none() && po[a][w])
                    && events[b].2.acquires()
                    && (b == r || events[b].1.is_none() && po[r][b])
            })
        });
        let hb = closure(&union(&po, &sw));
        let eco = closure(&eco);
        let coherent = !(0..n).any(|i| hb[i][i] || (0..n).any(|j| hb[i][j] && eco[j][i]));
        let loc = |i: usize| events[i].1.map(|s| steps[s].addr);
        let other = relation(n, |a, b| po[a][b] && loc(a) != loc(b));
        let same = relation(n, |a, b| hb[a][b] && loc(a).is_some() && loc(a) == loc(b));
        let scb = union(&po, &union(&then(&other, &then(&hb, &other)), &union(&same, &co_fr)));
        let is_fence = |i: usize| events[i].1.is_none() && events[i].2 == Order::SeqCst;
        let is_sc = |i: usize| events[i].1.is_some() && events[i].2 == Order::SeqCst;
        let hb_or_same = union(&hb, &relation(n, |a, b| a == b));
        let from = relation(n, |a, b| is_sc(a) && a == b || is_fence(a) && hb_or_same[a][b]);
        let to = relation(n, |a, b| is_sc(a) && a == b || is_fence(b) && hb_or_same[a][b]);
        let between = union(&hb, &then(&hb, &then(&eco, &hb)));
        let fences = relation(n, |a, b| is_fence(a) && is_fence(b) && between[a][b]);
        !coherent || is_cyclic(&union(&then(&from, &then(&scb, &to)), &fences))
    }

    /// With what is missing, the axioms of RC11 forbid the cycle.
    #[test]
    fn as_the_axioms_say() {
        let orders = ["rlx", "rlx", "acq", "rel", "sc"];
        let (mut cycles, mut asked, mut in_vain) = (0, 0, 0);
        for seed in 0..scaled(20_000) as u64 {
            let rng = &mut Rng::new(seed);
            let len = 4 + rng.below(5);
            let word = |rng: &mut Rng| {
                let (thread, kind) =
                    (rng.below(3), ["R", "W", "W", "U", "R", "F", "L"][rng.below(7)]);
                match kind {
                    "F" | "L" => format!("{thread}{kind}"),
                    _ => format!("{thread}{kind}{}{}", 1 + rng.below(3), orders[rng.below(5)]),
                }
            };
            let text: Vec<String> = (0..len).map(|_| word(rng)).collect();
            let text = text.join(" ");
            let steps = steps(&text);
            let execution = Execution { steps: &steps, changes: &[] };
            for (s, a) in (0..len).flat_map(|s| (s + 1..len).map(move |a| (s, a))) {
                let pair = (at(s as u64), at(a as u64));
                let Some(cycle) = execution.cycle(pair.0, pair.1) else { continue };
                let found = missing(&steps, pair, &[]);
                cycles += 1;
                asked += usize::from(!found.is_empty());
                in_vain += usize::from(!found.is_empty() && forbidden(&steps, &[], &cycle));
                assert!(forbidden(&steps, &found, &cycle), "{text}: {s} {a}: {cycle:?} {found:?}");
                assert_eq!(missing(&steps, pair, &found), [], "{text}: {s} {a}: {found:?}");
            }
        }
        assert!(asked > cycles / 10 && in_vain < asked / 10, "{cycles} {asked} {in_vain}");
    }
}
