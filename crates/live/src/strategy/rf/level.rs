//! An execution that was run to its end, and the larger parts that are to be explored because of it.

use std::hash::{DefaultHasher, Hash, Hasher};

use rustc_hash::FxHashMap;

use super::execution::{Event, Execution, Id, NONE, Part, reads};
use super::linear::{Changed, Found, order};
use crate::{Agent, Op, OpKind};

/// So often it is tried to keep more of an execution.
const MOST_TRIED: usize = 64;
/// Executions with more steps are not learnt from.
const MOST_LEARNT: usize = 1000;
/// So many ways are looked at in which a read may read its bytes from several writes.
const MOST_WAYS: usize = 256;

/// An execution and what it leads to.
#[derive(Clone, Debug)]
pub(super) struct Level {
    execution: Execution,
    /// The part that is explored, by place.
    part: Vec<bool>,
    pairs: Vec<Pair>,
    /// How many of them were looked at.
    done: usize,
    /// The reads of threads that wait for ever in it, as far as that is why it was run.
    pub(super) waiting: Vec<Id>,
    /// The last event ended the program before the others were over.
    ended_early: bool,
    /// There were too many of them.
    pub(super) cut: bool,
}

/// An event of a part, by name, and what it reads.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) id: Id,
    parts: Vec<Part>,
}

/// A read that may read something else, per cell.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    read: u32,
    from: Vec<u32>,
    /// Whether all that has it was explored because of it.
    explored: bool,
}

/// A larger part, because of a pair.
pub(super) struct Larger {
    pair: Pair,
    set: Vec<bool>,
}

/// How the execution of a part begins.
pub(super) enum Planned {
    /// Like this; and whether it may prove impossible.
    Order(Vec<(Agent, Op)>, bool),
    /// There is none.
    Impossible,
    /// Nobody knows.
    Unknown,
}

impl Level {
    /// The level of an execution that was to have this part; `None` if it does not. `all`: what was
    /// about to be done at its end could have been done.
    pub(super) fn new(
        execution: Execution,
        wanted: &[Wanted],
        all: bool,
        ended_early: bool,
    ) -> Option<Level> {
        let mut part = vec![false; execution.events.len()];
        for w in wanted {
            let at = execution.place(w.id)?;
            if !execution.has_taken(w.id) || execution.parts(at) != w.parts {
                return None;
            }
            part[at as usize] = true;
        }
        // What turned out to be an update has waited for its buffer.
        let varies = |&at: &usize| part[at] && execution.events[at].varies;
        for at in (0..part.len()).filter(varies).collect::<Vec<_>>() {
            execution.add_needs(at as u32, &mut part);
        }
        let (pairs, waiting) = (Vec::new(), Vec::new());
        let mut level = Level { execution, part, pairs, done: 0, waiting, ended_early, cut: false };
        level.find_pairs(all);
        level.cut |= level.execution.frees_what_others_store();
        Some(level)
    }

    /// Leaves out all pairs but those in which another thread reads in a loop what it has read before:
    /// this execution is a part of another one, which has the same pairs otherwise.
    /// `waiting` are the reads of those that wait already.
    pub(super) fn retain_waiting(&mut self, waiting: Vec<Id>) {
        let run = &self.execution;
        self.pairs.retain(|pair| {
            is_again(run, pair) && !waiting.contains(&run.events[pair.read as usize].id)
        });
        self.waiting = waiting;
    }

    /// The pair at hand has shown only what becomes of it if its thread waits.
    pub(super) fn waited(&mut self) {
        self.pairs[self.done - 1].explored = false;
    }

    /// Whether all pairs were looked at.
    pub(super) fn is_done(&self) -> bool {
        self.done == self.pairs.len()
    }

    /// The next pair.
    pub(super) fn next(&mut self) -> Option<Pair> {
        let pair = self.pairs.get(self.done).cloned();
        self.done += usize::from(pair.is_some());
        pair
    }

    fn find_pairs(&mut self, all: bool) {
        let run = &self.execution;
        let mut pairs = Vec::new();
        for read in (0..run.events.len()).filter(|&at| reads(run.events[at].op) && !self.part[at]) {
            let e = &run.events[read];
            let (read, mut ways) = (read as u32, vec![Vec::new()]);
            for cell in e.cells.0..e.cells.1 {
                // Cells that the same events write are read alike.
                let same = |&c: &usize| run.writers[c] == run.writers[cell];
                let like = (e.cells.0..cell).find(same).map(|c| c - e.cells.0);
                let may = like.map_or_else(|| self.sources(read, cell), |_| Vec::new());
                let longer = ways.iter().flat_map(|way: &Vec<u32>| {
                    let froms = like.map_or_else(|| may.clone(), |n| vec![way[n]]);
                    froms.into_iter().map(|from| [&way[..], &[from]].concat())
                });
                ways = longer.take(MOST_WAYS + 1).collect();
                self.cut |= ways.len() > MOST_WAYS;
            }
            // What comes after it here only because it let a thread go on may do so elsewhere, or not.
            let after = |&from: &u32| from != NONE && run.before(read, from);
            // Who waits at the end does so because of what is there.
            let cells = e.cells.0..e.cells.1;
            let there = cells.map(|cell| run.writers[cell].last().copied().unwrap_or(NONE));
            let there: Vec<u32> = there.collect();
            let waits = read as usize >= run.taken && !all;
            let now = if waits { &there } else { &e.from };
            for from in ways.into_iter().filter(|way| way != now) {
                if from.iter().any(after) {
                    self.cut = true;
                } else {
                    pairs.push(Pair { read, from, explored: true });
                }
            }
        }
        self.pairs = pairs;
    }

    /// What a read may read a cell from.
    fn sources(&self, read: u32, cell: usize) -> Vec<u32> {
        let run = &self.execution;
        let e = &run.events[read as usize];
        let current = e.from.get(cell - e.cells.0).copied();
        let writers = &run.writers[cell];
        let own = run.own_store(e.id.0, read, cell);
        let needed = self.needed_writers(read, cell);
        let mut sources = Vec::from_iter(own);
        for (i, from) in [NONE].into_iter().chain(writers.iter().copied()).enumerate() {
            // Its own store covers what was there at the beginning; its commit is the store.
            let known =
                own.is_some_and(|own| from == NONE || run.events[own as usize].partner == from);
            // Nothing can be taken before what frees it.
            let freed = writers.get(i).map(|&w| run.events[w as usize].op.kind);
            let held = e.op.kind == OpKind::Acquire && freed == Some(OpKind::Release);
            let possible = !(known || held || from == read);
            if Some(from) == current || possible && !self.covered(read, from, &needed) {
                sources.push(from);
            }
        }
        sources.sort_unstable();
        sources.dedup();
        sources
    }

    /// What a read needs of those who write a cell, of each agent the last: what comes before an earlier one
    /// comes before that, too.
    fn needed_writers(&self, read: u32, cell: usize) -> Vec<u32> {
        let run = &self.execution;
        let agent = |w: u32| run.events[w as usize].id.0;
        let mut last: Vec<u32> = Vec::new();
        for &w in run.writers[cell].iter().filter(|&&w| run.needed(w, read)) {
            match last.iter_mut().find(|l| agent(**l) == agent(w)) {
                Some(l) => *l = w,
                None => last.push(w),
            }
        }
        last
    }

    /// Whether a read cannot read from a write because of what both need.
    fn covered(&self, read: u32, from: u32, needed: &[u32]) -> bool {
        let run = &self.execution;
        if from == NONE {
            return !needed.is_empty();
        }
        let between = |&w: &u32| w != from && run.surely_before(from, w);
        run.surely_before(read, from) || needed.iter().any(between)
    }

    /// Whether a read reads from a store of its own thread in its buffer.
    fn is_own(&self, read: u32, from: u32) -> bool {
        let run = &self.execution;
        from != NONE
            && run.hidden(run.events[from as usize].op)
            && run.events[from as usize].id.0 == run.events[read as usize].id.0
    }

    /// What a pair needs: the past of both.
    fn needs(&self, pair: &Pair) -> Vec<bool> {
        let run = &self.execution;
        let mut set = vec![false; run.events.len()];
        run.add_needs(pair.read, &mut set);
        for &from in pair.from.iter().filter(|&&from| from != NONE) {
            run.add_past(from, &mut set);
        }
        for commit in self.commits(pair) {
            run.add_past(commit, &mut set);
        }
        set
    }

    /// The commits of its own thread that a read comes after if it reads from another one.
    fn commits(&self, pair: &Pair) -> Vec<u32> {
        let run = &self.execution;
        let e = &run.events[pair.read as usize];
        let others = (e.cells.0..).zip(&pair.from).filter(|&(_, &f)| !self.is_own(pair.read, f));
        let own = others.filter_map(|(cell, _)| run.own_store(e.id.0, pair.read, cell));
        own.map(|own| run.events[own as usize].partner).filter(|&c| c != NONE).collect()
    }

    /// The part together with a pair and what that needs.
    pub(super) fn larger(&self, pair: Pair) -> Larger {
        let mut set = self.needs(&pair);
        set[pair.read as usize] = true;
        set.iter_mut().zip(&self.part).for_each(|(set, part)| *set |= part);
        Larger { pair, set }
    }

    /// The read that a part is larger by.
    pub(super) fn id(&self, larger: &Larger) -> Id {
        self.execution.events[larger.pair.read as usize].id
    }

    /// A larger part by names.
    pub(super) fn named(&self, larger: &Larger) -> Vec<Wanted> {
        let run = &self.execution;
        let all = (0..larger.set.len() as u32).filter(|&at| larger.set[at as usize]);
        let named = all.map(|at| {
            let changed = at == larger.pair.read;
            let from = if changed { &larger.pair.from } else { &run.events[at as usize].from };
            Wanted { id: run.events[at as usize].id, parts: run.parts_from(at, from) }
        });
        named.collect()
    }

    /// Whether a part has all of one that was explored because of a pair before.
    pub(super) fn explored(&self, part: &FxHashMap<Id, &Wanted>) -> bool {
        // The last one is at hand.
        self.pairs[..self.done - 1].iter().any(|pair| pair.explored && self.has(part, pair))
    }

    fn has(&self, part: &FxHashMap<Id, &Wanted>, pair: &Pair) -> bool {
        let run = &self.execution;
        let reads = part.get(&run.events[pair.read as usize].id);
        if reads.is_none_or(|w| w.parts != run.parts_from(pair.read, &pair.from)) {
            return false;
        }
        let needs = self.needs(pair);
        let same = |at: usize| {
            let wanted = part.get(&run.events[at].id);
            wanted.is_some_and(|w| w.parts == run.parts(at as u32))
        };
        (0..needs.len()).filter(|&at| needs[at]).all(same)
    }

    /// What decides what a step does, as a number: what it reads, and the past of that.
    fn cause(&self, pair: &Pair) -> u64 {
        let run = &self.execution;
        let needs = self.needs(pair);
        let past = (0..needs.len() as u32).filter(|&at| needs[at as usize] && at != pair.read);
        // Sums of simpler hashes would collide.
        let one = |at: u32, parts: Vec<Part>| {
            let mut hasher = DefaultHasher::new();
            (run.events[at as usize].id, parts).hash(&mut hasher);
            hasher.finish()
        };
        let sum = past.fold(0_u64, |sum, at| sum.wrapping_add(one(at, run.parts(at))));
        sum.wrapping_add(one(pair.read, run.parts_from(pair.read, &pair.from)).rotate_left(1))
    }

    /// Remembers which compare-and-swaps wrote, by what decides that.
    pub(super) fn learn(&self, known: &mut FxHashMap<u64, bool>) {
        let run = &self.execution;
        if run.taken > MOST_LEARNT {
            return;
        }
        for at in (0..run.taken).filter(|&at| run.events[at].varies && !self.part[at]) {
            let Event { op, ref from, .. } = run.events[at];
            let pair = Pair { read: at as u32, from: from.clone(), explored: false };
            known.insert(self.cause(&pair), op.writes());
        }
    }

    /// How an execution begins that has a larger part, and as much of this one as agrees with it.
    pub(super) fn plan(&self, larger: Larger, known: &FxHashMap<u64, bool>) -> Planned {
        let run = &self.execution;
        let Larger { pair, set } = larger;
        let Event { op, varies, cells, .. } = run.events[pair.read as usize];
        let from = (cells.0..).zip(pair.from.iter().copied()).collect();
        let needs = self.commits(&pair);
        let mut changed = Changed { at: pair.read, from, needs, writes: false, last: false };
        let mut with = set.clone();
        let mut found = Found::None;
        // It writes or not, depending on what it reads. Who reads the same again in a loop will wait for
        // ever if nothing comes after that.
        let wrote = if varies { known.get(&self.cause(&pair)) } else { None };
        let ways = match (varies, op.writes()) {
            (true, _) if wrote == Some(&true) => &[(true, false)][..],
            (true, _) if wrote == Some(&false) => &[(false, false)],
            (true, _) => &[(true, false), (false, false)],
            (false, true) => &[(true, false)],
            (false, false) if is_again(run, &pair) => &[(false, true), (false, false)],
            (false, false) => &[(false, false)],
        };
        let needs = changed.needs.clone();
        for &(writes, last) in ways {
            changed.needs.clone_from(&needs);
            (changed.writes, changed.last) = (writes, last);
            with.clone_from(&set);
            if writes && !op.waits() {
                for commit in run.commits_of(pair.read) {
                    run.add_past(commit, &mut with);
                    changed.needs.push(commit);
                }
            }
            found = order(run, &with, &changed);
            if found != Found::None {
                break;
            }
        }
        // It may prove a write after all, or one that cannot be taken.
        let doubt = varies && !changed.writes || op.kind == OpKind::Acquire;
        let waited = |at: usize| set[at] && run.events[at].waker != NONE;
        match found {
            Found::Order(order) => {
                let order = self.keep(Larger { pair, set: with }, &changed, order);
                let step = |&at: &u32| (run.events[at as usize].id.0, run.events[at as usize].op);
                Planned::Order(order.iter().map(step).collect(), doubt)
            }
            // What let a thread go on here may be something else there.
            Found::None if (0..set.len()).any(waited) => Planned::Unknown,
            Found::None => Planned::Impossible,
            Found::GaveUp => Planned::Unknown,
        }
    }

    /// Adds as much of the execution as agrees with a part.
    fn keep(&self, larger: Larger, changed: &Changed, order_so_far: Vec<u32>) -> Vec<u32> {
        let run = &self.execution;
        let Larger { pair, mut set } = larger;
        let free = |&at: &u32| !set[at as usize] && !run.before(pair.read, at);
        let end = run.taken - usize::from(self.ended_early);
        let rest: Vec<u32> = (0..end as u32).filter(free).collect();
        let mut best = order_so_far;
        let mut ranges: Vec<_> = std::iter::once(0..rest.len()).collect();
        let mut left = MOST_TRIED;
        while let Some(range) = ranges.pop() {
            if range.is_empty() || left == 0 {
                continue;
            }
            left -= 1;
            let mut more = set.clone();
            for &at in &rest[range.clone()] {
                more[at as usize] = run.events[at as usize].past().all(|p| more[p as usize]);
            }
            if more == set {
                continue;
            }
            match order(run, &more, changed) {
                Found::Order(found) => (set, best) = (more, found),
                _ if range.len() == 1 => {}
                _ => {
                    let middle = range.start + range.len() / 2;
                    ranges.push(middle..range.end);
                    ranges.push(range.start..middle);
                }
            }
        }
        best
    }
}

/// Whether a thread would read in a loop what it has read just before.
fn is_again(run: &Execution, pair: &Pair) -> bool {
    let e = &run.events[pair.read as usize];
    let before = run.place((e.id.0, e.id.1.wrapping_sub(1)));
    before.is_some_and(|at| {
        let before = &run.events[at as usize];
        e.op.kind == OpKind::Read && before.op == e.op && before.from == pair.from
    })
}
