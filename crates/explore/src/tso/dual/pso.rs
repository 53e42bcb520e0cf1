//! Demands under PSO. No dual view is needed here: with one queue per thread and address, the
//! machine itself is well structured, store buffers and all.
//!
//! A store in a buffer that is followed by another one to the same address can be committed
//! together with that one, and nobody notices. So whatever a state can do, a state can do that has
//! more such stores. A demand says of each buffer and location which values it has to hold, oldest
//! first: a *word*, to be found in what is there by leaving out others.
//!
//! * A word is *closed* if nothing may come after it. Then what is left out has another store to
//!   the same location behind it. An empty closed word means that nothing is there.
//! * An *open* word may be followed by anything, which then need not ever be committed.
//!
//! Going back in time, a commit takes the pin off its location and adds to the old end of a word;
//! issuing a store takes off the new end, and before that anything may have been there (open), or it
//! takes off nothing where the word is open. A load from memory pins, and needs an empty closed
//! word; one from the buffer closes the word behind its value. If that value is not in the word, it
//! is never committed, and added as one that *floats*.
//!
//! When a load read memory is not fixed at once. Its item is added to the *reads* of its thread, oldest
//! first: values that memory holds at times up to now, in this order. From the other end they are
//! *settled*: memory holds them now. That is put off until a write to their location is taken back,
//! or the thread commits to that location, or needs an empty buffer, or the run has come to its
//! start. While a read of a location is not settled, nothing is in the thread's buffer for it.
//!
//! Store-store fences cut a buffer into *segments*, of which only the oldest commits. What is in
//! the older ones has to go before what is wanted of the last, so nothing may be there that is not
//! asked for: their words are all closed, and those that are not named are empty. In the last one
//! words that are not named are open and empty. What comes behind a further fence is "anything";
//! only an item that floats may be there. Where a store was issued that is not there, there was no
//! further fence yet (*unfenced*).
//!
//! Words over finitely many values with the same last letter are well-quasi-ordered (Higman), and so
//! are buffers of a bounded number of segments. Where store-store fences are in loops without
//! anything that drains the buffer, there is no such bound, and the search may not end.

use super::buffer::{Buffer, Segment, Word, is_found_in, takes_weaker_buffer};
use super::facts::{ANY, Facts};
use super::graph::{Drains, Graphs, Item, Label};
use super::search::{Back, Demanded, Source};

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PsoDemand {
    locals: Vec<u32>,
    /// Sorted; at most one per location.
    pins: Vec<Item>,
    pub(super) buffers: Vec<Buffer>,
    /// Per thread, oldest first.
    reads: Vec<Vec<Item>>,
}

impl PsoDemand {
    /// The same, but for thread `t`: its buffer, and where it is.
    fn with(&self, facts: &Facts, t: usize, from: u32, mut buffer: Buffer) -> PsoDemand {
        buffer.tidy(facts, t, from);
        let mut demand = self.clone();
        demand.buffers[t] = buffer;
        demand.locals[t] = from;
        demand
    }

    /// Drops reads that memory serves now.
    fn settle(&mut self) {
        for reads in &mut self.reads {
            while reads.last().is_some_and(|newest| self.pins.contains(newest)) {
                reads.pop();
            }
        }
    }

    /// Settles the newest read of thread `t`, and pins it. `None` if that cannot be.
    fn settle_one(&mut self, graphs: &Graphs<'_>, t: usize) -> Option<Item> {
        let newest = *self.reads[t].last()?;
        self.pin(graphs, newest).then(|| self.reads[t].pop())?
    }

    /// Settles all reads of thread `t` of this location, or all at all; false if that cannot be.
    fn settle_all(&mut self, graphs: &Graphs<'_>, t: usize, loc: Option<u32>) -> bool {
        while self.reads[t].iter().any(|&r| loc.is_none_or(|loc| graphs.loc(r) == loc)) {
            if self.settle_one(graphs, t).is_none() {
                return false;
            }
        }
        true
    }

    /// Calls `found` with every way to settle reads (from thread `t` on) such that the last one
    /// settled of each thread is in `written`.
    fn settle_some(
        self,
        graphs: &Graphs<'_>,
        t: usize,
        written: &[Item],
        found: &mut dyn FnMut(PsoDemand),
    ) {
        if t == self.reads.len() {
            return found(self);
        }
        let mut deeper = None;
        if self.reads[t].iter().any(|r| written.contains(r)) {
            let mut demand = self.clone();
            while let Some(item) = demand.settle_one(graphs, t) {
                if written.contains(&item) {
                    demand.settle();
                    deeper = Some(demand);
                    break;
                }
            }
        }
        self.settle_some(graphs, t + 1, written, found);
        if let Some(demand) = deeper {
            demand.settle_some(graphs, t, written, found);
        }
    }

    fn before_arc(
        &self,
        graphs: &Graphs<'_>,
        facts: &Facts,
        a: u32,
        found: &mut Vec<(Self, Back)>,
    ) {
        let arc = graphs.arcs[a as usize];
        let (t, from) = (arc.thread as usize, arc.from);
        let buffer = &self.buffers[t];
        let by = |source| Back::Arc(a, source);
        match arc.label {
            Label::Silent => {}
            Label::Load(item) => buffer.before_load(graphs, item, |buffer, source| {
                let mut demand = self.with(facts, t, from, buffer);
                if source == Source::Memory && demand.reads[t].first() != Some(&item) {
                    demand.reads[t].insert(0, item);
                    demand.settle();
                }
                found.push((demand, by(source)));
            }),
            Label::Store(item) => {
                if let Some(buffer) = buffer.before_store(graphs, item) {
                    found.push((self.with(facts, t, from, buffer), by(Source::Memory)));
                }
            }
            Label::Barrier => buffer.before_barrier(facts, (t, from), |buffer| {
                found.push((self.with(facts, t, from, buffer), by(Source::Memory)));
            }),
            Label::Atomic(i) => {
                let atomic = &graphs.atomics[i as usize];
                let Some(buffer) = buffer.before_drain(facts, (t, from), atomic.drains) else {
                    return;
                };
                let mut demand = self.with(facts, t, from, buffer);
                let fits = atomic.writes.iter().all(|&w| demand.pin(graphs, w));
                if !fits || !demand.settle_all(graphs, t, None) {
                    return;
                }
                demand.settle();
                demand.settle_some(graphs, 0, &atomic.writes, &mut |mut demand| {
                    demand.pins.retain(|p| !atomic.writes.contains(p));
                    if atomic.reads.iter().all(|&r| demand.pin(graphs, r)) {
                        demand.settle();
                        found.push((demand, by(Source::Memory)));
                    }
                });
            }
        }
    }

    fn before_commits(
        &self,
        graphs: &Graphs<'_>,
        facts: &Facts,
        t: usize,
        found: &mut Vec<(Self, Back)>,
    ) {
        for item in 0..graphs.items.len() as Item {
            let loc = graphs.loc(item);
            if !facts.can_be_buffered(t, self.locals[t], item) {
                continue;
            }
            let mut after = self.clone();
            if !after.settle_all(graphs, t, Some(loc)) {
                continue;
            }
            let wanted = after.is_wanted(item);
            if !after.pin(graphs, item) {
                continue;
            }
            after.settle();
            let how = (wanted, facts.has_barriers(t));
            self.buffers[t].before_commit(graphs, item, how, |buffer| {
                after.clone().settle_some(graphs, 0, &[item], &mut |mut demand| {
                    demand.pins.retain(|&p| p != item);
                    demand.buffers[t] = buffer.clone();
                    demand.settle();
                    found.push((demand, Back::Commit(t as u32, item)));
                });
            });
        }
    }

    /// Whether memory has to hold `item` now, or had to earlier.
    fn is_wanted(&self, item: Item) -> bool {
        self.pins.contains(&item) || self.reads.iter().any(|r| r.contains(&item))
    }

    /// The writes of a thread in any local state that could give what is wanted.
    fn useful_writes(&self, graphs: &Graphs<'_>, t: usize) -> Vec<u32> {
        let useful = |label: Label| match label {
            Label::Silent | Label::Load(_) | Label::Barrier => false,
            Label::Store(item) => {
                self.buffers[t].last().items(graphs.loc(item)).last() == Some(&item)
            }
            Label::Atomic(a) => {
                graphs.atomics[a as usize].writes.iter().any(|&w| self.is_wanted(w))
            }
        };
        let arcs = graphs.arcs.iter().enumerate();
        let useful = arcs.filter(|(_, arc)| arc.thread as usize == t && useful(arc.label));
        useful.map(|(a, _)| a as u32).collect()
    }

    /// Whether thread `t` has to take loads next that can be taken at once, or stores that are asked
    /// for. A load has to wait if it might return a store that was committed since: its word says
    /// that nothing is there, but a commit may have to be taken back first.
    fn is_next(&self, graphs: &Graphs<'_>, facts: &mut Facts, t: usize) -> bool {
        if self.locals[t] == ANY {
            return false;
        }
        let ways = facts.ways(graphs, t, self.locals[t]);
        let last = self.buffers[t].last();
        !ways.initial
            && ways.arcs.iter().all(|&a| {
                let arc = &graphs.arcs[a as usize];
                match arc.label {
                    Label::Load(item) => {
                        let loc = graphs.loc(item);
                        let named = |s: &Segment| !s.items(loc).is_empty();
                        self.buffers[t].segments.iter().any(named)
                            || !last.is_closed(loc)
                            || !facts.can_be_buffered_at(t, arc.from, loc)
                    }
                    Label::Store(item) => last.items(graphs.loc(item)).last() == Some(&item),
                    Label::Silent | Label::Barrier | Label::Atomic(_) => false,
                }
            })
    }

    /// Whether memory can hold `item`: the last write to a location is the newest store of whoever
    /// made it, or the newer ones are in the buffer.
    fn can_hold(&self, graphs: &Graphs<'_>, facts: &Facts, item: Item) -> bool {
        let loc = graphs.loc(item);
        let may_wait = |t: usize| {
            let buffer = &self.buffers[t];
            let empty = buffer.segments.iter().all(|s| s.items(loc).is_empty())
                && buffer.last().is_closed(loc);
            !empty && facts.can_be_buffered_at(t, self.locals[t], loc)
        };
        let threads = || self.locals.iter().copied().enumerate();
        threads().any(|(t, q)| match may_wait(t) {
            true => facts.can_be_stored(t, q, item),
            false => facts.can_be_newest(t, q, item),
        }) || graphs.is_initial(item)
            && threads().all(|(t, q)| facts.can_be_untouched(t, q, loc) || may_wait(t))
    }
}

impl Demanded for PsoDemand {
    fn anything(graphs: &Graphs<'_>) -> PsoDemand {
        let n = graphs.threads.len();
        PsoDemand {
            locals: vec![ANY; n],
            pins: Vec::new(),
            buffers: vec![Buffer::new(); n],
            reads: vec![Vec::new(); n],
        }
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

    fn drain(&mut self, facts: &Facts, t: usize, drains: Drains) {
        let at = (t, self.locals[t]);
        if let Some(mut buffer) = self.buffers[t].before_drain(facts, at, drains) {
            buffer.tidy(facts, t, at.1);
            self.buffers[t] = buffer;
        }
    }

    fn before(&self, graphs: &Graphs<'_>, facts: &mut Facts, found: &mut Vec<(Self, Back)>) {
        // What a thread has to do and what asks for nothing that other steps could change can be
        // the next step backwards, and nothing else has to be tried.
        let only = (0..self.locals.len()).find(|&t| self.is_next(graphs, facts, t));
        for t in only.map_or(0..self.locals.len(), |t| t..t + 1) {
            let arcs = match self.locals[t] {
                ANY => self.useful_writes(graphs, t),
                local => facts.ways(graphs, t, local).arcs.clone(),
            };
            for arc in arcs {
                self.before_arc(graphs, facts, arc, found);
            }
            if only.is_none() {
                self.before_commits(graphs, facts, t, found);
            }
        }
    }

    fn is_plausible(&self, graphs: &Graphs<'_>, facts: &Facts) -> bool {
        let buffers = || self.buffers.iter().zip(&self.locals).enumerate();
        let held = |&item: &Item| {
            let mut threads = self.locals.iter().enumerate();
            graphs.is_initial(item) || threads.any(|(t, &q)| facts.can_be_stored(t, q, item))
        };
        self.pins.iter().all(|&item| self.can_hold(graphs, facts, item))
            && self.reads.iter().flatten().all(held)
            && buffers().all(|(t, (buffer, &local))| {
                let words = || buffer.segments.iter().flat_map(|s| &s.0);
                let newest = |w: &Word| {
                    !w.closed || w.items.last().is_none_or(|&i| facts.can_be_newest(t, local, i))
                };
                buffer.segments.len() as u32 <= facts.barriers(t, local).saturating_add(1)
                    && words().flat_map(|w| &w.items).all(|&i| facts.can_be_buffered(t, local, i))
                    && buffer.last().0.iter().all(newest)
            })
    }

    fn initial_memory(&self, graphs: &Graphs<'_>) -> Option<Vec<Item>> {
        let mut demand = self.clone();
        let fits = self.buffers.iter().all(Buffer::allows_empty)
            && (0..self.reads.len()).all(|t| demand.settle_all(graphs, t, None))
            && demand.pins.iter().all(|&item| graphs.is_initial(item));
        fits.then_some(demand.pins)
    }

    fn pack(&self, words: &mut Vec<u32>) {
        words.push(self.pins.len() as u32);
        words.extend_from_slice(&self.pins);
        for (buffer, reads) in self.buffers.iter().zip(&self.reads) {
            buffer.pack(words);
            words.push(reads.len() as u32);
            words.extend_from_slice(reads);
        }
    }

    fn unpack(locals: &[u32], mut words: &[u32]) -> PsoDemand {
        let pins = words[1..=words[0] as usize].to_vec();
        words = &words[1 + pins.len()..];
        let (mut buffers, mut reads) = (Vec::new(), Vec::new());
        for _ in locals {
            buffers.push(Buffer::unpack(&mut words));
            reads.push(take_reads(&mut words).to_vec());
        }
        PsoDemand { locals: locals.to_vec(), pins, buffers, reads }
    }

    fn is_weaker(mut a: &[u32], mut b: &[u32]) -> bool {
        let (mine, theirs) = (&a[1..=a[0] as usize], &b[1..=b[0] as usize]);
        if !mine.iter().all(|p| theirs.contains(p)) {
            return false;
        }
        (a, b) = (&a[1 + mine.len()..], &b[1 + theirs.len()..]);
        while !a.is_empty() {
            if !takes_weaker_buffer(&mut a, &mut b) {
                return false;
            }
            if !is_found_in(take_reads(&mut a), take_reads(&mut b)) {
                return false;
            }
        }
        true
    }

    fn strength(&self) -> u32 {
        let words = self.buffers.iter().flat_map(|b| &b.segments).flat_map(|s| &s.0);
        let reads: usize = self.reads.iter().map(Vec::len).sum();
        (self.pins.len() + reads + words.map(|w| w.items.len() + 1).sum::<usize>()) as u32
    }

    fn signature(&self) -> u64 {
        let bit = |kind: usize, item: u32| {
            1u64 << ((item as usize * 7 + kind * 11).wrapping_mul(0x9e37_79b9) >> 7 & 63)
        };
        let mut bits = self.pins.iter().fold(0, |b, &i| b | bit(0, i));
        for (t, buffer) in self.buffers.iter().enumerate() {
            for word in buffer.segments.iter().flat_map(|s| &s.0) {
                bits = word.items.iter().fold(bits, |b, &i| b | bit(2 * t + 1, i));
            }
            bits = self.reads[t].iter().fold(bits, |b, &i| b | bit(2 * t + 2, i));
        }
        bits
    }
}

/// Takes reads off the front of packed words.
fn take_reads<'w>(words: &mut &'w [u32]) -> &'w [u32] {
    let (reads, rest) = words[1..].split_at(words[0] as usize);
    *words = rest;
    reads
}
