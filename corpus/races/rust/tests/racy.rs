//! A race in each of them, on the lines that say so.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicUsize, fence};
use std::sync::{Arc, Barrier, Mutex, RwLock};
use std::thread;

use races::Raw;

#[test]
fn static_mut() {
    static mut COUNT: i32 = 0;
    let t = thread::spawn(|| unsafe { COUNT += 1 }); // racy
    unsafe { COUNT += 1 }; // racy
    t.join().unwrap();
}

#[test]
fn raw_pointers() {
    let mut value = 1;
    let pointer = &raw mut value as usize;
    let t = thread::spawn(move || unsafe { *(pointer as *mut i32) = 2 }); // racy
    let seen = unsafe { *(pointer as *const i32) }; // racy
    t.join().unwrap();
    assert!(seen < 3);
}

#[test]
fn message_passing_relaxed() {
    static DATA: Raw<i32> = Raw::new(0);
    static READY: AtomicBool = AtomicBool::new(false);
    let t = thread::spawn(|| {
        DATA.set(42); // racy
        READY.store(true, Relaxed);
    });
    if READY.load(Acquire) {
        assert_eq!(DATA.get(), 42); // racy
    }
    t.join().unwrap();
}

#[test]
fn fence_missing() {
    static DATA: Raw<i32> = Raw::new(0);
    static READY: AtomicBool = AtomicBool::new(false);
    let t = thread::spawn(|| {
        DATA.set(42); // racy
        fence(Release);
        READY.store(true, Relaxed);
    });
    if READY.load(Relaxed) {
        assert_eq!(DATA.get(), 42); // racy
    }
    t.join().unwrap();
}

/// In C11 the second store would go on with the release sequence of the first.
#[test]
fn own_store_ends_a_sequence() {
    static DATA: Raw<i32> = Raw::new(0);
    static X: AtomicUsize = AtomicUsize::new(0);
    let t = thread::spawn(|| {
        DATA.set(42); // racy
        X.store(1, Release);
        X.store(2, Relaxed);
    });
    if X.load(Acquire) == 2 {
        assert_eq!(DATA.get(), 42); // racy
    }
    t.join().unwrap();
}

#[test]
fn without_the_lock() {
    static LOCK: Mutex<()> = Mutex::new(());
    static DATA: Raw<i32> = Raw::new(0);
    let t = thread::spawn(|| {
        let _held = LOCK.lock().unwrap();
        DATA.set(1); // racy
    });
    assert!(DATA.get() < 2); // racy
    t.join().unwrap();
}

#[test]
fn written_by_a_reader() {
    static LOCK: RwLock<()> = RwLock::new(());
    static DATA: Raw<i32> = Raw::new(0);
    let t = thread::spawn(|| {
        let _held = LOCK.read().unwrap();
        DATA.set(1); // racy
    });
    {
        let _held = LOCK.read().unwrap();
        assert!(DATA.get() < 2); // racy
    }
    t.join().unwrap();
}

#[test]
fn counts_relaxed() {
    static DATA: [Raw<i32>; 2] = [Raw::new(0), Raw::new(0)];
    static LEFT: AtomicUsize = AtomicUsize::new(2);
    let leave = |me: usize| {
        DATA[me].set(1); // racy
        if LEFT.fetch_sub(1, Relaxed) == 1 {
            assert_eq!(DATA[1 - me].get(), 1); // racy
        }
    };
    let t = thread::spawn(move || leave(1));
    leave(0);
    t.join().unwrap();
}

#[test]
fn after_the_barrier() {
    static DATA: Raw<i32> = Raw::new(0);
    let barrier = Arc::new(Barrier::new(2));
    let other = barrier.clone();
    let t = thread::spawn(move || {
        other.wait();
        DATA.set(42); // racy
    });
    barrier.wait();
    assert!(DATA.get() < 43); // racy
    t.join().unwrap();
}

#[test]
fn spin_lock_freed_relaxed() {
    static LOCK: AtomicBool = AtomicBool::new(false);
    static DATA: Raw<i32> = Raw::new(0);
    let add = || {
        while LOCK.compare_exchange(false, true, Acquire, Relaxed).is_err() {}
        DATA.set(DATA.get() + 1); // racy
        LOCK.store(false, Relaxed);
    };
    thread::scope(|s| {
        s.spawn(add);
        add();
    });
    assert_eq!(DATA.get(), 2);
}

#[test]
fn before_join() {
    static DATA: Raw<i32> = Raw::new(0);
    let t = thread::spawn(|| DATA.set(1)); // racy
    assert!(DATA.get() < 2); // racy
    t.join().unwrap();
}

#[test]
fn atomic_and_plain() {
    static X: AtomicUsize = AtomicUsize::new(0);
    let t = thread::spawn(|| X.fetch_add(1, Release)); // racy
    let seen = unsafe { *X.as_ptr() }; // racy
    t.join().unwrap();
    assert!(seen < 2);
}
