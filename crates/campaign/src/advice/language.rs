//! What C11 and Rust ask for beyond the machine. A change that prevents a pair there stands in one thread,
//! because the machine keeps the others of the cycle in order anyway: an exchange waits for the buffer, loads
//! do not overtake each other. The language promises less. It forbids a cycle in which at most one step
//! from thread to thread is not synchronized, by a release that is acquired; or if between every two such
//! steps there is a sequentially consistent fence, or both ends are sequentially consistent accesses. (Lahav et
//! al., Repairing sequential consistency in C/C++11, section 4: `coherence` and `psc`.)

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use weakspot_live::wire::{Place, PlacedFence, TracedStep};
use weakspot_live::{Op, OpKind, Order};

/// Executions with more steps are not looked at: pairs of them are compared.
const MOST_STEPS: usize = 2000;

/// An execution, and how its steps follow each other.
pub(crate) struct Links<'a> {
    /// In their order, under SC.
    steps: &'a [TracedStep],
    /// The next one of the same thread.
    next: Vec<Option<usize>>,
    /// Which write is read, if it is of one step.
    source: Vec<Option<usize>>,
    /// Which steps of other threads read it, begin with it or wait for it.
    readers: Vec<Vec<usize>>,
    begun: Vec<Vec<usize>>,
}

impl<'a> Links<'a> {
    /// Nothing if there are too many steps.
    pub(crate) fn of(steps: &'a [TracedStep]) -> Option<Links<'a>> {
        let n = steps.len();
        if n > MOST_STEPS {
            return None;
        }
        let next = |i: usize| (i + 1..n).find(|&j| steps[j].thread == steps[i].thread);
        let source = |i: usize| {
            let conflicts = |j: &usize| {
                let (write, read) = (steps[*j].op(), steps[i].op());
                write.writes() && write.conflicts(read)
            };
            (steps[i].kind != OpKind::Write).then(|| (0..i).rev().find(conflicts)).flatten()
        };
        let source: Vec<Option<usize>> = (0..n).map(source).collect();
        let (mut readers, mut begun) = (vec![Vec::new(); n], vec![Vec::new(); n]);
        for (i, &write) in source.iter().enumerate() {
            if let Some(write) = write.filter(|&write| steps[write].thread != steps[i].thread) {
                readers[write].push(i);
            }
        }
        for (i, begun) in begun.iter_mut().enumerate() {
            if matches!(steps[i].kind, OpKind::Spawn | OpKind::Exit) {
                begun.extend((i + 1..n).filter(|&j| begins(&steps[i], &steps[j])));
            }
        }
        Some(Links { steps, next: (0..n).map(next).collect(), source, readers, begun })
    }

    /// What is missing, beside changes that are made anyway, so that the language forbids what was found: that an
    /// access takes effect before a store, whichever way leads from the store to the access in this execution.
    /// Ways over accesses that are not atomic are left out: the language has no say there but by data races.
    /// `work` is how much may still be done, and is used up; there is nothing more behind its end.
    pub(crate) fn missing(
        &self,
        (store, access): (Place, Place),
        changes: &[PlacedFence],
        work: &mut usize,
    ) -> Vec<PlacedFence> {
        let mut all = changes.to_vec();
        loop {
            // A shortest cycle that the language allows with the changes.
            let execution = Execution { links: self, steps: self.steps, changes: &all };
            let ends = execution.ends(store, access);
            let cycle = ends.into_iter().find_map(|(from, to)| execution.allowed(from, to, work));
            let mut more = cycle.map_or(Vec::new(), |cycle| execution.missing(&cycle));
            more.retain(|change| !all.contains(change));
            if more.is_empty() {
                return all.split_off(changes.len());
            }
            all.extend(more);
        }
    }
}

/// Uses up some of the work that may be done; nothing if there is not so much.
fn used(work: &mut usize, some: usize) -> Option<()> {
    *work = work.saturating_sub(some);
    (*work > 0).then_some(())
}

/// Whether a step starts the thread of another, or its end is waited for there.
fn begins(a: &TracedStep, b: &TracedStep) -> bool {
    let starts = a.kind == OpKind::Spawn && a.addr == u64::from(b.thread);
    let ends = b.kind == OpKind::Join && b.addr == u64::from(a.thread);
    a.thread != b.thread && (starts && b.kind == OpKind::Start || ends && a.kind == OpKind::Exit)
}

/// What one thread does of a cycle.
#[derive(Clone, Copy, Debug)]
struct Part {
    from: usize,
    to: usize,
}

/// An execution with changes.
struct Execution<'a> {
    links: &'a Links<'a>,
    steps: &'a [TracedStep],
    changes: &'a [PlacedFence],
}

/// A walk along a cycle: where it is, and what decides whether the language forbids the cycle.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Walk {
    step: usize,
    part: PartSoFar,
    /// The parts before this one that synchronize with each other; nothing in the first part.
    run: Option<Run>,
    /// About the parts before those.
    verdict: Verdict,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct PartSoFar {
    /// Whether it synchronizes with the part before.
    joins: Joins,
    /// Whether what it reads first is acquired.
    acquired: bool,
    /// Whether it has a fence that releases, and one that is sequentially consistent.
    released: bool,
    fenced: bool,
    /// Its first access: whether it is sequentially consistent, and its location.
    sc: bool,
    location: Option<(u64, u32)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Joins {
    No,
    IfAcquired,
    Yes,
}

/// Parts that synchronize with each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Run {
    /// Whether there is a sequentially consistent fence.
    fenced: bool,
    /// One part, whose ends are sequentially consistent accesses.
    sc: bool,
    /// All ends are of one location: no more than the order of its values.
    coherent: bool,
}

/// About runs: the language forbids a cycle with at most one that is not coherent, and if each is strong.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Verdict {
    one: bool,
    several: bool,
    /// One has no fence; one is not strong in any case.
    unfenced: bool,
    weak: bool,
    /// Sequentially consistent accesses are strong only if nothing else comes between them and others.
    between: bool,
}

impl Verdict {
    fn and(self, run: Run) -> Verdict {
        if run.coherent {
            return Verdict { between: self.between || !run.sc, ..self };
        }
        Verdict {
            one: true,
            several: self.one,
            unfenced: self.unfenced || !run.fenced,
            weak: self.weak || !run.fenced && !run.sc,
            ..self
        }
    }

    fn is_allowed(self) -> bool {
        self.several && (self.weak || self.between && self.unfenced)
    }
}

impl Walk {
    /// The part ends at its step.
    fn end_part(self, execution: &Execution<'_>) -> Walk {
        let Walk { part, run, mut verdict, .. } = self;
        let joined = match part.joins {
            Joins::No => false,
            Joins::IfAcquired => part.acquired,
            Joins::Yes => true,
        };
        let coherent = part.location.is_some() && part.location == execution.location(self.step);
        let run = match run {
            Some(run) if joined => Run {
                fenced: run.fenced || part.fenced,
                sc: false,
                coherent: run.coherent && coherent,
            },
            before => {
                verdict = before.map_or(verdict, |run| verdict.and(run));
                Run { fenced: part.fenced, sc: part.sc && execution.is_sc(self.step), coherent }
            }
        };
        Walk { run: Some(run), verdict, ..self }
    }

    /// Whether the language allows the cycle that ends with the part that has just ended.
    fn is_allowed(self) -> bool {
        self.run.map_or(self.verdict, |run| self.verdict.and(run)).is_allowed()
    }
}

impl Execution<'_> {
    fn op(&self, i: usize) -> Op {
        self.steps[i].op()
    }

    fn thread(&self, i: usize) -> u16 {
        self.steps[i].thread
    }

    /// The accesses at a place, each with the last store at the other place that it meets.
    fn ends(&self, store: Place, access: Place) -> Vec<(usize, usize)> {
        let at = |place: Place| move |i: &usize| self.steps[*i].place == Some(place);
        let ends = (0..self.steps.len()).filter(at(access)).filter_map(|to| {
            let meets = |i: &usize| {
                let (a, b) = (self.op(*i), self.op(to));
                self.thread(*i) != self.thread(to) && a.writes() && a.conflicts(b)
            };
            Some(((0..to).rev().filter(at(store)).find(meets)?, to))
        });
        ends.collect()
    }

    /// A cycle that the language allows, with the fewest parts: what the thread of a store does from there on,
    /// what others do with it, up to an access, which would come before the store. All ends are atomic.
    fn allowed(&self, from: usize, to: usize, work: &mut usize) -> Option<Vec<Part>> {
        if self.is_plain(from) || self.is_plain(to) {
            return None;
        }
        let start = self.start(from);
        let mut before: HashMap<Walk, Option<Walk>> = HashMap::from([(start, None)]);
        let mut queue = VecDeque::from([start]);
        // Since which step everything is known that comes after such a part.
        let mut known = HashMap::new();
        while let Some(walk) = queue.pop_front() {
            let step = walk.step;
            if step == to {
                if walk.end_part(self).is_allowed() {
                    return Some(self.parts(walk, &before));
                }
                continue;
            }
            used(work, 1)?;
            if let Some(next) = self.goes_on(walk, to)
                && let Entry::Vacant(new) = before.entry(next)
            {
                new.insert(Some(walk));
                queue.push_front(next);
            }
            // The store itself is what is late.
            if step == from || self.is_plain(step) {
                continue;
            }
            let ended = walk.end_part(self);
            let mut cross = |next: usize, between: bool| {
                if next > to || self.is_plain(next) {
                    return;
                }
                let part = self.enter(next, self.joins(step, walk.part, next));
                let mut verdict = ended.verdict;
                verdict.between |= between;
                let next = Walk { step: next, part, verdict, ..ended };
                if let Entry::Vacant(new) = before.entry(next) {
                    new.insert(Some(walk));
                    queue.push_back(next);
                }
            };
            let links = self.links;
            let direct = links.readers[step].iter().chain(&links.begun[step]);
            direct.for_each(|&next| cross(next, false));
            let Some(location) = self.location(step) else { continue };
            let key =
                (location, self.op(step).writes(), self.thread(step), ended.run, ended.verdict);
            let since = known.entry(key).or_insert(usize::MAX);
            if *since <= step {
                continue;
            }
            *since = step;
            used(work, to - step)?;
            for next in step + 1..=to {
                if self.leads(step, next) && links.source[next] != Some(step) {
                    cross(next, self.skips(step, next));
                }
            }
        }
        None
    }

    /// The parts of a walk.
    fn parts(&self, last: Walk, before: &HashMap<Walk, Option<Walk>>) -> Vec<Part> {
        let mut parts = vec![Part { from: last.step, to: last.step }];
        let mut at = last;
        while let Some(walk) = before[&at] {
            let part = parts.last_mut().expect("the last part");
            if self.thread(walk.step) == self.thread(at.step) {
                part.from = walk.step;
            } else {
                parts.push(Part { from: walk.step, to: walk.step });
            }
            at = walk;
        }
        parts.reverse();
        parts
    }

    /// The next step of the same thread.
    fn goes_on(&self, walk: Walk, to: usize) -> Option<Walk> {
        let step = self.links.next[walk.step].filter(|&step| step <= to)?;
        let mut part = walk.part;
        for order in self.fences(walk.step, step) {
            part.acquired |= order.acquires();
            part.released |= order.releases();
            part.fenced |= order == Order::SeqCst;
        }
        Some(Walk { step, part, ..walk })
    }

    fn start(&self, step: usize) -> Walk {
        let part = self.enter(step, Joins::No);
        Walk { step, part, run: None, verdict: Verdict::default() }
    }

    fn enter(&self, step: usize, joins: Joins) -> PartSoFar {
        let acquired = is_lock(self.steps[step].kind) || self.order(step).acquires();
        let (sc, location) = (self.is_sc(step), self.location(step));
        PartSoFar { joins, acquired, released: false, fenced: false, sc, location }
    }

    /// Whether a part that begins with a step synchronizes with one that ends with another.
    fn joins(&self, end: usize, part: PartSoFar, next: usize) -> Joins {
        if self.links.begun[end].contains(&next) {
            Joins::Yes
        } else if self.releases(end, part) && self.reads(end, next) {
            Joins::IfAcquired
        } else {
            Joins::No
        }
    }

    fn location(&self, i: usize) -> Option<(u64, u32)> {
        self.op(i).touches().then_some((self.steps[i].addr, self.steps[i].len))
    }

    fn is_sc(&self, i: usize) -> bool {
        self.order(i) == Order::SeqCst
    }

    /// Whether a step of another thread comes after this one because of what both access.
    fn leads(&self, a: usize, b: usize) -> bool {
        self.thread(a) != self.thread(b) && self.op(a).conflicts(self.op(b))
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

    /// The orders of the fences between a step and the next one of its thread, and of that one, with the changes.
    fn fences(&self, before: usize, step: usize) -> impl Iterator<Item = Order> {
        let kinds = [OpKind::Fence, OpKind::StoreFence, OpKind::LoadFence];
        let own = kinds.contains(&self.steps[step].kind).then_some(self.steps[step].order);
        let places = (self.steps[before].place, self.steps[step].place);
        let stands = move |a: Place, b: Place| places == (Some(a), Some(b));
        let placed = self.changes.iter().filter_map(move |change| match *change {
            PlacedFence::Full(a, b) if stands(a, b) => Some(Order::SeqCst),
            PlacedFence::Stores(a, b) if stands(a, b) => Some(Order::Release),
            _ => None,
        });
        own.into_iter().chain(placed)
    }

    /// What a part has.
    fn whole(&self, part: Part) -> PartSoFar {
        let mut walk = self.start(part.from);
        while walk.step < part.to
            && let Some(next) = self.goes_on(walk, part.to)
        {
            walk = next;
        }
        walk.part
    }

    /// Whether a part that has got to a step releases what is written there.
    fn releases(&self, step: usize, part: PartSoFar) -> bool {
        is_lock(self.steps[step].kind) || self.order(step).releases() || part.released
    }

    /// Whether a step reads what another one has written.
    fn reads(&self, write: usize, read: usize) -> bool {
        self.links.source[read] == Some(write)
    }

    /// Whether a step reads what came after another one's write.
    fn skips(&self, write: usize, read: usize) -> bool {
        self.op(write).writes() && self.steps[read].kind == OpKind::Read && !self.reads(write, read)
    }

    fn synchronizes(&self, before: Part, part: Part) -> bool {
        match self.joins(before.to, self.whole(before), part.from) {
            Joins::No => false,
            Joins::IfAcquired => self.whole(part).acquired,
            Joins::Yes => true,
        }
    }

    fn run(&self, parts: &[Part]) -> Run {
        let same = |part: &Part| {
            self.location(part.from).is_some() && self.location(part.from) == self.location(part.to)
        };
        Run {
            fenced: parts.iter().any(|&part| self.whole(part).fenced),
            sc: matches!(parts, [part] if self.is_sc(part.from) && self.is_sc(part.to)),
            coherent: parts.iter().all(same),
        }
    }

    fn missing(&self, cycle: &[Part]) -> Vec<PlacedFence> {
        // The first part begins with the store: what leads there, the access, is what was found.
        let runs: Vec<&[Part]> = cycle.chunk_by(|a, b| self.synchronizes(*a, *b)).collect();
        let between = cycle.windows(2).any(|pair| self.skips(pair[0].to, pair[1].from));
        let verdict = Verdict { between, ..Verdict::default() };
        let verdict = runs.iter().fold(verdict, |all, parts| all.and(self.run(parts)));
        if !verdict.is_allowed() {
            return Vec::new();
        }
        let place = |i: usize| self.steps[i].place;
        // Where what is written is read, it is enough that it is released and acquired.
        let pairs = || cycle.windows(2).map(|pair| (pair[0], pair[1]));
        if pairs().all(|(a, b)| self.synchronizes(a, b) || self.reads(a.to, b.from)) {
            let loose = pairs().filter(|(a, b)| !self.synchronizes(*a, *b));
            let orders = loose.flat_map(|(a, b)| {
                let release =
                    (!self.releases(a.to, self.whole(a))).then_some((a.to, Order::Release));
                let acquire = (!self.whole(b).acquired).then_some((b.from, Order::Acquire));
                release.into_iter().chain(acquire)
            });
            return orders.filter_map(|(i, o)| Some(PlacedFence::Order(place(i)?, o))).collect();
        }
        let weak = runs.iter().filter(|parts| {
            let run = self.run(parts);
            !run.coherent && !run.fenced && (!run.sc || verdict.between)
        });
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

    fn missing(
        steps: &[TracedStep],
        pair: (Place, Place),
        changes: &[PlacedFence],
    ) -> Vec<PlacedFence> {
        let mut work = 1_000_000;
        let found = Links::of(steps).expect("few steps").missing(pair, changes, &mut work);
        assert!(work > 0);
        found
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
        // Either flag may be read; a release of the first does not order the second.
        let flags = "0W1rlx 0W2rlx 0W3rlx 1R2acq 1R3acq 1R1acq";
        let both = [release, PlacedFence::Order(at(2), Order::Release)];
        assert_eq!(asked(flags, (0, 5), &[release]), both[1..]);
        assert_eq!(asked(flags, (0, 5), &both), []);
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
        let links = Links::of(steps).expect("few steps");
        let execution = Execution { links: &links, steps, changes };
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
            let reads = !last && execution.reads(part.to, cycle[p + 1].from);
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
        // Coherence orders accesses to one location as happens-before does.
        let loc = |i: usize| events[i].1.map(|s| steps[s].addr);
        let same = relation(n, |a, b| hb[a][b] && loc(a).is_some() && loc(a) == loc(b));
        let eco = closure(&union(&eco, &same));
        let coherent = !(0..n).any(|i| hb[i][i] || (0..n).any(|j| hb[i][j] && eco[j][i]));
        let other = relation(n, |a, b| po[a][b] && loc(a) != loc(b));
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

    /// All cycles of a store and an access, straight from the definition; each thread comes once.
    fn ways(execution: &Execution<'_>, store: usize, access: usize) -> Vec<Vec<Part>> {
        fn go_on(execution: &Execution<'_>, to: usize, way: &[Part], all: &mut Vec<Vec<Part>>) {
            let from = way[way.len() - 1].from;
            let visited =
                |i: usize| way.iter().any(|p| execution.thread(p.from) == execution.thread(i));
            if execution.thread(from) == execution.thread(to) && from <= to {
                let mut way = way.to_vec();
                way.last_mut().expect("a part").to = to;
                all.push(way);
                return;
            }
            let first = if way.len() == 1 { from + 1 } else { from };
            for left in (first..to).filter(|&i| execution.thread(i) == execution.thread(from)) {
                for next in (left + 1..=to).filter(|&i| !visited(i) && execution.leads(left, i)) {
                    let mut way = way.to_vec();
                    way.last_mut().expect("a part").to = left;
                    way.push(Part { from: next, to: next });
                    go_on(execution, to, &way, all);
                }
            }
        }
        let mut all = Vec::new();
        let meet = execution.op(store).writes()
            && execution.op(store).conflicts(execution.op(access))
            && execution.thread(store) != execution.thread(access);
        if meet {
            go_on(execution, access, &[Part { from: store, to: store }], &mut all);
        }
        all
    }

    /// With what is missing, the axioms of RC11 forbid each cycle.
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
            let links = Links::of(&steps).expect("few steps");
            let execution = Execution { links: &links, steps: &steps, changes: &[] };
            for (s, a) in (0..len).flat_map(|s| (s + 1..len).map(move |a| (s, a))) {
                let ways = ways(&execution, s, a);
                if ways.is_empty() {
                    continue;
                }
                let pair = (at(s as u64), at(a as u64));
                let found = missing(&steps, pair, &[]);
                cycles += 1;
                asked += usize::from(!found.is_empty());
                in_vain += usize::from(
                    !found.is_empty() && ways.iter().all(|way| forbidden(&steps, &[], way)),
                );
                for way in &ways {
                    assert!(forbidden(&steps, &found, way), "{text}: {s} {a}: {way:?} {found:?}");
                }
                assert_eq!(missing(&steps, pair, &found), [], "{text}: {s} {a}: {found:?}");
            }
        }
        assert!(asked > cycles / 10 && in_vain < asked / 10, "{cycles} {asked} {in_vain}");
    }
}
