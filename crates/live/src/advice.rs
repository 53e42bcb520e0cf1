//! Which single fences would have prevented a finding, in the execution that shows it.
//!
//! Whatever prevents all findings has one of them for each; the cheapest such set is tried next,
//! by exploring the program again as if it had these fences (`explore::hitting` finds it, and
//! `explore/src/fence.rs` does the same for programs that are only text).

use weakspot_core::{Drain, Model};

use crate::added::is_atomic_store;
use crate::watch::{Finding, Order, Step};
use crate::{Extra, OpKind};

/// The fences between steps of `steps`, and the stronger orders of these, any one of which prevents
/// `finding`, which the steps show for the first time although the program is looked at as if it
/// had `extra`.
///
/// A fence has to stand after the store and before the first later step of its thread that the
/// access depends on; this one overtakes the store. Between stores it helps only if that one
/// stores, or if an atomic update is on the way.
///
/// Cost: quadratic in the number of steps.
#[must_use]
pub fn preventing(steps: &[Step], finding: &Finding, extra: &[Extra]) -> Vec<Extra> {
    let steps: Vec<Step> = finding.shown.iter().map(|&at| steps[at]).collect();
    let (store, access) = (finding.at, steps.len() - 1);
    let (q, p) = (steps[store].thread, steps[access].thread);
    let overtakes = steps[..access]
        .iter()
        .rposition(|step| step.thread == p)
        .and_then(|previous| first_leading_to(&steps, store, previous))
        .unwrap_or(access);
    let own: Vec<Step> =
        steps[store..=overtakes].iter().filter(|step| step.thread == q).copied().collect();
    let mut fences = between(&own, finding.model);
    fences.sort_unstable();
    fences.dedup();
    // What is there already did not prevent it.
    fences.retain(|fence| !extra.contains(fence));
    fences
}

/// What keeps the first of these steps of a thread from being overtaken by the last.
fn between(own: &[Step], model: Model) -> Vec<Extra> {
    let mut fences = Vec::new();
    let last = own.len().saturating_sub(1);
    let stores = |step: &Step| matches!(step.op.kind, OpKind::Write | OpKind::Update);
    let pso = matches!(model, Model::Pso(_));
    for (i, pair) in own.windows(2).enumerate() {
        let (a, b) = (pair[0].at, pair[1].at);
        fences.push(Extra::Full(a, b));
        let update = own[i + 1..].iter().any(|step| step.op.kind == OpKind::Update);
        if pso && (update || stores(&own[last])) {
            fences.push(Extra::Stores(a, b));
        }
    }
    for (i, step) in own.iter().enumerate().filter(|(_, step)| is_atomic_store(step)) {
        let strong = match (model, step.op.kind) {
            // It waits for those before it and for itself.
            (Model::Tso | Model::Pso(Drain::All), OpKind::Write) => i < last,
            (Model::Pso(Drain::All), OpKind::Update) => i > 0,
            // There it is an update, which is never pending.
            (Model::Pso(Drain::Own), OpKind::Write) => i == 0,
            _ => false,
        };
        if strong && step.order < Order::SeqCst {
            fences.push(Extra::Order(step.at, Order::SeqCst));
        }
        let update = own[i..].iter().any(|step| step.op.kind == OpKind::Update);
        let released = model == Model::Pso(Drain::All) && (update || stores(&own[last]));
        if i > 0 && released && step.order < Order::Release {
            fences.push(Extra::Order(step.at, Order::Release));
        }
    }
    fences
}

/// The first step of the thread of `store`, after it, on which `end` depends by way of another
/// thread.
fn first_leading_to(steps: &[Step], store: usize, end: usize) -> Option<usize> {
    let depends = |a: &Step, b: &Step| {
        a.op.conflicts(b.op)
            || b.op.kind == OpKind::Join && b.op.addr == u64::from(a.thread)
            || a.op.kind == OpKind::Spawn && a.op.addr == u64::from(b.thread)
    };
    let q = steps[store].thread;
    let mut leads = vec![false; end + 1];
    leads[end] = true;
    let mut first = None;
    for i in (store + 1..end).rev() {
        let (a, later) = (&steps[i], i + 1..=end);
        let away =
            later.clone().any(|j| leads[j] && steps[j].thread != a.thread && depends(a, &steps[j]));
        if a.thread == q && away {
            first = Some(i);
        }
        leads[i] = away || later.into_iter().any(|j| leads[j] && steps[j].thread == a.thread);
    }
    first
}

#[cfg(test)]
mod tests {
    use weakspot_core::Drain;

    use super::*;
    use crate::Watch;
    use crate::watch::test_steps::steps;

    fn check(text: &str, model: Model, expected: &[Extra]) {
        let steps = steps(text);
        let mut watch = Watch::new(&[model], &[]);
        steps.iter().for_each(|step| watch.step(*step));
        watch.end();
        assert_eq!(watch.findings().len(), 1, "{text}");
        assert_eq!(preventing(&steps, &watch.findings()[0], &[]), expected, "{text}");
    }

    #[test]
    fn between_the_store_and_what_overtakes_it() {
        use Extra::{Full, Stores};
        let pso = Model::Pso(Drain::All);
        check("0wx 0ry 1wy 1rx", Model::Tso, &[Full(1, 2)]);
        check("0wx 0rz 0ry 0rz 1wy 1rx", Model::Tso, &[Full(1, 2), Full(2, 3)]);
        check("0wz 0wx 0wy 1ry 1rx 0rz", pso, &[Full(2, 3), Stores(2, 3)]);
        // By way of a third thread.
        check("0wx 0ry 2wy 2wz 1rz 1rx", Model::Tso, &[Full(1, 2)]);
        // A fence between stores does not stop a load.
        check("0wx 0wz 0ry 1wy 1rx", pso, &[Full(1, 2), Full(2, 3)]);
    }

    #[test]
    fn by_stronger_orders() {
        use Extra::{Full, Stores};
        let strong = |at| Extra::Order(at, Order::SeqCst);
        let release = |at| Extra::Order(at, Order::Release);
        let (pso, own) = (Model::Pso(Drain::All), Model::Pso(Drain::Own));
        check("0wx.rlx 0ry.rlx 1wy.rlx 1rx", Model::Tso, &[Full(1, 2), strong(1)]);
        let stored = [Full(1, 2), Stores(1, 2), strong(1), release(2)];
        check("0wx.rlx 0wy.rlx 1ry 1rx", pso, &stored);
        let updated = [Full(1, 2), Stores(1, 2), release(2), strong(2)];
        check("0wx 0uy.rlx 1ry 1rx", pso, &updated);
        check("0wx.rlx 0wy.rlx 1ry 1rx", own, &[Full(1, 2), Stores(1, 2), strong(1)]);
    }
}
