//! Takes out nodes that only lie in between.
//!
//! While a transaction is open, everything that it leads to has to stay, because it may come to
//! depend on any of that. But a closed node that nobody will lead on from either, since no state of
//! the monitor refers to it, is only part of paths. Edges around it do as well, and then the number
//! of nodes is bounded by the open ones and those that are referred to, however long the execution.
//!
//! An edge around nodes remembers a path through them, so that a cycle can still be told event by
//! event. Where a path comes back to a thread it is cut short: two events of a thread that are
//! both first ones of their kind in their transaction ([`Marks`]) conflict. So a path has few nodes
//! per thread. For the same reason edges to the first of the nodes of a thread are enough.
//!
//! Cost: per node its edges, and the paths of those that are taken out. It is done when the graph
//! has doubled since the last time.

use super::{Edge, Graph, Marks, NEVER, Node, NodeRef, Via};

/// Nodes with more edges are never contracted; none exist with up to 128 threads.
const MOST: usize = 256;

/// No path is longer. Those that would be keep a node in the middle.
const LONGEST: usize = 256;

impl Marks {
    /// Events of this and of a later node of the thread that conflict, if it is known that there are
    /// some.
    fn before(&self, later: &Marks) -> Option<(u64, u64)> {
        if self.thread != later.thread {
            return None;
        }
        let known = |a: u64, b: u64| (a < b && b != NEVER).then_some((a, b));
        let buffered = known(self.buffered, later.buffered).filter(|_| self.var == later.var);
        known(self.issue, later.issue).or(known(self.commit, later.commit)).or(buffered)
    }
}

/// From a node by one of its edges to one that stays.
struct Way {
    to: NodeRef,
    /// How many nodes lie in between.
    length: usize,
    edge: usize,
    /// The edge that leads on from there, if the first one leads to a node that will be taken out.
    next: Option<usize>,
}

impl Edge {
    fn length(&self) -> usize {
        self.via.as_ref().map_or(0, |via| via.len())
    }
}

impl Graph {
    /// Whether it is time to take nodes out. The order of transactions needs all of them.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.order.is_none() && (self.len() >= self.room.0 || self.edges >= self.room.1)
    }

    /// Takes out closed nodes that are not referred to.
    pub(crate) fn compact(&mut self, referred: impl Iterator<Item = NodeRef>) {
        let mut kept: Vec<bool> = self.nodes.iter().map(|node| node.open).collect();
        for node in referred.filter(|node| self.is_there(*node)) {
            kept[node.slot as usize] = true;
        }
        let mut there = vec![true; self.nodes.len()];
        there[0] = false;
        for &slot in &self.free {
            there[slot as usize] = false;
        }
        // Edges lead to larger numbers, so what a node leads to is done before it.
        let mut slots: Vec<u32> = (0..self.nodes.len() as u32).collect();
        slots.retain(|&slot| there[slot as usize]);
        slots.sort_unstable_by_key(|&slot| std::cmp::Reverse(self.nodes[slot as usize].number));
        let (mut ways, mut first) = (Vec::new(), Vec::new());
        for &slot in &slots {
            self.nodes[slot as usize].incoming = 0;
            let edges = std::mem::take(&mut self.nodes[slot as usize].edges);
            self.ways(&edges, &kept, &mut ways);
            self.prune(&mut ways, &mut first);
            // To go around this one would take too many edges.
            kept[slot as usize] |= ways.len() > MOST;
            self.nodes[slot as usize].edges =
                ways.iter().map(|way| self.lead_on(&edges[way.edge], way, &mut kept)).collect();
        }
        self.edges = 0;
        for &slot in &slots {
            if !kept[slot as usize] {
                self.nodes[slot as usize].edges = Vec::new();
                self.release(slot);
                continue;
            }
            for at in 0..self.nodes[slot as usize].edges.len() {
                let to = self.nodes[slot as usize].edges[at].to;
                self.nodes[to.slot as usize].incoming += 1;
                self.edges += 1;
            }
        }
        if self.few > 0 {
            self.room = (self.few.max(2 * self.len()), (8 * self.few).max(2 * self.edges));
        }
    }

    /// The ways on by these edges: to nodes that stay, perhaps through one that will be taken out.
    fn ways(&self, edges: &[Edge], kept: &[bool], ways: &mut Vec<Way>) {
        ways.clear();
        for (at, edge) in edges.iter().enumerate() {
            let slot = edge.to.slot as usize;
            if kept[slot] {
                ways.push(Way { to: edge.to, length: edge.length(), edge: at, next: None });
                continue;
            }
            for (next_at, next) in self.nodes[slot].edges.iter().enumerate() {
                let length = edge.length() + 1 + next.length();
                ways.push(Way { to: next.to, length, edge: at, next: Some(next_at) });
            }
        }
    }

    /// Drops ways to what others of them lead to anyway. `first` is per thread, and only lent.
    fn prune(&self, ways: &mut Vec<Way>, first: &mut Vec<Marks>) {
        let none = Marks { thread: 0, issue: NEVER, commit: NEVER, buffered: NEVER, var: 0 };
        let marks = |way: &Way| &self.nodes[way.to.slot as usize].marks;
        for way in ways.iter() {
            let thread = marks(way).thread;
            while first.len() <= thread as usize {
                first.push(Marks { thread: first.len() as u32, ..none });
            }
            first[thread as usize] = Marks { thread, ..none };
        }
        for way in ways.iter() {
            let (mine, first) = (marks(way), &mut first[marks(way).thread as usize]);
            first.issue = first.issue.min(mine.issue);
            first.commit = first.commit.min(mine.commit);
        }
        ways.retain(|way| first[marks(way).thread as usize].before(marks(way)).is_none());
        ways.sort_unstable_by_key(|way| (way.to.slot, way.length, way.edge));
        ways.dedup_by_key(|way| way.to.slot);
    }

    /// The edge for a way. One that would be too long ends at the node that it leads through, which
    /// stays then.
    fn lead_on(&self, edge: &Edge, way: &Way, kept: &mut [bool]) -> Edge {
        let slot = edge.to.slot as usize;
        let Some(next) = way.next else { return edge.clone() };
        let Node { marks, edges, .. } = &self.nodes[slot];
        let next = &edges[next];
        let mut path: Vec<Via> = Vec::with_capacity(way.length);
        path.extend(edge.via.iter().flatten().cloned());
        path.push(Via { node: *marks, events: next.events });
        path.extend(next.via.iter().flatten().cloned());
        cut_short(&mut path);
        if path.len() > LONGEST {
            kept[slot] = true;
            return edge.clone();
        }
        Edge { to: next.to, events: edge.events, via: Some(path.into()) }
    }
}

/// Leaves out what lies between two nodes of a thread.
pub(super) fn cut_short(path: &mut Vec<Via>) {
    let mut at = 0;
    while at < path.len() {
        let from = path[at].node;
        let last = (at + 2..path.len()).rev();
        let jump = last.filter_map(|to| Some((to, from.before(&path[to].node)?))).next();
        if let Some((to, events)) = jump {
            path[at].events = events;
            path.drain(at + 1..to);
        }
        at += 1;
    }
}
