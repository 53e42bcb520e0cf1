//! What a demand under PSO says about the store buffer of a thread; see [`pso`](super::pso).

use super::facts::Facts;
use super::graph::{Drains, Graphs, Item};
use super::search::Source;

/// What a store buffer has to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Buffer {
    /// Oldest first, at least one.
    pub(super) segments: Vec<Segment>,
    /// No store-store fence comes behind the last one.
    unfenced: bool,
}

/// The words between two store-store fences, sorted by location.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Segment(pub(super) Vec<Word>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    loc: u32,
    pub(super) closed: bool,
    /// The last item is never committed, and may be behind further fences.
    floats: bool,
    pub(super) items: Vec<Item>,
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
    pub(super) fn new() -> Buffer {
        Buffer { segments: vec![Segment::default()], unfenced: false }
    }

    pub(super) fn last(&self) -> &Segment {
        &self.segments[self.segments.len() - 1]
    }

    fn last_mut(&mut self) -> &mut Segment {
        let last = self.segments.len() - 1;
        &mut self.segments[last]
    }

    /// Whether an empty buffer would do. Older segments are never empty.
    pub(super) fn allows_empty(&self) -> bool {
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
    pub(super) fn tidy(&mut self, facts: &Facts, t: usize, local: u32) {
        let needless = |w: &Word| w.items.is_empty() && !facts.can_be_buffered_at(t, local, w.loc);
        self.last_mut().0.retain(|w| !needless(w));
        self.unfenced &= facts.has_barriers(t);
    }

    /// Before a load that returns `item`, from here or from memory.
    pub(super) fn before_load(
        &self,
        graphs: &Graphs<'_>,
        item: Item,
        mut found: impl FnMut(Buffer, Source),
    ) {
        let loc = graphs.loc(item);
        let mut word = self.last().word(loc);
        if !word.closed {
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
    pub(super) fn before_store(&self, graphs: &Graphs<'_>, item: Item) -> Option<Buffer> {
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
    pub(super) fn before_barrier(
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
    pub(super) fn before_drain(
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
    pub(super) fn before_commit(
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
        if pinned && word.floats && word.items == [item] {
            // What a load found here is committed after all.
            let mut buffer = self.clone();
            buffer.segments[0].set(Word { floats: false, ..word.clone() });
            found(buffer);
        }
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

    pub(super) fn pack(&self, words: &mut Vec<u32>) {
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

    pub(super) fn unpack(words: &mut &[u32]) -> Buffer {
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
pub(super) fn is_found_in(a: &[u32], b: &[u32]) -> bool {
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
    let same_place = a.floats || !b.floats;
    is_found_in(a.items, there) && (!a.closed || b.closed && same_end && same_place)
}

/// Whether the packed buffer at the front of `a` asks for no more than that at the front of `b`;
/// takes both off. If not, what is left of them means nothing.
pub(super) fn takes_weaker_buffer(a: &mut &[u32], b: &mut &[u32]) -> bool {
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

#[cfg(test)]
mod tests {
    use super::{Buffer, Segment, Word, takes_weaker_buffer};

    fn buffer(words: &[(u32, bool, bool, &[u32])]) -> Buffer {
        let word = |&(loc, closed, floats, items): &(u32, bool, bool, &[u32])| Word {
            loc,
            closed,
            floats,
            items: items.to_vec(),
        };
        Buffer { segments: vec![Segment(words.iter().map(word).collect())], unfenced: false }
    }

    fn check(a: &Buffer, b: &Buffer, expected: (bool, bool)) {
        let weaker = |a: &Buffer, b: &Buffer| {
            let (mut left, mut right) = (Vec::new(), Vec::new());
            a.pack(&mut left);
            b.pack(&mut right);
            assert_eq!(Buffer::unpack(&mut &left[..]), *a);
            takes_weaker_buffer(&mut &left[..], &mut &right[..])
        };
        assert_eq!((weaker(a, b), weaker(b, a)), expected);
    }

    #[test]
    fn shorter_words_are_weaker_and_open_ones() {
        let nothing = buffer(&[]);
        let empty = buffer(&[(0, true, false, &[])]);
        check(&nothing, &empty, (true, false));
        check(&nothing, &buffer(&[(0, false, false, &[1])]), (true, false));
        check(&empty, &buffer(&[(0, true, false, &[1])]), (false, false));
        let two = buffer(&[(0, true, false, &[1, 2])]);
        check(&buffer(&[(0, true, false, &[2])]), &two, (true, false));
        check(&buffer(&[(0, true, false, &[1])]), &two, (false, false));
        check(&buffer(&[(0, false, false, &[1])]), &two, (true, false));
    }

    #[test]
    fn what_floats_is_weaker_than_what_is_committed() {
        let floats = buffer(&[(0, true, true, &[2])]);
        check(&floats, &buffer(&[(0, true, false, &[2])]), (true, false));
        check(&buffer(&[(0, false, false, &[2])]), &floats, (false, false));
    }

    #[test]
    fn segments_but_the_last_are_exact() {
        let one = buffer(&[(0, true, false, &[1])]);
        let mut fenced = one.clone();
        fenced.segments.push(Segment::default());
        check(&buffer(&[(0, false, false, &[1])]), &fenced, (true, false));
        check(&one, &fenced, (false, false));
        let mut more = fenced.clone();
        more.segments[0] =
            buffer(&[(0, true, false, &[1]), (1, true, false, &[5])]).segments[0].clone();
        check(&fenced, &more, (false, false));
    }
}
