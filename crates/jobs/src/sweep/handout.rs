//! Which inputs are still to be answered, and who has which.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Who asks for an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// A thread of process 0.
    Here,
    /// One of the other processes, from 0 on.
    There(usize),
}

/// The inputs, by their numbers.
pub(super) struct Handout {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    inputs: usize,
    /// The first that nobody had yet.
    fresh: usize,
    /// What lost processes had.
    again: BTreeSet<usize>,
    /// What is only for process 0.
    here: BTreeSet<usize>,
    /// What each process has; `None` for one that is not there any more.
    has: Vec<Option<BTreeSet<usize>>>,
    /// How many inputs have no end yet.
    open: usize,
    /// Nobody wants to hear more.
    closed: bool,
    parts: Vec<Parts>,
}

/// Parts of the answer for one input.
#[derive(Clone, Copy, Default)]
struct Parts {
    /// How many were passed on.
    passed: u64,
    /// How many came from whoever has it now.
    came: u64,
    /// How many processes were lost with it.
    losses: u32,
}

/// An input that so many processes were lost with is for process 0: as one process would answer it.
const UNLUCKY: u32 = 2;

impl Handout {
    pub(super) fn new(inputs: usize, processes: usize) -> Handout {
        // One input is not worth a message; and only process 0 writes files.
        let here = if inputs == 1 { BTreeSet::from([0]) } else { BTreeSet::new() };
        let state = State {
            inputs,
            fresh: here.len(),
            again: BTreeSet::new(),
            here,
            has: vec![Some(BTreeSet::new()); processes],
            open: inputs,
            closed: false,
            parts: vec![Parts::default(); inputs],
        };
        Handout { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next input, once there is one; `None` if there will be none.
    pub(super) fn next(&self, who: Who) -> Option<usize> {
        let mut state = self.lock();
        loop {
            if state.is_over() {
                return None;
            }
            if let Who::There(process) = who {
                state.has[process].as_ref()?;
            }
            if let Some(i) = state.take(who) {
                if let Who::There(process) = who
                    && let Some(has) = &mut state.has[process]
                {
                    has.insert(i);
                }
                return Some(i);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// An input that a process got is not for others.
    pub(super) fn keep_here(&self, process: usize, i: usize) {
        let mut state = self.lock();
        if state.has[process].as_mut().is_some_and(|has| has.remove(&i)) {
            state.here.insert(i);
        }
        self.changed.notify_all();
    }

    /// Whether somebody has an input.
    pub(super) fn has(&self, process: usize, i: usize) -> bool {
        self.lock().has[process].as_ref().is_some_and(|has| has.contains(&i))
    }

    /// Whether a part of an answer, the next one from whoever has the input, is to be passed on.
    pub(super) fn is_new(&self, i: usize) -> bool {
        let mut state = self.lock();
        let parts = &mut state.parts[i];
        parts.came += 1;
        let is_new = parts.came > parts.passed;
        parts.passed = parts.passed.max(parts.came);
        is_new
    }

    /// An input is answered.
    pub(super) fn end(&self, who: Who, i: usize) {
        let mut state = self.lock();
        if let Who::There(process) = who
            && let Some(has) = &mut state.has[process]
        {
            has.remove(&i);
        }
        state.open -= 1;
        self.changed.notify_all();
    }

    /// A process is lost: others get what it had. How many inputs that were; `None` if nothing is left to do,
    /// or it was lost before.
    pub(super) fn lose(&self, process: usize) -> Option<usize> {
        let mut state = self.lock();
        let had = state.has[process].take()?;
        for &i in &had {
            let parts = &mut state.parts[i];
            parts.came = 0;
            parts.losses += 1;
            match parts.losses < UNLUCKY {
                true => state.again.insert(i),
                false => state.here.insert(i),
            };
        }
        self.changed.notify_all();
        (!state.is_over()).then_some(had.len())
    }

    /// Nobody wants to hear more.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    pub(super) fn is_over(&self) -> bool {
        self.lock().is_over()
    }

    /// Waits for the end, but not longer than this. Whether it has come.
    pub(super) fn wait_for_end(&self, most: Duration) -> bool {
        let state = self.lock();
        let waited = self.changed.wait_timeout_while(state, most, |state| !state.is_over());
        waited.unwrap_or_else(PoisonError::into_inner).0.is_over()
    }
}

impl State {
    fn is_over(&self) -> bool {
        self.closed || self.open == 0
    }

    fn take(&mut self, who: Who) -> Option<usize> {
        if who == Who::Here
            && let Some(i) = self.here.pop_first()
        {
            return Some(i);
        }
        if let Some(i) = self.again.pop_first() {
            return Some(i);
        }
        let i = self.fresh;
        (i < self.inputs).then(|| self.fresh += 1)?;
        Some(i)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Who = Who::There(0);
    const B: Who = Who::There(1);

    #[test]
    fn what_was_lost_is_handed_out_again() {
        let handout = Handout::new(3, 2);
        assert_eq!(handout.next(A), Some(0));
        assert_eq!(handout.next(B), Some(1));
        assert!(handout.is_new(0) && handout.is_new(0));
        assert_eq!(handout.lose(0), Some(1));
        assert_eq!(handout.lose(0), None);
        assert_eq!(handout.next(A), None);
        assert_eq!(handout.next(B), Some(0));
        // The first two parts were passed on.
        assert_eq!([(); 3].map(|()| handout.is_new(0)), [false, false, true]);
        assert!(handout.has(1, 0) && handout.has(1, 1));
        handout.end(B, 1);
        handout.end(B, 0);
        assert_eq!(handout.next(Who::Here), Some(2));
        assert!(!handout.is_over());
        handout.end(Who::Here, 2);
        assert!(handout.is_over());
        assert_eq!((handout.next(B), handout.lose(1)), (None, None));
    }

    #[test]
    fn an_input_that_processes_are_lost_with_stays_here() {
        let handout = Handout::new(2, 3);
        assert_eq!((handout.next(A), handout.lose(0)), (Some(0), Some(1)));
        assert_eq!((handout.next(B), handout.lose(1)), (Some(0), Some(1)));
        assert_eq!(handout.next(Who::There(2)), Some(1));
        assert_eq!(handout.next(Who::Here), Some(0));
    }

    #[test]
    fn one_input_stays_here() {
        let handout = Handout::new(1, 1);
        assert_eq!(handout.next(Who::Here), Some(0));
        handout.close();
        assert_eq!(handout.next(A), None);
    }

    #[test]
    fn what_cannot_be_compared_stays_here() {
        let handout = Handout::new(2, 1);
        assert_eq!(handout.next(A), Some(0));
        handout.keep_here(0, 0);
        assert_eq!((handout.next(A), handout.next(Who::Here)), (Some(1), Some(0)));
    }
}
