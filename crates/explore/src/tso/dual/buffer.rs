//! What a demand under PSO says about the store buffer of a thread; see [`pso`](super::pso).

use super::facts::Facts;
use super::graph::{Drains, Graphs, Item};

/// What a store buffer has to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Buffer {
    /// Sorted by location; where there is none, anything may be.
    pub(super) words: Vec<Word>,
    /// Something is still to reach memory that comes behind: store-store fences wait.
    fenced: bool,
}

/// What is there for one location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    loc: u32,
    /// No item may follow these.
    pub(super) closed: bool,
    /// The last item is never committed, and may be behind store-store fences that do not wait.
    floats: bool,
    /// Oldest first, perhaps among others.
    pub(super) items: Vec<Item>,
}

impl Buffer {
    pub(super) fn new() -> Buffer {
        Buffer { words: Vec::new(), fenced: false }
    }

    fn at(&self, loc: u32) -> Option<&Word> {
        self.words.iter().find(|w| w.loc == loc)
    }

    /// The values at a location.
    pub(super) fn items(&self, loc: u32) -> &[Item] {
        self.at(loc).map_or(&[], |w| &w.items)
    }

    /// Whether no item may follow those of `loc`.
    pub(super) fn is_closed(&self, loc: u32) -> bool {
        self.at(loc).is_some_and(|w| w.closed)
    }

    fn set(&mut self, word: Word) {
        self.words.retain(|w| w.loc != word.loc);
        if word.closed || !word.items.is_empty() {
            let at = self.words.partition_point(|w| w.loc < word.loc);
            self.words.insert(at, word);
        }
    }

    /// The word of a location, to be changed.
    fn word(&self, loc: u32) -> Word {
        let open = Word { loc, closed: false, floats: false, items: Vec::new() };
        self.at(loc).cloned().unwrap_or(open)
    }

    /// The same, where nothing follows what is named for a location.
    pub(super) fn closed_at(&self, loc: u32) -> Buffer {
        let mut buffer = self.clone();
        buffer.set(Word { closed: true, ..self.word(loc) });
        buffer
    }

    /// Whether an empty buffer would do.
    pub(super) fn allows_empty(&self) -> bool {
        self.words.iter().all(|w| w.items.is_empty())
    }

    /// Nothing is in the buffer of thread `t` in local state `local`.
    fn empty(facts: &Facts, t: usize, local: u32) -> Buffer {
        let nothing = |loc| Word { loc, closed: true, floats: false, items: Vec::new() };
        Buffer { words: facts.buffered_at(t, local).map(nothing).collect(), fenced: false }
    }

    /// Leaves out that nothing is where nothing can be.
    pub(super) fn tidy(&mut self, facts: &Facts, t: usize, local: u32) {
        let needless = |w: &Word| w.items.is_empty() && !facts.can_be_buffered_at(t, local, w.loc);
        self.words.retain(|w| !needless(w));
        self.fenced &= facts.has_barriers(t);
    }

    /// Before a load that returns `item` from here.
    pub(super) fn before_load(
        &self,
        graphs: &Graphs<'_>,
        item: Item,
        mut found: impl FnMut(Buffer),
    ) {
        let mut word = self.word(graphs.loc(item));
        if word.items.last() == Some(&item) {
            found(self.closed_at(word.loc));
        }
        if !word.closed {
            word.items.push(item);
            (word.closed, word.floats) = (true, true);
            let mut buffer = self.clone();
            buffer.set(word);
            found(buffer);
        }
    }

    /// Before a store of `item` is issued.
    pub(super) fn before_store(&self, graphs: &Graphs<'_>, item: Item) -> Option<Buffer> {
        let mut word = self.word(graphs.loc(item));
        let mut buffer = self.clone();
        if word.items.last() == Some(&item) {
            word.items.pop();
            buffer.fenced |= !word.floats;
            (word.closed, word.floats) = (false, false);
            buffer.set(word);
        } else if word.closed {
            return None;
        }
        Some(buffer)
    }

    /// Before a store-store fence in local state `from`.
    pub(super) fn before_barrier(&self, facts: &Facts, (t, from): (usize, u32)) -> Option<Buffer> {
        match self.fenced {
            // It is behind all that is still to reach memory.
            false => Some(self.clone()),
            true => self.allows_empty().then(|| Buffer::empty(facts, t, from)),
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
            Drains::All => self.allows_empty().then(|| Buffer::empty(facts, t, from)),
            Drains::Own(loc) => {
                let fits = self.items(loc).is_empty();
                fits.then(|| Buffer { fenced: true, ..self.closed_at(loc) })
            }
        }
    }

    /// Before a store of `item` is committed, where that is of use. `wanted`: memory has to hold it
    /// at some time.
    pub(super) fn before_commit(
        &self,
        graphs: &Graphs<'_>,
        item: Item,
        wanted: bool,
    ) -> Option<Buffer> {
        let mut word = self.word(graphs.loc(item));
        (wanted || word.closed && word.items.is_empty()).then(|| {
            let mut buffer = self.clone();
            word.items.insert(0, item);
            buffer.set(word);
            buffer
        })
    }

    pub(super) fn pack(&self, words: &mut Vec<u32>) {
        words.push((self.words.len() as u32) << 1 | u32::from(self.fenced));
        for word in &self.words {
            words.push(word.loc << 2 | u32::from(word.floats) << 1 | u32::from(word.closed));
            words.push(word.items.len() as u32);
            words.extend_from_slice(&word.items);
        }
    }

    pub(super) fn unpack(words: &mut &[u32]) -> Buffer {
        let head = take(words);
        let word = |_| {
            let Packed { loc, closed, floats, items } = take_word(words);
            Word { loc, closed, floats, items: items.to_vec() }
        };
        Buffer { words: (0..head >> 1).map(word).collect(), fenced: head & 1 == 1 }
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

/// Whether the word `a` asks for no more than `b`.
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
    let (mine, theirs) = (take(a), take(b));
    if mine & 1 > theirs & 1 {
        return false;
    }
    let mut left = theirs >> 1;
    for _ in 0..mine >> 1 {
        let word = take_word(a);
        if !take_up_to(word.loc, &mut left, b).is_some_and(|their| is_weaker_word(word, their)) {
            return false;
        }
    }
    take_up_to(u32::MAX, &mut left, b);
    true
}

/// Takes the next words of a buffer off, of which `left` are there, up to the one of `loc`, which is
/// returned. They are sorted.
fn take_up_to<'w>(loc: u32, left: &mut u32, words: &mut &'w [u32]) -> Option<Packed<'w>> {
    while *left > 0 {
        let mut rest = *words;
        let word = take_word(&mut rest);
        if word.loc > loc {
            break;
        }
        *words = rest;
        *left -= 1;
        if word.loc == loc {
            return Some(word);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Buffer, Word, takes_weaker_buffer};

    fn buffer(words: &[(u32, bool, bool, &[u32])]) -> Buffer {
        let word = |&(loc, closed, floats, items): &(u32, bool, bool, &[u32])| Word {
            loc,
            closed,
            floats,
            items: items.to_vec(),
        };
        Buffer { words: words.iter().map(word).collect(), fenced: false }
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
    fn where_fences_need_not_wait_is_weaker() {
        let free = buffer(&[(0, false, false, &[1])]);
        check(&free, &Buffer { fenced: true, ..free.clone() }, (true, false));
        let more = buffer(&[(0, false, false, &[1]), (1, true, false, &[])]);
        check(&free, &Buffer { fenced: true, ..more }, (true, false));
    }
}
