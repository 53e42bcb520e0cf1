//! The conflict graph of an execution that is still going on: nodes are added, get edges as long
//! as they are open, and are collected as soon as they cannot lie on a cycle any more.
//!
//! A closed node gets no new edges *to* it. So one that has none lies on no cycle, and neither do
//! its edges make one; without it, the same may hold for what it leads to (Flanagan, Freund and Yi,
//! "Velodrome", PLDI 2008). What is left are nodes that an open one leads to.
//!
//! Nodes have numbers that grow along all edges. An edge from a smaller to a larger number closes
//! no cycle, and that is what almost all edges are, because later events belong to later
//! transactions. Otherwise everything that the end of the edge leads to is visited, and numbered
//! again. Cost: constant per edge, but for those.

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GraphEdge {
    pub(crate) to: NodeRef,
    pub(crate) events: (u64, u64),
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
    edges: Vec<GraphEdge>,
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
}

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
        }
    }

    /// A new node, which is open.
    pub(crate) fn open(&mut self, name: u32) -> NodeRef {
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
        NodeRef { slot, generation: node.generation }
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
            node.generation += 1;
            if let Some(order) = &mut self.order {
                order.push(node.name);
            }
            let mut edges = std::mem::take(&mut node.edges);
            for edge in edges.drain(..) {
                let next = &mut self.nodes[edge.to.slot as usize];
                next.incoming -= 1;
                if next.incoming == 0 && !next.open {
                    self.finished.push(edge.to.slot);
                }
            }
            self.nodes[slot as usize].edges = edges;
            self.free.push(slot);
        }
    }

    /// Whether a node was not collected.
    pub(crate) fn is_there(&self, node: NodeRef) -> bool {
        self.nodes[node.slot as usize].generation == node.generation
    }

    /// How many nodes there are.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len() - 1 - self.free.len()
    }

    /// Adds an edge to an open node. If it would close a cycle, it is not added, and the rest of
    /// the cycle is returned: edges from `to` to `from`.
    pub(crate) fn add(
        &mut self,
        from: NodeRef,
        to: NodeRef,
        events: (u64, u64),
    ) -> Option<Vec<GraphEdge>> {
        if from == to || !self.is_there(from) {
            return None;
        }
        // The same two nodes often meet several times in a row.
        let edges = &self.nodes[from.slot as usize].edges;
        if edges.last().is_some_and(|edge| edge.to == to) || edges.iter().any(|edge| edge.to == to)
        {
            return None;
        }
        if self.nodes[from.slot as usize].number > self.nodes[to.slot as usize].number
            && let Some(path) = self.renumber(to, from)
        {
            return Some(path);
        }
        self.nodes[from.slot as usize].edges.push(GraphEdge { to, events });
        self.nodes[to.slot as usize].incoming += 1;
        None
    }

    /// Gives larger numbers than all others to a node and to what it leads to; unless it leads to
    /// `target`: then the edges there.
    fn renumber(&mut self, start: NodeRef, target: NodeRef) -> Option<Vec<GraphEdge>> {
        self.searches += 1;
        let search = self.searches;
        self.stack.clear();
        self.finished.clear();
        self.stack.push((start.slot, 0));
        self.nodes[start.slot as usize].visited = search;
        while let Some((slot, at)) = self.stack.last_mut() {
            let Some(&edge) = self.nodes[*slot as usize].edges.get(*at) else {
                self.finished.push(*slot);
                self.stack.pop();
                continue;
            };
            *at += 1;
            if edge.to == target {
                let edge_of = |&(slot, at): &(u32, usize)| self.nodes[slot as usize].edges[at - 1];
                return Some(self.stack.iter().map(edge_of).collect());
            }
            let next = &mut self.nodes[edge.to.slot as usize];
            if next.visited != search {
                next.visited = search;
                self.stack.push((edge.to.slot, 0));
            }
        }
        for &slot in self.finished.iter().rev() {
            self.last_number += 1;
            self.nodes[slot as usize].number = self.last_number;
        }
        None
    }

    pub(crate) fn bytes(&self) -> u64 {
        let edges: usize = self.nodes.iter().map(|node| node.edges.capacity()).sum();
        (self.nodes.capacity() * size_of::<Node>() + edges * size_of::<GraphEdge>()) as u64
    }
}
