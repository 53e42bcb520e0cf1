//! Work on the parts of one input side by side, with what comes of them in their order.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

/// So many parts for each worker are under way at most, those included that wait for an earlier one to be done: then
/// few workers wait behind a part that takes long, and no more memory is taken, however long the input is.
const AHEAD: usize = 64;

/// Gives what `next` yields to so many workers, and what `work` makes of it to `done`, in order. Alone, `work` begins
/// with a part when the one before is done; otherwise, a few parts are read ahead.
pub fn in_order<I: Send, O: Send>(
    workers: usize,
    mut next: impl FnMut() -> Option<I> + Send,
    work: impl Fn(I) -> O + Sync,
    mut done: impl FnMut(O),
) {
    if workers < 2 {
        while let Some(part) = next() {
            done(work(part));
        }
        return;
    }
    let (give, parts) = sync_channel(0);
    let (work, parts) = (&work, Arc::new(Mutex::new(parts)));
    let (post, outcomes) = channel();
    // A permit for each part that may be under way.
    let (permit, permits) = channel();
    for _ in 0..workers * AHEAD {
        let _ = permit.send(());
    }
    // All that threads wait for goes when this ends, by a panic, too.
    std::thread::scope(move |scope| {
        scope.spawn(move || {
            let mut number = 0_u64;
            while permits.recv().is_ok()
                && let Some(part) = next()
                && give.send((number, part)).is_ok()
            {
                number += 1;
            }
        });
        for _ in 0..workers {
            let (post, parts) = (post.clone(), parts.clone());
            scope.spawn(move || {
                while let Some((number, part)) = taken(&parts) {
                    let outcome = catch_unwind(AssertUnwindSafe(|| work(part)));
                    if post.send((number, outcome)).is_err() {
                        return;
                    }
                }
            });
        }
        drop((post, parts));
        let (mut early, mut number) = (BTreeMap::new(), 0);
        for (which, outcome) in outcomes {
            early.insert(which, outcome.unwrap_or_else(|panic| resume_unwind(panic)));
            while let Some(outcome) = early.remove(&number) {
                done(outcome);
                number += 1;
                let _ = permit.send(());
            }
        }
    });
}

/// The next part, while nobody else waits for one.
fn taken<T>(parts: &Mutex<Receiver<T>>) -> Option<T> {
    parts.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[test]
    fn parts_come_in_order() {
        for workers in [1, 2, 5] {
            let mut parts = 0..1000_u64;
            let work = |n: u64| {
                // Some take longer than those behind them.
                if n.is_multiple_of(97) {
                    std::thread::sleep(Duration::from_millis(2));
                }
                n * n
            };
            let mut done = Vec::new();
            in_order(workers, || parts.next(), work, |square| done.push(square));
            assert!(done.into_iter().eq((0..1000).map(|n| n * n)), "{workers} workers");
        }
    }

    #[test]
    fn a_panic_ends_it() {
        let work = |n: u64| assert!(n != 300, "a defect");
        let ended = catch_unwind(|| {
            let mut parts = 0..;
            in_order(3, || parts.next(), work, |()| {});
        });
        assert!(ended.is_err());
    }

    #[test]
    fn little_is_read_ahead() {
        let (read, most) = (AtomicUsize::new(0), 2 * AHEAD);
        let next = || {
            let number = read.fetch_add(1, Ordering::Relaxed);
            (number < 10 * AHEAD).then_some(number)
        };
        let work = |number| {
            if number == 0 {
                // The others go on as far as they may.
                std::thread::sleep(Duration::from_millis(100));
                assert!(read.load(Ordering::Relaxed) <= most + 1);
            }
            number
        };
        let mut done = 0;
        in_order(2, next, work, |_| done += 1);
        assert_eq!(done, 10 * AHEAD);
    }
}
