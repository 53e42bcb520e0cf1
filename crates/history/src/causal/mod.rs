//! Does a history satisfy a causal model? CC, CCv, CM, CCM and wCCM, as `core/src/history/models.rs`
//! defines them, with clocks instead of matrices: what comes before an operation is one number per
//! thread (`clocks.rs`), and of the writes to a variable in a thread the last one in the past
//! speaks for those before it (`past.rs`).
//!
//! CC and CCv take time n·k for n operations and k threads, of which only the clocks are the rule. CM (`memory.rs`) takes n·k per thread
//! and round, and rarely needs more than three rounds. CCM and wCCM take n·k on top of it.

pub(crate) mod convergent_memory;
pub(crate) mod memory;
pub(crate) mod past;
pub(crate) mod weak;

use std::sync::Arc;

use weakspot_core::{
    History, HistoryEvidence, HistoryModel, Limit, Verdict, Within, initial_write,
};
use weakspot_sat::Meter;

use crate::answer::{Answer, DecidedBy};
use crate::causal::convergent_memory::convergent_memory;
use crate::causal::memory::memory;
use crate::causal::past::Past;
use crate::causal::weak::weak;
use crate::graph::clocks::Clocks;
use crate::graph::explain::{Explain, Ppo, Stage};
use crate::graph::extra::Extra;
use crate::graph::walk::{Link, LinkKind, Walk};

/// Whether the history satisfies a causal model; `None` for the others.
pub(crate) fn causal(ops: &History, model: HistoryModel, meter: &mut Meter<'_>) -> Option<Answer> {
    let found = match model {
        HistoryModel::Cc => convergent(ops, false, meter),
        HistoryModel::Ccv => convergent(ops, true, meter),
        HistoryModel::Cm => memory(ops, meter),
        HistoryModel::Ccm => convergent_memory(ops, meter),
        HistoryModel::Wccm => weak(ops, meter),
        HistoryModel::Coherence
        | HistoryModel::PsoOwn
        | HistoryModel::Pso
        | HistoryModel::Tso
        | HistoryModel::Sc
        | HistoryModel::Lin
        | HistoryModel::TsoRt => return None,
    };
    let (verdict, evidence) = match found {
        Ok(Some(violation)) => (Verdict::Violated, Some(violation)),
        Ok(None) => (Verdict::Holds, Some(HistoryEvidence::ByDefinition)),
        Err(limit) => (Verdict::Unknown(limit), None),
    };
    Some(Answer { verdict, evidence: evidence.map(Arc::new), decided_by: DecidedBy::Clocks })
}

/// How a write in the past of a read stands to the write that it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conflict {
    /// It comes after what is read, which must not be.
    Later,
    /// The clocks do not say.
    Unordered,
}

/// The last writes, one per thread, in the past of a read that do not come before what it reads.
/// What is read is `w`, or the initial write.
pub(crate) fn conflicts<'a>(
    ops: &'a History,
    clocks: &'a Clocks,
    last: impl Iterator<Item = (usize, u32)> + 'a,
    read: u32,
    w: Option<u32>,
) -> impl Iterator<Item = (u32, Conflict)> + 'a {
    let thread = w.map_or(0, |w| ops.thread_of(w));
    let row = w.map(|w| clocks.row(w));
    last.filter_map(move |(other, w1)| {
        if w1 == read {
            return None;
        }
        let (Some(w), Some(row)) = (w, row) else { return Some((w1, Conflict::Later)) };
        if other == thread {
            (w1 > w).then_some((w1, Conflict::Later))
        } else if w1 < row[other] {
            None
        } else if w < clocks.row(w1)[thread] {
            Some((w1, Conflict::Later))
        } else {
            Some((w1, Conflict::Unordered))
        }
    })
}

/// CC, and CCv if `all`: a violation, if there is one.
fn convergent(
    ops: &History,
    all: bool,
    meter: &mut Meter<'_>,
) -> Result<Option<HistoryEvidence>, Limit> {
    let mut extra = Extra::new(ops.len());
    let clocks = match Clocks::new(ops, false, &extra, meter)? {
        Ok(clocks) => clocks,
        Err(cycle) => return Ok(Some(co_cycle(ops, &cycle))),
    };
    let mut past = Past::new(ops, &clocks, false);
    for thread in 0..ops.threads() {
        past.reset();
        for op in ops.of_thread(thread) {
            let before = past.work();
            past.step(thread, op, &mut |_| {});
            let work = past.work() - before + 1;
            meter.work(work, || clocks.bytes() + past.bytes() + extra.bytes())?;
            if !ops.reads(op) {
                continue;
            }
            let w = ops.from(op);
            for (w1, conflict) in conflicts(ops, &clocks, past.last(ops.var(op)), op, w) {
                if conflict == Conflict::Later {
                    return Ok(Some(later(ops, false, &mut extra, Stage::Plain, op, w1)));
                }
                if let (true, Some(w)) = (all, w) {
                    extra.push(w1, w, op);
                }
            }
        }
    }
    if !all {
        return Ok(None);
    }
    let bytes = clocks.bytes() + extra.bytes();
    let walk = Walk { ops, relaxed: false, overtake: false, extra: &extra };
    let walked = walk.run(|_| meter.work(1, || bytes))?;
    let stages = [(extra.len(), Stage::Plain)];
    let explain = Explain { ops, ppo: Ppo::Full, extra: &extra, stages: &stages };
    Ok(walked.err().map(|cycle| explain.cycle(Within::Global, &cycle)))
}

/// The evidence for a cycle of program order and reads-from.
pub(crate) fn co_cycle(ops: &History, cycle: &[Link]) -> HistoryEvidence {
    let explain = Explain { ops, ppo: Ppo::Full, extra: &Extra::new(ops.len()), stages: &[] };
    explain.cycle(Within::Global, cycle)
}

/// The evidence when a write that comes after what a read reads, by program order and reads-from,
/// is in its past. All edges so far are of this stage.
pub(crate) fn later(
    ops: &History,
    relaxed: bool,
    extra: &mut Extra,
    stage: Stage,
    read: u32,
    w1: u32,
) -> HistoryEvidence {
    let w = ops.from(read).unwrap_or_else(|| initial_write(ops.var(read)));
    let index = extra.len() as u32;
    extra.push(w1, w, read);
    let stages = [(extra.len(), stage)];
    let ppo = if relaxed { Ppo::Tso } else { Ppo::Full };
    let explain = Explain { ops, ppo, extra, stages: &stages };
    let within = if let Stage::Own(within) = stage { within } else { Within::Global };
    let mut cycle = vec![Link { from: w1, to: w, kind: LinkKind::Extra(index) }];
    cycle.extend(explain.path(within, w, w1, |_| false).unwrap_or_default());
    explain.cycle(within, &cycle)
}
