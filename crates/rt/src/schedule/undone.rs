//! Threads that go round in loops, store something there, and undo it: do they go on like that for ever?
//!
//! A strategy that knows that such a round is like the one before does not let the thread go on. When nobody else can, either,
//! the thread will go round for ever, unless another one waits for something that is so only half-way through a round. So memory is made
//! as it is after each store of the round, and everybody is looked at.

use weakspot_live::Next;

use crate::Runtime;
use crate::entry::guest::{Area, Guest};
use crate::schedule::spin::Idle;

/// How threads go on that a strategy does not let go on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Undone {
    /// Otherwise, or others do, which is explored elsewhere.
    End,
    /// For ever.
    Endless,
    /// That depends on more than is looked at.
    Unclear,
}

impl Runtime {
    /// How those go on that are back where a round began.
    pub(super) fn undone(&mut self) -> Undone {
        let next = self.scheduler.next().to_vec();
        let of = |n: &Next| usize::from(n.agent.of());
        let rounds: Vec<usize> = next.iter().filter(|n| n.again).map(of).collect();
        let goes_on = next.iter().any(|n| n.enabled && !n.again);
        let mut stores = false;
        for &t in &rounds {
            let spin = &self.threads.get(t).spin;
            let repeats = spin.repeats();
            stores |= repeats;
            if goes_on || self.has_no_writer(t) || !repeats && spin.idle() != Idle::Certain {
                return Undone::End;
            }
        }
        if !stores || !self.threads.buffers_are_empty() {
            return Undone::End;
        }
        // Everybody, and whether in a loop. Those in loops come first.
        let mut others: Vec<(usize, bool)> =
            next.iter().map(|n| (of(n), self.rests(of(n)))).collect();
        others.sort_by_key(|&(_, loops)| !loops);
        for &t in &rounds {
            for phase in self.threads.get(t).spin.phases() {
                let now: Vec<(Area, u64)> = phase.iter().map(|&(a, _)| (a, a.value())).collect();
                phase.iter().for_each(|&(area, value)| put(area, value));
                let moved = others.iter().find(|&&(u, _)| u != t && self.would_move(u));
                now.iter().for_each(|&(area, value)| put(area, value));
                match moved {
                    None => {}
                    // It may come back to where it was, and both may go on like that.
                    Some((_, true)) => return Undone::Unclear,
                    Some((_, false)) => return Undone::End,
                }
            }
        }
        Undone::Endless
    }

    /// Whether a thread that cannot go on, or goes round, would do something else with memory as it is now.
    fn would_move(&self, t: usize) -> bool {
        let thread = self.threads.get(t);
        let waits = thread.until.is_some_and(|until| !until.holds(self, t));
        !waits && !self.rests(t)
    }

    /// Whether a thread goes round in a loop, with memory as it is now.
    fn rests(&self, t: usize) -> bool {
        let spin = &self.threads.get(t).spin;
        spin.repeats() || spin.idle() != Idle::No
    }
}

/// Changes bytes of the program, which are put back before it goes on.
fn put(area: Area, value: u64) {
    for (i, byte) in value.to_le_bytes().into_iter().take(area.len() as usize).enumerate() {
        // SAFETY: a thread of the program has stored to these bytes, and nobody runs now.
        let to: Guest<u8> = unsafe { Guest::at(area.addr() + i) };
        to.set(byte);
    }
}
