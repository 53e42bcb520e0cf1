//! Histories of real hardware: threads of this process hammer shared memory, and write down what
//! they read.
//!
//! A plain access is a relaxed atomic one, which on every CPU is the plain load or store
//! instruction; updates are exchanges and fences are fences, both sequentially consistent. A
//! compiler fence after each operation keeps the compiler from reordering or merging them: what
//! comes out is what the CPU did. Each value names the operation that wrote it, so what was read
//! says which write was read. A thread's record is one preallocated array.

use std::sync::Barrier;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicUsize, compiler_fence, fence};
use std::time::{Duration, Instant};

use weakspot_core::{History, INITIAL, OpKind};

use crate::Recorded;

/// How variables lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Each on a cache line of its own.
    Apart,
    /// Side by side.
    Packed,
}

/// The most threads that a client may have to be run on this CPU.
pub const MOST_THREADS: usize = 1024;

/// Runs a client on this CPU, one thread of the operating system per thread of the client, and
/// says how long the threads took.
#[must_use]
pub fn record(client: &History, layout: Layout) -> (Recorded, Duration) {
    let (seen, time) = match layout {
        Layout::Apart => {
            let vars: Vec<Alone> = (0..client.vars()).map(|_| Alone::default()).collect();
            run(client, &vars)
        }
        Layout::Packed => {
            let vars: Vec<Packed> = (0..client.vars()).map(|_| Packed::default()).collect();
            run(client, &vars)
        }
    };
    let mut ops = client.clone();
    for (t, seen) in seen.iter().enumerate() {
        for (op, &value) in client.of_thread(t).zip(seen) {
            if client.reads(op) {
                ops.set_from(op, value.checked_sub(1).unwrap_or(INITIAL));
            }
        }
    }
    (Recorded::new(ops, None), time)
}

/// Two lines of 64 bytes, because CPUs like to fetch lines in pairs.
#[repr(align(128))]
#[derive(Default)]
struct Alone(AtomicU32);

#[derive(Default)]
struct Packed(AtomicU32);

trait Variable: Sync {
    fn cell(&self) -> &AtomicU32;
}

impl Variable for Alone {
    fn cell(&self) -> &AtomicU32 {
        &self.0
    }
}

impl Variable for Packed {
    fn cell(&self) -> &AtomicU32 {
        &self.0
    }
}

/// What each thread read, and the time from the first start to the last end.
fn run<V: Variable>(client: &History, vars: &[V]) -> (Vec<Vec<u32>>, Duration) {
    let threads = client.threads();
    let barrier = Barrier::new(threads);
    let ready = AtomicUsize::new(0);
    let mut seen = Vec::with_capacity(threads);
    let mut span: Option<(Instant, Instant)> = None;
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|t| {
                let (barrier, ready) = (&barrier, &ready);
                scope.spawn(move || {
                    // Written once before the start, so that its pages exist.
                    let mut record = vec![1; client.of_thread(t).len()];
                    barrier.wait();
                    start_together(ready, threads);
                    let start = Instant::now();
                    hammer(client, t, vars, &mut record);
                    (record, start, Instant::now())
                })
            })
            .collect();
        for handle in handles {
            // A thread does nothing that could panic; if it did, its record would be empty.
            if let Ok((record, start, end)) = handle.join() {
                let (first, last) = span.unwrap_or((start, end));
                span = Some((first.min(start), last.max(end)));
                seen.push(record);
            } else {
                seen.push(Vec::new());
            }
        }
    });
    (seen, span.map_or(Duration::ZERO, |(start, end)| end - start))
}

/// Barriers wake threads one by one, microseconds apart, which is the whole life of a short
/// client; spinning brings them closer. With more threads than processors somebody has to yield.
fn start_together(ready: &AtomicUsize, threads: usize) {
    ready.fetch_add(1, SeqCst);
    let mut rounds = 0;
    while ready.load(SeqCst) < threads {
        rounds += 1;
        if rounds % 1024 == 0 {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
    }
}

fn hammer<V: Variable>(client: &History, thread: usize, vars: &[V], record: &mut [u32]) {
    for (op, seen) in client.of_thread(thread).zip(record) {
        let value = op + 1;
        if client.kind(op) == OpKind::Fence {
            fence(SeqCst);
        } else {
            let cell = vars[client.var(op) as usize].cell();
            match client.kind(op) {
                OpKind::Read => *seen = cell.load(Relaxed),
                OpKind::Write => cell.store(value, Relaxed),
                OpKind::Update => *seen = cell.swap(value, SeqCst),
                OpKind::Fence => {}
            }
        }
        compiler_fence(SeqCst);
    }
}
