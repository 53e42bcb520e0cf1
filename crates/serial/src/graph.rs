//! The conflict graph of an execution that is still going on: nodes are added, get edges as long
//! as they are open, and are collected as soon as they cannot lie on a cycle any more.
//!
//! A closed node gets no new edges *to* it. So one that has none lies on no cycle, and neither do
//! its edges make one; without it, the same may hold for what it leads to (Flanagan, Freund and Yi,
//! "Velodrome", PLDI 2008). What is left are nodes that an open one leads to. If a transaction stays
//! open for long these are many, and `compact.rs` takes out the ones that only lie in between.
//!
//! Nodes have numbers that grow along all edges. An edge from a smaller to a larger number closes
//! no cycle, and that is what almost all edges are, because later events belong to later
//! transactions. Otherwise everything that the end of the edge leads to is visited, and numbered
//! again. Cost: constant per edge, but for those.

mod compact;

/// A node. It may have been collected in the meantime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeRef {
    slot: u32,
    generation: u32,
}

impl NodeRef {
    /// No node: one that was collected long ago.
    pub(crate) const NONE: NodeRef = NodeRef { slot: 0, generation: 0 };
}

/// An edge between two nodes, and the events that make it.
#[derive(Clone, Debug)]
struct Edge {
    to: NodeRef,
    events: (u64, u64),
    /// What lies in between, if nodes were taken out there.
    via: Option<Box<[Via]>>,
}

/// A node on a path, and the events that lead on from it.
#[derive(Clone, Debug)]
struct Via {
    node: Marks,
    events: (u64, u64),
}

/// No event.
const NEVER: u64 = u64::MAX;

/// Events of a node by which it comes before the later nodes of its thread that have such an event.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    thread: u32,
    /// One that comes before all later ones of its kind: the first event, or the first read of
    /// memory, if program order does not count.
    issue: u64,
    /// The first commit.
    commit: u64,
    /// The first read of the buffer, if program order does not count, and its variable: it comes before
    /// later ones of this variable.
    buffered: u64,
    var: u32,
}

#[derive(Debug, Default)]
struct Node {
    generation: u32,
    open: bool,
    /// What it is called in the order.
    name: u32,
    /// How many edges lead here.
    incoming: u32,
    /// See the head of this file.
    number: u64,
    /// The last search that came here.
    visited: u64,
    marks: Marks,
    edges: Vec<Edge>,
}

/// A graph without cycles.
pub(crate) struct Graph {
    nodes: Vec<Node>,
    free: Vec<u32>,
    last_number: u64,
    searches: u64,
    /// Kept between searches for their memory.
    stack: Vec<(u32, usize)>,
    finished: Vec<u32>,
    /// The names of the nodes in the order in which they were collected, if that is asked for: no
    /// edge leads back in it.
    pub(crate) order: Option<Vec<u32>>,
    /// How many edges there are, and how many there were at most.
    edges: usize,
    most_edges: usize,
    /// It is time to take nodes out when there are so many nodes, or edges.
    room: (usize, usize),
    /// So many nodes are never a reason to.
    few: usize,
}

const FEW: usize = 1 << 12;

impl Graph {
    pub(crate) fn new() -> Graph {
        // Slot 0 is never used, so that `NONE` is no node.
        let first = Node { generation: 1, ..Node::default() };
        Graph {
            nodes: vec![first],
            free: Vec::new(),
            last_number: 0,
            searches: 0,
            stack: Vec::new(),
            finished: Vec::new(),
            order: None,
            edges: 0,
            most_edges: 0,
            room: (FEW, 8 * FEW),
            few: FEW,
        }
    }

    /// The same, and nodes are taken out as soon as they can be.
    #[cfg(test)]
    pub(crate) fn tight() -> Graph {
        Graph { room: (0, 0), few: 0, ..Graph::new() }
    }

    /// A new node of a thread, which is open.
    pub(crate) fn open(&mut self, name: u32, thread: u32) -> NodeRef {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.nodes.push(Node::default());
            self.nodes.len() as u32 - 1
        });
        self.last_number += 1;
        let node = &mut self.nodes[slot as usize];
        node.generation += 1;
        node.open = true;
        node.name = name;
        node.number = self.last_number;
        node.marks = Marks { thread, issue: NEVER, commit: NEVER, buffered: NEVER, var: 0 };
        NodeRef { slot, generation: node.generation }
    }

    /// The node has an event that comes before all later ones of the thread that are marked so.
    #[inline]
    pub(crate) fn mark_issue(&mut self, node: NodeRef, event: u64) {
        let issue = &mut self.nodes[node.slot as usize].marks.issue;
        *issue = event.min(*issue);
    }

    /// The node has a commit, or an event that all commits of the thread are ordered with.
    #[inline]
    pub(crate) fn mark_commit(&mut self, node: NodeRef, event: u64) {
        let commit = &mut self.nodes[node.slot as usize].marks.commit;
        *commit = event.min(*commit);
    }

    /// The node has a read of the buffer.
    #[inline]
    pub(crate) fn mark_buffered(&mut self, node: NodeRef, var: u32, event: u64) {
        let marks = &mut self.nodes[node.slot as usize].marks;
        if marks.buffered == NEVER {
            (marks.buffered, marks.var) = (event, var);
        }
    }

    /// Nothing will lead to this node any more.
    pub(crate) fn close(&mut self, node: NodeRef) {
        if !self.is_there(node) {
            return;
        }
        let closed = &mut self.nodes[node.slot as usize];
        closed.open = false;
        if closed.incoming > 0 {
            return;
        }
        self.finished.clear();
        self.finished.push(node.slot);
        while let Some(slot) = self.finished.pop() {
            let node = &mut self.nodes[slot as usize];
            if let Some(order) = &mut self.order {
                order.push(node.name);
            }
            let mut edges = std::mem::take(&mut node.edges);
            self.edges -= edges.len();
            for edge in edges.drain(..) {
                let next = &mut self.nodes[edge.to.slot as usize];
                next.incoming -= 1;
                if next.incoming == 0 && !next.open {
                    self.finished.push(edge.to.slot);
                }
            }
            self.nodes[slot as usize].edges = edges;
            self.release(slot);
        }
    }

    /// The slot of a node that is gone may be used again; unless all of its generations were.
    fn release(&mut self, slot: u32) {
        let node = &mut self.nodes[slot as usize];
        node.generation += 1;
        if node.generation < u32::MAX - 2 {
            self.free.push(slot);
        }
    }

    /// Whether a node was not collected.
    #[inline]
    pub(crate) fn is_there(&self, node: NodeRef) -> bool {
        self.nodes[node.slot as usize].generation == node.generation
    }

    /// How many nodes there are.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len() - 1 - self.free.len()
    }

    /// How many nodes there were at most, and how many edges.
    pub(crate) fn most(&self) -> (usize, usize) {
        (self.nodes.len() - 1, self.most_edges)
    }

    /// Adds an edge to an open node. If it would close a cycle, it is not added, and the events of
    /// the cycle are returned, this edge last.
    pub(crate) fn add(
        &mut self,
        from: NodeRef,
        to: NodeRef,
        events: (u64, u64),
    ) -> Option<Vec<(u64, u64)>> {
        if from == to || !self.is_there(from) {
            return None;
        }
        // The same two nodes often meet several times in a row. Meeting again later does no harm.
        let edges = &self.nodes[from.slot as usize].edges;
        if edges.iter().rev().take(8).any(|edge| edge.to == to) {
            return None;
        }
        if self.nodes[from.slot as usize].number > self.nodes[to.slot as usize].number
            && let Some(mut path) = self.renumber(to, from)
        {
            path.push(Via { node: self.nodes[from.slot as usize].marks, events });
            compact::cut_short(&mut path);
            return Some(path.into_iter().map(|via| via.events).collect());
        }
        self.nodes[from.slot as usize].edges.push(Edge { to, events, via: None });
        self.nodes[to.slot as usize].incoming += 1;
        self.edges += 1;
        self.most_edges = self.most_edges.max(self.edges);
        None
    }

    /// Gives larger numbers than all others to a node and to what it leads to; unless it leads to
    /// `target`: then the way there.
    fn renumber(&mut self, start: NodeRef, target: NodeRef) -> Option<Vec<Via>> {
        self.searches += 1;
        let search = self.searches;
        self.stack.clear();
        self.finished.clear();
        self.stack.push((start.slot, 0));
        self.nodes[start.slot as usize].visited = search;
        while let Some((slot, at)) = self.stack.last_mut() {
            let Some(edge) = self.nodes[*slot as usize].edges.get(*at) else {
                self.finished.push(*slot);
                self.stack.pop();
                continue;
            };
            let to = edge.to;
            *at += 1;
            if to == target {
                let mut path = Vec::new();
                for &(slot, at) in &self.stack {
                    let Node { marks, edges, .. } = &self.nodes[slot as usize];
                    let edge = &edges[at - 1];
                    path.push(Via { node: *marks, events: edge.events });
                    path.extend(edge.via.iter().flatten().cloned());
                }
                return Some(path);
            }
            let next = &mut self.nodes[to.slot as usize];
            if next.visited != search {
                next.visited = search;
                self.stack.push((to.slot, 0));
            }
        }
        for &slot in self.finished.iter().rev() {
            self.last_number += 1;
            self.nodes[slot as usize].number = self.last_number;
        }
        None
    }

    /// Hands out the events that a cycle may lead through.
    pub(crate) fn each_event(&self, mut give: impl FnMut(u64)) {
        let mut both = |(a, b): (u64, u64)| {
            give(a);
            give(b);
        };
        for node in &self.nodes {
            // Those of nodes that are gone say too much, which does no harm.
            let Marks { issue, commit, buffered, .. } = node.marks;
            both((issue, commit));
            both((buffered, buffered));
            for edge in &node.edges {
                both(edge.events);
                for via in edge.via.iter().flatten() {
                    let Marks { issue, commit, buffered, .. } = via.node;
                    both((issue, commit));
                    both((buffered, buffered));
                    both(via.events);
                }
            }
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        let edges = self.nodes.iter().flat_map(|node| &node.edges);
        let via: usize = edges.filter_map(|edge| Some(edge.via.as_ref()?.len())).sum();
        let edges: usize = self.nodes.iter().map(|node| node.edges.capacity()).sum();
        (self.nodes.capacity() * size_of::<Node>()
            + edges * size_of::<Edge>()
            + via * size_of::<Via>()) as u64
    }
}
