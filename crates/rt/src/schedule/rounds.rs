//! Loops that do nothing but to give way to others: whoever comes back to the same place in the same state again
//! and again, without any other step and without a store, seems to go round for ever, because nothing that others do is
//! looked at in there. That is a guess: functions that are not instrumented and nobody stands in for, and the
//! instruction `rdtsc` may keep something that ends a loop. So the execution is given up, and no livelock.

/// How often a state has to come back: more often than what ends a loop takes, as a rule.
const ROUNDS: u32 = 10_000;
/// Loops with more places that give way are not looked for.
const PLACES: usize = 16;

/// Where a thread gave way since its last other step: the place, its state there, and how often it had it.
#[derive(Default)]
pub struct Yields(Vec<(usize, u64, u32)>);

impl Yields {
    /// The thread does something else.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Of a new thread, with the room of this one.
    pub fn emptied(mut self) -> Yields {
        self.clear();
        self
    }

    /// The thread gives way at a place, in this state. Whether it seems to do nothing else any more.
    pub(super) fn is_endless(&mut self, pc: usize, state: u64) -> bool {
        if let Some(known) = self.0.iter_mut().find(|y| y.0 == pc) {
            let times = if known.1 == state { known.2 + 1 } else { 1 };
            *known = (pc, state, times);
            return times > ROUNDS;
        }
        if self.0.len() < PLACES {
            self.0.push((pc, state, 1));
        }
        false
    }
}
