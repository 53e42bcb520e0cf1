//! Which histories satisfy which model: the definitions, written down literally with relations as
//! matrices. Nothing here is fast, so that nothing here is clever. The models are those of
//! Zennou, Bouajjani, Enea and Erradi, "Gradual consistency checking" (CAV 2019), with these
//! corrections:
//! - CC forbids a read r of w1 with another write w2 to the variable such that w1 comes causally
//!   before w2 and w2 before r; a cycle through two such reads, as in store buffering, is allowed;
//! - wCCM also asks for program order and reads-from to have no cycle, and the second condition of
//!   TSO has all of reads-from: otherwise a thread may read its own later write.
//!
//! Coherence, which is not theirs, is the second condition of TSO alone. Linearizability is SC with
//! real-time order in addition to program order. TSO with real time is TSO with as much of
//! real-time order as the clock of a machine with buffers gives: a read, an update and a fence take
//! effect before they end, a write at any time after its beginning.
//!
//! Every variable has an initial write that comes before all operations. A fence orders everything
//! before it with everything after it wherever program order is relaxed; the causal models keep
//! all of program order, so that fences change nothing there. An update is one operation that
//! reads and writes; it is after the write it reads, and whatever overwrites that write is after
//! the update, which leaves no place between the two. It waits for the thread's buffered writes;
//! under PSO-own only for those to its own variable.
//!
//! Cost: n^4 / 64 for CM, CCM and wCCM; the number of store orders for the others.

use super::real_time::RealTime;
use crate::execution::relation::Relation;
use crate::{History, HistoryModel, OpKind};

/// Whether the history satisfies the model, by its definition. Of SC, TSO, PSO and coherence all
/// store orders are tried.
#[must_use]
pub fn satisfies(ops: &History, model: HistoryModel) -> bool {
    let graph = Graph::new(ops);
    match model {
        HistoryModel::Cc => graph.cc(),
        HistoryModel::Ccv => graph.ccv(),
        HistoryModel::Cm => graph.cm(),
        HistoryModel::Ccm => graph.ccm(),
        HistoryModel::Wccm => graph.wccm(),
        HistoryModel::Sc => {
            let rest = graph.po.clone().union(&graph.wr);
            graph.has_store_order(&[rest])
        }
        HistoryModel::Lin => {
            let rest = graph.po.clone().union(&graph.wr).union(&graph.real_time());
            graph.has_store_order(&[rest])
        }
        HistoryModel::Coherence => graph.has_store_order(&[graph.po_loc().union(&graph.wr)]),
        HistoryModel::Tso | HistoryModel::Pso | HistoryModel::PsoOwn | HistoryModel::TsoRt => {
            let mut global = graph.ppo(model).union(&graph.wre());
            if model == HistoryModel::TsoRt {
                let at_once = |a, _| !graph.is(a, OpKind::Write);
                global = global.union(&graph.real_time().filter(at_once));
            }
            let local = graph.po_loc().union(&graph.wr);
            graph.has_store_order(&[global, local])
        }
    }
}

/// Operations, followed by one initial write per variable.
struct Graph<'a> {
    ops: &'a History,
    po: Relation,
    wr: Relation,
}

impl Graph<'_> {
    fn new(ops: &History) -> Graph<'_> {
        let n = ops.len();
        let mut po = Relation::empty(n + ops.vars());
        for thread in 0..ops.threads() {
            for b in ops.of_thread(thread) {
                for a in ops.of_thread(thread).start..b {
                    po.insert(a as usize, b as usize);
                }
            }
        }
        for x in 0..ops.vars() {
            for b in 0..n {
                po.insert(n + x, b);
            }
        }
        let mut wr = Relation::empty(n + ops.vars());
        for r in (0..n as u32).filter(|&r| ops.reads(r)) {
            let w = ops.from(r).map_or(n + ops.var(r) as usize, |w| w as usize);
            wr.insert(w, r as usize);
        }
        Graph { ops, po, wr }
    }

    fn var(&self, a: usize) -> Option<usize> {
        match a.checked_sub(self.ops.len()) {
            Some(x) => Some(x),
            None if self.ops.kind(a as u32) == OpKind::Fence => None,
            None => Some(self.ops.var(a as u32) as usize),
        }
    }

    fn writes(&self, a: usize) -> bool {
        a >= self.ops.len() || self.ops.writes(a as u32)
    }

    fn is_initial(&self, a: usize) -> bool {
        a >= self.ops.len()
    }

    fn is(&self, a: usize, kind: OpKind) -> bool {
        !self.is_initial(a) && self.ops.kind(a as u32) == kind
    }

    fn same_thread(&self, a: usize, b: usize) -> bool {
        self.ops.thread_of(a as u32) == self.ops.thread_of(b as u32)
    }

    /// Both write to one variable.
    fn is_ww(&self, a: usize, b: usize) -> bool {
        self.writes(a) && self.writes(b) && self.var(a) == self.var(b)
    }

    fn ww(&self, order: &Relation) -> Relation {
        order.filter(|a, b| self.is_ww(a, b))
    }

    /// From a read to every write that comes after the one it reads. An update is not after
    /// itself.
    fn rw(&self, order: &Relation) -> Relation {
        let mut rw = Relation::empty(order.len());
        for (w, r) in self.wr.pairs() {
            for later in 0..order.len() {
                if later != r && order.contains(w, later) && self.is_ww(w, later) {
                    rw.insert(r, later);
                }
            }
        }
        rw
    }

    /// From every write that comes before a read to the write that it reads, for reads by `wr`.
    fn cf(&self, order: &Relation, wr: &Relation) -> Relation {
        let mut cf = Relation::empty(order.len());
        for (w, r) in wr.pairs() {
            for earlier in 0..order.len() {
                if earlier != w && order.contains(earlier, r) && self.is_ww(earlier, w) {
                    cf.insert(earlier, w);
                }
            }
        }
        cf
    }

    fn co(&self) -> Relation {
        self.po.clone().union(&self.wr).closure()
    }

    fn cc(&self) -> bool {
        let co = self.co();
        let overwritten = |w1: usize, r: usize| {
            (0..co.len()).any(|w2| {
                w2 != w1 && self.is_ww(w1, w2) && co.contains(w1, w2) && co.contains(w2, r)
            })
        };
        co.is_acyclic() && !self.wr.pairs().any(|(w1, r)| overwritten(w1, r))
    }

    fn ccv(&self) -> bool {
        let order = self.po.clone().union(&self.wr).union(&self.cf(&self.co(), &self.wr));
        self.cc() && order.is_acyclic()
    }

    /// hb_o for causal order `co`, which comes from program order as far as `pi` has it.
    fn hb_of(&self, pi: &Relation, co: &Relation, o: usize) -> Relation {
        let mut hb = co.filter(|a, b| co.contains(a, o) && (b == o || co.contains(b, o)));
        loop {
            hb = hb.closure();
            let before = hb.clone();
            for (w, r) in self.wr.pairs() {
                if r != o && !pi.contains(r, o) {
                    continue;
                }
                for earlier in 0..hb.len() {
                    if earlier != w && hb.contains(earlier, r) && self.is_ww(earlier, w) {
                        hb.insert(earlier, w);
                    }
                }
            }
            if hb == before {
                return hb;
            }
        }
    }

    /// The closure of all hb_o.
    fn hb(&self, pi: &Relation, co: &Relation) -> Relation {
        let all = Relation::empty(co.len());
        (0..co.len()).fold(all, |all, o| all.union(&self.hb_of(pi, co, o))).closure()
    }

    fn cm(&self) -> bool {
        let co = self.co();
        self.cc() && (0..co.len()).all(|o| self.hb_of(&self.po, &co, o).is_acyclic())
    }

    fn ccm(&self) -> bool {
        let hb = self.hb(&self.po, &self.co());
        let pww = self.ww(&hb).union(&self.cf(&hb, &self.wr)).closure();
        let rw = self.rw(&pww);
        self.po.clone().union(&self.wr).union(&pww).union(&rw).is_acyclic()
    }

    fn wccm(&self) -> bool {
        let (ppo, loc, wre) = (self.ppo(HistoryModel::Tso), self.po_loc(), self.wre());
        let hb_ppo = self.hb(&ppo, &ppo.clone().union(&wre).closure());
        let hb_loc = self.hb(&loc, &loc.clone().union(&wre).closure());
        let whb = hb_ppo.clone().union(&hb_loc).closure();
        let cfe = self.cf(&hb_loc, &wre).union(&self.cf(&hb_ppo, &wre));
        let wpww = self.ww(&whb).union(&cfe).closure();
        let store = wre.union(&self.rw(&wpww)).union(&wpww);
        ppo.union(&store).is_acyclic()
            && loc.union(&store).is_acyclic()
            && self.po.clone().union(&self.wr).is_acyclic()
    }

    /// What of program order memory sees: everything but what the buffers change.
    fn ppo(&self, model: HistoryModel) -> Relation {
        let is_store = |a| self.is_initial(a) || self.is(a, OpKind::Write);
        let own = model == HistoryModel::PsoOwn;
        let waits = |a| self.is(a, OpKind::Fence) || !own && self.is(a, OpKind::Update);
        self.po.filter(|a, b| {
            let may_change = is_store(a)
                && (self.is(b, OpKind::Read)
                    || (model == HistoryModel::Pso || own)
                        && (self.is(b, OpKind::Write) || own && self.is(b, OpKind::Update))
                        && self.var(a) != self.var(b));
            !may_change
                || (0..self.ops.len())
                    .any(|c| waits(c) && self.po.contains(a, c) && self.po.contains(c, b))
        })
    }

    fn po_loc(&self) -> Relation {
        self.po.filter(|a, b| self.var(a).is_some() && self.var(a) == self.var(b))
    }

    fn wre(&self) -> Relation {
        self.wr.filter(|w, r| !self.is_initial(w) && !self.same_thread(w, r))
    }

    /// What ended before something else began.
    fn real_time(&self) -> Relation {
        let time = RealTime::of(self.ops);
        let mut before = Relation::empty(self.po.len());
        for a in 0..self.ops.len() {
            for b in 0..self.ops.len() {
                if time.is_before(a as u32, b as u32) {
                    before.insert(a, b);
                }
            }
        }
        before
    }

    /// Whether some store order makes no cycle with any of these relations.
    fn has_store_order(&self, with: &[Relation]) -> bool {
        let n = self.ops.len();
        let mut left: Vec<Vec<usize>> = (0..self.ops.vars())
            .map(|x| (0..n).filter(|&w| self.writes(w) && self.var(w) == Some(x)).collect())
            .collect();
        self.extends(&mut Relation::empty(n + self.ops.vars()), with, &mut left, 0, &mut Vec::new())
    }

    /// Whether `ww`, which orders the writes to the variables below `x` and those in `order` to
    /// `x`, can be completed.
    fn extends(
        &self,
        ww: &mut Relation,
        with: &[Relation],
        left: &mut [Vec<usize>],
        x: usize,
        order: &mut Vec<usize>,
    ) -> bool {
        let Some(rest) = left.get(x) else { return true };
        if order.is_empty() {
            order.push(self.ops.len() + x);
        }
        if rest.is_empty() {
            let mut more = ww.clone();
            for (i, &a) in order.iter().enumerate() {
                for &b in &order[i + 1..] {
                    more.insert(a, b);
                }
            }
            let store = more.clone().union(&self.rw(&more));
            let fits = with.iter().all(|r| r.clone().union(&store).is_acyclic());
            return fits && self.extends(&mut more, with, left, x + 1, &mut Vec::new());
        }
        for i in 0..rest.len() {
            let rest = &left[x];
            // What any of the relations puts before it has to come first.
            if rest_precedes(with, rest, rest[i]) {
                continue;
            }
            let w = left[x].remove(i);
            order.push(w);
            let found = self.extends(ww, with, left, x, order);
            order.pop();
            left[x].insert(i, w);
            if found {
                return true;
            }
        }
        false
    }
}

fn rest_precedes(with: &[Relation], rest: &[usize], w: usize) -> bool {
    with.iter().any(|r| rest.iter().any(|&other| other != w && r.contains(other, w)))
}
