//! Which pairs of a store and a load of one thread are worth a question: those where a way without
//! a fence leads from the store to the load and others may access their locations; of threads that
//! are copies of each other those of one.

use weakspot_core::{Edge, Fence, Instr, Limit, PointId, Program, Thread};

use crate::flow::in_loop;
use crate::memory::loc_bit;
use crate::meter::Meter;
use crate::sc::independence::{Access, future};
use crate::sc::symmetry::Symmetry;
use crate::sc::threads::Threads;

/// A store of a thread and a load that may overtake it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub(super) thread: usize,
    pub(super) store: Place,
    pub(super) load: Place,
}

/// An edge of a thread, and the locations that it may access, as bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) point: PointId,
    pub(super) edge: u32,
    to: PointId,
    pub(super) locs: u64,
}

/// What all questions about one program have in common.
pub(super) struct Ground<'p> {
    pub(super) program: &'p Program,
    pub(super) n: usize,
    future: Vec<Vec<Access>>,
    pub(super) in_loop: Vec<Vec<bool>>,
}

impl<'p> Ground<'p> {
    pub(super) fn new(program: &'p Program, threads: &Threads<'p>) -> Ground<'p> {
        let n = program.threads.len();
        Ground {
            program,
            n,
            future: (0..n).map(|t| future(program, threads, t)).collect(),
            in_loop: program.threads.iter().map(in_loop).collect(),
        }
    }

    /// The pairs that are worth a question, in the order of the source. There may be as many as the square of the
    /// threads' lengths.
    pub(super) fn pairs(
        &self,
        threads: &Threads<'p>,
        meter: &mut Meter<'_>,
    ) -> Result<Vec<Pair>, Limit> {
        let mut pairs = Vec::new();
        let symmetry = Symmetry::of(self.program);
        // What one of several threads alike can do, the first of them can do, too.
        for t in (0..self.n).filter(|&t| symmetry.is_first(t)) {
            let others = self.others(t, |u| self.program.threads[u].entry);
            let places = |wanted: fn(&Instr) -> bool, reachable: u64| {
                let points = self.program.threads[t].points.iter().enumerate();
                points
                    .flat_map(|(p, point)| point.edges.iter().enumerate().map(move |e| (p, e)))
                    .filter(|(_, (_, edge))| wanted(&edge.instr))
                    .map(|(p, (i, edge))| Place {
                        point: PointId::new(p),
                        edge: i as u32,
                        to: edge.to,
                        locs: threads.may_access(&edge.instr),
                    })
                    .filter(|place| place.locs & reachable != 0)
                    .collect::<Vec<_>>()
            };
            let stores = places(|i| matches!(i, Instr::Store { .. }), others.reads | others.writes);
            let loads = places(|i| matches!(i, Instr::Load { .. }), others.writes);
            let mut found: Vec<(u32, u32)> = Vec::new();
            let before = before(&self.program.threads[t], keeps);
            for (l, load) in loads.iter().enumerate() {
                let to_load = leads_to(&before, load.point);
                for (s, store) in stores.iter().enumerate() {
                    // A load of the one place that was stored to never looks into memory.
                    let same = store.locs == load.locs
                        && store.locs.is_power_of_two()
                        && store.locs != loc_bit(u32::MAX);
                    if to_load[store.to.index()] && !same {
                        found.push((s as u32, l as u32));
                    }
                }
                let bytes = size_of_val(&pairs[..]) + found.len() * (size_of::<Pair>() + 16);
                meter.long_work(|| (0, bytes as u64))?;
            }
            found.sort_unstable();
            pairs.reserve_exact(found.len());
            pairs.extend(found.iter().map(|&(s, l)| Pair {
                thread: t,
                store: stores[s as usize],
                load: loads[l as usize],
            }));
        }
        Ok(pairs)
    }

    /// What the threads other than `t` may access from where they stand.
    pub(super) fn others(&self, t: usize, point: impl Fn(usize) -> PointId) -> Access {
        (0..self.n)
            .filter(|&u| u != t)
            .fold(Access::default(), |a, u| a.with(self.future[u][point(u).index()]))
    }
}

/// Per point of a thread from where an edge with `passes` leads there.
pub(super) fn before(thread: &Thread, passes: fn(&Edge) -> bool) -> Vec<Vec<u32>> {
    let mut before = vec![Vec::new(); thread.points.len()];
    for (p, point) in thread.points.iter().enumerate() {
        for edge in point.edges.iter().filter(|edge| passes(edge)) {
            before[edge.to.index()].push(p as u32);
        }
    }
    before
}

/// Per point whether a way leads from there to `goal`; `before` are the last steps of ways.
pub(super) fn leads_to(before: &[Vec<u32>], goal: PointId) -> Vec<bool> {
    let mut leads = vec![false; before.len()];
    leads[goal.index()] = true;
    let mut todo = vec![goal.index()];
    while let Some(p) = todo.pop() {
        for &from in &before[p] {
            let from = from as usize;
            if !std::mem::replace(&mut leads[from], true) {
                todo.push(from);
            }
        }
    }
    leads
}

/// Whether an edge can be taken with stores in the buffer.
pub(super) fn keeps(edge: &Edge) -> bool {
    !matches!(
        edge.instr,
        Instr::Update { .. } | Instr::Fence(Fence::Full) | Instr::Lock | Instr::Unlock
    )
}
