//! A graph without cycles to which edges are added and taken away again, last ones first, and which
//! says why an edge would close a cycle.
//!
//! Nodes are kept in an order that respects all edges. An edge that agrees with it costs nothing;
//! any other one a search of the nodes between its ends (Pearce and Kelly, "A dynamic topological
//! sort algorithm for directed acyclic graphs", JEA 2006). To take edges away changes nothing about
//! the order.

use std::collections::VecDeque;

/// An edge to or from a node; added ones have labels.
#[derive(Clone, Copy)]
struct Edge {
    node: u32,
    label: u32,
}

/// The label of edges that are there from the start.
const FIXED: u32 = u32::MAX;

/// The graph.
pub(crate) struct Acyclic {
    next: Vec<Vec<Edge>>,
    before: Vec<Vec<Edge>>,
    place: Vec<u32>,
    added: Vec<(u32, u32)>,
    /// Per node how a search came there; only of those in `visited`.
    came: Vec<Option<Edge>>,
    visited: Vec<u32>,
    /// Per node the last search that looked at what it leads to.
    looked: Vec<u64>,
    searches: u64,
    work: u64,
}

impl Acyclic {
    /// A graph with edges that stay. `order` lists all nodes so that they respect the edges.
    pub(crate) fn new(order: &[usize], edges: &[(usize, usize)]) -> Acyclic {
        let nodes = order.len();
        let mut graph = Acyclic {
            next: vec![Vec::new(); nodes],
            before: vec![Vec::new(); nodes],
            place: vec![0; nodes],
            added: Vec::new(),
            came: vec![None; nodes],
            visited: Vec::new(),
            looked: vec![0; nodes],
            searches: 0,
            work: 0,
        };
        for (at, &node) in order.iter().enumerate() {
            graph.place[node] = at as u32;
        }
        for &(from, to) in edges {
            graph.push(from as u32, to as u32, FIXED);
        }
        graph
    }

    fn push(&mut self, from: u32, to: u32, label: u32) {
        self.next[from as usize].push(Edge { node: to, label });
        self.before[to as usize].push(Edge { node: from, label });
    }

    /// How many edges were added.
    pub(crate) fn len(&self) -> usize {
        self.added.len()
    }

    /// Takes edges away until so many are left.
    pub(crate) fn truncate(&mut self, len: usize) {
        for (from, to) in self.added.drain(len.min(self.added.len())..).rev() {
            self.next[from as usize].pop();
            self.before[to as usize].pop();
        }
    }

    /// Adds an edge; or gives the labels of a cycle that it would close, its own one among them.
    pub(crate) fn add(&mut self, from: usize, to: usize, label: u32) -> Result<(), Vec<u32>> {
        let (from, to) = (from as u32, to as u32);
        let (low, high) = (self.place[to as usize], self.place[from as usize]);
        if high >= low {
            if let Some(mut labels) = self.path(to, from, high) {
                labels.push(label);
                labels.sort_unstable();
                labels.dedup();
                return Err(labels);
            }
            self.reorder(from, low);
        }
        self.push(from, to, label);
        self.added.push((from, to));
        Ok(())
    }

    /// The labels of a path that has as few as possible, if there is one; else `visited` has all that
    /// the start leads to up to a place.
    fn path(&mut self, start: u32, target: u32, high: u32) -> Option<Vec<u32>> {
        self.visited.clear();
        if start == target {
            return Some(Vec::new());
        }
        self.searches += 1;
        let mut queue = VecDeque::from([start]);
        self.came[start as usize] = Some(Edge { node: start, label: FIXED });
        self.visited.push(start);
        // Nodes are looked at by the number of labels on the way there. One may be in the queue
        // twice, if a better way is found.
        while let Some(node) = queue.pop_front() {
            if std::mem::replace(&mut self.looked[node as usize], self.searches) == self.searches {
                continue;
            }
            self.work += 1 + self.next[node as usize].len() as u64;
            if node == target {
                let labels = self.labels(start, target);
                self.unmark();
                self.visited.clear();
                return Some(labels);
            }
            for &Edge { node: next, label } in &self.next[node as usize] {
                let is_looked = self.looked[next as usize] == self.searches;
                if self.place[next as usize] > high || is_looked {
                    continue;
                }
                let came = &mut self.came[next as usize];
                if came.is_none() {
                    self.visited.push(next);
                } else if label != FIXED {
                    continue;
                }
                *came = Some(Edge { node, label });
                match label {
                    FIXED => queue.push_front(next),
                    _ => queue.push_back(next),
                }
            }
        }
        self.unmark();
        None
    }

    fn labels(&self, start: u32, target: u32) -> Vec<u32> {
        let mut labels = Vec::new();
        let mut at = target;
        while at != start {
            let Some(Edge { node, label }) = self.came[at as usize] else { break };
            labels.extend((label != FIXED).then_some(label));
            at = node;
        }
        labels
    }

    fn unmark(&mut self) {
        for &node in &self.visited {
            self.came[node as usize] = None;
        }
    }

    /// Puts what leads to `from`, down to a place, before all of `visited`, in the places of both.
    fn reorder(&mut self, from: u32, low: u32) {
        let mut forward = std::mem::take(&mut self.visited);
        let mut backward = vec![from];
        let mark = Some(Edge { node: from, label: FIXED });
        self.came[from as usize] = mark;
        let mut looked = 0;
        while let Some(&node) = backward.get(looked) {
            looked += 1;
            self.work += 1 + self.before[node as usize].len() as u64;
            for &Edge { node: before, .. } in &self.before[node as usize] {
                let came = &mut self.came[before as usize];
                if self.place[before as usize] >= low && came.is_none() {
                    *came = mark;
                    backward.push(before);
                }
            }
        }
        for &node in &backward {
            self.came[node as usize] = None;
        }
        let place = |node: &u32| self.place[*node as usize];
        forward.sort_unstable_by_key(place);
        backward.sort_unstable_by_key(place);
        let mut places: Vec<u32> = forward.iter().chain(&backward).map(place).collect();
        places.sort_unstable();
        for (node, place) in backward.into_iter().chain(forward.iter().copied()).zip(places) {
            self.place[node as usize] = place;
        }
        forward.clear();
        self.visited = forward;
    }

    /// The work that was done since the last time.
    pub(crate) fn take_work(&mut self) -> u64 {
        std::mem::take(&mut self.work)
    }

    /// The bytes in use, about.
    pub(crate) fn bytes(&self) -> u64 {
        (self.place.len() * (48 + 4 + 12 + 8 + 4 * 16) + self.added.capacity() * 24) as u64
    }
}
