//! Demands: the upward-closed sets of dual configurations that the backward search works with,
//! their ordering, and the steps backwards.
//!
//! In the dual semantics a store writes memory at once, and each thread sees memory as it was at
//! some time in the past, its *view*, which only moves forward: the load buffer of the paper is
//! what memory went through since then. A load of x returns the thread's own newest store to x if
//! that is later than the view, else what x held at the view. A step that needs an empty buffer
//! needs the view to be now.
//!
//! A demand says what must hold so that a goal can still be reached: local states (or any), what
//! memory holds now at some locations (*pins*; the others may hold anything), and per thread what
//! its loads to come have to see:
//!
//! * `reads`, oldest first: items that memory holds at times between the view and now, in this
//!   order. They are the messages of the load buffer that are really read.
//! * `owns`: items that must be the thread's newest store to their location and later than the
//!   view of a load that reads it from there. `(item, k)` stands after the `k` oldest reads: the
//!   store is later than the times of these.
//!
//! Going back in time, a load adds to the old end of `reads` or to `owns`; a store takes the pin
//! off its location, fulfils an own and must find no read of its location, because a view from
//! before a thread's own store does not reach past it; at the new end of `reads`, an item that
//! memory holds now is fulfilled (*settled*) and goes. To settle an item that is not pinned pins
//! it. That is put off until a write to its location is taken back, or the thread needs an empty
//! buffer, or the run has come to its start: before that it would only restrict.
//!
//! A demand with less in it is met by more configurations. Demands over finitely many local
//! states and items are well-quasi-ordered by this (words by embedding: Higman), and whatever
//! leads from a demand to the initial states leads there from a smaller one in as many steps or
//! fewer.

use super::facts::{ANY, Facts};
use super::graph::{Drains, Graphs, Item, Label};
use super::search::{Back, Demanded, Source};

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Demand {
    pub(crate) locals: Vec<u32>,
    /// Sorted; at most one per location.
    pub(crate) pins: Vec<Item>,
    pub(crate) wants: Vec<Wants>,
}

/// What the loads of one thread that are still to come have to see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wants {
    /// Oldest first.
    pub(crate) reads: Vec<Item>,
    /// Sorted; at most one per location.
    pub(crate) owns: Vec<(Item, u32)>,
}

impl Wants {
    /// A load that returns `item` from memory is taken back.
    fn reads(&mut self, item: Item) {
        if self.reads.first() == Some(&item) {
            // Seen at the same time as by the load that comes after it.
            self.owns.iter_mut().filter(|o| o.1 == 0).for_each(|o| o.1 = 1);
        } else {
            self.reads.insert(0, item);
            self.owns.iter_mut().for_each(|o| o.1 += 1);
        }
    }

    fn own_at(&self, graphs: &Graphs<'_>, loc: u32) -> Option<Item> {
        self.owns.iter().map(|o| o.0).find(|&i| graphs.loc(i) == loc)
    }

    /// Whether the newest read may be settled before any own is fulfilled.
    fn is_open(&self) -> bool {
        self.owns.iter().all(|o| (o.1 as usize) < self.reads.len())
    }

    /// A load that returns `item` is taken back: what is wanted before it. A load returns its
    /// thread's own store, or what memory held.
    pub(crate) fn before_load(
        &self,
        graphs: &Graphs<'_>,
        item: Item,
        can_be_pending: bool,
        mut found: impl FnMut(Wants, Source),
    ) {
        match self.own_at(graphs, graphs.loc(item)) {
            Some(own) if own == item => found(self.clone(), Source::Own),
            Some(_) => {}
            None => {
                let mut wants = self.clone();
                wants.reads(item);
                found(wants, Source::Memory);
                if can_be_pending {
                    let mut wants = self.clone();
                    wants.owns.push((item, 0));
                    wants.owns.sort_unstable();
                    found(wants, Source::Own);
                }
            }
        }
    }

    /// Whether a store of `item` can be taken back now.
    pub(crate) fn allows_store(&self, graphs: &Graphs<'_>, item: Item) -> bool {
        let loc = graphs.loc(item);
        self.own_at(graphs, loc).is_none_or(|own| own == item)
            && self.reads.iter().all(|&r| graphs.loc(r) != loc)
    }

    pub(crate) fn fulfil(&mut self, item: Item) {
        self.owns.retain(|o| o.0 != item);
    }

    /// Appends the wants as words: two lengths, the reads, the owns.
    pub(crate) fn pack(&self, words: &mut Vec<u32>) {
        words.extend([self.reads.len() as u32, self.owns.len() as u32]);
        words.extend_from_slice(&self.reads);
        words.extend(self.owns.iter().flat_map(|&(item, k)| [item, k]));
    }

    /// Takes wants off the front of `words`.
    pub(crate) fn unpack(words: &mut &[u32]) -> Wants {
        let (reads, owns) = split_wants(words);
        let owns = owns.chunks_exact(2).map(|o| (o[0], o[1])).collect();
        Wants { reads: reads.to_vec(), owns }
    }
}

/// The reads and the owns of the wants at the front of `words`, which are taken off.
fn split_wants<'w>(words: &mut &'w [u32]) -> (&'w [u32], &'w [u32]) {
    let (reads, owns) = (words[0] as usize, 2 * words[1] as usize);
    let parts = (&words[2..2 + reads], &words[2 + reads..2 + reads + owns]);
    *words = &words[2 + reads + owns..];
    parts
}

/// Whether the packed wants at the front of `a` ask for no more than those at the front of `b`;
/// takes both off.
pub(crate) fn takes_weaker_wants(a: &mut &[u32], b: &mut &[u32]) -> bool {
    let (reads, owns) = split_wants(a);
    let (other_reads, other_owns) = split_wants(b);
    if reads.len() > other_reads.len() || owns.len() > other_owns.len() {
        return false;
    }
    // Each read is found as early as possible, which is best for the owns, too.
    let mut at = 0;
    for i in 0..=reads.len() {
        let fits =
            |own: &[u32]| other_owns.chunks_exact(2).any(|o| o[0] == own[0] && o[1] as usize >= at);
        if !owns.chunks_exact(2).filter(|o| o[1] as usize == i).all(fits) {
            return false;
        }
        if let Some(read) = reads.get(i) {
            match other_reads[at..].iter().position(|r| r == read) {
                Some(offset) => at += offset + 1,
                None => return false,
            }
        }
    }
    true
}

impl Demand {
    /// Drops what is wanted but given already: new reads that memory holds now.
    pub(crate) fn settle(&mut self) {
        for wants in &mut self.wants {
            while let Some(newest) = wants.reads.last()
                && self.pins.contains(newest)
                && wants.is_open()
            {
                wants.reads.pop();
            }
        }
    }

    /// Settles the newest read of thread `t`, and pins it. `None` if that cannot be.
    fn settle_one(&mut self, graphs: &Graphs<'_>, t: usize) -> Option<Item> {
        let newest = *self.wants[t].reads.last()?;
        if !self.wants[t].is_open() || !self.pin(graphs, newest) {
            return None;
        }
        self.wants[t].reads.pop();
        Some(newest)
    }

    /// Calls `found` with every way to settle reads of other threads than `writer` (from thread
    /// `t` on) such that the last one settled is in `written`.
    fn settle_some(
        self,
        graphs: &Graphs<'_>,
        writer: usize,
        t: usize,
        written: &[Item],
        found: &mut dyn FnMut(Demand),
    ) {
        if t == self.wants.len() {
            return found(self);
        }
        let mut deeper = None;
        if t != writer && self.wants[t].reads.iter().any(|r| written.contains(r)) {
            let mut demand = self.clone();
            while let Some(item) = demand.settle_one(graphs, t) {
                if written.contains(&item) {
                    demand.settle();
                    deeper = Some(demand);
                    break;
                }
            }
        }
        self.settle_some(graphs, writer, t + 1, written, found);
        if let Some(demand) = deeper {
            demand.settle_some(graphs, writer, t, written, found);
        }
    }

    /// A store of `item` by thread `t` from local state `from` is taken back.
    pub(crate) fn before_store(
        &self,
        graphs: &Graphs<'_>,
        t: usize,
        from: u32,
        item: Item,
        found: &mut dyn FnMut(Demand),
    ) {
        let loc = graphs.loc(item);
        let mut after = self.clone();
        if !after.pin(graphs, item) {
            return;
        }
        after.settle();
        while after.wants[t].reads.iter().any(|&r| graphs.loc(r) == loc) {
            if after.settle_one(graphs, t).is_none() {
                return;
            }
        }
        if !after.wants[t].allows_store(graphs, item) {
            return;
        }
        after.settle();
        after.settle_some(graphs, t, 0, &[item], &mut |mut demand| {
            demand.pins.retain(|&p| p != item);
            demand.wants[t].fulfil(item);
            demand.locals[t] = from;
            demand.settle();
            found(demand);
        });
    }

    /// An access of thread `t` to memory itself is taken back.
    pub(crate) fn before_atomic(
        &self,
        graphs: &Graphs<'_>,
        t: usize,
        from: u32,
        (reads, writes): (&[Item], &[Item]),
        found: &mut dyn FnMut(Demand),
    ) {
        if !self.wants[t].owns.is_empty() {
            return;
        }
        let mut after = self.clone();
        if !writes.iter().all(|&w| after.pin(graphs, w)) {
            return;
        }
        while !after.wants[t].reads.is_empty() {
            if after.settle_one(graphs, t).is_none() {
                return;
            }
        }
        after.settle();
        after.settle_some(graphs, t, 0, writes, &mut |mut demand| {
            demand.pins.retain(|p| !writes.contains(p));
            if reads.iter().all(|&r| demand.pin(graphs, r)) {
                demand.locals[t] = from;
                demand.settle();
                found(demand);
            }
        });
    }

    /// What comes before a step along an arc.
    fn before_arc(
        &self,
        graphs: &Graphs<'_>,
        facts: &Facts,
        a: u32,
        found: &mut Vec<(Demand, Back)>,
    ) {
        let step = graphs.arcs[a as usize];
        let (t, from) = (step.thread as usize, step.from);
        match step.label {
            Label::Silent | Label::Barrier => {}
            Label::Load(item) => {
                let pending = facts.can_be_pending(t, from, item);
                self.wants[t].before_load(graphs, item, pending, |wants, source| {
                    let mut demand = self.clone();
                    demand.wants[t] = wants;
                    demand.locals[t] = from;
                    demand.settle();
                    found.push((demand, Back::Arc(a, source)));
                });
            }
            Label::Store(item) => {
                self.before_store(graphs, t, from, item, &mut |d| {
                    found.push((d, Back::Arc(a, Source::Memory)));
                });
            }
            Label::Atomic(at) => {
                let atomic = &graphs.atomics[at as usize];
                let effects = (&atomic.reads[..], &atomic.writes[..]);
                self.before_atomic(graphs, t, from, effects, &mut |d| {
                    found.push((d, Back::Arc(a, Source::Memory)));
                });
            }
        }
    }

    /// Whether memory has to hold `item` now, or had to earlier.
    pub(crate) fn is_wanted(&self, item: Item) -> bool {
        self.pins.contains(&item) || self.wants.iter().any(|w| w.reads.contains(&item))
    }

    /// The writes of a thread in any local state that could give what is wanted.
    fn useful_writes(&self, graphs: &Graphs<'_>, t: usize) -> Vec<u32> {
        let wanted = |item: &Item| self.is_wanted(*item);
        let useful = |label: Label| match label {
            Label::Silent | Label::Load(_) | Label::Barrier => false,
            Label::Store(item) => wanted(&item),
            Label::Atomic(a) => graphs.atomics[a as usize].writes.iter().any(wanted),
        };
        let arcs = graphs.arcs.iter().enumerate();
        let useful = arcs.filter(|(_, arc)| arc.thread as usize == t && useful(arc.label));
        useful.map(|(a, _)| a as u32).collect()
    }
}

impl Demanded for Demand {
    fn anything(graphs: &Graphs<'_>) -> Demand {
        let n = graphs.threads.len();
        Demand { locals: vec![ANY; n], pins: Vec::new(), wants: vec![Wants::default(); n] }
    }

    fn locals(&self) -> &[u32] {
        &self.locals
    }

    fn place(&mut self, t: usize, local: u32) {
        self.locals[t] = local;
    }

    fn pins(&mut self) -> &mut Vec<Item> {
        &mut self.pins
    }

    /// A store is taken when it reaches memory: there are no store buffers.
    fn drain(&mut self, _: &Facts, _: usize, _: Drains) {}

    fn before(&self, graphs: &Graphs<'_>, facts: &mut Facts, found: &mut Vec<(Demand, Back)>) {
        // If a thread has to take a load, that can be the next step backwards: it changes nothing
        // but what this thread wants, and asks for nothing that other steps could change.
        let only = (0..self.locals.len()).find(|&t| {
            let local = self.locals[t];
            local != ANY && facts.ways(graphs, t, local).loads_only
        });
        for t in only.map_or(0..self.locals.len(), |t| t..t + 1) {
            let arcs = match self.locals[t] {
                ANY => self.useful_writes(graphs, t),
                local => facts.ways(graphs, t, local).arcs.clone(),
            };
            for arc in arcs {
                self.before_arc(graphs, facts, arc, found);
            }
        }
    }

    fn is_plausible(&self, graphs: &Graphs<'_>, facts: &Facts) -> bool {
        self.pins.iter().all(|&item| facts.can_hold(graphs, &self.locals, item))
            && self.wants.iter().zip(&self.locals).enumerate().all(|(t, (wants, &local))| {
                wants.owns.iter().all(|o| facts.can_be_pending(t, local, o.0))
                    && wants
                        .reads
                        .iter()
                        .all(|&item| facts.can_have_held(graphs, &self.locals, item))
            })
    }

    fn pack(&self, words: &mut Vec<u32>) {
        words.push(self.pins.len() as u32);
        words.extend_from_slice(&self.pins);
        self.wants.iter().for_each(|w| w.pack(words));
    }

    fn unpack(locals: &[u32], mut words: &[u32]) -> Demand {
        let pins = words[1..=words[0] as usize].to_vec();
        words = &words[1 + pins.len()..];
        let wants = locals.iter().map(|_| Wants::unpack(&mut words)).collect();
        Demand { locals: locals.to_vec(), pins, wants }
    }

    fn strength(&self) -> u32 {
        let wants = self.wants.iter().map(|w| w.reads.len() + w.owns.len());
        (self.pins.len() + wants.sum::<usize>()) as u32
    }

    fn signature(&self) -> u64 {
        let bit = |kind: usize, item: Item| {
            1u64 << ((item as usize * 7 + kind * 11).wrapping_mul(0x9e37_79b9) >> 7 & 63)
        };
        let mut bits = self.pins.iter().fold(0, |b, &i| b | bit(0, i));
        for (t, wants) in self.wants.iter().enumerate() {
            bits = wants.reads.iter().fold(bits, |b, &i| b | bit(2 * t + 1, i));
            bits = wants.owns.iter().fold(bits, |b, o| b | bit(2 * t + 2, o.0));
        }
        bits
    }

    fn initial_memory(&self, graphs: &Graphs<'_>) -> Option<Vec<Item>> {
        if self.wants.iter().any(|w| !w.owns.is_empty()) {
            return None;
        }
        let mut demand = self.clone();
        for t in 0..self.wants.len() {
            while !demand.wants[t].reads.is_empty() {
                demand.settle_one(graphs, t)?;
            }
        }
        demand.pins.iter().all(|&item| graphs.is_initial(item)).then_some(demand.pins)
    }

    fn is_weaker(mut a: &[u32], mut b: &[u32]) -> bool {
        let (mine, theirs) = (&a[1..=a[0] as usize], &b[1..=b[0] as usize]);
        if !mine.iter().all(|p| theirs.contains(p)) {
            return false;
        }
        (a, b) = (&a[1 + mine.len()..], &b[1 + theirs.len()..]);
        while !a.is_empty() {
            if !takes_weaker_wants(&mut a, &mut b) {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{Demand, Demanded, Wants};

    fn demand(pins: &[u32], reads: &[u32], owns: &[(u32, u32)]) -> Vec<u32> {
        let wants = Wants { reads: reads.to_vec(), owns: owns.to_vec() };
        let demand = Demand { locals: vec![0], pins: pins.to_vec(), wants: vec![wants] };
        let mut words = Vec::new();
        demand.pack(&mut words);
        assert_eq!(Demand::unpack(&[0], &words), demand);
        words
    }

    fn check(a: &[u32], b: &[u32], expected: (bool, bool)) {
        assert_eq!((Demand::is_weaker(a, b), Demand::is_weaker(b, a)), expected);
    }

    #[test]
    fn fewer_pins_and_fewer_reads_are_weaker() {
        check(&demand(&[1], &[], &[]), &demand(&[1, 2], &[], &[]), (true, false));
        check(&demand(&[1], &[], &[]), &demand(&[2], &[], &[]), (false, false));
        check(&demand(&[], &[1, 3], &[]), &demand(&[], &[1, 2, 3], &[]), (true, false));
        check(&demand(&[], &[1, 2], &[]), &demand(&[], &[2, 1], &[]), (false, false));
        check(&demand(&[], &[1], &[]), &demand(&[1], &[], &[]), (false, false));
    }

    #[test]
    fn an_own_that_may_be_older_is_weaker() {
        check(&demand(&[], &[1], &[]), &demand(&[], &[1], &[(9, 0)]), (true, false));
        check(&demand(&[], &[1], &[(9, 0)]), &demand(&[], &[1], &[(9, 1)]), (true, false));
        check(&demand(&[], &[1], &[(9, 1)]), &demand(&[], &[1, 2], &[(9, 1)]), (true, false));
        check(&demand(&[], &[2], &[(9, 1)]), &demand(&[], &[1, 2], &[(9, 1)]), (false, false));
        check(&demand(&[], &[2], &[(9, 0)]), &demand(&[], &[1, 2], &[(9, 1)]), (true, false));
        check(&demand(&[], &[], &[(8, 0)]), &demand(&[], &[], &[(9, 0)]), (false, false));
    }
}
