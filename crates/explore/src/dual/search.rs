//! The backward search: demands in the order in which they are found, the weakest ones kept.

use std::collections::VecDeque;

use weakspot_core::Limit;

use crate::intern::Interner;
use crate::meter::Meter;

use super::demand::{Demand, Source, is_weaker};
use super::facts::{self, ANY, Facts};
use super::goals::Goal;
use super::graph::{Graphs, Item, Label};

/// A search from goals to initial states.
pub(crate) struct Search<'s, 'p, 'm> {
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
    todo: VecDeque<u32>,
    scratch: Vec<u32>,
}

struct Entry {
    key: u32,
    start: usize,
    len: u32,
    /// A weaker demand was found later.
    replaced: bool,
    origin: Origin,
}

/// Why a demand is there.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Origin {
    /// It is this goal.
    Goal(u32),
    /// A step along this arc leads to that other demand.
    Step { next: u32, arc: u32, source: Source },
}

impl<'s, 'p, 'm> Search<'s, 'p, 'm> {
    pub(crate) fn new(
        graphs: &'s Graphs<'p>,
        facts: &'s mut Facts,
        meter: &'s mut Meter<'m>,
    ) -> Search<'s, 'p, 'm> {
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
            todo: VecDeque::new(),
            scratch: Vec::new(),
        }
    }

    /// Adds a goal.
    pub(crate) fn goal(&mut self, demand: Demand, goal: Goal) -> Result<(), Limit> {
        self.goals.push(goal);
        self.add(&demand, Origin::Goal(self.goals.len() as u32 - 1))
    }

    /// Searches until a demand is found that an initial state meets, or until there is nothing
    /// left to find.
    pub(crate) fn run(&mut self) -> Result<(), Limit> {
        while self.found.is_none()
            && let Some(id) = self.todo.pop_front()
        {
            if !self.entries[id as usize].replaced {
                self.expand(id)?;
            }
        }
        Ok(())
    }

    pub(crate) fn origin(&self, id: u32) -> Origin {
        self.entries[id as usize].origin
    }

    pub(crate) fn demand(&self, id: u32) -> Demand {
        let entry = &self.entries[id as usize];
        Demand::unpack(self.keys.get(entry.key), self.packed(id))
    }

    fn packed(&self, id: u32) -> &[u32] {
        let entry = &self.entries[id as usize];
        &self.words[entry.start..entry.start + entry.len as usize]
    }

    fn expand(&mut self, id: u32) -> Result<(), Limit> {
        let demand = self.demand(id);
        // If a thread has to take a load, that can be the next step backwards: it changes nothing
        // but what this thread wants, and asks for nothing that other steps could change.
        let only = (0..demand.locals.len()).find(|&t| {
            let local = demand.locals[t];
            local != ANY && self.facts.ways(self.graphs, t, local).loads_only
        });
        let threads = only.map_or(0..demand.locals.len(), |t| t..t + 1);
        for t in threads {
            let arcs = match demand.locals[t] {
                ANY => self.useful_writes(&demand, t),
                local => self.facts.ways(self.graphs, t, local).arcs.clone(),
            };
            for arc in arcs {
                self.step_back(id, &demand, arc)?;
                if self.found.is_some() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn step_back(&mut self, id: u32, demand: &Demand, arc: u32) -> Result<(), Limit> {
        let graphs = self.graphs;
        let step = graphs.arcs[arc as usize];
        let (t, from) = (step.thread as usize, step.from);
        let mut before: Vec<(Demand, Source)> = Vec::new();
        match step.label {
            Label::Silent => {}
            Label::Load(item) => {
                let pending = self.facts.can_be_pending(t, from, item);
                demand.wants[t].before_load(graphs, item, pending, |wants, source| {
                    let mut demand = demand.clone();
                    demand.wants[t] = wants;
                    demand.locals[t] = from;
                    demand.settle();
                    before.push((demand, source));
                });
            }
            Label::Store(item) => {
                demand.before_store(graphs, t, from, item, &mut |d| {
                    before.push((d, Source::Memory));
                });
            }
            Label::Atomic(a) => {
                let atomic = &graphs.atomics[a as usize];
                let effects = (&atomic.reads[..], &atomic.writes[..]);
                demand.before_atomic(graphs, t, from, effects, &mut |d| {
                    before.push((d, Source::Memory));
                });
            }
        }
        for (demand, source) in before {
            self.add(&demand, Origin::Step { next: id, arc, source })?;
        }
        Ok(())
    }

    /// The writes of a thread in any local state that could give what is wanted.
    fn useful_writes(&self, demand: &Demand, t: usize) -> Vec<u32> {
        let wanted = |item: &Item| {
            demand.pins.contains(item) || demand.wants.iter().any(|w| w.reads.contains(item))
        };
        let useful = |label: Label| match label {
            Label::Silent | Label::Load(_) => false,
            Label::Store(item) => wanted(&item),
            Label::Atomic(a) => self.graphs.atomics[a as usize].writes.iter().any(wanted),
        };
        let arcs = self.graphs.arcs.iter().enumerate();
        let useful = arcs.filter(|(_, arc)| arc.thread as usize == t && useful(arc.label));
        useful.map(|(a, _)| a as u32).collect()
    }

    /// Adds a demand unless it is hopeless or as strong as another.
    fn add(&mut self, demand: &Demand, origin: Origin) -> Result<(), Limit> {
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

    fn add_packed(&mut self, demand: &Demand, packed: &[u32], origin: Origin) -> Result<(), Limit> {
        let signature = demand.signature();
        if self.has_weaker(demand, signature, packed)? {
            return Ok(());
        }
        let (key, new) = self.keys.insert(&demand.locals);
        if new {
            self.weakest.push(Vec::new());
            let pattern: Vec<bool> = demand.locals.iter().map(|&q| q == ANY).collect();
            if !self.patterns.contains(&pattern) {
                self.patterns.push(pattern);
            }
        }
        let mut kept = std::mem::take(&mut self.weakest[key as usize]);
        for _ in 0..kept.len() / 64 {
            self.work()?;
        }
        kept.retain(|&(other, id)| {
            let replaced = signature & !other == 0 && is_weaker(packed, self.packed(id));
            self.entries[id as usize].replaced |= replaced;
            !replaced
        });
        let id = self.entries.len() as u32;
        kept.push((signature, id));
        self.weakest[key as usize] = kept;
        let start = self.words.len();
        self.words.extend_from_slice(packed);
        let len = packed.len() as u32;
        self.entries.push(Entry { key, start, len, replaced: false, origin });
        self.todo.push_back(id);
        self.meter.states += 1;
        if self.is_initial(demand) {
            self.found = Some(id);
        }
        Ok(())
    }

    fn has_weaker(
        &mut self,
        demand: &Demand,
        signature: u64,
        packed: &[u32],
    ) -> Result<bool, Limit> {
        let mut locals = demand.locals.clone();
        for p in 0..self.patterns.len() {
            let pattern = &self.patterns[p];
            let fits = demand.locals.iter().zip(pattern).all(|(&q, &any)| any || q != ANY);
            if !fits {
                continue;
            }
            for ((to, &q), &any) in locals.iter_mut().zip(&demand.locals).zip(pattern) {
                *to = if any { ANY } else { q };
            }
            let Some(key) = self.keys.find(&locals) else { continue };
            let kept = &self.weakest[key as usize];
            let weaker =
                |&(s, id): &(u64, u32)| s & !signature == 0 && is_weaker(self.packed(id), packed);
            if kept.iter().any(weaker) {
                return Ok(true);
            }
            for _ in 0..kept.len() / 64 {
                self.work()?;
            }
        }
        Ok(false)
    }

    fn is_initial(&mut self, demand: &Demand) -> bool {
        demand
            .locals
            .iter()
            .enumerate()
            .all(|(t, &q)| q == ANY || self.facts.ways(self.graphs, t, q).initial)
            && demand.initial_memory(self.graphs).is_some()
    }

    /// One unit of work; also for goals while they are put together.
    pub(crate) fn work(&mut self) -> Result<(), Limit> {
        let Search { graphs, meter, keys, words, entries, todo, .. } = self;
        meter.work(|| {
            let bytes = keys.bytes()
                + words.capacity() * 4
                + entries.capacity() * (size_of::<Entry>() + 16)
                + todo.capacity() * 4;
            (todo.len() as u64, bytes as u64 + graphs.bytes() + facts::bytes(graphs))
        })
    }
}
