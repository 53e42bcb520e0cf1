//! How much of the store order is settled before anybody has to guess? Section 5.1 of the paper
//! measures it: the share of pairs of writes to one variable that the partial store order leaves
//! open.

use weakspot_core::{History, HistoryModel, Limit, Limits, Progress};
use weakspot_sat::Meter;

use crate::causal::convergent_memory::{self, add_conflicts};
use crate::causal::weak;
use crate::gradual::saturate::saturate;
use crate::graph::clocks::Clocks;
use crate::graph::explain::Ppo;
use crate::graph::extra::Extra;
use crate::graph::store::{Store, by_variable};
use crate::graph::walk::Walk;

/// Pairs of writes to one variable, initial ones aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pairs {
    /// All of them.
    pub all: u64,
    /// Those that are not ordered.
    pub open: u64,
}

/// The pairs that the partial store order of a model leaves open: of CC and CM, whose threads need
/// not agree on more, causal order; of CCv causal order and cf; of CCM and wCCM the paper's pww and
/// wpww; of SC, TSO and PSO saturation. `None` if the history violates the model and that shows
/// before there is such an order, and for coherence, which needs none.
///
/// # Errors
/// When a limit is reached.
pub fn open_pairs(
    ops: &History,
    model: HistoryModel,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Option<Pairs>, Limit> {
    let mut meter = Meter::new(limits, progress);
    let meter = &mut meter;
    match model {
        HistoryModel::Cc | HistoryModel::Cm => causal(ops, false, meter),
        HistoryModel::Ccv => causal(ops, true, meter),
        HistoryModel::Ccm => Ok(convergent_memory::store_order(ops, meter)?
            .ok()
            .map(|found| count(ops, &found.hb, &found.all, found.stages[0].0, &found.order))),
        HistoryModel::Wccm => {
            let parts = by_variable(ops, &weak::accesses(ops));
            Ok(weak::store_order(ops, &parts, meter)?
                .ok()
                .map(|found| count(ops, &found.hb, &found.all, found.stages[1].0, &found.order)))
        }
        HistoryModel::Coherence | HistoryModel::Lin | HistoryModel::TsoRt => Ok(None),
        HistoryModel::PsoOwn | HistoryModel::Pso | HistoryModel::Tso | HistoryModel::Sc => {
            match saturate(ops, Ppo::of(model), true, meter)? {
                Err(_) => Ok(None),
                Ok(orders) => {
                    let (all, open) = orders.pairs();
                    Ok(Some(Pairs { all, open }))
                }
            }
        }
    }
}

fn causal(ops: &History, conflicts: bool, meter: &mut Meter<'_>) -> Result<Option<Pairs>, Limit> {
    let mut extra = Extra::new(ops.len());
    let Ok(co) = Clocks::new(ops, false, &extra, meter)? else { return Ok(None) };
    if conflicts && add_conflicts(ops, &co, false, false, &mut extra, meter)?.is_some() {
        return Ok(None);
    }
    let mut order = Vec::new();
    let walked = Walk { ops, relaxed: false, overtake: false, extra: &extra }.run(|op| {
        order.extend(ops.writes(op).then_some(op));
        meter.work(1, || co.bytes() + extra.bytes())
    })?;
    Ok(walked.ok().map(|()| count(ops, &co, &extra, 0, &order)))
}

fn count(ops: &History, hb: &Clocks, extra: &Extra, conflicts: usize, order: &[u32]) -> Pairs {
    let mut pairs = Pairs { all: 0, open: 0 };
    for order in by_variable(ops, order) {
        let (all, ordered) = Store::new(ops, hb, extra, conflicts, &order).pairs();
        pairs.all += all;
        pairs.open += all - ordered;
    }
    pairs
}
