//! Makes evidence of a cycle: looks up how each derived edge came about, and how the edges that
//! it was derived from did.
//!
//! Derived edges are numbered in the order in which they were found, and each was found with the
//! earlier ones alone, so a path for it is sought among those. The search goes backwards from
//! where the path ends and takes the shortest way, in terms of what a reader has to follow.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};

use weakspot_core::{
    Derivation, History, HistoryCycle, HistoryEdge, HistoryEvidence, HistoryModel, OpKind, Rule,
    Why, Within, initial_write, initial_write_var,
};
use weakspot_sat::Lit;

use crate::graph::extra::Extra;
use crate::graph::walk::{Link, LinkKind};

/// The stages in which the causal models derive edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// A read makes a write precede another, by program order and reads-from alone.
    Plain,
    /// A read makes a write precede another, in the past of the read's thread.
    Own(Within),
    /// The same in the past of all threads.
    Any(Within),
    /// Two writes to a variable that are ordered by edges of both relations.
    Ordered,
    /// A read comes before what overwrites the write that it reads.
    After,
    /// What SC, TSO and PSO derive, by any edges that were there before: a read makes a write
    /// precede another, or comes itself before what overwrites the write that it reads. The edge
    /// of the latter starts in the read.
    Strong,
}

/// How much of program order counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ppo {
    /// All of it.
    Full,
    /// Reads may overtake writes.
    Tso,
    /// Writes may overtake writes to other variables, too.
    Pso,
    /// And updates may.
    PsoOwn,
}

impl Ppo {
    /// Of a strong model.
    pub(crate) fn of(model: HistoryModel) -> Ppo {
        match model {
            HistoryModel::Pso => Ppo::Pso,
            HistoryModel::PsoOwn => Ppo::PsoOwn,
            HistoryModel::Tso | HistoryModel::TsoRt | HistoryModel::Wccm => Ppo::Tso,
            HistoryModel::Cc
            | HistoryModel::Ccv
            | HistoryModel::Cm
            | HistoryModel::Ccm
            | HistoryModel::Coherence
            | HistoryModel::Sc
            | HistoryModel::Lin => Ppo::Full,
        }
    }

    /// Whether an operation waits for all writes of its thread before it.
    pub(crate) fn is_barrier(self, kind: OpKind) -> bool {
        match kind {
            OpKind::Fence => true,
            OpKind::Update => self != Ppo::PsoOwn,
            OpKind::Read | OpKind::Write => false,
        }
    }

    /// Whether reads-from counts between different threads only.
    pub(crate) fn is_relaxed(self) -> bool {
        self != Ppo::Full
    }
}

/// What is needed to explain a cycle.
pub(crate) struct Explain<'a> {
    pub(crate) ops: &'a History,
    pub(crate) ppo: Ppo,
    pub(crate) extra: &'a Extra,
    /// The stages, each with the number of edges that there were when it ended.
    pub(crate) stages: &'a [(usize, Stage)],
}

/// So many steps of program order are taken rather than a step to another thread; a derived one, which
/// has to be explained, counts twice.
const PO_STEPS: u32 = 1_000;

/// How many operations to look at for a shorter cycle.
const SHORTENING: usize = 200_000;

impl<'a> Explain<'a> {
    /// For edges that SC, TSO or PSO derived.
    pub(crate) fn strong(ops: &'a History, ppo: Ppo, extra: &'a Extra) -> Explain<'a> {
        Explain { ops, ppo, extra, stages: &[(usize::MAX, Stage::Strong)] }
    }

    /// The evidence of a cycle whose links meet head to tail.
    pub(crate) fn cycle(&self, within: Within, links: &[Link]) -> HistoryEvidence {
        let links = &self.shortened(within, links);
        HistoryEvidence::Cycle(self.justified(within, links, &mut HashMap::new(), Lit::number))
    }

    /// A cycle with the derivations of its edges. `known` remembers how derived edges came about,
    /// for the next time; `number` says how evidence writes a choice.
    pub(crate) fn justified(
        &self,
        within: Within,
        links: &[Link],
        known: &mut HashMap<u32, Vec<Link>>,
        number: impl Fn(Lit) -> i32,
    ) -> HistoryCycle {
        // The derived edges that are needed.
        let mut open: BTreeSet<u32> = derived(links).collect();
        let mut needed: Vec<u32> = Vec::new();
        while let Some(index) = open.pop_last() {
            let path =
                known.entry(index).or_insert_with(|| self.derivation(index, self.stage(index)));
            open.extend(derived(path));
            needed.push(index);
        }
        needed.reverse();
        let mut names = Names { derived: HashMap::new(), overtaken: HashMap::new(), number };
        let mut derivations = Vec::new();
        for index in needed {
            let stage = self.stage(index);
            let path = known.get(&index).map_or(&[][..], Vec::as_slice);
            derivations.push(Derivation {
                rule: match stage {
                    Stage::Ordered => Rule::Ordered,
                    Stage::After | Stage::Strong if self.is_overtaken(index, stage) => {
                        Rule::Overtaken { read: self.extra.get(index).read }
                    }
                    _ => Rule::Older,
                },
                within: self.within_of(index, stage),
                path: edges(&self.merged(self.within_of(index, stage), path), &names),
            });
            names.derived.insert(index, derivations.len() as u32 - 1);
        }
        for link in links {
            if let LinkKind::Overtaken(lit) = link.kind
                && let Some(from) = self.ops.from(link.from)
            {
                let why = Why::Chosen((names.number)(lit));
                derivations.push(Derivation {
                    rule: Rule::Overtaken { read: link.from },
                    within: Within::Global,
                    path: vec![HistoryEdge { from, to: link.to, why }],
                });
                names.overtaken.insert((link.from, link.to), derivations.len() as u32 - 1);
            }
        }
        HistoryCycle { edges: edges(&self.merged(within, links), &names), derivations, within }
    }

    /// A path by program order, reads-from and the derived edges that are `allowed`.
    pub(crate) fn path(
        &self,
        within: Within,
        from: u32,
        to: u32,
        allowed: impl Fn(u32) -> bool,
    ) -> Option<Vec<Link>> {
        self.path_within(within, from, to, allowed, &mut { usize::MAX })
    }

    /// The same; gives up when so many operations were looked at.
    fn path_within(
        &self,
        within: Within,
        from: u32,
        to: u32,
        allowed: impl Fn(u32) -> bool,
        budget: &mut usize,
    ) -> Option<Vec<Link>> {
        if initial_write_var(from).is_some() {
            return Some(vec![Link { from, to, kind: LinkKind::Po }]);
        }
        // From each operation that was reached the link that leads towards `to`, and how far it is.
        let mut towards: HashMap<u32, (u32, Link)> = HashMap::new();
        let mut queue = BinaryHeap::from([(Reverse(0), to)]);
        while let Some((Reverse(distance), op)) = queue.pop() {
            if op == from && distance > 0 {
                break;
            }
            if initial_write_var(op).is_some()
                || towards.get(&op).is_some_and(|&(known, _)| known < distance)
            {
                continue;
            }
            *budget = budget.checked_sub(1)?;
            let mut reached = |link: Link, length: u32| {
                let distance = distance.saturating_add(length);
                let known = towards.entry(link.from).or_insert((u32::MAX, link));
                if distance < known.0 {
                    *known = (distance, link);
                    queue.push((Reverse(distance), link.from));
                }
            };
            self.po_before(op, within, |before| {
                reached(Link { from: before, to: op, kind: LinkKind::Po }, 1);
            });
            if let Some(w) = self.ops.from(op)
                && !(self.ppo.is_relaxed() && self.ops.thread_of(w) == self.ops.thread_of(op))
            {
                reached(Link { from: w, to: op, kind: LinkKind::Rf }, PO_STEPS);
            }
            for (index, edge) in self.extra.leading_to(op).filter(|&(index, _)| allowed(index)) {
                let link = Link { from: edge.from, to: op, kind: LinkKind::Extra(index) };
                reached(link, 2 * PO_STEPS);
            }
        }
        let mut path = vec![towards.get(&from)?.1];
        while let Some(&Link { to: at, .. }) = path.last().filter(|link| link.to != to) {
            path.push(towards.get(&at)?.1);
        }
        Some(self.shortcut(within, &path))
    }

    /// The path with a step of program order wherever it comes back to a thread.
    fn shortcut(&self, within: Within, links: &[Link]) -> Vec<Link> {
        let mut short = Vec::new();
        let mut at = 0;
        while let Some(&link) = links.get(at) {
            let far =
                (at..links.len()).rev().find(|&far| self.is_po(link.from, links[far].to, within));
            match far {
                Some(far) => {
                    short.push(Link { from: link.from, to: links[far].to, kind: LinkKind::Po });
                    at = far + 1;
                }
                None => {
                    short.push(link);
                    at += 1;
                }
            }
        }
        short
    }

    /// Takes steps of program order together. Under PSO-own two of them need not be one: a write
    /// comes before an update of its variable, and that before everything behind it.
    fn merged(&self, within: Within, links: &[Link]) -> Vec<Link> {
        let mut merged: Vec<Link> = Vec::new();
        for &link in links {
            match merged.last_mut() {
                Some(last)
                    if last.kind == LinkKind::Po
                        && link.kind == LinkKind::Po
                        && initial_write_var(last.from).is_none()
                        && (self.ppo != Ppo::PsoOwn || self.is_po(last.from, link.to, within)) =>
                {
                    last.to = link.to;
                }
                _ => merged.push(link),
            }
        }
        merged
    }

    /// Whether two operations are in program order, as far as the relation has it.
    fn is_po(&self, a: u32, b: u32, within: Within) -> bool {
        let ops = self.ops;
        let is_op = |node: u32| initial_write_var(node).is_none();
        if !is_op(a) || !is_op(b) || a >= b || ops.thread_of(a) != ops.thread_of(b) {
            return false;
        }
        let (first, second) = (ops.kind(a), ops.kind(b));
        if within == Within::Local {
            let accesses = first != OpKind::Fence && second != OpKind::Fence;
            return accesses && ops.var(a) == ops.var(b);
        }
        let may_change = match (self.ppo, first, second) {
            (Ppo::Full, _, _) => false,
            (_, OpKind::Write, OpKind::Read) => true,
            (Ppo::Pso | Ppo::PsoOwn, OpKind::Write, OpKind::Write)
            | (Ppo::PsoOwn, OpKind::Write, OpKind::Update) => ops.var(a) != ops.var(b),
            _ => false,
        };
        let is_barrier = |op: u32| self.ppo.is_barrier(ops.kind(op));
        !may_change || (a + 1..b).any(is_barrier)
    }

    /// The operations right before this one in program order, as far as the relation has it.
    fn po_before(&self, op: u32, within: Within, mut found: impl FnMut(u32)) {
        let ops = self.ops;
        let start = ops.of_thread(ops.thread_of(op)).start;
        let kind = |op: u32| ops.kind(op);
        let is_main = |&o: &u32| kind(o) != OpKind::Write;
        let same = |&o: &u32| kind(o) != OpKind::Fence && ops.var(o) == ops.var(op);
        let mut before = (start..op).rev();
        match (within, self.ppo) {
            (Within::Local, _) => before.find(same).into_iter().for_each(found),
            (Within::Global, Ppo::Full) => before.next().into_iter().for_each(found),
            (Within::Global, Ppo::Tso) => {
                before.clone().find(is_main).into_iter().for_each(&mut found);
                if kind(op) != OpKind::Read {
                    before.find(|&o| kind(o) != OpKind::Read).into_iter().for_each(found);
                }
            }
            (Within::Global, Ppo::Pso | Ppo::PsoOwn) => {
                before.clone().find(is_main).into_iter().for_each(&mut found);
                let is_barrier = |&o: &u32| self.ppo.is_barrier(kind(o));
                let writes = before.take_while(|o| !is_barrier(o));
                let mut writes = writes.filter(|&o| kind(o) == OpKind::Write);
                match kind(op) {
                    OpKind::Read => {}
                    _ if is_barrier(&op) => writes.for_each(found),
                    _ => writes.find(same).into_iter().for_each(found),
                }
            }
        }
    }

    /// A path of the partial store order: by what is demanded anywhere, and by the conflicts on
    /// the variable of these two writes.
    pub(crate) fn store_path(&self, from: u32, to: u32) -> Vec<Link> {
        let var = self.ops.var(to);
        let path = self.path(Within::Global, from, to, |index| match self.stage(index) {
            Stage::Plain | Stage::Own(_) => true,
            Stage::Any(_) => self.ops.var(self.extra.get(index).from) == var,
            Stage::Ordered | Stage::After | Stage::Strong => false,
        });
        path.unwrap_or_default()
    }

    /// Whether a link is a conflict.
    pub(crate) fn is_any(&self, link: &Link) -> bool {
        match link.kind {
            LinkKind::Extra(index) => matches!(self.stage(index), Stage::Any(_)),
            _ => false,
        }
    }

    fn stage(&self, index: u32) -> Stage {
        let found = self.stages.iter().find(|(end, _)| (index as usize) < *end);
        found.map_or(Stage::After, |&(_, stage)| stage)
    }

    /// The path that a derived edge follows from.
    fn derivation(&self, index: u32, stage: Stage) -> Vec<Link> {
        let edge = self.extra.get(index);
        let thread = |index: u32| self.ops.thread_of(self.extra.get(index).read);
        let (from, to) = match stage {
            Stage::Ordered => (edge.from, edge.to),
            _ if self.is_overtaken(index, stage) => {
                let w = self.ops.from(edge.read);
                (w.unwrap_or_else(|| initial_write(self.ops.var(edge.read))), edge.to)
            }
            _ => (edge.from, edge.read),
        };
        let path = self.path(self.within_of(index, stage), from, to, |other| {
            let earlier = self.stage(other);
            other < index
                && match stage {
                    Stage::Plain => false,
                    Stage::Strong => true,
                    Stage::Own(_) => earlier == stage && thread(other) == thread(index),
                    Stage::Any(within) => earlier == Stage::Own(within),
                    Stage::Ordered => matches!(earlier, Stage::Own(_)),
                    Stage::After => match earlier {
                        Stage::Plain | Stage::Own(_) => true,
                        Stage::Any(_) | Stage::Ordered => {
                            self.ops.var(self.extra.get(other).from) == self.ops.var(edge.to)
                        }
                        Stage::After | Stage::Strong => false,
                    },
                }
        });
        path.unwrap_or_default()
    }

    /// Whether the edge leads from a read to what overwrites the write that it reads.
    fn is_overtaken(&self, index: u32, stage: Stage) -> bool {
        let edge = self.extra.get(index);
        stage == Stage::After || stage == Stage::Strong && edge.from == edge.read
    }

    /// The relation that an edge was derived in.
    fn within_of(&self, index: u32, stage: Stage) -> Within {
        let edge = self.extra.get(index);
        match stage {
            Stage::Own(within) | Stage::Any(within) => within,
            // A write and a later read of its own thread.
            Stage::Strong
                if self.ppo.is_relaxed()
                    && edge.from < edge.read
                    && self.ops.thread_of(edge.from) == self.ops.thread_of(edge.read) =>
            {
                Within::Local
            }
            _ => Within::Global,
        }
    }

    /// The cycle, or a shorter one through one of its operations that uses no other derived edges
    /// than it does.
    fn shortened(&self, within: Within, links: &[Link]) -> Vec<Link> {
        let mut best = self.merged(within, &self.shortcut(within, links));
        let used: Vec<u32> = derived(links).collect();
        let mut budget = SHORTENING;
        for link in self.merged(within, links) {
            let allowed = |index| used.contains(&index);
            if initial_write_var(link.from).is_none()
                && let Some(path) =
                    self.path_within(within, link.from, link.from, allowed, &mut budget)
                && self.merged(within, &path).len() < best.len()
            {
                best = self.merged(within, &path);
            }
        }
        best
    }
}

fn derived(links: &[Link]) -> impl Iterator<Item = u32> + '_ {
    links.iter().filter_map(|link| match link.kind {
        LinkKind::Extra(index) => Some(index),
        _ => None,
    })
}

/// How evidence names derivations and choices.
struct Names<F> {
    /// By the number of the derived edge.
    derived: HashMap<u32, u32>,
    /// By read and write.
    overtaken: HashMap<(u32, u32), u32>,
    number: F,
}

fn edges<F: Fn(Lit) -> i32>(links: &[Link], names: &Names<F>) -> Vec<HistoryEdge> {
    let edge = |link: Link| {
        let derived = |name: Option<&u32>| Why::Derived(name.copied().unwrap_or(0));
        let why = match link.kind {
            LinkKind::Po => Why::Po,
            LinkKind::Rf => Why::Rf,
            LinkKind::Extra(index) => derived(names.derived.get(&index)),
            LinkKind::Overtaken(_) => derived(names.overtaken.get(&(link.from, link.to))),
            LinkKind::Chosen(lit) => Why::Chosen((names.number)(lit)),
        };
        HistoryEdge { from: link.from, to: link.to, why }
    };
    links.iter().copied().map(edge).collect()
}
