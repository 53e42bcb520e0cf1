//! Programs of the papers on partial order reduction, with the numbers of classes that are known for
//! them: the strategy `dpor` explores as many executions, and stops none.

use weakspot_live::testing::{Buffers, Instr, System, byte, run};
use weakspot_live::{Dpor, Ended, Strategy};

use Instr::{Add, Await, If, Lock, Read, Swap, Unless, Unlock, Write, WriteLast};

/// How many executions are explored, and how many of them stopped.
fn explored(threads: Vec<Vec<Instr>>, buffers: Buffers) -> (usize, usize) {
    let system = System { threads, buffers, framed: false };
    let mut strategy = Dpor::new(buffers != Buffers::None);
    let (mut executions, mut stopped) = (0, 0);
    run(&system, &mut strategy, 1_000_000, &mut |_, _, ended| {
        executions += 1;
        stopped += usize::from(ended == Ended::Stopped);
    });
    assert!(strategy.complete());
    (executions, stopped)
}

fn classes(threads: Vec<Vec<Instr>>) -> usize {
    let (executions, stopped) = explored(threads, Buffers::None);
    assert_eq!(stopped, 0);
    executions
}

/// One writes, all others read.
#[test]
fn readers() {
    let readers = |n: u32| {
        let mut threads = vec![vec![Write(byte(0), 1)]];
        threads.extend((0..n).map(|i| vec![Read(byte(0)), Read(byte(1 + i as u8))]));
        threads
    };
    for n in [1, 2, 5, 8, 12] {
        assert_eq!(classes(readers(n)), 1 << n);
    }
}

/// One looks for the last zero of an array from its end, the others add to one element what is in the
/// one before, plus 1.
#[test]
fn last_zero() {
    let last_zero = |n: u8| {
        let mut search = Vec::new();
        for i in (0..=n).rev() {
            search.extend([Read(byte(i)), Unless(0, 2 * i)]);
        }
        let mut threads = vec![search];
        threads.extend((1..=n).map(|i| vec![Read(byte(i - 1)), WriteLast(byte(i))]));
        threads
    };
    assert_eq!(classes(last_zero(5)), 64);
    assert_eq!(classes(last_zero(8)), 704);
    assert_eq!(classes(last_zero(10)), 3328);
}

/// Threads that reserve a block for an inode of their own, under locks, and collide from the 14th on.
#[test]
fn file_system() {
    let file_system = |n: u8| {
        let thread = |i: u8| {
            let (inode, block) = (i, 32 + i * 2 % 26);
            let mut code = vec![Lock(inode), Read(byte(inode)), Lock(block), Read(byte(block))];
            code.extend([If(0, 2), Write(byte(block), 1), Write(byte(inode), 1), Unlock(block)]);
            let next = block + 1;
            code.extend([If(1, 5), Lock(next), Read(byte(next)), Write(byte(next), 1)]);
            code.extend([Write(byte(inode), 1), Unlock(next), Unlock(inode)]);
            code
        };
        (0..n).map(thread).collect::<Vec<_>>()
    };
    for (n, want) in [(13, 1), (14, 2), (16, 8), (18, 32), (19, 64)] {
        assert_eq!(classes(file_system(n)), want, "{n} threads");
    }
}

/// Threads that put four messages each into a hash table, and collide from the 12th on.
#[test]
fn indexer() {
    let indexer = |n: u32| {
        let thread = |t: u32| {
            let messages = (1..=4).map(move |m| m * 11 + t);
            messages.flat_map(|w| {
                let at = |step: u32| byte(((w * 7 + step) % 128) as u8);
                let swap = |step| Swap(at(step), 0, w as u8);
                [swap(0), Unless(0, 1), swap(1), Unless(0, 1), swap(2)]
            })
        };
        (0..n).map(|t| thread(t).collect()).collect::<Vec<Vec<_>>>()
    };
    for (n, want) in [(11, 1), (12, 8), (13, 64), (14, 512)] {
        assert_eq!(classes(indexer(n)), want, "{n} threads");
    }
}

/// Threads that add to one counter: all orders. Under a lock as well.
#[test]
fn counters() {
    for (n, factorial) in [(2, 2), (3, 6), (5, 120), (6, 720)] {
        assert_eq!(classes(vec![vec![Add(byte(0), 1)]; n]), factorial);
        let locked = vec![Lock(0), Read(byte(0)), WriteLast(byte(0)), Unlock(0)];
        assert_eq!(classes(vec![locked; n]), factorial);
    }
}

/// Whoever reads in vain is left there: one class, and as many executions that are stopped as there are ways to do that.
#[test]
fn message_passing() {
    let send = vec![Write(byte(0), 1), Write(byte(8), 1)];
    let one = vec![send.clone(), vec![Await(byte(8), 1), Read(byte(0))]];
    assert_eq!(explored(one, Buffers::None), (2, 1));
    let two = vec![send, vec![Await(byte(8), 1)], vec![Await(byte(8), 1), Read(byte(0))]];
    assert_eq!(explored(two, Buffers::None), (4, 3));
}

/// Store buffering: three classes under SC; stores that wait in buffers add the fourth outcome.
#[test]
fn store_buffering() {
    let thread = |a, b| vec![Write(byte(a), 1), Read(byte(b))];
    let threads = || vec![thread(0, 8), thread(8, 0)];
    assert_eq!(explored(threads(), Buffers::None), (3, 0));
    assert_eq!(explored(threads(), Buffers::Tso), (4, 0));
    assert_eq!(explored(threads(), Buffers::Pso), (4, 0));
}
