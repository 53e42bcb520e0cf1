//! The backward search. It keeps the weakest demands, and ends in whatever order it takes them:
//! a demand is kept only if no earlier one is weaker, and in a well-quasi-ordering there are no
//! infinite sequences of that kind. Two orders take turns. Demands near to the initial local
//! states come first in one, which finds goals that can be reached after a few hundred demands;
//! demands that ask for little come first in the other, which spares most of those that would be
//! replaced where a goal cannot be reached.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::Hasher;
use std::marker::PhantomData;

use hashbrown::HashTable;
use rustc_hash::FxHasher;
use weakspot_core::Limit;
use weakspot_core::machine::Failure;

use crate::intern::Interner;
use crate::meter::Meter;

use super::facts::{self, ANY, Facts};
use super::graph::{Drains, Graphs, Item};

/// What a run has reached, and how it ends.
#[derive(Clone, Debug)]
pub(crate) struct Goal {
    pub(crate) kind: GoalKind,
    /// The last steps of one thread.
    pub(crate) moment: Option<u32>,
    /// The last steps of others.
    pub(crate) tails: Vec<Tail>,
}

/// The kinds of goals.
#[derive(Clone, Debug)]
pub(crate) enum GoalKind {
    /// A forbidden combination of control points.
    ControlPoints,
    /// A step that fails.
    Fails(Failure),
    /// A final state of the wanted kind.
    Final,
}

/// The last steps of a thread whose stores stay in the buffer.
#[derive(Clone, Debug)]
pub(crate) struct Tail {
    pub(crate) thread: usize,
    /// First step first; loads with their source.
    pub(crate) arcs: Vec<(u32, Source)>,
    /// The local state in which they end.
    pub(crate) end: u32,
}

/// What a state has to be like so that a goal can still be reached: a set of states that is closed
/// upwards in a well-quasi-ordering. There is one kind of them for each memory model.
pub(crate) trait Demanded: Clone {
    /// Nothing is asked for.
    fn anything(graphs: &Graphs<'_>) -> Self;

    /// Where each thread is, or [`ANY`].
    fn locals(&self) -> &[u32];

    /// Puts thread `t` there.
    fn place(&mut self, t: usize, local: u32);

    /// What memory has to hold, at most one item per location.
    fn pins(&mut self) -> &mut Vec<Item>;

    /// Memory has to hold `item` now; false if it has to hold something else there.
    fn pin(&mut self, graphs: &Graphs<'_>, item: Item) -> bool {
        let pins = self.pins();
        match pins.iter().copied().find(|&i| graphs.loc(i) == graphs.loc(item)) {
            Some(pinned) => pinned == item,
            None => {
                let at = pins.partition_point(|&p| p < item);
                pins.insert(at, item);
                true
            }
        }
    }

    /// Thread `t` has nothing in its store buffer that `drains` waits for.
    fn drain(&mut self, facts: &Facts, t: usize, drains: Drains);

    /// Every demand from which one step leads to this one.
    fn before(&self, graphs: &Graphs<'_>, facts: &mut Facts, found: &mut Vec<(Self, Back)>);

    /// False if the graphs say that no run meets this demand.
    fn is_plausible(&self, graphs: &Graphs<'_>, facts: &Facts) -> bool;

    /// If an initial memory meets the demand for memory and buffers: what it has to hold.
    fn initial_memory(&self, graphs: &Graphs<'_>) -> Option<Vec<Item>>;

    /// Appends all but the local states as words.
    fn pack(&self, words: &mut Vec<u32>);

    fn unpack(locals: &[u32], words: &[u32]) -> Self;

    /// Whether one packed demand asks for no more than another on the same local states.
    fn is_weaker(a: &[u32], b: &[u32]) -> bool;

    /// How much it asks for.
    fn strength(&self) -> u32;

    /// A set of bits that a weaker demand on the same local states has a part of.
    fn signature(&self) -> u64;
}

/// Where a load takes its value from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The newest store of its own thread, which is later than the view.
    Own,
    /// What memory held at the view.
    Memory,
}

/// A step backwards.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Back {
    /// Of a thread along this arc.
    Arc(u32, Source),
    /// A store of this thread reaches memory. (Where buffers are explicit.)
    Commit(u32, Item),
}

/// A search from goals to initial states.
pub(crate) struct Search<'s, 'p, 'm, D> {
    pub(crate) graphs: &'s Graphs<'p>,
    pub(crate) facts: &'s mut Facts,
    pub(crate) meter: &'s mut Meter<'m>,
    pub(crate) goals: Vec<Goal>,
    /// The demand that an initial state meets.
    pub(crate) found: Option<u32>,
    /// The different combinations of local states.
    keys: Interner<u32>,
    /// Per combination the demands on it that are not known to be stronger than another, each
    /// with its signature.
    weakest: Vec<Vec<(u64, u32)>>,
    /// Which threads may be in any local state in some demand.
    patterns: Vec<Vec<bool>>,
    words: Vec<u32>,
    entries: Vec<Entry>,
    /// All demands that were kept, to find the same one again quickly.
    same: HashTable<u32>,
    /// Demands to expand, by how far their local states are from the initial ones.
    nearest: BinaryHeap<Reverse<(u32, u32)>>,
    /// The same, by how much they ask for.
    easiest: BinaryHeap<Reverse<(u32, u32)>>,
    scratch: Vec<u32>,
    kind: PhantomData<D>,
}

struct Entry {
    key: u32,
    start: usize,
    len: u32,
    /// It was expanded, or a weaker demand was found later.
    done: bool,
    origin: Origin,
}

/// Why a demand is there.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Origin {
    /// It is this goal.
    Goal(u32),
    /// A step leads to that other demand.
    Step { next: u32, back: Back },
}

impl<'s, 'p, 'm, D: Demanded> Search<'s, 'p, 'm, D> {
    pub(crate) fn new(
        graphs: &'s Graphs<'p>,
        facts: &'s mut Facts,
        meter: &'s mut Meter<'m>,
    ) -> Search<'s, 'p, 'm, D> {
        Search {
            graphs,
            facts,
            meter,
            goals: Vec::new(),
            found: None,
            keys: Interner::new(),
            weakest: Vec::new(),
            patterns: Vec::new(),
            words: Vec::new(),
            entries: Vec::new(),
            same: HashTable::new(),
            nearest: BinaryHeap::new(),
            easiest: BinaryHeap::new(),
            scratch: Vec::new(),
            kind: PhantomData,
        }
    }

    /// Adds a goal.
    pub(crate) fn goal(&mut self, demand: D, goal: Goal) -> Result<(), Limit> {
        self.goals.push(goal);
        self.add(&demand, Origin::Goal(self.goals.len() as u32 - 1))
    }

    /// Searches until a demand is found that an initial state meets, or until there is nothing
    /// left to find.
    pub(crate) fn run(&mut self) -> Result<(), Limit> {
        let mut turn = false;
        while self.found.is_none() {
            turn = !turn;
            let queue = if turn { &mut self.nearest } else { &mut self.easiest };
            let Some(Reverse((_, id))) = queue.pop() else { break };
            if !std::mem::replace(&mut self.entries[id as usize].done, true) {
                self.expand(id)?;
            }
        }
        Ok(())
    }

    pub(crate) fn origin(&self, id: u32) -> Origin {
        self.entries[id as usize].origin
    }

    pub(crate) fn demand(&self, id: u32) -> D {
        let entry = &self.entries[id as usize];
        D::unpack(self.keys.get(entry.key), self.packed(id))
    }

    fn packed(&self, id: u32) -> &[u32] {
        let entry = &self.entries[id as usize];
        &self.words[entry.start..entry.start + entry.len as usize]
    }

    fn expand(&mut self, id: u32) -> Result<(), Limit> {
        let mut found = Vec::new();
        self.demand(id).before(self.graphs, self.facts, &mut found);
        for (demand, back) in found {
            self.add(&demand, Origin::Step { next: id, back })?;
            if self.found.is_some() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Adds a demand unless it is hopeless or as strong as another.
    fn add(&mut self, demand: &D, origin: Origin) -> Result<(), Limit> {
        self.work()?;
        if !demand.is_plausible(self.graphs, self.facts) {
            return Ok(());
        }
        let mut packed = std::mem::take(&mut self.scratch);
        packed.clear();
        demand.pack(&mut packed);
        let result = self.add_packed(demand, &packed, origin);
        self.scratch = packed;
        result
    }

    fn add_packed(&mut self, demand: &D, packed: &[u32], origin: Origin) -> Result<(), Limit> {
        let hash = hash(demand.locals(), packed);
        let is_same = |&id: &u32| {
            self.packed(id) == packed
                && *self.keys.get(self.entries[id as usize].key) == *demand.locals()
        };
        if self.same.find(hash, is_same).is_some() {
            return Ok(());
        }
        let signature = demand.signature();
        if self.has_weaker(demand, signature, packed)? {
            return Ok(());
        }
        let (key, new) = self.keys.insert(demand.locals());
        if new {
            self.weakest.push(Vec::new());
            let pattern: Vec<bool> = demand.locals().iter().map(|&q| q == ANY).collect();
            if !self.patterns.contains(&pattern) {
                self.patterns.push(pattern);
            }
        }
        let mut kept = std::mem::take(&mut self.weakest[key as usize]);
        for _ in 0..kept.len() / 64 {
            self.work()?;
        }
        kept.retain(|&(other, id)| {
            let replaced = signature & !other == 0 && D::is_weaker(packed, self.packed(id));
            self.entries[id as usize].done |= replaced;
            !replaced
        });
        let id = self.entries.len() as u32;
        kept.push((signature, id));
        self.weakest[key as usize] = kept;
        let start = self.words.len();
        self.words.extend_from_slice(packed);
        let len = packed.len() as u32;
        self.entries.push(Entry { key, start, len, done: false, origin });
        let way = demand.locals().iter().enumerate().map(|(t, &q)| self.facts.distance(t, q)).sum();
        self.nearest.push(Reverse((way, id)));
        self.easiest.push(Reverse((demand.strength(), id)));
        let Search { same, keys, entries, words, .. } = self;
        same.insert_unique(hash, id, |&id| {
            let entry = &entries[id as usize];
            self::hash(keys.get(entry.key), &words[entry.start..entry.start + entry.len as usize])
        });
        self.meter.states += 1;
        if self.is_initial(demand) {
            self.found = Some(id);
        }
        Ok(())
    }

    fn has_weaker(&mut self, demand: &D, signature: u64, packed: &[u32]) -> Result<bool, Limit> {
        let mut locals = demand.locals().to_vec();
        for p in 0..self.patterns.len() {
            let pattern = &self.patterns[p];
            let fits = demand.locals().iter().zip(pattern).all(|(&q, &any)| any || q != ANY);
            if !fits {
                continue;
            }
            for ((to, &q), &any) in locals.iter_mut().zip(demand.locals()).zip(pattern) {
                *to = if any { ANY } else { q };
            }
            let Some(key) = self.keys.find(&locals) else { continue };
            let kept = &self.weakest[key as usize];
            let weaker = |&(s, id): &(u64, u32)| {
                s & !signature == 0 && D::is_weaker(self.packed(id), packed)
            };
            if kept.iter().any(weaker) {
                return Ok(true);
            }
            for _ in 0..kept.len() / 64 {
                self.work()?;
            }
        }
        Ok(false)
    }

    fn is_initial(&mut self, demand: &D) -> bool {
        demand
            .locals()
            .iter()
            .enumerate()
            .all(|(t, &q)| q == ANY || self.facts.ways(self.graphs, t, q).initial)
            && demand.initial_memory(self.graphs).is_some()
    }

    /// One unit of work; also for goals while they are put together.
    pub(crate) fn work(&mut self) -> Result<(), Limit> {
        let Search { graphs, meter, keys, words, entries, nearest, .. } = self;
        meter.work(|| {
            let bytes = keys.bytes()
                + words.capacity() * 4
                + entries.capacity() * (size_of::<Entry>() + 24)
                + nearest.capacity() * 16;
            (nearest.len() as u64, bytes as u64 + graphs.bytes() + facts::bytes(graphs))
        })
    }
}

fn hash(locals: &[u32], packed: &[u32]) -> u64 {
    let mut hasher = FxHasher::default();
    locals.iter().chain(packed).for_each(|&w| hasher.write_u32(w));
    hasher.finish()
}
