//! Is there an order of some events of an execution in which each reads from where it is said to?
//!
//! First what follows in every such order is added until nothing is new: if a read has to come after
//! a write to its cell, so does the write that it reads from come after that; if a write has to come
//! after the write that is read from, it comes after the read. A cycle says that there is none. Then an
//! order is searched for: reads are taken as soon as they read the right thing, which can never be wrong,
//! and writes that nobody has to come before, the one that came first in the execution first. What
//! was tried in vain is remembered. Consistency of reads-from relations is NP-complete under SC
//! (Gibbons and Korach 1997): the search gives up after so many steps, and says so.

use rustc_hash::FxHashSet;

use super::execution::{Event, Execution, NONE};

/// The search for one order takes at most so many steps.
const MOST_STEPS: usize = 20_000;
/// With more events than this nothing is deduced before the search.
const MOST_DEDUCED: usize = 400;

/// An event that reads something else than in the execution.
#[derive(Clone, Debug)]
pub(super) struct Changed {
    pub(super) at: u32,
    /// In these cells, from there.
    pub(super) from: Vec<(usize, u32)>,
    /// What it needs because of that.
    pub(super) needs: Vec<u32>,
    /// Whether it writes.
    pub(super) writes: bool,
    /// Whether it comes last of all.
    pub(super) last: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// An order.
    Order(Vec<u32>),
    /// There is none.
    None,
    /// Nobody knows.
    GaveUp,
}

/// An order of the events in the set, which has all that they need and read from.
pub(super) fn order(execution: &Execution, set: &[bool], changed: &Changed) -> Found {
    let mut search = Search::new(execution, set, changed);
    if search.events.len() <= MOST_DEDUCED && !search.deduce() {
        return Found::None;
    }
    search.run()
}

/// An event, with numbers instead of places.
struct Item {
    place: u32,
    needs: Vec<u32>,
    /// What it reads: the cell, and from which event.
    reads: Vec<(usize, u32)>,
    /// The cells that it writes for all to see.
    writes: Vec<usize>,
}

struct Search {
    events: Vec<Item>,
    /// Who reads a cell from an event, or from the beginning: cell, from, who.
    readers: Vec<(usize, u32, u32)>,
    /// Per event, how many of those that it needs are still to come; who needs it.
    missing: Vec<u32>,
    needed_by: Vec<Vec<u32>>,
    /// Of a store in a buffer its commit: who reads the store reads that, once it is there.
    commits: Vec<u32>,
    hidden: Vec<bool>,
    cells: usize,
}

impl Search {
    fn new(execution: &Execution, set: &[bool], changed: &Changed) -> Search {
        let places: Vec<u32> = (0..set.len() as u32).filter(|&p| set[p as usize]).collect();
        let mut numbers = vec![NONE; set.len()];
        for (n, &place) in places.iter().enumerate() {
            numbers[place as usize] = n as u32;
        }
        let number = |place: u32| numbers.get(place as usize).copied().unwrap_or(NONE);
        let mut search = Search {
            events: Vec::new(),
            readers: Vec::new(),
            missing: vec![0; places.len()],
            needed_by: vec![Vec::new(); places.len()],
            commits: vec![NONE; places.len()],
            hidden: vec![false; places.len()],
            cells: execution.writers.len(),
        };
        for (n, &place) in places.iter().enumerate() {
            let e: &Event = &execution.events[place as usize];
            let changed = Some(changed).filter(|c| c.at == place);
            let mut item = Item { place, needs: Vec::new(), reads: Vec::new(), writes: Vec::new() };
            let waker = Some(e.waker).filter(|_| changed.is_none());
            let needs = e.needs.iter().copied().chain(waker);
            let more = changed.into_iter().flat_map(|c| c.needs.iter().copied());
            item.needs = needs.chain(more).map(number).filter(|&p| p != NONE).collect();
            if changed.is_some_and(|c| c.last) {
                item.needs = (0..places.len() as u32).filter(|&p| p != n as u32).collect();
            }
            item.reads = match changed {
                Some(changed) => changed.from.iter().map(|&(c, from)| (c, number(from))).collect(),
                None => (e.cells.0..).zip(&e.from).map(|(c, &from)| (c, number(from))).collect(),
            };
            let hidden = execution.hidden(e.op);
            let writes = changed.map_or(e.op.writes(), |changed| changed.writes);
            if writes && !hidden {
                item.writes = (e.cells.0..e.cells.1).collect();
            }
            search.hidden[n] = hidden;
            if hidden {
                search.commits[n] = number(e.partner);
            }
            search.events.push(item);
        }
        for n in 0..search.events.len() {
            for at in 0..search.events[n].reads.len() {
                let (cell, from) = search.events[n].reads[at];
                search.readers.push((cell, search.seen(from), n as u32));
                if from != NONE {
                    search.events[n].needs.push(from);
                }
            }
            search.events[n].needs.sort_unstable();
            search.events[n].needs.dedup();
        }
        search.readers.sort_unstable();
        for n in 0..search.events.len() {
            search.missing[n] = search.events[n].needs.len() as u32;
            for at in 0..search.events[n].needs.len() {
                let p = search.events[n].needs[at];
                search.needed_by[p as usize].push(n as u32);
            }
        }
        search
    }

    /// What is in memory when something is read from there: a store in a buffer is not, before its
    /// commit.
    fn seen(&self, from: u32) -> u32 {
        if from != NONE && self.hidden[from as usize] { self.commits[from as usize] } else { from }
    }

    /// Adds what holds in every order; whether that is possible.
    fn deduce(&mut self) -> bool {
        let n = self.events.len();
        let mut before = Closure::new(n);
        let needs = |b: usize| self.events[b].needs.iter().rev().map(move |&a| (a as usize, b));
        // Nearly all come after what they need in the execution, too: all that comes after them is known by then.
        for (a, b) in (0..n).rev().flat_map(needs).filter(|(a, b)| a < b) {
            before.join(a, b);
        }
        for (a, b) in (0..n).flat_map(needs).filter(|(a, b)| a > b) {
            before.add(a, b);
        }
        let mut writers = vec![Vec::new(); self.cells];
        for (w, item) in self.events.iter().enumerate() {
            item.writes.iter().for_each(|&cell| writers[cell].push(w));
        }
        loop {
            let mut new = false;
            for r in 0..n {
                for &(cell, from) in &self.events[r].reads {
                    for &other in writers[cell].iter().filter(|&&w| w != r) {
                        new |= self.deduce_one(&mut before, r, from, other);
                    }
                }
            }
            if before.cyclic {
                return false;
            }
            if !new {
                return true;
            }
        }
    }

    /// What follows for a read and a write to the same cell that it does not read.
    fn deduce_one(&self, before: &mut Closure, r: usize, from: u32, other: usize) -> bool {
        let own = from != NONE && self.hidden[from as usize];
        let seen = self.seen(from);
        if seen == other as u32 || from == other as u32 {
            return false;
        }
        if from == NONE {
            return before.add(r, other);
        }
        let mut new = false;
        if seen == NONE {
            return false;
        }
        // A thread reads its own store until another one comes after that in memory.
        if before.has(seen as usize, other) {
            new |= before.add(r, other);
        }
        if !own && before.has(other, r) {
            new |= before.add(other, seen as usize);
        }
        new
    }

    fn run(&self) -> Found {
        let n = self.events.len();
        let mut state = State {
            done: vec![false; n],
            missing: self.missing.clone(),
            ready: vec![0; n.div_ceil(64)],
            last: vec![NONE; self.cells],
            order: Vec::with_capacity(n),
        };
        (0..n).filter(|&e| self.missing[e] == 0).for_each(|e| state.turn(e));
        let mut tried: FxHashSet<(Vec<bool>, Vec<u32>)> = FxHashSet::default();
        // For each choice of a write: how long the order was, and which are left to be tried.
        let mut choices: Vec<(usize, Vec<u32>)> = Vec::new();
        let mut steps = 0;
        loop {
            self.read_all(&mut state);
            if state.order.len() == n {
                let order = state.order.iter().map(|&e| self.events[e as usize].place).collect();
                return Found::Order(order);
            }
            steps += 1;
            if steps > MOST_STEPS {
                return Found::GaveUp;
            }
            let mut writes = Vec::new();
            let known = steps > 64 && !tried.insert((state.done.clone(), state.last.clone()));
            if !known {
                writes.extend(state.ready_from(0).filter(|&e| self.possible(&state, e)));
                writes.reverse();
            }
            choices.push((state.order.len(), writes));
            let next = loop {
                let Some((len, left)) = choices.last_mut() else { return Found::None };
                let Some(next) = left.pop() else {
                    choices.pop();
                    continue;
                };
                let len = *len;
                self.undo(&mut state, len);
                break next;
            };
            self.take(&mut state, next);
        }
    }

    /// Takes all events that change nothing for others, as long as there are any.
    fn read_all(&self, state: &mut State) {
        let mut from = 0;
        loop {
            let quiet = |&e: &u32| self.events[e as usize].writes.is_empty();
            let next = state.ready_from(from).filter(quiet).find(|&e| self.possible(state, e));
            let Some(e) = next else { return };
            self.take(state, e);
            // Others are possible because of it only if they need it.
            let first = self.needed_by[e as usize].iter().copied().min();
            from = first.map_or(e + 1, |first| first.min(e + 1));
        }
    }

    /// Whether an event that is ready reads the right things now.
    fn possible(&self, state: &State, e: u32) -> bool {
        let item = &self.events[e as usize];
        let right = |&(cell, from): &(usize, u32)| {
            let seen = self.seen(from);
            let own = from != NONE && self.hidden[from as usize];
            let pending = own && (seen == NONE || !state.done[seen as usize]);
            pending || state.last[cell] == seen
        };
        item.reads.iter().all(right) && item.writes.iter().all(|&c| self.may_write(state, e, c))
    }

    /// Whether nobody is left who has to read what is in a cell now.
    fn may_write(&self, state: &State, e: u32, cell: usize) -> bool {
        let last = state.last[cell];
        let from = self.readers.partition_point(|&(c, f, _)| (c, f) < (cell, last));
        let same = self.readers[from..].iter().take_while(|&&(c, f, _)| (c, f) == (cell, last));
        // A store that never leaves its buffer is no store of memory.
        let waits = |r: u32| {
            let own = |&(c, from): &(usize, u32)| {
                c == cell && from != NONE && self.hidden[from as usize] && self.seen(from) == NONE
            };
            !state.done[r as usize] && r != e && !self.events[r as usize].reads.iter().any(own)
        };
        !same.map(|&(_, _, r)| r).any(waits)
    }

    fn take(&self, state: &mut State, e: u32) {
        state.done[e as usize] = true;
        state.turn(e as usize);
        state.order.push(e);
        for &after in &self.needed_by[e as usize] {
            state.missing[after as usize] -= 1;
            if state.missing[after as usize] == 0 {
                state.turn(after as usize);
            }
        }
        for &cell in &self.events[e as usize].writes {
            state.last[cell] = e;
        }
    }

    /// Goes back to an order of so many.
    fn undo(&self, state: &mut State, len: usize) {
        if state.order.len() == len {
            return;
        }
        while state.order.len() > len {
            let Some(e) = state.order.pop() else { break };
            state.done[e as usize] = false;
            for &after in &self.needed_by[e as usize] {
                if state.missing[after as usize] == 0 {
                    state.turn(after as usize);
                }
                state.missing[after as usize] += 1;
            }
            state.turn(e as usize);
        }
        state.last.fill(NONE);
        for &e in &state.order {
            for &cell in &self.events[e as usize].writes {
                state.last[cell] = e;
            }
        }
    }
}

struct State {
    done: Vec<bool>,
    missing: Vec<u32>,
    /// A bit for each event that is still to come and has all that it needs.
    ready: Vec<u64>,
    /// Who has written a cell last.
    last: Vec<u32>,
    order: Vec<u32>,
}

impl State {
    /// An event becomes ready, or is no longer.
    fn turn(&mut self, e: usize) {
        self.ready[e / 64] ^= 1 << (e % 64);
    }

    /// The events that are ready, from this one on.
    fn ready_from(&self, first: u32) -> impl Iterator<Item = u32> + '_ {
        let start = first as usize / 64;
        self.ready.iter().enumerate().skip(start).flat_map(move |(at, &word)| {
            let mut left = if at == start { word & (!0 << (first % 64)) } else { word };
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros();
                left &= left.wrapping_sub(1);
                (bit < 64).then_some(at as u32 * 64 + bit)
            })
        })
    }
}

/// What comes before what, closed under transitivity.
struct Closure {
    words: usize,
    /// Rows of those that come after.
    after: Vec<u64>,
    /// A row, while others are joined with it.
    row: Vec<u64>,
    cyclic: bool,
}

impl Closure {
    fn new(n: usize) -> Closure {
        let words = n.div_ceil(64);
        Closure { words, after: vec![0; n * words], row: vec![0; words], cyclic: false }
    }

    fn has(&self, a: usize, b: usize) -> bool {
        self.after[a * self.words + b / 64] >> (b % 64) & 1 != 0
    }

    /// The first comes before the second; whether that is new.
    fn add(&mut self, a: usize, b: usize) -> bool {
        if self.has(a, b) {
            return false;
        }
        if a == b || self.has(b, a) {
            self.cyclic = true;
            return false;
        }
        self.copy(b);
        let (word, bit) = (a / 64, 1 << (a % 64));
        for (x, mine) in self.after.chunks_exact_mut(self.words).enumerate() {
            if x == a || mine[word] & bit != 0 {
                unite(mine, &self.row);
            }
        }
        true
    }

    /// The first comes before the second, all that comes after which is known; what comes before the first is
    /// not told.
    fn join(&mut self, a: usize, b: usize) {
        if !self.has(a, b) {
            self.copy(b);
            unite(&mut self.after[a * self.words..][..self.words], &self.row);
        }
    }

    /// Remembers an event and what comes after it.
    fn copy(&mut self, b: usize) {
        self.row.copy_from_slice(&self.after[b * self.words..][..self.words]);
        self.row[b / 64] |= 1 << (b % 64);
    }
}

fn unite(mine: &mut [u64], new: &[u64]) {
    for (mine, new) in mine.iter_mut().zip(new) {
        *mine |= new;
    }
}
