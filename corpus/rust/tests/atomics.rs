//! Atomics. Some of the assertions fail, under SC or only under TSO or PSO: `expected.tsv` says which.
//! The tests whose names end in `_relaxed` fail beyond SC only, those in `_wrong` already under SC.

use std::sync::atomic::{
    AtomicU32, Ordering,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
    fence,
};
use std::thread;

use explored::mutex::{Dekker, Fences, Peterson};
use explored::ring::Ring;
use explored::spin::Spin;

/// Store buffering: each thread stores to one variable and loads the other.
fn store_buffering(store: Ordering, between: impl Fn() + Sync, load: Ordering) {
    let [x, y] = [const { AtomicU32::new(0) }; 2];
    let (r, s) = thread::scope(|scope| {
        let left = scope.spawn(|| {
            x.store(1, store);
            between();
            y.load(load)
        });
        let right = scope.spawn(|| {
            y.store(1, store);
            between();
            x.load(load)
        });
        (left.join().unwrap(), right.join().unwrap())
    });
    assert!(r == 1 || s == 1, "each thread missed the store of the other");
}

#[test]
fn store_buffering_seq_cst() {
    store_buffering(SeqCst, || {}, SeqCst);
}

#[test]
fn store_buffering_fenced() {
    store_buffering(Relaxed, || fence(SeqCst), Relaxed);
}

#[test]
fn store_buffering_relaxed() {
    store_buffering(Relaxed, || {}, Relaxed);
}

/// Release and acquire hold no load back behind a store, so that this fails like relaxed.
#[test]
fn store_buffering_acq_rel() {
    store_buffering(Release, || {}, Acquire);
}

/// Message passing: who sees the flag sees the data.
fn message_passing(store: Ordering, load: Ordering) {
    let [data, ready] = [const { AtomicU32::new(0) }; 2];
    thread::scope(|scope| {
        scope.spawn(|| {
            data.store(42, Relaxed);
            ready.store(1, store);
        });
        scope.spawn(|| {
            if ready.load(load) == 1 {
                assert_eq!(data.load(Relaxed), 42);
            }
        });
    });
}

#[test]
fn message_passing_acq_rel() {
    message_passing(Release, Acquire);
}

#[test]
fn message_passing_relaxed() {
    message_passing(Relaxed, Relaxed);
}

/// Load buffering: none of SC, TSO and PSO lets a store overtake a load, though Rust would.
#[test]
fn load_buffering() {
    let [x, y] = [const { AtomicU32::new(0) }; 2];
    let (r, s) = thread::scope(|scope| {
        let left = scope.spawn(|| {
            let r = x.load(Relaxed);
            y.store(1, Relaxed);
            r
        });
        let right = scope.spawn(|| {
            let s = y.load(Relaxed);
            x.store(1, Relaxed);
            s
        });
        (left.join().unwrap(), right.join().unwrap())
    });
    assert!(r == 0 || s == 0);
}

/// A load of one thread, a load and a store of another. Nothing keeps the first load from coming
/// last, so this fails even under SC; a search that compares the store only with the load before it,
/// which is of the same thread, does not notice.
#[test]
fn load_overtaken_wrong() {
    let x = AtomicU32::new(0);
    let seen = thread::scope(|scope| {
        let reader = scope.spawn(|| x.load(SeqCst));
        scope.spawn(|| {
            let old = x.load(SeqCst);
            x.store(old + 1, SeqCst);
        });
        reader.join().unwrap()
    });
    assert_eq!(seen, 0);
}

/// The same with an addition on both sides: one of them can be lost, even under SC.
#[test]
fn lost_update_wrong() {
    let x = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let old = x.load(SeqCst);
                x.store(old + 1, SeqCst);
            });
        }
    });
    assert_eq!(x.into_inner(), 2);
}

/// Two threads add one to a counter between `lock` and `unlock`, by a load and a store.
fn count(lock: impl Fn(usize) + Sync, unlock: impl Fn(usize) + Sync) {
    let count = AtomicU32::new(0);
    thread::scope(|scope| {
        for me in 0..2 {
            let (lock, unlock, count) = (&lock, &unlock, &count);
            scope.spawn(move || {
                lock(me);
                count.store(count.load(Relaxed) + 1, Relaxed);
                unlock(me);
            });
        }
    });
    assert_eq!(count.into_inner(), 2);
}

#[test]
fn dekker_seq_cst() {
    let dekker = Dekker::default();
    count(|me| dekker.lock(me), |me| dekker.unlock(me));
}

#[test]
fn peterson_fenced() {
    let peterson = Peterson::default();
    count(|me| peterson.lock(me, Fences::All), |me| peterson.unlock(me, Fences::All));
}

#[test]
fn peterson_relaxed() {
    let peterson = Peterson::default();
    count(|me| peterson.lock(me, Fences::None), |me| peterson.unlock(me, Fences::None));
}

/// Two threads add one to a counter under a spin lock.
fn spin(lock: Spin<u32>) {
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| *lock.lock() += 1);
        }
    });
    assert_eq!(lock.into_inner(), 2);
}

#[test]
fn spin_lock() {
    spin(Spin::new(0));
}

#[test]
fn spin_lock_relaxed() {
    spin(Spin::relaxed(0));
}

/// One thread pushes three values through a buffer of two, another pops them.
fn pass(ring: &Ring) {
    thread::scope(|scope| {
        scope.spawn(|| {
            for value in 1..=3 {
                while !ring.push(value) {
                    std::hint::spin_loop();
                }
            }
        });
        scope.spawn(|| {
            for value in 1..=3 {
                let popped = loop {
                    match ring.pop() {
                        Some(popped) => break popped,
                        None => std::hint::spin_loop(),
                    }
                };
                assert_eq!(popped, value);
            }
        });
    });
}

#[test]
fn ring_acq_rel() {
    pass(&Ring::ordered());
}

#[test]
fn ring_relaxed() {
    pass(&Ring::relaxed());
}
