//! Checks cycles of orders against the definitions of the models.
//!
//! SC, TSO, PSO and coherence ask for a store order that makes no cycle with the rest. Whatever is derived
//! here holds for every such store order: were the derived order the other way round, it would
//! close a cycle with the path that it was derived from. So a cycle shows that there is none.
//!
//! The causal models are relations that the rules build up in stages, and a derivation belongs to
//! the earliest stage that has it:
//! - `Own(t)`: rule (2) of hb_o for the operations o of thread t. That the path lies in the causal
//!   past of o needs no check: it ends in a read of t, and everything before that is in its past;
//! - `Any`: cf\[hb\], from paths with `Own` of all threads;
//! - `Ordered`: two writes of one variable that hb orders;
//! - `After`: rw\[pww\], from a path that combines the first three on one variable.
//!
//! CC allows one `Own` edge from a path without derived edges, CCv many of those, CM those of one
//! thread, CCM and wCCM all. Under wCCM, `Own` and `Any` exist once in each relation.
//!
//! An initial write precedes all operations in all relations. Those of the definitions lack some
//! of these pairs, which changes nothing: nothing precedes an initial write unless the model is
//! violated.
//!
//! Cost: linear in the history and the evidence.

use super::real_time::RealTime;
use crate::evidence::rejected::Rejected;
use crate::{
    Derivation, History, HistoryCycle, HistoryEdge, HistoryModel, OpKind, Rule, Why, Within,
    initial_write, initial_write_var,
};

/// A checker of cycles in one history.
pub(super) struct Cycles<'a> {
    ops: &'a History,
    /// Without its real time, which is beside it.
    model: HistoryModel,
    time: Option<RealTime>,
    /// What [`Why::Chosen`] refers to.
    pairs: &'a [(u32, u32)],
    /// Per operation how many fences and updates are before it; empty when all of program order
    /// counts.
    barriers: Vec<u32>,
}

/// A derived edge.
struct Derived {
    from: u32,
    to: u32,
    stage: Stage,
    within: Within,
    /// Whether the path has no derived edges.
    plain: bool,
}

/// See the head of this file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Own(usize),
    Any,
    Ordered,
    After,
}

impl<'a> Cycles<'a> {
    pub(super) fn new(
        ops: &'a History,
        model: HistoryModel,
        pairs: &'a [(u32, u32)],
    ) -> Result<Cycles<'a>, Rejected> {
        let time = model.has_real_time().then(|| RealTime::of(ops));
        let model = model.without_time();
        let mut barriers = Vec::new();
        if model.is_relaxed() {
            let mut count = 0;
            barriers.extend((0..ops.len() as u32).map(|op| {
                let before = count;
                count += u32::from(is_barrier(ops, model, op));
                before
            }));
        }
        let cycles = Cycles { ops, model, time, pairs, barriers };
        let is_pair = |&(a, b): &(u32, u32)| {
            a != b && cycles.written(a).is_some() && cycles.written(a) == cycles.written(b)
        };
        match pairs.iter().position(|pair| !is_pair(pair)) {
            Some(at) => Err(Rejected::HistoryOrder(at, "no two writes to one variable")),
            None => Ok(cycles),
        }
    }

    /// Checks one cycle, and collects the choices that it rests on.
    pub(super) fn check(
        &self,
        cycle: &HistoryCycle,
        chosen: &mut Vec<i32>,
    ) -> Result<(), Rejected> {
        let mut derived: Vec<Derived> = Vec::with_capacity(cycle.derivations.len());
        for (at, derivation) in cycle.derivations.iter().enumerate() {
            let new = self
                .path(&derivation.path, derivation.within, &derived, chosen)
                .and_then(|()| self.conclude(derivation, &derived))
                .map_err(|why| Rejected::HistoryOrder(at, why))?;
            derived.push(new);
        }
        self.path(&cycle.edges, cycle.within, &derived, chosen)
            .or_else(|why| self.is_causal_cycle(cycle).then_some(()).ok_or(why))
            .and_then(|()| self.closes(cycle, &derived))
            .map_err(|why| Rejected::HistoryOrder(cycle.derivations.len(), why))
    }

    /// wCCM also asks for program order and reads-from to have no cycle.
    fn is_causal_cycle(&self, cycle: &HistoryCycle) -> bool {
        let (model, time, barriers) = (HistoryModel::Cc, None, Vec::new());
        let all_of_po = Cycles { model, time, barriers, ..*self };
        self.model == HistoryModel::Wccm
            && all_of_po.path(&cycle.edges, Within::Global, &[], &mut Vec::new()).is_ok()
    }

    /// Whether the edges are a path in the relation.
    fn path(
        &self,
        edges: &[HistoryEdge],
        within: Within,
        derived: &[Derived],
        chosen: &mut Vec<i32>,
    ) -> Result<(), &'static str> {
        if edges.is_empty() {
            return Err("a path without edges");
        }
        let has_relation = match self.model {
            HistoryModel::Coherence => within == Within::Local,
            HistoryModel::Wccm
            | HistoryModel::Pso
            | HistoryModel::PsoOwn
            | HistoryModel::Tso
            | HistoryModel::TsoRt => true,
            HistoryModel::Cc
            | HistoryModel::Ccv
            | HistoryModel::Cm
            | HistoryModel::Ccm
            | HistoryModel::Sc
            | HistoryModel::Lin => within == Within::Global,
        };
        if !has_relation {
            return Err("the model has only one relation");
        }
        if edges.windows(2).any(|pair| pair[0].to != pair[1].from) {
            return Err("two edges do not meet");
        }
        for edge in edges {
            let holds = match edge.why {
                Why::Po => self.is_po(edge.from, edge.to, within),
                Why::Rf => self.is_rf(edge.from, edge.to, within),
                Why::Rt => within == Within::Global && self.is_rt(edge.from, edge.to),
                Why::Derived(i) => derived
                    .get(i as usize)
                    .is_some_and(|known| (known.from, known.to) == (edge.from, edge.to)),
                Why::Chosen(literal) => {
                    chosen.push(literal);
                    self.is_chosen(edge, literal)
                }
            };
            if !holds {
                return Err("an edge is not there");
            }
        }
        Ok(())
    }

    fn is_chosen(&self, edge: &HistoryEdge, literal: i32) -> bool {
        let index = (literal.unsigned_abs() as usize).wrapping_sub(1);
        let pair = if literal > 0 { (edge.from, edge.to) } else { (edge.to, edge.from) };
        !self.model.is_causal() && self.pairs.get(index) == Some(&pair)
    }

    fn is_op(&self, node: u32) -> bool {
        (node as usize) < self.ops.len()
    }

    /// The variable that an operation or initial write writes.
    fn written(&self, node: u32) -> Option<u32> {
        match initial_write_var(node) {
            Some(x) => ((x as usize) < self.ops.vars()).then_some(x),
            None => (self.is_op(node) && self.ops.writes(node)).then(|| self.ops.var(node)),
        }
    }

    fn is_po(&self, a: u32, b: u32, within: Within) -> bool {
        let ops = self.ops;
        if !self.is_op(b) {
            return false;
        }
        let accesses = |op: u32, x: u32| ops.kind(op) != OpKind::Fence && ops.var(op) == x;
        if let Some(x) = initial_write_var(a) {
            return (x as usize) < ops.vars() && (within == Within::Global || accesses(b, x));
        }
        if !self.is_op(a) || a >= b || ops.thread_of(a) != ops.thread_of(b) {
            return false;
        }
        match within {
            Within::Local => ops.kind(a) != OpKind::Fence && accesses(b, ops.var(a)),
            Within::Global if !self.model.is_relaxed() => true,
            Within::Global => {
                let waits = self.barriers[b as usize] > self.barriers[a as usize];
                let may_change = match (ops.kind(a), ops.kind(b)) {
                    (OpKind::Write, OpKind::Read) => true,
                    (OpKind::Write, OpKind::Write) => {
                        matches!(self.model, HistoryModel::Pso | HistoryModel::PsoOwn)
                            && ops.var(a) != ops.var(b)
                    }
                    (OpKind::Write, OpKind::Update) => {
                        self.model == HistoryModel::PsoOwn && ops.var(a) != ops.var(b)
                    }
                    _ => false,
                };
                waits || !may_change
            }
        }
    }

    /// Whether the first operation took effect before the second one began. Of a write behind a
    /// buffer nobody knows that.
    fn is_rt(&self, a: u32, b: u32) -> bool {
        let Some(time) = &self.time else { return false };
        let is_known = self.is_op(a) && self.is_op(b) && time.is_before(a, b);
        is_known && !(self.model.is_relaxed() && self.ops.kind(a) == OpKind::Write)
    }

    fn is_rf(&self, w: u32, r: u32, within: Within) -> bool {
        if !self.is_op(r) || !self.ops.reads(r) || self.source(r) != w {
            return false;
        }
        let only_external = match within {
            Within::Global => self.model.is_relaxed(),
            Within::Local => self.model == HistoryModel::Wccm,
        };
        !only_external || !self.is_op(w) || self.is_external(r)
    }

    /// The write, perhaps the initial one, that a read reads.
    fn source(&self, r: u32) -> u32 {
        self.ops.from(r).unwrap_or_else(|| initial_write(self.ops.var(r)))
    }

    /// Whether the read reads a write of another thread.
    fn is_external(&self, r: u32) -> bool {
        self.ops.from(r).is_some_and(|w| self.ops.thread_of(w) != self.ops.thread_of(r))
    }

    fn conclude(
        &self,
        derivation: &Derivation,
        derived: &[Derived],
    ) -> Result<Derived, &'static str> {
        let (Some(first), Some(last)) = (derivation.path.first(), derivation.path.last()) else {
            return Err("a path without edges");
        };
        let (start, end) = (first.from, last.to);
        let Some(x) = self.written(start) else { return Err("the path starts in no write") };
        let ends_in_write = self.written(end) == Some(x);
        let (from, to) = match derivation.rule {
            Rule::Older => {
                let reads = self.is_op(end) && self.ops.reads(end) && self.ops.var(end) == x;
                if !reads || self.source(end) == start {
                    return Err("the path does not end in a read of another write");
                }
                (start, self.source(end))
            }
            Rule::Overtaken { read } => {
                let reads = self.is_op(read) && self.ops.reads(read) && self.source(read) == start;
                if !ends_in_write || !reads || read == end {
                    return Err("the path leads from no write to an overwriting one");
                }
                (read, end)
            }
            Rule::Ordered if ends_in_write => (start, end),
            Rule::Ordered => return Err("the path does not lead to a write of the variable"),
        };
        let stage = match self.model.is_causal() {
            true => self.stage(derivation, derived, x)?,
            false => Stage::After,
        };
        let plain = !derivation.path.iter().any(|e| matches!(e.why, Why::Derived(_)));
        Ok(Derived { from, to, stage, within: derivation.within, plain })
    }

    /// The stage of a derivation, for the causal models.
    fn stage(
        &self,
        derivation: &Derivation,
        derived: &[Derived],
        x: u32,
    ) -> Result<Stage, &'static str> {
        let too_late = Err("the model does not build on such an edge here");
        let mut used = uses(&derivation.path, derived);
        match derivation.rule {
            Rule::Older => {
                let Some(last) = derivation.path.last() else { return too_late };
                let own = Stage::Own(self.ops.thread_of(last.to));
                if used.clone().any(|u| u.within != derivation.within) {
                    return too_late;
                }
                if used.clone().all(|u| u.stage == own) {
                    return Ok(own);
                }
                let external = self.model != HistoryModel::Wccm || self.is_external(last.to);
                match external && used.all(|u| matches!(u.stage, Stage::Own(_))) {
                    true => Ok(Stage::Any),
                    false => too_late,
                }
            }
            Rule::Ordered => match used.all(|u| matches!(u.stage, Stage::Own(_))) {
                true => Ok(Stage::Ordered),
                false => too_late,
            },
            Rule::Overtaken { .. } => {
                let fits = |u: &Derived| match u.stage {
                    Stage::Own(_) => true,
                    Stage::Any | Stage::Ordered => self.written(u.to) == Some(x),
                    Stage::After => false,
                };
                match used.all(fits) {
                    true => Ok(Stage::After),
                    false => too_late,
                }
            }
        }
    }

    /// Whether a path is a cycle that the model forbids.
    fn closes(&self, cycle: &HistoryCycle, derived: &[Derived]) -> Result<(), &'static str> {
        let (Some(first), Some(last)) = (cycle.edges.first(), cycle.edges.last()) else {
            return Err("a path without edges");
        };
        if first.from != last.to {
            return Err("the path is not closed");
        }
        let mut used = uses(&cycle.edges, derived);
        let is_own = |u: &Derived| matches!(u.stage, Stage::Own(_));
        let allowed = match self.model {
            HistoryModel::Cc => used.clone().count() <= 1 && used.all(|u| is_own(u) && u.plain),
            HistoryModel::Ccv => used.all(|u| is_own(u) && u.plain),
            HistoryModel::Cm => {
                let first = used.clone().next().map(|u| u.stage);
                used.all(|u| is_own(u) && Some(u.stage) == first)
            }
            HistoryModel::Ccm
            | HistoryModel::Wccm
            | HistoryModel::Coherence
            | HistoryModel::Pso
            | HistoryModel::Tso
            | HistoryModel::Sc
            | HistoryModel::PsoOwn
            | HistoryModel::Lin
            | HistoryModel::TsoRt => true,
        };
        allowed.then_some(()).ok_or("the model allows such a cycle")
    }
}

/// The derived edges of a path that was checked.
fn uses<'d>(
    edges: &'d [HistoryEdge],
    derived: &'d [Derived],
) -> impl Iterator<Item = &'d Derived> + Clone {
    edges.iter().filter_map(|edge| match edge.why {
        Why::Derived(i) => derived.get(i as usize),
        _ => None,
    })
}

fn is_barrier(ops: &History, model: HistoryModel, op: u32) -> bool {
    match ops.kind(op) {
        OpKind::Fence => true,
        OpKind::Update => model != HistoryModel::PsoOwn,
        OpKind::Read | OpKind::Write => false,
    }
}
