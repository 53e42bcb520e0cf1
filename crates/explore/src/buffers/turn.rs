//! Searches of the buffers that are kept now and then, and that go on from where they were kept.
//!
//! The two searches take turns ([`in_turns`](crate::buffers::outcomes::in_turns)). What is written is which turn it is,
//! and what the search that is at work knows between two of its states: what numbers stand for, its
//! states with their parents, the final states. Tables that say what follows from these, such as the moves
//! of local states, are filled again as they are asked for. Nothing that a search does depends on anything else,
//! so the rest of it is as if nothing had happened, with the same states in the same order.
//!
//! Nothing that is read is trusted to be what a search wrote: numbers have to stand for something.

use crate::keep::{Keep, Out};

/// The turn of a search.
#[derive(Clone, Copy)]
pub(crate) struct Turn<'k> {
    /// Where the search is kept, if anywhere.
    pub(crate) place: Option<&'k dyn Keep>,
    /// How many entries a buffer may hold.
    pub(crate) buffer: usize,
    /// What the search by write order may spend.
    pub(crate) budget: u64,
    /// Which of the two it is.
    pub(crate) is_write_order: bool,
}

impl Turn<'_> {
    /// Whether it is time to keep the search, in which so many states were looked at: the clock is asked each time that
    /// they are a multiple of `interval`.
    pub(crate) fn is_due(&self, states: u32, interval: u32) -> bool {
        let interval = if cfg!(test) { 1 } else { interval };
        states > 0 && states.is_multiple_of(interval) && self.place.is_some_and(Keep::is_due)
    }

    /// Keeps what `write` writes. `states`: how many all searches have looked at.
    pub(crate) fn keep(&self, states: u64, write: impl Fn(&mut Out<'_>)) {
        let Some(place) = self.place else { return };
        place.keep(&mut |to| {
            let mut out = Out::new(to);
            let head = [self.buffer as u64, self.budget, self.is_write_order.into(), states];
            head.into_iter().for_each(|number| out.number(number));
            write(&mut out);
            out.end()
        });
    }
}

#[cfg(test)]
mod tests;
