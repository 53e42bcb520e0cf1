//! Which single fences would have prevented a finding, in the execution that shows it.
//!
//! Whatever prevents all findings has one of them for each; the cheapest such set is tried next,
//! by exploring the program again as if it had these fences (`explore::hitting` finds it, and
//! `explore/src/fence.rs` does the same for programs that are only text).

use weakspot_core::{Drain, Model};

use crate::step::{Order, Step};
use crate::watch::Finding;
use crate::watch::added::is_atomic_store;
use crate::{Extra, OpKind};

/// The model in which a sequentially consistent store is an atomic update, and no other order counts.
const OWN: Model = Model::Pso(Drain::Own);

/// The fences between steps of `steps`, and the stronger orders of these, any one of which prevents
/// `finding`, which the steps show for the first time although the program is looked at as if it
/// had `extra`.
///
/// A fence has to stand after the store and before a later step of its thread on which the access
/// depends: then the access finds the store in memory. Between stores it helps if others have seen
/// a store behind it, or if that is an atomic update.
///
/// Only the first steps of the thread after the store are looked at. Cost: linear in the number of
/// steps.
#[must_use]
pub fn preventing(steps: &[Step], finding: &Finding, extra: &[Extra]) -> Vec<Extra> {
    // All of these are there because the last one, the access, depends on them.
    let shown: Vec<Step> = finding.shown.iter().map(|&at| steps[at]).collect();
    let thread = shown[finding.at].thread;
    let own = (finding.at..shown.len() - 1).filter(|&i| shown[i].thread == thread);
    let own: Vec<usize> = own.take(NEAR).collect();
    let is_seen = |i: usize| {
        let others = shown[i + 1..shown.len() - 1].iter().filter(|step| step.thread != thread);
        let store = shown[i];
        match store.op.kind {
            OpKind::Update | OpKind::Add => true,
            OpKind::Write if finding.model == OWN && store.order == Order::SeqCst => true,
            OpKind::Write => others.into_iter().any(|step| step.op.conflicts(store.op)),
            _ => false,
        }
    };
    let seen: Vec<bool> = own.iter().map(|&i| is_seen(i)).collect();
    let own: Vec<Step> = own.into_iter().map(|i| shown[i]).collect();
    let mut fences = between(&own, &seen, finding.model);
    fences.sort_unstable();
    fences.dedup();
    // What is there already did not prevent it.
    fences.retain(|fence| !extra.contains(fence));
    fences
}

/// How many steps of a thread after a store a fence is looked for between.
const NEAR: usize = 64;

/// What commits the first of these steps of a thread before the last one. `seen` says which of them
/// are stores that have to be in memory, too.
fn between(own: &[Step], seen: &[bool], model: Model) -> Vec<Extra> {
    let mut fences = Vec::new();
    let last = own.len().saturating_sub(1);
    let stores_help = |from: usize| seen[from..].contains(&true);
    for (i, pair) in own.windows(2).enumerate() {
        let (a, b) = (pair[0].at, pair[1].at);
        fences.push(Extra::Full(a, b));
        if matches!(model, Model::Pso(_)) && stores_help(i + 1) {
            fences.push(Extra::Stores(a, b));
        }
    }
    for (i, step) in own.iter().enumerate().filter(|(_, step)| is_atomic_store(step)) {
        let released = model == Model::Pso(Drain::All) && i > 0 && stores_help(i);
        let strong = match (model, step.op.kind) {
            // A store to the same bytes is what the access meets; if it is in memory, so is the first.
            (Model::Tso | Model::Pso(Drain::All), OpKind::Write) => {
                i < last || released || step.op.conflicts(own[0].op)
            }
            (Model::Pso(Drain::All), OpKind::Update | OpKind::Add) => i > 0,
            // There it is an update: neither what is stored to the same bytes is pending after it
            // nor what a fence keeps before it.
            (OWN, OpKind::Write) => {
                step.op.conflicts(own[0].op)
                    || own[..i].iter().any(|step| step.op.kind == OpKind::StoreFence)
            }
            _ => false,
        };
        if strong && step.order < Order::SeqCst {
            fences.push(Extra::Order(step.at, Order::SeqCst));
        }
        if released && step.order < Order::Release {
            fences.push(Extra::Order(step.at, Order::Release));
        }
    }
    fences
}

#[cfg(test)]
mod tests {
    use weakspot_core::Drain;

    use super::*;
    use crate::Watch;
    use crate::watch::test_steps::steps;
    use weakspot_core::testing::Rng;

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
        let stored = [Full(1, 2), Stores(1, 2), strong(1), release(2), strong(2)];
        check("0wx.rlx 0wy.rlx 1ry 1rx", pso, &stored);
        let updated = [Full(1, 2), Stores(1, 2), release(2), strong(2)];
        check("0wx 0uy.rlx 1ry 1rx", pso, &updated);
        check("0wx.rlx 0wy.rlx 1ry 1rx", own, &[Full(1, 2), Stores(1, 2), strong(1)]);
    }

    /// On random executions: with exactly these, and no others, the pair is not reported any more.
    #[test]
    fn each_of_them_prevents_it_and_nothing_else_does() {
        let models = [Model::Tso, Model::Pso(Drain::All), Model::Pso(Drain::Own)];
        let mut pairs = 0;
        for seed in 0..3_000 {
            let mut rng = Rng::new(seed);
            let words: Vec<String> = (0..8 + rng.below(6))
                .map(|_| {
                    let kind = ["w", "w", "w", "r", "r", "r", "u", "s"][rng.below(8)];
                    if kind == "s" {
                        return format!("{}s", rng.below(3));
                    }
                    let loc = ["x", "y", "z"][rng.below(3)];
                    let order = ["", ".rlx", ".rel", ".sc"][[0, 1, 1, 1, 2, 3][rng.below(6)]];
                    let order = if kind == "u" && order.is_empty() { ".rlx" } else { order };
                    format!("{}{kind}{loc}{order}", rng.below(3))
                })
                .collect();
            let text = words.join(" ");
            let steps = steps(&text);
            let found = |model, extra: &[Extra]| {
                let mut watch = Watch::new(&[model], extra);
                steps.iter().for_each(|step| watch.step(*step));
                watch.end();
                watch
            };
            for model in models {
                for finding in found(model, &[]).findings() {
                    let expected = preventing(&steps, finding, &[]);
                    for extra in all(&steps) {
                        let pair = |f: &Finding| (f.store, f.access);
                        let watch = found(model, &[extra]);
                        let left = watch.findings().iter().any(|f| pair(f) == pair(finding));
                        let prevents = expected.contains(&extra);
                        assert_eq!(left, !prevents, "{text} {model} {extra:?} {finding:?}");
                    }
                    pairs += 1;
                }
            }
        }
        assert!(pairs > 400, "{pairs}");
    }

    /// All that could be added to an execution whose steps have program addresses of their own.
    fn all(steps: &[Step]) -> Vec<Extra> {
        let mut all = Vec::new();
        for (i, a) in steps.iter().enumerate() {
            if let Some(b) = steps[i + 1..].iter().find(|b| b.thread == a.thread) {
                all.extend([Extra::Full(a.at, b.at), Extra::Stores(a.at, b.at)]);
            }
            if is_atomic_store(a) {
                let orders = [Order::Release, Order::SeqCst];
                let stronger = orders.into_iter().filter(|&order| a.order < order);
                all.extend(stronger.map(|order| Extra::Order(a.at, order)));
            }
        }
        all
    }
}
