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
}

/// What a store buffer has to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Buffer {
    /// Oldest first, at least one.
    pub(super) segments: Vec<Segment>,
    /// No store-store fence comes behind the last one.
    unfenced: bool,
}

/// The words between two store-store fences, sorted by location.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Segment(Vec<Word>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Word {
    loc: u32,
    closed: bool,
    /// The last item is never committed, and may be behind further fences.
    floats: bool,
    items: Vec<Item>,
}

impl Segment {
    fn at(&self, loc: u32) -> Option<&Word> {
        self.0.iter().find(|w| w.loc == loc)
    }

    /// The values at a location.
    pub(super) fn items(&self, loc: u32) -> &[Item] {
        self.at(loc).map_or(&[], |w| &w.items)
    }

    /// Whether nothing follows these, if this is the last segment.
    pub(super) fn is_closed(&self, loc: u32) -> bool {
        self.at(loc).is_some_and(|w| w.closed)
    }

    fn set(&mut self, word: Word) {
        self.0.retain(|w| w.loc != word.loc);
        if word.closed || !word.items.is_empty() {
            let at = self.0.partition_point(|w| w.loc < word.loc);
            self.0.insert(at, word);
        }
    }

    /// The word of a location, to be changed.
    fn word(&self, loc: u32) -> Word {
        self.at(loc).cloned().unwrap_or(Word {
            loc,
            closed: false,
            floats: false,
            items: Vec::new(),
        })
    }

    /// Nothing follows what is named for a location.
    fn close(&mut self, loc: u32) {
        self.set(Word { closed: true, ..self.word(loc) });
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|w| w.items.is_empty())
    }
}

impl Buffer {
    fn new() -> Buffer {
        Buffer { segments: vec![Segment::default()], unfenced: false }
    }

    fn last(&self) -> &Segment {
        &self.segments[self.segments.len() - 1]
    }

    fn last_mut(&mut self) -> &mut Segment {
        let last = self.segments.len() - 1;
        &mut self.segments[last]
    }

    /// Whether an empty buffer would do. Older segments are never empty.
    fn allows_empty(&self) -> bool {
        self.segments.len() == 1 && self.segments[0].is_empty()
    }

    /// Nothing but what is named is in the buffer of thread `t`, now in local state `local`.
    fn close(&mut self, facts: &Facts, t: usize, local: u32) {
        let last = self.last_mut();
        last.0.iter_mut().for_each(|word| word.closed = true);
        for loc in facts.buffered_at(t, local) {
            last.close(loc);
        }
    }

    /// Leaves out that nothing is where nothing can be.
    fn tidy(&mut self, facts: &Facts, t: usize, local: u32) {
        let needless = |w: &Word| w.items.is_empty() && !facts.can_be_buffered_at(t, local, w.loc);
        self.last_mut().0.retain(|w| !needless(w));
        self.unfenced &= facts.has_barriers(t);
    }

    /// Before a load that returns `item`, from here or from memory.
    fn before_load(&self, graphs: &Graphs<'_>, item: Item, mut found: impl FnMut(Buffer, Source)) {
        let loc = graphs.loc(item);
        let mut word = self.last().word(loc);
        if word.items.last() != Some(&item) && !word.closed {
            word.items.push(item);
            (word.closed, word.floats) = (true, true);
            let mut buffer = self.clone();
            buffer.last_mut().set(word);
            found(buffer, Source::Own);
        }
        let closed = || {
            let mut buffer = self.clone();
            buffer.last_mut().close(loc);
            buffer
        };
        // The newest store to the location that is named, whatever segment it is in.
        let newest = self.segments.iter().rev().find_map(|s| s.items(loc).last());
        match newest {
            Some(&newest) if newest == item => found(closed(), Source::Own),
            Some(_) => {}
            None => found(closed(), Source::Memory),
        }
    }

    /// Before a store of `item` is issued.
    fn before_store(&self, graphs: &Graphs<'_>, item: Item) -> Option<Buffer> {
        let loc = graphs.loc(item);
        let mut word = self.last().word(loc);
        let mut buffer = self.clone();
        if word.items.last() == Some(&item) {
            word.items.pop();
            buffer.unfenced |= !word.floats;
            (word.closed, word.floats) = (false, false);
            buffer.last_mut().set(word);
        } else if word.closed {
            return None;
        }
        Some(buffer)
    }

    /// Before a store-store fence in local state `from`.
    fn before_barrier(
        &self,
        facts: &Facts,
        (t, from): (usize, u32),
        mut found: impl FnMut(Buffer),
    ) {
        if !self.unfenced {
            // It is behind all that is asked for.
            found(self.clone());
        }
        if self.segments.len() > 1 && self.last().is_empty() {
            let mut buffer = self.clone();
            buffer.segments.pop();
            buffer.close(facts, t, from);
            found(buffer);
        }
        if self.unfenced && self.allows_empty() {
            let mut buffer = Buffer::new();
            buffer.close(facts, t, from);
            found(buffer);
        }
    }

    /// Before a step that `drains`, in local state `from`.
    fn before_drain(
        &self,
        facts: &Facts,
        (t, from): (usize, u32),
        drains: Drains,
    ) -> Option<Buffer> {
        match drains {
            Drains::Nothing => Some(self.clone()),
            Drains::All => self.allows_empty().then(|| {
                let mut buffer = Buffer::new();
                buffer.close(facts, t, from);
                buffer
            }),
            Drains::Own(loc) => {
                let fits = self.segments.len() == 1 && self.segments[0].items(loc).is_empty();
                fits.then(|| {
                    let mut buffer = self.clone();
                    buffer.last_mut().close(loc);
                    buffer.unfenced = true;
                    buffer
                })
            }
        }
    }

    /// Before a store of `item` is committed. `pinned`: memory has to hold it.
    fn before_commit(
        &self,
        graphs: &Graphs<'_>,
        item: Item,
        (pinned, fences): (bool, bool),
        mut found: impl FnMut(Buffer),
    ) {
        let loc = graphs.loc(item);
        let one = self.segments.len() == 1;
        let mut word = self.segments[0].word(loc);
        word.closed |= !one;
        if pinned || word.closed && word.items.is_empty() {
            word.items.insert(0, item);
            let mut buffer = self.clone();
            buffer.segments[0].set(word);
            found(buffer);
        }
        let nothing = one && self.segments[0].0.is_empty() && !self.unfenced;
        if fences && !nothing {
            let mut buffer = self.clone();
            let mut front = Segment::default();
            front.set(Word { loc, closed: true, floats: false, items: vec![item] });
            buffer.segments.insert(0, front);
            found(buffer);
        }
    }

    fn pack(&self, words: &mut Vec<u32>) {
        words.push((self.segments.len() as u32) << 1 | u32::from(self.unfenced));
        for segment in &self.segments {
            words.push(segment.0.len() as u32);
            for word in &segment.0 {
                words.push(word.loc << 2 | u32::from(word.floats) << 1 | u32::from(word.closed));
                words.push(word.items.len() as u32);
                words.extend_from_slice(&word.items);
            }
        }
    }

    fn unpack(words: &mut &[u32]) -> Buffer {
        let head = take(words);
        let segments = (0..head >> 1).map(|_| {
            let count = take(words);
            let word = |_| {
                let Packed { loc, closed, floats, items } = take_word(words);
                Word { loc, closed, floats, items: items.to_vec() }
            };
            Segment((0..count).map(word).collect())
        });
        let segments = segments.collect();
        Buffer { segments, unfenced: head & 1 == 1 }
    }
}

/// A word in packed form.
#[derive(Clone, Copy)]
struct Packed<'w> {
    loc: u32,
    closed: bool,
    floats: bool,
    items: &'w [u32],
}

fn take(words: &mut &[u32]) -> u32 {
    let first = words[0];
    *words = &words[1..];
    first
}

fn take_word<'w>(words: &mut &'w [u32]) -> Packed<'w> {
    let head = take(words);
    let (items, rest) = words[1..].split_at(words[0] as usize);
    *words = rest;
    Packed { loc: head >> 2, closed: head & 1 == 1, floats: head & 2 != 0, items }
}

/// Whether `a` can be found in `b` by leaving out items.
fn is_found_in(a: &[u32], b: &[u32]) -> bool {
    let mut left = a.iter().peekable();
    for item in b {
        left.next_if(|next| *next == item);
    }
    left.peek().is_none()
}

/// Whether the word `a` asks for no more than `b`, both of last segments or both of others.
fn is_weaker_word(a: Packed<'_>, b: Packed<'_>) -> bool {
    let same_end = a.items.last() == b.items.last();
    // What floats is not where other items are; where anything else is, it may be.
    let there = &b.items[..b.items.len() - usize::from(b.floats && !a.floats)];
    is_found_in(a.items, there) && (!a.closed || b.closed && same_end)
}

/// Whether the packed buffer at the front of `a` asks for no more than that at the front of `b`;
/// takes both off. If not, what is left of them means nothing.
fn takes_weaker_buffer(a: &mut &[u32], b: &mut &[u32]) -> bool {
    let (head, other) = (take(a), take(b));
    let (count, others) = (head >> 1, other >> 1);
    if count > others || head & 1 == 1 && (other & 1 == 0 || count != others) {
        return false;
    }
    for i in 0..others {
        let mut theirs = take(b);
        if i < count {
            let last = i + 1 == count;
            for _ in 0..take(a) {
                let mine = take_word(a);
                let (their, skipped) = take_up_to(mine.loc, &mut theirs, b);
                let nothing = Packed { loc: mine.loc, closed: false, floats: false, items: &[] };
                let mut their = their.unwrap_or(nothing);
                // More to the same location may follow in another segment.
                their.closed &= !last || i + 1 == others;
                if !is_weaker_word(mine, their) || !last && skipped {
                    return false;
                }
            }
            let (_, skipped) = take_up_to(u32::MAX, &mut theirs, b);
            if !last && skipped {
                return false;
            }
        } else {
            take_up_to(u32::MAX, &mut theirs, b);
        }
    }
    true
}

/// Takes the next words of a segment off, of which `count` are left, up to the one of `loc`, which
/// is returned. They are sorted. And whether others were skipped.
fn take_up_to<'w>(loc: u32, count: &mut u32, words: &mut &'w [u32]) -> (Option<Packed<'w>>, bool) {
    let mut skipped = false;
    while *count > 0 {
        let mut rest = *words;
        let word = take_word(&mut rest);
        if word.loc > loc {
            break;
        }
        *words = rest;
        *count -= 1;
        if word.loc == loc {
            return (Some(word), skipped);
        }
        skipped = true;
    }
    (None, skipped)
}

impl PsoDemand {
    fn pinned(&self, graphs: &Graphs<'_>, loc: u32) -> Option<Item> {
        self.pins.iter().copied().find(|&i| graphs.loc(i) == loc)
    }

    /// The same, but for thread `t`: its buffer, and where it is.
    fn with(&self, facts: &Facts, t: usize, from: u32, mut buffer: Buffer) -> PsoDemand {
        buffer.tidy(facts, t, from);
        let mut demand = self.clone();
        demand.buffers[t] = buffer;
        demand.locals[t] = from;
        demand
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
                if source == Source::Own || demand.pin(graphs, item) {
                    found.push((demand, by(source)));
                }
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
                demand.pins.retain(|p| !atomic.writes.contains(p));
                if fits && atomic.reads.iter().all(|&r| demand.pin(graphs, r)) {
                    found.push((demand, by(Source::Memory)));
                }
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
            let pinned = self.pinned(graphs, graphs.loc(item));
            if !facts.can_be_buffered(t, self.locals[t], item) || pinned.is_some_and(|p| p != item)
            {
                continue;
            }
            let how = (pinned.is_some(), facts.has_barriers(t));
            self.buffers[t].before_commit(graphs, item, how, |buffer| {
                let mut demand = self.clone();
                demand.pins.retain(|&p| p != item);
                demand.buffers[t] = buffer;
                found.push((demand, Back::Commit(t as u32, item)));
            });
        }
    }

    /// The writes of a thread in any local state that could give what is wanted.
    fn useful_writes(&self, graphs: &Graphs<'_>, t: usize) -> Vec<u32> {
        let useful = |label: Label| match label {
            Label::Silent | Label::Load(_) | Label::Barrier => false,
            Label::Store(item) => {
                self.buffers[t].last().items(graphs.loc(item)).last() == Some(&item)
            }
            Label::Atomic(a) => {
                graphs.atomics[a as usize].writes.iter().any(|w| self.pins.contains(w))
            }
        };
        let arcs = graphs.arcs.iter().enumerate();
        let useful = arcs.filter(|(_, arc)| arc.thread as usize == t && useful(arc.label));
        useful.map(|(a, _)| a as u32).collect()
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
        PsoDemand { locals: vec![ANY; n], pins: Vec::new(), buffers: vec![Buffer::new(); n] }
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
        for t in 0..self.locals.len() {
            let arcs = match self.locals[t] {
                ANY => self.useful_writes(graphs, t),
                local => facts.ways(graphs, t, local).arcs.clone(),
            };
            for arc in arcs {
                self.before_arc(graphs, facts, arc, found);
            }
            self.before_commits(graphs, facts, t, found);
        }
    }

    fn is_plausible(&self, graphs: &Graphs<'_>, facts: &Facts) -> bool {
        let buffers = || self.buffers.iter().zip(&self.locals).enumerate();
        self.pins.iter().all(|&item| self.can_hold(graphs, facts, item))
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
        let fits = self.buffers.iter().all(Buffer::allows_empty)
            && self.pins.iter().all(|&item| graphs.is_initial(item));
        fits.then(|| self.pins.clone())
    }

    fn pack(&self, words: &mut Vec<u32>) {
        words.push(self.pins.len() as u32);
        words.extend_from_slice(&self.pins);
        self.buffers.iter().for_each(|b| b.pack(words));
    }

    fn unpack(locals: &[u32], mut words: &[u32]) -> PsoDemand {
        let pins = words[1..=words[0] as usize].to_vec();
        words = &words[1 + pins.len()..];
        let buffers = locals.iter().map(|_| Buffer::unpack(&mut words)).collect();
        PsoDemand { locals: locals.to_vec(), pins, buffers }
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
        }
        true
    }

    fn strength(&self) -> u32 {
        let words = self.buffers.iter().flat_map(|b| &b.segments).flat_map(|s| &s.0);
        (self.pins.len() + words.map(|w| w.items.len() + 1).sum::<usize>()) as u32
    }

    fn signature(&self) -> u64 {
        let bit = |kind: usize, item: u32| {
            1u64 << ((item as usize * 7 + kind * 11).wrapping_mul(0x9e37_79b9) >> 7 & 63)
        };
        let mut bits = self.pins.iter().fold(0, |b, &i| b | bit(0, i));
        for (t, buffer) in self.buffers.iter().enumerate() {
            for word in buffer.segments.iter().flat_map(|s| &s.0) {
                bits = word.items.iter().fold(bits, |b, &i| b | bit(t + 1, i));
            }
        }
        bits
    }
}
