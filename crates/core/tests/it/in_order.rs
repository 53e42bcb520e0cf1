//! Programs that are robust at a glance, against all executions by definition.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use weakspot_core::certify::keeps_order;
use weakspot_core::testing::{Size, check_programs, scaled};
use weakspot_core::{Drain, Expr, Fence, Instr, Model, PointId, Program, Thread, reference};

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

/// The definition: on a way from a store on, some access can overtake it.
fn is_overtaken(thread: &Thread, next: PointId, addr: &Expr, model: Model) -> bool {
    let same = |other: &Expr| matches!(addr, Expr::Const(_)) && addr == other;
    // Points, and whether a store-store fence is behind the store there.
    let mut open = vec![(next, false)];
    let mut seen: BTreeSet<(PointId, bool)> = open.iter().copied().collect();
    while let Some((at, fenced)) = open.pop() {
        for edge in &thread.points[at.index()].edges {
            let mut fenced = fenced;
            match &edge.instr {
                Instr::Fence(Fence::Full) => continue,
                Instr::Fence(Fence::StoreStore) => fenced = true,
                Instr::Update { addr, .. } if model != Model::Pso(Drain::Own) || same(addr) => {
                    continue;
                }
                Instr::Update { .. } | Instr::Lock => return true,
                Instr::Load { addr, .. } if !same(addr) => return true,
                Instr::Store { addr, .. } if model != Model::Tso && !fenced && !same(addr) => {
                    return true;
                }
                _ => {}
            }
            if seen.insert((edge.to, fenced)) {
                open.push((edge.to, fenced));
            }
        }
    }
    false
}

fn keeps_order_by_definition(program: &Program, model: Model) -> bool {
    let mut edges = program.threads.iter().flat_map(|thread| {
        thread.points.iter().flat_map(move |point| point.edges.iter().map(move |e| (thread, e)))
    });
    edges.all(|(thread, edge)| match &edge.instr {
        Instr::Lock => false,
        Instr::Store { addr, .. } => !is_overtaken(thread, edge.to, addr, model),
        _ => true,
    })
}

/// One look at all stores together says what a look from each of them says.
#[test]
fn all_stores_at_once_are_each_store() {
    let count = scaled(60_000);
    for (loops, locs) in [(false, 2), (true, 2), (true, 1)] {
        let seen = [const { AtomicUsize::new(0) }; 2];
        let size = Size { threads: 2, instrs: 7, total: 12, locs, loops };
        check_programs(8_000, count, size, &WEAK, &|program, model| {
            let expected = keeps_order_by_definition(program, model);
            seen[usize::from(expected)].fetch_add(1, Ordering::Relaxed);
            keeps_order(program, model) != expected
        });
        let seen = seen.map(AtomicUsize::into_inner);
        assert!(seen.iter().all(|&seen| seen > count / 50), "{loops} {locs}: {seen:?}");
    }
}
