//! No races: what Rust and its standard library order.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicUsize, fence};
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock};
use std::thread;

use races::Raw;

#[test]
fn arc_mutex() {
    let count = Arc::new(Mutex::new(0));
    let other = count.clone();
    let t = thread::spawn(move || *other.lock().unwrap() += 1);
    *count.lock().unwrap() += 1;
    t.join().unwrap();
    assert_eq!(*count.lock().unwrap(), 2);
}

#[test]
fn cell_under_mutex() {
    static LOCK: Mutex<()> = Mutex::new(());
    static DATA: Raw<i32> = Raw::new(0);
    let add = || {
        let _held = LOCK.lock().unwrap();
        DATA.set(DATA.get() + 1);
    };
    thread::scope(|s| {
        s.spawn(add);
        s.spawn(add);
    });
    assert_eq!(DATA.get(), 2);
}

#[test]
fn rw_lock() {
    static LOCK: RwLock<()> = RwLock::new(());
    static DATA: Raw<i32> = Raw::new(0);
    let t = thread::spawn(|| {
        let _held = LOCK.write().unwrap();
        DATA.set(1);
    });
    {
        let _held = LOCK.read().unwrap();
        assert!(DATA.get() < 2);
    }
    t.join().unwrap();
}

#[test]
fn message_passing() {
    static DATA: Raw<i32> = Raw::new(0);
    static READY: AtomicBool = AtomicBool::new(false);
    let t = thread::spawn(|| {
        DATA.set(42);
        READY.store(true, Release);
    });
    if READY.load(Acquire) {
        assert_eq!(DATA.get(), 42);
    }
    t.join().unwrap();
}

#[test]
fn fences() {
    static DATA: Raw<i32> = Raw::new(0);
    static READY: AtomicBool = AtomicBool::new(false);
    let t = thread::spawn(|| {
        DATA.set(42);
        fence(Release);
        READY.store(true, Relaxed);
    });
    if READY.load(Relaxed) {
        fence(Acquire);
        assert_eq!(DATA.get(), 42);
    }
    t.join().unwrap();
}

#[test]
fn spin_lock() {
    static LOCK: AtomicBool = AtomicBool::new(false);
    static DATA: Raw<i32> = Raw::new(0);
    let add = || {
        while LOCK.compare_exchange(false, true, Acquire, Relaxed).is_err() {}
        DATA.set(DATA.get() + 1);
        LOCK.store(false, Release);
    };
    thread::scope(|s| {
        s.spawn(add);
        add();
    });
    assert_eq!(DATA.get(), 2);
}

#[test]
fn update_goes_on_with_a_sequence() {
    static DATA: Raw<i32> = Raw::new(0);
    static X: AtomicUsize = AtomicUsize::new(0);
    thread::scope(|s| {
        s.spawn(|| {
            DATA.set(42);
            X.store(1, Release);
        });
        s.spawn(|| X.compare_exchange(1, 2, Relaxed, Relaxed));
        if X.load(Acquire) == 2 {
            assert_eq!(DATA.get(), 42);
        }
    });
}

#[test]
fn last_reference_drops() {
    let value = Arc::new(vec![1, 2, 3]);
    let other = value.clone();
    let t = thread::spawn(move || assert_eq!(other.len(), 3));
    drop(value);
    t.join().unwrap();
}

#[test]
fn try_unwrap() {
    let value = Arc::new(1);
    let other = value.clone();
    let t = thread::spawn(move || Arc::try_unwrap(other).ok());
    let mine = Arc::try_unwrap(value).ok();
    let theirs = t.join().unwrap();
    assert!(!(mine.is_some() && theirs.is_some()));
}

#[test]
fn join_returns() {
    let t = thread::spawn(|| vec![1, 2, 3]);
    assert_eq!(t.join().unwrap().len(), 3);
}

#[test]
fn scope_ends() {
    let mut parts = [0; 2];
    thread::scope(|s| {
        let (a, b) = parts.split_at_mut(1);
        s.spawn(move || a[0] = 1);
        s.spawn(move || b[0] = 2);
    });
    assert_eq!(parts, [1, 2]);
}

#[test]
fn channel_sends() {
    let (tx, rx) = channel();
    let t = thread::spawn(move || tx.send(Box::new(42)).unwrap());
    assert_eq!(*rx.recv().unwrap(), 42);
    t.join().unwrap();
}

#[test]
fn rendezvous() {
    let (tx, rx) = sync_channel(0);
    let t = thread::spawn(move || tx.send(Box::new(42)).unwrap());
    assert_eq!(*rx.recv().unwrap(), 42);
    t.join().unwrap();
}

#[test]
fn bounded_channel() {
    let (tx, rx) = sync_channel(1);
    let t = thread::spawn(move || {
        tx.send(Box::new(1)).unwrap();
        tx.send(Box::new(2)).unwrap();
    });
    assert_eq!(*rx.recv().unwrap() + *rx.recv().unwrap(), 3);
    t.join().unwrap();
}

#[test]
fn condvar() {
    static READY: Mutex<bool> = Mutex::new(false);
    static CHANGED: Condvar = Condvar::new();
    static DATA: Raw<i32> = Raw::new(0);
    let t = thread::spawn(|| {
        DATA.set(42);
        *READY.lock().unwrap() = true;
        CHANGED.notify_one();
    });
    let mut ready = READY.lock().unwrap();
    while !*ready {
        ready = CHANGED.wait(ready).unwrap();
    }
    assert_eq!(DATA.get(), 42);
    drop(ready);
    t.join().unwrap();
}

#[test]
fn barrier() {
    static DATA: Raw<i32> = Raw::new(0);
    let barrier = Arc::new(Barrier::new(2));
    let other = barrier.clone();
    let t = thread::spawn(move || {
        DATA.set(42);
        other.wait();
    });
    barrier.wait();
    assert_eq!(DATA.get(), 42);
    t.join().unwrap();
}

#[test]
fn once() {
    static ONCE: Once = Once::new();
    static DATA: Raw<i32> = Raw::new(0);
    let make = || {
        ONCE.call_once(|| DATA.set(42));
        assert_eq!(DATA.get(), 42);
    };
    let t = thread::spawn(make);
    make();
    t.join().unwrap();
}

#[test]
fn once_lock() {
    static CELL: OnceLock<Vec<i32>> = OnceLock::new();
    let t = thread::spawn(|| CELL.get_or_init(|| vec![1]).len());
    assert_eq!(CELL.get_or_init(|| vec![1]).len(), 1);
    t.join().unwrap();
}

#[test]
fn lazy_lock() {
    static CELL: LazyLock<Vec<i32>> = LazyLock::new(|| vec![1]);
    let t = thread::spawn(|| CELL.len());
    assert_eq!(CELL.len(), 1);
    t.join().unwrap();
}

#[test]
fn park() {
    static READY: AtomicBool = AtomicBool::new(false);
    static DATA: Raw<i32> = Raw::new(0);
    let me = thread::current();
    let t = thread::spawn(move || {
        DATA.set(42);
        READY.store(true, Release);
        me.unpark();
    });
    while !READY.load(Acquire) {
        thread::park();
    }
    assert_eq!(DATA.get(), 42);
    t.join().unwrap();
}

#[test]
fn thread_local() {
    thread_local!(static COUNT: Raw<i32> = const { Raw::new(0) });
    let add = || COUNT.with(|c| c.set(c.get() + 1));
    let t = thread::spawn(add);
    add();
    t.join().unwrap();
}

#[test]
fn relaxed_counter() {
    static X: AtomicUsize = AtomicUsize::new(0);
    let t = thread::spawn(|| X.fetch_add(1, Relaxed));
    X.fetch_add(1, Relaxed);
    t.join().unwrap();
    assert_eq!(X.load(Relaxed), 2);
}

#[test]
fn counts_with_acq_rel() {
    static DATA: [Raw<i32>; 2] = [Raw::new(0), Raw::new(0)];
    static LEFT: AtomicUsize = AtomicUsize::new(2);
    let leave = |me: usize| {
        DATA[me].set(1);
        if LEFT.fetch_sub(1, AcqRel) == 1 {
            assert_eq!(DATA[1 - me].get(), 1);
        }
    };
    let t = thread::spawn(move || leave(1));
    leave(0);
    t.join().unwrap();
}

#[test]
fn flags_with_seq_cst() {
    static WANT: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];
    static DATA: Raw<i32> = Raw::new(0);
    let enter = |me: usize| {
        WANT[me].store(true, SeqCst);
        if !WANT[1 - me].load(SeqCst) {
            DATA.set(DATA.get() + 1);
        }
        WANT[me].store(false, SeqCst);
    };
    let t = thread::spawn(move || enter(1));
    enter(0);
    t.join().unwrap();
}
