//! wCCM: what CCM is for SC, for TSO (section 4.1 of the paper). There are two relations: the
//! global one, with program order as far as TSO's memory sees it, and the local one of each
//! variable, with all of program order on it. Each has its own hb and its own conflicts; the
//! partial store order is what follows from both together, and makes no cycle with either.
//!
//! The local relations are those of the histories of one variable each, in which program order is
//! not relaxed. Between two writes, the steps of program order from a write to a read that only
//! the local relation has add nothing to the closure of both: a read is left only by program order
//! to a later write, fence or update, and the global relation has that from the first write, too.

use weakspot_core::{History, HistoryEvidence, INITIAL, Limit, OpKind, Within};
use weakspot_sat::Meter;

use crate::causal::convergent_memory::{StoreOrder, add_conflicts};
use crate::causal::memory::Own;
use crate::causal::{co_cycle, later};
use crate::graph::clocks::Clocks;
use crate::graph::explain::{Explain, Ppo, Stage};
use crate::graph::extra::Extra;
use crate::graph::store::{Readers, Store, by_variable};
use crate::graph::walk::{Link, LinkKind, Walk};

/// wCCM: a violation, if there is one.
pub(crate) fn weak(ops: &History, meter: &mut Meter<'_>) -> Result<Option<HistoryEvidence>, Limit> {
    let parts = by_variable(ops, &accesses(ops));
    let StoreOrder { hb, mut all, stages, order } = match store_order(ops, &parts, meter)? {
        Ok(order) => order,
        Err(violation) => return Ok(Some(violation)),
    };
    let readers = Readers::new(ops);
    for (var, order) in by_variable(ops, &order).into_iter().enumerate() {
        meter.work((order.len() * ops.threads()) as u64, || hb.bytes() + all.bytes())?;
        let store = Store::new(ops, &hb, &all, stages[1].0, &order);
        let overtaken = store.overtaken(&readers, var);
        let local = Local::new(ops, &parts[var]);
        let violation = local.check(ops, &all, &stages, &store.before_each(), &overtaken, meter)?;
        if violation.is_some() {
            return Ok(violation);
        }
        for (r, w) in overtaken {
            if !hb.has_before(ops, r, w) {
                all.push(r, w, r);
            }
        }
    }
    let bytes = hb.bytes() + all.bytes();
    let walked = Walk { ops, relaxed: true, overtake: true, extra: &all }
        .run(|_| meter.work(1, || bytes))?;
    Ok(walked.err().map(|cycle| cycle_of(ops, &all, &stages, &cycle)))
}

/// The partial store order wpww, or a violation that shows before there is one. Edges of the first
/// two stages are of hb.
pub(crate) fn store_order(
    ops: &History,
    parts: &[Vec<u32>],
    meter: &mut Meter<'_>,
) -> Result<Result<StoreOrder, HistoryEvidence>, Limit> {
    let mut all = Extra::new(ops.len());
    let walk = Walk { ops, relaxed: false, overtake: false, extra: &all };
    if let Err(cycle) = walk.run(|_| meter.work(1, || 0))? {
        return Ok(Err(co_cycle(ops, &cycle)));
    }
    let mut conflicts = Extra::new(ops.len());
    let ppo = match global(ops, &mut all, &mut conflicts, meter)? {
        Ok(clocks) => clocks,
        Err(violation) => return Ok(Err(violation)),
    };
    let mut stages = vec![(all.len(), Stage::Own(Within::Global))];
    let mut local_conflicts = Vec::new();
    for part in parts {
        let local = Local::new(ops, part);
        let found = local.derive(ops, &mut all, &mut local_conflicts, meter)?;
        if let Some(violation) = found {
            return Ok(Err(violation));
        }
    }
    let is_more = all.len() > stages[0].0;
    stages.push((all.len(), Stage::Own(Within::Local)));
    let hb = match is_more {
        false => ppo,
        true => match Clocks::new(ops, true, &all, meter)? {
            Ok(clocks) => clocks,
            Err(cycle) => return Ok(Err(cycle_of(ops, &all, &stages, &cycle))),
        },
    };
    all.append(&conflicts);
    stages.push((all.len(), Stage::Any(Within::Global)));
    for (from, to, read) in local_conflicts {
        all.push(from, to, read);
    }
    stages.push((all.len(), Stage::Any(Within::Local)));
    let mut order = Vec::new();
    let walked = Walk { ops, relaxed: true, overtake: false, extra: &all }.run(|op| {
        order.extend(ops.writes(op).then_some(op));
        meter.work(1, || hb.bytes() + all.bytes())
    })?;
    if let Err(cycle) = walked {
        return Ok(Err(cycle_of(ops, &all, &stages, &cycle)));
    }
    Ok(Ok(StoreOrder { hb, all, stages, order }))
}

fn cycle_of(
    ops: &History,
    all: &Extra,
    stages: &[(usize, Stage)],
    cycle: &[Link],
) -> HistoryEvidence {
    Explain { ops, ppo: Ppo::Tso, extra: all, stages }.cycle(Within::Global, cycle)
}

pub(crate) fn accesses(ops: &History) -> Vec<u32> {
    (0..ops.len() as u32).filter(|&op| ops.kind(op) != OpKind::Fence).collect()
}

/// The global relation: the edges that its reads demand, and the conflicts that follow. The result
/// is its clocks, or a violation.
fn global(
    ops: &History,
    all: &mut Extra,
    conflicts: &mut Extra,
    meter: &mut Meter<'_>,
) -> Result<Result<Clocks, HistoryEvidence>, Limit> {
    let stages = |all: &Extra| [(all.len(), Stage::Own(Within::Global))];
    let cycle_of = |all: &Extra, cycle: &[Link]| {
        Explain { ops, ppo: Ppo::Tso, extra: all, stages: &stages(all) }
            .cycle(Within::Global, cycle)
    };
    let co = match Clocks::new(ops, true, all, meter)? {
        Ok(clocks) => clocks,
        Err(cycle) => return Ok(Err(cycle_of(all, &cycle))),
    };
    let mut own = Own::new(ops, &co, true);
    for thread in 0..ops.threads() {
        if let Some((read, w1)) = own.edges_of(thread, meter)? {
            let stage = Stage::Own(Within::Global);
            return Ok(Err(later(ops, true, &mut own.extra, stage, read, w1)));
        }
        all.append(&own.extra);
    }
    drop(own);
    let hb = match all.len() {
        0 => co,
        _ => match Clocks::new(ops, true, all, meter)? {
            Ok(clocks) => clocks,
            Err(cycle) => return Ok(Err(cycle_of(all, &cycle))),
        },
    };
    add_conflicts(ops, &hb, true, true, conflicts, meter)?;
    Ok(Ok(hb))
}

/// The history of one variable.
struct Local {
    ops: History,
    /// Per operation its number in the whole history.
    whole: Vec<u32>,
}

impl Local {
    /// `accesses` are all operations on the variable, by their numbers.
    fn new(ops: &History, accesses: &[u32]) -> Local {
        let mut local = Local { ops: History::new(), whole: accesses.to_vec() };
        let mut accesses = accesses.iter().peekable();
        for thread in 0..ops.threads() {
            local.ops.thread();
            while let Some(&op) = accesses.next_if(|&op| ops.of_thread(thread).contains(op)) {
                local.ops.push(ops.kind(op), 0, INITIAL);
            }
        }
        for op in 0..local.whole.len() {
            if let Some(w) = ops.from(local.whole[op]) {
                local.ops.set_from(op as u32, local.part(w));
            }
        }
        local
    }

    /// The number that an operation has here.
    fn part(&self, op: u32) -> u32 {
        self.whole.partition_point(|&other| other < op) as u32
    }

    fn whole(&self, op: u32) -> u32 {
        self.whole[op as usize]
    }

    fn whole_link(&self, link: Link) -> Link {
        Link { from: self.whole(link.from), to: self.whole(link.to), ..link }
    }

    /// Adds the edges that the reads of the variable demand to `all`, and the conflicts that
    /// follow to `conflicts`; or finds a violation.
    fn derive(
        &self,
        ops: &History,
        all: &mut Extra,
        conflicts: &mut Vec<(u32, u32, u32)>,
        meter: &mut Meter<'_>,
    ) -> Result<Option<HistoryEvidence>, Limit> {
        let mut edges = Extra::new(self.ops.len());
        let co = match Clocks::new(&self.ops, false, &edges, meter)? {
            Ok(clocks) => clocks,
            Err(cycle) => return Ok(Some(self.explain(ops, &edges, &cycle))),
        };
        let mut own = Own::new(&self.ops, &co, false);
        for thread in 0..self.ops.threads() {
            if let Some((read, w1)) = own.edges_of(thread, meter)? {
                let mut edges = self.whole_edges(ops, &own.extra);
                let (read, w1) = (self.whole(read), self.whole(w1));
                let stage = Stage::Own(Within::Local);
                return Ok(Some(later(ops, true, &mut edges, stage, read, w1)));
            }
            edges.append(&own.extra);
        }
        drop(own);
        let hb = match edges.len() {
            0 => co,
            _ => match Clocks::new(&self.ops, false, &edges, meter)? {
                Ok(clocks) => clocks,
                Err(cycle) => return Ok(Some(self.explain(ops, &edges, &cycle))),
            },
        };
        let mut found = Extra::new(self.ops.len());
        add_conflicts(&self.ops, &hb, false, true, &mut found, meter)?;
        for edge in edges.iter() {
            all.push(self.whole(edge.from), self.whole(edge.to), self.whole(edge.read));
        }
        conflicts.extend(
            found.iter().map(|e| (self.whole(e.from), self.whole(e.to), self.whole(e.read))),
        );
        Ok(None)
    }

    fn whole_edges(&self, ops: &History, edges: &Extra) -> Extra {
        let mut whole = Extra::new(ops.len());
        for edge in edges.iter() {
            whole.push(self.whole(edge.from), self.whole(edge.to), self.whole(edge.read));
        }
        whole
    }

    fn explain(&self, ops: &History, edges: &Extra, cycle: &[Link]) -> HistoryEvidence {
        let edges = self.whole_edges(ops, edges);
        let cycle: Vec<Link> = cycle.iter().map(|&link| self.whole_link(link)).collect();
        let stages = [(edges.len(), Stage::Own(Within::Local))];
        Explain { ops, ppo: Ppo::Tso, extra: &edges, stages: &stages }.cycle(Within::Local, &cycle)
    }

    /// Whether the variable's operations make a cycle with the pairs of the partial store order
    /// and with what it overtakes.
    fn check(
        &self,
        ops: &History,
        all: &Extra,
        stages: &[(usize, Stage)],
        ordered: &[(u32, u32)],
        overtaken: &[(u32, u32)],
        meter: &mut Meter<'_>,
    ) -> Result<Option<HistoryEvidence>, Limit> {
        let mut edges = Extra::new(self.ops.len());
        for &(from, to) in ordered.iter().chain(overtaken) {
            let from = self.part(from);
            edges.push(from, self.part(to), from);
        }
        let bytes = all.bytes() + edges.bytes();
        let walk = Walk { ops: &self.ops, relaxed: false, overtake: false, extra: &edges };
        let Err(cycle) = walk.run(|_| meter.work(1, || bytes))? else { return Ok(None) };
        // Steps of the store order are taken apart: what both relations say together is stated
        // once, conflicts stand for themselves.
        let explain = Explain { ops, ppo: Ppo::Tso, extra: all, stages };
        let mut evidence = Extra::new(ops.len());
        evidence.append(all);
        let mut links = Vec::new();
        let mut overtakings = Vec::new();
        for &link in &cycle {
            let link = self.whole_link(link);
            match link.kind {
                LinkKind::Extra(index) if (index as usize) < ordered.len() => {
                    let path = explain.store_path(link.from, link.to);
                    for segment in path.chunk_by(|a, b| !explain.is_any(a) && !explain.is_any(b)) {
                        match segment {
                            [link] if explain.is_any(link) => links.push(*link),
                            [first, .., last] | [first @ last] => {
                                let kind = LinkKind::Extra(evidence.len() as u32);
                                evidence.push(first.from, last.to, INITIAL);
                                links.push(Link { from: first.from, to: last.to, kind });
                            }
                            [] => {}
                        }
                    }
                }
                LinkKind::Extra(_) => {
                    overtakings.push(links.len());
                    links.push(link);
                }
                _ => links.push(link),
            }
        }
        let mut stages = stages.to_vec();
        stages.push((evidence.len(), Stage::Ordered));
        for at in overtakings {
            links[at].kind = LinkKind::Extra(evidence.len() as u32);
            evidence.push(links[at].from, links[at].to, links[at].from);
        }
        let explain = Explain { ops, ppo: Ppo::Tso, extra: &evidence, stages: &stages };
        Ok(Some(explain.cycle(Within::Local, &links)))
    }
}
