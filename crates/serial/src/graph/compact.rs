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

use super::{Edge, Graph, Marks, NEVER, NodeRef, Via};

/// Nodes with more edges are not taken out. There are none as long as there are half as many
/// threads.
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
        for &slot in &slots {
            let mut edges = Vec::new();
            for edge in std::mem::take(&mut self.nodes[slot as usize].edges) {
                self.lead_on(edge, &mut kept, &mut edges);
            }
            self.prune(&mut edges);
            // To go around this one would take too many edges.
            kept[slot as usize] |= edges.len() > MOST;
            self.nodes[slot as usize].edges = edges;
            self.nodes[slot as usize].incoming = 0;
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
            self.room = (self.few.max(2 * self.len()), (4 * self.few).max(2 * self.edges));
        }
    }

    /// An edge, or the ones that lead on from a node that will be taken out.
    fn lead_on(&self, edge: Edge, kept: &mut [bool], edges: &mut Vec<Edge>) {
        let slot = edge.to.slot as usize;
        if kept[slot] {
            return edges.push(edge);
        }
        let node = self.nodes[slot].marks;
        for next in &self.nodes[slot].edges {
            let mut path: Vec<Via> = edge.via.iter().flatten().cloned().collect();
            path.push(Via { node, events: next.events });
            path.extend(next.via.iter().flatten().cloned());
            cut_short(&mut path);
            if path.len() > LONGEST {
                kept[slot] = true;
                return edges.push(edge);
            }
            edges.push(Edge { to: next.to, events: edge.events, via: Some(path.into()) });
        }
    }

    /// Drops edges to what others of the edges lead to anyway.
    fn prune(&self, edges: &mut Vec<Edge>) {
        let length = |edge: &Edge| edge.via.as_ref().map_or(0, |via| via.len());
        edges.sort_by_key(|edge| (edge.to.slot, length(edge)));
        edges.dedup_by_key(|edge| edge.to.slot);
        let marks = |edge: &Edge| self.nodes[edge.to.slot as usize].marks;
        let mut all: Vec<Marks> = edges.iter().map(marks).collect();
        all.sort_unstable_by_key(|marks| marks.thread);
        // Per thread the first events of all.
        all.dedup_by(|next, first| {
            let same = next.thread == first.thread;
            if same {
                first.issue = first.issue.min(next.issue);
                first.commit = first.commit.min(next.commit);
                first.buffered = NEVER;
            }
            same
        });
        edges.retain(|edge| {
            let mine = marks(edge);
            let first = all.binary_search_by_key(&mine.thread, |marks| marks.thread);
            !first.is_ok_and(|at| all[at].before(&mine).is_some())
        });
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
