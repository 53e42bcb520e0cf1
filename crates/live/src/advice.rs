//! Which single fences would have prevented a finding, in the execution that shows it.
//!
//! Whatever prevents all findings has one of them for each; the cheapest such set is tried next,
//! by exploring the program again as if it had these fences (`explore::hitting` finds it, and
//! `explore/src/fence.rs` does the same for programs that are only text).

use weakspot_core::Model;

use crate::OpKind;
use crate::watch::{Extra, Finding, Step};

/// The fences after or before steps of `steps` any one of which prevents `finding`, which the steps
/// show for the first time although the program is looked at as if it had `extra`. Fences between
/// stores are among them only if the finding is one of PSO.
///
/// A fence has to stand after the store and before the first later step of its thread that the
/// access depends on; this one overtakes the store.
///
/// Cost: quadratic in the number of steps between the two, if that is small.
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
    let own = |i: &usize| steps[*i].thread == q;
    let mut fences: Vec<Extra> = Vec::new();
    for i in (store..overtakes).filter(own) {
        fences.push(Extra::After(steps[i].at));
    }
    if matches!(finding.model, Model::Pso(_)) {
        let stores = |i: &usize| matches!(steps[*i].op.kind, OpKind::Write | OpKind::Update);
        for i in (store + 1..=overtakes).filter(own).filter(stores) {
            fences.push(Extra::Before(steps[i].at));
        }
    }
    fences.sort_unstable();
    fences.dedup();
    // What is there already did not prevent it.
    fences.retain(|fence| !extra.contains(fence));
    fences
}

/// Between steps that are farther apart nothing is looked for.
const FAR: usize = 2000;

/// The first step of the thread of `store`, after it, on which `end` depends by way of another
/// thread.
fn first_leading_to(steps: &[Step], store: usize, end: usize) -> Option<usize> {
    let depends = |a: &Step, b: &Step| {
        a.op.conflicts(b.op)
            || b.op.kind == OpKind::Join && b.op.addr == u64::from(a.thread)
            || a.op.kind == OpKind::Spawn && a.op.addr == u64::from(b.thread)
    };
    let q = steps[store].thread;
    if end.saturating_sub(store) > FAR {
        // Whatever it is, a fence right after the store comes before it.
        let next = steps[store + 1..].iter().position(|step| step.thread == q);
        return next.map(|next| store + 1 + next);
    }
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
        use Extra::{After, Before};
        let pso = Model::Pso(Drain::All);
        check("0wx 0ry 1wy 1rx", Model::Tso, &[After(1)]);
        check("0wx 0rz 0ry 0rz 1wy 1rx", Model::Tso, &[After(1), After(2)]);
        check("0wz 0wx 0wy 1ry 1rx 0rz", pso, &[After(2), Before(3)]);
        // By way of a third thread.
        check("0wx 0ry 2wy 2wz 1rz 1rx", Model::Tso, &[After(1)]);
    }
}
