//! How an exploration goes, beside what it finds.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use weakspot_core::{Course, Met, SharedLine};
use weakspot_live::wire::Place;

use crate::facts::symbols::{Frame, Symbols};
use crate::{Control, SoFar};

/// Executions that ended before their time, each of which is no more than the beginning of others, or of none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocked {
    /// Those of all executions that ended where an assumption does not hold.
    pub assumed: u64,
    /// Those besides that were left where a thread waits in a loop.
    pub left: u64,
}

impl Blocked {
    /// How many there were.
    #[must_use]
    pub fn all(self) -> u64 {
        self.assumed + self.left
    }

    /// Adds others.
    pub(crate) fn add(&mut self, more: Blocked) {
        self.assumed += more.assumed;
        self.left += more.left;
    }
}

/// Accesses by place and thread, with the other thread that was met there, if any, and on which sides.
pub(crate) type Contacts = BTreeMap<(Place, u16, Option<u16>), Met>;

/// Adds what was seen elsewhere.
pub(crate) fn add_contacts(sum: &mut Contacts, more: Contacts) {
    for (at, met) in more {
        let known = sum.entry(at).or_default();
        *known = known.or(met);
    }
}

/// Adds numbers, each to the one at its place.
pub(crate) fn add_counts(sum: &mut Vec<u64>, counts: &[u64]) {
    sum.resize(sum.len().max(counts.len()), 0);
    sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
}

/// Listens for another, and keeps how far the exploration was when.
pub(crate) struct Followed<'a> {
    pub(crate) control: &'a dyn Control,
    pub(crate) course: &'a RefCell<Course>,
    pub(crate) strategy: &'static str,
}

impl Control for Followed<'_> {
    fn elapsed(&self) -> Duration {
        self.control.elapsed()
    }

    fn interrupted(&self) -> bool {
        self.control.interrupted()
    }

    fn progress(&self, so_far: SoFar) {
        self.course.borrow_mut().reach(self.elapsed(), so_far.executions, so_far.steps);
        self.control.progress(SoFar { strategy: self.strategy, ..so_far });
    }
}

/// On which sides of a line a thread has met another one, if it has.
type ByThread = BTreeMap<(u16, Option<u16>), Met>;

/// The lines of the user's own code where threads access what they share, by file and line.
pub(crate) fn lines(met: &Contacts, symbols: &Symbols) -> Vec<SharedLine> {
    // A line may have several accesses: what matters is on which sides of any of them a thread was seen.
    let mut lines: BTreeMap<(String, u32), ByThread> = BTreeMap::new();
    for (&(place, thread, other), &met) in met {
        let own = symbols.frames(place).into_iter().find(Frame::is_own);
        let Some((file, line)) = own.and_then(|frame| frame.file.zip(frame.line)) else { continue };
        let known = lines.entry((file, line)).or_default().entry((thread, other)).or_default();
        *known = known.or(met);
    }
    let shared = |((file, line), by_thread): (_, ByThread)| SharedLine {
        file,
        line,
        interleaved: by_thread.values().any(|met| met.before && met.after),
        met: by_thread.into_values().fold(Met::default(), Met::or),
    };
    lines.into_iter().map(shared).collect()
}
