//! Where fences may be put into a program, and what it becomes with some of them in place.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::{Edge, Fence, Instr, Point, PointId, Program, Span, Thread, ThreadId};

/// What fences are put in for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Every run under the model does what some run under SC does.
    Robust,
    /// Nothing that the program forbids can happen. A condition that asks for some final state to
    /// be reachable (`exists`) is left out of it: fences only take runs away.
    Safe,
}

/// A program with the places where fences may be put. Each place is a set of edges that do
/// nothing: usually one, several where one line of the source stands in several threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FencePlaces {
    /// The program without fences; the edges of the places are [`Instr::Nop`].
    pub program: Program,
    /// The edges of each place, in the order of the source.
    pub places: Vec<Vec<PlaceEdge>>,
}

/// One edge of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlaceEdge {
    /// The thread.
    pub thread: ThreadId,
    /// The control point that the edge leaves.
    pub point: PointId,
    /// Which of its edges.
    pub edge: usize,
}

/// A fence in a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PlacedFence {
    /// The place, an index into [`FencePlaces::places`].
    pub place: usize,
    /// Which fence.
    pub kind: Fence,
}

impl FencePlaces {
    /// One place at each control point of `program` that a fence could make a difference at. The
    /// fence stands on every way through the point, after the arrival: the point keeps its number
    /// and whatever is said about it, and its edges leave from a new point.
    ///
    /// Points that are never reached, that have no edges or that lie in an atomic block are none.
    #[must_use]
    pub fn at_points(program: &Program) -> FencePlaces {
        let mut all = FencePlaces { program: program.clone(), places: Vec::new() };
        for (t, thread) in program.threads.iter().enumerate() {
            let locked = lock_states(&thread.points, thread.entry);
            for (p, point) in thread.points.iter().enumerate() {
                if point.edges.is_empty() || locked[p] != (true, false) {
                    continue;
                }
                let points = &mut all.program.threads[t].points;
                let behind = PointId::new(points.len());
                let span = point.edges.first().map_or(Span::default(), |e| e.span);
                let edges = std::mem::take(&mut points[p].edges);
                points.push(Point { edges });
                points[p].edges.push(Edge { instr: Instr::Nop, to: behind, span });
                let edge = PlaceEdge { thread: ThreadId::new(t), point: PointId::new(p), edge: 0 };
                all.places.push(vec![edge]);
            }
        }
        all
    }

    /// The places that are the fences of `program` whose span starts at one of `starts`: one place
    /// for each start. The fences themselves become edges that do nothing. A place has no edges if
    /// it lies in an atomic block, even for one of several threads, or is never reached.
    #[must_use]
    pub fn of_fences(mut program: Program, starts: &[usize]) -> FencePlaces {
        let numbers: HashMap<usize, usize> =
            starts.iter().enumerate().map(|(place, &start)| (start, place)).collect();
        let mut places = vec![Vec::new(); starts.len()];
        let mut atomic = vec![false; starts.len()];
        for (t, thread) in program.threads.iter_mut().enumerate() {
            let locked = lock_states(&thread.points, thread.entry);
            for (p, point) in thread.points.iter_mut().enumerate() {
                for (e, edge) in point.edges.iter_mut().enumerate() {
                    let place = numbers.get(&(edge.span.start as usize));
                    let (Instr::Fence(_), Some(&place)) = (&edge.instr, place) else { continue };
                    edge.instr = Instr::Nop;
                    atomic[place] |= locked[p].1;
                    if locked[p].0 {
                        let (thread, point) = (ThreadId::new(t), PointId::new(p));
                        places[place].push(PlaceEdge { thread, point, edge: e });
                    }
                }
            }
        }
        for (place, _) in places.iter_mut().zip(atomic).filter(|(_, atomic)| *atomic) {
            place.clear();
        }
        FencePlaces { program, places }
    }

    /// The program with these fences.
    #[must_use]
    pub fn with(&self, fences: &[PlacedFence]) -> Program {
        let mut program = self.program.clone();
        for fence in fences {
            for e in self.places.get(fence.place).into_iter().flatten() {
                let edges = &mut program.threads[e.thread.index()].points[e.point.index()].edges;
                edges[e.edge].instr = Instr::Fence(fence.kind);
            }
        }
        program
    }
}

/// For each point whether it can be reached without the lock, and whether it can with it, as far
/// as the edges tell.
fn lock_states(points: &[Point], entry: PointId) -> Vec<(bool, bool)> {
    let mut seen: BTreeSet<(PointId, bool)> = BTreeSet::from([(entry, false)]);
    let mut todo = vec![(entry, false)];
    while let Some((point, locked)) = todo.pop() {
        for edge in &points[point.index()].edges {
            let after = match edge.instr {
                Instr::Lock => true,
                Instr::Unlock => false,
                _ => locked,
            };
            if seen.insert((edge.to, after)) {
                todo.push((edge.to, after));
            }
        }
    }
    let has = |p, locked| seen.contains(&(PointId::new(p), locked));
    (0..points.len()).map(|p| (has(p, false), has(p, true))).collect()
}

/// Whether two programs differ at most in the numbers of their control points, in points that are
/// never reached, in where their instructions stand in the text, and in steps that do nothing. They
/// then do the same: to go on without such a step, or to wait behind it, is nothing that others see.
#[must_use]
pub fn same_program(a: &Program, b: &Program) -> bool {
    let globals = |p: &Program| (p.locs.clone(), p.wides.clone(), p.undeclared, p.observed.clone());
    if globals(a) != globals(b) || a.condition != b.condition || a.threads.len() != b.threads.len()
    {
        return false;
    }
    let pairs = ways(a).into_iter().zip(ways(b)).zip(a.threads.iter().zip(&b.threads));
    let same = |((a, b), (of_a, of_b)): ((Ways<'_>, Ways<'_>), (&Thread, &Thread))| {
        (of_a.regs == of_b.regs).then(|| same_points(&a, &b)).flatten()
    };
    let Some(maps) = pairs.map(same).collect::<Option<Vec<_>>>() else {
        return false;
    };
    // Combinations with a point that is never reached do not count.
    let reached = |row: &Vec<Option<PointId>>, has: &dyn Fn(usize, PointId) -> bool| {
        row.iter().enumerate().all(|(t, p)| p.is_none_or(|p| has(t, p)))
    };
    let rows_of_a: BTreeSet<Vec<Option<PointId>>> = a
        .forbidden
        .iter()
        .filter(|row| reached(row, &|t, p| maps[t].contains_key(&p)))
        .map(|row| row.iter().zip(&maps).map(|(p, map)| p.map(|p| map[&p])).collect())
        .collect();
    let rows_of_b: BTreeSet<Vec<Option<PointId>>> = b
        .forbidden
        .iter()
        .filter(|row| reached(row, &|t, p| maps[t].values().any(|&q| q == p)))
        .cloned()
        .collect();
    rows_of_a == rows_of_b
}

/// A thread without steps that do nothing.
struct Ways<'p> {
    entry: PointId,
    /// What leaves each point, and where it leads.
    from: Vec<Vec<(&'p Instr, PointId)>>,
}

/// Per thread what leaves each point.
fn ways(program: &Program) -> Vec<Ways<'_>> {
    let named = |t: usize| program.forbidden.iter().filter_map(|row| row[t]).collect();
    program.threads.iter().enumerate().map(|(t, thread)| ways_of(thread, &named(t))).collect()
}

/// A step that does nothing is left out if it is the only one to a point that goes on and that no
/// forbidden combination names: what leaves that point leaves the one before. So it is if it is all that
/// leaves a point that none names: what leads there leads on.
fn ways_of<'p>(thread: &'p Thread, named: &BTreeSet<PointId>) -> Ways<'p> {
    let reached = lock_states(&thread.points, thread.entry);
    let mut entries = vec![0; thread.points.len()];
    entries[thread.entry.index()] = 1;
    for (point, _) in thread.points.iter().zip(&reached).filter(|(_, r)| r.0 || r.1) {
        point.edges.iter().for_each(|e| entries[e.to.index()] += 1);
    }
    let stays = |p: PointId| {
        entries[p.index()] != 1 || thread.points[p.index()].edges.is_empty() || named.contains(&p)
    };
    let resolve = |point: PointId| {
        let mut at = point;
        for _ in 0..thread.points.len() {
            match thread.points[at.index()].edges.as_slice() {
                [only] if only.instr == Instr::Nop && !named.contains(&at) => at = only.to,
                _ => return at,
            }
        }
        // A circle of them.
        point
    };
    let from = |p: usize| {
        let mut found = Vec::new();
        // This ends: a circle that can be entered has a point with two entries.
        let mut todo: Vec<&Edge> = thread.points[p].edges.iter().rev().collect();
        while let Some(edge) = todo.pop() {
            match edge.instr == Instr::Nop && edge.to.index() != p && !stays(edge.to) {
                true => todo.extend(thread.points[edge.to.index()].edges.iter().rev()),
                false => found.push((&edge.instr, resolve(edge.to))),
            }
        }
        found
    };
    let from = (0..thread.points.len()).map(from).collect();
    Ways { entry: resolve(thread.entry), from }
}

/// Which point of `b` each point of `a` is, from the entries on.
fn same_points(a: &Ways<'_>, b: &Ways<'_>) -> Option<BTreeMap<PointId, PointId>> {
    let (from_a, from_b) = (a.entry, b.entry);
    let mut map = BTreeMap::from([(from_a, from_b)]);
    let mut used = BTreeSet::from([from_b]);
    let mut todo = vec![(from_a, from_b)];
    while let Some((p, q)) = todo.pop() {
        let (from_p, from_q) = (&a.from[p.index()], &b.from[q.index()]);
        if from_p.len() != from_q.len() {
            return None;
        }
        for (&(e, to), &(f, behind)) in from_p.iter().zip(from_q) {
            let known = map.get(&to).copied();
            if e != f || known.is_some_and(|q| q != behind) {
                return None;
            }
            if known.is_none() {
                if !used.insert(behind) {
                    return None;
                }
                map.insert(to, behind);
                todo.push((to, behind));
            }
        }
    }
    Some(map)
}
