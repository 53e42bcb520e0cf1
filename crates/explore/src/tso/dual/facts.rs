//! What the graphs say about each local state: how it can be reached, and which stores its thread
//! may have behind it. The backward search asks these before it believes in a demand.

use std::collections::VecDeque;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use weakspot_core::machine::Step;

use super::graph::{Drains, Graphs, Item, Label};

/// A thread that may be in any local state.
pub(crate) const ANY: u32 = u32::MAX;

/// Per thread and local state, what must have been before.
pub(crate) struct Facts {
    threads: Vec<ThreadFacts>,
}

struct ThreadFacts {
    /// Items that may have been stored before; the last row is for [`ANY`].
    stored: Rows,
    /// Items that may be the thread's newest store to their location.
    newest: Rows,
    /// The same, counting only stores since the last step that needs an empty buffer.
    pending: Rows,
    /// Items that may be in the thread's store buffer under PSO.
    buffered: Rows,
    /// The locations of these.
    buffered_at: Rows,
    /// Locations to which the thread may not have stored yet.
    untouched: Rows,
    /// Whether there are store-store fences.
    barriers: bool,
    ways: Vec<Option<Rc<Ways>>>,
    distance: Vec<u32>,
}

/// How a local state is reached by one step that matters and any number of silent ones.
#[derive(Debug, Default)]
pub(crate) struct Ways {
    /// By silent steps alone from where the thread starts.
    pub(crate) initial: bool,
    /// The last step that matters.
    pub(crate) arcs: Vec<u32>,
    /// The thread has to take one of them, and all of them are loads.
    pub(crate) loads_only: bool,
}

/// Sets of the same size, one per local state.
struct Rows {
    words: usize,
    bits: Vec<u64>,
}

impl Rows {
    fn new(rows: usize, columns: usize) -> Rows {
        let words = columns.div_ceil(64);
        Rows { words, bits: vec![0; rows * words] }
    }

    fn row(&self, row: usize) -> &[u64] {
        &self.bits[row * self.words..(row + 1) * self.words]
    }

    fn set(&mut self, row: usize, column: u32) {
        self.bits[row * self.words + column as usize / 64] |= 1 << (column % 64);
    }

    /// [`ANY`] stands for the last row.
    fn has(&self, row: u32, column: u32) -> bool {
        let row = if row == ANY { self.bits.len() / self.words.max(1) - 1 } else { row as usize };
        self.bits[row * self.words + column as usize / 64] >> (column % 64) & 1 == 1
    }

    /// Adds a set to a row; whether it grew.
    fn add(&mut self, row: usize, set: &[u64]) -> bool {
        let mut grew = false;
        for (have, &add) in self.bits[row * self.words..].iter_mut().zip(set) {
            grew |= add & !*have != 0;
            *have |= add;
        }
        grew
    }
}

/// How many bytes the facts about these graphs take.
pub(crate) fn bytes(graphs: &Graphs<'_>) -> u64 {
    let locals: usize = (0..graphs.threads.len()).map(|t| graphs.count(t) + 1).sum();
    let words = 4 * graphs.items.len().div_ceil(64) + 2 * graphs.locations().div_ceil(64);
    (locals * (words * 8 + 16)) as u64
}

impl Facts {
    pub(crate) fn new(graphs: &Graphs<'_>) -> Facts {
        let items = graphs.items.len();
        let mut at_loc = vec![vec![0; items.div_ceil(64)]; graphs.locations()];
        for (i, &(loc, _)) in graphs.items.iter().enumerate() {
            at_loc[loc as usize][i / 64] |= 1 << (i % 64);
        }
        let threads = (0..graphs.threads.len()).map(|t| thread_facts(graphs, t, &at_loc)).collect();
        Facts { threads }
    }

    /// Whether memory can hold `item` while the threads are in these local states: the last write
    /// to a location is the newest store of whoever made it.
    pub(crate) fn can_hold(&self, graphs: &Graphs<'_>, locals: &[u32], item: Item) -> bool {
        let mut threads = self.threads.iter().zip(locals);
        threads.clone().any(|(t, &q)| t.newest.has(q, item))
            || graphs.is_initial(item)
                && threads.all(|(t, &q)| t.untouched.has(q, graphs.loc(item)))
    }

    /// Whether memory can have held `item` at some time until the threads are in these states.
    pub(crate) fn can_have_held(&self, graphs: &Graphs<'_>, locals: &[u32], item: Item) -> bool {
        graphs.is_initial(item)
            || self.threads.iter().zip(locals).any(|(t, &q)| t.stored.has(q, item))
    }

    /// Whether `item` can be in the thread's store buffer, with no newer store to its location.
    pub(crate) fn can_be_pending(&self, t: usize, local: u32, item: Item) -> bool {
        self.threads[t].pending.has(local, item)
    }

    /// Whether `item` can be in the thread's store buffer under PSO.
    pub(crate) fn can_be_buffered(&self, t: usize, local: u32, item: Item) -> bool {
        self.threads[t].buffered.has(local, item)
    }

    /// Whether a store to `loc` can be in the thread's store buffer under PSO.
    pub(crate) fn can_be_buffered_at(&self, t: usize, local: u32, loc: u32) -> bool {
        self.threads[t].buffered_at.has(local, loc)
    }

    /// The locations to which stores can be in the thread's store buffer under PSO.
    pub(crate) fn buffered_at(&self, t: usize, local: u32) -> impl Iterator<Item = u32> + '_ {
        let rows = &self.threads[t].buffered_at;
        (0..rows.words as u32 * 64).filter(move |&loc| rows.has(local, loc))
    }

    /// Whether `item` can be the thread's newest store to its location.
    pub(crate) fn can_be_newest(&self, t: usize, local: u32, item: Item) -> bool {
        self.threads[t].newest.has(local, item)
    }

    /// Whether the thread may have stored `item`.
    pub(crate) fn can_be_stored(&self, t: usize, local: u32, item: Item) -> bool {
        self.threads[t].stored.has(local, item)
    }

    /// Whether the thread may not have stored to `loc` yet.
    pub(crate) fn can_be_untouched(&self, t: usize, local: u32, loc: u32) -> bool {
        self.threads[t].untouched.has(local, loc)
    }

    /// Whether the thread has store-store fences.
    pub(crate) fn has_barriers(&self, t: usize) -> bool {
        self.threads[t].barriers
    }

    /// The least number of steps that matter from where the thread starts to `local`.
    pub(crate) fn distance(&self, t: usize, local: u32) -> u32 {
        if local == ANY { 0 } else { self.threads[t].distance[local as usize] }
    }

    pub(crate) fn ways(&mut self, graphs: &Graphs<'_>, t: usize, local: u32) -> Rc<Ways> {
        if let Some(ways) = &self.threads[t].ways[local as usize] {
            return ways.clone();
        }
        let ways = Rc::new(find_ways(graphs, t, local));
        self.threads[t].ways[local as usize] = Some(ways.clone());
        ways
    }
}

fn thread_facts(graphs: &Graphs<'_>, t: usize, at_loc: &[Vec<u64>]) -> ThreadFacts {
    let (n, items, locs) = (graphs.count(t), graphs.items.len(), graphs.locations());
    let mut facts = ThreadFacts {
        stored: Rows::new(n + 1, items),
        newest: Rows::new(n + 1, items),
        pending: Rows::new(n + 1, items),
        buffered: Rows::new(n + 1, items),
        buffered_at: Rows::new(n + 1, locs),
        barriers: false,
        untouched: Rows::new(n + 1, locs),
        ways: vec![None; n],
        distance: Vec::new(),
    };
    let mut from: Vec<Vec<u32>> = vec![Vec::new(); n];
    for (a, arc) in graphs.arcs.iter().enumerate().filter(|(_, a)| a.thread as usize == t) {
        from[arc.from as usize].push(a as u32);
        facts.barriers |= arc.label == Label::Barrier;
    }
    let init = graphs.threads[t].init as usize;
    for loc in 0..locs as u32 {
        facts.untouched.set(init, loc);
        facts.untouched.set(n, loc);
    }
    facts.distance = distances(graphs, init, &from);
    let (mut waits, mut reached) = (vec![false; n], vec![false; n]);
    let mut todo = vec![init];
    while let Some(q) = todo.pop() {
        waits[q] = false;
        for &a in &from[q] {
            let arc = &graphs.arcs[a as usize];
            let to = arc.to as usize;
            let mut stored = facts.stored.row(q).to_vec();
            let mut newest = facts.newest.row(q).to_vec();
            let mut pending = facts.pending.row(q).to_vec();
            let mut buffered = facts.buffered.row(q).to_vec();
            let mut untouched = facts.untouched.row(q).to_vec();
            let mut write = |set: &mut [u64], item: Item| {
                let loc = graphs.loc(item);
                set.iter_mut().zip(&at_loc[loc as usize]).for_each(|(s, l)| *s &= !l);
                set[item as usize / 64] |= 1 << (item % 64);
                stored[item as usize / 64] |= 1 << (item % 64);
                untouched[loc as usize / 64] &= !(1 << (loc % 64));
            };
            match arc.label {
                Label::Silent | Label::Load(_) | Label::Barrier => {}
                Label::Store(item) => {
                    write(&mut newest, item);
                    write(&mut pending, item);
                    buffered[item as usize / 64] |= 1 << (item % 64);
                }
                Label::Atomic(a) => {
                    pending.fill(0);
                    let atomic = &graphs.atomics[a as usize];
                    match atomic.drains {
                        Drains::Nothing => {}
                        Drains::All => buffered.fill(0),
                        Drains::Own(loc) => {
                            let there = &at_loc[loc as usize];
                            buffered.iter_mut().zip(there).for_each(|(b, l)| *b &= !l);
                        }
                    }
                    for &item in &atomic.writes {
                        write(&mut newest, item);
                    }
                }
            }
            let mut grew = facts.stored.add(to, &stored);
            grew |= facts.newest.add(to, &newest);
            grew |= facts.pending.add(to, &pending);
            grew |= facts.buffered.add(to, &buffered);
            grew |= facts.untouched.add(to, &untouched);
            facts.buffered.add(n, &buffered);
            facts.stored.add(n, &stored);
            facts.newest.add(n, &stored);
            grew |= !std::mem::replace(&mut reached[to], true);
            if grew && !std::mem::replace(&mut waits[to], true) {
                todo.push(to);
            }
        }
    }
    for row in 0..=n {
        for (i, &(loc, _)) in graphs.items.iter().enumerate() {
            if facts.buffered.row(row)[i / 64] >> (i % 64) & 1 == 1 {
                facts.buffered_at.set(row, loc);
            }
        }
    }
    facts
}

/// Per local state the least number of steps that matter from `init` to it.
fn distances(graphs: &Graphs<'_>, init: usize, from: &[Vec<u32>]) -> Vec<u32> {
    let mut distances = vec![u32::MAX; from.len()];
    distances[init] = 0;
    let mut todo = VecDeque::from([init]);
    while let Some(q) = todo.pop_front() {
        for &a in &from[q] {
            let arc = &graphs.arcs[a as usize];
            let silent = arc.label == Label::Silent;
            let (to, distance) = (arc.to as usize, distances[q] + u32::from(!silent));
            if distance < distances[to] {
                distances[to] = distance;
                // Silent steps first, so that states are left by rising distance.
                match silent {
                    true => todo.push_front(to),
                    false => todo.push_back(to),
                }
            }
        }
    }
    distances
}

fn find_ways(graphs: &Graphs<'_>, t: usize, local: u32) -> Ways {
    let graph = &graphs.threads[t];
    let mut ways = Ways::default();
    let mut seen = FxHashSet::from_iter([local]);
    let mut known = FxHashSet::default();
    let mut todo = vec![local];
    while let Some(q) = todo.pop() {
        ways.initial |= q == graph.init;
        for &a in &graph.into[q as usize] {
            let arc = &graphs.arcs[a as usize];
            if arc.label != Label::Silent {
                if known.insert((arc.from, arc.label)) {
                    ways.arcs.push(a);
                }
            } else if seen.insert(arc.from) {
                todo.push(arc.from);
            }
        }
    }
    let is_load = |&a: &u32| matches!(graphs.arcs[a as usize].label, Label::Load(_));
    ways.loads_only = !ways.initial && ways.arcs.iter().all(is_load);
    ways
}

/// The silent steps from `from` to `to`, if there are any that lead there.
pub(crate) fn silent_path(graphs: &Graphs<'_>, t: usize, from: u32, to: u32) -> Option<Vec<Step>> {
    // Backwards, because only arcs into a state are listed.
    let mut next: FxHashMap<u32, (u32, Step)> = FxHashMap::default();
    let mut todo = VecDeque::from([to]);
    while let Some(q) = todo.pop_front() {
        if q == from {
            let (mut at, mut steps) = (from, Vec::new());
            while at != to {
                let (onwards, step) = next[&at];
                steps.push(step);
                at = onwards;
            }
            return Some(steps);
        }
        for &a in &graphs.threads[t].into[q as usize] {
            let arc = &graphs.arcs[a as usize];
            if arc.label == Label::Silent && arc.from != to && !next.contains_key(&arc.from) {
                next.insert(arc.from, (q, arc.step));
                todo.push_back(arc.from);
            }
        }
    }
    None
}
