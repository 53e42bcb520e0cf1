//! What the workers of one process share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

use weakspot_core::Limit;
use weakspot_core::machine::Failure;

use super::system::System;

/// How a search ended.
#[derive(Clone, Debug)]
pub(crate) enum Ended {
    /// Everything was searched.
    Complete,
    /// Rows from an initial state to one with [`Expanded::Goal`](super::Expanded::Goal).
    Found(Vec<Vec<u32>>),
    /// A limit was reached.
    Limit(Limit),
    /// The program does what has no meaning.
    Fault(Failure),
}

/// What the workers of one process share.
pub(crate) struct Shared<'s, S: System> {
    pub(crate) system: &'s S,
    pub(crate) tables: RwLock<S::Tables>,
    stop: AtomicBool,
    /// Workers stopped so that somebody may look at what they have, and will go on.
    paused: AtomicBool,
    /// Whether it is time for that.
    pub(super) is_due: Option<&'s (dyn Fn() -> bool + Sync)>,
    ended: Mutex<Option<(Option<u32>, Ended)>>,
    /// States that were expanded here, and in other processes as far as that is known.
    pub(super) states: AtomicU64,
    pub(crate) elsewhere: AtomicU64,
    /// Per worker the bytes that it uses.
    pub(super) bytes: Vec<AtomicU64>,
    /// With more bytes than this in use, workers stop so that some can be put elsewhere.
    pub(super) enough: u64,
}

impl<'s, S: System> Shared<'s, S> {
    pub(crate) fn new(system: &'s S, tables: S::Tables, threads: usize) -> Self {
        Shared {
            system,
            tables: RwLock::new(tables),
            stop: AtomicBool::new(false),
            paused: AtomicBool::new(false),
            is_due: None,
            ended: Mutex::new(None),
            states: AtomicU64::new(0),
            elsewhere: AtomicU64::new(0),
            bytes: (0..threads).map(|_| AtomicU64::new(0)).collect(),
            enough: u64::MAX,
        }
    }

    /// Whether workers are to stop where they are.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Stops the workers, because one of another process knows why.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Stops the workers where they are, if it is time for a pause with so many bytes in use.
    pub(super) fn pause_if_due(&self, bytes: u64) {
        if bytes > self.enough || self.is_due.is_some_and(|is_due| is_due()) {
            self.paused.store(true, Ordering::Relaxed);
            self.stop();
        }
    }

    /// Whether nothing else has stopped the workers.
    pub(super) fn is_pause(&self) -> bool {
        self.paused.load(Ordering::Relaxed) && self.reason().is_none()
    }

    /// Stops the workers, for a reason that concerns a state, if it does. The first reason counts; but what was found
    /// at a state counts more than a limit, because that state will not be expanded again.
    pub(crate) fn end(&self, state: Option<u32>, ended: Ended) {
        let mut slot = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        match &*slot {
            Some((Some(_), _)) => {}
            Some(_) if state.is_none() => {}
            _ => *slot = Some((state, ended)),
        }
        drop(slot);
        self.stop();
    }

    /// So many states were expanded before.
    pub(crate) fn begin_with(&self, states: u64) {
        self.states.store(states, Ordering::Relaxed);
    }

    /// Why the workers were stopped, if one of this process knows.
    pub(crate) fn reason(&self) -> Option<(Option<u32>, Ended)> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// States that were expanded, in all processes.
    pub(crate) fn states(&self) -> u64 {
        self.states.load(Ordering::Relaxed) + self.elsewhere.load(Ordering::Relaxed)
    }

    /// States that were expanded here.
    pub(crate) fn own_states(&self) -> u64 {
        self.states.load(Ordering::Relaxed)
    }

    pub(crate) fn into_tables(self) -> S::Tables {
        self.tables.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Expanded, Sleep, Successors};
    use super::*;

    /// Nothing to search.
    struct Empty;

    impl System for Empty {
        type Tables = ();
        type Missing = ();

        fn width(&self, (): &()) -> usize {
            0
        }

        fn expand(&self, (): &(), _: &[u32], _: Sleep, _: &mut Successors) -> Expanded<()> {
            Expanded::Done
        }

        fn resolve(&self, (): &mut (), (): ()) -> Result<(), Failure> {
            Ok(())
        }

        fn bytes(&self, (): &()) -> usize {
            0
        }
    }

    /// A search that ends at a limit is kept, and the state where something was found counts as expanded there.
    #[test]
    fn what_was_found_counts_more_than_a_limit() {
        let shared = Shared::new(&Empty, (), 2);
        shared.end(None, Ended::Limit(Limit::Interrupted));
        shared.end(Some(7), Ended::Complete);
        shared.end(Some(8), Ended::Complete);
        shared.end(None, Ended::Limit(Limit::Interrupted));
        assert!(matches!(shared.reason(), Some((Some(7), Ended::Complete))));
    }
}
