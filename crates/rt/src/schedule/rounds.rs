//! Loops that do nothing but to give way to others: whoever comes back to the same place in the same state again
//! and again, without any other step and without a store, goes round for ever, because nothing that others do is
//! looked at in there. Memory that the thread reads and nobody else has touched so far is no exception: if another
//! thread writes to it later, it turns out to be shared, and the exploration starts again.

/// How often a state has to come back. Once would do, if all of a program were instrumented: functions of
/// libc that are not, such as `rand`, may keep something that ends a loop.
const ROUNDS: u32 = 32;
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

    /// The thread gives way at a place, in this state. Whether it will do nothing else any more.
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
