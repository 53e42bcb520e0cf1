//! All final states, by the order of writes.
//!
//! Fix the order in which writes reach memory and who made each. Then no thread's behaviour
//! depends on another's any more: between two writes each thread moves through its own local
//! states, reading a memory that does not change. So the search keeps, for one order of writes so
//! far, the memory and *per thread the set* of local states in which it can be; the reachable
//! states of the machine are exactly the product of these sets. A node has one successor per
//! (thread, next memory): the writing thread keeps only the local states that can make this write,
//! the other threads keep all of theirs, and each set is closed under what its thread can do
//! while memory stays as it is. A write of the value that is already there changes nothing that
//! anyone can see and counts as such a silent step.
//!
//! Loads multiply states of the machine but not nodes: five threads that each store once and
//! load four times have 59 million states under TSO, but only 326 orders of writes.
//! Cost: nodes times the size of the sets. The number of nodes can grow like the number of
//! interleavings of writes when somebody reads them all; [`explicit`](crate::buffers::explicit) does
//! better then, and [`outcomes`](crate::buffers::outcomes) takes whichever ends first.

use rustc_hash::{FxHashMap, FxHashSet};
use weakspot_core::{Factor, Model, OutcomeSet, PointId, Program, Value};

use crate::buffers::local::Move;
use crate::buffers::space::{Effect, Ended, Space, Stop, Until};
use crate::buffers::turn::Turn;
use crate::intern::Interner;
use crate::keep::{In, NotKept, Out};
use crate::meter::Meter;

/// A finished or interrupted search.
pub(crate) struct WriteOrder<'p> {
    pub(crate) space: Space<'p>,
    /// Per node the memory and one set per thread.
    pub(crate) nodes: Interner<u32>,
    /// Per node the node before it and the thread that wrote, or [`NOBODY`]; roots point at
    /// themselves.
    pub(crate) parents: Vec<(u32, u32)>,
    /// If there are threads that are alike: per node the place of each of its sets in the node
    /// before it.
    places: Vec<u16>,
    /// Per thread; those of threads that are alike are with the first.
    pub(crate) sets: Vec<ThreadSets>,
    /// What the final states of a node are a product of: its node, the observed memory, and per
    /// thread the observed registers; each product once.
    products: Vec<(u32, Vec<u32>)>,
    known_products: FxHashSet<Vec<u32>>,
    rows: Interner<Value>,
    memory_columns: Vec<usize>,
    /// The first node in which a forbidden combination of control points is reached: which
    /// combination, and which thread is then inside of an atomic block.
    pub(crate) forbidden: Option<(u32, usize, Option<usize>)>,
    closures: FxHashMap<(u32, u32, u32), u32>,
    work: u64,
    until: Until,
    /// The first node that was not looked at.
    next: u32,
}

/// The sets of local states of one thread, each with what is asked of it again and again.
pub(crate) struct ThreadSets {
    pub(crate) sets: Interner<u32>,
    facts: Vec<Facts>,
    columns: Vec<usize>,
    finals: Interner<u32>,
    /// Per local state the observed registers if it is final, else `NONE`; as far as they are known.
    final_row: FxHashMap<u32, u32>,
    mark: Vec<u32>,
    stamp: u32,
    /// Growth of the buffer was looked for.
    checked: bool,
}

#[derive(Clone, Copy)]
struct Facts {
    /// The locations on whose contents the closure of the set depends.
    touches: u64,
    /// The observed registers of its final states, as a set of rows; `NONE` if there are none.
    finals: u32,
}

const NONE: u32 = u32::MAX;

/// Who makes a value of a sampled location become lost.
pub(crate) const NOBODY: u32 = u32::MAX;

impl<'p> WriteOrder<'p> {
    /// Before its first node.
    pub(crate) fn new(program: &'p Program, model: Model, buffer: usize, until: Until) -> Self {
        let space = Space::new(program, model, buffer, until.points_count(program));
        let sets = (0..program.threads.len())
            .map(|t| ThreadSets {
                sets: Interner::new(),
                facts: Vec::new(),
                columns: space.columns(Some(t)),
                finals: Interner::new(),
                final_row: FxHashMap::default(),
                mark: Vec::new(),
                stamp: 0,
                checked: false,
            })
            .collect();
        WriteOrder {
            memory_columns: space.columns(None),
            space,
            nodes: Interner::new(),
            parents: Vec::new(),
            places: Vec::new(),
            sets,
            products: Vec::new(),
            known_products: FxHashSet::default(),
            rows: Interner::new(),
            forbidden: None,
            closures: FxHashMap::default(),
            work: 0,
            until,
            next: 0,
        }
    }

    /// Searches until done, stopped, or what it was made for is met.
    pub(crate) fn search(&mut self, turn: &Turn<'_>, meter: &mut Meter<'_>) -> Ended {
        match self.run(turn, meter) {
            Ok(()) => Ended::Complete,
            Err(Stop::OutOfWork) => Ended::OutOfWork,
            Err(stop) => Ended::Stopped(stop),
        }
    }

    fn add_initial(&mut self, meter: &mut Meter<'_>) -> Result<(), Stop> {
        let n = self.space.threads.len();
        for mem in self.space.initial_memories(meter)? {
            let mut node = vec![mem];
            for t in 0..n {
                let t = self.space.alike.first[t];
                let start = self.space.threads[t].initial();
                node.push(self.close(t, vec![start], u64::MAX, mem, meter)?);
            }
            self.add_node(node, None);
        }
        Ok(())
    }

    fn run(&mut self, turn: &Turn<'_>, meter: &mut Meter<'_>) -> Result<(), Stop> {
        if self.next == 0 {
            self.add_initial(meter)?;
        }
        let n = self.space.threads.len();
        let mut node: Vec<u32> = Vec::with_capacity(n + 1);
        while (self.next as usize) < self.nodes.len() {
            let next = self.next;
            if turn.is_due(next, 16) {
                turn.keep(meter.states, |out| self.keep(out));
            }
            node.clear();
            node.extend_from_slice(self.nodes.get(next));
            meter.states += 1;
            self.note_finals(next, &node, meter)?;
            if self.forbidden.is_none() && self.until.points_count(self.space.program) {
                self.note_forbidden(next, &node, meter)?;
            }
            for t in 0..n {
                if !self.space.alike.repeats(&node[1..], t) {
                    self.writes_of(next, t, &node, meter)?;
                }
            }
            for after in self.space.mems.losses(node[0]) {
                self.add_successor(next, None, &node, after, meter)?;
            }
            let violated = self.forbidden.is_some() || self.space.assertion.is_some();
            if self.until.violation && violated {
                return Ok(());
            }
            self.next += 1;
        }
        Ok(())
    }

    /// Writes the search as it is between two nodes, before anything forbidden was found.
    fn keep(&self, out: &mut Out<'_>) {
        fn number(out: &mut Out<'_>, n: u32) {
            out.number(n.into());
        }
        self.space.keep(out);
        out.number(self.next.into());
        out.number(self.work);
        self.rows.keep(out, Out::value);
        for sets in &self.sets {
            sets.sets.keep(out, number);
            sets.finals.keep(out, number);
            for facts in &sets.facts {
                out.number(facts.touches);
                out.number(facts.finals.into());
            }
            out.number(sets.checked.into());
        }
        out.number(self.nodes.len() as u64);
        for id in 0..self.nodes.len() {
            self.nodes.get(id as u32).iter().for_each(|&part| number(out, part));
            let (from, thread) = self.parents[id];
            number(out, id as u32 - from);
            number(out, thread);
        }
        self.places.iter().for_each(|&place| out.number(place.into()));
        out.number(self.products.len() as u64);
        for (node, parts) in &self.products {
            number(out, *node);
            parts.iter().for_each(|&part| number(out, part));
        }
        out.number(self.closures.len() as u64);
        for (&(t, set, mem), &closed) in &self.closures {
            [t, set, mem, closed].into_iter().for_each(|n| number(out, n));
        }
    }

    /// Reads it, before the first node.
    pub(crate) fn resume(
        &mut self,
        from: &mut In<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<(), NotKept> {
        let below = |most: usize| move |n: &u32| (*n as usize) < most;
        fn number(from: &mut In<'_>) -> Result<u32, NotKept> {
            from.at_most(u32::MAX)
        }
        self.space.resume(from, meter)?;
        let n = self.sets.len();
        self.next = number(from)?;
        self.work = from.number()?;
        self.rows.resume(from, In::value, |_| true)?;
        let rows = self.rows.len();
        for (t, sets) in self.sets.iter_mut().enumerate() {
            let locals = self.space.threads[t].len();
            sets.sets.resume(from, number, |set| set.iter().all(below(locals)))?;
            sets.finals.resume(from, number, |set| set.iter().all(below(rows)))?;
            let finals = sets.finals.len();
            for _ in 0..sets.sets.len() {
                let facts = Facts { touches: from.number()?, finals: number(from)? };
                if facts.finals != NONE && !below(finals)(&facts.finals) {
                    return Err(NotKept::Damaged);
                }
                sets.facts.push(facts);
            }
            sets.checked = from.at_most(1)? == 1;
        }
        let count = number(from)?;
        let mut node = vec![0; n + 1];
        for id in 0..count {
            meter.work(|| (0, self.bytes() as u64)).map_err(NotKept::Limit)?;
            for part in &mut node {
                *part = number(from)?;
            }
            let (back, thread) = (from.at_most(id)?, number(from)?);
            let is_good = self.is_row(&node) && (thread == NOBODY || (thread as usize) < n);
            if !is_good || self.nodes.insert(&node).0 != id {
                return Err(NotKept::Damaged);
            }
            self.parents.push((id - back, thread));
        }
        if !self.space.alike.classes.is_empty() {
            for _ in 0..count as usize * n {
                self.places.push(from.at_most(n as u32 - 1)? as u16);
            }
        }
        for _ in 0..number(from)? {
            let node = from.at_most(count.saturating_sub(1))?;
            let parts = (0..=n).map(|_| number(from)).collect::<Result<Vec<_>, _>>()?;
            let is_good = below(rows)(&parts[0])
                && parts[1..]
                    .iter()
                    .zip(&self.space.alike.first)
                    .all(|(&part, &first)| (part as usize) < self.sets[first].finals.len());
            if !is_good || !self.known_products.insert(parts.clone()) {
                return Err(NotKept::Damaged);
            }
            self.products.push((node, parts));
        }
        for _ in 0..number(from)? {
            let (t, set, mem) = (from.at_most(n as u32 - 1)?, number(from)?, number(from)?);
            let closed = number(from)?;
            let is_set = below(self.sets[t as usize].sets.len());
            if !is_set(&set) || !is_set(&closed) || !self.space.is_memory(mem) {
                return Err(NotKept::Damaged);
            }
            self.closures.insert((t, set, mem), closed);
        }
        if self.next == 0 || self.next >= count { Err(NotKept::Damaged) } else { Ok(()) }
    }

    /// Whether the numbers of a node stand for something.
    fn is_row(&self, node: &[u32]) -> bool {
        let is_set = |(&set, &first): (&u32, &usize)| (set as usize) < self.sets[first].sets.len();
        self.space.is_memory(node[0]) && node[1..].iter().zip(&self.space.alike.first).all(is_set)
    }

    fn add_node(&mut self, mut node: Vec<u32>, from: Option<(u32, u32)>) {
        let places = self.space.alike.sort(&mut node[1..]);
        let (id, new) = self.nodes.insert(&node);
        if new {
            self.parents.push(from.unwrap_or((id, 0)));
            self.places.extend(places.unwrap_or_default());
        }
    }

    /// Where the set at `place` of `node` was in the node before it.
    pub(crate) fn place_before(&self, node: u32, place: usize) -> usize {
        let at = node as usize * self.sets.len() + place;
        self.places.get(at).map_or(place, |&before| usize::from(before))
    }

    /// Adds the successors of a node in which thread `t` writes.
    fn writes_of(
        &mut self,
        id: u32,
        t: usize,
        node: &[u32],
        meter: &mut Meter<'_>,
    ) -> Result<(), Stop> {
        let (mem, first) = (node[0], self.space.alike.first[t]);
        let mut groups: Vec<(u32, Vec<u32>)> = Vec::new();
        for i in 0..self.sets[first].sets.get(node[t + 1]).len() {
            let local = self.sets[first].sets.get(node[t + 1])[i];
            self.space.effects(first, local, mem, meter, &mut |effect| {
                if let Effect::Memory(after, next) = effect {
                    match groups.iter_mut().find(|(m, _)| *m == after) {
                        Some((_, group)) => group.push(next),
                        None => groups.push((after, vec![next])),
                    }
                }
            })?;
        }
        for (after, group) in groups {
            self.add_successor(id, Some((t, group)), node, after, meter)?;
        }
        Ok(())
    }

    /// Adds the successor of a node in which memory is `after`, and the thread that wrote, if it
    /// was one, in one of the given local states.
    fn add_successor(
        &mut self,
        id: u32,
        writer: Option<(usize, Vec<u32>)>,
        node: &[u32],
        after: u32,
        meter: &mut Meter<'_>,
    ) -> Result<(), Stop> {
        let changed = self.space.mems.difference(node[0], after);
        let by = writer.as_ref().map_or(NOBODY, |(t, _)| *t as u32);
        let mut successor = Vec::with_capacity(node.len());
        successor.push(after);
        for u in 0..self.sets.len() {
            let (set, first) = (node[u + 1], self.space.alike.first[u]);
            successor.push(match &writer {
                Some((t, group)) if *t == u => {
                    self.close(first, group.clone(), u64::MAX, after, meter)?
                }
                _ if self.sets[first].facts[set as usize].touches & changed == 0 => set,
                _ => self.reclose(first, set, changed, after, meter)?,
            });
        }
        self.add_node(successor, Some((id, by)));
        Ok(())
    }

    /// The closure in another memory, where these locations have changed, of a set that was closed
    /// in the old one.
    fn reclose(
        &mut self,
        t: usize,
        set: u32,
        changed: u64,
        mem: u32,
        meter: &mut Meter<'_>,
    ) -> Result<u32, Stop> {
        let key = (t as u32, set, mem);
        if let Some(&known) = self.closures.get(&key) {
            return Ok(known);
        }
        let closed = self.close(t, self.sets[t].sets.get(set).to_vec(), changed, mem, meter)?;
        self.closures.insert(key, closed);
        Ok(closed)
    }

    /// The set of local states that thread `t` can reach from `set` while memory stays `mem`. Those
    /// of `set` that depend on none of the `changed` locations lead only to others of `set`.
    fn close(
        &mut self,
        t: usize,
        set: Vec<u32>,
        changed: u64,
        mem: u32,
        meter: &mut Meter<'_>,
    ) -> Result<u32, Stop> {
        self.sets[t].stamp += 1;
        let stamp = self.sets[t].stamp;
        let mut touches = 0;
        let mut closed: Vec<u32> = Vec::with_capacity(set.len());
        let mut todo: Vec<u32> = Vec::new();
        for local in set {
            let own = self.touches(t, local);
            if self.sets[t].first_visit(local, stamp) {
                match changed == u64::MAX || own & changed != 0 {
                    true => todo.push(local),
                    false => closed.push(local),
                }
                touches |= own;
            }
        }
        let mut next = 0;
        while next < todo.len() {
            let local = todo[next];
            next += 1;
            self.work += 1;
            // A set may be infinite: the work is counted here, not once per node.
            if self.work > self.until.work {
                return Err(Stop::OutOfWork);
            }
            let this = &*self;
            meter.work(|| (0, this.bytes() as u64)).map_err(Stop::Limit)?;
            let sets = &mut self.sets[t];
            self.space.effects(t, local, mem, meter, &mut |effect| {
                if let Effect::Local(to) = effect
                    && sets.first_visit(to, stamp)
                {
                    todo.push(to);
                }
            })?;
            touches |= self.touches(t, local);
        }
        if self.space.threads[t].was_full && !std::mem::replace(&mut self.sets[t].checked, true) {
            let all = [&closed[..], &todo].concat();
            self.space.threads[t].look_for_growth(&all, mem, &mut self.space.mems);
        }
        // A thread that runs ahead is where it gets to as well.
        todo.retain(|&local| !self.space.threads[t].is_passing(local, &mut self.space.mems));
        closed.extend(todo);
        closed.sort_unstable();
        let (id, new) = self.sets[t].sets.insert(&closed);
        if new {
            let finals = self.final_rows(t, &closed);
            self.sets[t].facts.push(Facts { touches, finals });
        }
        Ok(id)
    }

    /// The locations on whose contents it depends what thread `t` can do in `local`.
    fn touches(&mut self, t: usize, local: u32) -> u64 {
        let mut touches = 0;
        for i in self.space.threads[t].moves(local, &mut self.space.mems) {
            touches |= match self.space.threads[t].get(i) {
                Move::Silent { .. } | Move::Fail { .. } => 0,
                Move::Read { loc, .. } | Move::Write { loc, .. } | Move::Update { loc, .. } => {
                    self.space.mems.bits(loc)
                }
                Move::Block { .. } => u64::MAX,
            };
        }
        touches
    }

    /// The observed registers of the final states in `set`, as the number of a set of rows.
    fn final_rows(&mut self, t: usize, set: &[u32]) -> u32 {
        let mut rows: Vec<u32> = Vec::new();
        for &local in set {
            let row = match self.sets[t].final_row.get(&local) {
                Some(&row) => row,
                None => {
                    let locals = &self.space.threads[t];
                    let mut number = NONE;
                    if locals.is_final(local) {
                        let columns = &self.sets[t].columns;
                        let row = self.space.observe_regs(columns, locals.regs(local));
                        number = self.rows.insert(&row).0;
                    }
                    self.sets[t].final_row.insert(local, number);
                    number
                }
            };
            if row != NONE {
                rows.push(row);
            }
        }
        if rows.is_empty() {
            return NONE;
        }
        rows.sort_unstable();
        rows.dedup();
        self.sets[t].finals.insert(&rows).0
    }

    /// Notes the final states of a node, and those in which a thread ends inside a block.
    fn note_finals(&mut self, id: u32, node: &[u32], meter: &mut Meter<'_>) -> Result<(), Stop> {
        let first = self.space.alike.first.clone();
        let finals: Vec<u32> = first
            .iter()
            .zip(&node[1..])
            .map(|(&f, &set)| self.sets[f].facts[set as usize].finals)
            .collect();
        self.note_product(id, node[0], finals.clone());
        for t in 0..self.sets.len() {
            if (0..finals.len()).any(|u| u != t && finals[u] == NONE) {
                continue;
            }
            for runs in self.blocks_of(t, node, meter)? {
                for (mem, regs, _) in &runs.ends {
                    let sets = &mut self.sets[first[t]];
                    let row = self.space.observe_regs(&sets.columns, regs);
                    let row = self.rows.insert(&row).0;
                    let mut finals = finals.clone();
                    finals[t] = sets.finals.insert(&[row]).0;
                    self.note_product(id, *mem, finals);
                }
            }
        }
        Ok(())
    }

    fn note_product(&mut self, id: u32, mem: u32, finals: Vec<u32>) {
        if finals.contains(&NONE) || !self.space.may_be_final(mem) {
            return;
        }
        let row = self.space.observe_memory(&self.memory_columns, mem);
        let mut product = vec![self.rows.insert(&row).0];
        product.extend(finals);
        let mut sorted = product.clone();
        self.space.alike.sort(&mut sorted[1..]);
        if self.known_products.insert(sorted) {
            self.products.push((id, product));
        }
    }

    /// The blocks that thread `t` can enter in a node.
    fn blocks_of(
        &mut self,
        t: usize,
        node: &[u32],
        meter: &mut Meter<'_>,
    ) -> Result<Vec<std::rc::Rc<crate::buffers::block::BlockRuns>>, Stop> {
        let mut found = Vec::new();
        let first = self.space.alike.first[t];
        if self.sets[first].facts[node[t + 1] as usize].touches != u64::MAX {
            return Ok(found);
        }
        for local in self.sets[first].sets.get(node[t + 1]).to_vec() {
            for i in self.space.threads[first].moves(local, &mut self.space.mems) {
                if let Move::Block { edge } = self.space.threads[first].get(i) {
                    found.push(self.space.block(first, local, edge, node[0], meter)?);
                }
            }
        }
        Ok(found)
    }

    fn note_forbidden(&mut self, id: u32, node: &[u32], meter: &mut Meter<'_>) -> Result<(), Stop> {
        let n = self.sets.len();
        let mut outside: Vec<FxHashSet<PointId>> = Vec::with_capacity(n);
        let mut inside: Vec<FxHashSet<PointId>> = Vec::with_capacity(n);
        for t in 0..n {
            let set = self.sets[t].sets.get(node[t + 1]);
            outside.push(set.iter().map(|&l| self.space.threads[t].point(l)).collect());
            let blocks = self.blocks_of(t, node, meter)?;
            let points = blocks.iter().flat_map(|b| b.points.iter().map(|(p, _)| *p));
            inside.push(points.collect());
        }
        // At most one thread is inside of a block, and then all others are outside.
        let at = |points: &FxHashSet<PointId>, wanted: Option<PointId>| {
            wanted.is_none_or(|p| points.contains(&p))
        };
        for (c, combination) in self.space.program.forbidden.iter().enumerate() {
            for within in std::iter::once(None).chain((0..n).map(Some)) {
                let met = (0..n).all(|t| {
                    let points = if Some(t) == within { &inside[t] } else { &outside[t] };
                    at(points, combination[t])
                });
                // A thread that may be anywhere need not be inside of a block.
                if met && within.is_none_or(|t| combination[t].is_some()) {
                    self.forbidden = Some((id, c, within));
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Bytes in use.
    pub(crate) fn bytes(&self) -> usize {
        let products = self.products.len() * (self.sets.len() * 8 + 120);
        let sets = self.sets.iter().map(|s| s.sets.bytes() + s.facts.capacity() * 16);
        self.space.bytes()
            + self.nodes.bytes()
            + self.parents.capacity() * 8
            + self.places.capacity() * 2
            + sets.sum::<usize>()
            + self.closures.capacity() * 20
            + products
    }

    /// How many products of final states were found.
    pub(crate) fn products(&self) -> usize {
        self.products.len()
    }

    /// The final states that were found, as many as `go_on` allows.
    pub(crate) fn outcomes(&self, go_on: &mut dyn FnMut(usize, usize) -> bool) -> OutcomeSet {
        let expand = |rows: &[u32]| -> Vec<Vec<Value>> {
            rows.iter().map(|&r| self.rows.get(r).to_vec()).collect()
        };
        // Each set of rows is expanded once and shared by the products that use it.
        let mut memory_rows: FxHashMap<u32, Vec<Vec<Value>>> = FxHashMap::default();
        for (_, product) in &self.products {
            memory_rows.entry(product[0]).or_insert_with(|| expand(&[product[0]]));
        }
        let thread_rows: Vec<Vec<Vec<Vec<Value>>>> = self
            .sets
            .iter()
            .map(|s| (0..s.finals.len()).map(|f| expand(s.finals.get(f as u32))).collect())
            .collect();
        // Threads that are alike may change places in each product.
        let mut arranged: Vec<(u32, Vec<u32>)> = Vec::new();
        for (_, product) in &self.products {
            self.space.alike.arrangements(&product[1..], &mut |sets| {
                arranged.push((product[0], sets.to_vec()));
                let bytes = arranged.len() * (self.sets.len() * 28 + 48);
                self.space.alike.classes.is_empty() || go_on(0, bytes)
            });
        }
        let products: Vec<Vec<Factor<'_>>> = arranged
            .iter()
            .map(|(memory, sets)| {
                let rows = &memory_rows[memory];
                let mut factors = vec![Factor { columns: &self.memory_columns, rows }];
                for (t, &set) in sets.iter().enumerate() {
                    let rows = &thread_rows[self.space.alike.first[t]][set as usize];
                    factors.push(Factor { columns: &self.sets[t].columns, rows });
                }
                factors
            })
            .collect();
        OutcomeSet::union(self.space.program.observed.len(), &products, go_on)
    }

    /// The first node that has `outcome` among its final states, and which thread stands at each
    /// place there.
    pub(crate) fn node_with(&self, outcome: &[Value]) -> Option<(u32, Vec<usize>)> {
        let pick = |columns: &[usize]| columns.iter().map(|&c| outcome[c]).collect::<Vec<_>>();
        let memory = pick(&self.memory_columns);
        let regs: Vec<Vec<Value>> = self.sets.iter().map(|s| pick(&s.columns)).collect();
        let alike = &self.space.alike;
        self.products.iter().find_map(|(id, product)| {
            if self.rows.get(product[0]) != memory {
                return None;
            }
            let who = alike.assign(self.sets.len(), &mut |place, thread| {
                let finals = &self.sets[alike.first[place]].finals;
                let rows = finals.get(product[place + 1]).iter();
                rows.into_iter().any(|&r| self.rows.get(r) == regs[thread])
            })?;
            Some((*id, who))
        })
    }
}

impl ThreadSets {
    fn first_visit(&mut self, local: u32, stamp: u32) -> bool {
        let i = local as usize;
        if self.mark.len() <= i {
            self.mark.resize(i + 1, 0);
        }
        std::mem::replace(&mut self.mark[i], stamp) != stamp
    }
}
