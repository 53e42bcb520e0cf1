//! Demands under PSO: buffers with a queue per address for what is between two store-store fences,
//! and the dual view for all else.
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
//! takes off nothing where the word is open.
//!
//! That is not so any more if a store waits behind a store-store fence for stores to other
//! addresses. So none does: a store-store fence is taken when all before it has been committed. It
//! is the loads behind it that were earlier then, as under TSO. Each thread has a *view*, a time in
//! the past that only moves forward. A load returns the thread's newest store to its location if
//! that is in the buffer, or was committed later than the view; else what memory held at the view.
//! Fences, updates and blocks need the view to be now. What loads to come have to see is in the
//! *wants* of [`demand`](super::demand), where a commit is what a store is there.
//!
//! This reaches the same control points, registers and memories as the machine: take a run of the
//! machine. Let each instruction be taken when all before it is done and, behind a store-store
//! fence, all before that is committed; loads at the view of the time when the machine has them.
//! Commits stay where they are: they come behind the stores, which the machine issues no later, and
//! behind the fences that they waited for. The other way round, loads are moved to their views, all
//! else follows the instruction before it, and commits stay.
//!
//! Stores that are never committed keep fences behind them from being taken. So a fence need not
//! wait if nothing behind it is committed or needs an empty buffer (see [`Buffer`]). Where a load
//! returns a store that is never committed, that is added to the word as one that *floats*: it may be
//! behind such fences.
//!
//! Words over finitely many values with the same last letter are well-quasi-ordered (Higman), and so
//! are wants; so the search ends.

use super::buffer::{Buffer, Word, takes_weaker_buffer};
use super::demand::{Demand, Wants, takes_weaker_wants};
use super::facts::{ANY, Facts};
use super::graph::{Drains, Graphs, Item, Label};
use super::search::{Back, Demanded, Source};

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PsoDemand {
    /// All but the buffers.
    seen: Demand,
    pub(super) buffers: Vec<Buffer>,
}

impl PsoDemand {
    /// With this buffer of thread `t`, which is in `seen` now.
    fn with(&self, facts: &Facts, t: usize, seen: Demand, mut buffer: Buffer) -> PsoDemand {
        buffer.tidy(facts, t, seen.locals[t]);
        let mut buffers = self.buffers.clone();
        buffers[t] = buffer;
        PsoDemand { seen, buffers }
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
        let there = || {
            let mut seen = self.seen.clone();
            seen.locals[t] = from;
            seen
        };
        let by = |source| Back::Arc(a, source);
        match arc.label {
            Label::Silent => {}
            Label::Load(item) => {
                buffer.before_load(graphs, item, |buffer| {
                    found.push((self.with(facts, t, there(), buffer), by(Source::Own)));
                });
                if buffer.items(graphs.loc(item)).is_empty() {
                    self.before_load(graphs, facts, (a, item), found);
                }
            }
            Label::Store(item) => {
                if let Some(buffer) = buffer.before_store(graphs, item) {
                    found.push((self.with(facts, t, there(), buffer), by(Source::Memory)));
                }
            }
            Label::Barrier => {
                if let Some(buffer) = buffer.before_barrier(facts, (t, from)) {
                    found.push((self.with(facts, t, there(), buffer), by(Source::Memory)));
                }
            }
            Label::Atomic(i) => {
                let atomic = &graphs.atomics[i as usize];
                let Some(buffer) = buffer.before_drain(facts, (t, from), atomic.drains) else {
                    return;
                };
                let effects = (&atomic.reads[..], &atomic.writes[..]);
                self.seen.before_atomic(graphs, t, from, effects, &mut |seen| {
                    found.push((self.with(facts, t, seen, buffer.clone()), by(Source::Memory)));
                });
            }
        }
    }

    /// Before a load of `item` along arc `a` that returns what memory held, or a store that has been
    /// committed since: nothing is in the buffer.
    fn before_load(
        &self,
        graphs: &Graphs<'_>,
        facts: &Facts,
        (a, item): (u32, Item),
        found: &mut Vec<(Self, Back)>,
    ) {
        let arc = graphs.arcs[a as usize];
        let (t, from) = (arc.thread as usize, arc.from);
        let buffer = self.buffers[t].closed_at(graphs.loc(item));
        let pending = is_pending(facts, t, from, item);
        self.seen.wants[t].before_load(graphs, item, pending, |wants, source| {
            let mut seen = self.seen.clone();
            seen.locals[t] = from;
            seen.wants[t] = wants;
            seen.settle();
            found.push((self.with(facts, t, seen, buffer.clone()), Back::Arc(a, source)));
        });
    }

    fn before_commits(
        &self,
        graphs: &Graphs<'_>,
        facts: &Facts,
        t: usize,
        found: &mut Vec<(Self, Back)>,
    ) {
        let local = self.seen.locals[t];
        for item in 0..graphs.items.len() as Item {
            if !facts.can_be_buffered(t, local, item) {
                continue;
            }
            let wanted = self.seen.is_wanted(item);
            let Some(buffer) = self.buffers[t].before_commit(graphs, item, wanted) else {
                continue;
            };
            self.seen.before_store(graphs, t, local, item, &mut |seen| {
                let before = self.with(facts, t, seen, buffer.clone());
                found.push((before, Back::Commit(t as u32, item)));
            });
        }
    }

    /// The writes of a thread in any local state that could give what is wanted.
    fn useful_writes(&self, graphs: &Graphs<'_>, t: usize) -> Vec<u32> {
        let useful = |label: Label| match label {
            Label::Silent | Label::Load(_) | Label::Barrier => false,
            Label::Store(item) => self.asks_for(graphs, t, item),
            Label::Atomic(a) => {
                graphs.atomics[a as usize].writes.iter().any(|&w| self.seen.is_wanted(w))
            }
        };
        let arcs = graphs.arcs.iter().enumerate();
        let useful = arcs.filter(|(_, arc)| arc.thread as usize == t && useful(arc.label));
        useful.map(|(a, _)| a as u32).collect()
    }

    /// Whether `item` is to be the newest of its word in the buffer of thread `t`.
    fn asks_for(&self, graphs: &Graphs<'_>, t: usize, item: Item) -> bool {
        self.buffers[t].items(graphs.loc(item)).last() == Some(&item)
    }

    /// Whether thread `t` has to take loads next, or stores that are asked for.
    fn is_next(&self, graphs: &Graphs<'_>, facts: &mut Facts, t: usize) -> bool {
        let local = self.seen.locals[t];
        if local == ANY {
            return false;
        }
        let ways = facts.ways(graphs, t, local);
        !ways.initial
            && ways.arcs.iter().all(|&a| match graphs.arcs[a as usize].label {
                Label::Load(_) => true,
                Label::Store(item) => self.asks_for(graphs, t, item),
                Label::Silent | Label::Barrier | Label::Atomic(_) => false,
            })
    }

    /// Whether memory can hold `item`: the last write to a location is the newest store of whoever
    /// made it, or the newer ones are in the buffer.
    fn can_hold(&self, graphs: &Graphs<'_>, facts: &Facts, item: Item) -> bool {
        let loc = graphs.loc(item);
        let locals = &self.seen.locals;
        let may_wait = |t: usize| {
            let buffer = &self.buffers[t];
            let empty = buffer.items(loc).is_empty() && buffer.is_closed(loc);
            !empty && facts.can_be_buffered_at(t, locals[t], loc)
        };
        let threads = || locals.iter().copied().enumerate();
        threads().any(|(t, q)| match may_wait(t) {
            true => facts.can_be_stored(t, q, item),
            false => facts.can_be_newest(t, q, item),
        }) || graphs.is_initial(item)
            && threads().all(|(t, q)| facts.can_be_untouched(t, q, loc) || may_wait(t))
    }
}

/// Whether thread `t` can have `item` in its buffer, with no newer store to its location.
fn is_pending(facts: &Facts, t: usize, local: u32, item: Item) -> bool {
    facts.can_be_buffered(t, local, item) && facts.can_be_newest(t, local, item)
}

impl Demanded for PsoDemand {
    fn anything(graphs: &Graphs<'_>) -> PsoDemand {
        let buffers = vec![Buffer::new(); graphs.threads.len()];
        PsoDemand { seen: Demand::anything(graphs), buffers }
    }

    fn locals(&self) -> &[u32] {
        &self.seen.locals
    }

    fn place(&mut self, t: usize, local: u32) {
        self.seen.place(t, local);
    }

    fn pins(&mut self) -> &mut Vec<Item> {
        &mut self.seen.pins
    }

    fn drain(&mut self, facts: &Facts, t: usize, drains: Drains) {
        let at = (t, self.seen.locals[t]);
        if let Some(mut buffer) = self.buffers[t].before_drain(facts, at, drains) {
            buffer.tidy(facts, t, at.1);
            self.buffers[t] = buffer;
        }
    }

    fn before(&self, graphs: &Graphs<'_>, facts: &mut Facts, found: &mut Vec<(Self, Back)>) {
        // A load that a thread has to take can be the next step backwards, and nothing else has to
        // be tried: at a later time it still has its view. The same goes for a store that stays in the
        // buffer.
        let n = self.buffers.len();
        let only = (0..n).find(|&t| self.is_next(graphs, facts, t));
        for t in only.map_or(0..n, |t| t..t + 1) {
            let arcs = match self.seen.locals[t] {
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
        let Demand { locals, pins, wants } = &self.seen;
        let threads = || self.buffers.iter().zip(locals).enumerate();
        pins.iter().all(|&item| self.can_hold(graphs, facts, item))
            && wants.iter().zip(locals).enumerate().all(|(t, (wants, &local))| {
                wants.owns.iter().all(|o| is_pending(facts, t, local, o.0))
                    && wants.reads.iter().all(|&r| facts.can_have_held(graphs, locals, r))
            })
            && threads().all(|(t, (buffer, &local))| {
                let newest = |w: &Word| {
                    !w.closed || w.items.last().is_none_or(|&i| facts.can_be_newest(t, local, i))
                };
                let items = || buffer.words.iter().flat_map(|w| &w.items);
                items().all(|&i| facts.can_be_buffered(t, local, i))
                    && buffer.words.iter().all(newest)
            })
    }

    fn initial_memory(&self, graphs: &Graphs<'_>) -> Option<Vec<Item>> {
        let fits = self.buffers.iter().all(Buffer::allows_empty);
        fits.then(|| self.seen.initial_memory(graphs))?
    }

    fn pack(&self, words: &mut Vec<u32>) {
        words.push(self.seen.pins.len() as u32);
        words.extend_from_slice(&self.seen.pins);
        for (buffer, wants) in self.buffers.iter().zip(&self.seen.wants) {
            buffer.pack(words);
            wants.pack(words);
        }
    }

    fn unpack(locals: &[u32], mut words: &[u32]) -> PsoDemand {
        let pins = words[1..=words[0] as usize].to_vec();
        words = &words[1 + pins.len()..];
        let (mut buffers, mut wants) = (Vec::new(), Vec::new());
        for _ in locals {
            buffers.push(Buffer::unpack(&mut words));
            wants.push(Wants::unpack(&mut words));
        }
        PsoDemand { seen: Demand { locals: locals.to_vec(), pins, wants }, buffers }
    }

    fn is_weaker(mut a: &[u32], mut b: &[u32]) -> bool {
        let (mine, theirs) = (&a[1..=a[0] as usize], &b[1..=b[0] as usize]);
        if !mine.iter().all(|p| theirs.contains(p)) {
            return false;
        }
        (a, b) = (&a[1 + mine.len()..], &b[1 + theirs.len()..]);
        while !a.is_empty() {
            if !takes_weaker_buffer(&mut a, &mut b) || !takes_weaker_wants(&mut a, &mut b) {
                return false;
            }
        }
        true
    }

    fn strength(&self) -> u32 {
        let words = self.buffers.iter().flat_map(|b| &b.words);
        self.seen.strength() + words.map(|w| w.items.len() as u32 + 1).sum::<u32>()
    }

    fn signature(&self) -> u64 {
        let bit = |kind: usize, item: u32| {
            1u64 << ((item as usize * 7 + kind * 11).wrapping_mul(0x9e37_79b9) >> 7 & 63)
        };
        let mut bits = self.seen.signature();
        for (t, buffer) in self.buffers.iter().enumerate() {
            let items = buffer.words.iter().flat_map(|w| &w.items);
            bits = items.fold(bits, |b, &i| b | bit(3 * t + 100, i));
        }
        bits
    }
}
