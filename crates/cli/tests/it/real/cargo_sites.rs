//! Where steps are said to be that are within the standard library.

use crate::real::cargo::{cargo, library};

/// Functions that are called by pointers have no caller that they are inlined into.
const LIBRARY: &str = r#"
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering::{self, Relaxed, SeqCst}, fence};
use std::sync::mpsc::sync_channel;
use std::thread;

static X: AtomicUsize = AtomicUsize::new(0);
static Y: AtomicUsize = AtomicUsize::new(0);

#[test]
fn by_pointer() {
    let store: fn(&AtomicUsize, usize, Ordering) = black_box(AtomicUsize::store);
    let load: fn(&AtomicUsize, Ordering) -> usize = black_box(AtomicUsize::load);
    let t = thread::spawn(move || {
        X.store(1, Relaxed);
        fence(SeqCst);
        Y.load(Relaxed)
    });
    store(&Y, 1, Relaxed);
    let x = load(&X, Relaxed);
    assert!(x + t.join().unwrap() > 0);
}

#[test]
fn by_channel() {
    let (sender, receiver) = sync_channel(1);
    let t = thread::spawn(move || {
        let _ = sender.try_send(1);
        X.load(Relaxed)
    });
    X.store(1, Relaxed);
    let _ = receiver.try_recv();
    t.join().unwrap();
}

struct Shared<T>(std::cell::UnsafeCell<T>);
unsafe impl<T> Sync for Shared<T> {}

#[test]
fn by_table() {
    let table = Shared(std::cell::UnsafeCell::new(std::collections::HashMap::from([(1, 2)])));
    let table = &table;
    thread::scope(|s| {
        s.spawn(|| unsafe { &mut *table.0.get() }.insert(2, 3));
        black_box(unsafe { &*table.0.get() }.get(&1));
    });
}
"#;

/// They are where they were called, and nobody is told to change the library.
#[test]
fn the_library_is_not_the_users() {
    let options = ["--robust", "--fences", "--model", "tso"];
    let ran = cargo("test", &library("sites", LIBRARY), &options, &[]);
    for part in [
        "store    by_pointer#1  wr Y  at src/lib.rs:19\n",
        "fix      a fence in by_pointer#1 between src/lib.rs:19 and src/lib.rs:20\n",
        "by_pointer TSO: no changes are known that prevent it\n",
        "which are not changed: its store is at src/lib.rs:19\n",
        "late     by_pointer#1  wr Y  at src/lib.rs:19 reaches memory after rd X  at\n",
        "at src/lib.rs:28, in SyncSender::try_send\n",
        "at src/lib.rs:32, in Receiver::try_recv\n",
        "  src/lib.rs:28: behind it `std::sync::atomic::fence",
    ] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    assert!(!ran.out.contains("fence between two accesses"), "{}", ran.out);
    // Both accesses of a race, also in what the library is made of.
    let races: Vec<&str> = ran.out.split("\n\n").filter(|p| p.contains("  data-race ")).collect();
    assert!(!races.is_empty(), "{}", ran.out);
    for race in races {
        let store = "\n  at       src/lib.rs:44 in small::by_table::{closure#0}::{closure#0}\n";
        let load = " by by_table#1 at src/lib.rs:45 in small::by_table::{closure#0}\n";
        assert!(race.contains(store) && race.contains(load), "{race}");
    }
}
