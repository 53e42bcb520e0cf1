//! Control points and edges of one thread while it is being compiled. Jumps cost no step: the
//! point that jumps is merged with its target wherever nobody can see the difference.

use weakspot_core::{Edge, Instr, Point, PointId, Span, TxnMark};

/// A point under construction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Draft(usize);

/// The automaton of a thread under construction.
#[derive(Debug, Default)]
pub(super) struct Automaton {
    points: Vec<DraftPoint>,
    /// What the next edges belong to.
    pub(super) mark: Option<TxnMark>,
}

#[derive(Debug, Default)]
struct DraftPoint {
    /// The point that this one has been merged into.
    merged: Option<usize>,
    /// A label names it, so it is not to be confused with other points.
    labelled: bool,
    edges: Vec<DraftEdge>,
}

#[derive(Clone, Debug)]
struct DraftEdge {
    /// `None` is a choice of the target's first step; it disappears if it can.
    instr: Option<Instr>,
    to: usize,
    span: Span,
    mark: Option<TxnMark>,
}

/// The finished automaton.
pub(super) struct Finished {
    /// The points; the entry is the first.
    pub points: Vec<Point>,
    /// Per point and edge the transaction that it belongs to.
    pub marks: Vec<Vec<Option<TxnMark>>>,
    /// Which point each draft became; `None` if nothing leads there.
    map: Vec<Option<PointId>>,
    /// How many of the points the entry leads to: these come first.
    reachable: usize,
}

impl Automaton {
    /// A new point.
    pub(super) fn fresh(&mut self) -> Draft {
        self.points.push(DraftPoint::default());
        Draft(self.points.len() - 1)
    }

    /// A new point with a label.
    pub(super) fn fresh_labelled(&mut self) -> Draft {
        let point = self.fresh();
        self.points[point.0].labelled = true;
        point
    }

    /// An edge to an existing point.
    pub(super) fn edge(&mut self, from: Draft, instr: Instr, to: Draft, span: Span) {
        let from = self.resolve(from.0);
        let mark = self.mark;
        self.points[from].edges.push(DraftEdge { instr: Some(instr), to: to.0, span, mark });
    }

    /// From `from`, the first step from `to` may be taken.
    pub(super) fn choice(&mut self, from: Draft, to: Draft, span: Span) {
        let from = self.resolve(from.0);
        let mark = self.mark;
        self.points[from].edges.push(DraftEdge { instr: None, to: to.0, span, mark });
    }

    /// `from`, which has no edges yet, is the same point as `to`.
    pub(super) fn merge(&mut self, from: Draft, to: Draft) {
        let (from, to) = (self.resolve(from.0), self.resolve(to.0));
        if from != to {
            let edges = std::mem::take(&mut self.points[from].edges);
            self.points[to].edges.extend(edges);
            self.points[to].labelled |= self.points[from].labelled;
            self.points[from].merged = Some(to);
        }
    }

    /// `from`, which has no edges yet, continues at `to`. A label keeps a point of its own, and
    /// a jump to itself is a step that can be repeated for ever.
    pub(super) fn jump(&mut self, from: Draft, to: Draft, span: Span) {
        let root = self.resolve(from.0);
        if self.points[root].labelled || root == self.resolve(to.0) {
            self.edge(from, Instr::Nop, to, span);
        } else {
            self.merge(from, to);
        }
    }

    /// The point that stands for this one. Shortens the way there, so that long chains of merged
    /// points are walked only once.
    fn resolve(&mut self, mut point: usize) -> usize {
        while let Some(next) = self.points[point].merged {
            if let Some(after) = self.points[next].merged {
                self.points[point].merged = Some(after);
            }
            point = next;
        }
        point
    }

    /// Drops what was merged or cannot be reached. Labelled points stay, for questions about
    /// them.
    pub(super) fn finish(mut self, entry: Draft) -> Finished {
        for point in 0..self.points.len() {
            for edge in 0..self.points[point].edges.len() {
                let to = self.resolve(self.points[point].edges[edge].to);
                self.points[point].edges[edge].to = to;
            }
        }
        let entry = self.resolve(entry.0);
        self.inline_choices(entry);

        let mut order = Vec::new();
        let mut map = vec![None; self.points.len()];
        self.number(entry, &mut order, &mut map);
        let reachable = order.len();
        for point in 0..self.points.len() {
            if self.points[point].labelled && self.points[point].merged.is_none() {
                self.number(point, &mut order, &mut map);
            }
        }
        let points = order.iter().map(|&point| self.point(point, &map)).collect();
        let marks = order.iter().map(|&point| self.marks(point, &map)).collect();
        let map = (0..map.len()).map(|point| map[self.resolve(point)]).collect();
        Finished { points, marks, map, reachable }
    }

    /// Puts the edges of an alternative in the place of the choice, if it is entered only from
    /// there and has no label.
    fn inline_choices(&mut self, entry: usize) {
        let mut entries = vec![0_usize; self.points.len()];
        entries[entry] += 1;
        for point in self.points.iter().filter(|p| p.merged.is_none()) {
            for edge in &point.edges {
                entries[edge.to] += 1;
            }
        }
        // Alternatives are drafted after their choice, so those of nested choices are already
        // in place when the outer ones are looked at from the back.
        for point in (0..self.points.len()).rev() {
            let mut edges = Vec::new();
            for edge in std::mem::take(&mut self.points[point].edges) {
                let target = &mut self.points[edge.to];
                let inline = edge.instr.is_none()
                    && edge.to != point
                    && entries[edge.to] == 1
                    && !target.labelled
                    && !target.edges.is_empty();
                if inline {
                    edges.append(&mut target.edges);
                } else {
                    edges.push(edge);
                }
            }
            self.points[point].edges = edges;
        }
    }

    /// Numbers the points that can be reached from `start`, in the order of a walk along the
    /// first edges first.
    fn number(&self, start: usize, order: &mut Vec<usize>, map: &mut [Option<PointId>]) {
        let mut stack = vec![start];
        while let Some(point) = stack.pop() {
            if map[point].is_none() {
                map[point] = Some(PointId::new(order.len()));
                order.push(point);
                stack.extend(self.points[point].edges.iter().rev().map(|edge| edge.to));
            }
        }
    }

    fn point(&self, point: usize, map: &[Option<PointId>]) -> Point {
        let edges = self.points[point].edges.iter().filter_map(|edge| {
            let instr = edge.instr.clone().unwrap_or(Instr::Nop);
            map[edge.to].map(|to| Edge { instr, to, span: edge.span })
        });
        Point { edges: edges.collect() }
    }

    /// The marks of the edges of [`Automaton::point`].
    fn marks(&self, point: usize, map: &[Option<PointId>]) -> Vec<Option<TxnMark>> {
        let edges = self.points[point].edges.iter().filter(|edge| map[edge.to].is_some());
        edges.map(|edge| edge.mark).collect()
    }
}

impl Finished {
    /// The point that a draft became.
    pub(super) fn point(&self, draft: Draft) -> Option<PointId> {
        self.map.get(draft.0).copied().flatten()
    }

    /// The entry leads to the point.
    pub(super) fn is_reachable(&self, point: PointId) -> bool {
        point.index() < self.reachable
    }
}
