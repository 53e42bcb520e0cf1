//! The evidence for a history that satisfies SC, TSO or PSO: from the order in which things
//! happen in memory to a run of the machine.

use weakspot_core::{History, HistoryEvidence, HistoryModel, HistoryStep};

/// The run in which operations take effect in this order: reads when they read, writes when they
/// reach memory. A write enters the buffer as late as possible.
pub(crate) fn linear(ops: &History, model: HistoryModel, order: Vec<u32>) -> HistoryEvidence {
    let mut writes = vec![0; ops.vars()];
    for op in (0..ops.len() as u32).filter(|&op| ops.writes(op)) {
        writes[ops.var(op) as usize] += 1;
    }
    // A list that grew would be there twice while it grows.
    let mut store_order: Vec<Vec<u32>> = writes.into_iter().map(Vec::with_capacity).collect();
    for &op in order.iter().filter(|&&op| ops.writes(op)) {
        store_order[ops.var(op) as usize].push(op);
    }
    if model == HistoryModel::Sc {
        // Steps are as large as numbers: they are made where the order is.
        let steps = order.into_iter().map(HistoryStep::issue).collect();
        return HistoryEvidence::Linear { store_order, steps };
    }
    let mut steps = Vec::with_capacity(order.len() * 3 / 2);
    let mut issued: Vec<u32> = (0..ops.threads()).map(|t| ops.of_thread(t).start).collect();
    for op in order {
        let next = &mut issued[ops.thread_of(op)];
        steps.extend((*next..=op).map(HistoryStep::issue));
        *next = (*next).max(op + 1);
        if ops.writes(op) && !ops.reads(op) {
            steps.push(HistoryStep::commit(op));
        }
    }
    HistoryEvidence::Linear { store_order, steps }
}
