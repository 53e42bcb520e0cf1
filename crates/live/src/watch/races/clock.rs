//! Vector clocks: per thread, up to which of its times something is known to have happened before.

/// A vector clock. What is not there is 0, before the first time of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Clock(Vec<u32>);

impl Clock {
    /// Knows nothing; its room is kept.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether it knows nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What it knows of a thread.
    pub(super) fn of(&self, thread: usize) -> u32 {
        self.0.get(thread).copied().unwrap_or(0)
    }

    /// Knows what the other knows, too.
    pub(super) fn join(&mut self, other: &Clock) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, &theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(theirs);
        }
    }

    /// Knows what the other knows, and no more.
    pub(super) fn copy(&mut self, other: &Clock) {
        self.0.clear();
        self.0.extend_from_slice(&other.0);
    }

    /// The next time of a thread; its first if there was none.
    pub(super) fn tick(&mut self, thread: usize) {
        if self.0.len() <= thread {
            self.0.resize(thread + 1, 0);
        }
        self.0[thread] += 1;
    }
}
