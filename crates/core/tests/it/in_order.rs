//! Programs that are robust at a glance, against all executions by definition.

use std::sync::atomic::{AtomicUsize, Ordering};

use weakspot_core::certify::keeps_order;
use weakspot_core::testing::{Size, check_programs, scaled};
use weakspot_core::{Drain, Model, reference};

const WEAK: [Model; 3] = [Model::Tso, Model::Pso(Drain::All), Model::Pso(Drain::Own)];

#[test]
fn what_keeps_its_order_is_robust() {
    let seen = AtomicUsize::new(0);
    let size = Size { threads: 3, instrs: 4, total: 8, locs: 2, loops: false };
    let count = scaled(20_000);
    check_programs(7_000, count, size, &WEAK, &|program, model| {
        if !keeps_order(program, model) {
            return false;
        }
        let Some(robust) = reference::robust(program, &[model], 3_000) else { return false };
        seen.fetch_add(1, Ordering::Relaxed);
        robust != [true]
    });
    let seen = seen.into_inner();
    assert!(seen > count / 3, "{seen} of {count}");
}
