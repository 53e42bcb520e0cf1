//! What monitors say of single executions.

use weakspot_core::{Drain, Model};
use weakspot_live::{Op, OpKind, Order, Step, Transactions, Watch};

use OpKind::{Begin, Join, Read, Spawn, Update, Write};

/// Where accesses overlap in part and fences are somewhere that no log has, what is missing is said; elsewhere nothing is.
#[test]
fn overlaps_that_are_left_open() {
    let models = [Model::Tso, Model::Pso(Drain::All)];
    let wide = |thread, kind, len, at| {
        let op = Op { kind, len, addr: 0x1000 };
        Step { thread, op, order: Order::Relaxed, at }
    };
    for (is_fenced, len, expected) in [(false, 4, 0), (true, 4, 2), (true, 8, 0)] {
        let mut watch = Watch::new(&models, &[]);
        for _ in 0..2 {
            watch.begin();
            watch.step(wide(0, Write, 8, 1));
            watch.step(wide(1, Read, len, 2));
            if is_fenced {
                watch.fence_all(0);
            }
            watch.end();
        }
        assert_eq!(watch.mixed().len(), expected, "{is_fenced} {len}");
    }
}

const X: u64 = 0x1000;
const Y: u64 = 0x2000;

fn step(thread: u16, kind: OpKind, addr: u64) -> Step {
    let len = if matches!(kind, Read | Update | Write) { 4 } else { 0 };
    let op = Op { kind, len, addr };
    Step { thread, op, order: Order::Relaxed, at: addr + u64::from(thread) }
}

/// How much is found in an execution whose last step comes after all threads had a fence, if they have.
fn found(watch: Watch, steps: &[Step], is_fenced: bool) -> usize {
    let mut watch = watch;
    watch.begin();
    for (left, &step) in (0..steps.len()).rev().zip(steps) {
        if left == 0 && is_fenced {
            watch.fence_all(step.thread);
        }
        watch.step(step);
    }
    watch.end()
}

/// Who starts a thread, whose end is waited for, or who is interrupted by a fence in all threads, has no store pending any more;
/// who is in a transaction that ends in a fence may have.
#[test]
fn stores_are_pending_until_something_waits_for_them() {
    let watch = || Watch::new(&[Model::Tso, Model::Pso(Drain::All)], &[]);
    let passed = [step(0, Write, X), step(0, Write, Y), step(1, Read, Y), step(1, Read, X)];
    assert_eq!(found(watch(), &passed, false), 1);
    assert_eq!(found(watch(), &passed, true), 0);
    let started = [step(0, Write, X), step(0, Spawn, 1), step(1, Read, Y), step(1, Read, X)];
    assert_eq!(found(watch(), &started, false), 0);
    let ended = [step(0, Spawn, 1), step(1, Write, X), step(0, Join, 1), step(0, Read, Y)];
    assert_eq!(found(watch(), &[&ended[..], &[step(0, Read, X)]].concat(), false), 0);
    for (order, expected) in [(Order::Relaxed, 1), (Order::AcqRel, 0), (Order::Release, 0)] {
        let updated = Step { order, ..step(0, Update, Y) };
        let steps = [passed[0], updated, passed[2], passed[3]];
        assert_eq!(found(watch(), &steps, false), expected, "{order:?}");
    }
    let fenced = || watch().with_transactions(Transactions::Fenced);
    assert_eq!(found(fenced(), &passed, false), 0);
    assert_eq!(found(fenced(), &[&[step(0, Begin, 0)][..], &passed].concat(), false), 1);
}

/// What a thread that frees bytes stores to: those that others may have stored to late.
#[test]
fn pending_stores_between_addresses() {
    let mut watch = Watch::new(&[Model::Tso], &[]);
    watch.begin();
    watch.step(step(0, Write, X));
    assert_eq!(watch.stored_within(1, X, X + 1), [(X, 4)]);
    assert_eq!(watch.stored_within(1, X + 1, Y), []);
    assert_eq!(watch.stored_within(0, X, Y), []);
}
