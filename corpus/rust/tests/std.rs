//! The standard library's threads, locks and the like. All of it is right, except where a test is
//! ignored: that one can wait for ever.

use std::cell::Cell;
use std::sync::{Arc, Barrier, Condvar, Mutex, OnceLock, RwLock, mpsc};
use std::thread;

#[test]
fn arc_mutex() {
    let count = Arc::new(Mutex::new(0));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let count = Arc::clone(&count);
            thread::spawn(move || *count.lock().unwrap() += 1)
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(*count.lock().unwrap(), 2);
    assert_eq!(Arc::strong_count(&count), 1);
}

#[test]
fn condvar() {
    let shared = Arc::new((Mutex::new(None), Condvar::new()));
    let receiver = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            let (value, changed) = &*shared;
            let guard = changed.wait_while(value.lock().unwrap(), |v| v.is_none()).unwrap();
            *guard
        })
    };
    *shared.0.lock().unwrap() = Some(42);
    shared.1.notify_one();
    assert_eq!(receiver.join().unwrap(), Some(42));
}

#[test]
fn scoped_threads() {
    let mut cells = [0, 0];
    let [first, second] = &mut cells;
    let sum = thread::scope(|scope| {
        let a = scope.spawn(|| {
            *first = 1;
            *first
        });
        let b = scope.spawn(|| {
            *second = 2;
            *second
        });
        a.join().unwrap() + b.join().unwrap()
    });
    assert_eq!((sum, cells), (3, [1, 2]));
}

#[test]
fn rwlock() {
    let pair = RwLock::new((0, 0));
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut pair = pair.write().unwrap();
            pair.0 = 1;
            pair.1 = 1;
        });
        scope.spawn(|| {
            let pair = pair.read().unwrap();
            assert_eq!(pair.0, pair.1);
        });
    });
}

#[test]
fn barrier() {
    let barrier = Barrier::new(2);
    let cells = [const { Mutex::new(0) }; 2];
    thread::scope(|scope| {
        for me in 0..2 {
            let (barrier, cells) = (&barrier, &cells);
            scope.spawn(move || {
                *cells[me].lock().unwrap() = 1;
                barrier.wait();
                assert_eq!(*cells[1 - me].lock().unwrap(), 1);
            });
        }
    });
}

#[test]
fn channel() {
    let (sender, receiver) = mpsc::channel();
    let other = sender.clone();
    thread::scope(|scope| {
        scope.spawn(move || sender.send(1).unwrap());
        scope.spawn(move || other.send(2).unwrap());
        assert_eq!(receiver.iter().sum::<i32>(), 3);
    });
}

#[test]
fn once_lock() {
    static VALUE: OnceLock<u32> = OnceLock::new();
    thread::scope(|scope| {
        let made = [1, 2].map(|n| scope.spawn(move || *VALUE.get_or_init(|| n)));
        let [a, b] = made.map(|thread| thread.join().unwrap());
        assert_eq!(a, b);
    });
}

#[test]
fn park() {
    let parked = thread::spawn(thread::park);
    parked.thread().unpark();
    parked.join().unwrap();
}

#[test]
fn thread_local() {
    thread_local!(static COUNT: Cell<u32> = const { Cell::new(0) });
    thread::scope(|scope| {
        for n in 1..=2 {
            scope.spawn(move || {
                COUNT.set(COUNT.get() + n);
                assert_eq!(COUNT.get(), n);
            });
        }
    });
    assert_eq!(COUNT.get(), 0);
}

#[test]
fn panic_is_joined() {
    let lock = Arc::new(Mutex::new(0));
    let panicking = {
        let lock = Arc::clone(&lock);
        thread::spawn(move || {
            let _guard = lock.lock();
            panic!("on purpose");
        })
    };
    assert!(panicking.join().is_err());
    assert!(lock.is_poisoned());
}

#[test]
#[ignore = "can wait for ever"]
fn lock_order() {
    let [a, b] = [const { Mutex::new(0) }; 2];
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut x = a.lock().unwrap();
            *x += *b.lock().unwrap();
        });
        scope.spawn(|| {
            let mut x = b.lock().unwrap();
            *x += *a.lock().unwrap();
        });
    });
}
