//! CCM: causal memory in which all threads agree on one order of the writes. What the reads of
//! each thread demand (`memory.rs`) holds for all of them, and so does what follows from that: a
//! write in the past of a read comes before the write that is read, and a read comes before what
//! overwrites it (section 3.2 of the paper).

use weakspot_core::{History, HistoryEvidence, INITIAL, Limit, Within, initial_write};
use weakspot_sat::Meter;

use crate::causal::memory::Own;
use crate::causal::past::Past;
use crate::causal::{co_cycle, conflicts, later};
use crate::graph::clocks::Clocks;
use crate::graph::explain::{Explain, Ppo, Stage};
use crate::graph::extra::Extra;
use crate::graph::store::overtaken;
use crate::graph::walk::{Link, LinkKind, Walk};

/// CCM: a violation, if there is one.
pub(crate) fn convergent_memory(
    ops: &History,
    meter: &mut Meter<'_>,
) -> Result<Option<HistoryEvidence>, Limit> {
    let StoreOrder { hb, mut all, stages, order } = match store_order(ops, meter)? {
        Ok(order) => order,
        Err(violation) => return Ok(Some(violation)),
    };
    overtaken(ops, &hb, &mut all, stages[0].0, &order, meter)?;
    let bytes = hb.bytes() + all.bytes();
    let walked = Walk { ops, relaxed: false, overtake: false, extra: &all }
        .run(|_| meter.work(1, || bytes))?;
    Ok(walked.err().map(|cycle| cycle_of(ops, &all, &stages, &cycle)))
}

/// The partial store order, as what `Store` is made of.
pub(crate) struct StoreOrder {
    pub(crate) hb: Clocks,
    /// The edges of hb that program order and reads-from do not have, then those of cf.
    pub(crate) all: Extra,
    pub(crate) stages: Vec<(usize, Stage)>,
    /// All writes, each after what precedes it.
    pub(crate) order: Vec<u32>,
}

/// The partial store order pww, or a violation that shows before there is one.
pub(crate) fn store_order(
    ops: &History,
    meter: &mut Meter<'_>,
) -> Result<Result<StoreOrder, HistoryEvidence>, Limit> {
    let mut all = Extra::new(ops.len());
    let co = match Clocks::new(ops, false, &all, meter)? {
        Ok(clocks) => clocks,
        Err(cycle) => return Ok(Err(co_cycle(ops, &cycle))),
    };
    let mut own = Own::new(ops, &co, false);
    for thread in 0..ops.threads() {
        if let Some((read, w1)) = own.edges_of(thread, meter)? {
            let stage = Stage::Own(Within::Global);
            return Ok(Err(later(ops, false, &mut own.extra, stage, read, w1)));
        }
        all.append(&own.extra);
    }
    drop(own);
    let mut stages = vec![(all.len(), Stage::Own(Within::Global))];
    let hb = match all.len() {
        0 => co,
        _ => match Clocks::new(ops, false, &all, meter)? {
            Ok(clocks) => clocks,
            Err(cycle) => return Ok(Err(cycle_of(ops, &all, &stages, &cycle))),
        },
    };
    let to_initial = add_conflicts(ops, &hb, false, false, &mut all, meter)?;
    stages.push((all.len(), Stage::Any(Within::Global)));
    if let Some(cycle) = to_initial {
        return Ok(Err(cycle_of(ops, &all, &stages, &cycle)));
    }
    let mut order = Vec::new();
    let walked = Walk { ops, relaxed: false, overtake: false, extra: &all }.run(|op| {
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
    extra: &Extra,
    stages: &[(usize, Stage)],
    cycle: &[Link],
) -> HistoryEvidence {
    Explain { ops, ppo: Ppo::Full, extra, stages }.cycle(Within::Global, cycle)
}

/// cf\[hb\]: the writes in the past of each read come before the one that it reads. If that is the
/// initial one, they make a cycle. If `only_external`, reads of the own thread's writes and of
/// initial ones do not count.
pub(crate) fn add_conflicts(
    ops: &History,
    hb: &Clocks,
    relaxed: bool,
    only_external: bool,
    all: &mut Extra,
    meter: &mut Meter<'_>,
) -> Result<Option<Vec<Link>>, Limit> {
    let mut past = Past::new(ops, hb, relaxed);
    let mut found: Vec<u32> = Vec::new();
    for thread in 0..ops.threads() {
        past.reset();
        for op in ops.of_thread(thread) {
            let before = past.work();
            past.step(thread, op, &mut |_| {});
            let work = past.work() - before + 1;
            meter.work(work, || hb.bytes() + past.bytes() + all.bytes())?;
            let w = ops.from(op);
            let is_external = w.is_some_and(|w| ops.thread_of(w) != thread);
            if !ops.reads(op) || only_external && !is_external {
                continue;
            }
            found.clear();
            found.extend(conflicts(ops, hb, past.last(ops.var(op)), op, w).map(|(w1, _)| w1));
            for &w1 in &found {
                let from = ops.thread_of(w1);
                let is_known = |e: u32| e >= w1 && e != INITIAL && ops.thread_of(e) == from;
                match w {
                    Some(w) if all.leading_to(w).any(|(_, edge)| is_known(edge.from)) => {}
                    Some(w) => all.push(w1, w, op),
                    None => {
                        let initial = initial_write(ops.var(op));
                        let kind = LinkKind::Extra(all.len() as u32);
                        all.push(w1, initial, op);
                        return Ok(Some(vec![
                            Link { from: w1, to: initial, kind },
                            Link { from: initial, to: w1, kind: LinkKind::Po },
                        ]));
                    }
                }
            }
        }
    }
    Ok(None)
}
