//! The program with some fences, without steps for the places that stay empty.
//!
//! Every empty place is an edge that does nothing, and every such edge multiplies the states of a
//! search. Here they are taken out; a run of what remains is *lifted* back to a run of the program
//! with all places, in which a thread passes an empty place as late as it can: just before its
//! next step, or at the very end.

use std::collections::HashSet;

use weakspot_core::certify;
use weakspot_core::machine::{Machine, Outcome, Schedule, Step};
use weakspot_core::{Edge, FencePlaces, Model, PlacedFence, PointId, Program, ThreadId};

/// A program without its empty places.
pub(super) struct Contracted {
    /// Its points have the numbers that they have in the program with all places.
    pub(super) program: Program,
    threads: Vec<Ways>,
}

/// Where the steps of a thread come from.
struct Ways {
    entry: PointId,
    /// For each point the empty place that is all that leaves it, unless the point has to stay.
    behind: Vec<Option<PointId>>,
    /// For each point and edge the edges that it stands for: empty places, then the edge itself
    /// with where it really leads.
    ways: Vec<Vec<(Vec<u32>, PointId)>>,
}

/// Takes the places out that hold none of `fences`.
pub(super) fn contract(places: &FencePlaces, fences: &[PlacedFence]) -> Contracted {
    let mut program = places.with(fences);
    let mut empty: Vec<HashSet<(PointId, usize)>> = vec![HashSet::new(); program.threads.len()];
    for (i, place) in places.places.iter().enumerate() {
        if fences.iter().all(|f| f.place != i) {
            for e in place {
                empty[e.thread.index()].insert((e.point, e.edge));
            }
        }
    }
    let mut threads = Vec::new();
    for (t, empty) in empty.iter().enumerate() {
        let named: HashSet<PointId> = program.forbidden.iter().filter_map(|row| row[t]).collect();
        let thread = &mut program.threads[t];
        let old: Vec<Vec<Edge>> = thread.points.iter().map(|p| p.edges.clone()).collect();
        let behind: Vec<Option<PointId>> = (0..old.len())
            .map(|p| {
                let point = PointId::new(p);
                let only = old[p].len() == 1 && empty.contains(&(point, 0));
                (only && !named.contains(&point)).then(|| old[p][0].to)
            })
            .collect();
        let mut entries = vec![0; old.len()];
        entries[thread.entry.index()] += 1;
        old.iter().flatten().for_each(|e| entries[e.to.index()] += 1);
        let mut walk = Ways { entry: thread.entry, behind, ways: Vec::new() };
        thread.entry = walk.resolve(thread.entry);
        for (p, point) in thread.points.iter_mut().enumerate() {
            let mut edges = Vec::new();
            let mut ways = Vec::new();
            let mut way = Vec::new();
            let unfold = Unfold { old: &old, empty, named: &named, entries: &entries };
            unfold.from(PointId::new(p), &mut way, &mut |way, edge| {
                ways.push((way.to_vec(), edge.to));
                edges.push(Edge { to: walk.resolve(edge.to), ..edge.clone() });
            });
            point.edges = edges;
            walk.ways.push(ways);
        }
        threads.push(walk);
    }
    Contracted { program, threads }
}

/// How deep empty places are looked through; deeper ones stay steps.
const DEEPEST: usize = 64;

struct Unfold<'a> {
    old: &'a [Vec<Edge>],
    empty: &'a HashSet<(PointId, usize)>,
    named: &'a HashSet<PointId>,
    /// How many edges lead to each point. Only points with one are looked through, so that no
    /// edge is copied.
    entries: &'a [usize],
}

impl Unfold<'_> {
    /// The edges from `point`, those behind empty places included.
    fn from(&self, point: PointId, way: &mut Vec<u32>, each: &mut dyn FnMut(&[u32], &Edge)) {
        for (i, edge) in self.old[point.index()].iter().enumerate() {
            way.push(i as u32);
            let through = self.empty.contains(&(point, i))
                && !self.named.contains(&edge.to)
                && !self.old[edge.to.index()].is_empty()
                && self.entries[edge.to.index()] == 1
                && way.len() < DEEPEST;
            match through {
                true => self.from(edge.to, way, each),
                false => each(way, edge),
            }
            way.pop();
        }
    }
}

impl Ways {
    /// The point that `point` is the same as.
    fn resolve(&self, point: PointId) -> PointId {
        let mut at = point;
        for _ in 0..self.behind.len() {
            match self.behind[at.index()] {
                Some(next) => at = next,
                None => return at,
            }
        }
        // A circle of empty places.
        point
    }

    /// The steps from `at` to the point that it is the same as.
    fn arrive(&self, thread: ThreadId, at: &mut PointId, steps: &mut Vec<Step>) {
        let goal = self.resolve(*at);
        while *at != goal {
            let Some(next) = self.behind[at.index()] else { return };
            steps.push(Step::Execute { thread, edge: 0, choice: 0 });
            *at = next;
        }
    }
}

impl Contracted {
    /// The run of the program with all places that `run` stands for. A run whose last step fails
    /// has to end with it.
    pub(super) fn lift(&self, model: Model, run: &Schedule) -> Schedule {
        let mut at: Vec<PointId> = self.threads.iter().map(|t| t.entry).collect();
        let mut steps = Vec::new();
        let machine = Machine { program: &self.program, model };
        let mut state = machine.initial_state(&run.init);
        // Where the atomic block that is open in the end begins.
        let mut begin = 0;
        for &step in &run.steps {
            let free = state.lock.is_none();
            if let Outcome::Next(next) = machine.take(&state, step) {
                state = next;
            }
            if free && state.lock.is_some() {
                begin = steps.len();
            }
            let Step::Execute { thread, edge, choice } = step else {
                steps.push(step);
                continue;
            };
            let ways = &self.threads[thread.index()];
            let here = &mut at[thread.index()];
            ways.arrive(thread, here, &mut steps);
            let Some((way, to)) = ways.ways[here.index()].get(edge as usize) else { continue };
            for (n, &edge) in way.iter().enumerate() {
                let choice = if n + 1 == way.len() { choice } else { 0 };
                steps.push(Step::Execute { thread, edge, choice });
            }
            *here = *to;
        }
        if certify::replay(machine, run).is_ok() {
            for (t, ways) in self.threads.iter().enumerate() {
                let mut last = Vec::new();
                ways.arrive(ThreadId::new(t), &mut at[t], &mut last);
                // While a block is open, the others have to be where they are.
                let waits = state.lock.is_some_and(|owner| owner.index() != t);
                let end = if waits { begin } else { steps.len() };
                steps.splice(end..end, last);
            }
        }
        Schedule { init: run.init.clone(), steps }
    }
}
